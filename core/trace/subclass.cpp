// SPDX-License-Identifier: GPL-3.0-or-later
// Tensors of classes with a __torch_function__ of their own, and what Python code keeps on tensors.
#include <unordered_map>

#include "core/torch/tensor.h"
#include "core/trace/inline_rules.h"
#include "core/trace/tracer.h"
#include "core/trace/types.h"

namespace breakline::trace {

using guard::StepKind;

namespace {

/// `name` of a module that is imported, kept for good; null when there is none.
PyObject* attribute_of_module(const char* module_name, const char* name) {
  py::Ref module = py::Ref::steal(PyImport_ImportModule(module_name));
  py::Ref found = module ? py::Ref::steal(PyObject_GetAttrString(module.get(), name)) : py::Ref();
  if (!found) PyErr_Clear();
  return found.release();
}

PyTypeObject* tensor_class() {
  static PyObject* type = attribute_of_module("torch", "Tensor");
  return reinterpret_cast<PyTypeObject*>(type);
}

PyObject* no_override() {
  static PyObject* function = attribute_of_module("torch._C", "_disabled_torch_function_impl");
  return function;
}

/// The raw class attribute says that calls go past the class.
bool is_no_override(PyObject* attribute) {
  if (!attribute) return true;
  if (Py_TYPE(attribute) == &PyStaticMethod_Type || Py_TYPE(attribute) == &PyClassMethod_Type) {
    py::Ref function = py::Ref::steal(PyObject_GetAttrString(attribute, "__func__"));
    PyErr_Clear();
    return function.get() == no_override();
  }
  return attribute == no_override();
}

/// Stands in for operands when PyTorch is asked what it would hand to an override.
struct Question {
  Tracer& t;
  std::unordered_map<PyObject*, Value*> known;
  std::vector<py::Ref> kept;

  PyObject* keep(py::Ref object, Value* v) {
    if (!object) {
      PyErr_Clear();
      return nullptr;
    }
    PyObject* o = object.get();
    kept.push_back(std::move(object));
    known.emplace(o, v);
    return o;
  }
  /// Borrowed; null when the operand has no such form.
  PyObject* of(Value* v) {
    t.force(v);
    for (const auto& [object, value] : known)
      if (value == v) return object;
    if (v->kind == Kind::kTensor || t.is_overriding(v)) {
      const bool overrides = t.overrides_by_class(v);
      static PyObject* tensor_probe = override_helper("tensor_probe");
      static PyObject* object_probe = override_helper("ObjectProbe");
      if (v->kind != Kind::kTensor)
        return keep(py::Ref::steal(object_probe ? PyObject_CallNoArgs(object_probe) : nullptr), v);
      py::Ref twin = py::Ref::steal(torch::fresh_meta_twin(t.meta(v)));
      if (twin && overrides)
        twin = py::Ref::steal(tensor_probe ? PyObject_CallOneArg(tensor_probe, twin.get()) : nullptr);
      return keep(std::move(twin), v);
    }
    if (v->kind == Kind::kTuple || v->kind == Kind::kList || v->kind == Kind::kSlice) {
      if (v->type) return nullptr;
      if (v->kind == Kind::kList) t.list_load(v);
      py::Ref made = py::check(PyList_New(0));
      for (Value* i : v->items) {
        PyObject* o = i ? of(i) : Py_None;
        if (!o || PyList_Append(made.get(), o) < 0) return nullptr;
      }
      if (v->kind == Kind::kTuple) made = py::check(PyList_AsTuple(made.get()));
      if (v->kind == Kind::kSlice)
        made = py::check(PySlice_New(PyList_GET_ITEM(made.get(), 0), PyList_GET_ITEM(made.get(), 1),
                                     PyList_GET_ITEM(made.get(), 2)));
      return keep(std::move(made), v);
    }
    PyObject* c = t.constant_of(v);
    if (c) known.emplace(c, v);
    return c;
  }
  /// What was handed over, as values again.
  Value* back(PyObject* o) {
    if (auto it = known.find(o); it != known.end()) return it->second;
    if (PyTuple_CheckExact(o) || PyList_CheckExact(o)) {
      Values items;
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
        items.push_back(back(PySequence_Fast_GET_ITEM(o, i)));
      return PyTuple_CheckExact(o) ? t.tuple(std::move(items)) : t.list(std::move(items));
    }
    if (PyDict_CheckExact(o)) {
      Value* d = t.new_dict();
      PyObject *key = nullptr, *value = nullptr;
      Py_ssize_t at = 0;
      while (PyDict_Next(o, &at, &key, &value)) t.dict_set(d, t.constant(key), back(value), false);
      return d;
    }
    return t.constant(o);
  }
};

}  // namespace

PyObject* override_helper(const char* name) {
  static const bool registered = [] {
    for (const char* setter : {"disable_overrides", "enable_overrides"}) {
      torch::CallableInfo info;
      info.kind = torch::CallableKind::kAmbientSet;
      info.name = setter;
      if (PyObject* function = attribute_of_module("breakline.polyfills", setter))
        torch::register_callable(function, std::move(info));
    }
    return true;
  }();
  return registered ? attribute_of_module("breakline.polyfills", name) : nullptr;
}

bool is_traced_subclass(PyTypeObject* type) {
  if (!tensor_class() || type == tensor_class() || !PyType_IsSubtype(type, tensor_class())) return false;
  static auto* known = new std::unordered_map<PyTypeObject*, std::pair<unsigned, bool>>;
  auto& [version, answer] = (*known)[type];
  if (version && version == type->tp_version_tag) return answer;
  Py_INCREF(type);
  answer = true;
  py::Ref module = py::Ref::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__module__"));
  PyErr_Clear();
  const std::string home =
      module && PyUnicode_Check(module.get()) ? std::string(py::utf8(module.get())) : "torch";
  if (home == "torch" || home.starts_with("torch.")) answer = false;
  for (const char* own : {"__torch_dispatch__", "__getattribute__", "__getattr__", "__setattr__",
                          "__delattr__", "__del__", "__slots__"})
    if (py::type_lookup(type, py::intern(own)) != py::type_lookup(tensor_class(), py::intern(own)))
      answer = false;
  version = type->tp_version_tag;
  return answer;
}

bool Tracer::is_overriding(Value* v) {
  return (v->kind == Kind::kTensor && !modes_.empty()) || overrides_by_class(v);
}

bool Tracer::overrides_by_class(Value* v) {
  if (!torch::available()) return false;
  if (v->kind == Kind::kTensor) {
    if (v->type == tensor_class() || is_parameter_class(v->type)) return false;
    return !is_no_override(lookup(v->type, py::intern("__torch_function__"))) &&
           torch::current_ambient().torch_function_enabled;
  }
  if (v->kind != Kind::kInstance && v->kind != Kind::kLive) return false;
  PyTypeObject* type =
      v->kind == Kind::kLive ? Py_TYPE(v->object) : reinterpret_cast<PyTypeObject*>(v->object);
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || (v->kind == Kind::kLive && torch::is_tensor(v->object)))
    return false;
  PyObject* own = py::type_lookup(type, py::intern("__torch_function__"));
  if (is_no_override(own) || !torch::current_ambient().torch_function_enabled) return false;
  type_of(v);
  lookup(type, py::intern("__torch_function__"));
  return true;
}

