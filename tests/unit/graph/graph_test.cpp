// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QTest>
#include <set>

#include "core/graph/op_table.h"
#include "core/graph/plan.h"
#include "core/graph/shape_util.h"

using namespace breakline::graph;

class GraphTest : public QObject {
  Q_OBJECT

 private slots:
  void dtypes();
  void promotion();
  void resultTypeCategories();
  void contiguousStrides();
  void layouts();
  void viewStrides();
  void pointwiseLayout();
  void lookup();
  void rowsAreSound();
  void ruleBySignature();
  void printing();
  void planRegistry();
};

void GraphTest::dtypes() {
  QCOMPARE(item_size(DType::kBFloat16), 2);
  QCOMPARE(item_size(DType::kOther), 0);
  QCOMPARE(dtype_name(DType::kFloat32), std::string_view("float32"));
  QVERIFY(is_floating(DType::kFloat16) && !is_floating(DType::kInt64) && !is_floating(DType::kComplex64));
  QVERIFY(is_integral(DType::kUInt8) && !is_integral(DType::kBool));
}

void GraphTest::promotion() {
  QCOMPARE(promote(DType::kInt8, DType::kUInt8), DType::kInt16);
  QCOMPARE(promote(DType::kUInt8, DType::kInt64), DType::kInt64);
  QCOMPARE(promote(DType::kFloat16, DType::kBFloat16), DType::kFloat32);
  QCOMPARE(promote(DType::kInt64, DType::kFloat16), DType::kFloat16);
  QCOMPARE(promote(DType::kBool, DType::kInt32), DType::kInt32);
  QCOMPARE(promote(DType::kFloat64, DType::kComplex64), DType::kComplex128);
  QCOMPARE(promote(DType::kBFloat16, DType::kComplex32), DType::kComplex64);
}

void GraphTest::resultTypeCategories() {
  const TensorMeta ints = fresh({2}, DType::kInt32, DeviceKind::kCpu);
  const TensorMeta zero = fresh({}, DType::kFloat64, DeviceKind::kCpu);
  const TensorMeta halves = fresh({2}, DType::kFloat16, DeviceKind::kCpu);
  const Input number{nullptr, DType::kFloat64};
  // A number or a zero-dimensional tensor raises the category but not the width.
  QCOMPARE(result_type({Input{&halves}, number}, DType::kFloat32), DType::kFloat16);
  QCOMPARE(result_type({Input{&halves}, Input{&zero}}, DType::kFloat32), DType::kFloat16);
  QCOMPARE(result_type({Input{&ints}, number}, DType::kFloat32), DType::kFloat32);
  QCOMPARE(result_type({Input{&ints}, Input{&zero}}, DType::kFloat32), DType::kFloat64);
  QCOMPARE(result_type({Input{&ints}, Input{nullptr, DType::kInt64}}, DType::kFloat32), DType::kInt32);
}

void GraphTest::contiguousStrides() {
  QCOMPARE(contiguous_strides({2, 3, 4}), (Dims{12, 4, 1}));
  QCOMPARE(contiguous_strides({2, 0, 4}), (Dims{4, 4, 1}));
  QCOMPARE(contiguous_strides({}), Dims{});
}

void GraphTest::layouts() {
  QVERIFY(is_contiguous({2, 1, 3}, {3, 99, 1}));
  QVERIFY(!is_contiguous({3, 2}, {1, 3}));
  QVERIFY(is_dense({3, 2}, {1, 3}));
  QVERIFY(!is_dense({3, 2}, {4, 1}));
  QCOMPARE(channels_last_strides({2, 3, 4, 5}), (Dims{60, 1, 15, 3}));
  QVERIFY(suggests_channels_last({2, 3, 4, 5}, {60, 1, 15, 3}));
  QVERIFY(!suggests_channels_last({2, 3, 4, 5}, {60, 20, 5, 1}));
  // An expanded and a stepped tensor keep the order of their dims.
  QCOMPARE(preserved_strides({3, 2}, {1, 6}), (Dims{1, 3}));
  QCOMPARE(preserved_strides({3, 2}, {0, 1}), (Dims{2, 1}));
}

void GraphTest::viewStrides() {
  QCOMPARE(view_strides({2, 3, 4}, {12, 4, 1}, {6, 4}).value(), (Dims{4, 1}));
  QVERIFY(!view_strides({2, 3}, {1, 2}, {6}));
  QCOMPARE(view_strides({2, 3}, {1, 2}, {2, 3, 1}).value(), (Dims{1, 2, 2}));
}

