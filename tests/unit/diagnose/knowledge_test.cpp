// SPDX-License-Identifier: GPL-3.0-or-later
// Records: the schema's refusals, what ships, and which record a text finds.
#include "core/diagnose/knowledge.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QtTest>

#include "core/diagnose/match.h"
#include "core/diagnose/reasons.h"

using namespace breakline::diagnose;

namespace {

constexpr const char* kGeneral = "pytorch/torch-compile-graph-break-unsupported-op";

QString q(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

// A record that is right, for tests to spoil.
QJsonObject good_record() {
  return {
      {"id", "test/record"},
      {"signature", "Something 'name' happened"},
      {"regex", "Something"},
      {"domain", "pytorch"},
      {"category", "test"},
      {"root_cause", "a cause"},
      {"dead_ends", QJsonArray{QJsonObject{{"action", "a"}, {"why_fails", "b"}, {"fail_rate", 0.5}}}},
      {"workarounds", QJsonArray{QJsonObject{{"action", "c"}, {"how", "d"}, {"success_rate", QJsonValue()}}}},
      {"verification_tier", "test"},
      {"confidence", 0.5},
      {"evidence_count", 2}};
}

std::string json_of(const QJsonObject& object) { return QJsonDocument(object).toJson().toStdString(); }

QString first(std::string_view text, std::string_view reason = {}) {
  const auto matches = KnowledgeBase::builtin().diagnose(text, reason);
  return matches.empty() ? QString() : q(matches.front().record->id);
}

bool has_chinese(const std::string& text) {
  static const QRegularExpression han("\\p{Han}{2,}");
  return han.match(q(text)).hasMatch();
}

}  // namespace

class KnowledgeTest : public QObject {
  Q_OBJECT
 private slots:
  void record_is_read();
  void unknown_fields_are_kept();
  void faults_name_the_field_data();
  void faults_name_the_field();
  void broken_json_is_refused();
  void folder_is_loaded();
  void duplicate_ids_are_refused();
  void every_reason_has_a_record();
  void own_records_are_translated_and_unmeasured();
  void general_record_is_found_data();
  void general_record_is_found();
  void message_of_each_reason_finds_its_record_data();
  void message_of_each_reason_finds_its_record();
  void pytorch_messages_find_the_record_data();
  void pytorch_messages_find_the_record();
  void data_dependent_break_finds_both_records();
  void reason_alone_is_enough();
  void most_specific_record_comes_first();
  void unrelated_text_finds_nothing();
  void other_names_and_typography_match();
  void line_patterns_have_a_fixed_part();
  void long_logs_are_searched();
  void json_holds_the_whole_record();
};

void KnowledgeTest::record_is_read() {
  auto record = parse_record(json_of(good_record()), "x.json");
  QVERIFY2(record.ok(), record.ok() ? "" : record.error().message.c_str());
  QCOMPARE(record->id, std::string("test/record"));
  QCOMPARE(record->dead_ends.size(), std::size_t(1));
  QCOMPARE(*record->dead_ends[0].fail_rate, 0.5);
  QVERIFY(!record->workarounds[0].success_rate);
  QCOMPARE(record->evidence_count, std::size_t(2));
}

void KnowledgeTest::unknown_fields_are_kept() {
  QJsonObject object = good_record();
  object["our_own"] = QJsonObject{{"deep", QJsonArray{1, "two"}}};
  auto record = parse_record(json_of(object), "x.json");
  QVERIFY(record.ok());
  QCOMPARE(QJsonDocument::fromJson(QByteArray::fromStdString(record->json)).object(), object);
}

void KnowledgeTest::faults_name_the_field_data() {
  QTest::addColumn<QString>("field");
  QTest::addColumn<QJsonValue>("value");
  QTest::addColumn<QString>("path");
  const auto row = [](const char* name, const char* field, const QJsonValue& value, const char* path) {
    QTest::newRow(name) << QString(field) << value << QString(path);
  };
  row("missing id", "id", QJsonValue::Undefined, "id: missing");
  row("missing cause", "root_cause", QJsonValue::Undefined, "root_cause: missing");
  row("missing evidence", "evidence_count", QJsonValue::Undefined, "evidence_count: missing");
  row("id with blanks", "id", "Not An Id", "id: expected");
  row("id with open end", "id", "pytorch/", "id: expected");
  row("empty signature", "signature", "", "signature: expected");
  row("signature number", "signature", 3, "signature: expected");
  row("bad pattern", "regex", "([", "regex: not a regular expression");
  row("confidence of two", "confidence", 2, "confidence: expected a number from 0 to 1");
  row("confidence text", "confidence", "high", "confidence: expected");
  row("negative evidence", "evidence_count", -1, "evidence_count: expected");
  row("half evidence", "evidence_count", 1.5, "evidence_count: expected");
  row("date", "last_updated", "yesterday", "last_updated: expected a date");
  row("address", "official_doc_url", "see the manual", "official_doc_url: expected");
  row("tags", "tags", QJsonArray{"a", 1}, "tags[1]: expected");
  row("dead ends as text", "dead_ends", "none", "dead_ends: expected a list");
  row("dead end as text", "dead_ends", QJsonArray{"none"}, "dead_ends[0]: expected");
  row("dead end without why", "dead_ends", QJsonArray{QJsonObject{{"action", "a"}}},
      "dead_ends[0].why_fails: missing");
  row("rate in second dead end", "dead_ends",
      QJsonArray{QJsonObject{{"action", "a"}, {"why_fails", "b"}},
                 QJsonObject{{"action", "a"}, {"why_fails", "b"}, {"fail_rate", 80}}},
      "dead_ends[1].fail_rate: expected a number from 0 to 1");
  row("workaround without how", "workarounds", QJsonArray{QJsonObject{{"action", "a"}}},
      "workarounds[0].how: missing");
  row("version", "versions", QJsonArray{QJsonObject{{"status", "active"}}}, "versions[0].version: missing");
  row("transition", "transition_graph", QJsonObject{{"leads_to", "x"}},
      "transition_graph.leads_to: expected");
}

void KnowledgeTest::faults_name_the_field() {
  QFETCH(QString, field);
  QFETCH(QJsonValue, value);
  QFETCH(QString, path);
  QJsonObject object = good_record();
  if (value.isUndefined())
    object.remove(field);
  else
    object[field] = value;
  const auto record = parse_record(json_of(object), "x.json");
  QVERIFY(!record.ok());
  QVERIFY2(q(record.error().message).startsWith("x.json: " + path), record.error().message.c_str());
}

void KnowledgeTest::broken_json_is_refused() {
  QVERIFY(q(parse_record("{\"id\": ", "x.json").error().message).startsWith("x.json: not JSON at byte"));
  QVERIFY(q(parse_record("[]", "x.json").error().message).contains("expected an object"));
  QVERIFY(!parse_record("", "x.json").ok());
}

void KnowledgeTest::folder_is_loaded() {
  QTemporaryDir folder;
  const auto write = [&](const QString& name, const std::string& text) {
    QFile file(folder.filePath(name));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(text.data(), static_cast<qint64>(text.size()));
  };
  write("a.json", json_of(good_record()));
  write("readme.txt", "no record");
  auto base = KnowledgeBase::load_folder(folder.path().toStdString());
  QVERIFY(base.ok());
  QCOMPARE(base->records().size(), std::size_t(1));
  QCOMPARE(q(base->diagnose("Something 'else' happened").front().record->id), QString("test/record"));
  write("b.json", "{}");
  base = KnowledgeBase::load_folder(folder.path().toStdString());
  QVERIFY(!base.ok());
  QVERIFY2(q(base.error().message).startsWith("b.json: id: missing"), base.error().message.c_str());
  QVERIFY(!KnowledgeBase::load_folder(folder.filePath("nowhere").toStdString()).ok());
}

void KnowledgeTest::duplicate_ids_are_refused() {
  KnowledgeBase base;
  QVERIFY(base.add(json_of(good_record()), "a.json").ok());
  const auto again = base.add(json_of(good_record()), "b.json");
  QVERIFY(!again.ok());
  QVERIFY(q(again.error().message).startsWith("b.json: id: 'test/record' is taken"));
}

void KnowledgeTest::every_reason_has_a_record() {
  QVERIFY(KnowledgeBase::builtin().find(kGeneral));
  for (const Reason& reason : all_reasons()) {
    const Record* record = KnowledgeBase::builtin().find(reason.knowledge);
    QVERIFY2(record, reason.id.c_str());
    QCOMPARE(record->reasons, std::vector<std::string>{reason.id});
    QVERIFY2(!record->root_cause.empty() && !record->dead_ends.empty() && !record->workarounds.empty(),
             reason.id.c_str());
    QVERIFY2(!record->official_doc_url.empty(), reason.id.c_str());
  }
  for (const Record* record : KnowledgeBase::builtin().records()) {
    for (const std::string& id : record->related) QVERIFY2(KnowledgeBase::builtin().find(id), id.c_str());
    for (const std::string& id : record->reasons) QVERIFY2(find_reason(id), id.c_str());
  }
}

void KnowledgeTest::own_records_are_translated_and_unmeasured() {
  QSet<QString> causes, causes_zh;
  for (const Record* record : KnowledgeBase::builtin().records()) {
    if (!q(record->id).startsWith("breakline/")) continue;
    const char* id = record->id.c_str();
    QVERIFY2(has_chinese(record->signature_zh) && has_chinese(record->root_cause_zh), id);
    for (const DeadEnd& end : record->dead_ends) {
      QVERIFY2(has_chinese(end.action_zh) && has_chinese(end.why_fails_zh), id);
      QVERIFY2(!end.fail_rate, id);
    }
    for (const Workaround& workaround : record->workarounds) {
      QVERIFY2(has_chinese(workaround.action_zh) && has_chinese(workaround.how_zh), id);
      QVERIFY2(!workaround.success_rate, id);
    }
    QVERIFY2(!record->confidence && record->evidence_count == 0, id);
    // Written one by one: no two share a cause.
    QVERIFY2(!causes.contains(q(record->root_cause)) && !causes_zh.contains(q(record->root_cause_zh)), id);
    causes.insert(q(record->root_cause));
    causes_zh.insert(q(record->root_cause_zh));
  }
}

void KnowledgeTest::general_record_is_found_data() {
  QTest::addColumn<QString>("text");
  const QString whole =
      "RuntimeError: torch.compile: function 'forward' failed with a graph break. Falling back to eager "
      "mode. Consider "
      "rewriting the function to avoid unsupported operations.";
  QTest::newRow("whole") << whole;
  QTest::newRow("first sentence")
      << "RuntimeError: torch.compile: function 'forward' failed with a graph break.";
  QTest::newRow("without the class") << "torch.compile: function 'forward' failed with a graph break.";
  QTest::newRow("without the full stop") << "torch.compile: function 'forward' failed with a graph break";
  QTest::newRow("other name") << QString(whole).replace("forward", "train_step");
  QTest::newRow("other name, first sentence")
      << "torch.compile: function '_inner_loop2' failed with a graph break.";
  QTest::newRow("other quotes") << "torch.compile: function “forward” failed with a graph break.";
  QTest::newRow("upper case") << "TORCH.COMPILE: FUNCTION 'FORWARD' FAILED WITH A GRAPH BREAK.";
  QTest::newRow("wrapped")
      << "RuntimeError: torch.compile: function 'forward' failed\n    with a graph break. Falling back "
         "to\n    eager mode.";
  QTest::newRow("coloured")
      << "\x1b[31mRuntimeError\x1b[0m: torch.compile: function \x1b[1m'forward'\x1b[0m failed with a "
         "graph break.";
  QTest::newRow("in a log") << QString(
                                   "2024-01-10 12:00:01 INFO epoch 3\nTraceback (most recent call last):\n"
                                   "  File \"train.py\", line 88, in <module>\n    main()\n%1\n"
                                   "2024-01-10 12:00:02 INFO print of shapes: (3, 4)\n")
                                   .arg(whole);
  QTest::newRow("zh") << QString::fromUtf8(
      "运行时错误：torch.compile：函数'forward'"
      "因图断裂失败。回退到即时模式。请考虑重写函数以避免不支持的运算。");
  QTest::newRow("zh first sentence") << QString::fromUtf8(
      "运行时错误：torch.compile：函数'forward'因图断裂失败。");
  QTest::newRow("zh other name") << QString::fromUtf8("torch.compile：函数'train_step'因图断裂失败");
  QTest::newRow("zh ASCII marks") << QString::fromUtf8(
      "运行时错误: torch.compile: 函数'forward'因图断裂失败.");
  QTest::newRow("zh in a log") << QString::fromUtf8(
      "[信息] 第3轮\n运行时错误：torch.compile：函数'step'因图断裂失败。回退到即时模式。\n[信息] 结束\n");
}

void KnowledgeTest::general_record_is_found() {
  QFETCH(QString, text);
  const auto matches = KnowledgeBase::builtin().diagnose(text.toStdString());
  QVERIFY(!matches.empty());
  QCOMPARE(q(matches.front().record->id), QString(kGeneral));
  QVERIFY2(matches.front().score >= 0.75, qPrintable(QString::number(matches.front().score)));
}

void KnowledgeTest::message_of_each_reason_finds_its_record_data() {
  QTest::addColumn<QString>("id");
  for (const Reason& reason : all_reasons()) QTest::newRow(reason.id.c_str()) << q(reason.id);
}

// Our own message of the break, as an engineer would paste it, inside a log.
void KnowledgeTest::message_of_each_reason_finds_its_record() {
  QFETCH(QString, id);
  const Reason* reason = find_reason(id.toStdString());
  const std::string message = format_unsupported_message(
      render(*reason, {}), {.user_stack = "  File \"model.py\", line 3, in forward\n    y = f(x)\n"});
  const auto matches = KnowledgeBase::builtin().diagnose("epoch 1\n" + message + "\nepoch 2\n");
  QVERIFY(!matches.empty());
  QCOMPARE(q(matches.front().record->id), q(reason->knowledge));
  QCOMPARE(first(reason->id), q(reason->knowledge));
}

void KnowledgeTest::pytorch_messages_find_the_record_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<QString>("id");
  const auto row = [](const char* id, const char* text) {
    QTest::newRow(id) << QString(text) << QString(id);
  };
  row("data-dependent-branch",
      "torch._dynamo.exc.Unsupported: Data-dependent branching\n  Explanation: Detected data-dependent "
      "branching (e.g. `if "
      "my_tensor.sum() > 0:`). Dynamo does not support tracing dynamic control flow.\n  Hint: Use "
      "`torch.cond` to express "
      "dynamic control flow.\n");
  row("print",
      "Failed to trace builtin operator\n  Explanation: Dynamo does not know how to trace builtin operator "
      "`print` with "
      "argument types ['Tensor'] (has_kwargs False)\n  Hint: If you are attempting to call a logging "
      "function (e.g. `print`), "
      "you can try adding it to `torch._dynamo.config.reorderable_logging_functions`.\n\n  Developer debug "
      "context: builtin "
      "print [<class 'torch._dynamo.variables.tensor.TensorVariable'>] False\n");
  row("warning",
      "Attempted to call function marked as skipped\n  Explanation: Dynamo does not know how to trace the "
      "Python builtin "
      "`_warnings.warn`.\n\n  Developer debug context: module: _warnings, qualname: warn, skip reason: "
      "cannot determine "
      "source file\n");
  row("clock",
      "Attempted to call function marked as skipped\n  Explanation: Dynamo does not know how to trace the "
      "builtin "
      "`time.perf_counter.`\n\n  Developer debug context: module: time, qualname: perf_counter, skip reason: "
      "<missing "
      "reason>\n");
  row("tensor-item",
      "Unsupported Tensor.item() call with capture_scalar_outputs=False\n  Explanation: Dynamo does not "
      "support tracing "
      "`Tensor.item()` with config.capture_scalar_outputs=False.\n");
  row("compiler-disable",
      "Skip calling `torch.compiler.disable()`d function\n  Explanation: Skip calling function `<function h "
      "at "
      "0x7f91ff724e00>` since it was wrapped with `torch.compiler.disable` (reason: None)\n");
  row("graph-break",
      "V1129 21:00:00.000000 1234 torch/_dynamo/symbolic_convert.py:600] [0/0] [__graph_breaks] Graph break "
      "in user code at "
      "prog.py:8\nV1129 21:00:00.000000 1234 torch/_dynamo/symbolic_convert.py:600] [0/0] [__graph_breaks] "
      "Call to "
      "`torch._dynamo.graph_break()`\n");
  row("recompile-limit",
      "W0101 torch/_dynamo/convert_frame.py:1000] torch._dynamo hit config.recompile_limit (8)\n   function: "
      "'fn' (a.py:3)\n");
  row("dynamic-shape",
      "Dynamic shape operator\n  Explanation: Operator `aten.nonzero.default`'s output shape depends on "
      "input Tensor data.\n");
  row("logging",
      "logging.Logger method not supported for non-export cases\n  Explanation: logging.Logger methods are "
      "not "
      "supported for non-export cases.\n");
  row("backward", "see https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0123.html");
}

