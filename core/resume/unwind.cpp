// SPDX-License-Identifier: GPL-3.0-or-later
// Exception tables over virtual frames, as the exception_unwind part of CPython's Python/ceval.c.
#include "core/resume/unwind.h"

#include "core/resume/executor.h"

namespace breakline::resume {
namespace {

using bytecode::ExceptionEntry;
using bytecode::Instr;
using bytecode::Op;

// Unit offset to push for handlers that want it: RERAISE puts back the one it finds on the stack.
long last_instruction(State& state, bool reraise) {
  const Instr& instr = state.top().code->instrs[state.top().pc];
  if (reraise && instr.op == Op::kReraise && instr.arg > 0 && instr.arg <= state.top().stack) {
    PyObject* saved = state.operand(instr.arg);
    if (saved && PyLong_Check(saved)) return PyLong_AsLong(saved);
  }
  return instr.offset / 2;
}

void enter_handler(State& state, const ExceptionEntry& entry, long lasti) {
  Frame& frame = state.top();
  state.drop(frame.stack - entry.depth);
  if (entry.push_lasti) state.push(PyLong_FromLong(lasti));
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyException_SetTraceback(value, traceback ? traceback : Py_None);
  Py_XDECREF(traceback);
  Py_XDECREF(type);
  state.push(value);
  frame.pc = entry.target;
}

}  // namespace

PyObject* thread_handled() { return PyThreadState_Get()->exc_info->exc_value; }

void set_thread_handled(PyObject* exception) {
  PyObject*& current = PyThreadState_Get()->exc_info->exc_value;
  if (current == exception) return;
  PyObject* old = current;
  current = Py_XNewRef(exception);
  Py_XDECREF(old);
}

void strip_traceback(int count) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  for (; count > 0 && traceback; --count) {
    PyObject* next = reinterpret_cast<PyObject*>(reinterpret_cast<PyTracebackObject*>(traceback)->tb_next);
    Py_XINCREF(next);
    Py_SETREF(traceback, next);
  }
#if PY_VERSION_HEX >= 0x030C0000
  // Restoring without a traceback would leave the instance's own one in place.
  if (value && !traceback) PyException_SetTraceback(value, Py_None);
#endif
  PyErr_Restore(type, value, traceback);
}

bool unwind(State& state, bool reraise) {
  while (!state.frames.empty()) {
    Frame& frame = state.top();
    const ExceptionEntry* entry = frame.code->handler(frame.pc);
    if (!reraise) {
      PyObject* const* locals = &state.slots[state.slots.size() - frame.stack - frame.code->slot_count];
      // Locals are for post-mortem readers only, so they are filled in when the frame dies with the error.
      add_traceback(frame.code, frame.pc, frame.globals, entry ? nullptr : locals);
    }
    if (entry) {
      enter_handler(state, *entry, last_instruction(state, reraise));
      return true;
    }
    py::SavedError error;  // destructors of the frame's values must not see it
    pop_frame(state);
    error.restore();
    reraise = false;
    if (!state.frames.empty()) --state.top().pc;  // back to the instruction that waited for the frame
  }
  return false;
}

void pop_frame(State& state) {
  Frame& frame = state.top();
  for (int count = frame.stack + frame.code->slot_count; count > 0; --count) {
    PyObject* object = state.slots.back();
    state.slots.pop_back();
    Py_XDECREF(object);
  }
  state.frames.pop_back();
}

PyObject* deliver_return(State& state) {
  PyObject* value = state.pop();
  const OnReturn how = state.top().on_return;
  pop_frame(state);
  if (state.frames.empty()) return value;
  if (how == OnReturn::kPush) {
    state.push(value);
  } else {
    if (value != Py_None) {
      PyErr_Format(PyExc_TypeError, "__init__() should return None, not '%.200s'", Py_TYPE(value)->tp_name);
      --state.top().pc;  // back to the call, where the error is raised
    }
    Py_DECREF(value);
  }
  return nullptr;
}

}  // namespace breakline::resume
