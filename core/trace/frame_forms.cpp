// SPDX-License-Identifier: GPL-3.0-or-later
// Builtins that look at the calling frame or at what an object is: locals, eval, dir, id.
#include <algorithm>

#include "core/guard/equality.h"
#include "core/torch/tensor.h"
#include "core/trace/builtins.h"
#include "core/trace/types.h"

namespace breakline::trace {

namespace {

/// Until 3.12 locals() gives the same dict again and again, and what exec puts there stays: true when the code may notice.
bool shares_its_locals(const bytecode::Code* code) {
  if (PY_VERSION_HEX >= 0x030D0000) return false;
  const auto& all = code->instrs;
  auto in_loop = [&](size_t at) {
    for (size_t i = at; i < all.size(); ++i)
      if (all[i].target >= 0 && static_cast<size_t>(all[i].target) <= at && i > at) return true;
    return false;
  };
  // `locals()["x"]`, `"x" in locals()` and `len(locals())` keep nothing.
  auto is_dropped = [&](size_t at) {
    using bytecode::Op;
    size_t call = at + 1;
    while (call < all.size() && all[call].op == Op::kPushNull) ++call;
    if (call + 2 >= all.size() || all[call].op != Op::kCall) return false;
    if (all[call + 1].op == Op::kContainsOp) return true;
    if (all[call + 1].op == Op::kLoadConst && all[call + 2].op == Op::kBinarySubscr) return true;
    if (all[call + 1].op != Op::kCall || all[call + 1].arg != 1) return false;
    size_t before = at;
    while (before > 0 && all[before - 1].op == Op::kPushNull) --before;
    if (before == 0 || all[before - 1].op != Op::kLoadGlobal) return false;
    for (const char* reader : {"len", "sorted", "list", "tuple", "set", "repr", "str", "dict"})
      if (is_name(all[before - 1].object, reader)) return true;
    return false;
  };
  int uses = 0, kept = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    const bytecode::Instr& in = all[i];
    if ((in.op != bytecode::Op::kLoadGlobal && in.op != bytecode::Op::kLoadName) || !in.object) continue;
    if (is_name(in.object, "exec")) return true;
    if (!is_name(in.object, "locals") && !is_name(in.object, "vars")) continue;
    uses += in_loop(i) ? 2 : 1;
    kept += is_dropped(i) ? 0 : 1;
  }
  return uses > 1 && kept > 0;
}

}  // namespace

Value* Tracer::names_of_frame() {
  SymFrame& f = top();
  if (!(f.code->code->co_flags & CO_OPTIMIZED) || shares_its_locals(f.code)) return nullptr;
  Value* d = new_dict();
  for (int slot = 0; slot < f.code->slot_count; ++slot) {
    Value* v = f.locals_[static_cast<size_t>(slot)];
    if (v && bytecode::is_cell_slot(f.code->code, slot)) {
      force(v);
      if (v->kind == Kind::kCell) v = v->items[0];
    }
    if (v) dict_set(d, constant(f.code->slot_name(slot)), v, false);
  }
  return d;
}

Value* Tracer::evaluate(const Values& a) {
  PyObject* source = a.empty() || a.size() > 3 ? nullptr : constant_of(a[0]);
  if (!source || !PyUnicode_CheckExact(source)) return nullptr;
  SymFrame& f = top();
  // Names come from a mapping of plain entries, then from the globals: given as parameters of a function with
  // that one expression.
  Value* names = nullptr;
  PyObject* globals = f.globals;
  if (a.size() == 1)
    names = names_of_frame();
  else {
    Value* space = force(a.back());
    if (space->kind != Kind::kDict || space->type) return nullptr;
    names = space;
    if (force(a[1])->kind != Kind::kDict) return nullptr;
    if (a.size() == 3 && constant_of(a[1]) == nullptr && a[1]->object != f.globals) return nullptr;
  }
  if (!names) return nullptr;
  std::string text = py::to_string(source);
  text.erase(0, text.find_first_not_of(" \t"));
  py::Ref first = py::Ref::steal(Py_CompileString(text.c_str(), "<string>", Py_eval_input));
  if (!first) quiet("eval", true);
  auto* code = reinterpret_cast<PyCodeObject*>(first.get());
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_consts); ++i)
    if (PyCode_Check(PyTuple_GET_ITEM(code->co_consts, i)))
      return nullptr;  // scopes of their own see only globals
  if (text.find(":=") != std::string::npos || text.find('\n') != std::string::npos) return nullptr;
  std::string parameters;
  Values args;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_names); ++i) {
    PyObject* name = PyTuple_GET_ITEM(code->co_names, i);
    Value* v = dict_get(names, name);
    if (!v && a.size() == 2) {
      // With globals of its own only builtins are left.
      Value* builtins = live(f.builtins, object_source(f.builtins));
      builtins->type_guarded = true;
      v = dict_get(force(builtins), name);
      if (!v) continue;  // an attribute's name, or an error that the executor raises
    }
    if (!v) continue;
    parameters += (parameters.empty() ? "" : ", ") + py::to_string(name);
    args.push_back(v);
  }
  std::string wrapped = "lambda " + parameters + ": (" + text + ")";
  py::Ref second = py::Ref::steal(Py_CompileString(wrapped.c_str(), "<string>", Py_eval_input));
  if (!second) {
    PyErr_Clear();
    return nullptr;
  }
  PyObject* consts = reinterpret_cast<PyCodeObject*>(second.get())->co_consts;
  PyObject* inner = nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(consts); ++i)
    if (PyCode_Check(PyTuple_GET_ITEM(consts, i))) inner = PyTuple_GET_ITEM(consts, i);
  if (!inner) return nullptr;
  if (a.size() == 2) {
    // Every global name must have been a parameter.
    PyObject* left = reinterpret_cast<PyCodeObject*>(inner)->co_names;
    const bytecode::Code* decoded = bytecode::decode(reinterpret_cast<PyCodeObject*>(inner));
    (void)left;
    for (const bytecode::Instr& in : decoded->instrs)
      if (in.op == bytecode::Op::kLoadGlobal) return nullptr;
  }
  Value* fn = make(Kind::kFunction);
  fn->object = keep_borrowed(inner);
  fn->globals = keep_borrowed(globals);
  fn->builtins = f.builtins;
  fn->qualname = reinterpret_cast<PyCodeObject*>(inner)->co_qualname;
  fn->items = {nullptr, nullptr, nullptr, nullptr};
  return call_nested(fn, std::move(args));
}

