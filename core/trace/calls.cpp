// SPDX-License-Identifier: GPL-3.0-or-later
// Calls: inlined frames, torch operations, builtins, classes.
#include <algorithm>

#include "core/guard/equality.h"
#include "core/torch/tensor.h"
#include "core/trace/arguments.h"
#include "core/trace/builtins.h"
#include "core/trace/inline_rules.h"
#include "core/trace/level.h"
#include "core/trace/numpy_errors.h"
#include "core/trace/tensor_forms.h"
#include "core/trace/tracer.h"
#include "core/trace/types.h"
#include "core/trace/warnings_raised.h"

namespace breakline::trace {

using guard::SourceKind;
using guard::StepKind;

bool Tracer::may_inline(PyCodeObject* code, std::string* why) {
  // Decided once per code object, which stays alive for it.
  static auto* known = new std::unordered_map<PyCodeObject*, bool>;
  auto [it, fresh] = known->try_emplace(code, false);
  if (it->second) return true;
  std::string file(py::utf8(code->co_filename)), name(py::utf8(code->co_qualname));
  if (fresh) {
    Py_INCREF(code);
    it->second = is_inlined_file(file, name);
  }
  if (it->second) return true;
  *why = is_torch_file(file) ? "part of torch that is called whole" : "part of the standard library";
  return false;
}

Value* Tracer::call_nested(Value* callee, Values args, Keywords keywords) {
  if (Value* r = call(callee, std::move(args), std::move(keywords))) return r;
  return run_nested();
}

Value* Tracer::run_nested() {
  size_t base = frames_.size() - 1;
  int64_t at = outer_instruction_;
  mutated();  // whatever ran cannot be undone: a break from here on starts over
  ++nesting_;
  try {
    Value* r = run(base);
    --nesting_;
    return r;
  } catch (Break& b) {
    --nesting_;
    forced_[at] = std::move(b.info);
    throw Restart{};
  } catch (Raise&) {
    --nesting_;
    while (frames_.size() > base) frames_.pop_back();
    throw;
  } catch (...) {
    --nesting_;
    throw;
  }
}

Value* Tracer::call_method(Value* self, const char* name, Values args) {
  return call_nested(attribute(self, py::intern(name)), std::move(args));
}

PyObject* Tracer::constant_copy(Value* v) {
  std::unordered_map<Value*, PyObject*> done;
  return constant_copy(v, done);
}

PyObject* Tracer::constant_copy(Value* v, std::unordered_map<Value*, PyObject*>& done, bool scalars) {
  force(v);
  const Level level(*this, "builtin");
  if (v->kind == Kind::kNative) return v->object;
  if (v->kind != Kind::kList && v->kind != Kind::kDict)
    if (PyObject* c = constant_of(v)) return c;
  if (v->kind == Kind::kList && v->type) return nullptr;
  if (auto it = done.find(v); it != done.end()) return it->second;
  switch (v->kind) {
    case Kind::kList: {
      list_load(v);
      PyObject* l = keep_for_trace(py::check(PyList_New(0)));
      done[v] = l;
      for (Value* i : v->items) {
        PyObject* c = constant_copy(i, done, scalars);
        if (!c) return nullptr;
        py::check_status(PyList_Append(l, c));
      }
      return l;
    }
    case Kind::kTuple: {
      if (v->type) return std::string_view(v->type->tp_name) == "torch.Size" ? constant_of(v) : nullptr;
      py::Ref t = py::check(PyTuple_New(static_cast<Py_ssize_t>(v->items.size())));
      for (size_t i = 0; i < v->items.size(); ++i) {
        PyObject* c = constant_copy(v->items[i], done, scalars);
        if (!c) return nullptr;
        PyTuple_SET_ITEM(t.get(), static_cast<Py_ssize_t>(i), Py_NewRef(c));
      }
      if (auto it = done.find(v); it != done.end()) return it->second;  // made on the way, in a circle
      return done[v] = keep_for_trace(t);
    }
    case Kind::kDict: {
      if (v->type) return nullptr;
      dict_load(v);
      PyObject* d = keep_for_trace(py::check(PyDict_New()));
      done[v] = d;
      for (DictEntry& e : v->dict->entries) {
        PyObject *k = constant_of(e.key), *c = constant_copy(e.value, done, scalars);
        if (!k || !c) return nullptr;
        py::check_status(PyDict_SetItem(d, k, c));
      }
      return d;
    }
    case Kind::kLive:
    case Kind::kInstance: return scalars && behaves_as_scalar(v) ? done[v] = scalar_twin(v) : nullptr;
    default: return nullptr;
  }
}

namespace {

/// "{0.x}".format, which reads attributes of its arguments.
bool reads_attributes(PyObject* callable, const Values& args) {
  if (Py_TYPE(callable) != &PyMethodDescr_Type || !py::utf8(PyDescr_NAME(callable)).starts_with("format")) return false;
  if (args.empty() || args[0]->kind != Kind::kConstant || !PyUnicode_Check(args[0]->object)) return true;
  const std::string_view form = py::utf8(args[0]->object);
  for (size_t at = form.find('{'); at != std::string_view::npos; at = form.find('{', at + 1))
    if (form.substr(at + 1, form.find_first_of(":!}", at) - at - 1).find_first_of(".[") != std::string_view::npos) return true;
  return false;
}

}  // namespace

Value* Tracer::fold(PyObject* callable, const Values& args, const Keywords& keywords) {
  if (Value* r = number_call(callable, args, keywords)) return r;
  std::vector<PyObject*> operands;
  std::unordered_map<Value*, PyObject*> done;
  const bool scalars = !reads_attributes(callable, args);
  for (Value* v : args) {
    if (v->kind == Kind::kIterator || v->kind == Kind::kGenerator || v->kind == Kind::kDictView) v = tuple(drain(v));
    const bool object = v->kind == Kind::kInstance || v->kind == Kind::kLive;
    if (object && special_method(v, "__iter__") && name_of(callable) == "str.join") v = tuple(listed(v));
    PyObject* c = constant_copy(v, done, scalars);
    if (!c) stop("builtin", {{"function", name_of(callable)}, {"arg_types", describe(v)}});
    operands.push_back(c);
  }
  py::Ref names;
  if (!keywords.empty()) {
    names = py::check(PyTuple_New(static_cast<Py_ssize_t>(keywords.size())));
    for (size_t i = 0; i < keywords.size(); ++i) {
      Py_INCREF(keywords[i].first);
      PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(i), keywords[i].first);
      PyObject* c = constant_copy(keywords[i].second, done, scalars);
      if (!c) stop("builtin", {{"function", name_of(callable)}, {"arg_types", describe(keywords[i].second)}});
      operands.push_back(c);
    }
  }
  const bool numpy = std::any_of(operands.begin(), operands.end(), [](PyObject* o) { return guard::is_numpy_scalar_type(Py_TYPE(o)); });
  NumpyErrors raising(numpy);
  PyObject* r;
  {
    WarningsRaised warned;
    r = PyObject_Vectorcall(callable, operands.data(), args.size(), names.get());
  }
  if (!r && numpy && PyErr_ExceptionMatches(PyExc_FloatingPointError)) stop("warning", {{"qualname", "numpy"}});
  if (!r && take_warning()) stop("warning", {{"qualname", name_of(callable)}});
  return wrap(r);
}

