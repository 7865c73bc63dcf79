// SPDX-License-Identifier: GPL-3.0-or-later
// Objects made in a trace.
#include <algorithm>

#include "core/torch/tensor.h"
#include "core/trace/inline_rules.h"
#include "core/trace/tensor_forms.h"
#include "core/trace/tracer.h"
#include "core/trace/types.h"

namespace breakline::trace {

namespace {

bool is_plain_metaclass(PyTypeObject* meta) {
  if (meta == &PyType_Type) return true;
  // A metaclass that leaves calling to type (ABCMeta and the like).
  PyObject* call = py::type_lookup(meta, py::intern("__call__"));
  return call == py::type_lookup(&PyType_Type, py::intern("__call__"));
}

/// Instances are a dict and slots, nothing of C: object.__new__ makes them.
bool has_plain_layout(PyTypeObject* type) {
  for (PyTypeObject* t = type; t; t = t->tp_base)
    if (!(t->tp_flags & Py_TPFLAGS_HEAPTYPE)) return t == &PyBaseObject_Type || t == namespace_type();
  return false;
}

/// The function behind a class's `__new__` when that is one of Python, else null; borrowed from the class.
PyObject* new_in_python(PyObject* attribute) {
  if (!attribute || Py_TYPE(attribute) != &PyStaticMethod_Type) return nullptr;
  py::Ref function = py::check(PyObject_GetAttrString(attribute, "__func__"));
  return PyFunction_Check(function.get()) ? function.get() : nullptr;
}

/// The `__new__` that collections.namedtuple writes: it binds names to positions, nothing else.
bool is_named_tuple_maker(PyObject* function) {
  return PyDict_GetItemString(PyFunction_GET_GLOBALS(function), "_tuple_new") != nullptr;
}

/// weakref.ref(v), without a callback: an instance whose item is its object.
Value* weak_reference(Tracer& t, Value* v) {
  t.force(v);
  PyTypeObject* type = t.type_of(v);
  const bool existing = v->source >= 0 && v->object && v->kind != Kind::kConstant;
  if (!existing && v->kind != Kind::kInstance) t.stop("constructor", {{"class", "weakref.ReferenceType"}});
  if (!PyType_SUPPORTS_WEAKREFS(type)) t.quiet("weakref", true);
  Value* reference = t.make(Kind::kInstance);
  reference->object = reinterpret_cast<PyObject*>(&_PyWeakref_RefType);
  reference->items = {v};
  return reference;
}

}  // namespace

Value* Tracer::named_tuple(PyTypeObject* type, PyObject* maker, const Values& args,
                           const Keywords& keywords) {
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(maker));
  const size_t n = static_cast<size_t>(code->co_argcount) - 1;
  Value* v = make(Kind::kTuple);
  v->type = type;
  v->items.assign(n, nullptr);
  if (args.size() > n) quiet("argument binding", true);
  std::copy(args.begin(), args.end(), v->items.begin());
  for (const auto& [key, x] : keywords) {
    size_t at = 0;
    while (at < n &&
           PyUnicode_Compare(PyTuple_GET_ITEM(code->co_localsplusnames, static_cast<Py_ssize_t>(at) + 1),
                             key) != 0)
      ++at;
    if (at == n || v->items[at]) quiet("argument binding", true);
    v->items[at] = x;
  }
  const SourceId source = object_source(maker);
  PyObject* defaults = PyFunction_GET_DEFAULTS(maker);
  const size_t count = defaults ? static_cast<size_t>(PyTuple_GET_SIZE(defaults)) : 0;
  for (size_t i = 0; i < n; ++i) {
    if (v->items[i]) continue;
    if (i + count < n) quiet("argument binding", true);
    const auto at = static_cast<Py_ssize_t>(i + count - n);
    v->items[i] =
        live(PyTuple_GET_ITEM(defaults, at), child(guard::SourceKind::kDefault, source, nullptr, at));
  }
  return v;
}

namespace {

/// torch.return_types.max and its kin: tuples of C whose items all have names.
bool is_return_type(PyTypeObject* type) {
  return std::string_view(type->tp_name).starts_with("torch.return_types.") &&
         PyType_IsSubtype(type, &PyTuple_Type);
}

size_t field_count(PyTypeObject* type) {
  PyObject* count = py::type_lookup(type, py::intern("n_fields"));
  return count && PyLong_Check(count) ? static_cast<size_t>(PyLong_AsLong(count)) : 0;
}

}  // namespace

