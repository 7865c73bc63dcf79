// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/vulkan/api.h"
#include "core/vulkan/info.h"

namespace breakline::vulkan {

class Memory;
class Pipelines;
class Resident;

/// Something that lives on the device and must go before it (the buffers and commands of a plan).
class DeviceResource {
 public:
  virtual ~DeviceResource() = default;
};

/// Limits and features of the chosen device that emitters and plans look at.
struct DeviceTraits {
  std::string name;       ///< for people
  bool software = false;  ///< a CPU device (lavapipe): barrier-free kernel variants, no optimiser
  bool unified = false;   ///< one memory type is device-local and host-visible: no staging copies
  bool barriers = true;   ///< shared-memory kernel variants; software devices are far faster without
  /// Loop iterations that one invocation may make in all: lavapipe silently leaves loops after 65,535 of
  /// them.
  int64_t loop_limit = INT64_MAX;
  bool int64 = false, float64 = false, storage8 = false;
  bool keeps_nan_inf = false;  ///< SignedZeroInfNanPreserve for 32-bit floats
  uint32_t api_version = 0;
  int64_t max_binding_bytes = 0;
  uint32_t max_buffers = 4;  ///< storage buffers per kernel
  uint32_t offset_alignment = 256;
  uint32_t max_groups_x = 65535;
  double timestamp_ns = 0;  ///< per tick; 0 = no timestamps
};

/// One instance, device and queue, with the pools that hang on them. Everything below it is used with `mutex`
/// held.
class Device {
 public:
  /// The process's device, opened at the first call; null when there is none (vulkan_info() says why).
  static std::shared_ptr<Device> get();
  /// The same, but null instead of opening it.
  static std::shared_ptr<Device> current();
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const Api& api() const { return api_; }
  VkDevice handle() const { return device_; }
  const DeviceTraits& traits() const { return traits_; }
  const VkPhysicalDeviceMemoryProperties& memory_properties() const { return memory_properties_; }
  uint32_t queue_family() const { return queue_family_; }
  VkCommandPool command_pool() const { return command_pool_; }
  Memory& memory() { return *memory_; }
  Pipelines& pipelines() { return *pipelines_; }
  Resident& resident() { return *resident_; }
  bool validation() const { return messenger_ != VK_NULL_HANDLE; }
  bool lost() const { return lost_; }

  /// Submits `commands`; `fence` may be null. Throws VulkanError (and marks the device lost where it is).
  void submit(VkCommandBuffer commands, VkFence fence);
  /// Waits as long as it takes (drivers report a hung GPU themselves); throws VulkanError.
  void wait(VkFence fence);

  /// Keeps `resource` until drop() or the end of the device. With `mutex` held.
  void adopt(std::shared_ptr<DeviceResource> resource);
  void drop(const DeviceResource* resource);

  std::mutex mutex;
  VulkanStats stats;

 private:
  friend struct DeviceOpener;
  Device() = default;
  Api api_;
  VkInstance instance_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  uint32_t queue_family_ = 0;
  VkCommandPool command_pool_ = VK_NULL_HANDLE;
  VkPhysicalDeviceMemoryProperties memory_properties_{};
  DeviceTraits traits_;
  std::unique_ptr<Memory> memory_;
  std::unique_ptr<Pipelines> pipelines_;
  std::unique_ptr<Resident> resident_;
  std::vector<std::shared_ptr<DeviceResource>> resources_;
  std::atomic<bool> lost_{false};
};

/// True while kernels are to be timed (set_kernel_timestamps).
bool kernel_timestamps();
}  // namespace breakline::vulkan
