// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/vulkan/lower.h"

#include <algorithm>
#include <set>

#include "core/graph/op_table.h"
#include "core/schedule/schedule.h"
#include "core/vulkan/device_ops.h"

namespace breakline::vulkan {
namespace {

using graph::Graph;
using graph::kNoValue;
using graph::Node;
using graph::TensorMeta;
using graph::ValueId;

void visit(const graph::Arg& arg, std::vector<ValueId>* out) {
  if (arg.is_value()) out->push_back(arg.id());
  if (const graph::ArgSeq* seq = arg.seq()) {
    for (const graph::Arg& item : seq->items) visit(item, out);
  }
}

std::vector<ValueId> operands_of(const Node& node) {
  std::vector<ValueId> out;
  for (const graph::Arg& arg : node.args) visit(arg, &out);
  for (const auto& [name, arg] : node.kwargs) visit(arg, &out);
  return out;
}

class Lowerer {
 public:
  Lowerer(const Graph& graph, const DeviceTraits& traits, const LowerOptions& options)
      : graph_(graph), traits_(traits), options_(options), desc_(std::make_shared<ProgramDesc>()) {}

  LoweredGraph run() {
    schedule::Options schedule_options;
    schedule_options.min_nodes = 1;
    schedule_options.fuse = options_.fuse;
    schedule_options.unsupported_types = unsupported_types(traits_);
    schedule_options.max_buffers = static_cast<int>(traits_.max_buffers);
    schedule::Schedule schedule = schedule::build_schedule(graph_, schedule_options);
    out_.host_why = schedule.extern_why;
    for (std::string& why : out_.host_why) why.clear();
    desc_->submit_each = !options_.fuse;
    where_.resize(graph_.values.size());
    on_host_.assign(graph_.values.size(), false);
    for (ValueId id : graph_.inputs) on_host_[static_cast<size_t>(id)] = true;
    for (const schedule::Step& step : schedule.order) {
      if (step.kernel >= 0) {
        pointwise(schedule.kernels[static_cast<size_t>(step.kernel)]);
      } else {
        node(step.node);
      }
    }
    for (ValueId id : graph_.outputs) need_on_host(id);
    close_batch();
    finish();
    return std::move(out_);
  }

 private:
  /// Where a value lies on the device.
  struct Where {
    int root = -1;
    int64_t offset = 0;
  };

  const graph::Value& value(ValueId id) const { return graph_.values[static_cast<size_t>(id)]; }
  const TensorMeta& meta(ValueId id) const { return value(id).meta; }
  const Node& node_at(int index) const { return graph_.nodes[static_cast<size_t>(index)]; }
  Where& where(ValueId id) { return where_[static_cast<size_t>(id)]; }

  bool fits(ValueId id) const {
    const TensorMeta& m = meta(id);
    int64_t elements = extent(m);
    return !value(id).is_scalar && m.plain && m.device == graph::DeviceKind::kCpu &&
           storable(m.dtype, traits_) && elements < (int64_t{1} << 31) &&
           elements * graph::item_size(m.dtype) <= traits_.max_binding_bytes;
  }

  /// The value that `id` is a view of, if kernels can read it through that one's memory.
  ValueId base_of(ValueId id) const {
    const graph::Value& v = value(id);
    if (v.producer < 0) return kNoValue;
    const Node& producer = node_at(v.producer);
    if (!producer.op || producer.mutates || v.storage < 0) return kNoValue;
    for (ValueId operand : operands_of(producer)) {
      const graph::Value& base = value(operand);
      if (operand == id || base.is_scalar || base.storage != v.storage || base.meta.dtype != v.meta.dtype)
        continue;
      if (!base.meta.plain || !v.meta.plain) continue;
      int64_t shift = v.meta.storage_offset - base.meta.storage_offset;
      if (shift < 0 || shift + extent(v.meta) > extent(base.meta)) continue;
      return operand;
    }
    return kNoValue;
  }

  /// The value whose root holds `id`, and where in it. What has a place keeps it; else the outermost base
  /// gets one.
  std::pair<ValueId, int64_t> holder(ValueId id) {
    int64_t offset = 0;
    while (where(id).root < 0) {
      ValueId base = base_of(id);
      if (base == kNoValue || !fits(base)) break;
      offset += meta(id).storage_offset - meta(base).storage_offset;
      id = base;
    }
    return {id, offset};
  }
  int64_t offset_of(ValueId id) {
    auto [held, offset] = holder(id);
    return offset + where(held).offset;
  }

  int new_root(ValueId id, bool from_host) {
    const TensorMeta& m = meta(id);
    Root root;
    root.value = id;
    root.bytes = extent(m) * graph::item_size(m.dtype);
    root.from_host = from_host;
    root.keep_resident = value(id).input >= 0 && m.requires_grad && m.is_leaf;
    desc_->roots.push_back(root);
    producer_batch_.push_back(from_host ? -1 : open_);
    uploaded_in_.push_back(-1);
    return static_cast<int>(desc_->roots.size()) - 1;
  }

