// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cpu/kernel_plan.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <set>

#include "core/cpu/index_check.h"
#include "core/cpu/jit_loader.h"
#include "core/cpu/parallel.h"
#include "core/graph/profile.h"
#include "core/schedule/memory.h"
#include "core/schedule/schedule.h"
#include "core/torch/kept_memory.h"
#include "core/torch/node_runner.h"
#include "core/torch/product_call.h"
#include "core/torch/slots.h"
#include "core/torch/tensor.h"

namespace breakline::cpu {
namespace {

using graph::Graph;
using graph::ValueId;
using schedule::Storage;

constexpr int64_t kLarge = 4 << 20;

/// Fresh memory of megabytes comes in pages of 4 KiB, each a fault of a microsecond or more when it is first
/// written, which is slower than any kernel. Asks the system for large pages where it leaves that to
/// programs; no more than a hint.
void prefer_large_pages(void* data, int64_t bytes) {
#ifdef MADV_HUGEPAGE
  if (bytes < kLarge) return;
  constexpr uintptr_t kPage = 2 << 20;
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(data) + kPage - 1) / kPage * kPage;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(data) + static_cast<uintptr_t>(bytes)) / kPage * kPage;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

/// What a call of the plan needs beside its operands: 64-byte aligned bytes, and the products' tensors over
/// memory.
class Workspace {
 public:
  Workspace(int64_t bytes, const std::vector<schedule::Product>& products) {
    if (bytes > 0) allocate(bytes);
    for (const schedule::Product& p : products) {
      const auto extent = [](const schedule::Matrix& m) { return torch::Extent{m.sizes, m.strides}; };
      for (size_t part = 0; part < p.parts.size(); ++part)
        calls_.emplace_back(p.dtype, extent(p.out), extent(p.a), extent(p.b), extent(p.bias), p.alpha,
                            p.beta);
    }
    fine_ = bytes <= 0 || data_;
  }
  ~Workspace() { std::free(data_); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  /// False when out of memory.
  bool fine() const { return fine_; }
  char* data() const { return data_; }
  torch::ProductCall& call(size_t index) { return calls_[index]; }

 private:
  void allocate(int64_t bytes) {
    constexpr size_t kAlign = 64;
    const size_t size = (static_cast<size_t>(std::max<int64_t>(bytes, 1)) + kAlign - 1) / kAlign * kAlign;
    data_ = static_cast<char*>(std::aligned_alloc(kAlign, size));
    if (data_) prefer_large_pages(data_, bytes);
  }

  char* data_ = nullptr;
  bool fine_ = false;
  std::vector<torch::ProductCall> calls_;
};

/// Outputs that no cache would hold until somebody reads them.
bool writes_far(const schedule::Kernel& kernel) {
  constexpr int64_t kFar = 16 << 20;
  return std::any_of(kernel.outputs.begin(), kernel.outputs.end(), [&](const schedule::Store& store) {
    int64_t n = graph::item_size(store.buffer.dtype);
    for (size_t d = 0; d < kernel.dims.size(); ++d) n *= store.buffer.strides[d] == 0 ? 1 : kernel.dims[d];
    return n >= kFar;
  });
}

/// A kernel's buffer at run time: a tensor in a slot, or bytes of the arena.
struct Operand {
  ValueId slot = graph::kNoValue;
  int64_t offset = 0;  ///< in bytes, from the tensor's first element or from the arena's
};

struct Step {
  std::shared_ptr<const CompiledKernel> code;  ///< null: a product or an extern node
  std::shared_ptr<const CompiledKernel>
      streaming;                               ///< the same for outputs far larger than the cache, or null
  const schedule::Product* product = nullptr;  ///< its operands: out, a, b, perhaps bias
  size_t call = 0;                             ///< of the product's first part, in the workspace
  size_t inputs = 0;                           ///< of `operands`
  int node = -1;                               ///< extern node, or the kernel's first
  int64_t units = 0, work = 1, piece = 256;    ///< see run_kernel
  std::vector<Operand> operands;               ///< inputs, then outputs
  std::vector<ValueId> made;                   ///< output tensors to allocate
  std::vector<ValueId> dies;
  std::unique_ptr<torch::NodeRunner> runner;  ///< of an extern node, or of one whose indices are checked
  schedule::IndexRange check;                 ///< see schedule::Step
};

class GilRelease {
 public:
  explicit GilRelease(bool release) : state_(release ? PyEval_SaveThread() : nullptr) {}
  ~GilRelease() {
    if (state_) PyEval_RestoreThread(state_);
  }
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;

