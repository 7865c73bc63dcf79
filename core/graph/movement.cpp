// SPDX-License-Identifier: GPL-3.0-or-later
// Ops that move data: joins, gathers, fills, copies into an operand.
#include <algorithm>

#include "core/graph/op_families.h"
#include "core/graph/shape_util.h"

namespace breakline::graph {
namespace {

/// Tensors of a sequence operand; nullopt when an element is none.
std::optional<std::vector<Input>> tensors_of(const ShapeCall& call, const Arg* arg) {
  const ArgSeq* seq = arg ? arg->seq() : nullptr;
  if (!seq || seq->items.empty()) return std::nullopt;
  std::vector<Input> out;
  for (const Arg& a : seq->items) {
    const TensorMeta* t = tensor_arg(call, &a);
    if (!t || is_complex(t->dtype) || (!out.empty() && t->device != out[0].tensor->device))
      return std::nullopt;
    out.push_back(Input{t});
  }
  return out;
}

bool legacy_empty(const TensorMeta& m) { return m.rank() == 1 && m.sizes[0] == 0; }

Outs joined(const ShapeCall& call, const std::vector<Input>& inputs, int64_t wanted_dim) {
  const TensorMeta* first = nullptr;
  bool channels_last = true;
  for (const Input& in : inputs) {
    if (!first && !legacy_empty(*in.tensor)) first = in.tensor;
    channels_last = channels_last && suggests_channels_last(in.tensor->sizes, in.tensor->strides) &&
                    in.tensor->rank() == inputs[0].tensor->rank();
  }
  if (!first) first = inputs[0].tensor;
  if (first->rank() == 0) return std::nullopt;
  const auto dim = wrap_dim(wanted_dim, first->rank());
  if (!dim) return std::nullopt;
  const auto d = static_cast<size_t>(*dim);
  Dims sizes = first->sizes;
  sizes[d] = 0;
  for (const Input& in : inputs) {
    if (legacy_empty(*in.tensor)) continue;
    if (in.tensor->rank() != first->rank()) return std::nullopt;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (i != d && in.tensor->sizes[i] != sizes[i]) return std::nullopt;
    }
    sizes[d] += in.tensor->sizes[d];
  }
  TensorMeta m = fresh(sizes, result_type(inputs, call.default_dtype), first->device);
  if (channels_last) m.strides = channels_last_strides(sizes);
  return finish(call, std::move(m));
}

Outs cat(const ShapeCall& call, const OpRow&) {
  if (!accepts(call, 2, {"tensors", "dim", "axis"})) return std::nullopt;
  const auto inputs = tensors_of(call, call.get(0, "tensors"));
  const Arg* dim = call.get(1, "dim");
  if (!dim) dim = call.kwarg("axis");
  if (!inputs || (dim && !int_arg(dim))) return std::nullopt;
  return joined(call, *inputs, dim ? *int_arg(dim) : 0);
}

Outs stack(const ShapeCall& call, const OpRow&) {
  if (!accepts(call, 2, {"tensors", "dim"})) return std::nullopt;
  const auto inputs = tensors_of(call, call.get(0, "tensors"));
  const Arg* where = call.get(1, "dim");
  if (!inputs || (where && !int_arg(where))) return std::nullopt;
  const TensorMeta& first = *(*inputs)[0].tensor;
  const auto dim = wrap_dim(where ? *int_arg(where) : 0, first.rank() + 1);
  if (!dim) return std::nullopt;
  for (const Input& in : *inputs) {
    if (in.tensor->sizes != first.sizes) return std::nullopt;
    // Joined as unsqueezed tensors, whose layout may then read as channels-last: left to the meta call.
    if (first.rank() >= 3 && first.rank() <= 4 && !is_contiguous(in.tensor->sizes, in.tensor->strides))
      return std::nullopt;
  }
  Dims sizes = first.sizes;
  sizes.insert(sizes.begin() + *dim, static_cast<int64_t>(inputs->size()));
  return finish(call, fresh(sizes, result_type(*inputs, call.default_dtype), first.device));
}

/// pad(x, pad, mode="constant", value=None): constant mode.
Outs pad(const ShapeCall& call, const OpRow& row) {
  const bool constant_only = row.name == "constant_pad_nd";
  if (!accepts(call, constant_only ? 3 : 4, {"input", "pad", "mode", "value"})) return std::nullopt;
  const TensorMeta* x = tensor_arg(call, call.get(0, "input"));
  const auto widths = dims_arg(call.get(1, "pad"));
  if (!x || !widths || widths->size() % 2 || static_cast<int64_t>(widths->size()) > 2 * x->rank())
    return std::nullopt;
  if (!constant_only) {
    const Arg* mode = call.get(2, "mode");
    const auto* text = mode ? std::get_if<std::string>(&mode->v) : nullptr;
    if (mode && (!text || *text != "constant")) return std::nullopt;
  }
  if (std::any_of(widths->begin(), widths->end(), [](int64_t w) { return w < 0; })) return std::nullopt;
  TensorMeta m = *x;
  if (std::all_of(widths->begin(), widths->end(), [](int64_t w) { return w == 0; })) {
    m = fresh(x->sizes, x->dtype, x->device);
    m.strides = preserved_strides(x->sizes, x->strides);
    return finish_from(call, std::move(m), *x);
  }
  Dims sizes = x->sizes;
  for (size_t i = 0; i < widths->size() / 2; ++i)
    sizes[sizes.size() - 1 - i] += (*widths)[2 * i] + (*widths)[2 * i + 1];
  m = fresh(sizes, x->dtype, x->device);
  if (suggests_channels_last(x->sizes, x->strides)) m.strides = channels_last_strides(sizes);
  return finish_from(call, std::move(m), *x);
}

Outs repeat(const ShapeCall& call, const OpRow& row) {
  const TensorMeta* x = call.args.empty() ? nullptr : tensor_arg(call, &call.args[0]);
  const auto times = variadic_dims(call, 1, row.name == "tile" ? "dims" : "repeats");
  if (!x || !times || (call.args.size() > 1 && !call.kwargs.empty())) return std::nullopt;
  Dims factors = *times;
  if (row.name == "tile") {
    while (static_cast<int64_t>(factors.size()) < x->rank()) factors.insert(factors.begin(), 1);
  }
  if (static_cast<int64_t>(factors.size()) < x->rank()) return std::nullopt;
  Dims sizes = x->sizes;
  sizes.insert(sizes.begin(), factors.size() - sizes.size(), 1);
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (factors[i] < 0) return std::nullopt;
    sizes[i] *= factors[i];
  }
  return finish(call, fresh(sizes, x->dtype, x->device));
}

