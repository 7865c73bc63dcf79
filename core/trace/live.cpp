// SPDX-License-Identifier: GPL-3.0-or-later
// Existing objects: nothing is guarded until it is looked at, and then only what was looked at.
#include <algorithm>

#include "core/guard/equality.h"
#include "core/torch/tensor.h"
#include "core/trace/hints.h"
#include "core/trace/level.h"
#include "core/trace/tensor_forms.h"
#include "core/trace/tracer.h"
#include "core/trace/types.h"

namespace breakline::trace {

using guard::SourceKind;
using guard::StepKind;

void Tracer::release(Value* v) {
  if (v && v->kind == Kind::kConstant && !PyType_IS_GC(Py_TYPE(v->object))) return;  // numbers and texts hold nothing
  // What the trace made itself holds entry objects only beside those that held them before.
  if (v && v->source < 0 && v->kind != Kind::kConstant && v->kind != Kind::kLive) return;
  if (v && v->kind == Kind::kLive && v->source >= 0) {
    if (!PyType_IS_GC(Py_TYPE(v->object))) return guard_type(v);
    if (PyWeakref_CheckRefExact(v->object) && !reinterpret_cast<PyWeakReference*>(v->object)->wr_callback) {
      guard_type(v);
      guard(StepKind::kIdentity, child(SourceKind::kAttribute, v->source, py::intern("__callback__")), Py_None);
      return;
    }
  }
  released_ = true;
}

bool Tracer::may_have_released(Value* callee) const {
  if (released_) return true;
  std::unordered_set<const Value*> held{callee};
  for (const auto& f : frames_) {
    held.insert(f->locals_.begin(), f->locals_.end());
    held.insert(f->stack.begin(), f->stack.end());
  }
  return std::any_of(entry_values_.begin(), entry_values_.end(), [&](const Value* v) {
    const bool number = v->kind == Kind::kConstant && !PyType_IS_GC(Py_TYPE(v->object));
    return !number && !held.count(v);
  });
}

using guard::is_plain_constant;

namespace {

bool is_identity_constant_by_type(PyObject* o) {
  if (PyType_Check(o) || PyModule_Check(o) || PyCFunction_Check(o)) return true;
  if (!PyTuple_Check(o) && torch::available() && torch::is_torch_constant(o)) return true;
  PyTypeObject* t = Py_TYPE(o);
  if (t == &PyMethodDescr_Type || t == &PyWrapperDescr_Type || t == &PyClassMethodDescr_Type || t == &PyGetSetDescr_Type ||
      t == &PyMemberDescr_Type || t == &PyProperty_Type || t == &PyStaticMethod_Type || t == &PyClassMethod_Type ||
      t == &PyCode_Type || is_type_alias(o))
    return true;
  std::string_view name = t->tp_name;
  if (name == "re.Pattern" || is_numpy_function(o) || name.ends_with("functools._lru_cache_wrapper") || name == "OpOverloadPacket" || name == "OpOverload") return true;
  CompiledView view;
  return compiled_view(o, &view);
}

/// Objects whose identity may be baked in: code does not usually make new ones per call. Their types say so.
bool is_identity_constant(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  if (type == &PyDict_Type || type == &PyList_Type || type == &PyTuple_Type || type == &PyFunction_Type || type == &PyCell_Type) return false;
  static TypeAnswers known;
  return known.of(type, [o] { return is_identity_constant_by_type(o); });
}

bool is_torch_device(PyObject* o) { return torch::available() && torch::is_device(o); }

PyTypeObject* collections_type(const char* name) {
  py::Ref m = py::Ref::steal(PyImport_ImportModule("collections"));
  return m ? reinterpret_cast<PyTypeObject*>(PyObject_GetAttrString(m.get(), name)) : nullptr;
}

/// Builtin function-like torch objects (ops) keep identity too.
bool is_made_per_call(PyObject* function) {
  auto* f = reinterpret_cast<PyFunctionObject*>(function);
  return f->func_closure || py::utf8(f->func_qualname).find("<locals>") != std::string_view::npos ||
         py::utf8(f->func_qualname).find("<lambda>") != std::string_view::npos;
}

}  // namespace

bool is_enum_member(PyObject* o) {
  static PyObject* enum_class = [] {
    py::Ref m = py::Ref::steal(PyImport_ImportModule("enum"));
    return m ? PyObject_GetAttrString(m.get(), "Enum") : nullptr;
  }();
  return enum_class && PyType_IsSubtype(Py_TYPE(o), reinterpret_cast<PyTypeObject*>(enum_class));
}

PyTypeObject* ordered_dict_type() {
  static PyTypeObject* t = collections_type("OrderedDict");
  return t;
}
PyTypeObject* default_dict_type() {
  static PyTypeObject* t = collections_type("defaultdict");
  return t;
}

Value* Tracer::live(PyObject* object, SourceId source) {
  const auto place = static_cast<size_t>(source + 1);
  if (place >= by_source_.size()) by_source_.resize(std::max(place + 1, 2 * by_source_.size()), nullptr);
  if (by_source_[place]) return by_source_[place];
  // Constants are shared freely; everything with an identity is one value however it is reached.
  bool identity = !is_plain_constant(object) && !is_identity_constant(object) && !PyFunction_Check(object);
  if (identity) {
    if (Value** known = by_object_.find(object)) {
      Value* v = *known;
      const bool made_here = v->shadow == object;  // the cell of a function that stands for one made in the trace
      if (v->source >= 0 && v->source != source && !made_here) guard(StepKind::kSame, source, nullptr, v->source);
      by_source_[place] = v;
      return v;
    }
  }
  Value* v = make(Kind::kLive);
  v->object = object;
  v->source = source;
  if (watching_ && source >= 0)
    if (const SourceId parent = sources_[source].parent; parent >= 0)
      if (const Value* up = by_source_[static_cast<size_t>(parent + 1)]) v->unbacked = up->unbacked;
  transient_.push_back(py::Ref::borrow(object));  // for the trace only: a segment must not keep the user's objects alive
  by_source_[place] = v;
  if (identity) by_object_.set(object, v);
  return v;
}

Value* Tracer::force(Value* v) {
  if (v->kind != Kind::kLive || v->loaded) return v;
  PyObject* o = v->object;
  auto becomes_constant = [&](StepKind how) {
    if (is_varying(v)) quiet("varying value");
    guard(how, v->source, o);
    v->kind = Kind::kConstant;
    keep_borrowed(o);
    return v;
  };
  if (v->dynamic) return v;
  if (is_plain_constant(o)) {
    if (make_dynamic(v) || TensorForms::scalar_as_input(*this, v)) return v;
    if (o == Py_None || PyBool_Check(o)) return becomes_constant(StepKind::kIdentity);
    return becomes_constant(StepKind::kEqual);
  }
  if (is_identity_constant(o)) return becomes_constant(is_torch_device(o) ? StepKind::kEqual : StepKind::kIdentity);
  if (PyFunction_Check(o)) {
    if (v->source >= 0 && sources_[v->source].kind != SourceKind::kObject && is_made_per_call(o) &&
        find_marker(o).kind == MarkerKind::kNone) {
      if (is_varying(v)) quiet("varying value");
      guard_type(v);
      guard(StepKind::kFunctionCode, v->source, PyFunction_GET_CODE(o));
      v->function_live = true;
      v->loaded = true;
      return v;
    }
    return becomes_constant(StepKind::kIdentity);
  }
  if (is_enum_member(o)) return becomes_constant(StepKind::kIdentity);
  if (torch::available() && torch::is_tensor(o)) {
    if (torch::is_plain_tensor(o) || is_traced_subclass(Py_TYPE(o))) {
      realize_tensor(v);
      return v;
    }
    guard_type(v);
    v->loaded = true;
    return v;
  }
  guard_type(v);
  v->loaded = true;
  if (PyList_CheckExact(o)) {
    v->kind = Kind::kList;
    v->loaded = false;
    return v;
  }
  if (PyDict_CheckExact(o) || Py_TYPE(o) == ordered_dict_type() || Py_TYPE(o) == default_dict_type()) {
    v->kind = Kind::kDict;
    v->type = PyDict_CheckExact(o) ? nullptr : Py_TYPE(o);
    v->dict = std::make_unique<DictData>();
    v->loaded = false;
    return v;
  }
  if (PyTuple_Check(o)) {
    bool exact = PyTuple_CheckExact(o);
    if (exact || Py_TYPE(o)->tp_iter == PyTuple_Type.tp_iter) {
      if (!hints_.varying.empty() && v->source >= 0 && hints_.varying.contains(length_hint(source_path(v->source)))) quiet("varying value");
      guard(StepKind::kLength, v->source, nullptr, PyTuple_GET_SIZE(o));
      v->kind = Kind::kTuple;
      v->type = exact ? nullptr : Py_TYPE(o);
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i)
        v->items.push_back(live(PyTuple_GET_ITEM(o, i), child(SourceKind::kItem, v->source, nullptr, i)));
    }
    return v;
  }
  if (PyMethod_Check(o)) {
    v->kind = Kind::kMethod;
    v->items = {live(PyMethod_GET_FUNCTION(o), child(SourceKind::kMethodFunction, v->source)),
                live(PyMethod_GET_SELF(o), child(SourceKind::kMethodSelf, v->source))};
    force(v->items[0]);
    return v;
  }
  if (PyCell_Check(o)) {
    v->kind = Kind::kCell;
    PyObject* content = PyCell_GET(o);
    if (content) v->items = {live(content, child(SourceKind::kCell, v->source))};
    else {
      v->items = {nullptr};
      guard(StepKind::kEmptyCell, v->source);
    }
    return v;
  }
  if (PyAnySet_CheckExact(o)) {
    py::Ref items = py::check(PySequence_Tuple(o));
    bool plain = true;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
      PyObject* item = PyTuple_GET_ITEM(items.get(), i);
      plain = plain && (is_plain_constant(item) || is_identity_constant(item));
    }
    if (plain) {
      guard(StepKind::kSetItems, v->source, items.get());
      v->kind = Kind::kSet;
      v->type = Py_TYPE(o);
      // Iteration order of a copy may differ, so the shadow is used for iteration only while unchanged.
      v->items.clear();
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
        v->items.push_back(constant(PyTuple_GET_ITEM(items.get(), i)));
      PyObject* shadow = PySet_New(o);
      keep(py::check(shadow).release());
      v->shadow = shadow;
    }
    return v;
  }
  return v;
}

