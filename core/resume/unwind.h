// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/resume/state.h"

namespace breakline::resume {

/// The exception the running thread is handling in its innermost frame (what PUSH_EXC_INFO saves), borrowed
/// or null. A root's State starts with it: `state.handled = Py_XNewRef(thread_handled())`.
PyObject* thread_handled();

/// Makes the thread handle `exception` (may be null), so that C code chains `__context__` and callees see
/// sys.exc_info().
void set_thread_handled(PyObject* exception);

/// Keeps the thread's handled exception over the run of a root: whatever the machine sets is undone at the
/// end.
class HandledScope {
 public:
  HandledScope() : saved_(Py_XNewRef(thread_handled())) {}
  ~HandledScope() {
    set_thread_handled(saved_);
    Py_XDECREF(saved_);
  }
  HandledScope(const HandledScope&) = delete;
  HandledScope& operator=(const HandledScope&) = delete;

 private:
  PyObject* saved_;
};

/// Drops the top frame with all its values.
void pop_frame(State& state);

/// Takes `count` entries off the front of the current error's traceback: those of frames that only carried a
/// call.
void strip_traceback(int count);

}  // namespace breakline::resume
