// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/measure/clock.h"

#include <chrono>

namespace breakline::measure {

std::int64_t SteadyClock::now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace breakline::measure