  int open_batch() {
    if (open_ < 0) {
      open_ = static_cast<int>(desc_->batches.size());
      desc_->batches.emplace_back();
    }
    return open_;
  }
  void close_batch() {
    if (open_ < 0) return;
    out_.steps.push_back({LoweredStep::kBatch, open_, {}});
    open_ = -1;
  }

  /// A readable operand in the open batch; uploads what the device doesn't have.
  Operand read(ValueId id) {
    auto [held, offset] = holder(id);
    if (where(held).root < 0) {
      need_on_host(held);
      open_batch();
      where(held) = {new_root(held, true), 0};
    }
    int batch = open_batch();
    Where at = where(held);
    auto r = static_cast<size_t>(at.root);
    if (desc_->roots[r].from_host && uploaded_in_[r] < 0) {
      desc_->batches[static_cast<size_t>(batch)].uploads.push_back(at.root);
      uploaded_in_[r] = batch;
    }
    Where here{at.root, at.offset + offset};
    where(id) = here;
    return {here.root, here.offset, false};
  }
  Operand write(ValueId id) {
    open_batch();
    where(id) = {new_root(id, false), 0};
    return {where(id).root, 0, true};
  }

  /// A host object for `id` exists from here on.
  void need_on_host(ValueId id) {
    if (id == kNoValue || on_host_[static_cast<size_t>(id)]) return;
    const graph::Value& v = value(id);
    bool made_on_device =
        where(id).root >= 0 && desc_->roots[static_cast<size_t>(where(id).root)].value == id;
    if (!made_on_device) {
      host_step(v.producer);  // a view, so far of the device only
      return;
    }
    int root = where(id).root;
    int batch = producer_batch_[static_cast<size_t>(root)];
    desc_->batches[static_cast<size_t>(batch)].downloads.push_back(root);
    on_host_[static_cast<size_t>(id)] = true;
    if (batch == open_) close_batch();
  }

  void host_step(int index) {
    const Node& n = node_at(index);
    std::vector<ValueId> operands = operands_of(n);
    for (ValueId id : operands) need_on_host(id);
    std::set<int> written;
    if (n.mutates) {
      for (ValueId id : operands) written.insert(value(id).storage);
      written.erase(-1);
      // A view belongs to what its base was when the program made it (the base's shape may change in place).
      std::vector<ValueId> views = views_;
      for (ValueId id : views) {
        if (written.contains(value(id).storage)) need_on_host(id);
      }
      close_batch();  // what waits to be launched must read what was there before
    }
    out_.steps.push_back({LoweredStep::kHost, index, {}});
    for (ValueId id : n.outputs) {
      if (id != kNoValue) on_host_[static_cast<size_t>(id)] = true;
    }
    if (!renames(n)) out_.kernels.push_back({n.name, "torch", {index}, ""});
    if (!n.mutates) return;
    for (size_t v = 0; v < graph_.values.size(); v++) {
      int storage = graph_.values[v].storage;
      bool operand = std::find(operands.begin(), operands.end(), static_cast<ValueId>(v)) != operands.end();
      if (!operand && (storage < 0 || !written.contains(storage))) continue;
      // A copy that the host does not have yet would be lost with its place.
      if (where_[v].root >= 0 &&
          desc_->roots[static_cast<size_t>(where_[v].root)].value == static_cast<ValueId>(v) &&
          !on_host_[v]) {
        continue;
      }
      where_[v] = {};
    }
  }

  void launch(const KernelText& text, const std::string& name, const std::vector<int>& nodes,
              const std::vector<ValueId>& inputs, const std::vector<ValueId>& outputs) {
    Dispatch dispatch;
    dispatch.name = name;
    dispatch.glsl = text.glsl;
    dispatch.groups_x = text.groups_x;
    dispatch.groups_y = text.groups_y;
    dispatch.nodes = nodes;
    for (ValueId id : inputs) read(id);  // may close a batch and open the next
    for (ValueId id : inputs) dispatch.operands.push_back(read(id));
    for (ValueId id : outputs) dispatch.operands.push_back(write(id));
    desc_->batches[static_cast<size_t>(open_batch())].dispatches.push_back(std::move(dispatch));
    launched_.emplace_back(open_, static_cast<int>(out_.kernels.size()));
    out_.kernels.push_back({name, "vulkan", nodes, text.glsl});
    out_.device_nodes += static_cast<int>(nodes.size());
  }

  void to_host(int index, const std::string& why) {
    out_.host_why[static_cast<size_t>(index)] = why;
    out_.host_nodes.push_back(index);
    host_step(index);
  }

