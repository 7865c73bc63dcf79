// SPDX-License-Identifier: GPL-3.0-or-later
// Polynomials follow the well-known single-precision forms (Cody-Waite reduction; exp, log, sin, cos, atan in
// the Cephes degrees); those of erf are own fits. The IR carries no fast-math flags: every operation rounds
// as written.
#include "core/cpu/vector_math.h"

#include <llvm/IR/Module.h>

#include "core/cpu/scalar_math.h"

namespace breakline::cpu {

using llvm::Value;
using schedule::Op;

namespace {

constexpr const char* kMathPrefix = "breakline_math_";
constexpr double kLog2E = 1.44269504088896341;
constexpr double kLn2 = 0.693147180559945309;
// ln 2 in two parts; the first has few bits, so that its products with small integers are exact.
constexpr double kLn2Hi = 0.693359375, kLn2Lo = -2.12194440e-4;
constexpr double kHalfPi = 1.57079632679489662, kHalfPiLow = 6.123233995736766e-17;
// Adding 1.5 * 2^23 (2^52) leaves the nearest integer in the low mantissa bits.
constexpr double kRound32 = 12582912.0, kRound64 = 6755399441055744.0;

}  // namespace

std::string MathFunction::symbol() const {
  return kMathPrefix + std::to_string(static_cast<int>(op)) + "_" + std::to_string(lanes);
}

std::optional<MathFunction> MathFunction::of(std::string_view symbol) {
  if (!symbol.starts_with(kMathPrefix)) return std::nullopt;
  const std::string numbers(symbol.substr(std::string_view(kMathPrefix).size()));
  const size_t cut = numbers.find('_');
  return MathFunction{static_cast<Op>(std::stoi(numbers)),
                      static_cast<unsigned>(std::stoul(numbers.substr(cut + 1)))};
}

Value* VectorMath::fma(Value* a, Value* b, Value* c) {
  if (fma_) return b_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c});
  return b_.CreateFAdd(b_.CreateFMul(a, b), c);
}

Value* VectorMath::at_most(Value* x, double bound) {
  Value* limit = llvm::ConstantFP::get(x->getType(), bound);
  return b_.CreateSelect(b_.CreateFCmpOGT(x, limit), limit, x);
}
Value* VectorMath::at_least(Value* x, double bound) {
  Value* limit = llvm::ConstantFP::get(x->getType(), bound);
  return b_.CreateSelect(b_.CreateFCmpOLT(x, limit), limit, x);
}

template <size_t N>
Value* VectorMath::poly(Value* x, const double (&highest_first)[N]) {
  Value* result = llvm::ConstantFP::get(x->getType(), highest_first[0]);
  for (size_t i = 1; i < N; ++i)
    result = fma(result, x, llvm::ConstantFP::get(x->getType(), highest_first[i]));
  return result;
}

// --- exponentials
// -------------------------------------------------------------------------------------------------

/// x = n ln 2 + r, |r| <= ln 2 / 2; x within about ±2^21. A NaN gives some n and r = NaN.
VectorMath::Reduced VectorMath::reduce_exp(Value* x) {
  Value* shifted = fma(x, num(kLog2E), num(kRound32));
  Value* n = b_.CreateFSub(shifted, num(kRound32));
  Value* r = fma(n, num(-kLn2Hi), x);
  r = fma(n, num(-kLn2Lo), r);
  return {b_.CreateSub(as_int(shifted), as_int(num(kRound32))), r};
}

/// 2^n for n in the normal range.
Value* VectorMath::power_of_two(Value* n) {
  return as_float(b_.CreateShl(b_.CreateAdd(n, bits(127)), bits(23)));
}

/// e^r - 1 for |r| <= 0.35.
Value* VectorMath::expm1_of_remainder(Value* r) {
  Value* p = poly(r, {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1,
                      5.0000001201e-1});
  return fma(p, b_.CreateFMul(r, r), r);
}

