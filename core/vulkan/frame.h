// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "core/vulkan/program.h"

namespace breakline::vulkan {

/// Buffers, descriptors and recorded commands of one call in flight. A batch is recorded once and submitted
/// again as long as its operands stay where they are. Used with the device's mutex held.
class Program::Frame {
 public:
  Frame(Device& device, const ProgramDesc& desc, const std::vector<std::vector<const Pipeline*>>& pipelines,
        const std::vector<int64_t>& slab_offset, int64_t slab_bytes);
  ~Frame();
  void run(int batch, std::span<const HostSource> sources, std::span<void* const> targets);
  std::vector<double> times_us() const;

 private:
  /// Where a host tensor's copy is.
  struct Input {
    HostSource last;
    bool seen = false;
    bool distrust = false;                     ///< changed once unseen: copied at every call from then on
    Buffer own;                                ///< its copy for this call
    std::shared_ptr<ResidentTensor> resident;  ///< or the shared one
  };
  /// A resident tensor used in a batch, to be compared with (or to take over) the content of `source`.
  struct Check {
    size_t root;
    HostSource source;
  };
  struct Place {
    VkBuffer buffer = VK_NULL_HANDLE;
    int64_t offset = 0, bytes = 0;
    std::byte* mapped = nullptr;
    bool operator==(const Place&) const = default;
  };
  struct Recorded {
    std::vector<VkDescriptorSet> sets;  ///< per dispatch
    std::vector<VkCommandBuffer> commands;
    std::vector<Place> places;  ///< per operand and download, as recorded
    bool timed = false;
    uint32_t first_query = 0;
    std::vector<Buffer> read_back;  ///< per download; empty on unified devices
    std::vector<double> times;
  };
  struct Copy {
    const void* from;
    Place to;
    int64_t bytes;
    Buffer staging;
  };

  Place place(int root) const;
  std::vector<Place> places_of(const Batch& batch) const;
  void record(int batch, bool timed);
  void write_descriptors(const Batch& batch, const Recorded& recorded);
  void begin(VkCommandBuffer commands);
  void barrier(VkCommandBuffer commands, VkPipelineStageFlags from, VkAccessFlags from_access,
               VkPipelineStageFlags to, VkAccessFlags to_access);
  void record_downloads(VkCommandBuffer commands, const Batch& batch, Recorded& recorded);
  /// Decides where each upload goes; fills `copies`, and `checks` with the residents taken for unchanged.
  void place_inputs(const Batch& batch, std::span<const HostSource> sources, std::vector<Copy>& copies,
                    std::vector<Check>& checks);
  void upload(std::vector<Copy>& copies);
  void submit(const Recorded& recorded, bool uploads);
  void read_times(Recorded& recorded, size_t dispatches);
  VkCommandBuffer new_commands();

  Device& device_;
  const ProgramDesc& desc_;
  const std::vector<std::vector<const Pipeline*>>& pipelines_;
  const std::vector<int64_t>& slab_offset_;
  Buffer slab_;
  std::vector<Input> inputs_;  ///< per root
  std::vector<Recorded> recorded_;
  VkDescriptorPool pool_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
  VkQueryPool queries_ = VK_NULL_HANDLE;
  VkCommandBuffer upload_commands_ = VK_NULL_HANDLE;
  std::vector<VkCommandBuffer> all_commands_;
};

}  // namespace breakline::vulkan
