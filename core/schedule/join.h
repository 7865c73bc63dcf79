// SPDX-License-Identifier: GPL-3.0-or-later
// Ops that put their operands next to each other: cat, stack and their kin. Internal to schedule.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace breakline::schedule {

struct Join {
  size_t dim = 0;       ///< of the result
  bool stacks = false;  ///< the operands don't have that dim
  std::vector<graph::ValueId> operands;
  std::vector<int64_t> begins;  ///< in the result, per operand, then the extent of the dim

  /// Shape of operand `k` of a result of `shape`.
  std::vector<int64_t> part_shape(std::vector<int64_t> shape, size_t k) const;
};

/// Empty, with a reason in `why`, when the node is no join or can't be a part of kernels. Looks at the node
/// and its operands' metadata only.
std::optional<Join> find_join(const graph::Graph& graph, int node, std::string* why);

}  // namespace breakline::schedule
