// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/resume/state.h"

namespace breakline::resume {

enum class Outcome : uint8_t {
  kNext,     ///< pc moved to the following instruction
  kJump,     ///< pc moved to the jump target
  kReturn,   ///< ReturnValue in the top frame: the value is TOS, the frame is still there
  kYield,    ///< YieldValue
  kRaised,   ///< a Python error is set; pc still names the instruction
  kReraised, ///< same, but the traceback must not get another entry for this frame
};

/// How calls look to their callee.
enum class Frames : uint8_t { kNone, kInnermost, kAll };

/// Executes exactly the instruction at top().pc. Total: every Op of every supported version. GIL held; may run any user
/// code; checks signals at backward jumps. `frames` asks for trampolines around calls.
Outcome execute(State& state, Frames frames = Frames::kInnermost);

/// Raises/handles: adds traceback entries for the top frame, looks up exception tables outwards, pops frames without a
/// handler. True: a handler was found, pc and stack set for it. False: no frame is left and the error is set.
bool unwind(State& state, bool reraise);

/// Pops the returning top frame and delivers its value to the caller by on_return. Returns the value when it was the root
/// (new reference), else null with frames left.
PyObject* deliver_return(State& state);

/// Runs the continuation to its end without tracing (executor-only mode). New reference, or null with the error set.
PyObject* run_concretely(State& state);

/// Adds one traceback entry (function, line, columns of instruction `index`) to the current error.
void add_traceback(const bytecode::Code* code, int index, PyObject* globals, PyObject* const* locals);

}  // namespace breakline::resume
