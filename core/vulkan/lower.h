// SPDX-License-Identifier: GPL-3.0-or-later
// Graph → batches of device work and nodes that run on the host between them. No Python, no device calls.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/graph/plan.h"
#include "core/vulkan/emit.h"
#include "core/vulkan/program.h"

namespace breakline::vulkan {

struct LoweredStep {
  enum Kind : uint8_t {
    kBatch,  ///< `index` into program->batches
    kHost,   ///< `index` of a graph node, through its torch callable
  } kind = kHost;
  int index = -1;
  std::vector<graph::ValueId> dies;  ///< host objects nobody needs after this step
};

struct LoweredGraph {
  std::shared_ptr<const ProgramDesc> program;
  std::vector<LoweredStep> steps;
  std::vector<graph::KernelInfo> kernels;  ///< in the order of execution
  std::vector<int> kernel_of_dispatch;     ///< launches numbered over all batches → index into `kernels`
  int device_nodes = 0;
  std::vector<int> host_nodes;        ///< nodes that touch data and run on the CPU
  std::vector<std::string> host_why;  ///< per graph node: why it is there, "" otherwise
};

struct LowerOptions {
  bool fuse = true;  ///< false: one launch per node, a submission each (eager on the device)
};

/// Never fails: what has no kernel runs on the host. The program gives the graph's result when its steps run
/// in order:
/// - a root's bytes are uploaded from the host object of `Root::value`, from its first element on;
/// - a batch's downloads become the host objects of their roots' values.
LoweredGraph lower(const graph::Graph& graph, const DeviceTraits& traits, const LowerOptions& options);

}  // namespace breakline::vulkan
