// SPDX-License-Identifier: GPL-3.0-or-later
// The window's plain values: reading reports, timings and knowledge, framing, layout, command line.
#include <QAbstractItemModelTester>
#include <QJsonArray>
#include <QJsonDocument>
#include <QTest>

#include "ui/controller/engine_link.h"
#include "ui/models/break_table_model.h"
#include "ui/models/knowledge.h"
#include "ui/models/line_map.h"
#include "ui/models/python_outline.h"
#include "ui/models/report.h"
#include "ui/models/timings.h"
#include "ui/panels/graph/graph_layout.h"
#include "ui/shell/options.h"
#include "ui/shell/palette.h"

using namespace breakline::ui;

namespace {

QJsonObject json(const char* text) { return QJsonDocument::fromJson(text).object(); }

const char* const kReport =
    R"({"schema": 1, "file": "/tmp/m.py", "targets": [{"id": "t", "name": "f", "graphs": 2,
  "segments": [{"id": "s0", "ops": [{"name": "add", "line": 3, "file": "m.py", "shape": [2, 3], "dtype": "f32", "kernel": null}]},
               {"id": "s1", "ops": []}],
  "edges": [{"from": "s0", "to": "s1", "break": "b1", "kind": "break"}],
  "breaks": [{"id": "b1", "reason": "kind", "type": "Call to `f`", "file": "/tmp/m.py", "line": 4, "events": 3,
              "policy": {"effective": "error", "source": "default"}}]}],
  "regions": [{"key": "fn:m.py:f", "file": "m.py", "line": 1, "end_line": 9},
              {"key": "lines:m.py:4-5", "file": "m.py", "line": 4, "end_line": 5, "effective": "error"}]})";

}  // namespace

class ModelsTest : public QObject {
  Q_OBJECT
 private slots:
  void report_is_read();
  void an_empty_report_is_safe();
  void overlay_keys();
  void break_table_follows_the_report();
  void timings_are_read();
  void units();
  void knowledge_in_two_languages();
  void function_around_a_line();
  void frames();
  void broken_frames();
  void layout_has_no_overlaps();
  void layout_of_loops();
  void layout_is_linear();
  void command_line();
  void wrong_command_line_data();
  void wrong_command_line();
  void fuzzy();
  void lines_are_followed();
};

void ModelsTest::report_is_read() {
  const Report r = parse_report(json(kReport));
  QCOMPARE(r.schema, 1);
  QCOMPARE(r.graphs({}), 2);
  const Break* b = r.find_break(QStringLiteral("b1"));
  QVERIFY(b);
  QVERIFY(b->is_error());
  QCOMPARE(b->target, QStringLiteral("t"));
  QCOMPARE(b->events, 3);
  QCOMPARE(b->reason, QStringLiteral("Call to f"));
  QCOMPARE(b->reason_id, QStringLiteral("kind"));
  QCOMPARE(r.find_segment(QStringLiteral("t/s0"))->ops.first().shape, QStringLiteral("[2, 3]"));
  QCOMPARE(r.find_segment(QStringLiteral("t/s0"))->ops.first().kernel, -1);
  QCOMPARE(r.resolve(QStringLiteral("m.py")), QStringLiteral("/tmp/m.py"));
  QCOMPARE(r.region_at(QStringLiteral("/tmp/m.py"), 4)->key, QStringLiteral("lines:m.py:4-5"));
  QCOMPARE(r.region_at(QStringLiteral("/tmp/m.py"), 2)->key, QStringLiteral("fn:m.py:f"));
  QVERIFY(!r.region_at(QStringLiteral("/tmp/m.py"), 12));
}

void ModelsTest::an_empty_report_is_safe() {
  const Report r = parse_report({});
  QCOMPARE(r.schema, 0);
  QVERIFY(r.targets.isEmpty());
  QVERIFY(!r.find_break(QStringLiteral("x")));
  QVERIFY(r.breaks_of({}).isEmpty());
}

