// SPDX-License-Identifier: GPL-3.0-or-later
// Jumps, loops, with, exceptions, imports.
#include "core/trace/opcodes.h"

namespace breakline::trace {

using bytecode::Instr;
using bytecode::Op;
using guard::StepKind;

namespace {

/// The name that `from ..name import x` means in a module with these globals; null when its package is not known.
py::Ref absolute_name(PyObject* globals, PyObject* name, long level) {
  PyObject* package = PyDict_GetItemString(globals, "__package__");
  if (!package || !PyUnicode_Check(package)) return {};
  std::string path(py::utf8(package));
  for (long i = 1; i < level; ++i) {
    const size_t dot = path.rfind('.');
    if (dot == std::string::npos) return {};
    path.resize(dot);
  }
  const std::string_view rest = py::utf8(name);
  if (path.empty()) return {};
  if (!rest.empty()) path += "." + std::string(rest);
  return py::Ref::steal(PyUnicode_InternFromString(path.c_str()));
}

}  // namespace

struct ControlOpcodes {
  static void jump_to(Tracer& t, SymFrame& f, int target) {
    if (target <= f.current) t.count_loop_round(f, target);
    f.pc = target;
  }
  static void jump(Tracer& t, SymFrame& f, const Instr& in) { jump_to(t, f, in.target); }
  static void pop_jump_if(Tracer& t, SymFrame& f, const Instr& in) {
    bool want = in.op == Op::kPopJumpIfTrue;
    const bool tensor = t.force(t.peek(1))->kind == Kind::kTensor && !t.settled(t.peek(1));
    if (tensor && t.is_assertion(f, in)) {
      t.assert_tensor(t.peek(1));
      t.drop(1);
      f.pc = in.target;
      return;
    }
    if (tensor)
      if (const std::optional<bool> wanted = t.wanted_by_check(f, in)) {
        t.assert_tensor(t.peek(1), *wanted);
        t.drop(1);
        if (*wanted == want) f.pc = in.target;
        return;
      }
    bool is = t.truth(t.peek(1)) == 1;
    if (is == want && in.target <= f.current) t.count_loop_round(f, in.target);
    t.drop(1);
    if (is == want) f.pc = in.target;
  }
  static void pop_jump_if_none(Tracer& t, SymFrame& f, const Instr& in) {
    bool is = t.same(t.peek(1), t.none());
    bool want = in.op == Op::kPopJumpIfNone;
    t.drop(1);
    if (is == want) f.pc = in.target;
  }
  static void jump_or_pop(Tracer& t, SymFrame& f, const Instr& in) {
    bool is = t.truth(t.peek(1)) == 1;
    if (is == (in.op == Op::kJumpIfTrueOrPop)) f.pc = in.target;
    else t.drop(1);
  }
  static void get_iter(Tracer& t, SymFrame&, const Instr&) {
    Value* it = t.iterator_of(t.peek(1));
    t.drop(1);
    t.push(it);
  }
  static void for_iter(Tracer& t, SymFrame& f, const Instr& in) {
    Value* x = t.next_of(t.peek(1));
    if (x) {
      t.push(x);
      return;
    }
    t.drop(1);
    f.pc = in.target;
  }
  static void get_yield_from_iter(Tracer& t, SymFrame&, const Instr&) {
    Value* it = t.iterator_of(t.peek(1));
    t.drop(1);
    t.push(it);
  }
  /// What an object that is waited for in `yield from` gives, or null and what its StopIteration says.
  static Value* ask_object(Tracer& t, Value* it, Value* sent, Value** result) {
    ++t.expecting_;
    try {
      Value* x = t.call_method(it, sent ? "send" : "__next__", sent ? Values{sent} : Values());
      --t.expecting_;
      return x;
    } catch (Raise& r) {
      --t.expecting_;
      if (!t.is_exception_of(r.exception, PyExc_StopIteration)) throw;
      t.mutated();
      *result = t.exception_attribute(r.exception, py::intern("value"), nullptr);
      return nullptr;
    } catch (...) {
      --t.expecting_;
      throw;
    }
  }
  static void send(Tracer& t, SymFrame& f, const Instr& in) {
    Value* it = t.force(t.peek(2));
    bool plain = t.constant_of(t.peek(1)) == Py_None;
    const bool object = it->kind == Kind::kInstance || it->kind == Kind::kLive;
    if (!plain && it->kind != Kind::kGenerator && !object) t.stop("generator-method", {{"name", "send"}});
    const bool asks = object && (!plain || t.special_method(it, "__next__"));
    Value* given = nullptr;
    Value* x = asks ? ask_object(t, it, plain ? nullptr : t.peek(1), &given) : plain ? t.next_of(it) : t.generator_resume(it, t.peek(1), nullptr);
    if (x) {
      t.peek(1) = x;
      return;
    }
    Value* result = given ? given : it->kind == Kind::kGenerator && it->items.size() > 3 ? it->items[3] : t.none();
    t.drop(PY_VERSION_HEX < 0x030C0000 ? 2 : 1);
    t.push(result);
    f.pc = in.target;
  }
  static void end_send(Tracer& t, SymFrame&, const Instr&) {
    Value* v = t.pop();
    t.peek(1) = v;
  }
  static void swap(Tracer& t, SymFrame&, const Instr& in) { std::swap(t.peek(1), t.peek(in.arg)); }
  static void copy(Tracer& t, SymFrame&, const Instr& in) { t.push(t.peek(in.arg)); }

