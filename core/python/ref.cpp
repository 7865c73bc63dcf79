// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/python/ref.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <unordered_map>

namespace breakline::py {

static PyObject* intern_by_text(const char* text) {
  static std::unordered_map<std::string, PyObject*> table;
  PyObject*& slot = table[text];
  if (!slot) slot = PyUnicode_InternFromString(text);
  return slot;
}

PyObject* intern(const char* text) {
  // Most texts are literals: found by their address, then compared, since other buffers come and go.
  struct Recent {
    const char* text = nullptr;
    const char* content = nullptr;
    PyObject* object = nullptr;
  };
  static Recent recent[1024];
  Recent& r = recent[(reinterpret_cast<uintptr_t>(text) ^ reinterpret_cast<uintptr_t>(text) >> 10) & 1023];
  if (r.text == text && std::strcmp(r.content, text) == 0) return r.object;
  PyObject* object = intern_by_text(text);
  r = {text, PyUnicode_AsUTF8(object), object};
  return object;
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
