// SPDX-License-Identifier: GPL-3.0-or-later
// itertools, operator's getters, copy.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/guard/equality.h"
#include "core/torch/tensor.h"
#include "core/trace/builtins.h"
#include "core/trace/mappings.h"
#include "core/trace/types.h"

namespace breakline::trace {
namespace {

/// Items of an argument that may be taken all at once: nothing can tell that it was done early.
Values all_of(Tracer& t, Value* v, const char* who) {
  t.force(v);
  bool early = v->kind == Kind::kGenerator || v->kind == Kind::kLive || v->kind == Kind::kInstance ||
               (v->kind == Kind::kIterator && (v->iterator == IteratorKind::kMap || v->iterator == IteratorKind::kFilter));
  if (early) t.stop("builtin", {{"function", who}, {"arg_types", t.describe(v)}});
  return t.drain(v);
}

/// An iterator of `type` with these items. Only its own class can make it anew.
Value* iterate(Tracer& t, PyObject* type, Values items) {
  Value* it = t.iterator_of(t.tuple(std::move(items)));
  it->stand_in = true;
  it->type = reinterpret_cast<PyTypeObject*>(type);
  it->created_at = t.instruction_of_call();
  return it;
}

PyObject* islice_type() {
  static PyObject* type = [] {
    py::Ref m = py::Ref::steal(PyImport_ImportModule("itertools"));
    return m ? PyObject_GetAttrString(m.get(), "islice") : nullptr;
  }();
  return type;
}

/// combinations and permutations: positions chosen by the real function.
Value* choose(Tracer& t, PyObject* f, Values& a, Keywords&) {
  Values pool = all_of(t, a.at(0), "itertools");
  py::Ref positions = py::check(PyTuple_New(static_cast<Py_ssize_t>(pool.size())));
  for (size_t i = 0; i < pool.size(); ++i) PyTuple_SET_ITEM(positions.get(), static_cast<Py_ssize_t>(i), PyLong_FromSize_t(i));
  py::Ref made = py::Ref::steal(a.size() > 1 ? PyObject_CallFunctionObjArgs(f, positions.get(), t.need_constant(a[1], "length"), nullptr)
                                             : PyObject_CallOneArg(f, positions.get()));
  constexpr Py_ssize_t kMost = 20'000;
  py::Ref part = made ? py::Ref::steal(PyObject_CallFunction(static_cast<PyObject*>(islice_type()), "On", made.get(), kMost + 1)) : py::Ref();
  py::Ref all = part ? py::Ref::steal(PySequence_Tuple(part.get())) : py::Ref();
  if (all && PyTuple_GET_SIZE(all.get()) > kMost) t.stop("builtin", {{"function", t.name_of(f)}, {"arg_types", "many items"}});
  if (!all) t.quiet("itertools", true);
  Values out;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(all.get()); ++i) {
    PyObject* chosen = PyTuple_GET_ITEM(all.get(), i);
    Values one;
    for (Py_ssize_t j = 0; j < PyTuple_GET_SIZE(chosen); ++j) one.push_back(pool[PyLong_AsSize_t(PyTuple_GET_ITEM(chosen, j))]);
    out.push_back(t.tuple(std::move(one)));
  }
  return iterate(t, f, std::move(out));
}
/// operator.itemgetter and the like: an object of constants.
Value* do_getter(Tracer& t, PyObject* f, Values& a, Keywords& k) {
  if (!k.empty()) t.stop("constructor", {{"class", t.name_of(f)}});
  py::Ref args = py::check(PyTuple_New(static_cast<Py_ssize_t>(a.size())));
  for (size_t i = 0; i < a.size(); ++i) PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(i), Py_NewRef(t.need_constant(a[i], "getter")));
  return t.constant_new(PyObject_CallObject(f, args.get()));
}
/// Instances that copy.deepcopy makes by object.__new__ and a copy of their dict.
bool copies_by_dict(Tracer& t, PyTypeObject* type) {
  for (const char* own : {"__deepcopy__", "__getattr__", "__getstate__", "__setstate__", "__reduce__", "__reduce_ex__", "__getnewargs__",
                          "__getnewargs_ex__", "__slots__", "__del__"}) {
    PyObject* found = t.lookup(type, py::intern(own));
    if (found && found != py::type_lookup(&PyBaseObject_Type, py::intern(own))) return false;
  }
  if (type->tp_new != PyBaseObject_Type.tp_new) return false;
  for (PyTypeObject* base = type; base; base = base->tp_base)
    if (!(base->tp_flags & Py_TPFLAGS_HEAPTYPE)) return base == &PyBaseObject_Type;
  return false;
}

