// SPDX-License-Identifier: GPL-3.0-or-later
// Builtin functions with a symbolic form.
#include "core/guard/equality.h"
#include "core/torch/tensor.h"
#include "core/trace/builtins.h"
#include "core/trace/level.h"
#include "core/trace/text.h"
#include "core/trace/tensor_forms.h"
#include "core/trace/types.h"

namespace breakline::trace {


namespace {

/// Guards what `issubclass(type, cls)` depends on: the class's bases or, where an abstract class answers for
/// more than its own, the answer itself.
void rely_on_class(Tracer& t, PyTypeObject* type, PyObject* cls) {
  if (PyTuple_Check(cls)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(cls); ++i) rely_on_class(t, type, PyTuple_GET_ITEM(cls, i));
    return;
  }
  if (!PyType_Check(cls)) {
    py::Ref parts = py::Ref::steal(PyObject_GetAttrString(cls, "__args__"));  // a union
    PyErr_Clear();
    if (parts && PyTuple_Check(parts.get())) rely_on_class(t, type, parts.get());
    return;
  }
  if (t.is_made_here(reinterpret_cast<PyObject*>(type)) || t.is_made_here(cls)) return;
  t.rely_on_order(type);
  if (Py_TYPE(cls) == &PyType_Type || PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(cls))) return;
  PyObject* f = t.lookup(Py_TYPE(cls), py::intern("__subclasscheck__"));
  if (!f || !PyFunction_Check(f)) return;
  std::string_view file = py::utf8(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(f))->co_filename);
  if (!file.ends_with("/abc.py") && file != "<frozen abc>") return;
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
    // Nobody registers builtin types with the standard library's abstract classes anew.
    py::Ref module = py::Ref::steal(PyObject_GetAttrString(cls, "__module__"));
    PyErr_Clear();
    const std::string name = module ? py::to_string(module.get()) : "";
    if (name == "collections.abc" || name == "numbers" || name == "typing") return;
  }
  PyObject* ask = PyDict_GetItemString(PyEval_GetBuiltins(), "issubclass");
  py::Ref answer = py::Ref::steal(ask ? PyObject_CallFunctionObjArgs(ask, type, cls, nullptr) : nullptr);
  if (!answer) t.quiet("issubclass", true);
  SourceId s = t.expression(ask, reinterpret_cast<PyObject*>(type), cls);
  t.guard(guard::StepKind::kIdentity, s, answer.get());
}

/// isinstance of an iterator made in the trace: 1, 0, or -1 with the error set. Which class of C it has matters only to classes of iterators.
int iterator_is(Tracer& t, Value* v, PyObject* cls) {
  const bool exact = (v->stand_in && v->type) || v->iterator == IteratorKind::kZip || v->iterator == IteratorKind::kEnumerate ||
                     v->iterator == IteratorKind::kMap || v->iterator == IteratorKind::kFilter;
  if (exact) return PyObject_IsSubclass(reinterpret_cast<PyObject*>(t.type_of(v)), cls);
  const bool plain = PyType_Check(cls) && Py_TYPE(cls) == &PyType_Type;
  if (plain && !reinterpret_cast<PyTypeObject*>(cls)->tp_iternext) return cls == reinterpret_cast<PyObject*>(&PyBaseObject_Type);
  if (plain || !PyType_Check(cls)) t.stop("builtin", {{"function", "isinstance"}, {"arg_types", "iterator"}});
  return PyObject_IsSubclass(reinterpret_cast<PyObject*>(&PyListIter_Type), cls);
}

/// isinstance(tensor, torch.FloatTensor) and the like: these ask for its numbers' type and its device, whatever its class is.
bool has_legacy_type(Tracer& t, Value* tensor, PyObject* cls) {
  const graph::TensorMeta& known = t.meta(tensor);
  if (known.device == graph::DeviceKind::kMeta) return false;
  if (!known.plain || known.device != graph::DeviceKind::kCpu) t.stop("builtin", {{"function", "isinstance"}, {"arg_types", t.describe(tensor)}});
  graph::TensorMeta alike;
  alike.dtype = known.dtype;
  py::Ref sample = py::check(torch::real_twin(alike));
  const int r = PyObject_IsInstance(sample.get(), cls);
  if (r < 0) t.quiet("isinstance", true);
  return r == 1;
}

