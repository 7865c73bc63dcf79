// SPDX-License-Identifier: GPL-3.0-or-later
// Attribute look-up, in CPython's order, under guards. Writes: attribute_writes.cpp; of tensors: tensor_attributes.cpp.
#include "core/guard/equality.h"
#include "core/python/compat.h"
#include "core/torch/registry.h"
#include "core/torch/tensor.h"
#include "core/trace/arrays.h"
#include "core/trace/builtins.h"
#include "core/trace/function_parts.h"
#include "core/trace/inline_rules.h"
#include "core/trace/tracer.h"
#include "core/trace/types.h"

#include <structmember.h>

namespace breakline::trace {

using guard::SourceKind;
using guard::StepKind;

bool is_function_like(PyObject* a) {
  return PyFunction_Check(a) || Py_TYPE(a) == &PyMethodDescr_Type || Py_TYPE(a) == &PyWrapperDescr_Type ||
         Py_TYPE(a) == &PyClassMethodDescr_Type || std::string_view(Py_TYPE(a)->tp_name) == "instancemethod";
}

namespace {

/// Attribute reads follow the generic rules: no type of C on the way, heap types of C among them, has its own.
bool reads_generically(PyTypeObject* type) { return is_slot_wrapper(type, "__getattribute__", PyObject_GenericGetAttr); }

PyObject* generic_getattribute() {
  static PyObject* const own = py::type_lookup(&PyBaseObject_Type, py::intern("__getattribute__"));
  return own;
}

/// The text of the AttributeError that is set, null for another error; no error is set afterwards.
py::Ref attribute_error_text() {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  py::Ref text = type == PyExc_AttributeError && value ? py::Ref::steal(PyObject_Str(value)) : py::Ref();
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  PyErr_Clear();
  return text;
}

}  // namespace

bool is_thread_local(PyTypeObject* type) {
  static PyTypeObject* const local = [] {
    py::Ref m = py::check(PyImport_ImportModule("_thread"));
    return reinterpret_cast<PyTypeObject*>(py::check(PyObject_GetAttrString(m.get(), "_local")).release());
  }();
  return PyType_IsSubtype(type, local);
}

PyTypeObject* namespace_type() {
  static PyTypeObject* t = [] {
    py::Ref m = py::Ref::steal(PyImport_ImportModule("types"));
    return m ? reinterpret_cast<PyTypeObject*>(PyObject_GetAttrString(m.get(), "SimpleNamespace")) : nullptr;
  }();
  return t;
}

PyTypeObject* partial_type() {
  static PyTypeObject* t = [] {
    py::Ref m = py::Ref::steal(PyImport_ImportModule("functools"));
    return m ? reinterpret_cast<PyTypeObject*>(PyObject_GetAttrString(m.get(), "partial")) : nullptr;
  }();
  return t;
}

Value* Tracer::instance_dict(Value* o) {
  if (o->attributes) return o->attributes;
  if (o->kind == Kind::kInstance || o->kind == Kind::kFunction || (o->kind == Kind::kTuple && o->type && o->source < 0 && o->type->tp_dictoffset)) {
    o->attributes = new_dict();
    o->attributes->dict = std::make_unique<DictData>();
    return o->attributes;
  }
  if (o->source < 0) return nullptr;
  if (o->kind == Kind::kLive && is_thread_local(Py_TYPE(o->object))) return o->attributes = dict_of_thread(o);
  PyObject** place = _PyObject_GetDictPtr(o->object);
  PyObject* d = place ? *place : nullptr;
  if (!d) {
    if (!place && !(Py_TYPE(o->object)->tp_dictoffset)) return nullptr;
    d = PyObject_GenericGetDict(o->object, nullptr);
    if (!d) {
      PyErr_Clear();
      return nullptr;
    }
    transient_.push_back(py::Ref::steal(d));
  }
  Value* v = live(d, child(SourceKind::kInstanceDict, o->source));
  v->type_guarded = true;
  force(v);
  return o->attributes = v;
}

Value* Tracer::dict_of_thread(Value* o) {
  PyObject* const name = py::intern("__dict__");
  py::Ref d = py::Ref::steal(PyObject_GetAttr(o->object, name));
  if (!d || !PyDict_CheckExact(d.get())) {
    PyErr_Clear();
    stop("native-object", {{"class", Py_TYPE(o->object)->tp_name}, {"name", "__dict__"}});
  }
  Value* v = live(keep_for_trace(d), child(SourceKind::kAttribute, o->source, name));
  force(v);
  return v;
}

Value* dict_of_instance(Tracer& t, Value* o) {
  // The slots of an object made here lie in the same overlay as its dict.
  if (o->kind == Kind::kInstance && !o->exception)
    for (PyTypeObject* c = t.type_of(o); c && (c->tp_flags & Py_TPFLAGS_HEAPTYPE); c = c->tp_base)
      if (Py_SIZE(c) > 0) t.quiet("__dict__ of an object with slots");
  return t.instance_dict(o);
}

Value* Tracer::bind(PyObject* a, Value* self, PyTypeObject* type, PyObject* name) {
  if (is_function_like(a)) {
    if (Py_TYPE(a) == &PyClassMethodDescr_Type) return method(constant(a), constant(reinterpret_cast<PyObject*>(type)));
    return method(constant(a), self);
  }
  if (Py_TYPE(a) == &PyStaticMethod_Type) {
    Value* f = constant_new(PyObject_GetAttrString(a, "__func__"));
    return f;
  }
  if (Py_TYPE(a) == &PyClassMethod_Type) {
    Value* f = constant_new(PyObject_GetAttrString(a, "__func__"));
    Value* cls = constant(reinterpret_cast<PyObject*>(type));
    // Until 3.12 a descriptor inside is asked in turn.
    const bool asks = PY_VERSION_HEX < 0x030D0000 && Py_TYPE(f->object)->tp_descr_get && !is_function_like(f->object);
    return asks ? bind(f->object, cls, type, name) : method(f, cls);
  }
  if (is_property(a)) {
    py::Ref getter = py::check(PyObject_GetAttrString(a, "fget"));
    if (getter.get() == Py_None) quiet("property without a getter", true);
    return call_nested(constant(getter.get()), {self});
  }
  if (std::string_view(Py_TYPE(a)->tp_name) == "cached_property" && self->kind != Kind::kConstant) {
    // functools': the instance's dict has been asked already.
    PyObject* get = py::type_lookup(Py_TYPE(a), py::intern("__get__"));
    py::Ref function = py::Ref::steal(PyObject_GetAttrString(a, "func")), stored = py::Ref::steal(PyObject_GetAttrString(a, "attrname"));
    PyErr_Clear();
    const bool own = get && PyFunction_Check(get) &&
                     py::utf8(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(get))->co_filename).ends_with("/functools.py");
    if (own && function && PyFunction_Check(function.get()) && stored && PyUnicode_CheckExact(stored.get())) {
      Value* d = instance_dict(self);
      if (d) {
        Value* v = call_nested(constant(function.get()), {self});
        dict_set(d, constant(stored.get()), v);
        return v;
      }
    }
  }
  if (Py_TYPE(a)->tp_descr_get && !PyType_Check(a)) {
    CompiledView view;
    if (compiled_view(a, &view)) return method(constant(a), self);
    PyObject* get = py::type_lookup(Py_TYPE(a), py::intern("__get__"));
    if (get && PyFunction_Check(get)) {
      Value* descriptor = live(a, object_source(a));
      return call_nested(constant(get), {descriptor, self, constant(reinterpret_cast<PyObject*>(type))});
    }
    std::string_view kind = Py_TYPE(a)->tp_name;
    if (kind.ends_with("functools._lru_cache_wrapper")) return method(constant(a), self);
    stop("descriptor", {{"class", type->tp_name}, {"name", std::string(py::utf8(name))}, {"descriptor", std::string(kind)}});
  }
  return live(a, object_source(a));
}

