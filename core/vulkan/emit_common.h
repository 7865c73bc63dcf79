// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <vector>

#include "core/graph/dtype.h"
#include "core/vulkan/emit.h"

namespace breakline::vulkan {

/// How an element type is declared in a buffer.
struct ElementText {
  const char* name;  ///< "float", "uint8_t"
  const char* vec4;  ///< "vec4"; null when there is none
};
ElementText element_text(graph::DType dtype);

/// Exact GLSL text of a float.
std::string float_text(double number);

/// One buffer of a kernel's interface: `vec4` declares it as an array of four-vectors.
struct BufferText {
  graph::DType dtype = graph::DType::kFloat32;
  bool write = false;
  bool vec4 = false;
};

constexpr uint32_t kGroupSize = 128;

/// "#version" to the push constants; buffer i is called `b<i>.d[]`, its offset `p.at[i]`.
std::string kernel_head(const std::vector<BufferText>& buffers, bool int64, uint32_t group_size = kGroupSize);
/// Opens main(): declares `uint i`, the invocation's number, and leaves when it is `count` or more. Sets the
/// grid.
std::string main_head(int64_t count, const DeviceTraits& traits, KernelText* text,
                      uint32_t group_size = kGroupSize);
/// Text of sum(coordinate * stride) + p.at[buffer], coordinates `c0` … ; zero strides left out.
std::string offset_text(int buffer, const std::vector<int64_t>& strides, const char* coordinate = "c");
/// Statements that split `from` into coordinates `c0` … of `dims` (outermost first).
std::string coordinates_text(const std::string& from, const std::vector<int64_t>& dims,
                             const char* coordinate = "c");

}  // namespace breakline::vulkan
