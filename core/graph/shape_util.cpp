// SPDX-License-Identifier: GPL-3.0-or-later
// Operands, dims and results of shape rules. Layouts are in shape_layout.cpp, promotion in shape_dtype.cpp.
#include "core/graph/shape_util.h"

#include <algorithm>

namespace breakline::graph {

const TensorMeta* tensor_arg(const ShapeCall& call, const Arg* arg) {
  if (!arg || !arg->is_value()) return nullptr;
  const Value& v = call.graph->values[static_cast<size_t>(arg->id())];
  return v.is_scalar ? nullptr : &v.meta;
}

std::optional<Input> input_arg(const ShapeCall& call, const Arg* arg) {
  if (!arg) return std::nullopt;
  if (arg->is_value()) {
    const Value& v = call.graph->values[static_cast<size_t>(arg->id())];
    if (!v.is_scalar) return Input{&v.meta, DType::kOther};
    if (v.meta.dtype != DType::kInt64 && v.meta.dtype != DType::kFloat64 && v.meta.dtype != DType::kBool)
      return std::nullopt;
    return Input{nullptr, v.meta.dtype};
  }
  if (std::holds_alternative<bool>(arg->v)) return Input{nullptr, DType::kBool};
  if (std::holds_alternative<int64_t>(arg->v)) return Input{nullptr, DType::kInt64};
  if (std::holds_alternative<double>(arg->v)) return Input{nullptr, DType::kFloat64};
  return std::nullopt;
}

std::optional<int64_t> int_arg(const Arg* arg) {
  const int64_t* i = arg ? std::get_if<int64_t>(&arg->v) : nullptr;
  return i ? std::optional(*i) : std::nullopt;
}
std::optional<bool> bool_arg(const Arg* arg) {
  const bool* b = arg ? std::get_if<bool>(&arg->v) : nullptr;
  return b ? std::optional(*b) : std::nullopt;
}
std::optional<double> float_arg(const Arg* arg) {
  if (!arg) return std::nullopt;
  if (const double* d = std::get_if<double>(&arg->v)) return *d;
  if (const int64_t* i = std::get_if<int64_t>(&arg->v)) return static_cast<double>(*i);
  return std::nullopt;
}

std::optional<Dims> dims_arg(const Arg* arg) {
  if (!arg) return std::nullopt;
  if (const auto one = int_arg(arg)) return Dims{*one};
  const ArgSeq* seq = arg->seq();
  if (!seq || seq->kind == ArgSeq::kSlice) return std::nullopt;
  Dims out;
  for (const Arg& item : seq->items) {
    const auto i = int_arg(&item);
    if (!i) return std::nullopt;
    out.push_back(*i);
  }
  return out;
}

std::optional<Dims> variadic_dims(const ShapeCall& call, size_t first, std::string_view name) {
  if (call.args.size() <= first) return dims_arg(call.kwarg(name));
  if (call.kwarg(name)) return std::nullopt;
  if (call.args.size() == first + 1) return dims_arg(&call.args[first]);
  Dims out;
  for (size_t i = first; i < call.args.size(); ++i) {
    const auto v = int_arg(&call.args[i]);
    if (!v) return std::nullopt;
    out.push_back(*v);
  }
  return out;
}

DTypeAnswer dtype_arg(const Arg* arg) {
  if (!arg || arg->is_none()) return {};
  const DTypeArg* d = std::get_if<DTypeArg>(&arg->v);
  return {false, d ? d->dtype : DType::kOther};
}

bool accepts(const ShapeCall& call, size_t positional, std::initializer_list<std::string_view> names) {
  if (call.args.size() > positional) return false;
  return std::all_of(call.kwargs.begin(), call.kwargs.end(), [&names](const auto& k) {
    return k.second.is_none() || std::find(names.begin(), names.end(), k.first) != names.end();
  });
}

std::optional<int64_t> wrap_dim(int64_t dim, int64_t rank) {
  const int64_t n = std::max<int64_t>(rank, 1);
  if (dim < -n || dim >= n) return std::nullopt;
  return dim < 0 ? dim + n : dim;
}

std::optional<Dims> wrap_dims(const Dims& dims, int64_t rank) {
  Dims out;
  for (int64_t d : dims) {
    const auto w = wrap_dim(d, rank);
    if (!w || std::find(out.begin(), out.end(), *w) != out.end()) return std::nullopt;
    out.push_back(*w);
  }
  return out;
}

std::optional<Dims> broadcast(const Dims& a, const Dims& b) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims out = longer;
  const size_t shift = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t& x = out[shift + i];
    const int64_t y = shorter[i];
    if (x == y || y == 1) continue;
    if (x != 1) return std::nullopt;
    x = y;
  }
  return out;
}

