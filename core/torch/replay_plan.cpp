// SPDX-License-Identifier: GPL-3.0-or-later
// The reference plan: every node through its torch callable, in program order, intermediates freed after
// their last use.
#include "core/graph/profile.h"
#include "core/torch/node_runner.h"
#include "core/torch/slots.h"

namespace breakline::torch {
namespace {

class ReplayPlan final : public graph::Plan {
 public:
  ReplayPlan(std::shared_ptr<const graph::Graph> graph, const std::string& reason)
      : graph_(std::move(graph)), dying_(last_uses(*graph_)) {
    runners_.reserve(graph_->nodes.size());
    info_.plan = "replay";
    info_.reason = reason;
    for (size_t i = 0; i < graph_->nodes.size(); ++i) {
      runners_.emplace_back(*graph_, static_cast<int>(i));
      info_.kernels.push_back({graph_->nodes[i].name, "torch", {static_cast<int>(i)}, ""});
    }
  }

  int run(graph::ObjectHandle const* inputs, graph::ObjectHandle* outputs) override {
    return run_in_slots(*graph_, inputs, outputs, [this](PyObject** slots) { return run_nodes(slots); });
  }

  const graph::PlanInfo& info() const override { return info_; }

 private:
  int run_nodes(PyObject** slots) const {
    graph::KernelTimes* times = graph::kernel_times;
    for (size_t i = 0; i < runners_.size(); ++i) {
      const int64_t start = times ? graph::profile_clock_ns() : 0;
      if (!runners_[i].run(slots)) return static_cast<int>(i);
      for (graph::ValueId id : dying_[i]) Py_CLEAR(slots[id]);
      if (times) times->add(i, graph::profile_clock_ns() - start);
    }
    return -1;
  }

  std::shared_ptr<const graph::Graph> graph_;
  std::vector<std::vector<graph::ValueId>> dying_;
  std::vector<NodeRunner> runners_;
  graph::PlanInfo info_;
};

}  // namespace

std::unique_ptr<graph::Plan> make_replay_plan(std::shared_ptr<const graph::Graph> graph,
                                              const std::string& reason) {
  return std::make_unique<ReplayPlan>(std::move(graph), reason);
}

}  // namespace breakline::torch
