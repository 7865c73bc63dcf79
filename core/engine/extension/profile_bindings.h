// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/python/ref.h"

namespace breakline::engine {

/// Adds `profile_begin` and `profile_end` (README.md of core/engine) to the extension module. 0, or -1 with a
/// Python error set. GIL held.
int add_profile_functions(PyObject* module);

}  // namespace breakline::engine
