// SPDX-License-Identifier: GPL-3.0-or-later
// Carrying out a recipe. Nothing here runs user code: types are built-in or have plain constructors.
#include <algorithm>
#include <functional>
#include <unordered_set>
#include <utility>

#include "core/resume/recipe.h"
#include "core/resume/traceback.h"
#include "core/trace/types.h"

namespace breakline::resume {

namespace {

PyObject* share(PyObject* o) {
  Py_XINCREF(o);
  return o;
}

PyObject* tuple_of(const std::vector<int32_t>& kids, const std::vector<PyObject*>& made, size_t from = 0) {
  PyObject* t = PyTuple_New(static_cast<Py_ssize_t>(kids.size() - from));
  if (!t) return nullptr;
  for (size_t i = from; i < kids.size(); ++i)
    PyTuple_SET_ITEM(t, static_cast<Py_ssize_t>(i - from), share(made[static_cast<size_t>(kids[i])]));
  return t;
}

PyObject* bound_method(PyObject* function, PyObject* self) {
  if (PyFunction_Check(function)) return PyMethod_New(function, self);
  if (Py_TYPE(function) == &PyClassMethodDescr_Type)
    return Py_TYPE(function)->tp_descr_get(function, nullptr, self);
  descrgetfunc get = Py_TYPE(function) == &PyProperty_Type ? nullptr : Py_TYPE(function)->tp_descr_get;
  return get ? get(function, self, reinterpret_cast<PyObject*>(Py_TYPE(self))) : PyMethod_New(function, self);
}

PyObject* function_of(const RecipeStep& s, const std::vector<PyObject*>& made) {
  auto kid = [&](size_t i) { return s.kids[i] >= 0 ? made[static_cast<size_t>(s.kids[i])] : nullptr; };
  PyObject* f = PyFunction_NewWithQualName(s.object, s.globals, s.qualname);
  if (!f) return nullptr;
  bool ok = true;
  if (kid(0)) ok = ok && PyFunction_SetDefaults(f, kid(0)) == 0;
  if (kid(1)) ok = ok && PyFunction_SetKwDefaults(f, kid(1)) == 0;
  if (kid(2)) ok = ok && PyFunction_SetClosure(f, kid(2)) == 0;
  if (kid(3)) {
    auto* fn = reinterpret_cast<PyFunctionObject*>(f);
    PyObject* old = fn->func_annotations;
    fn->func_annotations = share(kid(3));  // a tuple of pairs or a dict, as MAKE_FUNCTION leaves it
    Py_XDECREF(old);
  }
  if (!ok) Py_CLEAR(f);
  return f;
}

PyObject* call_named(const char* module, const char* name, PyObject* args) {
  py::Ref m = py::Ref::steal(PyImport_ImportModule(module));
  py::Ref f = m ? py::Ref::steal(PyObject_GetAttrString(m.get(), name)) : py::Ref();
  py::Ref owned = py::Ref::steal(args);
  return f && args ? PyObject_CallObject(f.get(), args) : nullptr;
}

/// An iterator of the same kind that has nothing left.
PyObject* exhausted_iterator(PyObject* like) {
  PyObject* empty = PyList_Check(like) ? PyList_New(0) : PyTuple_New(0);
  if (!empty) return nullptr;
  PyObject* it = PyObject_GetIter(empty);
  Py_DECREF(empty);
  if (it) Py_XDECREF(PyIter_Next(it));
  return it;
}

PyObject* named_tuple(PyObject* type, PyObject* items) {
  py::Ref owned = py::Ref::steal(items);
  if (!items) return nullptr;
  if (trace::is_tuple_class(reinterpret_cast<PyTypeObject*>(type))) {
    py::Ref args = py::Ref::steal(PyTuple_Pack(1, items));
    return args ? PyTuple_Type.tp_new(reinterpret_cast<PyTypeObject*>(type), args.get(), nullptr) : nullptr;
  }
  return PyObject_CallOneArg(type, items);
}

/// The built-in class whose constructor makes instances of an exception class.
PyTypeObject* native_exception(PyObject* cls) {
  auto* t = reinterpret_cast<PyTypeObject*>(cls);
  while (t->tp_flags & Py_TPFLAGS_HEAPTYPE) t = t->tp_base;
  return t;
}

bool fill_exception(PyObject* o, const RecipeStep& s, const std::vector<PyObject*>& kid) {
  if (s.a) {
    if (native_exception(s.object)->tp_init(o, kid[0], nullptr) < 0) return false;
  } else if (PyObject_SetAttrString(o, "args", kid[0]) < 0) {
    return false;
  }
  if (kid[3] && PyObject_SetAttrString(o, "name", kid[3]) < 0) return false;
  if (kid[4] && PyObject_SetAttrString(o, "obj", kid[4]) < 0) return false;
  const auto or_null = [](PyObject* x) { return x == Py_None ? nullptr : share(x); };
  PyException_SetContext(o, or_null(kid[1]));
  PyException_SetCause(o, or_null(kid[2]));
  reinterpret_cast<PyBaseExceptionObject*>(o)->suppress_context = s.b != 0;
  for (size_t i = 6; i + 1 < kid.size(); i += 2)
    if (PyObject_GenericSetAttr(o, kid[i], kid[i + 1]) < 0) return false;
  return !kid[5] || PyException_SetTraceback(o, kid[5]) == 0;
}

PyObject* set_of(const RecipeStep& s) {
  py::Ref set = py::Ref::steal(PySet_New(nullptr));
  for (const trace::SetOperation& op : s.history)
    if (!set || !trace::apply_set_operation(set, op)) return nullptr;
  return set.release();
}

/// An iterator over `over` (`container` itself or a view of it), which had `size` entries when the iterator
/// was made. When it has another size now, the iterator's next step must be the RuntimeError about it.
PyObject* container_iterator(PyObject* over, PyObject* container, int64_t size) {
  if (PyObject_Size(container) == size) return PyObject_GetIter(over);
  py::Ref copy = py::Ref::steal(PyObject_CallMethod(container, "copy", nullptr));
  py::Ref view = copy;
  if (copy && PyDict_Check(container)) {
    const char* name = PyDictValues_Check(over) ? "values" : PyDictItems_Check(over) ? "items" : "keys";
    view = py::Ref::steal(PyObject_CallMethod(copy.get(), name, nullptr));
  }
  py::Ref it = view ? py::Ref::steal(PyObject_GetIter(view.get())) : py::Ref();
  py::Ref key =
      it ? py::Ref::steal(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type))) : py::Ref();
  if (!key) return nullptr;
  const bool set = PyAnySet_Check(copy.get());
  if ((set ? PySet_Add(copy.get(), key.get()) : PyObject_SetItem(copy.get(), key.get(), Py_None)) < 0)
    return nullptr;
  return it.release();
}

