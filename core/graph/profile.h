// SPDX-License-Identifier: GPL-3.0-or-later
// Wall time of the kernels of one plan while a profiled call runs it. Off, it costs one load per plan run.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/timeline.h"

namespace breakline::graph {

/// Nanoseconds per entry of PlanInfo::kernels, summed over one run of the plan; -1 where it was not timed.
/// With a timeline each kernel is a mark there instead.
struct KernelTimes {
  std::vector<int64_t> ns;
  base::Timeline* timeline = nullptr;
  void add(size_t kernel, int64_t elapsed) {
    if (timeline) return timeline->mark(base::MarkKind::kKernel, static_cast<int32_t>(kernel), elapsed);
    if (kernel >= ns.size()) return;
    ns[kernel] = (ns[kernel] < 0 ? 0 : ns[kernel]) + elapsed;
  }
};

/// Where the plan that runs now puts its kernels' times, or null. Read and written with the GIL held.
inline KernelTimes* kernel_times = nullptr;

/// Nanoseconds since an arbitrary start; never goes back. Within a timeline always 0: its marks have the
/// time, and an event must not cost two more readings.
inline int64_t profile_clock_ns() {
  if (kernel_times && kernel_times->timeline) return 0;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Sets `kernel_times` for a scope; null inside a call that is not profiled, even within one that is.
class KernelTimesScope {
 public:
  explicit KernelTimesScope(KernelTimes* times) : before_(kernel_times) { kernel_times = times; }
  ~KernelTimesScope() { kernel_times = before_; }
  KernelTimesScope(const KernelTimesScope&) = delete;
  KernelTimesScope& operator=(const KernelTimesScope&) = delete;

 private:
  KernelTimes* before_;
};

}  // namespace breakline::graph
