// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/resume/executor.h"

namespace breakline::resume {

/// Something to do beneath real frames: gives Raised with an error set or any other outcome.
struct Job {
  Outcome (*run)(State& state, const bytecode::Instr& instr);
  State* state;
  const bytecode::Instr* instr;
  Outcome outcome;
  bool show_locals =
      false;  ///< the frames also carry the bound variables, for callees that read f_locals (slower)
};

/// Runs `job` beneath CPython frames that look like the state's virtual frames: name, qualified name, file,
/// line, columns and globals. What the frames would add to a traceback is
/// taken off again. GIL. Cost: about 0.06 µs a frame once the frame's function exists.
Outcome run_in_frames(Job& job);

/// Operations without a public C function run as the real CPython instruction, in a function that does
/// nothing else and wears the virtual frame's identity.
struct NativeInstruction {
  int opcode;
  int arg;
  int inputs;                ///< operands, deepest first
  int outputs;               ///< operands it leaves
  bool as_tuple = false;     ///< gives all outputs as a tuple, deepest first; else the top one
  int caches = 0;            ///< inline cache units of the opcode
  PyObject* name = nullptr;  ///< the only entry of co_names, or null
};

/// Runs the instruction on `inputs` (borrowed). New reference or null with the error set, whose traceback is
/// clean.
PyObject* run_native(State& state, const NativeInstruction& instruction, PyObject* const* inputs);

/// A function whose frame looks like the top frame's and that yields to signals, other threads and
/// asynchronous exceptions as any call does; false with the error set.
bool breathe(State& state);

}  // namespace breakline::resume
