// SPDX-License-Identifier: GPL-3.0-or-later
// Grouping, order, loops and lowering on hand-made graphs.
#include "core/schedule/schedule.h"

#include <QtTest>
#include <algorithm>
#include <numeric>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "core/graph/op_table.h"
#include "core/schedule/groups.h"
#include "core/schedule/loops.h"
#include "core/schedule/lower.h"
#include "core/schedule/memory.h"

using namespace breakline;
using namespace breakline::schedule;
using graph::Arg;
using graph::DType;
using graph::ScalarFn;
using graph::ValueId;

namespace {

const graph::OpRow kAddRow{.name = "add", .kind = graph::OpKind::kPointwise, .scalar = ScalarFn::kAdd};
const graph::OpRow kMulRow{.name = "mul", .kind = graph::OpKind::kPointwise, .scalar = ScalarFn::kMul};
const graph::OpRow kExpRow{.name = "exp", .kind = graph::OpKind::kPointwise, .scalar = ScalarFn::kExp};
const graph::OpRow kDivRow{
    .name = "floor_divide", .kind = graph::OpKind::kPointwise, .scalar = ScalarFn::kFloorDiv};
const graph::OpRow kEmbeddingRow{.name = "embedding", .kind = graph::OpKind::kEmbedding};
const graph::OpRow kCatRow{.name = "cat", .kind = graph::OpKind::kMovement};
const graph::OpRow kPoolRow{.name = "max_pool1d", .kind = graph::OpKind::kPool};
const graph::OpRow kSumRow{.name = "sum", .kind = graph::OpKind::kReduction};

struct Maker {
  graph::Graph g;

  ValueId value(std::vector<int64_t> sizes, DType dtype = DType::kFloat32, int32_t storage = -1) {
    graph::Value v;
    v.meta.dtype = dtype;
    v.meta.strides = graph::contiguous_strides(sizes);
    v.meta.sizes = std::move(sizes);
    v.storage = storage >= 0 ? storage : 1000 + static_cast<int32_t>(g.values.size());
    g.values.push_back(std::move(v));
    return static_cast<ValueId>(g.values.size()) - 1;
  }
  ValueId input(std::vector<int64_t> sizes, DType dtype = DType::kFloat32) {
    const ValueId id = value(std::move(sizes), dtype);
    g.values[static_cast<size_t>(id)].input = static_cast<int32_t>(g.inputs.size());
    g.inputs.push_back(id);
    return id;
  }
  graph::Node& node(const graph::OpRow& row, std::vector<Arg> args, ValueId out) {
    graph::Node n;
    n.op = &row;
    n.name = std::string(row.name);
    n.args = std::move(args);
    n.outputs = {out};
    if (g.values[static_cast<size_t>(out)].producer < 0 && g.values[static_cast<size_t>(out)].input < 0) {
      g.values[static_cast<size_t>(out)].producer = static_cast<int32_t>(g.nodes.size());
    }
    g.nodes.push_back(std::move(n));
    return g.nodes.back();
  }
  ValueId op(const graph::OpRow& row, std::vector<Arg> args, std::vector<int64_t> sizes,
             DType dtype = DType::kFloat32) {
    const ValueId out = value(std::move(sizes), dtype);
    node(row, std::move(args), out);
    return out;
  }
};

Arg number(double x) { return Arg{x}; }
Arg number(int64_t x) { return Arg{x}; }
Arg v(ValueId id) { return Arg::value(id); }

std::vector<int> order_of(const Schedule& s) {
  std::vector<int> order;
  for (const Step& step : s.order) order.push_back(step.kernel >= 0 ? 100 + step.kernel : step.node);
  return order;
}

}  // namespace

class ScheduleTest : public QObject {
  Q_OBJECT

