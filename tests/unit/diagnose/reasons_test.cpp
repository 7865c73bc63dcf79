// SPDX-License-Identifier: GPL-3.0-or-later
// The table of break reasons and the layout of messages. The expected layouts are what PyTorch 2.13 printed.
#include "core/diagnose/reasons.h"

#include <QDirIterator>
#include <QFile>
#include <QRegularExpression>
#include <QSet>
#include <QtTest>

using namespace breakline::diagnose;

namespace {
QString q(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}
}  // namespace

class ReasonsTest : public QObject {
  Q_OBJECT
 private slots:
  void table_is_complete();
  void templates_have_no_leftovers();
  void known_kinds_are_found_data();
  void known_kinds_are_found();
  void templates_are_filled();
  void message_of_a_graph_break();
  void message_without_hints_or_link();
  void continuation_lines_are_indented();
  void higher_order_op_is_named();
  void chained_bodies_are_joined();
  void tracer_names_known_reasons_and_slots();
};

void ReasonsTest::table_is_complete() {
  QVERIFY(all_reasons().size() >= 60);
  const QSet<QString> groups = {"user",   "data",  "call",     "iteration", "context",
                                "object", "torch", "autograd", "limit"};
  static const QRegularExpression id("^[a-z0-9]+(-[a-z0-9]+)*$"), gb("^(GB\\d{4})?$");
  static const QRegularExpression chinese("\\p{Han}");
  QSet<QString> seen;
  for (const Reason& reason : all_reasons()) {
    const QString name = q(reason.id);
    QVERIFY2(id.match(name).hasMatch() && !seen.contains(name), qPrintable(name));
    seen.insert(name);
    QVERIFY2(gb.match(q(reason.gb_id)).hasMatch(), qPrintable(name));
    QVERIFY2(groups.contains(q(reason.group)), qPrintable(name));
    QVERIFY2(!reason.label.empty() && reason.label.size() <= 32, qPrintable(name));
    QVERIFY2(!reason.label_zh.empty(), qPrintable(name));
    QVERIFY2(!reason.type.empty() && !reason.explanation.empty() && !reason.hints.empty(), qPrintable(name));
    QCOMPARE(reason.knowledge, "breakline/" + reason.id);
    QCOMPARE(reason.url.empty(), reason.gb_id.empty());
    QCOMPARE(find_reason(reason.id), &reason);
  }
  int translated = 0;
  for (const Reason& reason : all_reasons()) translated += chinese.match(q(reason.label_zh)).hasMatch();
  QVERIFY(translated > static_cast<int>(all_reasons().size()) - 10);  // a few labels are names: "print()"
  QCOMPARE(find_reason("no-such-reason"), nullptr);
}

void ReasonsTest::templates_have_no_leftovers() {
  // A slot that is misspelt stays visible as braces around a word.
  static const QRegularExpression slot("\\{\\w+(\\|[^}]*)?\\}");
  for (const Reason& reason : all_reasons()) {
    const Rendered rendered = render(reason, {});
    QStringList texts{q(rendered.type), q(rendered.explanation), q(rendered.context)};
    for (const std::string& hint : rendered.hints) texts << q(hint);
    for (const QString& text : texts)
      QVERIFY2(!slot.match(text).hasMatch(), qPrintable(q(reason.id) + ": " + text));
  }
}

void ReasonsTest::known_kinds_are_found_data() {
  QTest::addColumn<QString>("id");
  QTest::addColumn<QString>("type");
  QTest::addColumn<QString>("page");
  const auto row = [](const char* id, const char* type, const char* page) {
    QTest::newRow(id) << QString(id) << QString(type) << QString(page);
  };
  row("graph-break", "Call to `torch._dynamo.graph_break()`", "gb0025");
  row("skip-frame", "Call to `torch._dynamo.skip_frame()`", "gb4297");
  row("compiler-disable", "Skip calling `torch.compiler.disable()`d function", "gb0098");
  row("data-dependent-branch", "Data-dependent branching", "gb0170");
  row("tensor-item", "Unsupported Tensor.item() call with capture_scalar_outputs=False", "gb0124");
  row("builtin", "Failed to trace builtin operator", "gb0059");
  row("c-function", "Attempted to call function marked as skipped", "gb0007");
  row("inplace-resize", "Unsupported Tensor.resize_() call", "gb0126");
  row("recompile-limit", "Dynamo recompile limit exceeded", "gb0039");
}

void ReasonsTest::known_kinds_are_found() {
  QFETCH(QString, id);
  QFETCH(QString, type);
  QFETCH(QString, page);
  const Reason* reason = find_reason(id.toStdString());
  QVERIFY(reason);
  QCOMPARE(q(render(*reason, {}).type), type);
  QVERIFY(q(reason->url).endsWith("/gb/" + page + ".html"));
  QCOMPARE(find_reason_by_type(type.toStdString()), reason);
}

void ReasonsTest::templates_are_filled() {
  const Argument arguments[] = {{"a", "1"}, {"b", ""}};
  QCOMPARE(fill_template("x {a} y", arguments), std::string("x 1 y"));
  QCOMPARE(fill_template("{a|9}{b|9}{c|9}", arguments), std::string("19"));
  QCOMPARE(fill_template("{k|{}} {k|[]}", arguments), std::string("{} []"));
  QCOMPARE(fill_template("{missing}", arguments), std::string("…"));
  QCOMPARE(fill_template("a {} { b } {not closed", arguments), std::string("a {} { b } {not closed"));
  QCOMPARE(render(*find_reason("graph-break"), {{"message", "why"}}).explanation,
           std::string("User-inserted graph break. Message: why"));
}

