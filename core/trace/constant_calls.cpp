// SPDX-License-Identifier: GPL-3.0-or-later
// Calls of callables that are known: functions, classes, torch operations, native methods.
#include <algorithm>

#include "core/guard/equality.h"
#include "core/torch/tensor.h"
#include "core/trace/builtins.h"
#include "core/trace/inline_rules.h"
#include "core/trace/sets.h"
#include "core/trace/tensor_forms.h"
#include "core/trace/tracer.h"
#include "core/trace/types.h"
#include "core/trace/warnings_raised.h"

namespace breakline::trace {

using guard::SourceKind;
using guard::StepKind;

namespace {

/// Whether a code object has a local or a name called `name`.
bool mentions(PyCodeObject* code, const char* name) {
  for (PyObject* names : {code->co_names, code->co_localsplusnames})
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i)
      if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), name) == 0) return true;
  return false;
}

/// breakline.polyfills.attach
bool is_attach(PyObject* function) {
  if (PyUnicode_CompareWithASCIIString(reinterpret_cast<PyFunctionObject*>(function)->func_name, "attach") != 0) return false;
  static PyObject* attach = nullptr;
  if (!attach) {
    py::Ref module = py::Ref::steal(PyImport_ImportModule("breakline.polyfills"));
    attach = module ? PyObject_GetAttrString(module.get(), "attach") : nullptr;
    PyErr_Clear();
  }
  return function == attach;
}

/// torch.autograd.graph.increment_version
bool is_increment_version(PyObject* function) {
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
  return PyUnicode_CompareWithASCIIString(code->co_name, "increment_version") == 0 && py::utf8(code->co_filename).ends_with("torch/autograd/graph.py");
}

/// autograd.Function.apply of a class, where it is PyTorch's C (from 2.14 on).
bool is_function_apply(PyObject* o) {
  if (!PyCFunction_Check(o) || !PyCFunction_GET_SELF(o) || !PyType_Check(PyCFunction_GET_SELF(o)) ||
      std::string_view(reinterpret_cast<PyCFunctionObject*>(o)->m_ml->ml_name) != "apply" || !torch::available())
    return false;
  static PyObject* base = [] {
    py::Ref m = py::Ref::steal(PyImport_ImportModule("torch.autograd"));
    PyObject* found = m ? PyObject_GetAttrString(m.get(), "Function") : nullptr;
    PyErr_Clear();
    return found;
  }();
  return base && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(PyCFunction_GET_SELF(o)), reinterpret_cast<PyTypeObject*>(base));
}

/// 1 + the position of the condition when `function` is one of torch._check…, else 0.
size_t is_torch_check(PyObject* function) {
  struct Check {
    const char* name;
    size_t position;
  };
  static constexpr Check kChecks[] = {{"_check", 0},       {"_check_index", 0}, {"_check_value", 0}, {"_check_type", 0},
                                      {"_check_not_implemented", 0}, {"_check_with", 1}};
  std::string_view name = py::utf8(reinterpret_cast<PyFunctionObject*>(function)->func_name);
  if (!name.starts_with("_check")) return 0;
  std::string file = py::to_string(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function))->co_filename);
  if (!is_torch_file(file) || !file.ends_with("torch/__init__.py")) return 0;
  for (const Check& c : kChecks)
    if (name == c.name) return c.position + 1;
  return 0;
}

/// Whether a function that has come past all other rules with some arguments comes past them with any: its calls are frames of its own.
bool means_its_code_alone(PyObject* function) {
  static PyObject* const tuple_new = PyUnicode_InternFromString("_tuple_new");
  return !is_attach(function) && !may_decorate_classes(function) && !may_answer_while_tracing(function) && !is_torch_check(function) &&
         !makes_other_tensors(function) && !is_run_by_torch(function) &&
         !PyDict_GetItem(PyFunction_GET_GLOBALS(function), tuple_new) &&
         !may_have_polyfill(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function)));
}

