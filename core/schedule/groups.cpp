// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/groups.h"

#include <algorithm>
#include <bit>

namespace breakline::schedule {
namespace {

void include(std::vector<uint64_t>& set, int unit) {
  set[static_cast<size_t>(unit) / 64] |= uint64_t{1} << (unit % 64);
}
void exclude(std::vector<uint64_t>& set, int unit) {
  set[static_cast<size_t>(unit) / 64] &= ~(uint64_t{1} << (unit % 64));
}
void include_all(std::vector<uint64_t>& set, const std::vector<uint64_t>& more) {
  for (size_t i = 0; i < set.size(); ++i) set[i] |= more[i];
}

}  // namespace

Grouper::Grouper(const std::vector<std::vector<int>>& before)
    : before_(before), unit_of_(before.size(), -1) {}

int Grouper::add(int node) {
  const int unit = static_cast<int>(nodes_.size());
  nodes_.push_back({node});
  Set above(before_.size() / 64 + 1, 0);
  for (const int earlier : before_[static_cast<size_t>(node)]) {
    const int other = unit_of_[static_cast<size_t>(earlier)];
    if (has(above, other)) continue;
    include(above, other);
    include_all(above, ancestors_[static_cast<size_t>(other)]);
  }
  ancestors_.push_back(std::move(above));
  unit_of_[static_cast<size_t>(node)] = unit;
  return unit;
}

bool Grouper::path_through_others(int from, int to) const {
  const Set& above = ancestors_[static_cast<size_t>(to)];
  if (!has(above, from)) return false;
  for (size_t word = 0; word < above.size(); ++word) {
    for (uint64_t rest = above[word]; rest; rest &= rest - 1) {
      const int middle = static_cast<int>(word) * 64 + std::countr_zero(rest);
      if (middle != from && middle != to && is_before(from, middle)) return true;
    }
  }
  return false;
}

int Grouper::join(int a, int b) {
  if (a == b) return a;
  if (path_through_others(a, b) || path_through_others(b, a)) return -1;
  const int keep = std::min(a, b), gone = std::max(a, b);
  const size_t k = static_cast<size_t>(keep), g = static_cast<size_t>(gone);
  for (const int node : nodes_[g]) unit_of_[static_cast<size_t>(node)] = keep;
  nodes_[k].insert(nodes_[k].end(), nodes_[g].begin(), nodes_[g].end());
  std::sort(nodes_[k].begin(), nodes_[k].end());
  nodes_[g].clear();
  Set& kept = ancestors_[k];
  include_all(kept, ancestors_[g]);
  exclude(kept, keep);
  exclude(kept, gone);
  std::fill(ancestors_[g].begin(), ancestors_[g].end(), 0);
  // All that came after either comes after everything that is before the whole.
  for (size_t unit = 0; unit < ancestors_.size(); ++unit) {
    Set& above = ancestors_[unit];
    if (unit == k || unit == g || !(has(above, keep) || has(above, gone))) continue;
    include_all(above, kept);
    include(above, keep);
    exclude(above, gone);
  }
  return keep;
}

}  // namespace breakline::schedule
