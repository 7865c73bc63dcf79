// SPDX-License-Identifier: GPL-3.0-or-later
// A segment whose trace left sizes open serves all tensors of other sizes for which the trace would have been
// the same. Whether it would is found out by repeating what the trace concluded from sizes: the shape of each
// operation's result, each answer to a question about a shape, each comparison. What comes of it is kept by
// sizes: an instance.
#pragma once
#include <memory>
#include <vector>

#include "core/graph/plan.h"
#include "core/guard/program.h"
#include "core/trace/shape_log.h"

namespace breakline::segment {

class Root;
struct Segment;

/// What must be put back when a node fails after others have written something.
struct Restoration {
  std::vector<guard::SourceId> mutated_inputs;
  bool rng = false;
  bool needed() const { return rng || !mutated_inputs.empty(); }
};
Restoration plan_restoration(const graph::Graph& graph, const std::vector<guard::SourceId>& inputs);

/// A segment's graph for tensors of certain sizes.
struct Instance {
  std::vector<int64_t> key;  ///< sizes and strides of the open inputs, numbers that shapes are made from
  bool fits = false;         ///< false: with these sizes the trace would have been another one
  int failed_step = -1;      ///< of the guard program, when it was a comparison that came out otherwise
  std::shared_ptr<const graph::Graph> graph;
  graph::Plan* plan = nullptr;
  std::unique_ptr<graph::Plan> own_plan, quick_plan;  ///< the quick one stays: a call in flight may run it
  bool used = false;
  bool final_plan = true;  ///< false: a plan that is quick to make, until the instance is used again
  Restoration restoration;
  std::vector<std::pair<guard::SourceId, py::Ref>> values;  ///< of the sources that hang on sizes
  std::vector<py::Ref> constants;
};

/// The instances of one segment. Touched with the GIL held only.
class OpenShapes {
 public:
  explicit OpenShapes(trace::ShapeLog log) : log_(std::move(log)) {}
  /// The instance for the call whose guards have just been checked (its sources' values are put into
  /// `context`), which may be one that does not fit. Null: there is none, or it is to be prepared.
  std::shared_ptr<Instance> find(const Segment& segment, guard::GuardContext& context);
  /// Makes that instance, or a better plan for it; the guards are to be checked again afterwards, for Python
  /// code may have run meanwhile. False: there can be none for such a call. In a TraceTurn.
  bool prepare(Root& root, Segment& segment, guard::GuardContext& context);
  /// Sizes of one open input of the call.
  struct Sizes {
    guard::SourceId source = guard::kNoSource;
    std::vector<int64_t> sizes, strides;
  };
  std::vector<Sizes> open_sizes(const Segment& segment, guard::GuardContext& context) const;
  /// Where sizes would have made the trace another one: the frames of an operation, or "FILE:LINE" of a comparison.
  struct Misfit {
    std::vector<graph::OriginFrame> frames;
    std::string place;
    bool known() const { return !frames.empty() || !place.empty(); }
  };
  /// Whether the segment would serve a call like the present one with other sizes (of the open inputs, in the order of
  /// `open_sizes`; strides follow from them). Keeps nothing, but Python code may run, and what `context` has of sizes is
  /// lost. In a TraceTurn, after the segment's own first instance was made.
  bool would_fit(Segment& segment, guard::GuardContext& context, const std::vector<Sizes>& sizes, Misfit& misfit);
  const std::vector<std::shared_ptr<Instance>>& instances() const { return instances_; }

 private:
  bool make_key(const Segment& segment, guard::GuardContext& context);
  std::shared_ptr<Instance> known();
  std::shared_ptr<Instance> make(Root& root, Segment& segment, guard::GuardContext& context);
  bool infer_all(graph::Graph& graph, const graph::Graph& traced, Segment& segment,
                 guard::GuardContext& context, Instance& instance, const std::vector<Sizes>& sizes);

  static constexpr size_t kMost = 48;  ///< instances kept; the one unused for longest goes first
  trace::ShapeLog log_;
  std::vector<int64_t> key_;
  std::vector<std::shared_ptr<Instance>> instances_;  ///< most recently used first
  bool first_made_ = false;
  const trace::ShapeRecord* failed_record_ = nullptr;  ///< of the last `infer_all` that came out otherwise
};

/// A plan for the segment's device, or for PyTorch's own operators one by one when `quick`.
std::unique_ptr<graph::Plan> make_plan(const Root& root, std::shared_ptr<const graph::Graph> graph,
                                       bool quick);

}  // namespace breakline::segment
