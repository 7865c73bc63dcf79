// SPDX-License-Identifier: GPL-3.0-or-later
// A small seeded generator with the same sequence on every platform (the standard distributions are not
// portable).
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace breakline::measure {

/// xoshiro256** (Blackman and Vigna), seeded through splitmix64. Not for secrets.
class Random {
 public:
  explicit Random(std::uint64_t seed);
  /// 64 random bits.
  std::uint64_t next();
  /// Uniform in [0, bound); `bound` must be above zero. Without modulo bias.
  std::size_t below(std::size_t bound);
  /// Uniform in [0, 1).
  double uniform();
  /// Standard normal (Box-Muller; uses two uniforms a call).
  double normal();
  /// A uniformly random order of 0 … count-1 (Fisher-Yates).
  std::vector<int> permutation(int count);

 private:
  std::uint64_t state_[4];
};

}  // namespace breakline::measure