 private slots:
  void a_chain_is_one_kernel_that_stores_its_end_only() {
    Maker m;
    const ValueId x = m.input({4, 8});
    const ValueId a = m.op(kMulRow, {v(x), number(2.0)}, {4, 8});
    const ValueId b = m.op(kExpRow, {v(a)}, {4, 8});
    m.g.outputs = {b};
    const Schedule s = build_schedule(m.g);
    QCOMPARE(s.kernels.size(), size_t{1});
    const Kernel& k = s.kernels[0];
    QCOMPARE(k.dims, (std::vector<int64_t>{32}));
    QCOMPARE(k.outputs.size(), size_t{1});
    QCOMPARE(k.outputs[0].buffer.value, b);
    QVERIFY(s.storage[static_cast<size_t>(a)] == Storage::kNone);
    QVERIFY(s.storage[static_cast<size_t>(b)] == Storage::kTensor);
    QCOMPARE(QString::fromStdString(verify(k)), QString());
    QCOMPARE(QString::fromStdString(print(k)), QString("kernel mul_exp_0 dims [32]\n"
                                                       "  in0 = v0 float32 strides [1]\n"
                                                       "  %0 = f32 load in0  ; n0\n"
                                                       "  %1 = f32 const 2  ; n0\n"
                                                       "  %2 = f32 mul %0, %1  ; n0\n"
                                                       "  %3 = f32 exp %2  ; n1\n"
                                                       "  v2 <- %3 float32 strides [1]\n"));
  }

  void a_gather_is_checked_before_its_kernel() {
    Maker m;
    const ValueId table = m.input({10, 8}), ids = m.input({3}, DType::kInt64);
    const ValueId e = m.op(kEmbeddingRow, {v(table), v(ids)}, {3, 8});
    const ValueId out = m.op(kExpRow, {v(e)}, {3, 8});
    m.g.outputs = {out};
    QVERIFY(build_schedule(m.g).kernels.empty());  // not where the target has no gathers
    Options options;
    options.gathers = true;
    const Schedule s = build_schedule(m.g, options);
    QCOMPARE(s.order.size(), size_t{2});
    QCOMPARE(s.order[0].check, 0);
    QCOMPARE(s.order[0].range.index, ids);
    QCOMPARE(s.order[0].range.first, int64_t{0});
    QCOMPARE(s.order[0].range.last, int64_t{9});
    QCOMPARE(s.order[1].kernel, 0);
    QCOMPARE(QString::fromStdString(verify(s.kernels[0])), QString());
  }

  void each_operand_of_a_join_is_a_kernel_with_what_makes_it() {
    Maker m;
    const ValueId x = m.input({2, 3}), y = m.input({2, 5});
    const ValueId a = m.op(kExpRow, {v(x)}, {2, 3});
    Arg list;
    list.v = graph::ArgSeq{graph::ArgSeq::kList, {v(a), v(y)}};
    const ValueId both = m.op(kCatRow, {list, number(int64_t{1})}, {2, 8});
    const ValueId out = m.op(kMulRow, {v(both), number(2.0)}, {2, 8});
    m.g.outputs = {out};
    Options options;
    options.joins = true;
    const Schedule s = build_schedule(m.g, options);
    QCOMPARE(s.kernels.size(), size_t{2});
    QCOMPARE(s.kernels[0].nodes, (std::vector<int>{0, 1, 2}));
    QCOMPARE(s.kernels[1].nodes, (std::vector<int>{1, 2}));
    QCOMPARE(s.kernels[1].outputs[0].buffer.value, out);
    QCOMPARE(s.kernels[1].outputs[0].buffer.offset, int64_t{3});
    QCOMPARE(s.kernels[1].outputs[0].buffer.strides, (std::vector<int64_t>{8, 1}));
    for (const Kernel& kernel : s.kernels) QCOMPARE(QString::fromStdString(verify(kernel)), QString());
  }

  void the_edges_of_a_pooling_are_kernels_of_their_own() {
    Maker m;
    const ValueId x = m.input({2, 8});
    const ValueId out = m.op(kPoolRow, {v(x), number(int64_t{3}), number(int64_t{2}), number(int64_t{1})}, {2, 4});
    m.g.outputs = {out};
    Options options;
    options.pools = true;
    const Schedule s = build_schedule(m.g, options);
    QCOMPARE(s.kernels.size(), size_t{2});  // the first window lacks a tap
    QCOMPARE(s.kernels[0].inputs.size(), size_t{2});
    QCOMPARE(s.kernels[1].inputs.size(), size_t{3});
    QCOMPARE(s.kernels[1].inputs[0].offset, int64_t{1});
    QCOMPARE(s.kernels[1].inputs[0].strides, (std::vector<int64_t>{8, 2}));
  }

