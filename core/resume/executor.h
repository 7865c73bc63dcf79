// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/resume/state.h"
#include "core/resume/traceback.h"

namespace breakline::resume {

enum class Outcome : uint8_t {
  kNext,      ///< pc moved to the following instruction
  kJump,      ///< pc moved to the jump target
  kReturn,    ///< ReturnValue in the top frame: the value is TOS, the frame is still there
  kYield,     ///< YieldValue
  kRaised,    ///< a Python error is set; pc still names the instruction
  kReraised,  ///< same, but the traceback must not get another entry for this frame
};

/// The pc of the top frame names the instruction to execute; the pc of a frame that waits for an inner one
/// names the instruction *behind* the waiting one, whose operands are already popped.

/// Executes exactly the instruction at top().pc. Total: every Op of every supported version. GIL held; may
/// run any user code, which sees CPython frames that look like the state's virtual ones; checks signals at backward
/// jumps.
Outcome execute(State& state);

/// Raises/handles: adds traceback entries for the top frame, looks up exception tables outwards, pops frames
/// without a handler. True: a handler was found, pc and stack set for it. False: no frame is left and the
/// error is set.
bool unwind(State& state, bool reraise);

/// Pops the returning top frame and delivers its value to the caller by on_return. Returns the value when it
/// was the root (new reference), else null with frames left.
PyObject* deliver_return(State& state);

/// Runs the continuation to its end without tracing (executor-only mode). New reference, or null with the
/// error set.
PyObject* run_concretely(State& state);

/// Instructions that run_concretely has executed in this process.
int64_t executed_instructions();

/// Whether run_concretely also runs Python callees of user code by the machine (frames of the same State)
/// instead of natively. Process-wide; for the executor-only leg of tests. Default off.
void set_deep(bool on);
bool deep();

/// True when the operation has an executor form (a test asks it for every op).
bool has_executor(bytecode::Op op);

/// A root frame for `function` with bound arguments in `args` (vectorcall convention). False: the arguments
/// don't fit or the function makes a generator or coroutine; call it natively. False with an error set:
/// binding raised.
bool make_root(State& state, PyFunctionObject* function, PyObject* const* args, size_t nargsf,
               PyObject* kwnames);

/// A frame for code run in mappings (module, class body, exec). `locals` may be `globals`.
void make_code_root(State& state, PyCodeObject* code, PyObject* globals, PyObject* locals);

/// Pushes a frame for `function` on top of `state`; same results as make_root.
bool push_frame(State& state, PyFunctionObject* function, PyObject* const* args, size_t nargsf,
                PyObject* kwnames);

}  // namespace breakline::resume
