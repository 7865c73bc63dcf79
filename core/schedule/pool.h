// SPDX-License-Identifier: GPL-3.0-or-later
// Pooling over windows: max_poolNd, avg_poolNd, and adaptive_avg_poolNd where its windows are all alike.
// Internal to schedule.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/lower.h"

namespace breakline::schedule {

/// Windows along one dim of the operand.
struct Window {
  int64_t kernel = 1, stride = 1, padding = 0, dilation = 1;
  int64_t extent = 0;  ///< of the operand
  /// Taps [first, last) of the window of result `at` that lie in the operand, and how long the window is with
  /// the padding.
  struct Taps {
    int64_t first = 0, last = 0, padded = 0;
  };
  Taps taps(int64_t at) const;
};

struct Pool {
  graph::ValueId input = graph::kNoValue;
  size_t first_dim = 0;         ///< windows lie over the dims from this on
  std::vector<Window> windows;  ///< per such dim
  bool is_max = false;
  bool counts_padding = true;  ///< the mean is over the window's padded size
  int64_t divisor = 0;         ///< of the sum, where given
  /// Per dim of the result: where the taps change; empty when they never do.
  std::vector<std::vector<int64_t>> cuts;

  int64_t tap_count() const;
};

/// Empty, with a reason in `why`, when the node is no pooling op or can't be a part of kernels. Looks at the
/// node and its operand's metadata only.
std::optional<Pool> find_pool(const graph::Graph& graph, int node, std::string* why);

/// The result at a box that begins at `begin`, from the values of its taps, in row-major order.
int lower_pool(const Pool& pool, const std::vector<int64_t>& begin, const std::vector<int>& taps,
               graph::DType out, Builder& builder);

}  // namespace breakline::schedule
