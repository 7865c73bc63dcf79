// SPDX-License-Identifier: GPL-3.0-or-later
// Conversions and copies. PyTorch returns the operand itself where nothing changes; so do these rules
// (same_value).
#include "core/graph/op_families.h"
#include "core/graph/shape_util.h"

namespace breakline::graph {
namespace {

/// Copy of `x` as `dtype` with its layout kept; `format` may ask for another one. Null result: not answered.
Outs copy_of(const ShapeCall& call, const TensorMeta& x, DType dtype, const Arg* format, DeviceKind device) {
  TensorMeta m = fresh(x.sizes, dtype, device);
  switch (format ? opaque_kind(*format) : OpaqueKind::kPreserveFormat) {
    case OpaqueKind::kPreserveFormat:
      m.strides = preserved_strides(x.sizes, x.strides);
      break;
    case OpaqueKind::kContiguousFormat:
      break;
    case OpaqueKind::kChannelsLast:
      if (x.rank() != 4) return std::nullopt;
      m.strides = channels_last_strides(x.sizes);
      break;
    case OpaqueKind::kChannelsLast3d:
      if (x.rank() != 5) return std::nullopt;
      m.strides = channels_last_strides(x.sizes);
      break;
    case OpaqueKind::kUnknown:
    case OpaqueKind::kEllipsis:
    case OpaqueKind::kCpuDevice:
    case OpaqueKind::kMetaDevice:
    case OpaqueKind::kOtherDevice:
    case OpaqueKind::kStrided:
      return std::nullopt;
  }
  return finish_from(call, std::move(m), x);
}

bool matches_format(const TensorMeta& x, OpaqueKind format) {
  switch (format) {
    case OpaqueKind::kContiguousFormat:
      return is_contiguous(x.sizes, x.strides);
    case OpaqueKind::kChannelsLast:
      return is_channels_last(x.sizes, x.strides);
    case OpaqueKind::kChannelsLast3d:
      return is_channels_last_3d(x.sizes, x.strides);
    case OpaqueKind::kUnknown:
    case OpaqueKind::kEllipsis:
    case OpaqueKind::kCpuDevice:
    case OpaqueKind::kMetaDevice:
    case OpaqueKind::kOtherDevice:
    case OpaqueKind::kStrided:
    case OpaqueKind::kPreserveFormat:
      return true;
  }
  return true;
}

/// suggest_memory_format() == format, which `to` compares instead of the exact layout.
bool suggests_format(const TensorMeta& x, OpaqueKind format) {
  const bool channels_last = suggests_channels_last(x.sizes, x.strides);
  if (format == OpaqueKind::kContiguousFormat) return !channels_last;
  if (format == OpaqueKind::kChannelsLast) return channels_last && x.rank() == 4;
  if (format == OpaqueKind::kChannelsLast3d) return channels_last && x.rank() == 5;
  return true;
}

const Arg* given(const Arg* a) { return a && !a->is_none() ? a : nullptr; }

Outs convert(const ShapeCall& call, const TensorMeta& x, DType dtype, DeviceKind device, bool copy,
             const Arg* format) {
  if (item_size(dtype) == 0 || is_complex(dtype) || is_complex(x.dtype)) return std::nullopt;
  if (device != x.device) return std::nullopt;
  const bool keeps_format = !format || suggests_format(x, opaque_kind(*format));
  if (dtype == x.dtype && !copy && keeps_format) return one(same(call, 0));
  return copy_of(call, x, dtype, format, device);
}

/// x.to(dtype | device | other | device, dtype, …, copy=, memory_format=)
Outs to(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = tensor_arg(call, call.get(0, "self"));
  if (!x || call.in_place) return std::nullopt;
  DType dtype = x->dtype;
  DeviceKind device = x->device;
  bool copy = false;
  size_t next = 1;
  const auto take_device = [&device](const Arg& a) {
    const OpaqueKind kind = opaque_kind(a);
    if (kind == OpaqueKind::kCpuDevice) device = DeviceKind::kCpu;
    if (kind == OpaqueKind::kMetaDevice) device = DeviceKind::kMeta;
    return kind == OpaqueKind::kCpuDevice || kind == OpaqueKind::kMetaDevice;
  };
  const auto take_dtype = [&dtype](const Arg& a) {
    const auto answer = dtype_arg(&a);
    if (!answer.absent) dtype = answer.dtype;
    return answer.absent || item_size(answer.dtype) > 0;
  };
  if (call.args.size() > next) {
    if (std::holds_alternative<bool>(call.args[next].v))
      return std::nullopt;  // a number is `other`, a tensor of its kind
    const Arg& first = call.args[next++];
    if (const TensorMeta* other = tensor_arg(call, &first)) {
      dtype = other->dtype;
      device = other->device;
    } else if (std::holds_alternative<DTypeArg>(first.v)) {
      if (!take_dtype(first)) return std::nullopt;
    } else {
      if (!first.is_none() && !take_device(first)) return std::nullopt;
      const bool more = call.args.size() > next && !std::holds_alternative<bool>(call.args[next].v);
      if (more && !take_dtype(call.args[next++])) return std::nullopt;
    }
  }
  for (size_t flag = 0; next < call.args.size(); ++next, ++flag) {  // non_blocking, copy
    const auto b = bool_arg(&call.args[next]);
    if (!b || flag > 1) return std::nullopt;
    if (flag == 1) copy = *b;
  }
  const Arg* format = nullptr;
  for (const auto& [name, a] : call.kwargs) {
    if (a.is_none() || name == "non_blocking") continue;
    if (name == "copy" && bool_arg(&a)) {
      copy = *bool_arg(&a);
    } else if (name == "dtype") {
      if (!take_dtype(a)) return std::nullopt;
    } else if (name == "device") {
      if (!take_device(a)) return std::nullopt;
    } else if (name == "memory_format") {
      format = &a;
    } else {
      return std::nullopt;
    }
  }
  return convert(call, *x, dtype, device, copy, format);
}

Outs to_fixed(const ShapeCall& call, DType dtype) {
  const TensorMeta* x = tensor_arg(call, call.get(0, "self"));
  if (!x || !accepts(call, 1, {"self", "memory_format"})) return std::nullopt;
  return convert(call, *x, dtype, x->device, false, given(call.kwarg("memory_format")));
}
Outs named_cast(const ShapeCall& call, const OpRow& row) {
  struct Name {
    std::string_view name;
    DType dtype;
  };
  static constexpr Name kNames[] = {
      {"float", DType::kFloat32},     {"double", DType::kFloat64}, {"half", DType::kFloat16},
      {"bfloat16", DType::kBFloat16}, {"int", DType::kInt32},      {"long", DType::kInt64},
      {"short", DType::kInt16},       {"char", DType::kInt8},      {"byte", DType::kUInt8},
      {"bool", DType::kBool},
  };
  for (const Name& n : kNames) {
    if (row.name == n.name) return to_fixed(call, n.dtype);
  }
  return std::nullopt;
}
Outs type_as(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = tensor_arg(call, call.get(0, "self"));
  const TensorMeta* other = tensor_arg(call, call.get(1, "other"));
  if (!x || !other || !accepts(call, 2, {"other"})) return std::nullopt;
  return convert(call, *x, other->dtype, other->device, false, nullptr);
}
Outs type(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = tensor_arg(call, call.get(0, "self"));
  const auto dtype = dtype_arg(call.get(1, "dtype"));
  if (!x || dtype.absent || !accepts(call, 2, {"dtype"})) return std::nullopt;
  return convert(call, *x, dtype.dtype, x->device, false, nullptr);
}
Outs cpu(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = tensor_arg(call, call.get(0, "self"));
  if (!x || !accepts(call, 1, {})) return std::nullopt;
  return convert(call, *x, x->dtype, DeviceKind::kCpu, false, nullptr);
}

Outs contiguous(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = tensor_arg(call, call.get(0, "self"));
  if (!x || !accepts(call, 2, {"memory_format"})) return std::nullopt;
  const Arg* format = given(call.get(1, "memory_format"));
  const OpaqueKind kind = format ? opaque_kind(*format) : OpaqueKind::kContiguousFormat;
  if (kind == OpaqueKind::kUnknown || kind == OpaqueKind::kPreserveFormat) return std::nullopt;
  if (matches_format(*x, kind)) return one(same(call, 0));
  if (format) return copy_of(call, *x, x->dtype, format, x->device);
  return finish(call, fresh(x->sizes, x->dtype, x->device));
}

Outs clone(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = tensor_arg(call, call.get(0, "input"));
  if (!x || !accepts(call, 1, {"memory_format", "input"})) return std::nullopt;
  return copy_of(call, *x, x->dtype, given(call.kwarg("memory_format")), x->device);
}

/// Returns its operand unless that is conjugated or negated lazily (which plain tensors are not).
Outs itself(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = tensor_arg(call, call.get(0, "input"));
  if (!x || call.args.size() != 1 || !call.kwargs.empty() || x->dtype == DType::kBool) return std::nullopt;
  return one(same(call, 0));
}

constexpr OpKind kP = OpKind::kPointwise;
constexpr ScalarFn kCast = ScalarFn::kCast;
constexpr OpRow kRows[] = {
    {.name = "to", .kind = kP, .scalar = kCast, .rule = to},
    {.name = "float", .kind = kP, .scalar = kCast, .rule = named_cast},
    {.name = "double", .kind = kP, .scalar = kCast, .rule = named_cast},
    {.name = "half", .kind = kP, .scalar = kCast, .rule = named_cast},
    {.name = "bfloat16", .kind = kP, .scalar = kCast, .rule = named_cast},
    {.name = "int", .kind = kP, .scalar = kCast, .rule = named_cast},
    {.name = "long", .kind = kP, .scalar = kCast, .rule = named_cast},
    {.name = "short", .kind = kP, .scalar = kCast, .rule = named_cast},
    {.name = "char", .kind = kP, .scalar = kCast, .rule = named_cast},
    {.name = "byte", .kind = kP, .scalar = kCast, .rule = named_cast},
    {.name = "bool", .kind = kP, .scalar = kCast, .rule = named_cast},
    {.name = "type_as", .kind = kP, .scalar = kCast, .rule = type_as},
    {.name = "type", .kind = kP, .scalar = kCast, .rule = type},
    {.name = "cpu", .kind = OpKind::kOther, .rule = cpu},
    {.name = "contiguous", .kind = kP, .scalar = ScalarFn::kCopy, .rule = contiguous},
    {.name = "clone", .kind = kP, .scalar = ScalarFn::kCopy, .rule = clone},
    {.name = "positive", .kind = OpKind::kOther, .rule = itself, .aliases = "__pos__"},
    {.name = "resolve_conj", .kind = OpKind::kOther, .rule = itself, .aliases = "resolve_neg"},
};

}  // namespace

std::span<const OpRow> cast_rows() { return kRows; }

}  // namespace breakline::graph
