// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/vulkan/vulkan_plan.h"

#include <algorithm>
#include <chrono>

#include "core/graph/passes/pure.h"
#include "core/graph/profile.h"
#include "core/torch/node_runner.h"
#include "core/torch/pass_tools.h"
#include "core/torch/tensor.h"
#include "core/vulkan/lower.h"
#include "core/vulkan/shader.h"

namespace breakline::vulkan {
namespace {

using graph::Graph;
using graph::ValueId;

/// Names of the ops that stay on the CPU, each once, at most four.
std::string names_of(const Graph& graph, const std::vector<int>& nodes) {
  std::vector<std::string> names;
  for (int index : nodes) {
    const std::string& name = graph.nodes[static_cast<size_t>(index)].name;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  std::string out;
  for (size_t i = 0; i < names.size() && i < 4; i++) out += (i ? ", " : "") + names[i];
  return names.size() > 4 ? out + " …" : out;
}

/// Slots of one call: owned references by value.
class Slots {
 public:
  Slots(const Graph& graph, graph::ObjectHandle const* inputs) : slots_(graph.values.size(), nullptr) {
    for (size_t i = 0; i < graph.inputs.size(); i++) {
      slots_[static_cast<size_t>(graph.inputs[i])] = Py_NewRef(static_cast<PyObject*>(inputs[i]));
    }
  }
  ~Slots() {
    // Freeing tensors can run Python code (weak references), which must not see or lose a pending error.
    py::SavedError error;
    for (PyObject* object : slots_) Py_XDECREF(object);
    error.restore();
  }
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;
  PyObject*& operator[](ValueId id) { return slots_[static_cast<size_t>(id)]; }
  PyObject** data() { return slots_.data(); }

 private:
  std::vector<PyObject*> slots_;
};

/// Borrows a frame of the program for one call.
class FrameLoan {
 public:
  explicit FrameLoan(Program& program) : program_(program), frame_(program.acquire()) {}
  ~FrameLoan() { program_.release(frame_); }
  FrameLoan(const FrameLoan&) = delete;
  FrameLoan& operator=(const FrameLoan&) = delete;
  Program::Frame* get() const { return frame_; }

 private:
  Program& program_;
  Program::Frame* frame_;
};

/// Has the device time its kernels for one call.
class TimestampsOn {
 public:
  explicit TimestampsOn(bool on) : on_(on && !kernel_timestamps()) {
    if (on_) set_kernel_timestamps(true);
  }
  ~TimestampsOn() {
    if (on_) set_kernel_timestamps(false);
  }
  TimestampsOn(const TimestampsOn&) = delete;
  TimestampsOn& operator=(const TimestampsOn&) = delete;

 private:
  bool on_;
};

/// Lets other Python threads run while the device works.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() { PyEval_RestoreThread(state_); }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

class VulkanPlan final : public graph::Plan {
 public:
  VulkanPlan(std::shared_ptr<const Graph> given, std::shared_ptr<const Graph> graph, LoweredGraph lowered,
             std::shared_ptr<Program> program, graph::PlanInfo info)
      : given_(std::move(given)),
        graph_(std::move(graph)),
        lowered_(std::move(lowered)),
        program_(program),
        info_(std::move(info)) {
    for (const LoweredStep& step : lowered_.steps) {
      if (step.kind != LoweredStep::kHost) continue;
      runners_.emplace_back(*graph_, step.index);
    }
  }

  ~VulkanPlan() override {
    auto program = program_.lock();
    if (!program) return;
    if (auto device = Device::current()) {
      std::lock_guard lock(device->mutex);
      device->drop(program.get());
      program.reset();  // frees its buffers, which needs the mutex
    }
  }

  int run(graph::ObjectHandle const* inputs, graph::ObjectHandle* outputs) override {
    if (!fallback_) {
      // Order matters: the program goes before the device.
      std::shared_ptr<Device> device = Device::current();
      std::shared_ptr<Program> program = program_.lock();
      if (device && program) {
        int failed = -1;
        if (run_on_device(*program, inputs, outputs, &failed)) return failed;
      } else {
        fall_back("the Vulkan device was closed");
      }
    }
    return fallback_->run(inputs, outputs);
  }

  const graph::PlanInfo& info() const override { return info_; }

  std::string dump(std::string_view stage) const override {
    std::string text;
    if (stage == "schedule") {
      for (const graph::KernelInfo& kernel : info_.kernels) {
        text += (kernel.device == "torch" ? "call " : "run ") + kernel.name + "  ;";
        for (const int node : kernel.nodes) text += " n" + std::to_string(node);
        text += "\n";
      }
      return text;
    }
    for (const graph::KernelInfo& kernel : info_.kernels) {
      if (kernel.source.empty()) continue;
      if (stage == "glsl") text += "// " + kernel.name + "\n" + kernel.source + "\n";
      if (stage != "spirv") continue;
      const auto assembly = spirv_assembly(kernel.source, {});
      text += "; " + kernel.name + "\n" + (assembly ? *assembly : "; " + assembly.error().message) + "\n";
    }
    return text;
  }

  std::vector<double> times_us() const {
    std::vector<double> out(info_.kernels.size(), -1);
    auto program = program_.lock();
    if (!program || fallback_) return out;
    std::vector<double> times = program->kernel_times_us();
    for (size_t i = 0; i < times.size() && i < lowered_.kernel_of_dispatch.size(); i++) {
      out[static_cast<size_t>(lowered_.kernel_of_dispatch[i])] = times[i];
    }
    return out;
  }

 private:
  /// From here on every call is a replay.
  void fall_back(const std::string& reason) {
    fallback_ = torch::make_replay_plan(given_, reason);
    info_.plan = "replay";
    info_.reason = reason;
    info_.kernels = fallback_->info().kernels;
  }

  /// True when the call is done (`failed` as Plan::run returns it); false when it is to be replayed from its
  /// start.
  bool run_on_device(Program& program, graph::ObjectHandle const* inputs, graph::ObjectHandle* outputs,
                     int* failed) {
    Slots slots(*graph_, inputs);
    bool changed_something = false;
    size_t runner = 0;
    graph::KernelTimes* times = graph::kernel_times;
    const TimestampsOn timestamps(times != nullptr);
    try {
      FrameLoan frame(program);
      for (const LoweredStep& step : lowered_.steps) {
        const int64_t start = times ? graph::profile_clock_ns() : 0;
        if (step.kind == LoweredStep::kHost) {
          const graph::Node& node = graph_->nodes[static_cast<size_t>(step.index)];
          if (!runners_[runner++].run(slots.data())) {
            *failed = step.index;
            return true;
          }
          changed_something |= node.mutates || node.random || node.ambient || !node.op;
          if (times) add_host_time(*times, step.index, graph::profile_clock_ns() - start);
        } else if (!run_batch(program, frame.get(), step.index, slots)) {
          if (!PyErr_Occurred())
            throw VulkanError{VK_SUCCESS, "A tensor's shape is not the one that was compiled."};
          *failed = first_node(step.index);
          return true;
        }
        for (ValueId id : step.dies) Py_CLEAR(slots[id]);
      }
    } catch (const VulkanError& error) {
      fall_back(error.message);
      if (!changed_something) return false;
      PyErr_SetString(PyExc_RuntimeError, error.message.c_str());
      *failed = 0;
      return true;
    }
    for (size_t i = 0; i < graph_->outputs.size(); i++) outputs[i] = Py_XNewRef(slots[graph_->outputs[i]]);
    if (times) {
      const std::vector<double> device = times_us();
      for (size_t k = 0; k < device.size(); k++)
        if (device[k] >= 0) times->add(k, static_cast<int64_t>(device[k] * 1e3));
    }
    *failed = -1;
    return true;
  }

  void add_host_time(graph::KernelTimes& times, int node, int64_t ns) const {
    for (size_t k = 0; k < info_.kernels.size(); k++)
      if (info_.kernels[k].device == "torch" && info_.kernels[k].nodes == std::vector<int>{node})
        times.add(k, ns);
  }

  int first_node(int batch) const {
    const auto& dispatches = lowered_.program->batches[static_cast<size_t>(batch)].dispatches;
    return dispatches.empty() || dispatches[0].nodes.empty() ? 0 : dispatches[0].nodes[0];
  }

  /// False with or without a Python error set.
  bool run_batch(Program& program, Program::Frame* frame, int index, Slots& slots) {
    const ProgramDesc& desc = *lowered_.program;
    const Batch& batch = desc.batches[static_cast<size_t>(index)];
    std::vector<HostSource> sources;
    for (int r : batch.uploads) {
      const Root& root = desc.roots[static_cast<size_t>(r)];
      PyObject* tensor = slots[root.value];
      if (!matches(tensor, graph_->values[static_cast<size_t>(root.value)].meta)) return false;
      sources.push_back({torch::data_ptr(tensor), root.bytes, torch::version_of(tensor)});
    }
    std::vector<void*> targets;
    for (int r : batch.downloads) {
      ValueId id = desc.roots[static_cast<size_t>(r)].value;
      const graph::TensorMeta& meta = graph_->values[static_cast<size_t>(id)].meta;
      PyObject* made = torch::new_empty(meta.sizes, meta.strides, meta.dtype);
      if (!made) return false;
      Py_XSETREF(slots[id], made);
      targets.push_back(torch::data_ptr(made));
    }
    WithoutGil released;
    program.run(frame, index, sources, targets);
    return true;
  }

  /// Reading a tensor of another layout would run over its end; the guards should have seen it.
  static bool matches(PyObject* tensor, const graph::TensorMeta& meta) {
    if (!tensor) return false;
    torch::RawMeta raw = torch::raw_meta(tensor);
    return raw.dtype == meta.dtype && raw.rank == meta.rank() &&
           std::equal(meta.sizes.begin(), meta.sizes.end(), raw.sizes) &&
           std::equal(meta.strides.begin(), meta.strides.end(), raw.strides);
  }

  std::shared_ptr<const Graph> given_;  ///< as the program has it: what a replay runs
  std::shared_ptr<const Graph> graph_;  ///< without needless in-place ops
  LoweredGraph lowered_;
  std::weak_ptr<Program> program_;  ///< owned by the device, so that closing it frees everything
  graph::PlanInfo info_;
  std::vector<torch::NodeRunner> runners_;  ///< of the host steps, in order
  std::unique_ptr<graph::Plan> fallback_;
};

/// Why the device can't be used for `graph`, or "".
std::string why_replay(const Graph& graph) {
  if (graph.needs_grad) return "parameters need grad";
  if (graph.reshapes) return "a tensor's shape or memory changes in place";
  for (const graph::Node& node : graph.nodes) {
    if (node.ambient && node.name.find("inference") != std::string::npos) return "it switches inference mode";
  }
  return "";
}

/// Activations in place on intermediates as fresh results, so that they can be kernels.
std::shared_ptr<const Graph> without_in_place(const std::shared_ptr<const Graph>& graph) {
  constexpr graph::Pass kPasses[] = {
      {"functional", "in-place operations become fresh ones where nobody can tell", graph::functional_pass}};
  graph::Rewrite rewrite(*graph);
  graph::PassLog log;
  return graph::run_passes(kPasses, rewrite, torch::pass_tools(), log) ? graph::split(rewrite).main : graph;
}

std::unique_ptr<graph::Plan> make(std::shared_ptr<const Graph> graph, const std::string& reason, bool fuse) {
  if (std::string why = why_replay(*graph); !why.empty()) return torch::make_replay_plan(graph, why);
  std::shared_ptr<Device> device = Device::get();
  if (!device) return torch::make_replay_plan(graph, "no Vulkan device: " + vulkan_info().reason);
  if (device->lost()) return torch::make_replay_plan(graph, "the Vulkan device was lost");
  auto start = std::chrono::steady_clock::now();
  std::shared_ptr<const Graph> given = graph;
  if (graph->regions.empty()) graph = without_in_place(graph);
  LoweredGraph lowered = lower(*graph, device->traits(), {.fuse = fuse});
  if (lowered.device_nodes == 0) {
    std::string why = lowered.host_nodes.empty() ? "nothing to compute"
                                                 : "no shader for " + names_of(*graph, lowered.host_nodes);
    return torch::make_replay_plan(given, why);
  }
  std::shared_ptr<Program> program;
  try {
    program = Program::make(*device, lowered.program);
  } catch (const VulkanError& error) {
    return torch::make_replay_plan(given, error.message);
  }
  graph::PlanInfo info;
  info.plan = fuse ? "vulkan" : "vulkan_eager";
  info.kernels = lowered.kernels;
  info.reason = reason;
  if (reason.empty() && !lowered.host_nodes.empty()) {
    size_t total = lowered.host_nodes.size() + static_cast<size_t>(lowered.device_nodes);
    info.reason = std::to_string(lowered.host_nodes.size()) + " of " + std::to_string(total) +
                  " ops on the CPU: " + names_of(*graph, lowered.host_nodes);
  }
  info.compile_us =
      std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
  return std::make_unique<VulkanPlan>(std::move(given), std::move(graph), std::move(lowered),
                                      std::move(program), std::move(info));
}

}  // namespace

std::unique_ptr<graph::Plan> make_vulkan_plan(std::shared_ptr<const Graph> graph, const std::string& reason) {
  return make(std::move(graph), reason, true);
}

std::unique_ptr<graph::Plan> make_vulkan_eager_plan(std::shared_ptr<const Graph> graph,
                                                    const std::string& reason) {
  return make(std::move(graph), reason, false);
}

std::vector<double> kernel_times_us(const graph::Plan& plan) {
  const auto* own = dynamic_cast<const VulkanPlan*>(&plan);
  return own ? own->times_us() : std::vector<double>{};
}

}  // namespace breakline::vulkan
