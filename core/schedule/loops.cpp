// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/loops.h"

#include <algorithm>
#include <numeric>

namespace breakline::schedule {
namespace {

std::vector<std::vector<int64_t>*> all_strides(Kernel& kernel) {
  std::vector<std::vector<int64_t>*> strides;
  for (Buffer& buffer : kernel.inputs) strides.push_back(&buffer.strides);
  for (Store& store : kernel.outputs) strides.push_back(&store.buffer.strides);
  return strides;
}

std::vector<int64_t> picked(const std::vector<int64_t>& from, const std::vector<size_t>& order) {
  std::vector<int64_t> result;
  for (const size_t i : order) result.push_back(from[i]);
  return result;
}

/// Merges dims in [from, to) into their inner neighbours where every buffer steps through both as one; how
/// many are gone.
int merge(Kernel& kernel, const std::vector<std::vector<int64_t>*>& buffers, size_t from, size_t to) {
  int gone = 0;
  for (size_t inner = to; inner > from + 1;) {
    --inner;
    const size_t outer = inner - 1;
    const int64_t extent = kernel.dims[inner];
    const bool merges = std::all_of(buffers.begin(), buffers.end(), [&](const std::vector<int64_t>* strides) {
      return (*strides)[outer] == (*strides)[inner] * extent;
    });
    if (!merges) continue;
    ++gone;
    kernel.dims[outer] *= extent;
    kernel.dims.erase(kernel.dims.begin() + static_cast<int64_t>(inner));
    for (auto* strides : buffers) {
      (*strides)[outer] = (*strides)[inner];
      strides->erase(strides->begin() + static_cast<int64_t>(inner));
    }
  }
  return gone;
}

/// The largest divisor of `n` that is not above `most`, a multiple of 8 where there is one.
int64_t divisor(int64_t n, int64_t most) {
  int64_t best = 1;
  for (int64_t d = 2; d <= std::min(n, most); ++d) {
    if (n % d == 0 && (d % 8 == 0 || best % 8 != 0)) best = d;
  }
  return best;
}

}  // namespace

std::vector<int64_t> broadcast_strides(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
                                       const std::vector<int64_t>& shape) {
  std::vector<int64_t> result(shape.size(), 0);
  const size_t lead = shape.size() - sizes.size();
  for (size_t i = 0; i < sizes.size(); ++i) result[lead + i] = sizes[i] == 1 ? 0 : strides[i];
  return result;
}

bool is_dense(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  std::vector<size_t> order;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return true;
    if (sizes[i] != 1) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return strides[a] < strides[b]; });
  int64_t expected = 1;
  for (const size_t i : order) {
    if (strides[i] != expected) return false;
    expected *= sizes[i];
  }
  return true;
}

void make_loops(const std::vector<int64_t>& shape, Kernel& kernel) {
  const auto buffers = all_strides(kernel);
  const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  std::vector<size_t> order;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1) order.push_back(i);
  }
  if (empty || order.empty()) {
    kernel.dims = {empty ? 0 : 1};
    for (auto* strides : buffers) strides->assign(1, 0);
    return;
  }
  const std::vector<int64_t> leading = kernel.outputs.front().buffer.strides;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return leading[a] > leading[b]; });
  kernel.dims = picked(shape, order);
  for (auto* strides : buffers) *strides = picked(*strides, order);
  merge(kernel, buffers, 0, kernel.dims.size());
}

void make_tiles(Kernel& kernel) {
  const auto buffers = all_strides(kernel);
  constexpr int64_t kNear = 1 << 12, kTile = 64, kLeast = 4;
  // Lines this far apart fall into few sets of the cache.
  constexpr int64_t kAlike = 1 << 10, kSmallTile = 32;
  const size_t inner = kernel.dims.size() - 1;
  if (kernel.numel() < kNear || inner == 0) return;
  size_t close = inner;
  int64_t most = kTile;
  for (const auto* strides : buffers) {
    if ((*strides)[inner] == 0 || (*strides)[inner] == 1) continue;
    if ((*strides)[inner] * 4 % kAlike == 0) most = kSmallTile;  // of 4-byte elements
    for (size_t d = 0; d < inner; ++d) {
      if ((*strides)[d] == 1) close = d;
    }
  }
  if (close == inner) return;
  const int64_t outer_tile = divisor(kernel.dims[close], most),
                inner_tile = divisor(kernel.dims[inner], most);
  if (outer_tile < kLeast || inner_tile < kLeast) return;
  kernel.dims[close] /= outer_tile;
  kernel.dims[inner] /= inner_tile;
  kernel.dims.insert(kernel.dims.end(), {outer_tile, inner_tile});
  for (auto* strides : buffers) {
    const int64_t step = (*strides)[close], small = (*strides)[inner];
    (*strides)[close] *= outer_tile;
    (*strides)[inner] *= inner_tile;
    strides->insert(strides->end(), {step, small});
  }
}

void make_row_loops(const std::vector<int64_t>& shape, const std::vector<bool>& reduced, Kernel& kernel) {
  const auto buffers = all_strides(kernel);
  // The buffer that moves most leads.
  const std::vector<int64_t>* leading = buffers.front();
  int64_t most = -1;
  for (const auto* strides : buffers) {
    int64_t elements = 1;
    for (size_t i = 0; i < shape.size(); ++i) elements *= (*strides)[i] == 0 ? 1 : shape[i];
    if (elements > most) {
      most = elements;
      leading = strides;
    }
  }
  const std::vector<int64_t> lead = *leading;
  std::vector<size_t> outer, walked;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1) (reduced[i] ? walked : outer).push_back(i);
  }
  const auto by_stride = [&](size_t a, size_t b) { return lead[a] > lead[b]; };
  std::stable_sort(outer.begin(), outer.end(), by_stride);
  std::stable_sort(walked.begin(), walked.end(), by_stride);
  const bool across = !outer.empty() && lead[outer.back()] != 0 && lead[outer.back()] < lead[walked.back()];
  std::vector<size_t> order(outer.begin(), outer.end() - (across ? 1 : 0));
  kernel.reduce_begin = static_cast<int>(order.size());
  kernel.reduce_count = static_cast<int>(walked.size());
  order.insert(order.end(), walked.begin(), walked.end());
  if (across) order.push_back(outer.back());
  kernel.dims = picked(shape, order);
  for (auto* strides : buffers) *strides = picked(*strides, order);
  const size_t first = static_cast<size_t>(kernel.reduce_begin);
  kernel.reduce_count -= merge(kernel, buffers, first, first + walked.size());
  kernel.reduce_begin -= merge(kernel, buffers, 0, first);
}

}  // namespace breakline::schedule