/// Past what a subclass of dict overrides.
int set_item(PyObject* d, PyObject* key, PyObject* value) {
  return PyODict_Check(d) ? PyODict_SetItem(d, key, value) : PyDict_SetItem(d, key, value);
}

}  // namespace

PyObject* Recipe::make(const RecipeStep& s, PyObject* const* values, PyObject* const* outputs,
                       const std::vector<PyObject*>& made) const {
  auto kid = [&](size_t i) { return s.kids[i] >= 0 ? made[static_cast<size_t>(s.kids[i])] : nullptr; };
  switch (s.kind) {
    case RecipeKind::kConstant:
      return share(s.object);
    case RecipeKind::kFetch:
      return share(values[s.index]);
    case RecipeKind::kFreshNumber:
      if (PyFloat_CheckExact(kid(0))) return PyFloat_FromDouble(PyFloat_AS_DOUBLE(kid(0)));
      return PyNumber_Or(kid(0), py::Ref::steal(PyLong_FromLong(0)).get());
    case RecipeKind::kOutput:
      return share(outputs[s.index]);
    case RecipeKind::kTuple:
      return tuple_of(s.kids, made);
    case RecipeKind::kNamedTuple:
      return named_tuple(s.object, tuple_of(s.kids, made));
    case RecipeKind::kList:
      return PyList_New(0);
    case RecipeKind::kDict:
      return s.object ? PyObject_CallNoArgs(s.object) : PyDict_New();
    case RecipeKind::kSet:
      return set_of(s);
    case RecipeKind::kSlice:
      return PySlice_New(kid(0), kid(1), kid(2));
    case RecipeKind::kMethod:
      return bound_method(kid(0), kid(1));
    case RecipeKind::kFunction:
      return function_of(s, made);
    case RecipeKind::kCell:
      return PyCell_New(nullptr);
    case RecipeKind::kTraceback:
      return make_traceback(s.traceback.code, s.traceback.index, s.traceback.globals, nullptr, kid(0));
    case RecipeKind::kException: {
      py::Ref none = py::Ref::steal(PyTuple_New(0));
      return none ? native_exception(s.object)->tp_new(reinterpret_cast<PyTypeObject*>(s.object), none.get(),
                                                       nullptr)
                  : nullptr;
    }
    case RecipeKind::kInstance: {
      py::Ref none = py::Ref::steal(PyTuple_New(0));
      auto* type = reinterpret_cast<PyTypeObject*>(s.object);
      if (PyTypeObject* scalar = trace::scalar_base(type)) {
        py::Ref value = py::Ref::steal(PyTuple_Pack(1, kid(0)));
        return value ? scalar->tp_new(type, value.get(), nullptr) : nullptr;
      }
      if (type == &_PyWeakref_RefType) return PyWeakref_NewRef(kid(0), nullptr);
      if (type == trace::deque_type())
        return PyObject_CallFunctionObjArgs(s.object, none.get(), kid(0), nullptr);
      PyTypeObject* base = type;  // the class of C that gives the layout
      while (base->tp_flags & Py_TPFLAGS_HEAPTYPE) base = base->tp_base;
      return base->tp_new(type, none.get(), nullptr);
    }
    case RecipeKind::kSuper:
      return PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(&PySuper_Type), kid(0), kid(1),
                                          nullptr);
    case RecipeKind::kGenerator:
      return PyObject_Call(kid(0), kid(1), kid(2));
    case RecipeKind::kDictView: {
      static const char* const kNames[] = {"keys", "values", "items"};
      return PyObject_CallMethod(kid(0), kNames[s.a], nullptr);
    }
    case RecipeKind::kPartial: {
      Py_ssize_t n = PyTuple_GET_SIZE(kid(1));
      py::Ref args = py::Ref::steal(PyTuple_New(n + 1));
      if (!args) return nullptr;
      PyTuple_SET_ITEM(args.get(), 0, share(kid(0)));
      for (Py_ssize_t i = 0; i < n; ++i)
        PyTuple_SET_ITEM(args.get(), i + 1, share(PyTuple_GET_ITEM(kid(1), i)));
      return PyObject_Call(reinterpret_cast<PyObject*>(trace::partial_type()), args.get(), kid(2));
    }
    case RecipeKind::kListIterator:
      return s.index ? exhausted_iterator(kid(0)) : PyObject_GetIter(kid(0));
    case RecipeKind::kReversedIterator:
      return s.index ? exhausted_iterator(kid(0))
                     : PyObject_CallOneArg(reinterpret_cast<PyObject*>(&PyReversed_Type), kid(0));
    case RecipeKind::kRangeIterator: {
      py::Ref range = py::Ref::steal(
          PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyRange_Type), "LLL", s.a, s.b, s.c));
      return range ? PyObject_GetIter(range.get()) : nullptr;
    }
    case RecipeKind::kZip: {
      py::Ref args = py::Ref::steal(tuple_of(s.kids, made));
      if (!args) return nullptr;
      py::Ref words = s.a ? py::Ref::steal(Py_BuildValue("{sO}", "strict", Py_True)) : py::Ref();
      return PyObject_Call(reinterpret_cast<PyObject*>(&PyZip_Type), args.get(), words.get());
    }
    case RecipeKind::kEnumerate:
      return PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyEnum_Type), "OL", kid(0),
                                   static_cast<long long>(s.a));
    case RecipeKind::kMap: {
      py::Ref args = py::Ref::steal(tuple_of(s.kids, made));
      return args ? PyObject_CallObject(reinterpret_cast<PyObject*>(&PyMap_Type), args.get()) : nullptr;
    }
    case RecipeKind::kFilter:
      return PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(&PyFilter_Type), kid(0), kid(1),
                                          nullptr);
    case RecipeKind::kChain: {
      // chain(current, *rest) continued lazily: chain.from_iterable over the rest behind what is left of the
      // current one.
      py::Ref m = py::Ref::steal(PyImport_ImportModule("itertools"));
      py::Ref chain = m ? py::Ref::steal(PyObject_GetAttrString(m.get(), "chain")) : py::Ref();
      py::Ref rest = chain ? py::Ref::steal(PyObject_CallMethod(chain.get(), "from_iterable", "(O)", kid(0)))
                           : py::Ref();
      if (!rest || s.kids.size() == 1) return rest.release();
      return call_named("itertools", "chain", PyTuple_Pack(2, kid(1), rest.get()));
    }
    case RecipeKind::kNative: {
      py::Ref object;
      size_t at = 0;
      for (const trace::NativeCall& call : s.calls) {
        std::vector<PyObject*> args;
        for (size_t i = 0; i < call.args.size(); ++i) args.push_back(kid(at++));
        py::Ref names;
        if (!call.names.empty()) {
          names = py::Ref::steal(PyTuple_New(static_cast<Py_ssize_t>(call.names.size())));
          for (size_t i = 0; names && i < call.names.size(); ++i)
            PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(i), share(call.names[i]));
          if (!names) return nullptr;
        }
        py::Ref callable = object ? py::Ref::steal(PyObject_GetAttr(object.get(), call.callable))
                                  : py::Ref::borrow(call.callable);
        py::Ref r = callable ? py::Ref::steal(PyObject_Vectorcall(
                                   callable.get(), args.data(), args.size() - call.names.size(), names.get()))
                             : py::Ref();
        if (!r) return nullptr;
        if (!object) object = r;
      }
      return object.release();
    }
    case RecipeKind::kContainerIterator:
      return container_iterator(kid(0), kid(1), s.b);
  }
  return nullptr;
}

