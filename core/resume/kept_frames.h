// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/resume/state.h"

namespace breakline::resume {

/// The values that the variables of a virtual frame have now, by slot; null for an unbound one. Cells give what they hold. Borrowed.
std::vector<PyObject*> variables_of(const State& state, size_t frame);

/// Notes a frame object that wore the virtual frame `frame` around an operation and has returned, where the program still holds it:
/// its `f_locals` goes on showing the variables. `shown`: as in `variables_of`, when it was entered. Since 3.13 what the program wrote
/// through `f_locals` meanwhile becomes the variables' values, kept or not. False with the error set.
bool keep_frame(State& state, size_t frame, py::Ref object, std::vector<PyObject*> shown);

/// Brings the kept frames up to date; before each instruction while there are any. False with the error set.
bool refresh_kept_frames(State& state);

}  // namespace breakline::resume
