// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/extension/skipped_body.h"

#include <unordered_map>

#include "core/engine/extension/compiled_function.h"
#include "core/resume/executor.h"
#include "core/resume/unwind.h"
#include "core/segment/machine.h"
#include "core/segment/options.h"
#include "core/trace/inline_rules.h"
#include "core/trace/markers.h"

namespace breakline::engine {
namespace {

using resume::Outcome;
using resume::State;

/// Compiled twins of callees, by function; forgotten when there are too many (closures made anew at each call).
std::unordered_map<PyObject*, py::Ref>& twins() {
  static auto* t = new std::unordered_map<PyObject*, py::Ref>;
  if (t->size() > 512) t->clear();
  return *t;
}

/// The compiled twin of a user's plain function, borrowed; null for everything that is called as it is.
PyObject* twin_of(PyObject* callee) {
  if (!callee || !PyFunction_Check(callee)) return nullptr;
  const bytecode::Code* code = bytecode::decode(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(callee)));
  if (segment::reason_to_skip(code) || !trace::is_user_file(code->file)) return nullptr;
  if (trace::find_marker(callee).kind != trace::MarkerKind::kNone) return nullptr;
  py::Ref& twin = twins()[callee];
  if (!twin) {
    twin = py::Ref::steal(make_compiled(callee, false, "cpu", "", code->qualname, ""));
    if (!twin) PyErr_Clear();
  }
  return twin.get();
}

void compile_callee(State& state, const bytecode::Instr& call) {
  bytecode::CallSlots slots =
      bytecode::call_slots(call.arg, state.operand(call.arg + 2) == nullptr);
  PyObject*& callee = state.operand(slots.callable);
  if (PyObject* twin = twin_of(callee)) {
    PyObject* old = callee;
    callee = Py_NewRef(twin);
    Py_DECREF(old);
  }
}

PyObject* run_body(State& state) {
  for (;;) {
    const bytecode::Instr& next = state.top().code->instrs[static_cast<size_t>(state.top().pc)];
    if (next.op == bytecode::Op::kCall) compile_callee(state, next);
    switch (Outcome outcome = resume::execute(state)) {
      case Outcome::kRaised:
      case Outcome::kReraised:
        if (!resume::unwind(state, outcome == Outcome::kReraised)) return nullptr;
        break;
      case Outcome::kReturn:
        if (PyObject* result = resume::deliver_return(state)) return result;
        if (PyErr_Occurred() && !resume::unwind(state, false)) return nullptr;
        break;
      case Outcome::kYield:
        PyErr_SetString(PyExc_SystemError, "a generator frame can't be run here");
        return nullptr;
      default: break;
    }
  }
}

PyObject* call_body(PyObject* function, PyObject* const* args, Py_ssize_t nargs, PyObject* names) {
  State state;
  try {
    resume::HandledScope handled;
    if (!PyFunction_Check(function) ||
        !resume::make_root(state, reinterpret_cast<PyFunctionObject*>(function), args, static_cast<size_t>(nargs), names)) {
      if (PyErr_Occurred()) return nullptr;
      return PyObject_Vectorcall(function, args, static_cast<size_t>(nargs), names);
    }
    return run_body(state);
  } catch (py::PythonError&) {
    return nullptr;
  }
}

PyMethodDef kCallBody = {"skipped_body", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(call_body)),
                         METH_FASTCALL | METH_KEYWORDS, "Runs a body as plain Python; the user's functions it calls are compiled."};

/// The stand-in of a callee marked disable(recursive=False): new reference, or null.
PyObject* skipping_callee(PyObject* callee) {
  const trace::Marker& marker = trace::find_marker(callee);
  if (marker.kind != trace::MarkerKind::kDisable || marker.recursive || !marker.function) return nullptr;
  return PyCFunction_New(&kCallBody, marker.function.get());
}

}  // namespace

void install_skipped_body() {
  segment::options().skipping_callee = skipping_callee;
  segment::options().plain_callee = [](PyObject* callee) { return PyCFunction_New(&kCallBody, callee); };
  segment::options().compiling_call = compile_callee;
}

}  // namespace breakline::engine
