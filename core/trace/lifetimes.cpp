// SPDX-License-Identifier: GPL-3.0-or-later
// Objects whose end is seen: generators that wait inside try (their handlers run when the last name goes), objects with a finaliser or a
// weakref callback, and what alone holds such. A trace looks after each instruction whether one of them was let go of. A generator of the
// trace is closed then and there; for a live object the executor takes that step, so that it dies at its instruction.
#include <algorithm>
#include <tuple>
#include <unordered_set>

#include "core/trace/tracer.h"

namespace breakline::trace {
namespace {

bool has_finaliser(PyObject* o) {
  PyTypeObject* t = Py_TYPE(o);
  return PyGen_Check(o) || PyCoro_CheckExact(o) || PyAsyncGen_CheckExact(o) ||
         ((t->tp_flags & Py_TPFLAGS_HEAPTYPE) && (t->tp_finalize || t->tp_del));
}

bool has_weakref_callback(PyObject* o) {
  if (!PyType_SUPPORTS_WEAKREFS(Py_TYPE(o))) return false;
  PyObject** list = reinterpret_cast<PyObject**>(PyObject_GET_WEAKREFS_LISTPTR(o));
  for (auto* r = list ? reinterpret_cast<PyWeakReference*>(*list) : nullptr; r; r = r->wr_next)
    if (r->wr_callback) return true;
  return false;
}

/// Looks through what `o` alone holds for something whose end is seen. Small: the rest of a large structure is not looked at.
struct Belongings {
  static constexpr int kMost = 200;
  int looked_at = 0;
  bool found = false;
  std::vector<PyObject*> open;

