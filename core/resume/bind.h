// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/python/ref.h"

namespace breakline::resume {

/// Binds the arguments of a vectorcall to the first slots of a frame of `function`, exactly as CPython does
/// (defaults, keyword-only arguments, *args, **kwargs). `slots` holds at least the code's argument slots, all
/// null; they own what is put in. False with no error set: the arguments don't fit (call the function itself,
/// CPython then raises its own TypeError) and the slots are null again. False with an error set: out of
/// memory or a raising key. GIL.
bool bind_arguments(PyFunctionObject* function, PyObject* const* args, size_t nargsf, PyObject* kwnames,
                    PyObject** slots);

}  // namespace breakline::resume