bool Recipe::fill(const RecipeFill& f, const std::vector<PyObject*>& made) const {
  const RecipeStep& s = steps[static_cast<size_t>(f.step)];
  PyObject* o = made[static_cast<size_t>(f.step)];
  auto kid = [&](size_t i) { return f.kids[i] >= 0 ? made[static_cast<size_t>(f.kids[i])] : nullptr; };
  const auto put_in_order = [&](size_t from, size_t to) {  // an OrderedDict; not by a subclass's own methods
    static PyObject* const move =
        PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyODict_Type), "move_to_end");
    for (size_t i = from; i < to; ++i)
      if (py::Ref r = py::Ref::steal(PyObject_CallFunctionObjArgs(move, o, kid(i), nullptr)); !r)
        return false;
    return true;
  };
  switch (s.kind) {
    case RecipeKind::kList:
      for (size_t i = 0; i < f.kids.size(); ++i)
        if (PyList_Append(o, kid(i)) < 0) return false;
      return true;
    case RecipeKind::kDict:
      for (size_t i = 0; i + 1 < f.kids.size() - static_cast<size_t>(s.b); i += 2)
        if (PyObject_SetItem(o, kid(i), kid(i + 1)) < 0) return false;
      if (s.b) return put_in_order(f.kids.size() - static_cast<size_t>(s.b), f.kids.size());
      return f.kids.size() % 2 == 0 ||
             PyObject_SetAttrString(o, "default_factory", kid(f.kids.size() - 1)) == 0;
    case RecipeKind::kSet:
      for (size_t i = 0; i < f.kids.size(); ++i)
        if (PySet_Add(o, kid(i)) < 0) return false;
      return true;
    case RecipeKind::kCell:
      return !kid(0) || PyCell_Set(o, kid(0)) == 0;
    case RecipeKind::kNamedTuple:
    case RecipeKind::kFunction:
      for (size_t i = 0; i + 1 < f.kids.size(); i += 2)
        if (PyObject_GenericSetAttr(o, kid(i), kid(i + 1)) < 0) return false;
      return true;
    case RecipeKind::kException: {
      std::vector<PyObject*> kids;
      for (size_t i = 0; i < f.kids.size(); ++i) kids.push_back(kid(i));
      return fill_exception(o, s, kids);
    }
    case RecipeKind::kInstance: {
      const auto inner = static_cast<size_t>(s.a);  // what a dict or list subclass holds comes first
      if (PyList_Check(o)) {
        for (size_t i = 0; i < inner; ++i)
          if (PyList_Append(o, kid(i)) < 0) return false;
      } else if (Py_TYPE(o) == trace::deque_type()) {
        for (size_t i = 0; i < inner; ++i)
          if (py::Ref r = py::Ref::steal(PyObject_CallMethod(o, "append", "(O)", kid(i))); !r) return false;
      } else {
        for (size_t i = 0; i + 1 < inner; i += 2)
          if (set_item(o, kid(i), kid(i + 1)) < 0) return false;
      }
      const size_t attributes = inner + static_cast<size_t>(s.b);
      if (!put_in_order(inner, attributes)) return false;
      for (size_t i = attributes; i + 1 < f.kids.size(); i += 2) {
        PyObject* a = PyUnicode_Check(kid(i)) ? py::type_lookup(Py_TYPE(o), kid(i)) : nullptr;
        if (!PyUnicode_Check(kid(i)) ||
            (a && Py_TYPE(a)->tp_descr_set && Py_TYPE(a) != &PyMemberDescr_Type)) {
          py::Ref d = py::Ref::steal(PyObject_GenericGetDict(o, nullptr));
          if (!d || PyDict_SetItem(d.get(), kid(i), kid(i + 1)) < 0) return false;
        } else if (PyObject_GenericSetAttr(o, kid(i), kid(i + 1)) < 0) {
          return false;
        }
      }
      return true;
    }
    default:
      return true;
  }
}

