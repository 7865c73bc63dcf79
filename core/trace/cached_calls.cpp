// SPDX-License-Identifier: GPL-3.0-or-later
// Calls of functions behind functools.lru_cache: with constant arguments and a body that acts on nothing
// outside, the cached result is as good as a constant.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <unordered_set>

#include "core/bytecode/code.h"
#include "core/guard/equality.h"
#include "core/trace/inline_rules.h"
#include "core/trace/tracer.h"
#include "core/trace/types.h"

namespace breakline::trace {

namespace {

using bytecode::Op;

/// Modules whose functions answer without acting on the outside.
constexpr std::array<std::string_view, 22> kQuietModules = {
    "math", "operator",  "itertools", "functools", "collections", "re",      "string",      "typing",
    "sys",  "importlib", "packaging", "torch",     "numpy",       "inspect", "dataclasses", "types",
    "copy", "enum",      "numbers",   "abc",       "textwrap",    "platform"};
constexpr std::array<std::string_view, 11> kActingBuiltins = {"print",   "open",    "input",     "exec",
                                                              "eval",    "globals", "locals",    "setattr",
                                                              "delattr", "vars",    "breakpoint"};
constexpr int kDeepest = 6;

bool is_quiet_module(PyObject* module) {
  const char* text = PyModule_GetName(module);
  if (!text) {
    PyErr_Clear();
    return false;
  }
  std::string_view name = text;
  name = name.substr(0, name.find('.'));
  return std::find(kQuietModules.begin(), kQuietModules.end(), name) != kQuietModules.end();
}

/// A global that may hold something else the next time; both are kept for good.
struct Variable {
  PyObject *globals, *name;
};

class PurityCheck {
 public:
  /// The globals read that may hold something else the next time.
  const std::vector<Variable>& variables() const { return variables_; }
  /// There are others: in cells, or behind caches of their own.
  bool reads_hidden_variables() const { return cell_variables_ || (caches_ > 0 && !variables_.empty()); }
  bool function(PyObject* f, int depth) {
    if (depth > kDeepest) return false;
    if (!seen_.insert(f).second) return true;
    auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(f));
    if (code->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR)) return false;
    PyObject* closure = PyFunction_GET_CLOSURE(f);
    for (Py_ssize_t i = 0; closure && i < PyTuple_GET_SIZE(closure); ++i) {
      PyObject* content = PyCell_GET(PyTuple_GET_ITEM(closure, i));
      if (content && !object(content, depth)) return false;
      cell_variables_ = cell_variables_ || is_variable(content);
    }
    return body(code, f, depth);
  }

 private:
  /// The code and the code objects inside it (comprehensions, inner functions).
  bool body(PyCodeObject* code, PyObject* f, int depth) {
    const bytecode::Code* decoded = bytecode::decode(code);
    for (const bytecode::Instr& in : decoded->instrs) {
      if (in.op == Op::kStoreGlobal || in.op == Op::kDeleteGlobal) return false;
      if ((in.op == Op::kStoreDeref || in.op == Op::kDeleteDeref) &&
          in.arg >= decoded->slot_count - static_cast<int>(decoded_free(code)))
        return false;
      if (in.op == Op::kLoadGlobal && !global(f, in.object, depth)) return false;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_consts); ++i) {
      PyObject* c = PyTuple_GET_ITEM(code->co_consts, i);
      if (PyCode_Check(c) && !body(reinterpret_cast<PyCodeObject*>(c), f, depth + 1)) return false;
    }
    return true;
  }
  static Py_ssize_t decoded_free(PyCodeObject* code) { return PyCode_GetNumFree(code); }

  bool global(PyObject* f, PyObject* name, int depth) {
    PyObject* found = PyDict_GetItemWithError(PyFunction_GET_GLOBALS(f), name);
    if (found && is_variable(found)) variables_.push_back({Py_NewRef(PyFunction_GET_GLOBALS(f)), Py_NewRef(name)});
    if (found) return object(found, depth);
    PyObject* builtins = reinterpret_cast<PyFunctionObject*>(f)->func_builtins;
    found = PyDict_GetItemWithError(builtins, name);
    PyErr_Clear();
    std::string_view text = py::utf8(name);
    return found && std::find(kActingBuiltins.begin(), kActingBuiltins.end(), text) == kActingBuiltins.end();
  }

  bool object(PyObject* o, int depth) {
    if (guard::is_plain_constant(o) || PyType_Check(o) || PyCFunction_Check(o)) return true;
    if (PyModule_Check(o)) return is_quiet_module(o);
    if (PyTuple_Check(o)) {
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i)
        if (!object(PyTuple_GET_ITEM(o, i), depth)) return false;
      return true;
    }
    if (std::string_view(Py_TYPE(o)->tp_name).ends_with("functools._lru_cache_wrapper")) {
      py::Ref inner = py::Ref::steal(PyObject_GetAttrString(o, "__wrapped__"));
      PyErr_Clear();
      ++caches_;
      return inner && PyFunction_Check(inner.get()) && function(inner.get(), depth + 1);
    }
    if (!PyFunction_Check(o)) return false;
    auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(o));
    std::string file(py::utf8(code->co_filename));
    if (!is_user_file(file))
      return is_inlined_file(file, py::to_string(code->co_qualname)) ||
             file.find("/packaging/") != std::string::npos;
    return function(o, depth + 1);
  }

  static bool is_variable(PyObject* o) { return o && !PyType_Check(o) && !PyModule_Check(o) && !PyCallable_Check(o); }

  std::unordered_set<PyObject*> seen_;
  std::vector<Variable> variables_;
  bool cell_variables_ = false;
  int caches_ = 0;
};

