// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/trace/text.h"

#include "core/trace/mappings.h"
#include "core/trace/types.h"

namespace breakline::trace {

Value* text_symbolically(Tracer& t, Value* v, int conversion) {
  t.force(v);
  if (v->kind == Kind::kTensor) t.stop("tensor-text", {{"value", "TensorVariable()"}});
  PyObject* c = t.constant_of(v);
  if (!c) {
    if (v->kind == Kind::kList || v->kind == Kind::kTuple) {
      // Text of a container of constants.
      if (v->kind == Kind::kTuple && v->type) {
        Value* own = conversion == 1 ? t.special_method(v, "__str__") : nullptr;
        if (!own) own = t.special_method(v, "__repr__");
        const auto keeps = [&](const char* name) { return t.lookup(v->type, py::intern(name)) == py::type_lookup(&PyTuple_Type, py::intern(name)); };
        if (!own && keeps("__repr__") && (conversion != 1 || keeps("__str__"))) return text_symbolically(t, t.tuple(v->items), conversion);
        if (!own || own->kind != Kind::kConstant || !PyFunction_Check(own->object)) t.stop("builtin", {{"function", "repr"}, {"arg_types", v->type->tp_name}});
        auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(own->object));
        if (!py::utf8(code->co_filename).ends_with("collections/__init__.py")) {
          Value* text = t.returned(t.call_nested(own, {v}), &PyUnicode_Type, "__repr__");
          return conversion == 3 ? t.constant_new(PyObject_ASCII(t.need_constant(text, "text"))) : text;
        }
        // namedtuple's own: of a real one with the same items.
        py::Ref plain = py::check(PyTuple_New(static_cast<Py_ssize_t>(v->items.size())));
        for (size_t i = 0; i < v->items.size(); ++i) {
          PyObject* x = t.constant_of(v->items[i]);
          if (!x) t.stop("builtin", {{"function", "repr"}, {"arg_types", t.describe(v->items[i])}});
          PyTuple_SET_ITEM(plain.get(), static_cast<Py_ssize_t>(i), Py_NewRef(x));
        }
        py::Ref make = py::check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyTuple_Type), "__new__"));
        py::Ref real = py::check(PyObject_CallFunctionObjArgs(make.get(), reinterpret_cast<PyObject*>(v->type), plain.get(), nullptr));
        return t.constant_new(conversion == 3 ? PyObject_ASCII(real.get()) : PyObject_Repr(real.get()));
      }
      py::Ref items = py::check(PyList_New(0));
      for (Value* i : t.drain(v)) {
        PyObject* x = t.constant_of(i);
        if (!x) t.stop("builtin", {{"function", "repr"}, {"arg_types", t.describe(i)}});
        py::check_status(PyList_Append(items.get(), x));
      }
      if (v->kind == Kind::kTuple) items = py::check(PyList_AsTuple(items.get()));
      return t.constant_new(conversion == 3 ? PyObject_ASCII(items.get()) : PyObject_Repr(items.get()));
    }
    if (v->kind == Kind::kNative && (v->type == &PyByteArray_Type)) return t.constant_new(conversion == 3 ? PyObject_ASCII(v->object) : PyObject_Repr(v->object));
    if (Value* p = t.payload(v); p && p->type == deque_type()) {
      Value* limit = t.attribute(v, py::intern("maxlen"));
      py::Ref items = py::check(PyList_New(0));
      for (Value* i : t.drain(p)) {
        PyObject* x = t.constant_of(i);
        if (!x) t.stop("builtin", {{"function", "repr"}, {"arg_types", t.describe(i)}});
        py::check_status(PyList_Append(items.get(), x));
      }
      py::Ref twin = py::Ref::steal(PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(deque_type()), items.get(), t.need_constant(limit, "maxlen"), nullptr));
      return t.constant_new(twin ? conversion == 3 ? PyObject_ASCII(twin.get()) : PyObject_Repr(twin.get()) : nullptr);
    }
    if ((v->kind == Kind::kLive || v->kind == Kind::kInstance) && t.type_of(v) == namespace_type()) {
      PyObject* d = t.constant_copy(t.instance_dict(v));
      py::Ref none = py::check(PyTuple_New(0));
      py::Ref twin = d ? py::Ref::steal(PyObject_Call(reinterpret_cast<PyObject*>(namespace_type()), none.get(), d)) : py::Ref();
      if (twin) return t.constant_new(conversion == 3 ? PyObject_ASCII(twin.get()) : PyObject_Repr(twin.get()));
      PyErr_Clear();
    }
    if (v->kind == Kind::kDict && (!v->type || v->type == ordered_dict_type())) {
      Value* plain = v->type ? join_dicts(t, v, t.new_dict(), t.new_dict()) : v;
      if (py::Ref d = py::Ref::borrow(t.constant_copy(plain))) {
        if (v->type) d = py::check(PyObject_CallOneArg(reinterpret_cast<PyObject*>(v->type), d.get()));
        return t.constant_new(conversion == 3 ? PyObject_ASCII(d.get()) : PyObject_Repr(d.get()));
      }
    }
    const char* name = conversion == 1 ? "__str__" : "__repr__";
    const bool own_text = conversion == 1 && t.scalar(v) && PyType_IsSubtype(t.type_of(v), &PyUnicode_Type);  // str's __str__ asks for no repr
    if (Value* held = t.plain_scalar(v, {name, own_text ? nullptr : "__repr__"})) return text_symbolically(t, held, conversion);
    Value* f = t.special_method(v, name);
    // object's __str__ is the one that asks for the repr.
    if (conversion == 1 && !f && t.lookup(t.type_of(v), py::intern("__str__")) == py::type_lookup(&PyBaseObject_Type, py::intern("__str__")))
      f = t.special_method(v, "__repr__");
    if (f) {
      Value* text = t.returned(t.call_nested(f, {v}), &PyUnicode_Type, name);
      return conversion == 3 ? t.constant_new(PyUnicode_FromEncodedObject(py::check(PyUnicode_AsEncodedString(t.need_constant(text, "text"), "ascii", "backslashreplace")).get(), "ascii", "strict")) : text;
    }
    if (v->exception)
      if (PyObject* e = t.real_exception(v)) return t.constant_new(conversion == 1 ? PyObject_Str(e) : conversion == 2 ? PyObject_Repr(e) : PyObject_ASCII(e));
    if (v->kind == Kind::kLive && PyExceptionInstance_Check(v->object)) t.quiet("text of an exception");
    t.stop("builtin", {{"function", conversion == 1 ? "str" : "repr"}, {"arg_types", t.describe(v)}});
  }
  if (PyFunction_Check(c) || PyMethod_Check(c)) t.stop("builtin", {{"function", "repr"}, {"arg_types", "function"}});
  return t.constant_new(conversion == 1 ? PyObject_Str(c) : conversion == 2 ? PyObject_Repr(c) : PyObject_ASCII(c));
}

