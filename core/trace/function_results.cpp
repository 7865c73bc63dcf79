// SPDX-License-Identifier: GPL-3.0-or-later
// What torch.autograd.Function.apply makes of what a traced forward returned: new tensors get their history,
// inputs come back as views of themselves, inputs marked as dirty stay themselves, and everything else goes
// through untouched.
#include <algorithm>

#include "core/torch/tensor.h"
#include "core/trace/level.h"
#include "core/trace/tensor_forms.h"
#include "core/trace/types.h"

namespace breakline::trace {

namespace {

/// A dict as the tuple (mark, keys, values), which an operand of a node can be; other values as they are.
Value* as_operand(Tracer& t, Value* v, PyObject* mark) {
  const Level level(t, "operand");
  t.force(v);
  if (v->kind == Kind::kTuple && !v->type) {
    Values items;
    for (Value* i : v->items) items.push_back(as_operand(t, i, mark));
    return t.tuple(std::move(items));
  }
  if (v->kind != Kind::kDict || v->type || v->source >= 0 || !mark) return v;
  Values keys, values;
  for (const DictEntry& e : v->dict->entries) {
    if (!e.value) continue;
    keys.push_back(e.key);
    values.push_back(as_operand(t, e.value, mark));
  }
  return t.tuple({t.constant(mark), t.tuple(std::move(keys)), t.tuple(std::move(values))});
}

bool holds(const Values& values, const Value* v) {
  return std::find(values.begin(), values.end(), v) != values.end();
}

/// The tensors among values; None in place of the others, which autograd hands through.
Values tensors_or_none(Tracer& t, const Values& values) {
  Values r;
  for (Value* v : values) r.push_back(t.force(v)->kind == Kind::kTensor ? v : t.none());
  return r;
}

}  // namespace

bool TensorForms::function_result_is_known(Tracer& t, Value* v, const FunctionResults& of) {
  const auto id = static_cast<size_t>(v->id);
  const graph::Value& g = t.graph_->values[id];
  if (holds(of.dirty, v))
    return holds(of.operands, v) && v->source < 0 && !holds(of.fixed, v) && t.view_base_[id] == v->id &&
           std::string_view(v->type->tp_name) == "Tensor" && !(g.meta.requires_grad && g.meta.is_leaf) &&
           (graph::is_floating(g.meta.dtype) || graph::is_complex(g.meta.dtype)) &&
           std::count(of.results.begin(), of.results.end(), v) == 1;
  if (holds(of.operands, v))
    return std::string_view(v->type->tp_name) == "Tensor" || is_parameter_class(v->type);
  // One that has a history already, or that others outside hold, would be changed. A view made without
  // recording has none.
  const bool recorded = g.meta.requires_grad && (!g.meta.is_leaf || t.view_base_[id] == v->id);
  return v->source < 0 && !recorded && g.producer >= 0 && std::string_view(v->type->tp_name) == "Tensor" &&
         std::count(of.results.begin(), of.results.end(), v) == 1;
}

Value* TensorForms::function_result(Tracer& t, Value* v, const FunctionResults& of) {
  const graph::ValueId before = v->id;
  graph::TensorMeta now = t.meta(v);
  const bool number = graph::is_floating(now.dtype) || graph::is_complex(now.dtype);
  const bool cut = now.requires_grad && holds(of.fixed, v);  // an input detached is no view of it
  now.requires_grad = number && !holds(of.fixed, v);
  now.is_leaf = !now.requires_grad;
  if (holds(of.operands, v) && !holds(of.dirty, v)) {
    Value* made = t.make(Kind::kTensor);
    static PyTypeObject* tensor_type = reinterpret_cast<PyTypeObject*>(
        PyObject_GetAttrString(py::check(PyImport_ImportModule("torch")).get(), "Tensor"));
    made->type = tensor_type;
    made->id = static_cast<graph::ValueId>(t.graph_->values.size());
    graph::Value g;
    g.meta = std::move(now);
    g.producer = static_cast<int32_t>(t.graph_->nodes.size());
    g.storage = t.graph_->values[static_cast<size_t>(before)].storage;
    t.graph_->values.push_back(std::move(g));
    t.note_tensor(made, cut ? made->id : t.view_base_[static_cast<size_t>(before)]);
    return made;
  }
  if (now.requires_grad && t.view_base_[static_cast<size_t>(before)] == before)
    // What views of it answer depends on whether an operation has written to them since.
    for (size_t i = 0; i < t.graph_->values.size(); ++i)
      if (t.tensor_values_[i] && t.tensor_values_[i] != v && t.view_base_[i] == before &&
          !t.graph_->values[i].meta.requires_grad)
        t.stale_.insert(static_cast<graph::ValueId>(i));
  t.becomes(v, std::move(now));
  return v;
}

Value* Tracer::attach_function(const Values& args) {
  // polyfills.attach(cls, ctx, args, result)
  Value *cls = args[0], *ctx = force(args[1]), *operands = force(args[2]), *result = force(args[3]);
  Value* kept = ctx->kind == Kind::kInstance || ctx->kind == Kind::kLive ? instance_dict(ctx) : nullptr;
  if (kept) dict_load(kept);
  static PyObject* parts = polyfill_named("attach_parts");
  static PyObject* dict_mark = polyfill_named("DICT");
  if (!kept || operands->kind != Kind::kTuple || !parts || torch::current_ambient().inference_mode)
    return nullptr;
  const bool several = result->kind == Kind::kTuple;
  FunctionResults of;
  of.results = several ? result->items : Values{result};
  of.operands = operands->items;
  Values names, values;
  for (const DictEntry& e : kept->dict->entries) {
    if (!e.value) continue;
    const char* name = text_of(e.key);
    if (!name || std::string_view(name) == "saved_for_forward") return nullptr;
    const bool none_given = force(e.value)->kind == Kind::kConstant && e.value->object == Py_None;
    if (std::string_view(name) == "dirty_tensors" && !none_given) of.dirty = drain(e.value);
    if (std::string_view(name) == "non_differentiable" && !none_given) of.fixed = drain(e.value);
    names.push_back(e.key);
    values.push_back(as_operand(*this, e.value, dict_mark));
  }
  bool any = false;
  for (Value* v : of.operands) force(v);
  for (Value* v : of.results) {
    if (force(v)->kind == Kind::kLive && torch::is_tensor(v->object)) return nullptr;
    any = any || v->kind == Kind::kTensor;
    if (v->kind == Kind::kTensor && !TensorForms::function_result_is_known(*this, v, of)) return nullptr;
  }
  for (Value* v : of.dirty)
    if (!holds(of.results, v)) return nullptr;
  if (!any) return several ? tuple(of.results) : result;  // nothing that autograd could tell of
  mutated();
  const Values seen = tensors_or_none(*this, of.results);
  graph::Node node = new_node(parts, "autograd.Function " + describe(cls),
                              {cls, tuple(names), tuple(values), tuple(tensors_or_none(*this, of.operands)),
                               several ? tuple(seen) : seen[0]});
  node.multi = several;
  node.mutates = !of.dirty.empty();
  Values out;
  for (Value* v : of.results) {
    out.push_back(v->kind == Kind::kTensor ? TensorForms::function_result(*this, v, of) : v);
    node.outputs.push_back(v->kind == Kind::kTensor ? out.back()->id : graph::kNoValue);
  }
  graph_->nodes.push_back(std::move(node));
  graph_->needs_grad = true;
  return several ? tuple(std::move(out)) : out[0];
}

}  // namespace breakline::trace
