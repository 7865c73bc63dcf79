// SPDX-License-Identifier: GPL-3.0-or-later
// Matrix products. Software devices run workgroups as loops, and a barrier() costs them 10–50 times the work
// between: for them each invocation keeps a tile in registers and reads straight from memory. Others share
// tiles per workgroup.
#include <algorithm>

#include "core/vulkan/emit_common.h"

namespace breakline::vulkan {
namespace {

std::string number(int64_t n) { return std::to_string(n) + "u"; }
std::string times(const std::string& what, int64_t stride) {
  return stride == 1 ? what : what + " * " + number(stride);
}

// Long sums are cut into chunks, which bounds the rounding error as a blocked library does.
constexpr int64_t kChunk = 256;

enum class Mode {
  kAlongK,  ///< a and b contiguous along k: four-vectors along k
  kAlongN,  ///< b contiguous along n: four-vectors of columns
  kScalar,
};

std::vector<BufferText> buffers_of(const MatmulShape& s, Mode mode) {
  std::vector<BufferText> buffers(2);
  buffers[0].vec4 = mode == Mode::kAlongK;
  buffers[1].vec4 = mode != Mode::kScalar;
  if (s.bias) buffers.emplace_back();
  buffers.push_back({.write = true});
  return buffers;
}

Mode choose_mode(const MatmulShape& s) {
  bool a_rows = s.a_aligned && s.a_m % 4 == 0 && s.a_batch % 4 == 0;
  bool b_other = s.b_aligned && s.b_batch % 4 == 0;
  if (s.a_k == 1 && s.b_k == 1 && s.k % 4 == 0 && a_rows && b_other && s.b_n % 4 == 0) return Mode::kAlongK;
  if (s.b_n == 1 && s.n % 4 == 0 && b_other && s.b_k % 4 == 0) return Mode::kAlongN;
  return Mode::kScalar;
}

/// alpha * sum + beta * bias, stored.
std::string store_text(const MatmulShape& s, const std::string& sum, const std::string& row,
                       const std::string& column) {
  std::string value = sum;
  if (s.alpha != 1) value = "(" + value + ") * " + float_text(s.alpha);
  if (s.bias) {
    std::string bias = "b2.d[p.at[2] + " + times("z", s.bias_batch) + " + " + times(row, s.bias_m) + " + " +
                       times(column, s.bias_n) + "]";
    value = "(" + value + ") + " + (s.beta == 1 ? bias : float_text(s.beta) + " * " + bias);
  }
  std::string n = s.bias ? "3" : "2";
  return "b" + n + ".d[p.at[" + n + "] + " + times("z", s.out_batch) + " + " + times(row, s.out_m) + " + " +
         times(column, s.out_n) + "] = " + value + ";\n";
}

KernelText register_tiles(const MatmulShape& s, const DeviceTraits& traits) {
  Mode mode = choose_mode(s);
  bool along_n = mode == Mode::kAlongN;
  int rows = static_cast<int>(std::clamp<int64_t>(s.m, 1, along_n ? 8 : 4));
  if (rows == 3) rows = 2;
  if (rows > 4 && rows < 8) rows = 4;
  int lanes = along_n ? 4 : 1;  // columns per column step
  int columns = along_n ? (s.n % 8 == 0 ? 2 : 1) : static_cast<int>(std::clamp<int64_t>(s.n, 1, 4));
  if (columns == 3) columns = 2;
  int64_t tiles_m = (s.m + rows - 1) / rows, tiles_n = (s.n + columns * lanes - 1) / (columns * lanes);
  KernelText text;
  std::string& g = text.glsl;
  g = kernel_head(buffers_of(s, mode), false);
  g += main_head(s.batch * tiles_m * tiles_n, traits, &text);
  g += "  uint n0 = (i % " + number(tiles_n) + ") * " + number(columns * lanes) + ";\n";
  g += "  uint m0 = ((i / " + number(tiles_n) + ") % " + number(tiles_m) + ") * " + number(rows) + ";\n";
  g += "  uint z = i / " + number(tiles_n * tiles_m) + ";\n";
  auto at = [](const char* prefix, int n) { return prefix + std::to_string(n); };
  // Tiles over the edge read the last row or column again and don't store.
  for (int r = 0; r < rows; r++) {
    g += "  uint " + at("m_", r) + " = min(m0 + " + number(r) + ", " + number(s.m - 1) + ");\n";
    g += "  uint " + at("a", r) + " = p.at[0] + " + times("z", s.a_batch) + " + " +
         times(at("m_", r), s.a_m) + ";\n";
  }
  for (int c = 0; c < columns; c++) {
    std::string first = "n0 + " + number(c * lanes);
    g += "  uint " + at("n_", c) + " = min(" + first + ", " + number(s.n - lanes) + ");\n";
    g += "  uint " + at("c", c) + " = p.at[1] + " + times("z", s.b_batch) + " + " +
         times(at("n_", c), s.b_n) + ";\n";
  }
  std::string type = along_n ? "vec4" : "float";
  std::string zero = along_n ? "vec4(0.0)" : "0.0";
  bool chunked = s.k > 2 * kChunk;
  auto sum = [&](int r, int c) { return "s" + std::to_string(r) + "_" + std::to_string(c); };
  auto each = [&](auto&& make) {
    for (int r = 0; r < rows; r++) {
      for (int c = 0; c < columns; c++) g += make(r, c);
    }
  };
  each([&](int r, int c) { return "  " + type + " " + sum(r, c) + " = " + zero + ";\n"; });
  std::string k_end = number(s.k);
  if (chunked) {
    each([&](int r, int c) { return "  " + type + " t" + sum(r, c) + " = " + zero + ";\n"; });
    g += "  for (uint k0 = 0u; k0 < " + number(s.k) + "; k0 += " + number(kChunk) + ") {\n";
    g += "  uint k1 = min(k0 + " + number(kChunk) + ", " + number(s.k) + ");\n";
    k_end = "k1";
  }
  std::string k_step = mode == Mode::kAlongK ? "4u" : "1u";
  g += std::string("  for (uint k = ") + (chunked ? "k0" : "0u") + "; k < " + k_end + "; k += " + k_step +
       ") {\n";
  bool vec_k = mode == Mode::kAlongK;
  for (int r = 0; r < rows; r++) {
    std::string index = at("a", r) + " + " + times("k", s.a_k);
    g += std::string("    ") + (vec_k ? "vec4 x" : "float x") + std::to_string(r) + " = b0.d[" +
         (vec_k ? "(" + index + ") / 4u" : index) + "];\n";
  }
  for (int c = 0; c < columns; c++) {
    std::string index = at("c", c) + " + " + times("k", s.b_k);
    bool vec = mode != Mode::kScalar;
    g += std::string("    ") + (vec ? "vec4 y" : "float y") + std::to_string(c) + " = b1.d[" +
         (vec ? "(" + index + ") / 4u" : index) + "];\n";
  }
  each([&](int r, int c) {
    std::string x = at("x", r), y = at("y", c), total = sum(r, c);
    if (along_n) return "    " + total + " = fma(vec4(" + x + "), " + y + ", " + total + ");\n";
    if (!vec_k) return "    " + total + " = fma(" + x + ", " + y + ", " + total + ");\n";
    std::string out;
    for (const char* lane : {".x", ".y", ".z", ".w"}) {
      out += "    " + total + " = fma(" + x + lane + ", " + y + lane + ", " + total + ");\n";
    }
    return out;
  });
  g += "  }\n";
  if (chunked) {
    each([&](int r, int c) {
      return "  t" + sum(r, c) + " += " + sum(r, c) + "; " + sum(r, c) + " = " + zero + ";\n";
    });
    g += "  }\n";
  }
  static constexpr const char* kLane[] = {".x", ".y", ".z", ".w"};
  for (int r = 0; r < rows; r++) {
    for (int c = 0; c < columns; c++) {
      g += "  if (m0 + " + number(r) + " < " + number(s.m) + " && n0 + " + number(c * lanes) + " < " +
           number(s.n) + ") {\n";
      for (int lane = 0; lane < lanes; lane++) {
        std::string value = (chunked ? "t" : "") + sum(r, c) + (along_n ? kLane[lane] : "");
        g += "    " + store_text(s, value, at("m_", r), "(" + at("n_", c) + " + " + number(lane) + ")");
      }
      g += "  }\n";
    }
  }
  g += "}\n";
  return text;
}

/// 64 x 64 outputs per workgroup of 256, 4 x 4 each, tiles of 16 along k through shared memory.
KernelText shared_tiles(const MatmulShape& s, const DeviceTraits&) {
  constexpr int64_t kTile = 64;
  constexpr uint32_t kThreads = 256;
  int64_t tiles_m = (s.m + kTile - 1) / kTile, tiles_n = (s.n + kTile - 1) / kTile;
  KernelText text;
  int64_t groups = tiles_m * tiles_n * s.batch;
  text.groups_x = static_cast<uint32_t>(std::min<int64_t>(groups, 65535));
  text.groups_y = static_cast<uint32_t>((groups + text.groups_x - 1) / text.groups_x);
  std::string& g = text.glsl;
  g = kernel_head(buffers_of(s, Mode::kScalar), false, kThreads);
  // One column of padding keeps the column reads off one memory bank.
  g += "shared float ta[16][65];\nshared float tb[16][65];\nvoid main() {\n";
  g += "  uint i = gl_WorkGroupID.x + gl_WorkGroupID.y * " + number(text.groups_x) + ";\n";
  g += "  if (i >= " + number(groups) + ") return;\n";
  g += "  uint n0 = (i % " + number(tiles_n) + ") * 64u;\n  uint m0 = ((i / " + number(tiles_n) + ") % " +
       number(tiles_m) + ") * 64u;\n  uint z = i / " + number(tiles_n * tiles_m) + ";\n";
  g += "  uint t = gl_LocalInvocationIndex;\n  uint tn = (t % 16u) * 4u;\n  uint tm = (t / 16u) * 4u;\n";
  g += "  float s[4][4];\n  for (int r = 0; r < 4; r++) for (int c = 0; c < 4; c++) s[r][c] = 0.0;\n";
  // Neighbouring invocations read neighbouring memory, whichever way a and b lie.
  auto load = [&](const char* tile, const char* buffer, const char* origin, int64_t limit, int64_t along,
                  int64_t k_stride, int64_t batch, const char* offset) {
    bool k_fast = k_stride == 1;
    std::string row = k_fast ? "(e / 16u)" : "(e % 64u)", k = k_fast ? "(e % 16u)" : "(e / 64u)";
    return "    for (uint e = t; e < 1024u; e += 256u) {\n      uint row = " + std::string(origin) + " + " +
           row + "; uint k = k0 + " + k + ";\n      " + tile + "[" + k + "][" + row + "] = row < " +
           number(limit) + " && k < " + number(s.k) + " ? " + buffer + ".d[" + offset + " + " +
           times("z", batch) + " + " + times("row", along) + " + " + times("k", k_stride) +
           "] : 0.0;\n    }\n";
  };
  g += "  for (uint k0 = 0u; k0 < " + number(s.k) + "; k0 += 16u) {\n";
  g += load("ta", "b0", "m0", s.m, s.a_m, s.a_k, s.a_batch, "p.at[0]");
  g += load("tb", "b1", "n0", s.n, s.b_n, s.b_k, s.b_batch, "p.at[1]");
  g += "    barrier();\n    for (uint k = 0u; k < 16u; k++) {\n";
  g += "      for (int r = 0; r < 4; r++) for (int c = 0; c < 4; c++) s[r][c] = fma(ta[k][tm + r], tb[k][tn "
       "+ c], s[r][c]);\n";
  g += "    }\n    barrier();\n  }\n";
  g += "  for (int r = 0; r < 4; r++) for (int c = 0; c < 4; c++) {\n    uint row = m0 + tm + r; uint column "
       "= n0 + tn + c;\n";
  g += "    if (row < " + number(s.m) + " && column < " + number(s.n) + ") " +
       store_text(s, "s[r][c]", "row", "column");
  g += "  }\n}\n";
  return text;
}

}  // namespace

KernelText emit_matmul(const MatmulShape& shape, const DeviceTraits& traits) {
  return traits.barriers ? shared_tiles(shape, traits) : register_tiles(shape, traits);
}

}  // namespace breakline::vulkan