PyObject* Tracer::constant_of(Value* v) {
  if (!v) return nullptr;
  force(v);
  switch (v->kind) {
    case Kind::kConstant: return v->object;
    case Kind::kLive:
      if (v->dynamic) {
        guard(StepKind::kEqual, v->source, v->object);
        v->kind = Kind::kConstant;
        return v->object;
      }
      return nullptr;
    case Kind::kTuple: {
      if (v->type && std::string_view(v->type->tp_name) != "torch.Size") return nullptr;
      const Level level(*this, "constant");
      py::Ref t = py::check(PyTuple_New(static_cast<Py_ssize_t>(v->items.size())));
      for (size_t i = 0; i < v->items.size(); ++i) {
        PyObject* item = constant_of(v->items[i]);
        if (!item) return nullptr;
        Py_INCREF(item);
        PyTuple_SET_ITEM(t.get(), static_cast<Py_ssize_t>(i), item);
      }
      if (v->type) {  // torch.Size
        PyObject* r = PyObject_CallOneArg(reinterpret_cast<PyObject*>(v->type), t.get());
        if (!r) {
          PyErr_Clear();
          return nullptr;
        }
        return keep(r);
      }
      return keep(t.release());
    }
    case Kind::kSlice: {
      PyObject* part[3];
      for (int i = 0; i < 3; ++i) {
        Value* item = v->items[static_cast<size_t>(i)];
        part[i] = constant_of(item);
        if (!part[i] && scalar(item) && PyType_IsSubtype(type_of(item), &PyLong_Type)) part[i] = scalar_twin(item);  // taken as it is
        if (!part[i]) return nullptr;
      }
      return keep(py::check(PySlice_New(part[0], part[1], part[2])).release());
    }
    default: return nullptr;
  }
}

