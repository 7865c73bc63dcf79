// SPDX-License-Identifier: GPL-3.0-or-later
// Iteration space of a group: strides of its buffers, dims dropped, ordered and merged. Internal to schedule.
#pragma once
#include <cstdint>
#include <vector>

#include "core/schedule/kernel_ir.h"

namespace breakline::schedule {

/// Strides of a tensor of `sizes`, `strides` under the right-aligned broadcast to `shape`: 0 along broadcast
/// dims.
std::vector<int64_t> broadcast_strides(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
                                       const std::vector<int64_t>& shape);

/// True when the elements fill a block of memory without gaps or overlap, in any order of dims.
bool is_dense(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides);

/// Turns a kernel whose buffers have one stride per dim of `shape` into loops:
/// 1. dims of extent 1 go; a shape without dims becomes {1}, one without elements {0};
/// 2. dims are ordered by the first output's strides, largest outermost;
/// 3. a dim merges into its inner neighbour when every buffer steps through both as one.
void make_loops(const std::vector<int64_t>& shape, Kernel& kernel);

/// After make_loops: a buffer that lies close in another dim than the innermost one (a transposed operand) is
/// walked in tiles of both dims, so that a line of it serves all its elements while it is in the cache.
void make_tiles(Kernel& kernel);

/// make_loops for a kernel with reductions over the dims that are `reduced`: sets Kernel::reduce_begin and
/// reduce_count. Vectors are cut from the dim in which the largest input lies closest: a reduced one, which
/// then is the last; or another, which then comes behind the reduced ones.
void make_row_loops(const std::vector<int64_t>& shape, const std::vector<bool>& reduced, Kernel& kernel);

}  // namespace breakline::schedule
