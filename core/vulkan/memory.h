// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/vulkan/api.h"

namespace breakline::vulkan {

class Device;
class Memory;

enum class MemoryKind : uint8_t {
  kDevice,   ///< kernels read and write it; host-visible too on unified devices
  kStaging,  ///< host-visible, for copies to and from kDevice memory
};

/// A piece of a memory block; gives itself back. Used with the device's mutex held.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer() { reset(); }
  void reset();

  explicit operator bool() const { return memory_ != nullptr; }
  VkBuffer handle() const { return handle_; }
  int64_t offset() const { return offset_; }     ///< bytes from the start of handle()
  int64_t bytes() const { return bytes_; }       ///< a multiple of 16
  std::byte* mapped() const { return mapped_; }  ///< null when the host can't see it

 private:
  friend class Memory;
  Memory* memory_ = nullptr;
  int block_ = -1;
  VkBuffer handle_ = VK_NULL_HANDLE;
  int64_t offset_ = 0, bytes_ = 0;
  std::byte* mapped_ = nullptr;
};

/// Sub-allocates storage buffers from a few large memory blocks (first fit, neighbours joined on free).
class Memory {
 public:
  explicit Memory(Device& device);
  ~Memory();
  /// Throws VulkanError when the device has no such memory left, also after empty blocks were given back.
  Buffer allocate(int64_t bytes, MemoryKind kind);
  int64_t block_bytes() const { return block_bytes_; }
  /// The host sees device memory directly.
  bool unified() const { return unified_; }

 private:
  friend class Buffer;
  struct Block {
    MemoryKind kind;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    VkBuffer buffer = VK_NULL_HANDLE;
    std::byte* mapped = nullptr;
    int64_t bytes = 0;
    std::map<int64_t, int64_t> free;  ///< offset → length
  };
  bool take(int index, int64_t bytes, Buffer* out);
  int add_block(int64_t bytes, MemoryKind kind);
  void release_block(Block& block);
  void free_empty_blocks();
  void give_back(int block, int64_t offset, int64_t bytes);

  Device& device_;
  bool unified_;
  uint32_t type_index_[2];
  std::vector<std::unique_ptr<Block>> blocks_;  ///< null: index free for reuse
  int64_t block_bytes_ = 0;
};

}  // namespace breakline::vulkan