/// isinstance / issubclass on what is known of a value.
bool instance_of(Tracer& t, Value* v, PyObject* cls) {
  const Level level(t, "isinstance");
  t.force(v);
  int r;
  if (v->kind == Kind::kInstance || (v->kind == Kind::kLive && !(torch::available() && torch::is_tensor(v->object)))) {
    PyTypeObject* type = t.type_of(v);
    if (reinterpret_cast<PyObject*>(type) == cls) {
      t.guard_type(v);
      return true;
    }
    PyObject* own = t.lookup(type, py::intern("__class__"));
    if (PyType_Check(cls) && Py_TYPE(cls) == &PyType_Type && own != py::type_lookup(&PyBaseObject_Type, py::intern("__class__")) &&
        !PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(cls))) {
      // What it says its class is.
      PyObject* said = t.constant_of(t.attribute(v, py::intern("__class__")));
      if (!said) t.stop("builtin", {{"function", "isinstance"}, {"arg_types", t.describe(v)}});
      return PyType_Check(said) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(said), reinterpret_cast<PyTypeObject*>(cls));
    }
  }
  // A metaclass with an answer of its own (ABCMeta's is asked directly).
  if (PyType_Check(cls) && Py_TYPE(cls) != &PyType_Type) {
    PyObject* f = t.lookup(Py_TYPE(cls), py::intern("__instancecheck__"));
    if (f && PyFunction_Check(f) && reinterpret_cast<PyObject*>(t.type_of(v)) != cls) {
      std::string_view file = py::utf8(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(f))->co_filename);
      if (!file.ends_with("/abc.py") && file != "<frozen abc>" && !file.ends_with("/nn/parameter.py") && !file.ends_with("/enum.py"))
        return t.truth(t.call_nested(t.constant(f), {t.constant(cls), v}));
    }
  } else if (PyTuple_Check(cls)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(cls); ++i)
      if (instance_of(t, v, PyTuple_GET_ITEM(cls, i))) return true;
    return false;
  }
  if (v->kind == Kind::kTensor && std::string_view(Py_TYPE(cls)->tp_name) == "torch.tensortype") return has_legacy_type(t, v, cls);
  // (A tensor's class and its bases stay; iterators have no class of Python.)
  if (v->kind != Kind::kIterator && v->kind != Kind::kPartial &&
      !(v->kind == Kind::kTensor && PyType_Check(cls) && Py_TYPE(cls) == &PyType_Type))
    rely_on_class(t, t.type_of(v), cls);
  if (v->kind == Kind::kTensor && v->source >= 0 && v->object) {
    r = PyObject_IsInstance(v->object, cls);
  } else if (v->kind == Kind::kTensor && std::string_view(v->type->tp_name) == "Tensor") {
    static PyObject* sample = nullptr;  // a meta tensor answers for every plain torch.Tensor
    if (!sample) {
      graph::TensorMeta m;
      sample = torch::meta_twin(m);
    }
    r = sample ? PyObject_IsInstance(sample, cls) : -1;
  } else if (v->kind == Kind::kConstant) {
    r = PyObject_IsInstance(v->object, cls);
  } else if (v->kind == Kind::kLive) {
    t.guard_type(v);
    r = PyObject_IsInstance(v->object, cls);
  } else if (v->kind == Kind::kIterator || v->kind == Kind::kPartial) {
    if (v->kind == Kind::kPartial) r = PyObject_IsSubclass(reinterpret_cast<PyObject*>(partial_type()), cls);
    else r = iterator_is(t, v, cls);
  } else if (PyTuple_Check(cls)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(cls); ++i)
      if (instance_of(t, v, PyTuple_GET_ITEM(cls, i))) return true;
    return false;
  } else if (PyType_Check(cls)) {
    r = PyObject_IsSubclass(reinterpret_cast<PyObject*>(t.type_of(v)), cls);
  } else {
    // A union or a typing form.
    py::Ref parts = py::Ref::steal(PyObject_GetAttrString(cls, "__args__"));
    if (!parts || !PyTuple_Check(parts.get()) || Py_TYPE(cls) == &Py_GenericAliasType) t.quiet("isinstance", true);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(parts.get()); ++i)
      if (!PyType_Check(PyTuple_GET_ITEM(parts.get(), i))) t.quiet("isinstance", true);  // list[int] is refused
    return instance_of(t, v, parts.get());
  }
  if (r < 0) t.quiet("isinstance", true);
  return r == 1;
}

