// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace breakline::vulkan {

struct ShaderOptions {
  bool optimise = false;  ///< SPIRV-Tools' performance passes; no gain on lavapipe, twice the compile time
  bool keeps_nan_inf = false;  ///< adds the execution mode SignedZeroInfNanPreserve 32
};

/// GLSL compute text (entry point main) → SPIR-V 1.3 words. The error carries the compiler's text.
/// Thread-safe; the first call of a process costs about 80 ms, later ones about 1 ms.
Result<std::vector<uint32_t>> compile_glsl(const std::string& glsl, const ShaderOptions& options);

/// Declares SignedZeroInfNanPreserve for 32-bit floats at the entry point of a SPIR-V module.
void add_nan_preserve(std::vector<uint32_t>& words);

/// The same module as SPIR-V assembly, for people (without the mode that `keeps_nan_inf` adds to the binary).
Result<std::string> spirv_assembly(const std::string& glsl, const ShaderOptions& options);

}  // namespace breakline::vulkan
