// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/memory.h"

#include <algorithm>

namespace breakline::schedule {
namespace {

struct Block {
  int64_t begin, end;
  graph::ValueId value;
};

int64_t bytes_of(const graph::TensorMeta& meta) {
  constexpr int64_t kAlign = 64;
  const int64_t bytes = meta.numel() * graph::item_size(meta.dtype);
  return (std::max<int64_t>(bytes, 1) + kAlign - 1) / kAlign * kAlign;
}

}  // namespace

MemoryPlan plan_memory(const graph::Graph& graph, const Schedule& schedule) {
  MemoryPlan plan;
  plan.offset.assign(graph.values.size(), -1);
  std::vector<Block> live;  // sorted by begin
  for (const Step& step : schedule.order) {
    std::vector<graph::ValueId> written;
    if (step.kernel >= 0) {
      for (const Store& store : schedule.kernels[static_cast<size_t>(step.kernel)].outputs)
        written.push_back(store.buffer.value);
    } else if (step.product >= 0) {
      written.push_back(schedule.products[static_cast<size_t>(step.product)].out.value);
    }
    for (const graph::ValueId id : written) {
      if (schedule.storage[static_cast<size_t>(id)] != Storage::kScratch ||
          plan.offset[static_cast<size_t>(id)] >= 0)
        continue;  // not in the arena, or there already for another kernel's part of it
      const int64_t need = bytes_of(graph.values[static_cast<size_t>(id)].meta);
      int64_t at = 0;
      auto place = live.begin();
      while (place != live.end() && place->begin - at < need) {
        at = place->end;
        ++place;
      }
      live.insert(place, {at, at + need, id});
      plan.offset[static_cast<size_t>(id)] = at;
      plan.bytes = std::max(plan.bytes, at + need);
    }
    std::erase_if(live, [&](const Block& block) {
      return std::find(step.dies.begin(), step.dies.end(), block.value) != step.dies.end();
    });
  }
  return plan;
}

}  // namespace breakline::schedule
