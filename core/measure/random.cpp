// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/measure/random.h"

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace breakline::measure {
namespace {

std::uint64_t rotate_left(std::uint64_t value, int by) { return (value << by) | (value >> (64 - by)); }

std::uint64_t splitmix(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15ULL;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

Random::Random(std::uint64_t seed) {
  for (std::uint64_t& word : state_) word = splitmix(seed);
}

std::uint64_t Random::next() {
  const std::uint64_t result = rotate_left(state_[1] * 5, 7) * 9;
  const std::uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = rotate_left(state_[3], 45);
  return result;
}

std::size_t Random::below(std::size_t bound) {
  const std::uint64_t n = bound;
  const std::uint64_t limit = (0 - n) % n;  // values below it would make small results likelier
  for (;;) {
    const std::uint64_t bits = next();
    if (bits >= limit) return static_cast<std::size_t>(bits % n);
  }
}

double Random::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

double Random::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

std::vector<int> Random::permutation(int count) {
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[below(i)]);
  return order;
}

}  // namespace breakline::measure
