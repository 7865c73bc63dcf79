// SPDX-License-Identifier: GPL-3.0-or-later
// How much of the machine other programs take while something is timed. Tests inject their own reader.
#pragma once
#include <cstdint>
#include <memory>

namespace breakline::measure {

/// Cumulative times since an arbitrary start; two readings are subtracted.
struct LoadReading {
  std::int64_t at_ns = 0;      ///< wall clock
  std::int64_t others_ns = 0;  ///< CPU time of other processes, and time stolen from this machine
};

/// Reads the load of the machine. May be called from any one thread at a time.
class LoadReader {
 public:
  virtual ~LoadReader() = default;
  virtual LoadReading read() = 0;
  /// How long the calling thread was ready to run and had to wait, in all. Cheap and fine: for single blocks.
  virtual std::int64_t waiting_ns() = 0;
  /// The step in which `others_ns` grows; a smaller difference means nothing.
  virtual std::int64_t resolution_ns() const = 0;
};

/// Linux: /proc/stat less the ticks of this process and its descendants (those alive when it is made), and
/// /proc/thread-self/schedstat. Null where these can't be read.
std::unique_ptr<LoadReader> make_proc_load_reader();

struct LoadOptions {
  double most_others = 0.25;   ///< CPUs in use by others
  double most_waiting = 0.02;  ///< share of a block spent waiting for a CPU
};

/// CPUs that others used between two readings: 1 is one CPU in full use.
double others_between(const LoadReading& before, const LoadReading& after);

/// Whether others disturbed what ran between two readings. A difference below two steps of the reader's
/// resolution is no load.
bool loaded_between(const LoadReading& before, const LoadReading& after, std::int64_t resolution_ns,
                    const LoadOptions& options = {});

}  // namespace breakline::measure
