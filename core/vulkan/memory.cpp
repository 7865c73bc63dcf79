// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/vulkan/memory.h"

#include <algorithm>

#include "core/vulkan/device.h"

namespace breakline::vulkan {
namespace {

constexpr int64_t kBlockBytes = int64_t{16} << 20;
constexpr int64_t kAlign = 256;  // covers every minStorageBufferOffsetAlignment the specification allows

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

constexpr uint32_t kNoType = UINT32_MAX;

/// First memory type that has all of `wanted`; among those one with `liked` if there is one.
uint32_t find_type(const VkPhysicalDeviceMemoryProperties& p, uint32_t wanted, uint32_t liked) {
  uint32_t found = kNoType;
  for (uint32_t i = 0; i < p.memoryTypeCount; i++) {
    uint32_t flags = p.memoryTypes[i].propertyFlags;
    if ((flags & wanted) != wanted) continue;
    if ((flags & liked) == liked) return i;
    if (found == kNoType) found = i;
  }
  return found;
}

}  // namespace

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this == &other) return *this;
  reset();
  memory_ = std::exchange(other.memory_, nullptr);
  block_ = other.block_;
  handle_ = std::exchange(other.handle_, VkBuffer{VK_NULL_HANDLE});
  offset_ = other.offset_;
  bytes_ = other.bytes_;
  mapped_ = std::exchange(other.mapped_, nullptr);
  return *this;
}

void Buffer::reset() {
  if (!memory_) return;
  memory_->give_back(block_, offset_, bytes_);
  memory_ = nullptr;
  handle_ = VK_NULL_HANDLE;
  mapped_ = nullptr;
}

Memory::Memory(Device& device) : device_(device), unified_(device.traits().unified) {
  const auto& p = device.memory_properties();
  constexpr uint32_t kHost = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  constexpr uint32_t kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  constexpr uint32_t kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  type_index_[0] = unified_ ? find_type(p, kLocal | kHost, kCached) : find_type(p, kLocal, 0);
  type_index_[1] = find_type(p, kHost, kCached);
  if (type_index_[0] == kNoType) type_index_[0] = 0;
  if (type_index_[1] == kNoType)
    throw VulkanError{VK_ERROR_FEATURE_NOT_PRESENT, "The device has no host-visible memory."};
}

Memory::~Memory() {
  for (auto& block : blocks_) {
    if (block) release_block(*block);
  }
}

Buffer Memory::allocate(int64_t bytes, MemoryKind kind) {
  bytes = round_up(std::max<int64_t>(bytes, 1), kAlign);
  Buffer out;
  for (size_t i = 0; i < blocks_.size(); i++) {
    if (blocks_[i] && blocks_[i]->kind == kind && take(static_cast<int>(i), bytes, &out)) return out;
  }
  int64_t wanted = std::max(bytes, kBlockBytes);
  int index = -1;
  try {
    index = add_block(wanted, kind);
  } catch (const VulkanError&) {
    free_empty_blocks();
    index = add_block(bytes, kind);
  }
  take(index, bytes, &out);
  return out;
}

bool Memory::take(int index, int64_t bytes, Buffer* out) {
  Block& block = *blocks_[index];
  for (auto it = block.free.begin(); it != block.free.end(); ++it) {
    auto [offset, length] = *it;
    if (length < bytes) continue;
    block.free.erase(it);
    if (length > bytes) block.free.emplace(offset + bytes, length - bytes);
    out->memory_ = this;
    out->block_ = index;
    out->handle_ = block.buffer;
    out->offset_ = offset;
    out->bytes_ = bytes;
    out->mapped_ = block.mapped ? block.mapped + offset : nullptr;
    return true;
  }
  return false;
}

int Memory::add_block(int64_t bytes, MemoryKind kind) {
  const Api& api = device_.api();
  const auto& properties = device_.memory_properties();
  uint32_t heap = properties.memoryTypes[type_index_[static_cast<int>(kind)]].heapIndex;
  if (static_cast<uint64_t>(bytes) > properties.memoryHeaps[heap].size) {
    throw VulkanError{VK_ERROR_OUT_OF_DEVICE_MEMORY, "The Vulkan device has too little memory."};
  }
  auto block = std::make_unique<Block>();
  block->kind = kind;
  block->bytes = bytes;
  VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  info.size = static_cast<VkDeviceSize>(bytes);
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
               VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
  check(api.CreateBuffer(device_.handle(), &info, nullptr, &block->buffer), "make a buffer");
  try {
    VkMemoryRequirements needs{};
    api.GetBufferMemoryRequirements(device_.handle(), block->buffer, &needs);
    VkMemoryAllocateInfo allocate{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    allocate.allocationSize = needs.size;
    allocate.memoryTypeIndex = type_index_[static_cast<int>(kind)];
    if (!(needs.memoryTypeBits & (1u << allocate.memoryTypeIndex))) {
      throw VulkanError{VK_ERROR_FEATURE_NOT_PRESENT, "The device can't put buffers into the chosen memory."};
    }
    check(api.AllocateMemory(device_.handle(), &allocate, nullptr, &block->memory), "allocate memory");
    check(api.BindBufferMemory(device_.handle(), block->buffer, block->memory, 0), "bind memory");
    if (kind == MemoryKind::kStaging || unified_) {
      void* mapped = nullptr;
      check(api.MapMemory(device_.handle(), block->memory, 0, VK_WHOLE_SIZE, 0, &mapped), "map memory");
      block->mapped = static_cast<std::byte*>(mapped);
    }
  } catch (...) {
    if (block->memory) api.FreeMemory(device_.handle(), block->memory, nullptr);
    api.DestroyBuffer(device_.handle(), block->buffer, nullptr);
    throw;
  }
  block->free.emplace(0, bytes);
  block_bytes_ += bytes;
  device_.stats.device_bytes = block_bytes_;
  for (size_t i = 0; i < blocks_.size(); i++) {
    if (!blocks_[i]) {
      blocks_[i] = std::move(block);
      return static_cast<int>(i);
    }
  }
  blocks_.push_back(std::move(block));
  return static_cast<int>(blocks_.size()) - 1;
}

void Memory::release_block(Block& block) {
  const Api& api = device_.api();
  api.DestroyBuffer(device_.handle(), block.buffer, nullptr);
  api.FreeMemory(device_.handle(), block.memory, nullptr);
  block_bytes_ -= block.bytes;
  device_.stats.device_bytes = block_bytes_;
}

void Memory::free_empty_blocks() {
  for (auto& block : blocks_) {
    if (block && block->free.size() == 1 && block->free.begin()->second == block->bytes) {
      release_block(*block);
      block.reset();
    }
  }
}

void Memory::give_back(int index, int64_t offset, int64_t bytes) {
  Block& block = *blocks_[index];
  auto next = block.free.lower_bound(offset);
  if (next != block.free.begin()) {
    auto previous = std::prev(next);
    if (previous->first + previous->second == offset) {
      offset = previous->first;
      bytes += previous->second;
      block.free.erase(previous);
    }
  }
  if (next != block.free.end() && offset + bytes == next->first) {
    bytes += next->second;
    block.free.erase(next);
  }
  block.free.emplace(offset, bytes);
  // A block of more than the usual size served one large tensor: give it back at once.
  if (bytes == block.bytes && bytes > kBlockBytes) {
    release_block(block);
    blocks_[index].reset();
  }
}

}  // namespace breakline::vulkan