void ModelsTest::overlay_keys() {
  QCOMPARE(parse_overlay_key(QStringLiteral("fn:a/m.py:Net.forward")).name, QStringLiteral("Net.forward"));
  const OverlayKey lines = parse_overlay_key(QStringLiteral("lines:m.py:4-9"));
  QCOMPARE(lines.first, 4);
  QCOMPARE(lines.last, 9);
  for (const char* bad : {"", "fn:m.py", "lines:m.py:9-4", "lines:m.py:x-4", "lines:m.py:0-3", "what:m.py:f",
                          "fn::f", "fn:m.py:"})
    QVERIFY2(!parse_overlay_key(QLatin1String(bad)).valid(), bad);
}

void ModelsTest::break_table_follows_the_report() {
  BreakTableModel model;
  QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
  auto report = std::make_shared<Report>(parse_report(json(kReport)));
  const QString why = QStringLiteral("not yet");
  model.set(report, {}, {}, false, why);
  QCOMPARE(model.rowCount(), 1);
  QCOMPARE(model.index(0, BreakTableModel::Line).data().toString(), QStringLiteral("4"));
  QCOMPARE(model.index(0, BreakTableModel::Policy).data().toString(), QStringLiteral("error"));
  QCOMPARE(model.index(0, BreakTableModel::Cost).data().toString(), QStringLiteral("–"));
  const auto tip = [&model] {
    return model.index(0, BreakTableModel::Cost).data(Qt::ToolTipRole).toString();
  };
  QVERIFY(tip().contains(QLatin1String("error")));  // a call that ends here has no price
  Profiles profiles;
  profiles.insert(QStringLiteral("t"),
                  std::make_shared<Profile>(parse_profile(json(R"({"calls": 3, "breaks": [{"id": "b1",
                    "cost_us": 9.1, "leave_us": 5, "enter_us": 4.1, "instruction_us": 35}]})"))));
  model.set(report, {}, profiles, false, why);
  QCOMPARE(model.index(0, BreakTableModel::Cost).data().toString(), QStringLiteral("9.10 µs"));
  QCOMPARE(model.index(0, BreakTableModel::Cost).data(BreakTableModel::SortRole).toDouble(), 9.1);
  QVERIFY(tip().contains(QStringLiteral("5.00 µs to leave")) && tip().contains(QStringLiteral("35.0 µs")));
  model.set(report, QStringLiteral("other"), {}, false, why);
  QCOMPARE(model.rowCount(), 0);
  model.set(nullptr, {}, {}, false, why);
  QCOMPARE(model.rowCount(), 0);
}

void ModelsTest::timings_are_read() {
  const Timings t = parse_timings(json(R"({"arms": [
    {"id": "eager", "available": true, "samples_us": [1, 2, null], "median_us": 2, "iqr_us": [1, 3], "ratio": null, "equal": true},
    {"id": "vulkan", "available": true, "samples_us": [1], "ratio": {"value": 2, "low": 1.9, "high": 2.1}, "verdict": "faster"},
    {"id": "cpu", "available": true, "samples_us": [1], "ratio": {"value": 1.5, "low": 1.4, "high": 1.6}, "equal": false},
    {"id": "x", "available": false, "reason": "no device"}], "noise": {"ratio": 1, "low": 0.9, "high": 1.1}})"));
  QCOMPARE(t.arms.size(), 4);
  QCOMPARE(t.arms[0].samples_us.size(), 2);
  QVERIFY(!t.arms[0].ratio);
  QVERIFY(t.arms[0].equal.value());
  QVERIFY(!t.arms[2].equal.value());
  QVERIFY(!t.arms[3].equal.has_value());
  QCOMPARE(t.headline(QStringLiteral("cpu"))->id, QStringLiteral("cpu"));
  QCOMPARE(t.headline(QStringLiteral("vulkan"))->id, QStringLiteral("vulkan"));
  QCOMPARE(t.noise->high, 1.1);
}

