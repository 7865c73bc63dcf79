// SPDX-License-Identifier: GPL-3.0-or-later
// Generators that a trace runs: resumed, thrown into and closed, through `yield from` too.
#include "core/trace/tracer.h"

namespace breakline::trace {

Value* Tracer::generator_resume(Value* g, Value* sent, Value* thrown) {
  if (g->exhausted) {
    if (thrown) raise_value(thrown);
    return nullptr;
  }
  if (!g->frame) quiet("generator already executing", true);
  bool fresh = g->position == 0;
  if (fresh && sent && !(sent->kind == Kind::kConstant && sent->object == Py_None))
    raise_text(PyExc_TypeError, "can't send non-None value to a just-started generator");
  mutated();
  if (fresh) generators_.push_back(g);
  ++g->position;
  Value* outer = handled_;
  if (g->handled) handled_ = g->handled;
  size_t base = frames_.size();
  frames_.push_back(std::move(g->frame));
  if (!fresh && sent && !thrown) top().stack.back() = sent;
  yielded_ = false;
  auto finished = [&] {
    g->exhausted = true;
    g->frame = nullptr;
    g->handled = nullptr;
    handled_ = outer;
  };
  Value* r = nullptr;
  try {
    if (thrown) {
      set_context(thrown);
      if (fresh)
        top().current = top().pc;
      else
        top().current = top().pc - 1;  // the yield it waits at
      ++nesting_;
      try {
        Raise in{thrown, false, outer_instruction_};
        unwind(in, base);
      } catch (...) {
        --nesting_;
        throw;
      }
      --nesting_;
    }
    r = run_nested();
  } catch (Raise& e) {
    finished();
    if (!is_exception_of(e.exception, PyExc_StopIteration)) throw;
    // PEP 479
    Value* replaced = make_exception(reinterpret_cast<PyTypeObject*>(PyExc_RuntimeError),
                                     {text("generator raised StopIteration")});
    replaced->exception->initialised = replaced->exception->suppress = true;
    replaced->exception->cause = replaced->exception->context = e.exception;
    throw Raise{replaced, true, e.origin};
  }
  if (yielded_) {
    yielded_ = false;
    g->frame = std::move(yielded_frame_);
    g->handled = handled_ == outer ? nullptr : handled_;
    handled_ = outer;
    note_waiting(g);
    return r;
  }
  finished();
  g->items.push_back(r);  // the value of a return statement
  return nullptr;
}

/// The iterator that a suspended generator waits for in `yield from`, or null.
Value* Tracer::delegate_of(Value* g) {
  if (!g->frame || g->position == 0) return nullptr;
  SymFrame& f = *g->frame;
  if (f.stack.size() < 2) return nullptr;
  const auto& instrs = f.code->instrs;
  size_t next = static_cast<size_t>(f.pc);
  if (next >= instrs.size() || instrs[next].op != bytecode::Op::kJump) return nullptr;
  size_t target = static_cast<size_t>(instrs[next].target);
  return target < instrs.size() && instrs[target].op == bytecode::Op::kSend ? f.stack[f.stack.size() - 2]
                                                                            : nullptr;
}

Value* Tracer::end_delegation(Value* g, Value* result) {
  SymFrame& f = *g->frame;
  const auto& instrs = f.code->instrs;
  const size_t send = static_cast<size_t>(instrs[static_cast<size_t>(f.pc)].target);
  f.stack.resize(f.stack.size() -
                 (PY_VERSION_HEX < 0x030C0000 ? 2 : 1));  // END_SEND takes the other one since 3.12
  f.stack.push_back(result);
  f.pc = instrs[send].target;
  return generator_resume(g, nullptr, nullptr);
}

Value* Tracer::raised_while_running(Value* g, const std::function<void()>& work) {
  struct Running {
    Value* generator;
    std::unique_ptr<SymFrame> frame = std::move(generator->frame);
    ~Running() { generator->frame = std::move(frame); }
  } running{g};
  Value* raised = nullptr;
  ++expecting_;
  try {
    work();
  } catch (Raise& r) {
    raised = r.exception;
  } catch (...) {
    --expecting_;
    throw;
  }
  --expecting_;
  return raised;
}

Value* Tracer::throw_through(Value* g, Value* delegate, Values& a) {
  Value* x = nullptr;
  Value* raised = raised_while_running(g, [&] {
    x = delegate->kind == Kind::kGenerator ? generator_throw(delegate, a)
                                           : call_method(delegate, "throw", Values(a.begin() + 1, a.end()));
  });
  if (x) return x;
  mutated();
  if (!is_exception_of(raised, PyExc_StopIteration)) return generator_resume(g, nullptr, raised);
  if (!raised->exception) stop("generator-method", {{"name", "throw through yield from"}});
  return end_delegation(g, exception_attribute(raised, py::intern("value"), nullptr));
}

Value* Tracer::generator_throw(Value* g, Values& a) {
  force(a[1]);
  Value* delegate = delegate_of(g);
  const auto is_exit = [&](Value* e) {
    return e->exception ? is_exception_of(e, PyExc_GeneratorExit)
                        : e->kind == Kind::kConstant &&
                              PyErr_GivenExceptionMatches(e->object, PyExc_GeneratorExit) == 1;
  };
  // What it raises leaves through the frames as any other exception.
  const auto resume = [&](Value* e) {
    ++expecting_;
    Value* x = nullptr;
    try {
      x = e ? generator_resume(g, nullptr, e) : throw_through(g, delegate, a);
      --expecting_;
    } catch (...) {
      --expecting_;
      throw;
    }
    if (!x) stop_iteration(g);
    return x;
  };
  if (delegate && is_exit(a[1])) {
    if (Value* raised = close_delegate(g, delegate)) return resume(raised);
  } else if (delegate) {
    const bool own = delegate->kind == Kind::kInstance || delegate->kind == Kind::kLive;
    if (own && delegate->kind == Kind::kLive && !(type_of(delegate)->tp_flags & Py_TPFLAGS_HEAPTYPE))
      stop("generator-method", {{"name", "throw through yield from"}});
    if (delegate->kind == Kind::kGenerator || (own && lookup(type_of(delegate), py::intern("throw"))))
      return resume(nullptr);
  }
  Value* e = a[1];
  Value* value = a.size() > 2 ? force(a[2]) : nullptr;
  if (value && value->kind == Kind::kConstant && value->object == Py_None) value = nullptr;
  if (e->kind == Kind::kConstant && PyExceptionClass_Check(e->object)) {
    if (value && value->exception)
      e = value;
    else {
      Values args;
      if (value && value->kind == Kind::kTuple && !value->type)
        args = value->items;
      else if (value && value->kind == Kind::kConstant && PyTuple_CheckExact(value->object))
        args = drain(value);
      else if (value)
        args.push_back(value);
      PyObject* cls = e->object;
      e = call_nested(constant(cls), std::move(args), {});
    }
  } else if (e->exception && value) {
    raise_text(PyExc_TypeError, "instance exception may not have a separate value");
  } else if (!e->exception && !(e->kind == Kind::kLive && PyExceptionInstance_Check(e->object))) {
    raise_text(PyExc_TypeError, "exceptions must be classes or instances deriving from BaseException, not " +
                                    std::string(type_of(e)->tp_name));
  }
  if (!e->exception) stop("generator-method", {{"name", "throw of a live exception"}});
  if (a.size() > 3 && !set_exception_attribute(e, py::intern("__traceback__"), a[3]))
    stop("generator-method", {{"name", "throw"}});
  return resume(e);
}

/// Closes what a generator waits for; the exception that this raised, or null.
Value* Tracer::close_delegate(Value* g, Value* delegate) {
  const bool own = delegate->kind == Kind::kInstance || delegate->kind == Kind::kLive;
  if (delegate->kind == Kind::kLive && !(type_of(delegate)->tp_flags & Py_TPFLAGS_HEAPTYPE))
    stop("generator-method", {{"name", "close through yield from"}});
  if (delegate->kind != Kind::kGenerator && !(own && lookup(type_of(delegate), py::intern("close"))))
    return nullptr;
  return raised_while_running(g, [&] {
    delegate->kind == Kind::kGenerator ? generator_close(delegate) : call_method(delegate, "close");
  });
}

Value* Tracer::generator_close(Value* g) {
  Value* delegate = delegate_of(g);
  Value* e = delegate ? close_delegate(g, delegate) : nullptr;
  if (g->exhausted) return none();
  if (g->position == 0) {
    mutated();
    g->exhausted = true;
    g->frame = nullptr;
    return none();
  }
  if (!e) {
    e = make_exception(reinterpret_cast<PyTypeObject*>(PyExc_GeneratorExit), {});
    e->exception->initialised = true;
  }
  bool yielded = false;
  ++expecting_;
  try {
    yielded = generator_resume(g, nullptr, e) != nullptr;
    --expecting_;
  } catch (Raise& r) {
    --expecting_;
    if (!is_exception_of(r.exception, PyExc_GeneratorExit) &&
        !is_exception_of(r.exception, PyExc_StopIteration))
      throw;
  } catch (...) {
    --expecting_;
    throw;
  }
  if (yielded) raise_text(PyExc_RuntimeError, "generator ignored GeneratorExit");
  return none();
}

Value* Tracer::generator_method(Value* g, const std::string& n, Values& a) {
  if (n == "send" && a.size() == 2) {
    force(a[1]);
    if (Value* x = generator_resume(g, a[1], nullptr)) return x;
    stop_iteration(g);
  }
  if (n == "close" && a.size() == 1) return generator_close(g);
  if (n == "throw" && a.size() >= 2 && a.size() <= 4) return generator_throw(g, a);
  return nullptr;
}

}  // namespace breakline::trace
