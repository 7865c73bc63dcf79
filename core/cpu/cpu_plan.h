// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <string>

#include "core/graph/plan.h"

namespace breakline::cpu {

/// The "cpu" plan: fused kernels for pointwise groups, torch callables for the rest, in the order of the
/// schedule. Intermediates between kernels live in an arena of the plan. A graph that this plan can't serve
/// gets a replay plan whose reason says why (`reason` is what the caller already knows). Called with the GIL
/// held; the first call of a process loads LLVM.
std::unique_ptr<graph::Plan> make_cpu_plan(std::shared_ptr<const graph::Graph> graph,
                                           const std::string& reason);

}  // namespace breakline::cpu
