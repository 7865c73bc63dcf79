// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/vulkan/pipelines.h"

#include "core/vulkan/device.h"
#include "core/vulkan/shader.h"

namespace breakline::vulkan {

Pipelines::~Pipelines() {
  const Api& api = device_.api();
  for (auto& [text, pipeline] : pipelines_) api.DestroyPipeline(device_.handle(), pipeline.handle, nullptr);
  for (auto& [count, layout] : layouts_) {
    api.DestroyPipelineLayout(device_.handle(), layout.pipeline, nullptr);
    api.DestroyDescriptorSetLayout(device_.handle(), layout.set, nullptr);
  }
}

const Pipelines::Layout& Pipelines::layout(int buffers) {
  auto found = layouts_.find(buffers);
  if (found != layouts_.end()) return found->second;
  const Api& api = device_.api();
  std::vector<VkDescriptorSetLayoutBinding> bindings(static_cast<size_t>(buffers));
  for (int i = 0; i < buffers; i++) {
    bindings[static_cast<size_t>(i)] = {static_cast<uint32_t>(i), VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1,
                                        VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
  }
  VkDescriptorSetLayoutCreateInfo set{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
  set.bindingCount = static_cast<uint32_t>(buffers);
  set.pBindings = bindings.data();
  Layout made;
  check(api.CreateDescriptorSetLayout(device_.handle(), &set, nullptr, &made.set),
        "make a descriptor layout");
  VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, static_cast<uint32_t>(buffers) * 4};
  VkPipelineLayoutCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  info.setLayoutCount = 1;
  info.pSetLayouts = &made.set;
  info.pushConstantRangeCount = 1;
  info.pPushConstantRanges = &range;
  VkResult result = api.CreatePipelineLayout(device_.handle(), &info, nullptr, &made.pipeline);
  if (result != VK_SUCCESS) api.DestroyDescriptorSetLayout(device_.handle(), made.set, nullptr);
  check(result, "make a pipeline layout");
  return layouts_.emplace(buffers, made).first->second;
}

const Pipeline* Pipelines::get(const std::string& glsl, int buffers) {
  auto found = pipelines_.find(glsl);
  if (found != pipelines_.end()) return &found->second;
  const DeviceTraits& traits = device_.traits();
  auto words = compile_glsl(glsl, {.optimise = !traits.software, .keeps_nan_inf = traits.keeps_nan_inf});
  if (!words) throw VulkanError{VK_ERROR_INITIALIZATION_FAILED, words.error().message};
  const Api& api = device_.api();
  const Layout& shared = layout(buffers);
  VkShaderModuleCreateInfo module_info{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  module_info.codeSize = words->size() * 4;
  module_info.pCode = words->data();
  VkShaderModule module = VK_NULL_HANDLE;
  check(api.CreateShaderModule(device_.handle(), &module_info, nullptr, &module), "load a shader");
  VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  info.stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  info.layout = shared.pipeline;
  Pipeline made{VK_NULL_HANDLE, shared.pipeline, shared.set, buffers};
  VkResult result =
      api.CreateComputePipelines(device_.handle(), VK_NULL_HANDLE, 1, &info, nullptr, &made.handle);
  api.DestroyShaderModule(device_.handle(), module, nullptr);
  check(result, "make a pipeline");
  device_.stats.pipelines++;
  return &pipelines_.emplace(glsl, made).first->second;
}

}  // namespace breakline::vulkan