int64_t numel_of(const Dims& sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return n;
}

std::optional<Dims> infer_size(const Dims& shape, int64_t numel) {
  Dims out = shape;
  int64_t known = 1;
  int64_t* unknown = nullptr;
  for (int64_t& s : out) {
    if (s == -1) {
      if (unknown) return std::nullopt;
      unknown = &s;
    } else if (s < 0) {
      return std::nullopt;
    } else {
      known *= s;
    }
  }
  if (unknown) {
    if (known == 0 || numel % known) return std::nullopt;
    *unknown = numel / known;
  } else if (known != numel) {
    return std::nullopt;
  }
  return out;
}

TensorMeta fresh(const Dims& sizes, DType dtype, DeviceKind device) {
  TensorMeta m;
  m.dtype = dtype;
  m.device = device;
  m.sizes = sizes;
  m.strides = contiguous_strides(sizes);
  return m;
}

namespace {

bool arg_requires_grad(const ShapeCall& call, const Arg& a) {
  if (a.is_value()) return call.graph->values[static_cast<size_t>(a.id())].meta.requires_grad;
  const ArgSeq* seq = a.seq();
  return seq && std::any_of(seq->items.begin(), seq->items.end(),
                            [&call](const Arg& item) { return arg_requires_grad(call, item); });
}

bool overlaps_itself(const TensorMeta& m) {
  for (size_t i = 0; i < m.sizes.size(); ++i) {
    if (m.sizes[i] > 1 && m.strides[i] == 0) return true;
  }
  return false;
}

Outs finish_with(const ShapeCall& call, TensorMeta out, bool grad) {
  if (!call.in_place) {
    out.requires_grad = grad && (is_floating(out.dtype) || is_complex(out.dtype));
    out.is_leaf = !out.requires_grad;
    ShapeOut o;
    o.meta = std::move(out);
    return one(std::move(o));
  }
  const TensorMeta* self = call.args.empty() ? nullptr : tensor_arg(call, &call.args[0]);
  if (!self || self->sizes != out.sizes || !can_cast(out.dtype, self->dtype) || overlaps_itself(*self))
    return std::nullopt;
  if (self->requires_grad && self->is_leaf && call.grad_mode) return std::nullopt;  // raises
  ShapeOut o = same(call, 0);
  if (grad && is_floating(self->dtype)) {
    o.meta.requires_grad = true;
    o.meta.is_leaf = false;
  }
  return one(std::move(o));
}

}  // namespace

bool any_requires_grad(const ShapeCall& call) {
  if (!call.grad_mode) return false;
  for (const Arg& a : call.args) {
    if (arg_requires_grad(call, a)) return true;
  }
  for (const auto& [name, a] : call.kwargs) {
    if (arg_requires_grad(call, a)) return true;
  }
  return false;
}

Outs finish(const ShapeCall& call, TensorMeta out) {
  const bool grad = any_requires_grad(call);
  return finish_with(call, std::move(out), grad);
}

Outs finish_from(const ShapeCall& call, TensorMeta out, const TensorMeta& source) {
  return finish_with(call, std::move(out), call.grad_mode && source.requires_grad);
}

Outs finish_no_grad(const ShapeCall& call, TensorMeta out) {
  return finish_with(call, std::move(out), false);
}

ShapeOut view_of(const ShapeCall& call, size_t alias, Dims sizes, Dims strides, int64_t storage_offset) {
  ShapeOut o;
  o.meta = call.meta(call.args[alias]);
  o.meta.sizes = std::move(sizes);
  o.meta.strides = std::move(strides);
  o.meta.storage_offset = storage_offset;
  // Without grad mode a view still says requires_grad as its base does, but has no grad_fn.
  o.meta.is_leaf = !call.grad_mode || !o.meta.requires_grad;
  o.alias = static_cast<int>(alias);
  return o;
}

ShapeOut same(const ShapeCall& call, size_t operand) {
  ShapeOut o;
  o.meta = call.meta(call.args[operand]);
  o.alias = static_cast<int>(operand);
  o.same_value = true;
  return o;
}

}  // namespace breakline::graph
