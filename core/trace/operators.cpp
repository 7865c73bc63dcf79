// SPDX-License-Identifier: GPL-3.0-or-later
// Truth, length, membership, arithmetic and comparison.
#include "core/guard/equality.h"
#include "core/torch/tensor.h"
#include "core/trace/arrays.h"
#include "core/trace/level.h"
#include "core/trace/mappings.h"
#include "core/trace/sets.h"
#include "core/trace/builtins.h"
#include "core/trace/numpy_errors.h"
#include "core/trace/operand_forms.h"
#include "core/trace/tracer.h"
#include "core/trace/types.h"
#include "core/trace/warnings_raised.h"

namespace breakline::trace {

using bytecode::Op;
using guard::StepKind;

namespace {

struct BinaryName {
  const char* function;  // of module operator
  const char* method;
  const char* reflected;
};
// In the order of the NB_* numbers; the in-place forms follow at +13.
constexpr BinaryName kBinary[] = {
    {"add", "__add__", "__radd__"},          {"and_", "__and__", "__rand__"},
    {"floordiv", "__floordiv__", "__rfloordiv__"}, {"lshift", "__lshift__", "__rlshift__"},
    {"matmul", "__matmul__", "__rmatmul__"}, {"mul", "__mul__", "__rmul__"},
    {"mod", "__mod__", "__rmod__"},          {"or_", "__or__", "__ror__"},
    {"pow", "__pow__", "__rpow__"},          {"rshift", "__rshift__", "__rrshift__"},
    {"sub", "__sub__", "__rsub__"},          {"truediv", "__truediv__", "__rtruediv__"},
    {"xor", "__xor__", "__rxor__"},
};
constexpr const char* kInPlace[] = {"iadd", "iand", "ifloordiv", "ilshift", "imatmul", "imul", "imod",
                                    "ior",  "ipow", "irshift",   "isub",    "itruediv", "ixor"};
constexpr const char* kInPlaceMethods[] = {"__iadd__", "__iand__", "__ifloordiv__", "__ilshift__", "__imatmul__",
                                           "__imul__", "__imod__", "__ior__", "__ipow__", "__irshift__",
                                           "__isub__", "__itruediv__", "__ixor__"};
constexpr const char* kCompare[] = {"lt", "le", "eq", "ne", "gt", "ge"};
constexpr const char* kCompareMethods[] = {"__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"};
constexpr int kSwapped[] = {Py_GT, Py_GE, Py_EQ, Py_NE, Py_LT, Py_LE};

bool is_number(PyObject* o) { return PyLong_Check(o) || PyFloat_Check(o); }

bool of_numpy(PyObject* o) { return guard::is_numpy_scalar_type(Py_TYPE(o)); }

}  // namespace

PyObject* operator_function(const char* name) {
  static PyObject* module = PyImport_ImportModule("operator");
  PyObject* d = PyModule_GetDict(module);
  return PyDict_GetItem(d, py::intern(name));
}

Value* Tracer::special_method(Value* self, const char* name) {
  if (self->kind != Kind::kLive && self->kind != Kind::kInstance &&
      !(self->kind == Kind::kTuple && self->type) && self->kind != Kind::kConstant)
    return nullptr;
  if (self->kind == Kind::kConstant &&
      (guard::is_plain_constant(self->object) || (PyType_Check(self->object) && Py_TYPE(self->object) == &PyType_Type) || is_fixed_native_type(Py_TYPE(self->object))))
    return nullptr;
  PyTypeObject* type = type_of(self);
  PyObject* f = lookup(type, py::intern(name));
  if (!f) return nullptr;
  if (f == Py_None) {
    // The class says that there is none, whatever else would do: CPython's own error.
    if (std::string_view(name) != "__hash__") quiet("a special method that is None", true);
    return nullptr;
  }
  if (PyFunction_Check(f)) return constant(f);
  // What a class of C brings along is known by its kind; anything else in its place is somebody's own way.
  const bool native = Py_TYPE(f) == &PyWrapperDescr_Type || Py_TYPE(f) == &PyMethodDescr_Type;
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return nullptr;
  if (native ? PyUnicode_CompareWithASCIIString(PyDescr_NAME(f), name) == 0 && PyType_IsSubtype(type, PyDescr_TYPE(f))
             : Py_TYPE(f) == &PyClassMethodDescr_Type || std::string_view(Py_TYPE(f)->tp_name) == "instancemethod")
    return nullptr;
  stop("builtin", {{"function", name}, {"arg_types", type->tp_name}});
}

Value* Tracer::returned(Value* r, PyTypeObject* type, const char* method) {
  force(r);
  PyTypeObject* is = r->kind == Kind::kTensor ? nullptr : type_of(r);
  if (!is || !PyType_IsSubtype(is, type)) quiet(std::string(method) + " returned another type", true);
  return r;
}

Py_hash_t Tracer::hash_of_answer(Value* r) {
  PyObject* h = need_constant(returned(r, &PyLong_Type, "__hash__"), "hash");
  Py_hash_t n = PyLong_AsSsize_t(h);
  if (n == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    n = PyLong_Type.tp_hash(h);
  }
  return n == -1 ? -2 : n;
}

int Tracer::truth(Value* v) {
  force(v);
  switch (v->kind) {
    case Kind::kConstant: {
      if (Py_TYPE(v->object) == &PyType_Type || PyFunction_Check(v->object) || PyModule_Check(v->object)) return 1;
      if (Value* f = special_method(v, "__bool__")) return truth(returned(call_nested(f, {v}), &PyBool_Type, "__bool__"));
      if (PyType_Check(v->object)) return special_method(v, "__len__") ? truth(length(v)) : 1;
      int r = PyObject_IsTrue(v->object);
      if (r < 0) quiet("truth", true);
      return r;
    }
    case Kind::kTuple:
      if (v->type && special_method(v, "__bool__")) return truth(returned(call_nested(special_method(v, "__bool__"), {v}), &PyBool_Type, "__bool__"));
      return !v->items.empty();
    case Kind::kList:
      if (v->source >= 0 && !v->loaded && !v->items.empty()) return 1;
      return list_size(v) > 0;
    case Kind::kDict: return dict_size(v) > 0;
    case Kind::kDictView: return dict_size(v->items[0]) > 0;
    case Kind::kSet: return set_size(v) > 0;
    case Kind::kTensor:
      if (Value* known = settled_number(v, reinterpret_cast<PyObject*>(&PyBool_Type))) return known->object == Py_True;
      stop("data-dependent-branch", {{"value", "TensorVariable()"}});
    case Kind::kMade: stop("data-dependent-branch", {{"value", v->type->tp_name}});
    case Kind::kNative: return PyObject_IsTrue(v->object);
    case Kind::kLive:
      if (v->dynamic) {
        PyObject* zero = keep(PyLong_FromLong(0));
        Value* ne = compare(Py_NE, v, constant(zero));
        return PyObject_IsTrue(need_constant(ne, "truth"));
      }
      if (v->function_live) return 1;
      [[fallthrough]];
    case Kind::kInstance: {
      PyTypeObject* t = type_of(v);
      if (Value* held = plain_scalar(v, {"__bool__", "__len__"})) return truth(held);
      if (torch::available() && v->kind == Kind::kLive && torch::is_tensor(v->object))
        stop("data-dependent-branch", {{"value", t->tp_name}});
      if (Value* p = plain_payload(v, "__bool__"))
        if (plain_payload(v, "__len__")) return truth(p);
      if (PyObject* f = lookup(t, py::intern("__bool__"))) {
        if (!PyFunction_Check(f)) stop("builtin", {{"function", "bool"}, {"arg_types", t->tp_name}});
        Value* r = call_nested(constant(f), {v});
        PyObject* c = constant_of(r);
        if (!c) stop("data-dependent-bool", {{"value", describe(v)}, {"result", describe(r)}});
        if (!PyBool_Check(c)) quiet("__bool__ should return bool", true);
        return c == Py_True;
      }
      if (PyObject* f = lookup(t, py::intern("__len__"))) {
        if (!PyFunction_Check(f)) stop("builtin", {{"function", "bool"}, {"arg_types", t->tp_name}});
        return truth(length(v));
      }
      return 1;
    }
    default: return 1;
  }
}

Value* Tracer::asked_length(Value* method, Value* v) {
  Value* n = call_nested(method, {v});
  int64_t size;
  PyObject* c = constant_of(n);
  if (!c || !PyLong_CheckExact(c) || !int_of(n, &size) || size < 0) quiet("len", true);
  return n;
}

Value* Tracer::length(Value* v) {
  force(v);
  if (is_entry_array(v)) array_as_input(v);
  switch (v->kind) {
    case Kind::kTuple:
      if (Value* f = v->type ? special_method(v, "__len__") : nullptr) return asked_length(f, v);
      return integer(static_cast<int64_t>(v->items.size()));
    case Kind::kList: return integer(list_size(v));
    case Kind::kDict: return integer(dict_size(v));
    case Kind::kDictView: return integer(dict_size(v->items[0]));
    case Kind::kSet: return integer(set_size(v));
    case Kind::kMade:
      if (Py_ssize_t n = PyObject_Size(v->object); n >= 0) return integer(n);
      quiet("len", true);
    case Kind::kTensor:
      if (!modes_.empty()) {
        Values self = {v};
        Keywords none_given;
        if (Value* r = call_of_mode(lookup(v->type, py::intern("__len__")), self, none_given)) return r;
      }
      if (meta(v).rank() == 0) quiet("len() of a 0-d tensor", true);
      return size_of(v, 0);
    case Kind::kConstant: {
      if (Value* f = special_method(v, "__len__")) return asked_length(f, v);
      Py_ssize_t n = PyObject_Size(v->object);
      if (n < 0) quiet("len", true);
      return integer(n);
    }
    case Kind::kNative:
      if (Py_ssize_t n = PyObject_Size(v->object); n >= 0) return integer(n);
      quiet("len", true);
    default:
      if (Value* f = special_method(v, "__len__")) return asked_length(f, v);
      if (Value* p = payload(v)) return length(p);
      if (Value* held = plain_scalar(v, {"__len__"})) return length(held);
      if (v->kind == Kind::kInstance || v->kind == Kind::kLive) {
        if (!lookup(type_of(v), py::intern("__len__"))) quiet("len", true);
        stop("builtin", {{"function", "len"}, {"arg_types", type_of(v)->tp_name}});
      }
      quiet("len", true);
  }
}

namespace {

/// CPython has one.
bool is_empty_tuple(const Value* v) {
  if (v->kind == Kind::kConstant) return PyTuple_CheckExact(v->object) && PyTuple_GET_SIZE(v->object) == 0;
  return v->kind == Kind::kTuple && !v->type && v->items.empty();
}

}  // namespace

bool Tracer::same(Value* a, Value* b) {
  if (a == b) return true;
  force(a);
  force(b);
  if ((a->kind == Kind::kIdentity) != (b->kind == Kind::kIdentity)) quiet("identity of an id");
  if (a->kind == Kind::kIdentity && b->kind == Kind::kIdentity) return same(a->items[0], b->items[0]);
  // An object has one plain weak reference to it.
  auto weak = [](Value* v) { return v->kind == Kind::kInstance && v->object == reinterpret_cast<PyObject*>(&_PyWeakref_RefType); };
  if (weak(a) && weak(b)) return same(a->items[0], b->items[0]);
  if ((weak(a) || weak(b)) && type_of(a) == type_of(b)) stop("builtin", {{"function", "is"}, {"arg_types", "weakref"}});
  const auto open = [](Value* v) { return v->kind == Kind::kLive && v->dynamic && v->type_guarded; };
  // Whatever number it is, it is nothing of another type.
  if ((open(a) && b->kind == Kind::kConstant && Py_TYPE(a->object) != Py_TYPE(b->object)) ||
      (open(b) && a->kind == Kind::kConstant && Py_TYPE(a->object) != Py_TYPE(b->object)))
    return false;
  // Two evaluations of one expression.
  if (open(a) && open(b) && a->source == b->source)
    return PyLong_CheckExact(a->object) && is_cached_number(a);
  if (a->kind == Kind::kLive && a->dynamic) constant_of(a);
  if (b->kind == Kind::kLive && b->dynamic) constant_of(b);
  if (is_empty_tuple(a) && is_empty_tuple(b)) return true;
  if (a->kind == Kind::kConstant && b->kind == Kind::kConstant) {
    if (a->object == b->object) {
      // x.device is another object each time it is read.
      if (std::string_view(Py_TYPE(a->object)->tp_name) == "torch.device") return false;
      // Equal numbers and texts of another call may be two objects.
      if (guard::is_plain_constant(a->object) && !guard::is_single(a->object)) {
        if (a->source >= 0 && b->source >= 0)
          guard(StepKind::kSame, a->source, nullptr, b->source);
        else if (const SourceId place = std::max(a->source, b->source);
                 place >= 0 && sources_[place].kind != guard::SourceKind::kExpression)
          guard(StepKind::kIdentity, place, a->object);
        // (what an expression gives is another object in each call: the other side was made of this one)
      }
      return true;
    }
    // The identity of equal numbers or strings depends on how they came about: leave it to CPython.
    if (Py_TYPE(a->object) == Py_TYPE(b->object) && guard::is_plain_constant(a->object) &&
        guard::same_constant(a->object, b->object) && a->object != Py_None && !PyBool_Check(a->object))
      stop("builtin", {{"function", "is"}, {"arg_types", Py_TYPE(a->object)->tp_name}});
    return false;
  }
  if (a->kind == Kind::kConstant || b->kind == Kind::kConstant) {
    Value *fixed = a->kind == Kind::kConstant ? a : b, *other = fixed == a ? b : a;
    const bool exists = other->source >= 0 && other->object;
    if (exists && other->object == fixed->object) {
      guard(StepKind::kIdentity, other->source, fixed->object);
      return true;
    }
    guard_type(other);
    if (exists && Py_TYPE(other->object) == Py_TYPE(fixed->object)) guard(StepKind::kNotIdentity, other->source, fixed->object);
    return false;
  }
  if (a->source >= 0 && b->source >= 0) {
    if (a->source == b->source) return false;              // what an attribute makes anew each time
    const bool one = a->object && a->object == b->object;  // functions have a value for each source
    guard(one ? StepKind::kSame : StepKind::kNotSame, a->source, nullptr, b->source);
    return one;
  } else {
    guard_type(a);
    guard_type(b);
  }
  return false;
}

namespace {

bool is_reflexive(PyObject* o) {
  if (!guard::is_plain_constant(o)) return false;
  py::Ref r = py::Ref::steal(PyObject_RichCompare(o, o, Py_EQ));
  PyErr_Clear();
  return r.get() == Py_True;
}

/// What containers ask: the same object is equal to itself whatever its __eq__ says (NaN).
bool identical_or_equal(Tracer& t, Value* a, Value* b) {
  if (a == b) return true;
  t.force(a);
  t.force(b);
  if (a->kind == Kind::kTensor && b->kind == Kind::kTensor && t.same(a, b)) return true;
  const auto is_known = [](Value* v) { return v->object && (v->kind == Kind::kConstant || (v->kind == Kind::kLive && !v->dynamic)); };
  if (!is_known(a) || !is_known(b)) return t.equal(a, b);
  const bool constants = a->kind == Kind::kConstant && b->kind == Kind::kConstant, sources = a->source >= 0 && b->source >= 0;
  if (a->object == b->object && (constants || sources)) {
    // Equality tells the same of values that are equal to themselves; others need to stay the same object.
    if (sources && !(constants && is_reflexive(a->object))) t.guard(StepKind::kSame, a->source, nullptr, b->source);
    return true;
  }
  if (t.equal(a, b)) return true;
  // Constants of equal bits (NaN) may be one object the next time, others never.
  const bool differ = constants && !(guard::is_plain_constant(a->object) && guard::same_constant(a->object, b->object));
  if (sources && !differ) t.guard(StepKind::kNotSame, a->source, nullptr, b->source);
  return false;
}

}  // namespace

bool Tracer::equal(Value* a, Value* b) { return truth(compare(Py_EQ, a, b)) == 1; }

bool Tracer::contains(Value* c, Value* k) {
  force(c);
  force(k);
  switch (c->kind) {
    case Kind::kDict: return dict_get(c, k) != nullptr;
    case Kind::kDictView:
      if (c->number == 0) return dict_get(c->items[0], k) != nullptr;
      for (Value* x : drain(c))
        if (identical_or_equal(*this, x, k)) return true;
      return false;
    case Kind::kSet: {
      PyObject* o = constant_of(k);
      if (!o && hashes_by_identity(k)) {
        if (c->source < 0) return set_has_object(c, k);
        for (Value* x : c->items)
          if (!(x->kind == Kind::kConstant && guard::is_plain_constant(x->object)) && same(x, k)) return true;
        return false;
      }
      if (!o) stop("unhashable-key", {{"type", type_of(k)->tp_name}});
      int r = PySet_Contains(c->shadow, o);
      if (r < 0) quiet("in", true);
      return r == 1;
    }
    case Kind::kTuple:
    case Kind::kList:
    case Kind::kIterator:
    case Kind::kGenerator: {
      if (Value* f = c->kind == Kind::kTuple && c->type ? special_method(c, "__contains__") : nullptr) return truth(call_nested(f, {c, k}));
      if (c->kind == Kind::kIterator || c->kind == Kind::kGenerator) {
        while (Value* x = next_of(c))
          if (identical_or_equal(*this, x, k)) return true;
        return false;
      }
      for (Value* x : drain(c))
        if (identical_or_equal(*this, x, k)) return true;
      return false;
    }
    case Kind::kConstant: {
      const bool each = k->kind == Kind::kLive && k->dynamic && PyTuple_CheckExact(c->object);  // an open number stays open
      PyObject* o = each ? nullptr : constant_of(k);
      if (!o) {
        if (PyRange_Check(c->object) || PyTuple_Check(c->object)) {
          for (Value* x : drain(c))
            if (identical_or_equal(*this, x, k)) return true;
          return false;
        }
        if (behaves_as_scalar(k)) return contains(c, scalar(k));
        stop("builtin", {{"function", "in"}, {"arg_types", describe(k)}});
      }
      if (PyType_Check(c->object) && !(reinterpret_cast<PyTypeObject*>(Py_TYPE(c->object)) == &PyType_Type)) {
        PyObject* f = lookup(Py_TYPE(c->object), py::intern("__contains__"));
        if (f && PyFunction_Check(f)) return truth(call_nested(constant(f), {c, k}));
      }
      int r = PySequence_Contains(c->object, o);
      if (r < 0) quiet("in", true);
      return r == 1;
    }
    case Kind::kTensor: stop("tensor-item", {{"value", "TensorVariable()"}, {"call", "__contains__"}});
    case Kind::kNative: {
      PyObject* o = constant_of(k);
      int r = o ? PySequence_Contains(c->object, o) : -1;
      if (r < 0) quiet("in", true);
      return r == 1;
    }
    default: {
      if (Value* f = special_method(c, "__contains__")) return truth(call_nested(f, {c, k}));
      if (Value* p = payload(c)) return contains(p, k);
      if (Value* held = plain_scalar(c, {"__contains__"})) return contains(held, k);
      if (special_method(c, "__iter__") || special_method(c, "__getitem__")) {
        Value* it = iterator_of(c);
        while (Value* x = next_of(it))
          if (identical_or_equal(*this, x, k)) return true;
        return false;
      }
      stop("builtin", {{"function", "in"}, {"arg_types", type_of(c)->tp_name}});
    }
  }
}

Value* Tracer::binary(int op, Value* a, Value* b) {
  force(a);
  force(b);
  if (a->kind == Kind::kIdentity) a = number_of_identity(*this, a);
  if (b->kind == Kind::kIdentity) b = number_of_identity(*this, b);
  int base = op % 13;
  bool in_place = op >= 13;
  Value *const left = a, *const right = b;
  stop_for_the_object(*this, a, b, kBinary[base].method, in_place);
  if (Value* text = base == 6 ? format_text(*this, a, b) : nullptr) return text;
  plain_operands(*this, a, b, {kBinary[base].method, in_place ? kInPlaceMethods[base] : nullptr}, {kBinary[base].reflected});
  if (in_place && base == 0 && a->kind == Kind::kList && !a->type && b->kind == Kind::kTensor && !is_overriding(b)) {
    // The tensor, asked first, knows nothing of lists; the list takes its rows.
    Values more = drain(b);
    list_touch(a);
    a->items.insert(a->items.end(), more.begin(), more.end());
    return a;
  }
  if (is_entry_array(a)) array_as_input(a);
  if (is_entry_array(b)) array_as_input(b);
  if (a->kind == Kind::kMade || b->kind == Kind::kMade) {
    // An array changes in place; numpy's scalars don't.
    const bool changes = in_place && (a->kind != Kind::kMade || PyObject_CheckBuffer(a->object)) && !(a->kind == Kind::kMade && guard::is_numpy_scalar_type(a->type));
    if (!changes)
      if (Value* r = operate_made(operator_function(kBinary[base].function), {a, b})) return r;
    stop("builtin", {{"function", in_place ? kInPlace[base] : kBinary[base].function}, {"arg_types", describe(a) + ", " + describe(b)}});
  }
  if (a->kind == Kind::kTensor || b->kind == Kind::kTensor) {
    Value* other = a->kind == Kind::kTensor ? b : a;
    bool known = other->kind == Kind::kTensor || other->kind == Kind::kConstant || (other->kind == Kind::kLive && other->dynamic);
    if (!known && (other->kind == Kind::kInstance || other->kind == Kind::kLive) && !(torch::available() && other->kind == Kind::kLive && torch::is_tensor(other->object))) {
      for (PyTypeObject* number : {&PyLong_Type, &PyFloat_Type, &PyComplex_Type})
        if (PyType_IsSubtype(type_of(other), number)) stop("function-call", {{"function", kBinary[base].function}, {"args", describe(a) + ", " + describe(b)}});
      // Its class answers first when it stands on the left; on the right, once the tensor has declined.
      const bool left = other == a, foreign = special_method(other, "__torch_function__") || lookup(type_of(other), py::intern("__torch_function__")) ||
                                              lookup(type_of(other), py::intern("__array__")) || lookup(type_of(other), py::intern("__getitem__"));
      for (const char* name : {left && in_place ? kInPlaceMethods[base] : nullptr, left ? kBinary[base].method : kBinary[base].reflected}) {
        Value* f = name && (left || !foreign) ? special_method(other, name) : nullptr;
        if (!f) continue;
        Value* r = force(call_nested(f, left ? Values{a, b} : Values{b, a}));
        if (!(r->kind == Kind::kConstant && r->object == Py_NotImplemented)) return r;
      }
      // The other operand's reflected method may answer.
      stop("function-call", {{"function", kBinary[base].function}, {"args", describe(a) + ", " + describe(b)}});
    }
    return torch_call(operator_function(in_place ? kInPlace[base] : kBinary[base].function), {a, b});
  }
  bool da = a->kind == Kind::kLive && a->dynamic, db = b->kind == Kind::kLive && b->dynamic;
  if ((da || db) && (da || (a->kind == Kind::kConstant && is_number(a->object))) &&
      (db || (b->kind == Kind::kConstant && is_number(b->object)))) {
    PyObject* fn = operator_function(kBinary[base].function);
    py::Ref r = py::Ref::steal(PyObject_CallFunctionObjArgs(fn, a->object, b->object, nullptr));
    if (!r) {
      PyErr_Clear();
    } else if (PyLong_CheckExact(r.get()) || PyFloat_CheckExact(r.get())) {
      SourceId sa = a->source >= 0 && da ? a->source : object_source(a->object);
      SourceId sb = b->source >= 0 && db ? b->source : object_source(b->object);
      SourceId s = sources_.child(guard::SourceKind::kExpression, sa, fn, 0, sb);
      return calculated(r.get(), s);
    }
  }
  if (base == 0 && (is_open_tuple(a) || is_open_tuple(b)))
    if (Value* r = join_sizes(a, b)) return r;
  PyObject *x = constant_of(a), *y = constant_of(b);
  auto plain = [](PyObject* o) { return guard::is_plain_constant(o) || PyTuple_Check(o) || PyType_Check(o) || is_type_alias(o) || torch::is_torch_constant(o) || is_fixed_native_type(Py_TYPE(o)); };
  if (x && y && plain(x) && plain(y)) {
    if (base == 5 && (PyLong_Check(x) != 0) != (PyLong_Check(y) != 0)) {
      // A repetition so long that it should not live as a constant.
      PyObject *number = PyLong_Check(x) ? x : y, *repeated = number == x ? y : x;
      int overflow = 0;
      const long long times = PyLong_AsLongLongAndOverflow(number, &overflow);
      if (PySequence_Check(repeated) && !PyType_Check(repeated) && (overflow > 0 || times > 1'000'000)) stop("builtin", {{"function", "mul"}, {"arg_types", "many items"}});
      PyErr_Clear();
    }
    PyObject* fn = operator_function(in_place ? kInPlace[base] : kBinary[base].function);
    NumpyErrors raising(of_numpy(x) || of_numpy(y));
    WarningsRaised warned;
    PyObject* r = PyObject_CallFunctionObjArgs(fn, x, y, nullptr);
    if (!r && take_warning()) stop("warning", {{"qualname", kBinary[base].function}});
    if (!r && (a != left || b != right)) quiet("binary operator", true);  // its text names the classes
    if (!r && PyErr_ExceptionMatches(PyExc_FloatingPointError)) stop("warning", {{"qualname", "numpy"}});
    return wrap(r);
  }
  if (base == 6 && x && (PyUnicode_CheckExact(x) || PyBytes_CheckExact(x)) && b->kind != Kind::kLive && b->kind != Kind::kInstance) {
    // Text from a container of values.
    Values data;
    Keywords no_words;
    if (data_arguments({b}, {}, data, no_words)) return wrap(PyNumber_Remainder(x, data[0]->object));
  }
  if (a->kind == Kind::kNative) {
    std::string method = in_place ? kInPlaceMethods[base] : kBinary[base].method;
    Values both = {a, b};
    Keywords no_words;
    if (in_place)
      if (Value* r = native_call(a, method, both, no_words)) return r;
    if (PyObject* o = y ? y : b->kind == Kind::kNative ? b->object : nullptr; o && a->type == &PyByteArray_Type) {
      py::Ref r = py::Ref::steal(PyObject_CallFunctionObjArgs(operator_function(kBinary[base].function), a->object, o, nullptr));
      if (!r) raise_pending("binary operator");
      Values from = {constant_new(PyBytes_FromObject(r.get()))};
      if (Value* made = native_object(reinterpret_cast<PyObject*>(&PyByteArray_Type), from, no_words)) return made;
    }
  }
  if (Value* p = payload(a); p && p->type == deque_type() && (base == 0 || (base == 5 && !in_place))) {
    Values both = {a, b};
    Keywords no_words;
    if (Value* r = deque_method(a, base == 5 ? "__mul__" : in_place ? "__iadd__" : "__add__", both, no_words)) return r;
  }
  bool a_sequence = a->kind == Kind::kTuple || a->kind == Kind::kList || (x && PyTuple_Check(x));
  bool b_sequence = b->kind == Kind::kTuple || b->kind == Kind::kList || (y && PyTuple_Check(y));
  const auto is_tuples_own = [&](Value* v, const char* method) {  // named tuples' as a rule
    PyTypeObject* type = v->kind == Kind::kTuple ? v->type : v->kind == Kind::kConstant ? Py_TYPE(v->object) : nullptr;
    return !type || lookup(type, py::intern(method)) == py::type_lookup(&PyTuple_Type, py::intern(method));
  };
  if (base == 0 && a_sequence && (b_sequence || (in_place && a->kind == Kind::kList))) {
    bool list_a = a->kind == Kind::kList, list_b = b->kind == Kind::kList;
    if (in_place && list_a) {
      extend_list(a, b);
      return a;
    }
    if (list_a == list_b && is_tuples_own(a, "__add__") && is_tuples_own(b, "__radd__")) {
      Values all = drain(a);
      Values more = drain(b);
      all.insert(all.end(), more.begin(), more.end());
      return list_a ? list(std::move(all)) : tuple(std::move(all));
    }
    if (list_a != list_b) quiet("binary operator", true);
  }
  if (base == 5) {
    Value* s = a_sequence ? a : b_sequence ? b : nullptr;
    PyObject* n = a_sequence ? y : x;
    if (s && n && PyLong_Check(n) && is_tuples_own(s, "__mul__") && is_tuples_own(s, "__rmul__")) {
      Values one = drain(s), all;
      const int64_t times = PyLong_AsLongLong(n);
      if (times == -1 && PyErr_Occurred()) quiet("repetition", true);
      if (times > 0 && static_cast<int64_t>(one.size()) > 100'000 / times) stop("builtin", {{"function", "mul"}, {"arg_types", "many items"}});
      for (int64_t i = times; i > 0; --i) all.insert(all.end(), one.begin(), one.end());
      if (in_place && s == a && s->kind == Kind::kList) {
        list_touch(s);
        s->items = std::move(all);
        return s;
      }
      return s->kind == Kind::kList ? list(std::move(all)) : tuple(std::move(all));
    }
  }
  if (in_place && base == 0) {
    if (Value* into = payload(a); into && into->kind == Kind::kList && !into->type && !special_method(a, "__iadd__")) {
      Values args = {into, b};
      Keywords no_words;
      if (!list_method(into, "extend", args, no_words)) quiet("list extension", true);
      return a;
    }
  }
  if (in_place && base == 7) {
    Value* into = a->kind == Kind::kDict ? a : payload(a);
    if (into && type_of(a) != &PyDictProxy_Type && into->kind == Kind::kDict && !special_method(a, "__ior__")) {
      Values args = {into, b};
      Keywords no_words;
      if (!dict_method(into, "update", args, no_words)) quiet("dict update", true);
      return a;
    }
  }
  if (base == 7 && !special_method(a, "__or__") && !special_method(b, "__ror__")) {
    Value *left_dict = held_dict(*this, a), *right_dict = held_dict(*this, b);
    // What an instance of a subclass of OrderedDict makes is another of its class.
    const auto known = [](const Value* v, const Value* held) { return held && (v == held || held->type != ordered_dict_type()); };
    if (known(a, left_dict) && known(b, right_dict)) {
      // The right one's operator comes first only where its class derives from the left one's, which is then dict itself.
      Value* maker = left_dict->type ? left_dict : a == left_dict && right_dict->type ? right_dict : new_dict();
      return join_dicts(*this, left_dict, right_dict, maker);
    }
  }
  if (base == 1 || base == 7 || base == 10 || base == 12) {
    auto is_set = [](Value* v, PyObject* o) { return v->kind == Kind::kSet || (o && PyAnySet_CheckExact(o)); };
    if (is_set(a, x) && is_set(b, y)) {
      if (!in_place || a->kind == Kind::kConstant || a->type == &PyFrozenSet_Type) return set_derive(a, kBinary[base].method, b);
      set_update(a, base == 7 ? "update" : base == 1 ? "intersection_update" : base == 10 ? "difference_update" : "symmetric_difference_update", b);
      return a;
    }
  }
  if (Value* r = view_operation(*this, kBinary[base].method, a, b)) return r;
  if (in_place)
    if (Value* f = special_method(a, kInPlaceMethods[base])) {
      Value* r = force(call_nested(f, {a, b}));
      if (!(r->kind == Kind::kConstant && r->object == Py_NotImplemented)) return r;
    }
  auto try_method = [&](Value* self, const char* name, Value* other) -> Value* {
    Value* f = special_method(self, name);
    if (!f) return nullptr;
    Value* r = force(call_nested(f, {self, other}));
    return r->kind == Kind::kConstant && r->object == Py_NotImplemented ? nullptr : r;
  };
  bool right_first = b->kind == Kind::kLive || b->kind == Kind::kInstance;
  right_first = right_first && type_of(b) != type_of(a) && PyType_IsSubtype(type_of(b), type_of(a));
  // Only one with a reflected method of its own.
  if (right_first) {
    PyObject* name = py::intern(kBinary[base].reflected);
    right_first = lookup(type_of(b), name) != lookup(type_of(a), name);
  }
  if (right_first)
    if (Value* r = try_method(b, kBinary[base].reflected, a)) return r;
  if (Value* r = try_method(a, kBinary[base].method, b)) return r;
  // A text on the left formats, whatever the other one's class says.
  const bool formats = base == 6 && x && (PyUnicode_Check(x) || PyBytes_Check(x));
  if (!formats && !right_first && type_of(b) != type_of(a))
    if (Value* r = try_method(b, kBinary[base].reflected, a)) return r;
  // Objects of Python classes and plain constants have no other way.
  auto only_methods = [&](Value* v) {
    if (v->kind == Kind::kConstant) return guard::is_plain_constant(v->object);
    if (v->kind == Kind::kInstance) return true;
    if (v->kind != Kind::kLive) return false;
    for (PyTypeObject* t = type_of(v); t; t = t->tp_base)
      if (!(t->tp_flags & Py_TPFLAGS_HEAPTYPE)) return t == &PyBaseObject_Type;
    return false;
  };
  if (only_methods(a) && only_methods(b)) quiet("binary operator", true);
  stop("builtin", {{"function", std::string(kBinary[base].function)}, {"arg_types", describe(a) + ", " + describe(b)}});
}

/// Whether two dicts are equal; ordered ones also by the order of their keys.
bool Tracer::equal_dicts(Value* a, Value* b) {
  if (a == b) return true;
  if (dict_size(a) != dict_size(b)) return false;
  dict_load(a);
  const DictEntries entries = a->dict ? a->dict->entries : DictEntries();
  for (const DictEntry& e : entries) {
    if (!e.value) continue;
    Value* other = dict_get(b, e.key);
    if (!other || !identical_or_equal(*this, e.value, other)) return false;
  }
  const auto ordered = [](Value* d) { return d->type && PyType_IsSubtype(d->type, ordered_dict_type()); };
  if (!ordered(a) || !ordered(b)) return true;
  const Values left = drain(a), right = drain(b);
  for (size_t i = 0; i < left.size() && i < right.size(); ++i)
    if (!identical_or_equal(*this, left[i], right[i])) return false;
  return true;
}

Value* Tracer::compare(int op, Value* a, Value* b) {
  const Level level(*this, kCompare[op]);
  force(a);
  force(b);
  if (scalar(a) || scalar(b)) {
    plain_operands(*this, a, b, {kCompareMethods[op]}, {kCompareMethods[kSwapped[op]], op == Py_NE ? "__eq__" : nullptr});
  }
  if (a->kind == Kind::kCell || b->kind == Kind::kCell) quiet("comparison of cells");
  if (is_entry_array(a)) array_as_input(a);
  if (is_entry_array(b)) array_as_input(b);
  if (a->kind == Kind::kMade || b->kind == Kind::kMade) {
    if (Value* r = operate_made(operator_function(kCompare[op]), {a, b})) return r;
    stop("builtin", {{"function", kCompare[op]}, {"arg_types", describe(a) + ", " + describe(b)}});
  }
  if (a->kind == Kind::kTensor || b->kind == Kind::kTensor) {
    Value* other = a->kind == Kind::kTensor ? b : a;
    if (other->kind == Kind::kConstant && !is_number(other->object) && !PyComplex_Check(other->object) &&
        !guard::is_numpy_scalar_type(Py_TYPE(other->object))) {
      // tensor == None and the like: Tensor.__eq__ gives NotImplemented, so identity decides.
      if (op == Py_EQ || op == Py_NE) return boolean(op == Py_NE);
      quiet("comparison", true);
    }
    return torch_call(operator_function(kCompare[op]), {a, b});
  }
  bool da = a->kind == Kind::kLive && a->dynamic, db = b->kind == Kind::kLive && b->dynamic;
  if ((da || db) && (da || (a->kind == Kind::kConstant && is_number(a->object))) &&
      (db || (b->kind == Kind::kConstant && is_number(b->object)))) {
    PyObject* fn = operator_function(kCompare[op]);
    py::Ref r = py::Ref::steal(PyObject_CallFunctionObjArgs(fn, a->object, b->object, nullptr));
    if (!r) quiet("comparison", true);
    SourceId sa = da ? a->source : object_source(a->object);
    SourceId sb = db ? b->source : object_source(b->object);
    SourceId s = sources_.child(guard::SourceKind::kExpression, sa, fn, 0, sb);
    guard(StepKind::kIdentity, s, r.get());
    return constant(r.get());
  }
  const bool open = is_open_tuple(a) || is_open_tuple(b);  // item by item
  PyObject *x = open ? nullptr : constant_of(a), *y = open ? nullptr : constant_of(b);
  auto python_defined = [&](PyObject* o) {
    if (is_fixed_native_type(Py_TYPE(o))) return false;
    PyObject* f = lookup(Py_TYPE(o), py::intern(kCompareMethods[op]));
    return f && PyFunction_Check(f);
  };
  if (x && y && !python_defined(x) && !python_defined(y)) {
    PyObject* r = PyObject_RichCompare(x, y, op);
    if (!r) quiet("comparison", true);
    return constant_new(r);
  }
  bool equality = op == Py_EQ || op == Py_NE;
  if (a->kind == Kind::kIdentity && b->kind == Kind::kIdentity && !equality) quiet("comparison of ids");
  if ((a->kind == Kind::kIdentity) != (b->kind == Kind::kIdentity))
    return compare(op, a->kind == Kind::kIdentity ? number_of_identity(*this, a) : a, b->kind == Kind::kIdentity ? number_of_identity(*this, b) : b);
  if (a->kind == Kind::kIdentity && b->kind == Kind::kIdentity && equality) return boolean(same(a, b) == (op == Py_EQ));
  if (a->kind == Kind::kNative || b->kind == Kind::kNative) {
    PyObject *l = a->kind == Kind::kNative ? a->object : constant_copy(a), *r = b->kind == Kind::kNative ? b->object : constant_copy(b);
    if (l && r) return constant_new(PyObject_RichCompare(l, r, op));
  }
  auto sequence_kind = [](Value* v) {
    if (v->kind == Kind::kTuple || (v->kind == Kind::kConstant && PyTuple_Check(v->object))) return 1;
    return v->kind == Kind::kList ? (v->type ? 3 : 2) : 0;
  };
  int ka = sequence_kind(a), kb = sequence_kind(b);
  // A named tuple or another subclass of tuple may compare by a method of its own.
  const auto overrides = [&](Value* v, int which) { return v->kind == Kind::kTuple && v->type && special_method(v, kCompareMethods[which]); };
  // The right one's comes first only where its class is derived from the left one's.
  const auto derived = [&] { return type_of(b) != type_of(a) && PyType_IsSubtype(type_of(b), type_of(a)); };
  const bool by_method = overrides(a, op) || (overrides(b, kSwapped[op]) && (ka != kb || derived()));
  const auto held_items = [&](Value* v) { return v->kind == Kind::kTuple ? v->items : drain(v); };
  if (!equality && ka && ka == kb && !by_method) {
    // The first items that differ decide.
    Values left = held_items(a), right = held_items(b);
    for (size_t i = 0; i < left.size() && i < right.size(); ++i)
      if (!identical_or_equal(*this, left[i], right[i])) return compare(op, left[i], right[i]);
    const int order = left.size() < right.size() ? -1 : left.size() > right.size();
    return boolean(op == Py_LT ? order < 0 : op == Py_LE ? order <= 0 : op == Py_GT ? order > 0 : order >= 0);
  }
  if (equality && (ka || kb) && !by_method) {
    if (ka && kb) {
      if (ka != kb) return boolean(op == Py_NE);
      Values left = held_items(a), right = held_items(b);
      if (left.size() != right.size()) return boolean(op == Py_NE);
      for (size_t i = 0; i < left.size(); ++i)
        if (!identical_or_equal(*this, left[i], right[i])) return boolean(op == Py_NE);
      return boolean(op == Py_EQ);
    }
    Value* other = ka ? b : a;
    if (other->kind == Kind::kConstant || other->kind == Kind::kDict || other->kind == Kind::kSet) return boolean(op == Py_NE);
  }
  if (equality && a->kind == Kind::kDict && b->kind == Kind::kDict) return boolean(equal_dicts(a, b) == (op == Py_EQ));
  if (a->kind == Kind::kDictView || b->kind == Kind::kDictView) {
    Value *x = view_as_set(a), *y = view_as_set(b);
    if (x && y) return compare(op, x, y);
    if (!equality) stop("builtin", {{"function", kCompare[op]}, {"arg_types", describe(a) + ", " + describe(b)}});
  }
  auto set_of = [](Value* v) { return v->kind == Kind::kSet ? v->shadow : v->kind == Kind::kConstant && PyAnySet_CheckExact(v->object) ? v->object : nullptr; };
  if (set_of(a) && set_of(b)) {
    if (holds_objects(a) || holds_objects(b)) {
      if (a->kind != Kind::kSet || b->kind != Kind::kSet) stop("builtin", {{"function", "comparison of sets of objects"}});
      return boolean(compare_sets(*this, op, a, b));
    }
    PyObject* r = PyObject_RichCompare(set_of(a), set_of(b), op);
    if (!r) quiet("comparison", true);
    return constant_new(r);
  }
  const auto is_frozen = [](Value* v) { return v->kind == Kind::kConstant && PyFrozenSet_CheckExact(v->object); };
  if ((a->kind == Kind::kSet && is_frozen(b)) || (is_frozen(a) && b->kind == Kind::kSet)) {
    Value* s = a->kind == Kind::kSet ? a : b;
    if (holds_objects(s)) stop("builtin", {{"function", "comparison of sets of objects"}});
    PyObject* r = PyObject_RichCompare(s == a ? s->shadow : a->object, s == b ? s->shadow : b->object, op);
    if (!r) quiet("comparison", true);
    return constant_new(r);
  }
  bool declined = false;  // a method gave NotImplemented
  auto try_method = [&](Value* self, int which, Value* other) -> Value* {
    Value* f = special_method(self, kCompareMethods[which]);
    bool inverted = false;
    if (!f && which == Py_NE && lookup(type_of(self), py::intern("__ne__")) == py::type_lookup(&PyBaseObject_Type, py::intern("__ne__"))) {
      f = special_method(self, "__eq__");  // which object's __ne__ asks
      inverted = true;
    }
    if (!f) return nullptr;
    Value* r = force(call_nested(f, {self, other}));
    const bool no = r->kind == Kind::kConstant && r->object == Py_NotImplemented;
    declined = declined || no;
    return no ? nullptr : inverted ? boolean(!truth(r)) : r;
  };
  const bool b_has_class = b->kind == Kind::kLive || b->kind == Kind::kInstance || (b->kind == Kind::kTuple && b->type);
  bool right_first = b_has_class && type_of(b) != type_of(a) && PyType_IsSubtype(type_of(b), type_of(a));
  if (right_first)
    if (Value* r = try_method(b, kSwapped[op], a)) return r;
  if (Value* r = try_method(a, op, b)) return r;
  if (!right_first)
    if (Value* r = try_method(b, kSwapped[op], a)) return r;
  if (equality) {
    // A builtin container on either side that compares as such takes the other for what it holds.
    const auto held = [this](Value* v) {
      if (v->kind == Kind::kTuple && v->type) return tuple(v->items);
      Value* p = payload(v);
      return p ? p : v;
    };
    const auto natively = [&](Value* v) {
      const bool container = v->kind == Kind::kDict || v->kind == Kind::kList || v->kind == Kind::kSet || v->kind == Kind::kTuple || held(v) != v;
      return container && !special_method(v, "__eq__");
    };
    Value *p = held(a), *q = held(b);
    if ((p != a || q != b) && (natively(a) || natively(b))) return compare(op, p, q);
  }
  if (declined && equality) return boolean(same(a, b) == (op == Py_EQ));
  if (declined) quiet("comparison", true);
  if (equality && a->kind == Kind::kMethod && b->kind == Kind::kMethod) {
    const bool one = same(a->items[0], b->items[0]) && same(a->items[1], b->items[1]);
    return boolean(one == (op == Py_EQ));
  }
  if (equality && (a->kind == Kind::kLive || a->kind == Kind::kInstance) && (b->kind == Kind::kLive || b->kind == Kind::kInstance) &&
      type_of(a) == namespace_type() && type_of(b) == namespace_type())
    return a == b ? boolean(op == Py_EQ) : compare(op, instance_dict(a), instance_dict(b));
  // Containers of one kind that got here have a way of their own to be equal.
  auto family = [](Value* v) {
    if (v->kind == Kind::kSlice || (v->kind == Kind::kConstant && PySlice_Check(v->object))) return Kind::kSlice;
    if (v->kind == Kind::kTuple || (v->kind == Kind::kConstant && PyTuple_Check(v->object))) return Kind::kTuple;
    const bool own = v->kind == Kind::kList || v->kind == Kind::kDict || v->kind == Kind::kSet || v->kind == Kind::kDictView || v->kind == Kind::kNative;
    return own ? v->kind : Kind::kConstant;
  };
  if (family(a) == family(b) && family(a) != Kind::kConstant)
    stop("builtin", {{"function", kCompare[op]}, {"arg_types", describe(a) + ", " + describe(b)}});
  auto by_identity = [&](Value* v) {
    if (v->kind == Kind::kFunction || v->kind == Kind::kCell || v->kind == Kind::kGenerator || v->kind == Kind::kIterator) return true;
    if (v->kind == Kind::kConstant) return true;
    if (v->kind != Kind::kLive && v->kind != Kind::kInstance) return true;
    PyObject* f = lookup(type_of(v), py::intern("__eq__"));
    return f == py::type_lookup(&PyBaseObject_Type, py::intern("__eq__"));
  };
  if (equality && by_identity(a) && by_identity(b) && a->kind != Kind::kMethod && b->kind != Kind::kMethod)
    return boolean(same(a, b) == (op == Py_EQ));
  stop("builtin", {{"function", kCompare[op]}, {"arg_types", describe(a) + ", " + describe(b)}});
}

Value* Tracer::unary(Op op, Value* v) {
  force(v);
  const char* name = op == Op::kUnaryNegative ? "neg" : op == Op::kUnaryInvert ? "invert" : "pos";
  const char* method = op == Op::kUnaryNegative ? "__neg__" : op == Op::kUnaryInvert ? "__invert__" : "__pos__";
  Value* held = plain_scalar(v, {method});
  if (held && held->dynamic) return unary(op, held);
  if (v->kind == Kind::kTensor) return torch_call(operator_function(name), {v});
  if (is_entry_array(v)) array_as_input(v);
  if (v->kind == Kind::kMade) {
    if (Value* r = operate_made(operator_function(name), {v})) return r;
    stop("builtin", {{"function", name}, {"arg_types", describe(v)}});
  }
  if (Value* r = number_call(operator_function(name), {v}, {})) return r;
  PyObject* c = held ? scalar_twin(v) : constant_of(v);
  if (Value* f = special_method(v, method)) return call_nested(f, {v});
  if (!c) stop("builtin", {{"function", name}, {"arg_types", describe(v)}});
  if (PY_VERSION_HEX >= 0x030C0000 && op == Op::kUnaryInvert && PyBool_Check(c)) stop("warning", {{"qualname", "__invert__"}});
  NumpyErrors raising(of_numpy(c));
  PyObject* r = PyObject_CallOneArg(operator_function(name), c);
  if (!r && held) quiet("unary operator", true);
  if (!r && PyErr_ExceptionMatches(PyExc_FloatingPointError)) stop("warning", {{"qualname", "numpy"}});
  return wrap(r);
}

}  // namespace breakline::trace