  void a_single_node_stays_extern_unless_asked_for() {
    Maker m;
    const ValueId x = m.input({4});
    m.g.outputs = {m.op(kExpRow, {v(x)}, {4})};
    QVERIFY(build_schedule(m.g).kernels.empty());
    QCOMPARE(build_schedule(m.g).extern_why[0], std::string("nothing to fuse with"));
    QCOMPARE(build_schedule(m.g, {.min_nodes = 1}).kernels.size(), size_t{1});
  }

  void a_transposed_operand_is_walked_in_tiles() {
    Maker m;
    const ValueId x = m.input({96, 80}), y = m.input({80, 96});
    std::swap(m.g.values[static_cast<size_t>(y)].meta.sizes[0], m.g.values[static_cast<size_t>(y)].meta.sizes[1]);
    m.g.values[static_cast<size_t>(y)].meta.strides = {1, 96};
    const ValueId a = m.op(kAddRow, {v(x), v(y)}, {96, 80});
    m.g.outputs = {m.op(kMulRow, {v(a), v(x)}, {96, 80})};
    QCOMPARE(build_schedule(m.g).kernels.at(0).dims, (std::vector<int64_t>{96, 80}));
    const Kernel k = build_schedule(m.g, {.tiles = true}).kernels.at(0);
    QCOMPARE(k.dims, (std::vector<int64_t>{2, 2, 48, 40}));
    QCOMPARE(k.inputs[0].strides, (std::vector<int64_t>{48 * 80, 40, 80, 1}));
    QCOMPARE(k.inputs[1].strides, (std::vector<int64_t>{48, 40 * 96, 1, 96}));
    QCOMPARE(QString::fromStdString(verify(k)), QString());
  }

  void broadcasting_gives_zero_strides_and_keeps_dims_apart() {
    Maker m;
    const ValueId x = m.input({6, 5}), row = m.input({5}), column = m.input({6, 1});
    const ValueId a = m.op(kAddRow, {v(x), v(row)}, {6, 5});
    m.g.outputs = {m.op(kMulRow, {v(a), v(column)}, {6, 5})};
    const Kernel k = build_schedule(m.g).kernels.at(0);
    QCOMPARE(k.dims, (std::vector<int64_t>{6, 5}));
    QCOMPARE(k.inputs[0].strides, (std::vector<int64_t>{5, 1}));
    QCOMPARE(k.inputs[1].strides, (std::vector<int64_t>{0, 1}));
    QCOMPARE(k.inputs[2].strides, (std::vector<int64_t>{1, 0}));
    QCOMPARE(k.bytes(), int64_t{4 * (30 + 5 + 6 + 30)});
  }

  void a_path_through_an_extern_node_keeps_groups_apart() {
    Maker m;
    const ValueId x = m.input({4, 4});
    const ValueId a = m.op(kExpRow, {v(x)}, {4, 4});
    const ValueId b = m.op(kMulRow, {v(a), number(3.0)}, {4, 4});
    const ValueId sum = m.op(kSumRow, {v(b)}, {});
    const ValueId c = m.op(kMulRow, {v(b), v(sum)}, {4, 4});
    const ValueId d = m.op(kAddRow, {v(c), v(a)}, {4, 4});
    m.g.outputs = {d};
    const Schedule s = build_schedule(m.g);
    QCOMPARE(s.kernels.size(), size_t{2});
    QCOMPARE(order_of(s), (std::vector<int>{100, 2, 101}));
    // `a` is read by the second kernel only: raw memory; `b` by the extern sum: a tensor.
    QVERIFY(s.storage[static_cast<size_t>(a)] == Storage::kScratch);
    QVERIFY(s.storage[static_cast<size_t>(b)] == Storage::kTensor);
    QVERIFY(std::find(s.order[2].dies.begin(), s.order[2].dies.end(), a) != s.order[2].dies.end());
  }

