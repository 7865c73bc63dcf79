// SPDX-License-Identifier: GPL-3.0-or-later
// Pointwise, comparison and logical ops.
#include "core/graph/op_families.h"

namespace breakline::graph {
namespace {

constexpr OpKind kP = OpKind::kPointwise;
using F = ScalarFn;

constexpr OpRow kRows[] = {
    {.name = "add", .kind = kP, .scalar = F::kAdd, .aliases = "__add__"},
    {.name = "sub", .kind = kP, .scalar = F::kSub, .aliases = "subtract __sub__"},
    {.name = "rsub", .kind = kP, .scalar = F::kSub},
    {.name = "mul", .kind = kP, .scalar = F::kMul, .aliases = "multiply __mul__"},
    {.name = "div", .kind = kP, .scalar = F::kDiv, .aliases = "divide true_divide __truediv__ __div__"},
    {.name = "floor_divide", .kind = kP, .scalar = F::kFloorDiv, .aliases = "__floordiv__"},
    {.name = "remainder", .kind = kP, .scalar = F::kRemainder, .aliases = "__mod__"},
    {.name = "pow", .kind = kP, .scalar = F::kPow, .aliases = "__pow__"},
    {.name = "relu", .kind = kP, .scalar = F::kRelu},
};

}  // namespace

std::span<const OpRow> pointwise_rows() { return kRows; }

}  // namespace breakline::graph