void GraphTest::pointwiseLayout() {
  TensorMeta t = fresh({2, 3}, DType::kFloat32, DeviceKind::kCpu);
  t.strides = {1, 2};
  const TensorMeta row = fresh({3}, DType::kFloat32, DeviceKind::kCpu);
  const auto m = pointwise_meta({Input{&t}, Input{&row}}, DType::kFloat32, DType::kBool);
  QVERIFY(m.has_value());
  QCOMPARE(m->strides, (Dims{1, 2}));
  QCOMPARE(m->dtype, DType::kBool);
  const TensorMeta wrong = fresh({4}, DType::kFloat32, DeviceKind::kCpu);
  QVERIFY(!pointwise_meta({Input{&t}, Input{&wrong}}, DType::kFloat32, DType::kFloat32));
}

void GraphTest::lookup() {
  QCOMPARE(find_op("true_divide").row->name, std::string_view("div"));
  QVERIFY(find_op("add_").in_place && find_op("__iadd__").in_place && !find_op("add").in_place);
  QVERIFY(find_op("__radd__").reversed && find_op("rsub").reversed);
  QCOMPARE(find_op("__rshift__").row->name, std::string_view("bitwise_right_shift"));
  QVERIFY(!find_op("__rshift__").reversed);
  QCOMPARE(find_op("__invert__").row->name, std::string_view("bitwise_not"));
  QVERIFY(!find_op("no_such_op").row && !find_op("_").row && !find_op("").row && !find_op("__iter__").row);
}

void GraphTest::rowsAreSound() {
  std::set<std::string_view> names;
  int rules = 0;
  for (const OpRow& row : all_ops()) {
    QVERIFY2(names.insert(row.name).second, std::string(row.name).c_str());
    QCOMPARE(find_op(row.name).row, &row);
    rules += row.rule != nullptr;
  }
  QVERIFY(rules > 150);
}

void GraphTest::ruleBySignature() {
  Graph g;
  g.values.resize(2);
  g.values[0].meta = fresh({4, 3}, DType::kFloat32, DeviceKind::kCpu);
  g.values[1].meta = fresh({5, 3}, DType::kFloat32, DeviceKind::kCpu);
  g.values[1].meta.requires_grad = true;
  const Arg args[] = {Arg::value(0), Arg::value(1)};
  ShapeCall call;
  call.graph = &g;
  call.args = args;
  const OpRow* linear = find_op("linear").row;
  const auto out = linear->rule(call, *linear);
  QVERIFY(out && out->size() == 1);
  QCOMPARE((*out)[0].meta.sizes, (Dims{4, 5}));
  QVERIFY((*out)[0].meta.requires_grad && !(*out)[0].meta.is_leaf);
  call.grad_mode = false;
  QVERIFY(!(*linear->rule(call, *linear))[0].meta.requires_grad);
  // An operand that the rule does not know of: no answer.
  const std::pair<std::string, Arg> odd[] = {{"strange", Arg{int64_t{1}}}};
  call.kwargs = odd;
  QVERIFY(!linear->rule(call, *linear));
}

void GraphTest::printing() {
  Graph g;
  g.values.resize(3);
  g.values[0].meta = fresh({2, 3}, DType::kFloat32, DeviceKind::kCpu);
  g.values[1].meta = g.values[0].meta;
  g.values[1].meta.strides = {1, 2};
  g.values[2].meta = fresh({}, DType::kInt64, DeviceKind::kCpu);
  g.inputs = {0};
  g.outputs = {1};
  g.grad_mode = false;
  Node n;
  n.name = "Tensor.foo_";
  ArgSeq list;
  list.kind = ArgSeq::kList;
  list.items = {Arg{int64_t{1}}, Arg{2.0}, Arg{std::string("it's")}, Arg{true}, Arg::none()};
  n.args = {Arg::value(0), Arg{list}};
  n.kwargs.emplace_back("dtype", Arg{DTypeArg{DType::kInt64, nullptr}});
  n.outputs = {1, 2, kNoValue};
  n.multi = true;
  n.mutates = true;
  g.nodes.push_back(n);
  QCOMPARE(print(g),
           std::string("graph(%0: float32[2, 3]) no_grad\n"
                       "  %1: float32[2, 3] strides [1, 2], %2: int64[], _ = *Tensor.foo_(%0, [1, 2.0, "
                       "'it\\'s', True, None], dtype=int64) mutates\n"
                       "  return (%1)\n"));
}

void GraphTest::planRegistry() {
  QVERIFY(!find_plan_maker("none of ours"));
  register_plan_maker(
      "test", [](std::shared_ptr<const Graph>, const std::string&) { return std::unique_ptr<Plan>(); });
  QVERIFY(find_plan_maker("test"));
}

QTEST_APPLESS_MAIN(GraphTest)
#include "graph_test.moc"