void ReasonsTest::message_of_a_graph_break() {
  const Rendered reason = render(*find_reason("graph-break"), {});
  const std::string text =
      format_unsupported_message(reason, {.higher_order_op = {},
                                          .user_stack = "  File \"m2.py\", line 3, in gb\n"
                                                        "    def gb(x): d.graph_break(); return x\n"
                                                        "               ^^^^^^^^^^^^^^^^^^^^^^^^^\n"});
  QCOMPARE(
      q(text),
      QString("Call to `torch._dynamo.graph_break()`\n"
              "  Explanation: User-inserted graph break. Message: None\n"
              "  Hint: Remove the `torch._dynamo.graph_break()` call.\n"
              "\n"
              "  Developer debug context: Called `torch._dynamo.graph_break()` with args `[]`, kwargs `{}`\n"
              "\n"
              " For more details about this graph break, please visit: "
              "https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0025.html\n"
              "\n"
              "from user code:\n"
              "   File \"m2.py\", line 3, in gb\n"
              "    def gb(x): d.graph_break(); return x\n"
              "               ^^^^^^^^^^^^^^^^^^^^^^^^^\n"
              "\n"
              "Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace (please do this especially if "
              "you're reporting a bug to PyTorch). For even more developer context, set "
              "TORCH_LOGS=\"+dynamo\"\n"));
  QVERIFY(!q(format_unsupported_message(reason, {.user_stack = "x", .verbose = true}))
               .contains("TORCHDYNAMO_VERBOSE"));
}

void ReasonsTest::message_without_hints_or_link() {
  Rendered reason;
  reason.type = "Own kind";
  reason.explanation = "Because.";
  QCOMPARE(q(format_reason_body(reason)), QString("Own kind\n"
                                                  "  Explanation: Because.\n"
                                                  "\n"
                                                  "\n"
                                                  "  Developer debug context: \n"));
}

void ReasonsTest::continuation_lines_are_indented() {
  Rendered reason;
  reason.type = "T";
  reason.explanation = "one\n\n  two\n    \nthree";
  reason.hints = {"h1\nh2"};
  reason.context = "c1\nc2";
  QCOMPARE(q(format_reason_body(reason)), QString("T\n"
                                                  "  Explanation: one\n"
                                                  "\n"
                                                  "      two\n"
                                                  "    \n"
                                                  "    three\n"
                                                  "  Hint: h1\n"
                                                  "    h2\n"
                                                  "\n"
                                                  "  Developer debug context: c1\n"
                                                  "    c2\n"));
}

void ReasonsTest::higher_order_op_is_named() {
  const QString body = q(format_reason_body(render(*find_reason("graph-break"), {}), "torch.cond"));
  QVERIFY(body.startsWith(
      "Call to `torch._dynamo.graph_break()`\n  Higher Order Operator: torch.cond\n  Explanation:"));
}

void ReasonsTest::chained_bodies_are_joined() {
  QCOMPARE(
      q(join_chained_bodies("first\n", "second\n")),
      QString("first\n\n*** While handling this graph break, another graph break occurred: ***\n\nsecond\n"));
}

// The tracer names reasons by id and fills slots by name; a misspelt one would only show in a user's report.
void ReasonsTest::tracer_names_known_reasons_and_slots() {
  static const QRegularExpression call("\\bstop\\(\\s*\"([a-z-]+)\"(,\\s*\\{(?:[^;]*?)\\}\\s*\\))?");
  static const QRegularExpression key("\\{\\s*\"(\\w+)\"\\s*,");
  int calls = 0;
  QDirIterator files(QStringLiteral(BREAKLINE_SOURCE_DIR "/core"), {"*.cpp"}, QDir::Files,
                     QDirIterator::Subdirectories);
  while (files.hasNext()) {
    QFile file(files.next());
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QString source = QString::fromUtf8(file.readAll());
    auto match = call.globalMatch(source);
    while (match.hasNext()) {
      const auto one = match.next();
      const Reason* reason = find_reason(one.captured(1).toStdString());
      QVERIFY2(reason, qPrintable(file.fileName() + ": " + one.captured(1)));
      ++calls;
      std::string templates = reason->type + reason->explanation + reason->context;
      for (const std::string& hint : reason->hints) templates += hint;
      auto keys = key.globalMatch(one.captured(2));
      while (keys.hasNext()) {
        const QString name = keys.next().captured(1);
        if (name == QLatin1String("call")) continue;  // tells the places of one reason apart, for core/trace/unknown.cpp
        QVERIFY2(q(templates).contains("{" + name + "}") || q(templates).contains("{" + name + "|"),
                 qPrintable(file.fileName() + ": " + one.captured(1) + " has no slot {" + name + "}"));
      }
    }
  }
  QVERIFY2(calls > 20, qPrintable(QString::number(calls)));
}

QTEST_APPLESS_MAIN(ReasonsTest)
#include "reasons_test.moc"
