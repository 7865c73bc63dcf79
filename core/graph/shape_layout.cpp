// SPDX-License-Identifier: GPL-3.0-or-later
// Memory layouts as PyTorch computes them.
#include <algorithm>
#include <numeric>

#include "core/graph/shape_util.h"

namespace breakline::graph {
namespace {

bool has_order(const Dims& sizes, const Dims& strides, std::initializer_list<size_t> inner_first) {
  if (sizes.size() != inner_first.size()) return false;
  int64_t expected = 1;
  for (size_t d : inner_first) {
    if (sizes[d] == 1) continue;
    if (strides[d] != expected) return false;
    expected *= sizes[d];
  }
  return true;
}

/// Insertion sort that leaves ambiguous pairs where they are, from the order n-1 … 0. `compare(a, b)` > 0: a
/// comes after b.
template <class Compare>
std::vector<size_t> inner_first_order(size_t n, const Compare& compare) {
  std::vector<size_t> perm(n);
  std::iota(perm.rbegin(), perm.rend(), size_t{0});
  for (size_t i = 1; i < n; ++i) {
    size_t moving = i;
    for (size_t other = i; other-- > 0;) {
      const int c = compare(perm[other], perm[moving]);
      if (c > 0) {
        std::swap(perm[other], perm[moving]);
        moving = other;
      } else if (c < 0) {
        break;
      }
    }
  }
  return perm;
}

struct Layout {
  Dims strides;  ///< over the broadcast shape; 0 where broadcast
};

int compare_dims(size_t a, size_t b, const Dims& shape, const std::vector<Layout>& operands) {
  for (const Layout& o : operands) {
    const int64_t x = o.strides[a], y = o.strides[b];
    if (x == 0 || y == 0) continue;
    if (x < y) return -1;
    if (x > y) return 1;
    if (shape[a] > shape[b]) return 1;
  }
  return 0;
}

/// Strict rule of suggest_memory_format: ambiguous strides count as contiguous.
bool strides_like_channels_last(const Dims& sizes, const Dims& strides, std::initializer_list<size_t> order) {
  if (sizes.size() != order.size()) return false;
  int64_t least = 0;
  if (strides[1] == 0) return false;
  for (size_t d : order) {
    if (sizes[d] == 0 || strides[d] < least) return false;
    // An N111 tensor with identical strides is taken for contiguous.
    if (d == 0 && least == strides[1]) return false;
    least = strides[d];
    if (sizes[d] > 1) least *= sizes[d];
  }
  return true;
}

/// Result strides of a TensorIterator whose operands all have the result's shape, when one of its short cuts
/// applies.
std::optional<Dims> fast_strides(const std::vector<const TensorMeta*>& inputs, const Dims& shape) {
  bool contiguous = true, channels_last = true, dense = true;
  for (const TensorMeta* m : inputs) {
    contiguous = contiguous && is_contiguous(m->sizes, m->strides);
    channels_last = channels_last && is_channels_last(m->sizes, m->strides);
    dense = dense && is_dense(m->sizes, m->strides) && m->strides == inputs[0]->strides;
  }
  if (contiguous) return contiguous_strides(shape);
  if (channels_last) return channels_last_strides(shape);
  if (dense) return inputs[0]->strides;
  return std::nullopt;
}

}  // namespace

bool is_contiguous(const Dims& sizes, const Dims& strides) {
  if (numel_of(sizes) == 0) return true;
  int64_t expected = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= sizes[i];
  }
  return true;
}
bool is_channels_last(const Dims& sizes, const Dims& strides) {
  return has_order(sizes, strides, {1, 3, 2, 0});
}
bool is_channels_last_3d(const Dims& sizes, const Dims& strides) {
  return has_order(sizes, strides, {1, 4, 3, 2, 0});
}

Dims channels_last_strides(const Dims& s) {
  if (s.size() == 5) {
    Dims out(5);
    out[1] = 1;
    out[4] = s[1];
    out[3] = out[4] * s[4];
    out[2] = out[3] * s[3];
    out[0] = out[2] * s[2];
    return out;
  }
  Dims out(4);
  out[1] = 1;
  out[3] = s[1];
  out[2] = out[3] * s[3];
  out[0] = out[2] * s[2];
  return out;
}

bool is_dense(const Dims& sizes, const Dims& strides) {
  if (is_contiguous(sizes, strides)) return true;
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (sizes[a] < 2) return false;
    if (sizes[b] < 2) return true;
    return strides[a] < strides[b];
  });
  int64_t expected = 1;
  for (size_t d : order) {
    if (sizes[d] < 2) return true;
    if (strides[d] != expected) return false;
    expected *= sizes[d];
  }
  return true;
}

Dims preserved_strides(const Dims& sizes, const Dims& strides) {
  if (is_dense(sizes, strides)) return strides;
  const size_t n = sizes.size();
  if (n == 1) return {1};
  const auto order = inner_first_order(n, [&](size_t a, size_t b) {
    if (strides[a] == 0 || strides[b] == 0) return 0;
    if (strides[a] != strides[b]) return strides[a] < strides[b] ? -1 : 1;
    return sizes[a] > sizes[b] ? 1 : 0;
  });
  Dims out(n);
  int64_t step = 1;
  for (size_t d : order) {
    out[d] = step;
    if (sizes[d] > 1) step *= sizes[d];
  }
  return out;
}

