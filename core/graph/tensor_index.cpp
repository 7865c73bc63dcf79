// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/graph/tensor_index.h"

#include <algorithm>

namespace breakline::graph {
namespace {

/// Moves the indexed dims to the front, as ATen does when they do not lie side by side.
void to_front(Dims& sizes, Dims& strides, TensorIndices& indices) {
  Dims front_sizes, front_strides;
  for (const auto& [dim, meta] : indices) {
    front_sizes.push_back(sizes[dim]);
    front_strides.push_back(strides[dim]);
  }
  for (size_t i = indices.size(); i-- > 0;) {
    sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(indices[i].first));
    strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(indices[i].first));
  }
  sizes.insert(sizes.begin(), front_sizes.begin(), front_sizes.end());
  strides.insert(strides.begin(), front_strides.begin(), front_strides.end());
  for (size_t i = 0; i < indices.size(); ++i) indices[i].first = i;
}

/// An index over `shape`, with dims of extent 1 before and behind.
std::optional<TensorMeta> indexer(const TensorMeta& index, const Dims& shape, size_t before, size_t after) {
  TensorMeta m = index;
  if (m.sizes != shape) {
    const size_t lead = shape.size() - m.sizes.size();
    Dims strides(shape.size(), 0);
    for (size_t i = 0; i < m.sizes.size(); ++i)
      strides[lead + i] = m.sizes[i] == 1 && shape[lead + i] != 1 ? 0 : m.strides[i];
    // A new dim of extent 1 gets the stride that it would have in a tensor of these sizes.
    for (size_t i = lead; i-- > 0;) {
      if (shape[i] == 1) strides[i] = strides[i + 1] * shape[i + 1];
    }
    m.strides = std::move(strides);
  }
  if (m.dtype == DType::kInt32) m.strides = preserved_strides(shape, m.strides);  // a copy as int64
  m.dtype = DType::kInt64;
  Dims wide(before, 1);
  wide.insert(wide.end(), shape.begin(), shape.end());
  wide.insert(wide.end(), after, 1);
  const auto strides = view_strides(shape, m.strides, wide);
  if (!strides) return std::nullopt;
  m.strides = *strides;
  m.sizes = std::move(wide);
  return m;
}

}  // namespace

Outs index_by_tensors(const ShapeCall& call, Dims sizes, Dims strides, TensorIndices indices) {
  Dims shape;
  for (const auto& [dim, meta] : indices) {
    const bool integer = meta->dtype == DType::kInt64 || meta->dtype == DType::kInt32;
    if (!integer || meta->rank() == 0 || meta->numel() == 0 || meta->device != DeviceKind::kCpu)
      return std::nullopt;
    const auto joined = broadcast(shape, meta->sizes);
    if (!joined) return std::nullopt;
    shape = *joined;
  }
  const TensorMeta* x = tensor_arg(call, call.get(0, "self"));
  if (!x || x->device != DeviceKind::kCpu || numel_of(sizes) == 0) return std::nullopt;
  if (indices.back().first - indices.front().first >= indices.size()) to_front(sizes, strides, indices);
  const size_t before = indices.front().first, after = sizes.size() - before - indices.size();
  // x with the index's dims in place of those that are indexed: it does not move along them.
  TensorMeta source = *x;
  const auto at = static_cast<std::ptrdiff_t>(before), gone = static_cast<std::ptrdiff_t>(indices.size());
  sizes.erase(sizes.begin() + at, sizes.begin() + at + gone);
  sizes.insert(sizes.begin() + at, shape.begin(), shape.end());
  strides.erase(strides.begin() + at, strides.begin() + at + gone);
  strides.insert(strides.begin() + at, shape.size(), 0);
  source.sizes = std::move(sizes);
  source.strides = std::move(strides);
  std::vector<TensorMeta> indexers;
  for (const auto& [dim, meta] : indices) {
    auto one = indexer(*meta, shape, before, after);
    if (!one) return std::nullopt;
    indexers.push_back(std::move(*one));
  }
  std::vector<Input> inputs{{&source}};
  for (const TensorMeta& one : indexers) inputs.push_back({&one});
  auto out = pointwise_meta(inputs, DType::kOther, x->dtype);
  return out ? finish(call, std::move(*out)) : std::nullopt;
}

}  // namespace breakline::graph