Value* Tracer::attribute(Value* o, PyObject* name, bool* missing) {
  force(o);
  if (is_entry_array(o)) array_as_input(o);
  switch (o->kind) {
    case Kind::kTensor: return tensor_attribute(o, name, missing);
    case Kind::kMade: return attribute_of_made(o, name, missing);
    case Kind::kSuper: return super_attribute(o, name, missing);
    case Kind::kFunction: return function_attribute(o, name, missing);
    case Kind::kMethod:
      if (is_name(name, "__self__")) return o->items[1];
      if (is_name(name, "__func__")) return o->items[0];
      if (PY_VERSION_HEX >= 0x030D0000 && is_name(name, "__get__")) quiet("method.__get__, which from 3.13 on binds nothing");
      if (is_name(name, "__call__")) return o;
      return attribute(o->items[0], name, missing);
    case Kind::kPartial:
      if (is_name(name, "func")) return o->items[0];
      if (is_name(name, "args")) return o->items[1];
      if (is_name(name, "keywords")) return o->items[2];
      break;
    case Kind::kCell:
      if (is_name(name, "cell_contents") && o->items[0]) return o->items[0];
      break;
    case Kind::kTraceback:
      if (is_name(name, "tb_next")) return o->items[0] ? o->items[0] : none();
      if (is_name(name, "tb_lineno")) return integer(o->entry->code->position(o->entry->index).line);
      break;
    case Kind::kSlice:
      if (is_name(name, "indices"))
        if (PyObject* c = constant_of(o)) return method(constant(py::type_lookup(&PySlice_Type, name)), constant(c));
      for (size_t i = 0; i < 3; ++i)
        if (is_name(name, i == 0 ? "start" : i == 1 ? "stop" : "step")) return o->items[i];
      break;
    case Kind::kConstant: {
      PyObject* c = o->object;
      if (PyModule_Check(c)) return module_attribute(c, name, missing);
      if (PyType_Check(c)) return class_attribute(reinterpret_cast<PyTypeObject*>(c), name, missing);
      if (PyFunction_Check(c)) return function_attribute(o, name, missing);
      if (is_type_alias(c)) {
        for (const char* own : {"__args__", "__origin__", "__parameters__"}) {
          py::Ref part = is_name(name, own) ? py::Ref::steal(PyObject_GetAttr(c, name)) : py::Ref();
          PyErr_Clear();
          if (!part) continue;
          keep_for_trace(part);
          if (!PyTuple_Check(part.get())) return live(part.get(), object_source(part.get()));
          Values items;
          for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(part.get()); ++i) {
            PyObject* item = PyTuple_GET_ITEM(part.get(), i);
            items.push_back(live(item, object_source(item)));
          }
          return tuple(std::move(items));
        }
        if (Py_TYPE(c) == &Py_GenericAliasType && !py::utf8(name).starts_with("__")) {
          PyObject* origin = keep_for_trace(py::check(PyObject_GetAttrString(c, "__origin__")));
          return attribute(live(origin, object_source(origin)), name, missing);
        }
      }
      if (guard::is_plain_constant(c) || PyCFunction_Check(c) || is_fixed_native_type(Py_TYPE(c)) || (torch::available() && torch::is_torch_constant(c))) {
        PyObject* a = py::type_lookup(Py_TYPE(c), name);
        if (a && is_function_like(a)) return bind(a, o, Py_TYPE(c), name);
        py::Ref r = py::Ref::steal(PyObject_GetAttr(c, name));
        if (!r) {
          const py::Ref said = attribute_error_text();
          if (!missing && said) raise_attribute_error(o, name, std::string(py::utf8(said.get())));
          if (!missing) quiet("AttributeError", true);
          *missing = true;
          return nullptr;
        }
        if (PyCFunction_Check(r.get()) || PyFunction_Check(r.get()) || is_fixed_native_type(Py_TYPE(r.get()))) {
          keep_borrowed(r.get());
          return constant(r.get());
        }
        return wrap(r.release());
      }
      // Objects known by identity (enum members, compiled functions, …): their dict is read like any live one's.
      {
        Value* l = live(c, object_source(c));
        if (l->kind == Kind::kConstant) {
          l = make(Kind::kLive);
          l->object = c;
          l->source = object_source(c);
          l->loaded = l->type_guarded = true;
        }
        l->loaded = true;
        return instance_attribute(l, name, missing);
      }
    }
    case Kind::kIterator:
      if (is_name(name, "__next__") || is_name(name, "__iter__")) {
        Value* m = method(constant(py::type_lookup(&PyListIter_Type, name)), o);
        m->stand_in = true;
        m->created_at = outer_instruction_;
        return m;
      }
      break;
    case Kind::kTuple:
    case Kind::kList:
    case Kind::kDict:
    case Kind::kSet:
    case Kind::kDictView:
    case Kind::kGenerator: {
      PyTypeObject* t = type_of(o);
      const auto plainly = [&](bool* absent) -> Value* {
        PyObject* a = lookup(t, name);
        if (a && o->kind == Kind::kTuple && o->type && std::string_view(Py_TYPE(a)->tp_name).ends_with("_tuplegetter")) {
          py::Ref reduced = py::check(PyObject_CallMethod(a, "__reduce__", nullptr));
          int64_t i = PyLong_AsLongLong(PyTuple_GET_ITEM(PyTuple_GET_ITEM(reduced.get(), 1), 0));
          return o->items[static_cast<size_t>(i)];
        }
        if (a && o->kind == Kind::kTuple && Py_TYPE(a) == &PyMemberDescr_Type) {
          Py_ssize_t offset = reinterpret_cast<PyMemberDescrObject*>(a)->d_member->offset;
          size_t i = (static_cast<size_t>(offset) - offsetof(PyTupleObject, ob_item)) / sizeof(void*);
          if (i < o->items.size()) return o->items[i];
        }
        if (is_name(name, "__class__")) return constant(reinterpret_cast<PyObject*>(t));
        if ((!a || !Py_TYPE(a)->tp_descr_set) && t->tp_dictoffset && (o->source >= 0 ? o->object != nullptr : o->attributes != nullptr)) {
          Value* own = o->source >= 0 ? instance_dict(o) : o->attributes;  // of an OrderedDict or a named tuple's subclass
          if (Value* v = own ? dict_get(own, name) : nullptr) return v;
        }
        if (!a) {
          if (!absent) no_attribute(o, name);
          *absent = true;
          return nullptr;
        }
        if (o->kind == Kind::kDict && o->type == default_dict_type() && is_name(name, "default_factory")) {
          if (o->source < 0) return o->items[0];
          py::Ref r = py::check(PyObject_GetAttr(o->object, name));
          return live(keep_for_trace(r), child(SourceKind::kAttribute, o->source, name));
        }
        if (o->kind == Kind::kDictView && is_name(name, "mapping")) return call_nested(constant(reinterpret_cast<PyObject*>(&PyDictProxy_Type)), {o->items[0]});
        return bind(a, o, t, name);
      };
      if (!(t->tp_flags & Py_TPFLAGS_HEAPTYPE)) return plainly(missing);
      PyObject *getter = lookup(t, py::intern("__getattribute__")), *fallback = lookup(t, py::intern("__getattr__"));
      const bool own_getter = getter && PyFunction_Check(getter);
      if (fallback && !PyFunction_Check(fallback)) stop("native-object", {{"class", t->tp_name}, {"name", std::string(py::utf8(name))}});
      if (!fallback) return own_getter ? call_nested(constant(getter), {o, constant(name)}) : plainly(missing);
      bool absent = false;
      Value* v = catching(PyExc_AttributeError, [&] {
        return own_getter ? call_nested(constant(getter), {o, constant(name)}) : plainly(&absent);
      });
      return v && !absent ? v : call_nested(constant(fallback), {o, constant(name)});
    }
    case Kind::kLive:
    case Kind::kInstance: return instance_attribute(o, name, missing);
    case Kind::kNative: return native_attribute(o, name, missing);
    default: break;
  }
  if (is_name(name, "__class__")) return constant(reinterpret_cast<PyObject*>(type_of(o)));
  stop("builtin", {{"function", "getattr"}, {"arg_types", describe(o) + ", " + std::string(py::utf8(name))}});
}

