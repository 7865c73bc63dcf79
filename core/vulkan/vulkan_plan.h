// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/graph/plan.h"

namespace breakline::vulkan {

/// Compiled for the Vulkan device: pointwise chains fused, one submission per stretch of device work,
/// parameters kept on the device while they don't change. Ops without a shader run on the CPU between
/// (info().reason counts and names them; their kernels' device is "torch"). A replay plan, with the reason,
/// when there is no device, when the graph needs grad, or when nothing in it can run there. With `reason` not
/// empty it becomes the plan's reason.
std::unique_ptr<graph::Plan> make_vulkan_plan(std::shared_ptr<const graph::Graph> graph,
                                              const std::string& reason);

/// Eager on the device: one launch and one submission per op, in program order, waiting only where the CPU
/// needs a value.
std::unique_ptr<graph::Plan> make_vulkan_eager_plan(std::shared_ptr<const graph::Graph> graph,
                                                    const std::string& reason);

/// Device times in µs of the last call, one per kernel of info(); -1 where there is none (CPU kernels, or
/// timestamps were off). Empty for plans of other makers.
std::vector<double> kernel_times_us(const graph::Plan& plan);

}  // namespace breakline::vulkan
