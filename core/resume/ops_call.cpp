// SPDX-License-Identifier: GPL-3.0-or-later
// Calls and functions. Which callables look at the frame that calls them is decided here and in
// frame_builtins.cpp.
#include <iterator>
#include <map>
#include <utility>

#include "core/python/compat.h"
#include "core/resume/bind.h"
#include "core/resume/ops.h"

namespace breakline::resume {
namespace {

// The parts of a Call on the stack.
struct CallParts {
  PyObject* callable;
  PyObject** args;   // the first one is self when there is one
  Py_ssize_t count;  // positional ones and values of keywords
  PyObject* kwnames;
  int operands;
};

CallParts parts_of(State& s, const Instr& i) {
  const bytecode::CallSlots slots = bytecode::call_slots(i.arg, !s.operand(i.arg + 2));
  const int count = i.arg + (slots.self ? 1 : 0);
  return {s.operand(slots.callable), &s.slots[s.slots.size() - count], count, i.object, i.arg + 2};
}

Py_ssize_t positional(const CallParts& call) {
  return call.count - (call.kwnames ? PyTuple_GET_SIZE(call.kwnames) : 0);
}

Outcome call(State& s, const Instr& i) {
  CallParts parts = parts_of(s, i);
  PyObject* result = nullptr;
  if (!call_frame_builtin(s, parts.callable, parts.args, positional(parts), parts.kwnames, &result)) {
    // The slot before the arguments is ours, so the callee may borrow it.
    const size_t nargsf = static_cast<size_t>(positional(parts)) | PY_VECTORCALL_ARGUMENTS_OFFSET;
    result = PyObject_Vectorcall(parts.callable, parts.args, nargsf, parts.kwnames);
  }
  return replace(s, parts.operands, result);
}

bool loud_call(State& s, const Instr& i) {
  CallParts parts = parts_of(s, i);
  return parts.kwnames || !is_quiet_call(parts.callable, parts.args, parts.count);
}

bool names_frames(PyCodeObject* code) {
  static PyObject* const telling[] = {py::intern("_getframe"), py::intern("currentframe"),
                                      py::intern("f_locals"), py::intern("set_trace")};
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(code->co_names); ++k)
    for (PyObject* name : telling)
      if (PyTuple_GET_ITEM(code->co_names, k) == name) return true;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(code->co_consts); ++k)
    if (PyObject* inner = PyTuple_GET_ITEM(code->co_consts, k); PyCode_Check(inner) && names_frames(reinterpret_cast<PyCodeObject*>(inner)))
      return true;
  return false;
}

// Whether the function, or one that it calls by a global's or a cell's name, asks for frames. Found once for a code object and the globals
// it runs in: what such a name means hardly ever changes.
bool mentions_frames(PyObject* function, int depth = 0) {
  constexpr int kDeep = 3;
  constexpr size_t kMost = 20'000;
  static auto* known = new std::map<std::pair<PyObject*, PyObject*>, bool>;
  PyObject *code = PyFunction_GET_CODE(function), *globals = PyFunction_GET_GLOBALS(function), *closure = PyFunction_GET_CLOSURE(function);
  auto found = known->find({code, globals});
  if (found != known->end()) return found->second;
  PyObject* names = reinterpret_cast<PyCodeObject*>(code)->co_names;
  bool asks = names_frames(reinterpret_cast<PyCodeObject*>(code));
  auto follow = [&](PyObject* o) {
    if (o && PyMethod_Check(o)) o = PyMethod_GET_FUNCTION(o);
    asks = asks || (o && PyFunction_Check(o) && o != function && mentions_frames(o, depth + 1));
  };
  for (Py_ssize_t k = 0; !asks && depth < kDeep && k < PyTuple_GET_SIZE(names); ++k) follow(PyDict_GetItem(globals, PyTuple_GET_ITEM(names, k)));
  for (Py_ssize_t k = 0; !asks && depth < kDeep && closure && k < PyTuple_GET_SIZE(closure); ++k) follow(PyCell_GET(PyTuple_GET_ITEM(closure, k)));
  if (depth == 0 && known->size() < kMost) {
    Py_INCREF(code);  // so that no other gets its address
    Py_INCREF(globals);
    known->emplace(std::pair(code, globals), asks);
  }
  return asks;
}

// A call may hand a function on that asks: a key, a callback.
bool mentions_frames_in(PyObject* const* args, Py_ssize_t count) {
  for (Py_ssize_t k = 0; k < count; ++k) {
    PyObject* o = args[k];
    if (o && PyMethod_Check(o)) o = PyMethod_GET_FUNCTION(o);
    if (o && PyFunction_Check(o) && mentions_frames(o)) return true;
  }
  return false;
}

// Stack: NULL, callable, arguments and perhaps a mapping, which may be NULL.
Outcome call_ex(State& s, const Instr& i) {
  const int mappings = i.arg & 1;
  PyObject* callable = s.operand(2 + mappings);
  PyObject* given = s.operand(1 + mappings);
  if (!PyTuple_CheckExact(given)) {
    if (!Py_TYPE(given)->tp_iter && !PySequence_Check(given)) {
      py::Ref text = py::Ref::steal(py::function_text(callable));
      if (text)
        PyErr_Format(PyExc_TypeError, "%U argument after * must be an iterable, not %.200s", text.get(),
                     Py_TYPE(given)->tp_name);
      return Outcome::kRaised;
    }
    PyObject* tuple = PySequence_Tuple(given);
    if (!tuple) return Outcome::kRaised;
    s.operand(1 + mappings) = tuple;
    Py_DECREF(given);
    given = tuple;
  }
  PyObject* keywords = mappings ? s.operand(1) : nullptr;
  PyObject* result = nullptr;
  const bool none = !keywords || PyDict_GET_SIZE(keywords) == 0;
  if (!none || !call_frame_builtin(s, callable, PySequence_Fast_ITEMS(given), PyTuple_GET_SIZE(given),
                                   nullptr, &result))
    result = PyObject_Call(callable, given, keywords);
  return replace(s, 3 + mappings, result);
}

