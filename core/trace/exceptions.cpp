// SPDX-License-Identifier: GPL-3.0-or-later
// Exceptions that are raised and caught within a trace: made, chained and unwound as CPython does, without
// being real.
#include "core/guard/equality.h"
#include "core/trace/inline_rules.h"
#include "core/trace/opcodes.h"
#include "core/trace/tracer.h"

namespace breakline::trace {

namespace {

/// The built-in class that gives a class its layout.
PyTypeObject* native_base(PyTypeObject* type) {
  while (type->tp_flags & Py_TPFLAGS_HEAPTYPE) type = type->tp_base;
  return type;
}

bool is_type(PyTypeObject* type, PyObject* cls) { return reinterpret_cast<PyObject*>(type) == cls; }

/// Built-in exception classes whose state is their arguments (and a name and an object).
bool is_plain_native(PyTypeObject* native) {
  auto* base = reinterpret_cast<PyTypeObject*>(PyExc_BaseException);
  if (native->tp_new == base->tp_new && native->tp_init == base->tp_init) return true;
  for (PyObject* c : {PyExc_StopIteration, PyExc_SystemExit, PyExc_AttributeError, PyExc_NameError})
    if (is_type(native, c)) return true;
  return false;
}

bool named(PyObject* name, const char* text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; }

}  // namespace

bool Tracer::is_exception_of(Value* v, PyObject* cls) {
  return PyErr_GivenExceptionMatches(v->object, cls) == 1;
}

Value* Tracer::make_exception(PyTypeObject* type, Values args) {
  PyTypeObject* native = native_base(type);
  if (!PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(PyExc_BaseException)) ||
      !is_plain_native(native))
    return nullptr;
  if (type->tp_new != native->tp_new || (type->tp_flags & Py_TPFLAGS_IS_ABSTRACT)) return nullptr;
  if (Py_TYPE(type) != &PyType_Type && py::type_lookup(Py_TYPE(type), py::intern("__call__")) !=
                                           py::type_lookup(&PyType_Type, py::intern("__call__")))
    return nullptr;
  if (type->tp_flags & Py_TPFLAGS_HEAPTYPE)
    if (lookup(type, py::intern("__del__"))) return nullptr;
  Value* e = new_instance(type);
  e->exception = std::make_unique<ExceptionData>();
  e->exception->args = tuple(std::move(args));
  return e;
}

bool Tracer::would_be_caught() const {
  if (expecting_ > 0) return true;
  for (const auto& f : frames_)
    if (f->code->catches(f->current)) return true;
  return false;
}

void Tracer::set_context(Value* e) {
  if (handled_ && e->exception->context) force(handled_);  // nothing handled leaves the context that was set
  if (!handled_ || handled_ == e || (handled_->kind == Kind::kConstant && handled_->object == Py_None)) return;
  // A chain that leads back to the exception is cut, as CPython does; one that is a circle already is left alone.
  Value* slow = handled_;
  bool step = false;
  for (Value* o = handled_; o->exception;) {
    Value* next = o->exception->context;
    if (!next) break;
    if (next == e) {
      o->exception->context = nullptr;
      break;
    }
    o = next;
    if (o == slow) break;
    if (step) slow = slow->exception->context;
    step = !step;
  }
  e->exception->context = handled_;
}

void Tracer::raise_value(Value* e, bool reraise) {
  if (!would_be_caught()) quiet("raise", true);
  if (!reraise) set_context(e);
  mutated();
  throw Raise{e, reraise, outer_instruction_};
}

void Tracer::raise(PyObject* type, Values args) {
  PyErr_Clear();
  Value* e =
      would_be_caught() ? make_exception(reinterpret_cast<PyTypeObject*>(type), std::move(args)) : nullptr;
  if (!e) quiet(reinterpret_cast<PyTypeObject*>(type)->tp_name, true);
  e->exception->initialised = true;
  raise_value(e);
}

