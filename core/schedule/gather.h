// SPDX-License-Identifier: GPL-3.0-or-later
// Ops that read elements where an index tensor says: embedding, index_select, gather, x[index]. Internal to
// schedule.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/lower.h"

namespace breakline::schedule {

/// One such node: result[p] = table[place of p, with the index's element at p along one dim].
struct Gather {
  graph::ValueId table = graph::kNoValue, index = graph::kNoValue;
  /// In elements, over the result's dims; the table's are 0 where only the index moves.
  std::vector<int64_t> table_strides, index_strides;
  int64_t step = 0;    ///< of the table along the dim that is indexed, in elements
  int64_t extent = 0;  ///< of that dim
  bool near = false;   ///< all of the table lies within 32 bits of elements
  bool wraps = false;  ///< indices in [-extent, 0) count from the end; else they are out of range
  /// Each element has an index of its own: no faster than PyTorch's own call, which leaves what is fused with
  /// it.
  bool each = false;
};

/// Empty, with a reason in `why`, when the node is no such op or can't be a part of a kernel. Looks at the
/// node and its operands' metadata only.
std::optional<Gather> find_gather(const graph::Graph& graph, int node, std::string* why);

/// The index that the loaded `index` (of any integer type) stands for, within the table whatever it is:
/// whether it was in range is for a check before. i32 where the table is `near`, else i64.
int lower_index(const Gather& gather, int index, Builder& builder);

}  // namespace breakline::schedule