 private:
  PyThreadState* state_;
};

class KernelPlan final : public graph::Plan {
 public:
  /// `origin`: the nodes that each node is to be known by; empty where they are the graph's own.
  KernelPlan(std::shared_ptr<const Graph> graph, std::vector<std::vector<int>> origin)
      : graph_(std::move(graph)), origin_(std::move(origin)) {}

  /// False with a sentence in `why` when a kernel can't be made.
  bool build(std::string* why) {
    const auto start = std::chrono::steady_clock::now();
    schedule::Schedule plan = choose_schedule();
    for (schedule::Kernel& kernel : plan.kernels)
      for (schedule::Inst& inst : kernel.insts) inst.node = known_as(inst.node);
    Jit* jit = nullptr;
    if (!plan.kernels.empty() && !(jit = load_jit(why))) return false;
    const schedule::MemoryPlan memory = schedule::plan_memory(*graph_, plan);
    arena_bytes_ = memory.bytes;
    schedule_ = {schedule::print_order(plan, *graph_), plan.kernels, plan.products};
    size_t calls = 0;
    for (const schedule::Step& from : plan.order) {
      Step step;
      graph::KernelInfo info;
      if (from.kernel >= 0) {
        const schedule::Kernel& kernel = plan.kernels[static_cast<size_t>(from.kernel)];
        if (!(step.code = jit->compile(kernel, why))) return false;
        if (writes_far(kernel) && schedule::can_stream(kernel)) {
          schedule::Kernel past = kernel;
          past.streaming = true;
          std::string ignored;
          step.streaming = jit->compile(past, &ignored);
        }
        add_kernel(kernel, plan, memory, step);
        info = {kernel.name, "cpu", kernel.nodes, "",
                [jit, kernel] { return jit->text(kernel, Listing::kIr); }};
      } else if (from.product >= 0) {
        const schedule::Product& product = schedule_.products[static_cast<size_t>(from.product)];
        step.call = calls;
        calls += product.parts.size();
        add_product(product, plan, memory, step);
        info = {graph_->nodes[static_cast<size_t>(from.node)].name, "torch", {from.node}, "", {}};
      } else if (from.check >= 0) {
        step.node = from.check;
        step.check = from.range;
        step.runner = std::make_unique<torch::NodeRunner>(*graph_, from.check);
        info = {"check " + graph_->nodes[static_cast<size_t>(from.check)].name, "cpu", {from.check}, "", {}};
      } else {
        step.node = from.node;
        step.runner = std::make_unique<torch::NodeRunner>(*graph_, from.node);
        info = {graph_->nodes[static_cast<size_t>(from.node)].name, "torch", {from.node}, "", {}};
      }
      for (const ValueId id : from.dies) {
        if (plan.storage[static_cast<size_t>(id)] == Storage::kTensor) step.dies.push_back(id);
      }
      info.nodes = known_as(info.nodes);
      steps_.push_back(std::move(step));
      info_.kernels.push_back(std::move(info));
    }
    info_.plan = "cpu";
    if (plan.kernels.empty()) info_.reason = "nothing to fuse: PyTorch's own kernels";
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    info_.compile_us = took.count();
    return true;
  }

