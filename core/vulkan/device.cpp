// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/vulkan/device.h"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/vulkan/memory.h"
#include "core/vulkan/pipelines.h"
#include "core/vulkan/resident.h"

namespace breakline::vulkan {
namespace {

constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";

/// What the process knows of its device; guarded by `mutex`.
struct Global {
  std::mutex mutex;
  bool tried = false;
  VulkanOptions options;
  VulkanInfo info;
  std::shared_ptr<Device> device;
  std::mutex message_mutex;
  std::vector<std::string> messages;
  std::atomic<bool> timestamps{false};
  std::atomic<int> losses{0};
  std::atomic<bool> forked{false};  ///< in a child process the device's threads are gone
};

/// Never destroyed: drivers may call back while the process ends.
Global& global() {
  static Global* instance = [] {
    auto* made = new Global;
    pthread_atfork(nullptr, nullptr, [] { global().forked = true; });
    return made;
  }();
  return *instance;
}

bool env_is_one(const char* name) {
  const char* value = std::getenv(name);
  return value && std::strcmp(value, "1") == 0;
}

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                          VkDebugUtilsMessageTypeFlagsEXT types,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data, void*) {
  if (types == VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT &&
      severity < VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT) {
    return VK_FALSE;  // the loader's talk about drivers it can't use
  }
  auto& g = global();
  std::lock_guard lock(g.message_mutex);
  if (g.messages.size() < 1000) g.messages.emplace_back(data->pMessage ? data->pMessage : "?");
  return VK_FALSE;
}

VkDebugUtilsMessengerCreateInfoEXT messenger_info() {
  VkDebugUtilsMessengerCreateInfoEXT info{VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
  info.messageSeverity =
      VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  info.messageType =
      VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  info.pfnUserCallback = on_message;
  return info;
}

bool layer_present(const Api& api, const char* name) {
  uint32_t count = 0;
  api.EnumerateInstanceLayerProperties(&count, nullptr);
  std::vector<VkLayerProperties> layers(count);
  api.EnumerateInstanceLayerProperties(&count, layers.data());
  return std::any_of(layers.begin(), layers.end(),
                     [&](const auto& l) { return !std::strcmp(l.layerName, name); });
}

int rank_of(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return 4;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return 3;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return 2;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return 1;
    default:
      return 0;
  }
}

std::string shown_name(const VkPhysicalDeviceProperties& p) {
  std::string name = p.deviceName;
  if (p.deviceType != VK_PHYSICAL_DEVICE_TYPE_CPU) return name;
  return name.substr(0, name.find(' ')) + " (software)";
}

}  // namespace

/// Opens instance and device step by step; the Device's destructor cleans up after a throw.
struct DeviceOpener {
  Device& d;
  const VulkanOptions& options;

  void open() {
    auto loaded = d.api_.load_global();
    if (!loaded) throw VulkanError{VK_ERROR_INITIALIZATION_FAILED, loaded.error().message};
    make_instance();
    choose();
    make_device();
  }

