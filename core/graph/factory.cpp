// SPDX-License-Identifier: GPL-3.0-or-later
// Tensors made from nothing, or from another tensor's metadata.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/graph/op_families.h"
#include "core/graph/shape_util.h"

namespace breakline::graph {
namespace {

struct Options {
  DType dtype = DType::kOther;  ///< kOther: not given
  DeviceKind device = DeviceKind::kCpu;
  const Arg* format = nullptr;
};

/// Reads dtype=, device=, layout=, requires_grad=, pin_memory=, memory_format=; nullopt for what is not
/// handled and for keywords that are neither these nor in `own`.
std::optional<Options> options_of(const ShapeCall& call, DeviceKind device,
                                  std::initializer_list<std::string_view> own) {
  Options o;
  o.device = device;
  for (const auto& [name, a] : call.kwargs) {
    if (a.is_none() || std::find(own.begin(), own.end(), name) != own.end()) continue;
    if (name == "dtype") {
      o.dtype = dtype_arg(&a).dtype;
      if (item_size(o.dtype) == 0) return std::nullopt;
    } else if (name == "device") {
      const OpaqueKind kind = opaque_kind(a);
      if (kind != OpaqueKind::kCpuDevice && kind != OpaqueKind::kMetaDevice) return std::nullopt;
      o.device = kind == OpaqueKind::kCpuDevice ? DeviceKind::kCpu : DeviceKind::kMeta;
    } else if (name == "layout") {
      if (opaque_kind(a) != OpaqueKind::kStrided) return std::nullopt;
    } else if (name == "requires_grad" || name == "pin_memory") {
      if (bool_arg(&a) != false) return std::nullopt;
    } else if (name == "memory_format") {
      o.format = &a;
    } else {
      return std::nullopt;
    }
  }
  return o;
}

Outs made(const ShapeCall& call, const Dims& sizes, DType dtype, DeviceKind device) {
  for (int64_t s : sizes) {
    if (s < 0) return std::nullopt;
  }
  return finish_no_grad(call, fresh(sizes, dtype, device));
}
DType or_default(DType t, const ShapeCall& call) { return t == DType::kOther ? call.default_dtype : t; }

/// zeros, ones, empty, rand, randn: (*size)
Outs sized(const ShapeCall& call, const OpRow&) {
  const auto o = options_of(call, DeviceKind::kCpu, {"size"});
  const auto sizes = variadic_dims(call, 0, "size");
  if (!o || o->format || !sizes || (!call.args.empty() && call.kwarg("size"))) return std::nullopt;
  return made(call, *sizes, or_default(o->dtype, call), o->device);
}
DType dtype_of_number(const Input& in, const ShapeCall& call) {
  return is_floating(in.number) ? call.default_dtype : in.number;
}
Outs full(const ShapeCall& call, const OpRow&) {
  if (call.args.size() > 2) return std::nullopt;
  const auto o = options_of(call, DeviceKind::kCpu, {"size", "fill_value"});
  const auto sizes = dims_arg(call.get(0, "size"));
  const auto value = input_arg(call, call.get(1, "fill_value"));
  if (!o || o->format || !sizes || int_arg(call.get(0, "size")) || !value || value->tensor)
    return std::nullopt;
  return made(call, *sizes, o->dtype == DType::kOther ? dtype_of_number(*value, call) : o->dtype, o->device);
}
Outs arange(const ShapeCall& call, const OpRow&) {
  if (call.args.empty() || call.args.size() > 3) return std::nullopt;
  const auto o = options_of(call, DeviceKind::kCpu, {});
  if (!o || o->format) return std::nullopt;
  double v[3] = {0, 0, 1};
  bool floats = false;
  const size_t n = call.args.size();
  for (size_t i = 0; i < n; ++i) {
    const auto x = float_arg(&call.args[i]);
    if (!x) return std::nullopt;
    floats = floats || !int_arg(&call.args[i]);
    v[n == 1 ? 1 : i] = *x;
  }
  if (v[2] == 0 || (v[1] - v[0]) / v[2] < 0 || std::abs(v[0]) > 1e15 || std::abs(v[1]) > 1e15)
    return std::nullopt;
  if (o->dtype != DType::kOther && !is_floating(o->dtype) && floats) return std::nullopt;
  const DType t = o->dtype != DType::kOther ? o->dtype : floats ? call.default_dtype : DType::kInt64;
  if (t == DType::kBool || is_complex(t)) return std::nullopt;
  return made(call, {static_cast<int64_t>(std::ceil((v[1] - v[0]) / v[2]))}, t, o->device);
}
Outs eye(const ShapeCall& call, const OpRow&) {
  const auto o = options_of(call, DeviceKind::kCpu, {"n", "m"});
  const auto n = int_arg(call.get(0, "n"));
  const Arg* second = call.get(1, "m");
  const auto m = second && !second->is_none() ? int_arg(second) : n;
  if (!o || o->format || !n || !m || call.args.size() > 2) return std::nullopt;
  return made(call, {*n, *m}, or_default(o->dtype, call), o->device);
}
Outs linspace(const ShapeCall& call, const OpRow&) {
  const auto o = options_of(call, DeviceKind::kCpu, {"start", "end", "steps"});
  const auto steps = int_arg(call.get(2, "steps"));
  if (!o || o->format || !steps || call.args.size() > 3) return std::nullopt;
  if (!float_arg(call.get(0, "start")) || !float_arg(call.get(1, "end"))) return std::nullopt;
  return made(call, {*steps}, or_default(o->dtype, call), o->device);
}
/// randint(high, size), randint(low, high, size)
Outs randint(const ShapeCall& call, const OpRow&) {
  const auto o = options_of(call, DeviceKind::kCpu, {"size"});
  const auto sizes =
      dims_arg(call.args.size() >= 2 && !call.kwarg("size") ? &call.args.back() : call.kwarg("size"));
  if (!o || o->format || !sizes || call.args.empty() || call.args.size() > 3) return std::nullopt;
  return made(call, *sizes, o->dtype == DType::kOther ? DType::kInt64 : o->dtype, o->device);
}
Outs randperm(const ShapeCall& call, const OpRow&) {
  const auto o = options_of(call, DeviceKind::kCpu, {"n"});
  const auto n = int_arg(call.get(0, "n"));
  if (!o || o->format || !n || call.args.size() > 1) return std::nullopt;
  return made(call, {*n}, o->dtype == DType::kOther ? DType::kInt64 : o->dtype, o->device);
}

/// zeros_like, ones_like, empty_like, rand_like, randn_like (x); full_like(x, value)
Outs like(const ShapeCall& call, const OpRow& row) {
  const TensorMeta* x = tensor_arg(call, call.get(0, "input"));
  if (!x || call.args.size() > (row.name == "full_like" ? 2U : 1U)) return std::nullopt;
  const auto o = options_of(call, x->device, {"input", "fill_value"});
  if (!o) return std::nullopt;
  const OpaqueKind kind = o->format ? opaque_kind(*o->format) : OpaqueKind::kPreserveFormat;
  if (kind != OpaqueKind::kPreserveFormat && kind != OpaqueKind::kContiguousFormat) return std::nullopt;
  const DType t = o->dtype == DType::kOther ? x->dtype : o->dtype;
  if (row.random && !is_floating(t)) return std::nullopt;
  TensorMeta m = fresh(x->sizes, t, o->device);
  if (kind == OpaqueKind::kPreserveFormat) m.strides = preserved_strides(x->sizes, x->strides);
  return finish_no_grad(call, std::move(m));
}
/// x.new_zeros(*size), new_ones, new_empty; x.new_full(size, value)
Outs fresh_from(const ShapeCall& call, const OpRow& row) {
  const bool full_form = row.name == "new_full";
  const TensorMeta* x = call.args.empty() ? nullptr : tensor_arg(call, &call.args[0]);
  const auto o = x ? options_of(call, x->device, {"size", "fill_value"}) : std::nullopt;
  if (!o || o->format || (full_form && call.args.size() > 3)) return std::nullopt;
  const auto sizes = full_form ? dims_arg(call.get(1, "size")) : variadic_dims(call, 1, "size");
  if (!sizes || (full_form && int_arg(call.get(1, "size")))) return std::nullopt;
  return made(call, *sizes, o->dtype == DType::kOther ? x->dtype : o->dtype, o->device);
}

constexpr OpKind kF = OpKind::kFactory;
constexpr OpRow kRows[] = {
    {.name = "zeros", .kind = kF, .rule = sized},
    {.name = "ones", .kind = kF, .rule = sized},
    {.name = "empty", .kind = kF, .rule = sized},
    {.name = "full", .kind = kF, .rule = full},
    {.name = "arange", .kind = kF, .rule = arange},
    {.name = "eye", .kind = kF, .rule = eye},
    {.name = "linspace", .kind = kF, .rule = linspace},
    {.name = "rand", .kind = kF, .rule = sized, .random = true},
    {.name = "randn", .kind = kF, .rule = sized, .random = true},
    {.name = "randint", .kind = kF, .rule = randint, .random = true},
    {.name = "randperm", .kind = kF, .rule = randperm, .random = true},
    {.name = "zeros_like", .kind = kF, .rule = like},
    {.name = "ones_like", .kind = kF, .rule = like},
    {.name = "empty_like", .kind = kF, .rule = like},
    {.name = "full_like", .kind = kF, .rule = like},
    {.name = "rand_like", .kind = kF, .rule = like, .random = true},
    {.name = "randn_like", .kind = kF, .rule = like, .random = true},
    {.name = "new_zeros", .kind = kF, .rule = fresh_from},
    {.name = "new_ones", .kind = kF, .rule = fresh_from},
    {.name = "new_empty", .kind = kF, .rule = fresh_from},
    {.name = "new_full", .kind = kF, .rule = fresh_from},
};

}  // namespace

std::span<const OpRow> factory_rows() { return kRows; }

}  // namespace breakline::graph
