// SPDX-License-Identifier: GPL-3.0-or-later
// The reference plan: every node through its torch callable, in program order, intermediates freed after
// their last use.
#include "core/graph/profile.h"
#include "core/torch/node_runner.h"
#include "core/torch/region_run.h"
#include "core/torch/slots.h"

namespace breakline::torch {
namespace {

class ReplayPlan final : public graph::Plan {
 public:
  ReplayPlan(std::shared_ptr<const graph::Graph> graph, const std::string& reason)
      : nodes_(std::make_shared<const PreparedNodes>(std::move(graph))) {
    info_.plan = "replay";
    info_.reason = reason;
    const std::vector<graph::Node>& nodes = nodes_->graph->nodes;
    info_.kernels.reserve(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i)
      info_.kernels.push_back({nodes[i].name, "torch", {static_cast<int>(i)}, ""});
  }

  int run(graph::ObjectHandle const* inputs, graph::ObjectHandle* outputs) override {
    return run_in_slots(*nodes_->graph, inputs, outputs, [this](PyObject** slots) {
      return nodes_->graph->regions.empty() ? run_nodes(slots) : run_with_regions(nodes_, slots);
    });
  }

  const graph::PlanInfo& info() const override { return info_; }

 private:
  int run_nodes(PyObject** slots) const {
    graph::KernelTimes* times = graph::kernel_times;
    const std::vector<NodeRunner>& runners = nodes_->runners;
    for (size_t i = 0; i < runners.size(); ++i) {
      const int64_t start = times ? graph::profile_clock_ns() : 0;
      if (!runners[i].run(slots)) return static_cast<int>(i);
      for (graph::ValueId id : nodes_->dying[i]) Py_CLEAR(slots[id]);
      if (times) times->add(i, graph::profile_clock_ns() - start);
    }
    return -1;
  }

  std::shared_ptr<const PreparedNodes> nodes_;
  graph::PlanInfo info_;
};

}  // namespace

std::unique_ptr<graph::Plan> make_replay_plan(std::shared_ptr<const graph::Graph> graph,
                                              const std::string& reason) {
  return std::make_unique<ReplayPlan>(std::move(graph), reason);
}

}  // namespace breakline::torch
