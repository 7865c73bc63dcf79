// SPDX-License-Identifier: GPL-3.0-or-later
// Sets: a shadow with the present content, and the operations that led to it.
#include <algorithm>

#include "core/guard/equality.h"
#include "core/torch/tensor.h"
#include "core/trace/sets.h"
#include "core/trace/types.h"

namespace breakline::trace {

using guard::StepKind;

bool apply_set_operation(py::Ref& set, const SetOperation& op) {
  switch (op.kind) {
    case SetOperation::kAdd:
      return PySet_Add(set.get(), op.item) == 0;
    case SetOperation::kDiscard:
      return PySet_Discard(set.get(), op.item) >= 0;
    case SetOperation::kClear:
      return PySet_Clear(set.get()) == 0;
    case SetOperation::kUpdate:
      return static_cast<bool>(py::Ref::steal(PyObject_CallMethod(set.get(), op.method, "(O)", op.item)));
    case SetOperation::kDerive: {
      py::Ref r = py::Ref::steal(op.item ? PyObject_CallMethod(set.get(), op.method, "(O)", op.item)
                                         : PyObject_CallMethod(set.get(), op.method, nullptr));
      if (r) set = r;
      return static_cast<bool>(r);
    }
  }
  return false;
}

Value* Tracer::new_set() {
  Value* s = make(Kind::kSet);
  s->type = &PySet_Type;
  s->shadow = keep(py::check(PySet_New(nullptr)).release());
  return s;
}

bool Tracer::hashes_by_identity(Value* v) {
  force(v);
  if (v->kind == Kind::kTensor || v->kind == Kind::kFunction) return true;
  if (v->kind != Kind::kLive && v->kind != Kind::kInstance) return false;
  PyTypeObject* t = type_of(v);
  return t->tp_hash == PyBaseObject_Type.tp_hash;
}

namespace {

/// Objects whose hash and equality run no user code.
bool hashes_plainly(PyObject* o) {
  return guard::is_plain_constant(o) || PyType_Check(o) || PyFunction_Check(o) || torch::is_torch_constant(o);
}

/// A set of the members of `from` that `keep` holds for.
template <class Keep>
void add_members(Tracer& t, Value* into, const Values& from, Keep keep) {
  for (Value* m : from)
    if (keep(m)) t.set_apply(into, SetOperation::kAdd, m);
}

/// The order of what is left depends on objects that have gone.
void check_order(Tracer& t, Value* s) {
  if (!holds_objects(s) && PySet_GET_SIZE(s->shadow) > 1) t.stop("builtin", {{"function", "operator on a set of objects"}});
}

}  // namespace

bool holds_objects(const Value* s) { return s->source < 0 && !s->items.empty(); }

Values set_members(Tracer& t, Value* s) {
  if (s->source >= 0) {
    if (!s->history.empty()) t.stop("builtin", {{"function", "iter of a changed set"}});
    return s->items;
  }
  py::Ref plain = py::check(PySequence_Tuple(s->shadow));
  Values all;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(plain.get()); ++i) all.push_back(t.constant(PyTuple_GET_ITEM(plain.get(), i)));
  all.insert(all.end(), s->items.begin(), s->items.end());
  return all;
}

bool is_subset(Tracer& t, Value* a, Value* b) {
  const Values all = set_members(t, a);
  return std::all_of(all.begin(), all.end(), [&](Value* m) { return t.contains(b, m); });
}

bool are_disjoint(Tracer& t, Value* a, Value* b) {
  const Values all = set_members(t, a);
  return std::none_of(all.begin(), all.end(), [&](Value* m) { return t.contains(b, m); });
}

bool runs_for_items(const Value* v) {
  return v->kind == Kind::kIterator || v->kind == Kind::kGenerator || v->kind == Kind::kInstance || v->kind == Kind::kLive;
}

bool holds_all(Tracer& t, Value* set, Value* iterable) {
  Value* it = t.iterator_of(iterable);
  while (Value* x = t.next_of(it))
    if (!t.contains(set, x)) return false;
  return true;
}

bool meets_none(Tracer& t, Value* set, Value* iterable) {
  Value* it = t.iterator_of(iterable);
  while (Value* x = t.next_of(it))
    if (t.contains(set, x)) return false;
  return true;
}

