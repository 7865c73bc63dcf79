// SPDX-License-Identifier: GPL-3.0-or-later
// Runs instructions of the normalised set on concrete state.
#include "core/resume/executor.h"

#include "core/resume/kept_frames.h"
#include "core/resume/ops.h"
#include "core/resume/trampoline.h"
#include "core/resume/unwind.h"

namespace breakline::resume {
namespace {

const OpTable& table() {
  static const OpTable rows = [] {
    OpTable t;
    add_stack_ops(t);
    add_name_ops(t);
    add_attribute_ops(t);
    add_data_ops(t);
    add_build_ops(t);
    add_call_ops(t);
    add_exception_ops(t);
    add_native_ops(t);
    return t;
  }();
  return rows;
}

}  // namespace

namespace {
bool run_callees = false;
}
void set_deep(bool on) { run_callees = on; }
bool deep() { return run_callees; }

bool make_root(State& state, PyFunctionObject* function, PyObject* const* args, size_t nargsf,
               PyObject* kwnames) {
  if (!push_frame(state, function, args, nargsf, kwnames)) return false;
  Py_XSETREF(state.handled, Py_XNewRef(thread_handled()));
  return true;
}

void make_code_root(State& state, PyCodeObject* code, PyObject* globals, PyObject* locals) {
  Frame frame;
  frame.code = bytecode::decode(code);
  frame.globals = globals;
  frame.locals = locals;
  frame.builtins = PyDict_GetItemString(globals, "__builtins__");
  if (frame.builtins && PyModule_Check(frame.builtins)) frame.builtins = PyModule_GetDict(frame.builtins);
  if (!frame.builtins) frame.builtins = PyEval_GetBuiltins();
  for (PyObject* object : {globals, locals, frame.builtins}) state.kept.push_back(py::Ref::borrow(object));
  state.slots.resize(state.slots.size() + frame.code->slot_count, nullptr);
  state.frames.push_back(std::move(frame));
  Py_XSETREF(state.handled, Py_XNewRef(thread_handled()));
}

bool has_executor(bytecode::Op op) { return table()[static_cast<size_t>(op)].run != nullptr; }

Outcome execute(State& state) {
  const int index = state.top().pc;
  const Instr& instr = state.top().code->instrs[index];
  if (!state.kept_frames.empty() && !refresh_kept_frames(state)) return Outcome::kRaised;
  const OpRow& row = table()[static_cast<size_t>(instr.op)];
  set_thread_handled(state.handled);
  Outcome outcome;
  if (row.sees_frames && row.sees_frames(state, instr)) {
    Job job{row.run, &state, &instr, Outcome::kNext,
            instr.op == Op::kCall && reads_caller_locals(state, instr)};
    outcome = run_in_frames(job);
  } else {
    outcome = row.run(state, instr);
  }
  switch (outcome) {
    case Outcome::kNext:
    case Outcome::kYield:
      state.top().pc = index + 1;
      break;
    case Outcome::kJump: {
      state.top().pc = instr.target;
      constexpr int kJumpsPerBreath = 64;
      static int jumps = 0;
      if (instr.target <= index && ++jumps % kJumpsPerBreath == 0 && !breathe(state)) return Outcome::kRaised;
      break;
    }
    case Outcome::kReturn:
    case Outcome::kRaised:
    case Outcome::kReraised:
      break;
  }
  return outcome;
}

namespace {
int64_t executed = 0;  // instructions run by run_concretely in this process; read and written with the GIL held
}

int64_t executed_instructions() { return executed; }

PyObject* run_concretely(State& state) {
  HandledScope handled;
  const bool into_callees = deep();
  while (true) {
    if (into_callees && enter_callee(state)) {
      if (static_cast<int>(state.frames.size()) < Py_GetRecursionLimit()) continue;
      pop_frame(state);
      --state.top().pc;
      PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded");
      if (!unwind(state, false)) return nullptr;
      continue;
    }
    ++executed;
    switch (execute(state)) {
      case Outcome::kNext:
      case Outcome::kJump:
        break;
      case Outcome::kYield:
        PyErr_SetString(PyExc_SystemError,
                        "a generator's frame can't be run to its end; call the generator instead");
        if (!unwind(state, false)) return nullptr;
        break;
      case Outcome::kReturn:
        if (PyObject* value = deliver_return(state)) return value;
        if (PyErr_Occurred() && !unwind(state, false)) return nullptr;
        break;
      case Outcome::kRaised:
        if (!unwind(state, false)) return nullptr;
        break;
      case Outcome::kReraised:
        if (!unwind(state, true)) return nullptr;
        break;
    }
  }
}

}  // namespace breakline::resume
