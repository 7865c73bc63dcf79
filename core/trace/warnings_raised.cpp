// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/trace/warnings_raised.h"

namespace breakline::trace {
namespace {

thread_local int raising = 0;

PyObject* fits_this_thread(PyObject*, PyObject*) { return PyBool_FromLong(raising > 0); }

/// A filter of the `warnings` module; its message is asked by `match`, and fits on a thread that raises.
/// Borrowed.
PyObject* entry() {
  static PyMethodDef method = {"match", fits_this_thread, METH_O, nullptr};
  static PyObject* made = [] {
    py::Ref types = py::check(PyImport_ImportModule("types")),
            match = py::check(PyCFunction_New(&method, nullptr));
    py::Ref none_given = py::check(PyTuple_New(0)),
            words = py::check(Py_BuildValue("{s:O}", "match", match.get()));
    py::Ref maker = py::check(PyObject_GetAttrString(types.get(), "SimpleNamespace"));
    py::Ref message = py::check(PyObject_Call(maker.get(), none_given.get(), words.get()));
    return py::check(Py_BuildValue("(sOOOi)", "error", message.get(), PyExc_Warning, Py_None, 0)).release();
  }();
  return made;
}

}  // namespace

WarningsRaised::WarningsRaised() {
  ++raising;
  static PyObject* module = py::check(PyImport_ImportModule("warnings")).release();
  PyObject* filters = PyDict_GetItem(PyModule_GetDict(module), py::intern("filters"));
  if (!filters || !PyList_CheckExact(filters) ||
      (PyList_GET_SIZE(filters) && PyList_GET_ITEM(filters, 0) == entry()))
    return;
  if (PyList_Insert(filters, 0, entry()) == 0) filters_ = py::Ref::borrow(filters);
  PyErr_Clear();
}

WarningsRaised::~WarningsRaised() {
  --raising;
  if (!filters_) return;
  py::SavedError pending;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(filters_.get()); ++i)
    if (PyList_GET_ITEM(filters_.get(), i) == entry()) {
      PySequence_DelItem(filters_.get(), i);
      break;
    }
  PyErr_Clear();
}

bool take_warning() {
  if (!PyErr_Occurred() || !PyErr_ExceptionMatches(PyExc_Warning)) return false;
  PyErr_Clear();
  return true;
}

}  // namespace breakline::trace
