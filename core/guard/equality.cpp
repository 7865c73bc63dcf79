// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/guard/equality.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "core/torch/tensor.h"

namespace breakline::guard {
namespace {

bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

bool rich_equal(PyObject* a, PyObject* b) {
  int r = PyObject_RichCompareBool(a, b, Py_EQ);
  if (r < 0) PyErr_Clear();
  return r == 1;
}

/// numpy's scalars are immutable and show their bytes as a buffer.
bool same_bytes(PyObject* a, PyObject* b) {
  Py_buffer x, y;
  if (PyObject_GetBuffer(a, &x, PyBUF_SIMPLE) < 0) {
    PyErr_Clear();
    return false;
  }
  bool same = false;
  if (PyObject_GetBuffer(b, &y, PyBUF_SIMPLE) == 0) {
    same = x.len == y.len && std::memcmp(x.buf, y.buf, static_cast<size_t>(x.len)) == 0;
    PyBuffer_Release(&y);
  } else {
    PyErr_Clear();
  }
  PyBuffer_Release(&x);
  return same;
}

bool same_slice(PyObject* a, PyObject* b) {
  auto* x = reinterpret_cast<PySliceObject*>(a);
  auto* y = reinterpret_cast<PySliceObject*>(b);
  return same_constant(x->start, y->start) && same_constant(x->stop, y->stop) && same_constant(x->step, y->step);
}

}  // namespace

bool same_constant(PyObject* a, PyObject* b) {
  if (a == b) return true;
  PyTypeObject* type = Py_TYPE(a);
  if (type != Py_TYPE(b)) return false;
  if (type == &PyFloat_Type) return same_bits(PyFloat_AS_DOUBLE(a), PyFloat_AS_DOUBLE(b));
  if (type == &PyLong_Type || type == &PyUnicode_Type || type == &PyBytes_Type || type == &PyRange_Type)
    return rich_equal(a, b);
  if (type == &PyComplex_Type) {
    Py_complex x = PyComplex_AsCComplex(a), y = PyComplex_AsCComplex(b);
    return same_bits(x.real, y.real) && same_bits(x.imag, y.imag);
  }
  if (type == &PyTuple_Type) {
    Py_ssize_t n = PyTuple_GET_SIZE(a);
    if (n != PyTuple_GET_SIZE(b)) return false;
    constexpr int kMostLevels = 2000;  // those below count as different, which costs another variant at most
    static thread_local int levels = 0;
    bool same = levels < kMostLevels;
    ++levels;
    for (Py_ssize_t i = 0; same && i < n; ++i) same = same_constant(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i));
    --levels;
    return same;
  }
  if (type == &PySlice_Type) return same_slice(a, b);
  if (type == &PyFrozenSet_Type) {
    // Order of iteration can differ between equal sets, so it is compared too.
    if (PySet_GET_SIZE(a) != PySet_GET_SIZE(b)) return false;
    py::Ref x = py::Ref::steal(PySequence_Tuple(a)), y = py::Ref::steal(PySequence_Tuple(b));
    if (!x || !y) {
      PyErr_Clear();
      return false;
    }
    return same_constant(x.get(), y.get());
  }
  if (torch::available() && (torch::is_device(a) || torch::is_native_enum(a))) return rich_equal(a, b);
  return is_numpy_scalar_type(type) && same_bytes(a, b);
}

bool is_numpy_scalar_type(PyTypeObject* type) {
  constexpr std::string_view kNumpy = "numpy.";
  constexpr std::string_view kNames[] = {"float64", "float32", "float16", "int64",  "int32",    "int16",     "int8",       "uint64",    "uint32",
                                         "uint16",  "uint8",   "bool",    "bool_",  "longlong", "ulonglong", "complex128", "complex64"};
  if (type->tp_flags & Py_TPFLAGS_HEAPTYPE || type->tp_name[0] != 'n') return false;
  const std::string_view name = type->tp_name;
  return name.starts_with(kNumpy) && std::find(std::begin(kNames), std::end(kNames), name.substr(kNumpy.size())) != std::end(kNames);
}

bool is_single(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  if (type == &PyLong_Type) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(o, &overflow);
    return !overflow && number >= -5 && number <= 256;
  }
  if (type == &PyUnicode_Type) {
    const Py_ssize_t length = PyUnicode_GET_LENGTH(o);
    return length == 0 || (length == 1 && PyUnicode_READ_CHAR(o, 0) < 256);
  }
  if (type == &PyBytes_Type) return PyBytes_GET_SIZE(o) < 2;
  if (type == &PyTuple_Type) return PyTuple_GET_SIZE(o) == 0;
  return o == Py_None || o == Py_Ellipsis || o == Py_NotImplemented || type == &PyBool_Type;
}

bool is_plain_constant(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) return false;
  if (o == Py_None || o == Py_Ellipsis || o == Py_NotImplemented) return true;
  if (type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type || type == &PyUnicode_Type ||
      type == &PyBytes_Type || type == &PyComplex_Type || type == &PyRange_Type)
    return true;
  if (type == &PyTuple_Type) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i)
      if (!is_plain_constant(PyTuple_GET_ITEM(o, i))) return false;
    return true;
  }
  if (type == &PySlice_Type) {
    auto* s = reinterpret_cast<PySliceObject*>(o);
    return is_plain_constant(s->start) && is_plain_constant(s->stop) && is_plain_constant(s->step);
  }
  if (type == &PyFrozenSet_Type) {
    py::Ref items = py::Ref::steal(PySequence_Tuple(o));
    if (!items) {
      PyErr_Clear();
      return false;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
      if (!is_plain_constant(PyTuple_GET_ITEM(items.get(), i))) return false;
    return true;
  }
  return is_numpy_scalar_type(type);
}

}  // namespace breakline::guard
