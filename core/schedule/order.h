// SPDX-License-Identifier: GPL-3.0-or-later
// What must run before what in a graph. Internal to schedule.
#pragma once
#include <vector>

#include "core/graph/graph.h"

namespace breakline::schedule {

/// Values among the arguments of a node, nested ones too, in order, with repeats.
std::vector<graph::ValueId> argument_values(const graph::Node& node);

/// Per node: the nodes that must run before it, sorted, each once. `reads[n]` are the values that node n
/// uses.
/// 1. the producers of the values it reads;
/// 2. memory: a node that mutates counts as writer of every storage that it touches; a writer comes after all
/// that touched
///    the storage before it, everything else after its last writer;
/// 3. nodes that use the random stream keep their order;
/// 4. a node that changes ambient state comes after all nodes before it and before all after it.
std::vector<std::vector<int>> dependencies(const graph::Graph& graph,
                                           const std::vector<std::vector<graph::ValueId>>& reads);

}  // namespace breakline::schedule
