// SPDX-License-Identifier: GPL-3.0-or-later
// Tensors and torch calls: graph nodes.
#include <algorithm>

#include "core/guard/equality.h"
#include "core/torch/arg_object.h"
#include "core/torch/tensor.h"
#include "core/trace/level.h"
#include "core/trace/operand_forms.h"
#include "core/trace/tracer.h"
#include "core/trace/types.h"

namespace breakline::trace {

using guard::StepKind;

void Tracer::realize_tensor(Value* v) {
  PyObject* o = v->object;
  guard::TensorRecord record;
  record.type = Py_TYPE(o);
  record.meta = torch::meta_of(o);
  record.key_set = torch::raw_meta(o).key_set;
  if (!record.meta.plain) {
    guard_type(v);
    v->loaded = true;
    return;  // stays opaque: an operation on it stops the trace
  }
  for (const void* storage : grad_writes_) {
    if (storage && storage == torch::storage_of(o).begin) quiet("a view of a tensor that came to require grad");
  }
  record.open = open_dims(v, record.meta);
  const bool open = !record.open.empty();
  graph::Value g;
  g.meta = record.meta;
  v->type = record.type;
  tensors_.push_back(std::move(record));
  guard(StepKind::kTensor, v->source, nullptr, 0, static_cast<int>(tensors_.size()) - 1);
  v->kind = Kind::kTensor;
  v->type_guarded = true;
  g.input = static_cast<int32_t>(graph_->inputs.size());
  v->id = static_cast<graph::ValueId>(graph_->values.size());
  g.storage = v->id;
  graph_->values.push_back(std::move(g));
  graph_->inputs.push_back(v->id);
  note_tensor(v, v->id);
  if (torch::is_inference_tensor(o)) inference_.insert(v->id);
  if (open) {
    varies_[static_cast<size_t>(v->id)] = true;
    open_inputs_[v->id] = static_cast<int>(tensors_.size()) - 1;
  }
  input_sources_.push_back(v->source);
  input_values_.push_back(v);
}

void Tracer::note_tensor(Value* v, graph::ValueId base) {
  tensor_values_.resize(graph_->values.size(), nullptr);
  tensor_values_.back() = v;
  view_base_.resize(graph_->values.size(), graph::kNoValue);
  view_base_.back() = base;
  varies_.resize(graph_->values.size(), false);
}

/// An in-place write made `written` require grad (x[0] = w). Its base requires grad from now on as well; what other views of that
/// base answer depends on whether an operation has used them since, so they are looked at concretely.
void Tracer::came_to_require_grad(graph::ValueId written, const graph::TensorMeta& now) {
  close_all();  // the log does not follow such changes
  const graph::ValueId base = view_base_[static_cast<size_t>(written)];
  for (size_t i = 0; i < graph_->values.size(); ++i) {
    const auto id = static_cast<graph::ValueId>(i);
    if (!tensor_values_[i] || view_base_[i] != base) continue;
    graph::TensorMeta& known = graph_->values[i].meta;
    if (id != written && id != base) {
      if (!known.requires_grad) stale_.insert(id);
      continue;
    }
    known.requires_grad = now.requires_grad;
    known.is_leaf = now.is_leaf;
    if (graph_->values[i].producer < 0) grad_writes_.push_back(torch::storage_of(tensor_values_[i]->object).begin);
  }
}

void Tracer::becomes(Value* tensor, graph::TensorMeta now, graph::ValueId moved_to) {
  close_all();  // sizes that are left open are not followed through such changes
  const graph::ValueId before = tensor->id;
  if (tensor->source >= 0 && graph_->values[static_cast<size_t>(before)].producer < 0)  // its offset is known no more from the value it was
    guard(StepKind::kStorageOffset, tensor->source, nullptr, graph_->values[static_cast<size_t>(before)].meta.storage_offset);
  graph::Value g;
  g.meta = std::move(now);
  g.producer = static_cast<int32_t>(graph_->nodes.size());
  g.storage = graph_->values[static_cast<size_t>(moved_to != graph::kNoValue ? moved_to : before)].storage;
  tensor->id = static_cast<graph::ValueId>(graph_->values.size());
  graph_->values.push_back(std::move(g));
  const graph::ValueId base = view_base_[static_cast<size_t>(before)];
  note_tensor(tensor, base == before || moved_to != graph::kNoValue ? tensor->id : base);
  tensor_values_[static_cast<size_t>(before)] = nullptr;
  if (base == before && moved_to == graph::kNoValue)
    for (graph::ValueId& b : view_base_)
      if (b == before) b = tensor->id;
  graph_->reshapes = true;
  if (tensor->source >= 0) history_written_ = true;  // a failing segment can't take it back
}

/// Writes that PyTorch refuses at run time whatever the shapes: leaves that need grad, overlapping memory.
bool Tracer::write_may_fail(const graph::Node& node) const {
  if (!node.mutates) return false;
  std::unordered_set<int32_t> storages;
  bool risky = false;
  auto note = [&](graph::ValueId id) {
    const graph::Value& v = graph_->values[static_cast<size_t>(id)];
    if (v.is_scalar) return;
    risky = risky || (v.meta.requires_grad && v.meta.is_leaf) || !storages.insert(v.storage).second ||
            std::find(v.meta.strides.begin(), v.meta.strides.end(), 0) != v.meta.strides.end();
  };
  for (const graph::Arg& a : node.args) torch::visit_values(a, note);
  for (const auto& [name, a] : node.kwargs) torch::visit_values(a, note);
  return risky;
}

Value* Tracer::deep_copy_of_tensor(Value* v) {
  refuse_under_mode();
  const graph::TensorMeta& m = meta(v);
  // A view is copied with all of the memory it looks into, and what hangs on the object goes along.
  if (v->source < 0 || m.requires_grad || view_base_[static_cast<size_t>(v->id)] != v->id ||
      std::string_view(v->type->tp_name) != "Tensor")
    return nullptr;
  keep_sizes(v);
  int64_t count = 1, dense = 1;
  for (int64_t n : m.sizes) count *= n;
  std::vector<std::pair<int64_t, int64_t>> order;
  for (size_t i = 0; i < m.sizes.size(); ++i)
    if (m.sizes[i] != 1) order.emplace_back(m.strides[i], m.sizes[i]);
  std::sort(order.begin(), order.end());
  for (const auto& [stride, size] : order) {
    if (stride != dense) return nullptr;
    dense *= size;
  }
  PyObject** dict = _PyObject_GetDictPtr(v->object);
  if (!count || torch::storage_of(v->object).bytes != static_cast<size_t>(count) * static_cast<size_t>(graph::item_size(m.dtype))) return nullptr;
  if (dict && *dict) return nullptr;
  if (torch::raw_meta(v->object).storage_offset) return nullptr;
  guard(StepKind::kNoInstanceDict, v->source);
  guard(StepKind::kStorageOffset, v->source, nullptr, 0);
  for (const Effect& e : effects_)
    if (e.kind == Effect::kAttributeSet && e.target == v) return nullptr;
  py::Ref grad = py::check(PyObject_GetAttrString(v->object, "grad"));
  if (grad.get() != Py_None) return nullptr;
  Value* none_yet = live(grad.get(), child(guard::SourceKind::kAttribute, v->source, py::intern("grad")));
  force(none_yet);
  static PyObject* deepcopy = [] {
    py::Ref copy = py::Ref::steal(PyImport_ImportModule("copy"));
    PyObject* found = copy ? PyObject_GetAttrString(copy.get(), "deepcopy") : nullptr;
    PyErr_Clear();
    return found;
  }();
  if (!deepcopy || torch::current_ambient().inference_mode) return nullptr;
  mutated();
  graph::Node node = new_node(deepcopy, "copy.deepcopy", {v});
  Value* copy = make(Kind::kTensor);
  copy->type = v->type;
  copy->type_guarded = true;
  copy->id = static_cast<graph::ValueId>(graph_->values.size());
  graph::Value g;
  g.meta = meta(v);
  g.producer = static_cast<int32_t>(graph_->nodes.size());
  g.storage = copy->id;
  graph_->values.push_back(std::move(g));
  note_tensor(copy, copy->id);
  node.outputs.push_back(copy->id);
  graph_->nodes.push_back(std::move(node));
  return copy;
}

graph::TensorMeta& Tracer::meta(Value* tensor) {
  if (stale_.contains(tensor->id)) quiet("a view of a tensor that came to require grad");
  return graph_->values[static_cast<size_t>(tensor->id)].meta;
}

bool Tracer::holds_tensor(Value* v) {
  force(v);
  const Level level(*this, "operand");
  switch (v->kind) {
    case Kind::kTensor: return true;
    case Kind::kList: list_load(v); [[fallthrough]];
    case Kind::kTuple:
    case Kind::kSlice:
      for (Value* i : v->items)
        if (i && holds_tensor(i)) return true;
      return false;
    case Kind::kLive: return torch::available() && torch::is_tensor(v->object);
    default: return false;
  }
}

void Tracer::add_input(Value* v, graph::Value g) {
  g.input = static_cast<int32_t>(graph_->inputs.size());
  v->id = static_cast<graph::ValueId>(graph_->values.size());
  graph_->values.push_back(std::move(g));
  note_tensor(nullptr, v->id);
  graph_->inputs.push_back(v->id);
  need(v->source);
  input_sources_.push_back(v->source);
  input_values_.push_back(v);
}

graph::Arg Tracer::argument(Value* v) {
  force(v);
  const Level level(*this, "operand");
  auto no_tensor = [](PyObject*) { return graph::kNoValue; };
  switch (v->kind) {
    case Kind::kTensor: meta(v); return graph::Arg::value(v->id);
    case Kind::kMade: return graph::Arg::value(v->id);
    case Kind::kConstant: {
      graph::Arg a = torch::arg_of(v->object, no_tensor);
      a.object = v->object;
      return a;
    }
    case Kind::kLive:
      if (v->dynamic) {
        if (patches_) {
          if (is_drawn(v->source)) undraw(v->source);
          int overflow = 0;
          if (PyLong_Check(v->object)) PyLong_AsLongLongAndOverflow(v->object, &overflow);
          if (overflow) constant_of(v);
          else patches_->push_back({patch_path_, v->source});
          need(v->source);
          graph::Arg a = torch::arg_of(v->object, no_tensor);
          a.object = v->object;
          keep_borrowed(v->object);
          return a;
        }
        if (v->id == graph::kNoValue) {
          graph::Value g;
          g.is_scalar = true;
          g.meta.dtype = PyFloat_Check(v->object) ? graph::DType::kFloat64 : graph::DType::kInt64;
          add_input(v, std::move(g));
        }
        return graph::Arg::value(v->id);
      }
      if (torch::is_tensor(v->object)) stop("tensor-subclass", {{"name", Py_TYPE(v->object)->tp_name}});
      [[fallthrough]];
    case Kind::kInstance:
      if (behaves_as_scalar(v)) {
        graph::Arg a = torch::arg_of(need_constant(scalar(v), "operand"), no_tensor);
        a.object = scalar_twin(v);
        return a;
      }
      stop("function-call", {{"function", "torch operation"}, {"args", describe(v)}});
    case Kind::kTuple:
    case Kind::kList:
    case Kind::kSlice: {
      if (v->kind == Kind::kList) list_load(v);
      graph::ArgSeq seq;
      seq.kind = v->kind == Kind::kTuple ? graph::ArgSeq::kTuple : v->kind == Kind::kList ? graph::ArgSeq::kList : graph::ArgSeq::kSlice;
      bool with_value = false;
      const size_t patched = patches_ ? patches_->size() : 0;
      for (size_t at = 0; at < v->items.size(); ++at) {
        patch_path_.push_back(static_cast<int32_t>(at));
        seq.items.push_back(argument(v->items[at]));
        patch_path_.pop_back();
        with_value = with_value || torch::holds_value(seq.items.back());
      }
      graph::Arg a;
      a.v = std::move(seq);
      if (!with_value) {
        if (patches_ && patches_->size() != patched) {
          py::Ref made = py::check(torch::object_of(a, {}));
          a.object = keep_borrowed(made.get());
        } else if (v->kind != Kind::kList) {
          a.object = constant_of(v);
          if (!a.object) {
            py::Ref made = py::check(torch::object_of(a, {}));
            a.object = keep_borrowed(made.get());
          }
        } else {
          // The program's list may change later: the node keeps one of its own.
          py::Ref made = py::check(torch::object_of(a, {}));
          a.object = keep_borrowed(made.get());
        }
      }
      return a;
    }
    default: stop("function-call", {{"function", "torch operation"}, {"args", describe(v)}});
  }
}

Value* Tracer::pin_numbers(Value* v) {
  force(v);
  const Level level(*this, "operand");
  switch (v->kind) {
    case Kind::kLive: {
      if (!v->dynamic) return v;
      PyObject* now = constant_of(v);
      return now ? constant(now) : v;
    }
    case Kind::kTuple:
    case Kind::kSlice:
    case Kind::kList: return with_items(*this, v, [this](Value* i) { return pin_numbers(i); });
    default: return v;
  }
}

/// Where a tensor starts in its memory: known from where the inputs it looks into start, which guards pin.
Value* Tracer::storage_offset(Value* tensor) {
  const graph::Value& of = graph_->values[static_cast<size_t>(tensor->id)];
  for (size_t i = 0; i < graph_->values.size(); ++i) {
    const graph::Value& input = graph_->values[i];
    if (input.producer >= 0 || input.is_scalar || input.storage != of.storage || !tensor_values_[i]) continue;
    if (tensor_values_[i]->source < 0) quiet("where a tensor starts in its memory");
    guard(StepKind::kStorageOffset, tensor_values_[i]->source, nullptr, input.meta.storage_offset);
  }
  if (varies(tensor->id)) log_.offsets.emplace_back(tensor->id, of.meta.storage_offset);
  return constant(py::check(PyLong_FromLongLong(of.meta.storage_offset)).get());
}

namespace {

/// A scalar operand that PyTorch reads as a Python float.
bool is_numpy_float(PyObject* o) {
  const std::string_view name = Py_TYPE(o)->tp_name;
  return guard::is_numpy_scalar_type(Py_TYPE(o)) && (name == "numpy.float64" || name == "numpy.float32" || name == "numpy.float16");
}

}  // namespace

bool Tracer::writes_at_number(const torch::CallableInfo& info, const Values& args) {
  if (!info.name.ends_with("setitem") || args.size() != 3 || force(args[0])->kind != Kind::kTensor || force(args[1])->kind != Kind::kTensor) return false;
  const graph::TensorMeta &to = meta(args[0]), &index = meta(args[1]);
  const bool number = index.sizes.empty() && index.dtype != graph::DType::kBool && index.dtype != graph::DType::kUInt8 && !graph::is_floating(index.dtype) &&
                      !graph::is_complex(index.dtype);
  const bool value = constant_of(args[2]) || (force(args[2])->kind == Kind::kTensor && !meta(args[2]).requires_grad && meta(args[2]).rank() == 0);
  return number && value && !to.requires_grad && to.rank() > 0;
}

Value* Tracer::torch_call(PyObject* callable, Values args, Keywords keywords) {
  const torch::CallableInfo& info = torch::callable_info(callable);
  return torch_call(callable, info, args, keywords);
}

Value* Tracer::torch_call(PyObject* callable, const torch::CallableInfo& info, Values& args, Keywords& keywords) {
  if (Value* r = overridden_call(callable, args, keywords)) return r;
  if (has_made_) {
    bool made = false;
    for (Value* v : args) made = made || holds_made(v);
    for (const auto& [name, v] : keywords) made = made || holds_made(v);
    if (made) stop("function-call", {{"function", info.name.empty() ? name_of(callable) : info.name}, {"args", "an object of numpy"}});
  }
  if (static_cast<int64_t>(graph_->nodes.size()) >= options_.node_limit) stop("trace-limit", {{"limit", "nodes"}});
  graph::Node node;
  node.callable = callable;
  node.op = info.row;
  node.name = info.name.empty() ? name_of(callable) : info.name;
  if (logging_)
    if (Value* answer = size_query(info, args, keywords)) return answer;
  std::vector<ArgPatch> patches;
  bool writes_somewhere = false;
  // The operands; open numbers become constants of this call that each instance replaces, or inputs of the graph.
  const auto take_operands = [&](bool as_patches) {
    struct Scope {
      Tracer& t;
      ~Scope() {
        t.patches_ = nullptr;
        t.patch_path_.clear();
      }
    } scope{*this};
    patch_path_.clear();
    node.args.clear();
    node.kwargs.clear();
    node.args.reserve(args.size());
    patches_ = as_patches ? &patches : nullptr;
    for (size_t i = 0; i < args.size(); ++i) {
      patch_path_.assign(1, static_cast<int32_t>(i));
      node.args.push_back(argument(args[i]));
    }
    for (size_t i = 0; i < keywords.size(); ++i) {
      patch_path_.assign(1, -1 - static_cast<int32_t>(i));
      node.kwargs.emplace_back(std::string(py::utf8(keywords[i].first)), argument(keywords[i].second));
    }
  };
  bool integral = false;
  if (logging_ && !(info.row && info.row->kind == graph::OpKind::kPointwise)) {
    for (Value* v : args) holds_open_number(v, &integral);
    for (auto& [name, v] : keywords) holds_open_number(v, &integral);
  }
  take_operands(integral);
  if (info.row && info.row->kind == graph::OpKind::kPointwise)
    for (graph::Arg& a : node.args)
      if (const auto* o = std::get_if<graph::Opaque>(&a.v); o && is_numpy_float(static_cast<PyObject*>(o->object))) a.v = PyFloat_AsDouble(static_cast<PyObject*>(o->object));
  for (const char* word : {"pin_memory", "generator"})
    for (auto& [name, a] : node.kwargs)
      if (name == word && !a.is_none() && !(std::holds_alternative<bool>(a.v) && !std::get<bool>(a.v)))
        stop("generator-object", {{"name", word}});
  bool leaves = false;
  for (auto& [name, a] : node.kwargs) {
    if (name != "requires_grad" || !std::holds_alternative<bool>(a.v) || !std::get<bool>(a.v)) continue;
    if (entry_ambient_.inference_mode || torch::current_ambient().inference_mode) stop("creation-requires-grad", {{"op", node.name}});
    leaves = true;
  }
  const torch::Ambient now = log_.ambients.back();
  const bool grad_mode = now.records();
  auto answer = torch::infer(*graph_, callable, info, node.args, node.kwargs, grad_mode, &now);
  if (auto* failure = std::get_if<torch::InferFailure>(&answer); failure && failure->dynamic_number) {
    // The shape may depend on a number that was left open: each instance has its own, or it is guarded by its value.
    if (!logging_) {
      for (Value*& v : args) v = pin_numbers(v);
      for (auto& [name, v] : keywords) v = pin_numbers(v);
    }
    take_operands(logging_);
    answer = torch::infer(*graph_, callable, info, node.args, node.kwargs, grad_mode, &now);
  }
  if (std::holds_alternative<torch::InferFailure>(answer) && writes_at_number(info, args)) {
    // Which row is written is known by the value alone; what is written has its form all the same.
    PyErr_Clear();
    torch::Inferred whole;
    whole.structure = torch::Inferred::kNone;
    whole.written.push_back(args[0]->id);
    whole.written_meta.push_back(meta(args[0]));
    answer = std::move(whole);
    node.op = nullptr;
    close_all();
    writes_somewhere = true;
  }
  if (auto* failure = std::get_if<torch::InferFailure>(&answer)) {
    PyErr_Clear();
    if (const std::string_view name = node.name; name.ends_with(".conj") || name.ends_with(".adjoint") || name.ends_with(".H") || name.ends_with(".mH"))
      if (Value* lazy = call_made(callable, args, keywords, false)) return lazy;
    if (failure->why == torch::InferFailure::kRaises) quiet(node.name + ": " + failure->message, true);
    std::string reason = failure->reason.empty() ? "no-shape-rule" : std::string(failure->reason);
    if (settle_numbers(info, reason, args, keywords)) return torch_call(callable, info, args, keywords);
    stop(reason, {{"op", node.name}, {"value", failure->message}, {"name", node.name}});
  }
  auto& inferred = std::get<torch::Inferred>(answer);
  bool varying = !patches.empty();
  const auto note_varying = [&](graph::ValueId id) { varying = varying || varies(id); };
  if (logging_) {
    for (const graph::Arg& a : node.args) torch::visit_values(a, note_varying);
    for (const auto& [name, a] : node.kwargs) torch::visit_values(a, note_varying);
  }
  ShapeRecord record;
  record.callable = callable;
  record.patches = std::move(patches);
  record.grad_mode = grad_mode;
  if (inferred.structure == torch::Inferred::kConstant) {
    bool of_tensor = false;
    const auto look = [&](graph::ValueId id) { of_tensor = of_tensor || !graph_->values[static_cast<size_t>(id)].is_scalar; };
    for (const graph::Arg& a : node.args) torch::visit_values(a, look);
    for (const auto& [n, a] : node.kwargs) torch::visit_values(a, look);
    if (of_tensor && !info.answers_metadata) {
      if (info.name == "Tensor.storage_offset") return storage_offset(args[0]);
      stop("non-tensor-result", {{"op", node.name}, {"result_type", Py_TYPE(inferred.constant.get())->tp_name}});
    }
    Py_XINCREF(inferred.constant.get());
    Value* r = wrap(inferred.constant.get());
    record.args = std::move(node.args);
    record.kwargs = std::move(node.kwargs);
    record.answer = std::move(inferred);
    log_call(std::move(record), {}, varying);
    return r;
  }
  if (leaves) {
    for (graph::ShapeOut& out : inferred.outs) {
      if (out.alias_value != graph::kNoValue || !(graph::is_floating(out.meta.dtype) || graph::is_complex(out.meta.dtype)))
        stop("creation-requires-grad", {{"op", node.name}});
      out.meta.requires_grad = out.meta.is_leaf = true;
    }
    graph_->needs_grad = true;
  }
  const bool in_inference = now.inference_mode;
  bool of_inference = false;
  const auto see_inference = [&](graph::ValueId id) { of_inference = of_inference || is_inference(id); };
  if (!in_inference && !inference_.empty()) {
    for (graph::ValueId id : inferred.written)
      if (is_inference(id)) quiet(node.name + ": a write to an inference tensor", true);
    for (const graph::Arg& a : node.args) torch::visit_values(a, see_inference);
    for (const auto& [name, a] : node.kwargs) torch::visit_values(a, see_inference);
  }
  mutated();
  keep_borrowed(callable);
  node.mutates = info.in_place || !inferred.written.empty();
  node.random = info.random;
  node.may_fail = writes_somewhere || info.may_fail || (info.row && info.row->may_fail) || of_inference;
  if (history_written_ && (node.may_fail || write_may_fail(node)))
    quiet("a call that may fail after a write that autograd has recorded");  // a failing segment can't take that back
  node.multi = inferred.structure == torch::Inferred::kTuple || inferred.structure == torch::Inferred::kList ||
               inferred.structure == torch::Inferred::kNamedTuple;
  node.origin = origin();
  bool any_grad = false;
  auto see = [&](graph::ValueId id) {
    const graph::Value& g = graph_->values[static_cast<size_t>(id)];
    any_grad = any_grad || (!g.is_scalar && g.meta.requires_grad);
  };
  for (const graph::Arg& a : node.args) torch::visit_values(a, see);
  for (const auto& [n, a] : node.kwargs) torch::visit_values(a, see);
  if (grad_mode && any_grad) graph_->needs_grad = true;
  // Results.
  auto value_for = [&](graph::ShapeOut& out) -> Value* {
    if (out.same_value && out.alias_value != graph::kNoValue) {
      Value* same = tensor_values_[static_cast<size_t>(out.alias_value)];
      const graph::TensorMeta& before = graph_->values[static_cast<size_t>(out.alias_value)].meta;
      const bool reshaped = before.sizes != out.meta.sizes || before.strides != out.meta.strides || before.dtype != out.meta.dtype ||
                            before.storage_offset != out.meta.storage_offset;
      if (reshaped || out.moved_to != graph::kNoValue) {
        node.op = nullptr;  // no compiler's form of it leaves its operand behind
        becomes(same, out.meta, out.moved_to);
      }
      return same;
    }
    Value* v = make(Kind::kTensor);
    static PyTypeObject* tensor_type = nullptr;
    if (!tensor_type) {
      py::Ref t = py::check(PyImport_ImportModule("torch"));
      tensor_type = reinterpret_cast<PyTypeObject*>(PyObject_GetAttrString(t.get(), "Tensor"));
    }
    v->type = tensor_type;
    v->id = static_cast<graph::ValueId>(graph_->values.size());
    graph::Value g;
    if (varying) g.meta = out.meta;
    else g.meta = std::move(out.meta);
    g.producer = static_cast<int32_t>(graph_->nodes.size());
    g.storage = out.alias_value != graph::kNoValue ? graph_->values[static_cast<size_t>(out.alias_value)].storage : v->id;
    const bool view = out.alias_value != graph::kNoValue && info.name != "Tensor.detach" && info.name != "torch.detach" && info.name != "Tensor.data";
    graph_->values.push_back(std::move(g));
    note_tensor(v, view ? view_base_[static_cast<size_t>(out.alias_value)] : v->id);
    const bool own_memory = out.alias_value == graph::kNoValue;
    if (own_memory ? in_inference : is_inference(out.alias_value)) inference_.insert(view_base_[static_cast<size_t>(v->id)]);
    return v;
  };
  Value* result = nullptr;
  if (inferred.structure == torch::Inferred::kNone) {
    result = none();
  } else if (inferred.structure == torch::Inferred::kTensor) {
    result = value_for(inferred.outs[0]);
    node.outputs.push_back(result->id);
  } else {
    result = make(inferred.structure == torch::Inferred::kList ? Kind::kList : Kind::kTuple);
    result->loaded = true;
    if (inferred.structure == torch::Inferred::kNamedTuple) result->type = inferred.named_tuple;
    for (size_t i = 0; i < inferred.outs.size(); ++i) {
      if (i < inferred.non_tensors.size() && inferred.non_tensors[i]) {
        PyObject* c = inferred.non_tensors[i].get();
        Py_INCREF(c);
        result->items.push_back(wrap(c));
        node.outputs.push_back(graph::kNoValue);
        continue;
      }
      Value* v = value_for(inferred.outs[i]);
      result->items.push_back(v);
      node.outputs.push_back(v->id);
    }
    // torch._foreach_…_ hands back the very list or tuple that it was given.
    Value* given = !args.empty() ? force(args[0]) : !keywords.empty() ? force(keywords[0].second) : nullptr;
    for (const auto& [name, v] : keywords)
      if (is_name(name, "self")) given = force(v);
    if (info.in_place && given && (given->kind == Kind::kList || given->kind == Kind::kTuple) &&
        given->items == result->items)
      result = given;
  }
  for (size_t i = 0; i < inferred.written.size() && i < inferred.written_meta.size(); ++i) {
    const graph::TensorMeta& now = inferred.written_meta[i];
    const graph::TensorMeta& before = graph_->values[static_cast<size_t>(inferred.written[i])].meta;
    if (now.requires_grad && !before.requires_grad)
      came_to_require_grad(inferred.written[i], now);
    else if (now.requires_grad && before.is_leaf != now.is_leaf) {
      close_all();
      graph_->values[static_cast<size_t>(inferred.written[i])].meta.is_leaf = now.is_leaf;
    }
  }
  if (grad_mode) {
    for (graph::ValueId id : inferred.written) {
      const graph::ValueId base = view_base_[static_cast<size_t>(id)];
      const graph::Value& g = graph_->values[static_cast<size_t>(base)];
      if (g.producer < 0 && !g.is_scalar && g.meta.requires_grad) history_written_ = true;
    }
  }
  if (result && result->kind == Kind::kTensor && info.in_place && info.name == "Tensor.detach_") {
    for (size_t i = 0; i < graph_->values.size(); ++i)
      if (tensor_values_[i] && static_cast<graph::ValueId>(i) != result->id && view_base_[i] == view_base_[static_cast<size_t>(result->id)])
        quiet("detach_ of a tensor that has views");
    close_all();
    graph::TensorMeta& known = graph_->values[static_cast<size_t>(result->id)].meta;
    known.requires_grad = false;
    known.is_leaf = true;
  }
  if (varying) {
    record.node = static_cast<int32_t>(graph_->nodes.size());
    record.answer = std::move(inferred);
    std::vector<graph::ValueId> fresh;
    for (graph::ValueId id : node.outputs)
      if (id != graph::kNoValue && graph_->values[static_cast<size_t>(id)].producer == record.node) fresh.push_back(id);
    log_call(std::move(record), fresh, true);
  }
  graph_->nodes.push_back(std::move(node));
  return result;
}

}  // namespace breakline::trace
