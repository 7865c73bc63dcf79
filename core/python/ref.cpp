// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/python/ref.h"

#include <string>
#include <unordered_map>

namespace breakline::py {

PyObject* intern(const char* text) {
  static std::unordered_map<std::string, PyObject*> table;
  PyObject*& slot = table[text];
  if (!slot) slot = PyUnicode_InternFromString(text);
  return slot;
}

std::string_view utf8(PyObject* text) {
  if (!text || !PyUnicode_Check(text)) return "?";
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text, &size);
  if (!data) {
    PyErr_Clear();
    return "?";
  }
  return {data, static_cast<size_t>(size)};
}

std::string to_string(PyObject* object) {
  if (!object) return "<null>";
  Ref text = Ref::steal(PyObject_Str(object));
  if (!text) {
    PyErr_Clear();
    return "<unprintable>";
  }
  return std::string(utf8(text.get()));
}

std::string repr(PyObject* object, size_t limit) {
  if (!object) return "<null>";
  Ref text = Ref::steal(PyObject_Repr(object));
  if (!text) {
    PyErr_Clear();
    return "<unprintable>";
  }
  std::string out(utf8(text.get()));
  if (out.size() > limit) {
    out.resize(limit);
    out += "…";
  }
  return out;
}

SavedError::SavedError() { PyErr_Fetch(&type_, &value_, &traceback_); }
SavedError::~SavedError() {
  Py_XDECREF(type_);
  Py_XDECREF(value_);
  Py_XDECREF(traceback_);
}
void SavedError::restore() {
  PyErr_Restore(type_, value_, traceback_);
  type_ = value_ = traceback_ = nullptr;
}

PyObject* type_lookup(PyTypeObject* type, PyObject* name) { return _PyType_Lookup(type, name); }

}  // namespace breakline::py
