// SPDX-License-Identifier: GPL-3.0-or-later
// What a plan does on the device: a static description (no Vulkan in it) and its execution.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/vulkan/device.h"
#include "core/vulkan/resident.h"

namespace breakline::vulkan {

/// A piece of device memory that values of the graph live in: a host tensor's copy, or what a kernel makes.
/// Views of a value share its root.
struct Root {
  graph::ValueId value = graph::kNoValue;
  int64_t bytes = 0;
  bool from_host = false;      ///< filled by uploads; else written by kernels only
  bool keep_resident = false;  ///< a parameter: kept on the device from the first call on
};

struct Operand {
  int root = -1;
  int64_t offset = 0;  ///< in elements
  bool write = false;
};

/// One kernel launch.
struct Dispatch {
  std::string name;
  std::string glsl;
  std::vector<Operand> operands;  ///< binding i
  uint32_t groups_x = 1, groups_y = 1;
  std::vector<int> nodes;  ///< graph nodes it computes
};

/// Uploads, launches, downloads: what happens between two looks of the host at the device.
struct Batch {
  std::vector<int> uploads;  ///< roots
  std::vector<Dispatch> dispatches;
  std::vector<int> downloads;  ///< roots
};

struct ProgramDesc {
  std::vector<Root> roots;
  std::vector<Batch> batches;
  bool submit_each = false;  ///< a submission per launch, in program order (eager on the device)
};

/// A program's pipelines and, per call in flight, its buffers and commands. Every member takes the device's
/// mutex itself and throws VulkanError; none needs the GIL.
class Program : public DeviceResource {
 public:
  class Frame;  ///< what one call uses; calls may overlap (host nodes can call back into Python)

  /// Compiles the kernels.
  static std::shared_ptr<Program> make(Device& device, std::shared_ptr<const ProgramDesc> desc);
  ~Program() override;

  Frame* acquire();
  void release(Frame* frame);
  /// Runs one batch and waits for it. `sources` and `targets` are parallel to uploads and downloads; a target
  /// receives the root's bytes.
  void run(Frame* frame, int batch, std::span<const HostSource> sources, std::span<void* const> targets);
  /// Times of the last finished call per dispatch in µs, batches one after the other; empty without
  /// timestamps.
  std::vector<double> kernel_times_us() const;

 private:
  Program(Device& device, std::shared_ptr<const ProgramDesc> desc);
  void plan_memory();
  Device& device_;
  std::shared_ptr<const ProgramDesc> desc_;
  std::vector<std::vector<const struct Pipeline*>> pipelines_;  ///< per batch, per dispatch
  std::vector<int64_t> slab_offset_;                            ///< per root; -1: not in the slab
  int64_t slab_bytes_ = 0;
  std::vector<std::unique_ptr<Frame>> frames_;
  std::vector<Frame*> idle_;
  std::vector<double> times_;
};

}  // namespace breakline::vulkan
