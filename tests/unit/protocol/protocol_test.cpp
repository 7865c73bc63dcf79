// SPDX-License-Identifier: GPL-3.0-or-later
// Framing, messages and the JSON of the structs.
#include <QtTest>
#include <string>

#include "core/protocol/framing.h"
#include "core/protocol/json.h"
#include "core/protocol/message.h"
#include "core/protocol/settings.h"

using namespace breakline::protocol;

class ProtocolTest : public QObject {
  Q_OBJECT
 private slots:
  void frames_survive_any_cut() {
    const std::string bodies[] = {"{}", "", "{\"text\":\"\xE5\x9B\xBE\"}", std::string(100000, 'x')};
    std::string stream;
    for (const auto& body : bodies) stream += frame(body);
    for (std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{4096}, stream.size()}) {
      FrameReader reader;
      std::vector<std::string> got;
      for (std::size_t at = 0; at < stream.size(); at += step) {
        reader.feed(std::string_view(stream).substr(at, step));
        while (auto body = reader.next()) got.push_back(*body);
      }
      QVERIFY(!reader.broken());
      QCOMPARE(got.size(), std::size(bodies));
      for (std::size_t n = 0; n < got.size(); ++n) QVERIFY(got[n] == bodies[n]);
    }
  }

  void header_names_are_case_blind_and_others_are_skipped() {
    FrameReader reader;
    reader.feed("Content-Type: x\r\ncontent-length:   2\r\n\r\n{}");
    QCOMPARE(reader.next().value_or("none"), std::string("{}"));
  }

  void a_stream_that_is_no_protocol_is_told() {
    for (const std::string& text :
         {std::string("hello\r\n\r\n"), std::string("Content-Length: -1\r\n\r\n"),
          std::string("Content-Length: 2x\r\n\r\n{}"), std::string("Content-Length: 99999999999999\r\n\r\n"),
          std::string(10000, 'a')}) {
      FrameReader reader;
      reader.feed(text);
      QVERIFY(!reader.next());
      QVERIFY2(reader.broken(), text.substr(0, 30).c_str());
    }
  }

  void requests_are_json_rpc() {
    QCOMPARE(make_request(7, "open", "{\"a\":1}"),
             std::string("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"open\",\"params\":{\"a\":1}}"));
  }

  void messages_are_told_apart() {
    auto answer = parse_incoming("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"x\":1}}");
    QVERIFY(answer && answer->id == 3 && !answer->failure && answer->body == "{\"x\":1}");
    auto failure = parse_incoming(
        "{\"id\":4,\"error\":{\"code\":1,\"message\":\"m\",\"data\":{\"kind\":\"syntax\",\"traceback\":\"t\"}"
        "}}");
    QVERIFY(failure && failure->failure && failure->failure->bad_input());
    QCOMPARE(failure->failure->kind, std::string("syntax"));
    QCOMPARE(failure->failure->traceback, std::string("t"));
    auto notice = parse_incoming(
        "{\"method\":\"output\",\"params\":{\"stream\":\"stderr\",\"text\":\"hi\",\"label\":\"run\"}}");
    QVERIFY(notice && notice->method == "output");
    QCOMPARE(parse_notice(notice->body).text, std::string("hi"));
    QVERIFY(!parse_incoming("[1]"));
    QVERIFY(!parse_incoming("{"));
  }

  void a_wrong_field_is_named_by_its_path() {
    const auto report = parse_report("{\"targets\":[{\"segments\":[{\"ops\":[{},{\"line\":\"x\"}]}]}]}");
    QVERIFY(!report);
    QVERIFY(report.error().message.find("targets[0].segments[0].ops[1].line is not a number") !=
            std::string::npos);
    QVERIFY(!parse_report("nonsense"));
  }

  void absent_and_null_fields_keep_defaults() {
    const auto report = parse_report(
        "{\"targets\":[{\"name\":\"f\",\"error\":null,\"breaks\":[{\"line\":3,\"gb_id\":null}]}],\"future\":{"
        "}}");
    QVERIFY(report);
    QVERIFY(!report->targets[0].error);
    QCOMPARE(report->targets[0].breaks[0].column, -1);
    QCOMPARE(report->targets[0].breaks[0].policy.effective, std::string("allow"));
    QVERIFY(!report->targets[0].breaks[0].gb_id);
  }

  void a_report_round_trips() {
    Report report;
    report.file = "/m/\xE6\xA8\xA1.py";
    report.argv = {"a", "b \"c\""};
    Target target;
    target.name = "Net(8)";
    target.error = TargetError{"ValueError", "m", "t", std::string("b:1")};
    Segment segment;
    segment.id = "s0";
    segment.ops = {{"add", "m.py", "[2, 3]", "f32", "layers.0", 4, 2, 1}};
    segment.kernel_list = {{0, "k0", "cpu", {0}, std::nullopt}};
    target.segments = {segment};
    target.edges = {{"s0", "s1", "break", std::string("b:1")}};
    Break item;
    item.id = "b:1";
    item.chain = {{"m.py", "f", 3}};
    item.policy = {"error", "fn:m.py:f"};
    item.after = "s0";
    target.breaks = {item};
    report.targets = {target};
    report.breaks = {item};
    report.preview.first = "b:1";
    const std::string text = to_json(report);
    const auto back = parse_report(text);
    QVERIFY(back);
    QCOMPARE(to_json(*back), text);
    QCOMPARE(back->targets[0].segments[0].ops[0].kernel.value_or(-1), 1);
    QCOMPARE(back->targets[0].edges[0].break_id.value_or(""), std::string("b:1"));
    const FieldDifference same = compare_report_fields(text);
    QVERIFY(same.unknown.empty() && same.missing.empty());
  }

  void fields_that_one_side_lacks_are_found() {
    Report report;
    report.targets.emplace_back();
    std::string text = to_json(report);
    text.replace(text.find("\"recompiles\""), 12, "\"recompilez\"");
    const FieldDifference difference = compare_report_fields(text);
    QCOMPARE(difference.unknown, std::vector<std::string>{"targets[].recompilez"});
    QCOMPARE(difference.missing, std::vector<std::string>{"targets[].recompiles"});
  }

  void policy_files_have_three_forms() {
    for (const char* text :
         {"[{\"key\":\"fn:a.py:f\",\"value\":\"error\"}]",
          "{\"overlays\":[{\"key\":\"fn:a.py:f\",\"value\":\"error\"}]}", "{\"fn:a.py:f\":\"error\"}"}) {
      const auto overlays = parse_overlays(text);
      QVERIFY2(overlays, text);
      QCOMPARE(overlays->size(), std::size_t{1});
      QCOMPARE(overlays->front().key, std::string("fn:a.py:f"));
      QCOMPARE(overlays->front().value, std::string("error"));
    }
    for (const char* text : {"{", "3", "[{\"key\":\"x\"}]", "{\"fn:a.py:f\":1}"})
      QVERIFY2(!parse_overlays(text), text);
  }

  void the_chosen_interpreter_is_read() {
    QCOMPARE(chosen_python("{\"python\":\"/p\"}"), std::string("/p"));
    for (const char* text : {"", "{}", "{\"python\":1}", "nonsense"}) QVERIFY(chosen_python(text).empty());
  }
};

QTEST_APPLESS_MAIN(ProtocolTest)
#include "protocol_test.moc"