std::vector<int32_t> Recipe::hashed_kids(const RecipeFill& f) const {
  const RecipeStep& s = steps[static_cast<size_t>(f.step)];
  size_t end = 0, stride = 2;
  if (s.kind == RecipeKind::kDict) end = f.kids.size() - static_cast<size_t>(s.b);
  if (s.kind == RecipeKind::kInstance) end = static_cast<size_t>(s.a);
  if (s.kind == RecipeKind::kSet) end = f.kids.size(), stride = 1;
  std::vector<int32_t> keys;
  for (size_t i = 0; i < end; i += stride) {
    const RecipeKind kind =
        f.kids[i] < 0 ? RecipeKind::kConstant : steps[static_cast<size_t>(f.kids[i])].kind;
    if (kind != RecipeKind::kConstant && kind != RecipeKind::kFetch && kind != RecipeKind::kOutput)
      keys.push_back(f.kids[i]);
  }
  return keys;
}

std::vector<int32_t> Recipe::fill_order(std::vector<int32_t>& ready) const {
  std::unordered_map<int32_t, int32_t> fill_of;  // step: its fill
  for (size_t i = 0; i < fills.size(); ++i) fill_of.emplace(fills[i].step, static_cast<int32_t>(i));
  std::vector<int32_t> order;
  std::vector<char> placed(fills.size(), 0);
  const std::function<void(int32_t)> place = [&](int32_t f) {
    if (std::exchange(placed[static_cast<size_t>(f)], 1)) return;
    const RecipeFill& fill = fills[static_cast<size_t>(f)];
    int32_t& when = ready[static_cast<size_t>(f)];
    std::unordered_set<int32_t> seen;
    std::vector<int32_t> below = hashed_kids(fill);
    while (!below.empty()) {  // all that a key's own code could look at
      const int32_t k = below.back();
      below.pop_back();
      if (k < 0 || !seen.insert(k).second) continue;
      const std::vector<int32_t>& parts = steps[static_cast<size_t>(k)].kids;
      below.insert(below.end(), parts.begin(), parts.end());
      const auto its = fill_of.find(k);
      if (its == fill_of.end() || its->second == f) continue;
      place(its->second);
      when = std::max(when, ready[static_cast<size_t>(its->second)]);
      const std::vector<int32_t>& content = fills[static_cast<size_t>(its->second)].kids;
      below.insert(below.end(), content.begin(), content.end());
    }
    order.push_back(f);
  };
  for (size_t i = 0; i < fills.size(); ++i) place(static_cast<int32_t>(i));
  return order;
}