namespace {

/// Binds arguments to the first slots; false when they don't fit.
struct Binder {
  Tracer& t;
  PyCodeObject* code;
  Values& slots;

  bool bind(Value* made, PyObject* function, SourceId source, Values& args, Keywords& keywords) {
    size_t positional = static_cast<size_t>(code->co_argcount), keyword_only = static_cast<size_t>(code->co_kwonlyargcount);
    size_t named = positional + keyword_only;
    bool varargs = code->co_flags & CO_VARARGS, varkw = code->co_flags & CO_VARKEYWORDS;
    if (args.size() > positional && !varargs) return false;
    for (size_t i = 0; i < positional && i < args.size(); ++i) slots[i] = args[i];
    if (varargs) slots[named] = t.tuple(args.size() > positional ? Values(args.begin() + static_cast<std::ptrdiff_t>(positional), args.end()) : Values());
    Value* extra = nullptr;
    if (varkw) slots[named + (varargs ? 1 : 0)] = extra = t.new_dict();
    for (auto& [name, v] : keywords) {
      bool placed = false;
      for (size_t i = static_cast<size_t>(code->co_posonlyargcount); i < named && !placed; ++i) {
        PyObject* slot_name = PyTuple_GET_ITEM(code->co_localsplusnames, static_cast<Py_ssize_t>(i));
        if (slot_name != name && PyUnicode_Compare(slot_name, name) != 0) continue;
        if (slots[i]) return false;
        slots[i] = v;
        placed = true;
      }
      if (placed) continue;
      if (!extra) return false;
      t.dict_set(extra, t.constant(name), v, false);
    }
    if (made) defaults_of_made(made, positional, keyword_only);
    else if (function) defaults_of(function, source, positional, keyword_only);
    for (size_t i = 0; i < named; ++i)
      if (!slots[i]) return false;
    return true;
  }

