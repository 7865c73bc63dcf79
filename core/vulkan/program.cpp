// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/vulkan/program.h"

#include <algorithm>

#include "core/vulkan/frame.h"
#include "core/vulkan/pipelines.h"

namespace breakline::vulkan {
namespace {

constexpr int64_t kAlign = 256;
int64_t round_up(int64_t n) { return (n + kAlign - 1) / kAlign * kAlign; }

/// Launches (numbered over all batches) between which a root's memory must stay.
struct Life {
  int first = -1, last = -1;
  int first_batch = -1, last_batch = -1;
};

std::vector<Life> lives(const ProgramDesc& desc) {
  std::vector<Life> out(desc.roots.size());
  int position = 0;
  for (size_t b = 0; b < desc.batches.size(); b++) {
    const Batch& batch = desc.batches[b];
    int begin = position;
    auto touch = [&](int root, int at) {
      Life& life = out[static_cast<size_t>(root)];
      if (life.first < 0) {
        life.first = at;
        life.first_batch = static_cast<int>(b);
      }
      life.last = at;
      life.last_batch = static_cast<int>(b);
    };
    for (const Dispatch& dispatch : batch.dispatches) {
      for (const Operand& operand : dispatch.operands) touch(operand.root, position);
      position++;
    }
    int end = std::max(position - 1, begin);
    for (int root : batch.downloads) touch(root, end);
    // A batch may run twice (a resident operand turned out stale), so what it got from an earlier batch must
    // outlive it.
    for (Life& life : out) {
      if (life.last_batch == static_cast<int>(b) && life.first_batch < static_cast<int>(b)) life.last = end;
    }
  }
  return out;
}

}  // namespace

std::shared_ptr<Program> Program::make(Device& device, std::shared_ptr<const ProgramDesc> desc) {
  std::shared_ptr<Program> program(new Program(device, std::move(desc)));
  program->plan_memory();
  std::lock_guard lock(device.mutex);
  for (const Batch& batch : program->desc_->batches) {
    auto& pipelines = program->pipelines_.emplace_back();
    for (const Dispatch& dispatch : batch.dispatches) {
      pipelines.push_back(device.pipelines().get(dispatch.glsl, static_cast<int>(dispatch.operands.size())));
    }
  }
  device.adopt(program);
  return program;
}

Program::Program(Device& device, std::shared_ptr<const ProgramDesc> desc)
    : device_(device), desc_(std::move(desc)) {}
Program::~Program() = default;

void Program::plan_memory() {
  std::vector<Life> life = lives(*desc_);
  slab_offset_.assign(desc_->roots.size(), -1);
  std::vector<int> order;
  for (size_t i = 0; i < desc_->roots.size(); i++) {
    if (!desc_->roots[i].from_host && life[i].first >= 0) order.push_back(static_cast<int>(i));
  }
  // Largest first, each at the lowest place that is free during its whole life.
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return desc_->roots[static_cast<size_t>(a)].bytes > desc_->roots[static_cast<size_t>(b)].bytes;
  });
  std::vector<int> placed;
  for (int root : order) {
    auto r = static_cast<size_t>(root);
    int64_t bytes = round_up(desc_->roots[r].bytes);
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (int other : placed) {
      auto o = static_cast<size_t>(other);
      if (life[o].last < life[r].first || life[r].last < life[o].first) continue;
      taken.emplace_back(slab_offset_[o], slab_offset_[o] + round_up(desc_->roots[o].bytes));
    }
    std::sort(taken.begin(), taken.end());
    int64_t at = 0;
    for (auto [begin, end] : taken) {
      if (begin - at >= bytes) break;
      at = std::max(at, end);
    }
    slab_offset_[r] = at;
    slab_bytes_ = std::max(slab_bytes_, at + bytes);
    placed.push_back(root);
  }
}

Program::Frame* Program::acquire() {
  std::lock_guard lock(device_.mutex);
  if (idle_.empty()) {
    frames_.push_back(std::make_unique<Frame>(device_, *desc_, pipelines_, slab_offset_, slab_bytes_));
    return frames_.back().get();
  }
  Frame* frame = idle_.back();
  idle_.pop_back();
  return frame;
}

void Program::release(Frame* frame) {
  std::lock_guard lock(device_.mutex);
  times_ = frame->times_us();
  idle_.push_back(frame);
}

void Program::run(Frame* frame, int batch, std::span<const HostSource> sources,
                  std::span<void* const> targets) {
  std::lock_guard lock(device_.mutex);
  if (device_.lost()) throw VulkanError{VK_ERROR_DEVICE_LOST, "The Vulkan device was lost."};
  frame->run(batch, sources, targets);
}

std::vector<double> Program::kernel_times_us() const {
  std::lock_guard lock(device_.mutex);
  return times_;
}

}  // namespace breakline::vulkan