PyObject* classes(Tracer& t, Value* v) {
  t.force(v);
  PyObject* c = t.constant_of(v);
  if (!c) t.stop("builtin", {{"function", "isinstance"}, {"arg_types", t.describe(v)}});
  return c;
}

Value* do_isinstance(Tracer& t, PyObject*, Values& a, Keywords&) {
  if (a.size() != 2) t.quiet("isinstance", true);
  return t.boolean(instance_of(t, a[0], classes(t, a[1])));
}
Value* do_issubclass(Tracer& t, PyObject* f, Values& a, Keywords& k) {
  if (a.size() == 2) {
    PyObject *type = t.constant_of(a[0]), *cls = t.constant_of(a[1]);
    if (type && cls && PyType_Check(type)) rely_on_class(t, reinterpret_cast<PyTypeObject*>(type), cls);
  }
  return t.fold(f, a, k);
}
Value* do_len(Tracer& t, PyObject*, Values& a, Keywords&) {
  if (a.size() != 1) t.quiet("len", true);
  return t.length(a[0]);
}
Value* do_iter(Tracer& t, PyObject*, Values& a, Keywords&) {
  if (a.size() == 2) {
    static PyObject* form = [] {
      py::Ref m = py::Ref::steal(PyImport_ImportModule("breakline._forms"));
      return m ? PyObject_GetAttrString(m.get(), "until") : nullptr;
    }();
    if (form) return t.call_nested(t.constant(form), a);
  }
  if (a.size() != 1) t.stop("builtin", {{"function", "iter"}});
  return t.iterator_of(a[0]);
}
Value* do_next(Tracer& t, PyObject*, Values& a, Keywords&) {
  Value* x = t.next_of(a[0]);
  if (x) return x;
  if (a.size() > 1) return a[1];
  t.stop_iteration(a[0]);
}
Value* do_getattr(Tracer& t, PyObject*, Values& a, Keywords&) {
  if (a.size() < 2) t.quiet("getattr", true);
  PyObject* name = t.attribute_name(a[1]);
  bool missing = false;
  if (a.size() < 3) return t.attribute(a[0], name);
  Value* v = t.catching(PyExc_AttributeError, [&] { return t.attribute(a[0], name, &missing); });
  return missing || !v ? a[2] : v;
}
Value* do_hasattr(Tracer& t, PyObject*, Values& a, Keywords&) {
  if (a.size() != 2) t.quiet("hasattr", true);
  bool missing = false;
  PyObject* name = t.attribute_name(a[1]);
  Value* v = t.catching(PyExc_AttributeError, [&] { return t.attribute(a[0], name, &missing); });
  return t.boolean(v && !missing);
}
Value* do_setattr(Tracer& t, PyObject*, Values& a, Keywords&) {
  if (a.size() != 3) t.quiet("setattr", true);
  t.set_attribute(a[0], t.attribute_name(a[1]), a[2]);
  return t.none();
}
Value* do_delattr(Tracer& t, PyObject*, Values& a, Keywords&) {
  if (a.size() != 2) t.quiet("delattr", true);
  t.delete_attribute(a[0], t.attribute_name(a[1]));
  return t.none();
}
Value* do_callable(Tracer& t, PyObject*, Values& a, Keywords&) {
  Value* v = t.force(a[0]);
  if (v->kind == Kind::kFunction || v->kind == Kind::kMethod || v->kind == Kind::kPartial) return t.boolean(true);
  if (v->kind == Kind::kConstant) return t.boolean(PyCallable_Check(v->object));
  return t.boolean(t.type_of(v)->tp_call != nullptr);
}
Value* do_all(Tracer& t, PyObject*, Values& a, Keywords&) {
  Value* i = t.iterator_of(a[0]);
  while (Value* x = t.next_of(i))
    if (!t.truth(x)) return t.boolean(false);
  return t.boolean(true);
}
Value* do_any(Tracer& t, PyObject*, Values& a, Keywords&) {
  Value* i = t.iterator_of(a[0]);
  while (Value* x = t.next_of(i))
    if (t.truth(x)) return t.boolean(true);
  return t.boolean(false);
}
bool is_number(Tracer& t, Value* v) {
  t.force(v);
  if (v->kind == Kind::kTensor) return false;
  PyTypeObject* type = t.type_of(v);
  return type == &PyFloat_Type || type == &PyLong_Type || type == &PyBool_Type;
}
/// Adding such constants to a number raises nothing (a long integer may not fit a float).
bool adds_plainly(PyObject* o) {
  int overflow = 0;
  return PyFloat_CheckExact(o) || PyBool_Check(o) || (PyLong_CheckExact(o) && (PyLong_AsLongLongAndOverflow(o, &overflow), !overflow));
}
Value* do_sum(Tracer& t, PyObject* f, Values& a, Keywords& k) {
  Value* total = a.size() > 1 ? a[1] : k.size() == 1 ? k[0].second : t.integer(0);
  const auto open = [&](Value* v) { return t.force(v)->kind == Kind::kLive && v->dynamic; };
  PyObject* start = t.constant_of(total);
  if (start && (PyUnicode_Check(start) || PyBytes_Check(start) || PyByteArray_Check(start))) t.quiet("sum of texts", true);  // no item is asked for
  // The first items, while they are constants, are left for the builtin itself to add up: plain numbers together,
  // from the first other one on each at once, as it may raise and leave the items after it.
  bool alone = start && !adds_plainly(start);
  py::Ref known = start ? py::check(PyList_New(0)) : py::Ref();
  const auto add_known = [&] {
    if (known) total = t.wrap(PyObject_CallFunctionObjArgs(f, known.get(), t.constant_of(total), nullptr));
    known = py::Ref();
  };
  t.each_item(a[0], [&](Value* x) {
    if (known && !open(x))
      if (PyObject* c = t.constant_of(x)) {
        py::check_status(PyList_Append(known.get(), c));
        alone = alone || !adds_plainly(c);
        if (!alone) return;
        add_known();
        if (t.is_constant(total)) known = py::check(PyList_New(0));
        return;
      }
    add_known();
    if (PY_VERSION_HEX >= 0x030C0000 && is_number(t, total) && is_number(t, x) && (t.type_of(total) == &PyFloat_Type || t.type_of(x) == &PyFloat_Type))
      t.quiet("sum of floats");  // which is compensated since 3.12
    total = t.binary(0, total, x);
  });
  add_known();
  return total;
}
Value* extreme(Tracer& t, Values& a, Keywords& k, int op) {
  Value *key = nullptr, *fallback = nullptr;
  for (auto& [n, v] : k) {
    if (PyUnicode_CompareWithASCIIString(n, "key") == 0 && t.constant_of(v) != Py_None) key = v;
    if (PyUnicode_CompareWithASCIIString(n, "default") == 0) fallback = v;
  }
  if (fallback && a.size() != 1) t.quiet("min/max with a default", true);
  Value *best = nullptr, *best_rank = nullptr;
  t.each_item(a.size() == 1 ? a[0] : t.tuple(a), [&](Value* x) {
    Value* r = key ? t.call_nested(key, {x}) : x;
    if (best) {
      if (t.force(r)->kind == Kind::kTensor || t.force(best_rank)->kind == Kind::kTensor)
        t.stop("data-dependent-branch", {{"value", "TensorVariable()"}, {"call", "extreme"}});
      if (!t.truth(t.compare(op, r, best_rank))) return;
    }
    best = x;
    best_rank = r;
  });
  if (!best && !fallback) t.quiet("min/max of nothing", true);
  return best ? best : fallback;
}
Value* do_max(Tracer& t, PyObject*, Values& a, Keywords& k) { return extreme(t, a, k, Py_GT); }
Value* do_min(Tracer& t, PyObject*, Values& a, Keywords& k) { return extreme(t, a, k, Py_LT); }

