// SPDX-License-Identifier: GPL-3.0-or-later
// collections.deque: an object whose content is tracked like a list's, with a limit.
#include <algorithm>

#include "core/trace/tracer.h"
#include "core/trace/types.h"

namespace breakline::trace {

PyTypeObject* deque_type() {
  static PyTypeObject* t = [] {
    py::Ref m = py::Ref::steal(PyImport_ImportModule("collections"));
    return m ? reinterpret_cast<PyTypeObject*>(PyObject_GetAttrString(m.get(), "deque")) : nullptr;
  }();
  return t;
}

Value* Tracer::deque(Values items, Value* limit) {
  Value* d = make(Kind::kInstance);
  d->object = keep_borrowed(reinterpret_cast<PyObject*>(deque_type()));
  d->attributes = new_dict();
  d->items = {limit};
  int64_t most;
  if (constant_of(limit) != Py_None) {
    if (!int_of(limit, &most) || most < 0) quiet("deque", true);
    if (static_cast<int64_t>(items.size()) > most) items.erase(items.begin(), items.end() - most);
  }
  Value* p = list(std::move(items));
  p->type = deque_type();
  p->owner = d;
  d->content = p;
  return d;
}

Value* Tracer::deque_method(Value* self, const std::string& n, Values& a, Keywords& k) {
  Value* p = payload(self);
  auto& items = p->items;
  Value* limit = self->kind == Kind::kInstance ? self->items[0] : nullptr;
  if (!limit) {
    py::Ref r = py::check(PyObject_GetAttrString(self->object, "maxlen"));
    limit = live(keep_for_trace(r), child(guard::SourceKind::kAttribute, self->source, py::intern("maxlen")));
  }
  int64_t most = -1;
  if (constant_of(limit) != Py_None && !int_of(limit, &most)) return nullptr;
  auto size = [&] { return static_cast<int64_t>(items.size()); };
  auto changed = [&] {
    list_touch(p);
    ++p->number;
  };
  auto trim = [&](bool front) {
    if (most < 0 || size() <= most) return;
    if (front)
      items.erase(items.begin(), items.end() - most);
    else
      items.erase(items.begin() + most, items.end());
  };
  if (!k.empty() && n != "__init__") return nullptr;
  if (n == "append" && a.size() == 2) {
    if (most >= 0) list_load(p);
    changed();
    items.push_back(a[1]);
    trim(true);
    return none();
  }
  if ((n == "extend" || n == "__iadd__") && a.size() == 2) {
    const auto put = [&](Value* x) {
      if (most >= 0) list_load(p);
      changed();
      items.push_back(x);
      trim(true);
    };
    if (payload(force(a[1])) == p) {  // itself: a copy
      const Values more = drain(a[1]);
      std::for_each(more.begin(), more.end(), put);
    } else {
      each_item(a[1], put);
    }
    return n == "extend" ? none() : self;
  }
  list_load(p);
  if (n == "appendleft" && a.size() == 2) {
    changed();
    items.insert(items.begin(), a[1]);
    trim(false);
    return none();
  }
  if (n == "extendleft" && a.size() == 2) {
    const auto put = [&](Value* x) {
      changed();
      items.insert(items.begin(), x);
      trim(false);
    };
    if (payload(force(a[1])) == p) {
      const Values more = drain(a[1]);
      std::for_each(more.begin(), more.end(), put);
    } else {
      each_item(a[1], put);
    }
    return none();
  }
  if ((n == "pop" || n == "popleft") && a.size() == 1) {
    if (items.empty()) raise_text(PyExc_IndexError, "pop from an empty deque");
    changed();
    Value* x = n == "pop" ? items.back() : items.front();
    if (n == "pop")
      items.pop_back();
    else
      items.erase(items.begin());
    return x;
  }
  if (n == "rotate" && a.size() <= 2) {
    int64_t by = 1;
    if (a.size() == 2 && !int_of(a[1], &by)) return nullptr;
    changed();
    if (items.empty()) return none();
    int64_t shift = ((by % size()) + size()) % size();
    std::rotate(items.begin(), items.end() - shift, items.end());
    return none();
  }
  if (n == "clear" && a.size() == 1) {
    changed();
    items.clear();
    return none();
  }
  if (n == "reverse" && a.size() == 1) {
    list_touch(p);
    std::reverse(items.begin(), items.end());
    return none();
  }
  if ((n == "copy" || n == "__copy__") && a.size() == 1) return deque(items, limit);
  if (n == "insert" && a.size() == 3) {
    int64_t i;
    if (!int_of(a[1], &i)) return nullptr;
    if (most >= 0 && size() >= most) raise_text(PyExc_IndexError, "deque already at its maximum size");
    if (i < 0) i = std::max<int64_t>(0, i + size());
    changed();
    items.insert(items.begin() + std::min(i, size()), a[2]);
    return none();
  }
  if (((n == "count" || n == "remove") && a.size() == 2) ||
      (n == "index" && a.size() >= 2 && a.size() <= 4)) {
    int64_t found = 0, at = p->number, first = 0, end = size();
    if ((a.size() > 2 && !int_of(a[2], &first)) || (a.size() > 3 && !int_of(a[3], &end))) return nullptr;
    for (int64_t* bound : {&first, &end})
      if (*bound < 0) *bound = std::max<int64_t>(0, *bound + size());
    end = std::min(end, size());
    for (int64_t i = first; i < end; ++i) {
      Value* x = items[static_cast<size_t>(i)];
      const bool same_one = x == a[1] || equal(x, a[1]);
      if (p->number != at) return nullptr;
      if (!same_one) continue;
      if (n == "index") return integer(i);
      if (n == "remove") {
        changed();
        items.erase(items.begin() + i);
        return none();
      }
      ++found;
    }
    if (n == "count") return integer(found);
    quiet("ValueError", true);
  }
  if (n == "__len__") return integer(size());
  if (n == "__iter__") return iterator_of(self);
  if (n == "__contains__" && a.size() == 2) return boolean(contains(p, a[1]));
  if (n == "__getitem__" && a.size() == 2) return subscript(self, a[1]);
  if (n == "__setitem__" && a.size() == 3) {
    store_subscript(self, a[1], a[2]);
    return none();
  }
  if (n == "__delitem__" && a.size() == 2) {
    delete_subscript(self, a[1]);
    return none();
  }
  if ((n == "__eq__" || n == "__ne__") && a.size() == 2) {
    Value* other = payload(force(a[1]));
    if (!other || other->type != p->type) return constant(Py_NotImplemented);
    return compare(n == "__eq__" ? Py_EQ : Py_NE, p, other);
  }
  if (n == "__reversed__" && a.size() == 1) {
    Values back(items.rbegin(), items.rend());
    Value* it = iterator_of(tuple(std::move(back)));
    it->stand_in = true;
    it->created_at = outer_instruction_;
    return it;
  }
  if ((n == "__add__" || n == "__mul__") && a.size() == 2) {
    Values all = items;
    if (n == "__add__") {
      Value* other = payload(force(a[1]));
      if (!other || other->type != p->type) return nullptr;
      list_load(other);
      all.insert(all.end(), other->items.begin(), other->items.end());
    } else {
      int64_t times;
      if (!int_of(a[1], &times)) return nullptr;
      all.clear();
      for (int64_t i = 0; i < times; ++i) all.insert(all.end(), items.begin(), items.end());
    }
    return deque(std::move(all), limit);
  }
  return nullptr;
}

}  // namespace breakline::trace