/// What is known of a function; kept for good, with a reference: an address must not be reused.
struct Purity {
  bool pure = false, hidden_variables = false;
  std::vector<Variable> variables;
};
const Purity& purity_of(PyObject* function) {
  static auto* known = new std::unordered_map<PyObject*, Purity>;
  auto [it, fresh] = known->try_emplace(function);
  if (!fresh) return it->second;
  Py_INCREF(function);
  PurityCheck check;
  const bool pure = is_marked_constant(function) || check.function(function, 0);
  return it->second = {pure, check.reads_hidden_variables(), check.variables()};
}

/// Whether two results of one function say the same: constants, containers of them and plain objects that hold such, to a depth.
bool alike(PyObject* a, PyObject* b, int depth = 0) {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b) || depth > kDeepest) return false;
  if (guard::is_plain_constant(a)) return guard::same_constant(a, b);
  const auto parts = [&](PyObject* x, PyObject* y) {
    const py::Ref p = py::Ref::steal(PySequence_List(x)), q = py::Ref::steal(PySequence_List(y));
    bool same = p && q && PyList_GET_SIZE(p.get()) == PyList_GET_SIZE(q.get());
    for (Py_ssize_t i = 0; same && i < PyList_GET_SIZE(p.get()); ++i) same = alike(PyList_GET_ITEM(p.get(), i), PyList_GET_ITEM(q.get(), i), depth + 1);
    return same;
  };
  const auto entries = [&](PyObject* x, PyObject* y) {
    const py::Ref p = py::Ref::steal(PyDict_Items(x)), q = py::Ref::steal(PyDict_Items(y));
    return p && q && parts(p.get(), q.get());
  };
  if (PyTuple_CheckExact(a) || PyList_CheckExact(a)) return parts(a, b);
  if (PyDict_CheckExact(a)) return entries(a, b);
  // An instance of a class of Python code whose attributes are all there is.
  PyTypeObject* type = Py_TYPE(a);
  const bool plain = (type->tp_flags & Py_TPFLAGS_HEAPTYPE) && type->tp_new == PyBaseObject_Type.tp_new && !PyType_Check(a);
  if (!plain || py::type_lookup(type, py::intern("__slots__"))) return false;
  const py::Ref p = py::Ref::steal(PyObject_GenericGetDict(a, nullptr)), q = py::Ref::steal(PyObject_GenericGetDict(b, nullptr));
  PyErr_Clear();
  return p && q && entries(p.get(), q.get());
}

}  // namespace

bool is_marked_constant(PyObject* function) {
  PyObject* d = reinterpret_cast<PyFunctionObject*>(function)->func_dict;
  return d && PyDict_GetItem(d, py::intern("_dynamo_marked_constant")) == Py_True;
}

bool acts_on_nothing_outside(PyObject* function) {
  return purity_of(function).pure;
}