  static void before_with(Tracer& t, SymFrame& f, const Instr&) {
    Value* manager = t.force(t.peek(1));
    if (manager->kind != Kind::kLive && manager->kind != Kind::kInstance)
      t.stop("context-manager", {{"class", t.describe(manager)}});
    PyTypeObject* type = t.type_of(manager);
    PyObject* enter = t.lookup(type, py::intern("__enter__"));
    PyObject* exit = t.lookup(type, py::intern("__exit__"));
    if (!enter || !exit) t.quiet("with", true);
    if (!PyFunction_Check(enter) || !PyFunction_Check(exit)) t.stop("context-manager", {{"class", type->tp_name}});
    Value* leave = t.method(t.constant(exit), manager);
    if (is_region_class(type)) t.note_region(f, manager);
    if (is_own_region_class(type)) {
      t.drop(1);
      t.push(leave);
      t.push(t.none());
      return;
    }
    Value* r = t.call(t.constant(enter), {manager}, {});
    f.stack.back() = leave;
    if (r) f.stack.push_back(r);
  }
  static void with_except_start(Tracer& t, SymFrame&, const Instr& in) {
    if (in.arg) t.quiet("with exit");
    Value* leave = t.peek(4);
    if (leave && leave->kind == Kind::kLive && PyMethod_Check(leave->object)) t.force(leave);
    if (leave && leave->kind == Kind::kMethod && (leave->items[0]->kind == Kind::kConstant || leave->items[0]->kind == Kind::kLive)) {
      Value* self = leave->items[1];
      PyTypeObject* type = self->kind == Kind::kLive ? Py_TYPE(self->object)
                           : self->kind == Kind::kInstance ? reinterpret_cast<PyTypeObject*>(self->object) : nullptr;
      if (type && is_own_region_exit(leave->items[0]->object, type)) return t.push(t.none());
    }
    Value* e = t.peek(1);
    if (!leave || !e->exception) t.quiet("with exit");
    Value* r = t.call(leave, {t.constant(e->object), e, t.exception_attribute(e, py::intern("__traceback__"), nullptr)}, {});
    if (r) t.push(r);
  }
  static void push_exc_info(Tracer& t, SymFrame&, const Instr&) {
    Value* v = t.pop();
    t.push(t.handled_ ? t.handled_ : t.none());
    t.push(v);
    t.handled_ = v;
    t.mutated();
  }
  static void pop_except(Tracer& t, SymFrame&, const Instr&) {
    Value* v = t.force(t.peek(1));
    t.drop(1);
    t.handled_ = v->kind == Kind::kConstant && v->object == Py_None ? nullptr : v;
    t.mutated();
  }
  static void check_exc_match(Tracer& t, SymFrame&, const Instr&) {
    Value* left = t.peek(2);
    PyObject* cls = t.constant_of(t.peek(1));
    bool fits = cls && PyExceptionClass_Check(cls);
    if (cls && PyTuple_Check(cls)) {
      fits = true;
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(cls); ++i) fits = fits && PyExceptionClass_Check(PyTuple_GET_ITEM(cls, i));
    }
    if (cls && !fits) t.quiet("exception match", true);
    if (cls && left->exception) {
      t.drop(1);
      return t.push(t.boolean(t.is_exception_of(left, cls)));
    }
    if (!cls || left->kind != Kind::kLive) t.quiet("exception match");
    t.guard_type(left);
    int m = PyErr_GivenExceptionMatches(left->object, cls);
    t.drop(1);
    t.push(t.boolean(m));
  }
  static void import_name(Tracer& t, SymFrame& f, const Instr& in) {
    PyObject* from = t.constant_of(t.peek(1));
    PyObject* level = t.constant_of(t.peek(2));
    if (!from || !level) t.quiet("import");
    py::Ref absolute;
    PyObject* wanted = in.object;
    if (const long up = PyLong_AsLong(level)) {
      absolute = absolute_name(f.globals, wanted, up);
      if (!absolute || from == Py_None) t.quiet("relative import");
      wanted = t.keep_borrowed(absolute.get());
    }
    PyObject* modules = PyImport_GetModuleDict();
    auto loaded = [&](PyObject* name) -> Value* {
      PyObject* found = PyDict_Check(modules) ? PyDict_GetItemWithError(modules, name) : nullptr;
      PyErr_Clear();
      if (!found || !PyModule_Check(found)) return nullptr;
      return t.force(t.live(found, t.child(guard::SourceKind::kDictItem, t.object_source(modules), name)));
    };
    Value* module = loaded(wanted);
    if (!module && absolute) t.quiet("relative import");
    if (!module) t.stop("import", {{"module", std::string(py::utf8(wanted))}});
    if (from == Py_None) {
      std::string name(py::utf8(in.object));
      size_t dot = name.find('.');
      if (dot != std::string::npos) {
        module = loaded(py::intern(name.substr(0, dot).c_str()));
        if (!module) t.quiet("import");
      }
    } else {
      // `from package import submodule` imports it when it is not loaded yet.
      for (Py_ssize_t i = 0; PyTuple_Check(from) && i < PyTuple_GET_SIZE(from); ++i)
        if (!PyObject_HasAttr(module->object, PyTuple_GET_ITEM(from, i)))
          t.stop("import", {{"module", std::string(py::utf8(wanted))}});
    }
    t.drop(2);
    t.push(module);
  }
  static void import_from(Tracer& t, SymFrame&, const Instr& in) { t.push(t.attribute(t.peek(1), in.object)); }
  static void load_assertion_error(Tracer& t, SymFrame&, const Instr&) { t.push(t.constant(PyExc_AssertionError)); }
  static void load_build_class(Tracer& t, SymFrame& f, const Instr&) {
    PyObject* b = PyDict_GetItemString(f.builtins, "__build_class__");
    if (!b) t.quiet("class statement", true);
    t.push(t.constant(b));
  }
};

