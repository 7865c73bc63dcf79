// SPDX-License-Identifier: GPL-3.0-or-later
// What a group of nodes works over: a shape, the dims that rows reduce, and where it is cut into boxes that
// get a kernel each. Internal to schedule.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/schedule/join.h"
#include "core/schedule/rows.h"

namespace breakline::schedule {

/// A part of a space: elements [begin, begin + size) of each dim.
struct Box {
  std::vector<int64_t> begin, size;
};

/// A node that computes operand `k` of a join in the same group, over the operand's shape.
struct Part {
  int join = -1;
  size_t k = 0;
  bool operator==(const Part&) const = default;
};

struct Space {
  std::vector<int64_t> shape;
  std::optional<RowSpace> rows;  ///< over `shape`, when there are reductions
  std::vector<std::vector<int64_t>>
      cuts;                   ///< per dim, in order: where a box ends and the next begins; or empty
  std::map<int, Part> parts;  ///< nodes that do not work over `shape`

  bool is_plain() const { return !rows && cuts.empty() && parts.empty(); }
  /// Null for nodes that work over the shape.
  const Part* part_of(int node) const {
    const auto found = parts.find(node);
    return found == parts.end() ? nullptr : &found->second;
  }
  /// Row-major; one box without cuts.
  std::vector<Box> boxes() const;
};

/// The space of a node that joins its operands along a dim.
Space join_space(const std::vector<int64_t>& shape, const Join& join);

/// The space of both groups together, if there is one.
std::optional<Space> joined(const Space& a, const Space& b);

/// The same where `nodes` of the space `part` make operand `k` of `node`, a join in `space`.
std::optional<Space> joined_as_part(const Space& space, int node, const Join& join, size_t k,
                                    const Space& part, const std::vector<int>& nodes);

}  // namespace breakline::schedule
