// SPDX-License-Identifier: GPL-3.0-or-later
// Setting and deleting attributes.
#include "core/python/compat.h"
#include "core/torch/tensor.h"
#include "core/trace/function_parts.h"
#include "core/trace/inline_rules.h"
#include "core/trace/tracer.h"
#include "core/trace/types.h"

#include <structmember.h>

namespace breakline::trace {

using guard::SourceKind;
using guard::StepKind;

namespace {

/// Attribute writes follow the generic rules: no type of C on the way, heap types of C among them, has its own.
bool sets_generically(PyTypeObject* type) {
  return is_slot_wrapper(type, "__setattr__", PyObject_GenericSetAttr) && is_slot_wrapper(type, "__delattr__", PyObject_GenericSetAttr);
}

/// A place of `__slots__`.
bool is_slot(PyObject* descriptor) {
  if (Py_TYPE(descriptor) != &PyMemberDescr_Type) return false;
  const PyMemberDef* member = reinterpret_cast<PyMemberDescrObject*>(descriptor)->d_member;
  return member->type == T_OBJECT_EX && !(member->flags & READONLY);
}

}  // namespace

void Tracer::set_attribute(Value* o, PyObject* name, Value* v) {
  force(o);
  if (o->kind == Kind::kFunction) {
    mutated();
    const bool none_given = force(v)->kind == Kind::kConstant && v->object == Py_None;
    if (is_name(name, "__defaults__") && (none_given || type_of(v) == &PyTuple_Type)) {
      o->items[0] = none_given ? nullptr : v;
      return;
    }
    if (is_name(name, "__kwdefaults__") && (none_given || type_of(v) == &PyDict_Type)) {
      o->items[1] = none_given ? nullptr : v;
      return;
    }
    for (const char* own : {"__code__", "__class__", "__dict__", "__closure__", "__globals__", "__builtins__",
                            "__defaults__", "__kwdefaults__"})
      if (is_name(name, own)) quiet("an attribute of a function that decides how it runs");
    const bool text = force(v)->kind == Kind::kConstant && PyUnicode_Check(v->object);
    if ((is_name(name, "__name__") || is_name(name, "__qualname__")) && !text)
      quiet("a function's name", true);
    PyObject* own = py::type_lookup(&PyFunction_Type, name);
    if (own && Py_TYPE(own)->tp_descr_set && o->items.size() == kFunctionParts) o->items.push_back(new_dict());
    dict_set(own && Py_TYPE(own)->tp_descr_set ? o->items[kFunctionParts] : instance_dict(o), constant(name), v);
    return;
  }
  if (o->kind == Kind::kTensor) {
    if (is_name(name, "data")) {
      if (set_data(o, v)) return;
      stop("tensor-data", {{"value", "TensorVariable()"}, {"new", describe(v)}});
    }
    if (is_name(name, "requires_grad")) {
      if (require_grad(o, v)) return;
      stop("requires-grad", {{"value", "TensorVariable()"}});
    }
    if (is_name(name, "_grad") && meta(o).is_leaf) name = py::intern("grad");
    if (is_name(name, "grad") && o->source >= 0 && meta(o).is_leaf && torch::is_plain_tensor(o->object)) {
      // Nothing inside a segment runs the autograd engine, so it may be set at the segment's end.
      const bool none_given = force(v)->kind == Kind::kConstant && v->object == Py_None;
      const bool fits = v->kind == Kind::kTensor && v != o && meta(v).sizes == meta(o).sizes && meta(v).dtype == meta(o).dtype &&
                        meta(v).device == meta(o).device && !varies(v->id) && !varies(o->id);
      if (none_given || fits) {
        mutated();
        keep_borrowed(name);
        effects_.push_back({Effect::kAttributeSet, o, nullptr, v, name});
        release(nullptr);
        return;
      }
    }
    PyObject* on_class = lookup(o->type, name);
    Value* dict = on_class && Py_TYPE(on_class)->tp_descr_set && !PyFunction_Check(on_class) ? nullptr : tensor_dict(o);
    if (!dict || is_name(name, "__class__") || is_name(name, "__dict__"))
      stop("foreign-mutation", {{"class", "Tensor"}, {"name", std::string(py::utf8(name))}});
    mutated();
    keep_borrowed(name);
    dict_set(dict, constant(name), v, o->source >= 0);
    if (o->source < 0) effects_.push_back({Effect::kAttributeSet, o, nullptr, v, name});
    return;
  }
  if (o->kind == Kind::kDict && type_of(o) == ordered_dict_type() && !lookup(type_of(o), name)) {  // state_dict keeps its metadata so
    if (Value* own = tensor_dict(o)) {
      mutated();
      keep_borrowed(name);
      dict_set(own, constant(name), v, o->source >= 0);
      if (o->source < 0) effects_.push_back({Effect::kAttributeSet, o, nullptr, v, name});
      return;
    }
  }
  if (o->kind == Kind::kConstant && PyType_Check(o->object)) return set_class_attribute(reinterpret_cast<PyTypeObject*>(o->object), name, v);
  const bool tuple_with_dict = o->kind == Kind::kTuple && o->type && is_tuple_class(o->type);
  if (o->kind != Kind::kLive && o->kind != Kind::kInstance && !tuple_with_dict) {
    std::string owner = o->kind == Kind::kConstant ? name_of(o->object) : describe(o);
    stop("foreign-mutation", {{"class", owner}, {"name", std::string(py::utf8(name))}});
  }
  PyTypeObject* t = type_of(o);
  PyObject* f = lookup(t, py::intern("__setattr__"));
  if (f && (PyFunction_Check(f) || f == py::type_lookup(&PyDict_Type, py::intern("__setitem__")))) {
    call_nested(constant(f), {o, constant(name), v});
    return;
  }
  if (f != py::type_lookup(&PyBaseObject_Type, py::intern("__setattr__")) && !o->exception && !sets_generically(t) && !is_thread_local(t))
    stop("foreign-mutation", {{"class", t->tp_name}, {"name", std::string(py::utf8(name))}});
  set_attribute_plainly(o, name, v);
}

void Tracer::set_attribute_plainly(Value* o, PyObject* name, Value* v) {
  PyTypeObject* t = type_of(o);
  if (o->kind == Kind::kMade) stop("foreign-mutation", {{"class", t->tp_name}, {"name", std::string(py::utf8(name))}});
  const auto no_place = [&](Value* owner, PyObject* missing) {
    if (PY_VERSION_HEX < 0x030D0000) no_attribute(owner, missing);
    if (py::type_lookup(t, missing)) quiet("AttributeError", true);
    raise_attribute_error(owner, missing, std::string("'") + t->tp_name + "' object has no attribute '" + std::string(py::utf8(missing)) +
                                              "' and no __dict__ for setting new attributes");
  };
  if (is_name(name, "__class__")) stop("class-assignment", {{"object", t->tp_name}});
  if (is_name(name, "__dict__")) stop("foreign-mutation", {{"class", t->tp_name}, {"name", "__dict__"}});
  PyObject* a = lookup(t, name);
  if (a && Py_TYPE(a)->tp_descr_set && !PyFunction_Check(a)) {
    if (is_property(a)) {
      py::Ref setter = py::check(PyObject_GetAttrString(a, "fset"));
      if (setter.get() == Py_None) quiet("property without a setter", true);
      call_nested(constant(setter.get()), {o, v});
      return;
    }
    const bool native_descriptor = Py_TYPE(a) == &PyMemberDescr_Type || Py_TYPE(a) == &PyGetSetDescr_Type;
    if (o->exception && native_descriptor && !(PyDescr_TYPE(a)->tp_flags & Py_TPFLAGS_HEAPTYPE) && set_exception_attribute(o, name, v)) return;
    if (Py_TYPE(a) == &PyMemberDescr_Type) {
      const PyMemberDef* member = reinterpret_cast<PyMemberDescrObject*>(a)->d_member;
      if ((member->flags & READONLY) || (member->type != T_OBJECT && member->type != T_OBJECT_EX))
        stop("descriptor", {{"class", t->tp_name}, {"name", std::string(py::utf8(name))}, {"descriptor", "member_descriptor"}});
      if (o->kind == Kind::kInstance) {
        mutated();
        dict_set(instance_dict(o), constant(name), v);
        return;
      }
      mutated();
      keep_borrowed(name);
      effects_.push_back({Effect::kAttributeSet, o, nullptr, v, name});
      release(nullptr);
      return;
    }
    PyObject* set = py::type_lookup(Py_TYPE(a), py::intern("__set__"));
    if (set && PyFunction_Check(set)) {
      call_nested(constant(set), {live(a, object_source(a)), o, v});
      return;
    }
    stop("descriptor", {{"class", t->tp_name}, {"name", std::string(py::utf8(name))}, {"descriptor", Py_TYPE(a)->tp_name}});
  }
  if (o->kind == Kind::kInstance && !t->tp_dictoffset) {
    if (a) quiet("AttributeError", true);
    no_place(o, name);
  }
  Value* d = instance_dict(o);
  if (!d) no_place(o, name);
  dict_set(d, constant(name), v);
}

void Tracer::delete_attribute(Value* o, PyObject* name) {
  force(o);
  if (o->kind == Kind::kFunction && !py::type_lookup(&PyFunction_Type, name)) return delete_attribute_plainly(o, name);
  if (o->kind != Kind::kLive && o->kind != Kind::kInstance)
    stop("foreign-mutation", {{"class", describe(o)}, {"name", std::string(py::utf8(name))}});
  PyTypeObject* t = type_of(o);
  PyObject* f = lookup(t, py::intern("__delattr__"));
  if (f && (PyFunction_Check(f) || f == py::type_lookup(&PyDict_Type, py::intern("__delitem__")))) {
    call_nested(constant(f), {o, constant(name)});
    return;
  }
  if (f != py::type_lookup(&PyBaseObject_Type, py::intern("__delattr__")) && !sets_generically(t) && !is_thread_local(t))
    stop("foreign-mutation", {{"class", t->tp_name}, {"name", std::string(py::utf8(name))}});
  delete_attribute_plainly(o, name);
}

void Tracer::delete_attribute_plainly(Value* o, PyObject* name) {
  PyTypeObject* t = type_of(o);
  PyObject* a = lookup(t, name);
  if (a && is_property(a)) {
    py::Ref deleter = py::check(PyObject_GetAttrString(a, "fdel"));
    if (deleter.get() == Py_None) quiet("property without a deleter", true);
    call_nested(constant(deleter.get()), {o});
    return;
  }
  if (a && Py_TYPE(a)->tp_descr_set && !PyFunction_Check(a)) {
    PyObject* drop = py::type_lookup(Py_TYPE(a), py::intern("__delete__"));
    if (drop && PyFunction_Check(drop)) {
      call_nested(constant(drop), {live(a, object_source(a)), o});
      return;
    }
    if (o->kind == Kind::kLive && is_slot(a)) {
      plain_attribute(o, t, name, nullptr);  // that it is there
      mutated();
      keep_borrowed(name);
      effects_.push_back({Effect::kAttributeDelete, o, nullptr, nullptr, name});
      release(nullptr);
      return;
    }
    bool held = o->kind == Kind::kInstance && Py_TYPE(a) == &PyMemberDescr_Type && dict_get(instance_dict(o), name);
    if (!held) stop("foreign-mutation", {{"class", t->tp_name}, {"name", std::string(py::utf8(name))}});
  }
  Value* d = instance_dict(o);
  if (!d || !dict_get(d, name)) quiet("AttributeError", true);
  dict_delete(d, constant(name));
}

}  // namespace breakline::trace
