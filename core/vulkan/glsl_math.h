// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace breakline::vulkan {

/// Text of the GLSL functions `names` ("bl_exp" …) and of those they call, callees first. GLSL's own exp,
/// log, sin … are too coarse for PyTorch's tolerances (Vulkan allows exp an error of 3 + 2|x| ulp); these
/// stay within about 2 ulp and give NaN, infinities and signed zeros as C does.
std::string glsl_functions(const std::vector<std::string>& names);

}  // namespace breakline::vulkan