Value* do_copy(Tracer& t, PyObject*, Values& a, Keywords&) {
  Value* v = t.force(a.at(0));
  Keywords none;
  Values self = {v};
  if (v->kind == Kind::kList) return t.list_method(v, "copy", self, none);
  if (v->kind == Kind::kDict)
    if (Value* d = t.dict_method(v, "copy", self, none)) {
      // Unlike its method, it takes an OrderedDict's own attributes along.
      Value* own = t.type_of(v) != ordered_dict_type() ? nullptr : v->source >= 0 ? t.instance_dict(v) : v->attributes;
      if (own) {
        t.dict_load(own);
        const DictEntries entries = own->dict->entries;
        for (const DictEntry& e : entries)
          if (e.value) t.set_attribute(d, t.attribute_name(e.key), e.value);
      }
      return d;
    }
  if (Value* f = v->kind == Kind::kTuple && v->type ? t.special_method(v, "__copy__") : nullptr) return t.call_nested(f, {v});
  if (v->kind == Kind::kConstant || v->kind == Kind::kTuple) return v;
  if (v->kind == Kind::kLive || v->kind == Kind::kInstance) {
    if (Value* f = t.special_method(v, "__copy__")) return t.call_nested(f, {v});
    if (Value* c = t.payload(v); c && c->type == deque_type()) return t.deque_method(v, "copy", self, none);
    if (!v->exception && !v->dynamic && !t.payload(v) && copies_by_dict(t, t.type_of(v))) {
      Value* made = t.new_instance(t.type_of(v));
      if (Value* d = t.instance_dict(v)) {
        t.dict_load(d);
        const DictEntries entries = d->dict->entries;
        for (const DictEntry& e : entries)
          if (e.value) t.dict_set(t.instance_dict(made), e.key, e.value, false);
      }
      return made;
    }
  }
  if (v->kind == Kind::kSet)
    if (Value* s = t.set_method(v, "copy", self, none)) return s;
  t.stop("skipped-module", {{"qualname", "copy"}, {"name", "copy"}, {"filename", "copy.py"}, {"reason", t.describe(v)}});
}
/// A member of an enum that does not say otherwise.
bool is_copied_as_itself(PyObject* o) {
  if (!is_enum_member(o)) return false;
  for (const char* own : {"__deepcopy__", "__reduce_ex__"}) {
    PyObject* f = py::type_lookup(Py_TYPE(o), py::intern(own));
    if (!f || !PyFunction_Check(f)) continue;
    auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(f));
    if (!py::utf8(code->co_filename).ends_with("/enum.py")) return false;
  }
  return true;
}

/// copy.deepcopy in the trace; null for what is not copied that way.
Value* deep_copy(Tracer& t, Value* v, std::unordered_map<Value*, Value*>& memo) {
  t.force(v);
  if (auto it = memo.find(v); it != memo.end()) return it->second;
  auto copy_items = [&](const Values& from, Values& to) {
    for (Value* x : from) {
      Value* made = deep_copy(t, x, memo);
      if (!made) return false;
      to.push_back(made);
    }
    return true;
  };
  auto copy_entries = [&](Value* from, Value* to) {
    t.dict_load(from);
    // An OrderedDict's own attributes go along.
    if (t.type_of(from) == ordered_dict_type()) {
      Value* own = from->source >= 0 ? t.instance_dict(from) : from->attributes;
      if (own && t.dict_size(own)) return false;
    }
    const DictEntries entries = from->dict->entries;
    for (const DictEntry& e : entries) {
      if (!e.value) continue;
      Value *key = deep_copy(t, e.key, memo), *value = deep_copy(t, e.value, memo);
      if (!key || !value) return false;
      t.dict_set(to, key, value, false);
    }
    return true;
  };
  switch (v->kind) {
    case Kind::kConstant: {
      PyObject* o = v->object;
      const bool shared = guard::is_plain_constant(o) || PyType_Check(o) || PyFunction_Check(o) || PyCFunction_Check(o) ||
                          (torch::available() && torch::is_torch_constant(o)) || is_copied_as_itself(o);
      return shared ? v : nullptr;
    }
    case Kind::kTensor: {
      Value* made = t.deep_copy_of_tensor(v);
      return made ? memo[v] = made : nullptr;
    }
    case Kind::kLive:
    case Kind::kInstance: {
      if (v->function_live) return v;
      if (v->dynamic) return v;
      PyTypeObject* type = t.type_of(v);
      if (t.payload(v) || !copies_by_dict(t, type)) return nullptr;
      Value* made = t.new_instance(type);
      memo[v] = made;
      Value* d = t.instance_dict(v);
      if (!d) return made;
      return copy_entries(d, t.instance_dict(made)) ? made : nullptr;
    }
    case Kind::kList: {
      if (v->type || v->owner) return nullptr;
      t.list_load(v);
      Value* made = t.list({});
      memo[v] = made;
      return copy_items(v->items, made->items) ? made : nullptr;
    }
    case Kind::kDict: {
      if (v->type || v->owner) return nullptr;
      Value* made = t.new_dict();
      memo[v] = made;
      return copy_entries(v, made) ? made : nullptr;
    }
    case Kind::kTuple: {
      if (v->type) return nullptr;
      Values items;
      if (!copy_items(v->items, items)) return nullptr;
      if (auto it = memo.find(v); it != memo.end()) return it->second;  // made on the way, in a circle
      return memo[v] = items == v->items ? v : t.tuple(std::move(items));
    }
    default: return nullptr;
  }
}

