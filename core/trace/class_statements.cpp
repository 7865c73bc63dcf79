// SPDX-License-Identifier: GPL-3.0-or-later
// Classes: statements that make one within the trace, and attributes set on existing ones.
#include <algorithm>
#include <string_view>

#include "core/guard/equality.h"
#include "core/trace/function_parts.h"
#include "core/trace/tracer.h"
#include "core/trace/types.h"

namespace breakline::trace {

using bytecode::Op;

namespace {

constexpr std::string_view kCallable[] = {"property", "staticmethod", "classmethod"};

bool is_one_of(PyObject* name, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const char* n) { return PyUnicode_CompareWithASCIIString(name, n) == 0; });
}

/// A class body that does nothing but define: no call but of the wrappers above.
bool only_defines(const bytecode::Code* code) {
  const auto& all = code->instrs;
  for (size_t i = 0; i < all.size(); ++i) {
    const bytecode::Instr& in = all[i];
    switch (in.op) {
      case Op::kNop:
      case Op::kPopTop:
      case Op::kLoadConst:
      case Op::kMakeFunction:
      case Op::kSetFunctionAttribute:
      case Op::kLoadClosure:
      case Op::kLoadName:
      case Op::kStoreName:
      case Op::kLoadClassDeref:
      case Op::kLoadDeref:
      case Op::kCopyFreeVars:
      case Op::kMakeCell:
      case Op::kBuildTuple:
      case Op::kBuildConstKeyMap:
      case Op::kBuildMap:
      case Op::kLoadAttr:
      case Op::kCall:
      case Op::kReturnValue:
      case Op::kSetupAnnotations:
      case Op::kStoreSubscr:
      case Op::kBinarySubscr:
      case Op::kBinaryOp:
      case Op::kUnaryNegative:
      case Op::kSwap:
      case Op::kCopy:
      case Op::kLoadLocals:
      case Op::kLoadFromDictOrGlobals:
      case Op::kStoreDeref:
        break;
      case Op::kLoadMethod:
        if (!is_one_of(in.object, {"setter", "getter", "deleter"})) return false;
        break;
      case Op::kPushNull: {
        size_t next = i + 1;
        bool known = next < all.size() && all[next].op == Op::kLoadName;
        if (known)
          known = std::any_of(std::begin(kCallable), std::end(kCallable),
                              [&](std::string_view n) { return py::utf8(all[next].object) == n; });
        if (!known) return false;
        break;
      }
      default:
        return false;
    }
  }
  return true;
}

/// What may be read by a class body, or lie in the class, without running or sharing anything.
bool is_harmless(PyObject* o) {
  if (guard::is_plain_constant(o) || PyType_Check(o) || PyModule_Check(o) || PyFunction_Check(o) ||
      PyCFunction_Check(o))
    return true;
  PyTypeObject* t = Py_TYPE(o);
  if (t == &PyMemberDescr_Type || t == &PyGetSetDescr_Type || t == &PyMethodDescr_Type ||
      t == &PyWrapperDescr_Type)
    return true;
  if (is_typing_object(o) || is_type_alias(o)) return true;
  if (t == &PyProperty_Type) {
    for (const char* part : {"fget", "fset", "fdel"}) {
      py::Ref f = py::Ref::steal(PyObject_GetAttrString(o, part));
      if (!f || (f.get() != Py_None && !PyFunction_Check(f.get()))) {
        PyErr_Clear();
        return false;
      }
    }
    return true;
  }
  if (t == &PyStaticMethod_Type || t == &PyClassMethod_Type) {
    py::Ref f = py::Ref::steal(PyObject_GetAttrString(o, "__func__"));
    PyErr_Clear();
    return f && PyFunction_Check(f.get());
  }
  return false;
}