  void defaults_of(PyObject* function, SourceId source, size_t positional, size_t keyword_only) {
    PyObject* defaults = PyFunction_GET_DEFAULTS(function);
    size_t count = defaults ? static_cast<size_t>(PyTuple_GET_SIZE(defaults)) : 0;
    for (size_t i = positional - std::min(count, positional); i < positional; ++i) {
      if (slots[i]) continue;
      Py_ssize_t at = static_cast<Py_ssize_t>(i - (positional - count));
      slots[i] = t.live(PyTuple_GET_ITEM(defaults, at), t.child(SourceKind::kDefault, source, nullptr, at));
    }
    PyObject* keyword_defaults = PyFunction_GET_KW_DEFAULTS(function);
    if (!keyword_defaults) return;
    for (size_t i = positional; i < positional + keyword_only; ++i) {
      if (slots[i]) continue;
      PyObject* name = PyTuple_GET_ITEM(code->co_localsplusnames, static_cast<Py_ssize_t>(i));
      if (PyObject* v = PyDict_GetItem(keyword_defaults, name))
        slots[i] = t.live(v, t.child(SourceKind::kKeywordDefault, source, name));
    }
  }

  void defaults_of_made(Value* f, size_t positional, size_t keyword_only) {
    if (f->items[0]) {
      Values defaults = t.drain(f->items[0]);
      size_t count = defaults.size();
      for (size_t i = positional - std::min(count, positional); i < positional; ++i)
        if (!slots[i]) slots[i] = defaults[i - (positional - count)];
    }
    if (f->items[1])
      for (size_t i = positional; i < positional + keyword_only; ++i)
        if (!slots[i])
          slots[i] = t.dict_get(f->items[1], PyTuple_GET_ITEM(code->co_localsplusnames, static_cast<Py_ssize_t>(i)));
  }
};

/// A local or operand that holds an existing object; null when there is none.
Value* holder_of(const std::vector<std::unique_ptr<SymFrame>>& frames, PyObject* object) {
  for (const auto& f : frames)
    for (const auto* values : {&f->locals_, &f->stack})
      for (Value* v : *values)
        if (v && v->object == object && v->source >= 0 && (v->kind == Kind::kLive || v->kind == Kind::kTensor)) return v;
  return nullptr;
}

}  // namespace

PyObject* Tracer::form_of_apply(const Values& args) {
  bool needs = false;
  if (torch::current_ambient().records())
    for (Value* v : args) {
      force(v);
      needs = needs || (v->kind == Kind::kTensor && meta(v).requires_grad);
      if (v->kind == Kind::kLive && torch::is_tensor(v->object)) return nullptr;
    }
  py::Ref form = py::Ref::steal(polyfill_named(needs ? "apply_with_grad" : "apply_without_grad"));
  return form ? keep_borrowed(form.get()) : nullptr;
}

bool may_have_polyfill(PyCodeObject* code) {
  const std::string_view name = py::utf8(code->co_qualname);
  return name == "Tensor.__torch_function__" || name == "Function.apply" || name.starts_with("record_function.__") || name == "Wrap.__call__" || name == "_group_tensors_by_device_and_dtype";
}