void Recipe::arrange() {
  late_.assign(steps.size(), false);
  std::vector<std::vector<int32_t>> fills_after(steps.size());
  auto any_late = [&](const std::vector<int32_t>& kids) {
    return std::any_of(kids.begin(), kids.end(), [&](int32_t k) { return is_late(k); });
  };
  std::vector<int32_t> ready;
  for (const RecipeFill& fill : fills) {
    int32_t last = fill.step;
    for (int32_t k : fill.kids) last = std::max(last, k);
    ready.push_back(last);
  }
  for (int32_t f : fill_order(ready))
    fills_after[static_cast<size_t>(ready[static_cast<size_t>(f)])].push_back(f);
  early_actions_.clear();
  late_actions_.clear();
  for (size_t i = 0; i < steps.size(); ++i) {
    late_[i] = steps[i].kind == RecipeKind::kContainerIterator || any_late(steps[i].kids);
    (late_[i] ? late_actions_ : early_actions_).push_back({false, static_cast<int32_t>(i)});
    for (int32_t f : fills_after[i]) {
      const RecipeFill& fill = fills[static_cast<size_t>(f)];
      (is_late(fill.step) || any_late(fill.kids) ? late_actions_ : early_actions_).push_back({true, f});
    }
  }
}

bool Recipe::place_iterators(const std::vector<PyObject*>& made) const {
  for (size_t i = 0; i < steps.size(); ++i) {
    const RecipeStep& s = steps[i];
    if (s.kind == RecipeKind::kContainerIterator) {
      if (PyObject_Size(made[static_cast<size_t>(s.kids[1])]) != s.b) continue;  // it only raises
      for (int64_t n = 0; n < s.a; ++n) {
        PyObject* x = PyIter_Next(made[i]);
        if (!x) return !PyErr_Occurred();
        Py_DECREF(x);
      }
      if (s.index) Py_XDECREF(PyIter_Next(made[i]));
      continue;
    }
    bool list = s.kind == RecipeKind::kListIterator && s.a != 0;
    if ((!list && s.kind != RecipeKind::kReversedIterator) || s.index) continue;
    py::Ref r =
        py::Ref::steal(PyObject_CallMethod(made[i], "__setstate__", "L", static_cast<long long>(s.a)));
    if (!r) return false;
  }
  return true;
}

bool Recipe::carry_out(const std::vector<Action>& actions, PyObject* const* values, PyObject* const* outputs,
                       std::vector<PyObject*>& made) const {
  for (const Action& a : actions) {
    const size_t i = static_cast<size_t>(a.index);
    const RecipeStep& s = steps[i];
    bool ok = a.fill                            ? fill(fills[i], made)
              : s.kind == RecipeKind::kFetch    ? (made[i] = share(values[s.index])) != nullptr
              : s.kind == RecipeKind::kConstant ? (made[i] = share(s.object)) != nullptr
                                                : (made[i] = make(s, values, outputs, made)) != nullptr;
    if (ok) continue;
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "the state of a segment could not be rebuilt");
    return false;
  }
  return true;
}

bool Recipe::make_early(PyObject* const* values, PyObject* const* outputs,
                        std::vector<PyObject*>& made) const {
  made.assign(steps.size(), nullptr);
  return carry_out(early_actions_, values, outputs, made);
}

bool Recipe::make_late(PyObject* const* values, PyObject* const* outputs,
                       std::vector<PyObject*>& made) const {
  return late_actions_.empty() || carry_out(late_actions_, values, outputs, made);
}

}  // namespace breakline::resume
