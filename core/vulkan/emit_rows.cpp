// SPDX-License-Identifier: GPL-3.0-or-later
// Softmax, layer_norm and reductions: one invocation per row. Sums are compensated, so their error does not
// grow with the row; the plain sum stands where it is not finite (compensation turns inf into NaN).
#include "core/vulkan/emit_common.h"
#include "core/vulkan/glsl_math.h"

namespace breakline::vulkan {
namespace {

constexpr const char* kSumText = R"(struct Sum { float total; float lost; float plain; };
void add(inout Sum s, float x) {
  precise float y = x - s.lost;
  precise float t = s.total + y;
  precise float back = t - s.total;
  s.lost = back - y;
  s.total = t;
  s.plain += x;
}
float result(Sum s) {
  bool finite = (floatBitsToUint(s.plain) & 0x7fffffffu) < 0x7f800000u;
  return finite ? s.total : s.plain;
}
)";

/// Iterations of one pass over a row when the innermost loop takes `unroll` elements at a time.
int64_t iterations(const RowShape& s, int64_t unroll) {
  int64_t outer = 1;
  for (size_t d = 0; d + 1 < s.inner.size(); d++) outer *= s.inner[d] + 1;
  return outer * (s.inner.empty() ? 1 : s.inner.back() / unroll + 1);
}

/// Loops over a row with `x` the element and, with the output, `o` its offset there and `j` its number in the
/// row.
std::string loop(const RowShape& s, int64_t unroll, const std::string& body, bool with_output) {
  std::string open = "  {\n", close = "  }\n";
  std::string in = "in0", out = "out0", position = "0u";
  int64_t below = 1;
  for (int64_t d : s.inner) below *= d;
  for (size_t d = 0; d < s.inner.size(); d++) {
    std::string j = "j" + std::to_string(d), size = std::to_string(s.inner[d]);
    below /= s.inner[d];
    in += " + " + j + " * " + std::to_string(s.in_inner[d]) + "u";
    if (with_output) out += " + " + j + " * " + std::to_string(s.out_inner[d]) + "u";
    position += " + " + j + " * " + std::to_string(below) + "u";
    if (d + 1 == s.inner.size()) break;
    open += "  for (uint " + j + " = 0u; " + j + " < " + size + "u; " + j + "++) {\n";
    close += "  }\n";
  }
  std::string element = "    float x = b0.d[" + in + "];\n";
  if (with_output) element += "    uint o = " + out + ";\n    uint j = " + position + ";\n";
  element += body;
  if (s.inner.empty()) return open + element + close;
  std::string j = "j" + std::to_string(s.inner.size() - 1);
  auto at = [&](const std::string& where) {
    return "    {\n    uint " + j + " = " + where + ";\n" + element + "    }\n";
  };
  int64_t whole = s.inner.back() / unroll * unroll;
  std::string text = open + "  for (uint k = 0u; k < " + std::to_string(whole) +
                     "u; k += " + std::to_string(unroll) + "u) {\n";
  for (int64_t u = 0; u < unroll; u++) text += at("k + " + std::to_string(u) + "u");
  text += "  }\n";
  for (int64_t rest = whole; rest < s.inner.back(); rest++) text += at(std::to_string(rest) + "u");
  return text + close;
}

std::string affine(const RowShape& s, const std::string& value) {
  std::string out = value;
  if (s.weight) out = "(" + out + ") * b1.d[p.at[1] + j]";
  if (s.bias) {
    std::string n = s.weight ? "2" : "1";
    out = "(" + out + ") + b" + n + ".d[p.at[" + n + "] + j]";
  }
  return out;
}

std::string best(const char* sign) {
  return std::string("    if (x ") + sign + " m || bl_is_nan(x)) m = bl_is_nan(m) ? m : x;\n";
}

}  // namespace

Result<KernelText> emit_rows(const RowShape& s, const DeviceTraits& traits) {
  int64_t passes = s.kind == RowShape::kSum || s.kind == RowShape::kMean || s.kind >= RowShape::kMax ? 1 : 3;
  int64_t unroll = 1;
  while (unroll < 16 && passes * iterations(s, unroll) > traits.loop_limit) unroll *= 4;
  if (passes * iterations(s, unroll) > traits.loop_limit)
    return Error{"rows too long for the software device"};
  std::vector<BufferText> buffers(1);
  if (s.weight) buffers.emplace_back();
  if (s.bias) buffers.emplace_back();
  buffers.push_back({.write = true});
  int out_buffer = static_cast<int>(buffers.size()) - 1;
  int64_t rows = 1, length = 1;
  for (int64_t d : s.outer) rows *= d;
  for (int64_t d : s.inner) length *= d;
  std::string out = "b" + std::to_string(out_buffer) + ".d";
  std::string count = float_text(static_cast<double>(length));

  KernelText text;
  std::string& g = text.glsl;
  g = kernel_head(buffers, false);
  g += glsl_functions({"bl_exp", "bl_log", "bl_is_nan", "bl_inf"}) + kSumText;
  g += main_head(rows, traits, &text) + coordinates_text("i", s.outer);
  g += "  uint in0 = " + offset_text(0, s.in_strides) + ";\n";
  g += "  uint out0 = " + offset_text(out_buffer, s.out_strides) + ";\n";
  std::string sum0 = "  Sum s = Sum(0.0, 0.0, 0.0);\n";
  auto pass = [&](const std::string& body) { return loop(s, unroll, body, false); };
  auto write = [&](const std::string& value) {
    return loop(s, unroll, "    precise float y = " + value + ";\n    " + out + "[o] = y;\n", true);
  };
  switch (s.kind) {
    case RowShape::kSoftmax:
    case RowShape::kLogSoftmax: {
      g += "  float m = -bl_inf();\n" + pass(best(">")) + sum0 + pass("    add(s, bl_exp(x - m));\n");
      bool log = s.kind == RowShape::kLogSoftmax;
      g += log ? "  float l = bl_log(result(s));\n" : "  float l = result(s);\n";
      g += write(log ? "(x - m) - l" : "bl_exp(x - m) / l");
      break;
    }
    case RowShape::kLayerNorm:
      g += sum0 + pass("    add(s, x);\n") + "  float mean = result(s) / " + count + ";\n";
      g += "  s = Sum(0.0, 0.0, 0.0);\n" + pass("    precise float d = x - mean;\n    add(s, d * d);\n");
      g += "  precise float scale = 1.0 / sqrt(result(s) / " + count + " + " + float_text(s.eps) + ");\n";
      g += write(affine(s, "(x - mean) * scale"));
      break;
    case RowShape::kSum:
    case RowShape::kMean:
      g += sum0 + pass("    add(s, x);\n");
      g += "  " + out + "[out0] = result(s)" + (s.kind == RowShape::kMean ? " / " + count : "") + ";\n";
      break;
    case RowShape::kMax:
    case RowShape::kMin: {
      bool max = s.kind == RowShape::kMax;
      g += std::string("  float m = ") + (max ? "-" : "") + "bl_inf();\n" + pass(best(max ? ">" : "<"));
      g += "  " + out + "[out0] = m;\n";
      break;
    }
  }
  g += "}\n";
  return text;
}

}  // namespace breakline::vulkan
