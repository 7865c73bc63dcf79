// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/python/ref.h"

namespace breakline::engine {

/// Adds `segment_work` and `drop_segment` (README.md of core/engine) to the extension module. 0, or -1 with a
/// Python error set. GIL held.
int add_segment_functions(PyObject* module);

}  // namespace breakline::engine
