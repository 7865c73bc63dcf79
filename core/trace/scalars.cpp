// SPDX-License-Identifier: GPL-3.0-or-later
// Instances of subclasses of int, float, complex, str and bytes: an object with attributes and, inside, a
// plain value. Wherever the class leaves what is done to its base, the value stands for the object.
#include <algorithm>

#include "core/trace/tracer.h"
#include "core/trace/types.h"

namespace breakline::trace {

namespace {

/// What native code asks of a number or text it is handed.
constexpr const char* kAsked[] = {"__int__",      "__index__",     "__float__",
                                  "__complex__",  "__trunc__",     "__bool__",
                                  "__len__",      "__iter__",      "__getitem__",
                                  "__contains__", "__str__",       "__repr__",
                                  "__format__",   "__bytes__",     "__hash__",
                                  "__eq__",       "__ne__",        "__lt__",
                                  "__le__",       "__gt__",        "__ge__",
                                  "__abs__",      "__neg__",       "__pos__",
                                  "__invert__",   "__round__",     "__floor__",
                                  "__ceil__",     "__add__",       "__radd__",
                                  "__sub__",      "__rsub__",      "__mul__",
                                  "__rmul__",     "__truediv__",   "__rtruediv__",
                                  "__floordiv__", "__rfloordiv__", "__mod__",
                                  "__rmod__",     "__divmod__",    "__rdivmod__",
                                  "__pow__",      "__rpow__",      "__getattribute__",
                                  "__getattr__",  "__buffer__",    "__fspath__",
                                  "__call__",     "__array__",     "__torch_function__"};

/// The value inside an object; new reference.
PyObject* value_of(PyObject* o) {
  if (PyLong_Check(o)) return _PyLong_Copy(reinterpret_cast<PyLongObject*>(o));
  if (PyFloat_Check(o)) return PyFloat_FromDouble(PyFloat_AS_DOUBLE(o));
  if (PyComplex_Check(o)) return PyComplex_FromCComplex(reinterpret_cast<PyComplexObject*>(o)->cval);
  if (PyUnicode_Check(o)) return PyUnicode_FromObject(o);
  return PyBytes_FromStringAndSize(PyBytes_AS_STRING(o), PyBytes_GET_SIZE(o));
}

}  // namespace

PyTypeObject* scalar_base(PyTypeObject* type) {
  for (PyTypeObject* t = type; t; t = t->tp_base)
    if (!(t->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
      const bool scalar = t == &PyLong_Type || t == &PyFloat_Type || t == &PyComplex_Type ||
                          t == &PyUnicode_Type || t == &PyBytes_Type;
      return t != type && scalar ? t : nullptr;
    }
  return nullptr;
}

Value* Tracer::scalar(Value* v) {
  if (v->kind != Kind::kLive && v->kind != Kind::kInstance) return nullptr;
  if (v->kind == Kind::kLive && (v->source < 0 || v->dynamic || v->function_live)) return nullptr;
  if (!scalar_base(v->kind == Kind::kLive ? Py_TYPE(v->object) : type_of(v))) return nullptr;
  if (v->content) return v->content;
  guard_type(v);
  static PyMethodDef definition = {
      "_value_of", [](PyObject*, PyObject* pair) { return value_of(PyTuple_GET_ITEM(pair, 0)); },
      METH_VARARGS, nullptr};
  static PyObject* asks = PyCFunction_New(&definition, nullptr);
  PyObject* now = keep_for_trace(py::check(value_of(v->object)));
  return v->content =
             live(now, sources_.child(guard::SourceKind::kExpression, v->source, asks, 0, v->source));
}

Value* Tracer::plain_scalar(Value* v, std::initializer_list<const char*> methods) {
  Value* held = scalar(v);
  if (!held) return nullptr;
  PyTypeObject *type = type_of(v), *base = scalar_base(type);
  for (const char* name : methods)
    if (name && lookup(type, py::intern(name)) != py::type_lookup(base, py::intern(name))) return nullptr;
  return held;
}

bool Tracer::behaves_as_scalar(Value* v) {
  if (!scalar(v)) return false;
  PyTypeObject *type = type_of(v), *base = scalar_base(type);
  return std::all_of(std::begin(kAsked), std::end(kAsked), [&](const char* name) {
    return lookup(type, py::intern(name)) == py::type_lookup(base, py::intern(name));
  });
}

PyObject* Tracer::scalar_twin(Value* v) {
  Value* held = scalar(v);
  PyObject* value = held ? constant_of(held) : nullptr;
  if (!value) return nullptr;
  py::Ref one = py::check(PyTuple_Pack(1, value));
  return keep(py::check(scalar_base(type_of(v))->tp_new(type_of(v), one.get(), nullptr)).release());
}

Value* Tracer::new_scalar(PyTypeObject* type, Values args, Keywords keywords) {
  Value* made = new_instance(type);
  made->content = force(call_nested(constant(reinterpret_cast<PyObject*>(scalar_base(type))), std::move(args),
                                    std::move(keywords)));
  if (!(made->content->kind == Kind::kLive && made->content->dynamic))
    need_constant(made->content, "content");
  return made;
}

bool is_tuple_class(PyTypeObject* type) {
  if (type == &PyTuple_Type || py::type_lookup(type, py::intern("n_sequence_fields")))
    return false;  // (time.struct_time and its kin)
  for (PyTypeObject* t = type; t; t = t->tp_base)
    if (!(t->tp_flags & Py_TPFLAGS_HEAPTYPE)) return t == &PyTuple_Type;
  return false;
}

Value* Tracer::new_tuple(PyTypeObject* type, const Values& args, const Keywords& keywords) {
  if (args.size() > 1 || !keywords.empty()) quiet("arguments of tuple", true);
  Value* made = tuple(args.empty() ? Values() : drain(args[0]));
  made->type = type;
  return made;
}

Value* Tracer::new_of_base(PyObject* o, const Values& args, const Keywords& keywords) {
  PyObject* base = PyCFunction_Check(o) ? PyCFunction_GET_SELF(o) : nullptr;
  if (!base || !PyType_Check(base) || args.empty() ||
      std::string_view(reinterpret_cast<PyCFunctionObject*>(o)->m_ml->ml_name) != "__new__")
    return nullptr;
  PyObject* cls = constant_of(args[0]);
  if (!cls || !PyType_Check(cls)) return nullptr;
  auto* type = reinterpret_cast<PyTypeObject*>(cls);
  const Values rest(args.begin() + 1, args.end());
  if (base == reinterpret_cast<PyObject*>(&PyTuple_Type) && is_tuple_class(type))
    return new_tuple(type, rest, keywords);
  if (reinterpret_cast<PyTypeObject*>(base) != scalar_base(type) || lookup(type, py::intern("__del__")))
    return nullptr;
  return new_scalar(type, rest, keywords);
}

Value* Tracer::scalar_method(PyObject* descriptor, const Values& args, const Keywords& keywords) {
  if (!scalar(args[0]) || PyDescr_TYPE(descriptor) != scalar_base(type_of(args[0]))) return nullptr;
  if (is_name(PyDescr_NAME(descriptor), "__init__")) return nullptr;
  // What these leave as it was is the object itself, and a NaN is hashed by its address.
  for (const char* name : {"format", "format_map", "partition", "rpartition", "__mod__", "__hash__"})
    if (is_name(PyDescr_NAME(descriptor), name)) return nullptr;
  // The only one that asks the object's class in turn.
  if (is_name(PyDescr_NAME(descriptor), "__format__") && !plain_scalar(args[0], {"__str__", "__repr__"}))
    return nullptr;
  Values all = args;
  all[0] = constant(scalar_twin(args[0]));
  return fold(descriptor, all, keywords);
}

}  // namespace breakline::trace