/// A call of a function that acts outside, such as a warning given once: nothing happens when its cache has the answer.
Value* Tracer::cached_answer(PyObject* wrapper, const Values& args) {
  std::vector<PyObject*> operands = {wrapper};
  for (Value* v : args) {
    PyObject* operand = constant_of(v);
    // Objects that are told apart by identity, loggers for one.
    const bool by_identity = !operand && v->kind == Kind::kLive && v->source >= 0 && !v->dynamic && Py_TYPE(v->object)->tp_hash == PyBaseObject_Type.tp_hash &&
                             Py_TYPE(v->object)->tp_richcompare == PyBaseObject_Type.tp_richcompare;
    if (by_identity) {
      guard(guard::StepKind::kIdentity, v->source, v->object);
      operand = v->object;
    }
    if (!operand) return nullptr;
    operands.push_back(operand);
  }
  static PyObject* ask = polyfill_named("not_cached");
  Value* answer = ask ? query(ask, operands) : nullptr;
  return answer && answer->object != ask ? answer : nullptr;
}

Value* Tracer::call_cached(PyObject* wrapper, Values& args, Keywords& keywords) {
  py::Ref inner = py::check(PyObject_GetAttrString(wrapper, "__wrapped__"));
  if (!PyFunction_Check(inner.get())) return nullptr;
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(inner.get()));
  if (is_user_file(py::to_string(code->co_filename)) && !acts_on_nothing_outside(inner.get()))
    return keywords.empty() ? cached_answer(wrapper, args) : nullptr;
  // A name of the trace's own that does not stand for anything yet, such as the function's in a recursive one: the call would fail, and
  // count as a miss.
  PyObject* closure = PyFunction_GET_CLOSURE(inner.get());
  for (Py_ssize_t i = 0; closure && i < PyTuple_GET_SIZE(closure); ++i)
    if (!PyCell_GET(PyTuple_GET_ITEM(closure, i))) return nullptr;
  auto operand = [&](Value* v) -> PyObject* {
    if (PyObject* c = constant_of(v)) return c;
    // An earlier result of such a function, or what a module holds under a guard on its identity.
    const bool fixed = v->kind == Kind::kLive && v->source >= 0 &&
                       sources_[v->source].kind == guard::SourceKind::kObject && !v->dynamic;
    return fixed ? v->object : nullptr;
  };
  std::vector<PyObject*> operands;
  for (Value* v : args) operands.push_back(operand(v));
  py::Ref names;
  if (!keywords.empty()) {
    names = py::check(PyTuple_New(static_cast<Py_ssize_t>(keywords.size())));
    for (size_t i = 0; i < keywords.size(); ++i) {
      PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(i), Py_NewRef(keywords[i].first));
      operands.push_back(operand(keywords[i].second));
    }
  }
  if (std::find(operands.begin(), operands.end(), nullptr) != operands.end()) return keywords.empty() ? cached_answer(wrapper, args) : nullptr;
  // The cache may be cleared and a variable changed, and what is cached may be older than the variables.
  static const Purity kNothingRead;
  const Purity& reads = is_user_file(py::to_string(code->co_filename)) ? purity_of(inner.get()) : kNothingRead;
  if (reads.hidden_variables) {  // each call asks again, and sees what was written before
    if (!effects_.empty() || !touched_.empty() || !keywords.empty()) return nullptr;
    return query(wrapper, operands);
  }
  for (const Variable& variable : reads.variables) {
    Value* globals = force(live(variable.globals, object_source(variable.globals)));
    globals->type_guarded = true;
    PyObject* now = PyDict_GetItemWithError(variable.globals, variable.name);
    Value* seen = now ? dict_get(globals, constant(variable.name)) : nullptr;
    PyObject* known = seen ? constant_of(seen) : nullptr;
    if (!known || !alike(known, now)) return nullptr;
  }
  py::Ref result = py::Ref::steal(PyObject_Vectorcall(wrapper, operands.data(), args.size(), names.get()));
  if (!result) {
    PyErr_Clear();
    return nullptr;
  }
  if (!reads.variables.empty()) {
    const py::Ref fresh = py::Ref::steal(PyObject_Vectorcall(inner.get(), operands.data(), args.size(), names.get()));
    PyErr_Clear();
    if (!fresh || !alike(result.get(), fresh.get())) return nullptr;
  }
  if (guard::is_plain_constant(result.get())) return wrap(result.release());
  SourceId source = object_source(result.get());
  return live(keep_for_trace(result), source);
}

}  // namespace breakline::trace