  void pointwise(const schedule::Kernel& kernel) {
    std::string why;
    std::vector<ValueId> inputs, outputs;
    std::vector<int64_t> offsets;
    for (const auto& input : kernel.inputs) {
      if (!fits(input.value)) why = unfit(input.value);
      inputs.push_back(input.value);
    }
    for (const auto& store : kernel.outputs) {
      if (!fits(store.buffer.value)) why = unfit(store.buffer.value);
      outputs.push_back(store.buffer.value);
    }
    if (inputs.size() + outputs.size() > traits_.max_buffers) why = "too many operands for one kernel";
    if (kernel.numel() == 0) why = "empty tensors";
    if (why.empty()) {
      for (ValueId id : inputs) offsets.push_back(offset_of(id));
      offsets.resize(inputs.size() + outputs.size(), 0);
      auto text = emit_pointwise(kernel, offsets, traits_);
      if (text) {
        launch(*text, kernel.name, kernel.nodes, inputs, outputs);
        return;
      }
      why = text.error().message;
    }
    for (int index : kernel.nodes) to_host(index, why);
  }

  std::string unfit(ValueId id) const {
    const TensorMeta& m = meta(id);
    if (!storable(m.dtype, traits_))
      return "no " + std::string(graph::dtype_name(m.dtype)) + " on this device";
    if (value(id).is_scalar) return "a number that changes between calls";
    return "a tensor too large for one binding";
  }

  /// A node that only renames memory or hands an operand back: nothing runs until the host wants to see it.
  bool renames(const Node& n) const {
    if (!n.op || n.mutates || n.random || n.ambient || n.may_fail || n.outputs.empty()) return false;
    std::vector<ValueId> operands = operands_of(n);
    return std::all_of(n.outputs.begin(), n.outputs.end(), [&](ValueId id) {
      if (id == kNoValue) return false;
      if (std::find(operands.begin(), operands.end(), id) != operands.end()) return true;
      return value(id).producer >= 0 && &node_at(value(id).producer) == &n && base_of(id) != kNoValue;
    });
  }

  void node(int index) {
    const Node& n = node_at(index);
    if (renames(n)) {
      for (ValueId id : n.outputs) views_.push_back(id);
      return;
    }
    std::vector<ValueId> operands = operands_of(n);
    std::string why;
    for (ValueId id : operands) {
      if (!value(id).is_scalar && !fits(id)) why = unfit(id);
    }
    for (ValueId id : n.outputs) {
      if (id != kNoValue && !fits(id)) why = unfit(id);
    }
    if (!why.empty()) {
      to_host(index, why);
      return;
    }
    auto kernel = node_kernel(
        graph_, index, [this](ValueId id) { return offset_of(id); }, traits_);
    if (!kernel) {
      to_host(index, kernel.error().message);
      return;
    }
    std::vector<ValueId> inputs(kernel->operands.begin(), kernel->operands.end() - 1);
    launch(kernel->text, n.op->name.empty() ? n.name : std::string(n.op->name), {index}, inputs,
           {kernel->operands.back()});
  }

  void finish() {
    // Launch numbers run batch by batch; a batch can have been left open while host nodes were added.
    std::stable_sort(launched_.begin(), launched_.end(), [](auto& a, auto& b) { return a.first < b.first; });
    for (auto& [batch, kernel] : launched_) out_.kernel_of_dispatch.push_back(kernel);
    std::vector<int> last(graph_.values.size(), -1);
    auto touch = [&](ValueId id, size_t step) {
      if (id != kNoValue) last[static_cast<size_t>(id)] = static_cast<int>(step);
    };
    for (size_t s = 0; s < out_.steps.size(); s++) {
      const LoweredStep& step = out_.steps[s];
      if (step.kind == LoweredStep::kHost) {
        for (ValueId id : operands_of(node_at(step.index))) touch(id, s);
        for (ValueId id : node_at(step.index).outputs) touch(id, s);
        continue;
      }
      const Batch& batch = desc_->batches[static_cast<size_t>(step.index)];
      for (int root : batch.uploads) touch(desc_->roots[static_cast<size_t>(root)].value, s);
      for (int root : batch.downloads) touch(desc_->roots[static_cast<size_t>(root)].value, s);
    }
    for (ValueId id : graph_.outputs) last[static_cast<size_t>(id)] = -1;
    for (size_t v = 0; v < last.size(); v++) {
      if (last[v] >= 0) out_.steps[static_cast<size_t>(last[v])].dies.push_back(static_cast<ValueId>(v));
    }
    out_.program = desc_;
  }

  const Graph& graph_;
  const DeviceTraits& traits_;
  const LowerOptions& options_;
  std::shared_ptr<ProgramDesc> desc_;
  LoweredGraph out_;
  std::vector<Where> where_;
  std::vector<bool> on_host_;
  std::vector<int> producer_batch_;            ///< per root made by kernels
  std::vector<int> uploaded_in_;               ///< per root from the host: its batch, -1 before
  std::vector<std::pair<int, int>> launched_;  ///< batch and kernel of each launch
  std::vector<ValueId> views_;                 ///< made by the program so far without the host
  int open_ = -1;
};

}  // namespace

LoweredGraph lower(const Graph& graph, const DeviceTraits& traits, const LowerOptions& options) {
  return Lowerer(graph, traits, options).run();
}

}  // namespace breakline::vulkan
