// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/trace/tracer.h"

namespace breakline::trace {

/// Appends to `args`, given by position, what keywords say of the parameters that follow. `left_out`: parameters of `code` before the first
/// of `args` (self, ctx). False, with `args` as they were, where a parameter is left out in between or a name is unknown.
bool append_by_name(PyCodeObject* code, size_t left_out, Values& args, const Keywords& keywords);

}  // namespace breakline::trace