Value* format_symbolically(Tracer& t, Value* v, Value* spec, int conversion) {
  if (conversion) v = text_symbolically(t, v, conversion);
  t.force(v);
  if (v->kind == Kind::kTensor) t.stop("tensor-text", {{"value", "TensorVariable()"}, {"call", "format"}});
  PyObject* s = spec ? t.need_constant(spec, "format") : nullptr;
  PyObject* c = t.constant_of(v);
  if (!c) {
    if (Value* held = t.plain_scalar(v, {"__format__", "__str__", "__repr__"})) return format_symbolically(t, held->dynamic ? held : t.constant(t.scalar_twin(v)), spec, 0);
    if (!s || PyUnicode_GET_LENGTH(s) == 0) {
      if (Value* f = t.special_method(v, "__format__")) return t.returned(t.call_nested(f, {v, t.text("")}), &PyUnicode_Type, "__format__");
      return text_symbolically(t, v, 1);
    }
    if (Value* f = t.special_method(v, "__format__")) return t.returned(t.call_nested(f, {v, spec}), &PyUnicode_Type, "__format__");
    t.stop("builtin", {{"function", "format"}, {"arg_types", t.describe(v)}});
  }
  if (PyFunction_Check(c) || PyMethod_Check(c)) t.stop("builtin", {{"function", "format"}, {"arg_types", "function"}});
  return t.constant_new(PyObject_Format(c, s));
}

}  // namespace breakline::trace
