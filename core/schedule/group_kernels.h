// SPDX-License-Identifier: GPL-3.0-or-later
// The kernels of a group of nodes: one for each box of its space. Internal to schedule.
#pragma once
#include <map>
#include <set>
#include <vector>

#include "core/schedule/gather.h"
#include "core/schedule/pool.h"
#include "core/schedule/schedule.h"
#include "core/schedule/space.h"

namespace breakline::schedule {

/// What each node is to the scheduler; those in none of the maps are pointwise or extern.
struct NodeKinds {
  std::set<int> rows;
  std::map<int, Gather> gathers;
  std::map<int, Join> joins;
  std::map<int, Pool> pools;
  std::vector<std::vector<graph::ValueId>> reads;  ///< per node: values whose data it reads, in operand order

  bool is_row(int node) const { return rows.contains(node); }
  /// Null for other nodes. Operands of a gather are tensors, never values in registers or in the arena: the
  /// check of its indices and the call that raises see them.
  const Gather* gather_of(int node) const { return find(gathers, node); }
  const Join* join_of(int node) const { return find(joins, node); }
  const Pool* pool_of(int node) const { return find(pools, node); }

 private:
  template <typename Kind>
  static const Kind* find(const std::map<int, Kind>& kinds, int node) {
    const auto found = kinds.find(node);
    return found == kinds.end() ? nullptr : &found->second;
  }
};

/// A value's memory as part of another value's: itself, or through views the tensor that they are of.
struct Place {
  graph::ValueId value;
  int64_t offset = 0;  ///< in elements
};

/// True when the node has one result for all reduced elements of the space.
bool is_result(const graph::Graph& graph, const NodeKinds& kinds, const Space& space, int node);

/// Appends the kernels of `nodes` (in program order), whose values are stored where `storage` says. Where it
/// names none, the last node's value becomes scratch.
void lower_group(const graph::Graph& graph, const NodeKinds& kinds, const std::vector<Place>& places,
                 const std::vector<int>& nodes, const Space& space, bool tiles, std::vector<Storage>& storage,
                 std::vector<Kernel>& kernels);

}  // namespace breakline::schedule