bool is_plain_base(PyObject* base) {
  if (!PyType_Check(base)) return false;
  auto* t = reinterpret_cast<PyTypeObject*>(base);
  std::string_view meta = Py_TYPE(t)->tp_name;
  if (Py_TYPE(t) != &PyType_Type && meta != "ABCMeta" && meta != "abc.ABCMeta") return false;
  return py::type_lookup(t, py::intern("__init_subclass__")) ==
         py::type_lookup(&PyBaseObject_Type, py::intern("__init_subclass__"));
}

}  // namespace

Value* Tracer::build_class(Values& a, Keywords& k) {
  auto refuse = [&]() -> Value* {
    stop("class-statement", {{"args", a.size() > 1 ? describe(a[1]) : "class"}});
  };
  if (a.size() < 2 || !k.empty()) return refuse();
  Value* body = force(a[0]);
  PyObject* name = constant_of(a[1]);
  if (body->kind != Kind::kFunction || !name || !PyUnicode_Check(name)) return refuse();
  auto* code_object = reinterpret_cast<PyCodeObject*>(body->object);
  const bytecode::Code* code = bytecode::decode(code_object);
  if (!only_defines(code)) return refuse();
  py::Ref arguments = py::check(PyTuple_New(static_cast<Py_ssize_t>(a.size())));
  for (size_t i = 2; i < a.size(); ++i) {
    PyObject* base = constant_of(a[i]);
    if (!base || !is_plain_base(base)) return refuse();
    PyTuple_SET_ITEM(arguments.get(), static_cast<Py_ssize_t>(i), Py_NewRef(base));
  }
  // Names it reads: what they are is part of what the trace depends on.
  Value* globals = live(body->globals, object_source(body->globals));
  globals->type_guarded = true;
  force(globals);
  Value* builtins = live(body->builtins, object_source(body->builtins));
  builtins->type_guarded = true;
  force(builtins);
  std::vector<PyObject*> stored;
  for (const bytecode::Instr& in : code->instrs) {
    if (in.op == Op::kStoreName) stored.push_back(in.object);
    if (in.op != Op::kLoadName && in.op != Op::kLoadFromDictOrGlobals) continue;
    if (is_one_of(in.object, {"__name__", "__qualname__", "__module__", "__annotations__"})) continue;
    const bool wrapper = is_one_of(in.object, {"property", "staticmethod", "classmethod"});
    if (std::any_of(stored.begin(), stored.end(),
                    [&](PyObject* n) { return PyUnicode_Compare(n, in.object) == 0; })) {
      if (wrapper) return refuse();
      continue;
    }
    Value* v = dict_get(globals, in.object);
    if (!v) v = dict_get(builtins, in.object);
    PyObject* o = v ? constant_of(v) : nullptr;
    if (!o || !is_harmless(o)) return refuse();
    if (wrapper && o != PyDict_GetItem(body->builtins, in.object)) return refuse();
  }
  // Its free variables: real cells that the trace knows as its own.
  py::Ref closure;
  if (body->items[2]) {
    Values cells = drain(body->items[2]);
    closure = py::Ref::borrow(real_cells(body->items[2]));
    if (!closure) return refuse();
    for (const bytecode::Instr& in : code->instrs) {
      if (in.op != Op::kLoadClassDeref && in.op != Op::kLoadDeref) continue;
      size_t i = static_cast<size_t>(in.arg) - (static_cast<size_t>(code->slot_count) - cells.size());
      PyObject* o = i < cells.size() && cells[i]->items[0] ? constant_of(cells[i]->items[0]) : nullptr;
      if (!o || !is_harmless(o)) return refuse();
      PyCell_Set(cells[i]->shadow, o);
    }
  }
  PyObject* builder = PyDict_GetItemString(body->builtins, "__build_class__");
  py::Ref function = py::check(PyFunction_NewWithQualName(body->object, body->globals, body->qualname));
  if (closure && PyFunction_SetClosure(function.get(), closure.get()) < 0) return refuse();
  PyTuple_SET_ITEM(arguments.get(), 0, Py_NewRef(function.get()));
  PyTuple_SET_ITEM(arguments.get(), 1, Py_NewRef(name));
  py::Ref cls = builder ? py::Ref::steal(PyObject_CallObject(builder, arguments.get())) : py::Ref();
  if (body->items[2])
    for (Value* c : drain(body->items[2])) PyCell_Set(c->shadow, nullptr);
  if (!cls || !PyType_Check(cls.get())) return refuse();
  PyObject *key, *value;
  PyObject* own = reinterpret_cast<PyTypeObject*>(cls.get())->tp_dict;
  for (Py_ssize_t at = 0; PyDict_Next(own, &at, &key, &value);) {
    if (is_one_of(key, {"__annotations__", "__dict__", "__weakref__", "__doc__", "__module__", "_abc_impl"}))
      continue;
    if (!is_harmless(value)) return refuse();
  }
  note_statement(cls.get(), describe(a[1]));
  keep_borrowed(cls.get());
  return constant(cls.get());
}

