// SPDX-License-Identifier: GPL-3.0-or-later
// x[k], x[k] = v and del x[k] on symbolic values.
#include "core/guard/equality.h"
#include "core/torch/tensor.h"
#include "core/trace/arrays.h"
#include "core/trace/builtins.h"
#include "core/trace/level.h"
#include "core/trace/tracer.h"
#include "core/trace/types.h"

namespace breakline::trace {

using guard::SourceKind;
using guard::StepKind;

namespace {

/// `C[k]` where the class has a `__class_getitem__` of the program's own; null where it has none.
Value* class_getitem(Tracer& t, Value* c, Value* k) {
  PyObject* own = py::type_lookup(reinterpret_cast<PyTypeObject*>(c->object), py::intern("__class_getitem__"));
  if (!own || Py_TYPE(own) != &PyClassMethod_Type) return nullptr;
  py::Ref f = py::Ref::steal(PyObject_GetAttrString(own, "__func__"));
  PyErr_Clear();
  if (!f || !PyFunction_Check(f.get())) return nullptr;
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(f.get()));
  if (py::utf8(code->co_filename).ends_with("/typing.py")) return nullptr;
  return t.call_nested(t.attribute(c, py::intern("__class_getitem__")), {k});
}

/// The real object of what stands in `Callable[[T], int]`: constants, names of typing, and lists and tuples of
/// them; null where there is more.
py::Ref alias_argument(Tracer& t, Value* k) {
  t.force(k);
  const Level level(t, "subscript");
  if (PyObject* o = t.constant_of(k)) return py::Ref::borrow(o);
  if (k->kind == Kind::kLive && is_typing_object(k->object)) {
    t.guard(StepKind::kIdentity, k->source, k->object);
    return py::Ref::borrow(k->object);
  }
  if ((k->kind != Kind::kTuple && k->kind != Kind::kList) || k->type) return {};
  if (k->kind == Kind::kList && k->source >= 0) return {};
  py::Ref all = py::check(PyList_New(0));
  for (Value* item : k->items) {
    py::Ref one = alias_argument(t, item);
    if (!one || PyList_Append(all.get(), one.get())) return {};
  }
  return k->kind == Kind::kList ? std::move(all) : py::check(PyList_AsTuple(all.get()));
}

/// `Optional[int]` and the like; null where either part is something else.
Value* typing_alias(Tracer& t, Value* c, Value* k) {
  if ((c->kind != Kind::kLive && c->kind != Kind::kConstant) || !is_typing_object(c->object)) return nullptr;
  py::Ref part = alias_argument(t, k);
  if (!part) return nullptr;
  if (c->kind == Kind::kLive) t.guard(StepKind::kIdentity, c->source, c->object);
  py::Ref alias = py::Ref::steal(PyObject_GetItem(c->object, part.get()));
  if (!alias) t.raise_pending("subscript");
  PyObject* made = t.keep_for_trace(alias);
  return t.live(made, t.object_source(made));
}

}  // namespace

