// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/python/ref.h"

namespace breakline::engine {

/// Adds `timeline_begin`, `timeline_end` and `timeline_cost` (README.md of core/engine) to the extension
/// module. 0, or -1 with a Python error set. GIL held.
int add_timeline_functions(PyObject* module);

}  // namespace breakline::engine
