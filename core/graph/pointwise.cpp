// SPDX-License-Identifier: GPL-3.0-or-later
// Pointwise, comparison and logical ops. Each rule is a category: which dtypes it takes, what it computes in,
// what comes out; layout and promotion are TensorIterator's (shape_util.h). Complex inputs are left to the
// meta call throughout.
#include <algorithm>

#include "core/graph/op_families.h"
#include "core/graph/shape_util.h"

namespace breakline::graph {
namespace {

DType to_float(DType t, DType default_dtype) { return is_floating(t) ? t : default_dtype; }
bool usable(DType t) { return t != DType::kOther && !is_complex(t); }
bool low_precision_ok(const TensorMeta& m) { return usable(m.dtype); }

/// Operand 0 alone; further positional operands and keywords are parameters that the rule does not depend on.
const TensorMeta* unary_input(const ShapeCall& call) {
  const TensorMeta* x = tensor_arg(call, call.get(0, "input"));
  if (!x || !low_precision_ok(*x)) return nullptr;
  for (size_t i = 1; i < call.args.size(); ++i) {
    if (call.args[i].is_value()) return nullptr;
  }
  for (const auto& [name, a] : call.kwargs) {
    if (name != "input" && (a.is_value() || name == "out" || name == "dtype")) return nullptr;
  }
  return x;
}

Outs unary(const ShapeCall& call, const TensorMeta* x, DType computed, DType out) {
  if (!x) return std::nullopt;
  auto m = pointwise_meta({Input{x}}, computed, out);
  return m ? finish(call, std::move(*m)) : std::nullopt;
}

/// dtype of the operand, any real dtype but bool.
Outs unary_same(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = unary_input(call);
  if (!x || x->dtype == DType::kBool) return std::nullopt;
  return unary(call, x, x->dtype, x->dtype);
}
/// As unary_same, bool too.
Outs unary_any(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = unary_input(call);
  return x ? unary(call, x, x->dtype, x->dtype) : std::nullopt;
}
/// Integers and bool become the default dtype.
Outs unary_float(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = unary_input(call);
  if (!x) return std::nullopt;
  const DType t = to_float(x->dtype, call.default_dtype);
  return unary(call, x, t, t);
}
/// Floating operands only.
Outs unary_floating(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = unary_input(call);
  if (!x || !is_floating(x->dtype)) return std::nullopt;
  return unary(call, x, x->dtype, x->dtype);
}
/// Written into an empty_like: layout kept even where TensorIterator would normalise it.
Outs unary_preserved(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = unary_input(call);
  if (!x || !is_floating(x->dtype)) return std::nullopt;
  TensorMeta m = fresh(x->sizes, x->dtype, x->device);
  m.strides = preserved_strides(x->sizes, x->strides);
  return finish(call, std::move(m));
}
/// Always contiguous.
Outs unary_contiguous(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = unary_input(call);
  if (!x || !is_floating(x->dtype)) return std::nullopt;
  return finish(call, fresh(x->sizes, x->dtype, x->device));
}
Outs square(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = unary_input(call);
  if (!x) return std::nullopt;
  const DType t = x->dtype == DType::kBool ? DType::kInt64 : x->dtype;
  return unary(call, x, t, t);
}
Outs unary_bool(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = unary_input(call);
  return x ? unary(call, x, DType::kOther, DType::kBool) : std::nullopt;
}
/// isinf and isfinite are made of several pointwise steps in PyTorch, which shows in the layout.
Outs is_infinite(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = unary_input(call);
  if (!x) return std::nullopt;
  if (!is_floating(x->dtype)) {
    TensorMeta m = fresh(x->sizes, DType::kBool, x->device);
    m.strides = preserved_strides(x->sizes, x->strides);
    return finish(call, std::move(m));
  }
  const auto magnitude = pointwise_meta({Input{x}}, x->dtype, x->dtype);
  if (!magnitude) return std::nullopt;
  auto m = pointwise_meta({Input{&*magnitude}, Input{nullptr, DType::kFloat64}}, DType::kOther, DType::kBool);
  return m ? finish(call, std::move(*m)) : std::nullopt;
}
Outs is_finite(const ShapeCall& call, const OpRow& row) {
  const TensorMeta* x = unary_input(call);
  if (!x) return std::nullopt;
  auto infinite = is_infinite(call, row);
  if (!infinite || !is_floating(x->dtype)) return infinite;
  const auto same_as_itself = pointwise_meta({Input{x}, Input{x}}, DType::kOther, DType::kBool);
  auto m =
      pointwise_meta({Input{&*same_as_itself}, Input{&(*infinite)[0].meta}}, DType::kOther, DType::kBool);
  return m ? finish(call, std::move(*m)) : std::nullopt;
}

struct Pair {
  Input a, b;
  DType common;
};
/// Operands 0 and 1, at least one a tensor.
std::optional<Pair> binary_inputs(const ShapeCall& call, std::initializer_list<std::string_view> keywords) {
  if (call.args.size() > 2) return std::nullopt;
  for (const auto& [name, a] : call.kwargs) {
    const bool operand = name == "input" || name == "other" || name == "self" || name == "exponent";
    if (!operand && !a.is_none() && std::find(keywords.begin(), keywords.end(), name) == keywords.end())
      return std::nullopt;
  }
  const Arg* first = call.get(0, "input");
  const Arg* second = call.get(1, "other");
  if (!first) first = call.kwarg("self");
  if (!second) second = call.kwarg("exponent");
  const auto a = input_arg(call, first), b = input_arg(call, second);
  if (!a || !b || (!a->tensor && !b->tensor)) return std::nullopt;
  const DType common = result_type({*a, *b}, call.default_dtype);
  if (!usable(common)) return std::nullopt;
  return Pair{*a, *b, common};
}

Outs binary(const ShapeCall& call, const Pair& p, DType computed, DType out) {
  auto m = pointwise_meta({p.a, p.b}, computed, out);
  return m ? finish(call, std::move(*m)) : std::nullopt;
}

Outs add_like(const ShapeCall& call, const OpRow& row) {
  const auto p = binary_inputs(call, {"alpha"});
  if (!p) return std::nullopt;
  if (row.scalar == ScalarFn::kSub) {
    const auto is_bool = [](const Input& in) {
      return (in.tensor ? in.tensor->dtype : in.number) == DType::kBool;
    };
    if (is_bool(p->a) || is_bool(p->b)) return std::nullopt;  // raises for most of these
  }
  if (const Arg* alpha = call.kwarg("alpha"); alpha && !alpha->is_none()) {
    if (!float_arg(alpha) || (!int_arg(alpha) && !is_floating(p->common)) || p->common == DType::kBool)
      return std::nullopt;
  }
  return binary(call, *p, p->common, p->common);
}
Outs common_binary(const ShapeCall& call, const OpRow&) {
  const auto p = binary_inputs(call, {});
  return p ? binary(call, *p, p->common, p->common) : std::nullopt;
}
/// As common_binary, but not for bool.
Outs number_binary(const ShapeCall& call, const OpRow&) {
  const auto p = binary_inputs(call, {});
  return p && p->common != DType::kBool ? binary(call, *p, p->common, p->common) : std::nullopt;
}
Outs divide(const ShapeCall& call, const OpRow&) {
  const auto p = binary_inputs(call, {"rounding_mode"});
  if (!p) return std::nullopt;
  const Arg* mode = call.kwarg("rounding_mode");
  if (mode && !mode->is_none())
    return p->common != DType::kBool ? binary(call, *p, p->common, p->common) : std::nullopt;
  const DType t = to_float(p->common, call.default_dtype);
  if (!call.reversed) return binary(call, *p, t, t);
  // Tensor.__rtruediv__(self, other) is self.reciprocal() * other.
  if (!p->b.tensor) return std::nullopt;
  const DType own = to_float(p->b.tensor->dtype, call.default_dtype);
  const auto inverse = pointwise_meta({p->b}, own, own);
  if (!inverse) return std::nullopt;
  const DType out = result_type({Input{&*inverse}, p->a}, call.default_dtype);
  auto m = pointwise_meta({Input{&*inverse}, p->a}, out, out);
  return m ? finish(call, std::move(*m)) : std::nullopt;
}
Outs float_binary(const ShapeCall& call, const OpRow&) {
  const auto p = binary_inputs(call, {});
  if (!p) return std::nullopt;
  const DType t = to_float(p->common, call.default_dtype);
  return binary(call, *p, t, t);
}
Outs power(const ShapeCall& call, const OpRow&) {
  const auto p = binary_inputs(call, {});
  if (!p || p->common == DType::kBool) return std::nullopt;
  if (!p->b.tensor) {  // a number as exponent is a parameter: one operand only
    const Arg* exponent = call.get(1, "exponent");
    if (!exponent) exponent = call.kwarg("other");
    const auto e = float_arg(exponent);
    if (!is_floating(p->common) && e && *e < 0) return std::nullopt;  // raises
    TensorMeta x = *p->a.tensor;
    if (x.dtype != p->common) {
      x.dtype = p->common;
      x.strides = preserved_strides(x.sizes, x.strides);
    }
    return unary(call, &x, p->common, p->common);
  }
  if (!p->a.tensor) return finish(call, fresh(p->b.tensor->sizes, p->common, p->b.tensor->device));
  return binary(call, *p, p->common, p->common);
}
Outs compare(const ShapeCall& call, const OpRow&) {
  const auto p = binary_inputs(call, {});
  if (call.in_place && any_requires_grad(call)) return std::nullopt;
  return p ? binary(call, *p, p->common, DType::kBool) : std::nullopt;
}
Outs logical_binary(const ShapeCall& call, const OpRow&) {
  const auto p = binary_inputs(call, {});
  if (!p || !p->a.tensor || !p->b.tensor) return std::nullopt;
  if (call.in_place && any_requires_grad(call)) return std::nullopt;
  return binary(call, *p, p->common, DType::kBool);
}
Outs bitwise(const ShapeCall& call, const OpRow&) {
  const auto p = binary_inputs(call, {});
  if (!p || is_floating(p->common)) return std::nullopt;
  return binary(call, *p, p->common, p->common);
}
Outs shift(const ShapeCall& call, const OpRow&) {
  const auto p = binary_inputs(call, {});
  return p && is_integral(p->common) ? binary(call, *p, p->common, p->common) : std::nullopt;
}
Outs bitwise_not(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = unary_input(call);
  if (!x || is_floating(x->dtype)) return std::nullopt;
  return unary(call, x, x->dtype, x->dtype);
}
Outs extremum(const ShapeCall& call, const OpRow&) {
  const auto p = binary_inputs(call, {});
  if (!p || !p->a.tensor || !p->b.tensor) return std::nullopt;
  return binary(call, *p, p->common, p->common);
}

/// clamp(x, min, max), clamp_min(x, min), clamp_max(x, max): bounds all numbers or all tensors.
Outs clamp(const ShapeCall& call, const OpRow& row) {
  const bool both = row.name == "clamp";
  if (!accepts(call, both ? 3 : 2, {"input", "min", "max"})) return std::nullopt;
  const TensorMeta* x = tensor_arg(call, call.get(0, "input"));
  if (!x || !usable(x->dtype) || x->dtype == DType::kBool) return std::nullopt;
  std::vector<Input> inputs = {Input{x}};
  const Arg* bounds[2] = {nullptr, nullptr};
  if (both) {
    bounds[0] = call.get(1, "min");
    bounds[1] = call.get(2, "max");
  } else {
    bounds[0] = call.get(1, row.name == "clamp_min" ? "min" : "max");
  }
  bool tensors = false, numbers = false;
  for (const Arg* b : bounds) {
    if (!b || b->is_none()) continue;
    const auto in = input_arg(call, b);
    if (!in) return std::nullopt;
    (in->tensor ? tensors : numbers) = true;
    inputs.push_back(*in);
  }
  if (tensors == numbers) return std::nullopt;
  const DType common = result_type(inputs, call.default_dtype);
  if (!usable(common)) return std::nullopt;
  if (tensors) {
    auto m = pointwise_meta(inputs, common, common);
    return m ? finish(call, std::move(*m)) : std::nullopt;
  }
  const DType out = is_floating(x->dtype) ? x->dtype : common;
  TensorMeta cast = *x;
  if (cast.dtype != out) {
    cast.dtype = out;
    cast.strides = preserved_strides(cast.sizes, cast.strides);
  }
  return unary(call, &cast, out, out);
}

Outs where(const ShapeCall& call, const OpRow&) {
  if (!accepts(call, 3, {"condition", "input", "other"})) return std::nullopt;
  const TensorMeta* condition = tensor_arg(call, call.get(0, "condition"));
  const auto a = input_arg(call, call.get(1, "input")), b = input_arg(call, call.get(2, "other"));
  if (!condition || condition->dtype != DType::kBool || !a || !b) return std::nullopt;
  const DType out = result_type({*a, *b}, call.default_dtype);
  if (!usable(out)) return std::nullopt;
  // Branches are cast before the iteration; the condition is not.
  const auto cast = [out](const Input& in, TensorMeta& room) {
    if (!in.tensor || in.tensor->dtype == out) return in;
    room = *in.tensor;
    room.dtype = out;
    room.strides = preserved_strides(room.sizes, room.strides);
    return Input{&room};
  };
  TensorMeta room_a, room_b;
  auto m = pointwise_meta({Input{condition}, cast(*a, room_a), cast(*b, room_b)}, DType::kOther, out);
  return m ? finish(call, std::move(*m)) : std::nullopt;
}

/// Tensor.where(self, condition, other): another order of operands than torch.where.
Outs where_method(const ShapeCall& call, const OpRow& row) {
  if (call.args.size() != 3 || !call.kwargs.empty()) return std::nullopt;
  const Arg reordered[] = {call.args[1], call.args[0], call.args[2]};
  ShapeCall torch_form = call;
  torch_form.args = reordered;
  return where(torch_form, row);
}

Outs lerp(const ShapeCall& call, const OpRow&) {
  if (!accepts(call, 3, {"input", "end", "weight"})) return std::nullopt;
  const TensorMeta* x = tensor_arg(call, call.get(0, "input"));
  const TensorMeta* end = tensor_arg(call, call.get(1, "end"));
  const auto weight = input_arg(call, call.get(2, "weight"));
  if (!x || !end || !weight || !is_floating(x->dtype) || end->dtype != x->dtype) return std::nullopt;
  std::vector<Input> inputs = {Input{x}, Input{end}};
  if (weight->tensor) {
    if (weight->tensor->dtype != x->dtype) return std::nullopt;
    inputs.push_back(*weight);
  }
  auto m = pointwise_meta(inputs, x->dtype, x->dtype);
  return m ? finish(call, std::move(*m)) : std::nullopt;
}

Outs addcmul(const ShapeCall& call, const OpRow& row) {
  if (!accepts(call, 3, {"input", "tensor1", "tensor2", "value"})) return std::nullopt;
  const TensorMeta* x = tensor_arg(call, call.get(0, "input"));
  const TensorMeta* t1 = tensor_arg(call, call.get(1, "tensor1"));
  const TensorMeta* t2 = tensor_arg(call, call.get(2, "tensor2"));
  if (!x || !t1 || !t2) return std::nullopt;
  const std::vector<Input> inputs = {Input{x}, Input{t1}, Input{t2}};
  const DType common = result_type(inputs, call.default_dtype);
  if (!is_floating(common) || (row.name == "addcdiv" && !is_floating(t1->dtype) && !is_floating(t2->dtype)))
    return std::nullopt;
  auto m = pointwise_meta(inputs, common, common);
  return m ? finish(call, std::move(*m)) : std::nullopt;
}

constexpr OpKind kP = OpKind::kPointwise;
using F = ScalarFn;

constexpr OpRow kRows[] = {
    {.name = "add", .kind = kP, .scalar = F::kAdd, .rule = add_like, .aliases = "__add__"},
    {.name = "sub", .kind = kP, .scalar = F::kSub, .rule = add_like, .aliases = "subtract __sub__"},
    {.name = "mul", .kind = kP, .scalar = F::kMul, .rule = common_binary, .aliases = "multiply __mul__"},
    {.name = "div",
     .kind = kP,
     .scalar = F::kDiv,
     .rule = divide,
     .aliases = "divide true_divide __truediv__ __div__"},
    {.name = "floor_divide",
     .kind = kP,
     .scalar = F::kFloorDiv,
     .rule = number_binary,
     .may_fail = true,
     .aliases = "__floordiv__"},
    {.name = "remainder",
     .kind = kP,
     .scalar = F::kRemainder,
     .rule = number_binary,
     .may_fail = true,
     .aliases = "__mod__"},
    {.name = "fmod", .kind = kP, .rule = number_binary, .may_fail = true},
    {.name = "pow", .kind = kP, .scalar = F::kPow, .rule = power, .may_fail = true, .aliases = "__pow__"},
    {.name = "maximum", .kind = kP, .scalar = F::kMax, .rule = extremum},
    {.name = "minimum", .kind = kP, .scalar = F::kMin, .rule = extremum},
    {.name = "atan2", .kind = kP, .rule = float_binary, .aliases = "arctan2"},
    {.name = "eq", .kind = kP, .scalar = F::kEq, .rule = compare, .aliases = "__eq__"},
    {.name = "ne", .kind = kP, .scalar = F::kNe, .rule = compare, .aliases = "not_equal __ne__"},
    {.name = "lt", .kind = kP, .scalar = F::kLt, .rule = compare, .aliases = "less __lt__"},
    {.name = "le", .kind = kP, .scalar = F::kLe, .rule = compare, .aliases = "less_equal __le__"},
    {.name = "gt", .kind = kP, .scalar = F::kGt, .rule = compare, .aliases = "greater __gt__"},
    {.name = "ge", .kind = kP, .scalar = F::kGe, .rule = compare, .aliases = "greater_equal __ge__"},
    {.name = "logical_and", .kind = kP, .scalar = F::kLogicalAnd, .rule = logical_binary},
    {.name = "logical_or", .kind = kP, .scalar = F::kLogicalOr, .rule = logical_binary},
    {.name = "logical_xor", .kind = kP, .scalar = F::kLogicalXor, .rule = logical_binary},
    {.name = "logical_not", .kind = kP, .scalar = F::kLogicalNot, .rule = unary_bool},
    {.name = "bitwise_and", .kind = kP, .scalar = F::kBitAnd, .rule = bitwise, .aliases = "__and__"},
    {.name = "bitwise_or", .kind = kP, .scalar = F::kBitOr, .rule = bitwise, .aliases = "__or__"},
    {.name = "bitwise_xor", .kind = kP, .scalar = F::kBitXor, .rule = bitwise, .aliases = "__xor__"},
    {.name = "bitwise_not", .kind = kP, .scalar = F::kBitNot, .rule = bitwise_not, .aliases = "__invert__"},
    {.name = "bitwise_left_shift", .kind = kP, .scalar = F::kShl, .rule = shift, .aliases = "__lshift__"},
    {.name = "bitwise_right_shift", .kind = kP, .scalar = F::kShr, .rule = shift, .aliases = "__rshift__"},
    {.name = "neg", .kind = kP, .scalar = F::kNeg, .rule = unary_same, .aliases = "negative __neg__"},
    {.name = "abs", .kind = kP, .scalar = F::kAbs, .rule = unary_same, .aliases = "absolute __abs__"},
    {.name = "sign", .kind = kP, .scalar = F::kSign, .rule = unary_any},
    {.name = "sgn", .kind = kP, .scalar = F::kSign, .rule = unary_any},
    {.name = "floor", .kind = kP, .scalar = F::kFloor, .rule = unary_floating},
    {.name = "ceil", .kind = kP, .scalar = F::kCeil, .rule = unary_floating},
    {.name = "round", .kind = kP, .scalar = F::kRound, .rule = unary_floating},
    {.name = "trunc", .kind = kP, .scalar = F::kTrunc, .rule = unary_floating, .aliases = "fix"},
    {.name = "frac", .kind = kP, .rule = unary_floating},
    {.name = "square", .kind = kP, .scalar = F::kSquare, .rule = square},
    {.name = "reciprocal", .kind = kP, .scalar = F::kReciprocal, .rule = unary_float},
    {.name = "sqrt", .kind = kP, .scalar = F::kSqrt, .rule = unary_float},
    {.name = "rsqrt", .kind = kP, .scalar = F::kRsqrt, .rule = unary_float},
    {.name = "exp", .kind = kP, .scalar = F::kExp, .rule = unary_float},
    {.name = "exp2", .kind = kP, .scalar = F::kExp2, .rule = unary_float},
    {.name = "expm1", .kind = kP, .scalar = F::kExpm1, .rule = unary_float},
    {.name = "log", .kind = kP, .scalar = F::kLog, .rule = unary_float},
    {.name = "log2", .kind = kP, .scalar = F::kLog2, .rule = unary_float},
    {.name = "log10", .kind = kP, .scalar = F::kLog10, .rule = unary_float},
    {.name = "log1p", .kind = kP, .scalar = F::kLog1p, .rule = unary_float},
    {.name = "sin", .kind = kP, .scalar = F::kSin, .rule = unary_float},
    {.name = "cos", .kind = kP, .scalar = F::kCos, .rule = unary_float},
    {.name = "tan", .kind = kP, .scalar = F::kTan, .rule = unary_float},
    {.name = "sinh", .kind = kP, .scalar = F::kSinh, .rule = unary_float},
    {.name = "cosh", .kind = kP, .scalar = F::kCosh, .rule = unary_float},
    {.name = "tanh", .kind = kP, .scalar = F::kTanh, .rule = unary_float},
    {.name = "asin", .kind = kP, .rule = unary_float, .aliases = "arcsin"},
    {.name = "acos", .kind = kP, .rule = unary_float, .aliases = "arccos"},
    {.name = "atan", .kind = kP, .scalar = F::kAtan, .rule = unary_float, .aliases = "arctan"},
    {.name = "asinh", .kind = kP, .rule = unary_float, .aliases = "arcsinh"},
    {.name = "acosh", .kind = kP, .rule = unary_float, .aliases = "arccosh"},
    {.name = "atanh", .kind = kP, .rule = unary_float, .aliases = "arctanh"},
    {.name = "erf", .kind = kP, .scalar = F::kErf, .rule = unary_float},
    {.name = "erfc", .kind = kP, .rule = unary_float},
    {.name = "erfinv", .kind = kP, .rule = unary_float},
    {.name = "lgamma", .kind = kP, .rule = unary_float},
    {.name = "digamma", .kind = kP, .rule = unary_float},
    {.name = "sigmoid", .kind = kP, .scalar = F::kSigmoid, .rule = unary_float, .aliases = "special_expit"},
    {.name = "logit", .kind = kP, .rule = unary_float},
    {.name = "log_sigmoid", .kind = kP, .scalar = F::kLogSigmoid, .rule = unary_contiguous},
    {.name = "softplus", .kind = kP, .scalar = F::kSoftplus, .rule = unary_floating},
    {.name = "relu", .kind = kP, .scalar = F::kRelu, .rule = unary_same},
    {.name = "relu6", .kind = kP, .scalar = F::kRelu6, .rule = unary_preserved},
    {.name = "leaky_relu", .kind = kP, .scalar = F::kLeakyRelu, .rule = unary_floating},
    {.name = "elu", .kind = kP, .scalar = F::kElu, .rule = unary_floating},
    {.name = "selu", .kind = kP, .rule = unary_floating},
    {.name = "celu", .kind = kP, .rule = unary_floating},
    {.name = "gelu", .kind = kP, .scalar = F::kGeluErf, .rule = unary_floating},
    {.name = "silu", .kind = kP, .scalar = F::kSilu, .rule = unary_floating},
    {.name = "mish", .kind = kP, .scalar = F::kMish, .rule = unary_floating},
    {.name = "hardtanh", .kind = kP, .scalar = F::kHardtanh, .rule = unary_preserved},
    {.name = "hardsigmoid", .kind = kP, .scalar = F::kHardsigmoid, .rule = unary_floating},
    {.name = "hardswish", .kind = kP, .scalar = F::kHardswish, .rule = unary_floating},
    {.name = "hardshrink", .kind = kP, .rule = unary_floating},
    {.name = "softshrink", .kind = kP, .rule = unary_floating},
    {.name = "threshold", .kind = kP, .rule = unary_floating},
    {.name = "clamp", .kind = kP, .scalar = F::kClamp, .rule = clamp, .aliases = "clip"},
    {.name = "clamp_min", .kind = kP, .rule = clamp},
    {.name = "clamp_max", .kind = kP, .rule = clamp},
    {.name = "where", .kind = kP, .scalar = F::kWhere, .rule = where},
    {.name = "where_method", .kind = kP, .rule = where_method, .aliases = "Tensor.where"},
    {.name = "lerp", .kind = kP, .scalar = F::kLerp, .rule = lerp},
    {.name = "addcmul", .kind = kP, .scalar = F::kAddcmul, .rule = addcmul},
    {.name = "addcdiv", .kind = kP, .scalar = F::kAddcdiv, .rule = addcmul},
    {.name = "isnan", .kind = kP, .scalar = F::kIsNan, .rule = unary_bool},
    {.name = "isinf", .kind = kP, .scalar = F::kIsInf, .rule = is_infinite},
    {.name = "isfinite", .kind = kP, .scalar = F::kIsFinite, .rule = is_finite},
};

}  // namespace

std::span<const OpRow> pointwise_rows() { return kRows; }

}  // namespace breakline::graph
