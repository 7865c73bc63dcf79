// SPDX-License-Identifier: GPL-3.0-or-later
// Puts nodes into groups so that the groups still have an order. Internal to schedule.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace breakline::schedule {

/// Grows groups over the nodes of a dependency graph given in a valid order, never making a cycle between
/// units (a unit is a group or a single node). Keeps for each unit the set of units that must run before it.
class Grouper {
 public:
  explicit Grouper(const std::vector<std::vector<int>>& before);

  /// Adds the next node as a unit of its own; nodes come in order. Returns the unit.
  int add(int node);
  /// Puts the last added node's unit (or any two units) together if no path leaves one and comes back into
  /// the other. Returns the joined unit or -1.
  int join(int a, int b);
  int unit_of(int node) const { return unit_of_[static_cast<size_t>(node)]; }
  const std::vector<int>& nodes(int unit) const { return nodes_[static_cast<size_t>(unit)]; }

 private:
  /// A set of units, one bit each.
  using Set = std::vector<uint64_t>;
  static bool has(const Set& set, int unit) { return set[static_cast<size_t>(unit) / 64] >> (unit % 64) & 1; }
  bool is_before(int a, int b) const { return has(ancestors_[static_cast<size_t>(b)], a); }
  bool path_through_others(int from, int to) const;

  const std::vector<std::vector<int>>& before_;
  std::vector<int> unit_of_;
  std::vector<std::vector<int>> nodes_;
  std::vector<Set> ancestors_;
};

}  // namespace breakline::schedule
