// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/graph/op_families.h"
#include "core/graph/shape_util.h"

namespace breakline::graph {
namespace {

/// torch.embedding(weight [V, D], indices, padding_idx, scale_grad_by_freq, sparse)
Outs embedding(const ShapeCall& call, const OpRow&) {
  if (!accepts(call, 5, {"weight", "input", "indices", "padding_idx", "scale_grad_by_freq", "sparse"}))
    return std::nullopt;
  const TensorMeta* weight = tensor_arg(call, call.get(0, "weight"));
  const Arg* second = call.get(1, "input");
  const TensorMeta* indices = tensor_arg(call, second ? second : call.kwarg("indices"));
  if (!weight || !indices || weight->rank() != 2 || weight->numel() == 0 || is_complex(weight->dtype))
    return std::nullopt;
  if (indices->dtype != DType::kInt64 && indices->dtype != DType::kInt32) return std::nullopt;
  Dims sizes = indices->sizes;
  sizes.push_back(weight->sizes[1]);
  return finish(call, fresh(sizes, weight->dtype, weight->device));
}

/// The CPU flash kernel is taken, not plain arithmetic (of which the meta call is asked).
bool takes_flash(const TensorMeta& q, const TensorMeta& k, const TensorMeta& v, const TensorMeta* mask) {
  const auto inner_contiguous = [](const TensorMeta& m) { return m.strides[3] == 1; };
  if (!inner_contiguous(q) || !inner_contiguous(k) || !inner_contiguous(v)) return false;
  if (q.sizes[3] != k.sizes[3] || q.sizes[3] != v.sizes[3]) return false;
  if (q.sizes[0] != k.sizes[0] || q.sizes[1] != k.sizes[1]) return false;
  return !mask || !mask->requires_grad;
}

/// scaled_dot_product_attention(q, k, v [N, H, L, D], attn_mask, dropout_p, is_causal, scale=, enable_gqa=)
Outs attention(const ShapeCall& call, const OpRow&) {
  if (!accepts(call, 6,
               {"query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa"}))
    return std::nullopt;
  const TensorMeta* q = tensor_arg(call, call.get(0, "query"));
  const TensorMeta* k = tensor_arg(call, call.get(1, "key"));
  const TensorMeta* v = tensor_arg(call, call.get(2, "value"));
  if (!q || !k || !v || q->rank() != 4 || k->rank() != 4 || v->rank() != 4 || !is_floating(q->dtype))
    return std::nullopt;
  if (q->dtype != k->dtype || q->dtype != v->dtype || q->device != DeviceKind::kCpu) return std::nullopt;
  if (q->numel() == 0 || k->numel() == 0 || v->numel() == 0) return std::nullopt;
  const Arg* gqa = call.kwarg("enable_gqa");
  const Arg* p = call.get(4, "dropout_p");
  if ((gqa && bool_arg(gqa) != false) || (p && float_arg(p) != 0.0)) return std::nullopt;
  const Arg* causal = call.get(5, "is_causal");
  const Arg* mask_arg = call.get(3, "attn_mask");
  const TensorMeta* mask = nullptr;
  if (mask_arg && !mask_arg->is_none()) {
    mask = tensor_arg(call, mask_arg);
    if (!mask || (mask->dtype != DType::kBool && mask->dtype != q->dtype) || mask->rank() > 4)
      return std::nullopt;
    if (mask->rank() == 3 || mask->rank() < 2) return std::nullopt;
    if (causal && bool_arg(causal) != false) return std::nullopt;
    const auto scores = broadcast({q->sizes[0], q->sizes[1], q->sizes[2], k->sizes[2]}, mask->sizes);
    if (!scores || *scores != Dims{q->sizes[0], q->sizes[1], q->sizes[2], k->sizes[2]}) return std::nullopt;
  }
  if (k->sizes[2] != v->sizes[2] || q->sizes[3] != k->sizes[3]) return std::nullopt;
  for (size_t i : {0, 1}) {
    if (q->sizes[i] != k->sizes[i] || q->sizes[i] != v->sizes[i]) return std::nullopt;
  }
  const Dims sizes = {q->sizes[0], q->sizes[1], q->sizes[2], v->sizes[3]};
  if (!takes_flash(*q, *k, *v, mask)) return std::nullopt;
  TensorMeta m = fresh(sizes, q->dtype, q->device);
  m.strides = preserved_strides(q->sizes, q->strides);  // the output is laid out as the query
  return finish(call, std::move(m));
}

constexpr OpRow kRows[] = {
    {.name = "embedding", .kind = OpKind::kEmbedding, .rule = embedding, .may_fail = true},
    {.name = "scaled_dot_product_attention", .kind = OpKind::kAttention, .rule = attention},
};

}  // namespace

std::span<const OpRow> embedding_attention_rows() { return kRows; }

}  // namespace breakline::graph