void Tracer::raise_text(PyObject* type, const std::string& t) {
  if (!would_be_caught()) quiet(reinterpret_cast<PyTypeObject*>(type)->tp_name, true);
  raise(type, {text(t)});
}

void Tracer::raise_attribute_error(Value* owner, PyObject* name, const std::string& t) {
  PyErr_Clear();
  Value* e = would_be_caught()
                 ? make_exception(reinterpret_cast<PyTypeObject*>(PyExc_AttributeError), {text(t)})
                 : nullptr;
  if (!e) quiet("AttributeError", true);
  e->exception->initialised = true;
  e->exception->name = constant(name);
  e->exception->owner = owner;
  raise_value(e);
}

void Tracer::raise_pending(const std::string& what) {
  py::Ref error;
  if (PyErr_Occurred() && would_be_caught()) {
    PyObject *type, *value, *tb;
    PyErr_Fetch(&type, &value, &tb);
    PyErr_NormalizeException(&type, &value, &tb);
    Py_XDECREF(type);
    Py_XDECREF(tb);
    error = py::Ref::steal(value);
  }
  PyErr_Clear();
  auto* base = reinterpret_cast<PyTypeObject*>(PyExc_BaseException);
  // Only errors of built-in classes that consist of their arguments.
  if (!error || (Py_TYPE(error.get())->tp_flags & Py_TPFLAGS_HEAPTYPE) ||
      Py_TYPE(error.get())->tp_init != base->tp_init || Py_TYPE(error.get())->tp_new != base->tp_new)
    quiet(what, true);
  for (const char* attribute : {"__cause__", "__traceback__"}) {
    py::Ref r = py::Ref::steal(PyObject_GetAttrString(error.get(), attribute));
    if (!r || r.get() != Py_None) quiet(what, true);
  }
  py::Ref args = py::check(PyObject_GetAttrString(error.get(), "args"));
  Values items;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args.get()); ++i) {
    PyObject* item = PyTuple_GET_ITEM(args.get(), i);
    if (!guard::is_plain_constant(item)) quiet(what, true);
    items.push_back(constant(item));
  }
  raise(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), std::move(items));
}

void Tracer::stop_iteration(Value* g) {
  Value* result = g && g->kind == Kind::kGenerator && g->items.size() > 3 ? g->items[3] : nullptr;
  if (result) g->items.resize(3);  // delivered once
  if (!result || (result->kind == Kind::kConstant && result->object == Py_None)) raise(PyExc_StopIteration);
  raise(PyExc_StopIteration, {result});
}

void Tracer::unwind(Raise& r, size_t base) {
  Value* e = r.exception;
  bool reraise = r.reraise;
  mutated();
  for (;;) {
    SymFrame& f = top();
    const bytecode::ExceptionEntry* entry = f.code->handler(f.current);
    if (!reraise && !is_form_code(f.code)) {
      Value* t = make(Kind::kTraceback);
      t->entry = std::make_unique<TracebackEntry>(TracebackEntry{f.code, f.current, f.globals});
      t->items = {e->exception->traceback};
      e->exception->traceback = t;
    }
    if (entry) {
      const bytecode::Instr& in = f.code->instrs[static_cast<size_t>(f.current)];
      Value* lasti = nullptr;
      if (entry->push_lasti) {
        if (reraise && in.op == bytecode::Op::kReraise && in.arg > 0 &&
            static_cast<size_t>(in.arg) <= f.stack.size()) {
          Value* saved = peek(in.arg);
          if (saved && saved->kind == Kind::kConstant && PyLong_Check(saved->object)) lasti = saved;
        }
        if (!lasti) lasti = integer(in.offset / 2);
      }
      f.stack.resize(static_cast<size_t>(entry->depth));
      if (entry->push_lasti) f.stack.push_back(lasti);
      f.stack.push_back(e);
      f.pc = entry->target;
      return;
    }
    reraise = false;
    note_lines(f);
    frames_.pop_back();
    if (frames_.size() != base) continue;
    if (base == 0 && nesting_ == 0) {
      // Nothing caught it: the executor raises the real one at its instruction.
      BreakInfo b;
      b.reason = "raise";
      b.quiet = b.raises = true;
      forced_[r.origin] = std::move(b);
      throw Restart{};
    }
    throw Raise{e, false, r.origin};
  }
}