PyObject* Tracer::polyfill(PyCodeObject* code, Values& args, const Keywords& keywords) {
  if (!may_have_polyfill(code)) return nullptr;
  const std::string_view name = py::utf8(code->co_qualname), file = py::utf8(code->co_filename);
  const char* instead = nullptr;
  if (name == "Tensor.__torch_function__" && file.ends_with("torch/_tensor.py")) {
    py::Ref function = py::Ref::steal(override_helper("torch_function_by_default"));
    return function ? keep_borrowed(function.get()) : nullptr;
  }
  if (name == "Function.apply" && file.ends_with("torch/autograd/function.py")) {
    if (!keywords.empty() || args.empty()) return nullptr;
    return form_of_apply(args);
  } else if (name.starts_with("record_function.__") && file.ends_with("torch/autograd/profiler.py")) {
    // Without a profiler it does nothing that could be seen.
    if (name.ends_with("__init__")) instead = "record_function_init";
    else if (name.ends_with("__enter__")) instead = "record_function_enter";
    else if (name.ends_with("__exit__")) instead = "record_function_exit";
    else return nullptr;
    py::Ref asks = py::Ref::steal(PyImport_ImportModule("breakline.polyfills"));
    asks = asks ? py::Ref::steal(PyObject_GetAttrString(asks.get(), "profiler_enabled")) : py::Ref();
    Value* on = asks ? query(asks.get(), {}) : nullptr;
    if (!on || constant_of(on) != Py_False) {
      PyErr_Clear();
      return nullptr;
    }
  } else if (name == "Wrap.__call__" && file.ends_with("torch/_higher_order_ops/wrap.py")) {
    instead = "call_wrapped";
  } else if (name == "_group_tensors_by_device_and_dtype" && file.ends_with("torch/utils/_foreach_utils.py")) {
    // One group: every item of the first list is a tensor of one kind.
    if (args.empty()) return nullptr;
    Values lists = drain(args[0]);
    Values first = lists.empty() ? Values() : drain(lists[0]);
    if (first.empty()) return nullptr;
    for (Value* list : lists)
      for (Value* v : drain(list)) {
        if (force(v)->kind != Kind::kTensor || force(first[0])->kind != Kind::kTensor) return nullptr;
        if (meta(v).dtype != meta(first[0]).dtype || meta(v).device != graph::DeviceKind::kCpu) return nullptr;
      }
    instead = "group_of_tensors";
  } else {
    return nullptr;
  }
  py::Ref module = py::Ref::steal(PyImport_ImportModule("breakline.polyfills"));
  py::Ref function = module ? py::Ref::steal(PyObject_GetAttrString(module.get(), instead)) : py::Ref();
  PyErr_Clear();
  return function ? keep_borrowed(function.get()) : nullptr;
}

/// The reason for a function of torch that is called whole because it runs autograd; null for others.
static const char* autograd_reason(PyCodeObject* code) {
  if (!std::string_view(py::utf8(code->co_filename)).ends_with("torch/autograd/__init__.py")) return nullptr;
  const std::string_view name = py::utf8(code->co_qualname);
  return name == "grad" ? "autograd-grad" : name == "backward" ? "backward" : nullptr;
}

bool append_by_name(PyCodeObject* code, size_t left_out, Values& args, const Keywords& keywords) {
  Values all = args;
  for (size_t left = keywords.size(); left; --left) {
    const auto place = static_cast<Py_ssize_t>(all.size() + left_out);
    if (place >= code->co_argcount) return false;
    PyObject* name = PyTuple_GET_ITEM(code->co_localsplusnames, place);
    const auto found = std::find_if(keywords.begin(), keywords.end(), [&](const auto& k) { return PyUnicode_Compare(k.first, name) == 0; });
    if (found == keywords.end()) return false;
    all.push_back(found->second);
  }
  args = std::move(all);
  return true;
}