/// x * 2^n in two steps, so that results below the normal range round once and those above become infinite.
Value* VectorMath::scale(Value* x, Value* n) {
  Value* half = b_.CreateAShr(n, bits(1));
  Value* first = b_.CreateFMul(x, power_of_two(half));
  return b_.CreateFMul(first, power_of_two(b_.CreateSub(n, half)));
}

Value* VectorMath::exp(Value* x) {
  const Reduced reduced = reduce_exp(at_least(at_most(x, 89), -104));
  return scale(b_.CreateFAdd(expm1_of_remainder(reduced.r), num(1)), reduced.n);
}

Value* VectorMath::exp_down(Value* x) {
  // The magic number carries the bias of exponents, so that its low bits, moved up, are 2^n; 0 for n = -127.
  constexpr double kBiased = kRound32 + 127;
  Value* bounded = at_least(x, -88);
  Value* shifted = fma(bounded, num(kLog2E), num(kBiased));
  Value* n = b_.CreateFSub(shifted, num(kBiased));
  Value* r = fma(n, num(-kLn2Lo), fma(n, num(-kLn2Hi), bounded));
  Value* power = as_float(b_.CreateShl(as_int(shifted), bits(23)));
  return b_.CreateFMul(b_.CreateFAdd(expm1_of_remainder(r), num(1)), power);
}

Value* VectorMath::exp2(Value* x) {
  Value* bounded = at_least(at_most(x, 129), -151);
  Value* shifted = b_.CreateFAdd(bounded, num(kRound32));
  Value* n = b_.CreateFSub(shifted, num(kRound32));
  Value* r = b_.CreateFMul(b_.CreateFSub(bounded, n), num(kLn2));
  Value* power = b_.CreateSub(as_int(shifted), as_int(num(kRound32)));
  return scale(b_.CreateFAdd(expm1_of_remainder(r), num(1)), power);
}

Value* VectorMath::expm1(Value* x) {
  const Reduced reduced = reduce_exp(at_least(at_most(x, 89), -30));
  // 2 * (2^(n-1) q + 2^(n-1) - 1/2): the half power keeps the largest results finite.
  Value* half_power = power_of_two(b_.CreateSub(reduced.n, bits(1)));
  Value* sum = fma(half_power, expm1_of_remainder(reduced.r), b_.CreateFSub(half_power, num(0.5)));
  Value* result = b_.CreateFMul(sum, num(2));
  Value* large = b_.CreateFCmpOGT(x, num(88.73));
  result = b_.CreateSelect(large, llvm::ConstantFP::getInfinity(f32()), result);
  return b_.CreateSelect(b_.CreateFCmpOEQ(x, num(0)), x, result);
}

// --- logarithms
// ---------------------------------------------------------------------------------------------------

VectorMath::Split VectorMath::split_log(Value* x) {
  Value* tiny = b_.CreateFCmpOLT(x, num(1.17549435e-38));
  Value* scaled = b_.CreateSelect(tiny, b_.CreateFMul(x, num(8388608.0)), x);
  Value* pattern = as_int(scaled);
  // Moves the cut between binades to sqrt(1/2).
  Value* offset = b_.CreateSub(pattern, bits(0x3f3504f3));
  Value* exponent = b_.CreateAShr(offset, bits(23));
  Value* mantissa = as_float(b_.CreateSub(pattern, b_.CreateShl(exponent, bits(23))));
  exponent = b_.CreateSub(exponent, b_.CreateSelect(tiny, bits(23), bits(0)));
  Value* f = b_.CreateFSub(mantissa, num(1));
  Value* z = b_.CreateFMul(f, f);
  Value* p = poly(f, {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
                      -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1});
  Value* rest = b_.CreateFMul(b_.CreateFMul(f, z), p);
  return {b_.CreateSIToFP(exponent, f32()), f, fma(z, num(-0.5), rest)};
}

