// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/trace/tracer.h"

namespace breakline::trace {

/// str (1), repr (2) or ascii (3) of a value; stops when it can't be told at trace time.
Value* text_symbolically(Tracer& t, Value* v, int conversion);
/// format(value, spec) as an f-string does it. `spec` may be null.
Value* format_symbolically(Tracer& t, Value* v, Value* spec, int conversion);

}  // namespace breakline::trace
