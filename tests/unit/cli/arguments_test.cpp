// SPDX-License-Identifier: GPL-3.0-or-later
// The command line: what is understood, and the one sentence for what is not.
#include "app/cli/arguments.h"

#include <QtTest>

using namespace breakline::cli;

class ArgumentsTest : public QObject {
  Q_OBJECT
 private slots:
  void explain_takes_its_options() {
    const auto a = parse_arguments({"explain",
                                    "--json",
                                    "m.py:Net(4)",
                                    "--policy",
                                    "fn:m.py:f=error",
                                    "--policy=lines:m.py:1-2=allow",
                                    "--input",
                                    "f32[2]",
                                    "--input=n=3",
                                    "--device",
                                    "vulkan",
                                    "--train",
                                    "--seed",
                                    "7",
                                    "--timeout",
                                    "1.5",
                                    "--python",
                                    "/p",
                                    "--",
                                    "--flag",
                                    "x"});
    QVERIFY(a);
    QVERIFY(a->json && a->open.train && !a->strict);
    QCOMPARE(a->open.target, std::string("m.py:Net(4)"));
    QCOMPARE(a->open.overlays.size(), std::size_t{2});
    QCOMPARE(a->open.overlays[1].key, std::string("lines:m.py:1-2"));
    QCOMPARE(a->open.inputs, (std::vector<std::string>{"f32[2]", "n=3"}));
    QCOMPARE(a->open.device, std::string("vulkan"));
    QCOMPARE(a->open.seed.value_or(0), 7);
    QCOMPARE(a->timeout_s.value_or(0), 1.5);
    QCOMPARE(a->python, std::string("/p"));
    QCOMPARE(a->open.argv, (std::vector<std::string>{"--flag", "x"}));
  }

  void a_module_is_a_target() {
    const auto a = parse_arguments({"explain", "--json", "-m", "pkg.train", "--strict", "--", "-m", "x"});
    QVERIFY(a);
    QCOMPARE(a->open.target, std::string("-m pkg.train"));
    QVERIFY(a->json && a->strict);
    QCOMPARE(a->open.argv, (std::vector<std::string>{"-m", "x"}));
  }

  void run_and_python_leave_the_rest_alone() {
    const auto run = parse_arguments({"run", "--python=/p", "s.py", "--json", "--python", "q", "--", "z"});
    QVERIFY(run);
    QCOMPARE(run->python, std::string("/p"));
    QCOMPARE(run->rest, (std::vector<std::string>{"s.py", "--json", "--python", "q", "--", "z"}));
    const auto python = parse_arguments({"--python", "/p", "python", "-c", "pass", "--help"});
    QVERIFY(python);
    QCOMPARE(python->python, std::string("/p"));
    QCOMPARE(python->rest, (std::vector<std::string>{"-c", "pass", "--help"}));
  }

  void help_and_version() {
    QCOMPARE(parse_arguments({"--version"})->command, Command::kVersion);
    QCOMPARE(parse_arguments({"explain", "--help"})->help_topic, std::string("explain"));
    for (const char* topic : {"", "explain", "time", "run", "python", "diagnose"})
      QVERIFY(help_text(topic).size() > 60);
    QVERIFY(help_text("explain").find("--policy KEY=VALUE") != std::string::npos);
    QVERIFY(help_text("explain").find("--rounds") == std::string::npos);
  }

  void wrong_words_get_one_sentence_data() {
    QTest::addColumn<QStringList>("words");
    QTest::addColumn<QString>("part");
    QTest::newRow("nothing") << QStringList{} << "Name a command";
    QTest::newRow("command") << QStringList{"explode"} << "no command 'explode'";
    QTest::newRow("target") << QStringList{"explain"} << "Name a target";
    QTest::newRow("two targets") << QStringList{"explain", "a", "b"} << "'b' is one too many";
    QTest::newRow("option") << QStringList{"explain", "a", "--frobnicate"} << "no option --frobnicate";
    QTest::newRow("option of another command")
        << QStringList{"time", "a", "--strict"} << "no option --strict";
    QTest::newRow("no value") << QStringList{"explain", "a", "--policy"} << "--policy needs a value";
    QTest::newRow("policy") << QStringList{"explain", "a", "--policy", "x"} << "KEY=VALUE";
    QTest::newRow("policy file") << QStringList{"explain", "a", "--policy-file", "/nonexistent"}
                                 << "can't be read";
    QTest::newRow("device") << QStringList{"explain", "a", "--device", "tpu"} << "cpu or vulkan";
    QTest::newRow("seed") << QStringList{"explain", "a", "--seed", "x"} << "whole number";
    QTest::newRow("timeout") << QStringList{"explain", "a", "--timeout", "0"} << "above 0";
    QTest::newRow("switch with value") << QStringList{"explain", "a", "--json=1"} << "takes no value";
    QTest::newRow("diagnose") << QStringList{"diagnose"} << "file to diagnose";
    QTest::newRow("module") << QStringList{"explain", "-m"} << "name of a module";
    QTest::newRow("module and file") << QStringList{"explain", "-m", "a", "b.py"} << "'b.py' is one too many";
    QTest::newRow("module of diagnose") << QStringList{"diagnose", "-m", "a"} << "no option -m";
    QTest::newRow("run") << QStringList{"run"} << "script to run";
    QTest::newRow("run option") << QStringList{"run", "--json", "s.py"} << "no option --json";
  }
  void wrong_words_get_one_sentence() {
    QFETCH(QStringList, words);
    QFETCH(QString, part);
    std::vector<std::string> list;
    for (const QString& word : words) list.push_back(word.toStdString());
    const auto a = parse_arguments(list);
    QVERIFY(!a);
    const QString message = QString::fromStdString(a.error().message);
    QVERIFY2(message.contains(part), qPrintable(message));
    QVERIFY(message.endsWith('.') || message.endsWith(')'));
    QVERIFY(!message.contains('\n'));
  }
};

QTEST_APPLESS_MAIN(ArgumentsTest)
#include "arguments_test.moc"
