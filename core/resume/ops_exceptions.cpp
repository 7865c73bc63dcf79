// SPDX-License-Identifier: GPL-3.0-or-later
// Raising, handling, with-blocks. The texts are CPython's (Python/ceval.c).
#include "core/python/compat.h"
#include "core/resume/ops.h"
#include "core/resume/unwind.h"

namespace breakline::resume {
namespace {

// The exception to raise for `raise X`: X itself, or an instance of the class X. New reference or null.
PyObject* instance_of(PyObject* exception, const char* refusal) {
  if (PyExceptionInstance_Check(exception)) return Py_NewRef(exception);
  if (!PyExceptionClass_Check(exception)) {
    PyErr_SetString(PyExc_TypeError, refusal);
    return nullptr;
  }
  PyObject* value = PyObject_CallNoArgs(exception);
  if (value && !PyExceptionInstance_Check(value)) {
    PyErr_Format(PyExc_TypeError, "calling %R should have returned an instance of BaseException, not %R",
                 exception, Py_TYPE(value));
    Py_CLEAR(value);
  }
  return value;
}

Outcome reraise_handled() {
  py::Ref handled = py::Ref::steal(PyErr_GetHandledException());
  if (!handled || handled.get() == Py_None) {
    PyErr_SetString(PyExc_RuntimeError, "No active exception to reraise");
    return Outcome::kRaised;
  }
  py::restore_exception(handled.get());
  return Outcome::kReraised;
}

// Stack: exception, cause.
Outcome raise(State& s, const Instr& i) {
  if (i.arg == 0) return reraise_handled();
  py::Ref value = py::Ref::steal(instance_of(s.operand(i.arg), "exceptions must derive from BaseException"));
  if (!value) return Outcome::kRaised;
  if (i.arg == 2) {
    PyObject* cause = s.operand(1);
    if (cause == Py_None) {
      PyException_SetCause(value.get(), nullptr);
    } else {
      PyObject* instance = instance_of(cause, "exception causes must derive from BaseException");
      if (!instance) return Outcome::kRaised;
      PyException_SetCause(value.get(), instance);
    }
  }
  PyObject* named = s.operand(i.arg);
  PyErr_SetObject(PyExceptionClass_Check(named) ? named : PyExceptionInstance_Class(named), value.get());
  return Outcome::kRaised;
}

Outcome reraise(State& s, const Instr&) {
  py::Ref value = py::Ref::steal(s.pop());
  py::restore_exception(value.get());
  return Outcome::kReraised;
}

void set_handled(State& s, PyObject* owned) {
  PyObject* old = std::exchange(s.handled, owned);
  set_thread_handled(owned);
  Py_XDECREF(old);
}

// Puts what was handled before below the new exception.
Outcome push_exc_info(State& s, const Instr&) {
  PyObject* exception = s.operand(1);
  s.operand(1) = s.handled ? Py_NewRef(s.handled) : Py_NewRef(Py_None);
  s.push(exception);
  set_handled(s, Py_NewRef(exception));
  return Outcome::kNext;
}

Outcome pop_except(State& s, const Instr&) {
  PyObject* before = s.pop();
  if (before == Py_None) Py_CLEAR(before);
  set_handled(s, before);
  return Outcome::kNext;
}

bool is_catchable(PyObject* type) {
  if (!PyTuple_Check(type)) return PyExceptionClass_Check(type);
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(type); ++k)
    if (!PyExceptionClass_Check(PyTuple_GET_ITEM(type, k))) return false;
  return true;
}

// Stack: exception, class or tuple; leaves exception, answer.
Outcome check_exc_match(State& s, const Instr&) {
  PyObject* type = s.operand(1);
  if (!is_catchable(type)) {
    PyErr_SetString(PyExc_TypeError,
                    "catching classes that do not inherit from BaseException is not allowed");
    return Outcome::kRaised;
  }
  return replace(s, 1, PyBool_FromLong(PyErr_GivenExceptionMatches(s.operand(2), type)));
}

// Leaves the bound __exit__ and what __enter__ gave.
Outcome before_with(State& s, const Instr&) {
  PyObject* manager = s.operand(1);
  py::Ref enter = py::Ref::steal(py::lookup_special(manager, "__enter__"));
  if (!enter) {
    if (!PyErr_Occurred())
      PyErr_Format(PyExc_TypeError, "'%.200s' object does not support the context manager protocol",
                   Py_TYPE(manager)->tp_name);
    return Outcome::kRaised;
  }
  py::Ref exit = py::Ref::steal(py::lookup_special(manager, "__exit__"));
  if (!exit) {
    if (!PyErr_Occurred())
      PyErr_Format(PyExc_TypeError,
                   "'%.200s' object does not support the context manager protocol (missed __exit__ method)",
                   Py_TYPE(manager)->tp_name);
    return Outcome::kRaised;
  }
  PyObject* result = PyObject_CallNoArgs(enter.get());
  if (!result) return Outcome::kRaised;
  s.drop(1);
  s.push(exit.release());
  s.push(result);
  return Outcome::kNext;
}

// Stack: __exit__ (with arg 1 as two call slots), last instruction, handled before, exception; pushes what
// __exit__ answers.
Outcome with_except_start(State& s, const Instr& i) {
  PyObject* exception = s.operand(1);
  py::Ref traceback = py::Ref::steal(PyException_GetTraceback(exception));
  PyObject* args[] = {nullptr, s.operand(4), reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception,
                      traceback ? traceback.get() : Py_None};
  const bool unbound = i.arg && s.operand(5);
  PyObject* exit = s.operand(unbound ? 5 : 4);
  const size_t count = unbound ? 4 : 3;
  return replace(
      s, 0, PyObject_Vectorcall(exit, args + 5 - count, count | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
}

bool always(State&, const Instr&) { return true; }
// Instances are raised as they are; a class is called.
bool raises_class(State& s, const Instr& i) {
  if (i.arg == 0) return false;
  return !PyExceptionInstance_Check(s.operand(i.arg)) ||
         (i.arg == 2 && !PyExceptionInstance_Check(s.operand(1)));
}

}  // namespace

void add_exception_ops(OpTable& t) {
  row(t, Op::kRaiseVarargs) = {raise, raises_class};
  row(t, Op::kReraise) = {reraise};
  row(t, Op::kPushExcInfo) = {push_exc_info};
  row(t, Op::kPopExcept) = {pop_except};
  row(t, Op::kCheckExcMatch) = {check_exc_match};
  row(t, Op::kBeforeWith) = {before_with, always};
  row(t, Op::kWithExceptStart) = {with_except_start, always};
}

}  // namespace breakline::resume
