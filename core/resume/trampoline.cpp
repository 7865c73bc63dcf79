// SPDX-License-Identifier: GPL-3.0-or-later
// Real CPython frames around one concrete operation. Each is the frame of a tiny function whose code object
// was given the name, file and position of the user's instruction; the functions are made once for each
// (code, instruction, globals).
#include "core/resume/trampoline.h"

#include <opcode.h>

#include <cstddef>
#include <string>
#include <unordered_map>

#include "core/resume/kept_frames.h"
#include "core/resume/prepare.h"
#include "core/resume/unwind.h"

namespace breakline::resume {
namespace {

using bytecode::Code;
using bytecode::Position;

// ---- position tables
// -----------------------------------------------------------------------------------------------

void put_varint(std::string& out, unsigned value) {
  for (; value >= 64; value >>= 6) out.push_back(static_cast<char>((value & 63) | 64));
  out.push_back(static_cast<char>(value));
}

void put_signed(std::string& out, int value) {
  put_varint(out, value < 0 ? (static_cast<unsigned>(-value) << 1) | 1 : static_cast<unsigned>(value) << 1);
}

// A table (Objects/locations.md of CPython) that gives every unit the same position.
std::string position_table(const Position& p, int first_line, int units) {
  constexpr int kLong = 14, kNoColumns = 13;
  std::string table;
  int from = first_line;
  while (units > 0) {
    const int run = units < 8 ? units : 8;
    const bool columns = p.column >= 0 && p.end_column >= 0 && p.end_line >= p.line;
    table.push_back(static_cast<char>(0x80 | ((columns ? kLong : kNoColumns) << 3) | (run - 1)));
    put_signed(table, p.line - from);
    from = p.line;
    if (columns) {
      put_varint(table, p.end_line - p.line);
      put_varint(table, p.column + 1);
      put_varint(table, p.end_column + 1);
    }
    units -= run;
  }
  return table;
}

// ---- functions in disguise
// -----------------------------------------------------------------------------------------

struct Body {
  std::string bytes;  // opcode and argument pairs
  int arguments = 0;
  int stack = 2;
  PyObject* name = nullptr;
  std::vector<PyObject*> variables;  // names of the arguments behind the first one
};

PyObject* template_code() {
  static PyObject* code = [] {
    py::Ref module = py::Ref::steal(Py_CompileString("lambda: 0", "<breakline>", Py_eval_input));
    py::Ref globals = py::Ref::steal(PyDict_New());
    py::Ref function =
        py::Ref::steal(module ? PyEval_EvalCode(module.get(), globals.get(), globals.get()) : nullptr);
    return function ? Py_NewRef(PyFunction_GetCode(function.get())) : nullptr;
  }();
  return code;
}

PyObject* make_function(const Code* code, int index, PyObject* globals, const Body& body) {
  if (!template_code()) return nullptr;
  PyCodeObject* real = code->code;
  Position position = code->position(index);
  if (position.line <= 0) position.line = real->co_firstlineno;
  const std::string table =
      position_table(position, real->co_firstlineno, static_cast<int>(body.bytes.size() / 2));
  // eval, exec and compile inherit the __future__ features of the frame that calls them.
  const int flags = reinterpret_cast<PyCodeObject*>(template_code())->co_flags | (real->co_flags & PyCF_MASK);
  py::Ref names = py::Ref::steal(body.name ? PyTuple_Pack(1, body.name) : PyTuple_New(0));
  py::Ref variables = py::Ref::steal(PyTuple_New(body.arguments));
  if (!names || !variables) return nullptr;
  for (int i = 0; i < body.arguments; ++i)
    PyTuple_SET_ITEM(variables.get(), i,
                     i > 0 && i <= static_cast<int>(body.variables.size())
                         ? Py_NewRef(body.variables[i - 1])
                         : PyUnicode_FromFormat(".%d", i));  // a name no source can spell
  py::Ref kwargs = py::Ref::steal(
      Py_BuildValue("{sOsOsOsisy#sy#sisisisisOsO}", "co_name", real->co_name, "co_qualname",
                    real->co_qualname, "co_filename", real->co_filename, "co_firstlineno",
                    real->co_firstlineno, "co_linetable", table.data(), static_cast<Py_ssize_t>(table.size()),
                    "co_code", body.bytes.data(), static_cast<Py_ssize_t>(body.bytes.size()), "co_flags",
                    flags, "co_argcount", body.arguments, "co_nlocals", body.arguments, "co_stacksize",
                    body.stack + body.arguments, "co_varnames", variables.get(), "co_names", names.get()));
  py::Ref replace = py::Ref::steal(PyObject_GetAttrString(template_code(), "replace"));
  py::Ref empty = py::Ref::steal(PyTuple_New(0));
  if (!kwargs || !replace || !empty) return nullptr;
  py::Ref disguised = py::Ref::steal(PyObject_Call(replace.get(), empty.get(), kwargs.get()));
  return disguised ? PyFunction_New(disguised.get(), globals) : nullptr;
}

void put(std::string& bytes, int opcode, int arg) {
  bytes.push_back(static_cast<char>(opcode));
  bytes.push_back(static_cast<char>(arg));
}

void put_caches(std::string& bytes, int count) {
  for (; count > 0; --count) put(bytes, CACHE, 0);
}

// def frame(job): return job(), with the variable cleared before the call: f_locals does not show it.
Body forwarding_body() {
  Body body;
  body.arguments = 1;
  body.stack = 4;
  put(body.bytes, RESUME, 0);
#if PY_VERSION_HEX < 0x030D0000
  put(body.bytes, PUSH_NULL, 0);
  put(body.bytes, LOAD_FAST, 0);
#else
  put(body.bytes, LOAD_FAST, 0);
  put(body.bytes, PUSH_NULL, 0);
#endif
  put(body.bytes, DELETE_FAST, 0);
#if PY_VERSION_HEX < 0x030C0000
  put(body.bytes, PRECALL, 0);
  put_caches(body.bytes, 1);
  put(body.bytes, CALL, 0);
  put_caches(body.bytes, 4);
#else
  put(body.bytes, CALL, 0);
  put_caches(body.bytes, 3);
#endif
  put(body.bytes, RETURN_VALUE, 0);
  return body;
}

Body native_body(const NativeInstruction& instruction) {
  Body body;
  body.arguments = instruction.inputs;
  body.stack = instruction.inputs + instruction.outputs + 2;
  body.name = instruction.name;
  put(body.bytes, RESUME, 0);
  for (int i = 0; i < instruction.inputs; ++i) put(body.bytes, LOAD_FAST, i);
  if (instruction.arg > 255) put(body.bytes, EXTENDED_ARG, instruction.arg >> 8);
  put(body.bytes, instruction.opcode, instruction.arg & 255);
  put_caches(body.bytes, instruction.caches);
  if (instruction.as_tuple) {
    if (instruction.outputs > 255) put(body.bytes, EXTENDED_ARG, instruction.outputs >> 8);
    put(body.bytes, BUILD_TUPLE, instruction.outputs & 255);
  }
  put(body.bytes, RETURN_VALUE, 0);
  return body;
}

// ---- the cache
// -----------------------------------------------------------------------------------------------------

struct Key {
  const Code* code;
  int index;
  PyObject* globals;
  bool operator==(const Key& o) const { return code == o.code && index == o.index && globals == o.globals; }
};
struct KeyHash {
  size_t operator()(const Key& k) const {
    size_t h = reinterpret_cast<size_t>(k.code) >> 4;
    h = h * 1000003 ^ (reinterpret_cast<size_t>(k.globals) >> 4);
    return h * 1000003 ^ static_cast<size_t>(k.index);
  }
};
using Cache = std::unordered_map<Key, PyObject*, KeyHash>;

template <class MakeBody>
PyObject* cached_function(Cache& cache, const Code* code, int index, PyObject* globals, MakeBody make_body) {
  auto found = cache.find({code, index, globals});
  if (found != cache.end()) return found->second;
  PyObject* function = make_function(code, index, globals, make_body());
  if (function) cache.emplace(Key{code, index, globals}, function);  // the function keeps the globals alive
  return function;
}

PyObject* forwarding_function(const Code* code, int index, PyObject* globals) {
  static auto* cache = new Cache;
  return cached_function(*cache, code, index, globals, forwarding_body);
}

// ---- the callable that a forwarding function calls
// ------------------------------------------------------------------

struct Carrier {
  PyObject ob_base;
  vectorcallfunc call;
  Job* job;
  int frame;      // next virtual frame to wear
  py::Ref* worn;  // where the frame object of the call goes that wears the one before; null: nowhere
};

PyObject* carry(PyObject* self, PyObject* const*, size_t, PyObject*);

PyTypeObject* carrier_type() {
  static PyTypeObject type = [] {
    PyTypeObject t = {PyVarObject_HEAD_INIT(nullptr, 0)};
    t.tp_name = "breakline.frame_job";
    t.tp_basicsize = sizeof(Carrier);
    t.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL;
    t.tp_vectorcall_offset = offsetof(Carrier, call);
    t.tp_call = PyVectorcall_Call;
    return t;
  }();
  static const bool ready = PyType_Ready(&type) == 0;
  return ready ? &type : nullptr;
}

// Free carriers are kept; nested calls and threads each take their own.
std::vector<Carrier*>& free_carriers() {
  static auto* list = new std::vector<Carrier*>;
  return *list;
}

Carrier* take_carrier() {
  auto& list = free_carriers();
  if (!list.empty()) {
    Carrier* carrier = list.back();
    list.pop_back();
    return carrier;
  }
  PyTypeObject* type = carrier_type();
  Carrier* carrier = type ? PyObject_New(Carrier, type) : nullptr;
  if (carrier) carrier->call = carry;
  return carrier;
}

void give_back(Carrier* carrier) {
  carrier->job = nullptr;
  if (Py_REFCNT(carrier) == 1 && free_carriers().size() < 16) {
    free_carriers().push_back(carrier);
  } else {
    Py_DECREF(carrier);  // someone kept the frame's locals
  }
}

// Index of the instruction at which a virtual frame stands.
int standing_at(const State& state, size_t frame) {
  return state.frames[frame].pc - (frame + 1 < state.frames.size() ? 1 : 0);
}

// A function whose frame wears the virtual one with all its variables; made anew each time, since which of
// them are bound changes.
PyObject* function_with_variables(State& state, size_t index, const std::vector<PyObject*>& variables) {
  const Frame& frame = state.frames[index];
  Body body = forwarding_body();
  std::string unbinding;
  for (size_t slot = 0; slot < variables.size(); ++slot) {
    body.variables.push_back(frame.code->slot_name(static_cast<int>(slot)));
    if (variables[slot]) continue;
    if (slot + 1 > 255) put(unbinding, EXTENDED_ARG, static_cast<int>((slot + 1) >> 8));
    put(unbinding, DELETE_FAST, static_cast<int>((slot + 1) & 255));
  }
  body.arguments = static_cast<int>(variables.size()) + 1;
  body.bytes.insert(2, unbinding);  // behind RESUME
  return make_function(frame.code, standing_at(state, index), frame.globals, body);
}

// Extra references to the variables for the time of the call are the price.
PyObject* call_with_locals(Job& job, size_t index, Carrier* carrier) {
  std::vector<PyObject*> variables = variables_of(*job.state, index);
  py::Ref function = py::Ref::steal(function_with_variables(*job.state, index, variables));
  if (!function) return nullptr;
  std::vector<PyObject*> args{reinterpret_cast<PyObject*>(carrier)};
  for (PyObject* v : variables) args.push_back(v ? v : Py_None);
  py::Ref worn;
  carrier->worn = &worn;
  PyObject* done = PyObject_Vectorcall(function.get(), args.data(), args.size(), nullptr);
  if (!done) strip_traceback(1);
  if (!worn) return done;
  PyObject *type = nullptr, *error = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &error, &traceback);
  if (!keep_frame(*job.state, index, std::move(worn), std::move(variables)))
    PyErr_WriteUnraisable(function.get());
  PyErr_Restore(type, error, traceback);
  return done;
}

bool enter(Job& job, size_t frame) {
  State& state = *job.state;
  if (frame == state.frames.size()) {
    job.outcome = job.run(state, *job.instr);
    return job.outcome != Outcome::kRaised && job.outcome != Outcome::kReraised;
  }
  const Frame& worn = state.frames[frame];
  PyObject* function =
      job.show_locals ? Py_None : forwarding_function(worn.code, standing_at(state, frame), worn.globals);
  Carrier* carrier = function ? take_carrier() : nullptr;
  if (!carrier) return false;
  carrier->job = &job;
  carrier->frame = static_cast<int>(frame) + 1;
  carrier->worn = nullptr;
  PyObject* const args[] = {reinterpret_cast<PyObject*>(carrier)};
  PyObject* done = nullptr;
  if (job.show_locals) {
    done = call_with_locals(job, frame, carrier);
  } else {
    done = PyObject_Vectorcall(function, args, 1, nullptr);
    if (!done) strip_traceback(1);
  }
  give_back(carrier);
  if (!done) return false;
  Py_DECREF(done);
  return true;
}

PyObject* carry(PyObject* self, PyObject* const*, size_t, PyObject*) {
  auto* carrier = reinterpret_cast<Carrier*>(self);
  if (!carrier->job) {
    PyErr_SetString(PyExc_RuntimeError, "this frame has ended; call the function itself instead");
    return nullptr;
  }
  if (carrier->worn) *carrier->worn = py::Ref::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  if (!enter(*carrier->job, carrier->frame)) return nullptr;
  Py_RETURN_NONE;
}

}  // namespace

