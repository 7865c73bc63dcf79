// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/vulkan/emit_common.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

namespace breakline::vulkan {

using graph::DType;

bool storable(DType dtype, const DeviceTraits& traits) {
  switch (dtype) {
    case DType::kFloat32:
    case DType::kInt32:
      return true;
    case DType::kInt64:
      return traits.int64;
    case DType::kBool:
    case DType::kUInt8:
    case DType::kInt8:
      return traits.storage8;
    default:
      return false;
  }
}

unsigned unsupported_types(const DeviceTraits& traits) {
  using schedule::RegType;
  auto bit = [](RegType t) { return 1u << static_cast<unsigned>(t); };
  unsigned bits = bit(RegType::kF64) | bit(RegType::kI16);
  if (!traits.int64) bits |= bit(RegType::kI64);
  if (!traits.storage8) bits |= bit(RegType::kU8) | bit(RegType::kI8);
  return bits;
}

ElementText element_text(DType dtype) {
  switch (dtype) {
    case DType::kInt32:
      return {"int", "ivec4"};
    case DType::kInt64:
      return {"int64_t", nullptr};
    case DType::kBool:
    case DType::kUInt8:
      return {"uint8_t", nullptr};
    case DType::kInt8:
      return {"int8_t", nullptr};
    default:
      return {"float", "vec4"};
  }
}

std::string float_text(double number) {
  float value = static_cast<float>(number);
  char text[48];
  if (!std::isfinite(value) || (value == 0 && std::signbit(value)) ||
      (value != 0 && std::fabs(value) < 1e-37f)) {
    std::snprintf(text, sizeof text, "uintBitsToFloat(0x%08xu)", std::bit_cast<uint32_t>(value));
    return text;
  }
  std::snprintf(text, sizeof text, "%.9g", static_cast<double>(value));
  std::string out = text;
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return value < 0 ? "(" + out + ")" : out;
}

std::string kernel_head(const std::vector<BufferText>& buffers, bool int64, uint32_t group_size) {
  std::string out = "#version 450\n";
  bool bytes = std::any_of(buffers.begin(), buffers.end(), [](const BufferText& b) {
    return b.dtype == DType::kBool || b.dtype == DType::kUInt8 || b.dtype == DType::kInt8;
  });
  int64 |= std::any_of(buffers.begin(), buffers.end(),
                       [](const BufferText& b) { return b.dtype == DType::kInt64; });
  if (int64) out += "#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require\n";
  if (bytes) {
    out += "#extension GL_EXT_shader_8bit_storage : require\n";
    out += "#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require\n";
  }
  out += "layout(local_size_x = " + std::to_string(group_size) + ") in;\n";
  out += "layout(push_constant) uniform Offsets { uint at[" + std::to_string(buffers.size()) + "]; } p;\n";
  for (size_t i = 0; i < buffers.size(); i++) {
    std::string n = std::to_string(i);
    ElementText element = element_text(buffers[i].dtype);
    out += "layout(set = 0, binding = " + n + ", std430) " + (buffers[i].write ? "writeonly" : "readonly") +
           " restrict buffer B" + n + " { " + (buffers[i].vec4 ? element.vec4 : element.name) + " d[]; } b" +
           n + ";\n";
  }
  return out;
}

std::string main_head(int64_t count, const DeviceTraits& traits, KernelText* text, uint32_t group_size) {
  int64_t groups = (count + group_size - 1) / group_size;
  int64_t limit = std::min<int64_t>(traits.max_groups_x, 65535);
  int64_t x = std::min(groups, limit);
  text->groups_x = static_cast<uint32_t>(std::max<int64_t>(x, 1));
  text->groups_y = static_cast<uint32_t>(std::max<int64_t>((groups + x - 1) / std::max<int64_t>(x, 1), 1));
  std::string out = "void main() {\n  uint i = gl_GlobalInvocationID.x";
  if (text->groups_y > 1) out += " + gl_GlobalInvocationID.y * " + std::to_string(x * group_size) + "u";
  out += ";\n  if (i >= " + std::to_string(count) + "u) return;\n";
  return out;
}

std::string offset_text(int buffer, const std::vector<int64_t>& strides, const char* coordinate) {
  std::string out = "p.at[" + std::to_string(buffer) + "]";
  for (size_t d = 0; d < strides.size(); d++) {
    if (strides[d] == 0) continue;
    out += std::string(" + ") + coordinate + std::to_string(d);
    if (strides[d] != 1) out += " * " + std::to_string(strides[d]) + "u";
  }
  return out;
}

std::string coordinates_text(const std::string& from, const std::vector<int64_t>& dims,
                             const char* coordinate) {
  std::string out;
  std::string rest = from;
  for (size_t d = dims.size(); d-- > 0;) {
    std::string name = coordinate + std::to_string(d);
    if (d == 0) {
      out += "  uint " + name + " = " + rest + ";\n";
      break;
    }
    std::string next = std::string("r") + coordinate + std::to_string(d);
    std::string extent = std::to_string(dims[d]) + "u";
    out += "  uint " + name + " = " + rest + " % " + extent + ";\n";
    out += "  uint " + next + " = " + rest + " / " + extent + ";\n";
    rest = next;
  }
  return out;
}

}  // namespace breakline::vulkan
