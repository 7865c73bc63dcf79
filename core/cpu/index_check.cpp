// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cpu/index_check.h"

namespace breakline::cpu {
namespace {

/// The sign bit of the result: some element was below `first` (not above 0) or above `last`. Differences wrap
/// where an element is out of range anyway; so written, loops compile to vectors.
template <typename T>
uint64_t walk(const T* data, const graph::TensorMeta& meta, size_t dim, const schedule::IndexRange& range) {
  uint64_t out = 0;
  if (dim + 1 < meta.sizes.size()) {
    for (int64_t i = 0; i < meta.sizes[dim]; ++i)
      out |= walk(data + i * meta.strides[dim], meta, dim + 1, range);
    return out;
  }
  const int64_t n = meta.sizes.empty() ? 1 : meta.sizes[dim],
                step = meta.sizes.empty() ? 1 : meta.strides[dim];
  const auto first = static_cast<uint64_t>(range.first), last = static_cast<uint64_t>(range.last);
  const auto sign = [&](T element) {
    const auto x = static_cast<uint64_t>(static_cast<int64_t>(element));
    return (x - first) | (last - x);
  };
  if (step == 1) {
    for (int64_t i = 0; i < n; ++i) out |= sign(data[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) out |= sign(data[i * step]);
  }
  return out;
}

template <typename T>
bool within(const void* data, const graph::TensorMeta& meta, const schedule::IndexRange& range) {
  if (!meta.is_contiguous()) return !(walk(static_cast<const T*>(data), meta, 0, range) >> 63);
  graph::TensorMeta flat;
  flat.sizes = {meta.numel()};
  flat.strides = {1};
  return !(walk(static_cast<const T*>(data), flat, 0, range) >> 63);
}

}  // namespace

bool indices_within(const void* data, const graph::TensorMeta& meta, const schedule::IndexRange& range) {
  return meta.dtype == graph::DType::kInt32 ? within<int32_t>(data, meta, range)
                                            : within<int64_t>(data, meta, range);
}

}  // namespace breakline::cpu