void prepare_trampolines() {
  template_code();
  carrier_type();
  PyErr_Clear();
}

Outcome run_in_frames(Job& job) {
  job.outcome = Outcome::kNext;
  if (enter(job, 0)) return job.outcome;
  return job.outcome == Outcome::kReraised ? Outcome::kReraised : Outcome::kRaised;
}

PyObject* run_native(State& state, const NativeInstruction& instruction, PyObject* const* inputs) {
  static auto* cache = new Cache;
  const Frame& frame = state.top();
  PyObject* function =
      cached_function(*cache, frame.code, frame.pc, frame.globals, [&] { return native_body(instruction); });
  if (!function) return nullptr;
  PyObject* result = PyObject_Vectorcall(function, inputs, instruction.inputs, nullptr);
  if (!result) strip_traceback(1);
  return result;
}

bool breathe(State& state) {
  static auto* cache = new Cache;
  const Frame& frame = state.top();
  PyObject* function = cached_function(*cache, frame.code, frame.pc, frame.globals, [] {
    return native_body({.opcode = NOP, .arg = 0, .inputs = 1, .outputs = 1});
  });
  PyObject* const args[] = {Py_None};
  PyObject* result = function ? PyObject_Vectorcall(function, args, 1, nullptr) : nullptr;
  if (!result) {
    if (function) strip_traceback(1);
    return false;
  }
  Py_DECREF(result);
  return true;
}

}  // namespace breakline::resume
