// SPDX-License-Identifier: GPL-3.0-or-later
// Cuts a graph into fused kernels and extern nodes and puts them in an order that gives the graph's result.
#pragma once
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/kernel_ir.h"
#include "core/schedule/products.h"

namespace breakline::schedule {

struct Options {
  /// Groups of fewer nodes stay extern. 1 makes a kernel of every node that can be one (needed by a device of
  /// its own).
  int min_nodes = 2;
  /// Single nodes are kernels where they have one right answer (is_exact).
  bool lone_exact = false;
  /// From this many bytes of a result on, a single node is a kernel, too: its memory is had without faults
  /// (0: never).
  int64_t large_result = 0;
  /// False: one kernel per node (eager on a device).
  bool fuse = true;
  /// Reductions, softmax and normalisations are kernels too (the target's emitter knows reduced dims).
  bool rows = false;
  /// Transposed operands are walked in tiles: for processors with caches.
  bool tiles = false;
  /// Kernels read through views: views that only kernels read are not made (Buffer::offset).
  bool through_views = false;
  /// Matrix products are calls over memory (Schedule::products), which the target runs.
  bool products = false;
  bool packed_products = false;  ///< those with packed weights, too
  /// Embedding, index_select, gather and x[index] are parts of kernels (the target's emitter knows kLoadAt
  /// and its plan the checks of Step).
  bool gathers = false;
  /// Cat, stack and their kin are parts of kernels: each writes its own part of the result (Buffer::offset),
  /// which is made before the first.
  bool joins = false;
  /// Pooling over windows, at their edges by kernels of their own, is a part of kernels.
  bool pools = false;
  /// Threads that run a kernel: with more than one, a reduction to a few numbers is left to PyTorch.
  int threads = 1;
  /// Register types the target can't do (bit `1 << RegType`); nodes that need one stay extern.
  unsigned unsupported_types = 0;
  /// Largest number of buffers of one kernel.
  int max_buffers = 24;
  int max_insts = 400;
};

/// Elements of an index tensor that are in range.
struct IndexRange {
  graph::ValueId index = graph::kNoValue;
  int64_t first = 0, last = 0;
};

/// One step of a plan.
struct Step {
  int kernel = -1;   ///< index into Schedule::kernels, or -1
  int product = -1;  ///< index into Schedule::products, or -1
  int node = -1;     ///< extern node or that of the product, or -1
  /// A node of a later kernel: its index must lie in `range`, else the node itself is called to raise what
  /// eager raises; its operands are tensors.
  int check = -1;
  IndexRange range;
  std::vector<graph::ValueId> dies;  ///< values nobody needs after this step (no graph inputs or outputs)
};

/// Where a value lives, as the schedule needs it.
enum class Storage : uint8_t {
  kNone,     ///< register only, or never made
  kInput,    ///< given by the caller
  kTensor,   ///< must be a real tensor: a graph output, or made or read by an extern node
  kScratch,  ///< made and read by kernels and products only: raw memory will do
};

struct Schedule {
  std::vector<Kernel> kernels;
  std::vector<Product> products;
  std::vector<Step> order;
  std::vector<int> kernel_of;           ///< per node: the first kernel of its group, or -1
  std::vector<std::string> extern_why;  ///< per node: why it is in no kernel, "" if it is in one
  std::vector<Storage> storage;         ///< per value
};

/// Never fails: what can't be fused is extern. Precondition: values whose memory may overlap have one storage
/// id.
///
/// A group is a set of pointwise nodes over one iteration shape; with `rows`, also of reductions over the
/// same dims of that shape and of pointwise nodes on their results. Nodes are ordered by data, by memory (a
/// node that writes a storage id comes after all earlier and before all later ones that touch it), by the
/// random stream, and around changes of ambient state; a node joins a group only if no path leaves the group
/// and comes back.
Schedule build_schedule(const graph::Graph& graph, const Options& options = {});

/// Stable text: steps, kernels, reasons.
std::string print(const Schedule& schedule, const graph::Graph& graph);
/// The steps and reasons alone.
std::string print_order(const Schedule& schedule, const graph::Graph& graph);

}  // namespace breakline::schedule