PyObject* Tracer::real_exception(Value* v) {
  ExceptionData& d = *v->exception;
  PyObject* args = constant_of(d.args);
  if (!args) return nullptr;
  auto* type = reinterpret_cast<PyTypeObject*>(v->object);
  PyTypeObject* native = native_base(type);
  py::Ref e = py::Ref::steal(native->tp_new(type, args, nullptr));
  if (!e || (d.initialised && native->tp_init(e.get(), args, nullptr) < 0)) {
    PyErr_Clear();
    return nullptr;
  }
  return keep_for_trace(e);
}

Value* Tracer::exception_attribute(Value* v, PyObject* name, bool* missing) {
  ExceptionData& d = *v->exception;
  auto or_none = [&](Value* x) { return x ? x : none(); };
  if (named(name, "args")) return d.args;
  if (named(name, "__context__")) return or_none(d.context);
  if (named(name, "__cause__")) return or_none(d.cause);
  if (named(name, "__suppress_context__")) return boolean(d.suppress);
  if (named(name, "__traceback__")) return or_none(d.traceback);
  auto is_a = [&](PyObject* cls) { return PyObject_IsSubclass(v->object, cls) == 1; };
  if (named(name, "value") && is_a(PyExc_StopIteration))
    return d.initialised && !d.args->items.empty() ? d.args->items[0] : none();
  if (named(name, "code") && is_a(PyExc_SystemExit) && d.initialised)
    return d.args->items.empty() ? none() : d.args->items.size() == 1 ? d.args->items[0] : d.args;
  if (named(name, "name") && (is_a(PyExc_AttributeError) || is_a(PyExc_NameError))) return or_none(d.name);
  if (named(name, "obj") && is_a(PyExc_AttributeError)) return or_none(d.owner);
  (void)missing;
  stop("descriptor", {{"class", reinterpret_cast<PyTypeObject*>(v->object)->tp_name},
                      {"name", std::string(py::utf8(name))},
                      {"descriptor", "exception"}});
}

bool Tracer::set_exception_attribute(Value* v, PyObject* name, Value* x) {
  ExceptionData& d = *v->exception;
  force(x);
  bool is_none = x->kind == Kind::kConstant && x->object == Py_None;
  bool is_exception = x->exception || (x->kind == Kind::kLive && PyExceptionInstance_Check(x->object));
  if (named(name, "args")) {
    Values items = drain(x);
    mutated();
    d.args = tuple(std::move(items));
    return true;
  }
  if (named(name, "__suppress_context__")) {
    bool on = truth(x) == 1;
    mutated();
    d.suppress = on;
    return true;
  }
  if (named(name, "__traceback__") && (is_none || x->kind == Kind::kTraceback || (x->kind == Kind::kLive && PyTraceBack_Check(x->object)))) {
    mutated();
    d.traceback = is_none ? nullptr : x;
    return true;
  }
  if ((named(name, "__context__") || named(name, "__cause__")) && (is_none || is_exception)) {
    mutated();
    (named(name, "__cause__") ? d.cause : d.context) = is_none ? nullptr : x;
    if (named(name, "__cause__")) d.suppress = true;
    return true;
  }
  return false;
}

