// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/order.h"

#include <algorithm>
#include <unordered_map>

namespace breakline::schedule {
namespace {

void collect(const graph::Arg& arg, std::vector<graph::ValueId>& values) {
  if (arg.is_value()) values.push_back(arg.id());
  if (const graph::ArgSeq* seq = arg.seq()) {
    for (const graph::Arg& item : seq->items) collect(item, values);
  }
}

struct Touched {
  int writer = -1;
  std::vector<int> since;  ///< nodes that touched it after its last writer
};

}  // namespace

std::vector<graph::ValueId> argument_values(const graph::Node& node) {
  std::vector<graph::ValueId> values;
  for (const graph::Arg& arg : node.args) collect(arg, values);
  for (const auto& [name, arg] : node.kwargs) collect(arg, values);
  return values;
}

std::vector<std::vector<int>> dependencies(const graph::Graph& graph,
                                           const std::vector<std::vector<graph::ValueId>>& reads) {
  std::vector<std::vector<int>> before(graph.nodes.size());
  std::unordered_map<int32_t, Touched> memory;
  int last_random = -1, last_ambient = -1;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const graph::Node& node = graph.nodes[n];
    const int self = static_cast<int>(n);
    std::vector<int>& deps = before[n];
    std::vector<int32_t> storages;
    const auto touch = [&](graph::ValueId id) {
      const int32_t storage = graph.values[static_cast<size_t>(id)].storage;
      if (storage >= 0) storages.push_back(storage);
    };
    for (const graph::ValueId id : reads[n]) {
      const int producer = graph.values[static_cast<size_t>(id)].producer;
      if (producer >= 0 && producer < self) deps.push_back(producer);
      touch(id);
    }
    for (const graph::ValueId id : node.outputs) {
      if (id != graph::kNoValue) touch(id);
    }
    std::sort(storages.begin(), storages.end());
    storages.erase(std::unique(storages.begin(), storages.end()), storages.end());
    for (const int32_t storage : storages) {
      Touched& touched = memory[storage];
      if (touched.writer >= 0) deps.push_back(touched.writer);
      if (node.mutates) {
        deps.insert(deps.end(), touched.since.begin(), touched.since.end());
        touched = {self, {}};
      } else {
        touched.since.push_back(self);
      }
    }
    if (node.random) {
      if (last_random >= 0) deps.push_back(last_random);
      last_random = self;
    }
    if (last_ambient >= 0) deps.push_back(last_ambient);
    if (node.ambient) {
      for (int earlier = std::max(last_ambient, 0); earlier < self; ++earlier) deps.push_back(earlier);
      last_ambient = self;
    }
    std::sort(deps.begin(), deps.end());
    deps.erase(std::unique(deps.begin(), deps.end()), deps.end());
  }
  return before;
}

}  // namespace breakline::schedule