bool compare_sets(Tracer& t, int op, Value* a, Value* b) {
  const Py_ssize_t left = t.set_size(a), right = t.set_size(b);
  switch (op) {
    case Py_LT: return left < right && is_subset(t, a, b);
    case Py_LE: return left <= right && is_subset(t, a, b);
    case Py_GT: return left > right && is_subset(t, b, a);
    case Py_GE: return left >= right && is_subset(t, b, a);
    case Py_EQ: return left == right && is_subset(t, a, b);
    default: return left != right || !is_subset(t, a, b);
  }
}

bool Tracer::set_has_object(Value* s, Value* item) {
  if (std::find(s->items.begin(), s->items.end(), item) != s->items.end()) return true;
  if (item->function_live)  // functions have a value for each source
    for (Value* known : s->items)
      if (known->source >= 0 && known->object == item->object) return same(known, item);
  guard_type(item);
  if (item->source < 0) return false;
  // `position` is one more than the set's group, which holds the sources of its first `stop` items.
  if (s->position == 0 || s->stop > static_cast<int64_t>(s->items.size())) {
    groups_.emplace_back();
    s->position = static_cast<int64_t>(groups_.size());
    s->stop = 0;
  }
  std::vector<SourceId>& group = groups_[static_cast<size_t>(s->position) - 1];
  for (; s->stop < static_cast<int64_t>(s->items.size()); ++s->stop) {
    Value* known = s->items[static_cast<size_t>(s->stop)];
    if (known->source < 0) continue;
    need(known->source);
    group.push_back(known->source);
  }
  if (!group.empty())
    guard(StepKind::kNotAmong, item->source, nullptr, s->position << 32 | static_cast<int64_t>(group.size()));
  return false;
}

void Tracer::set_apply(Value* s, SetOperation::Kind kind, Value* item) {
  PyObject* o = item ? constant_of(item) : nullptr;
  if (item && !o && s->source < 0 && s->type == &PySet_Type && kind != SetOperation::kClear &&
      hashes_by_identity(item)) {
    // Objects without an order of their own: kept aside; what depends on the set's order stops the trace.
    constexpr size_t kMostObjects = 20'000;
    if (s->items.size() > kMostObjects) stop("unhashable-key", {{"type", type_of(item)->tp_name}});
    mutated();
    if (set_has_object(s, item)) {
      if (kind == SetOperation::kDiscard) {
        s->items.erase(std::find(s->items.begin(), s->items.end(), item));
        s->position = 0;
      }
      return;
    }
    if (kind == SetOperation::kAdd) s->items.push_back(item);
    return;
  }
  if (kind == SetOperation::kClear && s->source < 0) {
    s->items.clear();
    s->position = 0;
  }
  if (item && (!o || !hashes_plainly(o))) stop("unhashable-key", {{"type", type_of(item)->tp_name}});
  set_change(s, {kind, o ? keep_borrowed(o) : nullptr});
}

void Tracer::set_change(Value* s, SetOperation op) {
  py::Ref shadow = py::Ref::borrow(s->shadow);
  if (!apply_set_operation(shadow, op)) quiet("set operation", true);
  mutated();
  s->history.push_back(op);
  if (s->source < 0) return;
  release(nullptr);
  if (s->dirty) return;
  s->dirty = true;
  touched_.push_back(s);
}