namespace {

/// The operands of a call as PyTorch can be asked about them, and what it would hand to an override.
struct Asking {
  Question q;
  py::Ref answer;  ///< None: PyTorch asks nobody

  /// False when an operand has no such form.
  bool ask(const char* how, PyObject* callable, const Values& args, const Keywords& keywords) {
    py::Ref given = py::check(PyTuple_New(static_cast<Py_ssize_t>(args.size())));
    for (size_t i = 0; i < args.size(); ++i) {
      PyObject* o = q.of(args[i]);
      if (!o) return false;
      PyTuple_SET_ITEM(given.get(), static_cast<Py_ssize_t>(i), Py_NewRef(o));
    }
    py::Ref words = py::check(PyDict_New());
    for (auto& [name, v] : keywords) {
      PyObject* o = q.of(v);
      if (!o) return false;
      py::check_status(PyDict_SetItem(words.get(), name, o));
    }
    PyObject* helper = override_helper(how);
    if (!helper) return false;
    answer =
        py::Ref::steal(PyObject_CallFunctionObjArgs(helper, callable, given.get(), words.get(), nullptr));
    Py_DECREF(helper);
    if (!answer) {
      PyErr_Clear();
      q.t.quiet("a call that an override is asked about", true);
    }
    return true;
  }
};

}  // namespace

Value* Tracer::call_of_mode(PyObject* callable, Values& args, Keywords& keywords) {
  const auto give_up = [&] { stop("torch-function-mode", {{"class", type_of(modes_.back().mode)->tp_name}}); };
  if (!torch::current_ambient().torch_function_enabled) give_up();
  for (Value* v : args)
    if (overrides_by_class(force(v))) give_up();
  for (auto& [name, v] : keywords)
    if (overrides_by_class(force(v))) give_up();
  Asking asking{{*this, {}, {}}, {}};
  if (!asking.ask("ask_mode", callable, args, keywords)) give_up();
  if (asking.answer.get() == Py_None) return nullptr;
  keep_for_trace(asking.answer);
  Values handed;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(asking.answer.get()); ++i)
    handed.push_back(asking.q.back(PyTuple_GET_ITEM(asking.answer.get(), i)));
  for (py::Ref& r : asking.q.kept) transient_.push_back(std::move(r));
  // The mode is off while it answers.
  struct Off {
    Tracer& t;
    EnteredMode mode;
    explicit Off(Tracer& tracer) : t(tracer), mode(std::move(tracer.modes_.back())) { t.modes_.pop_back(); }
    ~Off() { t.modes_.push_back(std::move(mode)); }
  } off(*this);
  Value* result = call_nested(attribute(off.mode.mode, py::intern("__torch_function__")), std::move(handed));
  if (constant_of(result) == Py_NotImplemented) quiet("__torch_function__", true);
  return result;
}

