// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/vulkan/api.h"

#include <dlfcn.h>

namespace breakline::vulkan {

Result<bool> Api::load_global() {
  // Never closed: drivers keep threads and thread-local state.
  static void* library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    return Error{
        "There is no Vulkan loader (libvulkan.so.1): install the package libvulkan1 and a Vulkan driver."};
  }
  GetInstanceProcAddr = reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
  if (!GetInstanceProcAddr)
    return Error{"libvulkan.so.1 is no Vulkan loader: reinstall the package libvulkan1."};
#define BL_LOAD(name) name = reinterpret_cast<PFN_vk##name>(GetInstanceProcAddr(nullptr, "vk" #name));
  BL_VULKAN_GLOBAL(BL_LOAD)
#undef BL_LOAD
  if (!CreateInstance || !EnumerateInstanceVersion) {
    return Error{"The Vulkan loader is older than 1.1: install a newer libvulkan1."};
  }
  return true;
}

void Api::load_instance(VkInstance instance) {
#define BL_LOAD(name) name = reinterpret_cast<PFN_vk##name>(GetInstanceProcAddr(instance, "vk" #name));
  BL_VULKAN_INSTANCE(BL_LOAD)
  BL_LOAD(CreateDebugUtilsMessengerEXT)
  BL_LOAD(DestroyDebugUtilsMessengerEXT)
#undef BL_LOAD
}

void Api::load_device(VkDevice device) {
#define BL_LOAD(name) name = reinterpret_cast<PFN_vk##name>(GetDeviceProcAddr(device, "vk" #name));
  BL_VULKAN_DEVICE(BL_LOAD)
#undef BL_LOAD
}

std::string result_text(VkResult result) {
  static constexpr struct {
    VkResult code;
    const char* text;
  } kTexts[] = {
      {VK_ERROR_OUT_OF_HOST_MEMORY, "out of host memory"},
      {VK_ERROR_OUT_OF_DEVICE_MEMORY, "out of device memory"},
      {VK_ERROR_INITIALIZATION_FAILED, "initialisation failed"},
      {VK_ERROR_DEVICE_LOST, "the device was lost"},
      {VK_ERROR_MEMORY_MAP_FAILED, "memory could not be mapped"},
      {VK_ERROR_LAYER_NOT_PRESENT, "a layer is missing"},
      {VK_ERROR_EXTENSION_NOT_PRESENT, "an extension is missing"},
      {VK_ERROR_FEATURE_NOT_PRESENT, "a feature is missing"},
      {VK_ERROR_INCOMPATIBLE_DRIVER, "no usable driver"},
      {VK_ERROR_TOO_MANY_OBJECTS, "too many objects"},
      {VK_ERROR_OUT_OF_POOL_MEMORY, "out of pool memory"},
      {VK_TIMEOUT, "no answer in time"},
  };
  for (const auto& entry : kTexts) {
    if (entry.code == result) return entry.text;
  }
  return "error " + std::to_string(static_cast<int>(result));
}

void check(VkResult result, const char* what) {
  if (result == VK_SUCCESS) return;
  throw VulkanError{result, std::string("Vulkan could not ") + what + ": " + result_text(result) + "."};
}

}  // namespace breakline::vulkan
