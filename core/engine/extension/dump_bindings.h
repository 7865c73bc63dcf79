// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/python/ref.h"

namespace breakline::engine {

/// Adds to the extension: `dump(compiled, stage)`, the text of one stage of a compiled function as a list of
/// {id, function, file, line, plan, text}; `settle_kernels()`, which waits for the optimised code of all
/// kernels. 0, or -1 with an error set.
int add_dump_functions(PyObject* module);

}  // namespace breakline::engine