/// Puts what Function.apply gets by name to its place among the arguments of the class's forward, as PyTorch does. Nothing is changed
/// where a name is unknown or leaves a gap, which PyTorch refuses.
static void place_keywords_of_apply(Tracer& t, PyCodeObject* code, Values& args, Keywords& keywords) {
  if (keywords.empty() || args.empty() || py::utf8(code->co_qualname) != "Function.apply") return;
  PyObject* cls = t.constant_of(args[0]);
  py::Ref forward = cls ? py::Ref::steal(PyObject_GetAttrString(cls, "forward")) : py::Ref();
  py::Ref setup = cls ? py::Ref::steal(PyObject_GetAttrString(cls, "setup_context")) : py::Ref();
  PyErr_Clear();
  if (!forward || !setup || !PyFunction_Check(forward.get()) || !PyFunction_Check(setup.get())) return;
  const bool takes_context = py::utf8(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(setup.get()))->co_qualname) == "_SingleLevelFunction.setup_context";
  auto* own = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(forward.get()));
  // What apply is given by position starts with the class, which has the place of ctx where forward takes one.
  Values placed(args.begin() + 1, args.end());
  if (!append_by_name(own, takes_context ? 1 : 0, placed, keywords)) return;
  placed.insert(placed.begin(), args[0]);
  args = std::move(placed);
  keywords.clear();
}

/// Function.apply of a class that was given to allow_in_graph: one node.
static Value* allowed_apply(Tracer& t, PyCodeObject* code, const Values& args, Keywords& keywords) {
  if (args.empty() || py::utf8(code->co_qualname) != "Function.apply") return nullptr;
  PyObject* cls = t.constant_of(args[0]);
  if (!cls || find_marker(cls).kind != MarkerKind::kAllowInGraph) return nullptr;
  py::Ref apply = py::check(PyObject_GetAttrString(cls, "apply"));
  torch::CallableInfo info;
  info.kind = torch::CallableKind::kOp;
  info.name = t.name_of(cls) + ".apply";
  info.may_fail = true;
  Values given(args.begin() + 1, args.end());
  return t.torch_call(t.keep_for_trace(apply), info, given, keywords);
}

Value* Tracer::enter(Value* function, PyObject* function_object, PyCodeObject* code, PyObject* globals, PyObject* builtins,
                     Values& args, Keywords& keywords) {
  place_keywords_of_apply(*this, code, args, keywords);
  if (Value* r = allowed_apply(*this, code, args, keywords)) return r;
  if (PyObject* instead = polyfill(code, args, keywords)) return call(constant(instead), args, keywords);
  std::string why;
  if (!may_inline(code, &why)) {
    if (const char* reason = autograd_reason(code)) stop(reason);
    // A decorator's wrapper has the name of what it wraps: that is what the user called.
    std::string qualname(py::utf8(code->co_qualname)), name(py::utf8(code->co_name));
    if (function_object && qualname.find("<locals>") != std::string::npos) {
      const std::string own = name_of(function_object);
      if (own.find("<locals>") == std::string::npos) {
        qualname = own;
        name = own.substr(own.rfind('.') + 1);
      }
    }
    stop("skipped-module", {{"qualname", qualname},
                            {"name", name},
                            {"filename", std::string(py::utf8(code->co_filename))},
                            {"reason", why}});
  }
  if (code->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR)) stop("async", {{"opname", "RETURN_GENERATOR"}});
  if (!(code->co_flags & CO_OPTIMIZED)) stop("function-call", {{"function", std::string(py::utf8(code->co_name))}});
  return push_frame(function, function_object, code, globals, builtins, args, keywords);
}