  void a_write_is_a_barrier_for_its_storage_only() {
    Maker m;
    const ValueId x = m.input({8}), other = m.input({8});
    const ValueId a = m.op(kMulRow, {v(x), number(2.0)}, {8});
    const ValueId b = m.op(kAddRow, {v(a), number(1.0)}, {8});
    const ValueId p = m.op(kMulRow, {v(other), number(2.0)}, {8});
    m.node(kAddRow, {v(x), number(1.0)}, x).mutates = true;  // node 3: x += 1
    const ValueId c = m.op(kMulRow, {v(x), v(b)}, {8});
    const ValueId d = m.op(kAddRow, {v(c), v(b)}, {8});
    const ValueId q = m.op(kAddRow, {v(p), number(1.0)}, {8});
    m.g.outputs = {d, q};
    const Schedule s = build_schedule(m.g);
    QCOMPARE(s.extern_why[3], std::string("writes its operand"));
    QVERIFY(s.kernel_of[0] == s.kernel_of[1] && s.kernel_of[0] >= 0);
    QVERIFY(s.kernel_of[4] == s.kernel_of[5] && s.kernel_of[4] >= 0);
    QVERIFY(s.kernel_of[0] != s.kernel_of[4]);
    QVERIFY(s.kernel_of[2] == s.kernel_of[6]);
    const std::vector<int> order = order_of(s);
    const auto at = [&](int unit) { return std::find(order.begin(), order.end(), unit) - order.begin(); };
    QVERIFY(at(100 + s.kernel_of[0]) < at(3));
    QVERIFY(at(3) < at(100 + s.kernel_of[4]));
  }

  void a_write_through_a_view_is_seen_by_its_storage() {
    Maker m;
    const ValueId x = m.input({8});
    const ValueId view = m.value({4, 2}, DType::kFloat32, m.g.values[static_cast<size_t>(x)].storage);
    const graph::OpRow reshape{.name = "view", .kind = graph::OpKind::kView};
    m.node(reshape, {v(x)}, view);
    const ValueId a = m.op(kMulRow, {v(x), number(2.0)}, {8});
    m.node(kAddRow, {v(view), number(1.0)}, view).mutates = true;
    const ValueId b = m.op(kAddRow, {v(x), v(a)}, {8});
    m.g.outputs = {b};
    const Schedule s = build_schedule(m.g, {.min_nodes = 1});
    QCOMPARE(order_of(s), (std::vector<int>{0, 100, 2, 101}));
  }

  void random_nodes_and_ambient_changes_keep_their_places() {
    Maker m;
    const graph::OpRow dropout{.name = "dropout"}, set_mode{.name = "set_grad_enabled"};
    const ValueId x = m.input({8});
    const ValueId a = m.op(dropout, {v(x)}, {8});
    m.g.nodes.back().random = true;
    const ValueId b = m.op(dropout, {v(x)}, {8});
    m.g.nodes.back().random = true;
    graph::Node mode;
    mode.op = &set_mode;
    mode.name = "set_grad_enabled";
    mode.ambient = true;
    m.g.nodes.push_back(mode);
    const ValueId c = m.op(kAddRow, {v(b), v(a)}, {8});
    const ValueId d = m.op(kMulRow, {v(c), v(a)}, {8});
    m.g.outputs = {d};
    QCOMPARE(order_of(build_schedule(m.g)), (std::vector<int>{0, 1, 2, 100}));
  }

  void what_cannot_be_done_right_says_why() {
    Maker m;
    const ValueId i = m.input({8}, DType::kInt32), z = m.input({8}, DType::kComplex64);
    m.op(kDivRow, {v(i), v(i)}, {8}, DType::kInt32);
    m.op(kDivRow, {v(i), number(int64_t{0})}, {8}, DType::kInt32);
    m.op(kDivRow, {v(i), number(int64_t{3})}, {8}, DType::kInt32);
    m.op(kExpRow, {v(z)}, {8}, DType::kComplex64);
    m.g.nodes.push_back({});
    QCOMPARE(why_not_pointwise(m.g, 0), std::string("integer division by a tensor may raise"));
    QCOMPARE(why_not_pointwise(m.g, 1), std::string("integer division by 0 or -1"));
    QCOMPARE(why_not_pointwise(m.g, 2), std::string());
    QCOMPARE(why_not_pointwise(m.g, 3), std::string("dtype complex64"));
    QCOMPARE(why_not_pointwise(m.g, 4), std::string("not in the op table"));
  }

  void half_types_round_after_each_op() {
    Maker m;
    const ValueId x = m.input({8}, DType::kBFloat16);
    const ValueId a = m.op(kMulRow, {v(x), number(0.1)}, {8}, DType::kBFloat16);
    m.g.outputs = {m.op(kAddRow, {v(a), number(0.1)}, {8}, DType::kBFloat16)};
    const std::string text = print(build_schedule(m.g).kernels.at(0));
    // mul keeps the number in float32, add rounds it first; each result is rounded.
    QVERIFY2(text.find("f32 const 0.10000000149011612") != std::string::npos, text.c_str());
    QVERIFY2(text.find("f32 const 0.10009765625") != std::string::npos, text.c_str());
    QCOMPARE(QString::fromStdString(text).count("round_to bfloat16"), 2);
  }