void add_control_opcodes(OpTable& table) {
  using C = ControlOpcodes;
  auto put = [&](Op op, OpHandler h) { table[static_cast<size_t>(op)] = h; };
  put(Op::kJump, C::jump);
  put(Op::kPopJumpIfFalse, C::pop_jump_if);
  put(Op::kPopJumpIfTrue, C::pop_jump_if);
  put(Op::kPopJumpIfNone, C::pop_jump_if_none);
  put(Op::kPopJumpIfNotNone, C::pop_jump_if_none);
  put(Op::kJumpIfFalseOrPop, C::jump_or_pop);
  put(Op::kJumpIfTrueOrPop, C::jump_or_pop);
  put(Op::kGetIter, C::get_iter);
  put(Op::kForIter, C::for_iter);
  put(Op::kGetYieldFromIter, C::get_yield_from_iter);
  put(Op::kSend, C::send);
  put(Op::kEndSend, C::end_send);
  put(Op::kSwap, C::swap);
  put(Op::kCopy, C::copy);
  put(Op::kBeforeWith, C::before_with);
  put(Op::kWithExceptStart, C::with_except_start);
  put(Op::kPushExcInfo, C::push_exc_info);
  put(Op::kPopExcept, C::pop_except);
  put(Op::kCheckExcMatch, C::check_exc_match);
  put(Op::kImportName, C::import_name);
  put(Op::kImportFrom, C::import_from);
  put(Op::kLoadAssertionError, C::load_assertion_error);
  put(Op::kLoadBuildClass, C::load_build_class);
}

}  // namespace breakline::trace
