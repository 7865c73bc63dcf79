// SPDX-License-Identifier: GPL-3.0-or-later
// One rule per scalar function. Formulas and special cases are those of PyTorch's CPU kernels
// (aten/src/ATen/native/cpu, BinaryOps, UnaryOps, Activation, PowKernel), checked against eager by
// tests/differential/cpu.
#include "core/schedule/lower.h"

#include <cmath>
#include <limits>

#include "core/schedule/pointwise_call.h"

namespace breakline::schedule {
namespace {

using graph::DType;
using graph::ScalarFn;
using L = Lowering;
using C = PointwiseCall;

constexpr double kPi = 3.14159265358979323846;

// --- pieces
// -------------------------------------------------------------------------------------------------------

/// max(x, bound) that keeps a NaN x: what clamp and relu do.
int at_least(const L& l, int x, int bound) { return l.b.select(l.b.binary(Op::kLt, x, bound), bound, x); }
int at_most(const L& l, int x, int bound) { return l.b.select(l.b.binary(Op::kGt, x, bound), bound, x); }
int is_nan(const L& l, int x) { return l.b.binary(Op::kNe, x, x); }

int to_comparable(const L& l, int x) { return l.b.type(x) == RegType::kBool ? l.b.cast(x, RegType::kU8) : x; }

template <Op op>
int emit_unary(const L& l) {
  return l.b.unary(op, l.as_out(0));
}

/// Floor, ceil …: the identity on integers.
template <Op op>
int emit_rounding(const L& l) {
  return l.out_is_float() ? l.b.unary(op, l.as_out(0)) : l.as_out(0);
}

template <Op op>
int emit_compare(const L& l) {
  const DType common = l.call.common_dtype();
  return l.b.binary(op, to_comparable(l, l.as(0, common)), to_comparable(l, l.as(1, common)));
}

int truth(const L& l, int i) {
  return l.call.is_tensor(i) ? l.as(i, DType::kBool) : l.b.boolean(l.call.number(i)->real != 0);
}

template <Op op>
int emit_logical(const L& l) {
  return l.b.binary(op, truth(l, 0), truth(l, 1));
}

template <Op op>
int emit_bits(const L& l) {
  return l.b.binary(op, l.as_out(0), l.as_out(1));
}

// --- arithmetic
// ---------------------------------------------------------------------------------------------------

/// a + alpha * b with alpha in the output's dtype.
int add_scaled(const L& l, bool negate) {
  const int x = l.as_out(0), y = l.as_out(1);
  if (l.reg() == RegType::kBool) return l.b.binary(Op::kOr, x, y);
  const auto alpha = l.call.number(2);
  if (!alpha || alpha->real == 1) return l.b.binary(negate ? Op::kSub : Op::kAdd, x, y);
  if (!l.out_is_float()) {
    const int scaled = l.b.binary(Op::kMul, y, l.integer(alpha->integer));
    return l.b.binary(negate ? Op::kSub : Op::kAdd, x, scaled);
  }
  return l.b.fma(y, l.constant(negate ? -alpha->real : alpha->real), x);
}
int emit_add(const L& l) { return add_scaled(l, false); }
int emit_sub(const L& l) { return add_scaled(l, true); }

std::string check_alpha(const C& call) {
  if (!call.param(2)) return "";
  const auto alpha = call.number(2);
  if (!alpha) return "alpha that is no number";
  const RegType reg = reg_type(call.out_dtype());
  if (reg == RegType::kBool) return "alpha on bool";
  if (!is_float(reg) && !alpha->is_integer) return "float alpha on integers";
  // PyTorch's vector and scalar code round differently here.
  if (graph::item_size(call.out_dtype()) == 2 && is_float(reg) && alpha->real != 1)
    return "alpha on half tensors";
  return "";
}
std::string check_sub(const C& call) {
  // Two bools raise in eager; so does a bool tensor with a bool number.
  return call.out_dtype() == DType::kBool ? "subtraction of bools raises" : check_alpha(call);
}

int emit_mul(const L& l) {
  if (l.reg() == RegType::kBool) return l.b.binary(Op::kAnd, l.as_out(0), l.as_out(1));
  return l.b.binary(Op::kMul, l.as_out(0), l.wide(1));
}

/// As PyTorch's div_floor: from C's remainder, corrected towards the floor.
int float_floor_divide(const L& l, int x, int y) {
  const int zero = l.constant(0), one = l.constant(1);
  const int rest = l.b.binary(Op::kRem, x, y);
  const int exact = l.b.binary(Op::kDiv, l.b.binary(Op::kSub, x, rest), y);
  const int off = l.b.binary(Op::kXor, l.b.binary(Op::kLt, y, zero), l.b.binary(Op::kLt, rest, zero));
  const int fix = l.b.binary(Op::kAnd, l.b.binary(Op::kNe, rest, zero), off);
  const int quotient = l.b.select(fix, l.b.binary(Op::kSub, exact, one), exact);
  const int low = l.b.unary(Op::kFloor, quotient);
  const int far = l.b.binary(Op::kGt, l.b.binary(Op::kSub, quotient, low), l.constant(0.5));
  const int nearest = l.b.select(far, l.b.binary(Op::kAdd, low, one), low);
  const int plain = l.b.binary(Op::kDiv, x, y);
  const int signed_zero = l.b.binary(Op::kCopySign, zero, plain);
  const int nonzero = l.b.select(l.b.binary(Op::kNe, quotient, zero), nearest, signed_zero);
  return l.b.select(l.b.binary(Op::kEq, y, zero), plain, nonzero);
}

/// Integers: the sign of the remainder is moved to the divisor's, which is a constant here.
int int_floor_divide(const L& l, int x, int y) {
  const int quotient = l.b.binary(Op::kDiv, x, y);
  if (l.reg() == RegType::kU8) return quotient;
  const int zero = l.integer(0), rest = l.b.binary(Op::kRem, x, y);
  const int off = l.b.binary(Op::kXor, l.b.binary(Op::kLt, y, zero), l.b.binary(Op::kLt, rest, zero));
  const int fix = l.b.binary(Op::kAnd, l.b.binary(Op::kNe, rest, zero), off);
  return l.b.select(fix, l.b.binary(Op::kSub, quotient, l.integer(1)), quotient);
}
int int_remainder(const L& l, int x, int y) {
  const int rest = l.b.binary(Op::kRem, x, y);
  if (l.reg() == RegType::kU8) return rest;
  const int zero = l.integer(0);
  const int off = l.b.binary(Op::kXor, l.b.binary(Op::kLt, y, zero), l.b.binary(Op::kLt, rest, zero));
  const int fix = l.b.binary(Op::kAnd, l.b.binary(Op::kNe, rest, zero), off);
  return l.b.select(fix, l.b.binary(Op::kAdd, rest, y), rest);
}

/// Integers divide only by constants other than 0 and -1; two half tensors round inside eager's kernel in
/// ways of its own.
std::string check_divisor(const C& call) {
  const RegType reg = reg_type(call.out_dtype());
  if (reg == RegType::kBool) return "division of bools";
  if (is_float(reg)) {
    const bool half = call.out_dtype() == DType::kBFloat16 || call.out_dtype() == DType::kFloat16;
    return half && !call.number(1) ? "floor division of half tensors" : "";
  }
  const auto divisor = call.number(1);
  if (!divisor) return "integer division by a tensor may raise";
  std::vector<Inst> scratch;
  Builder builder(scratch);
  const int64_t wrapped = scratch[static_cast<size_t>(builder.integer(reg, divisor->integer))].integer;
  return wrapped == 0 || wrapped == -1 ? "integer division by 0 or -1" : "";
}

int emit_floor_divide(const L& l) {
  if (!l.out_is_float()) return int_floor_divide(l, l.as_out(0), l.as_out(1));
  return float_floor_divide(l, l.as_out(0), l.wide(1));
}
int emit_remainder(const L& l) { return int_remainder(l, l.as_out(0), l.as_out(1)); }
/// PyTorch's vector fmod is NaN where the quotient is huge, its scalar one is not: no kernel can be the same
/// as both.
std::string check_remainder(const C& call) {
  return is_float(reg_type(call.out_dtype())) ? "float remainder" : check_divisor(call);
}

bool reversed_division(const C& call) {
  return call.node().name.ends_with("__rtruediv__") || call.node().name.ends_with("__rdiv__");
}
int emit_div(const L& l) {
  const auto mode = l.call.text(2);
  if (mode == "floor") return emit_floor_divide(l);
  if (!mode && reversed_division(l.call)) {
    // number / tensor is tensor.reciprocal() * number in PyTorch, with the reciprocal rounded to the dtype.
    const int inverse = l.round_out(l.b.binary(Op::kDiv, l.constant(1), l.as_out(1)));
    return l.b.binary(Op::kMul, inverse, l.wide(0));
  }
  if (!l.out_is_float()) return l.b.binary(Op::kDiv, l.as_out(0), l.as_out(1));
  const int quotient = l.b.binary(Op::kDiv, l.as_out(0), l.wide(1));
  if (mode != "trunc") return quotient;
  // Between two half tensors the quotient is rounded before it is cut.
  return l.b.unary(Op::kTrunc, l.call.is_tensor(1) ? l.round_out(quotient) : quotient);
}
std::string check_div(const C& call) {
  if (!call.param(2))
    return is_float(reg_type(call.out_dtype())) ? "" : "true division with an integer result";
  const auto mode = call.text(2);
  if (mode != "trunc" && mode != "floor") return "rounding mode";
  if (mode == "trunc" && is_float(reg_type(call.out_dtype()))) return "";
  return check_divisor(call);
}

int power_of(const L& l, int x, int64_t exponent) {
  int result = -1, square = x;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = result < 0 ? square : l.b.binary(Op::kMul, result, square);
    if (exponent > 1) square = l.b.binary(Op::kMul, square, square);
  }
  return result;
}

int emit_pow(const L& l) {
  if (l.call.is_tensor(0) && l.call.is_tensor(1)) return l.b.binary(Op::kPow, l.as_out(0), l.as_out(1));
  if (!l.call.is_tensor(0)) {
    if (l.call.number(0)->real == 2) return l.b.unary(Op::kExp2, l.as_out(1));
    return l.b.binary(Op::kPow, l.as_out(0), l.as_out(1));
  }
  const int x = l.as_out(0);
  const Number exponent = *l.call.number(1);
  if (!l.out_is_float()) return exponent.integer == 0 ? l.integer(1) : power_of(l, x, exponent.integer);
  // bfloat16 goes through its own vector type there, which rounds every product.
  const bool rounds = l.call.out_dtype() == DType::kBFloat16;
  const auto product = [&](int p, int q) {
    const int result = l.b.binary(Op::kMul, p, q);
    return rounds ? l.round_out(result) : result;
  };
  const int one = l.constant(1);
  if (exponent.real == 0) return one;
  if (exponent.real == 1) return x;
  if (exponent.real == 2) return product(x, x);
  if (exponent.real == 3) return product(product(x, x), x);
  const bool is_f16 =
      l.call.out_dtype() == DType::kFloat16;  // which has no special roots: they differ at -inf
  if (exponent.real == 0.5 && !is_f16) return l.b.unary(Op::kSqrt, x);
  if (exponent.real == -0.5 && !is_f16) return l.b.binary(Op::kDiv, one, l.b.unary(Op::kSqrt, x));
  if (exponent.real == -1) return l.b.binary(Op::kDiv, one, x);
  if (exponent.real == -2) return l.b.binary(Op::kDiv, one, product(x, x));
  return l.b.binary(Op::kPow, x, l.as_out(1));
}
std::string check_pow(const C& call) {
  if (is_float(reg_type(call.out_dtype()))) return "";
  if (call.out_dtype() == DType::kBool) return "power of bools";
  const auto exponent = call.number(1);
  if (!call.is_tensor(0) || !exponent || !exponent->is_integer || exponent->integer < 0 ||
      exponent->integer > 64)
    return "integer power";
  return "";
}

int emit_sign(const L& l) {
  const int x = l.as_out(0);
  if (l.reg() == RegType::kBool) return x;
  const int zero = l.integer(0), one = l.integer(1);
  const int negative = l.reg() == RegType::kU8 ? zero : l.integer(-1);
  return l.b.select(l.b.binary(Op::kGt, x, zero), one,
                    l.b.select(l.b.binary(Op::kLt, x, zero), negative, zero));
}
int emit_neg(const L& l) { return l.b.unary(Op::kNeg, l.as_out(0)); }
int emit_abs(const L& l) { return l.reg() == RegType::kU8 ? l.as_out(0) : l.b.unary(Op::kAbs, l.as_out(0)); }
int emit_reciprocal(const L& l) { return l.b.binary(Op::kDiv, l.constant(1), l.as_out(0)); }
int emit_rsqrt(const L& l) { return l.b.binary(Op::kDiv, l.constant(1), l.b.unary(Op::kSqrt, l.as_out(0))); }
int emit_square(const L& l) { return l.b.binary(Op::kMul, l.as_out(0), l.as_out(0)); }

// --- activations
// --------------------------------------------------------------------------------------------------

int one_plus_exp_of_minus(const L& l, int x) {
  return l.b.binary(Op::kAdd, l.constant(1), l.b.unary(Op::kExp, l.b.unary(Op::kNeg, x)));
}
int softplus_of(const L& l, int x) { return l.b.unary(Op::kLog1p, l.b.unary(Op::kExp, x)); }

int emit_sigmoid(const L& l) {
  return l.b.binary(Op::kDiv, l.constant(1), one_plus_exp_of_minus(l, l.as_out(0)));
}
int emit_silu(const L& l) { return l.b.binary(Op::kDiv, l.as_out(0), one_plus_exp_of_minus(l, l.as_out(0))); }
int emit_log_sigmoid(const L& l) {
  const int x = l.as_out(0);
  const int low = at_most(l, x, l.constant(0));
  return l.b.binary(Op::kSub, low, softplus_of(l, l.b.unary(Op::kNeg, l.b.unary(Op::kAbs, x))));
}
int emit_softplus(const L& l) {
  const int x = l.as_out(0), beta = l.constant(l.call.real(1, 1));
  const int scaled = l.b.binary(Op::kMul, x, beta);
  const int curve = l.b.binary(Op::kDiv, softplus_of(l, scaled), beta);
  return l.b.select(l.b.binary(Op::kGt, scaled, l.constant(l.call.real(2, 20))), x, curve);
}
int emit_mish(const L& l) {
  const int x = l.as_out(0);
  return l.b.binary(Op::kMul, x, l.b.unary(Op::kTanh, softplus_of(l, x)));
}
int emit_relu(const L& l) { return at_least(l, l.as_out(0), l.integer(0)); }
int clamp_to(const L& l, int x, double low, double high) {
  return at_most(l, at_least(l, x, l.constant(low)), l.constant(high));
}
int emit_relu6(const L& l) { return clamp_to(l, l.as_out(0), 0, 6); }
int emit_hardtanh(const L& l) { return clamp_to(l, l.as_out(0), l.call.real(1, -1), l.call.real(2, 1)); }
int emit_hardsigmoid(const L& l) {
  const int shifted = l.b.binary(Op::kAdd, l.as_out(0), l.constant(3));
  return l.b.binary(Op::kDiv, clamp_to(l, shifted, 0, 6), l.constant(6));
}
int emit_hardswish(const L& l) {
  const int x = l.as_out(0), shifted = l.b.binary(Op::kAdd, x, l.constant(3));
  return l.b.binary(Op::kDiv, l.b.binary(Op::kMul, x, clamp_to(l, shifted, 0, 6)), l.constant(6));
}
int emit_leaky_relu(const L& l) {
  const int x = l.as_out(0);
  const int leak = l.b.binary(Op::kMul, x, l.constant(l.call.real(1, 0.01)));
  return l.b.select(l.b.binary(Op::kGt, x, l.constant(0)), x, leak);
}
int emit_elu(const L& l) {
  const double alpha = l.call.real(1, 1), scale = l.call.real(2, 1), input_scale = l.call.real(3, 1);
  const int x = l.as_out(0);
  const int curve = l.b.unary(Op::kExpm1, l.b.binary(Op::kMul, x, l.constant(input_scale)));
  return l.b.select(l.b.binary(Op::kLt, x, l.constant(0)),
                    l.b.binary(Op::kMul, curve, l.constant(alpha * scale)),
                    l.b.binary(Op::kMul, x, l.constant(scale)));
}
int gelu_tanh(const L& l) {
  const int x = l.as_out(0);
  const int cube = l.b.binary(Op::kMul, l.b.binary(Op::kMul, x, x), x);
  const int sum = l.b.fma(l.constant(0.044715), cube, x);
  const int inner = l.b.binary(Op::kMul, l.constant(std::sqrt(2.0 / kPi)), sum);
  const int bell = l.b.binary(Op::kAdd, l.constant(1), l.b.unary(Op::kTanh, inner));
  return l.b.binary(Op::kMul, l.b.binary(Op::kMul, l.constant(0.5), x), bell);
}
int emit_gelu(const L& l) {
  if (l.call.text(1) == "tanh" || l.call.rule().fn == ScalarFn::kGeluTanh) return gelu_tanh(l);
  const int x = l.as_out(0);
  const int erf = l.b.unary(Op::kErf, l.b.binary(Op::kMul, x, l.constant(std::sqrt(0.5))));
  return l.b.binary(Op::kMul, l.b.binary(Op::kMul, x, l.constant(0.5)),
                    l.b.binary(Op::kAdd, l.constant(1), erf));
}
std::string check_gelu(const C& call) {
  if (!call.param(1)) return "";
  const auto form = call.text(1);
  return form == "none" || form == "tanh" ? "" : "gelu of an unknown form";
}

// --- bounds, selection, interpolation
// -----------------------------------------------------------------------------

int clamp_bound(const L& l, int x, int i, int (*bound)(const L&, int, int)) {
  if (!l.call.param(i)) return x;
  const int limit = l.as_out(i);
  const int bounded = bound(l, x, limit);
  if (!l.out_is_float()) return bounded;
  const auto n = l.call.number(i);
  if (n && !std::isnan(n->real)) return bounded;
  // A NaN bound makes the result NaN; a NaN element stays.
  return l.b.select(is_nan(l, limit), limit, bounded);
}
int emit_clamp(const L& l) { return clamp_bound(l, clamp_bound(l, l.as_out(0), 1, &at_least), 2, &at_most); }
std::string check_clamp(const C& call) {
  if (call.out_dtype() == DType::kBool) return "clamp of bools";
  return call.param(1) || call.param(2) ? "" : "clamp without bounds";
}
int emit_clamp_max(const L& l) { return clamp_bound(l, l.as_out(0), 1, &at_most); }
std::string check_clamp_one(const C& call) {
  if (call.out_dtype() == DType::kBool) return "clamp of bools";
  return call.param(1) ? "" : "clamp without bounds";
}

template <Op wins>
int emit_extremum(const L& l) {
  const int x = l.as_out(0), y = l.as_out(1);
  if (l.reg() == RegType::kBool) return l.b.binary(wins == Op::kGt ? Op::kOr : Op::kAnd, x, y);
  const int plain = l.b.select(l.b.binary(wins, x, y), x, y);  // y NaN: y
  return l.out_is_float() ? l.b.select(is_nan(l, x), x, plain) : plain;
}

int emit_where(const L& l) { return l.b.select(l.as(0, DType::kBool), l.as_out(1), l.as_out(2)); }
std::string check_where(const C& call) {
  if (!call.is_tensor(0) || call.meta(0).dtype != DType::kBool) return "condition that is no bool tensor";
  return "";
}

int emit_where_method(const L& l) { return l.b.select(l.as(1, DType::kBool), l.as_out(0), l.as_out(2)); }
std::string check_where_method(const C& call) {
  return call.is_tensor(1) && call.meta(1).dtype == DType::kBool ? "" : "condition that is no bool tensor";
}

int emit_lerp(const L& l) {
  const int start = l.as_out(0), end = l.as_out(1);
  const int weight = l.call.is_tensor(2) ? l.as_out(2) : l.constant(l.call.real(2, 0));
  const int span = l.b.binary(Op::kSub, end, start);
  const int from_start = l.b.fma(weight, span, start);
  const int rest = l.b.binary(Op::kSub, weight, l.constant(1));
  const int from_end = l.b.fma(span, rest, end);
  const int near = l.b.binary(Op::kLt, l.b.unary(Op::kAbs, weight), l.constant(0.5));
  return l.b.select(near, from_start, from_end);
}
int scaled_by_value(const L& l, int x) {
  const auto value = l.call.number(3);
  if (!value || value->real == 1) return x;
  const int factor = l.out_is_float() ? l.constant(value->real) : l.integer(value->integer);
  return l.b.binary(Op::kMul, factor, x);
}
int emit_addcmul(const L& l) {
  if (l.out_is_float()) return l.b.fma(scaled_by_value(l, l.as_out(1)), l.as_out(2), l.as_out(0));
  return l.b.binary(Op::kAdd, l.as_out(0),
                    l.b.binary(Op::kMul, scaled_by_value(l, l.as_out(1)), l.as_out(2)));
}
int emit_addcdiv(const L& l) {
  return l.b.binary(Op::kAdd, l.as_out(0),
                    l.b.binary(Op::kDiv, scaled_by_value(l, l.as_out(1)), l.as_out(2)));
}
std::string check_addc(const C& call) {
  if (!call.is_tensor(0) || !call.is_tensor(1) || !call.is_tensor(2)) return "operand that is no tensor";
  if (call.out_dtype() == DType::kBool) return "addcmul of bools";
  const auto value = call.number(3);
  if (call.param(3) && !value) return "value that is no number";
  if (!is_float(reg_type(call.out_dtype())) && value && !value->is_integer) return "float value on integers";
  return "";
}
std::string check_addcdiv(const C& call) {
  return is_float(reg_type(call.out_dtype())) ? check_addc(call) : "integer addcdiv raises";
}

// --- bits, classes
// ------------------------------------------------------------------------------------------------

int emit_bit_not(const L& l) { return l.b.unary(Op::kNot, l.as_out(0)); }
int emit_logical_not(const L& l) { return l.b.unary(Op::kNot, truth(l, 0)); }
int out_of_range(const L& l, int shift, int bits) {
  const int large = l.b.binary(Op::kGe, shift, l.integer(bits));
  return l.reg() == RegType::kU8 ? large
                                 : l.b.binary(Op::kOr, large, l.b.binary(Op::kLt, shift, l.integer(0)));
}
int emit_shl(const L& l) {
  const int x = l.as_out(0), shift = l.as_out(1), zero = l.integer(0);
  const int out = out_of_range(l, shift, 8 * reg_size(l.reg()));
  return l.b.select(out, zero, l.b.binary(Op::kShl, x, l.b.select(out, zero, shift)));
}
int emit_shr(const L& l) {
  const int x = l.as_out(0), shift = l.as_out(1), zero = l.integer(0);
  const int bits = 8 * reg_size(l.reg());
  if (l.reg() == RegType::kU8) {
    const int out = out_of_range(l, shift, bits);
    return l.b.select(out, zero, l.b.binary(Op::kShr, x, l.b.select(out, zero, shift)));
  }
  const int out = out_of_range(l, shift, bits - 1);
  return l.b.binary(Op::kShr, x, l.b.select(out, l.integer(bits - 1), shift));
}
std::string check_ints(const C& call) {
  return is_int(reg_type(call.out_dtype())) ? "" : "shift of non-integers";
}
std::string check_bits(const C& call) {
  return is_float(reg_type(call.out_dtype())) ? "bit operation on floats" : "";
}

int own(const L& l) { return l.as(0, l.call.meta(0).dtype); }
int emit_isnan(const L& l) {
  const int x = own(l);
  return is_float(l.b.type(x)) ? is_nan(l, x) : l.b.boolean(false);
}
int emit_isinf(const L& l) {
  const int x = own(l);
  if (!is_float(l.b.type(x))) return l.b.boolean(false);
  const int infinity = l.b.constant(l.b.type(x), std::numeric_limits<double>::infinity());
  return l.b.binary(Op::kEq, l.b.unary(Op::kAbs, x), infinity);
}
int emit_isfinite(const L& l) {
  const int x = own(l);
  if (!is_float(l.b.type(x))) return l.b.boolean(true);
  const int infinity = l.b.constant(l.b.type(x), std::numeric_limits<double>::infinity());
  return l.b.binary(Op::kLt, l.b.unary(Op::kAbs, x), infinity);
}

int emit_copy(const L& l) { return l.as_out(0); }

// --- checks shared
// ------------------------------------------------------------------------------------------------

std::string check_float(const C& call) {
  return is_float(reg_type(call.out_dtype())) ? "" : "integer result of a float function";
}
std::string check_rsqrt(const C& call) {
  // PyTorch's scalar code for the last elements rounds the square root to the half type, its vector code does not.
  if (graph::item_size(call.out_dtype()) == 2 && is_float(reg_type(call.out_dtype()))) return "rsqrt of half tensors";
  return check_float(call);
}
std::string check_not_bool(const C& call) { return call.out_dtype() == DType::kBool ? "bool operand" : ""; }
std::string check_rounding(const C& call) {
  if (call.out_dtype() == DType::kBool) return "bool operand";
  return call.param(1) && call.real(1, 1) != 0 ? "rounding to decimals" : "";
}
std::string check_numbers(const C& call) {
  for (int i = 1; i < 4; ++i) {
    if (call.param(i) && !call.number(i)) return "parameter that is no number";
  }
  return check_float(call);
}
std::string check_extremum(const C& call) {
  return call.is_tensor(0) && call.is_tensor(1) ? "" : "not two tensors";
}

constexpr std::string_view kOne = "input", kTwo = "input other";

constexpr PointwiseRule kRules[] = {
    {ScalarFn::kAdd, "input other * alpha", 2, &emit_add, &check_alpha},
    {ScalarFn::kSub, "input other * alpha", 2, &emit_sub, &check_sub},
    {ScalarFn::kMul, kTwo, 2, &emit_mul},
    {ScalarFn::kDiv, "input other * rounding_mode", 2, &emit_div, &check_div},
    {ScalarFn::kFloorDiv, kTwo, 2, &emit_floor_divide, &check_divisor},
    {ScalarFn::kRemainder, kTwo, 2, &emit_remainder, &check_remainder},
    {ScalarFn::kPow, "input exponent", 2, &emit_pow, &check_pow},
    {ScalarFn::kNeg, kOne, 1, &emit_neg, &check_not_bool},
    {ScalarFn::kAbs, kOne, 1, &emit_abs, &check_not_bool},
    {ScalarFn::kSign, kOne, 1, &emit_sign},
    {ScalarFn::kReciprocal, kOne, 1, &emit_reciprocal, &check_float},
    {ScalarFn::kSqrt, kOne, 1, &emit_unary<Op::kSqrt>, &check_float},
    {ScalarFn::kRsqrt, kOne, 1, &emit_rsqrt, &check_rsqrt},
    {ScalarFn::kSquare, kOne, 1, &emit_square, &check_not_bool},
    {ScalarFn::kExp, kOne, 1, &emit_unary<Op::kExp>, &check_float},
    {ScalarFn::kExp2, kOne, 1, &emit_unary<Op::kExp2>, &check_float},
    {ScalarFn::kExpm1, kOne, 1, &emit_unary<Op::kExpm1>, &check_float},
    {ScalarFn::kLog, kOne, 1, &emit_unary<Op::kLog>, &check_float},
    {ScalarFn::kLog2, kOne, 1, &emit_unary<Op::kLog2>, &check_float},
    {ScalarFn::kLog10, kOne, 1, &emit_unary<Op::kLog10>, &check_float},
    {ScalarFn::kLog1p, kOne, 1, &emit_unary<Op::kLog1p>, &check_float},
    {ScalarFn::kSin, kOne, 1, &emit_unary<Op::kSin>, &check_float},
    {ScalarFn::kCos, kOne, 1, &emit_unary<Op::kCos>, &check_float},
    {ScalarFn::kTan, kOne, 1, &emit_unary<Op::kTan>, &check_float},
    {ScalarFn::kTanh, kOne, 1, &emit_unary<Op::kTanh>, &check_float},
    {ScalarFn::kSinh, kOne, 1, &emit_unary<Op::kSinh>, &check_float},
    {ScalarFn::kCosh, kOne, 1, &emit_unary<Op::kCosh>, &check_float},
    {ScalarFn::kAtan, kOne, 1, &emit_unary<Op::kAtan>, &check_float},
    {ScalarFn::kErf, kOne, 1, &emit_unary<Op::kErf>, &check_float},
    {ScalarFn::kSigmoid, kOne, 1, &emit_sigmoid, &check_float},
    {ScalarFn::kLogSigmoid, kOne, 1, &emit_log_sigmoid, &check_float},
    {ScalarFn::kSoftplus, "input beta threshold", 1, &emit_softplus, &check_numbers},
    {ScalarFn::kRelu, kOne, 1, &emit_relu, &check_not_bool},
    {ScalarFn::kRelu6, kOne, 1, &emit_relu6, &check_float},
    {ScalarFn::kLeakyRelu, "input negative_slope", 1, &emit_leaky_relu, &check_numbers},
    {ScalarFn::kElu, "input alpha scale input_scale", 1, &emit_elu, &check_numbers},
    {ScalarFn::kGeluErf, "input * approximate", 1, &emit_gelu, &check_gelu},
    {ScalarFn::kGeluTanh, "input * approximate", 1, &emit_gelu, &check_gelu},
    {ScalarFn::kSilu, kOne, 1, &emit_silu, &check_float},
    {ScalarFn::kMish, kOne, 1, &emit_mish, &check_float},
    {ScalarFn::kHardtanh, "input min_val max_val", 1, &emit_hardtanh, &check_numbers},
    {ScalarFn::kHardsigmoid, kOne, 1, &emit_hardsigmoid, &check_float},
    {ScalarFn::kHardswish, kOne, 1, &emit_hardswish, &check_float},
    {ScalarFn::kClamp, "input min max", 3, &emit_clamp, &check_clamp},
    {ScalarFn::kMin, kTwo, 2, &emit_extremum<Op::kLt>, &check_extremum},
    {ScalarFn::kMax, kTwo, 2, &emit_extremum<Op::kGt>, &check_extremum},
    {ScalarFn::kFloor, kOne, 1, &emit_rounding<Op::kFloor>, &check_not_bool},
    {ScalarFn::kCeil, kOne, 1, &emit_rounding<Op::kCeil>, &check_not_bool},
    {ScalarFn::kRound, "input * decimals", 1, &emit_rounding<Op::kRoundEven>, &check_rounding},
    {ScalarFn::kTrunc, kOne, 1, &emit_rounding<Op::kTrunc>, &check_not_bool},
    {ScalarFn::kEq, kTwo, 2, &emit_compare<Op::kEq>},
    {ScalarFn::kNe, kTwo, 2, &emit_compare<Op::kNe>},
    {ScalarFn::kLt, kTwo, 2, &emit_compare<Op::kLt>},
    {ScalarFn::kLe, kTwo, 2, &emit_compare<Op::kLe>},
    {ScalarFn::kGt, kTwo, 2, &emit_compare<Op::kGt>},
    {ScalarFn::kGe, kTwo, 2, &emit_compare<Op::kGe>},
    {ScalarFn::kLogicalAnd, kTwo, 2, &emit_logical<Op::kAnd>},
    {ScalarFn::kLogicalOr, kTwo, 2, &emit_logical<Op::kOr>},
    {ScalarFn::kLogicalNot, kOne, 1, &emit_logical_not},
    {ScalarFn::kLogicalXor, kTwo, 2, &emit_logical<Op::kXor>},
    {ScalarFn::kBitAnd, kTwo, 2, &emit_bits<Op::kAnd>, &check_bits},
    {ScalarFn::kBitOr, kTwo, 2, &emit_bits<Op::kOr>, &check_bits},
    {ScalarFn::kBitXor, kTwo, 2, &emit_bits<Op::kXor>, &check_bits},
    {ScalarFn::kBitNot, kOne, 1, &emit_bit_not, &check_bits},
    {ScalarFn::kShl, kTwo, 2, &emit_shl, &check_ints},
    {ScalarFn::kShr, kTwo, 2, &emit_shr, &check_ints},
    {ScalarFn::kWhere, "condition input other", 3, &emit_where, &check_where},
    {ScalarFn::kCast, kOne, 1, &emit_copy},
    {ScalarFn::kLerp, "input end weight", 3, &emit_lerp, &check_float},
    {ScalarFn::kAddcmul, "input tensor1 tensor2 * value", 3, &emit_addcmul, &check_addc},
    {ScalarFn::kAddcdiv, "input tensor1 tensor2 * value", 3, &emit_addcdiv, &check_addcdiv},
    {ScalarFn::kIsNan, kOne, 1, &emit_isnan},
    {ScalarFn::kIsInf, kOne, 1, &emit_isinf},
    {ScalarFn::kIsFinite, kOne, 1, &emit_isfinite},
    {ScalarFn::kCopy, kOne, 1, &emit_copy},
};
// The table is indexed by ScalarFn: kNone has no row, all others sit at their number minus one.
constexpr bool rules_in_order() {
  for (size_t i = 0; i < std::size(kRules); ++i) {
    if (static_cast<size_t>(kRules[i].fn) != i + 1) return false;
  }
  return std::size(kRules) == static_cast<size_t>(ScalarFn::kCopy);
}
static_assert(rules_in_order());

/// Rows that have no scalar function of their own, or share one but not its parameters.
struct NamedRule {
  std::string_view row;
  PointwiseRule rule;
};
constexpr NamedRule kNamedRules[] = {
    {"clamp_min", {ScalarFn::kClamp, "input min", 2, &emit_clamp, &check_clamp_one}},
    {"clamp_max", {ScalarFn::kClamp, "input max", 2, &emit_clamp_max, &check_clamp_one}},
    {"where_method", {ScalarFn::kWhere, "input condition other", 3, &emit_where_method, &check_where_method}},
};
/// Rows whose scalar function alone would be wrong here.
constexpr std::string_view kNoRule[] = {"fmin", "fmax", "fmod"};

}  // namespace

const PointwiseRule* find_rule(const graph::Node& node) {
  if (!node.op) return nullptr;
  for (const std::string_view name : kNoRule) {
    if (node.op->name == name) return nullptr;
  }
  for (const NamedRule& named : kNamedRules) {
    if (node.op->name == named.row) return &named.rule;
  }
  if (node.op->scalar == ScalarFn::kNone) return nullptr;
  return &kRules[static_cast<size_t>(node.op->scalar) - 1];
}

}  // namespace breakline::schedule
