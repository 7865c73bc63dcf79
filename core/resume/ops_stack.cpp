// SPDX-License-Identifier: GPL-3.0-or-later
// Stack, locals, cells and jumps.
#include "core/resume/ops.h"

namespace breakline::resume {
namespace {

Outcome nop(State&, const Instr&) { return Outcome::kNext; }

Outcome pop_top(State& s, const Instr&) {
  s.drop(1);
  return Outcome::kNext;
}

Outcome push_null(State& s, const Instr&) {
  s.push(nullptr);
  return Outcome::kNext;
}

Outcome load_const(State& s, const Instr& i) {
  s.push(Py_NewRef(i.object));
  return Outcome::kNext;
}

Outcome load_fast(State& s, const Instr& i) {
  PyObject* value = s.local(i.arg);
  if (!value) {
    set_name_error(PyExc_UnboundLocalError,
                   "cannot access local variable '%.200s' where it is not associated with a value",
                   s.top().code->slot_name(i.arg));
    return Outcome::kRaised;
  }
  s.push(Py_NewRef(value));
  return Outcome::kNext;
}

Outcome load_fast_or_null(State& s, const Instr& i) {
  s.push(Py_XNewRef(s.local(i.arg)));
  return Outcome::kNext;
}

Outcome clear_fast(State& s, const Instr& i) {
  Py_CLEAR(s.local(i.arg));
  return Outcome::kNext;
}

Outcome store_fast(State& s, const Instr& i) {
  PyObject* value = s.pop();
  PyObject* old = std::exchange(s.local(i.arg), value);
  Py_XDECREF(old);
  return Outcome::kNext;
}

Outcome delete_fast(State& s, const Instr& i) {
  if (!s.local(i.arg)) {
    set_name_error(PyExc_UnboundLocalError,
                   "cannot access local variable '%.200s' where it is not associated with a value",
                   s.top().code->slot_name(i.arg));
    return Outcome::kRaised;
  }
  return clear_fast(s, i);
}

Outcome make_cell(State& s, const Instr& i) {
  PyObject* cell = PyCell_New(s.local(i.arg));
  if (!cell) return Outcome::kRaised;
  PyObject* old = std::exchange(s.local(i.arg), cell);
  Py_XDECREF(old);
  return Outcome::kNext;
}

Outcome load_closure(State& s, const Instr& i) {
  s.push(Py_XNewRef(s.local(i.arg)));
  return Outcome::kNext;
}

Outcome load_deref(State& s, const Instr& i) {
  PyObject* value = PyCell_GET(s.local(i.arg));
  if (!value) {
    set_unbound_error(s.top().code, i.arg);
    return Outcome::kRaised;
  }
  s.push(Py_NewRef(value));
  return Outcome::kNext;
}

Outcome store_deref(State& s, const Instr& i) {
  PyObject* value = s.pop();
  PyObject* cell = s.local(i.arg);
  PyObject* old = PyCell_GET(cell);
  PyCell_SET(cell, value);
  Py_XDECREF(old);
  return Outcome::kNext;
}

Outcome delete_deref(State& s, const Instr& i) {
  PyObject* cell = s.local(i.arg);
  PyObject* old = PyCell_GET(cell);
  if (!old) {
    set_unbound_error(s.top().code, i.arg);
    return Outcome::kRaised;
  }
  PyCell_SET(cell, nullptr);
  Py_DECREF(old);
  return Outcome::kNext;
}

Outcome copy_free_vars(State& s, const Instr& i) {
  PyObject* function = s.top().function;
  PyObject* closure = function ? PyFunction_GET_CLOSURE(function) : nullptr;
  if (!closure || PyTuple_GET_SIZE(closure) != i.arg) {
    PyErr_SetString(PyExc_SystemError, "a frame with free variables needs its function's closure");
    return Outcome::kRaised;
  }
  const int first = s.top().code->slot_count - i.arg;
  for (int k = 0; k < i.arg; ++k) Py_XSETREF(s.local(first + k), Py_NewRef(PyTuple_GET_ITEM(closure, k)));
  return Outcome::kNext;
}

Outcome swap(State& s, const Instr& i) {
  std::swap(s.operand(1), s.operand(i.arg));
  return Outcome::kNext;
}

Outcome copy(State& s, const Instr& i) {
  s.push(Py_XNewRef(s.operand(i.arg)));
  return Outcome::kNext;
}

Outcome jump(State&, const Instr&) { return Outcome::kJump; }

bool has_python_truth(State& s, const Instr&) { return !is_builtin_data(s.operand(1)); }

template <bool wanted, bool keep>
Outcome jump_if(State& s, const Instr&) {
  PyObject* value = s.operand(1);
  const int truth = value == Py_True ? 1 : value == Py_False || value == Py_None ? 0 : PyObject_IsTrue(value);
  if (truth < 0) return Outcome::kRaised;
  const bool taken = (truth != 0) == wanted;
  if (!(keep && taken)) s.drop(1);
  return taken ? Outcome::kJump : Outcome::kNext;
}

template <bool wanted>
Outcome jump_if_none(State& s, const Instr&) {
  const bool taken = (s.operand(1) == Py_None) == wanted;
  s.drop(1);
  return taken ? Outcome::kJump : Outcome::kNext;
}

Outcome return_value(State&, const Instr&) { return Outcome::kReturn; }

}  // namespace

void set_unbound_error(const bytecode::Code* code, int slot) {
  PyObject* name = code->slot_name(slot);
  if (code->is_free_slot(slot)) {
    set_name_error(
        PyExc_NameError,
        "cannot access free variable '%.200s' where it is not associated with a value in enclosing scope",
        name);
  } else {
    set_name_error(PyExc_UnboundLocalError,
                   "cannot access local variable '%.200s' where it is not associated with a value", name);
  }
}

void add_stack_ops(OpTable& t) {
  row(t, Op::kNop) = {nop};
  row(t, Op::kPopTop) = {pop_top};
  row(t, Op::kPushNull) = {push_null};
  row(t, Op::kLoadConst) = {load_const};
  row(t, Op::kLoadFast) = {load_fast};
  row(t, Op::kLoadFastOrNull) = {load_fast_or_null};
  row(t, Op::kClearFast) = {clear_fast};
  row(t, Op::kStoreFast) = {store_fast};
  row(t, Op::kDeleteFast) = {delete_fast};
  row(t, Op::kMakeCell) = {make_cell};
  row(t, Op::kLoadClosure) = {load_closure};
  row(t, Op::kLoadDeref) = {load_deref};
  row(t, Op::kStoreDeref) = {store_deref};
  row(t, Op::kDeleteDeref) = {delete_deref};
  row(t, Op::kCopyFreeVars) = {copy_free_vars};
  row(t, Op::kSwap) = {swap};
  row(t, Op::kCopy) = {copy};
  row(t, Op::kJump) = {jump};
  row(t, Op::kPopJumpIfFalse) = {jump_if<false, false>, has_python_truth};
  row(t, Op::kPopJumpIfTrue) = {jump_if<true, false>, has_python_truth};
  row(t, Op::kJumpIfFalseOrPop) = {jump_if<false, true>, has_python_truth};
  row(t, Op::kJumpIfTrueOrPop) = {jump_if<true, true>, has_python_truth};
  row(t, Op::kPopJumpIfNone) = {jump_if_none<true>};
  row(t, Op::kPopJumpIfNotNone) = {jump_if_none<false>};
  row(t, Op::kReturnValue) = {return_value};
}

}  // namespace breakline::resume