/// hstack, vstack: as cat along a dim that depends on the first tensor's rank.
Outs stacked(const ShapeCall& call, const OpRow& row) {
  if (!accepts(call, 1, {"tensors"})) return std::nullopt;
  const auto inputs = tensors_of(call, call.get(0, "tensors"));
  if (!inputs) return std::nullopt;
  const int64_t rank = (*inputs)[0].tensor->rank();
  for (const Input& in : *inputs)
    if (in.tensor->rank() != rank || rank == 0) return std::nullopt;
  if (row.name == "hstack") return joined(call, *inputs, rank == 1 ? 0 : 1);
  if (rank > 1) return joined(call, *inputs, 0);
  for (const Input& in : *inputs)
    if (in.tensor->sizes != (*inputs)[0].tensor->sizes) return std::nullopt;
  const Dims sizes = {static_cast<int64_t>(inputs->size()), (*inputs)[0].tensor->sizes[0]};
  return finish(call, fresh(sizes, result_type(*inputs, call.default_dtype), (*inputs)[0].tensor->device));
}

/// repeat_interleave(x, n, dim=None) with a number
Outs repeat_interleave(const ShapeCall& call, const OpRow&) {
  if (!accepts(call, 3, {"input", "repeats", "dim"})) return std::nullopt;
  const TensorMeta* x = tensor_arg(call, call.get(0, "input"));
  const auto times = int_arg(call.get(1, "repeats"));
  const Arg* where = call.get(2, "dim");
  if (!x || x->rank() == 0 || !times || *times < 0) return std::nullopt;
  if (!where || where->is_none()) return finish(call, fresh({x->numel() * *times}, x->dtype, x->device));
  const auto number = int_arg(where);
  const auto dim = number ? wrap_dim(*number, x->rank()) : std::nullopt;
  if (!dim) return std::nullopt;
  Dims sizes = x->sizes;
  sizes[static_cast<size_t>(*dim)] *= *times;
  return finish(call, fresh(sizes, x->dtype, x->device));
}

