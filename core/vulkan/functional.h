// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>

#include "core/graph/graph.h"

namespace breakline::vulkan {

/// The graph with in-place pointwise ops on float32 intermediates (`nn.ReLU(inplace=True)`) as fresh results,
/// so that they can be kernels. Only where nobody can tell: the tensor was made in the graph and no earlier
/// value shares its memory. Returns `graph` itself when there is no such op. Callables of the new nodes are
/// immortal (methods of torch.Tensor). Needs the GIL.
std::shared_ptr<const graph::Graph> without_in_place(std::shared_ptr<const graph::Graph> graph);

}  // namespace breakline::vulkan