/// Results at 0, below 0, at infinity and NaN.
Value* VectorMath::log_edges(Value* x, Value* result) {
  Value* infinity = llvm::ConstantFP::getInfinity(f32());
  result = b_.CreateSelect(b_.CreateFCmpOLT(x, infinity), result, x);
  result = b_.CreateSelect(b_.CreateFCmpOEQ(x, num(0)), llvm::ConstantFP::getInfinity(f32(), true), result);
  return b_.CreateSelect(b_.CreateFCmpOLT(x, num(0)), llvm::ConstantFP::getNaN(f32()), result);
}

Value* VectorMath::log(Value* x) {
  const Split s = split_log(x);
  Value* low = fma(s.exponent, num(kLn2Lo), s.log_rest);
  return log_edges(x, fma(s.exponent, num(kLn2Hi), b_.CreateFAdd(s.f, low)));
}

Value* VectorMath::log2(Value* x) {
  const Split s = split_log(x);
  // log2(e) in two parts: f * high part is split off, so that values near 1 keep their precision.
  constexpr double kHigh = 1.44140625, kLow = kLog2E - kHigh;
  Value* sum = b_.CreateFAdd(s.f, s.log_rest);
  Value* low = fma(s.log_rest, num(kHigh), b_.CreateFMul(sum, num(kLow)));
  Value* mantissa = fma(s.f, num(kHigh), low);
  return log_edges(x, b_.CreateFAdd(s.exponent, mantissa));
}

Value* VectorMath::log10(Value* x) {
  const Split s = split_log(x);
  constexpr double kLog10E = 0.434294481903251828, kHigh = 0.43359375, kLow = kLog10E - kHigh;
  constexpr double kLog10Of2 = 0.301029995663981195, kTwoHigh = 0.30078125, kTwoLow = kLog10Of2 - kTwoHigh;
  Value* sum = b_.CreateFAdd(s.f, s.log_rest);
  Value* low = fma(s.log_rest, num(kHigh), b_.CreateFMul(sum, num(kLow)));
  low = fma(s.exponent, num(kTwoLow), low);
  Value* mantissa = fma(s.f, num(kHigh), low);
  return log_edges(x, fma(s.exponent, num(kTwoHigh), mantissa));
}

Value* VectorMath::log1p(Value* x) {
  Value* u = b_.CreateFAdd(x, num(1));
  // What the rounding of 1 + x lost, as a share of u.
  Value* lost = b_.CreateFSub(x, b_.CreateFSub(u, num(1)));
  Value* usual =
      b_.CreateAnd(b_.CreateFCmpOGT(u, num(0)), b_.CreateFCmpOLT(u, llvm::ConstantFP::getInfinity(f32())));
  Value* correction = b_.CreateSelect(usual, b_.CreateFDiv(lost, u), num(0));
  Value* result = b_.CreateFAdd(log(u), correction);
  return b_.CreateSelect(b_.CreateFCmpOEQ(x, num(0)), x, result);
}

// --- hyperbolic, inverse tangent, error function
// ------------------------------------------------------------------

Value* VectorMath::tanh(Value* x) {
  Value* e = expm1(b_.CreateFMul(at_most(abs(x), 10), num(2)));
  return copysign(b_.CreateFDiv(e, b_.CreateFAdd(e, num(2))), x);
}

Value* VectorMath::sinh(Value* x) {
  Value* a = abs(x);
  Value* e = expm1(a);
  Value* usual = b_.CreateFMul(num(0.5), b_.CreateFAdd(e, b_.CreateFDiv(e, b_.CreateFAdd(e, num(1)))));
  Value* root = exp(b_.CreateFMul(a, num(0.5)));
  Value* large = b_.CreateFMul(b_.CreateFMul(root, num(0.5)), root);
  return copysign(b_.CreateSelect(b_.CreateFCmpOGT(a, num(88)), large, usual), x);
}

Value* VectorMath::cosh(Value* x) {
  Value* a = abs(x);
  Value* e = exp(a);
  Value* usual = b_.CreateFMul(num(0.5), b_.CreateFAdd(e, b_.CreateFDiv(num(1), e)));
  Value* root = exp(b_.CreateFMul(a, num(0.5)));
  Value* large = b_.CreateFMul(b_.CreateFMul(root, num(0.5)), root);
  return b_.CreateSelect(b_.CreateFCmpOGT(a, num(88)), large, usual);
}

