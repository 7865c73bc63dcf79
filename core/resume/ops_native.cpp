// SPDX-License-Identifier: GPL-3.0-or-later
// Operations that CPython keeps to its interpreter loop (pattern matching, exception groups, awaiting, type
// parameters): run as the real instruction. Their generator-only relatives are here too.
#include <opcode.h>

#include "core/python/compat.h"
#include "core/resume/ops.h"
#include "core/resume/trampoline.h"
#include "core/resume/unwind.h"

namespace breakline::resume {
namespace {

PyObject* const* deepest(State& s, int count) { return s.slots.data() + s.slots.size() - count; }

Outcome native(State& s, const NativeInstruction& n) {
  PyObject* result = run_native(s, n, deepest(s, n.inputs));
  if (!n.as_tuple) return replace(s, n.inputs, result);
  if (!result) return Outcome::kRaised;
  s.drop(n.inputs);
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(result); ++k) s.push(Py_NewRef(PyTuple_GET_ITEM(result, k)));
  Py_DECREF(result);
  return Outcome::kNext;
}

template <int opcode, int inputs, int outputs>
Outcome plain(State& s, const Instr& i) {
  return native(
      s, {.opcode = opcode, .arg = i.arg, .inputs = inputs, .outputs = outputs, .as_tuple = outputs > 1});
}

#if PY_VERSION_HEX >= 0x030C0000
template <int number, int inputs>
Outcome intrinsic(State& s, const Instr&) {
  constexpr int opcode = inputs == 1 ? CALL_INTRINSIC_1 : CALL_INTRINSIC_2;
  return native(s, {.opcode = opcode, .arg = number, .inputs = inputs, .outputs = 1});
}
Outcome type_param(State& s, const Instr& i) {
  const bool two = i.arg >= 256;
  return native(s, {.opcode = two ? CALL_INTRINSIC_2 : CALL_INTRINSIC_1,
                    .arg = i.arg & 255,
                    .inputs = two ? 2 : 1,
                    .outputs = 1});
}
#else
Outcome type_param(State&, const Instr&) {
  PyErr_SetString(PyExc_SystemError, "type parameters need CPython 3.12 or newer");
  return Outcome::kRaised;
}
#endif

template <unsigned long flag>
Outcome match_kind(State& s, const Instr&) {
  return replace(s, 0, PyBool_FromLong(PyType_HasFeature(Py_TYPE(s.operand(1)), flag)));
}

// Stack: exception, type; leaves the rest and what matched, which is now being handled.
Outcome check_eg_match(State& s, const Instr& i) {
  const Outcome outcome = plain<CHECK_EG_MATCH, 2, 2>(s, i);
  if (outcome == Outcome::kNext && s.operand(1) != Py_None) {
    Py_XSETREF(s.handled, Py_NewRef(s.operand(1)));
    set_thread_handled(s.handled);
  }
  return outcome;
}

Outcome prep_reraise_star(State& s, const Instr&) {
#if PY_VERSION_HEX >= 0x030C0000
  return replace(s, 2, PyUnstable_Exc_PrepReraiseStar(s.operand(2), s.operand(1)));
#else
  return native(s, {.opcode = PREP_RERAISE_STAR, .arg = 0, .inputs = 2, .outputs = 1});
#endif
}

Outcome print_expr(State& s, const Instr&) {
  PyObject* hook = PySys_GetObject("displayhook");
  if (!hook) {
    PyErr_SetString(PyExc_RuntimeError, "lost sys.displayhook");
    return Outcome::kRaised;
  }
  py::Ref kept = py::Ref::borrow(hook);
  py::Ref result = py::Ref::steal(PyObject_CallOneArg(hook, s.operand(1)));
  return drop_if(s, 1, static_cast<bool>(result));
}

Outcome yield_value(State&, const Instr&) { return Outcome::kYield; }

Outcome return_generator(State&, const Instr&) {
  PyErr_SetString(PyExc_SystemError, "a generator's frame is made by calling its function");
  return Outcome::kRaised;
}

// Stack: receiver, value.
Outcome send(State& s, const Instr&) {
  PyObject* result = nullptr;
  switch (PyIter_Send(s.operand(2), s.operand(1), &result)) {
    case PYGEN_NEXT:
      return replace(s, 1, result);
    case PYGEN_RETURN:
      replace(s, PY_VERSION_HEX < 0x030C0000 ? 2 : 1, result);
      return Outcome::kJump;
    case PYGEN_ERROR:
      break;
  }
  return Outcome::kRaised;
}

Outcome end_send(State& s, const Instr&) {
  PyObject* value = s.pop();
  return replace(s, 1, value);
}

// Stack: awaitable, exception of the iteration.
Outcome end_async_for(State& s, const Instr&) {
  PyObject* exception = s.operand(1);
  if (PyErr_GivenExceptionMatches(exception, PyExc_StopAsyncIteration)) {
    s.drop(2);
    return Outcome::kNext;
  }
  py::Ref value = py::Ref::steal(s.pop());
  py::restore_exception(value.get());
  return Outcome::kReraised;
}

// Stack: sub-iterator, last value, exception.
Outcome cleanup_throw(State& s, const Instr&) {
  PyObject* exception = s.operand(1);
  if (!PyErr_GivenExceptionMatches(exception, PyExc_StopIteration)) {
    py::restore_exception(exception);
    return Outcome::kReraised;
  }
  PyObject* value = PyObject_GetAttr(exception, py::intern("value"));
  if (!value) return Outcome::kRaised;
  s.drop(3);
  s.push(Py_NewRef(Py_None));
  s.push(value);
  return Outcome::kNext;
}

#if PY_VERSION_HEX >= 0x030E0000
// Stack: value, its source text, and with bit 0 of the argument a format.
Outcome build_interpolation(State& s, const Instr& i) {
  return native(s, {.opcode = BUILD_INTERPOLATION, .arg = i.arg, .inputs = i.arg & 1 ? 3 : 2, .outputs = 1});
}
#endif

bool always(State&, const Instr&) { return true; }

}  // namespace

