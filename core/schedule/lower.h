// SPDX-License-Identifier: GPL-3.0-or-later
// PyTorch's semantics of pointwise ops as kernel IR: type promotion, rounding of half types after each op,
// integer rules, NaN rules.
#pragma once
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/kernel_ir.h"

namespace breakline::schedule {

/// Appends instructions; equal ones are made once.
class Builder {
 public:
  explicit Builder(std::vector<Inst>& insts) : insts_(insts) {}
  int load(int input, graph::DType dtype);
  /// See Op::kLoadAt.
  int load_at(int input, graph::DType dtype, int index, int64_t step);
  int constant(RegType type, double number);
  int integer(RegType type, int64_t value);
  int boolean(bool value) { return integer(RegType::kBool, value); }
  int unary(Op op, int a);
  int binary(Op op, int a, int b);
  int fma(int a, int b, int c);
  int select(int cond, int yes, int no);
  /// Nothing when the type is the same already.
  int cast(int a, RegType type);
  /// Nothing when `a` is known to be a value of that half type already.
  int round(int a, graph::DType half);
  /// A value of one dtype as another: cast, and rounding where `dtype` is a half type.
  int convert(int a, graph::DType dtype);
  RegType type(int a) const { return insts_[static_cast<size_t>(a)].type; }
  void set_node(int node) { node_ = node; }

 private:
  int add(Inst inst);
  int add_load(Inst inst, graph::DType dtype);
  uint8_t halves_of(const Inst& inst) const;
  std::vector<Inst>& insts_;
  std::vector<uint8_t> halves_;  ///< per instruction: half types that hold its value exactly, a bit each
  int node_ = -1;
};

/// Why `node` can't be a part of a kernel ("" if it can). Looks at the node and its operands' metadata only,
/// not at its surroundings.
std::string why_not_pointwise(const graph::Graph& graph, int node);

/// Tensor operands (values with data) of a node that passed `why_not_pointwise`, in order, with repeats.
std::vector<graph::ValueId> pointwise_operands(const graph::Graph& graph, int node);

/// Emits the node; `operands[i]` is the instruction that holds pointwise_operands(...)[i] in its own dtype.
/// Returns the instruction that holds the result, in the output's dtype.
int lower_node(const graph::Graph& graph, int node, const std::vector<int>& operands, Builder& builder);

/// Drops instructions that no output needs.
void drop_unused(Kernel& kernel);

/// Value of `x` rounded to bfloat16 or float16, as a float.
float round_to_half(float x, graph::DType half);

/// torch.result_type of operands: tensors with rank > 0 beat rank-0 tensors, which beat Python numbers,
/// within a category.
struct PromotionOperand {
  graph::DType dtype;
  int rank = 0;
  bool wrapped_number = false;
};
graph::DType result_type(const std::vector<PromotionOperand>& operands, graph::DType default_dtype);

}  // namespace breakline::schedule
