// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/segment/turn.h"

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace breakline::segment {

namespace {

struct Turns {
  std::mutex mutex;
  std::condition_variable free;
  unsigned long owner = 0;  ///< thread, 0: nobody
  pid_t process = 0;        ///< of the owner: a forked child has none of its parent's threads
  int depth = 0;
};

Turns& turns() {
  static auto* t = new Turns;  // never freed: threads may outlive the interpreter's end
  return *t;
}

}  // namespace

TraceTurn::TraceTurn() {
  constexpr std::chrono::seconds kLongest{20};
  Turns& t = turns();
  const unsigned long me = PyThread_get_thread_ident();
  const pid_t process = getpid();
  auto available = [&] { return t.depth == 0 || t.owner == me || t.process != process; };
  auto take = [&] {
    if (t.owner != me || t.process != process) t.depth = 0;
    t.owner = me;
    t.process = process;
    ++t.depth;
  };
  {
    std::lock_guard lock(t.mutex);
    taken_ = available();
    if (taken_) take();
  }
  if (taken_) return;
  waited_ = true;
  Py_BEGIN_ALLOW_THREADS {
    std::unique_lock lock(t.mutex);
    taken_ = t.free.wait_for(lock, kLongest, available);
    waited_ = taken_;
    if (taken_) take();
  }
  Py_END_ALLOW_THREADS
}

TraceTurn::~TraceTurn() {
  if (!taken_) return;
  Turns& t = turns();
  std::lock_guard lock(t.mutex);
  if (--t.depth == 0) t.free.notify_one();
}

}  // namespace breakline::segment
