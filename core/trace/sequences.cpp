// SPDX-License-Identifier: GPL-3.0-or-later
// Lists, sets and iterators.
#include <algorithm>

#include "core/guard/equality.h"
#include "core/torch/tensor.h"
#include "core/trace/hints.h"
#include "core/trace/tracer.h"
#include "core/trace/types.h"

namespace breakline::trace {

using guard::SourceKind;
using guard::StepKind;

// ---------------------------------------------------------------- lists

void Tracer::list_load(Value* l) {
  if (l->source < 0 || l->loaded) return;
  if (!hints_.varying.empty() && hints_.varying.contains(length_hint(source_path(l->source)))) quiet("varying value");
  l->loaded = true;
  // What a list holds, whatever a subclass makes of len() and indexing.
  const bool plain = PyList_Check(l->object);
  Py_ssize_t n = plain ? PyList_GET_SIZE(l->object) : PySequence_Size(l->object);
  guard(StepKind::kLength, l->source, nullptr, n);
  Values appended = std::move(l->items);  // appended before anybody read it
  l->items.clear();
  for (Py_ssize_t i = 0; i < n; ++i) {
    py::Ref item = plain ? py::Ref::borrow(PyList_GET_ITEM(l->object, i)) : py::check(PySequence_GetItem(l->object, i));
    l->items.push_back(live(keep_for_trace(item), child(SourceKind::kItem, l->source, nullptr, i)));
  }
  l->items.insert(l->items.end(), appended.begin(), appended.end());
}

void Tracer::list_touch(Value* l) {
  mutated();
  if (l->source < 0) return;
  release(nullptr);
  if (l->dirty) return;
  l->dirty = true;
  touched_.push_back(l);
}

Py_ssize_t Tracer::list_size(Value* l) {
  list_load(l);
  return static_cast<Py_ssize_t>(l->items.size());
}

/// keys() or items() as the set they compare as.
Value* Tracer::view_as_set(Value* v) {
  if (v->kind == Kind::kSet) return v;
  if (v->kind != Kind::kDictView || v->number == 1) return nullptr;
  Value* s = new_set();
  for (Value* x : drain(v)) {
    if (!is_constant(x)) stop("builtin", {{"function", "dict view"}, {"arg_types", describe(x)}});
    set_apply(s, SetOperation::kAdd, x);
  }
  return s;
}

// ---------------------------------------------------------------- iterators

Value* Tracer::range_iterator(PyObject* range) {
  int64_t part[3];
  const char* names[] = {"start", "stop", "step"};
  for (int i = 0; i < 3; ++i) {
    py::Ref r = py::check(PyObject_GetAttr(range, py::intern(names[i])));
    part[i] = PyLong_AsLongLong(r.get());
    // A step past the end has to fit as well.
    constexpr int64_t kMost = int64_t{1} << 62;
    const bool known = part[i] != -1 || !PyErr_Occurred();
    if (!known) PyErr_Clear();
    if (!known || part[i] > kMost || part[i] < -kMost) stop("builtin", {{"function", "iter of a very long range"}});
  }
  Value* it = make(Kind::kIterator);
  it->iterator = IteratorKind::kRange;
  it->position = part[0];
  it->stop = part[1];
  it->step = part[2];
  return it;
}

Value* Tracer::iterator_of(Value* v) {
  force(v);
  auto sequence = [&](Value* over) {
    Value* it = make(Kind::kIterator);
    it->items = {over};
    return it;
  };
  // Over what is no sequence: steps through the items it has now; rebuilt from the container itself.
  auto snapshot = [&](Value* container, Values items) {
    Value* it = sequence(tuple(std::move(items)));
    it->stop = static_cast<int64_t>(it->items[0]->items.size());
    it->items.push_back(container);
    return it;
  };
  switch (v->kind) {
    case Kind::kIterator:
    case Kind::kGenerator: return v;
    case Kind::kTuple:
      if (v->type && v->type->tp_iter != PyTuple_Type.tp_iter) break;
      return sequence(v);
    case Kind::kList: {
      Value* it = sequence(v);
      if (v->type) {  // a deque
        list_load(v);
        it->stop = v->number;
        it->stand_in = true;
        it->created_at = outer_instruction_;
      }
      return it;
    }
    case Kind::kNative: {
      if (v->type != &PyByteArray_Type && v->type != &PyMemoryView_Type) break;
      py::Ref all = py::Ref::steal(PySequence_Tuple(v->object));
      if (!all) quiet("iter", true);
      Values items;
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(all.get()); ++i) items.push_back(constant(PyTuple_GET_ITEM(all.get(), i)));
      Value* it = sequence(tuple(std::move(items)));
      it->stand_in = true;
      it->created_at = outer_instruction_;
      return it;
    }
    case Kind::kSet: {
      if (v->source >= 0 && !v->history.empty()) stop("builtin", {{"function", "iter of a changed set"}});
      Values items;
      if (v->source >= 0) {
        items = v->items;
      } else {
        if (!v->items.empty()) stop("builtin", {{"function", "iter of a set of objects"}});
        py::Ref all = py::check(PySequence_Tuple(v->shadow));
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(all.get()); ++i)
          items.push_back(constant(PyTuple_GET_ITEM(all.get(), i)));
      }
      return snapshot(v, std::move(items));
    }
    case Kind::kDict: {
      Value* view = make(Kind::kDictView);
      view->items = {v};
      return iterator_of(view);
    }
    case Kind::kDictView: {
      dict_load(v->items[0]);
      Value* it = make(Kind::kIterator);
      it->iterator = IteratorKind::kDictView;
      it->items = {v};
      it->created_at = outer_instruction_;
      it->stop = dict_size(v->items[0]);
      it->number = v->items[0]->dict->layout;
      return it;
    }
    case Kind::kConstant: {
      PyObject* o = v->object;
      if (PyRange_Check(o)) return range_iterator(o);
      if (PyTuple_Check(o) || PyUnicode_Check(o) || PyBytes_Check(o) || PyFrozenSet_CheckExact(o)) {
        py::Ref all = py::Ref::steal(PySequence_Tuple(o));
        if (!all) quiet("iter", true);
        Values items;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(all.get()); ++i)
          items.push_back(constant(PyTuple_GET_ITEM(all.get(), i)));
        return PyTuple_Check(o) ? sequence(tuple(std::move(items))) : snapshot(v, std::move(items));
      }
      if (PyType_Check(o)) {  // an enum class
        PyObject* f = lookup(Py_TYPE(o), py::intern("__iter__"));
        if (f && PyFunction_Check(f)) return as_iterator(call_nested(constant(f), {v}));
      }
      if (!Py_TYPE(o)->tp_iter) quiet("iter", true);
      stop("builtin", {{"function", "iter"}, {"arg_types", Py_TYPE(o)->tp_name}});
    }
    case Kind::kMade: {
      const Py_ssize_t n = PyObject_Size(v->object);
      if (n < 0) quiet("iter", true);
      Values items;
      for (Py_ssize_t i = 0; i < n; ++i) {
        Value* item = item_of_made(v, integer(i));
        if (!item) stop("builtin", {{"function", "iter"}, {"arg_types", v->type->tp_name}});
        items.push_back(item);
      }
      return iterator_of(tuple(std::move(items)));
    }
    case Kind::kTensor: {
      if (meta(v).rank() == 0) quiet("iteration over a 0-d tensor", true);
      py::Ref unbind = py::check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(v->type), "unbind"));
      if (modes_.empty()) return iterator_of(torch_call(unbind.get(), {v}));
      // Tensor.__iter__, step by step: a mode is asked about each.
      py::Ref dim = py::check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(v->type), "dim"));
      torch_call(keep_for_trace(dim), {v});
      return iterator_of(torch_call(keep_for_trace(unbind), {v, integer(0)}));
    }
    case Kind::kLive:
    case Kind::kInstance: {
      PyTypeObject* t = type_of(v);
      PyObject* f = lookup(t, py::intern("__iter__"));
      if (f && PyFunction_Check(f)) {
        return as_iterator(call_nested(constant(f), {v}));
      }
      if (Value* p = payload(v)) return iterator_of(p);
      if (Value* held = plain_scalar(v, {"__iter__"})) return iterator_of(held);
      if (v->kind == Kind::kLive && t->tp_iter == PyObject_SelfIter && t->tp_iternext) return v;
      if (!f) {
        PyObject* g = lookup(t, py::intern("__getitem__"));
        if (!g) quiet("iter", true);
        if (PyFunction_Check(g)) {
          static PyObject* form = nullptr;
          if (!form) {
            py::Ref m = py::Ref::steal(PyImport_ImportModule("breakline._forms"));
            form = m ? PyObject_GetAttrString(m.get(), "by_index") : nullptr;
            PyErr_Clear();
          }
          if (form) return call_nested(constant(form), {v});
        }
        stop("builtin", {{"function", "iter"}, {"arg_types", t->tp_name}});
      }
      stop("builtin", {{"function", "iter"}, {"arg_types", t->tp_name}});
    }
    default: break;
  }
  stop("builtin", {{"function", "iter"}, {"arg_types", describe(v)}});
}

