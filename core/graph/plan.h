// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace breakline::graph {

/// One compiled unit of a plan, for report and window.
struct KernelInfo {
  std::string name;
  std::string device;      ///< "cpu", "vulkan", "torch" (extern call)
  std::vector<int> nodes;  ///< node indices it computes
  std::string source;      ///< GLSL text when kept, else ""
  std::function<std::string()> make_source;  ///< makes the text (LLVM IR) when somebody asks; may be empty
  std::string text() const { return source.empty() && make_source ? make_source() : source; }
};

struct PlanInfo {
  std::string plan;    ///< "replay", "cpu", "vulkan"
  std::string reason;  ///< why this plan: "" or e.g. "parameters need grad"
  std::vector<KernelInfo> kernels;
  double compile_us = 0;
};

/// How a graph is run. Made once per segment. Thread: called with the GIL held; not reentrant-safe state must
/// be per call.
class Plan {
 public:
  virtual ~Plan() = default;
  /// `inputs`: borrowed Python objects, one per graph.inputs. `outputs`: receives new references, one per
  /// graph.outputs. Returns -1 on success. Otherwise a Python error is set, no output is written, and the
  /// index of the failing node is returned (the caller restores state and re-runs the site concretely).
  virtual int run(ObjectHandle const* inputs, ObjectHandle* outputs) = 0;
  virtual const PlanInfo& info() const = 0;
  /// Gives back memory that only a run needs; the next run takes it again.
  virtual void rest() {}
  /// Stable text of one stage ("schedule", "kernel-ir", "llvm", "asm", "glsl", "spirv"); "" where this plan has
  /// no such stage.
  virtual std::string dump(std::string_view stage) const {
    (void)stage;
    return "";
  }
};

/// Makes a plan for `graph` (which outlives it). Never fails: a maker that can't do better returns a replay
/// plan with the reason. A maker lives in cpu/, vulkan/, torch/; `engine` registers them by name; `segment`
/// only knows this type.
using PlanMaker = std::unique_ptr<Plan> (*)(std::shared_ptr<const Graph> graph, const std::string& reason);

/// Registry "replay" | "cpu" | "vulkan" | "vulkan_eager" → maker; filled by engine at start. Null when
/// absent.
void register_plan_maker(const std::string& name, PlanMaker maker);
PlanMaker find_plan_maker(const std::string& name);

}  // namespace breakline::graph