Value* VectorMath::atan(Value* x) {
  Value* a = abs(x);
  Value* far = b_.CreateFCmpOGT(a, num(2.414213562373095));
  Value* middle = b_.CreateFCmpOGT(a, num(0.4142135623730950));
  Value* numerator = b_.CreateSelect(far, num(-1), b_.CreateSelect(middle, b_.CreateFSub(a, num(1)), a));
  Value* divisor = b_.CreateSelect(far, a, b_.CreateSelect(middle, b_.CreateFAdd(a, num(1)), num(1)));
  Value* base = b_.CreateSelect(far, num(kHalfPi), b_.CreateSelect(middle, num(kHalfPi / 2), num(0)));
  Value* r = b_.CreateFDiv(numerator, divisor);
  Value* z = b_.CreateFMul(r, r);
  Value* p = poly(z, {8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1});
  Value* tail = fma(b_.CreateFMul(p, z), r, r);
  // What the rounding of pi/2 and pi/4 left out.
  constexpr double kHalfPiRest = kHalfPi - 1.57079637050628662109375;
  Value* rest = b_.CreateSelect(far, num(kHalfPiRest), b_.CreateSelect(middle, num(kHalfPiRest / 2), num(0)));
  return copysign(b_.CreateFAdd(base, b_.CreateFAdd(tail, rest)), x);
}

Value* VectorMath::erf(Value* x) {
  Value* a = abs(x);
  Value* z = b_.CreateFMul(x, x);
  Value* p = poly(z, {7.85385841190478e-05, -0.0008010193362166778, 0.005188327743589338,
                      -0.026853812027861558, 0.11283585153143787, -0.3761262582505489, 0.1283791657271118});
  Value* near = fma(x, p, x);
  // 1 - exp(-q(|x| - 1)), where q fits -log(erfc) on [1, 4].
  Value* t = b_.CreateFSub(at_most(a, 4), num(1));
  Value* q = poly(t, {-0.00018638079180086556, 0.001829389253418539, -0.009895468744780174,
                      0.041503502844830835, 0.8431176062325829, 2.638966879952038, 1.8496055156500928});
  const Reduced reduced = reduce_exp(b_.CreateFNeg(q));
  Value* rest = b_.CreateFMul(b_.CreateFAdd(expm1_of_remainder(reduced.r), num(1)), power_of_two(reduced.n));
  Value* far = copysign(b_.CreateFSub(num(1), rest), x);
  return b_.CreateSelect(b_.CreateFCmpOGT(a, num(1)), far, near);
}

// --- sine, cosine, tangent
// ----------------------------------------------------------------------------------------

/// x = n pi/2 + r, done in float64: right for |x| < 2^30.
VectorMath::Reduced VectorMath::reduce_trig(Value* x) {
  Value* w = b_.CreateFPExt(x, f64());
  Value* shifted = fma(w, wide(1 / kHalfPi), wide(kRound64));
  Value* n = b_.CreateFSub(shifted, wide(kRound64));
  Value* r = fma(n, wide(-kHalfPi), w);
  r = fma(n, wide(-kHalfPiLow), r);
  return {b_.CreateTrunc(b_.CreateBitCast(shifted, i64()), i32()), b_.CreateFPTrunc(r, f32())};
}

Value* VectorMath::sin_poly(Value* r) {
  Value* z = b_.CreateFMul(r, r);
  Value* p = poly(z, {-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1});
  return fma(b_.CreateFMul(p, z), r, r);
}

Value* VectorMath::cos_poly(Value* r) {
  Value* z = b_.CreateFMul(r, r);
  Value* p = poly(z, {2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2});
  Value* head = fma(z, num(-0.5), num(1));
  return fma(b_.CreateFMul(z, z), p, head);
}

