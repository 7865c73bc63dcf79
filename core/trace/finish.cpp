// SPDX-License-Identifier: GPL-3.0-or-later
// The end of a trace: what must hold besides what was looked at, and whether the state can be rebuilt.
#include <algorithm>

#include "core/torch/arg_object.h"
#include "core/torch/tensor.h"
#include "core/trace/tracer.h"

namespace breakline::trace {

using guard::StepKind;

void Tracer::rewind_generator(Value* g) {
  BreakInfo b;
  b.reason = "generator-alive";
  b.arguments = {{"function", g->items[0]->kind == Kind::kConstant ? name_of(g->items[0]->object) : "generator"}};
  b.quiet = true;
  forced_[g->created_at] = std::move(b);
  throw Restart{};
}

void Tracer::check_rebuildable(Value* v, std::unordered_set<Value*>& seen) {
  if (!v || !seen.insert(v).second) return;
  // An iterator of a dict that has grown since can only be a real one made before.
  if (v->kind == Kind::kIterator && v->iterator == IteratorKind::kDictView && !v->exhausted && dict_size(v->items[0]->items[0]) != v->stop) {
    BreakInfo b;
    b.reason = "generator-alive";
    b.quiet = true;
    forced_[v->created_at] = std::move(b);
    throw Restart{};
  }
  if (v->stand_in) rewind_to(v->created_at, "a native object");
  if (!made_objects_.empty() && (v->kind == Kind::kConstant || v->kind == Kind::kInstance))
    if (auto it = made_objects_.find(v->object); it != made_objects_.end()) rewind_to(it->second, "class-statement");
  if (v->kind == Kind::kGenerator && (v->position != 0 || v->exhausted)) rewind_generator(v);
  for (Value* i : v->items) check_rebuildable(i, seen);
  for (NativeCall& call : v->calls)
    for (Value* i : call.args) check_rebuildable(i, seen);
  check_rebuildable(v->content, seen);
  check_rebuildable(v->owner, seen);
  if (v->exception)
    for (Value* i : {v->exception->args, v->exception->context, v->exception->cause, v->exception->name, v->exception->owner, v->exception->traceback})
      check_rebuildable(i, seen);
  if (v->attributes) check_rebuildable(v->attributes, seen);
  if (v->dict && (v->source < 0 || v->dirty))
    for (DictEntry& e : v->dict->entries) {
      check_rebuildable(e.key, seen);
      check_rebuildable(e.value, seen);
    }
}

void Tracer::alias_guards() {
  // Tensors: when one is written, how it overlaps with the other inputs is part of what the segment depends on.
  std::unordered_set<int32_t> written;
  for (const graph::Node& n : graph_->nodes) {
    if (!n.mutates) continue;
    auto note = [&](graph::ValueId id) { written.insert(graph_->values[static_cast<size_t>(id)].storage); };
    for (const graph::Arg& a : n.args) torch::visit_values(a, note);
    for (const auto& [name, a] : n.kwargs) torch::visit_values(a, note);
  }
  if (!written.empty()) {
    size_t count = input_values_.size();
    for (size_t i = 0; i < count; ++i) {
      Value* a = input_values_[i];
      graph_->in_order = graph_->in_order || a->kind == Kind::kMade;
      const graph::Value& at_entry = graph_->values[static_cast<size_t>(graph_->inputs[i])];
      if (a->kind != Kind::kTensor || !written.count(at_entry.storage)) continue;
      for (size_t j = 0; j < count; ++j) {
        Value* b = input_values_[j];
        if (i == j || b->kind != Kind::kTensor) continue;
        const int32_t b_storage = graph_->values[static_cast<size_t>(graph_->inputs[j])].storage;
        bool b_written = written.count(b_storage) != 0;
        if (b_written && j < i) continue;
        auto x = torch::storage_of(a->object), y = torch::storage_of(b->object);
        if (x.bytes && y.bytes && x.begin == y.begin) {
          int64_t distance = static_cast<char*>(torch::data_ptr(a->object)) - static_cast<char*>(torch::data_ptr(b->object));
          py::Ref d = py::check(PyLong_FromLongLong(distance));
          guard(StepKind::kOverlapAs, a->source, d.get(), b->source);
          const int32_t a_storage = at_entry.storage;
          for (graph::Value& v : graph_->values)
            if (v.storage == b_storage) v.storage = a_storage;
        } else {
          guard(StepKind::kNoOverlap, a->source, nullptr, b->source);
        }
      }
    }
  }
  // Containers: a changed one must not be one that was read under another name.
  Values changed;
  for (const Effect& e : effects_)
    if (std::find(changed.begin(), changed.end(), e.target) == changed.end()) changed.push_back(e.target);
  for (Value* c : changed) {
    if (c->source < 0) continue;
    by_object_.each([&](PyObject*, Value* other) {
      if (other->content) other = other->content;
      if (other == c || other->kind != c->kind || other->source < 0) return;
      bool looked_at =
          other->loaded || (other->dict && !other->dict->entries.empty()) || other->dirty || other->measured;
      if (looked_at) guard(StepKind::kNotSame, c->source, nullptr, other->source);
    });
  }
}

void Tracer::finish() {
  for (auto& f : frames_) note_lines(*f);
  // A generator that is dropped while it waits inside try runs its handlers at that moment: such a one has to be real.
  for (Value* g : generators_)
    if (must_be_real(g)) rewind_generator(g);
  std::unordered_set<Value*> seen;
  if (exit_ == ExitKind::kReturn) {
    check_rebuildable(return_value_, seen);
  } else {
    for (auto& f : frames_) {
      check_rebuildable(f->function, seen);
      for (Value* v : f->locals_) check_rebuildable(v, seen);
      for (Value* v : f->stack) check_rebuildable(v, seen);
    }
    check_rebuildable(handled_, seen);
  }
  for (Value* v : touched_) {
    check_rebuildable(v, seen);
    Effect e{};
    e.target = v;
    switch (v->kind) {
      case Kind::kList: e.kind = v->loaded ? Effect::kListReplace : Effect::kListAppend; break;
      case Kind::kCell: e.kind = Effect::kCellSet; break;
      default: e.kind = Effect::kSetOperations; break;
    }
    effects_.push_back(e);
  }
  for (const Effect& e : effects_) {
    check_rebuildable(e.key, seen);
    check_rebuildable(e.value, seen);
    if (e.kind == Effect::kClassAttribute) check_rebuildable(e.target, seen);
    if (e.target->source >= 0) need(e.target->source);
  }
  alias_guards();
}

void Tracer::note_region(SymFrame& f, Value* manager) {
  RegionSeen r;
  Value* flag = attribute(manager, py::intern("error_on_graph_break"));
  r.error = truth(flag) == 1;
  r.file = f.code->file;
  r.qualname = f.code->qualname;
  bytecode::Position p = f.code->position(f.current);
  r.line = p.line;
  r.end_line = p.line;
  for (const bytecode::ExceptionEntry& e : f.code->exceptions) {
    if (e.start > f.current && e.start <= f.current + 4) {
      for (int i = e.start; i < e.end; ++i) r.end_line = std::max(r.end_line, f.code->position(i).line);
      break;
    }
  }
  r.kind = "with";
  r.key = "with:" + r.file + ":" + std::to_string(r.line);
  if (f.function && f.function->kind == Kind::kConstant) {
    const Marker& m = find_marker(f.function->object);
    if (m.kind == MarkerKind::kRegionWrapper && m.function) {
      PyObject* inner = m.function.get();
      if (PyMethod_Check(inner)) inner = PyMethod_GET_FUNCTION(inner);
      if (PyFunction_Check(inner)) {
        const bytecode::Code* code = bytecode::decode(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(inner)));
        r.kind = "decorator";
        r.file = code->file;
        r.qualname = code->qualname;
        r.line = r.end_line = code->first_line;
        for (size_t i = 0; i < code->instrs.size(); ++i)
          r.end_line = std::max(r.end_line, code->position(static_cast<int>(i)).line);
        r.key = "decorator:" + code->file + ":" + code->qualname;
      }
    }
  }
  regions_.push_back(std::move(r));
}

}  // namespace breakline::trace