Value* Tracer::identity_of(Value* v) {
  force(v);
  if (v->kind == Kind::kConstant) {
    if (guard::is_plain_constant(v->object) && v->object != Py_None && !PyBool_Check(v->object))
      return nullptr;
    return constant_new(PyLong_FromVoidPtr(v->object));
  }
  if (v->dynamic || v->kind == Kind::kMethod) return nullptr;
  Value*& known = identities_[v];
  if (!known) {
    known = make(Kind::kIdentity);
    known->items = {v};
    known->stand_in = true;
    known->created_at = outer_instruction_;
  }
  return known;
}

Value* number_of_identity(Tracer& t, Value* v) {
  Value* of = v->items[0];
  if (of->source < 0 || !of->object) t.quiet("id of an object of the trace");
  t.guard(guard::StepKind::kIdentity, of->source, of->object);
  return t.constant_new(PyLong_FromVoidPtr(of->object));
}

namespace {

Value* do_locals(Tracer& t, PyObject* f, Values& a, Keywords& k) {
  Value* d = a.empty() && k.empty() ? t.names_of_frame() : nullptr;
  return d ? d : Builtins::refuse(t, f, "builtins", a, k);
}
Value* do_eval(Tracer& t, PyObject* f, Values& a, Keywords& k) {
  Value* r = k.empty() ? t.evaluate(a) : nullptr;
  return r ? r : Builtins::refuse(t, f, "builtins", a, k);
}
Value* do_id(Tracer& t, PyObject* f, Values& a, Keywords& k) {
  Value* r = a.size() == 1 ? t.identity_of(a[0]) : nullptr;
  return r ? r : Builtins::refuse(t, f, "builtins", a, k);
}

/// tuple(dir(type)): what a guard can compare.
PyObject* names_of_type(PyObject*, PyObject* type) {
  py::Ref all = py::Ref::steal(PyObject_Dir(type));
  return all ? PySequence_Tuple(all.get()) : nullptr;
}

Value* do_dir(Tracer& t, PyObject* f, Values& a, Keywords& k) {
  static PyMethodDef definition = {"_names_of_type", names_of_type, METH_O, nullptr};
  static PyObject* asked = PyCFunction_New(&definition, nullptr);
  Value* instance = nullptr;
  PyTypeObject* type = nullptr;
  if (a.empty()) {
    Value* d = t.names_of_frame();
    if (!d) return Builtins::refuse(t, f, "builtins", a, k);
    py::Ref names = py::check(PyList_New(0));
    for (DictEntry& e : d->dict->entries) py::check_status(PyList_Append(names.get(), e.key->object));
    py::check_status(PyList_Sort(names.get()));
    return t.wrap(names.release());
  }
  Value* o = t.force(a[0]);
  if (o->kind == Kind::kConstant && PyType_Check(o->object) && Py_TYPE(o->object) == &PyType_Type) {
    type = reinterpret_cast<PyTypeObject*>(o->object);
  } else if ((o->kind == Kind::kLive || o->kind == Kind::kInstance) && !o->exception &&
             !(torch::available() && o->kind == Kind::kLive && torch::is_tensor(o->object))) {
    type = t.type_of(o);
    for (const char* own : {"__dir__", "__class__"})
      if (t.lookup(type, py::intern(own)) != py::type_lookup(&PyBaseObject_Type, py::intern(own))) return Builtins::refuse(t, f, "builtins", a, k);
    instance = o;
  }
  if (!type) return Builtins::refuse(t, f, "builtins", a, k);
  Value* names = t.query(asked, {reinterpret_cast<PyObject*>(type)});
  py::Ref all = py::check(PySequence_List(names->object));
  if (instance && type->tp_dictoffset) {
    if (Value* d = t.instance_dict(instance)) {
      t.dict_load(d);
      for (DictEntry& e : d->dict->entries) {
        PyObject* key = e.value ? t.constant_of(e.key) : nullptr;
        if (key && PySequence_Contains(all.get(), key) == 0) py::check_status(PyList_Append(all.get(), key));
      }
    }
  }
  py::check_status(PyList_Sort(all.get()));
  return t.wrap(all.release());
}

}  // namespace

void add_frame_builtins() {
  Builtins::add("builtins", "locals", do_locals);
  Builtins::add("builtins", "eval", do_eval);
  Builtins::add("builtins", "id", do_id);
  Builtins::add("builtins", "dir", do_dir);
}

}  // namespace breakline::trace
