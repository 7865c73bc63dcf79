// SPDX-License-Identifier: GPL-3.0-or-later
// Whole recurrent layers: lstm, gru, rnn_tanh, rnn_relu, over padded and over packed sequences.
#include "core/graph/op_families.h"
#include "core/graph/shape_util.h"

namespace breakline::graph {
namespace {

/// What a call says beside its tensors.
struct Layers {
  const TensorMeta* x = nullptr;
  bool packed = false;
  bool biases = false, both_ways = false, batch_first = false;
  int64_t count = 0;       ///< layers
  int64_t directions = 1;
  int64_t batch = 0;
};

/// The tensors of a sequence operand; empty where one is none.
std::vector<const TensorMeta*> tensors_of(const ShapeCall& call, const Arg& a) {
  std::vector<const TensorMeta*> out;
  const ArgSeq* seq = a.seq();
  if (!seq) return out;
  for (const Arg& item : seq->items) {
    const TensorMeta* t = tensor_arg(call, &item);
    if (!t) return {};
    out.push_back(t);
  }
  return out;
}

bool is(const TensorMeta* t, const Dims& sizes, const TensorMeta& like) {
  return t->sizes == sizes && t->dtype == like.dtype && t->device == like.device;
}

/// Weights of all layers and directions in PyTorch's order, each [gates · hidden, what goes in]; with a projection w_hr last.
bool weights_fit(const std::vector<const TensorMeta*>& weights, const Layers& l, int64_t gates, int64_t hidden, int64_t out) {
  const bool projected = out != hidden;
  const size_t each = 2 + (l.biases ? 2 : 0) + (projected ? 1 : 0);
  if (weights.size() != each * static_cast<size_t>(l.count * l.directions)) return false;
  const Dims bias = {gates * hidden};
  for (size_t i = 0; i < weights.size(); i += each) {
    const bool first = static_cast<int64_t>(i / each) < l.directions;
    const int64_t in = first ? l.x->sizes.back() : out * l.directions;
    if (!is(weights[i], {gates * hidden, in}, *l.x) || !is(weights[i + 1], {gates * hidden, out}, *l.x)) return false;
    if (l.biases && (!is(weights[i + 2], bias, *l.x) || !is(weights[i + 3], bias, *l.x))) return false;
    if (projected && !is(weights[i + each - 1], {out, hidden}, *l.x)) return false;
  }
  return true;
}

/// (x, hx, weights, biases, layers, dropout, train, both ways, batch first), or packed:
/// (data, batch sizes, hx, weights, biases, layers, dropout, train, both ways); hx is (h, c) for lstm.
Outs recurrent(const ShapeCall& call, const OpRow& row) {
  if (call.args.size() != 9 || !call.kwargs.empty()) return std::nullopt;
  Layers l;
  l.x = tensor_arg(call, &call.args[0]);
  if (!l.x || !is_floating(l.x->dtype) || l.x->device != DeviceKind::kCpu || l.x->numel() == 0) return std::nullopt;
  l.packed = call.args[3].seq() != nullptr;
  const size_t at = l.packed ? 2 : 1;  // of hx
  const auto biases = bool_arg(&call.args[at + 2]);
  const auto count = int_arg(&call.args[at + 3]);
  const auto both_ways = bool_arg(&call.args[at + 6]);
  const auto batch_first = l.packed ? std::optional<bool>(false) : bool_arg(&call.args[8]);
  if (!biases || !count || *count < 1 || !both_ways || !batch_first || l.x->rank() != (l.packed ? 2 : 3)) return std::nullopt;
  l.biases = *biases, l.count = *count, l.both_ways = *both_ways, l.batch_first = *batch_first;
  l.directions = l.both_ways ? 2 : 1;

  const bool lstm = row.name == "lstm";
  std::vector<const TensorMeta*> states;
  if (lstm) {
    states = tensors_of(call, call.args[at]);
  } else if (const TensorMeta* h = tensor_arg(call, &call.args[at])) {
    states = {h};
  }
  const std::vector<const TensorMeta*> weights = tensors_of(call, call.args[at + 1]);
  if (states.size() != (lstm ? 2u : 1u) || weights.size() < 2) return std::nullopt;
  for (const TensorMeta* s : states)
    if (s->rank() != 3) return std::nullopt;
  const int64_t gates = lstm ? 4 : row.name == "gru" ? 3 : 1;
  const int64_t out = states[0]->sizes[2], hidden = states.back()->sizes[2];
  l.batch = l.packed ? states[0]->sizes[1] : l.x->sizes[l.batch_first ? 0 : 1];
  for (const TensorMeta* s : states)
    if (!is(s, {l.count * l.directions, l.batch, s == states[0] ? out : hidden}, *l.x) || s->numel() == 0) return std::nullopt;
  if (!weights_fit(weights, l, gates, hidden, out)) return std::nullopt;
  if (l.packed) {
    const TensorMeta* sizes = tensor_arg(call, &call.args[1]);
    if (!sizes || sizes->dtype != DType::kInt64 || sizes->rank() != 1 || sizes->device != DeviceKind::kCpu) return std::nullopt;
  }

  const bool grad = any_requires_grad(call);
  std::vector<ShapeOut> outs;
  const auto add = [&](const Dims& sizes) {
    ShapeOut o;
    o.meta = fresh(sizes, l.x->dtype, l.x->device);
    o.meta.requires_grad = grad;
    o.meta.is_leaf = !grad;
    outs.push_back(std::move(o));
  };
  if (l.packed) {
    add({l.x->sizes[0], out * l.directions});
  } else {
    const int64_t steps = l.x->sizes[l.batch_first ? 1 : 0];
    add({steps, l.batch, out * l.directions});
    if (l.batch_first) {  // computed step by step and turned
      TensorMeta& m = outs[0].meta;
      std::swap(m.sizes[0], m.sizes[1]);
      std::swap(m.strides[0], m.strides[1]);
    }
  }
  for (const TensorMeta* s : states) add(s->sizes);
  call.returns_list = true;
  return outs;
}

constexpr OpRow kRows[] = {
    {.name = "lstm", .rule = recurrent, .random = true, .may_fail = true},
    {.name = "gru", .rule = recurrent, .random = true, .may_fail = true},
    {.name = "rnn_tanh", .rule = recurrent, .random = true, .may_fail = true},
    {.name = "rnn_relu", .rule = recurrent, .random = true, .may_fail = true},
};

}  // namespace

std::span<const OpRow> recurrent_rows() { return kRows; }

}  // namespace breakline::graph
