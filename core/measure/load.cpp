// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/measure/load.h"

#include <algorithm>

namespace breakline::measure {

double others_between(const LoadReading& before, const LoadReading& after) {
  const auto wall = static_cast<double>(after.at_ns - before.at_ns);
  return wall > 0 ? static_cast<double>(std::max<std::int64_t>(0, after.others_ns - before.others_ns)) / wall
                  : 0;
}

bool loaded_between(const LoadReading& before, const LoadReading& after, std::int64_t resolution_ns,
                    const LoadOptions& options) {
  return after.others_ns - before.others_ns >= 2 * resolution_ns &&
         others_between(before, after) > options.most_others;
}

}  // namespace breakline::measure