bool always(State&, const Instr&) { return true; }

void set_part(PyObject* function, int flag, PyObject* owned) {
  auto* f = reinterpret_cast<PyFunctionObject*>(function);
  PyObject** const parts[] = {
    &f->func_defaults,
    &f->func_kwdefaults,
    &f->func_annotations,
    &f->func_closure,
#if PY_VERSION_HEX >= 0x030E0000
    &f->func_annotate
#endif
  };
  for (int bit = 0; bit < static_cast<int>(std::size(parts)); ++bit)
    if (flag == 1 << bit) Py_XSETREF(*parts[bit], owned);
}

// Stack: for each flag bit from 1 to 8 its object, then the code.
Outcome make_function(State& s, const Instr& i) {
  PyObject* function = PyFunction_New(s.operand(1), s.top().globals);
  if (!function) return Outcome::kRaised;
  s.drop(1);
  for (int flag = 8; flag; flag >>= 1)
    if (i.arg & flag) set_part(function, flag, s.pop());
  s.push(function);
  return Outcome::kNext;
}

Outcome set_function_attribute(State& s, const Instr& i) {
  PyObject* function = s.pop();
  set_part(function, i.arg, s.pop());
  s.push(function);
  return Outcome::kNext;
}

}  // namespace

bool reads_caller_locals(State& s, const Instr& i) {
  const CallParts parts = parts_of(s, i);
  PyObject* callable = parts.callable;
  if (mentions_frames_in(parts.args, parts.count)) return true;
  if (PyMethod_Check(callable)) callable = PyMethod_GET_FUNCTION(callable);
  if (PyFunction_Check(callable)) return mentions_frames(callable);
  if (!PyCFunction_CheckExact(callable)) return false;
  const std::string_view name = reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name;
  return name == "breakpoint" || name == "_getframe";
}

void add_call_ops(OpTable& t) {
  row(t, Op::kCall) = {call, loud_call};
  row(t, Op::kCallEx) = {call_ex, always};
  row(t, Op::kMakeFunction) = {make_function};
  row(t, Op::kSetFunctionAttribute) = {set_function_attribute};
}

// ---- frames for functions
// ------------------------------------------------------------------------------------------

bool push_frame(State& state, PyFunctionObject* function, PyObject* const* args, size_t nargsf,
                PyObject* kwnames) {
  const bytecode::Code* code = bytecode::decode(reinterpret_cast<PyCodeObject*>(function->func_code));
  if (code->is_generator || code->is_coroutine || code->is_async_generator) return false;
  std::vector<PyObject*> bound(code->slot_count, nullptr);
  if (!bind_arguments(function, args, nargsf, kwnames, bound.data())) return false;
  Frame frame;
  frame.code = code;
  frame.function = reinterpret_cast<PyObject*>(function);
  frame.owner = py::Ref::borrow(frame.function);
  frame.globals = function->func_globals;
  frame.builtins = function->func_builtins;
  if (!code->is_optimized) frame.locals = frame.globals;
  state.slots.insert(state.slots.end(), bound.begin(), bound.end());
  state.frames.push_back(std::move(frame));
  return true;
}

// ---- entering callees by the machine
// -------------------------------------------------------------------------------

namespace {

// The interpreter's own library stays native; so does what was installed.
bool is_user_code(const bytecode::Code* code) {
  static const std::string library = [] {
    py::Ref os = py::Ref::steal(PyImport_ImportModule("os"));
    py::Ref file = py::Ref::steal(os ? PyObject_GetAttrString(os.get(), "__file__") : nullptr);
    PyErr_Clear();  // without a file nothing is taken for the library
    std::string path(py::utf8(file.get()));
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? std::string("<frozen") : path.substr(0, slash + 1);
  }();
  return code->file.rfind(library, 0) != 0 && code->file.rfind("<frozen", 0) != 0 &&
         code->file.find("site-packages") == std::string::npos;
}

}  // namespace

bool enter_callee(State& state) {
  const Instr& instr = state.top().code->instrs[state.top().pc];
  if (instr.op != Op::kCall) return false;
  CallParts parts = parts_of(state, instr);
  std::vector<PyObject*> args(parts.args, parts.args + parts.count);
  PyObject* callable = parts.callable;
  if (PyMethod_Check(callable)) {
    args.insert(args.begin(), PyMethod_GET_SELF(callable));
    callable = PyMethod_GET_FUNCTION(callable);
  }
  if (!PyFunction_Check(callable)) return false;
  auto* function = reinterpret_cast<PyFunctionObject*>(callable);
  if (!is_user_code(bytecode::decode(reinterpret_cast<PyCodeObject*>(function->func_code)))) return false;
  const Py_ssize_t named = parts.kwnames ? PyTuple_GET_SIZE(parts.kwnames) : 0;
  // The operands go after binding: arguments now live in the new frame's slots.
  State callee;
  if (!push_frame(callee, function, args.data(), args.size() - named, parts.kwnames)) return false;
  state.drop(parts.operands);
  ++state.top().pc;
  state.frames.push_back(std::move(callee.frames.back()));
  state.slots.insert(state.slots.end(), callee.slots.begin(), callee.slots.end());
  callee.slots.clear();
  return true;
}

}  // namespace breakline::resume