void KnowledgeTest::pytorch_messages_find_the_record() {
  QFETCH(QString, text);
  QFETCH(QString, id);
  QCOMPARE(first(text.toStdString()), "breakline/" + id);
}

void KnowledgeTest::data_dependent_break_finds_both_records() {
  const std::string message =
      format_unsupported_message(render(*find_reason("data-dependent-branch"), {}), {});
  for (const auto& matches : {KnowledgeBase::builtin().diagnose(message, "data-dependent-branch"),
                              KnowledgeBase::builtin().diagnose("", "data-dependent-branch"),
                              KnowledgeBase::builtin().diagnose(message)}) {
    QVERIFY(matches.size() >= 2);
    QCOMPARE(q(matches[0].record->id), QString("breakline/data-dependent-branch"));
    QCOMPARE(q(matches[1].record->id), QString(kGeneral));
    QVERIFY(matches[0].score > matches[1].score);
  }
}

void KnowledgeTest::reason_alone_is_enough() {
  for (const Reason& reason : all_reasons()) {
    const auto matches = KnowledgeBase::builtin().diagnose({}, reason.id);
    QVERIFY(!matches.empty());
    QCOMPARE(q(matches.front().record->id), q(reason.knowledge));
    QCOMPARE(matches.front().score, 1.0);
  }
  QVERIFY(KnowledgeBase::builtin().diagnose({}, "no-such-reason").empty());
}