Value* VectorMath::trig(Op op, Value* x) {
  // Without fma the reduction's first product is rounded and only small arguments stay right.
  Value* usual = b_.CreateFCmpOLT(abs(x), num(fma_ ? 1073741824.0 : 1024.0));
  return guarded(op, usual, x, nullptr, [&] {
    const Reduced reduced = reduce_trig(x);
    Value* s = sin_poly(reduced.r);
    Value* c = cos_poly(reduced.r);
    Value* quadrant = op == Op::kCos ? b_.CreateAdd(reduced.n, bits(1)) : reduced.n;
    Value* odd = b_.CreateICmpNE(b_.CreateAnd(quadrant, bits(1)), bits(0));
    if (op == Op::kTan) {
      Value* numerator = b_.CreateSelect(odd, b_.CreateFNeg(c), s);
      return b_.CreateFDiv(numerator, b_.CreateSelect(odd, s, c));
    }
    Value* magnitude = b_.CreateSelect(odd, c, s);
    Value* flip = b_.CreateShl(b_.CreateAnd(quadrant, bits(2)), bits(30));
    return as_float(b_.CreateXor(as_int(magnitude), flip));
  });
}

// --- powers
// -------------------------------------------------------------------------------------------------------

/// exp(y log x) in float64 for positive normal x; everything else by the scalar function.
Value* VectorMath::pow(Value* x, Value* y) {
  Value* infinity = llvm::ConstantFP::getInfinity(f32());
  Value* usual = b_.CreateAnd(b_.CreateFCmpOGE(x, num(1.17549435e-38)), b_.CreateFCmpOLT(x, infinity));
  usual = b_.CreateAnd(usual, b_.CreateFCmpOLT(abs(y), infinity));
  return guarded(Op::kPow, usual, x, y, [&] {
    Value* pattern = as_int(x);
    Value* exponent = b_.CreateAShr(b_.CreateSub(pattern, bits(0x3f3504f3)), bits(23));
    Value* mantissa = as_float(b_.CreateSub(pattern, b_.CreateShl(exponent, bits(23))));
    Value* m = b_.CreateFPExt(mantissa, f64());
    Value* s = b_.CreateFDiv(b_.CreateFSub(m, wide(1)), b_.CreateFAdd(m, wide(1)));
    Value* z = b_.CreateFMul(s, s);
    // log(m) = 2 (s + s^3/3 + s^5/5 + …), |s| <= 0.172
    Value* series =
        poly(z, {2.0 / 17, 2.0 / 15, 2.0 / 13, 2.0 / 11, 2.0 / 9, 2.0 / 7, 2.0 / 5, 2.0 / 3, 2.0});
    Value* log2_m = b_.CreateFMul(b_.CreateFMul(s, series), wide(kLog2E));
    Value* log2_x = b_.CreateFAdd(log2_m, b_.CreateSIToFP(exponent, f64()));
    Value* product = at_least(at_most(b_.CreateFMul(log2_x, b_.CreateFPExt(y, f64())), 200), -200);
    Value* shifted = b_.CreateFAdd(product, wide(kRound64));
    Value* n = b_.CreateFSub(shifted, wide(kRound64));
    Value* r = b_.CreateFMul(b_.CreateFSub(product, n), wide(kLn2));
    Value* e = poly(r, {1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24,
                        1.0 / 6, 0.5, 1.0, 1.0});
    // The low mantissa bits of `shifted` are n: add it to the exponent field.
    Value* whole = b_.CreateShl(b_.CreateBitCast(shifted, i64()), llvm::ConstantInt::get(i64(), 52));
    Value* result = b_.CreateBitCast(b_.CreateAdd(b_.CreateBitCast(e, i64()), whole), f64());
    return b_.CreateFPTrunc(result, f32());
  });
}

// --- dispatch
// -----------------------------------------------------------------------------------------------------

Value* VectorMath::bf16_bits(Value* x) {
  Value* pattern = as_int(x);
  Value* odd = b_.CreateAnd(b_.CreateLShr(pattern, bits(16)), bits(1));
  Value* rounded = b_.CreateLShr(b_.CreateAdd(pattern, b_.CreateAdd(odd, bits(0x7fff))), bits(16));
  return b_.CreateSelect(b_.CreateFCmpUNO(x, x), bits(0x7fc0), rounded);
}