Value* Tracer::module_attribute(PyObject* module, PyObject* name, bool* missing) {
  Value* m = live(module, object_source(module));
  PyTypeObject* t = Py_TYPE(module);
  if (t != &PyModule_Type) {
    if (PyObject* own = lookup(t, py::intern("__getattribute__")); own && PyFunction_Check(own))
      return call_nested(constant(own), {constant(module), constant(name)});
    // A module subclass may define properties (torch.backends.*).
    if (PyObject* a = py::type_lookup(t, name); a && Py_TYPE(a)->tp_descr_set) {
      PyObject* get = py::type_lookup(Py_TYPE(a), py::intern("__get__"));
      if (is_property(a)) {
        PyObject* getter = keep(py::check(PyObject_GetAttrString(a, "fget")).release());
        if (lookup(t, name) == a && PyFunction_Check(getter)) return call_nested(constant(getter), {constant(module)});
      }
      if (get && PyFunction_Check(get))
        return call_nested(constant(get), {live(a, object_source(a)), constant(module), constant(reinterpret_cast<PyObject*>(t))});
    }
  }
  Value* saved_kind = m;
  PyObject* d = PyModule_GetDict(module);
  if (!d) stop("builtin", {{"function", "getattr"}});
  static PyObject* const getattr = py::intern("__getattr__");
  PyObject* getter = nullptr;
  bool own_getter = false;
  const auto find_getter = [&] {
    getter = PyDict_GetItem(d, getattr);
    own_getter = getter && PyFunction_Check(getter) &&
                 is_user_file(std::string(py::utf8(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(getter))->co_filename)));
  };
  const bool present = PyDict_GetItem(d, name) != nullptr;  // then it is found whatever else the module may do
  if (!present) find_getter();
  if (getter && !own_getter) {
    // A library's lazy attribute is stored when it is first asked for. That has to happen before the dict is read: a guard
    // that the name is missing would fail as soon as it is made.
    if (py::Ref loaded = py::Ref::steal(PyObject_CallOneArg(getter, name)); !loaded) PyErr_Clear();
  }
  // So do torch.ops and the namespaces in it.
  if (const std::string_view kind = t->tp_name;
      !present && !py::type_lookup(t, name) && (kind == "_Ops" || kind == "_OpNamespace"))
    if (py::Ref loaded = py::Ref::steal(PyObject_GetAttr(module, name)); !loaded) PyErr_Clear();
  Value* dict = saved_kind->attributes;
  if (!dict) {
    dict = live(d, child(SourceKind::kInstanceDict, object_source(module)));
    dict->type_guarded = true;
    force(dict);
    saved_kind->attributes = dict;
  }
  if (Value* v = dict_get(dict, name)) return v;
  if (present) find_getter();  // the trace has deleted it
  if (PyObject* a = py::type_lookup(t, name)) {
    if (is_name(name, "__class__")) return constant(reinterpret_cast<PyObject*>(t));
    if (is_name(name, "__dict__")) return dict;
    if (is_function_like(a)) return method(constant(a), constant(module));
    if ((t->tp_flags & Py_TPFLAGS_HEAPTYPE) && !Py_TYPE(a)->tp_descr_get) {
      lookup(t, name);
      return live(a, object_source(a));
    }
  }
  // A module subclass may look further in Python (torch._VF).
  if (t != &PyModule_Type)
    if (PyObject* g = py::type_lookup(t, py::intern("__getattr__")); g && PyFunction_Check(g) && !missing)
      return call_nested(constant(g), {constant(module), constant(name)});
  if (missing && !getter) {
    *missing = true;
    return nullptr;
  }
  if (own_getter && !missing) return call_nested(live(getter, child(SourceKind::kDictItem, dict->source, py::intern("__getattr__"))), {constant(name)});
  if (own_getter) stop("observed-exception", {{"exception", "AttributeError in __getattr__"}});
  if (getter) {
    // An attribute that a library makes anew each time: ask once, then it is identity-guarded by what it gave.
    py::Ref r = py::Ref::steal(PyObject_CallOneArg(getter, name));
    if (!r && missing && PyErr_ExceptionMatches(PyExc_AttributeError)) {
      PyErr_Clear();
      *missing = true;
      return nullptr;
    }
    if (!r) quiet("AttributeError", true);
    if (PyType_Check(r.get()) || PyModule_Check(r.get()) || PyCallable_Check(r.get())) {
      keep_borrowed(r.get());
      return constant(r.get());
    }
    stop("builtin", {{"function", "getattr"}, {"arg_types", "lazy module attribute"}});
  }
  quiet("AttributeError", true);
}