Value* do_sorted(Tracer& t, PyObject* f, Values& a, Keywords& k) {
  Values items = t.listed(a[0]);
  Value* key = nullptr;
  Keywords rest;
  for (auto& [n, v] : k) {
    if (PyUnicode_CompareWithASCIIString(n, "key") == 0) {
      if (t.constant_of(v) != Py_None) key = v;
    } else {
      rest.emplace_back(n, v);
    }
  }
  // Sort positions by constant ranks with the real function, so that stability and comparison are CPython's.
  py::Ref ranks = py::check(PyList_New(0));
  Values keys;
  bool constants = true;
  for (Value* x : items) {
    Value* r = key ? t.call_nested(key, {x}) : x;
    PyObject* c = t.force(r)->kind == Kind::kLive && r->dynamic ? nullptr : t.constant_of(r);  // open numbers are compared
    constants = constants && c;
    keys.push_back(r);
    if (constants) py::check_status(PyList_Append(ranks.get(), c));
  }
  if (!constants) {
    bool reverse = false;
    for (auto& [n, v] : rest) {
      if (PyUnicode_CompareWithASCIIString(n, "reverse") != 0) continue;
      if (PyObject* c = t.constant_of(v); !c || !PyLong_Check(c)) t.quiet("sorted", true);
      reverse = t.truth(v) == 1;
    }
    t.sort_values(items, keys, reverse);
    return t.list(std::move(items));
  }
  py::Ref order = py::check(PyList_New(0));
  for (size_t i = 0; i < items.size(); ++i) {
    py::Ref n = py::check(PyLong_FromSize_t(i));
    py::check_status(PyList_Append(order.get(), n.get()));
  }
  py::Ref by_rank = py::check(PyObject_GetAttrString(ranks.get(), "__getitem__"));
  py::Ref words = py::check(PyDict_New());
  py::check_status(PyDict_SetItemString(words.get(), "key", by_rank.get()));
  for (auto& [n, v] : rest) py::check_status(PyDict_SetItem(words.get(), n, t.need_constant(v, "sorted")));
  py::Ref args = py::check(PyTuple_Pack(1, order.get()));
  py::Ref sorted = py::Ref::steal(PyObject_Call(f, args.get(), words.get()));
  if (!sorted) t.quiet("sorted", true);
  Values out;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(sorted.get()); ++i)
    out.push_back(items[PyLong_AsSize_t(PyList_GET_ITEM(sorted.get(), i))]);
  return t.list(std::move(out));
}

