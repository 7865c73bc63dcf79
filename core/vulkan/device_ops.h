// SPDX-License-Identifier: GPL-3.0-or-later
// Nodes that have a kernel of their own: matrix products, softmax, layer_norm, reductions.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/vulkan/emit.h"

namespace breakline::vulkan {

/// A kernel for one node; `operands` are its buffers in binding order, the node's output last.
struct NodeKernel {
  KernelText text;
  std::vector<graph::ValueId> operands;
};

/// Element offset of a value from the start of its root.
using OffsetOf = std::function<int64_t(graph::ValueId)>;

/// The kernel of `node`, or in one phrase why it has none ("no shader", "bfloat16", …).
Result<NodeKernel> node_kernel(const graph::Graph& graph, int node, const OffsetOf& offset_of,
                               const DeviceTraits& traits);

/// Elements from the first to the last one of a tensor; 0 when it is empty.
int64_t extent(const graph::TensorMeta& meta);
/// Elements are all there are between the first and the last: what kernels can make.
bool is_dense(const graph::TensorMeta& meta);

}  // namespace breakline::vulkan