Value* Tracer::class_attribute(PyTypeObject* cls, PyObject* name, bool* missing) {
  Value* self = constant(reinterpret_cast<PyObject*>(cls));
  PyTypeObject* meta_type = Py_TYPE(cls);
  if (Value* written = nullptr; !class_writes_.empty() && written_class_attribute(cls, name, &written)) return written;
  PyObject* meta_attribute = lookup(meta_type, name);
  PyObject* custom = lookup(meta_type, py::intern("__getattribute__"));
  if (custom && PyFunction_Check(custom)) stop("metaclass", {{"class", cls->tp_name}, {"metaclass", meta_type->tp_name}});
  if (meta_attribute && Py_TYPE(meta_attribute)->tp_descr_set) {
    if (is_property(meta_attribute) && meta_type != &PyType_Type) return bind(meta_attribute, self, meta_type, name);
    const bool native =
        Py_TYPE(meta_attribute) == &PyGetSetDescr_Type || Py_TYPE(meta_attribute) == &PyMemberDescr_Type;
    if (PyObject* get = native ? nullptr : lookup(Py_TYPE(meta_attribute), py::intern("__get__"));
        get && PyFunction_Check(get))
      return call_nested(constant(get), {live(meta_attribute, object_source(meta_attribute)), self,
                                         constant(reinterpret_cast<PyObject*>(meta_type))});
    if (!native && !is_property(meta_attribute))
      stop("descriptor", {{"class", cls->tp_name},
                          {"name", std::string(py::utf8(name))},
                          {"descriptor", Py_TYPE(meta_attribute)->tp_name}});
    if (is_name(name, "__flags__")) quiet("flags of a class, of which CPython changes some by itself");
    py::Ref r = py::Ref::steal(PyObject_GetAttr(reinterpret_cast<PyObject*>(cls), name));
    if (!r) {
      PyErr_Clear();
      if (missing) {
        *missing = true;
        return nullptr;
      }
      quiet("AttributeError", true);
    }
    if (is_name(name, "__dict__") && (cls->tp_flags & Py_TPFLAGS_HEAPTYPE) && !is_made_here(self->object) &&
        Py_TYPE(r.get()) == &PyDictProxy_Type) {
      Value* proxy = make(Kind::kLive);  // another one each time; payload.cpp sees through it
      proxy->object = keep_for_trace(r);
      proxy->source = child(SourceKind::kAttribute, object_source(self->object), name);
      return force(proxy);
    }
    if (is_name(name, "__dict__") || (is_name(name, "__annotations__") && is_made_here(self->object)))
      stop("builtin", {{"function", "getattr"}, {"arg_types", "class dict"}});
    if (!(cls->tp_flags & Py_TPFLAGS_HEAPTYPE) || is_made_here(self->object)) return wrap(r.release());
    // The name, the bases and the like of a class of Python can be set, and its version does not tell of each
    // of them.
    return force(live(keep_for_trace(r),
                      child(SourceKind::kAttribute, object_source(reinterpret_cast<PyObject*>(cls)), name)));
  }
  if (Value* number = changing_class_attribute(cls, name)) return number;
  PyObject* a = lookup(cls, name);
  if (a) {
    if (Py_TYPE(a) == &PyStaticMethod_Type) return constant_new(PyObject_GetAttrString(a, "__func__"));
    if (Py_TYPE(a) == &PyClassMethod_Type || Py_TYPE(a) == &PyClassMethodDescr_Type) return bind(a, self, cls, name);
    if (PyFunction_Check(a) || is_function_like(a) || PyType_Check(a)) {
      if (is_name(name, "__new__") && PyCFunction_Check(a)) return constant(a);
      return constant(a);
    }
    if (Py_TYPE(a) == &PyProperty_Type || Py_TYPE(a) == &PyMemberDescr_Type || Py_TYPE(a) == &PyGetSetDescr_Type)
      return constant(a);
    if (is_property(a)) return live(a, object_source(a));
    if (Py_TYPE(a)->tp_descr_get) {
      CompiledView view;
      if (compiled_view(a, &view)) return constant(a);
      PyObject* get = py::type_lookup(Py_TYPE(a), py::intern("__get__"));
      if (get && PyFunction_Check(get))
        return call_nested(constant(get), {live(a, object_source(a)), constant(Py_None), self});
      if (PyCFunction_Check(a)) return constant(a);
      stop("descriptor", {{"class", cls->tp_name}, {"name", std::string(py::utf8(name))}, {"descriptor", Py_TYPE(a)->tp_name}});
    }
    return live(a, object_source(a));
  }
  if (meta_attribute) return bind(meta_attribute, self, meta_type, name);
  PyObject* getter = meta_type != &PyType_Type ? lookup(meta_type, py::intern("__getattr__")) : nullptr;
  if (getter && PyFunction_Check(getter)) return call_nested(constant(getter), {self, constant(name)});
  if (missing) {
    *missing = true;
    return nullptr;
  }
  no_attribute(self, name);
}