template <typename Fast>
Value* VectorMath::guarded(Op op, Value* usual, Value* x, Value* y, Fast fast) {
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  llvm::LLVMContext& context = b_.getContext();
  Value* quick = fast();
  auto* before = b_.GetInsertBlock();
  auto* slow_block = llvm::BasicBlock::Create(context, "by_lane", function);
  auto* join = llvm::BasicBlock::Create(context, "joined", function);
  b_.CreateCondBr(b_.CreateAndReduce(usual), join, slow_block);
  b_.SetInsertPoint(slow_block);
  Value* mixed = b_.CreateSelect(usual, quick, by_lane(op, x, y));
  b_.CreateBr(join);
  b_.SetInsertPoint(join);
  llvm::PHINode* result = b_.CreatePHI(x->getType(), 2);
  result->addIncoming(quick, before);
  result->addIncoming(mixed, slow_block);
  return result;
}

Value* VectorMath::by_lane(Op op, Value* x, Value* y) {
  const bool is_f64 = x->getType()->getScalarType()->isDoubleTy();
  const char* symbol = nullptr;
  for (const ScalarFunction& f : scalar_functions()) {
    if (f.op == op && f.f64 == is_f64) symbol = f.symbol;
  }
  llvm::Module* module = b_.GetInsertBlock()->getModule();
  llvm::Type* pointer = b_.getPtrTy();
  std::vector<llvm::Type*> types = {pointer};
  if (y) types.push_back(pointer);
  types.push_back(b_.getInt32Ty());
  const auto callee =
      module->getOrInsertFunction(symbol, llvm::FunctionType::get(b_.getVoidTy(), types, false));
  const llvm::Align align(x->getType()->getScalarSizeInBits() / 8);
  b_.CreateAlignedStore(x, scratch_a_, align);
  std::vector<Value*> arguments = {scratch_a_};
  if (y) {
    b_.CreateAlignedStore(y, scratch_b_, align);
    arguments.push_back(scratch_b_);
  }
  arguments.push_back(b_.getInt32(lanes_));
  b_.CreateCall(callee, arguments);
  return b_.CreateAlignedLoad(x->getType(), scratch_a_, align);
}

Value* VectorMath::call(Op op, Value* x, Value* y) {
  if (x->getType()->getScalarType()->isDoubleTy() || op == Op::kRem) return by_lane(op, x, y);
  return tier_ == Tier::kFirst ? outlined(op, x, y) : inlined(op, x, y);
}

Value* VectorMath::outlined(Op op, Value* x, Value* y) {
  llvm::Module* module = b_.GetInsertBlock()->getModule();
  std::vector<llvm::Type*> types(y ? 2 : 1, x->getType());
  const llvm::FunctionCallee callee = module->getOrInsertFunction(
      MathFunction{op, lanes_}.symbol(), llvm::FunctionType::get(x->getType(), types, false));
  return y ? b_.CreateCall(callee, {x, y}) : b_.CreateCall(callee, {x});
}

Value* VectorMath::inlined(Op op, Value* x, Value* y) {
  switch (op) {
    case Op::kExp:
      return exp(x);
    case Op::kExpDown:
      return exp_down(x);
    case Op::kExp2:
      return exp2(x);
    case Op::kExpm1:
      return expm1(x);
    case Op::kLog:
      return log(x);
    case Op::kLog2:
      return log2(x);
    case Op::kLog10:
      return log10(x);
    case Op::kLog1p:
      return log1p(x);
    case Op::kTanh:
      return tanh(x);
    case Op::kSinh:
      return sinh(x);
    case Op::kCosh:
      return cosh(x);
    case Op::kAtan:
      return atan(x);
    case Op::kErf:
      return erf(x);
    case Op::kPow:
      return pow(x, y);
    default:
      return trig(op, x);
  }
}

}  // namespace breakline::cpu