/// Native callables whose answer on constants depends on nothing else.
bool is_pure_native(PyObject* o) {
  if (Py_TYPE(o) == &PyMethodDescr_Type || Py_TYPE(o) == &PyWrapperDescr_Type || Py_TYPE(o) == &PyClassMethodDescr_Type) {
    PyTypeObject* owner = PyDescr_TYPE(o);
    if (Py_TYPE(o) != &PyClassMethodDescr_Type && is_fixed_native_type(owner)) return true;
    if (std::string_view(owner->tp_name) == "numpy.generic") {
      constexpr std::string_view kReading[] = {"item", "astype", "tolist", "round", "conjugate", "conj", "sum", "min", "max", "mean", "any", "all", "prod", "__format__", "__round__"};
      return std::find(std::begin(kReading), std::end(kReading), py::utf8(PyDescr_NAME(o))) != std::end(kReading);
    }
    return owner == &PyUnicode_Type || owner == &PyLong_Type || owner == &PyFloat_Type || owner == &PyTuple_Type ||
           owner == &PyBytes_Type || owner == &PyBool_Type || owner == &PyRange_Type || owner == &PyComplex_Type ||
           owner == &PySlice_Type || owner == &PyFrozenSet_Type || std::string_view(owner->tp_name) == "torch.Size" ||
           std::string_view(owner->tp_name) == "torch.device" || std::string_view(owner->tp_name) == "torch.dtype";
  }
  if (!PyCFunction_Check(o)) return false;
  PyObject* self = reinterpret_cast<PyCFunctionObject*>(o)->m_self;  // of a static method: its class
  if (self && PyModule_Check(self)) {
    const char* module = PyModule_GetName(self);
    if (!module) {
      PyErr_Clear();
      return false;
    }
    std::string_view name = module;
    if (name == "_bisect") return std::string_view(reinterpret_cast<PyCFunctionObject*>(o)->m_ml->ml_name).starts_with("bisect");
    return name == "math" || name == "_operator" || name == "cmath";
  }
  return self && (guard::is_plain_constant(self) || is_fixed_native_type(Py_TYPE(self)) || (torch::available() && torch::is_torch_constant(self)) ||
                  self == reinterpret_cast<PyObject*>(&PyUnicode_Type) || self == reinterpret_cast<PyObject*>(&PyLong_Type) ||
                  self == reinterpret_cast<PyObject*>(&PyFloat_Type) || self == reinterpret_cast<PyObject*>(&PyBytes_Type));
}

/// Whether a native function is one of a module `_operator`, of which there may be more than one.
bool is_of_operator(PyObject* o) {
  PyObject* self = PyCFunction_Check(o) ? PyCFunction_GET_SELF(o) : nullptr;
  const char* name = self && PyModule_Check(self) ? PyModule_GetName(self) : nullptr;
  PyErr_Clear();
  return name && std::string_view(name) == "_operator";
}
/// The function of the module `operator` that does the same; null for other functions.
PyObject* operator_function_like(PyObject* o) {
  if (!is_of_operator(o)) return nullptr;
  PyObject* f = operator_function(reinterpret_cast<PyCFunctionObject*>(o)->m_ml->ml_name);
  return f && PyCFunction_Check(f) && PyCFunction_GET_FUNCTION(f) == PyCFunction_GET_FUNCTION(o) ? f : nullptr;
}

/// The class of `object().__str__`, which later versions don't declare.
PyTypeObject* method_wrapper_type() {
  static PyTypeObject* type = [] {
    py::Ref bound = py::check(PyObject_GetAttrString(Py_None, "__str__"));
    return Py_TYPE(bound.get());
  }();
  return type;
}

/// What the wrapper against endless recursion around a __repr__ wraps: an endless one stops the trace anyway. Null for other functions.
PyObject* unguarded_repr(PyObject* o) {
  if (!PyFunction_Check(o)) return nullptr;
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(o));
  std::string_view name = py::utf8(code->co_qualname), file = py::utf8(code->co_filename);
  const bool wrapper = (name == "_recursive_repr.<locals>.wrapper" && file.ends_with("/dataclasses.py")) ||
                       (name == "recursive_repr.<locals>.decorating_function.<locals>.wrapper" && file.ends_with("/reprlib.py"));
  PyObject* notes = reinterpret_cast<PyFunctionObject*>(o)->func_dict;
  return wrapper && notes ? PyDict_GetItemString(notes, "__wrapped__") : nullptr;
}

/// Methods whose text does not say how many arguments they take (`self` among them; most 0: any number).
struct MethodArity {
  const char *type, *name;
  size_t least, most;
  bool names = false;  ///< keywords are taken
};
constexpr MethodArity kMethodArities[] = {
    {"dict", "pop", 2, 3},        {"dict", "update", 1, 2, true},  {"dict", "__init__", 1, 2, true}, {"list", "__init__", 1, 2},
    {"set", "update", 1, 0},      {"set", "union", 1, 0},          {"set", "intersection", 1, 0},    {"set", "difference", 1, 0},
    {"set", "difference_update", 1, 0}, {"set", "intersection_update", 1, 0}, {"set", "__init__", 1, 2},
    {"collections.OrderedDict", "update", 1, 2, true},             {"collections.OrderedDict", "__init__", 1, 2, true},
    {"collections.deque", "insert", 3, 3},                         {"collections.deque", "rotate", 1, 2},
    {"collections.deque", "index", 2, 4},                          {"tuple", "index", 2, 4},
};

/// The same from a text of the form `name($self, a, b=0, /)`; true where it is of another form.
bool takes_by_text(std::string_view text, std::string_view name, size_t count, size_t keywords) {
  const size_t end = text.find(")\n--\n");
  if (!text.starts_with(name) || text.substr(name.size(), 6) != "($self" || end == std::string_view::npos) return true;
  const std::string_view list = text.substr(name.size() + 6, end - name.size() - 6);
  if (list.find('*') != std::string_view::npos || list.find('(') != std::string_view::npos) return true;
  size_t least = 1, most = 1;
  bool positional_only = false;
  for (size_t at = list.find(','); at != std::string_view::npos;) {
    const size_t next = list.find(',', at + 1);
    const std::string_view part = list.substr(at + 1, next == std::string_view::npos ? next : next - at - 1);
    at = next;
    if (part.find('/') != std::string_view::npos) positional_only = true;
    else if (++most; part.find('=') == std::string_view::npos) ++least;
  }
  return count + keywords >= least && count + keywords <= most && (keywords == 0 || !positional_only);
}

