// SPDX-License-Identifier: GPL-3.0-or-later
// Small things whose C API spelling differs between versions, or that have none.
#pragma once
#include "core/python/ref.h"

namespace breakline::py {

/// Method lookup without making a bound method: true when `*method` (new reference) is a plain function to be
/// called with `owner` as first argument; false when it is what getattr gives. Null with the error set when
/// there is no such attribute.
bool get_method(PyObject* owner, PyObject* name, PyObject** method);

/// A special method looked up on the type and bound, as `with` does. New reference; null without an error
/// when absent.
PyObject* lookup_special(PyObject* object, const char* name);

/// Sets an attribute of the exception that is set at the moment.
void set_error_attribute(const char* attribute, PyObject* value);

/// Sets `exception` (with its own traceback, no new context) as the current error, as re-raising does.
void restore_exception(PyObject* exception);

/// The type's own namespace, borrowed; the field of that name is empty for built-in types since 3.12.
PyObject* type_dict(PyTypeObject* type);

/// How CPython names a callable in messages: "module.qualname()". New reference or null.
PyObject* function_text(PyObject* callable);

}  // namespace breakline::py