/// roll(x, shifts, dims): each dim is cut in two parts that are joined the other way round.
Outs roll(const ShapeCall& call, const OpRow&) {
  if (!accepts(call, 3, {"input", "shifts", "dims"})) return std::nullopt;
  const TensorMeta* x = tensor_arg(call, call.get(0, "input"));
  const auto shifts = dims_arg(call.get(1, "shifts"));
  const Arg* where = call.get(2, "dims");
  auto dims = where && !where->is_none() ? dims_arg(where) : std::optional<Dims>(Dims{});
  if (!x || x->numel() == 0 || x->rank() == 0 || !shifts || !dims) return std::nullopt;
  if (dims->empty()) return shifts->size() == 1 ? finish(call, fresh(x->sizes, x->dtype, x->device)) : std::nullopt;
  dims = wrap_dims(*dims, x->rank());
  if (!dims || dims->size() != shifts->size()) return std::nullopt;
  TensorMeta m = *x;
  for (size_t i = 0; i < dims->size(); ++i) {
    const auto d = static_cast<size_t>((*dims)[i]);
    const int64_t size = m.sizes[d], start = ((size - (*shifts)[i]) % size + size) % size;
    bool channels_last = true;
    for (const int64_t part : {size - start, start}) {
      Dims sizes = m.sizes;
      sizes[d] = part;
      channels_last = channels_last && suggests_channels_last(sizes, m.strides);
    }
    Dims sizes = m.sizes;
    m = fresh(sizes, x->dtype, x->device);
    if (channels_last) m.strides = channels_last_strides(sizes);
  }
  return finish(call, std::move(m));
}

Outs flip(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = call.args.empty() ? nullptr : tensor_arg(call, &call.args[0]);
  const auto dims = variadic_dims(call, 1, "dims");
  if (!x || !dims || !wrap_dims(*dims, x->rank()) || (call.args.size() > 1 && !call.kwargs.empty()))
    return std::nullopt;
  TensorMeta m = fresh(x->sizes, x->dtype, x->device);
  m.strides = preserved_strides(x->sizes, x->strides);
  return finish(call, std::move(m));
}

bool is_index(const TensorMeta* m) { return m && (m->dtype == DType::kInt64 || m->dtype == DType::kInt32); }

Outs index_select(const ShapeCall& call, const OpRow&) {
  if (!accepts(call, 3, {"input", "dim", "index"})) return std::nullopt;
  const TensorMeta* x = tensor_arg(call, call.get(0, "input"));
  const auto number = int_arg(call.get(1, "dim"));
  const TensorMeta* index = tensor_arg(call, call.get(2, "index"));
  if (!x || !number || !is_index(index) || index->rank() > 1 || x->rank() == 0) return std::nullopt;
  const auto dim = wrap_dim(*number, x->rank());
  if (!dim) return std::nullopt;
  Dims sizes = x->sizes;
  sizes[static_cast<size_t>(*dim)] = index->numel();
  return finish(call, fresh(sizes, x->dtype, x->device));
}
Outs gather(const ShapeCall& call, const OpRow&) {
  if (!accepts(call, 3, {"input", "dim", "index"})) return std::nullopt;
  const TensorMeta* x = tensor_arg(call, call.get(0, "input"));
  const auto number = int_arg(call.get(1, "dim"));
  const TensorMeta* index = tensor_arg(call, call.get(2, "index"));
  if (!x || !number || !index || index->dtype != DType::kInt64 || index->rank() != x->rank())
    return std::nullopt;
  const auto dim = wrap_dim(*number, x->rank());
  if (!dim) return std::nullopt;
  for (int64_t d = 0; d < x->rank(); ++d) {
    if (d != *dim && index->sizes[static_cast<size_t>(d)] > x->sizes[static_cast<size_t>(d)])
      return std::nullopt;
  }
  return finish(call, fresh(index->sizes, x->dtype, x->device));
}
Outs take(const ShapeCall& call, const OpRow&) {
  if (!accepts(call, 2, {"input", "index"})) return std::nullopt;
  const TensorMeta* x = tensor_arg(call, call.get(0, "input"));
  const TensorMeta* index = tensor_arg(call, call.get(1, "index"));
  if (!x || !index || index->dtype != DType::kInt64 || (x->numel() == 0 && index->numel() != 0))
    return std::nullopt;
  return finish(call, fresh(index->sizes, x->dtype, x->device));
}

Outs masked_fill(const ShapeCall& call, const OpRow&) {
  if (!accepts(call, 3, {"input", "mask", "value"})) return std::nullopt;
  const TensorMeta* x = tensor_arg(call, call.get(0, "input"));
  const TensorMeta* mask = tensor_arg(call, call.get(1, "mask"));
  const auto value = input_arg(call, call.get(2, "value"));
  if (!x || !mask || mask->dtype != DType::kBool || !value || (value->tensor && value->tensor->rank() != 0))
    return std::nullopt;
  const auto sizes = broadcast(x->sizes, mask->sizes);
  if (!sizes || !can_cast(value->tensor ? value->tensor->dtype : value->number, x->dtype))
    return std::nullopt;
  return finish(call, fresh(*sizes, x->dtype, x->device));
}