void KnowledgeTest::most_specific_record_comes_first() {
  const std::string print =
      "Dynamo does not know how to trace builtin operator `print` with argument types ['Tensor']";
  const auto matches =
      KnowledgeBase::builtin().diagnose("Failed to trace builtin operator\n  Explanation: " + print);
  QVERIFY(matches.size() >= 2);
  QCOMPARE(q(matches[0].record->id), QString("breakline/print"));
  QCOMPARE(q(matches[1].record->id), QString("breakline/builtin"));
  QVERIFY(KnowledgeBase::builtin().diagnose(print, {}, 1).size() == 1);
}

void KnowledgeTest::unrelated_text_finds_nothing() {
  for (const char* text : {"", "   \n", "hello", "make: *** [all] Error 2",
                           "Segmentation fault (core dumped)", "今天天气很好", "12345 67890"})
    QVERIFY2(KnowledgeBase::builtin().diagnose(text).empty(), text);
  // A strong match needs more than common words.
  const auto weak = KnowledgeBase::builtin().diagnose("ModuleNotFoundError: No module named 'requests'");
  for (const Match& match : weak) QVERIFY(match.score < 0.5);
}

void KnowledgeTest::other_names_and_typography_match() {
  QCOMPARE(normalise("A  \"b\"\n`c`"), std::string("a 'b' 'c'"));
  QCOMPARE(normalise("函数：‘x’。"), normalise("函数: 'x'."));
  const auto patterns = sentence_patterns("RuntimeError: it's 'a' and 'b'. Then `c`.");
  QCOMPARE(patterns.size(), std::size_t(2));
  QCOMPARE(patterns[0].pieces, (std::vector<std::string>{"it's '", "' and '", "'"}));
  QVERIFY(patterns[0].find(normalise("It's 'foo.bar' and 'x y'.")));
  QVERIFY(!patterns[0].find(normalise("It's 'foo' or 'x'.")));
  QVERIFY(patterns[1].find(normalise("then `c`")));
  QVERIFY(!patterns[1].find(normalise("then `d`")));
  QCOMPARE(generalise_names("function 'forward' failed"), std::string("function '[^']*' failed"));
}