Value* do_deepcopy(Tracer& t, PyObject*, Values& a, Keywords&) {
  Value* v = t.force(a.at(0));
  if (a.size() == 1 && (v->kind == Kind::kConstant && guard::is_plain_constant(v->object))) return v;
  if (a.size() == 1 && (v->kind == Kind::kList || v->kind == Kind::kDict || v->kind == Kind::kTuple) && !v->type)
    if (PyObject* c = t.constant_copy(v)) return t.wrap(Py_NewRef(c));
  std::unordered_map<Value*, Value*> memo;
  if (a.size() == 1)
    if (Value* made = deep_copy(t, v, memo)) {
      // Tensors that share memory share that of their copies too, which clones of each would not.
      std::unordered_set<int32_t> storages;
      bool shared = false;
      for (const auto& [from, to] : memo)
        if (from->kind == Kind::kTensor) shared = !storages.insert(t.storage_id(from)).second || shared;
      if (!shared) return made;
    }
  t.stop("deepcopy", {{"value", t.describe(v)}});
}

struct Row {
  const char* module;
  const char* name;
  Builtins::Handler handler;
};
constexpr Row kRows[] = {
    {"itertools", "permutations", choose}, {"itertools", "combinations", choose},
    {"itertools", "combinations_with_replacement", choose},
    {"operator", "itemgetter", do_getter}, {"operator", "attrgetter", do_getter}, {"operator", "methodcaller", do_getter},
    {"copy", "copy", do_copy}, {"copy", "deepcopy", do_deepcopy},
};

Value* call_getter(Tracer& t, PyObject* getter, std::string_view type, Values& a) {
  py::Ref reduced = py::check(PyObject_CallMethod(getter, "__reduce__", nullptr));
  PyObject* parts = PyTuple_GET_ITEM(reduced.get(), 1);
  if (a.size() != 1) t.quiet("getter", true);
  auto get = [&](PyObject* part) -> Value* {
    if (type == "operator.itemgetter") return t.subscript(a[0], t.constant(part));
    Value* v = a[0];
    std::string path = py::to_string(part);
    for (size_t from = 0; from <= path.size();) {
      size_t dot = std::min(path.find('.', from), path.size());
      PyObject* name = PyUnicode_InternFromString(path.substr(from, dot - from).c_str());
      v = t.attribute(v, t.keep(name));
      from = dot + 1;
    }
    return v;
  };
  if (type == "operator.methodcaller") {
    if (!PyUnicode_Check(PyTuple_GET_ITEM(parts, 0))) t.stop("callable-object", {{"class", std::string(type)}});
    Values rest;
    for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(parts); ++i) rest.push_back(t.constant(PyTuple_GET_ITEM(parts, i)));
    return t.call_nested(t.attribute(a[0], PyTuple_GET_ITEM(parts, 0)), std::move(rest));
  }
  if (PyTuple_GET_SIZE(parts) == 1) return get(PyTuple_GET_ITEM(parts, 0));
  Values out;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(parts); ++i) out.push_back(get(PyTuple_GET_ITEM(parts, i)));
  return t.tuple(std::move(out));
}

}  // namespace

void add_itertools() {
  for (const Row& r : kRows) Builtins::add(r.module, r.name, r.handler);
}

Value* Builtins::try_native_method(Tracer& t, PyObject* o, Values& a, Keywords& k) {
  std::string_view type = Py_TYPE(o)->tp_name;
  if (type == "operator.itemgetter" || type == "operator.attrgetter" || type == "operator.methodcaller") return call_getter(t, o, type, a);
  if (!PyCFunction_Check(o)) return nullptr;
  PyObject* self = PyCFunction_GET_SELF(o);
  std::string_view name = reinterpret_cast<PyCFunctionObject*>(o)->m_ml->ml_name;
  if (!self || !PyType_Check(self)) return nullptr;
  auto* owner = reinterpret_cast<PyTypeObject*>(self);
  if (owner == &PyTuple_Type && name == "__new__" && a.size() == 2) {
    PyObject* cls = t.need_constant(a[0], "class");
    if (!PyType_Check(cls) || !PyObject_HasAttrString(cls, "_fields")) return nullptr;
    Value* v = t.tuple(t.drain(a[1]));
    if (cls != reinterpret_cast<PyObject*>(&PyTuple_Type)) v->type = reinterpret_cast<PyTypeObject*>(cls);
    return v;
  }
  if (std::string_view(owner->tp_name) == "itertools.chain" && name == "from_iterable" && a.size() == 1) {
    Value* it = t.make(Kind::kIterator);
    it->iterator = IteratorKind::kChain;
    it->items = {t.iterator_of(a[0])};
    return it;
  }
  if (PyType_IsSubtype(owner, &PyDict_Type) && name == "fromkeys" && !a.empty()) {
    Values of = a;
    for (auto& [word, v] : k)
      if (is_name(word, "value") && owner == ordered_dict_type() && of.size() == 1) of.push_back(v);
    if (of.size() == a.size() + k.size() && of.size() <= 2) return dict_of_keys(t, owner, of);
  }
  return nullptr;
}

}  // namespace breakline::trace
