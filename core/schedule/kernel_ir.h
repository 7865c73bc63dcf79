// SPDX-License-Identifier: GPL-3.0-or-later
// The kernel IR: one loop nest over a dense iteration space whose body is a typed scalar program. Every
// emitter (LLVM, SPIR-V) consumes exactly this; PyTorch's semantics (promotion, rounding, integer rules) are
// spelled out in it by lower.cpp.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace breakline::schedule {

/// Type of a register. bfloat16 and float16 elements are float32 registers: loads widen, stores narrow (round
/// to nearest even), and `Op::kRound` rounds in between wherever eager would have stored a half tensor.
enum class RegType : uint8_t { kBool, kU8, kI8, kI16, kI32, kI64, kF32, kF64 };

/// Register type that holds elements of `dtype`. Complex and unknown dtypes have none: see `has_reg_type`.
RegType reg_type(graph::DType dtype);
bool has_reg_type(graph::DType dtype);
std::string_view reg_type_name(RegType type);
bool is_float(RegType type);
/// Signed or unsigned integer (not bool).
bool is_int(RegType type);
int reg_size(RegType type);

/// What an instruction does. Operands are earlier instructions; unless said otherwise they have the type of
/// the result.
enum class Op : uint8_t {
  kLoad,    ///< element of `Kernel::inputs[index]`, widened to the register type (bool: byte != 0)
  kLoadAt,  ///< as kLoad, `integer` * a elements further; a (i32 or i64) never leads out of the tensor's
            ///< memory, in arithmetic of its type.
            ///< The input serves this load alone
  kConst,   ///< `integer` for bool and ints, `number` for floats (already rounded to the type)
  kCast,  ///< a (any type) converted as PyTorch converts: float → int truncates, → bool is != 0, int → int
          ///< wraps
  kRound,  ///< a (f32) rounded to `half` (bf16 or f16) and widened again
  kAdd,
  kSub,
  kMul,  ///< ints wrap; not defined for bool
  kDiv,  ///< floats: IEEE; ints: truncating, b is a constant that is neither 0 nor -1
  kRem,  ///< floats: C fmod; ints: truncating remainder, b as for kDiv
  kFma,  ///< floats: a * b + c rounded once (an emitter without fma may round twice)
  kNeg,
  kAbs,       ///< ints wrap; floats change the sign bit only
  kCopySign,  ///< magnitude of a, sign of b
  kSqrt,
  kFloor,
  kCeil,
  kTrunc,
  kRoundEven,  ///< to the nearest integer, ties to even
  kExp,
  kExpDown,  ///< f32: kExp of a that is not above 0; results below the normal range are 0
  kExp2,
  kExpm1,
  kLog,
  kLog2,
  kLog10,
  kLog1p,
  kSin,
  kCos,
  kTan,
  kTanh,
  kSinh,
  kCosh,
  kAtan,
  kErf,
  kPow,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,  ///< operands of one type, result bool; NaN: only kNe is true
  kAnd,
  kOr,
  kXor,
  kNot,  ///< bool and ints
  kShl,
  kShr,     ///< ints; b in [0, bits); kShr is arithmetic for signed types
  kSelect,  ///< a (bool) ? b : c
  // Reductions of `a` over the kernel's reduced dims; the result is the same everywhere in them. The order of
  // the elements is the emitter's.
  kReduceSum,
  kReduceProd,  ///< ints wrap
  kReduceMax,   ///< NaN wins
  kReduceTop,   ///< floats: kReduceMax; of a row with a NaN any number
  kReduceMin,   ///< NaN wins
  kReduceAny,   ///< bool
  kReduceAll,   ///< bool
};
bool is_reduction(Op op);
/// One right answer, which PyTorch's own kernels give too: no function that libraries round in their own
/// ways, no order of a sum.
bool is_exact(Op op);
/// kLoad or kLoadAt.
bool is_load(Op op);
std::string_view op_name(Op op);
/// Number of operands.
int op_arity(Op op);

struct Inst {
  Op op = Op::kConst;
  RegType type = RegType::kF32;
  int a = -1, b = -1, c = -1;
  int index = -1;                            ///< kLoad, kLoadAt: input
  double number = 0;                         ///< kConst of a float type
  int64_t integer = 0;                       ///< kConst of bool and ints; kLoadAt: elements per index
  graph::DType half = graph::DType::kOther;  ///< kRound
  int node = -1;  ///< graph node it comes from, for source maps; not part of the identity
};

/// A tensor (or, with `scalar`, one number) that a kernel reads or writes.
struct Buffer {
  graph::ValueId value = graph::kNoValue;
  graph::DType dtype = graph::DType::kFloat32;
  std::vector<int64_t> strides;  ///< in elements, one per loop dim; 0 = broadcast
  /// Of the first element from the tensor's own, in elements: inputs read through a view, parts of a joined
  /// result.
  int64_t offset = 0;
};

struct Store {
  Buffer buffer;
  int inst = -1;
};

/// A fused group. The iteration space `dims` (outermost first) covers every element of each output exactly
/// once; outputs are fresh and overlap nothing. Dims of extent 1 are gone and neighbours are merged where all
/// buffers allow it, so a contiguous chain has one dim. A scalar has dims {1}; a kernel over no elements has
/// a 0 in dims.
struct Kernel {
  std::string name;  ///< "add_relu_3": op names cut short, then its number in the schedule
  std::vector<int64_t> dims;
  /// Dims [reduce_begin, reduce_begin + reduce_count) are those that reductions walk; 0: a pointwise kernel.
  /// They are the last ones, or all but the last, which then is what vectors are cut from. A buffer that
  /// holds one element for all of them has stride 0 there.
  int reduce_begin = 0, reduce_count = 0;
  /// Outputs go past the cache: for those that are far larger than it. The code then needs every output's
  /// first element at a multiple of 64 bytes, and is called at multiples of 64 units only (see can_stream).
  bool streaming = false;
  std::vector<Buffer> inputs;  ///< each value once for each way of walking it
  std::vector<Inst> insts;
  std::vector<Store> outputs;
  std::vector<int> nodes;  ///< graph nodes it computes, in program order

  int64_t numel() const;
  /// Elements along the reduced dims, 1 without.
  int64_t reduced() const;
  /// Pieces of work that the code can be called for: elements of a pointwise kernel, else results of a
  /// reduction.
  int64_t units() const { return reduced() == 0 ? 0 : numel() / reduced(); }
  /// Bytes read and written when every distinct element moves once.
  int64_t bytes() const;
};

/// True when whole vectors of every output lie at multiples of 64 bytes wherever the first element does.
bool can_stream(const Kernel& kernel);

/// How an instruction of a kernel with reduced dims is computed.
struct Stage {
  bool varies = false;  ///< has a value per element of the reduced dims
  int pass = 0;         ///< passes over the reduced dims that must be done before it can be computed
};
std::vector<Stage> stages(const Kernel& kernel);

/// Stable text, with values and nodes as numbers.
std::string print(const Kernel& kernel);
/// Text of what decides the machine code: everything but name, values and nodes. Equal keys may share code.
std::string content_key(const Kernel& kernel);
/// Empty when well formed, else what is wrong (a fault of ours).
std::string verify(const Kernel& kernel);

}  // namespace breakline::schedule
