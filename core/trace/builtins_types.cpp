// SPDX-License-Identifier: GPL-3.0-or-later
// Builtin types called as functions.
#include <algorithm>

#include "core/guard/equality.h"
#include "core/torch/tensor.h"
#include "core/trace/builtins.h"
#include "core/trace/text.h"
#include "core/trace/types.h"

namespace breakline::trace {
namespace {

Value* do_native(Tracer& t, PyObject* f, Values& a, Keywords& k) {
  if (Value* made = t.native_object(f, a, k)) return made;
  t.stop("constructor", {{"class", t.name_of(f)}});
}
Value* do_build_class(Tracer& t, PyObject*, Values& a, Keywords& k) { return t.build_class(a, k); }
Value* do_list(Tracer& t, PyObject*, Values& a, Keywords&) { return t.list(a.empty() ? Values() : t.listed(a[0])); }
Value* do_tuple(Tracer& t, PyObject*, Values& a, Keywords&) {
  if (!a.empty() && t.force(a[0])->kind == Kind::kTuple && !a[0]->type) return a[0];
  if (!a.empty() && a[0]->kind == Kind::kConstant && PyTuple_CheckExact(a[0]->object)) return a[0];
  return t.tuple(a.empty() ? Values() : t.listed(a[0]));
}
void fill_dict(Tracer& t, Value* d, Values& a, Keywords& k) {
  if (!a.empty()) {
    Value* from = t.force(a[0]);
    // A dict that is iterated as dicts are is taken as it is, whatever its other methods say.
    if (Value* held = t.payload(from); held && held->kind == Kind::kDict && !held->type && !t.special_method(from, "__iter__")) from = held;
    if (from->kind == Kind::kTuple && from->type && t.lookup(from->type, py::intern("keys"))) t.stop("constructor", {{"class", "dict"}});
    if (from->kind == Kind::kDict) {
      t.dict_load(from);
      DictEntries entries = from->dict->entries;
      for (DictEntry& e : entries) t.dict_set(d, e.key, e.value);
    } else if (from->kind == Kind::kLive || from->kind == Kind::kInstance) {
      if (t.lookup(t.type_of(from), py::intern("keys"))) {
        for (Value* key : t.drain(t.call_method(from, "keys"))) t.dict_set(d, key, t.subscript(from, key));
      } else {
        for (Value* pair : t.drain(from)) {
          Values both = t.drain(pair);
          if (both.size() != 2) t.quiet("dict", true);
          t.dict_set(d, both[0], both[1]);
        }
      }
    } else {
      for (Value* pair : t.drain(from)) {
        Values both = t.drain(pair);
        if (both.size() != 2) t.quiet("dict", true);
        t.dict_set(d, both[0], both[1]);
      }
    }
  }
  for (auto& [n, v] : k) t.dict_set(d, t.constant(n), v);
}
Value* do_dict(Tracer& t, PyObject* cls, Values& a, Keywords& k) {
  if (a.size() > 1) t.quiet("arguments of dict", true);
  Value* d = t.new_dict();
  if (cls != reinterpret_cast<PyObject*>(&PyDict_Type)) d->type = reinterpret_cast<PyTypeObject*>(cls);
  fill_dict(t, d, a, k);
  return d;
}
/// What an iterator has left, as a tuple; other values as they are.
Value* drained(Tracer& t, Value* v) {
  t.force(v);
  const bool runs = v->kind == Kind::kIterator || v->kind == Kind::kGenerator || v->kind == Kind::kInstance || v->kind == Kind::kLive;
  return runs ? t.tuple(t.drain(v)) : v;
}
Value* do_set(Tracer& t, PyObject*, Values& a, Keywords&) {
  Value* s = t.new_set();
  if (!a.empty()) t.set_update(s, "update", drained(t, a[0]));
  return s;
}
Value* do_frozenset(Tracer& t, PyObject* cls, Values& a, Keywords&) {
  if (a.empty()) return t.constant_new(PyObject_CallNoArgs(cls));
  Value* from = drained(t, a[0]);
  if (from->kind == Kind::kSet && from->type == &PyFrozenSet_Type) return from;
  PyObject* o = t.set_operand(from);
  if (!o && from->kind == Kind::kSet) t.quiet("frozenset of an existing set");
  if (!o) t.stop("unhashable-key", {{"type", t.type_of(from)->tp_name}});
  return t.constant_new(PyObject_CallOneArg(cls, o));
}
Value* do_bool(Tracer& t, PyObject*, Values& a, Keywords&) {
  if (a.empty()) return t.boolean(false);
  if (t.force(a[0])->kind == Kind::kTensor && !t.settled(a[0])) t.stop("tensor-item", {{"value", "TensorVariable()"}, {"call", "__bool__"}});
  return t.boolean(t.truth(a[0]));
}
Value* do_number(Tracer& t, PyObject* f, Values& a, Keywords& k) {
  for (Value* v : a) {
    t.force(v);
    if (v->kind == Kind::kTensor && a.size() == 1 && k.empty())
      if (Value* known = t.settled_number(v, f)) return known;
    if (v->kind == Kind::kTensor) t.stop("tensor-item", {{"value", "TensorVariable()"}, {"call", t.name_of(f)}});
    static constexpr const char* kInt[] = {"__int__", "__index__", "__trunc__"};
    static constexpr const char* kFloat[] = {"__float__", "__index__", "__index__"};
    static constexpr const char* kComplex[] = {"__complex__", "__float__", "__index__"};
    bool integral = f == reinterpret_cast<PyObject*>(&PyLong_Type), real = f == reinterpret_cast<PyObject*>(&PyFloat_Type);
    for (const char* name : integral ? kInt : real ? kFloat : kComplex) {
      if (t.scalar(v) && !t.special_method(v, name) && t.lookup(t.type_of(v), py::intern(name))) {
        // The base's own, which comes before those that are asked without it.
        if (a.size() == 1 && k.empty()) return t.fold(f, {t.scalar(v)->dynamic ? t.scalar(v) : t.constant(t.scalar_twin(v))}, k);
        break;
      }
      if (Value* m = t.special_method(v, name)) {
        PyObject* c = t.constant_of(t.call_nested(m, {v}));
        bool exact = c && (integral ? PyLong_CheckExact(c) : real ? PyFloat_CheckExact(c) : PyComplex_CheckExact(c));
        if (exact && a.size() == 1) return t.constant(c);
        t.quiet("conversion to a number", true);
      }
    }
  }
  return t.fold(f, a, k);
}
Value* do_str(Tracer& t, PyObject* f, Values& a, Keywords& k) {
  if (a.size() == 1 && k.empty()) {
    PyObject* c = t.constant_of(a[0]);
    if (c && PyUnicode_CheckExact(c)) return a[0];
    return text_symbolically(t, a[0], 1);
  }
  return t.fold(f, a, k);
}
Value* do_fold(Tracer& t, PyObject* f, Values& a, Keywords& k) { return t.fold(f, a, k); }
Value* do_slice(Tracer& t, PyObject*, Values& a, Keywords&) {
  Value* s = t.make(Kind::kSlice);
  if (a.size() == 1) s->items = {t.none(), a[0], t.none()};
  else if (a.size() == 2) s->items = {a[0], a[1], t.none()};
  else if (a.size() == 3) s->items = a;
  else t.quiet("slice", true);
  return s;
}
Value* do_type(Tracer& t, PyObject*, Values& a, Keywords& k) {
  if (!k.empty()) t.stop("class-statement", {{"args", "type()"}});
  if (a.size() == 3)
    if (Value* made = t.make_class(a)) return made;
  if (a.size() != 1) t.stop("class-statement", {{"args", "type()"}});
  return t.constant(reinterpret_cast<PyObject*>(t.type_of(a[0])));
}
Value* do_super(Tracer& t, PyObject*, Values& a, Keywords&) { return t.super_call(a); }

bool keyword_is(PyObject* n, const char* text) { return PyUnicode_CompareWithASCIIString(n, text) == 0; }

Value* do_zip(Tracer& t, PyObject*, Values& a, Keywords& k) {
  Value* it = t.make(Kind::kIterator);
  it->iterator = IteratorKind::kZip;
  for (auto& [n, v] : k)
    if (keyword_is(n, "strict")) it->strict = t.truth(v);
  for (Value* v : a) it->items.push_back(t.iterator_of(v));
  return it;
}
Value* do_enumerate(Tracer& t, PyObject*, Values& a, Keywords& k) {
  Value* it = t.make(Kind::kIterator);
  it->iterator = IteratorKind::kEnumerate;
  Value* start = a.size() > 1 ? a[1] : nullptr;
  Value* over = a.empty() ? nullptr : a[0];
  for (auto& [n, v] : k) (keyword_is(n, "start") ? start : over) = v;
  if (!over) t.quiet("enumerate", true);
  if (start && !t.int_of(start, &it->position)) t.stop("not-constant", {{"value", "enumerate start"}});
  it->items = {t.iterator_of(over)};
  return it;
}
Value* do_reversed(Tracer& t, PyObject*, Values& a, Keywords&) {
  Value* v = t.force(a[0]);
  if (Value* f = v->kind == Kind::kTuple && v->type ? t.special_method(v, "__reversed__") : nullptr) return t.call_nested(f, {v});
  if (v->kind == Kind::kList || v->kind == Kind::kTuple) {
    Value* it = t.make(Kind::kIterator);
    it->iterator = IteratorKind::kReversed;
    it->items = {v};
    it->position = (v->kind == Kind::kList ? t.list_size(v) : static_cast<int64_t>(v->items.size())) - 1;
    return it;
  }
  if (v->kind == Kind::kConstant && PyRange_Check(v->object)) {
    py::Ref step = py::check(PyLong_FromLong(-1)), slice = py::check(PySlice_New(nullptr, nullptr, step.get()));
    py::Ref backwards = py::check(PyObject_GetItem(v->object, slice.get()));
    return t.range_iterator(backwards.get());
  }
  if (v->kind == Kind::kConstant && (PyTuple_Check(v->object) || PyUnicode_Check(v->object))) {
    Values items = t.drain(v);
    std::reverse(items.begin(), items.end());
    return t.iterator_of(t.tuple(std::move(items)));
  }
  if (v->kind == Kind::kDict || v->kind == Kind::kDictView) {
    Values items = t.drain(v);
    std::reverse(items.begin(), items.end());
    return t.iterator_of(t.tuple(std::move(items)));
  }
  if (Value* c = t.payload(v); c && c->type == deque_type()) {
    Values self = {v};
    Keywords none;
    return t.deque_method(v, "__reversed__", self, none);
  }
  if (Value* f = t.special_method(v, "__reversed__")) return t.call_nested(f, {v});
  Value* size = t.special_method(v, "__len__");
  Value* get = t.special_method(v, "__getitem__");
  int64_t n;
  if (size && get && t.int_of(t.call_nested(size, {v}), &n)) {
    Values items;
    for (int64_t i = n - 1; i >= 0; --i) items.push_back(t.call_nested(get, {v, t.integer(i)}));
    return t.iterator_of(t.tuple(std::move(items)));
  }
  t.stop("builtin", {{"function", "reversed"}, {"arg_types", t.describe(v)}});
}
Value* do_map(Tracer& t, PyObject*, Values& a, Keywords&) {
  if (a.size() < 2) t.quiet("map", true);
  Value* it = t.make(Kind::kIterator);
  it->iterator = IteratorKind::kMap;
  it->items = {a[0]};
  for (size_t i = 1; i < a.size(); ++i) it->items.push_back(t.iterator_of(a[i]));
  return it;
}
Value* do_filter(Tracer& t, PyObject*, Values& a, Keywords&) {
  if (a.size() != 2) t.quiet("filter", true);
  Value* it = t.make(Kind::kIterator);
  it->iterator = IteratorKind::kFilter;
  t.force(a[0]);
  it->items = {a[0], t.iterator_of(a[1])};
  return it;
}
Value* do_property(Tracer& t, PyObject*, Values&, Keywords&) { t.stop("constructor", {{"class", "property"}}); }

}  // namespace

void add_builtin_types() {
  struct Row {
    const char* name;
    Builtins::Handler handler;
  };
  constexpr Row kRows[] = {
      {"list", do_list}, {"tuple", do_tuple}, {"dict", do_dict}, {"set", do_set}, {"frozenset", do_frozenset},
      {"bool", do_bool}, {"int", do_number}, {"float", do_number}, {"complex", do_number}, {"str", do_str},
      {"bytes", do_fold}, {"range", do_fold}, {"slice", do_slice}, {"type", do_type}, {"super", do_super}, {"zip", do_zip},
      {"enumerate", do_enumerate}, {"reversed", do_reversed}, {"map", do_map}, {"filter", do_filter},
      {"property", do_property}, {"bytearray", do_native}, {"memoryview", do_native},
      {"__build_class__", do_build_class},
  };
  for (const Row& r : kRows) Builtins::add("builtins", r.name, r.handler);
  Builtins::add("collections", "OrderedDict", do_dict);
}

}  // namespace breakline::trace
