// SPDX-License-Identifier: GPL-3.0-or-later
// A pointwise call with its arguments bound to names: what the lowering rules see. Internal to schedule.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/op_table.h"
#include "core/schedule/lower.h"

namespace breakline::schedule {

/// A number given in the program text.
struct Number {
  bool is_integer = true;  ///< int or bool
  bool is_bool = false;
  int64_t integer = 0;
  double real = 0;
};
/// Empty for anything but bool, int, float.
std::optional<Number> number_of(const graph::Arg* arg);

struct PointwiseRule;

/// One node seen through its rule. Parameters are numbered as in PointwiseRule::params.
class PointwiseCall {
 public:
  /// `why` tells what does not fit; then the call must not be used.
  PointwiseCall(const graph::Graph& graph, int node, std::string* why);

  const graph::Node& node() const { return node_; }
  const PointwiseRule& rule() const { return *rule_; }
  const graph::TensorMeta& out() const;
  graph::DType out_dtype() const { return out().dtype; }
  bool reversed() const { return reversed_; }
  /// Null or None: not given.
  const graph::Arg* param(int i) const;
  bool is_tensor(int i) const;
  const graph::TensorMeta& meta(int i) const;
  std::optional<Number> number(int i) const { return number_of(param(i)); }
  /// A float parameter that is a constant, or `otherwise`.
  double real(int i, double otherwise) const;
  std::optional<std::string> text(int i) const;
  /// Dtype in which a comparison of the operands takes place.
  graph::DType common_dtype() const;

 private:
  bool bind(std::string* why);
  const graph::Graph& graph_;
  const graph::Node& node_;
  const PointwiseRule* rule_ = nullptr;
  bool reversed_ = false;
  std::array<const graph::Arg*, 6> params_{};
};

/// A call plus the instructions that hold its tensor operands.
class Lowering {
 public:
  Lowering(const PointwiseCall& call, const std::vector<int>& operands, Builder& builder);
  const PointwiseCall& call;
  Builder& b;

  /// Operand `i` converted to `dtype` as eager converts it (half types are rounded).
  int as(int i, graph::DType dtype) const;
  int as_out(int i) const { return as(i, call.out_dtype()); }
  /// Like as_out, but a number or rank-0 tensor next to half operands keeps its float32 precision.
  int wide(int i) const;
  /// Operand in float32 or float64 for the inner computation; the half rounding of a number is left out.
  int constant(double number) const { return b.constant(reg(), number); }
  int integer(int64_t number) const { return b.integer(reg(), number); }
  RegType reg() const { return reg_type(call.out_dtype()); }
  bool out_is_float() const { return is_float(reg()); }
  bool out_is_half() const;
  /// Rounds an inner result to the output dtype if that is a half type.
  int round_out(int inst) const { return out_is_half() ? b.round(inst, call.out_dtype()) : inst; }

 private:
  std::array<int, 6> insts_{};
};

struct PointwiseRule {
  graph::ScalarFn fn;
  std::string_view params;  ///< names in positional order; those after "*" by keyword only
  int operands;             ///< how many of the first parameters are data (tensor or number)
  int (*emit)(const Lowering& l);
  /// Further conditions; empty = fits. May be null.
  std::string (*check)(const PointwiseCall& call) = nullptr;
};

/// Null if there is no rule.
const PointwiseRule* find_rule(const graph::Node& node);

}  // namespace breakline::schedule