  void halves_round_to_nearest_even() {
    QCOMPARE(round_to_half(1.00390625f, DType::kBFloat16), 1.0f);
    QCOMPARE(round_to_half(1.01171875f, DType::kBFloat16), 1.015625f);
    QCOMPARE(round_to_half(65519.0f, DType::kFloat16), 65504.0f);
    QCOMPARE(round_to_half(65520.0f, DType::kFloat16), std::numeric_limits<float>::infinity());
    QCOMPARE(round_to_half(2.9802322e-08f, DType::kFloat16), 0.0f);
    QCOMPARE(round_to_half(3.1e-08f, DType::kFloat16), 5.9604645e-08f);
  }

  void promotion_is_by_category_and_level() {
    const PromotionOperand f16{DType::kFloat16, 2}, i64{DType::kInt64, 2}, rank0{DType::kFloat64, 0},
        real{DType::kFloat32, 0, true}, whole{DType::kInt64, 0, true}, u8{DType::kUInt8, 1};
    QVERIFY(result_type({f16, rank0}, DType::kFloat32) == DType::kFloat16);
    QVERIFY(result_type({i64, rank0}, DType::kFloat32) == DType::kFloat64);
    QVERIFY(result_type({i64, real}, DType::kFloat32) == DType::kFloat32);
    QVERIFY(result_type({u8, whole}, DType::kFloat32) == DType::kUInt8);
    QVERIFY(result_type({f16, i64}, DType::kFloat32) == DType::kFloat16);
  }

  void dims_are_ordered_by_the_output_and_merged() {
    Kernel k;
    // Channels-last output and input of [2, 3, 4, 5]; a scale per channel.
    k.inputs = {{0, DType::kFloat32, {60, 1, 15, 3}}, {1, DType::kFloat32, {0, 1, 0, 0}}};
    k.outputs = {{{2, DType::kFloat32, {60, 1, 15, 3}}, 0}};
    make_loops({2, 3, 4, 5}, k);
    QCOMPARE(k.dims, (std::vector<int64_t>{40, 3}));
    QCOMPARE(k.inputs[0].strides, (std::vector<int64_t>{3, 1}));
    QCOMPARE(k.inputs[1].strides, (std::vector<int64_t>{0, 1}));
  }

  void empty_and_scalar_shapes_have_one_dim() {
    Kernel k;
    k.outputs = {{{0, DType::kFloat32, {}}, 0}};
    make_loops({}, k);
    QCOMPARE(k.dims, (std::vector<int64_t>{1}));
    k.outputs[0].buffer.strides = {0, 1};
    make_loops({3, 0}, k);
    QCOMPARE(k.dims, (std::vector<int64_t>{0}));
    QVERIFY(is_dense({2, 3}, {1, 2}));
    QVERIFY(!is_dense({2, 3}, {4, 1}));
    QVERIFY(!is_dense({2, 3}, {0, 1}));
  }

  void scratch_is_shared_only_by_values_that_never_meet() {
    Maker m;
    const ValueId x = m.input({64});
    ValueId at = x;
    std::vector<ValueId> scratch;
    for (int i = 0; i < 6; ++i) {
      const ValueId a = m.op(kMulRow, {v(at), number(2.0)}, {64});
      const ValueId b = m.op(kAddRow, {v(a), number(1.0)}, {64});
      const ValueId sum = m.op(kSumRow, {v(x)}, {});
      // A number of another shape in between would fuse; the sum keeps the groups apart by its path.
      const ValueId mixed = m.op(kSumRow, {v(b), v(sum)}, {});
      at = m.op(kAddRow, {v(a), v(mixed)}, {64});
      scratch.push_back(a);
    }
    m.g.outputs = {at};
    const Schedule s = build_schedule(m.g, {.min_nodes = 1});
    const MemoryPlan plan = plan_memory(m.g, s);
    std::vector<ValueId> live;
    for (const Step& step : s.order) {
      if (step.kernel >= 0) {
        for (const Store& store : s.kernels[static_cast<size_t>(step.kernel)].outputs) {
          const ValueId id = store.buffer.value;
          if (plan.offset[static_cast<size_t>(id)] < 0) continue;
          for (const ValueId other : live) {
            const int64_t gap =
                std::abs(plan.offset[static_cast<size_t>(id)] - plan.offset[static_cast<size_t>(other)]);
            QVERIFY(gap >= 256);
          }
          live.push_back(id);
        }
      }
      std::erase_if(live, [&](ValueId id) { return std::count(step.dies.begin(), step.dies.end(), id) > 0; });
    }
    QVERIFY(plan.bytes > 0);
    QVERIFY(plan.bytes <= 3 * 256);
  }