void ModelsTest::units() {
  QCOMPARE(format_us(1340), QStringLiteral("1.34 ms"));
  QCOMPARE(format_us(18), QStringLiteral("18.0 µs"));
  QCOMPARE(format_us(0.25), QStringLiteral("250 ns"));
  QCOMPARE(format_us(2.5e6), QStringLiteral("2.50 s"));
  QCOMPARE(format_3(1234), QStringLiteral("1234"));
  QCOMPARE(format_3(0), QStringLiteral("0"));
}

void ModelsTest::knowledge_in_two_languages() {
  const QJsonArray records = QJsonDocument::fromJson(R"([
    {"score": 0.2, "record": {"id": "other", "root_cause": "no"}},
    {"score": 0.9, "record": {"id": "a", "root_cause": "cause", "root_cause_zh": "原因",
      "dead_ends": [{"action": "d", "why_fails": "w", "fail_rate": null}],
      "workarounds": [{"action": "one", "success_rate": null}, {"action": "two", "success_rate": 0.8}],
      "workarounds_zh": ["一", "two"], "confidence": 0.84, "official_doc_url": "https://x"}}])")
                                 .array();
  const QVector<KnowledgeRecord> all = matching_records(records, {}, Language::English);
  QCOMPARE(all.size(), 2);
  const KnowledgeRecord& en = all[0];
  QCOMPARE(en.id, QStringLiteral("a"));
  QCOMPARE(all[1].id, QStringLiteral("other"));
  QCOMPARE(en.workarounds[0].action.text, QStringLiteral("two"));  // the best measured rate comes first
  QVERIFY(!en.workarounds[1].rate);
  QVERIFY(!en.dead_ends[0].rate);
  const KnowledgeRecord zh = matching_records(records, QStringLiteral("a"), Language::Chinese)[0];
  QCOMPARE(zh.root_cause.text, QStringLiteral("原因"));
  QVERIFY(!zh.workarounds[0].action.translated);
  QCOMPARE(zh.workarounds[1].action.text, QStringLiteral("一"));
  const auto other = matching_records(records, QStringLiteral("other"), Language::English);
  QCOMPARE(other[0].id, QStringLiteral("other"));  // the break's own record leads, whatever its score
  QCOMPARE(other.size(), 2);
  QVERIFY(matching_records({}, {}, Language::English).isEmpty());
}

void ModelsTest::function_around_a_line() {
  const QString source = QStringLiteral(
      "import x\nclass A:\n  def f(\n      self,\n  ):\n    y = 1\n\n    def g():\n      return y\n    "
      "return g\n\nz = 2\n");
  int first = 0, last = 0;
  QCOMPARE(function_at(source, 6, &first, &last), QStringLiteral("A.f"));
  QCOMPARE(first, 3);
  QCOMPARE(last, 10);
  QCOMPARE(function_at(source, 9), QStringLiteral("A.f.<locals>.g"));
  QVERIFY(function_at(source, 12).isEmpty());
  QVERIFY(function_at(source, 1).isEmpty());
}

void ModelsTest::frames() {
  FrameReader reader;
  const QByteArray bytes =
      frame({{QStringLiteral("a"), QStringLiteral("é")}}) + frame({{QStringLiteral("b"), 2}});
  QVector<QByteArray> got;
  for (const char byte : bytes) {  // however the pipe cuts it
    reader.feed(QByteArray(1, byte));
    while (const auto body = reader.next()) got << *body;
  }
  QCOMPARE(got.size(), 2);
  QCOMPARE(QJsonDocument::fromJson(got[0]).object().value(QLatin1String("a")).toString(),
           QStringLiteral("é"));
  QVERIFY(!reader.broken());
}

void ModelsTest::broken_frames() {
  for (const QByteArray& bad :
       {QByteArray("Content-Length: x\r\n\r\n{}"), QByteArray(5000, 'x'), QByteArray("Other: 1\r\n\r\n{}")}) {
    FrameReader reader;
    reader.feed(bad);
    QVERIFY(!reader.next());
    QVERIFY(reader.broken());
  }
}