std::string Tracer::module_of_frame() {
  PyObject* name = PyDict_GetItemString(top().globals, "__name__");
  return name && PyUnicode_Check(name) ? py::to_string(name) : "__main__";
}

void Tracer::note_statement(PyObject* cls, const std::string& what) {
  mutated();
  Break b;
  b.info.reason = "class-statement";
  b.info.arguments = {{"args", what}};
  capture_place(b.info);
  made_at_.emplace(outer_instruction_, std::move(b.info));
  note_class_made(cls, outer_instruction_);
}

PyObject* Tracer::real_cells(Value* closure) {
  Values cells = drain(closure);
  py::Ref out = py::check(PyTuple_New(static_cast<Py_ssize_t>(cells.size())));
  for (size_t i = 0; i < cells.size(); ++i) {
    Value* c = force(cells[i]);
    if (c->kind != Kind::kCell) return nullptr;
    if (!c->shadow) {
      c->shadow = keep(py::check(PyCell_New(nullptr)).release());
      by_object_.set(c->shadow, c);
    }
    PyTuple_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), Py_NewRef(c->shadow));
  }
  return keep_for_trace(out);
}

PyObject* Tracer::real_function(Value* f) {
  PyObject *defaults = f->items[0] ? constant_of(f->items[0]) : nullptr,
           *words = f->items[1] ? constant_copy(f->items[1]) : nullptr;
  PyObject* cells = f->items[2] ? real_cells(f->items[2]) : nullptr;
  if ((f->items[0] && !defaults) || (f->items[1] && !words) || (f->items[2] && !cells) || f->attributes || f->items.size() > kFunctionParts)
    return nullptr;
  py::Ref made = py::check(PyFunction_NewWithQualName(f->object, f->globals, f->qualname));
  if (defaults) PyFunction_SetDefaults(made.get(), defaults);
  if (words) PyFunction_SetKwDefaults(made.get(), words);
  if (cells) PyFunction_SetClosure(made.get(), cells);
  return keep_for_trace(made);
}

Value* Tracer::make_class(Values& a) {
  // type(name, bases, namespace)
  PyObject *name = constant_of(a[0]), *bases = constant_of(a[1]);
  if (!name || !PyUnicode_Check(name) || !bases || !PyTuple_Check(bases)) return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(bases); ++i)
    if (!is_plain_base(PyTuple_GET_ITEM(bases, i))) return nullptr;
  if (force(a[2])->kind != Kind::kDict) return nullptr;
  dict_load(a[2]);
  py::Ref entries = py::check(PyDict_New());
  PyObject* space = entries.get();
  for (DictEntry& e : a[2]->dict->entries) {
    if (!e.value) continue;
    PyObject *k = constant_of(e.key),
             *v = force(e.value)->kind == Kind::kFunction ? real_function(e.value) : constant_of(e.value);
    if (!k || !v) return nullptr;
    py::check_status(PyDict_SetItem(space, k, v));
  }
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(space, &at, &key, &value);)
    if (!PyUnicode_Check(key) || !is_harmless(value) ||
        is_one_of(key, {"__slots__", "__set_name__", "__init_subclass__"}))
      return nullptr;
  py::Ref full = py::check(PyDict_Copy(space));
  if (!PyDict_GetItemString(full.get(), "__module__")) {
    py::Ref module = py::check(PyUnicode_FromString(module_of_frame().c_str()));
    py::check_status(PyDict_SetItemString(full.get(), "__module__", module.get()));
  }
  py::Ref cls = py::Ref::steal(PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(&PyType_Type), name,
                                                            bases, full.get(), nullptr));
  if (!cls) {
    PyErr_Clear();
    return nullptr;
  }
  note_statement(cls.get(), py::repr(name));
  keep_borrowed(cls.get());
  return constant(cls.get());
}

