// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <vector>

#include "core/torch/node_runner.h"

namespace breakline::torch {

/// A graph's nodes, ready to run. Shared: what autograd keeps of a checkpoint runs some of them after the
/// plan is gone.
struct PreparedNodes {
  explicit PreparedNodes(std::shared_ptr<const graph::Graph> g);
  std::shared_ptr<const graph::Graph> graph;
  std::vector<std::vector<graph::ValueId>> dying;  ///< by node: values with their last use there
  std::vector<NodeRunner> runners;
  std::vector<bool> leaks;  ///< by region: a branch some of whose values are used although it may not have
                            ///< been run; it fails
};

/// Runs a graph with regions, as ReplayPlan runs one without. -1, or the node that failed with a Python error
/// set. GIL.
int run_with_regions(const std::shared_ptr<const PreparedNodes>& nodes, PyObject** slots);

/// True when the error that is set is the one by which PyTorch ends a checkpoint's second forward early: no
/// failure, and what runs until it must not run again. GIL.
bool recomputation_ends();

}  // namespace breakline::torch