void ModelsTest::layout_has_no_overlaps() {
  // A break with three continuations that join again, and a long edge past them.
  const QVector<QSizeF> nodes(6, QSizeF(280, 90));
  const QSizeF label(200, 40);
  const QVector<LayoutEdge> edges{{0, 1, label}, {0, 2, label}, {0, 3, label}, {1, 4, {}},
                                  {2, 4, {}},    {3, 4, {}},    {4, 5, label}, {0, 5, {}}};
  const LayoutResult r = layout_graph(nodes, edges);
  for (int i = 0; i < nodes.size(); ++i)
    for (int j = i + 1; j < nodes.size(); ++j)
      QVERIFY2(!r.nodes[i].intersects(r.nodes[j]), qPrintable(QStringLiteral("%1 %2").arg(i).arg(j)));
  for (int e = 0; e < edges.size(); ++e) {
    QVERIFY(!r.back[e]);
    QVERIFY(r.nodes[edges[e].from].bottom() < r.nodes[edges[e].to].top());
    QCOMPARE(r.arrows[e].y(), r.nodes[edges[e].to].top());
    if (edges[e].label.isEmpty()) continue;
    for (const QRectF& node : r.nodes) QVERIFY(!r.labels[e].intersects(node));
    for (int f = e + 1; f < edges.size(); ++f)
      if (!edges[f].label.isEmpty()) QVERIFY(!r.labels[e].intersects(r.labels[f]));
  }
  // The long edge keeps clear of the boxes it passes.
  for (int step = 0; step <= 400; ++step) {
    const QPointF at = r.edges[7].pointAtPercent(step / 400.0);
    for (int i = 1; i <= 4; ++i) QVERIFY(!r.nodes[i].adjusted(1, 1, -1, -1).contains(at));
  }
}

void ModelsTest::layout_of_loops() {
  const QVector<QSizeF> nodes(3, QSizeF(280, 90));
  const LayoutResult r = layout_graph(nodes, {{0, 1, {}}, {1, 2, {}}, {2, 1, QSizeF(100, 40)}, {1, 1, {}}});
  QVERIFY(r.back[2] && r.back[3]);
  QVERIFY(!r.back[0] && !r.back[1]);
  QVERIFY(r.labels[2].left() > r.nodes[1].right());
  QVERIFY(r.bounds.contains(r.labels[2]));
  QVERIFY(layout_graph({}, {}).nodes.isEmpty());
  // A loop out of a row with other boxes, back into such a row, goes around them all.
  const QVector<LayoutEdge> wide{{0, 1, {}}, {0, 2, {}}, {1, 3, {}}, {1, 4, {}}, {3, 1, QSizeF(100, 40)}};
  const LayoutResult w = layout_graph(QVector<QSizeF>(5, QSizeF(280, 90)), wide);
  QVERIFY(w.back[4]);
  for (int step = 0; step <= 1000; ++step) {
    const QPointF at = w.edges[4].pointAtPercent(step / 1000.0);
    for (const QRectF& node : w.nodes) QVERIFY(!node.adjusted(1, 1, -1, -1).contains(at));
  }
  QVERIFY(w.bounds.contains(w.edges[4].boundingRect()));
}

void ModelsTest::layout_is_linear() {
  // 20,000 boxes in a chain: placed, in order, without a stack overflow.
  const int n = 20000;
  QVector<LayoutEdge> edges;
  for (int i = 0; i + 1 < n; ++i) edges.push_back({i, i + 1, QSizeF(200, 40)});
  const LayoutResult r = layout_graph(QVector<QSizeF>(n, QSizeF(280, 90)), edges);
  QVERIFY(r.nodes.last().top() > r.nodes.first().bottom());
  QCOMPARE(r.nodes.first().center().x(), r.nodes.last().center().x());
}

