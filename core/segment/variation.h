// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/guard/program.h"
#include "core/segment/root.h"

namespace breakline::segment {

/// What the present call of a site has otherwise than its variants goes into the site's hints, for the trace
/// that comes: numbers and sizes are left open; past a break, a text, function or container that was another
/// one in several variants is left to the executor. `context`: of the state's slots. With the GIL.
void note_changes(Root& root, Site& site, const resume::State& state, guard::GuardContext& context);

/// A function's entry has all the variants it may have. True when what differs are containers (hooks that are
/// set and removed around each call, lists of any length): from now on the trace ends where it would look
/// into them, and the instruction is executed.
bool leave_out_at_entry(Root& root, Site& site, const resume::State& state, guard::GuardContext& context);

}  // namespace breakline::segment