  int run(graph::ObjectHandle const* inputs, graph::ObjectHandle* outputs) override {
    const int failed = torch::run_in_slots(*graph_, inputs, outputs,
                                           [this](PyObject** slots) { return run_with_workspace(slots); });
    if (failed < 0 || origin_.empty()) return failed;
    const std::vector<int>& known = origin_[static_cast<size_t>(failed)];
    return known.empty() ? 0 : known.back();
  }

  const graph::PlanInfo& info() const override { return info_; }

  void rest() override {
    if (busy_.exchange(true)) return;  // in use by another thread
    workspace_.reset();
    busy_ = false;
  }

  std::string dump(std::string_view stage) const override {
    if (stage == "schedule") return schedule_.order_text;
    std::string text;
    std::string why;
    Jit* jit = schedule_.kernels.empty() ? nullptr : load_jit(&why);
    for (const schedule::Kernel& kernel : schedule_.kernels) {
      if (stage == "kernel-ir") text += schedule::print(kernel) + "\n";
      if (stage == "llvm" && jit) text += jit->text(kernel, Listing::kIr) + "\n";
      if (stage == "asm" && jit) text += jit->text(kernel, Listing::kAssembly) + "\n";
    }
    return text;
  }

 private:
  /// Lone nodes are PyTorch's, except in small graphs over little data that need nothing else: there its call
  /// costs more than the work.
  schedule::Schedule choose_schedule() const {
    schedule::Options options;
    options.rows = true;
    options.through_views = true;
    options.tiles = true;
    options.large_result = torch::kLargeResult;
    options.gathers = true;
    options.joins = true;
    options.pools = true;
    options.products = torch::ProductCall::available();
    options.packed_products = torch::ProductCall::packed_available();
    options.threads = kernel_threads();
    schedule::Schedule plan = schedule::build_schedule(*graph_, options);
    constexpr size_t kFewNodes = 8;
    constexpr int64_t kLittle = 1 << 14;
    const auto is_call = [](const schedule::Step& step) { return step.kernel < 0 && step.product < 0; };
    const auto is_little = [](const schedule::Kernel& kernel) { return kernel.numel() <= kLittle; };
    if (graph_->nodes.size() > kFewNodes || std::none_of(plan.order.begin(), plan.order.end(), is_call))
      return plan;
    options.lone_exact = true;
    schedule::Schedule whole = schedule::build_schedule(*graph_, options);
    const bool better = std::none_of(whole.order.begin(), whole.order.end(), is_call) &&
                        std::all_of(whole.kernels.begin(), whole.kernels.end(), is_little);
    return better ? whole : plan;
  }

