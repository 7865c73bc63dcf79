// SPDX-License-Identifier: GPL-3.0-or-later
// The clock that measurements read. Tests inject their own.
#pragma once
#include <cstdint>

namespace breakline::measure {

/// A monotonic clock in nanoseconds. Implementations may be called from any one thread at a time.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Nanoseconds since an arbitrary start; never goes back.
  virtual std::int64_t now_ns() = 0;
};

/// The machine's steady clock.
class SteadyClock final : public Clock {
 public:
  std::int64_t now_ns() override;
};

}  // namespace breakline::measure
