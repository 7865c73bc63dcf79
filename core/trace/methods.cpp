// SPDX-License-Identifier: GPL-3.0-or-later
// Methods of lists, dicts, sets and tuples, by name.
#include <algorithm>

#include "core/guard/equality.h"
#include "core/trace/builtins.h"
#include "core/trace/mappings.h"
#include "core/trace/sets.h"
#include "core/trace/text.h"
#include "core/trace/tracer.h"
#include "core/trace/types.h"

namespace breakline::trace {

namespace {

/// The class's native base leaves == to object.
bool compares_as_object(PyTypeObject* type) {
  while (type->tp_base && (type->tp_flags & Py_TPFLAGS_HEAPTYPE)) type = type->tp_base;
  return type->tp_richcompare == PyBaseObject_Type.tp_richcompare;
}

/// The type's own `__setattr__` and `__delattr__` change the instance's dict and nothing else.
bool writes_plainly(PyTypeObject* type) { return type->tp_setattro == PyObject_GenericSetAttr || is_thread_local(type); }

/// dict's own methods that an OrderedDict answers as its own do. The others see, or make, an order of its
/// own.
bool is_same_for_ordered(const std::string& name) {
  for (const char* n : {"get", "__getitem__", "__contains__", "__len__", "__eq__", "__ne__", "__or__"})
    if (name == n) return true;
  return false;
}

}  // namespace

/// function.__get__(instance[, class]); null for a call it refuses.
Value* Tracer::bound_by_get(Value* function, const Values& args) {
  if (args.size() != 2 && args.size() != 3) return nullptr;
  const auto is_none = [this](Value* v) { return force(v)->kind == Kind::kConstant && v->object == Py_None; };
  if (!is_none(args[1])) return method(function, args[1]);
  return args.size() == 3 && !is_none(args[2]) ? function : nullptr;
}

PyObject* Tracer::attribute_name(Value* v) {
  PyObject* n = need_constant(v, "attribute name");
  if (!PyUnicode_Check(n)) quiet("attribute name must be string", true);
  Py_INCREF(n);
  PyUnicode_InternInPlace(&n);
  return keep(n);
}

Value* Tracer::container_method(Value* self, const char* name, Values& args, Keywords& keywords, PyTypeObject* owner) {
  std::string n = name;
  if (self->kind == Kind::kDict && self->type == ordered_dict_type() && owner == &PyDict_Type) {
    if (!is_same_for_ordered(n)) return nullptr;
    if ((n == "__eq__" || n == "__ne__") && args.size() == 2) {
      // Without a look at the order.
      Value* other = held_dict(*this, args[1]);
      return other ? boolean(equal_dicts(join_dicts(*this, self, new_dict(), new_dict()), other) == (n == "__eq__")) : constant(Py_NotImplemented);
    }
    if (n == "__or__" && args.size() == 2) {
      Value* other = held_dict(*this, args[1]);
      return other ? join_dicts(*this, self, other, new_dict()) : constant(Py_NotImplemented);
    }
  }
  switch (self->kind) {
    case Kind::kList: return list_method(self, n, args, keywords);
    case Kind::kDict: return dict_method(self, n, args, keywords);
    case Kind::kSet: return set_method(self, n, args, keywords);
    case Kind::kTuple:
      if (n == "__repr__" && owner != &PyTuple_Type) return nullptr;
      return tuple_method(self, n, args, keywords);
    case Kind::kTensor:
      if (n == "__hash__") stop("builtin", {{"function", "hash"}, {"arg_types", "TensorVariable()"}});
      return nullptr;
    case Kind::kDictView:
      if (n == "__iter__") return iterator_of(self);
      if (n == "__len__") return length(self);
      if (n == "__contains__" && args.size() == 2) return boolean(contains(self, args[1]));
      return nullptr;
    case Kind::kIterator:
    case Kind::kGenerator:
      if (n == "__iter__") return self;
      if (n == "__next__") {
        if (Value* x = next_of(self)) return x;
        stop_iteration(self);
      }
      if (self->kind == Kind::kGenerator) {
        if (Value* x = generator_method(self, n, args)) return x;
        stop("generator-method", {{"name", n}});
      }
      return nullptr;
    case Kind::kConstant:
      if (PyType_Check(self->object) && n == "__call__") {
        Values rest(args.begin() + 1, args.end());
        Value* r = instantiate(reinterpret_cast<PyTypeObject*>(self->object), rest, keywords, true);
        return r ? r : run_nested();
      }
      if (PyType_Check(self->object) && n == "mro") return fold(py::type_lookup(&PyType_Type, py::intern("mro")), args, keywords);
      if (PyType_Check(self->object) && n == "__subclasses__") return subclasses_of(self);
      return nullptr;
    case Kind::kLive:
    case Kind::kInstance:
      if (self->exception)
        if (Value* r = exception_method(self, n, args, keywords)) return r;
      if (Value* p = payload(self);
          p && p->type == ordered_dict_type() && owner == &PyDict_Type && !is_same_for_ordered(n))
        return nullptr;
      if (Value* r = payload_method(self, n, args, keywords)) return r;
      // object's own methods, reached through super() or directly
      if (n == "__setattr__" && args.size() == 3 && owner && writes_plainly(owner)) {
        set_attribute_plainly(self, attribute_name(args[1]), args[2]);
        return none();
      }
      if (n == "__getattribute__" && args.size() == 2 && owner && (owner->tp_getattro == PyObject_GenericGetAttr || is_thread_local(owner)))
        return instance_attribute(self, attribute_name(args[1]), nullptr, true);
      if (n == "__delattr__" && args.size() == 2 && owner && writes_plainly(owner)) {
        delete_attribute_plainly(self, attribute_name(args[1]));
        return none();
      }
      if (owner == &PyProperty_Type && n == "__init__" && self->kind == Kind::kInstance && self->stand_in) {
        self->items.assign(args.begin() + 1, args.end());
        return none();
      }
      if (owner && owner != &PyBaseObject_Type && (n == "__init__" || n == "__eq__")) return nullptr;
      if (n == "__init__" && args.size() == 1) return none();
      if (n == "__eq__" && args.size() == 2 && compares_as_object(type_of(self))) return same(self, args[1]) ? boolean(true) : constant(Py_NotImplemented);
      if (n == "__init_subclass__") return none();
      if (n == "__get__" && self->function_live) return bound_by_get(self, args);
      return nullptr;
    case Kind::kFunction:
      if (n == "__get__") return bound_by_get(self, args);
      return nullptr;
    default: return nullptr;
  }
}

Value* Tracer::list_method(Value* s, const std::string& n, Values& a, Keywords& k) {
  if (n == "append" && a.size() == 2) {
    list_touch(s);
    s->items.push_back(a[1]);
    return none();
  }
  if (n == "__setitem__" && a.size() == 3) {
    store_subscript(s, a[1], a[2]);
    return none();
  }
  if (n == "__getitem__" && a.size() == 2) return subscript(s, a[1]);
  if (n == "__len__") return length(s);
  if (n == "__iter__") return iterator_of(s);
  if (n == "__contains__" && a.size() == 2) return boolean(contains(s, a[1]));
  if (n == "__iadd__" && a.size() == 2) {
    list_method(s, "extend", a, k);
    return s;
  }
  if (n == "__delitem__" && a.size() == 2) {
    delete_subscript(s, a[1]);
    return none();
  }
  if (n == "extend" && a.size() == 2) {
    extend_list(s, a[1]);
    return none();
  }
  list_load(s);
  auto& items = s->items;
  int64_t size = static_cast<int64_t>(items.size());
  if (n == "pop") {
    int64_t i = -1;
    if (a.size() > 1 && !int_of(a[1], &i)) return nullptr;
    if (!size) raise_text(PyExc_IndexError, "pop from empty list");
    if (i < 0) i += size;
    if (i < 0 || i >= size) raise_text(PyExc_IndexError, "pop index out of range");
    Value* v = items[static_cast<size_t>(i)];
    list_touch(s);
    items.erase(items.begin() + i);
    return v;
  }
  if (n == "insert" && a.size() == 3) {
    int64_t i;
    if (!int_of(a[1], &i)) return nullptr;
    if (i < 0) i = std::max<int64_t>(0, i + size);
    i = std::min(i, size);
    list_touch(s);
    items.insert(items.begin() + i, a[2]);
    return none();
  }
  if (n == "clear") {
    list_touch(s);
    items.clear();
    return none();
  }
  if (n == "copy") return list(items);
  if (n == "reverse") {
    list_touch(s);
    std::reverse(items.begin(), items.end());
    return none();
  }
  if ((n == "index" || n == "count" || n == "remove") && a.size() == 2) {
    int64_t found = 0;
    for (int64_t i = 0; i < static_cast<int64_t>(items.size()); ++i) {  // a comparison may change the list
      Value* x = items[static_cast<size_t>(i)];
      if (x != a[1] && !equal(x, a[1])) continue;
      if (n == "index") return integer(i);
      if (n == "remove") {
        list_touch(s);
        if (i < static_cast<int64_t>(items.size())) items.erase(items.begin() + i);
        return none();
      }
      ++found;
    }
    if (n == "count") return integer(found);
    quiet("ValueError", true);
  }
  if (n == "sort" && a.size() == 1) {
    py::Ref builtins = py::check(PyImport_ImportModule("builtins"));
    py::Ref sorted = py::check(PyObject_GetAttrString(builtins.get(), "sorted"));
    // The list is empty while it is sorted.
    list_touch(s);
    Values content = std::move(items), one = {list(content)};
    items.clear();
    Value* r = nullptr;
    try {
      r = Builtins::try_call(*this, sorted.get(), one, k);
    } catch (Raise&) {
      s->items = content;
      throw;
    }
    const bool modified = !s->items.empty();
    s->items = r->items;
    if (modified) raise_text(PyExc_ValueError, "list modified during sort");
    return none();
  }
  return nullptr;
}

Value* Tracer::dict_method(Value* s, const std::string& n, Values& a, Keywords& k) {
  auto view = [&](int which) {
    Value* v = make(Kind::kDictView);
    v->items = {s};
    v->number = which;
    return v;
  };
  if (n == "keys") return view(0);
  if (n == "values") return view(1);
  if (n == "items") return view(2);
  if (n == "get" && a.size() >= 2) {
    Value* v = dict_get(s, a[1]);
    return v ? v : a.size() > 2 ? a[2] : none();
  }
  if (n == "__contains__" && a.size() == 2) return boolean(dict_get(s, a[1]) != nullptr);
  if (n == "__getitem__" && a.size() == 2) return subscript(s, a[1]);
  if (n == "__setitem__" && a.size() == 3) {
    dict_set(s, a[1], a[2]);
    return none();
  }
  if (n == "__delitem__" && a.size() == 2) {
    dict_delete(s, a[1]);
    return none();
  }
  if (n == "__len__") return integer(dict_size(s));
  if (n == "__iter__") return iterator_of(s);
  if ((n == "__or__" || n == "__ror__") && a.size() == 2) {
    Value* other = held_dict(*this, a[1]);
    if (!other) return constant(Py_NotImplemented);
    return n == "__or__" ? join_dicts(*this, s, other, s) : join_dicts(*this, other, s, s);
  }
  if (n == "__ior__" && a.size() == 2) return dict_method(s, "update", a, k) ? s : nullptr;
  if ((n == "__eq__" || n == "__ne__") && a.size() == 2) {
    Value* other = held_dict(*this, a[1]);
    return other ? boolean(equal_dicts(s, other) == (n == "__eq__")) : constant(Py_NotImplemented);
  }
  if ((n == "copy" || (n == "__copy__" && s->type == default_dict_type())) && a.size() == 1) {
    if (s->type == ordered_dict_type() && s->source >= 0)
      if (Value* own = instance_dict(s); own && dict_size(own)) return nullptr;  // attributes, which are copied too
    dict_load(s);
    Value* d = new_dict();
    d->type = s->type;
    if (s->type == default_dict_type()) d->items = {attribute(s, py::intern("default_factory"))};
    d->dict->entries = s->dict->entries;
    return d;
  }
  if (n == "update") {
    if (a.size() > 1) {
      Value* from = force(a[1]);
      if (each_of_mapping(*this, from, [&](Value* key, Value* value) { dict_set(s, key, value); })) {
      } else if (from->kind == Kind::kTuple || from->kind == Kind::kList || from->kind == Kind::kIterator ||
                 from->kind == Kind::kGenerator || from->kind == Kind::kDictView) {
        each_item(from, [&](Value* pair) {
          const Values both = listed(pair);
          if (both.size() != 2) quiet("dict.update", true);
          dict_set(s, both[0], both[1]);
        });
      } else {
        return nullptr;
      }
    }
    for (auto& [name, v] : k) dict_set(s, constant(name), v);
    return none();
  }
  if (!k.empty() && (n == "pop" || n == "setdefault")) a.push_back(k[0].second);
  if (n == "pop" && a.size() >= 2) {
    Value* v = dict_get(s, a[1]);
    if (!v) {
      if (a.size() > 2) return a[2];
      raise(PyExc_KeyError, {a[1]});
    }
    dict_delete(s, a[1]);
    return v;
  }
  if (n == "setdefault" && a.size() >= 2) {
    if (Value* v = dict_get(s, a[1])) return v;
    Value* v = a.size() > 2 ? a[2] : none();
    dict_set(s, a[1], v);
    return v;
  }
  auto last_flag = [&](size_t at) {
    Value* v = a.size() > at ? a[at] : k.size() == 1 ? k[0].second : nullptr;
    return v ? truth(v) == 1 : true;
  };
  if (n == "move_to_end" && a.size() >= 2 && s->type == ordered_dict_type()) {
    if (!dict_get(s, a[1])) quiet("KeyError", true);
    bool last = last_flag(2);
    dict_load(s);
    mutated();
    Value** place = dict_find(s, a[1]);
    s->dict->rank_entries();
    auto& entries = s->dict->entries;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (&entries[i].value != place) continue;
      DictEntry moved = entries[i];
      entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(i));
      entries.insert(last ? entries.end() : entries.begin(), moved);
      s->dict->index.clear();
      if (s->source >= 0) {
        effects_.push_back({Effect::kMoveToEnd, s, moved.key, boolean(last), nullptr});
        s->dirty = true;
      }
      break;
    }
    return none();
  }
  if (n == "popitem" && (a.size() == 1 || s->type == ordered_dict_type())) {
    bool last = last_flag(1);
    dict_load(s);
    if (s->dict->entries.empty()) quiet("KeyError", true);
    DictEntry e = last ? s->dict->entries.back() : s->dict->entries.front();
    dict_delete(s, e.key);
    return tuple({e.key, e.value});
  }
  if (n == "clear") {
    dict_load(s);
    DictEntries entries = s->dict->entries;
    for (DictEntry& e : entries) dict_delete(s, e.key);
    return none();
  }
  return nullptr;
}

