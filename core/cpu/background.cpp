// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cpu/background.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>
#include <vector>

namespace breakline::cpu {
namespace {

/// Ends the threads before the libraries they use are taken down.
std::vector<std::function<void()>>& endings() {
  static auto& list = *new std::vector<std::function<void()>>;
  return list;
}

Background* guarded = nullptr;

}  // namespace

/// A child has no second thread; what that thread had locked would stay locked in it.
void Background::guard_forks() {
  if (guarded) return;
  guarded = this;
  pthread_atfork(
      [] {
        guarded->running_.lock();
        guarded->lock_.lock();
      },
      [] {
        guarded->lock_.unlock();
        guarded->running_.unlock();
      },
      [] {
        guarded->lock_.unlock();
        guarded->running_.unlock();
      });
}

void Background::add(std::function<void()> job) {
  std::unique_lock hold(lock_);
  if (ending_ || (started_ && process_ != getpid())) return;
  jobs_.push_back(std::move(job));
  if (!started_) {
    started_ = true;
    process_ = getpid();
    guard_forks();
    auto* thread = new std::thread([this] { work(); });
    if (endings().empty()) {
      std::atexit([] {
        for (const auto& end : endings()) end();
      });
    }
    endings().push_back([this, thread] {
      if (process_ != getpid()) return;
      {
        const std::lock_guard last(lock_);
        ending_ = true;
        jobs_.clear();
      }
      changed_.notify_all();
      thread->join();
    });
  }
  hold.unlock();
  changed_.notify_all();
}

void Background::settle() {
  std::unique_lock hold(lock_);
  if (!started_ || process_ != getpid()) return;
  changed_.wait(hold, [&] { return (jobs_.empty() && !busy_) || ending_; });
}

void Background::work() {
#ifdef __linux__
  const auto self = static_cast<id_t>(syscall(SYS_gettid));
  constexpr int kLess = 5;  // behind the program's own threads, but it must come soon
  setpriority(PRIO_PROCESS, self, getpriority(PRIO_PROCESS, self) + kLess);
#endif
  std::unique_lock hold(lock_);
  while (true) {
    changed_.wait(hold, [&] { return ending_ || !jobs_.empty(); });
    if (ending_) return;
    const std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    busy_ = true;
    hold.unlock();
    {
      const std::lock_guard running(running_);
      job();
    }
    hold.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace breakline::cpu
