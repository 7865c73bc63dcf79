// SPDX-License-Identifier: GPL-3.0-or-later
// What mark_dynamic promises: a size that was marked is open in the compiled code, within the bounds given. A new
// segment that pins such a size is an error, as in PyTorch.
#pragma once
#include <string>

#include "core/segment/root.h"

namespace breakline::segment {

/// Sets the Python error for `message`; `files` are (file, line, function) of the user's frames, outermost first.
using ConstraintRaiser = void (*)(const std::string& message, const std::vector<graph::OriginFrame>& frames, bool out_of_range);
void set_constraint_raiser(ConstraintRaiser raiser);

/// Looks at a segment that has just been made and whose guards hold in `context` (its first instance is there). False, with
/// the error set: it pins a marked size, or one is out of its bounds. It repeats the trace's shapes for other sizes, which may
/// run Python code, so the guards are to be checked again afterwards. In a TraceTurn. Cheap where nothing is marked.
bool keep_marks(Segment& segment, guard::GuardContext& context);

}  // namespace breakline::segment