void KnowledgeTest::line_patterns_have_a_fixed_part() {
  using Texts = std::vector<std::string>;
  QCOMPARE(LinePattern("abc\\.def").literals(), (Texts{"abc.def"}));
  QCOMPARE(LinePattern("ab?longer part").literals(), (Texts{"longer part"}));
  QCOMPARE(LinePattern("one|two").literals(), (Texts{"one", "two"}));
  QCOMPARE(LinePattern("one|.*").literals(), Texts());
  QCOMPARE(LinePattern("x(aa|b)tail[0-9]").literals(), (Texts{"tail"}));
  QCOMPARE(LinePattern("(first|second) [a-z]").literals(), (Texts{"first", "second"}));
  QCOMPARE(LinePattern("(maybe)?x+yz").literals(), (Texts{"yz"}));
  QCOMPARE(LinePattern("Headline(?! no)").literals(), (Texts{"Headline"}));
  QCOMPARE(*LinePattern("b+c").find("a\nbbc"), std::size_t(2));
  QCOMPARE(*LinePattern("one|two").find("x\ny\nz two\none"), std::size_t(6));
  QVERIFY(!LinePattern("a.*c").find("a\nc"));
}

void KnowledgeTest::long_logs_are_searched() {
  std::string log;
  while (log.size() < (1u << 20)) log += "INFO step done in time, loss 0.25 and some more words of a log\n";
  log += "torch.compile: function 'f' failed with a graph break.\n";
  QCOMPARE(first(log), QString(kGeneral));
  const std::string one_line(200000, 'x');
  QVERIFY(KnowledgeBase::builtin().diagnose(one_line).empty());
}

void KnowledgeTest::json_holds_the_whole_record() {
  const auto matches =
      KnowledgeBase::builtin().diagnose("torch.compile: function 'f' failed with a graph break.");
  const QJsonArray list =
      QJsonDocument::fromJson(QByteArray::fromStdString(matches_to_json(matches))).array();
  QCOMPARE(list.size(), static_cast<int>(matches.size()));
  const QJsonObject record = list[0].toObject()["record"].toObject();
  QFile file(
      QStringLiteral(BREAKLINE_SOURCE_DIR "/resources/knowledge/pytorch-graph-break-unsupported-op.json"));
  QVERIFY(file.open(QIODevice::ReadOnly));
  QCOMPARE(record, QJsonDocument::fromJson(file.readAll()).object());
  QVERIFY(list[0].toObject()["score"].toDouble() > 0.75);
}

QTEST_APPLESS_MAIN(KnowledgeTest)
#include "knowledge_test.moc"