Value* Tracer::as_iterator(Value* r) {
  if (r->kind == Kind::kIterator || r->kind == Kind::kGenerator) return r;
  force(r);
  const bool known = r->kind == Kind::kLive || r->kind == Kind::kInstance || r->kind == Kind::kConstant;
  if (r->kind == Kind::kIterator || r->kind == Kind::kGenerator) return r;
  if (!known) quiet("iter() returned non-iterator", true);
  PyTypeObject* type = type_of(r);
  if (!type->tp_iternext || !py::type_lookup(type, py::intern("__next__"))) quiet("iter() returned non-iterator", true);
  return r->kind == Kind::kConstant ? iterator_of(r) : r;
}

Value* Tracer::next_of(Value* it) {
  force(it);
  if (it->kind == Kind::kGenerator) return generator_next(it);
  if (it->kind == Kind::kInstance || it->kind == Kind::kLive) {
    PyTypeObject* t = type_of(it);
    PyObject* f = lookup(t, py::intern("__next__"));
    if (f && PyFunction_Check(f)) return catching(PyExc_StopIteration, [&] { return call_nested(constant(f), {it}); });
    quiet("next of a live iterator");
  }
  if (it->kind != Kind::kIterator) quiet("next", true);
  if (it->exhausted) return nullptr;
  auto end = [&]() -> Value* {
    mutated();
    it->exhausted = true;
    return nullptr;
  };
  switch (it->iterator) {
    case IteratorKind::kSequence: {
      Value* s = it->items[0];
      if (s->kind == Kind::kList) list_load(s);
      if (it->items.size() > 1 && it->items[1]->kind == Kind::kSet && set_size(it->items[1]) != it->stop)
        quiet("Set changed size during iteration", true);
      if (s->kind == Kind::kList && s->type && s->number != it->stop) raise_text(PyExc_RuntimeError, "deque mutated during iteration");
      if (it->position >= static_cast<int64_t>(s->items.size())) return end();
      mutated();
      return s->items[static_cast<size_t>(it->position++)];
    }
    case IteratorKind::kReversed: {
      Value* s = it->items[0];
      if (s->kind == Kind::kList) list_load(s);
      if (it->position < 0 || it->position >= static_cast<int64_t>(s->items.size())) return end();
      mutated();
      return s->items[static_cast<size_t>(it->position--)];
    }
    case IteratorKind::kRange: {
      if (it->step > 0 ? it->position >= it->stop : it->position <= it->stop) return end();
      mutated();
      Value* v = integer(it->position);
      it->position += it->step;
      return v;
    }
    case IteratorKind::kDictView: {
      Value* view = it->items[0];
      Value* d = view->items[0];
      if (dict_size(d) != it->stop) raise_text(PyExc_RuntimeError, "dictionary changed size during iteration");
      // As many keys as before, but others: what CPython's iterator makes of that depends on where in the table they lie.
      if (d->dict->layout != it->number) rewind_to(it->created_at, "keys changed during iteration");
      if (it->position >= it->stop) return end();
      mutated();
      DictEntry& e = d->dict->entries[static_cast<size_t>(it->position++)];
      if (view->number == 0) return e.key;
      if (view->number == 1) return e.value;
      return tuple({e.key, e.value});
    }
    case IteratorKind::kZip: {
      Values out;
      for (size_t i = 0; i < it->items.size(); ++i) {
        Value* x = next_of(it->items[i]);
        if (!x) {
          if (it->strict) {
            if (i > 0) quiet("zip(strict=True)", true);
            for (size_t j = 1; j < it->items.size(); ++j)
              if (next_of(it->items[j])) quiet("zip(strict=True)", true);
          }
          return end();
        }
        out.push_back(x);
      }
      if (out.empty()) return end();
      return tuple(std::move(out));
    }
    case IteratorKind::kEnumerate: {
      Value* x = next_of(it->items[0]);
      if (!x) return end();
      return tuple({integer(it->position++), x});
    }
    case IteratorKind::kMap: {
      Values args;
      for (size_t i = 1; i < it->items.size(); ++i) {
        Value* x = next_of(it->items[i]);
        if (!x) return end();
        args.push_back(x);
      }
      mutated();
      return call_nested(it->items[0], std::move(args));
    }
    case IteratorKind::kFilter: {
      for (;;) {
        Value* x = next_of(it->items[1]);
        if (!x) return end();
        PyObject* f = it->items[0]->kind == Kind::kConstant ? it->items[0]->object : nullptr;
        if (truth(f == Py_None ? x : call_nested(it->items[0], {x}))) return x;
      }
    }
    case IteratorKind::kChain: {
      for (;;) {
        if (it->items.size() == 1) {  // next of the outer iterator
          Value* inner = next_of(it->items[0]);
          if (!inner) return end();
          it->items.push_back(iterator_of(inner));
          mutated();
        }
        if (Value* x = next_of(it->items[1])) return x;
        it->items.pop_back();
        mutated();
      }
    }
  }
  return nullptr;
}

}  // namespace breakline::trace