  /// Random dependency graphs: whatever is joined, the units still have an order.
  void joins_never_make_a_cycle() {
    uint64_t state = 12345;
    const auto next = [&](uint64_t n) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      return static_cast<int>((state >> 33) % n);
    };
    for (int round = 0; round < 200; ++round) {
      const int nodes = 3 + next(30);
      std::vector<std::vector<int>> before(static_cast<size_t>(nodes));
      for (int n = 1; n < nodes; ++n) {
        for (int k = next(3); k > 0; --k)
          before[static_cast<size_t>(n)].push_back(next(static_cast<uint64_t>(n)));
      }
      Grouper grouper(before);
      for (int n = 0; n < nodes; ++n) {
        grouper.add(n);
        for (int k = 0; k < 2; ++k)
          grouper.join(grouper.unit_of(n), grouper.unit_of(next(static_cast<uint64_t>(n) + 1)));
      }
      QVERIFY(has_order(grouper, before));
    }
  }

  /// Each maximum selects its operand twice: what is known of a value must not be found out anew each time.
  void a_chain_of_half_maxima_is_lowered_in_linear_time() {
    const graph::OpRow maximum{
        .name = "maximum", .kind = graph::OpKind::kPointwise, .scalar = ScalarFn::kMax};
    Maker m;
    const ValueId x = m.input({16}, DType::kBFloat16), y = m.input({16}, DType::kBFloat16);
    ValueId at = x;
    for (int i = 0; i < 60; ++i) at = m.op(maximum, {v(at), v(i % 2 ? x : y)}, {16}, DType::kBFloat16);
    m.g.outputs = {at};
    const Kernel k = build_schedule(m.g).kernels.at(0);
    QVERIFY(std::none_of(k.insts.begin(), k.insts.end(), [](const Inst& i) { return i.op == Op::kRound; }));
  }

  void a_thousand_node_chain_is_scheduled_in_pieces() {
    Maker m;
    ValueId at = m.input({16});
    for (int i = 0; i < 1000; ++i) at = m.op(kAddRow, {v(at), number(1.0 + i)}, {16});
    m.g.outputs = {at};
    const Schedule s = build_schedule(m.g);
    QVERIFY(s.kernels.size() >= 1000 / 66 && s.kernels.size() <= 40);
    for (const Kernel& k : s.kernels) QCOMPARE(QString::fromStdString(verify(k)), QString());
  }

 private:
  static bool has_order(const Grouper& grouper, const std::vector<std::vector<int>>& before) {
    const size_t n = before.size();
    std::vector<std::vector<int>> after(n);
    std::vector<int> waiting(n, 0);
    for (size_t node = 0; node < n; ++node) {
      for (const int earlier : before[node]) {
        const int from = grouper.unit_of(earlier), to = grouper.unit_of(static_cast<int>(node));
        if (from == to) continue;
        after[static_cast<size_t>(from)].push_back(to);
        ++waiting[static_cast<size_t>(to)];
      }
    }
    std::vector<int> ready;
    for (size_t unit = 0; unit < n; ++unit) {
      if (waiting[unit] == 0) ready.push_back(static_cast<int>(unit));
    }
    size_t seen = 0;
    while (!ready.empty()) {
      const int unit = ready.back();
      ready.pop_back();
      ++seen;
      for (const int next : after[static_cast<size_t>(unit)]) {
        if (--waiting[static_cast<size_t>(next)] == 0) ready.push_back(next);
      }
    }
    return seen == n;
  }
};

QTEST_APPLESS_MAIN(ScheduleTest)
#include "schedule_test.moc"
