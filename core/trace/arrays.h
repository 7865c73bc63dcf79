// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/trace/value.h"

namespace breakline::trace {

/// An array of numpy's that the call brought along and nothing has been asked of yet (Tracer::array_as_input).
bool is_entry_array(const Value* v);

}  // namespace breakline::trace