/// tril, triu: contiguous whatever comes in.
Outs triangle(const ShapeCall& call, const OpRow&) {
  if (!accepts(call, 2, {"input", "diagonal"}) || call.in_place) return std::nullopt;
  const TensorMeta* x = tensor_arg(call, call.get(0, "input"));
  const Arg* diagonal = call.get(1, "diagonal");
  if (!x || x->rank() < 2 || (diagonal && !int_arg(diagonal))) return std::nullopt;
  return finish(call, fresh(x->sizes, x->dtype, x->device));
}

/// In-place only: the operand keeps its metadata.
Outs written(const ShapeCall& call, const TensorMeta& x) { return finish(call, x); }
Outs copy_into(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = call.in_place && !call.args.empty() ? tensor_arg(call, &call.args[0]) : nullptr;
  const TensorMeta* source = tensor_arg(call, call.get(1, "src"));
  if (!x || !source || !accepts(call, 3, {"src", "non_blocking"}) || is_complex(source->dtype))
    return std::nullopt;
  const auto sizes = broadcast(x->sizes, source->sizes);
  if (!sizes || *sizes != x->sizes) return std::nullopt;
  return written(call, *x);
}
Outs fill(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = call.args.empty() ? nullptr : tensor_arg(call, &call.args[0]);
  const auto value = input_arg(call, call.get(1, "value"));
  if (!x || !accepts(call, 2, {"value"}) || !value || (value->tensor && value->tensor->rank() != 0))
    return std::nullopt;
  if (call.in_place) return written(call, *x);
  TensorMeta m = fresh(x->sizes, x->dtype, x->device);
  m.strides = preserved_strides(x->sizes, x->strides);
  return finish(call, std::move(m));
}
Outs zero(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = call.in_place && call.args.size() == 1 ? tensor_arg(call, &call.args[0]) : nullptr;
  return x && call.kwargs.empty() ? written(call, *x) : std::nullopt;
}

Outs one_hot(const ShapeCall& call, const OpRow&) {
  if (!accepts(call, 2, {"input", "num_classes"})) return std::nullopt;
  const TensorMeta* x = tensor_arg(call, call.get(0, "input"));
  const auto classes = int_arg(call.get(1, "num_classes"));
  if (!x || x->dtype != DType::kInt64 || !classes || *classes <= 0) return std::nullopt;
  Dims sizes = x->sizes;
  sizes.push_back(*classes);
  return finish_no_grad(call, fresh(sizes, DType::kInt64, x->device));
}

constexpr OpKind kM = OpKind::kMovement;
constexpr OpRow kRows[] = {
    {.name = "cat", .kind = kM, .rule = cat, .aliases = "concat concatenate"},
    {.name = "stack", .kind = kM, .rule = stack},
    {.name = "pad", .kind = kM, .rule = pad},
    {.name = "constant_pad_nd", .kind = kM, .rule = pad},
    {.name = "repeat", .kind = kM, .rule = repeat},
    {.name = "tile", .kind = kM, .rule = repeat},
    {.name = "repeat_interleave", .kind = kM, .rule = repeat_interleave},
    {.name = "roll", .kind = kM, .rule = roll},
    {.name = "hstack", .kind = kM, .rule = stacked},
    {.name = "vstack", .kind = kM, .rule = stacked, .aliases = "row_stack"},
    {.name = "flip", .kind = kM, .rule = flip},
    {.name = "index_select", .kind = kM, .rule = index_select, .may_fail = true},
    {.name = "gather", .kind = kM, .rule = gather, .may_fail = true},
    {.name = "take", .kind = kM, .rule = take, .may_fail = true},
    {.name = "masked_fill", .kind = OpKind::kPointwise, .rule = masked_fill},
    {.name = "tril", .kind = kM, .rule = triangle},
    {.name = "triu", .kind = kM, .rule = triangle},
    {.name = "copy", .kind = kM, .rule = copy_into},
    {.name = "fill", .kind = kM, .rule = fill},
    {.name = "zero", .kind = kM, .rule = zero},
    {.name = "one_hot", .kind = kM, .rule = one_hot, .may_fail = true},
};

}  // namespace

std::span<const OpRow> movement_rows() { return kRows; }

}  // namespace breakline::graph
