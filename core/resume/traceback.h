// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/bytecode/code.h"

namespace breakline::resume {

/// Adds one traceback entry (function, line, columns of instruction `index`) to the current error. `locals`
/// may be null, or the frame's slots, which post-mortem readers then see in the entry's frame. GIL.
void add_traceback(const bytecode::Code* code, int index, PyObject* globals, PyObject* const* locals);
/// One such entry in front of `next` (may be null). New reference, or null with the error set. GIL.
PyObject* make_traceback(const bytecode::Code* code, int index, PyObject* globals, PyObject* const* locals, PyObject* next);

}  // namespace breakline::resume
