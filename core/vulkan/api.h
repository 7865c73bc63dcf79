// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include <string>

#include "core/base/result.h"

namespace breakline::vulkan {

// Functions by the level at which they are looked up.
#define BL_VULKAN_GLOBAL(X) X(CreateInstance) X(EnumerateInstanceLayerProperties) X(EnumerateInstanceVersion)
#define BL_VULKAN_INSTANCE(X)                                        \
  X(DestroyInstance)                                                 \
  X(EnumeratePhysicalDevices)                                        \
  X(GetPhysicalDeviceProperties2)                                    \
  X(GetPhysicalDeviceFeatures2) X(GetPhysicalDeviceMemoryProperties) \
      X(GetPhysicalDeviceQueueFamilyProperties) X(CreateDevice) X(GetDeviceProcAddr)
#define BL_VULKAN_DEVICE(X)                                                                               \
  X(DestroyDevice)                                                                                        \
  X(GetDeviceQueue)                                                                                       \
  X(DeviceWaitIdle)                                                                                       \
  X(AllocateMemory) X(FreeMemory) X(MapMemory) X(CreateBuffer) X(DestroyBuffer)                           \
      X(GetBufferMemoryRequirements) X(BindBufferMemory) X(CreateDescriptorSetLayout)                     \
          X(DestroyDescriptorSetLayout) X(CreateDescriptorPool) X(DestroyDescriptorPool)                  \
              X(AllocateDescriptorSets) X(UpdateDescriptorSets) X(CreatePipelineLayout)                   \
                  X(DestroyPipelineLayout) X(CreateShaderModule) X(DestroyShaderModule)                   \
                      X(CreateComputePipelines) X(DestroyPipeline) X(CreatePipelineCache)                 \
                          X(DestroyPipelineCache) X(CreateCommandPool) X(DestroyCommandPool)              \
                              X(AllocateCommandBuffers) X(FreeCommandBuffers) X(BeginCommandBuffer)       \
                                  X(EndCommandBuffer) X(ResetCommandBuffer) X(CmdBindPipeline)            \
                                      X(CmdBindDescriptorSets) X(CmdPushConstants) X(CmdDispatch)         \
                                          X(CmdPipelineBarrier) X(CmdCopyBuffer) X(CmdWriteTimestamp)     \
                                              X(CmdResetQueryPool) X(CreateQueryPool) X(DestroyQueryPool) \
                                                  X(GetQueryPoolResults) X(CreateFence) X(DestroyFence)   \
                                                      X(ResetFences) X(WaitForFences) X(QueueSubmit)

/// Entry points by vkGetInstanceProcAddr / vkGetDeviceProcAddr; nothing is linked.
struct Api {
  PFN_vkGetInstanceProcAddr GetInstanceProcAddr = nullptr;
#define BL_DECLARE(name) PFN_vk##name name = nullptr;
  BL_VULKAN_GLOBAL(BL_DECLARE)
  BL_VULKAN_INSTANCE(BL_DECLARE)
  BL_VULKAN_DEVICE(BL_DECLARE)
#undef BL_DECLARE
  // VK_EXT_debug_utils, only with validation.
  PFN_vkCreateDebugUtilsMessengerEXT CreateDebugUtilsMessengerEXT = nullptr;
  PFN_vkDestroyDebugUtilsMessengerEXT DestroyDebugUtilsMessengerEXT = nullptr;

  /// Opens libvulkan.so.1 (kept for the process) and the global functions.
  Result<bool> load_global();
  void load_instance(VkInstance instance);
  void load_device(VkDevice device);
};

/// Name of a VkResult for messages, e.g. "out of device memory".
std::string result_text(VkResult result);

/// Thrown inside this folder only; every public function catches it.
struct VulkanError {
  VkResult code = VK_SUCCESS;
  std::string message;
};
/// Throws VulkanError unless `result` is VK_SUCCESS. `what` completes "Vulkan could not …".
void check(VkResult result, const char* what);

}  // namespace breakline::vulkan