Value* Tracer::super_attribute(Value* s, PyObject* name, bool* missing) {
  PyObject* cls = need_constant(s->items[0], "super() class");
  Value* self = s->items[1];
  force(self);
  PyTypeObject* type = type_of(self);
  bool for_class = false;
  if (self->kind == Kind::kConstant && PyType_Check(self->object) &&
      PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(self->object), reinterpret_cast<PyTypeObject*>(cls))) {
    type = reinterpret_cast<PyTypeObject*>(self->object);
    for_class = true;
  }
  PyObject* mro = type->tp_mro;
  rely_on_order(type);
  lookup(type, name);  // ties the answer to the type's version
  Py_ssize_t i = 0, n = PyTuple_GET_SIZE(mro);
  while (i < n && PyTuple_GET_ITEM(mro, i) != cls) ++i;
  for (++i; i < n; ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i));
    PyObject* dict = py::type_dict(base);
    PyObject* a = dict ? PyDict_GetItemWithError(dict, name) : nullptr;
    lookup(base, name);
    if (!a) continue;
    if (for_class && PyFunction_Check(a)) return constant(a);
    if (PyCFunction_Check(a)) return constant(a);  // __new__
    return bind(a, self, type, name);
  }
  if (missing) {
    *missing = true;
    return nullptr;
  }
  quiet("AttributeError", true);
}

