// SPDX-License-Identifier: GPL-3.0-or-later
// Metadata of x[…] with index tensors, whose layout PyTorch's meta function gets wrong. Internal to graph.
#pragma once
#include <utility>
#include <vector>

#include "core/graph/shape_util.h"

namespace breakline::graph {

/// Index tensors, each with the dim of x that it indexes, in order of the dims.
using TensorIndices = std::vector<std::pair<size_t, const TensorMeta*>>;

/// `sizes`, `strides`: of x behind the slices, ints and Nones among the indices. Nothing for masks, indices
/// without dims (which are read as numbers) and what has no elements.
Outs index_by_tensors(const ShapeCall& call, Dims sizes, Dims strides, TensorIndices indices);

}  // namespace breakline::graph
