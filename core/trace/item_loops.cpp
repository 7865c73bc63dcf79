// SPDX-License-Identifier: GPL-3.0-or-later
// Loops of native code over an iterable: what it does with an item comes before the next one is asked for, so
// that the code of either sees the other's effects, and an exception on the way leaves what was done until
// then.
#include "core/trace/tracer.h"

namespace breakline::trace {

void Tracer::each_item(Value* iterable, const std::function<void(Value*)>& use) {
  force(iterable);
  if (iterable->kind == Kind::kTuple &&
      !(iterable->type && iterable->type->tp_iter != PyTuple_Type.tp_iter)) {
    const Values items = iterable->items;
    for (Value* x : items) use(x);
    return;
  }
  if (iterable->kind == Kind::kTensor) refuse_under_mode();  // it is asked for its length, too
  Value* it = iterator_of(iterable);
  constexpr int64_t kLongest = 100'000;  // what is longer is no business of a trace
  if (it->kind == Kind::kIterator && it->iterator == IteratorKind::kRange &&
      (it->stop - it->position) / it->step > kLongest)
    stop("builtin", {{"function", "iter of a very long range"}});
  while (Value* x = next_of(it)) use(x);
}

Values Tracer::drain(Value* iterable) {
  force(iterable);
  if (iterable->kind == Kind::kList) {
    list_load(iterable);
    return iterable->items;
  }
  Values out;
  each_item(iterable, [&](Value* x) { out.push_back(x); });
  return out;
}

void Tracer::ask_length(Value* v) {
  const bool object =
      v->kind == Kind::kInstance || v->kind == Kind::kLive || (v->kind == Kind::kTuple && v->type);
  if (!object) return;
  if (special_method(v, "__len__")) {
    if (catching(PyExc_TypeError, [&] { return length(v); })) return;
  } else if (lookup(type_of(v), py::intern("__len__"))) {
    return;
  }
  Value* hint = special_method(v, "__length_hint__");
  if (!hint) return;
  Value* said = catching(PyExc_TypeError, [&] { return call_nested(hint, {v}); });
  if (!said) return;
  int64_t size = 0;
  if (constant_of(said) != Py_NotImplemented && (!int_of(said, &size) || size < 0))
    quiet("__length_hint__", true);
}

Values Tracer::listed(Value* iterable) {
  force(iterable);
  const bool asks = iterable->kind == Kind::kInstance || iterable->kind == Kind::kLive ||
                    (iterable->kind == Kind::kTuple && iterable->type);
  if (!asks) return drain(iterable);
  Value* it = iterator_of(iterable);
  ask_length(iterable);
  return drain(it);
}

void Tracer::extend_list(Value* l, Value* iterable) {
  force(iterable);
  const bool at_once = iterable->kind == Kind::kList || (iterable->kind == Kind::kTuple && !iterable->type);
  if (at_once) {
    const Values more = drain(iterable);
    list_touch(l);
    l->items.insert(l->items.end(), more.begin(), more.end());
    return;
  }
  if (iterable->kind == Kind::kTensor) refuse_under_mode();
  Value* it = iterator_of(iterable);
  ask_length(iterable);
  each_item(it, [&](Value* x) {
    list_touch(l);
    l->items.push_back(x);
  });
}

}  // namespace breakline::trace
