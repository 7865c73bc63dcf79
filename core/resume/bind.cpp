// SPDX-License-Identifier: GPL-3.0-or-later
// Argument binding in the order of CPython's Python/ceval.c (initialize_locals): positional, keywords,
// defaults.
#include "core/resume/bind.h"

namespace breakline::resume {
namespace {

class Binder {
 public:
  Binder(PyFunctionObject* function, PyObject** slots)
      : function_(function),
        code_(reinterpret_cast<PyCodeObject*>(function->func_code)),
        slots_(slots),
        positional_(code_->co_argcount),
        named_(code_->co_argcount + code_->co_kwonlyargcount) {
    int next = named_;
    if (code_->co_flags & CO_VARARGS) varargs_ = next++;
    if (code_->co_flags & CO_VARKEYWORDS) varkw_ = next++;
    end_ = next;
  }

  bool bind(PyObject* const* args, Py_ssize_t count, PyObject* kwnames) {
    const bool bound = bind_positional(args, count) && bind_keywords(args + count, kwnames) &&
                       bind_defaults(count) && bind_keyword_defaults();
    if (!bound)
      for (int i = 0; i < end_; ++i) Py_CLEAR(slots_[i]);
    return bound;
  }

 private:
  bool bind_positional(PyObject* const* args, Py_ssize_t count) {
    const Py_ssize_t direct = count < positional_ ? count : positional_;
    for (Py_ssize_t i = 0; i < direct; ++i) slots_[i] = Py_NewRef(args[i]);
    if (varargs_ < 0) return count <= positional_;
    PyObject* rest = PyTuple_New(count - direct);
    if (!rest) return false;
    for (Py_ssize_t i = direct; i < count; ++i) PyTuple_SET_ITEM(rest, i - direct, Py_NewRef(args[i]));
    slots_[varargs_] = rest;
    return true;
  }

  // Slot of a keyword, -1 when none has this name, -2 with an error set.
  int slot_of(PyObject* keyword) const {
    PyObject* const* names = PySequence_Fast_ITEMS(code_->co_localsplusnames);
    for (int i = code_->co_posonlyargcount; i < named_; ++i)
      if (names[i] == keyword) return i;
    for (int i = code_->co_posonlyargcount; i < named_; ++i) {
      const int same = PyObject_RichCompareBool(names[i], keyword, Py_EQ);
      if (same < 0) return -2;
      if (same) return i;
    }
    return -1;
  }

  bool bind_keywords(PyObject* const* values, PyObject* kwnames) {
    if (varkw_ >= 0 && !(slots_[varkw_] = PyDict_New())) return false;
    const Py_ssize_t count = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    for (Py_ssize_t i = 0; i < count; ++i) {
      PyObject* keyword = PyTuple_GET_ITEM(kwnames, i);
      if (!PyUnicode_Check(keyword)) return false;
      const int slot = slot_of(keyword);
      if (slot == -2) return false;
      if (slot >= 0) {
        if (slots_[slot]) return false;
        slots_[slot] = Py_NewRef(values[i]);
      } else if (varkw_ < 0 || PyDict_SetItem(slots_[varkw_], keyword, values[i]) < 0) {
        return false;
      }
    }
    return true;
  }

  bool bind_defaults(Py_ssize_t count) {
    if (count >= positional_) return true;
    PyObject* defaults = function_->func_defaults;
    const Py_ssize_t have = defaults ? PyTuple_GET_SIZE(defaults) : 0;
    const Py_ssize_t first = positional_ - have;
    for (Py_ssize_t i = count; i < positional_; ++i) {
      if (slots_[i]) continue;
      if (i < first) return false;
      slots_[i] = Py_NewRef(PyTuple_GET_ITEM(defaults, i - first));
    }
    return true;
  }

  bool bind_keyword_defaults() {
    for (int i = positional_; i < named_; ++i) {
      if (slots_[i]) continue;
      PyObject* defaults = function_->func_kwdefaults;
      PyObject* value =
          defaults ? PyDict_GetItemWithError(defaults, PyTuple_GET_ITEM(code_->co_localsplusnames, i))
                   : nullptr;
      if (!value) return false;
      slots_[i] = Py_NewRef(value);
    }
    return true;
  }

  PyFunctionObject* function_;
  PyCodeObject* code_;
  PyObject** slots_;
  int positional_;
  int named_;
  int varargs_ = -1;
  int varkw_ = -1;
  int end_ = 0;
};

}  // namespace

bool bind_arguments(PyFunctionObject* function, PyObject* const* args, size_t nargsf, PyObject* kwnames,
                    PyObject** slots) {
  return Binder(function, slots).bind(args, PyVectorcall_NARGS(nargsf), kwnames);
}

}  // namespace breakline::resume
