// SPDX-License-Identifier: GPL-3.0-or-later
// Views: same storage, other sizes and strides. reshape and flatten copy where a view is impossible, as
// PyTorch does.
#include <algorithm>
#include <numeric>

#include "core/graph/op_families.h"
#include "core/graph/shape_util.h"
#include "core/graph/tensor_index.h"

namespace breakline::graph {
namespace {

const TensorMeta* operand(const ShapeCall& call) {
  // In-place forms (t_, squeeze_ …) change the operand's own metadata: left to the meta call.
  return call.in_place || call.args.empty() ? nullptr : tensor_arg(call, &call.args[0]);
}

Outs view_as_shape(const ShapeCall& call, const TensorMeta& x, const Dims& shape, bool may_copy) {
  const auto sizes = infer_size(shape, x.numel());
  if (!sizes) return std::nullopt;
  auto strides = view_strides(x.sizes, x.strides, *sizes);
  if (strides) return one(view_of(call, 0, *sizes, std::move(*strides), x.storage_offset));
  if (!may_copy) return std::nullopt;
  return finish_from(call, fresh(*sizes, x.dtype, x.device), x);
}

Outs view(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = operand(call);
  const auto shape = variadic_dims(call, 1, "size");
  if (!x || !shape || (call.args.size() > 1 && !call.kwargs.empty())) return std::nullopt;
  return view_as_shape(call, *x, *shape, false);
}
Outs reshape(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = operand(call);
  const auto shape = variadic_dims(call, 1, "shape");
  if (!x || !shape || (call.args.size() > 1 && !call.kwargs.empty())) return std::nullopt;
  return view_as_shape(call, *x, *shape, true);
}
Outs like_other(const ShapeCall& call, const OpRow& row) {
  const TensorMeta* x = operand(call);
  const TensorMeta* other = tensor_arg(call, call.get(1, "other"));
  if (!x || !other || !accepts(call, 2, {"other"})) return std::nullopt;
  return view_as_shape(call, *x, other->sizes, row.name == "reshape_as");
}
Outs flatten(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = operand(call);
  if (!x || !accepts(call, 3, {"start_dim", "end_dim"})) return std::nullopt;
  const Arg *first = call.get(1, "start_dim"), *last = call.get(2, "end_dim");
  const auto start = wrap_dim(first ? int_arg(first).value_or(99) : 0, x->rank());
  const auto end = wrap_dim(last ? int_arg(last).value_or(99) : -1, x->rank());
  if (!start || !end || *start > *end) return std::nullopt;
  if (x->rank() == 0) return view_as_shape(call, *x, {1}, true);
  if (*start == *end) return one(same(call, 0));
  Dims shape(x->sizes.begin(), x->sizes.begin() + *start);
  int64_t joined = 1;
  for (int64_t d = *start; d <= *end; ++d) joined *= x->sizes[static_cast<size_t>(d)];
  shape.push_back(joined);
  shape.insert(shape.end(), x->sizes.begin() + *end + 1, x->sizes.end());
  return view_as_shape(call, *x, shape, true);
}
Outs ravel(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = operand(call);
  if (!x || !accepts(call, 1, {}) || !is_contiguous(x->sizes, x->strides)) return std::nullopt;
  return view_as_shape(call, *x, {x->numel()}, false);
}
Outs unflatten(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = operand(call);
  if (!x || !accepts(call, 3, {"dim", "sizes"})) return std::nullopt;
  const auto dim = wrap_dim(int_arg(call.get(1, "dim")).value_or(99), x->rank());
  const auto parts = dims_arg(call.get(2, "sizes"));
  if (!dim || !parts || parts->empty() || x->rank() == 0) return std::nullopt;
  const auto sizes = infer_size(*parts, x->sizes[static_cast<size_t>(*dim)]);
  if (!sizes) return std::nullopt;
  Dims shape(x->sizes.begin(), x->sizes.begin() + *dim);
  shape.insert(shape.end(), sizes->begin(), sizes->end());
  shape.insert(shape.end(), x->sizes.begin() + *dim + 1, x->sizes.end());
  return view_as_shape(call, *x, shape, false);
}

Outs permuted(const ShapeCall& call, const TensorMeta& x, const Dims& order) {
  Dims sizes, strides;
  for (int64_t d : order) {
    sizes.push_back(x.sizes[static_cast<size_t>(d)]);
    strides.push_back(x.strides[static_cast<size_t>(d)]);
  }
  return one(view_of(call, 0, std::move(sizes), std::move(strides), x.storage_offset));
}
Dims identity_order(int64_t rank) {
  Dims order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  return order;
}
Outs permute(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = operand(call);
  const auto dims = variadic_dims(call, 1, "dims");
  if (!x || !dims || (call.args.size() > 1 && !call.kwargs.empty())) return std::nullopt;
  const auto order = wrap_dims(*dims, x->rank());
  if (!order || static_cast<int64_t>(order->size()) != x->rank()) return std::nullopt;
  return permuted(call, *x, *order);
}
Outs swapped(const ShapeCall& call, const TensorMeta& x, int64_t a, int64_t b) {
  const auto d0 = wrap_dim(a, x.rank()), d1 = wrap_dim(b, x.rank());
  if (!d0 || !d1) return std::nullopt;
  Dims order = identity_order(x.rank());
  if (x.rank() > 0) std::swap(order[static_cast<size_t>(*d0)], order[static_cast<size_t>(*d1)]);
  return permuted(call, x, order);
}
Outs transpose(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = operand(call);
  if (!x || !accepts(call, 3, {"dim0", "dim1"})) return std::nullopt;
  const auto a = int_arg(call.get(1, "dim0")), b = int_arg(call.get(2, "dim1"));
  return a && b ? swapped(call, *x, *a, *b) : std::nullopt;
}
Outs t(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = operand(call);
  if (!x || !accepts(call, 1, {}) || x->rank() > 2) return std::nullopt;
  return swapped(call, *x, 0, x->rank() < 2 ? 0 : 1);
}
Outs all_reversed(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = operand(call);
  if (!x || !accepts(call, 1, {}) || x->rank() != 2)
    return std::nullopt;  // other ranks are deprecated and warn
  return permuted(call, *x, {1, 0});
}
Outs matrix_transpose(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = operand(call);
  if (!x || !accepts(call, 1, {}) || x->rank() < 2) return std::nullopt;
  return swapped(call, *x, -2, -1);
}
Outs movedim(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = operand(call);
  if (!x || !accepts(call, 3, {"source", "destination"})) return std::nullopt;
  const auto from = dims_arg(call.get(1, "source")), into = dims_arg(call.get(2, "destination"));
  if (!from || !into || from->size() != into->size() || x->rank() == 0) return std::nullopt;
  const auto source = wrap_dims(*from, x->rank()), target = wrap_dims(*into, x->rank());
  if (!source || !target) return std::nullopt;
  Dims order(static_cast<size_t>(x->rank()), -1), rest;
  for (size_t i = 0; i < source->size(); ++i) order[static_cast<size_t>((*target)[i])] = (*source)[i];
  for (int64_t d = 0; d < x->rank(); ++d) {
    if (std::find(source->begin(), source->end(), d) == source->end()) rest.push_back(d);
  }
  size_t next = 0;
  for (int64_t& d : order) {
    if (d < 0) d = rest[next++];
  }
  return permuted(call, *x, order);
}

Outs squeeze(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = operand(call);
  if (!x || !accepts(call, 2, {"dim"})) return std::nullopt;
  std::optional<Dims> wanted = identity_order(x->rank());
  if (const Arg* dim = call.get(1, "dim")) {
    const auto dims = dims_arg(dim);
    if (!dims) return std::nullopt;
    wanted = wrap_dims(*dims, x->rank());
    if (!wanted) return std::nullopt;
  }
  Dims sizes, strides;
  for (int64_t d = 0; d < x->rank(); ++d) {
    const auto i = static_cast<size_t>(d);
    if (x->sizes[i] == 1 && std::find(wanted->begin(), wanted->end(), d) != wanted->end()) continue;
    sizes.push_back(x->sizes[i]);
    strides.push_back(x->strides[i]);
  }
  return one(view_of(call, 0, std::move(sizes), std::move(strides), x->storage_offset));
}

Outs unsqueeze(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = operand(call);
  if (!x || !accepts(call, 2, {"dim"})) return std::nullopt;
  const auto dim = wrap_dim(int_arg(call.get(1, "dim")).value_or(99), x->rank() + 1);
  if (!dim) return std::nullopt;
  Dims sizes = x->sizes, strides = x->strides;
  insert_dim(sizes, strides, static_cast<size_t>(*dim));
  return one(view_of(call, 0, std::move(sizes), std::move(strides), x->storage_offset));
}

Outs expanded(const ShapeCall& call, const TensorMeta& x, const Dims& target) {
  if (target.size() < x.sizes.size()) return std::nullopt;
  Dims sizes(target.size()), strides(target.size());
  const size_t shift = target.size() - x.sizes.size();
  for (size_t i = target.size(); i-- > 0;) {
    const bool leading = i < shift;
    int64_t size = leading ? 1 : x.sizes[i - shift];
    int64_t stride = leading ? (x.sizes.empty() ? 0 : sizes[i + 1] * strides[i + 1]) : x.strides[i - shift];
    int64_t wanted = target[i];
    if (wanted == -1) {
      if (leading) return std::nullopt;
      wanted = size;
    }
    if (wanted < 0) return std::nullopt;
    if (size != wanted) {
      if (size != 1) return std::nullopt;
      size = wanted;
      stride = 0;
    }
    sizes[i] = size;
    strides[i] = stride;
  }
  return one(view_of(call, 0, std::move(sizes), std::move(strides), x.storage_offset));
}
Outs expand(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = operand(call);
  const auto sizes = variadic_dims(call, 1, "size");
  if (!x || !sizes || (call.args.size() > 1 && !call.kwargs.empty())) return std::nullopt;
  return expanded(call, *x, *sizes);
}
Outs expand_as(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = operand(call);
  const TensorMeta* other = tensor_arg(call, call.get(1, "other"));
  if (!x || !other || !accepts(call, 2, {"other"})) return std::nullopt;
  return expanded(call, *x, other->sizes);
}

struct Cut {
  Dims sizes, strides;
  int64_t offset;
};
void cut(Cut& c, size_t dim, int64_t start, int64_t length, int64_t step = 1) {
  c.offset += start * c.strides[dim];
  c.sizes[dim] = length;
  c.strides[dim] *= step;
}
Cut whole(const TensorMeta& x) { return {x.sizes, x.strides, x.storage_offset}; }
ShapeOut cut_view(const ShapeCall& call, Cut c) {
  return view_of(call, 0, std::move(c.sizes), std::move(c.strides), c.offset);
}

Outs narrow(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = operand(call);
  if (!x || !accepts(call, 4, {"dim", "start", "length"}) || x->rank() == 0) return std::nullopt;
  const auto dim = wrap_dim(int_arg(call.get(1, "dim")).value_or(99), x->rank());
  const auto start = int_arg(call.get(2, "start")), length = int_arg(call.get(3, "length"));
  if (!dim || !start || !length || *length < 0) return std::nullopt;
  const int64_t size = x->sizes[static_cast<size_t>(*dim)];
  const int64_t from = *start < 0 ? *start + size : *start;
  if (from < 0 || from + *length > size) return std::nullopt;
  Cut c = whole(*x);
  cut(c, static_cast<size_t>(*dim), from, *length);
  return one(cut_view(call, std::move(c)));
}

bool select_dim(Cut& c, size_t dim, int64_t index) {
  const int64_t size = c.sizes[dim];
  if (index < -size || index >= size) return false;
  c.offset += (index < 0 ? index + size : index) * c.strides[dim];
  c.sizes.erase(c.sizes.begin() + static_cast<std::ptrdiff_t>(dim));
  c.strides.erase(c.strides.begin() + static_cast<std::ptrdiff_t>(dim));
  return true;
}
Outs select(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = operand(call);
  if (!x || !accepts(call, 3, {"dim", "index"}) || x->rank() == 0) return std::nullopt;
  const auto dim = wrap_dim(int_arg(call.get(1, "dim")).value_or(99), x->rank());
  const auto index = int_arg(call.get(2, "index"));
  if (!dim || !index) return std::nullopt;
  Cut c = whole(*x);
  if (!select_dim(c, static_cast<size_t>(*dim), *index)) return std::nullopt;
  return one(cut_view(call, std::move(c)));
}
Outs unbind(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = operand(call);
  if (!x || !accepts(call, 2, {"dim"}) || x->rank() == 0) return std::nullopt;
  const Arg* where = call.get(1, "dim");
  const auto dim = wrap_dim(where ? int_arg(where).value_or(99) : 0, x->rank());
  if (!dim) return std::nullopt;
  std::vector<ShapeOut> outs;
  for (int64_t i = 0; i < x->sizes[static_cast<size_t>(*dim)]; ++i) {
    Cut c = whole(*x);
    select_dim(c, static_cast<size_t>(*dim), i);
    outs.push_back(cut_view(call, std::move(c)));
  }
  call.returns_list = true;
  return outs;
}

Outs pieces(const ShapeCall& call, const TensorMeta& x, size_t dim, const Dims& lengths) {
  int64_t start = 0;
  std::vector<ShapeOut> outs;
  for (int64_t length : lengths) {
    if (length < 0) return std::nullopt;
    Cut c = whole(x);
    cut(c, dim, start, length);
    outs.push_back(cut_view(call, std::move(c)));
    start += length;
  }
  if (start != x.sizes[dim]) return std::nullopt;
  call.returns_list = true;
  return outs;
}
std::optional<Dims> equal_pieces(int64_t size, int64_t step) {
  if (step <= 0) return step == 0 && size == 0 ? std::optional(Dims{0}) : std::nullopt;
  const int64_t count = std::max<int64_t>((size + step - 1) / step, 1);
  Dims lengths(static_cast<size_t>(count), step);
  lengths.back() = step - (step * count - size);
  return lengths;
}
Outs split(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = operand(call);
  if (!x || !accepts(call, 3, {"split_size", "split_size_or_sections", "split_sizes", "dim", "tensor"}) ||
      x->rank() == 0) {
    return std::nullopt;
  }
  const Arg* size = call.get(1, "split_size");
  if (!size) size = call.kwarg("split_sizes");
  if (!size) size = call.kwarg("split_size_or_sections");
  const Arg* where = call.get(2, "dim");
  const auto dim = wrap_dim(where ? int_arg(where).value_or(99) : 0, x->rank());
  if (!size || !dim) return std::nullopt;
  std::optional<Dims> lengths;
  if (const auto step = int_arg(size)) {
    lengths = equal_pieces(x->sizes[static_cast<size_t>(*dim)], *step);
  } else {
    lengths = dims_arg(size);
  }
  return lengths ? pieces(call, *x, static_cast<size_t>(*dim), *lengths) : std::nullopt;
}
Outs chunk(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = operand(call);
  if (!x || !accepts(call, 3, {"chunks", "dim"}) || x->rank() == 0) return std::nullopt;
  const auto count = int_arg(call.get(1, "chunks"));
  const Arg* where = call.get(2, "dim");
  const auto dim = wrap_dim(where ? int_arg(where).value_or(99) : 0, x->rank());
  if (!count || *count <= 0 || !dim) return std::nullopt;
  const int64_t size = x->sizes[static_cast<size_t>(*dim)];
  const int64_t step = (size + *count - 1) / *count;
  const auto lengths =
      step == 0 ? std::optional(Dims(static_cast<size_t>(*count), 0)) : equal_pieces(size, step);
  return lengths ? pieces(call, *x, static_cast<size_t>(*dim), *lengths) : std::nullopt;
}

Outs detach(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = operand(call);
  if (!x || call.args.size() != 1 || !call.kwargs.empty()) return std::nullopt;
  ShapeOut o = view_of(call, 0, x->sizes, x->strides, x->storage_offset);
  o.meta.requires_grad = false;
  o.meta.is_leaf = true;
  return one(std::move(o));
}
Outs alias(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = operand(call);
  if (!x || call.args.size() != 1 || !call.kwargs.empty()) return std::nullopt;
  return one(view_of(call, 0, x->sizes, x->strides, x->storage_offset));
}
Outs as_strided(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = operand(call);
  if (!x || !accepts(call, 4, {"size", "stride", "storage_offset"})) return std::nullopt;
  const auto sizes = dims_arg(call.get(1, "size")), strides = dims_arg(call.get(2, "stride"));
  const Arg* at = call.get(3, "storage_offset");
  const auto offset = !at || at->is_none() ? std::optional(x->storage_offset) : int_arg(at);
  if (!sizes || !strides || !offset || sizes->size() != strides->size() || *offset < 0) return std::nullopt;
  const auto negative = [](int64_t v) { return v < 0; };
  if (std::any_of(sizes->begin(), sizes->end(), negative) ||
      std::any_of(strides->begin(), strides->end(), negative)) {
    return std::nullopt;
  }
  return one(view_of(call, 0, *sizes, *strides, *offset));
}
Outs diagonal(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = operand(call);
  if (!x || !accepts(call, 4, {"offset", "dim1", "dim2"}) || x->rank() < 2) return std::nullopt;
  const auto number = [&](size_t i, std::string_view name, int64_t otherwise) {
    const Arg* a = call.get(i, name);
    return a ? int_arg(a) : std::optional(otherwise);
  };
  const auto offset = number(1, "offset", 0), a = number(2, "dim1", 0), b = number(3, "dim2", 1);
  if (!offset || !a || !b) return std::nullopt;
  const auto d0 = wrap_dim(*a, x->rank()), d1 = wrap_dim(*b, x->rank());
  if (!d0 || !d1 || *d0 == *d1) return std::nullopt;
  const auto i0 = static_cast<size_t>(*d0), i1 = static_cast<size_t>(*d1);
  const int64_t length = *offset >= 0 ? std::max<int64_t>(std::min(x->sizes[i0], x->sizes[i1] - *offset), 0)
                                      : std::max<int64_t>(std::min(x->sizes[i0] + *offset, x->sizes[i1]), 0);
  int64_t start = x->storage_offset;
  if (length > 0) start += *offset >= 0 ? *offset * x->strides[i1] : -*offset * x->strides[i0];
  Dims sizes, strides;
  for (size_t i = 0; i < x->sizes.size(); ++i) {
    if (i == i0 || i == i1) continue;
    sizes.push_back(x->sizes[i]);
    strides.push_back(x->strides[i]);
  }
  sizes.push_back(length);
  strides.push_back(x->strides[i0] + x->strides[i1]);
  return one(view_of(call, 0, std::move(sizes), std::move(strides), start));
}
Outs unfold(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = operand(call);
  if (!x || !accepts(call, 4, {"dimension", "size", "step"}) || x->rank() == 0) return std::nullopt;
  const auto dim = wrap_dim(int_arg(call.get(1, "dimension")).value_or(99), x->rank());
  const auto size = int_arg(call.get(2, "size")), step = int_arg(call.get(3, "step"));
  if (!dim || !size || !step || *step <= 0 || *size < 0) return std::nullopt;
  const auto d = static_cast<size_t>(*dim);
  if (*size > x->sizes[d]) return std::nullopt;
  Dims sizes = x->sizes, strides = x->strides;
  sizes.push_back(*size);
  strides.push_back(strides[d]);
  sizes[d] = (x->sizes[d] - *size) / *step + 1;
  strides[d] *= *step;
  return one(view_of(call, 0, std::move(sizes), std::move(strides), x->storage_offset));
}

// --- indexing by ints, slices, None and Ellipsis

std::optional<int64_t> slice_part(const Arg& a, int64_t otherwise) {
  return a.is_none() ? std::optional(otherwise) : int_arg(&a);
}
bool slice_dim(Cut& c, size_t dim, const ArgSeq& slice) {
  const int64_t size = c.sizes[dim];
  auto start = slice_part(slice.items[0], 0), stop = slice_part(slice.items[1], size);
  const auto step = slice_part(slice.items[2], 1);
  if (!start || !stop || !step || *step <= 0) return false;
  const auto clamp = [size](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + size : v, 0, size); };
  const int64_t from = clamp(*start), to = std::max(clamp(*stop), from);
  cut(c, dim, from, (to - from + *step - 1) / *step, *step);
  return true;
}

/// The view that basic indexing gives, or nothing when `index` is not basic (or is out of range). Index tensors
/// are put into `tensors` with their dim of the view, which they leave whole; nothing where that is null.
std::optional<Cut> basic_index(const ShapeCall& call, const TensorMeta& x, const Arg& index,
                               TensorIndices* tensors = nullptr) {
  std::vector<const Arg*> items;
  const ArgSeq* seq = index.seq();
  if (seq && seq->kind == ArgSeq::kList) return std::nullopt;
  if (seq && seq->kind == ArgSeq::kTuple) {
    for (const Arg& a : seq->items) items.push_back(&a);
  } else {
    items.push_back(&index);
  }
  const auto is_slice = [](const Arg& a) { return a.seq() && a.seq()->kind == ArgSeq::kSlice; };
  int64_t used = 0, dots = 0;
  for (const Arg* a : items) {
    if (opaque_kind(*a) == OpaqueKind::kEllipsis) {
      ++dots;
    } else if (is_slice(*a) || std::holds_alternative<int64_t>(a->v) || (tensors && tensor_arg(call, a))) {
      ++used;
    } else if (!a->is_none()) {
      return std::nullopt;
    }
  }
  if (dots > 1 || used > x.rank()) return std::nullopt;
  Cut c = whole(x);
  size_t dim = 0;
  for (const Arg* a : items) {
    if (a->is_none()) {
      insert_dim(c.sizes, c.strides, dim++);
    } else if (is_slice(*a)) {
      if (!slice_dim(c, dim++, *a->seq())) return std::nullopt;
    } else if (const auto i = int_arg(a)) {
      if (!select_dim(c, dim, *i)) return std::nullopt;
    } else if (const TensorMeta* t = tensor_arg(call, a)) {
      tensors->emplace_back(dim++, t);
    } else {
      dim += static_cast<size_t>(x.rank() - used);
    }
  }
  return c;
}

Outs getitem(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = operand(call);
  if (!x || call.args.size() != 2) return std::nullopt;
  TensorIndices tensors;
  auto c = basic_index(call, *x, call.args[1], &tensors);
  if (!c) return std::nullopt;
  if (!tensors.empty()) return index_by_tensors(call, std::move(c->sizes), std::move(c->strides), std::move(tensors));
  return one(cut_view(call, std::move(*c)));
}

/// x[index] = value. The one output stands for the written operand.
Outs setitem(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = call.args.size() == 3 ? tensor_arg(call, &call.args[0]) : nullptr;
  const auto value = x ? input_arg(call, &call.args[2]) : std::nullopt;
  if (!value || is_complex(x->dtype) || (value->tensor && value->tensor->device != x->device))
    return std::nullopt;
  const auto c = basic_index(call, *x, call.args[1]);
  if (!c || (x->requires_grad && call.grad_mode)) return std::nullopt;
  for (size_t i = 0; i < c->sizes.size(); ++i) {
    if (c->sizes[i] > 1 && c->strides[i] == 0) return std::nullopt;
  }
  if (value->tensor) {
    const auto joined = broadcast(c->sizes, value->tensor->sizes);
    if (!joined || *joined != c->sizes) return std::nullopt;
  }
  ShapeOut o = same(call, 0);
  if (call.grad_mode && value->tensor && value->tensor->requires_grad && is_floating(x->dtype)) {
    o.meta.requires_grad = true;
    o.meta.is_leaf = false;
  }
  return one(std::move(o));
}

constexpr OpKind kV = OpKind::kView;
constexpr OpRow kRows[] = {
    {.name = "view", .kind = kV, .rule = view},
    {.name = "view_as", .kind = kV, .rule = like_other},
    {.name = "reshape", .kind = kV, .rule = reshape},
    {.name = "reshape_as", .kind = kV, .rule = like_other},
    {.name = "flatten", .kind = kV, .rule = flatten},
    {.name = "ravel", .kind = kV, .rule = ravel},
    {.name = "unflatten", .kind = kV, .rule = unflatten},
    {.name = "permute", .kind = kV, .rule = permute},
    {.name = "transpose", .kind = kV, .rule = transpose, .aliases = "swapaxes swapdims"},
    {.name = "t", .kind = kV, .rule = t},
    {.name = "T", .kind = kV, .rule = all_reversed, .aliases = "Tensor.T"},
    {.name = "mT", .kind = kV, .rule = matrix_transpose, .aliases = "Tensor.mT"},
    {.name = "movedim", .kind = kV, .rule = movedim, .aliases = "moveaxis"},
    {.name = "squeeze", .kind = kV, .rule = squeeze},
    {.name = "unsqueeze", .kind = kV, .rule = unsqueeze},
    {.name = "expand", .kind = kV, .rule = expand, .aliases = "broadcast_to"},
    {.name = "expand_as", .kind = kV, .rule = expand_as},
    {.name = "narrow", .kind = kV, .rule = narrow},
    {.name = "select", .kind = kV, .rule = select},
    {.name = "unbind", .kind = kV, .rule = unbind},
    {.name = "split", .kind = kV, .rule = split, .aliases = "split_with_sizes"},
    {.name = "chunk", .kind = kV, .rule = chunk},
    {.name = "detach", .kind = kV, .rule = detach, .aliases = "Tensor.data"},
    {.name = "alias", .kind = kV, .rule = alias},
    {.name = "as_strided", .kind = kV, .rule = as_strided},
    {.name = "diagonal", .kind = kV, .rule = diagonal},
    {.name = "unfold", .kind = kV, .rule = unfold},
    {.name = "getitem", .kind = kV, .rule = getitem, .may_fail = true, .aliases = "__getitem__"},
    {.name = "setitem",
     .kind = OpKind::kMovement,
     .rule = setitem,
     .may_fail = true,
     .aliases = "__setitem__"},
};

}  // namespace

std::span<const OpRow> view_rows() { return kRows; }

}  // namespace breakline::graph
