// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>

namespace breakline::trace {

/// A function made in a trace has in `items`: defaults, keyword defaults, closure, annotations; then, once one was set, a dict of the
/// attributes that functions keep outside their `__dict__` (`__name__`, `__doc__` …).
inline constexpr std::size_t kFunctionParts = 4;

/// Functions and what C has in their place on classes: bound when read from an instance.
bool is_function_like(PyObject* attribute);

}  // namespace breakline::trace
