// SPDX-License-Identifier: GPL-3.0-or-later
// Operands of operators that stand for something plainer: members of number enums, views of dicts in set
// operations.
#include "core/trace/operand_forms.h"

#include <string_view>
#include <utility>

#include "core/guard/equality.h"
#include "core/trace/types.h"

namespace breakline::trace {

namespace {

bool is_view(const Value* v) { return v->kind == Kind::kDictView && v->number != 1; }

/// What a set takes the view's content from.
Value* content(Value* v) { return v->kind == Kind::kDictView && v->number == 0 ? v->items[0] : v; }

/// As dictviews_and does it: the order in which items are added decides the order of the set.
Value* intersection(Tracer& t, Value* self, Value* other) {
  if (!is_view(self)) std::swap(self, other);
  Values mine = t.drain(self);
  if (is_view(other) && t.drain(other).size() > mine.size()) std::swap(self, other);
  const auto size = static_cast<Py_ssize_t>(t.drain(self).size());
  if (other->kind == Kind::kSet && other->type != &PyFrozenSet_Type && t.set_size(other) >= size)
    return t.set_derive(other, "intersection", content(self));
  Value* both = t.new_set();
  for (Value* item : t.drain(other))
    if (t.contains(self, item)) t.set_apply(both, SetOperation::kAdd, item);
  return both;
}

/// See plain_operands.
Value* plain_operand(Tracer& t, Value* v, std::initializer_list<const char*> methods, bool with_tensor) {
  if (t.scalar(v)) {
    Value* held = with_tensor && !t.plain_scalar(v, {"__torch_function__"}) ? nullptr : t.plain_scalar(v, methods);
    return held ? t.force(held) : v;
  }
  if (v->kind != Kind::kConstant) return v;
  PyObject* o = v->object;
  if (PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyUnicode_CheckExact(o) || PyBool_Check(o)) return v;
  PyTypeObject* base = PyLong_Check(o)      ? &PyLong_Type
                       : PyFloat_Check(o)   ? &PyFloat_Type
                       : PyUnicode_Check(o) ? &PyUnicode_Type
                                            : nullptr;
  if (!base || !is_enum_member(o)) return v;
  for (const char* name : methods)
    if (name && t.lookup(Py_TYPE(o), py::intern(name)) != py::type_lookup(base, py::intern(name))) return v;
  if (base == &PyLong_Type) return t.constant_new(_PyLong_Copy(reinterpret_cast<PyLongObject*>(o)));
  return t.constant_new(base == &PyFloat_Type ? PyFloat_FromDouble(PyFloat_AS_DOUBLE(o))
                                              : PyUnicode_FromObject(o));
}

/// Whether a method of the operand's class may be handed the other operand.
bool may_look(Tracer& t, Value* v) {
  if (v->kind == Kind::kLive) return !v->dynamic;
  if (v->kind == Kind::kConstant) return !guard::is_plain_constant(v->object) && (Py_TYPE(v->object)->tp_flags & Py_TPFLAGS_HEAPTYPE);
  return v->kind == Kind::kInstance || (v->kind == Kind::kTuple && v->type) || (v->kind == Kind::kTensor && t.is_overriding(v));
}

/// int 1, float 2, complex 3, else 0; of a plain number or a scalar.
int number_rank(Tracer& t, Value* v) {
  const bool number = v->kind == Kind::kConstant || (v->kind == Kind::kLive && v->dynamic) || t.scalar(v);
  PyTypeObject* type = number ? t.type_of(v) : nullptr;
  int rank = 0;
  for (PyTypeObject* base : {&PyLong_Type, &PyFloat_Type, &PyComplex_Type})
    if (++rank; type && PyType_IsSubtype(type, base)) return rank;
  return 0;
}

}  // namespace

void plain_operands(Tracer& t, Value*& a, Value*& b, std::initializer_list<const char*> left,
                    std::initializer_list<const char*> right) {
  const bool with_tensor = a->kind == Kind::kTensor || b->kind == Kind::kTensor;
  Value *x = plain_operand(t, a, left, with_tensor), *y = plain_operand(t, b, right, with_tensor);
  if (y == b && t.scalar(b) && number_rank(t, x) >= number_rank(t, b) && number_rank(t, b) > 0 &&
      !PyType_IsSubtype(t.type_of(b), t.type_of(a))) {
    // The left one is asked first, and its base's own method takes any number up to its own kind for what it is.
    a = x;
    b = t.force(t.scalar(b));
    return;
  }
  if ((x == a && may_look(t, a)) || (y == b && may_look(t, b))) return;
  a = x;
  b = y;
}

void stop_for_the_object(Tracer& t, Value* a, Value* b, std::string_view method, bool in_place) {
  if (!t.scalar(a)) return;
  PyTypeObject* base = scalar_base(t.type_of(a));
  bool stops = false;
  if (method == "__mod__" && base == &PyUnicode_Type) {
    Value* text = t.plain_scalar(a, {"__mod__", in_place ? "__imod__" : nullptr});
    PyObject* c = text ? t.constant_of(text) : nullptr;
    stops = c && PyUnicode_FindChar(c, '%', 0, PyUnicode_GET_LENGTH(c), 1) < 0;
  }
  const bool number = base == &PyLong_Type || base == &PyFloat_Type || base == &PyComplex_Type;
  if (method == "__mul__" && in_place && number) stops = b->kind != Kind::kTensor && number_rank(t, b) == 0;
  if (stops) t.stop("builtin", {{"function", in_place ? "in-place operator" : "operator"}, {"arg_types", t.describe(a) + ", " + t.describe(b)}});
}

Value* format_text(Tracer& t, Value* a, Value* b) {
  Value* form = t.scalar(a) ? t.plain_scalar(a, {"__mod__"}) : a;
  if (!form || form->kind != Kind::kConstant || !(PyUnicode_CheckExact(form->object) || PyBytes_CheckExact(form->object))) return nullptr;
  bool told = false;  // by some object's class
  const auto real = [&](Value* v) -> PyObject* {
    t.force(v);
    if (v->kind == Kind::kConstant && guard::is_plain_constant(v->object)) return v->object;
    const bool member = v->kind == Kind::kConstant && is_enum_member(v->object);
    if (!member && !t.scalar(v)) return nullptr;
    told = true;
    if (member) return v->object;
    if (!t.behaves_as_scalar(v)) t.stop("builtin", {{"function", "mod"}, {"arg_types", t.describe(v)}});
    return t.scalar_twin(v);
  };
  py::Ref operand;
  if (b->kind == Kind::kTuple && !b->type) {
    operand = py::check(PyTuple_New(static_cast<Py_ssize_t>(b->items.size())));
    for (size_t i = 0; i < b->items.size(); ++i) {
      PyObject* item = real(b->items[i]);
      if (!item) return nullptr;
      PyTuple_SET_ITEM(operand.get(), static_cast<Py_ssize_t>(i), Py_NewRef(item));
    }
  } else if (PyObject* item = real(b)) {
    if (t.special_method(b, "__rmod__")) return nullptr;
    operand = py::Ref::borrow(item);
  }
  return told ? t.wrap(PyNumber_Remainder(form->object, operand.get())) : nullptr;
}

Value* view_operation(Tracer& t, const char* method, Value* a, Value* b) {
  if (!is_view(a) && !is_view(b)) return nullptr;
  for (const Value* v : {a, b})
    if (v->kind == Kind::kLive || v->kind == Kind::kInstance || v->kind == Kind::kTensor) return nullptr;
  const std::string_view name = method;
  if (name == "__and__") return intersection(t, a, b);
  const char* update = name == "__or__"    ? "update"
                       : name == "__sub__" ? "difference_update"
                       : name == "__xor__" ? "symmetric_difference_update"
                                           : nullptr;
  if (!update || (name == "__xor__" && is_view(a) && is_view(b) && (a->number || b->number))) return nullptr;
  Value* result = t.new_set();
  t.set_update(result, "update", content(a));
  t.set_update(result, update, content(b));
  return result;
}

}  // namespace breakline::trace