Value* Tracer::push_frame(Value* function, PyObject* function_object, PyCodeObject* code, PyObject* globals, PyObject* builtins,
                          Values& args, Keywords& keywords) {
  if (frames_.size() > static_cast<size_t>(options_.inline_depth))
    stop("deep-recursion", {{"function", std::string(py::utf8(code->co_qualname))}, {"depth", std::to_string(frames_.size())}});
  auto f = new_frame();
  f->code = bytecode::decode(code);
  f->locals_.assign(static_cast<size_t>(f->code->slot_count), nullptr);
  bool made = function->kind == Kind::kFunction;
  SourceId source = kNoSource;
  if (!made) {
    source = function->source >= 0 && function->kind != Kind::kConstant ? function->source : object_source(function_object);
    if (function->kind == Kind::kConstant) guard(StepKind::kFunctionCode, source, reinterpret_cast<PyObject*>(code));
  }
  Binder binder{*this, code, f->locals_};
  if (!binder.bind(made ? function : nullptr, function_object, source, args, keywords)) quiet("argument binding", true);
  f->function = function;
  f->globals = globals;
  f->builtins = builtins;
  f->entered_at = outer_instruction_;
  codes_.push_back(f->code);
  mutated();
  if (f->code->is_generator) {
    Value* g = make(Kind::kGenerator);
    f->generator = true;
    g->stand_in = is_form_code(f->code);
    g->created_at = outer_instruction_;
    Value* keyword_values = new_dict();
    for (auto& [name, v] : keywords) dict_set(keyword_values, constant(name), v, false);
    g->items = {function, tuple(args), keyword_values};
    g->frame = std::move(f);
    return g;
  }
  frames_.push_back(std::move(f));
  return nullptr;
}

Value* Tracer::enter_python(PyObject* o, Values& args, Keywords& keywords) {
  Value* r = enter(constant(o), o, reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(o)), PyFunction_GET_GLOBALS(o),
                   reinterpret_cast<PyFunctionObject*>(o)->func_builtins, args, keywords);
  return r ? r : Builtins::pushed();
}

Value* Tracer::super_call(Values& args) {
  Values parts = args;
  if (args.empty()) {
    SymFrame& f = top();
    Value* cell = nullptr;
    for (int i = 0; i < f.code->slot_count; ++i)
      if (f.code->is_free_slot(i) && is_name(f.code->slot_name(i), "__class__"))
        cell = f.locals_[static_cast<size_t>(i)];
    Value* self =
        f.code->code->co_argcount == 0 ? nullptr : f.locals_[0];  // the first slot is no argument then
    if (!cell || !self) quiet("super()", true);
    force(cell);
    if (self->kind == Kind::kCell || (self->kind == Kind::kLive && PyCell_Check(self->object))) {
      force(self);
      self = self->items[0];
    }
    if (cell->kind != Kind::kCell || !cell->items[0] || !self) quiet("super()", true);
    parts = {cell->items[0], self};
  }
  if (parts.size() != 2) stop("builtin", {{"function", "super"}});
  PyObject* cls = constant_of(parts[0]);
  if (!cls || !PyType_Check(cls)) quiet("super()", true);
  Value* of = force(parts[1]);
  auto* base = reinterpret_cast<PyTypeObject*>(cls);
  const bool type = of->kind == Kind::kConstant && PyType_Check(of->object) &&
                    PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(of->object), base);
  if (!type && !PyType_IsSubtype(type_of(of), base)) quiet("super()", true);
  Value* s = make(Kind::kSuper);
  s->items = std::move(parts);
  return s;
}