void Tracer::note_class_made(PyObject* cls, int64_t at) {
  made_objects_.emplace(cls, at);
  PyObject *key, *value;
  for (Py_ssize_t i = 0; PyDict_Next(reinterpret_cast<PyTypeObject*>(cls)->tp_dict, &i, &key, &value);) {
    if (guard::is_plain_constant(value) || PyType_Check(value) || PyCFunction_Check(value)) continue;
    auto note = [&](PyObject* o) { made_objects_.emplace(o, at); };
    note(value);
    for (const char* part : {"fget", "fset", "fdel", "__func__"}) {
      py::Ref f = py::Ref::steal(PyObject_GetAttrString(value, part));
      PyErr_Clear();
      if (f && PyFunction_Check(f.get())) note(f.get());
    }
  }
}

bool may_decorate_classes(PyObject* function) {
  const std::string_view name = py::utf8(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function))->co_qualname);
  return name == "dataclass" || name == "dataclass.<locals>.wrap" || name == "namedtuple" || name == "total_ordering";
}

Value* Tracer::decorate_class(PyObject* callable, Values& a, Keywords& k) {
  if (!PyFunction_Check(callable) || !may_decorate_classes(callable)) return nullptr;
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(callable));
  std::string_view name = py::utf8(code->co_qualname), file = py::utf8(code->co_filename);
  const bool dataclass =
      file.ends_with("/dataclasses.py") && (name == "dataclass" || name == "dataclass.<locals>.wrap");
  if (name == "namedtuple" &&
      (file.ends_with("/collections/__init__.py") || file == "<frozen collections>")) {
    Values values;
    Keywords words;
    if (!data_arguments(a, k, values, words)) return nullptr;
    words.emplace_back(py::intern("module"), text(module_of_frame()));
    for (auto& [n, v] : k)
      if (PyUnicode_CompareWithASCIIString(n, "module") == 0) words.pop_back();
    Value* r = call_data(callable, values, words);
    if (r && r->kind == Kind::kConstant) note_statement(r->object, name_of(callable));
    return r;
  }
  const bool ordering = file.ends_with("/functools.py") && name == "total_ordering";
  if (!dataclass && !ordering) return nullptr;
  PyObject* cls = a.size() == 1 ? constant_of(a[0]) : nullptr;
  if (a.empty() && name == "dataclass") {
    Values none;
    Value* r = call_data(callable, none, k);
    if (r && r->kind == Kind::kConstant) made_objects_.emplace(r->object, outer_instruction_);
    return r;
  }
  auto it = cls ? made_objects_.find(cls) : made_objects_.end();
  if (it == made_objects_.end()) return nullptr;
  Keywords words;
  Values values;
  Values none;
  if (!data_arguments(none, k, values, words)) return nullptr;
  py::Ref dict = py::check(PyDict_New());
  for (auto& [n, v] : words) py::check_status(PyDict_SetItem(dict.get(), n, v->object));
  py::Ref args = py::check(PyTuple_Pack(1, cls));
  mutated();
  py::Ref made = py::Ref::steal(PyObject_Call(callable, args.get(), dict.get()));
  if (!made) raise_pending("class decorator");
  if (!PyType_Check(made.get())) stop("class-statement", {{"args", name_of(callable)}});
  note_class_made(made.get(), it->second);
  keep_borrowed(made.get());
  return constant(made.get());
}