Value* Tracer::function_attribute(Value* f, PyObject* name, bool* missing) {
  if (f->kind == Kind::kFunction) {
    if (is_name(name, "__dict__")) {
      Value* d = instance_dict(f);
      for (const DictEntry& e : d->dict->entries)
        if (e.key->kind == Kind::kConstant && PyUnicode_Check(e.key->object) &&
            py::type_lookup(&PyFunction_Type, e.key->object))
          quiet("__dict__ of a function whose own attributes were set");
      return d;
    }
    if (f->items.size() > kFunctionParts)
      if (Value* v = dict_get(f->items[kFunctionParts], name)) return v;
    if (f->attributes)
      if (Value* v = dict_get(f->attributes, name)) return v;
    if (is_name(name, "__wrapped__") && missing) {
      *missing = true;
      return nullptr;
    }
    if (is_name(name, "__qualname__")) return constant(f->qualname);
    if (is_name(name, "__name__")) return constant(reinterpret_cast<PyCodeObject*>(f->object)->co_name);
    if (is_name(name, "__code__")) return constant(f->object);
    if (is_name(name, "__defaults__")) return f->items[0] ? f->items[0] : none();
    if (is_name(name, "__kwdefaults__")) return f->items[1] ? f->items[1] : none();
    if (is_name(name, "__closure__")) return f->items[2] ? f->items[2] : none();
    if (is_name(name, "__doc__")) {
      PyObject* consts = reinterpret_cast<PyCodeObject*>(f->object)->co_consts;
      PyObject* first = PyTuple_GET_SIZE(consts) ? PyTuple_GET_ITEM(consts, 0) : Py_None;
      return constant(PyUnicode_Check(first) ? first : Py_None);
    }
    if (is_name(name, "__module__")) {
      PyObject* m = PyDict_GetItemString(f->globals, "__name__");
      return constant(m ? m : Py_None);
    }
    if (is_name(name, "__annotations__")) {
      // From now on the dict that everybody sees; until then pairs in a row, as the instruction left them.
      Value* pairs = f->items[3] ? force(f->items[3]) : nullptr;
      if (pairs && pairs->kind == Kind::kDict) return pairs;
      const Values row = pairs ? drain(pairs) : Values();
      Value* made = new_dict();
      for (size_t i = 0; i + 1 < row.size(); i += 2) dict_set(made, row[i], row[i + 1], false);
      mutated();
      return f->items[3] = made;
    }
    // What has type parameters is made outside of traces.
    if (PY_VERSION_HEX >= 0x030C0000 && is_name(name, "__type_params__")) return tuple({});
    PyObject* a = py::type_lookup(&PyFunction_Type, name);
    if (!a && missing) {
      *missing = true;
      return nullptr;
    }
    if (!a) quiet("AttributeError", true);
    if (is_function_like(a)) return method(constant(a), f);
    stop("builtin", {{"function", "getattr"}, {"arg_types", "function attribute " + std::string(py::utf8(name))}});
  }
  PyObject* o = f->object;
  PyObject* on_type = py::type_lookup(&PyFunction_Type, name);
  if (on_type && is_function_like(on_type)) return method(constant(on_type), f);
  SourceId source = f->source >= 0 ? f->source : object_source(o);
  if (is_name(name, "__dict__") || (!on_type && !is_name(name, "__class__"))) {
    // The function's own dict.
    live(o, source);
    py::Ref made = py::check(PyObject_GetAttrString(o, "__dict__"));
    Value* dict = live(keep_for_trace(made), child(SourceKind::kAttribute, source, py::intern("__dict__")));
    force(dict);
    if (is_name(name, "__dict__")) return dict;
    if (Value* v = dict_get(dict, name)) return v;
    if (missing) {
      *missing = true;
      return nullptr;
    }
    quiet("AttributeError", true);
  }
  py::Ref r = py::Ref::steal(PyObject_GetAttr(o, name));
  if (!r) {
    PyErr_Clear();
    if (missing) {
      *missing = true;
      return nullptr;
    }
    quiet("AttributeError", true);
  }
  return live(keep_for_trace(r), child(SourceKind::kAttribute, source, name));
}