PyObject* Tracer::set_operand(Value* v) {
  force(v);
  auto constants = [&](const Values& items) -> PyObject* {
    py::Ref t = py::check(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
    for (size_t i = 0; i < items.size(); ++i) {
      PyObject* o = constant_of(items[i]);
      if (!o || !hashes_plainly(o)) return nullptr;
      PyTuple_SET_ITEM(t.get(), static_cast<Py_ssize_t>(i), Py_NewRef(o));
    }
    return keep(t.release());
  };
  switch (v->kind) {
    case Kind::kConstant:
      return guard::is_plain_constant(v->object) && Py_TYPE(v->object)->tp_iter ? v->object : nullptr;
    case Kind::kSet: {
      if (v->source >= 0 || holds_objects(v)) return nullptr;
      py::Ref again = py::check(PySet_New(nullptr));
      for (const SetOperation& op : v->history)
        if (!apply_set_operation(again, op)) throw py::PythonError{};
      return keep(again.release());
    }
    case Kind::kDict: {
      if (v->type) return nullptr;
      dict_load(v);
      py::Ref d = py::check(PyDict_New());
      for (DictEntry& e : v->dict->entries) {
        PyObject* k = constant_of(e.key);
        if (!k || !hashes_plainly(k)) return nullptr;
        py::check_status(PyDict_SetItem(d.get(), k, Py_None));
      }
      return keep(d.release());
    }
    case Kind::kTuple:
    case Kind::kList:
    case Kind::kDictView:
      return constants(drain(v));
    default:
      return nullptr;
  }
}

void Tracer::set_update(Value* s, const char* method, Value* other) {
  const std::string_view name = method;
  PyObject* o = holds_objects(s) ? nullptr : set_operand(other);
  if (o) return set_change(s, {SetOperation::kUpdate, o, method});
  if (other->kind == Kind::kSet && !holds_objects(other) && !holds_objects(s)) quiet("set operation with an existing set");
  const Values theirs = other->kind == Kind::kSet ? set_members(*this, other) : drain(other);
  const auto every = [](Value*) { return true; };
  if (name == "update") return add_members(*this, s, theirs, every);
  if (s->source >= 0) stop("builtin", {{"function", "operator on a set of objects"}});
  Value* against = other;
  if (other->kind != Kind::kSet) add_members(*this, against = new_set(), theirs, every);
  Values goes, comes;
  if (name == "intersection_update") {
    for (Value* m : set_members(*this, s))
      if (!contains(against, m)) goes.push_back(m);
  } else {
    for (Value* m : set_members(*this, against))
      if (contains(s, m)) goes.push_back(m);
      else if (name == "symmetric_difference_update") comes.push_back(m);
  }
  for (Value* m : goes) set_apply(s, SetOperation::kDiscard, m);
  add_members(*this, s, comes, every);
  check_order(*this, s);
}

Value* Tracer::set_derive(Value* s, const char* method, Value* other) {
  if (s->kind == Kind::kSet && (holds_objects(s) || (other && other->kind == Kind::kSet && holds_objects(other)))) {
    std::string_view name = method;
    constexpr std::pair<std::string_view, std::string_view> kOperators[] = {
        {"__or__", "union"}, {"__and__", "intersection"}, {"__sub__", "difference"}, {"__xor__", "symmetric_difference"}};
    for (const auto& [of_operator, same] : kOperators)
      if (name == of_operator) name = same;
    const auto every = [](Value*) { return true; };
    Value *made = new_set(), *against = other;
    const Values mine = set_members(*this, s), theirs = !other ? Values() : other->kind == Kind::kSet ? set_members(*this, other) : drain(other);
    if (!other || other->kind != Kind::kSet) add_members(*this, against = new_set(), theirs, every);
    const auto in_both = [&](Value* m) { return contains(against, m); };
    const auto in_one = [&](Value* m) { return !contains(against, m); };
    if (name == "intersection") add_members(*this, made, mine, in_both);
    else if (name == "difference" || name == "symmetric_difference") add_members(*this, made, mine, in_one);
    else add_members(*this, made, mine, every);
    if (name == "union") add_members(*this, made, theirs, every);
    if (name == "symmetric_difference") add_members(*this, made, set_members(*this, against), [&](Value* m) { return !contains(s, m); });
    check_order(*this, made);
    return made;
  }
  if (other && other->kind == Kind::kSet && holds_objects(other)) stop("builtin", {{"function", "operator on a set of objects"}});
  PyObject* o = other ? set_operand(other) : nullptr;
  if ((other && !o) || (s->kind == Kind::kSet && s->source >= 0)) quiet("set operation with an existing set");
  py::Ref result = py::Ref::borrow(s->kind == Kind::kConstant ? s->object : s->shadow);
  SetOperation op{SetOperation::kDerive, o, method};
  if (!apply_set_operation(result, op)) quiet("set operation", true);
  mutated();
  if (!PySet_CheckExact(result.get())) return constant(result.get());
  Value* made = make(Kind::kSet);
  made->type = &PySet_Type;
  made->history = s->history;
  made->history.push_back(op);
  made->shadow = keep_borrowed(result.get());
  return made;
}

}  // namespace breakline::trace
