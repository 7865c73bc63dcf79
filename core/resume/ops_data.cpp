// SPDX-License-Identifier: GPL-3.0-or-later
// Operators, comparisons, subscripts, iteration.
#include "core/resume/ops.h"

namespace breakline::resume {
namespace {

PyObject* power(PyObject* a, PyObject* b) { return PyNumber_Power(a, b, Py_None); }
PyObject* power_in_place(PyObject* a, PyObject* b) { return PyNumber_InPlacePower(a, b, Py_None); }

// In the order of the NB_* numbers (Include/opcode.h).
constexpr binaryfunc kBinary[] = {
    PyNumber_Add,
    PyNumber_And,
    PyNumber_FloorDivide,
    PyNumber_Lshift,
    PyNumber_MatrixMultiply,
    PyNumber_Multiply,
    PyNumber_Remainder,
    PyNumber_Or,
    power,
    PyNumber_Rshift,
    PyNumber_Subtract,
    PyNumber_TrueDivide,
    PyNumber_Xor,
    PyNumber_InPlaceAdd,
    PyNumber_InPlaceAnd,
    PyNumber_InPlaceFloorDivide,
    PyNumber_InPlaceLshift,
    PyNumber_InPlaceMatrixMultiply,
    PyNumber_InPlaceMultiply,
    PyNumber_InPlaceRemainder,
    PyNumber_InPlaceOr,
    power_in_place,
    PyNumber_InPlaceRshift,
    PyNumber_InPlaceSubtract,
    PyNumber_InPlaceTrueDivide,
    PyNumber_InPlaceXor,
};

Outcome binary(State& s, const Instr& i) { return replace(s, 2, kBinary[i.arg](s.operand(2), s.operand(1))); }

template <PyObject* (*function)(PyObject*)>
Outcome unary(State& s, const Instr&) {
  return replace(s, 1, function(s.operand(1)));
}

PyObject* truth(PyObject* object) {
  const int is_true = PyObject_IsTrue(object);
  return is_true < 0 ? nullptr : PyBool_FromLong(is_true);
}
PyObject* negation(PyObject* object) {
  const int is_true = PyObject_IsTrue(object);
  return is_true < 0 ? nullptr : PyBool_FromLong(!is_true);
}

Outcome compare(State& s, const Instr& i) {
  PyObject* result = PyObject_RichCompare(s.operand(2), s.operand(1), i.arg & 255);
  if (result && (i.arg & 256)) Py_SETREF(result, truth(result));
  return replace(s, 2, result);
}

Outcome is_op(State& s, const Instr& i) {
  return replace(s, 2, PyBool_FromLong((s.operand(2) == s.operand(1)) != (i.arg != 0)));
}

Outcome contains(State& s, const Instr& i) {
  const int found = PySequence_Contains(s.operand(1), s.operand(2));
  return replace(s, 2, found < 0 ? nullptr : PyBool_FromLong((found != 0) != (i.arg != 0)));
}

Outcome binary_subscr(State& s, const Instr&) {
  return replace(s, 2, PyObject_GetItem(s.operand(2), s.operand(1)));
}

Outcome store_subscr(State& s, const Instr&) {
  return drop_if(s, 3, PyObject_SetItem(s.operand(2), s.operand(1), s.operand(3)) == 0);
}

Outcome delete_subscr(State& s, const Instr&) {
  return drop_if(s, 2, PyObject_DelItem(s.operand(2), s.operand(1)) == 0);
}

Outcome get_len(State& s, const Instr&) {
  const Py_ssize_t length = PyObject_Length(s.operand(1));
  return replace(s, 0, length < 0 ? nullptr : PyLong_FromSsize_t(length));
}

Outcome get_iter(State& s, const Instr&) { return replace(s, 1, PyObject_GetIter(s.operand(1))); }

Outcome for_iter(State& s, const Instr&) {
  PyObject* iterator = s.operand(1);
  PyObject* item = Py_TYPE(iterator)->tp_iternext(iterator);
  if (item) {
    s.push(item);
    return Outcome::kNext;
  }
  if (PyErr_Occurred()) {
    if (!PyErr_ExceptionMatches(PyExc_StopIteration)) return Outcome::kRaised;
    PyErr_Clear();  // the end of the loop
  }
  s.drop(1);
  return Outcome::kJump;
}

bool is_formatting(const Instr& i) { return i.arg == 6 || i.arg == 19; }  // % and %=

bool loud_binary(State& s, const Instr& i) {
  PyObject *left = s.operand(2), *right = s.operand(1);
  if (is_formatting(i)) return !is_scalar(left) || !is_scalar(right);
  return !is_builtin_data(left) || !is_builtin_data(right);
}
bool loud_compare(State& s, const Instr&) { return !is_scalar(s.operand(2)) || !is_scalar(s.operand(1)); }
// A container of scalars would do, but finding out costs as much as the frame.
bool loud_contains(State& s, const Instr&) {
  PyObject *item = s.operand(2), *container = s.operand(1);
  return !is_scalar(item) ||
         !(is_scalar(container) || PyAnySet_CheckExact(container) || PyDict_CheckExact(container));
}
bool loud_unary(State& s, const Instr&) { return !is_builtin_data(s.operand(1)); }
// ~True warns since 3.12.
bool loud_invert(State& s, const Instr& i) { return PyBool_Check(s.operand(1)) || loud_unary(s, i); }
bool loud_subscr(State& s, const Instr&) {
  return !is_builtin_data(s.operand(2)) || !is_scalar(s.operand(1));
}
bool loud_slot_subscr(State& s, const Instr& i) {
  return PySlice_Check(s.operand(1)) ? !is_builtin_data(s.operand(2)) : loud_subscr(s, i);
}
bool loud_iterator(State& s, const Instr&) {
  PyTypeObject* type = Py_TYPE(s.operand(1));
  return !(type == &PyListIter_Type || type == &PyTupleIter_Type || type == &PyRangeIter_Type ||
           type == &PyDictIterItem_Type || type == &PyDictIterKey_Type || type == &PyDictIterValue_Type ||
           type == &PySetIter_Type || type == &PyUnicodeIter_Type);
}

}  // namespace

bool is_scalar(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  return type == &PyLong_Type || type == &PyFloat_Type || type == &PyUnicode_Type || object == Py_None ||
         type == &PyBool_Type || type == &PyBytes_Type || type == &PyComplex_Type || object == Py_Ellipsis;
}

bool is_builtin_data(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  return type == &PyTuple_Type || type == &PyList_Type || type == &PyDict_Type || is_scalar(object) ||
         type == &PyRange_Type || type == &PySet_Type || type == &PyFrozenSet_Type || type == &PySlice_Type ||
         type == &PyFunction_Type || type == &PyCFunction_Type;
}

void add_data_ops(OpTable& t) {
  row(t, Op::kBinaryOp) = {binary, loud_binary};
  row(t, Op::kCompareOp) = {compare, loud_compare};
  row(t, Op::kIsOp) = {is_op};
  row(t, Op::kContainsOp) = {contains, loud_contains};
  row(t, Op::kUnaryNot) = {unary<negation>, loud_unary};
  row(t, Op::kUnaryNegative) = {unary<PyNumber_Negative>, loud_unary};
  row(t, Op::kUnaryInvert) = {unary<PyNumber_Invert>, loud_invert};
  row(t, Op::kUnaryPositive) = {unary<PyNumber_Positive>, loud_unary};
  row(t, Op::kToBool) = {unary<truth>, loud_unary};
  row(t, Op::kBinarySubscr) = {binary_subscr, loud_slot_subscr};
  row(t, Op::kStoreSubscr) = {store_subscr, loud_slot_subscr};
  row(t, Op::kDeleteSubscr) = {delete_subscr, loud_slot_subscr};
  row(t, Op::kGetLen) = {get_len, loud_unary};
  row(t, Op::kGetIter) = {get_iter, loud_unary};
  row(t, Op::kForIter) = {for_iter, loud_iterator};
}

}  // namespace breakline::resume