Value* Tracer::subscript(Value* c, Value* k) {
  force(c);
  if (is_entry_array(c)) array_as_input(c);
  force(k);
  switch (c->kind) {
    case Kind::kTensor: return torch_call(operator_function("getitem"), {c, k});
    case Kind::kMade:
      if (Value* r = item_of_made(c, k)) return r;
      stop("method-call", {{"class", c->type->tp_name}, {"name", "__getitem__"}});
    case Kind::kTuple:
    case Kind::kList: {
      if (c->kind == Kind::kTuple && c->type)
        if (Value* f = special_method(c, "__getitem__")) return call_nested(f, {c, k});
      if (Value* known = settled_number(k, nullptr)) k = known;
      PyObject* i = constant_of(k);
      if (!i) {
        if (k->kind == Kind::kTensor) stop("tensor-index", {{"value", describe(k)}});
        // An int of a class of its own counts as it is.
        const bool number = (k->kind == Kind::kLive || k->kind == Kind::kInstance) && PyType_IsSubtype(type_of(k), &PyLong_Type);
        if (Value* held = number ? scalar(k) : nullptr) return subscript(c, held);
        if (Value* f = number ? nullptr : special_method(k, "__index__")) i = need_constant(returned(call_nested(f, {k}), &PyLong_Type, "__index__"), "index");
        else stop("not-constant", {{"value", "index " + describe(k)}});
      }
      Py_ssize_t n = c->kind == Kind::kList ? list_size(c) : static_cast<Py_ssize_t>(c->items.size());
      if (PySlice_Check(i)) {
        Py_ssize_t from, to, step;
        if (PySlice_Unpack(i, &from, &to, &step) < 0) quiet("slice", true);
        Py_ssize_t count = PySlice_AdjustIndices(n, &from, &to, step);
        Values out;
        for (Py_ssize_t j = 0; j < count; ++j) out.push_back(c->items[static_cast<size_t>(from + j * step)]);
        if (c->kind == Kind::kList) return list(std::move(out));
        return c->type && std::string_view(c->type->tp_name) == "torch.Size" ? size_tuple(std::move(out)) : tuple(std::move(out));
      }
      if (!PyIndex_Check(i)) quiet("subscript", true);
      Py_ssize_t j = PyNumber_AsSsize_t(i, PyExc_IndexError);
      if (j == -1 && PyErr_Occurred()) quiet("subscript", true);
      if (j < 0) j += n;
      if (j < 0 || j >= n) raise_text(PyExc_IndexError, c->kind == Kind::kList ? "list index out of range" : "tuple index out of range");
      return c->items[static_cast<size_t>(j)];
    }
    case Kind::kDict: {
      Value* v = dict_get(c, k);
      if (v) return v;
      if (c->type == default_dict_type()) {
        Value* factory = force(attribute(c, py::intern("default_factory")));
        if (factory->kind == Kind::kConstant && factory->object == Py_None) raise(PyExc_KeyError, {k});
        v = call_nested(factory, {});
        dict_set(c, k, v);
        return v;
      }
      raise(PyExc_KeyError, {k});
    }
    case Kind::kConstant: {
      PyObject* o = c->object;
      if (behaves_as_scalar(k)) k = constant(scalar_twin(k));
      if (PyTuple_Check(o))
        if (Value* known = settled_number(k, nullptr)) k = known;
      PyObject* i = constant_of(k);
      if (!i)
        if (Value* alias = typing_alias(*this, c, k)) return alias;
      if (!i && PyType_Check(o)) {
        if (Value* own = class_getitem(*this, c, k)) return own;
        if (py::Ref made = alias_argument(*this, k)) i = keep_for_trace(made);
      }
      if (!i) {
        if (PyTuple_Check(o) && k->kind == Kind::kTensor) stop("tensor-index", {{"value", describe(k)}});
        stop("not-constant", {{"value", "subscript " + describe(k)}});
      }
      if (PyType_Check(o)) {
        PyObject* f = lookup(Py_TYPE(o), py::intern("__getitem__"));
        if (f && PyFunction_Check(f)) return call_nested(constant(f), {c, k});
        if (Value* own = class_getitem(*this, c, k)) return own;
        py::Ref alias = py::Ref::steal(PyObject_GetItem(o, i));  // list[int] and the like
        if (!alias) quiet("subscript", true);
        keep_borrowed(alias.get());
        return constant(alias.get());
      }
      if (Value* alias = typing_alias(*this, c, k)) return alias;
      if (Value* f = special_method(c, "__getitem__")) return call_nested(f, {c, k});
      return wrap(PyObject_GetItem(o, i));
    }
    case Kind::kNative: {
      PyObject* i = need_constant(k, "index");
      py::Ref r = py::Ref::steal(PyObject_GetItem(c->object, i));
      if (!r) raise_pending("subscript");
      if (PyByteArray_CheckExact(r.get()) || PyMemoryView_Check(r.get())) {
        const bool view = PyMemoryView_Check(r.get());
        Values from = {constant_new(PyBytes_FromObject(r.get()))};
        Keywords none;
        if (view && !reinterpret_cast<PyMemoryViewObject*>(r.get())->view.readonly) stop("method-call", {{"class", "memoryview"}, {"name", "__getitem__"}});
        return native_object(reinterpret_cast<PyObject*>(view ? &PyMemoryView_Type : &PyByteArray_Type), from, none);
      }
      return wrap(r.release());
    }
    default: {
      if (Value* alias = typing_alias(*this, c, k)) return alias;
      if (Value* f = special_method(c, "__getitem__")) return call_nested(f, {c, k});
      if (Value* p = payload(c); p && p->type == deque_type()) {
        int64_t i;
        if (!int_of(k, &i)) quiet("subscript", true);
        const int64_t n = list_size(p);
        if (i < 0) i += n;
        if (i < 0 || i >= n) raise_text(PyExc_IndexError, "deque index out of range");
        return p->items[static_cast<size_t>(i)];
      }
      if (plain_scalar(c, {"__getitem__"})) return subscript(constant(scalar_twin(c)), k);
      if (Value* p = plain_payload(c, "__missing__")) return subscript(p, k);
      if (Value* p = payload(c); p && p->kind == Kind::kDict) {
        Value* found = dict_get(p, k);
        return found ? found : call_nested(special_method(c, "__missing__"), {c, k});
      }
      if (c->kind == Kind::kLive || c->kind == Kind::kInstance) {
        if (torch::available() && c->kind == Kind::kLive && torch::is_tensor(c->object))
          stop("tensor-subclass", {{"name", type_of(c)->tp_name}});
        if (!lookup(type_of(c), py::intern("__getitem__"))) quiet("subscript", true);
        stop("method-call", {{"class", type_of(c)->tp_name}, {"name", "__getitem__"}});
      }
      quiet("subscript", true);
    }
  }
}