PyObject* Tracer::need_constant(Value* v, const char* what) {
  PyObject* c = constant_of(v);
  if (!c) stop("not-constant", {{"value", std::string(what) + ": " + describe(v)}});
  return c;
}

bool Tracer::int_of(Value* v, int64_t* out) {
  PyObject* c = constant_of(v);
  if (Value* held = c ? nullptr : scalar(v)) c = constant_of(held);
  if (!c || !PyLong_Check(c)) return false;
  *out = PyLong_AsLongLong(c);
  if (*out == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    return false;
  }
  return true;
}

const char* Tracer::text_of(Value* v) {
  PyObject* c = constant_of(v);
  if (!c || !PyUnicode_Check(c)) return nullptr;
  const char* t = PyUnicode_AsUTF8(c);
  if (!t) PyErr_Clear();
  return t;
}

PyTypeObject* Tracer::type_of(Value* v) {
  force(v);
  switch (v->kind) {
    case Kind::kConstant: return Py_TYPE(v->object);
    case Kind::kLive: guard_type(v); return Py_TYPE(v->object);
    case Kind::kTensor:
    case Kind::kMade: return v->type;
    case Kind::kTuple: return v->type ? v->type : &PyTuple_Type;
    case Kind::kList: return v->type ? v->type : &PyList_Type;
    case Kind::kDict: return v->type ? v->type : &PyDict_Type;
    case Kind::kSet: return v->type;
    case Kind::kSlice: return &PySlice_Type;
    case Kind::kFunction: return &PyFunction_Type;
    case Kind::kMethod: return &PyMethod_Type;
    case Kind::kInstance: return reinterpret_cast<PyTypeObject*>(v->object);
    case Kind::kSuper: return &PySuper_Type;
    case Kind::kGenerator:
      if (v->stand_in && !v->type) stop("builtin", {{"function", "type"}});
      return v->stand_in ? v->type : &PyGen_Type;
    case Kind::kNative: return v->type;
    case Kind::kIdentity: return &PyLong_Type;
    case Kind::kTraceback: return &PyTraceBack_Type;
    case Kind::kIterator:
      if (v->stand_in && v->type) return v->type;
      switch (v->iterator) {
        case IteratorKind::kZip: return &PyZip_Type;
        case IteratorKind::kEnumerate: return &PyEnum_Type;
        case IteratorKind::kMap: return &PyMap_Type;
        case IteratorKind::kFilter: return &PyFilter_Type;
        default: stop("builtin", {{"function", "type"}});
      }
    case Kind::kDictView: return v->number == 0 ? &PyDictKeys_Type : v->number == 1 ? &PyDictValues_Type : &PyDictItems_Type;
    default: stop("builtin", {{"function", "type"}});
  }
}