Value* Tracer::exception_method(Value* v, const std::string& n, Values& a, Keywords& k) {
  ExceptionData& d = *v->exception;
  if (n == "__init__") {
    bool takes_names = PyObject_IsSubclass(v->object, PyExc_AttributeError) == 1 ||
                       PyObject_IsSubclass(v->object, PyExc_NameError) == 1;
    Value *name = nullptr, *owner = nullptr;
    for (auto& [key, x] : k) {
      if (takes_names && named(key, "name"))
        name = x;
      else if (takes_names && named(key, "obj") && PyObject_IsSubclass(v->object, PyExc_AttributeError) == 1)
        owner = x;
      else
        quiet("argument binding", true);
    }
    mutated();
    d.args = tuple(Values(a.begin() + 1, a.end()));
    d.name = name;
    d.owner = owner;
    d.initialised = true;
    return none();
  }
  if (n == "with_traceback" && a.size() == 2) {
    if (!set_exception_attribute(v, py::intern("__traceback__"), a[1])) return nullptr;
    return v;
  }
  if (n == "add_note" && a.size() == 2) {
    Value* notes = dict_get(instance_dict(v), py::intern("__notes__"));
    PyObject* note = constant_of(a[1]);
    if (!note || !PyUnicode_Check(note)) return nullptr;
    if (!notes) {
      notes = list({});
      dict_set(instance_dict(v), constant(py::intern("__notes__")), notes, false);
    }
    if (force(notes)->kind != Kind::kList) return nullptr;
    list_touch(notes);
    notes->items.push_back(a[1]);
    return none();
  }
  if ((n == "__str__" || n == "__repr__") && a.size() == 1)
    if (PyObject* e = real_exception(v))
      return constant_new(n == "__str__" ? PyObject_Str(e) : PyObject_Repr(e));
  return nullptr;
}

// ---------------------------------------------------------------- instructions

struct ExceptionOpcodes {
  /// The exception that `raise v` raises, or null.
  static Value* instance_of(Tracer& t, Value* v) {
    t.force(v);
    if (v->exception) return v;
    if (v->kind == Kind::kConstant && PyExceptionClass_Check(v->object)) {
      Keywords none;
      Value* e = t.call_nested(v, {}, none);
      return e->exception ? e : nullptr;
    }
    return nullptr;
  }
  static void raise_varargs(Tracer& t, SymFrame&, const bytecode::Instr& in) {
    if (in.arg == 0) {
      Value* e = t.handled_exception();
      if (!e) t.raise_text(PyExc_RuntimeError, "No active exception to reraise");
      if (!e->exception) t.quiet("raise", true);
      t.raise_value(e, true);
    }
    if (!t.force(t.peek(in.arg))->exception && t.peek(in.arg)->kind != Kind::kConstant)
      t.quiet("raise", true);
    Value* e = instance_of(t, t.peek(in.arg));
    if (!e) t.quiet("raise", true);
    if (in.arg == 2) {
      Value* cause = t.force(t.peek(1));
      if (cause->kind == Kind::kConstant && cause->object == Py_None) {
        e->exception->cause = nullptr;
      } else {
        Value* given = cause->kind == Kind::kLive && PyExceptionInstance_Check(cause->object)
                           ? cause
                           : instance_of(t, cause);
        if (!given) t.quiet("raise", true);
        e->exception->cause = given;
      }
      e->exception->suppress = true;
      t.mutated();
    }
    t.raise_value(e);
  }
  static void reraise(Tracer& t, SymFrame&, const bytecode::Instr&) {
    Value* e = t.peek(1);
    if (!e->exception) t.quiet("reraise", true);
    t.pop();
    t.mutated();
    t.raise_value(e, true);
  }
  // Where an exception arrives that was thrown in at a `yield from`, since 3.12. Stack: sub-iterator, last value, exception.
  static void cleanup_throw(Tracer& t, SymFrame& f, const bytecode::Instr& in) {
    Value* e = t.peek(1);
    if (!e->exception || t.is_exception_of(e, PyExc_StopIteration)) t.stop("opcode", {{"opname", "CLEANUP_THROW"}});
    reraise(t, f, in);
  }
};

void add_exception_opcodes(OpTable& table) {
  table[static_cast<size_t>(bytecode::Op::kRaiseVarargs)] = ExceptionOpcodes::raise_varargs;
  table[static_cast<size_t>(bytecode::Op::kReraise)] = ExceptionOpcodes::reraise;
  table[static_cast<size_t>(bytecode::Op::kCleanupThrow)] = ExceptionOpcodes::cleanup_throw;
}

}  // namespace breakline::trace
