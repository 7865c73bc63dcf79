// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/torch/inference_region.h"

#include <vector>

#include "core/torch/library.h"

namespace breakline::torch {
namespace {

/// Entered torch._C._InferenceMode objects, the innermost last; null where one was left out of order.
thread_local std::vector<PyObject*> regions;

bool enter(bool mode) {
  const Library* l = library();
  const py::Ref region =
      py::Ref::steal(l ? PyObject_CallMethod(l->py.torch_c, "_InferenceMode", "O", mode ? Py_True : Py_False) : nullptr);
  const py::Ref done = py::Ref::steal(region ? PyObject_CallMethod(region.get(), "__enter__", nullptr) : nullptr);
  if (!done) return false;
  regions.push_back(Py_NewRef(region.get()));
  return true;
}

bool leave(size_t number) {
  if (number == 0 || number > regions.size() || !regions[number - 1]) {
    PyErr_SetString(PyExc_RuntimeError, "This inference_mode region was not entered in this thread, or was left already");
    return false;
  }
  const py::Ref region = py::Ref::steal(regions[number - 1]);
  regions[number - 1] = nullptr;
  while (!regions.empty() && !regions.back()) regions.pop_back();
  const py::Ref done = py::Ref::steal(PyObject_CallMethod(region.get(), "__exit__", "OOO", Py_None, Py_None, Py_None));
  return static_cast<bool>(done);
}

PyObject* enter_region(PyObject*, PyObject* mode) {
  const int on = PyObject_IsTrue(mode);
  if (on < 0) return nullptr;
  if (!enter(on == 1)) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "PyTorch is not there; import torch first");
    return nullptr;
  }
  return PyLong_FromSize_t(regions.size());
}

PyObject* leave_region(PyObject*, PyObject* number) {
  const Py_ssize_t n = PyLong_AsSsize_t(number);
  if (n < 0 && PyErr_Occurred()) return nullptr;
  if (!leave(static_cast<size_t>(n < 0 ? 0 : n))) return nullptr;
  Py_RETURN_NONE;
}

PyMethodDef kEnter = {"enter_inference_mode", enter_region, METH_O, "Enters a region; returns its number."};
PyMethodDef kLeave = {"leave_inference_mode", leave_region, METH_O, "Leaves the region of this number."};

}  // namespace

PyObject* inference_enter() {
  static PyObject* const function = PyCFunction_New(&kEnter, nullptr);
  return function;
}

PyObject* inference_leave() {
  static PyObject* const function = PyCFunction_New(&kLeave, nullptr);
  return function;
}

int16_t inference_depth() { return static_cast<int16_t>(regions.size()); }

void set_inference_depth(int16_t depth, bool mode) {
  while (inference_depth() > depth)
    if (!leave(regions.size())) PyErr_Clear();
  while (inference_depth() < depth)
    if (!enter(mode)) {
      PyErr_Clear();
      return;
    }
}

}  // namespace breakline::torch
