// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/graph/plan.h"

namespace breakline::cpu {

/// Fused kernels for groups of a graph and torch callables for the rest, in the order of the schedule;
/// intermediates between kernels live in an arena of the plan. Nodes are told as `origin` says (empty: by
/// their own numbers), in the info and on failure. Null with a sentence in `why` when a kernel can't be made.
/// GIL.
std::unique_ptr<graph::Plan> make_kernel_plan(std::shared_ptr<const graph::Graph> graph,
                                              std::vector<std::vector<int>> origin, std::string* why);

}  // namespace breakline::cpu
