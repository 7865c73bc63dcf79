// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "core/graph/plan.h"
#include "core/python/ref.h"

namespace breakline::torch {

/// Prepared call of one node through its torch callable (vectorcall; stable C interface where it is faster
/// and safe). Prepared once per plan; `run` takes and gives value slots (owned references) indexed by
/// ValueId.
class NodeRunner {
 public:
  NodeRunner(const graph::Graph& graph, int node_index);
  /// False with a Python error set on failure. Writes new references into slots[outputs]; an in-place result
  /// that is the operand itself is not written.
  bool run(PyObject** slots) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

/// For each node: which values die after it (so that intermediates are freed early). Inputs and outputs never
/// die here.
std::vector<std::vector<graph::ValueId>> last_uses(const graph::Graph& graph);

/// The reference plan: every node through its callable, in program order.
std::unique_ptr<graph::Plan> make_replay_plan(std::shared_ptr<const graph::Graph> graph,
                                              const std::string& reason);

}  // namespace breakline::torch
