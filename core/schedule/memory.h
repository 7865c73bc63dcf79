// SPDX-License-Identifier: GPL-3.0-or-later
// Places of scratch values in one arena.
#pragma once
#include <cstdint>
#include <vector>

#include "core/schedule/schedule.h"

namespace breakline::schedule {

struct MemoryPlan {
  /// Per value: byte offset in the arena, a multiple of 64; -1 for values that are not Storage::kScratch.
  std::vector<int64_t> offset;
  int64_t bytes = 0;
};

/// Values that live at the same step never share bytes; an input and an output of one kernel count as living
/// together. First fit in the order of the steps that make them.
MemoryPlan plan_memory(const graph::Graph& graph, const Schedule& schedule);

}  // namespace breakline::schedule
