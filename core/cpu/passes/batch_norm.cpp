// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cpu/passes/batch_norm.h"

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

constexpr graph::OpRow kTermsRow = {.name = "batch_norm_terms"};
constexpr graph::OpRow kFoldRow = {.name = "folded_weights"};

struct Norm {
  ValueId x, out;
  std::vector<Arg> statistics;  ///< mean, var, weight, bias, eps
};

/// A batch norm in eval whose parameters and statistics can be kept.
std::optional<Norm> norm_of(const Rewrite& r, const Uses& uses, const Node& node) {
  if (!node.op || node.op->name != "batch_norm" || node.mutates || node.outputs.size() != 1)
    return std::nullopt;
  const Arg* training = graph::operand(node, 5, "training");
  const bool* on = training ? std::get_if<bool>(&training->v) : nullptr;
  const auto eps = graph::float_arg(graph::operand(node, 7, "eps"));
  Norm norm{value_of(graph::operand(node, 0, "input")), node.outputs[0], {}};
  if (!on || *on || !eps || norm.x == graph::kNoValue || norm.out == graph::kNoValue ||
      !is_float_tensor(r.value(norm.x)))
    return std::nullopt;
  static constexpr std::pair<size_t, const char*> kOperands[] = {
      {3, "running_mean"}, {4, "running_var"}, {1, "weight"}, {2, "bias"}};
  for (const auto& [index, name] : kOperands) {
    const Arg* given = graph::operand(node, index, name);
    const ValueId id = value_of(given);
    if (id == graph::kNoValue && (index >= 3 || !is_none(given))) return std::nullopt;
    if (id != graph::kNoValue && (!is_float_tensor(r.value(id)) || !r.settled(id, uses))) return std::nullopt;
    norm.statistics.push_back(arg_or_none(given));
  }
  norm.statistics.push_back(arg(*eps));
  return norm;
}

/// The convolution that makes `x` for this norm alone, with weights that can be kept; -1 when there is none.
int convolution_before(const Rewrite& r, const Uses& uses, ValueId x) {
  const int producer = r.value(x).producer;
  if (producer < 0 || uses.is_output[static_cast<size_t>(x)] ||
      uses.users[static_cast<size_t>(x)].size() != 1 || !uses.alone(r.graph, x))
    return -1;
  const Node& node = r.node(producer);
  if (!node.op || (node.op->name != "conv1d" && node.op->name != "conv2d" && node.op->name != "conv3d") ||
      node.outputs.size() != 1)
    return -1;
  const ValueId weight = value_of(graph::operand(node, 1, "weight"));
  const Arg* bias = graph::operand(node, 2, "bias");
  if (weight == graph::kNoValue || !is_float_tensor(r.value(weight)) || !r.settled(weight, uses)) return -1;
  if (!is_none(bias) && (value_of(bias) == graph::kNoValue || !r.settled(value_of(bias), uses))) return -1;
  return producer;
}

/// Whether the statistics are there where the convolution stands.
bool made_before(const Rewrite& r, const Norm& norm, int conv) {
  return std::all_of(norm.statistics.begin(), norm.statistics.end(),
                     [&](const Arg& a) { return !a.is_value() || r.value(a.id()).producer < conv; });
}

void set_operand(Node& node, size_t index, const char* name, Arg value) {
  if (index < node.args.size()) {
    node.args[index] = std::move(value);
    return;
  }
  for (auto& [key, given] : node.kwargs)
    if (key == name) {
      given = std::move(value);
      return;
    }
  node.kwargs.emplace_back(name, std::move(value));
}

