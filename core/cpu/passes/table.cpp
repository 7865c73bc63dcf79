// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cpu/passes/table.h"

#include "core/cpu/passes/attention.h"
#include "core/cpu/passes/batch_norm.h"
#include "core/cpu/passes/conv.h"
#include "core/cpu/passes/linear.h"
#include "core/graph/passes/pure.h"

namespace breakline::cpu {
namespace {

using graph::Pass;

constexpr Pass kFunctional = {"functional", "in-place operations become fresh ones where nobody can tell",
                              graph::functional_pass};
constexpr Pass kDeadCode = {"dead_code", "what nobody needs goes", graph::dead_code_pass};
constexpr Pass kCommon = {"common", "what is computed twice is computed once", graph::common_pass};
constexpr Pass kConstants = {"constants", "what is made of constants is made once", graph::constants_pass};

constexpr Pass kCopies = {"copies", "a reshape that copies becomes a copying kernel and a view", graph::copies_pass};

constexpr Pass kAttention = {"attention", "attention written out becomes one call that keeps no scores",
                             attention_pass};
constexpr Pass kBatchNorm = {
    "batch_norm", "batch norm in eval goes into a convolution's weights, or into a kernel", batch_norm_pass};
constexpr Pass kConv = {"conv", "convolutions by oneDNN with packed weights, channels last", conv_pass};
constexpr Pass kLinear = {"linear", "linear layers by MKL with packed weights", linear_pass};

constexpr Pass kPlain[] = {kFunctional, kDeadCode, kCommon, kCopies, kConstants};
constexpr Pass kLibrary[] = {
    kFunctional, kDeadCode, kCommon, kAttention, kBatchNorm, kConv, kLinear, kCopies, kConstants, kDeadCode,
};

}  // namespace

std::span<const Pass> plain_passes() { return kPlain; }
std::span<const Pass> library_passes() { return kLibrary; }

}  // namespace breakline::cpu
