// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cpu/passes/conv.h"

#include <optional>

#include "core/cpu/passes/build.h"
#include "core/cpu/passes/layout.h"
#include "core/graph/shape_util.h"
#include "core/graph/walk.h"

namespace breakline::cpu {
namespace {

using graph::Arg;
using graph::Dims;
using graph::Node;
using graph::Rewrite;
using graph::Uses;
using graph::ValueId;

constexpr graph::OpRow kPackRow = {.name = "conv_weight"};
constexpr graph::OpRow kConvRow = {.name = "mkldnn_convolution"};

struct Conv {
  ValueId x, weight;
  Arg bias;
  Dims stride, padding, dilation;
  int64_t groups = 1;
};

std::optional<Dims> two(const Arg* a, int64_t otherwise) {
  if (is_none(a)) return Dims{otherwise, otherwise};
  auto dims = graph::dims_arg(a);
  if (dims && dims->size() == 1) dims->push_back(dims->front());
  return dims && dims->size() == 2 ? dims : std::nullopt;
}

/// Padding in numbers, equal on both sides.
std::optional<Dims> padding_of(const Arg* a, const Dims& kernel, const Dims& dilation) {
  const auto* text = a ? std::get_if<std::string>(&a->v) : nullptr;
  if (!text) return two(a, 0);
  Dims padding(2, 0);
  if (*text == "valid") return padding;
  for (size_t i = 0; i < 2; ++i) {
    const int64_t both_sides = dilation[i] * (kernel[i] - 1);
    if (*text != "same" || both_sides % 2) return std::nullopt;
    padding[i] = both_sides / 2;
  }
  return padding;
}

std::optional<Conv> conv_of(const Rewrite& r, const Uses& uses, const Node& node) {
  if (!node.op || node.op->name != "conv2d" || node.mutates || node.outputs.size() != 1 ||
      node.outputs[0] == graph::kNoValue)
    return std::nullopt;
  Conv c{value_of(graph::operand(node, 0, "input")),
         value_of(graph::operand(node, 1, "weight")),
         arg_or_none(graph::operand(node, 2, "bias")),
         {},
         {},
         {},
         1};
  const auto fits = [&](ValueId id, int64_t rank) {
    return id != graph::kNoValue && is_float_tensor(r.value(id)) && r.value(id).meta.rank() == rank;
  };
  const auto kept = [&](ValueId id, int64_t rank) {
    return fits(id, rank) &&
           (r.settled(id, uses) ||
            (r.value(id).producer >= 0 && r.notes[static_cast<size_t>(r.value(id).producer)].frozen));
  };
  if (!fits(c.x, 4) || !kept(c.weight, 4) || (!c.bias.is_none() && !kept(value_of(&c.bias), 1)))
    return std::nullopt;
  const auto stride = two(graph::operand(node, 3, "stride"), 1),
             dilation = two(graph::operand(node, 5, "dilation"), 1);
  const Arg* groups = graph::operand(node, 6, "groups");
  const auto count = is_none(groups) ? std::optional<int64_t>(1) : graph::int_arg(groups);
  if (!stride || !dilation || !count) return std::nullopt;
  const Dims& weight = r.value(c.weight).meta.sizes;
  const auto padding = padding_of(graph::operand(node, 4, "padding"), {weight[2], weight[3]}, *dilation);
  if (!padding || (*padding)[0] < 0 || (*padding)[1] < 0) return std::nullopt;
  c.stride = *stride;
  c.dilation = *dilation;
  c.padding = *padding;
  c.groups = *count;
  return c;
}

bool is_packed(const Node& node) { return node.op == &kConvRow; }

}  // namespace

void conv_pass(Rewrite& r, const graph::PassTools& tools) {
  const graph::ObjectHandle convolve = tools.resolve("torch.ops.mkldnn._convolution_pointwise.default._op");
  const graph::ObjectHandle pack = tools.resolve("breakline._frozen.conv_weight");
  if (!convolve || !pack || !tools.resolve("breakline._frozen.with_strides") || !tools.infer) return;
  const Uses uses(r.graph);
  NewStrides changed;
  for (int n = 0; n < r.count(); ++n) {
    const auto c = conv_of(r, uses, r.node(n));
    const ValueId out = r.node(n).outputs.empty() ? graph::kNoValue : r.node(n).outputs[0];
    if (!c || !may_change_layout(r, uses, out)) continue;
    const std::vector<int> origin = r.notes[static_cast<size_t>(n)].origin;
    graph::TensorMeta meta = r.value(c->weight).meta;
    meta.plain = false;
    const ValueId packed = r.add_value(std::move(meta));
    r.insert(n,
             call(kPackRow, pack,
                  {Arg::value(c->weight), arg(c->padding), arg(c->stride), arg(c->dilation), arg(c->groups),
                   arg(r.value(c->x).meta.sizes)},
                  {packed}),
             {origin, true});
    r.node(n) = call(kConvRow, convolve,
                     {Arg::value(c->x), Arg::value(packed), c->bias, arg(c->padding), arg(c->stride),
                      arg(c->dilation), arg(c->groups), arg("none"), empty_list(), arg("")},
                     {out});
    changed.emplace(out, graph::channels_last_strides(r.value(out).meta.sizes));
    ++r.library_calls;
  }
  if (changed.empty()) return;
  r.commit();
  spread_layout(r, tools, changed, is_packed);
}

}  // namespace breakline::cpu
