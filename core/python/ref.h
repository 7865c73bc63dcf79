// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>
#include <string_view>
#include <utility>

namespace breakline::py {

/// Owned reference. Every member needs the GIL.
class Ref {
 public:
  Ref() = default;
  /// Takes over a new reference (may be null: an error is set then, as in the C API).
  static Ref steal(PyObject* object) {
    Ref r;
    r.object_ = object;
    return r;
  }
  /// Adds a reference to a borrowed object.
  static Ref borrow(PyObject* object) {
    Py_XINCREF(object);
    return steal(object);
  }
  Ref(const Ref& o) : object_(o.object_) { Py_XINCREF(object_); }
  Ref(Ref&& o) noexcept : object_(std::exchange(o.object_, nullptr)) {}
  Ref& operator=(Ref o) noexcept {
    std::swap(object_, o.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }
  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }
  bool operator==(const Ref& o) const { return object_ == o.object_; }

 private:
  PyObject* object_ = nullptr;
};

/// Thrown inside the engine when a Python error is set; never leaves a C entry point (each catches it and returns null).
struct PythonError {};

/// Throws PythonError when `object` is null, else wraps the new reference.
inline Ref check(PyObject* object) {
  if (!object) throw PythonError{};
  return Ref::steal(object);
}
inline void check_status(int status) {
  if (status < 0) throw PythonError{};
}

/// Interned string for a literal; borrowed, immortal.
PyObject* intern(const char* text);
/// UTF-8 of a str object, "?" when it is none.
std::string_view utf8(PyObject* text);
/// str(object) or "<unprintable>"; clears errors.
std::string to_string(PyObject* object);
/// repr(object), cut to `limit` characters; clears errors.
std::string repr(PyObject* object, size_t limit = 200);

/// Takes the current error away; restores it on `restore()`, drops it otherwise.
class SavedError {
 public:
  SavedError();
  ~SavedError();
  void restore();
  SavedError(const SavedError&) = delete;
  SavedError& operator=(const SavedError&) = delete;

 private:
  PyObject *type_, *value_, *traceback_;
};

/// Attribute lookup on the type's MRO without descriptors (what _PyType_Lookup does); borrowed, null if absent, no error set.
PyObject* type_lookup(PyTypeObject* type, PyObject* name);

}  // namespace breakline::py