/// Whether a native method or slot wrapper can be called with so many arguments (`self` among them), as far as it says.
bool takes(PyObject* descriptor, size_t count, size_t keywords) {
  const std::string_view type = PyDescr_TYPE(descriptor)->tp_name, own_name = py::utf8(PyDescr_NAME(descriptor));
  for (const MethodArity& m : kMethodArities)
    if (type == m.type && own_name == m.name)
      return count >= m.least && (m.most == 0 || count <= m.most) && (keywords == 0 || m.names);
  if (Py_TYPE(descriptor) == &PyMethodDescr_Type) {
    const PyMethodDef* method = reinterpret_cast<PyMethodDescrObject*>(descriptor)->d_method;
    if (method->ml_flags & METH_NOARGS) return count == 1 && keywords == 0;
    if (method->ml_flags & METH_O) return count == 2 && keywords == 0;
    return !method->ml_doc || takes_by_text(method->ml_doc, own_name, count, keywords);
  }
  // Slot wrappers tell it in the first line of their text: name($self, value, /)
  const char* doc = reinterpret_cast<PyWrapperDescrObject*>(descriptor)->d_base->doc;
  const std::string_view text = doc ? doc : "";
  const size_t open = text.find("($self"), close = text.find(", /)");
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return true;
  const std::string_view names = text.substr(open, close - open);
  if (names.find('=') != std::string_view::npos || names.find('*') != std::string_view::npos) return true;
  return keywords == 0 && count == 1 + static_cast<size_t>(std::count(names.begin(), names.end(), ','));
}

}  // namespace

Value* answer_of_entry(Tracer& t, PyObject* asks, Value* tensor) {
  py::Ref answer = py::Ref::steal(PyObject_CallOneArg(asks, tensor->object));
  if (!answer) {
    PyErr_Clear();
    return nullptr;
  }
  PyObject* known = t.keep_for_trace(answer);
  Value* v = t.live(known, t.child(SourceKind::kExpression, tensor->source, t.keep_borrowed(asks)));
  if (v->kind != Kind::kLive || !PyLong_CheckExact(known)) return v;
  t.guard_type(v);
  v->dynamic = true;
  return v;
}

namespace {

/// What `asks` says of the memory of a tensor that the call brought along; null where the trace may have changed it.
Value* memory_of_entry(Tracer& t, PyObject* asks, Value* tensor) {
  t.force(tensor);
  if (tensor->kind != Kind::kTensor || tensor->source < 0 || !tensor->object) return nullptr;
  for (const graph::Node& n : t.graph()->nodes)
    for (const char* moves : {"set_", "resize_", "resize_as_", "_set_data", "swap_tensors", "as_strided_", "data ="})
      if (n.name.ends_with(moves)) return nullptr;
  return answer_of_entry(t, asks, tensor);
}

/// What a function answers whose author says that it is fixed (assume_constant_result): asked now, with the objects themselves. Null
/// where the trace has made or changed one of them.
Value* fixed_answer(Tracer& t, PyObject* function, const Values& args, const Keywords& keywords) {
  if (!t.effects().empty() || !t.graph()->nodes.empty()) return nullptr;
  py::Ref given = py::check(PyTuple_New(static_cast<Py_ssize_t>(args.size()))), words = py::check(PyDict_New());
  const auto object_of = [&](Value* v) -> PyObject* {
    t.force(v);
    if (PyObject* c = t.constant_of(v)) return c;
    const bool existing = v->source >= 0 && v->object && (v->kind == Kind::kTensor || v->kind == Kind::kLive);
    return existing ? v->object : nullptr;
  };
  for (size_t i = 0; i < args.size(); ++i) {
    PyObject* o = object_of(args[i]);
    if (!o) return nullptr;
    PyTuple_SET_ITEM(given.get(), static_cast<Py_ssize_t>(i), Py_NewRef(o));
  }
  for (const auto& [name, v] : keywords) {
    PyObject* o = object_of(v);
    if (!o) return nullptr;
    py::check_status(PyDict_SetItem(words.get(), name, o));
  }
  WarningsRaised warned;
  py::Ref answer = py::Ref::steal(PyObject_Call(function, given.get(), words.get()));
  if (!answer || !guard::is_plain_constant(answer.get())) {
    PyErr_Clear();
    return nullptr;
  }
  return t.constant(answer.get());
}

/// Arguments that a node takes as they are.
bool takes_tensors_only(Tracer& t, const Values& args, const Keywords& keywords) {
  const auto fits = [&](Value* v) {
    t.force(v);
    return v->kind == Kind::kTensor || (v->kind != Kind::kLive && v->kind != Kind::kInstance && t.is_constant(v));
  };
  return std::all_of(args.begin(), args.end(), fits) && std::all_of(keywords.begin(), keywords.end(), [&](const auto& k) { return fits(k.second); });
}
/// Whether a function is under way whose breaks don't count (nonstrict_trace).
bool is_in_nonstrict(const std::vector<std::unique_ptr<SymFrame>>& frames) {
  return std::any_of(frames.begin(), frames.end(), [](const auto& f) {
    return f->function && f->function->kind == Kind::kConstant && find_marker(f->function->object).kind == MarkerKind::kNonstrictTrace;
  });
}

}  // namespace