  int known_as(int node) const {
    if (origin_.empty() || node < 0) return node;
    const std::vector<int>& known = origin_[static_cast<size_t>(node)];
    return known.empty() ? -1 : known.front();
  }
  std::vector<int> known_as(const std::vector<int>& nodes) const {
    if (origin_.empty()) return nodes;
    std::vector<int> all;
    for (const int node : nodes) {
      const std::vector<int>& known = origin_[static_cast<size_t>(node)];
      all.insert(all.end(), known.begin(), known.end());
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  void add_kernel(const schedule::Kernel& kernel, const schedule::Schedule& plan,
                  const schedule::MemoryPlan& memory, Step& step) {
    step.units = kernel.units();
    step.work = kernel.reduced();
    if (kernel.reduce_count > 0)
      step.piece = kernel.reduce_begin + kernel.reduce_count == static_cast<int>(kernel.dims.size()) ? 1 : 64;
    step.node = kernel.nodes.front();
    for (const schedule::Buffer& input : kernel.inputs)
      step.operands.push_back(operand(input.value, input.offset, input.dtype, plan, memory));
    step.inputs = step.operands.size();
    for (const schedule::Store& store : kernel.outputs)
      add_output(store.buffer.value, store.buffer.offset, store.buffer.dtype, plan, memory, step);
  }

  void add_product(const schedule::Product& product, const schedule::Schedule& plan,
                   const schedule::MemoryPlan& memory, Step& step) {
    step.product = &product;
    step.node = product.node;
    step.work = product.work();
    if (product.is_packed()) {
      step.operands.push_back(operand(product.a.value, product.a.offset, product.dtype, plan, memory));
      return;
    }
    add_output(product.out.value, 0, product.dtype, plan, memory, step);
    for (const schedule::Matrix* m : {&product.a, &product.b, &product.bias}) {
      if (m->value != graph::kNoValue)
        step.operands.push_back(operand(m->value, m->offset, product.dtype, plan, memory));
    }
  }

  static Operand operand(ValueId value, int64_t offset, graph::DType dtype, const schedule::Schedule& plan,
                         const schedule::MemoryPlan& memory) {
    const auto id = static_cast<size_t>(value);
    const int64_t bytes = offset * graph::item_size(dtype);
    return plan.storage[id] == Storage::kScratch ? Operand{graph::kNoValue, memory.offset[id] + bytes}
                                                 : Operand{value, bytes};
  }
  void add_output(ValueId value, int64_t offset, graph::DType dtype, const schedule::Schedule& plan,
                  const schedule::MemoryPlan& memory, Step& step) {
    step.operands.push_back(operand(value, offset, dtype, plan, memory));
    const bool is_tensor = step.operands.back().slot != graph::kNoValue;
    if (is_tensor && made_.insert(value).second) step.made.push_back(value);
  }

  /// The plan's workspace serves one call at a time; a call inside a call (or from another thread) brings its
  /// own.
  int run_with_workspace(PyObject** slots) {
    if (arena_bytes_ == 0 && schedule_.products.empty()) return run_steps(slots, nullptr);
    if (busy_.exchange(true)) {
      Workspace own(arena_bytes_, schedule_.products);
      return run_in(own, slots);
    }
    if (!workspace_) workspace_ = std::make_unique<Workspace>(arena_bytes_, schedule_.products);
    const int failed = run_in(*workspace_, slots);
    busy_ = false;
    return failed;
  }
  int run_in(Workspace& workspace, PyObject** slots) const {
    if (workspace.fine()) return run_steps(slots, &workspace);
    PyErr_NoMemory();
    return steps_.front().node;
  }

  /// With each step's time told where somebody asks; steps and kernels of the info are the same list.
  int run_steps(PyObject** slots, Workspace* workspace) const {
    graph::KernelTimes* times = graph::kernel_times;
    for (size_t k = 0; k < steps_.size(); ++k) {
      const Step& step = steps_[k];
      const int64_t start = times ? graph::profile_clock_ns() : 0;
      const bool fine = step.code               ? run_kernel_step(step, slots, workspace)
                        : step.product          ? run_product(step, slots, *workspace)
                        : step.check.index >= 0 ? check_indices(step, slots)
                                                : step.runner->run(slots);
      if (!fine) return step.node;
      for (const ValueId id : step.dies) Py_CLEAR(slots[id]);
      if (times) times->add(k, graph::profile_clock_ns() - start);
    }
    return -1;
  }

  bool make_outputs(const Step& step, PyObject** slots) const {
    for (const ValueId id : step.made) {
      const graph::TensorMeta& meta = graph_->values[static_cast<size_t>(id)].meta;
      const bool large = meta.numel() * graph::item_size(meta.dtype) >= torch::kLargeResult;
      slots[id] = large ? torch::new_large(meta.sizes, meta.strides, meta.dtype, &prefer_large_pages)
                        : torch::new_empty(meta.sizes, meta.strides, meta.dtype);
      if (!slots[id]) return false;
    }
    return true;
  }
  static char* address(const Operand& operand, PyObject** slots, const Workspace* workspace) {
    return (operand.slot >= 0 ? static_cast<char*>(torch::data_ptr(slots[operand.slot]))
                              : workspace->data()) +
           operand.offset;
  }

  bool check_indices(const Step& step, PyObject** slots) const {
    const auto index = static_cast<size_t>(step.check.index);
    if (indices_within(torch::data_ptr(slots[index]), graph_->values[index].meta, step.check)) return true;
    if (step.runner->run(slots)) PyErr_SetString(PyExc_IndexError, "index out of range");
    return false;
  }

  bool run_product(const Step& step, PyObject** slots, Workspace& workspace) const {
    if (step.product->is_packed()) return run_packed(step, slots, workspace);
    if (!make_outputs(step, slots)) return false;
    std::array<char*, 4> at{};
    for (size_t i = 0; i < step.operands.size(); ++i) at[i] = address(step.operands[i], slots, &workspace);
    const int64_t item = graph::item_size(step.product->dtype);
    bool fine = true;
    {
      const GilRelease release(step.work >= kGrain);
      for (size_t part = 0; fine && part < step.product->parts.size(); ++part) {
        const schedule::Product::Part& p = step.product->parts[part];
        fine = workspace.call(step.call + part)
                   .run(at[0] + p.out * item, at[1] + p.a * item, at[2] + p.b * item, at[3]);
      }
    }
    return fine || refused();
  }
  static bool refused() {
    PyErr_SetString(PyExc_RuntimeError, "PyTorch's library could not do a matrix product");
    return false;
  }
  static bool run_packed(const Step& step, PyObject** slots, Workspace& workspace) {
    const schedule::Product& product = *step.product;
    char* const x = address(step.operands[0], slots, &workspace);
    void* const bias = product.has_bias() ? torch::handle_of(slots[product.bias.value]) : nullptr;
    void* made = nullptr;
    {
      const GilRelease release(step.work >= kGrain);
      made =
          workspace.call(step.call).run_packed(x, torch::handle_of(slots[product.packed]),
                                               torch::handle_of(slots[product.weight]), bias, product.rows);
    }
    return made ? (slots[product.out.value] = torch::adopt(made)) != nullptr : refused();
  }

  bool run_kernel_step(const Step& step, PyObject** slots, const Workspace* workspace) const {
    if (!make_outputs(step, slots)) return false;
    if (step.units == 0) return true;
    constexpr size_t kMostBuffers = 64;
    std::array<void*, kMostBuffers> buffers;
    for (size_t i = 0; i < step.operands.size(); ++i)
      buffers[i] = address(step.operands[i], slots, workspace);
    // Long enough for other Python threads to want the interpreter, as in PyTorch's own operators.
    const GilRelease release(step.units * step.work >= kGrain);
    const auto aligned = [](const void* data) { return reinterpret_cast<uintptr_t>(data) % 64 == 0; };
    const bool past =
        step.streaming && std::all_of(buffers.begin() + static_cast<int64_t>(step.inputs),
                                      buffers.begin() + static_cast<int64_t>(step.operands.size()), aligned);
    run_kernel((past ? *step.streaming : *step.code).run, buffers.data(), step.units, step.work, step.piece);
    return true;
  }

  std::shared_ptr<const Graph> graph_;
  std::vector<std::vector<int>> origin_;
  std::vector<Step> steps_;
  std::set<ValueId> made_;  ///< tensors that a step makes: the first of those that write parts of it
  graph::PlanInfo info_;
  struct {
    std::string order_text;
    std::vector<schedule::Kernel> kernels;  ///< for dumps
    std::vector<schedule::Product> products;
  } schedule_;
  int64_t arena_bytes_ = 0;
  std::unique_ptr<Workspace> workspace_;
  std::atomic<bool> busy_ = false;
};

}  // namespace

std::unique_ptr<graph::Plan> make_kernel_plan(std::shared_ptr<const Graph> graph,
                                              std::vector<std::vector<int>> origin, std::string* why) {
  auto plan = std::make_unique<KernelPlan>(std::move(graph), std::move(origin));
  if (!plan->build(why)) return nullptr;
  return plan;
}

}  // namespace breakline::cpu
