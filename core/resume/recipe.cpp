// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/resume/recipe.h"

#include <algorithm>

#include "core/guard/equality.h"
#include "core/trace/function_parts.h"
#include "core/trace/types.h"

namespace breakline::resume {

using trace::IteratorKind;
using trace::Kind;
using trace::Value;

int32_t RecipeBuilder::add(RecipeStep step) {
  recipe_.iterators = recipe_.iterators || step.kind == RecipeKind::kListIterator ||
                      step.kind == RecipeKind::kReversedIterator || step.kind == RecipeKind::kContainerIterator;
  recipe_.steps.push_back(std::move(step));
  return static_cast<int32_t>(recipe_.steps.size()) - 1;
}

std::vector<int32_t> RecipeBuilder::emit_all(const trace::Values& values) {
  std::vector<int32_t> ids;
  for (Value* v : values) ids.push_back(emit(v));
  return ids;
}

int32_t RecipeBuilder::emit(Value* v) {
  if (!v) return -1;
  if (v->owner) return emit(v->owner);
  auto it = done_.find(v);
  if (it != done_.end()) return it->second;
  int32_t id = emit_new(v);
  return done_.try_emplace(v, id).first->second;  // a tuple in a circle was made on the way
}

int32_t RecipeBuilder::output_of(graph::ValueId id) {
  auto [it, fresh] = outputs_.try_emplace(id, static_cast<int32_t>(tracer_.graph()->outputs.size()));
  if (fresh) tracer_.graph()->outputs.push_back(id);
  return it->second;
}

int32_t RecipeBuilder::emit_new(Value* v) {
  RecipeStep s;
  // A number or text that is as it was, yet the caller's own object.
  const bool own = v->kind == Kind::kConstant && v->source >= 0 && guard::is_plain_constant(v->object) &&
                   !guard::is_single(v->object);
  if (v->kind == Kind::kConstant && !own) {
    s.object = v->object;
    return add(std::move(s));
  }
  if (v->source >= 0) {
    if (auto it = fetched_.find(v->source); it != fetched_.end()) {
      if (!v->object || (!PyLong_CheckExact(v->object) && !PyFloat_CheckExact(v->object))) return it->second;
      s.kind = RecipeKind::kFreshNumber;  // another evaluation of the same expression
      s.kids = {it->second};
      return add(std::move(s));
    }
    s.kind = RecipeKind::kFetch;
    s.index = tracer_.fetch_source(v);
    return fetched_[v->source] = add(std::move(s));
  }
  // Containers get their number before their content, so that they may contain themselves.
  auto with_fill = [&](RecipeStep step, auto content) {
    int32_t id = add(std::move(step));
    done_[v] = id;
    std::vector<int32_t> kids = content();
    recipe_.fills.push_back({id, std::move(kids)});
    return id;
  };
  auto entries = [&](trace::DictData* d) {
    std::vector<int32_t> kids;
    if (d)
      for (const trace::DictEntry& e : d->below()) {
        if (!e.value) continue;
        kids.push_back(emit(e.key));
        kids.push_back(emit(e.value));
      }
    return kids;
  };
  // The keys of an OrderedDict in its own order, behind the entries in that of the dict below; how many they
  // are is `b` of the step.
  auto own_order = [&](trace::DictData* d, std::vector<int32_t>& kids) {
    if (!d || !d->reordered) return;
    for (const trace::DictEntry& e : d->entries) {
      if (!e.value) continue;
      kids.push_back(emit(e.key));
      ++recipe_.steps[static_cast<size_t>(done_[v])].b;
    }
  };
  switch (v->kind) {
    case Kind::kTensor:
    case Kind::kMade:
      s.kind = RecipeKind::kOutput;
      s.index = output_of(v->id);
      return add(std::move(s));
    case Kind::kTuple:
      s.kind = v->type ? RecipeKind::kNamedTuple : RecipeKind::kTuple;
      s.object = reinterpret_cast<PyObject*>(v->type);
      s.kids = emit_all(v->items);
      if (v->attributes) return with_fill(std::move(s), [&] { return entries(v->attributes->dict.get()); });
      return add(std::move(s));
    case Kind::kList:
      s.kind = RecipeKind::kList;
      return with_fill(std::move(s), [&] { return emit_all(v->items); });
    case Kind::kDict:
      s.kind = RecipeKind::kDict;
      s.object = reinterpret_cast<PyObject*>(v->type);
      return with_fill(std::move(s), [&] {
        std::vector<int32_t> kids = entries(v->dict.get());
        own_order(v->dict.get(), kids);
        if (!v->items.empty()) kids.push_back(emit(v->items[0]));  // of a defaultdict: its factory
        return kids;
      });
    case Kind::kSet:
      s.kind = RecipeKind::kSet;
      s.object = reinterpret_cast<PyObject*>(v->type);
      s.history = v->history;
      return with_fill(std::move(s), [&] { return emit_all(v->items); });
    case Kind::kSlice:
      s.kind = RecipeKind::kSlice;
      s.kids = emit_all(v->items);
      return add(std::move(s));
    case Kind::kMethod:
      s.kind = RecipeKind::kMethod;
      s.kids = emit_all(v->items);
      return add(std::move(s));
    case Kind::kSuper:
      s.kind = RecipeKind::kSuper;
      s.kids = emit_all(v->items);
      return add(std::move(s));
    case Kind::kPartial:
      s.kind = RecipeKind::kPartial;
      s.kids = emit_all(v->items);
      return add(std::move(s));
    case Kind::kDictView:
      s.kind = RecipeKind::kDictView;
      s.a = v->number;
      s.kids = emit_all(v->items);
      return add(std::move(s));
    case Kind::kCell:
      s.kind = RecipeKind::kCell;
      return with_fill(std::move(s), [&] { return std::vector<int32_t>{emit(v->items[0])}; });
    case Kind::kTraceback:
      s.kind = RecipeKind::kTraceback;
      s.traceback = *v->entry;
      s.kids = emit_all(v->items);
      return add(std::move(s));
    case Kind::kInstance: {
      s.object = v->object;
      if (v->exception) {
        const trace::ExceptionData& d = *v->exception;
        s.kind = RecipeKind::kException;
        s.a = d.initialised;
        s.b = d.suppress;
        return with_fill(std::move(s), [&] {
          std::vector<int32_t> kids = {emit(d.args), emit(d.context), emit(d.cause), emit(d.name), emit(d.owner), emit(d.traceback)};
          std::vector<int32_t> rest = entries(v->attributes ? v->attributes->dict.get() : nullptr);
          kids.insert(kids.end(), rest.begin(), rest.end());
          return kids;
        });
      }
      s.kind = RecipeKind::kInstance;
      if (auto* type = reinterpret_cast<PyTypeObject*>(v->object); type == trace::deque_type() || type == &_PyWeakref_RefType)
        s.kids = {emit(v->items[0])};
      const bool scalar = trace::scalar_base(reinterpret_cast<PyTypeObject*>(v->object)) != nullptr;
      if (scalar) s.kids = {emit(v->content)};
      return with_fill(std::move(s), [&, scalar] {
        std::vector<int32_t> kids;
        if (v->content && !scalar) kids = v->content->kind == Kind::kList ? emit_all(v->content->items) : entries(v->content->dict.get());
        recipe_.steps[static_cast<size_t>(done_[v])].a = static_cast<int64_t>(kids.size());
        if (v->content && !scalar && v->content->kind != Kind::kList) own_order(v->content->dict.get(), kids);
        std::vector<int32_t> more = entries(v->attributes ? v->attributes->dict.get() : nullptr);
        kids.insert(kids.end(), more.begin(), more.end());
        return kids;
      });
    }
    case Kind::kFunction: {
      s.kind = RecipeKind::kFunction;
      s.object = v->object;
      s.globals = v->globals;
      s.qualname = v->qualname;
      // The closure's cells may hold the function itself: they are emitted first and filled later.
      const size_t parts = std::min(v->items.size(), trace::kFunctionParts);
      s.kids = emit_all(trace::Values(v->items.begin(), v->items.begin() + static_cast<std::ptrdiff_t>(parts)));
      int32_t id = add(std::move(s));
      done_[v] = id;
      std::vector<int32_t> set = v->items.size() > parts ? entries(v->items[parts]->dict.get()) : std::vector<int32_t>();
      const std::vector<int32_t> more = entries(v->attributes ? v->attributes->dict.get() : nullptr);
      set.insert(set.end(), more.begin(), more.end());
      if (!set.empty()) recipe_.fills.push_back({id, std::move(set)});
      return id;
    }
    case Kind::kGenerator:
      s.kind = RecipeKind::kGenerator;
      s.kids = {emit(v->items[0]), emit(v->items[1]), emit(v->items[2])};
      return add(std::move(s));
    case Kind::kNative:
      s.kind = RecipeKind::kNative;
      for (const trace::NativeCall& call : v->calls) {
        std::vector<int32_t> more = emit_all(call.args);
        s.kids.insert(s.kids.end(), more.begin(), more.end());
      }
      s.calls = v->calls;
      return add(std::move(s));
    case Kind::kIterator:
      return emit_iterator(v);
    default:
      break;
  }
  PyErr_SetString(PyExc_RuntimeError, "a value of the trace can't be rebuilt");
  throw py::PythonError{};
}

int32_t RecipeBuilder::emit_iterator(Value* v) {
  RecipeStep s;
  s.kids = emit_all(v->items);
  s.a = v->position;
  s.b = v->stop;
  s.c = v->step;
  s.index = v->exhausted ? 1 : 0;
  switch (v->iterator) {
    case IteratorKind::kSequence:
      s.kind = RecipeKind::kListIterator;
      if (v->items.size() > 1) {
        s.kind = RecipeKind::kContainerIterator;
        s.kids[0] = s.kids[1];
      }
      break;
    case IteratorKind::kReversed:
      s.kind = RecipeKind::kReversedIterator;
      break;
    case IteratorKind::kRange:
      s.kind = RecipeKind::kRangeIterator;
      break;
    case IteratorKind::kZip:
      s.kind = RecipeKind::kZip;
      s.a = v->strict;
      break;
    case IteratorKind::kEnumerate:
      s.kind = RecipeKind::kEnumerate;
      break;
    case IteratorKind::kMap:
      s.kind = RecipeKind::kMap;
      break;
    case IteratorKind::kFilter:
      s.kind = RecipeKind::kFilter;
      break;
    case IteratorKind::kChain:
      s.kind = RecipeKind::kChain;
      break;
    case IteratorKind::kDictView:
      s.kind = RecipeKind::kContainerIterator;
      s.kids.push_back(emit(v->items[0]->items[0]));  // the dict behind the view
      break;
  }
  return add(std::move(s));
}

}  // namespace breakline::resume
