// SPDX-License-Identifier: GPL-3.0-or-later
// The executor's table: one row an operation. The ops_*.cpp files fill it.
#pragma once
#include <array>

#include "core/resume/executor.h"

namespace breakline::resume {

using bytecode::Instr;
using bytecode::Op;

using Run = Outcome (*)(State&, const Instr&);

/// Whether an operation may run Python code that looks at the frame below it.
using SeesFrames = bool (*)(State&, const Instr&);

struct OpRow {
  Run run = nullptr;
  SeesFrames sees_frames = nullptr;  ///< null: never
};

using OpTable = std::array<OpRow, static_cast<size_t>(Op::kCount)>;

inline OpRow& row(OpTable& table, Op op) { return table[static_cast<size_t>(op)]; }

void add_stack_ops(OpTable& table);      // stack, locals, cells, jumps
void add_name_ops(OpTable& table);       // globals, names, imports
void add_attribute_ops(OpTable& table);  // attributes, methods, super
void add_data_ops(OpTable& table);       // operators, subscripts
void add_build_ops(OpTable& table);      // containers, unpacking, strings
void add_call_ops(OpTable& table);       // calls, functions
void add_exception_ops(OpTable& table);  // raise, except, with
void add_native_ops(
    OpTable& table);  // what runs as the real instruction: match, groups, async, type parameters

/// Drops `inputs` operands and pushes the result; null: the error is set and the operands stay for unwind.
inline Outcome replace(State& state, int inputs, PyObject* result) {
  if (!result) return Outcome::kRaised;
  state.drop(inputs);
  state.push(result);
  return Outcome::kNext;
}
inline Outcome drop_if(State& state, int inputs, bool good) {
  if (!good) return Outcome::kRaised;
  state.drop(inputs);
  return Outcome::kNext;
}

/// Types whose operations never run Python code by themselves (None, numbers, str, bytes).
bool is_scalar(PyObject* object);
/// Scalars and exact built-in containers: indexing and iterating them runs no Python code.
bool is_builtin_data(PyObject* object);

/// Sets `type` with `format` filled by a name, and NameError.name, as CPython does for its suggestions.
void set_name_error(PyObject* type, const char* format, PyObject* name);
void set_unbound_error(const bytecode::Code* code, int slot);

/// A call of one of the builtins that look at the calling frame (locals, globals, vars, dir, eval, exec,
/// super), answered from the virtual frame. False: `callable` is none of them, or is called in a way that
/// doesn't look. GIL.
bool call_frame_builtin(State& state, PyObject* callable, PyObject* const* args, Py_ssize_t count,
                        PyObject* kwnames, PyObject** result);

/// Enters the Python callee of the call at the top frame's pc, when it is user code and its arguments fit.
bool enter_callee(State& state);

/// True when calling it can't run Python code that looks at frames.
bool is_quiet_call(PyObject* callable, PyObject* const* args, Py_ssize_t count);

/// True when the call at the top frame's pc goes to something that reads its caller's f_locals, as far as its
/// own code tells: breakpoint(), and functions that mention sys._getframe, inspect.currentframe and the like.
bool reads_caller_locals(State& state, const Instr& instr);

/// Attribute reads and writes that end in plain storage or C code that never looks at frames.
bool is_quiet_attribute(PyObject* owner, PyObject* name);

}  // namespace breakline::resume
