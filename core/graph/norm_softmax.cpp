// SPDX-License-Identifier: GPL-3.0-or-later
// Normalisations, softmax, dropout and losses.
#include <algorithm>

#include "core/graph/op_families.h"
#include "core/graph/shape_util.h"

namespace breakline::graph {
namespace {

const TensorMeta* floating(const ShapeCall& call, size_t i, std::string_view name) {
  const TensorMeta* x = tensor_arg(call, call.get(i, name));
  return x && is_floating(x->dtype) ? x : nullptr;
}
/// An optional tensor operand of the same dtype as `x`; false when it is something else.
bool optional_like(const ShapeCall& call, size_t i, std::string_view name, const TensorMeta& x) {
  const Arg* a = call.get(i, name);
  if (!a || a->is_none()) return true;
  const TensorMeta* t = tensor_arg(call, a);
  return t && t->dtype == x.dtype && t->device == x.device;
}

/// Parameters of a normalisation: all of one dtype, the input's or (for half precision inputs) float32.
bool parameters_fit(const ShapeCall& call, size_t first, std::initializer_list<std::string_view> names,
                    const TensorMeta& x) {
  const bool half = x.dtype == DType::kBFloat16 || x.dtype == DType::kFloat16;
  DType common = DType::kOther;
  size_t i = first;
  for (std::string_view name : names) {
    const Arg* a = call.get(i++, name);
    if (!a || a->is_none()) continue;
    const TensorMeta* t = tensor_arg(call, a);
    if (!t || t->device != x.device || (common != DType::kOther && t->dtype != common)) return false;
    common = t->dtype;
  }
  return common == DType::kOther || common == x.dtype || (half && common == DType::kFloat32);
}

/// softmax(x, dim, dtype), log_softmax
Outs softmax(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = tensor_arg(call, call.get(0, "input"));
  const auto dim = int_arg(call.get(1, "dim"));
  if (!x || !dim || !wrap_dim(*dim, x->rank()) || !accepts(call, 3, {"input", "dim", "dtype"}))
    return std::nullopt;
  const auto dtype = dtype_arg(call.get(2, "dtype"));
  const DType t = dtype.absent ? x->dtype : dtype.dtype;
  if (!is_floating(t) || is_complex(x->dtype)) return std::nullopt;
  return finish(call, fresh(x->sizes, t, x->device));
}

/// layer_norm(x, normalized_shape, weight, bias, eps, cudnn_enable)
Outs layer_norm(const ShapeCall& call, const OpRow&) {
  if (!accepts(call, 6, {"input", "normalized_shape", "weight", "bias", "eps", "cudnn_enable"}))
    return std::nullopt;
  const TensorMeta* x = floating(call, 0, "input");
  const auto shape = dims_arg(call.get(1, "normalized_shape"));
  if (!x || !shape || shape->empty() || static_cast<int64_t>(shape->size()) > x->rank()) return std::nullopt;
  if (!std::equal(shape->rbegin(), shape->rend(), x->sizes.rbegin())) return std::nullopt;
  if (!parameters_fit(call, 2, {"weight", "bias"}, *x)) return std::nullopt;
  return finish(call, fresh(x->sizes, x->dtype, x->device));
}
/// rms_norm(x, normalized_shape, weight, eps)
Outs rms_norm(const ShapeCall& call, const OpRow&) {
  if (!accepts(call, 4, {"input", "normalized_shape", "weight", "eps"})) return std::nullopt;
  const TensorMeta* x = floating(call, 0, "input");
  const auto shape = dims_arg(call.get(1, "normalized_shape"));
  if (!x || !shape || shape->empty() || static_cast<int64_t>(shape->size()) > x->rank()) return std::nullopt;
  if (!std::equal(shape->rbegin(), shape->rend(), x->sizes.rbegin())) return std::nullopt;
  if (x->numel() == 0 || x->strides != contiguous_strides(x->sizes)) return std::nullopt;
  if (!optional_like(call, 2, "weight", *x)) return std::nullopt;
  if (const TensorMeta* w = tensor_arg(call, call.get(2, "weight")); w && w->strides != contiguous_strides(w->sizes)) return std::nullopt;
  return finish(call, fresh(x->sizes, x->dtype, x->device));
}

TensorMeta in_suggested_format(const TensorMeta& x) {
  TensorMeta m = fresh(x.sizes, x.dtype, x.device);
  if (suggests_channels_last(x.sizes, x.strides)) m.strides = channels_last_strides(x.sizes);
  return m;
}

/// group_norm(x [N, C, …], groups, weight, bias, eps, cudnn)
Outs group_norm(const ShapeCall& call, const OpRow&) {
  if (!accepts(call, 6, {"input", "num_groups", "weight", "bias", "eps", "cudnn_enabled"}))
    return std::nullopt;
  const TensorMeta* x = floating(call, 0, "input");
  const auto groups = int_arg(call.get(1, "num_groups"));
  if (!x || !groups || *groups <= 0 || x->rank() < 2 || x->sizes[1] % *groups || x->numel() == 0)
    return std::nullopt;
  if (!parameters_fit(call, 2, {"weight", "bias"}, *x)) return std::nullopt;
  return finish(call, in_suggested_format(*x));
}

/// batch_norm(x [N, C, …], weight, bias, running_mean, running_var, training, momentum, eps, cudnn)
Outs batch_norm(const ShapeCall& call, const OpRow&) {
  if (!accepts(call, 9,
               {"input", "weight", "bias", "running_mean", "running_var", "training", "momentum", "eps",
                "cudnn_enabled"})) {
    return std::nullopt;
  }
  const TensorMeta* x = floating(call, 0, "input");
  const auto training = bool_arg(call.get(5, "training"));
  if (!x || !training || x->rank() < 2 || x->numel() == 0) return std::nullopt;
  if (!parameters_fit(call, 1, {"weight", "bias", "running_mean", "running_var"}, *x)) return std::nullopt;
  static constexpr std::string_view kNames[] = {"weight", "bias", "running_mean", "running_var"};
  for (size_t i = 0; i < 4; ++i) {
    const TensorMeta* t = tensor_arg(call, call.get(1 + i, kNames[i]));
    if (t && (t->rank() != 1 || t->sizes[0] != x->sizes[1])) return std::nullopt;
    if (*training && i >= 2 && t) {
      if (call.args.size() <= 1 + i) return std::nullopt;
      call.also_written.push_back(1 + i);
    }
    if (!*training && i >= 2 && !t) return std::nullopt;
  }
  const bool exact = is_channels_last(x->sizes, x->strides) || is_channels_last_3d(x->sizes, x->strides);
  const bool ambiguous = exact && !suggests_channels_last(x->sizes, x->strides);
  if (ambiguous && !is_contiguous(x->sizes, x->strides)) return std::nullopt;
  // What reads as both is taken as contiguous.
  if (!*training && is_contiguous(x->sizes, x->strides)) return finish(call, fresh(x->sizes, x->dtype, x->device));
  return finish(call, in_suggested_format(*x));
}

/// dropout(x, p, train): the operand itself when nothing is dropped.
Outs dropout(const ShapeCall& call, const OpRow&) {
  if (!accepts(call, 3, {"input", "p", "train"})) return std::nullopt;
  const TensorMeta* x = tensor_arg(call, call.get(0, "input"));
  const auto p = float_arg(call.get(1, "p"));
  const auto train = bool_arg(call.get(2, "train"));
  if (!x || !p || !train || *p < 0 || *p > 1 || call.args.empty()) return std::nullopt;
  if (*p == 0 || !*train || x->numel() == 0) return one(same(call, 0));
  if (!is_floating(x->dtype) || *p == 1) return std::nullopt;
  TensorMeta noise = fresh(x->sizes, x->dtype, x->device);
  noise.strides = preserved_strides(x->sizes, x->strides);
  auto m = pointwise_meta({Input{x}, Input{&noise}}, x->dtype, x->dtype);
  return m ? finish(call, std::move(*m)) : std::nullopt;
}

/// instance_norm(x [N, C, …], weight, bias, mean, var, use_input_stats, momentum, eps, cudnn) without running statistics
Outs instance_norm(const ShapeCall& call, const OpRow&) {
  if (!accepts(call, 9, {"input", "weight", "bias", "running_mean", "running_var", "use_input_stats", "momentum", "eps", "cudnn_enabled"}))
    return std::nullopt;
  const TensorMeta* x = floating(call, 0, "input");
  if (!x || x->rank() < 3 || x->numel() == 0) return std::nullopt;
  for (const auto& [at, name] : {std::pair<size_t, const char*>{3, "running_mean"}, {4, "running_var"}})
    if (const Arg* a = call.get(at, name); a && !a->is_none()) return std::nullopt;
  if (!optional_like(call, 1, "weight", *x) || !optional_like(call, 2, "bias", *x)) return std::nullopt;
  if (bool_arg(call.get(5, "use_input_stats")) != std::optional(true)) return std::nullopt;
  return finish(call, fresh(x->sizes, x->dtype, x->device));
}

/// Weights of losses are not differentiable: PyTorch refuses one that requires grad.
bool wants_grad(const ShapeCall& call, size_t i, std::string_view name) {
  const TensorMeta* t = tensor_arg(call, call.get(i, name));
  return t && t->requires_grad && call.grad_mode;
}

/// mse_loss, l1_loss, smooth_l1_loss, huber_loss, binary_cross_entropy …: (input, target, …, reduction = 1)
Outs elementwise_loss(const ShapeCall& call, const OpRow& row) {
  const bool weighted = row.name.starts_with("binary_cross_entropy");
  const bool logits = row.name == "binary_cross_entropy_with_logits";
  if (!accepts(call, 5, {"input", "target", "weight", "pos_weight", "reduction", "beta", "delta"}))
    return std::nullopt;
  const TensorMeta *x = floating(call, 0, "input"), *target = floating(call, 1, "target");
  const Arg* mode = call.get(logits ? 4 : weighted ? 3 : 2, "reduction");
  const auto reduction = mode ? int_arg(mode) : std::optional<int64_t>(1);
  if (!x || !target || !reduction || x->dtype != target->dtype) return std::nullopt;
  const auto sizes = broadcast(x->sizes, target->sizes);
  if (!sizes || (weighted && x->sizes != target->sizes)) return std::nullopt;
  if (weighted && (!optional_like(call, 2, "weight", *x) || wants_grad(call, 2, "weight")))
    return std::nullopt;
  if (logits && (!optional_like(call, 3, "pos_weight", *x) || wants_grad(call, 3, "pos_weight")))
    return std::nullopt;
  if (*reduction == 1 || *reduction == 2) return finish(call, fresh({}, x->dtype, x->device));
  if (weighted || row.name == "huber_loss") return std::nullopt;
  auto m = pointwise_meta({Input{x}, Input{target}}, x->dtype, x->dtype);
  if (m && row.name == "l1_loss") m = pointwise_meta({Input{&*m}}, x->dtype, x->dtype);  // (x - target).abs()
  return m ? finish(call, std::move(*m)) : std::nullopt;
}

/// cross_entropy_loss(x, target, weight, reduction, ignore_index, label_smoothing), nll_loss_nd(x, target,
/// weight, reduction, ignore_index): class indices as targets.
Outs class_loss(const ShapeCall& call, const OpRow&) {
  if (!accepts(call, 6, {"input", "target", "weight", "reduction", "ignore_index", "label_smoothing"}))
    return std::nullopt;
  const TensorMeta* x = floating(call, 0, "input");
  const TensorMeta* target = tensor_arg(call, call.get(1, "target"));
  const Arg* mode = call.get(3, "reduction");
  const auto reduction = mode ? int_arg(mode) : std::optional<int64_t>(1);
  if (!x || !target || target->dtype != DType::kInt64 || !reduction || x->rank() < 1) return std::nullopt;
  if (!optional_like(call, 2, "weight", *x) || wants_grad(call, 2, "weight")) return std::nullopt;
  Dims expected = x->sizes;
  expected.erase(expected.begin() + (x->rank() == 1 ? 0 : 1));
  if (target->sizes != expected) return std::nullopt;
  if (*reduction == 1 || *reduction == 2) return finish_from(call, fresh({}, x->dtype, x->device), *x);
  return std::nullopt;
}

constexpr OpKind kN = OpKind::kNorm;
constexpr OpRow kRows[] = {
    {.name = "softmax", .kind = OpKind::kSoftmax, .rule = softmax, .aliases = "special_softmax"},
    {.name = "log_softmax", .kind = OpKind::kSoftmax, .rule = softmax, .aliases = "special_log_softmax"},
    {.name = "layer_norm", .kind = kN, .rule = layer_norm},
    {.name = "rms_norm", .kind = kN, .rule = rms_norm},
    {.name = "group_norm", .kind = kN, .rule = group_norm},
    {.name = "batch_norm", .kind = kN, .rule = batch_norm},
    {.name = "instance_norm", .kind = kN, .rule = instance_norm},
    {.name = "dropout", .kind = OpKind::kOther, .rule = dropout, .random = true},
    {.name = "mse_loss", .kind = OpKind::kOther, .rule = elementwise_loss},
    {.name = "l1_loss", .kind = OpKind::kOther, .rule = elementwise_loss},
    {.name = "smooth_l1_loss", .kind = OpKind::kOther, .rule = elementwise_loss},
    {.name = "huber_loss", .kind = OpKind::kOther, .rule = elementwise_loss},
    {.name = "binary_cross_entropy", .kind = OpKind::kOther, .rule = elementwise_loss, .may_fail = true},
    {.name = "binary_cross_entropy_with_logits", .kind = OpKind::kOther, .rule = elementwise_loss},
    {.name = "cross_entropy_loss", .kind = OpKind::kOther, .rule = class_loss, .may_fail = true},
    {.name = "nll_loss_nd",
     .kind = OpKind::kOther,
     .rule = class_loss,
     .may_fail = true,
     .aliases = "nll_loss"},
};

}  // namespace

std::span<const OpRow> norm_softmax_rows() { return kRows; }

}  // namespace breakline::graph