Value* do_abs(Tracer& t, PyObject* f, Values& a, Keywords& k) {
  Value* v = t.force(a[0]);
  if (v->kind == Kind::kTensor) return t.torch_call(operator_function("abs"), {v});
  if (v->kind == Kind::kMade)
    if (Value* r = TensorForms::absolute_made(t, v)) return r;
  if (Value* m = t.special_method(v, "__abs__")) return t.call_nested(m, {v});
  return t.fold(f, a, k);
}
/// Numbers and text of constants; a tensor's value is not known.
Value* do_fold(Tracer& t, PyObject* f, Values& a, Keywords& k) {
  for (Value* v : a)
    if (t.force(v)->kind == Kind::kTensor) t.stop("builtin", {{"function", t.name_of(f)}, {"arg_types", "TensorVariable()"}});
  return t.fold(f, a, k);
}
Value* do_vars(Tracer& t, PyObject* f, Values& a, Keywords& k) {
  if (a.empty() && k.empty())
    if (Value* names = t.names_of_frame()) return names;
  if (a.size() == 1) {
    Value* o = t.force(a[0]);
    if (o->kind == Kind::kConstant && PyType_Check(o->object)) return t.attribute(o, py::intern("__dict__"));
    bool plain = o->kind == Kind::kInstance || (o->kind == Kind::kLive && !(torch::available() && torch::is_tensor(o->object)));
    if (plain) {
      PyTypeObject* type = t.type_of(o);
      PyObject* d = t.lookup(type, py::intern("__dict__"));
      if (d && (Py_TYPE(d) == &PyGetSetDescr_Type || Py_TYPE(d) == &PyMemberDescr_Type) && type->tp_dictoffset)
        if (Value* dict = dict_of_instance(t, o)) return dict;
    }
  }
  return Builtins::refuse(t, f, "builtins", a, k);
}
Value* do_globals(Tracer& t, PyObject* f, Values& a, Keywords& k) {
  if (!a.empty() || !t.top().globals) return Builtins::refuse(t, f, "builtins", a, k);
  Value* d = t.live(t.top().globals, t.object_source(t.top().globals));
  d->type_guarded = true;
  return t.force(d);
}
/// (type, exception, traceback) of what is being handled.
Value* do_exc_info(Tracer& t, PyObject* f, Values& a, Keywords& k) {
  Value* e = t.handled_exception();
  if (e && e->kind == Kind::kLive) t.force(e);
  if (!e || (e->kind == Kind::kConstant && e->object == Py_None)) return t.tuple({t.none(), t.none(), t.none()});
  if (!e->exception) return Builtins::refuse(t, f, "sys", a, k);
  return t.tuple({t.constant(e->object), e, t.exception_attribute(e, py::intern("__traceback__"), nullptr)});
}
Value* do_exception(Tracer& t, PyObject*, Values&, Keywords&) {
  Value* e = t.handled_exception();
  return e ? e : t.none();
}
Value* do_repr(Tracer& t, PyObject*, Values& a, Keywords&) { return text_symbolically(t, a[0], 2); }
Value* do_format(Tracer& t, PyObject*, Values& a, Keywords&) {
  return format_symbolically(t, a[0], a.size() > 1 ? a[1] : nullptr, 0);
}
/// The hash of a tuple whose items have these, as CPython makes it (xxHash, since 3.8).
Py_hash_t tuple_hash(const std::vector<Py_hash_t>& items) {
  constexpr uint64_t kPrime1 = 11400714785074694791ULL, kPrime2 = 14029467366897019727ULL, kPrime5 = 2870177450012600261ULL;
  uint64_t acc = kPrime5;
  for (Py_hash_t h : items) {
    acc += static_cast<uint64_t>(h) * kPrime2;
    acc = ((acc << 31) | (acc >> 33)) * kPrime1;
  }
  acc += items.size() ^ (kPrime5 ^ 3527539ULL);
  return acc == UINT64_MAX ? 1546275796 : static_cast<Py_hash_t>(acc);
}