void fold(Rewrite& r, int n, int conv, Norm norm, graph::ObjectHandle helper) {
  const std::vector<int> origin =
      both(r.notes[static_cast<size_t>(conv)].origin, r.notes[static_cast<size_t>(n)].origin);
  const Arg weight_arg = *graph::operand(r.node(conv), 1, "weight");
  graph::TensorMeta weight_meta = r.value(weight_arg.id()).meta;
  weight_meta.strides = graph::contiguous_strides(weight_meta.sizes);
  weight_meta.storage_offset = 0;
  weight_meta.requires_grad = false;
  graph::TensorMeta bias_meta = graph::fresh({weight_meta.sizes[0]}, weight_meta.dtype, weight_meta.device);
  const ValueId weight = r.add_value(std::move(weight_meta)), bias = r.add_value(std::move(bias_meta));
  std::vector<Arg> args = {weight_arg, arg_or_none(graph::operand(r.node(conv), 2, "bias"))};
  args.insert(args.end(), norm.statistics.begin(), norm.statistics.end());
  r.insert(conv, call(kFoldRow, helper, std::move(args), {weight, bias}), {origin, true});
  set_operand(r.node(conv), 1, "weight", Arg::value(weight));
  set_operand(r.node(conv), 2, "bias", Arg::value(bias));
  // The convolution makes the norm's result in its place.
  r.node(conv).outputs[0] = norm.out;
  r.value(norm.out).producer = conv;
  r.notes[static_cast<size_t>(conv)].origin = origin;
  r.erase(n);
  ++r.library_calls;
}

bool spread(Rewrite& r, int n, Norm norm, graph::ObjectHandle helper, const graph::PassTools& tools) {
  const graph::ObjectHandle multiply = tools.resolve("torch.mul"), add = tools.resolve("torch.add");
  if (!multiply || !add) return false;
  static const graph::OpRow* const kMul = graph::find_op("mul").row;
  static const graph::OpRow* const kAdd = graph::find_op("add").row;
  const graph::TensorMeta meta = r.value(norm.x).meta;
  std::vector<int64_t> sizes(static_cast<size_t>(meta.rank() - 1), 1);
  sizes[0] = meta.sizes[1];
  const graph::TensorMeta term = graph::fresh(sizes, meta.dtype, meta.device);
  const ValueId scale = r.add_value(term), shift = r.add_value(term),
                product = r.add_value(r.value(norm.out).meta);
  const Node first = call(*kMul, multiply, {Arg::value(norm.x), Arg::value(scale)}, {product});
  const auto made = tools.infer(r.graph, first);
  if (!made || made->size() != 1 || made->front().meta.strides != r.value(norm.out).meta.strides)
    return false;
  std::vector<Arg> args = norm.statistics;
  args.push_back(arg(meta.rank()));
  const std::vector<int> origin = r.notes[static_cast<size_t>(n)].origin;
  r.insert(n, call(kTermsRow, helper, std::move(args), {scale, shift}), {origin, true});
  r.insert(n, first, {origin, false});
  Node& node = r.node(n);
  node = call(*kAdd, add, {Arg::value(product), Arg::value(shift)}, {norm.out});
  ++r.library_calls;
  return true;
}

}  // namespace

void batch_norm_pass(Rewrite& r, const graph::PassTools& tools) {
  const graph::ObjectHandle fold_helper = tools.resolve("breakline._frozen.folded_weights");
  const graph::ObjectHandle terms_helper = tools.resolve("breakline._frozen.batch_norm_terms");
  if (!fold_helper || !terms_helper || !tools.infer) return;
  const Uses uses(r.graph);
  for (int n = 0; n < r.count(); ++n) {
    auto norm = norm_of(r, uses, r.node(n));
    if (!norm) continue;
    const int conv = convolution_before(r, uses, norm->x);
    const bool same_layout = conv >= 0 && made_before(r, *norm, conv) &&
                             r.value(norm->x).meta.strides == r.value(norm->out).meta.strides;
    if (same_layout)
      fold(r, n, conv, std::move(*norm), fold_helper);
    else
      spread(r, n, std::move(*norm), terms_helper, tools);
  }
}

}  // namespace breakline::cpu
