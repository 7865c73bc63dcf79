// SPDX-License-Identifier: GPL-3.0-or-later
// Wall time of the kernels of one plan while a profiled call runs it. Off, it costs one load per plan run.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace breakline::graph {

/// Nanoseconds since an arbitrary start; never goes back.
inline int64_t profile_clock_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Nanoseconds per entry of PlanInfo::kernels, summed over one run of the plan; -1 where it was not timed.
struct KernelTimes {
  std::vector<int64_t> ns;
  void add(size_t kernel, int64_t elapsed) {
    if (kernel >= ns.size()) return;
    ns[kernel] = (ns[kernel] < 0 ? 0 : ns[kernel]) + elapsed;
  }
};

/// Where the plan that runs now puts its kernels' times, or null. Read and written with the GIL held.
inline KernelTimes* kernel_times = nullptr;

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
