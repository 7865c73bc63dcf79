// SPDX-License-Identifier: GPL-3.0-or-later
// Instances of subclasses of dict, OrderedDict and list: an object with attributes and, inside, a container.
#include <algorithm>
#include <array>
#include <string_view>

#include "core/guard/program.h"
#include "core/trace/tracer.h"
#include "core/trace/types.h"

namespace breakline::trace {

namespace {

/// What object itself answers, whatever is inside.
constexpr std::array<std::string_view, 10> kObjectMethods = {
    "__setattr__",      "__getattribute__", "__delattr__", "__init_subclass__", "__get__",
    "__subclasshook__", "__class__",        "__repr__",    "__reduce_ex__",     "__reduce__"};

/// OrderedDict's methods that go through what a subclass overrides.
constexpr std::array<std::string_view, 8> kThroughOverrides = {"update", "setdefault", "pop",  "popitem",
                                                               "clear",  "__init__",   "copy", "move_to_end"};

template <size_t N>
bool has(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// What a mapping proxy shows; new reference.
PyObject* shown_by(PyObject*, PyObject* proxy) {
  struct Proxy {
    PyObject_HEAD PyObject* mapping;
  };
  return Py_NewRef(reinterpret_cast<Proxy*>(proxy)->mapping);
}

/// The dict behind an existing mapping proxy; null when it is another mapping.
Value* dict_behind(Tracer& t, Value* proxy) {
  static PyMethodDef definition = {"_shown_by", shown_by, METH_O, nullptr};
  static PyObject* asks = PyCFunction_New(&definition, nullptr);
  PyObject* mapping = t.keep_for_trace(py::Ref::steal(shown_by(nullptr, proxy->object)));
  if (!PyDict_CheckExact(mapping) && !PyODict_CheckExact(mapping)) return nullptr;
  t.guard_type(proxy);
  return t.force(t.live(mapping, t.child(guard::SourceKind::kExpression, proxy->source, asks)));
}

}  // namespace

PyTypeObject* payload_base(PyTypeObject* type) {
  for (PyTypeObject* t = type; t; t = t->tp_base)
    if (!(t->tp_flags & Py_TPFLAGS_HEAPTYPE))
      return t != type && (t == &PyDict_Type || t == ordered_dict_type() || t == &PyList_Type) ? t : nullptr;
  return nullptr;
}

Value* Tracer::proxy_payload(Value* v) {
  if (Value* dict = dict_behind(*this, v)) {
    // It may be a class's own, which the trace's writes to the class change.
    if (!class_writes_.empty()) stop("frame-access", {{"function", "__dict__"}});
    return v->content = dict;
  }
  if (v->content) return v->content;
  // Only where nothing changes it later: the parameters of an inspect.Signature, of one that is a constant of the trace.
  for (SourceId from = v->source; sources_[from].kind != guard::SourceKind::kObject; from = sources_[from].parent)
    if (sources_[from].parent == guard::kNoSource) return nullptr;
  py::Ref copy = py::Ref::steal(PyObject_CallMethod(v->object, "copy", nullptr));
  if (!copy || !PyDict_Check(copy.get())) {
    PyErr_Clear();
    return nullptr;
  }
  if (PyDict_GET_SIZE(copy.get()) == 0) return nullptr;  // whose it is can't be told
  Value* p = new_dict();
  p->type = PyODict_CheckExact(copy.get()) ? ordered_dict_type() : nullptr;
  PyObject *key = nullptr, *item = nullptr;
  Py_ssize_t position = 0;
  while (PyDict_Next(copy.get(), &position, &key, &item)) {
    if (!PyUnicode_CheckExact(key) || std::string_view(Py_TYPE(item)->tp_name) != "Parameter") return nullptr;
    dict_set(p, constant(key), live(item, object_source(item)), false);
  }
  p->owner = v;
  return v->content = p;
}

Value* Tracer::subclasses_of(Value* cls) {
  // Their number and identity, as one number that a guard can compute again.
  static PyMethodDef definition = {
      "_subclasses_mark",
      [](PyObject*, PyObject* pair) -> PyObject* {
        PyObject* type = PyTuple_GET_ITEM(pair, 0);
        py::Ref all = py::Ref::steal(PyObject_CallMethod(type, "__subclasses__", nullptr));
        if (!all) return nullptr;
        uint64_t mark = 0;
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(all.get()); ++i)
          mark = mark * 1000003 + reinterpret_cast<uint64_t>(PyList_GET_ITEM(all.get(), i)) / 16;
        return PyLong_FromUnsignedLongLong(mark);
      },
      METH_VARARGS, nullptr};
  static PyObject* mark_of = PyCFunction_New(&definition, nullptr);
  PyTypeObject* meta = Py_TYPE(cls->object);
  if (py::type_lookup(meta, py::intern("__subclasses__")) !=
      py::type_lookup(&PyType_Type, py::intern("__subclasses__")))
    stop("builtin", {{"function", "__subclasses__"}});
  py::Ref all = py::check(PyObject_CallMethod(cls->object, "__subclasses__", nullptr));
  py::Ref mark = py::check(PyObject_CallFunctionObjArgs(mark_of, cls->object, cls->object, nullptr));
  SourceId source = object_source(cls->object);
  SourceId number = sources_.child(guard::SourceKind::kExpression, source, mark_of, 0, source);
  guard(guard::StepKind::kEqual, number, keep_for_trace(mark));
  Values items;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(all.get()); ++i)
    items.push_back(constant(PyList_GET_ITEM(all.get(), i)));
  return list(std::move(items));
}