Value* Tracer::call(Value* callee, Values args, Keywords keywords) {
  force(callee);
  switch (callee->kind) {
    case Kind::kMethod: {
      Value* self = callee->items[1];
      force(callee->items[0]);
      if ((callee->items[0]->kind == Kind::kConstant || callee->items[0]->kind == Kind::kLive) && (self->kind == Kind::kLive || self->kind == Kind::kInstance)) {
        PyTypeObject* type = self->kind == Kind::kLive ? Py_TYPE(self->object) : reinterpret_cast<PyTypeObject*>(self->object);
        if (is_own_region_exit(callee->items[0]->object, type)) return none();
      }
      if (self->kind == Kind::kLive && callee->items[0]->object && is_python_generator(self->object)) {
        py::Ref bound = py::check(PyMethod_New(callee->items[0]->object, self->object));
        if (Value* number = draw(keep_for_trace(bound), args, keywords)) return number;
      }
      args.insert(args.begin(), callee->items[1]);
      return call(callee->items[0], std::move(args), std::move(keywords));
    }
    case Kind::kFunction:
      return enter(callee, nullptr, reinterpret_cast<PyCodeObject*>(callee->object), callee->globals, callee->builtins, args, keywords);
    case Kind::kPartial: {
      Values all = drain(callee->items[1]);
      all.insert(all.end(), args.begin(), args.end());
      Keywords merged;
      if (callee->items[2]->dict)
        for (DictEntry& e : callee->items[2]->dict->entries) {
          PyObject* name = need_constant(e.key, "keyword");
          bool overridden = false;
          for (auto& k : keywords) overridden = overridden || PyUnicode_Compare(k.first, name) == 0;
          if (!overridden) merged.emplace_back(name, e.value);
        }
      merged.insert(merged.end(), keywords.begin(), keywords.end());
      return call(callee->items[0], std::move(all), std::move(merged));
    }
    case Kind::kConstant: return call_constant(callee->object, args, keywords);
    case Kind::kLive:
    case Kind::kInstance: {
      if (callee->function_live) {
        PyObject* o = callee->object;
        if (is_run_by_torch(o) || makes_other_tensors(o)) {
          guard(StepKind::kIdentity, callee->source, o);
          return call_constant(o, args, keywords);
        }
        if (Value* r = call_while_tracing(o, args, keywords)) {
          guard(StepKind::kIdentity, callee->source, o);
          return r;
        }
        return enter(callee, o, reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(o)), PyFunction_GET_GLOBALS(o),
                     reinterpret_cast<PyFunctionObject*>(o)->func_builtins, args, keywords);
      }
      PyTypeObject* t = type_of(callee);
      if (callee->kind == Kind::kInstance && t == &_PyWeakref_RefType && args.empty() && keywords.empty()) {
        // A reference made in this trace. An object dies when the last reference goes, which a trace does not see.
        Value* target = callee->items[0];
        if (target->source < 0 ? !is_named(target) : may_have_released(callee)) stop("weak-reference", {{"class", type_of(target)->tp_name}});
        return target;
      }
      if (t == partial_type() && callee->kind == Kind::kLive) {
        auto part = [&](const char* name) {
          py::Ref r = py::check(PyObject_GetAttrString(callee->object, name));
          return live(keep_for_trace(r), child(SourceKind::kAttribute, callee->source, py::intern(name)));
        };
        Value* p = make(Kind::kPartial);
        p->items = {part("func"), force(part("args")), force(part("keywords"))};
        dict_load(p->items[2]);
        return call(p, std::move(args), std::move(keywords));
      }
      if (callee->kind == Kind::kLive && PyWeakref_CheckRef(callee->object) && args.empty() && keywords.empty() &&
          lookup(t, py::intern("__call__")) == py::type_lookup(&_PyWeakref_RefType, py::intern("__call__"))) {
        PyObject* target = PyWeakref_GetObject(callee->object);
        // An object dies when the last reference goes, which a trace does not see: the guard says how it was before.
        Value* holder = target != Py_None && may_have_released(callee) ? holder_of(frames_, target) : callee;
        if (!holder) stop("weak-reference", {{"class", Py_TYPE(target)->tp_name}});
        Value* v = live(target, child(SourceKind::kWeakTarget, callee->source));
        if (holder != callee && v->source >= 0 && v->source != holder->source) guard(StepKind::kSame, holder->source, nullptr, v->source);
        if (target == Py_None) force(v);
        return v;
      }
      if (callee->kind == Kind::kLive)
        if (py::Ref original = scripted_function(callee->object))
          return call(live(keep_for_trace(original), child(SourceKind::kAttribute, callee->source, py::intern("_torchdynamo_inline"))),
                      std::move(args), std::move(keywords));
      PyObject* f = lookup(t, py::intern("__call__"));
      if (f && PyFunction_Check(f)) {
        args.insert(args.begin(), callee);
        return call(constant(f), std::move(args), std::move(keywords));
      }
      if (!f) quiet("call", true);
      stop("callable-object", {{"class", t->tp_name}});
    }
    default: stop("function-call", {{"function", describe(callee)}});
  }
}

}  // namespace breakline::trace