Py_hash_t hash_of(Tracer& t, Value* v, Value* whole) {
  t.force(v);
  const Level level(t, "hash");
  if (Value* m = t.special_method(v, "__hash__")) return t.hash_of_answer(t.call_nested(m, {v}));
  if (Value* held = t.plain_scalar(v, {"__hash__"})) {
    PyObject* inside = t.constant_of(held);  // a NaN is hashed by its address
    if (inside && (PyFloat_Check(inside) || PyComplex_Check(inside))) {
      const py::Ref equal = py::Ref::steal(PyObject_RichCompare(inside, inside, Py_EQ));
      if (equal.get() != Py_True) t.stop("builtin", {{"function", "hash"}, {"arg_types", t.describe(v)}});
    }
    return hash_of(t, held, whole);
  }
  PyObject* c = t.constant_of(v);
  const bool size = c && std::string_view(Py_TYPE(c)->tp_name) == "torch.Size";
  if (c && (size || guard::is_plain_constant(c) || is_fixed_native_type(Py_TYPE(c)) || is_type_alias(c))) {
    const Py_hash_t h = PyObject_Hash(c);
    if (h == -1) t.quiet("hash", true);
    return h;
  }
  if (v->kind != Kind::kTuple) t.stop("builtin", {{"function", "hash"}, {"arg_types", t.describe(whole)}});
  std::vector<Py_hash_t> items;
  for (Value* item : v->items) items.push_back(hash_of(t, item, whole));
  return tuple_hash(items);
}