bool suggests_channels_last(const Dims& sizes, const Dims& strides) {
  return strides_like_channels_last(sizes, strides, {1, 3, 2, 0}) ||
         strides_like_channels_last(sizes, strides, {1, 4, 3, 2, 0});
}

void insert_dim(Dims& sizes, Dims& strides, size_t at) {
  const int64_t stride = at >= sizes.size() ? 1 : sizes[at] * strides[at];
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(at), 1);
  strides.insert(strides.begin() + static_cast<std::ptrdiff_t>(at), stride);
}

std::optional<Dims> view_strides(const Dims& sizes, const Dims& strides, const Dims& shape) {
  if (sizes.empty()) return Dims(shape.size(), 1);
  const int64_t numel = numel_of(sizes);
  if (numel == 0 && sizes == shape) return strides;
  Dims out(shape.size());
  if (numel == 0) {
    for (size_t i = shape.size(); i-- > 0;) {
      out[i] = i + 1 == shape.size() ? 1 : std::max<int64_t>(shape[i + 1], 1) * out[i + 1];
    }
    return out;
  }
  auto view = static_cast<int64_t>(shape.size()) - 1;
  int64_t base = strides.back();  // stride of the innermost dim of the chunk
  int64_t tensor_count = 1, view_count = 1;
  for (auto d = static_cast<int64_t>(sizes.size()) - 1; d >= 0; --d) {
    const auto i = static_cast<size_t>(d);
    tensor_count *= sizes[i];
    const bool chunk_ends = d == 0 || (sizes[i - 1] != 1 && strides[i - 1] != tensor_count * base);
    if (!chunk_ends) continue;
    while (view >= 0 && (view_count < tensor_count || shape[static_cast<size_t>(view)] == 1)) {
      out[static_cast<size_t>(view)] = view_count * base;
      view_count *= shape[static_cast<size_t>(view)];
      --view;
    }
    if (view_count != tensor_count) return std::nullopt;
    if (d > 0) {
      base = strides[i - 1];
      tensor_count = 1;
      view_count = 1;
    }
  }
  if (view != -1) return std::nullopt;
  return out;
}

std::optional<TensorMeta> pointwise_meta(const std::vector<Input>& inputs, DType computed, DType out) {
  std::vector<TensorMeta> cast;  // inputs of another dtype are copied first, which can change their layout
  cast.reserve(inputs.size());
  std::vector<const TensorMeta*> tensors;
  DeviceKind device = DeviceKind::kOther;
  Dims shape;
  bool same_shape = true;
  const Dims* first = nullptr;
  for (const Input& in : inputs) {
    static const Dims kNoDims;
    const Dims& sizes = in.tensor ? in.tensor->sizes : kNoDims;
    if (first && *first != sizes) same_shape = false;
    if (!first) first = &sizes;
    if (!in.tensor) continue;
    // A zero-dimensional CPU tensor may join tensors of another device.
    if (device == DeviceKind::kOther || in.tensor->rank() > 0) {
      if (device != DeviceKind::kOther && device != in.tensor->device) return std::nullopt;
      device = in.tensor->device;
    } else if (device != in.tensor->device) {
      return std::nullopt;
    }
    const auto joined = broadcast(shape, sizes);
    if (!joined) return std::nullopt;
    shape = *joined;
    const TensorMeta* m = in.tensor;
    if (computed != DType::kOther && m->dtype != computed) {
      cast.push_back(*m);
      cast.back().strides = preserved_strides(m->sizes, m->strides);
      m = &cast.back();
    }
    tensors.push_back(m);
  }
  if (tensors.empty()) return std::nullopt;
  TensorMeta result = fresh(shape, out, device);
  if (same_shape) {
    if (auto strides = fast_strides(tensors, shape)) {
      result.strides = std::move(*strides);
      return result;
    }
  }
  const size_t n = shape.size();
  if (n < 2) return result;
  std::vector<Layout> layouts;
  for (const TensorMeta* m : tensors) {
    Layout l;
    l.strides.assign(n, 0);
    const size_t shift = n - m->sizes.size();
    for (size_t i = 0; i < m->sizes.size(); ++i) {
      l.strides[shift + i] = m->sizes[i] == 1 && shape[shift + i] != 1 ? 0 : m->strides[i];
    }
    layouts.push_back(std::move(l));
  }
  const auto order =
      inner_first_order(n, [&](size_t a, size_t b) { return compare_dims(a, b, shape, layouts); });
  bool inverted = true;
  for (size_t i = 0; i < n; ++i) inverted = inverted && order[i] == n - 1 - i;
  if (inverted) return result;
  int64_t step = 1;
  for (size_t d : order) {
    result.strides[d] = step;
    step *= shape[d];
  }
  return result;
}

}  // namespace breakline::graph
