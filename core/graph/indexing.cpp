// SPDX-License-Identifier: GPL-3.0-or-later
// Ops that put elements in order or find them (sort, topk, searchsorted …) and those that write or add at
// indices.
#include <algorithm>

#include "core/graph/op_families.h"
#include "core/graph/shape_util.h"

namespace breakline::graph {
namespace {

std::optional<bool> flag(const Arg* a, bool otherwise) {
  return !a || a->is_none() ? std::optional(otherwise) : bool_arg(a);
}
const TensorMeta* real_operand(const ShapeCall& call) {
  const TensorMeta* x = tensor_arg(call, call.get(0, "input"));
  return x && !is_complex(x->dtype) ? x : nullptr;
}
/// The dim operand, `otherwise` when it is not given.
std::optional<int64_t> dim_of(const ShapeCall& call, size_t index, const TensorMeta& x,
                              std::optional<int64_t> otherwise) {
  const Arg* a = call.get(index, "dim");
  const auto number = a ? int_arg(a) : otherwise;
  return number ? wrap_dim(*number, x.rank()) : std::nullopt;
}

/// Values, and where they were: an op that returns both under its name in torch.return_types.
Outs with_indices(const ShapeCall& call, std::string_view name, const TensorMeta& meta) {
  TensorMeta places = meta;
  places.dtype = DType::kInt64;
  auto values = finish(call, meta);
  auto indices = finish_no_grad(call, std::move(places));
  if (!values || !indices) return std::nullopt;
  call.returns_named = name;
  return std::vector<ShapeOut>{std::move((*values)[0]), std::move((*indices)[0])};
}

/// sort(x, dim=-1, descending=False), sort(x, *, stable, dim, descending), argsort likewise
Outs sort(const ShapeCall& call, const OpRow& row) {
  if (call.in_place || !accepts(call, 3, {"input", "dim", "descending", "stable"})) return std::nullopt;
  const TensorMeta* x = real_operand(call);
  if (!x || !flag(call.get(2, "descending"), false) || !flag(call.kwarg("stable"), false))
    return std::nullopt;
  if (!dim_of(call, 1, *x, -1)) return std::nullopt;
  TensorMeta m = fresh(x->sizes, x->dtype, x->device);
  m.strides = preserved_strides(x->sizes, x->strides);
  if (row.name == "sort") return with_indices(call, "sort", m);
  m.dtype = DType::kInt64;
  return finish_no_grad(call, std::move(m));
}

/// topk(x, k, dim=-1, largest=True, sorted=True)
Outs topk(const ShapeCall& call, const OpRow&) {
  if (call.in_place || !accepts(call, 5, {"input", "k", "dim", "largest", "sorted"})) return std::nullopt;
  const TensorMeta* x = real_operand(call);
  const auto k = int_arg(call.get(1, "k"));
  if (!x || !k || x->rank() == 0 || x->dtype == DType::kBool) return std::nullopt;
  const auto dim = dim_of(call, 2, *x, -1);
  if (!dim || *k < 0 || *k > x->sizes[static_cast<size_t>(*dim)]) return std::nullopt;
  if (!flag(call.get(3, "largest"), true) || !flag(call.get(4, "sorted"), true)) return std::nullopt;
  Dims sizes = x->sizes;
  sizes[static_cast<size_t>(*dim)] = *k;
  return with_indices(call, "topk", fresh(sizes, x->dtype, x->device));
}

/// kthvalue(x, k, dim=-1, keepdim=False); median(x), median(x, dim, keepdim=False)
Outs order_statistic(const ShapeCall& call, const OpRow& row) {
  const bool kth = row.name == "kthvalue";
  const size_t at = kth ? 2 : 1;
  if (call.in_place || !accepts(call, at + 2, {"input", "k", "dim", "keepdim"})) return std::nullopt;
  const TensorMeta* x = real_operand(call);
  if (!x || x->numel() == 0 || x->rank() == 0 || x->dtype == DType::kBool) return std::nullopt;
  if (!kth && !call.get(1, "dim"))
    return call.kwargs.empty() ? finish(call, fresh({}, x->dtype, x->device)) : std::nullopt;
  const auto dim = dim_of(call, at, *x, kth ? std::optional<int64_t>(-1) : std::nullopt);
  const auto keepdim = flag(call.get(at + 1, "keepdim"), false);
  if (!dim || !keepdim) return std::nullopt;
  const auto d = static_cast<size_t>(*dim);
  if (kth) {
    const auto k = int_arg(call.get(1, "k"));
    if (!k || *k < 1 || *k > x->sizes[d]) return std::nullopt;
  }
  Dims sizes = x->sizes;
  if (*keepdim)
    sizes[d] = 1;
  else
    sizes.erase(sizes.begin() + *dim);
  return with_indices(call, row.name, fresh(sizes, x->dtype, x->device));
}

/// cummax, cummin: (x, dim)
Outs running_extreme(const ShapeCall& call, const OpRow& row) {
  if (call.in_place || !accepts(call, 2, {"input", "dim"})) return std::nullopt;
  const TensorMeta* x = real_operand(call);
  if (!x || x->numel() == 0 || !dim_of(call, 1, *x, std::nullopt)) return std::nullopt;
  return with_indices(call, row.name, fresh(x->sizes, x->dtype, x->device));
}

/// bucketize(x, boundaries, *, out_int32, right), searchsorted(sequence, x, *, out_int32, right)
Outs search(const ShapeCall& call, const OpRow& row) {
  if (call.in_place || !accepts(call, 2, {"input", "boundaries", "sorted_sequence", "out_int32", "right"}))
    return std::nullopt;
  const bool sequence_first = row.name == "searchsorted";
  const TensorMeta* sequence =
      tensor_arg(call, sequence_first ? call.get(0, "sorted_sequence") : call.get(1, "boundaries"));
  const TensorMeta* x = tensor_arg(call, sequence_first ? call.get(1, "input") : call.get(0, "input"));
  const auto narrow = flag(call.kwarg("out_int32"), false);
  if (!x || !sequence || !narrow || !flag(call.kwarg("right"), false) || is_complex(x->dtype) ||
      x->device != sequence->device)
    return std::nullopt;
  if (sequence->rank() != 1 || x->rank() == 0 || sequence->dtype != x->dtype || x->dtype == DType::kBool)
    return std::nullopt;
  return finish_no_grad(call, fresh(x->sizes, *narrow ? DType::kInt32 : DType::kInt64, x->device));
}

/// What an op that writes at indices leaves: operand 0 itself, or a new contiguous tensor like it.
Outs rewritten(const ShapeCall& call, const TensorMeta& x) {
  return finish(call, call.in_place ? x : fresh(x.sizes, x.dtype, x.device));
}

/// scatter(x, dim, index, src or number), scatter_add, scatter_reduce(…, reduce, include_self)
Outs scatter(const ShapeCall& call, const OpRow& row) {
  const bool adds = row.name == "scatter_add", reduces = row.name == "scatter_reduce";
  if (!accepts(call, reduces ? 5 : 4, {"input", "dim", "index", "src", "value", "reduce", "include_self"}))
    return std::nullopt;
  const TensorMeta* x = real_operand(call);
  const TensorMeta* index = tensor_arg(call, call.get(2, "index"));
  if (!x || x->rank() == 0 || !index || index->dtype != DType::kInt64 || index->rank() != x->rank())
    return std::nullopt;
  if (!adds && !reduces && call.kwarg("reduce")) return std::nullopt;
  const auto dim = dim_of(call, 1, *x, std::nullopt);
  if (!dim) return std::nullopt;
  const Arg* given = call.get(3, "src");
  const TensorMeta* source = tensor_arg(call, given);
  if (!source) {
    if (!given) given = call.kwarg("value");
    if (adds || reduces || !input_arg(call, given) || tensor_arg(call, given)) return std::nullopt;
    if (!can_cast(input_arg(call, given)->number, x->dtype)) return std::nullopt;
  } else if (source->dtype != x->dtype || source->rank() != x->rank()) {
    return std::nullopt;
  }
  for (size_t d = 0; d < x->sizes.size(); ++d) {
    if (static_cast<int64_t>(d) != *dim && index->sizes[d] > x->sizes[d]) return std::nullopt;
    if (source && index->sizes[d] > source->sizes[d]) return std::nullopt;
  }
  if (reduces) {
    const Arg* how = call.get(4, "reduce");
    const auto* text = how ? std::get_if<std::string>(&how->v) : nullptr;
    if (!text || (*text != "sum" && *text != "amax" && *text != "amin") || x->dtype == DType::kBool)
      return std::nullopt;
    if (!flag(call.kwarg("include_self"), true)) return std::nullopt;
  }
  return rewritten(call, *x);
}

/// index_add(x, dim, index, source, *, alpha), index_copy(x, dim, index, source)
Outs index_write(const ShapeCall& call, const OpRow& row) {
  const bool adds = row.name == "index_add";
  if (!accepts(call, 4, {"input", "dim", "index", "source", "alpha"})) return std::nullopt;
  const TensorMeta* x = real_operand(call);
  const TensorMeta* index = tensor_arg(call, call.get(2, "index"));
  const TensorMeta* source = tensor_arg(call, call.get(3, "source"));
  if (!x || !index || !source || x->rank() == 0 || index->rank() != 1 || index->dtype != DType::kInt64)
    return std::nullopt;
  if (source->dtype != x->dtype || source->rank() != x->rank()) return std::nullopt;
  if (const Arg* alpha = call.kwarg("alpha"); alpha && (!adds || !int_arg(alpha))) return std::nullopt;
  const auto dim = dim_of(call, 1, *x, std::nullopt);
  if (!dim) return std::nullopt;
  for (size_t d = 0; d < x->sizes.size(); ++d)
    if (source->sizes[d] != (static_cast<int64_t>(d) == *dim ? index->numel() : x->sizes[d]))
      return std::nullopt;
  return rewritten(call, *x);
}

/// index_fill(x, dim, index, value)
Outs index_fill(const ShapeCall& call, const OpRow&) {
  if (!accepts(call, 4, {"input", "dim", "index", "value"})) return std::nullopt;
  const TensorMeta* x = real_operand(call);
  const TensorMeta* index = tensor_arg(call, call.get(2, "index"));
  const auto value = input_arg(call, call.get(3, "value"));
  if (!x || x->rank() == 0 || !index || index->rank() > 1 || index->dtype != DType::kInt64 || !value ||
      value->tensor)
    return std::nullopt;
  if (!can_cast(value->number, x->dtype) || !dim_of(call, 1, *x, std::nullopt)) return std::nullopt;
  if (call.in_place) return finish(call, *x);
  TensorMeta m = fresh(x->sizes, x->dtype, x->device);
  m.strides = preserved_strides(x->sizes, x->strides);
  return finish(call, std::move(m));
}

/// masked_scatter(x, mask, source)
Outs masked_scatter(const ShapeCall& call, const OpRow&) {
  if (!accepts(call, 3, {"input", "mask", "source"})) return std::nullopt;
  const TensorMeta* x = real_operand(call);
  const TensorMeta* mask = tensor_arg(call, call.get(1, "mask"));
  const TensorMeta* source = tensor_arg(call, call.get(2, "source"));
  if (!x || !mask || mask->dtype != DType::kBool || !source || source->dtype != x->dtype) return std::nullopt;
  const auto sizes = broadcast(x->sizes, mask->sizes);
  if (!sizes || (call.in_place && *sizes != x->sizes)) return std::nullopt;
  return finish(call, call.in_place ? *x : fresh(*sizes, x->dtype, x->device));
}

constexpr OpKind kO = OpKind::kOther;
constexpr OpKind kM = OpKind::kMovement;
constexpr OpRow kRows[] = {
    {.name = "sort", .kind = kO, .rule = sort},
    {.name = "argsort", .kind = kO, .rule = sort},
    {.name = "topk", .kind = kO, .rule = topk},
    {.name = "kthvalue", .kind = kO, .rule = order_statistic},
    {.name = "median", .kind = kO, .rule = order_statistic},
    {.name = "nanmedian", .kind = kO, .rule = order_statistic},
    {.name = "cummax", .kind = kO, .rule = running_extreme},
    {.name = "cummin", .kind = kO, .rule = running_extreme},
    {.name = "bucketize", .kind = kO, .rule = search},
    {.name = "searchsorted", .kind = kO, .rule = search},
    {.name = "scatter", .kind = kM, .rule = scatter, .may_fail = true},
    {.name = "scatter_add", .kind = kM, .rule = scatter, .may_fail = true},
    {.name = "scatter_reduce", .kind = kM, .rule = scatter, .may_fail = true},
    {.name = "index_add", .kind = kM, .rule = index_write, .may_fail = true},
    {.name = "index_copy", .kind = kM, .rule = index_write, .may_fail = true},
    {.name = "index_fill", .kind = kM, .rule = index_fill, .may_fail = true},
    {.name = "masked_scatter", .kind = kM, .rule = masked_scatter, .may_fail = true},
};

}  // namespace

std::span<const OpRow> indexing_rows() { return kRows; }

}  // namespace breakline::graph