Value* Tracer::overridden_call(PyObject* callable, Values& args, Keywords& keywords) {
  if (!modes_.empty())
    if (Value* r = call_of_mode(callable, args, keywords)) return r;
  Value* first = nullptr;
  bool mixed = false;
  auto look = [&](Value* v, auto&& self, int depth) -> void {
    if (!v || depth > 3) return;
    force(v);
    if (overrides_by_class(v)) {
      mixed = mixed || (first && type_of(first) != type_of(v));
      if (!first) first = v;
    } else if (v->kind == Kind::kTuple || (v->kind == Kind::kList && (v->source < 0 || v->loaded))) {
      for (Value* i : v->items) self(i, self, depth + 1);
    }
  };
  for (Value* v : args) look(v, look, 0);
  for (auto& [name, v] : keywords) look(v, look, 0);
  if (!first) return nullptr;
  const auto give_up = [&] { stop("tensor-subclass", {{"name", type_of(first)->tp_name}}); };
  if (mixed) give_up();
  Asking asking{{*this, {}, {}}, {}};
  if (!asking.ask("ask_override", callable, args, keywords)) give_up();
  Question& q = asking.q;
  const py::Ref& answer = asking.answer;
  if (answer.get() == Py_None) return nullptr;  // PyTorch does not ask the class here
  keep_for_trace(answer);
  Values handed = {constant(PyTuple_GET_ITEM(answer.get(), 0)),
                   tuple({constant(reinterpret_cast<PyObject*>(type_of(first)))}),
                   q.back(PyTuple_GET_ITEM(answer.get(), 1))};
  if (PyObject* k = PyTuple_GET_ITEM(answer.get(), 2); k != Py_None) handed.push_back(q.back(k));
  for (py::Ref& r : q.kept) transient_.push_back(std::move(r));
  Value* override =
      attribute(first->kind == Kind::kTensor ? constant(reinterpret_cast<PyObject*>(first->type)) : first,
                py::intern("__torch_function__"));
  Value* result = call_nested(override, std::move(handed));
  if (constant_of(result) == Py_NotImplemented) quiet("__torch_function__", true);
  return result;
}

Value* Tracer::overridden_attribute(Value* tensor, PyObject* name) {
  static PyObject* get = attribute_of_module("builtins", "getattr");
  Values args = {tensor, constant(name)};
  Keywords none_given;
  return overridden_call(get, args, none_given);
}

Value* Tracer::as_subclass(Value* tensor, Value* cls) {
  PyObject* c = constant_of(cls);
  if (!c || !PyType_Check(c)) return nullptr;
  auto* type = reinterpret_cast<PyTypeObject*>(c);
  if (type != tensor_class() && !is_traced_subclass(type)) return nullptr;
  lookup(type, py::intern("__torch_function__"));
  mutated();
  graph::Node node = new_node(py::type_lookup(tensor_class(), py::intern("as_subclass")),
                              "Tensor.as_subclass", {tensor, constant(c)});
  graph::TensorMeta now = meta(tensor);
  const bool recorded = now.requires_grad && torch::current_ambient().records();
  now.requires_grad = recorded;
  now.is_leaf = !recorded;
  Value* made = make(Kind::kTensor);
  made->type = type;
  made->id = static_cast<graph::ValueId>(graph_->values.size());
  graph::Value g;
  g.meta = std::move(now);
  g.producer = static_cast<int32_t>(graph_->nodes.size());
  g.storage = storage_id(tensor);
  graph_->values.push_back(std::move(g));
  note_tensor(made, view_base_[static_cast<size_t>(tensor->id)]);
  node.outputs.push_back(made->id);
  graph_->nodes.push_back(std::move(node));
  if (recorded) graph_->needs_grad = true;
  return made;
}

Value* Tracer::tensor_dict(Value* tensor) {
  if (tensor->attributes) return tensor->attributes;
  if (tensor->source < 0) return tensor->attributes = new_dict();
  PyObject** place = _PyObject_GetDictPtr(tensor->object);
  if (!place) return nullptr;
  return instance_dict(tensor);
}

}  // namespace breakline::trace