void ModelsTest::command_line() {
  const Options o = parse_options(
      {QStringLiteral("studio"), QStringLiteral("--theme"), QStringLiteral("dark"), QStringLiteral("--size"),
       QStringLiteral("1920x1080"), QStringLiteral("--toggle"), QStringLiteral("fn:m.py:f=error"),
       QStringLiteral("--select-break"), QStringLiteral("2"), QStringLiteral("m.py"), QStringLiteral("--"),
       QStringLiteral("--their"), QStringLiteral("x")});
  QVERIFY2(o.problem.isEmpty(), qPrintable(o.problem));
  QCOMPARE(o.size, QSize(1920, 1080));
  QCOMPARE(o.toggles.first().first, QStringLiteral("fn:m.py:f"));
  QCOMPARE(o.toggles.first().second, QStringLiteral("error"));
  QCOMPARE(o.select_break, 2);
  QCOMPARE(o.request.target, QStringLiteral("m.py"));
  QCOMPARE(o.request.argv, QStringList({QStringLiteral("--their"), QStringLiteral("x")}));
}

void ModelsTest::wrong_command_line_data() {
  QTest::addColumn<QStringList>("arguments");
  const auto row = [](const char* name, const QStringList& arguments) { QTest::newRow(name) << arguments; };
  row("unknown option", {QStringLiteral("--what")});
  row("theme", {QStringLiteral("--theme"), QStringLiteral("pink")});
  row("size", {QStringLiteral("--size"), QStringLiteral("12by9")});
  row("toggle without value", {QStringLiteral("--toggle"), QStringLiteral("fn:m.py:f")});
  row("toggle with a bad value", {QStringLiteral("--toggle"), QStringLiteral("fn:m.py:f=maybe")});
  row("toggle with a bad key", {QStringLiteral("--toggle"), QStringLiteral("f=error")});
  row("break number", {QStringLiteral("--select-break"), QStringLiteral("0")});
  row("two files", {QStringLiteral("a.py"), QStringLiteral("b.py")});
  row("toggles and edits", {QStringLiteral("--bench-toggle"), QStringLiteral("2"),
                            QStringLiteral("--bench-edit"), QStringLiteral("2"), QStringLiteral("m.py")});
  row("edits of nothing", {QStringLiteral("--bench-edit"), QStringLiteral("2")});
  row("picture of nothing", {QStringLiteral("--screenshot"), QStringLiteral("x.png")});
}

void ModelsTest::wrong_command_line() {
  QFETCH(QStringList, arguments);
  const Options o = parse_options(QStringList(QStringLiteral("studio")) + arguments);
  QVERIFY(!o.problem.isEmpty());
  QVERIFY(!o.problem.contains(QLatin1Char('\n')));
}

void ModelsTest::fuzzy() {
  QVERIFY(fuzzy_match(QStringLiteral("Switch light / dark"), QStringLiteral("sdark")));
  QVERIFY(!fuzzy_match(QStringLiteral("Stop"), QStringLiteral("pots")));
}

void ModelsTest::lines_are_followed() {
  const QString old = QStringLiteral("a\nb\nc\nd\ne\n");
  QVERIFY(LineMap(old, old).same());
  QCOMPARE(LineMap(old, old).forward(3), 3);
  const LineMap map(old, QStringLiteral("new\na\nB\nd\nx\ne\n"));
  QCOMPARE(map.forward(1), 2);
  QCOMPARE(map.forward(2), 0);  // changed
  QCOMPARE(map.forward(3), 0);  // removed
  QCOMPARE(map.forward(4), 4);
  QCOMPARE(map.forward(5), 6);
  QCOMPARE(map.back(1), 0);
  QCOMPARE(map.back(6), 5);
  QCOMPARE(map.forward(99), 0);
  QCOMPARE(map.shown(2, 4), std::make_pair(4, 4));
  QCOMPARE(map.shown(2, 3), std::make_pair(0, 0));
  QCOMPARE(traceback_line(
               QStringLiteral(
                   "  File \"/m.py\", line 3, in f\n  File \"/m.py\", line 7\n  File \"/x.py\", line 9"),
               QStringLiteral("/m.py")),
           7);
}

QTEST_GUILESS_MAIN(ModelsTest)
#include "models_test.moc"
