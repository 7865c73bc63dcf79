// SPDX-License-Identifier: GPL-3.0-or-later
// Passes without PyTorch: the verifier, moves of nodes, and what each pure pass may and may not take away.
#include <QtTest>

#include "core/graph/op_table.h"
#include "core/graph/passes/pass.h"
#include "core/graph/passes/pure.h"

namespace {

using namespace breakline::graph;

int callables[8];

/// A graph over float32 tensors of two elements.
struct Maker {
  Graph graph;
  ValueId value(int32_t storage = -1) {
    Value v;
    v.meta.sizes = {2};
    v.meta.strides = {1};
    v.storage = storage >= 0 ? storage : static_cast<int32_t>(graph.values.size());
    graph.values.push_back(v);
    return static_cast<ValueId>(graph.values.size() - 1);
  }
  ValueId input() {
    const ValueId id = value();
    graph.values.back().input = static_cast<int32_t>(graph.inputs.size());
    graph.inputs.push_back(id);
    return id;
  }
  /// `name(args…)` into a new value, or into `out`.
  ValueId node(const char* name, std::vector<ValueId> operands, ValueId out = kNoValue) {
    Node n;
    n.op = find_op(name).row;
    n.name = name;
    n.callable = &callables[std::string_view(name).size() % 8];
    for (const ValueId id : operands) n.args.push_back(Arg::value(id));
    if (out == kNoValue) {
      out = value();
      graph.values.back().producer = static_cast<int32_t>(graph.nodes.size());
    }
    n.outputs = {out};
    graph.nodes.push_back(std::move(n));
    return out;
  }
};

std::vector<std::string> names(const Graph& graph) {
  std::vector<std::string> all;
  for (const Node& n : graph.nodes) all.push_back(n.name);
  return all;
}

Rewrite after(const Graph& graph, void (*pass)(Rewrite&, const PassTools&)) {
  Rewrite r(graph);
  pass(r, {});
  r.commit();
  return r;
}

}  // namespace

class PassesTest : public QObject {
  Q_OBJECT
 private slots:
  void verifier_finds_faults() {
    Maker m;
    const ValueId x = m.input(), y = m.node("exp", {x});
    m.graph.outputs = {y};
    QCOMPARE(verify(m.graph), std::string());
    Graph bad = m.graph;
    bad.outputs = {7};
    QVERIFY(!verify(bad).empty());
    bad = m.graph;
    bad.nodes[0].args[0] = Arg::value(y);
    QVERIFY(!verify(bad).empty());
    bad = m.graph;
    bad.values[1].producer = 3;
    QVERIFY(!verify(bad).empty());
  }

  void nodes_move_at_commit_and_keep_their_origin() {
    Maker m;
    const ValueId x = m.input(), a = m.node("exp", {x}), b = m.node("sin", {a});
    m.graph.outputs = {b};
    Rewrite r(m.graph);
    TensorMeta meta = r.value(x).meta;
    const ValueId c = r.add_value(meta);
    Node added = r.node(0);
    added.name = "added";
    added.outputs = {c};
    r.insert(1, added, {{0}, false});
    r.node(1).args[0] = Arg::value(c);
    r.erase(0);
    r.commit();
    QCOMPARE(names(r.graph), (std::vector<std::string>{"added", "sin"}));
    QCOMPARE(r.notes[1].origin, std::vector<int>{1});
    QCOMPARE(r.value(b).producer, 1);
    QCOMPARE(verify(r.graph), std::string());
  }

  void dead_code_keeps_effects() {
    Maker m;
    const ValueId x = m.input();
    m.node("exp", {x});
    const ValueId unused = m.node("sin", {x});
    m.node("relu", {x}, x);
    m.graph.nodes.back().mutates = true;
    m.node("cos", {unused});
    m.graph.nodes.back().may_fail = true;
    m.graph.outputs = {x};
    QCOMPARE(names(after(m.graph, dead_code_pass).graph), (std::vector<std::string>{"sin", "relu", "cos"}));
  }

  void common_calls_are_joined_unless_both_leave() {
    Maker m;
    const ValueId x = m.input(), a = m.node("exp", {x}), b = m.node("exp", {x}), c = m.node("add", {a, b});
    m.graph.outputs = {c};
    const Rewrite r = after(m.graph, common_pass);
    QCOMPARE(names(r.graph), (std::vector<std::string>{"exp", "add"}));
    QCOMPARE(r.notes[0].origin, (std::vector<int>{0, 1}));
    m.graph.outputs = {a, b};
    QCOMPARE(after(m.graph, common_pass).count(), 3);
  }

  void common_calls_see_writes() {
    Maker m;
    const ValueId x = m.input(), a = m.node("exp", {x});
    m.node("relu", {x}, x);
    m.graph.nodes.back().mutates = true;
    const ValueId b = m.node("exp", {x}), c = m.node("add", {a, b});
    m.graph.outputs = {c};
    QCOMPARE(after(m.graph, common_pass).count(), 4);
  }

  void constants_are_split_off_unless_they_leave() {
    Maker m;
    const ValueId x = m.input(), ones = m.node("ones", {}), twice = m.node("exp", {ones}),
                  sum = m.node("add", {x, twice});
    m.graph.outputs = {sum};
    Split parts = split(after(m.graph, constants_pass));
    QCOMPARE(names(*parts.main), std::vector<std::string>{"add"});
    QCOMPARE(parts.frozen->nodes.size(), size_t{2});
    QCOMPARE(parts.kept, std::vector<ValueId>{twice});
    QCOMPARE(parts.origin[0], std::vector<int>{2});
    QCOMPARE(verify(*parts.main), std::string());
    QCOMPARE(verify(*parts.frozen), std::string());
    m.graph.outputs = {sum, twice};
    parts = split(after(m.graph, constants_pass));
    QCOMPARE(names(*parts.main), (std::vector<std::string>{"exp", "add"}));
  }

  void a_fault_stops_the_passes() {
    Maker m;
    const ValueId x = m.input();
    m.graph.outputs = {m.node("exp", {x})};
    const Pass passes[] = {{"breaks", "", [](Rewrite& r, const PassTools&) { r.graph.outputs = {9}; }},
                           {"later", "", dead_code_pass}};
    Rewrite r(m.graph);
    PassLog log;
    QVERIFY(!run_passes(passes, r, {}, log));
    QVERIFY(log.fault.starts_with("pass breaks: "));
    QCOMPARE(log.passes.size(), size_t{1});
    pass_options().off = {"breaks"};
    Rewrite again(m.graph);
    PassLog fine;
    QVERIFY(run_passes(passes, again, {}, fine));
    QCOMPARE(fine.passes.front().name, std::string("later"));
    pass_options().off.clear();
  }
};

QTEST_GUILESS_MAIN(PassesTest)
#include "passes_test.moc"
