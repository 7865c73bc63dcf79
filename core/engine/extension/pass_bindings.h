// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/python/ref.h"

namespace breakline::engine {

/// Adds pass_options and plan_forms to the extension module; -1 with an error set on failure.
int add_pass_functions(PyObject* module);

}  // namespace breakline::engine
