// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/vulkan/fingerprint.h"

#include <bit>
#include <cstring>

namespace breakline::vulkan {
namespace {

constexpr size_t kLanes = 8;
constexpr uint64_t kOdd = 0x9e3779b97f4a7c15ull;
constexpr uint64_t kMix = 0xd6e8feb86659fd93ull;

// The rotation brings the top bits (signs of floats) down before the next multiplication, which moves bits up
// only.
uint64_t step(uint64_t state, uint64_t word) { return std::rotl((state ^ word) * kOdd, 31); }

uint64_t finish(uint64_t x) {
  x = (x ^ (x >> 32)) * kMix;
  x = (x ^ (x >> 29)) * kMix;
  return x ^ (x >> 32);
}

}  // namespace

Fingerprint fingerprint(const void* data, size_t bytes) {
  const auto* p = static_cast<const std::byte*>(data);
  uint64_t lanes[kLanes];
  for (size_t i = 0; i < kLanes; i++) lanes[i] = kMix * (i + 1) + bytes;
  size_t left = bytes;
  for (; left >= kLanes * 8; left -= kLanes * 8, p += kLanes * 8) {
    uint64_t words[kLanes];
    std::memcpy(words, p, sizeof words);
    for (size_t i = 0; i < kLanes; i++) lanes[i] = step(lanes[i], words[i]);
  }
  for (size_t i = 0; left > 0; i++) {
    uint64_t word = 0;
    size_t take = left < 8 ? left : 8;
    std::memcpy(&word, p, take);
    lanes[i] = step(lanes[i], word);
    p += take;
    left -= take;
  }
  Fingerprint out{kOdd, kMix};
  for (size_t i = 0; i < kLanes; i++) {
    out[0] = finish(out[0] ^ lanes[i]);
    out[1] = finish(std::rotl(out[1], 17) + lanes[i]);
  }
  return out;
}

}  // namespace breakline::vulkan