namespace {

/// Where an index points to in a deque that is about to change.
size_t deque_place(Tracer& t, Value* items, Value* index) {
  int64_t i;
  if (!t.int_of(index, &i)) t.quiet("index of a deque", true);
  const int64_t n = t.list_size(items);
  if (i < 0) i += n;
  if (i < 0 || i >= n) t.raise_text(PyExc_IndexError, "deque index out of range");
  t.list_touch(items);
  return static_cast<size_t>(i);
}

}  // namespace

bool Tracer::store_subscript(Value* c, Value* k, Value* v) {
  force(c);
  force(k);
  switch (c->kind) {
    case Kind::kTensor: torch_call(operator_function("setitem"), {c, k, v}); return true;
    case Kind::kDict: dict_set(c, k, v); return true;
    case Kind::kList: {
      if (Value* held = scalar(k); held && PyType_IsSubtype(type_of(k), &PyLong_Type)) k = held;
      PyObject* i = need_constant(k, "index");
      Py_ssize_t n = list_size(c);
      if (PySlice_Check(i)) {
        Py_ssize_t from, to, step;
        if (PySlice_Unpack(i, &from, &to, &step) < 0) quiet("slice", true);
        Py_ssize_t count = PySlice_AdjustIndices(n, &from, &to, step);
        Values items = drain(v);
        if (step != 1) {
          if (static_cast<Py_ssize_t>(items.size()) != count) quiet("slice", true);
          list_touch(c);
          for (Py_ssize_t j = 0; j < count; ++j) c->items[static_cast<size_t>(from + j * step)] = items[static_cast<size_t>(j)];
          return true;
        }
        list_touch(c);
        c->items.erase(c->items.begin() + from, c->items.begin() + from + count);
        c->items.insert(c->items.begin() + from, items.begin(), items.end());
        return true;
      }
      if (!PyIndex_Check(i)) quiet("subscript", true);
      Py_ssize_t j = PyNumber_AsSsize_t(i, PyExc_IndexError);
      if (j == -1 && PyErr_Occurred()) quiet("subscript", true);
      if (j < 0) j += n;
      if (j < 0 || j >= n) quiet("IndexError", true);
      list_touch(c);
      c->items[static_cast<size_t>(j)] = v;
      return true;
    }
    case Kind::kNative: {
      Values all = {c, k, v};
      Keywords none;
      if (native_call(c, "__setitem__", all, none)) return true;
      stop("method-call", {{"class", c->type->tp_name}, {"name", "__setitem__"}});
    }
    case Kind::kLive:
    case Kind::kInstance:
      if (Value* f = special_method(c, "__setitem__")) {
        call_nested(f, {c, k, v});
        return true;
      }
      if (type_of(c) == &PyDictProxy_Type) raise_text(PyExc_TypeError, "'mappingproxy' object does not support item assignment");
      if (Value* p = payload(c); p && p->type == deque_type()) {
        p->items[deque_place(*this, p, k)] = v;
        return true;
      }
      if (Value* p = payload(c)) return store_subscript(p, k, v);
      stop("method-call", {{"class", type_of(c)->tp_name}, {"name", "__setitem__"}});
    default: quiet("item assignment", true);
  }
}

void Tracer::delete_subscript(Value* c, Value* k) {
  force(c);
  force(k);
  if (c->kind == Kind::kDict) return dict_delete(c, k);
  if (c->kind == Kind::kList) {
    PyObject* i = need_constant(k, "index");
    Py_ssize_t n = list_size(c);
    Py_ssize_t from, to, step, count;
    if (PySlice_Check(i)) {
      if (PySlice_Unpack(i, &from, &to, &step) < 0) quiet("slice", true);
      count = PySlice_AdjustIndices(n, &from, &to, step);
      if (step != 1) {
        list_touch(c);
        if (step < 0) {
          from += (count - 1) * step;
          step = -step;
        }
        for (Py_ssize_t j = count - 1; j >= 0; --j) c->items.erase(c->items.begin() + from + j * step);
        return;
      }
    } else {
      from = PyNumber_AsSsize_t(i, PyExc_IndexError);
      if (from == -1 && PyErr_Occurred()) quiet("subscript", true);
      if (from < 0) from += n;
      if (from < 0 || from >= n) quiet("IndexError", true);
      count = 1;
    }
    list_touch(c);
    c->items.erase(c->items.begin() + from, c->items.begin() + from + count);
    return;
  }
  if (c->kind == Kind::kLive || c->kind == Kind::kInstance)
    if (Value* f = special_method(c, "__delitem__")) {
      call_nested(f, {c, k});
      return;
    }
  if (c->kind == Kind::kNative) {
    Values both = {c, k};
    Keywords none;
    if (native_call(c, "__delitem__", both, none)) return;
  }
  if (Value* p = payload(c); p && p->type == deque_type()) {
    const size_t i = deque_place(*this, p, k);
    ++p->number;
    p->items.erase(p->items.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
  if (Value* p = type_of(c) == &PyDictProxy_Type ? nullptr : payload(c)) return delete_subscript(p, k);
  stop("method-call", {{"class", describe(c)}, {"name", "__delitem__"}});
}

}  // namespace breakline::trace