  void make_instance() {
    bool validate = options.validation;
    if (validate && !layer_present(d.api_, kValidationLayer)) {
      throw VulkanError{
          VK_ERROR_LAYER_NOT_PRESENT,
          "Vulkan validation was asked for but its layer is missing: install vulkan-validationlayers."};
    }
    VkApplicationInfo app{VK_STRUCTURE_TYPE_APPLICATION_INFO};
    app.pApplicationName = "breakline";
    app.pEngineName = "breakline";
    uint32_t newest = VK_API_VERSION_1_1;
    d.api_.EnumerateInstanceVersion(&newest);
    app.apiVersion = std::min<uint32_t>(newest, VK_API_VERSION_1_3);
    VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
    info.pApplicationInfo = &app;
    VkDebugUtilsMessengerCreateInfoEXT messenger = messenger_info();
    VkValidationFeatureEnableEXT enabled[] = {VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
    VkValidationFeaturesEXT features{VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT};
    features.enabledValidationFeatureCount = 1;
    features.pEnabledValidationFeatures = enabled;
    const char* extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
    if (validate) {
      messenger.pNext = &features;
      info.pNext = &messenger;
      info.enabledLayerCount = 1;
      info.ppEnabledLayerNames = &kValidationLayer;
      info.enabledExtensionCount = 2;
      info.ppEnabledExtensionNames = extensions;
    }
    VkResult made = d.api_.CreateInstance(&info, nullptr, &d.instance_);
    if (made == VK_ERROR_INCOMPATIBLE_DRIVER) {
      throw VulkanError{
          made,
          "No Vulkan driver was found: install your GPU vendor's driver, or mesa-vulkan-drivers for the "
          "software device."};
    }
    check(made, "start");
    d.api_.load_instance(d.instance_);
    if (validate) {
      VkDebugUtilsMessengerCreateInfoEXT own = messenger_info();
      check(d.api_.CreateDebugUtilsMessengerEXT(d.instance_, &own, nullptr, &d.messenger_),
            "start validation");
    }
  }

  void choose() {
    uint32_t count = 0;
    d.api_.EnumeratePhysicalDevices(d.instance_, &count, nullptr);
    std::vector<VkPhysicalDevice> found(count);
    d.api_.EnumeratePhysicalDevices(d.instance_, &count, found.data());
    int best = -1;
    std::string names;
    for (VkPhysicalDevice candidate : found) {
      VkPhysicalDeviceProperties2 p{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
      d.api_.GetPhysicalDeviceProperties2(candidate, &p);
      names += (names.empty() ? "" : ", ") + std::string(p.properties.deviceName);
      uint32_t family = 0;
      if (p.properties.apiVersion < VK_API_VERSION_1_1 || !compute_family(candidate, &family)) continue;
      bool named = !options.device.empty() &&
                   std::string(p.properties.deviceName).find(options.device) != std::string::npos;
      if (!options.device.empty() && !named) continue;
      int rank = rank_of(p.properties.deviceType);
      if (rank <= best) continue;
      best = rank;
      d.physical_ = candidate;
      d.queue_family_ = family;
      read_traits(p.properties);
    }
    if (best >= 0) return;
    if (found.empty()) {
      throw VulkanError{VK_ERROR_INCOMPATIBLE_DRIVER,
                        "Vulkan is installed but knows no device: install your GPU vendor's driver, or "
                        "mesa-vulkan-drivers for the software device."};
    }
    std::string wanted =
        options.device.empty() ? "offers compute under Vulkan 1.1" : "is called " + options.device;
    throw VulkanError{VK_ERROR_FEATURE_NOT_PRESENT,
                      "No Vulkan device " + wanted + " (found: " + names + ")."};
  }

  bool compute_family(VkPhysicalDevice device, uint32_t* family) {
    uint32_t count = 0;
    d.api_.GetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    d.api_.GetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
    for (uint32_t i = 0; i < count; i++) {
      if (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) {
        *family = i;
        d.traits_.timestamp_ns = families[i].timestampValidBits == 64 ? 1 : 0;  // scaled by the period below
        return true;
      }
    }
    return false;
  }

  void read_traits(const VkPhysicalDeviceProperties& p) {
    DeviceTraits& t = d.traits_;
    t.name = shown_name(p);
    t.software = p.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
    if (t.software) t.loop_limit = 60'000;
    t.barriers = !t.software || options.force_barriers;
    t.api_version = p.apiVersion;
    t.max_binding_bytes = p.limits.maxStorageBufferRange;
    t.max_buffers =
        std::min(p.limits.maxPerStageDescriptorStorageBuffers, p.limits.maxDescriptorSetStorageBuffers);
    t.max_buffers = std::min(t.max_buffers, 16u);
    t.offset_alignment = static_cast<uint32_t>(p.limits.minStorageBufferOffsetAlignment);
    t.max_groups_x = p.limits.maxComputeWorkGroupCount[0];
    t.timestamp_ns *= p.limits.timestampPeriod;
    d.api_.GetPhysicalDeviceMemoryProperties(d.physical_, &d.memory_properties_);
    constexpr uint32_t kShared = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                 VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    t.unified = false;
    if (p.deviceType != VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU && !options.force_staging) {
      for (uint32_t i = 0; i < d.memory_properties_.memoryTypeCount; i++) {
        t.unified |= (d.memory_properties_.memoryTypes[i].propertyFlags & kShared) == kShared;
      }
    }
  }

  void make_device() {
    VkPhysicalDeviceVulkan12Features has12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    VkPhysicalDeviceFeatures2 has{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
    VkPhysicalDeviceFloatControlsProperties floats{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES};
    bool v12 = d.traits_.api_version >= VK_API_VERSION_1_2;
    if (v12) has.pNext = &has12;
    d.api_.GetPhysicalDeviceFeatures2(d.physical_, &has);
    if (v12) {
      VkPhysicalDeviceProperties2 p{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
      p.pNext = &floats;
      d.api_.GetPhysicalDeviceProperties2(d.physical_, &p);
    }
    d.traits_.int64 = has.features.shaderInt64;
    d.traits_.float64 = has.features.shaderFloat64;
    d.traits_.storage8 = v12 && has12.storageBuffer8BitAccess && has12.shaderInt8;
    d.traits_.keeps_nan_inf = floats.shaderSignedZeroInfNanPreserveFloat32;

    VkPhysicalDeviceVulkan12Features use12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    use12.storageBuffer8BitAccess = use12.shaderInt8 = d.traits_.storage8;
    VkPhysicalDeviceFeatures2 use{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
    use.features.shaderInt64 = d.traits_.int64;
    use.features.shaderFloat64 = d.traits_.float64;
    if (v12) use.pNext = &use12;
    float priority = 1;
    VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
    queue.queueFamilyIndex = d.queue_family_;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
    info.pNext = &use;
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    check(d.api_.CreateDevice(d.physical_, &info, nullptr, &d.device_), "open the device");
    d.api_.load_device(d.device_);
    d.api_.GetDeviceQueue(d.device_, d.queue_family_, 0, &d.queue_);
    VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    pool.queueFamilyIndex = d.queue_family_;
    check(d.api_.CreateCommandPool(d.device_, &pool, nullptr, &d.command_pool_), "make a command pool");
    d.memory_ = std::make_unique<Memory>(d);
    d.pipelines_ = std::make_unique<Pipelines>(d);
    d.resident_ = std::make_unique<Resident>(d);
  }
};

std::shared_ptr<Device> Device::current() {
  auto& g = global();
  if (g.forked) return nullptr;
  std::lock_guard lock(g.mutex);
  return g.device;
}

std::shared_ptr<Device> Device::get() {
  auto& g = global();
  if (g.forked) return nullptr;
  std::lock_guard lock(g.mutex);
  if (g.tried) return g.device;
  g.tried = true;
  g.info = {};
  VulkanOptions options = g.options;
  options.validation |= env_is_one("BREAKLINE_VULKAN_VALIDATION");
  options.force_staging |= env_is_one("BREAKLINE_VULKAN_STAGING");
  options.force_barriers |= env_is_one("BREAKLINE_VULKAN_BARRIERS");
  if (const char* name = std::getenv("BREAKLINE_VULKAN_DEVICE"); name && options.device.empty())
    options.device = name;
  std::shared_ptr<Device> device(new Device);
  try {
    DeviceOpener{*device, options}.open();
    g.device = device;
    g.info.available = true;
    g.info.name = device->traits_.name;
    g.info.software = device->traits_.software;
  } catch (const VulkanError& error) {
    g.info.reason = error.message;
  }
  return g.device;
}

Device::~Device() {
  if (device_) {
    api_.DeviceWaitIdle(device_);
    resources_.clear();
    resident_.reset();
    pipelines_.reset();
    memory_.reset();
    if (command_pool_) api_.DestroyCommandPool(device_, command_pool_, nullptr);
    api_.DestroyDevice(device_, nullptr);
  }
  if (messenger_) api_.DestroyDebugUtilsMessengerEXT(instance_, messenger_, nullptr);
  if (instance_) api_.DestroyInstance(instance_, nullptr);
}

void Device::adopt(std::shared_ptr<DeviceResource> resource) { resources_.push_back(std::move(resource)); }

void Device::drop(const DeviceResource* resource) {
  std::erase_if(resources_, [&](const auto& r) { return r.get() == resource; });
}

void Device::submit(VkCommandBuffer commands, VkFence fence) {
  VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  VkResult result = VK_ERROR_DEVICE_LOST;
  int losses = global().losses.load();
  if (losses > 0) {
    global().losses = losses - 1;
  } else {
    result = api_.QueueSubmit(queue_, 1, &info, fence);
  }
  if (result == VK_ERROR_DEVICE_LOST) lost_ = true;
  check(result, "submit work");
  stats.submits++;
}

void Device::wait(VkFence fence) {
  VkResult result = api_.WaitForFences(device_, 1, &fence, VK_TRUE, UINT64_MAX);
  if (result == VK_ERROR_DEVICE_LOST || result == VK_TIMEOUT) lost_ = true;
  check(result, "finish the work");
}

VulkanInfo vulkan_info() {
  Device::get();
  auto& g = global();
  if (g.forked) return {.reason = "Vulkan can't be used in a forked process: start a fresh one."};
  std::lock_guard lock(g.mutex);
  return g.info;
}

void set_vulkan_options(const VulkanOptions& options) {
  auto& g = global();
  std::lock_guard lock(g.mutex);
  g.options = options;
}

void shutdown_vulkan() {
  std::shared_ptr<Device> device;
  auto& g = global();
  if (g.forked) return;
  {
    std::lock_guard lock(g.mutex);
    device = std::move(g.device);
    g.device.reset();
    g.tried = false;
    g.losses = 0;
  }
  device.reset();
}

std::vector<std::string> validation_messages() {
  auto& g = global();
  std::lock_guard lock(g.message_mutex);
  return g.messages;
}

bool validation_active() {
  auto device = Device::current();
  return device && device->validation();
}

void set_kernel_timestamps(bool on) { global().timestamps = on; }
bool kernel_timestamps() { return global().timestamps; }

VulkanStats vulkan_stats() {
  auto device = Device::current();
  if (!device) return {};
  std::lock_guard lock(device->mutex);
  return device->stats;
}

void inject_device_loss(int count) { global().losses = count; }

}  // namespace breakline::vulkan