Value* Tracer::payload(Value* v) {
  if (v->kind != Kind::kLive && v->kind != Kind::kInstance) return nullptr;
  if (v->kind == Kind::kLive && v->source >= 0 && Py_TYPE(v->object) == &PyDictProxy_Type) return proxy_payload(v);
  if (v->content) return scalar(v) ? nullptr : v->content;
  if (v->kind != Kind::kLive || v->source < 0) return nullptr;
  PyTypeObject* base = payload_base(Py_TYPE(v->object));
  if (!base && Py_TYPE(v->object) == deque_type()) {
    Value* p = make(Kind::kList);
    p->type = deque_type();
    p->object = v->object;
    p->source = v->source;
    p->owner = v;
    p->type_guarded = true;
    return v->content = p;
  }
  if (!base) return nullptr;
  Value* p = make(base == &PyList_Type ? Kind::kList : Kind::kDict);
  p->object = v->object;
  p->source = v->source;
  p->owner = v;
  p->type_guarded = true;
  if (p->kind == Kind::kDict) {
    p->dict = std::make_unique<DictData>();
    p->type = base == ordered_dict_type() ? base : nullptr;
  }
  return v->content = p;
}

void Tracer::give_payload(Value* instance, PyTypeObject* base) {
  Value* p = base == &PyList_Type ? list({}) : new_dict();
  if (base == ordered_dict_type()) p->type = base;
  p->owner = instance;
  instance->content = p;
}

Value* Tracer::plain_payload(Value* v, const char* method) {
  Value* p = payload(v);
  return p && !special_method(v, method) ? p : nullptr;
}

Value* Tracer::payload_method(Value* self, const std::string& name, Values& args, Keywords& keywords) {
  Value* p = payload(self);
  if (!p || has(kObjectMethods, name)) return nullptr;
  if (p->type == deque_type()) return deque_method(self, name, args, keywords);
  if (p->kind == Kind::kDict) {
    bool overridden = false;
    for (const char* m : {"__setitem__", "__getitem__", "__delitem__", "__contains__", "keys"})
      overridden = overridden || special_method(self, m);
    if (name == "__getitem__" && special_method(self, "__missing__")) return nullptr;
    const bool fresh = name == "__init__" && args.size() == 1 && keywords.empty();
    if (p->type == ordered_dict_type() && overridden && !fresh && has(kThroughOverrides, name)) {
      if ((name != "__init__" && name != "update") || args.size() > 2) return nullptr;
      static PyObject* form = polyfill_named("ordered_update");
      return form ? call_nested(constant(form), args, keywords) : nullptr;
    }
    if (p->type == ordered_dict_type() && name == "copy") return nullptr;
  }
  if (name == "__init__" && (args.size() > 2 || (p->kind == Kind::kList && !keywords.empty()))) quiet("argument binding", true);
  Values inner = args;
  inner[0] = p;
  if (name == "__init__" && p->kind == Kind::kList && (p->source >= 0 || !p->items.empty())) {
    Values only = {p};
    Keywords no_names;
    container_method(p, "clear", only, no_names);
  }
  if (name == "__init__" && args.size() == 1 && keywords.empty()) return none();
  if (name == "__init__")
    return container_method(p, p->kind == Kind::kDict ? "update" : "extend", inner, keywords);
  if ((name == "__eq__" || name == "__ne__") && args.size() == 2) {
    Value* other = force(args[1]);
    Value* content = payload(other);
    if (content) other = content;
    if (other->kind != p->kind) return constant(Py_NotImplemented);
    return compare(name == "__eq__" ? Py_EQ : Py_NE, p, other);
  }
  Value* result = container_method(p, name.c_str(), inner, keywords);
  return result == p ? self : result;  // in-place operators give the object
}

}  // namespace breakline::trace