Value* Tracer::set_method(Value* s, const std::string& n, Values& a, Keywords&) {
  if (n == "__contains__" && a.size() == 2) return boolean(contains(s, a[1]));
  if (n == "__len__") return length(s);
  if (n == "__iter__") return iterator_of(s);
  bool frozen = s->type == &PyFrozenSet_Type;
  auto holds_order_only = [](Value* v) { return v->source >= 0 || v->items.empty(); };
  auto in_full = [&](Value* v) {
    force(v);
    return v->kind == Kind::kDict || runs_for_items(v) ? tuple(drain(v)) : v;
  };
  if (n == "add" && a.size() == 2 && !frozen) {
    set_apply(s, SetOperation::kAdd, a[1]);
    return none();
  }
  if ((n == "discard" || n == "remove") && a.size() == 2 && !frozen) {
    if (n == "remove" && !contains(s, a[1])) raise(PyExc_KeyError, {a[1]});
    set_apply(s, SetOperation::kDiscard, a[1]);
    return none();
  }
  if (n == "pop" && a.size() == 1 && !frozen && s->source < 0 && s->items.empty() && PySet_GET_SIZE(s->shadow) <= 1) {
    if (PySet_GET_SIZE(s->shadow) == 0) raise_text(PyExc_KeyError, "pop from an empty set");
    py::Ref all = py::check(PySequence_Tuple(s->shadow));
    Value* only = constant(PyTuple_GET_ITEM(all.get(), 0));
    set_apply(s, SetOperation::kDiscard, only);
    return only;
  }
  if (n == "clear" && !frozen) {
    set_apply(s, SetOperation::kClear, nullptr);
    return none();
  }
  if (!frozen)
    for (const char* name : {"update", "intersection_update", "difference_update", "symmetric_difference_update"})
      if (n == name) {
        if (n == "symmetric_difference_update" && a.size() != 2) return nullptr;
        if (a.size() > 2 && n == "intersection_update") return nullptr;
        const bool adds = n == "update", by_item = adds || n == "difference_update";
        for (size_t i = 1; i < a.size(); ++i)
          if (by_item && runs_for_items(force(a[i])))
            each_item(a[i], [&](Value* x) { set_apply(s, adds ? SetOperation::kAdd : SetOperation::kDiscard, x); });
          else
            set_update(s, name, in_full(a[i]));
        return none();
      }
  if ((n == "union" || n == "difference") && a.size() != 2) {
    Value* r = s;
    for (size_t i = 1; i < a.size(); ++i) r = set_derive(r, n == "union" ? "union" : "difference", in_full(a[i]));
    return a.size() == 1 ? set_derive(s, "copy", nullptr) : r;
  }
  for (const char* name : {"union", "intersection", "difference", "symmetric_difference"})
    if (n == name && a.size() == 2) return set_derive(s, name, in_full(a[1]));
  if ((n == "issubset" || n == "issuperset" || n == "isdisjoint") && a.size() == 2) {
    Value* other = force(a[1]);
    if (n != "issubset" && runs_for_items(other)) return boolean(n == "isdisjoint" ? meets_none(*this, s, other) : holds_all(*this, s, other));
    PyObject* c = nullptr;
    if (!holds_objects(s) && !(other->kind == Kind::kSet && holds_objects(other))) {
      c = other->kind == Kind::kSet ? other->shadow : constant_of(other);
      if (!c) c = set_operand(other);
    }
    if (!c) {
      if (other->kind != Kind::kSet) {
        Value* all = new_set();
        for (Value* v : drain(other)) set_apply(all, SetOperation::kAdd, v);
        other = all;
      }
      return boolean(n == "isdisjoint" ? are_disjoint(*this, s, other) : n == "issubset" ? is_subset(*this, s, other) : is_subset(*this, other, s));
    }
    return constant_new(PyObject_CallMethod(s->shadow, n.c_str(), "(O)", c));
  }
  if (n == "copy" && a.size() == 1) {
    if (frozen) return s;
    if (holds_order_only(s)) return set_derive(s, "copy", nullptr);
    Value* c = new_set();
    c->items = s->items;
    c->history = s->history;
    c->shadow = keep(py::check(PySet_New(s->shadow)).release());
    return c;
  }
  return nullptr;
}