void Tracer::no_attribute(Value* o, PyObject* name) {
  PyErr_Clear();
  if (!would_be_caught()) quiet("AttributeError", true);
  std::string what(py::utf8(name));
  if (o->kind == Kind::kConstant && PyType_Check(o->object))
    raise_attribute_error(o, name, std::string("type object '") + reinterpret_cast<PyTypeObject*>(o->object)->tp_name + "' has no attribute '" + what + "'");
  std::string type = type_of(o)->tp_name;
  if (PyTypeObject* t = type_of(o); t->tp_flags & Py_TPFLAGS_HEAPTYPE && type != "_thread._local") type = type.substr(type.rfind('.') + 1);
  raise_attribute_error(o, name, "'" + type + "' object has no attribute '" + what + "'");
}

Value* Tracer::instance_attribute(Value* o, PyObject* name, bool* missing, bool generic) {
  PyTypeObject* t = type_of(o);
  if (torch::available() && o->kind == Kind::kLive && torch::is_tensor(o->object))
    stop("tensor-subclass", {{"name", t->tp_name}});
  if (o->kind == Kind::kInstance && o->stand_in && std::string_view(t->tp_name) == "RemovableHandle") rewind_to(o->created_at, "a hook's handle");
  if (t == deque_type() && o->kind == Kind::kInstance && is_name(name, "maxlen")) return o->items[0];
  if (o->kind == Kind::kInstance && is_name(name, "__doc__") && PyType_IsSubtype(t, &PyProperty_Type))  // its getter's
    stop("native-object", {{"class", t->tp_name}, {"name", "__doc__"}});
  static PyObject *const getattribute = py::intern("__getattribute__"), *const getattr = py::intern("__getattr__");
  PyObject* getter = lookup(t, getattribute);
  PyObject* fallback = generic ? nullptr : lookup(t, getattr);
  const auto fall_back = [&] {  // dict.__getitem__ for one is no function of Python
    if (PyFunction_Check(fallback)) return call_nested(constant(fallback), {o, constant(name)});
    return call_nested(bind(fallback, o, t, py::intern("__getattr__")), {constant(name)});
  };
  const bool of_thread = o->kind == Kind::kLive && is_thread_local(t);
  if (of_thread && is_name(name, "__dict__"))
    if (Value* d = instance_dict(o)) return d;
  if (getter != generic_getattribute() && !generic) {
    if (PyFunction_Check(getter)) {
      if (!fallback) return call_nested(constant(getter), {o, constant(name)});
      Value* v = catching(PyExc_AttributeError, [&] { return call_nested(constant(getter), {o, constant(name)}); });
      return v ? v : fall_back();
    }
    if (!reads_generically(t) && !of_thread) {
      if (t == partial_type() || t == &PyMethod_Type || (o->kind == Kind::kLive && PyWeakref_CheckRef(o->object)) ||
          PyExceptionClass_Check(reinterpret_cast<PyObject*>(t))) {
      } else {
        stop("native-object", {{"class", t->tp_name}, {"name", std::string(py::utf8(name))}});
      }
    }
  }
  if (!fallback) return plain_attribute(o, t, name, missing);
  if (o->kind == Kind::kLive && is_module(o->object) && PyFunction_Check(fallback) &&
      py::utf8(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(fallback))->co_filename).ends_with("torch/nn/modules/module.py")) {
    bool absent = false;
    Value* v = plain_attribute(o, t, name, &absent);
    if (!absent) return v;
    // What Module.__getattr__ does, without running it.
    static PyObject* const parts[] = {py::intern("_parameters"), py::intern("_buffers"), py::intern("_modules")};
    for (PyObject* part : parts) {
      Value* d = dict_get(instance_dict(o), part);
      if (!d) continue;
      force(d);
      if (d->kind != Kind::kDict) return fall_back();
      if (Value* x = dict_get(d, name)) return x;
    }
    if (missing) {
      *missing = true;
      return nullptr;
    }
    no_attribute(o, name);
  }
  bool absent = false;
  PyObject* a = lookup(t, name);
  bool may_raise = a && Py_TYPE(a)->tp_descr_get && !is_function_like(a);
  Value* v = may_raise ? catching(PyExc_AttributeError, [&] { return plain_attribute(o, t, name, &absent); })
                       : plain_attribute(o, t, name, &absent);
  if (v && !absent) return v;
  return fall_back();
}

