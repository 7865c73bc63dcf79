// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/vulkan/shader.h"

#include <shaderc/shaderc.h>

#include <cstring>
#include <mutex>

namespace breakline::vulkan {
namespace {

constexpr size_t kHeaderWords = 5;
// Numbers of the SPIR-V specification.
constexpr uint32_t kOpExtension = 10, kOpExtInstImport = 11, kOpMemoryModel = 14, kOpEntryPoint = 15,
                   kOpExecutionMode = 16, kOpCapability = 17;
constexpr uint32_t kCapabilityNanPreserve = 4466, kModeNanPreserve = 4461;

uint32_t op_of(uint32_t word) { return word & 0xffffu; }
uint32_t length_of(uint32_t word) { return word >> 16; }

}  // namespace

void add_nan_preserve(std::vector<uint32_t>& words) {
  size_t capability_at = kHeaderWords, extension_at = 0, mode_at = 0;
  uint32_t entry = 0;
  for (size_t i = kHeaderWords; i < words.size() && length_of(words[i]) > 0; i += length_of(words[i])) {
    uint32_t op = op_of(words[i]);
    if (op == kOpCapability) capability_at = i + 2;
    if (extension_at == 0 && (op == kOpExtInstImport || op == kOpMemoryModel)) extension_at = i;
    if (op == kOpEntryPoint) {
      entry = words[i + 2];
      mode_at = i + length_of(words[i]);
    }
    if (op == kOpExecutionMode) mode_at = i + length_of(words[i]);
  }
  if (entry == 0 || extension_at == 0) return;
  static constexpr char kName[] = "SPV_KHR_float_controls";
  std::vector<uint32_t> extension((sizeof kName + 3) / 4 + 1, 0);
  extension[0] = (static_cast<uint32_t>(extension.size()) << 16) | kOpExtension;
  std::memcpy(extension.data() + 1, kName, sizeof kName);
  const uint32_t mode[] = {(4u << 16) | kOpExecutionMode, entry, kModeNanPreserve, 32};
  const uint32_t capability[] = {(2u << 16) | kOpCapability, kCapabilityNanPreserve};
  // Last place first, so that the earlier places stay right.
  words.insert(words.begin() + static_cast<ptrdiff_t>(mode_at), std::begin(mode), std::end(mode));
  words.insert(words.begin() + static_cast<ptrdiff_t>(extension_at), extension.begin(), extension.end());
  words.insert(words.begin() + static_cast<ptrdiff_t>(capability_at), std::begin(capability),
               std::end(capability));
}

namespace {

using Compile = decltype(&shaderc_compile_into_spv);

/// The bytes of a successful compilation by `compile` (words, or assembly).
Result<std::string> compiled(const std::string& glsl, const ShaderOptions& options, Compile compile) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  static shaderc_compiler_t compiler = shaderc_compiler_initialize();
  if (!compiler) return Error{"The shader compiler could not start."};
  shaderc_compile_options_t settings = shaderc_compile_options_initialize();
  shaderc_compile_options_set_target_env(settings, shaderc_target_env_vulkan, shaderc_env_version_vulkan_1_1);
  shaderc_compile_options_set_target_spirv(settings, shaderc_spirv_version_1_3);
  shaderc_compile_options_set_optimization_level(
      settings, options.optimise ? shaderc_optimization_level_performance : shaderc_optimization_level_zero);
  shaderc_compilation_result_t result =
      compile(compiler, glsl.data(), glsl.size(), shaderc_glsl_compute_shader, "kernel", "main", settings);
  shaderc_compile_options_release(settings);
  if (shaderc_result_get_compilation_status(result) != shaderc_compilation_status_success) {
    Error error{std::string("A shader did not compile: ") + shaderc_result_get_error_message(result)};
    shaderc_result_release(result);
    return error;
  }
  std::string bytes(shaderc_result_get_bytes(result), shaderc_result_get_length(result));
  shaderc_result_release(result);
  return bytes;
}

}  // namespace

Result<std::vector<uint32_t>> compile_glsl(const std::string& glsl, const ShaderOptions& options) {
  const auto bytes = compiled(glsl, options, &shaderc_compile_into_spv);
  if (!bytes) return bytes.error();
  std::vector<uint32_t> words(bytes->size() / 4);
  std::memcpy(words.data(), bytes->data(), words.size() * 4);
  if (options.keeps_nan_inf) add_nan_preserve(words);
  return words;
}

Result<std::string> spirv_assembly(const std::string& glsl, const ShaderOptions& options) {
  return compiled(glsl, options, &shaderc_compile_into_spv_assembly);
}

}  // namespace breakline::vulkan
