// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cpu/passes/linear.h"

#include <optional>

#include "core/cpu/passes/build.h"
#include "core/graph/shape_util.h"
#include "core/graph/walk.h"

namespace breakline::cpu {
namespace {

using graph::Arg;
using graph::Node;
using graph::Rewrite;
using graph::Uses;
using graph::ValueId;

constexpr graph::OpRow kPackRow = {.name = "linear_weight"};
constexpr graph::OpRow kLinearRow = {.name = "mkl_linear"};
constexpr int64_t kMostRows = 4096;       ///< beyond, packing is a small part of the product's own work
constexpr int64_t kFewWeights = 64 * 64;  ///< below, the call costs more than it saves

struct Linear {
  ValueId x, weight;
  Arg bias;
  bool turned = false;  ///< the weight is given as [inside, outside]
  int64_t rows = 0;
};

std::optional<Linear> linear_of(const Rewrite& r, const Uses& uses, const Node& node) {
  const bool sum = node.op && node.op->name == "addmm";
  if (!node.op || (!sum && node.op->name != "linear") || node.mutates || node.outputs.size() != 1 ||
      node.outputs[0] == graph::kNoValue)
    return std::nullopt;
  if (sum && (node.args.size() != 3 || !node.kwargs.empty())) return std::nullopt;
  Linear l{value_of(graph::operand(node, sum ? 1 : 0, "input")),
           value_of(graph::operand(node, sum ? 2 : 1, "weight")),
           arg_or_none(graph::operand(node, sum ? 0 : 2, "bias")), sum, 0};
  const auto kept = [&](ValueId id, int64_t rank) {
    return id != graph::kNoValue && is_float_tensor(r.value(id)) && r.value(id).meta.rank() == rank &&
           r.settled(id, uses);
  };
  if (l.x == graph::kNoValue || !is_float_tensor(r.value(l.x)) || !kept(l.weight, 2)) return std::nullopt;
  if (!l.bias.is_none() && !kept(value_of(&l.bias), 1)) return std::nullopt;
  const graph::TensorMeta &x = r.value(l.x).meta, &w = r.value(l.weight).meta,
                          &out = r.value(node.outputs[0]).meta;
  if (x.rank() < 2 || out.strides != graph::contiguous_strides(out.sizes)) return std::nullopt;
  const int64_t outside = out.sizes.back();
  if (!l.bias.is_none() && r.value(l.bias.id()).meta.sizes[0] != outside) return std::nullopt;
  l.rows = x.numel() / x.sizes.back();
  if (l.rows > kMostRows || w.numel() < kFewWeights) return std::nullopt;
  return l;
}

}  // namespace

namespace {

bool worth_it(const Rewrite& r, const Linear& l, const graph::PassTools& tools) {
  const graph::Dims& weight = r.value(l.weight).meta.sizes;
  const int64_t outside = weight[l.turned ? 1 : 0], inside = weight[l.turned ? 0 : 1];
  return tools.prefers && tools.prefers("linear", {l.rows, inside, outside, l.bias.is_none() ? 0 : 1});
}

}  // namespace

void linear_pass(Rewrite& r, const graph::PassTools& tools) {
  const graph::ObjectHandle multiply = tools.resolve("torch.ops.mkl._mkl_linear.default._op");
  const graph::ObjectHandle pack = tools.resolve("breakline._frozen.linear_weight");
  const graph::ObjectHandle pack_turned = tools.resolve("breakline._frozen.turned_linear_weight");
  if (!multiply || !pack || !pack_turned) return;
  const Uses uses(r.graph);
  for (int n = 0; n < r.count(); ++n) {
    const auto l = linear_of(r, uses, r.node(n));
    if (!l || !worth_it(r, *l, tools)) continue;
    const ValueId out = r.node(n).outputs[0];
    const std::vector<int> origin = r.notes[static_cast<size_t>(n)].origin;
    graph::TensorMeta dense = r.value(l->weight).meta;
    if (l->turned) std::swap(dense.sizes[0], dense.sizes[1]);
    dense.strides = graph::contiguous_strides(dense.sizes);
    dense.storage_offset = 0;
    dense.requires_grad = false;
    graph::TensorMeta opaque = dense;
    opaque.plain = false;
    const ValueId packed = r.add_value(std::move(opaque));
    // The call asks for the weight itself too. What is computed ahead must not share memory with a parameter,
    // which would keep it.
    ValueId weight = l->weight;
    std::vector<ValueId> made = {packed};
    if (l->turned) made.push_back(weight = r.add_value(std::move(dense)));
    r.insert(n,
             call(kPackRow, l->turned ? pack_turned : pack, {Arg::value(l->weight), arg(l->rows)},
                  std::move(made)),
             {origin, true});
    r.node(n) =
        call(kLinearRow, multiply,
             {Arg::value(l->x), Arg::value(packed), Arg::value(weight), l->bias, arg(l->rows)}, {out});
    ++r.library_calls;
  }
}

}  // namespace breakline::cpu