bool Tracer::written_class_attribute(PyTypeObject* cls, PyObject* name, Value** value) {
  PyObject* mro = cls->tp_mro;
  for (Py_ssize_t i = 0; mro && i < PyTuple_GET_SIZE(mro); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i));
    for (auto w = class_writes_.rbegin(); w != class_writes_.rend(); ++w)
      if (w->type == base && PyUnicode_Compare(w->name, name) == 0) {
        *value = w->value;
        return true;
      }
    if (base->tp_dict && PyDict_GetItem(base->tp_dict, name)) return false;
  }
  return false;
}

void Tracer::set_class_attribute(PyTypeObject* cls, PyObject* name, Value* v) {
  std::string n(py::utf8(name));
  auto refuse = [&] { stop("foreign-mutation", {{"class", cls->tp_name}, {"name", n}}); };
  if (!(cls->tp_flags & Py_TPFLAGS_HEAPTYPE) || (cls->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) || n.starts_with("__")) refuse();
  PyTypeObject* meta = Py_TYPE(cls);
  if (py::type_lookup(meta, py::intern("__setattr__")) !=
      py::type_lookup(&PyType_Type, py::intern("__setattr__")))
    refuse();
  if (PyObject* on_meta = py::type_lookup(meta, name); on_meta && Py_TYPE(on_meta)->tp_descr_set) refuse();
  force(v);
  const bool function =
      v->kind == Kind::kFunction || (v->kind == Kind::kConstant && PyFunction_Check(v->object));
  PyTypeObject* t = function ? nullptr : type_of(v);
  if (t && (t->tp_descr_get || t->tp_descr_set)) refuse();
  if (t && py::type_lookup(t, py::intern("__set_name__"))) refuse();
  keep_borrowed(name);
  mutated();
  PyObject* made = v->kind == Kind::kConstant ? v->object : nullptr;
  if (made && is_made_here(reinterpret_cast<PyObject*>(cls)) && guard::is_plain_constant(made)) {
    if (PyObject_SetAttr(reinterpret_cast<PyObject*>(cls), name, made) < 0) quiet("class attribute", true);
    return;
  }
  // A number that the trace has read there holds nothing.
  bool number = changing_class_attribute(cls, name) != nullptr;
  if (auto it = type_index_.find(cls); it != type_index_.end())
    for (const auto& [known, old] : types_[static_cast<size_t>(it->second)].lookups)
      number = number || (PyUnicode_Compare(known.get(), name) == 0 && old && !PyType_IS_GC(Py_TYPE(old.get())));
  if (!number) release(nullptr);
  class_writes_.push_back({cls, name, v});
  effects_.push_back({Effect::kClassAttribute, constant(reinterpret_cast<PyObject*>(cls)), nullptr, v, name});
}

Value* Tracer::changing_class_attribute(PyTypeObject* cls, PyObject* name) {
  if (hints_.dynamic.empty() || !(cls->tp_flags & Py_TPFLAGS_HEAPTYPE)) return nullptr;
  if (!hints_.dynamic.count("class attribute " + std::string(py::utf8(name)))) return nullptr;
  PyObject* now = py::type_lookup(cls, name);
  if (!now || (!PyLong_CheckExact(now) && !PyFloat_CheckExact(now))) return nullptr;
  Value* v =
      live(now, child(guard::SourceKind::kAttribute, object_source(reinterpret_cast<PyObject*>(cls)), name));
  if (v->kind != Kind::kLive) return v;
  guard_type(v);
  v->dynamic = true;
  return v;
}

void Tracer::rewind_to(int64_t at, const std::string& what) {
  auto it = made_at_.find(at);
  BreakInfo b;
  if (it != made_at_.end())
    b = it->second;
  else {
    b.reason = what;
    b.quiet = true;
  }
  forced_[at] = std::move(b);
  throw Restart{};
}

}  // namespace breakline::trace