Value* Tracer::plain_attribute(Value* o, PyTypeObject* t, PyObject* name, bool* missing) {
  auto absent = [&]() -> Value* {
    PyErr_Clear();
    if (!missing) no_attribute(o, name);
    *missing = true;
    return nullptr;
  };
  Value* written = nullptr;
  if (!class_writes_.empty() && written_class_attribute(t, name, &written)) {
    Value* own = instance_dict(o);
    if (own)
      if (Value* v = dict_get(own, name)) return v;
    const bool function = written->kind == Kind::kFunction || (written->kind == Kind::kConstant && PyFunction_Check(written->object));
    return function ? method(written, o) : written;
  }
  if (Value* number = changing_class_attribute(t, name)) {
    Value* own = instance_dict(o);
    Value* v = own ? dict_get(own, name) : nullptr;
    return v ? v : number;
  }
  PyObject* a = lookup(t, name);
  if (PyUnicode_GET_LENGTH(name) == 9 && is_name(name, "__class__") && a == py::type_lookup(&PyBaseObject_Type, name))
    return constant(reinterpret_cast<PyObject*>(t));
  if (a && Py_TYPE(a)->tp_descr_set && !PyFunction_Check(a)) {
    if (is_name(name, "__dict__")) {
      if (Value* d = dict_of_instance(*this, o)) return d;
      return absent();
    }
    if (is_property(a)) return bind(a, o, t, name);
    if (Py_TYPE(a) == &PyMemberDescr_Type || Py_TYPE(a) == &PyGetSetDescr_Type) {
      // The first of an object's weak references: an object made here has none but those made here.
      if (is_name(name, "__weakref__") && Py_TYPE(a) == &PyGetSetDescr_Type) {
        if (made_weak_reference_) stop("descriptor", {{"class", t->tp_name}, {"name", "__weakref__"}, {"descriptor", Py_TYPE(a)->tp_name}});
        if (o->kind == Kind::kInstance) return none();
      }
      if (o->exception && !(PyDescr_TYPE(a)->tp_flags & Py_TPFLAGS_HEAPTYPE)) return exception_attribute(o, name, missing);
      if (Value* held = PyDescr_TYPE(a)->tp_flags & Py_TPFLAGS_HEAPTYPE ? nullptr : scalar(o)) return attribute(held, name, missing);  // i.real
      if (o->kind == Kind::kInstance) {
        if (o->attributes)
          if (Value* v = dict_get(o->attributes, name)) return v;
        // Since 3.13 the text for an empty slot names the class with its module.
        if (PY_VERSION_HEX >= 0x030D0000 && !missing && Py_TYPE(a) == &PyMemberDescr_Type) quiet("AttributeError", true);
        return absent();
      }
      if (PyFrame_Check(o->object) && is_name(name, "f_locals")) stop("frame-access", {{"function", "f_locals"}});  // made anew by each look
      // The bound of a type parameter and the like are evaluated when they are first asked for, by code that sees the program's state.
      if (is_typing_object(o->object) && (is_name(name, "__bound__") || is_name(name, "__constraints__") ||
                                          is_name(name, "__default__") || is_name(name, "__value__")))
        stop("descriptor", {{"class", t->tp_name},
                            {"name", std::string(py::utf8(name))},
                            {"descriptor", Py_TYPE(a)->tp_name}});
      // A slot written in this trace is in the overlay under its own name.
      for (auto e = effects_.rbegin(); e != effects_.rend(); ++e)
        if (e->target == o && e->name == name) {
          if (e->kind == Effect::kAttributeSet) return e->value;
          if (e->kind != Effect::kAttributeDelete) continue;
          if (PY_VERSION_HEX >= 0x030D0000 && !missing) quiet("AttributeError", true);
          return absent();
        }
      py::Ref r = py::Ref::steal(PyObject_GetAttr(o->object, name));
      if (!r) {
        PyErr_Clear();
        quiet("AttributeError", true);
      }
      need(child(SourceKind::kAttribute, o->source, name));
      return live(keep_for_trace(r), child(SourceKind::kAttribute, o->source, name));
    }
    PyObject* get = py::type_lookup(Py_TYPE(a), py::intern("__get__"));
    if (get && PyFunction_Check(get))
      return call_nested(constant(get), {live(a, object_source(a)), o, constant(reinterpret_cast<PyObject*>(t))});
    stop("descriptor", {{"class", t->tp_name}, {"name", std::string(py::utf8(name))}, {"descriptor", Py_TYPE(a)->tp_name}});
  }
  bool has_dict = o->kind == Kind::kInstance || is_thread_local(t) || _PyObject_GetDictPtr(o->object) || Py_TYPE(o->object)->tp_dictoffset;
  if (has_dict)
    if (Value* d = instance_dict(o))
      if (Value* v = dict_get(d, name)) return v;
  if (a) return bind(a, o, t, name);
  return absent();
}

}  // namespace breakline::trace