  static int visit(PyObject* o, void* self) {
    auto& b = *static_cast<Belongings*>(self);
    if (Py_REFCNT(o) != 1 || !PyObject_IS_GC(o)) return 0;
    b.found = b.found || has_finaliser(o) || has_weakref_callback(o);
    b.open.push_back(o);
    return b.found || ++b.looked_at >= kMost;
  }
  bool matter(PyObject* o) {
    open = {o};
    while (!open.empty() && !found && looked_at < kMost) {
      PyObject* next = open.back();
      open.pop_back();
      if (PyType_Check(next) || PyModule_Check(next)) continue;
      if (traverseproc traverse = Py_TYPE(next)->tp_traverse; traverse && PyObject_IS_GC(next)) traverse(next, &Belongings::visit, this);
    }
    return found;
  }
};

/// Whether the suspended frame waits in `yield from` for an object with a class of its own, whose close() is called too.
bool waits_for_object(const SymFrame& f) {
  const auto& instrs = f.code->instrs;
  const auto next = static_cast<size_t>(f.pc);
  if (f.stack.size() < 2 || next >= instrs.size() || instrs[next].op != bytecode::Op::kJump) return false;
  if (instrs[static_cast<size_t>(instrs[next].target)].op != bytecode::Op::kSend) return false;
  const Value* it = f.stack[f.stack.size() - 2];
  return it->kind == Kind::kInstance || (it->kind == Kind::kLive && (Py_TYPE(it->object)->tp_flags & Py_TPFLAGS_HEAPTYPE));
}

/// Whether closing the suspended frame would run code: its place is inside try or with, not only under the handler that each generator
/// of CPython 3.12 and later has around its whole body.
bool waits_in_try(const SymFrame& f) {
  if (waits_for_object(f)) return true;
  const bytecode::ExceptionEntry* entry = f.code->handler(std::max(0, f.pc - 1));
  const auto target = [&] { return f.code->instrs[static_cast<size_t>(entry->target)].op; };
  while (entry && target() == bytecode::Op::kCleanupThrow) entry = f.code->handler(entry->target);  // of `yield from` itself, since 3.12
  return entry && target() != bytecode::Op::kStopIterationError;
}

/// Whether `v` is reached from `from`. `far`: also through the frames of suspended generators.
bool reaches(const Value* from, const Value* v, bool far) {
  if (from == v) return true;
  if (!from) return false;
  std::vector<const Value*> open;
  std::unordered_set<const Value*> seen;
  bool found = false;
  auto add = [&](const Value* next) {
    if (!next) return;
    found = found || next == v;
    if (next->kind == Kind::kConstant && !next->exception && !next->attributes) return;
    if (next->kind == Kind::kInstance && next->object == reinterpret_cast<PyObject*>(&_PyWeakref_RefType)) return;
    if (next->kind == Kind::kIterator && next->exhausted) return;  // it has let go
    if (seen.insert(next).second) open.push_back(next);
  };
  add(from);
  while (!open.empty() && !found) {
    const Value* x = open.back();
    open.pop_back();
    for (const Value* i : x->items) add(i);
    for (const Value* i : {x->content, x->owner, x->attributes, x->handled}) add(i);
    for (const NativeCall& c : x->calls)
      for (const Value* i : c.args) add(i);
    if (const ExceptionData* e = x->exception.get())
      for (const Value* i : {e->args, e->context, e->cause, e->name, e->owner, e->traceback}) add(i);
    if (x->dict)
      for (const DictEntry& e : x->dict->entries) add(e.key), add(e.value);
    if (far && x->frame) {
      add(x->frame->function);
      for (const Value* i : x->frame->locals_) add(i);
      for (const Value* i : x->frame->stack) add(i);
    }
  }
  return found;
}

}  // namespace

void Tracer::find_mortals() {
  for (Value* v : entry_values_) {
    if (v->kind != Kind::kLive || v->object == nullptr) continue;
    PyObject* o = v->object;
    if (PyCell_Check(o) && PyCell_GET(o) && has_finaliser(PyCell_GET(o))) {
      v = force(v)->items[0];  // a variable that inner functions share
      o = v->object;
    }
    if (!PyObject_IS_GC(o) && !PyType_SUPPORTS_WEAKREFS(Py_TYPE(o))) continue;
    if (std::any_of(mortals_.begin(), mortals_.end(), [&](const Mortal& m) { return m.value == v; })) continue;
    bool matters = has_finaliser(o);
    if (matters) {
      guard_type(v);
    } else {
      // Ours are the slots and the value's own reference; with one more somebody else keeps it.
      const Py_ssize_t ours = 1 + std::count(slots_, slots_ + slot_count_, o);
      matters = Py_REFCNT(o) <= ours && !PyType_Check(o) && (has_weakref_callback(o) || Belongings().matter(o));
    }
    if (matters) mortals_.push_back({v});
  }
}

void Tracer::note_waiting(Value* g) {
  if (!waits_in_try(*g->frame)) return;
  if (std::none_of(mortals_.begin(), mortals_.end(), [&](const Mortal& m) { return m.value == g; })) mortals_.push_back({g});
}

bool Tracer::is_held(Mortal& m) {
  const Value* v = m.value;
  auto place = [&](const SymFrame& f, bool on_stack, size_t i) {
    const auto& values = on_stack ? f.stack : f.locals_;
    return i < values.size() ? values[i] : nullptr;
  };
  if (m.depth < frames_.size() && frames_[m.depth].get() == m.frame && m.root && place(*m.frame, m.on_stack, m.index) == m.root &&
      reaches(m.root, v, m.far))
    return true;
  for (bool far : {false, true})
    for (size_t depth = frames_.size(); depth-- > 0;) {
      const SymFrame& f = *frames_[depth];
      for (bool on_stack : {true, false}) {
        const auto& values = on_stack ? f.stack : f.locals_;
        for (size_t i = 0; i < values.size(); ++i)
          if (values[i] && reaches(values[i], v, far)) {
            m = {m.value, &f, depth, i, on_stack, far, values[i]};
            return true;
          }
      }
      if (f.function && reaches(f.function, v, far)) return true;
    }
  // Changes of objects that live on hold it too.
  auto kept = [&](const Value* x) { return x && x->kind != Kind::kConstant && reaches(x, v, true); };
  if (kept(handled_)) return true;
  for (const Value* t : touched_)
    if (kept(t)) return true;
  for (const Effect& e : effects_)
    if (kept(e.value) || kept(e.key) || (e.target != v && kept(e.target))) return true;
  return false;
}

bool Tracer::is_named(const Value* v) const {
  const auto holds = [&](const Value* x) { return x && reaches(x, v, true); };
  return std::any_of(frames_.begin(), frames_.end(), [&](const std::unique_ptr<SymFrame>& f) {
    return holds(f->function) || std::any_of(f->locals_.begin(), f->locals_.end(), holds) || std::any_of(f->stack.begin(), f->stack.end(), holds);
  });
}

void Tracer::settle_deaths(int64_t at, bool raised) {
  const bool nested_code_ran = instruction_count_ != at;
  auto by_executor = [&] {
    BreakInfo b;
    b.reason = "finaliser";
    b.quiet = true;
    b.raises = raised;
    forced_[at] = std::move(b);
    throw Restart{};
  };
  for (;;) {
    // Of several the one that a frame's end lets go of first: locals in their order, then what lay on the stack.
    Mortal* lost = nullptr;
    for (size_t i = 0; i < mortals_.size();) {
      Mortal& m = mortals_[i];
      if (m.value->kind == Kind::kGenerator && !must_be_real(m.value)) {
        mortals_.erase(mortals_.begin() + static_cast<std::ptrdiff_t>(i));
        lost = nullptr;
        i = 0;
        continue;
      }
      if (!is_held(m) && (!lost || std::tuple(-static_cast<int64_t>(m.depth), m.on_stack, m.index) <
                                       std::tuple(-static_cast<int64_t>(lost->depth), lost->on_stack, lost->index)))
        lost = &m;
      ++i;
    }
    if (!lost) return;
    Value* v = lost->value;
    // What an exception leaves behind in variables lives on with its traceback.
    const bool in_doubt = (nested_code_ran && lost->far) || (raised && !lost->on_stack);
    if (v->kind != Kind::kGenerator || in_doubt) by_executor();
    mortals_.erase(mortals_.begin() + (lost - mortals_.data()));
    close_dead(v, at);
  }
}

void Tracer::close_dead(Value* generator, int64_t at) {
  Values self{generator};
  try {
    generator_method(generator, "close", self);
  } catch (Raise&) {
    rewind_generator(generator);  // it is reported and ignored: by the real one
  } catch (Break& b) {
    b.info.quiet = true;
    forced_[at] = std::move(b.info);
    throw Restart{};
  }
}

void Tracer::close_at_return(Value* result, int64_t at) {
  std::vector<Mortal> waiting;
  for (Mortal& m : mortals_)
    if (must_be_real(m.value) && (is_held(m), true)) waiting.push_back(m);
  mortals_.clear();
  std::sort(waiting.begin(), waiting.end(), [](const Mortal& a, const Mortal& b) { return std::tuple(a.on_stack, a.index) < std::tuple(b.on_stack, b.index); });
  for (const Mortal& m : waiting) {
    auto kept = [&](const Value* x) { return x && x->kind != Kind::kConstant && reaches(x, m.value, true); };
    bool lives = kept(result) || std::any_of(touched_.begin(), touched_.end(), kept);
    for (const Effect& e : effects_) lives = lives || kept(e.value) || kept(e.key) || kept(e.target);
    if (!lives && m.value->frame) close_dead(m.value, at);
  }
}

bool Tracer::must_be_real(const Value* v) { return v->kind == Kind::kGenerator && v->frame && waits_in_try(*v->frame); }

}  // namespace breakline::trace