Value* Tracer::tuple_method(Value* s, const std::string& n, Values& a, Keywords& k) {
  if (s->kind == Kind::kTuple && s->type && n != "__new__") {  // tuple's own method, whatever the subclass says
    Value* plain = make(Kind::kTuple);
    plain->items = s->items;
    if (n != "numel") s = plain;
  }
  if (n == "__len__") return length(s);
  if (n == "__iter__") return iterator_of(s);
  if (n == "__getitem__" && a.size() == 2) return subscript(s, a[1]);
  if (n == "__contains__" && a.size() == 2) return boolean(contains(s, a[1]));
  constexpr const char* kCompared[] = {"__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"};
  for (int op = Py_LT; op <= Py_GE && a.size() == 2; ++op) {
    if (n != kCompared[op]) continue;
    Value* other = force(a[1]);
    if (!PyType_IsSubtype(type_of(other), &PyTuple_Type)) return constant(Py_NotImplemented);
    return compare(op, s, other->kind == Kind::kTuple && other->type ? tuple(other->items) : other);
  }
  if (n == "__repr__" && a.size() == 1) return text_symbolically(*this, s, 2);
  if ((n == "index" || n == "count") && a.size() == 2) {
    int64_t found = 0;
    for (size_t i = 0; i < s->items.size(); ++i) {
      if (s->items[i] != a[1] && !equal(s->items[i], a[1])) continue;
      if (n == "index") return integer(static_cast<int64_t>(i));
      ++found;
    }
    if (n == "count") return integer(found);
    quiet("ValueError", true);
  }
  if (n == "numel" && std::string_view(type_of(s)->tp_name) == "torch.Size") {
    Value* total = integer(1);
    for (Value* i : s->items) total = binary(5, total, i);
    return total;
  }
  (void)k;
  return nullptr;
}

}  // namespace breakline::trace
