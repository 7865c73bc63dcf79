// SPDX-License-Identifier: GPL-3.0-or-later
// Which matrix products are calls over memory, and how their stacks are walked.
#include "core/schedule/products.h"

#include <QtTest>

#include "core/graph/op_table.h"
#include "core/schedule/schedule.h"

using namespace breakline;
using namespace breakline::schedule;
using graph::Arg;
using graph::ValueId;
using Dims = std::vector<int64_t>;

namespace {

struct Maker {
  graph::Graph g;

  ValueId value(Dims sizes, Dims strides) {
    graph::Value v;
    v.meta.sizes = std::move(sizes);
    v.meta.strides = std::move(strides);
    v.storage = static_cast<int32_t>(g.values.size());
    g.values.push_back(std::move(v));
    return static_cast<ValueId>(g.values.size()) - 1;
  }
  ValueId input(Dims sizes, Dims strides = {}) {
    if (strides.empty()) strides = graph::contiguous_strides(sizes);
    const ValueId id = value(std::move(sizes), std::move(strides));
    g.values[static_cast<size_t>(id)].input = static_cast<int32_t>(g.inputs.size());
    g.inputs.push_back(id);
    return id;
  }
  ValueId call(std::string_view op, std::vector<Arg> args, Dims sizes) {
    const Dims strides = graph::contiguous_strides(sizes);
    const ValueId out = value(std::move(sizes), strides);
    graph::Node n;
    n.op = graph::find_op(op).row;
    n.name = std::string(op);
    n.args = std::move(args);
    n.outputs = {out};
    g.values[static_cast<size_t>(out)].producer = static_cast<int32_t>(g.nodes.size());
    g.nodes.push_back(std::move(n));
    return out;
  }
};
Arg v(ValueId id) { return Arg::value(id); }

}  // namespace

class ProductsTest : public QObject {
  Q_OBJECT

 private slots:
  void leading_dims_of_a_linear_layer_are_rows() {
    Maker m;
    const ValueId x = m.input({2, 3, 8}), w = m.input({5, 8}), b = m.input({5});
    m.call("linear", {v(x), v(w), v(b)}, {2, 3, 5});
    QCOMPARE(why_not_product(m.g, 0), std::string());
    QCOMPARE(print(product_of(m.g, 0)),
             std::string("v3[6, 5] strides [5, 1] <- v0[6, 8] strides [8, 1] @ v1[8, 5] strides [1, 8] + v2[5] strides [1]"));
  }

  void rows_that_do_not_follow_one_another_become_a_stack() {
    Maker m;
    const ValueId x = m.input({2, 3, 8}, {8, 16, 1}), w = m.input({8, 5});
    m.call("matmul", {v(x), v(w)}, {2, 3, 5});
    const Product p = product_of(m.g, 0);
    QCOMPARE(p.a.sizes, (Dims{2, 3, 8}));
    QCOMPARE(p.a.strides, (Dims{8, 16, 1}));
    QCOMPARE(p.b.strides, (Dims{0, 5, 1}));
    QCOMPARE(p.parts.size(), size_t{1});
  }

  void heads_of_a_batch_are_parts() {
    Maker m;  // [batch 2, heads 4, 6, 8] cut out of [batch, 6, heads, 8]
    const ValueId q = m.input({2, 4, 6, 8}, {192, 8, 32, 1}), k = m.input({2, 4, 8, 6}, {192, 8, 1, 32});
    m.call("matmul", {v(q), v(k)}, {2, 4, 6, 6});
    const Product p = product_of(m.g, 0);
    QCOMPARE(p.out.sizes, (Dims{4, 6, 6}));
    QCOMPARE(p.a.strides, (Dims{8, 32, 1}));
    QCOMPARE(p.parts.size(), size_t{2});
    QCOMPARE(p.parts[1].out, int64_t{144});
    QCOMPARE(p.parts[1].a, int64_t{192});
    QCOMPARE(p.work(), int64_t{2 * 4 * 6 * 6 * 8});
  }

  void what_a_call_over_memory_cannot_do_stays_a_call_of_pytorch() {
    Maker m;
    const ValueId x = m.input({3, 8}), w = m.input({8, 5}), vector = m.input({8}), none = m.input({0, 8});
    m.call("matmul", {v(x), v(vector)}, {3});
    m.call("mm", {v(none), v(w)}, {0, 5});
    m.call("mm", {v(x), v(w)}, {3, 5});
    m.g.nodes.back().kwargs.emplace_back("out", v(x));
    m.call("mm", {v(x), v(w)}, {3, 5});
    m.g.values[static_cast<size_t>(w)].meta.dtype = graph::DType::kFloat64;
    for (int n = 0; n < 4; ++n) QVERIFY2(!why_not_product(m.g, n).empty(), std::to_string(n).c_str());
  }

  void between_products_nothing_is_a_tensor() {
    Maker m;
    const ValueId x = m.input({4, 8}), w = m.input({8, 8});
    const ValueId a = m.call("mm", {v(x), v(w)}, {4, 8});
    const ValueId b = m.call("relu", {v(a)}, {4, 8});
    const ValueId c = m.call("mm", {v(b), v(w)}, {4, 8});
    m.g.outputs = {c};
    const Schedule with = build_schedule(m.g, {.products = true});
    QCOMPARE(with.products.size(), size_t{2});
    QCOMPARE(with.kernels.size(), size_t{1});  // one node alone, worth it beside a product
    QVERIFY(with.storage[static_cast<size_t>(a)] == Storage::kScratch && with.storage[static_cast<size_t>(b)] == Storage::kScratch);
    QVERIFY(with.storage[static_cast<size_t>(c)] == Storage::kTensor);
    const Schedule without = build_schedule(m.g);
    QVERIFY(without.products.empty() && without.kernels.empty());
    QVERIFY(without.storage[static_cast<size_t>(a)] == Storage::kTensor);
  }
};

QTEST_APPLESS_MAIN(ProductsTest)
#include "products_test.moc"
