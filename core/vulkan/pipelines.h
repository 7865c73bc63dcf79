// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <string>
#include <unordered_map>

#include "core/vulkan/api.h"

namespace breakline::vulkan {

class Device;

/// A kernel ready to dispatch. Buffers are bindings 0…buffers-1 of set 0; push constants are one uint per
/// buffer, the element offset into it.
struct Pipeline {
  VkPipeline handle = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
  int buffers = 0;
};

/// Compiles GLSL once per text; layouts are shared by buffer count. Used with the device's mutex held.
class Pipelines {
 public:
  explicit Pipelines(Device& device) : device_(device) {}
  ~Pipelines();
  /// Pointer valid as long as the device. Throws VulkanError.
  const Pipeline* get(const std::string& glsl, int buffers);

 private:
  struct Layout {
    VkDescriptorSetLayout set = VK_NULL_HANDLE;
    VkPipelineLayout pipeline = VK_NULL_HANDLE;
  };
  const Layout& layout(int buffers);
  Device& device_;
  std::map<int, Layout> layouts_;
  std::unordered_map<std::string, Pipeline> pipelines_;  ///< keyed by the whole text: no false sharing
};

}  // namespace breakline::vulkan