/// A class made of torch.autograd.Function.
static bool is_function_class(PyTypeObject* type) {
  static PyObject* base = [] {
    py::Ref m = py::Ref::steal(PyImport_ImportModule("torch.autograd"));
    PyObject* found = m ? PyObject_GetAttrString(m.get(), "Function") : nullptr;
    PyErr_Clear();
    return found;
  }();
  return base && type != reinterpret_cast<PyTypeObject*>(base) && PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(base));
}

Value* Tracer::instantiate(PyTypeObject* type, Values& args, Keywords& keywords, bool plain) {
  std::string name = type->tp_name;
  if (PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(PyExc_BaseException))) {
    Value* e = make_exception(type, args);
    if (!e) quiet("exception object");
    PyObject* init = lookup(type, py::intern("__init__"));
    if (init && PyFunction_Check(init)) return initialise(e, type, args, keywords);
    args.insert(args.begin(), e);
    exception_method(e, "__init__", args, keywords);
    return e;
  }
  if (torch::available())
    if (Value* made = TensorForms::legacy_tensor(*this, reinterpret_cast<PyObject*>(type), args, keywords)) return made;
  if (torch::available() && is_parameter_class(type))
    if (Value* made = new_parameter(reinterpret_cast<PyObject*>(type), args, keywords)) return made;
  if (torch::available())
    if (Value* made = TensorForms::instance_of_subclass(*this, type, args, keywords)) return made;
  if (std::string_view(type->tp_name) == "finfo" && is_fixed_native_type(type)) return fold(reinterpret_cast<PyObject*>(type), args, keywords);  // of numpy, which keeps one for each type
  if (torch::available() && is_function_class(type)) {  // only asked for its class's apply
    Value* o = new_instance(type);
    o->stand_in = true;
    return initialise(o, type, args, keywords);
  }
  if (torch::available() && args.empty() && keywords.empty() && std::string_view(type->tp_name).ends_with("DisableTorchFunctionSubclass")) {
    py::Ref cls = py::Ref::steal(override_helper("OverridesDisabled"));
    if (cls && reinterpret_cast<PyTypeObject*>(cls.get()) != type) return instantiate(reinterpret_cast<PyTypeObject*>(keep_borrowed(cls.get())), args, keywords);
  }
  if (is_fixed_native_type(type))
    if (Value* made = call_data(reinterpret_cast<PyObject*>(type), args, keywords)) return made;
  if (type == &_PyWeakref_RefType && args.size() == 1 && keywords.empty()) {
    made_weak_reference_ = true;
    return weak_reference(*this, args[0]);
  }
  if (type == partial_type()) {
    if (args.empty()) quiet("functools.partial", true);
    if (Value* inner = force(args[0]); inner->kind == Kind::kPartial) {
      // functools.partial takes a partial apart.
      Values all = {inner->items[0]};
      for (Value* v : drain(inner->items[1])) all.push_back(v);
      all.insert(all.end(), args.begin() + 1, args.end());
      Value* map = new_dict();
      dict_load(inner->items[2]);
      DictEntries entries = inner->items[2]->dict->entries;
      for (DictEntry& e : entries) dict_set(map, e.key, e.value, false);
      for (auto& [n, v] : keywords) dict_set(map, constant(n), v, false);
      Value* p = make(Kind::kPartial);
      p->items = {all[0], tuple(Values(all.begin() + 1, all.end())), map};
      return p;
    } else if (inner->kind == Kind::kLive && type_of(inner) == partial_type()) {
      stop("constructor", {{"class", name}});
    }
    Value* p = make(Kind::kPartial);
    Value* map = new_dict();
    for (auto& [n, v] : keywords) dict_set(map, constant(n), v, false);
    p->items = {args[0], tuple(Values(args.begin() + 1, args.end())), map};
    return p;
  }
  if (Value* made = native_object(reinterpret_cast<PyObject*>(type), args, keywords)) return made;
  if (type == &PyMethod_Type && args.size() == 2 && keywords.empty()) {
    force(args[0]);
    if (args[0]->kind == Kind::kFunction || args[0]->function_live || (args[0]->kind == Kind::kConstant && PyFunction_Check(args[0]->object)))
      return method(args[0], args[1]);
  }
  if (type == deque_type()) {
    Value *from = nullptr, *limit = none();
    if (args.size() > 2) quiet("deque", true);
    if (!args.empty()) from = args[0];
    if (args.size() > 1) limit = args[1];
    for (auto& [n, v] : keywords) {
      const bool known = PyUnicode_CompareWithASCIIString(n, "maxlen") == 0 || (!from && PyUnicode_CompareWithASCIIString(n, "iterable") == 0);
      if (!known) quiet("arguments of deque", true);
      (PyUnicode_CompareWithASCIIString(n, "maxlen") == 0 ? limit : from) = v;
    }
    return deque(from ? drain(from) : Values(), limit);
  }
  if (type == &PyDictProxy_Type && args.size() == 1 && keywords.empty() && force(args[0])->kind == Kind::kDict) {
    Value* o = make(Kind::kInstance);
    o->object = reinterpret_cast<PyObject*>(type);
    o->attributes = new_dict();
    o->content = args[0];
    o->stand_in = true;
    o->created_at = outer_instruction_;
    return o;
  }
  if (type == namespace_type()) {
    if (!args.empty()) stop("constructor", {{"class", name}});
    Value* o = new_instance(type);
    for (auto& [n, v] : keywords) dict_set(instance_dict(o), constant(n), v, false);
    return o;
  }
  if (type == ordered_dict_type()) {
    Value* d = new_dict();
    d->type = type;
    args.insert(args.begin(), d);
    if (args.size() > 2) quiet("arguments of " + name, true);
    if ((args.size() > 1 || !keywords.empty()) && !dict_method(d, "update", args, keywords)) stop("constructor", {{"class", name}});
    return d;
  }
  if (type == default_dict_type()) {
    if (args.size() > 2) quiet("arguments of " + name, true);
    Value* d = new_dict();
    d->type = type;
    d->items = {args.empty() ? none() : force(args[0])};
    PyObject* c = constant_of(d->items[0]);
    const Kind kind = d->items[0]->kind;
    const bool code = kind == Kind::kFunction || kind == Kind::kMethod || kind == Kind::kPartial;
    if (c ? c != Py_None && !PyCallable_Check(c) : !code && !type_of(d->items[0])->tp_call) quiet("defaultdict", true);
    if (!args.empty()) args[0] = d;
    else args.push_back(d);
    if ((args.size() > 1 || !keywords.empty()) && !dict_method(d, "update", args, keywords)) stop("constructor", {{"class", name}});
    return d;
  }
  if (args.size() == 1 && keywords.empty() && is_return_type(type)) {
    Value* items = force(args[0]);
    if (items->kind == Kind::kTuple || items->kind == Kind::kList) {
      Value* made = tuple(drain(items));
      made->type = type;
      if (made->items.size() == field_count(type)) return made;
    }
  }
  if (PyType_IsSubtype(type, &PyTuple_Type) && type != &PyTuple_Type) {
    PyObject* maker = new_in_python(lookup(type, py::intern("__new__")));
    const bool named = maker && lookup(type, py::intern("_fields"));
    if (named || (is_tuple_class(type) && is_plain_metaclass(Py_TYPE(type)) && (maker || type->tp_new == PyTuple_Type.tp_new) && !lookup(type, py::intern("__del__")))) {
      Value* made = nullptr;
      if (named && is_named_tuple_maker(maker)) {
        made = named_tuple(type, maker, args, keywords);
      } else if (!maker) {
        made = new_tuple(type, args, keywords);
      } else {
        Values all = args;
        all.insert(all.begin(), constant(reinterpret_cast<PyObject*>(type)));
        made = force(call_nested(constant(maker), std::move(all), keywords));
      }
      PyObject* init = lookup(type, py::intern("__init__"));
      if (!init || !PyFunction_Check(init) || !PyType_IsSubtype(type_of(made), type)) return made;
      Values all = args;
      all.insert(all.begin(), made);
      call_nested(constant(init), std::move(all), keywords);
      return made;
    }
    stop("constructor", {{"class", name}});
  }
  PyTypeObject* meta = Py_TYPE(type);
  if (!plain && !is_plain_metaclass(meta)) {
    PyObject* f = py::type_lookup(meta, py::intern("__call__"));
    if (f && PyFunction_Check(f)) {
      // Enum look-up by value and the like: a class with an own way of being called.
      if (py::utf8(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(f))->co_filename).ends_with("/enum.py")) {
        Values all = args;
        return fold(reinterpret_cast<PyObject*>(type), all, keywords);
      }
      Values all = args;
      all.insert(all.begin(), constant(reinterpret_cast<PyObject*>(type)));
      return call(constant(f), std::move(all), keywords);
    }
    if (f == reinterpret_cast<PyObject*>(&PyDict_Type)) return call(constant(f), args, keywords);  // a TypedDict
    if (name.ends_with("_InferenceMode") && torch::available() && args.size() == 1 && keywords.empty() && PyBool_Check(need_constant(args[0], "mode"))) {
      static PyObject* instead = polyfill_named("InferenceMode");
      if (instead) return call(constant(instead), args, keywords);
    }
    stop("metaclass", {{"class", name}, {"metaclass", meta->tp_name}});
  }
  lookup(type, py::intern("__new__"));
  if (type == &PyBaseObject_Type && args.empty() && keywords.empty()) return new_instance(type);
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
    // numpy asks a class of Python for its `dtype`, which may be set at any time.
    if (name == "numpy.dtype" && !args.empty())
      if (PyObject* c = constant_of(args[0]); c && PyType_Check(c) && reinterpret_cast<PyTypeObject*>(c)->tp_flags & Py_TPFLAGS_HEAPTYPE)
        stop("constructor", {{"class", "numpy.dtype"}});
    if (name == "numpy.dtype" || (torch::available() && (name == "torch.Size" || name == "torch.device"))) return fold(reinterpret_cast<PyObject*>(type), args, keywords);
    stop("constructor", {{"class", name}});
  }
  if (type->tp_flags & Py_TPFLAGS_IS_ABSTRACT) quiet("abstract class", true);
  if (PyType_IsSubtype(type, &PyProperty_Type) && type->tp_new == PyProperty_Type.tp_new) {
    // Used up where it is made (torch.distributions asks only for its class); else it is made for real.
    Value* o = new_instance(type);
    o->stand_in = true;
    return initialise(o, type, args, keywords);
  }
  PyTypeObject *base = payload_base(type), *scalar = scalar_base(type);
  if (!base) base = scalar;
  if (!base && !has_plain_layout(type)) stop("constructor", {{"class", name}});
  if (lookup(type, py::intern("__del__"))) stop("finaliser", {{"class", name}});
  Value* o = nullptr;
  const bool namespaced = namespace_type() && type->tp_new == namespace_type()->tp_new;
  if (!namespaced && type->tp_new != (base ? base : &PyBaseObject_Type)->tp_new) {
    // A __new__ in Python: what it returns decides whether __init__ runs.
    PyObject* maker = py::type_lookup(type, py::intern("__new__"));
    py::Ref function = maker && Py_TYPE(maker) == &PyStaticMethod_Type ? py::check(PyObject_GetAttrString(maker, "__func__")) : py::Ref();
    if (!function || !PyFunction_Check(function.get())) stop("constructor", {{"class", name}});
    Values all = args;
    all.insert(all.begin(), constant(reinterpret_cast<PyObject*>(type)));
    o = call_nested(constant(function.get()), std::move(all), keywords);
    force(o);
    bool own = (o->kind == Kind::kLive || o->kind == Kind::kInstance) && PyType_IsSubtype(type_of(o), type);
    if (!own) return o;
  } else {
    o = scalar ? new_scalar(type, args, keywords) : new_instance(type);
  }
  return initialise(o, type, args, keywords);
}

