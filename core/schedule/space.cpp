// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/space.h"

#include <algorithm>

namespace breakline::schedule {
namespace {

/// More kernels than that are not worth what they save.
constexpr size_t kMostBoxes = 16;

std::vector<std::vector<int64_t>> both_cuts(const std::vector<std::vector<int64_t>>& a,
                                            const std::vector<std::vector<int64_t>>& b) {
  if (a.empty() || b.empty()) return a.empty() ? b : a;
  std::vector<std::vector<int64_t>> cuts(a.size());
  for (size_t d = 0; d < a.size(); ++d)
    std::set_union(a[d].begin(), a[d].end(), b[d].begin(), b[d].end(), std::back_inserter(cuts[d]));
  return cuts;
}

/// Rows are walked whole.
bool is_cut_well(const Space& space) {
  size_t boxes = 1;
  for (size_t d = 0; d < space.cuts.size(); ++d) {
    boxes *= space.cuts[d].size() + 1;
    if (space.rows && !space.cuts[d].empty() && (space.rows->split >= 0 || space.rows->reduced[d]))
      return false;
  }
  return boxes <= kMostBoxes;
}

}  // namespace

std::vector<Box> Space::boxes() const {
  std::vector<Box> result{{std::vector<int64_t>(shape.size(), 0), shape}};
  for (size_t d = 0; d < cuts.size(); ++d) {
    std::vector<Box> finer;
    for (const Box& box : result) {
      int64_t from = 0;
      for (size_t i = 0; i <= cuts[d].size(); ++i) {
        const int64_t to = i < cuts[d].size() ? cuts[d][i] : shape[d];
        Box piece = box;
        piece.begin[d] = from;
        piece.size[d] = to - from;
        finer.push_back(std::move(piece));
        from = to;
      }
    }
    result = std::move(finer);
  }
  return result;
}

Space join_space(const std::vector<int64_t>& shape, const Join& join) {
  Space space{shape, {}, {}, {}};
  space.cuts.resize(shape.size());
  space.cuts[join.dim].assign(join.begins.begin() + 1, join.begins.end() - 1);
  return space;
}

std::optional<Space> joined(const Space& a, const Space& b) {
  const Space& wide = a.rows ? a : b;
  const Space& narrow = a.rows ? b : a;
  if (a.rows && b.rows) {
    if (*a.rows != *b.rows) return {};
  } else if (a.shape != b.shape) {
    if (!wide.rows || !wide.rows->has_results() || !narrow.is_plain()) return {};
    if (narrow.shape != wide.rows->kept_shape() && narrow.shape != wide.rows->dropped_shape()) return {};
    return wide;
  }
  Space both = wide;
  both.cuts = both_cuts(wide.cuts, narrow.cuts);
  both.parts.insert(narrow.parts.begin(), narrow.parts.end());
  return is_cut_well(both) ? std::optional(std::move(both)) : std::nullopt;
}

std::optional<Space> joined_as_part(const Space& space, int node, const Join& join, size_t k,
                                    const Space& part, const std::vector<int>& nodes) {
  if (!part.is_plain() || part.shape != join.part_shape(space.shape, k)) return {};
  Space both = space;
  for (const int each : nodes) both.parts.emplace(each, Part{node, k});
  return both;
}

}  // namespace breakline::schedule
