// SPDX-License-Identifier: GPL-3.0-or-later
// Attributes, methods and super.
#include "core/python/compat.h"
#include "core/resume/ops.h"

namespace breakline::resume {
namespace {

Outcome load_attr(State& s, const Instr& i) {
  return replace(s, 1, PyObject_GetAttr(s.operand(1), i.object));
}

// Pushes the two call slots: function and self, or NULL and the bound callable.
void push_call_slots(State& s, PyObject* callable, PyObject* self) {
  s.push(self ? callable : nullptr);
  s.push(self ? self : callable);
}

Outcome load_method(State& s, const Instr& i) {
  PyObject* owner = s.operand(1);
  PyObject* callable = nullptr;
  const bool unbound = py::get_method(owner, i.object, &callable);
  if (!callable) return Outcome::kRaised;
  s.pop();
  if (unbound) {
    push_call_slots(s, callable, owner);
  } else {
    push_call_slots(s, callable, nullptr);
    Py_DECREF(owner);
  }
  return Outcome::kNext;
}

// 3.14's first step of a with-statement: special methods are looked up on the type.
Outcome load_special(State& s, const Instr& i) {
  PyObject* owner = s.operand(1);
  PyObject* found = py::type_lookup(Py_TYPE(owner), i.object);
  if (!found) {
    const std::string_view name = py::utf8(i.object);
    PyErr_Format(PyExc_TypeError,
                 "'%.200s' object does not support the %scontext manager protocol (missed %U method)",
                 Py_TYPE(owner)->tp_name, name.substr(0, 3) == "__a" ? "asynchronous " : "", i.object);
    return Outcome::kRaised;
  }
  if (PyType_HasFeature(Py_TYPE(found), Py_TPFLAGS_METHOD_DESCRIPTOR)) {
    s.pop();
    push_call_slots(s, Py_NewRef(found), owner);
    return Outcome::kNext;
  }
  descrgetfunc bind = Py_TYPE(found)->tp_descr_get;
  PyObject* bound = bind ? bind(found, owner, reinterpret_cast<PyObject*>(Py_TYPE(owner))) : Py_NewRef(found);
  if (!bound) return Outcome::kRaised;
  s.drop(1);
  push_call_slots(s, bound, nullptr);
  return Outcome::kNext;
}

// Stack: super, class, self. Written without arguments, the real super takes class and self all the same.
Outcome load_super_attr(State& s, const Instr& i) {
  PyObject* super = s.operand(3);
  PyObject* const args[] = {s.operand(2), s.operand(1)};
  const bool with_arguments = (i.arg & 2) || super == reinterpret_cast<PyObject*>(&PySuper_Type);
  py::Ref object = py::Ref::steal(PyObject_Vectorcall(super, args, with_arguments ? 2 : 0, nullptr));
  PyObject* value = object ? PyObject_GetAttr(object.get(), i.object) : nullptr;
  if (!value) return Outcome::kRaised;
  s.drop(3);
  if (i.arg & 1) {
    push_call_slots(s, value, nullptr);
  } else {
    s.push(value);
  }
  return Outcome::kNext;
}

Outcome store_attr(State& s, const Instr& i) {
  return drop_if(s, 2, PyObject_SetAttr(s.operand(1), i.object, s.operand(2)) == 0);
}

Outcome delete_attr(State& s, const Instr& i) {
  return drop_if(s, 1, PyObject_SetAttr(s.operand(1), i.object, nullptr) == 0);
}

bool loud_attribute(State& s, const Instr& i) { return !is_quiet_attribute(s.operand(1), i.object); }
bool always(State&, const Instr&) { return true; }

// Descriptors whose __get__ is C code that never looks at frames.
bool is_quiet_descriptor(PyObject* descriptor) {
  PyTypeObject* type = Py_TYPE(descriptor);
  return !type->tp_descr_get || type == &PyFunction_Type || type == &PyMethodDescr_Type ||
         type == &PyWrapperDescr_Type || type == &PyMemberDescr_Type || type == &PyStaticMethod_Type ||
         type == &PyClassMethod_Type || type == &PyClassMethodDescr_Type;
}

}  // namespace

bool is_quiet_attribute(PyObject* owner, PyObject* name) {
  PyTypeObject* type = Py_TYPE(owner);
  if (PyModule_CheckExact(owner)) return PyDict_Contains(PyModule_GetDict(owner), name) == 1;
  if (type == &PyType_Type) {
    PyObject* found = py::type_lookup(reinterpret_cast<PyTypeObject*>(owner), name);
    return !found || is_quiet_descriptor(found);
  }
  if (type->tp_getattro != PyObject_GenericGetAttr || type->tp_setattro != PyObject_GenericSetAttr)
    return false;
  PyObject* found = py::type_lookup(type, name);
  return !found || is_quiet_descriptor(found);
}

void add_attribute_ops(OpTable& t) {
  row(t, Op::kLoadAttr) = {load_attr, loud_attribute};
  row(t, Op::kLoadMethod) = {load_method, loud_attribute};
  row(t, Op::kLoadSuperAttr) = {load_super_attr, always};
  row(t, Op::kLoadSpecial) = {load_special, always};
  row(t, Op::kStoreAttr) = {store_attr, loud_attribute};
  row(t, Op::kDeleteAttr) = {delete_attr, loud_attribute};
}

}  // namespace breakline::resume
