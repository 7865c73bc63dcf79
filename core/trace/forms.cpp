// SPDX-License-Identifier: GPL-3.0-or-later
// Native callables followed in their Python form (breakline/_forms.py).
#include "core/trace/inline_rules.h"
#include "core/trace/tracer.h"

namespace breakline::trace {

namespace {

/// Native callable → Python function; both live as long as the process. Programs add rows of their own (substitute_in_graph).
const std::unordered_map<PyObject*, PyObject*>& forms() {
  static auto* made = new std::unordered_map<PyObject*, PyObject*>;
  static PyObject* rows = [] {
    py::Ref module = py::Ref::steal(PyImport_ImportModule("breakline._forms"));
    PyObject* list = module ? PyObject_GetAttrString(module.get(), "FORMS") : nullptr;
    PyErr_Clear();
    return list;
  }();
  static Py_ssize_t read = 0;
  for (; rows && read < PyList_GET_SIZE(rows); ++read) {
    PyObject* row = PyList_GET_ITEM(rows, read);
    made->emplace(Py_NewRef(PyTuple_GET_ITEM(row, 0)), Py_NewRef(PyTuple_GET_ITEM(row, 1)));
  }
  return *made;
}

}  // namespace

Value* Tracer::call_form(PyObject* native, Values& args, Keywords& keywords) {
  auto it = forms().find(native);
  if (it == forms().end()) return nullptr;
  Value* r = call_nested(constant(it->second), args, keywords);
  if (r->stand_in && PyType_Check(native)) r->type = reinterpret_cast<PyTypeObject*>(native);
  return r;
}

}  // namespace breakline::trace