void add_native_ops(OpTable& t) {
  row(t, Op::kMatchMapping) = {match_kind<Py_TPFLAGS_MAPPING>};
  row(t, Op::kMatchSequence) = {match_kind<Py_TPFLAGS_SEQUENCE>};
  row(t, Op::kMatchKeys) = {plain<MATCH_KEYS, 2, 3>};
  row(t, Op::kMatchClass) = {plain<MATCH_CLASS, 3, 1>};
  row(t, Op::kCheckEgMatch) = {check_eg_match};
  row(t, Op::kPrepReraiseStar) = {prep_reraise_star};
  row(t, Op::kPrintExpr) = {print_expr, always};
  row(t, Op::kTypeParam) = {type_param};
  row(t, Op::kYieldValue) = {yield_value};
  row(t, Op::kReturnGenerator) = {return_generator};
  row(t, Op::kSend) = {send, always};
  row(t, Op::kEndSend) = {end_send};
  row(t, Op::kGetYieldFromIter) = {plain<GET_YIELD_FROM_ITER, 1, 1>};
  row(t, Op::kGetAwaitable) = {plain<GET_AWAITABLE, 1, 1>};
  row(t, Op::kGetAiter) = {plain<GET_AITER, 1, 1>};
  row(t, Op::kGetAnext) = {plain<GET_ANEXT, 1, 2>};
  row(t, Op::kEndAsyncFor) = {end_async_for};
  row(t, Op::kCleanupThrow) = {cleanup_throw};
#if PY_VERSION_HEX >= 0x030C0000
  row(t, Op::kAsyncGenWrap) = {intrinsic<4, 1>};
#else
  row(t, Op::kAsyncGenWrap) = {plain<ASYNC_GEN_WRAP, 1, 1>};
#endif
#if PY_VERSION_HEX >= 0x030E0000
  row(t, Op::kBuildTemplate) = {plain<BUILD_TEMPLATE, 2, 1>};
  row(t, Op::kBuildInterpolation) = {build_interpolation};
#else
  row(t, Op::kBeforeAsyncWith) = {plain<BEFORE_ASYNC_WITH, 1, 2>};
#endif
}

}  // namespace breakline::resume