Value* do_hash(Tracer& t, PyObject* f, Values& a, Keywords& k) {
  Value* v = t.force(a[0]);
  if (v->kind == Kind::kTensor && v->source >= 0 && v->object && torch::is_plain_tensor(v->object))
    if (Value* h = answer_of_entry(t, f, v)) return h;
  PyObject* c = v->kind == Kind::kTuple ? nullptr : t.constant_of(v);
  if (c && guard::is_plain_constant(c)) return t.fold(f, a, k);
  return t.constant_new(PyLong_FromSsize_t(hash_of(t, v, v)));
}
/// Tensors have no __round__ and no __divmod__: what Python raises there is raised for real.
void refuse_tensors(Tracer& t, const Values& a, const char* name) {
  for (Value* v : a)
    if (t.force(v)->kind == Kind::kTensor) t.quiet(std::string(name) + " of a tensor", true);
}
Value* do_round(Tracer& t, PyObject* f, Values& a, Keywords& k) {
  refuse_tensors(t, a, "round");
  return t.fold(f, a, k);
}
Value* do_divmod(Tracer& t, PyObject* f, Values& a, Keywords& k) {
  refuse_tensors(t, a, "divmod");
  const auto open = [&](Value* v) { return v->kind == Kind::kLive && v->dynamic; };
  if (open(a[0]) || open(a[1])) return t.tuple({t.binary(2, a[0], a[1]), t.binary(6, a[0], a[1])});
  return t.fold(f, a, k);
}
Value* do_pow(Tracer& t, PyObject* f, Values& a, Keywords& k) {
  if (a.size() == 2) return t.binary(8, a[0], a[1]);
  return t.fold(f, a, k);
}

}  // namespace

void add_builtin_functions() {
  struct Row {
    const char* name;
    Builtins::Handler handler;
  };
  constexpr Row kRows[] = {
      {"isinstance", do_isinstance}, {"issubclass", do_issubclass}, {"len", do_len}, {"iter", do_iter}, {"next", do_next},
      {"getattr", do_getattr}, {"hasattr", do_hasattr}, {"setattr", do_setattr}, {"delattr", do_delattr},
      {"callable", do_callable}, {"all", do_all}, {"any", do_any}, {"sum", do_sum}, {"max", do_max}, {"min", do_min},
      {"sorted", do_sorted}, {"abs", do_abs}, {"ord", do_fold}, {"chr", do_fold}, {"bin", do_fold}, {"hex", do_fold},
      {"oct", do_fold}, {"ascii", do_fold}, {"repr", do_repr}, {"format", do_format}, {"hash", do_hash},
      {"round", do_round}, {"vars", do_vars}, {"globals", do_globals}, {"divmod", do_divmod}, {"pow", do_pow},
  };
  for (const Row& r : kRows) Builtins::add("builtins", r.name, r.handler);
  Builtins::add("sys", "exc_info", do_exc_info);
  Builtins::add("sys", "exception", do_exception);
}

}  // namespace breakline::trace
