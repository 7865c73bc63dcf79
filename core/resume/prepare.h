// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace breakline::resume {

/// What the executor's first steps would make once, made now: Python code that runs inside the initialisation of a static may
/// let go of the GIL, and a second thread that waits for the same static would then hold it for good. Call at import. GIL.
void prepare_frame_builtins();
void prepare_trampolines();

}  // namespace breakline::resume
