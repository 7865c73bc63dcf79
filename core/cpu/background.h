// SPDX-License-Identifier: GPL-3.0-or-later
// Work for when nobody waits: one thread of lower priority, started by the first job.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

namespace breakline::cpu {

/// Jobs run one after the other. The thread ends with the process (jobs that are left are dropped); after a
/// fork the child has none and takes no jobs.
class Background {
 public:
  void add(std::function<void()> job);
  /// Waits until no job is left.
  void settle();

 private:
  void work();
  void guard_forks();
  std::mutex running_;  ///< held while a job runs: a fork waits for its end
  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool started_ = false, busy_ = false, ending_ = false;
  int process_ = 0;
};

}  // namespace breakline::cpu