Value* Tracer::new_instance(PyTypeObject* type) {
  Value* o = make(Kind::kInstance);
  o->stand_in = !frames_.empty() && is_form_code(top().code);
  o->created_at = outer_instruction_;
  o->object = keep_borrowed(reinterpret_cast<PyObject*>(type));
  o->attributes = new_dict();
  if (PyTypeObject* base = payload_base(type)) give_payload(o, base);
  return o;
}

Value* Tracer::initialise(Value* o, PyTypeObject* type, Values& args, Keywords& keywords) {
  PyObject* init = lookup(type_of(o), py::intern("__init__"));
  bool own_new = type->tp_new != PyBaseObject_Type.tp_new;
  if (init == py::type_lookup(&PyBaseObject_Type, py::intern("__init__"))) {
    if ((!args.empty() || !keywords.empty()) && !own_new) quiet("argument binding", true);
    return o;
  }
  if (init && !PyFunction_Check(init) && namespace_type() && PyType_IsSubtype(type, namespace_type()) && args.empty()) {
    for (auto& [n, v] : keywords) dict_set(instance_dict(o), constant(n), v, false);
    return o;
  }
  if (init && !PyFunction_Check(init) && payload(o)) {
    args.insert(args.begin(), o);
    if (!payload_method(o, "__init__", args, keywords)) stop("constructor", {{"class", type->tp_name}});
    return o;
  }
  if (!init || !PyFunction_Check(init)) stop("constructor", {{"class", type->tp_name}});
  args.insert(args.begin(), o);
  Value* r = call(constant(init), args, keywords);
  if (r) return o;  // a generator as __init__ is nobody's business
  top().on_return = ReturnMode::kDiscard;
  top().constructed = o;
  return nullptr;
}

}  // namespace breakline::trace
