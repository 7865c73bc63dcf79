// SPDX-License-Identifier: GPL-3.0-or-later
// Operands of operators that stand for something plainer: members of number enums, views of dicts in set
// operations.
#include "core/trace/operand_forms.h"

#include <string_view>
#include <utility>

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

}  // namespace

Value* plain_of_enum(Tracer& t, Value* v, std::initializer_list<const char*> methods) {
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