Value* Tracer::call_constant(PyObject* o, Values& args, Keywords& keywords) {
  if (!args.empty() && args[0]->kind == Kind::kNative && (PyFunction_Check(o) || Py_TYPE(o) == &PyMethodDescr_Type || Py_TYPE(o) == &PyWrapperDescr_Type)) {
    // A method of an object of C that was made here.
    std::string name = name_of(o);
    name = name.substr(name.rfind('.') + 1);
    if (py::type_lookup(args[0]->type, py::intern(name.c_str())) == o) {
      if (Value* r = native_call(args[0], name, args, keywords)) return r;
      stop("method-call", {{"class", args[0]->type->tp_name}, {"name", name}});
    }
  }
  if (PyCFunction_Check(o) && PyCFunction_GET_SELF(o) && is_python_generator(PyCFunction_GET_SELF(o)))
    if (Value* number = draw(o, args, keywords)) return number;
  if (has_made_) {
    bool made = false;
    for (Value* v : args) made = made || holds_made(v);
    for (const auto& [name, v] : keywords) made = made || holds_made(v);
    if (made && !PyType_Check(o))
      if (Value* r = call_of_made(o, args, keywords)) return r;
  }
  if (PyFunction_Check(o)) {
    PyCodeObject** code = plain_functions_.find(o);
    if (code && reinterpret_cast<PyObject*>(*code) == PyFunction_GET_CODE(o))
      return push_frame(constant(o), o, *code, PyFunction_GET_GLOBALS(o), reinterpret_cast<PyFunctionObject*>(o)->func_builtins, args, keywords);
  }
  if (is_function_apply(o) && keywords.empty()) {
    Values all = args;
    all.insert(all.begin(), constant(PyCFunction_GET_SELF(o)));
    if (PyObject* form = form_of_apply(all)) return call(constant(form), std::move(all), {});
  }
  if (PyCFunction_Check(o) && torch::available())
    if (Value* made = TensorForms::subclass_function(*this, o, args, keywords)) return made;
  if (PyFunction_Check(o) || PyCFunction_Check(o))
    if (makes_other_tensors(o))
      if (Value* r = call_made(o, args, keywords, false)) return r;
  if (PyFunction_Check(o))
    if (Value* r = call_with_region(o, args, keywords)) return r;
  // 1. names with a meaning of their own
  const Marker& marker = find_marker(o);
  switch (marker.kind) {
    case MarkerKind::kNone:
    case MarkerKind::kCompiledModule:
    case MarkerKind::kRegionWrapper: break;
    case MarkerKind::kGraphBreak: {
      if (is_in_nonstrict(frames_)) return none();
      std::string list, words, message = "None";
      for (Value* v : args) {
        list += (list.empty() ? "" : ", ") + describe(v);
        if (PyObject* c = constant_of(v)) message = py::to_string(c);
      }
      for (auto& [n, v] : keywords) {
        words += (words.empty() ? "'" : ", '") + std::string(py::utf8(n)) + "': " + describe(v);
        if (PyObject* c = constant_of(v)) message = py::to_string(c);
      }
      stop("graph-break", {{"args", "[" + list + "]"}, {"kwargs", "{" + words + "}"}, {"message", message}});
    }
    case MarkerKind::kSkipFrame: stop("skip-frame", {{"args", "[]"}, {"frame", top().code->name}});
    case MarkerKind::kStepUnsupported: stop("step-unsupported");
    case MarkerKind::kIsCompiling: {
      // Code that would switch to a higher-order operator with other arithmetic stays on the way it takes in eager.
      for (size_t i = frames_.size() - std::min<size_t>(frames_.size(), 3); i < frames_.size(); ++i)
        if (mentions(frames_[i]->code->code, "associative_scan")) return boolean(false);
      return boolean(is_user_file(top().code->file));
    }
    case MarkerKind::kDisable:
      stop("compiler-disable", {{"function", marker.function ? py::repr(marker.function.get()) : name_of(o)}, {"reason", marker.reason}});
    case MarkerKind::kLeafFunction: stop("function-call", {{"function", name_of(o)}});
    case MarkerKind::kNonstrictTrace:
      if (PyFunction_Check(o) && !takes_tensors_only(*this, args, keywords))
        return enter(constant(o), o, reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(o)), PyFunction_GET_GLOBALS(o),
                     reinterpret_cast<PyFunctionObject*>(o)->func_builtins, args, keywords);
      [[fallthrough]];
    case MarkerKind::kAllowInGraph: {
      torch::CallableInfo info;
      info.kind = torch::CallableKind::kOp;
      info.name = name_of(o);
      info.may_fail = true;
      return torch_call(o, info, args, keywords);
    }
    case MarkerKind::kAssumeConstant: {
      Value* answer = fixed_answer(*this, o, args, keywords);
      return answer ? answer : fold(o, args, keywords);
    }
    case MarkerKind::kRegion: break;
    case MarkerKind::kRegionEnter:
    case MarkerKind::kRegionExit: return none();
    case MarkerKind::kNonstrictCall: {  // made here: what it marks is known, and so is the result
      PyObject* of = args.size() == 1 && keywords.empty() ? constant_of(args[0]) : args.empty() && keywords.size() == 1 ? constant_of(keywords[0].second) : nullptr;
      if (of && PyFunction_Check(of)) return constant_new(PyObject_CallOneArg(o, of));
      stop("disable-call", {{"function", name_of(o)}});
    }
    case MarkerKind::kDisableCall: stop("disable-call", {{"function", name_of(o)}});
    case MarkerKind::kExport:
    case MarkerKind::kCompile: stop("function-call", {{"function", name_of(o)}});
  }
  CompiledView compiled;
  if (compiled_view(o, &compiled)) {
    PyObject* f = compiled.function;
    Value* r = enter(constant(f), f, reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(f)), PyFunction_GET_GLOBALS(f),
                     reinterpret_cast<PyFunctionObject*>(f)->func_builtins, args, keywords);
    if (!r) top().compile_root = {true, compiled.fullgraph};
    return r;
  }
  // 2. builtins with a symbolic form
  if (Value* r = Builtins::try_call(*this, o, args, keywords)) return r == Builtins::pushed() ? nullptr : r;
  // 3. torch
  if (torch::available()) {
    const torch::CallableInfo& info = torch::callable_info(o);
    if (info.kind == torch::CallableKind::kAmbientQuery || info.kind == torch::CallableKind::kBreak)
      if (Value* r = function_mode_call(info.name, args)) return r;
    if (!modes_.empty() && info.kind != torch::CallableKind::kUnknown && info.kind != torch::CallableKind::kFoldFalse && info.kind != torch::CallableKind::kMarker)
      if (Value* r = call_of_mode(o, args, keywords)) return r;
    switch (info.kind) {
      case torch::CallableKind::kUnknown: break;
      case torch::CallableKind::kOp:
      case torch::CallableKind::kFactory: {
        bool tensor = info.kind == torch::CallableKind::kFactory;
        if (info.name == "Tensor.as_subclass" && args.size() == 2 && keywords.empty() && force(args[0])->kind == Kind::kTensor)
          if (Value* r = as_subclass(args[0], args[1])) return r;
        for (Value* v : args) tensor = tensor || holds_tensor(v) || is_overriding(v);
        for (auto& [n, v] : keywords) tensor = tensor || holds_tensor(v);
        if (!tensor && is_pure_native(o)) return fold(o, args, keywords);
        return torch_call(o, info, args, keywords);
      }
      case torch::CallableKind::kFoldFalse: {
        if (!modes_.empty()) return boolean(true);
        for (Value* v : args) {
          force(v);
          if (is_overriding(v)) return boolean(true);
          if (v->kind == Kind::kTuple || v->kind == Kind::kList)
            for (Value* i : drain(v))
              if (is_overriding(force(i))) return boolean(true);
          if (v->kind == Kind::kLive && torch::is_tensor(v->object)) stop("tensor-subclass", {{"name", Py_TYPE(v->object)->tp_name}});
          if (v->kind == Kind::kTuple || v->kind == Kind::kList)
            for (Value* i : drain(v))
              if (force(i)->kind == Kind::kLive && torch::is_tensor(i->object))
                stop("tensor-subclass", {{"name", Py_TYPE(i->object)->tp_name}});
        }
        return boolean(false);
      }
      case torch::CallableKind::kFold: {
        bool tensor = false;
        for (Value* v : args) tensor = tensor || holds_tensor(v);
        if (tensor) return torch_call(o, info, args, keywords);
        return fold(o, args, keywords);
      }
      case torch::CallableKind::kAmbientQuery: return fold(o, args, keywords);
      case torch::CallableKind::kAmbientSet: {
        graph::Node node;
        for (Value* v : args) {
          need_constant(v, "ambient setting");
          node.args.push_back(argument(v));
        }
        for (auto& [n, v] : keywords) {
          need_constant(v, "ambient setting");
          node.kwargs.emplace_back(std::string(py::utf8(n)), argument(v));
        }
        node.callable = keep_borrowed(o);
        node.name = info.name;
        node.ambient = true;
        node.origin = origin();
        mutated();
        Value* r = fold(o, args, keywords);  // for real, undone when the trace is over
        graph_->nodes.push_back(std::move(node));
        log_.ambients.push_back(torch::current_ambient());
        return r;
      }
      case torch::CallableKind::kReadsValue:
      case torch::CallableKind::kBreak: {
        if (Value* answer = read_settled(o, info, args, keywords)) return answer;
        std::string list;
        for (size_t i = 1; i < args.size(); ++i) list += (i > 1 ? ", " : "") + describe(args[i]);
        std::string method = name_of(o);
        method = method.substr(method.rfind('.') + 1);
        if (info.name.ends_with(".is_inference") && args.size() == 1 && keywords.empty() && force(args[0])->kind == Kind::kTensor)
          return boolean(is_inference(args[0]->id));
        if (info.name == "Tensor.numpy" && args.size() == 1 && keywords.empty())
          if (Value* array = call_made(o, args, keywords, false)) return array;
        if (info.name == "Tensor.register_hook" && args.size() == 2 && keywords.empty())
          if (Value* handle = hook_on_tensor(args[0], args[1])) return handle;
        if (info.name == "Tensor.retain_grad" && args.size() == 1 && keywords.empty() && force(args[0])->kind == Kind::kTensor && meta(args[0]).requires_grad) {
          graph_->needs_grad = true;  // on the real tensor that autograd knows
          call_without_result(o, "retain_grad", args[0], false);
          return none();
        }
        if (info.name == "Tensor.requires_grad_" && !args.empty() && args.size() <= 2 && keywords.size() <= 1 && force(args[0])->kind == Kind::kTensor) {
          Value* flag = args.size() == 2 ? args[1] : constant(Py_True);
          for (auto& [n, v] : keywords) flag = PyUnicode_CompareWithASCIIString(n, "requires_grad") == 0 ? v : none();
          if (Value* r = require_grad(args[0], flag)) return r;
        }
        if (args.empty() && keywords.empty() && (info.name == "torch.get_num_threads" || info.name == "torch.get_num_interop_threads"))
          if (Value* number = query(o, {})) return number;
        if (args.size() == 1 && keywords.empty() && info.name == "torch.from_numpy" && force(args[0])->kind == Kind::kLive && args[0]->source >= 0 &&
            std::string_view(Py_TYPE(args[0]->object)->tp_name) == "numpy.ndarray")
          if (Value* shared = answer_of_entry(*this, o, args[0])) return shared;
        if (args.size() == 1 && keywords.empty() && (info.name == "Tensor.data_ptr" || info.name == "Tensor.untyped_storage"))
          if (Value* memory = memory_of_entry(*this, o, args[0])) return memory;
        const bool integral = !args.empty() && args[0]->kind == Kind::kTensor && !graph::is_floating(meta(args[0]).dtype) && !graph::is_complex(meta(args[0]).dtype);
        stop(std::string(info.reason), {{"value", "TensorVariable()"}, {"call", method}, {"integral", integral ? "yes" : "no"}, {"name", method}, {"args", "(" + list + ")"},
                           {"qualname", info.name}, {"op", info.name}, {"function", info.name}});
      }
      case torch::CallableKind::kMarker: return fold(o, args, keywords);
    }
  }
  if (std::string_view(Py_TYPE(o)->tp_name) == "torch.tensortype")
    if (Value* made = TensorForms::legacy_tensor(*this, o, args, keywords)) return made;
  if (Py_TYPE(o) == method_wrapper_type() && args.size() == 1 && keywords.empty() && force(args[0])->kind == Kind::kTensor) {
    // Tensor.shape.__get__, as overrides get it
    py::Ref self = py::Ref::steal(PyObject_GetAttrString(o, "__self__")), name = py::Ref::steal(PyObject_GetAttrString(o, "__name__"));
    PyErr_Clear();
    if (self && name && Py_TYPE(self.get()) == &PyGetSetDescr_Type && PyUnicode_CompareWithASCIIString(name.get(), "__get__") == 0)
      return attribute(args[0], PyDescr_NAME(self.get()));
  }
  if (PyFunction_Check(o) && args.size() == 4 && keywords.empty() && is_attach(o)) {
    if (Value* r = attach_function(args)) return r;
    stop("skipped-module", {{"qualname", "Function.apply"}, {"name", "apply"}, {"filename", "torch/autograd/function.py"},
                            {"reason", "part of torch that is called whole"}});
  }
  if (PyFunction_Check(o) && args.size() == 1 && keywords.empty() && is_increment_version(o) && force(args[0])->kind == Kind::kTensor && !is_inference(args[0]->id)) {
    call_without_result(o, "increment_version", args[0], false);
    return none();
  }
  // 4. what the standard library can answer now
  if (Value* r = decorate_class(o, args, keywords)) return r;
  if (PyObject* plain = unguarded_repr(o)) return call(constant(plain), args, keywords);
  if (PyCFunction_Check(o))
    if (Value* r = number_call(o, args, keywords)) return r;
  if (Value* r = call_while_tracing(o, args, keywords)) return r;
  // 5. Python code
  if (PyFunction_Check(o) && is_marked_constant(o)) {
    Value* answer = fixed_answer(*this, o, args, keywords);
    return answer ? answer : fold(o, args, keywords);
  }
  if (PyFunction_Check(o) && is_torch_check(o)) {
    // torch._check and the like: a condition that holds needs nothing of what they import.
    size_t at = is_torch_check(o) - 1;
    if (args.size() > at && keywords.empty()) {
      PyObject* condition = constant_of(args[at]);
      if (condition == Py_True) return none();
    }
  }
  if (PyFunction_Check(o) && !args.empty() && PyDict_GetItemString(PyFunction_GET_GLOBALS(o), "_tuple_new")) {
    // super().__new__(cls, …) of a named tuple's subclass
    PyObject* cls = constant_of(args[0]);
    auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(o));
    if (cls && PyType_Check(cls) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), &PyTuple_Type) &&
        code->co_argcount > 0 &&
        PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(code->co_localsplusnames, 0), "_cls") == 0)
      return named_tuple(reinterpret_cast<PyTypeObject*>(cls), o, Values(args.begin() + 1, args.end()),
                         keywords);
  }
  if (PyFunction_Check(o)) {
    // The setter behind PyTorch's own region class: the policy is read from the region itself.
    std::string_view name = py::utf8(reinterpret_cast<PyFunctionObject*>(o)->func_name);
    if (name == "_set_error_on_graph_break") return none();
    if (name == "_get_error_on_graph_break") return boolean(false);
  }
  if (PyFunction_Check(o)) {
    auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(o));
    Value* r = enter(constant(o), o, code, PyFunction_GET_GLOBALS(o), reinterpret_cast<PyFunctionObject*>(o)->func_builtins, args, keywords);
    if (means_its_code_alone(o)) plain_functions_.set(o, code);
    return r;
  }
  if (Py_TYPE(o) == &PyWrapperDescr_Type && PyDescr_TYPE(o) == &PyFunction_Type && args.size() >= 2 &&
      force(args[0])->kind == Kind::kConstant && PyFunction_Check(args[0]->object) && PyUnicode_CompareWithASCIIString(PyDescr_NAME(o), "__get__") == 0) {
    if (Value* bound = bound_by_get(args[0], args)) return bound;
    quiet("function.__get__", true);
  }
  if (Py_TYPE(o) == &PyMethodDescr_Type && PyDescr_TYPE(o) == &PyContextVar_Type && args.size() == 1 && keywords.empty() &&
      PyUnicode_CompareWithASCIIString(PyDescr_NAME(o), "get") == 0) {
    Value* var = force(args[0]);
    if (var->kind == Kind::kLive && var->source >= 0) {
      guard(StepKind::kIdentity, var->source, var->object);
      py::Ref get = py::check(PyObject_GetAttrString(var->object, "get"));
      py::Ref now = py::Ref::steal(PyObject_CallNoArgs(get.get()));
      if (now) {
        py::Ref question = py::check(PyTuple_Pack(1, get.get()));
        return live(keep_for_trace(now), child(SourceKind::kQuery, kNoSource, keep_for_trace(question)));
      }
      PyErr_Clear();
    }
  }
  if (!PyType_Check(o))
    if (Value* made = native_object(o, args, keywords)) return made;
  if (Py_TYPE(o) == &PyMethodDescr_Type || Py_TYPE(o) == &PyWrapperDescr_Type) {
    if (!args.empty()) {
      force(args[0]);
      if (args[0]->kind != Kind::kConstant || PyType_Check(args[0]->object)) {
        std::string name(py::utf8(PyDescr_NAME(o)));
        if (!takes(o, args.size(), keywords.size())) quiet("argument binding", true);
        if (name == "__init__" && args[0]->kind == Kind::kLive && PyDescr_TYPE(o) != &PyBaseObject_Type && !args[0]->exception &&
            (!payload(args[0]) || payload(args[0])->type == deque_type()))
          stop("method-call", {{"class", type_of(args[0])->tp_name}, {"name", name}});
        if (Value* r = scalar_method(o, args, keywords)) return r;
        if (Value* r = container_method(args[0], name.c_str(), args, keywords, PyDescr_TYPE(o))) return r;
        stop("method-call", {{"class", type_of(args[0])->tp_name}, {"name", name}});
      }
    }
  }
  if (Py_TYPE(o) == &PyClassMethodDescr_Type && !args.empty()) {
    PyObject* cls = constant_of(args[0]);
    if (cls && PyType_Check(cls)) {
      py::Ref bound = py::check(PyObject_GetAttr(cls, PyDescr_NAME(o)));
      Values rest(args.begin() + 1, args.end());
      keep_borrowed(bound.get());
      return call_constant(bound.get(), rest, keywords);
    }
  }
  if (PyMethod_Check(o)) return call(method(constant(PyMethod_GET_FUNCTION(o)), live(PyMethod_GET_SELF(o), object_source(PyMethod_GET_SELF(o)))), args, keywords);
  if (PyType_Check(o)) return instantiate(reinterpret_cast<PyTypeObject*>(o), args, keywords);
  if (Py_TYPE(o) == &PyMethodDescr_Type && PyDescr_TYPE(o) == &PyFrozenSet_Type && args.size() == 2 && keywords.empty()) {
    // A frozenset that is known against a set, a list or an iterator of the trace.
    PyObject* self = constant_of(args[0]);
    const std::string_view name = py::utf8(PyDescr_NAME(o));
    if (self && (name == "issubset" || name == "issuperset" || name == "isdisjoint") && !constant_of(args[1])) {
      if (name != "issubset" && runs_for_items(force(args[1])))
        return boolean(name == "isdisjoint" ? meets_none(*this, args[0], args[1]) : holds_all(*this, args[0], args[1]));
      if (PyObject* other = set_operand(args[1])) return constant_new(PyObject_CallFunctionObjArgs(o, self, other, nullptr));
    }
  }
  if (Value* made = new_of_base(o, args, keywords)) return made;
  if (is_pure_native(o)) {
    if (PyObject* shared = operator_function_like(o); shared && shared != o) return call_constant(shared, args, keywords);
    if (is_of_operator(o)) {
      // Of values only: containers are changed, gone through in part or handed on as they are.
      for (Value* v : args)
        if (PyObject* c = constant_of(v); !c || !guard::is_plain_constant(c))
          stop("builtin", {{"function", name_of(o)}, {"arg_types", describe(v)}});
    }
    for (Value* v : args)
      if (!is_constant(v) && torch::available() && holds_tensor(v)) stop("builtin", {{"function", name_of(o)}, {"arg_types", describe(v)}});
    return fold(o, args, keywords);
  }
  if (std::string_view(Py_TYPE(o)->tp_name).ends_with("functools._lru_cache_wrapper"))
    if (Value* r = call_cached(o, args, keywords)) return r;
  if (Value* r = Builtins::try_native_method(*this, o, args, keywords)) return r;
  std::string module;
  PyObject* of_type = PyCFunction_Check(o) ? PyCFunction_GET_SELF(o) : nullptr;
  if (of_type && (of_type == reinterpret_cast<PyObject*>(&PyBaseObject_Type) || of_type == reinterpret_cast<PyObject*>(&PyDict_Type) ||
                  of_type == reinterpret_cast<PyObject*>(&PyList_Type)) &&
      std::string_view(reinterpret_cast<PyCFunctionObject*>(o)->m_ml->ml_name) == "__new__" && !args.empty()) {
    PyObject* cls = need_constant(args[0], "class");
    if (!PyType_Check(cls)) quiet("object.__new__", true);
    auto* made = reinterpret_cast<PyTypeObject*>(cls);
    const bool excess = args.size() > 1 || !keywords.empty();
    if (excess && of_type == reinterpret_cast<PyObject*>(&PyBaseObject_Type) &&
        (made->tp_new != PyBaseObject_Type.tp_new || made->tp_init == PyBaseObject_Type.tp_init))
      quiet("argument binding", true);
    if (lookup(made, py::intern("__del__"))) stop("constructor", {{"class", made->tp_name}});
    for (PyTypeObject* t = made; t && !payload_base(made); t = t->tp_base)
      if (!(t->tp_flags & Py_TPFLAGS_HEAPTYPE) && t != &PyBaseObject_Type) stop("constructor", {{"class", made->tp_name}});
    return new_instance(made);
  }
  if (PyCFunction_Check(o)) {
    py::Ref m = py::Ref::steal(PyObject_GetAttrString(o, "__module__"));
    if (m && PyUnicode_Check(m.get())) module = py::to_string(m.get());
    PyErr_Clear();
    return Builtins::refuse(*this, o, module, args, keywords);
  }
  if (py::Ref original = scripted_function(o)) return call(constant(original.get()), args, keywords);
  if (Py_TYPE(o)->tp_call) {
    // An object known by identity: its class decides.
    PyObject* f = lookup(Py_TYPE(o), py::intern("__call__"));
    if (f && PyFunction_Check(f)) {
      args.insert(args.begin(), constant(o));
      return call(constant(f), args, keywords);
    }
  }
  if (Py_TYPE(o) == &Py_GenericAliasType) {
    // `list[int]()`: what is made can't be told where it came from (`__orig_class__`).
    PyObject* origin = keep_for_trace(py::check(PyObject_GetAttrString(o, "__origin__")));
    if (PyType_Check(origin)) {
      auto* t = reinterpret_cast<PyTypeObject*>(origin);
      if ((t->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) && !(t->tp_flags & Py_TPFLAGS_MANAGED_DICT) && !t->tp_dictoffset) return call(constant(origin), args, keywords);
    }
  }
  if (!PyCallable_Check(o)) quiet("call", true);
  stop("callable-object", {{"class", Py_TYPE(o)->tp_name}});
}

}  // namespace breakline::trace
