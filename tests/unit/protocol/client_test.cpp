// SPDX-License-Identifier: GPL-3.0-or-later
// The client against small shell programs that stand for an engine: answers, notices, death, silence,
// nonsense.
#include "core/client/client.h"

#include <QtTest>

#include "core/client/locate.h"
#include "core/client/report_text.h"

using namespace breakline;
using client::Client;
using client::Outcome;

namespace {

client::Command shell(const std::string& script) { return {{"/bin/sh", "-c", script}, {}}; }

std::string say(const std::string& body) {
  return "printf 'Content-Length: " + std::to_string(body.size()) + "\\r\\n\\r\\n%s' '" + body + "'; ";
}

}  // namespace

class ClientTest : public QObject {
  Q_OBJECT
 private slots:
  void an_answer_and_its_notices() {
    const std::string script =
        say(R"({"method":"output","params":{"stream":"stdout","text":"hi","label":"run"}})") +
        say(R"({"jsonrpc":"2.0","id":1,"result":{"ok":true}})") + "cat > /dev/null";
    auto engine = Client::start(shell(script));
    QVERIFY(engine);
    std::string heard;
    (*engine)->on_notice(
        [&](const std::string& method, const protocol::Notice& notice) { heard = method + notice.text; });
    const auto answer = (*engine)->call("hello", "{}", Client::Seconds(20));
    QCOMPARE(static_cast<int>(answer.outcome), static_cast<int>(Outcome::kAnswered));
    QCOMPARE(answer.body, std::string("{\"ok\":true}"));
    QCOMPARE(heard, std::string("outputhi"));
  }

  void a_refusal_keeps_code_and_kind() {
    auto engine = Client::start(shell(
        say(R"({"id":1,"error":{"code":1,"message":"no","data":{"kind":"syntax"}}})") + "cat > /dev/null"));
    const auto answer = (*engine)->call("open", "{}", Client::Seconds(20));
    QCOMPARE(static_cast<int>(answer.outcome), static_cast<int>(Outcome::kRefused));
    QVERIFY(answer.failure.bad_input());
    QCOMPARE(answer.failure.kind, std::string("syntax"));
  }

  void death_says_how_and_keeps_the_last_words() {
    auto engine = Client::start(shell("echo last words >&2; kill -SEGV $$"));
    const auto answer = (*engine)->call("open", "{}", Client::Seconds(20));
    QCOMPARE(static_cast<int>(answer.outcome), static_cast<int>(Outcome::kDied));
    QVERIFY(answer.failure.message.find("signal 11") != std::string::npos);
    QCOMPARE(answer.failure.traceback, std::string("last words\n"));
  }

  void an_exit_status_is_named() {
    auto engine = Client::start(shell("exit 7"));
    const auto answer = (*engine)->call("open", "{}", Client::Seconds(20));
    QVERIFY(answer.failure.message.find("exit status 7") != std::string::npos);
  }

  void silence_times_out() {
    auto engine = Client::start(shell("exec cat > /dev/null"));
    const auto answer = (*engine)->call("open", "{}", Client::Seconds(0.2));
    QCOMPARE(static_cast<int>(answer.outcome), static_cast<int>(Outcome::kTimedOut));
    QVERIFY(answer.failure.message.find("0.2 s") != std::string::npos);
  }

  void a_limit_holds_for_all_requests_together() {
    auto engine =
        Client::start(shell("sleep 0.3; " + say(R"({"id":1,"result":{}})") + "exec cat > /dev/null"));
    (*engine)->limit(Client::Seconds(1.5));
    QElapsedTimer timer;
    timer.start();
    QCOMPARE(static_cast<int>((*engine)->call("hello", "{}").outcome), static_cast<int>(Outcome::kAnswered));
    const auto answer = (*engine)->call("open", "{}", Client::Seconds(1.4));  // its own would end at 1.7 s
    QCOMPARE(static_cast<int>(answer.outcome), static_cast<int>(Outcome::kTimedOut));
    QVERIFY2(answer.failure.message.find("within 1.5 s while it ran") != std::string::npos,
             answer.failure.message.c_str());
  }

  void the_ending_tells_times_of_what_was_traced_only() {
    protocol::Report report;
    report.targets.resize(1);
    report.timing_ms.run = 2;
    const auto ending = [&] {
      const std::string text = client::report_text(report, {});
      return text.substr(text.find("Run "));
    };
    QCOMPARE(ending(), std::string("Run 2.0 ms; nothing was compiled.\n"));
    report.targets[0].error.emplace();
    report.targets[0].error->break_id = "b";
    QCOMPARE(ending(), std::string("Run 2.0 ms; the trace was refused, so nothing was compiled.\n"));
    report.timing_ms.trace = 0.5;
    QCOMPARE(ending(), std::string("Run 2.0 ms, of it tracing 0.50 ms and compiling 0.00 ms.\n"));
  }

  void a_program_that_is_no_engine_is_told() {
    auto engine = Client::start(shell("echo hello; echo; yes | head -c 20000; cat > /dev/null"));
    const auto answer = (*engine)->call("hello", "{}", Client::Seconds(20));
    QCOMPARE(static_cast<int>(answer.outcome), static_cast<int>(Outcome::kDied));
    QVERIFY(answer.failure.message.find("not a Breakline engine") != std::string::npos);
  }

  void a_missing_program_is_one_sentence() {
    const auto engine = Client::start({{"/nonexistent/program"}, {}});
    QVERIFY(!engine);
    QVERIFY(engine.error().message.find("can't be started") != std::string::npos);
  }

  void the_environment_reaches_the_child() {
    auto command = shell(
        "printf 'Content-Length: %d\\r\\n\\r\\n{\"id\":1,\"result\":\"%s\"}' $((${#MARK}+20)) \"$MARK\"; cat "
        "> /dev/null");
    command.environment = {{"MARK", "abc"}};
    auto engine = Client::start(command);
    QCOMPARE((*engine)->call("x", "{}", Client::Seconds(20)).body, std::string("\"abc\""));
  }

  void an_interpreter_that_is_not_there_is_named() {
    const auto found = client::locate_interpreter("/nonexistent/python", "/nonexistent/bin");
    QVERIFY(!found);
    QVERIFY(found.error().message.find("/nonexistent/python") != std::string::npos);
  }

  void text_report_marks_the_columns_of_a_break() {
    QTemporaryFile file;
    QVERIFY(file.open());
    file.write("def f(x):\n    return helper(x)\n");
    file.close();
    protocol::Report report;
    protocol::Target target;
    target.name = "f";
    protocol::Break item;
    item.id = "b";
    item.file = file.fileName().toStdString();
    item.line = item.end_line = 2;
    item.column = 11;
    item.end_column = 20;
    item.type = "Reason";
    item.hints = {"Do this."};
    target.breaks = {item};
    report.targets = {target};
    report.breaks = {item};
    report.preview = {{"b"}, "b"};
    client::TextOptions options;
    options.strict = true;
    const std::string text = client::report_text(report, options);
    QVERIFY2(text.find("| return helper(x)\n      |        ^^^^^^^^^\n") != std::string::npos, text.c_str());
    QVERIFY(text.find(":2:12-20   Reason") != std::string::npos);
    QVERIFY(text.find("Hint: Do this.") != std::string::npos);
    QVERIFY(text.find("strict: 1 break is left") != std::string::npos);
  }
};

QTEST_GUILESS_MAIN(ClientTest)
#include "client_test.moc"
