// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace breakline::graph {

/// What a compiler may do with an op.
enum class OpKind : uint8_t {
  kPointwise,  ///< one output element from one element of each broadcast operand
  kReduction,
  kMatmul,    ///< mm, bmm, matmul, linear, addmm, baddbmm, …
  kView,      ///< shares memory with operand 0, no data touched
  kMovement,  ///< cat, stack, index, gather, pad, copy: moves data
  kNorm,
  kSoftmax,
  kConv,
  kPool,
  kEmbedding,
  kAttention,
  kFactory,  ///< makes a tensor from nothing (zeros, arange, …)
  kOther,
};

/// The scalar function of a pointwise op, for the emitters (LLVM and SPIR-V implement each once).
enum class ScalarFn : uint8_t {
  kNone,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFloorDiv,
  kRemainder,
  kPow,
  kNeg,
  kAbs,
  kSign,
  kReciprocal,
  kSqrt,
  kRsqrt,
  kSquare,
  kExp,
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
  kSigmoid,
  kLogSigmoid,
  kSoftplus,
  kRelu,
  kRelu6,
  kLeakyRelu,
  kElu,
  kGeluErf,
  kGeluTanh,
  kSilu,
  kMish,
  kHardtanh,
  kHardsigmoid,
  kHardswish,
  kClamp,
  kMin,
  kMax,
  kFloor,
  kCeil,
  kRound,
  kTrunc,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kLogicalAnd,
  kLogicalOr,
  kLogicalNot,
  kLogicalXor,
  kBitAnd,
  kBitOr,
  kBitXor,
  kBitNot,
  kShl,
  kShr,
  kWhere,
  kCast,
  kLerp,
  kAddcmul,
  kAddcdiv,
  kIsNan,
  kIsInf,
  kIsFinite,
  kCopy,
};

/// Operands of a call with tensors replaced by their metadata: what a shape rule sees.
struct ShapeCall {
  const Graph* graph = nullptr;  ///< to look up operand values' metadata
  std::span<const Arg> args;
  std::span<const std::pair<std::string, Arg>> kwargs;
  bool grad_mode = true;
  bool in_place = false;  ///< the in-place form was called ("add_", "+="): operand 0 is written
  bool reversed = false;  ///< args are already swapped into the op's order (see OpRef)
  // What a rule says beside the outputs' metadata.
  mutable bool returns_list = false;       ///< the op returns a tuple of its outputs (chunk, split …)
  mutable std::string_view returns_named;  ///< name in torch.return_types when it returns such a tuple
  mutable std::vector<size_t>
      also_written;  ///< positional operands written although the op is not an in-place one
  DType default_dtype = DType::kFloat32;
  const TensorMeta& meta(const Arg& a) const;     ///< of a value operand
  const Arg* kwarg(std::string_view name) const;  ///< or null
  /// Positional `index`, else keyword `name`, else null.
  const Arg* get(size_t index, std::string_view name) const;
};

/// One output of a shape rule. `alias`: index of the positional operand whose storage it shares
/// (view / in-place), -1 = fresh.
struct ShapeOut {
  TensorMeta meta;
  int alias = -1;
  bool same_value = false;  ///< the result *is* operand `alias` (in-place op)
  /// The aliased operand as a value, also when it sits inside a sequence or is passed by keyword (set by
  /// torch::infer).
  ValueId alias_value = kNoValue;
  /// With same_value: the operand that the result now shares memory with (x.set_(y)); kNoValue: it kept its own.
  ValueId moved_to = kNoValue;
};

/// A rule answers, or says "not me" (empty): then the meta-tensor call decides. A rule never guesses.
using ShapeRule = std::optional<std::vector<ShapeOut>> (*)(const ShapeCall& call, const OpRow& row);

/// One op of the table, under its canonical aten-like name.
struct OpRow {
  std::string_view name;  ///< "add", "linear", "layer_norm"
  OpKind kind = OpKind::kOther;
  ScalarFn scalar = ScalarFn::kNone;
  ShapeRule rule = nullptr;
  bool random = false;
  bool may_fail = false;
  std::string_view aliases;  ///< further torch names, space separated: "true_divide __truediv__ __rtruediv__"
};

/// By torch name of a function or Tensor method (in-place forms "add_" find "add" with in_place set). Null if
/// unknown.
struct OpRef {
  const OpRow* row = nullptr;
  bool in_place = false;
  bool reversed = false;  ///< __radd__ & co: operands swapped
};
OpRef find_op(std::string_view torch_name);
std::span<const OpRow> all_ops();

}  // namespace breakline::graph