Value* Tracer::wrap(PyObject* fresh, std::unordered_map<PyObject*, Value*>* done) {
  std::unordered_map<PyObject*, Value*> own;
  if (!done) done = &own;
  if (!fresh) return constant_new(nullptr);
  keep(fresh);
  if (is_plain_constant(fresh) || is_identity_constant(fresh) || is_enum_member(fresh)) return constant(fresh);
  if (PyFunction_Check(fresh) || is_fixed_native_type(Py_TYPE(fresh))) return constant(fresh);
  if (PyTuple_Check(fresh) && torch::available() && torch::is_torch_constant(fresh)) return constant(fresh);
  if (auto it = done->find(fresh); it != done->end()) return it->second;  // the same list in two places stays one
  if (PyTuple_Check(fresh)) {
    Value* v = make(Kind::kTuple);
    (*done)[fresh] = v;
    if (!PyTuple_CheckExact(fresh)) v->type = Py_TYPE(fresh);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fresh); ++i) {
      PyObject* item = PyTuple_GET_ITEM(fresh, i);
      Py_INCREF(item);
      v->items.push_back(wrap(item, done));
    }
    return v;
  }
  if (PyList_CheckExact(fresh)) {
    Value* v = list({});
    (*done)[fresh] = v;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(fresh); ++i) {
      PyObject* item = PyList_GET_ITEM(fresh, i);
      Py_INCREF(item);
      v->items.push_back(wrap(item, done));
    }
    return v;
  }
  if (PyDict_CheckExact(fresh)) {
    Value* v = new_dict();
    (*done)[fresh] = v;
    PyObject *k, *x;
    Py_ssize_t pos = 0;
    while (PyDict_Next(fresh, &pos, &k, &x)) {
      Py_INCREF(k);
      Py_INCREF(x);
      Value* key = wrap(k, done);
      dict_set(v, key, wrap(x, done), false);
    }
    return v;
  }
  stop("builtin", {{"function", std::string("result of type ") + Py_TYPE(fresh)->tp_name}});
}

bool Tracer::make_dynamic(Value* v) {
  if ((hints_.dynamic.empty() && !v->unbacked) || v->source < 0) return false;
  if (!PyLong_CheckExact(v->object) && !PyFloat_CheckExact(v->object)) return false;
  if (sources_[v->source].kind == SourceKind::kObject) return false;
  if (!v->unbacked && !hints_.dynamic.count(source_path(v->source))) return false;
  guard_type(v);
  v->dynamic = true;
  return true;
}

std::string Tracer::source_path(SourceId id) const { return guard::source_path([this](SourceId i) -> const guard::Source& { return sources_[i]; }, id); }

}  // namespace breakline::trace
