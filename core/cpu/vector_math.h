// SPDX-License-Identifier: GPL-3.0-or-later
// Elementary functions as inline vector IR. float32: own polynomials, within 2 ulp (tests/differential/cpu
// measures them against float64). float64 and arguments beyond a polynomial's reach: lane by lane through
// scalar_math.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <optional>
#include <string>
#include <string_view>

#include "core/schedule/kernel_ir.h"

namespace breakline::cpu {

/// How much the code of a kernel may cost to make.
enum class Tier {
  kFirst,   ///< as little as can be: it serves for some milliseconds
  kBetter,  ///< what runs from then on
};

/// A float32 function of vectors as code of its own, for first code to call.
struct MathFunction {
  schedule::Op op;
  unsigned lanes;
  std::string symbol() const;
  /// The function that `symbol` stands for; none for other names.
  static std::optional<MathFunction> of(std::string_view symbol);
};

class VectorMath {
 public:
  /// `lanes`: elements of a vector; `fma`: the target has fused multiply-add; `scratch`: two stack slots of 8
  /// * lanes bytes. For the first tier float32 functions are calls of a MathFunction: the same instructions,
  /// but to select them takes longer than all the rest of a kernel.
  VectorMath(llvm::IRBuilder<>& builder, unsigned lanes, bool fma, Tier tier, llvm::Value* scratch_a,
             llvm::Value* scratch_b)
      : b_(builder), lanes_(lanes), fma_(fma), tier_(tier), scratch_a_(scratch_a), scratch_b_(scratch_b) {}

  /// `y` for two-operand functions (kPow, kRem). May add basic blocks.
  llvm::Value* call(schedule::Op op, llvm::Value* x, llvm::Value* y);
  llvm::Value* fma(llvm::Value* a, llvm::Value* b, llvm::Value* c);

  /// Round to nearest even, as bits in the low 16 of an i32 lane / as a float again.
  llvm::Value* bf16_bits(llvm::Value* x);

 private:
  llvm::Type* f32() { return llvm::FixedVectorType::get(b_.getFloatTy(), lanes_); }
  llvm::Type* f64() { return llvm::FixedVectorType::get(b_.getDoubleTy(), lanes_); }
  llvm::Type* i32() { return llvm::FixedVectorType::get(b_.getInt32Ty(), lanes_); }
  llvm::Type* i64() { return llvm::FixedVectorType::get(b_.getInt64Ty(), lanes_); }
  llvm::Value* num(double value) { return llvm::ConstantFP::get(f32(), value); }
  llvm::Value* wide(double value) { return llvm::ConstantFP::get(f64(), value); }
  llvm::Value* bits(int64_t value) {
    return llvm::ConstantInt::get(i32(), static_cast<uint64_t>(value), true);
  }
  llvm::Value* as_int(llvm::Value* x) { return b_.CreateBitCast(x, i32()); }
  llvm::Value* as_float(llvm::Value* x) { return b_.CreateBitCast(x, f32()); }
  llvm::Value* abs(llvm::Value* x) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); }
  llvm::Value* copysign(llvm::Value* x, llvm::Value* sign) {
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, x, sign);
  }
  /// Bounds that leave a NaN alone.
  llvm::Value* at_most(llvm::Value* x, double bound);
  llvm::Value* at_least(llvm::Value* x, double bound);
  template <size_t N>
  llvm::Value* poly(llvm::Value* x, const double (&highest_first)[N]);

  struct Reduced {
    llvm::Value* n;  ///< integer, i32
    llvm::Value* r;  ///< remainder
  };
  Reduced reduce_exp(llvm::Value* x);
  Reduced reduce_trig(llvm::Value* x);
  struct Split {
    llvm::Value* exponent;  ///< as float
    llvm::Value* f;         ///< mantissa - 1, in [sqrt(1/2) - 1, sqrt(2) - 1]
    llvm::Value* log_rest;  ///< log(1 + f) - f
  };
  Split split_log(llvm::Value* x);
  llvm::Value* log_edges(llvm::Value* x, llvm::Value* result);
  llvm::Value* power_of_two(llvm::Value* n);
  llvm::Value* expm1_of_remainder(llvm::Value* r);
  llvm::Value* scale(llvm::Value* x, llvm::Value* n);

  llvm::Value* exp(llvm::Value* x);
  llvm::Value* exp_down(llvm::Value* x);
  llvm::Value* exp2(llvm::Value* x);
  llvm::Value* expm1(llvm::Value* x);
  llvm::Value* log(llvm::Value* x);
  llvm::Value* log2(llvm::Value* x);
  llvm::Value* log10(llvm::Value* x);
  llvm::Value* log1p(llvm::Value* x);
  llvm::Value* tanh(llvm::Value* x);
  llvm::Value* sinh(llvm::Value* x);
  llvm::Value* cosh(llvm::Value* x);
  llvm::Value* atan(llvm::Value* x);
  llvm::Value* erf(llvm::Value* x);
  llvm::Value* sin_poly(llvm::Value* r);
  llvm::Value* cos_poly(llvm::Value* r);
  llvm::Value* trig(schedule::Op op, llvm::Value* x);
  llvm::Value* pow(llvm::Value* x, llvm::Value* y);
  llvm::Value* inlined(schedule::Op op, llvm::Value* x, llvm::Value* y);
  llvm::Value* outlined(schedule::Op op, llvm::Value* x, llvm::Value* y);
  /// `fast` for lanes that satisfy `usual`, the scalar function for the others: what a lane gets does not
  /// depend on its neighbours.
  template <typename Fast>
  llvm::Value* guarded(schedule::Op op, llvm::Value* usual, llvm::Value* x, llvm::Value* y, Fast fast);
  llvm::Value* by_lane(schedule::Op op, llvm::Value* x, llvm::Value* y);

  llvm::IRBuilder<>& b_;
  unsigned lanes_;
  bool fma_;
  Tier tier_;
  llvm::Value* scratch_a_;
  llvm::Value* scratch_b_;
};

}  // namespace breakline::cpu
