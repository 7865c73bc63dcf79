// SPDX-License-Identifier: GPL-3.0-or-later
// Functions that PyTorch runs in a way of its own: activation checkpoints and the branches of torch.cond.
// They are traced like any other, and their nodes become a region of the graph. One that does more than
// compute tensors is called whole.
#include <algorithm>

#include "core/torch/arg_object.h"
#include "core/torch/tensor.h"
#include "core/trace/level.h"
#include "core/trace/tensor_forms.h"
#include "core/trace/tracer.h"
#include "core/trace/types.h"

namespace breakline::trace {

using graph::Region;
using graph::ValueId;

namespace {

/// Whether `object` is `module.name` of a module that the program has imported.
bool is_of_module(PyObject* object, const char* module, const char* name) {
  py::Ref m = py::Ref::steal(PyImport_GetModule(py::intern(module)));
  py::Ref found = m ? py::Ref::steal(PyObject_GetAttrString(m.get(), name)) : py::Ref();
  PyErr_Clear();
  return found.get() == object;
}

/// What the program asks of a checkpoint beyond the function and its operands.
struct CheckpointCall {
  bool reentrant = false;
  py::Ref options;  ///< dict for torch.utils.checkpoint.checkpoint
  Keywords rest;    ///< the function's own
};

/// False where the call is one that warns, raises or takes contexts of the program's own.
bool read_options(Tracer& t, const Keywords& keywords, CheckpointCall& call) {
  call.options = py::check(PyDict_New());
  bool said = false;
  for (const auto& [name, v] : keywords) {
    const std::string_view key = py::utf8(name);
    const bool flag =
        key == "use_reentrant" || key == "preserve_rng_state" || key == "early_stop" || key == "debug";
    if (!flag && key != "determinism_check" && key != "context_fn") {
      call.rest.emplace_back(name, v);
      continue;
    }
    PyObject* c = t.constant_of(v);
    if (!c || (flag && !PyBool_Check(c))) return false;
    if (key == "context_fn" && !is_of_module(c, "torch.utils.checkpoint", "noop_context_fn")) return false;
    if (key == "debug" && c == Py_True) return false;
    if (key == "use_reentrant") {
      said = true;
      call.reentrant = c == Py_True;
    }
    PyDict_SetItem(call.options.get(), name, c);
  }
  return said && (!call.reentrant || call.rest.empty());
}

bool is_switch(const graph::Node& n) {
  return n.ambient && n.name.find("set_grad_enabled") != std::string::npos;
}

/// The tensors of a function's result, in order; false when it is no tensor, nor a tuple or list of tensors
/// and constants.
bool tensors_of(Tracer& t, Value* result, Values& out) {
  const Level level(t, "result");
  if (t.force(result)->kind == Kind::kTensor) {
    out.push_back(result);
    return true;
  }
  if (result->kind != Kind::kTuple && (result->kind != Kind::kList || result->source >= 0))
    return t.constant_of(result) != nullptr;
  for (Value* v : result->items)
    if (!tensors_of(t, v, out)) return false;
  return true;
}

}  // namespace

void Tracer::call_whole() {
  whole_calls_.insert(outer_instruction_);
  throw Restart{};
}

Value* Tracer::traced_whole(Value* callee, Values args, Keywords keywords, Region& region) {
  const size_t effects = effects_.size(), touched = touched_.size();
  const size_t values = graph_->values.size();
  const auto gone = [&] {
    return std::count(tensor_values_.begin(), tensor_values_.begin() + static_cast<std::ptrdiff_t>(values),
                      nullptr);
  };
  const auto gone_before = gone();
  const torch::Ambient before = torch::current_ambient();
  region.first = static_cast<int>(graph_->nodes.size());
  Value* result = nullptr;
  try {
    result = call_nested(callee, std::move(args), std::move(keywords));
  } catch (Raise&) {
    call_whole();
  }
  region.last = static_cast<int>(graph_->nodes.size()) - 1;
  region.begin = region.first;
  region.end = region.last + 1;
  if (effects_.size() != effects || touched_.size() != touched || gone() != gone_before ||
      !(torch::current_ambient() == before))
    call_whole();
  if (region.last >= region.first) graph_->nodes[static_cast<size_t>(region.first)].may_fail = true;
  return result;
}

bool is_run_by_torch(PyObject* function) {
  PyObject* name = reinterpret_cast<PyFunctionObject*>(function)->func_name;
  if (!torch::available()) return false;
  if (name == py::intern("checkpoint")) return is_of_module(function, "torch.utils.checkpoint", "checkpoint");
  return name == py::intern("cond") && is_of_module(function, "torch", "cond");
}

Value* Tracer::call_with_region(PyObject* function, const Values& args, const Keywords& keywords) {
  if (!is_run_by_torch(function) || whole_calls_.contains(outer_instruction_) ||
      torch::current_ambient().inference_mode)
    return nullptr;
  const bool checkpoints = is_name(reinterpret_cast<PyFunctionObject*>(function)->func_name, "checkpoint");
  return checkpoints ? checkpoint(args, keywords) : conditional(args, keywords);
}

Value* Tracer::checkpoint(const Values& args, const Keywords& keywords) {
  if (args.empty()) return nullptr;
  static PyObject *caller = polyfill_named("run_checkpoint"),
                  *without_grad = polyfill_named("call_without_grad");
  CheckpointCall call;
  if (!caller || !without_grad || !read_options(*this, keywords, call)) return nullptr;
  Region region;
  Values operands;
  bool needs = false;
  for (size_t i = 1; i < args.size(); ++i) {
    if (force(args[i])->kind != Kind::kTensor) continue;
    if (std::find(operands.begin(), operands.end(), args[i]) != operands.end()) call_whole();
    operands.push_back(args[i]);
    argument(args[i]);  // an input of the graph, if it has not been one
    region.operands.push_back(args[i]->id);
    needs = needs || meta(args[i]).requires_grad;
  }
  // Without one PyTorch warns.
  if (call.reentrant && !needs) return nullptr;
  Value* callee = args[0];
  Values given(args.begin() + 1, args.end());
  if (call.reentrant) {
    given.insert(given.begin(), callee);
    callee = constant(without_grad);
  }
  Value* result = traced_whole(callee, given, call.rest, region);
  if (region.last < region.first) return result;
  Values results;
  if (!tensors_of(*this, result, results)) call_whole();
  std::vector<Region>& regions = graph_->regions;
  for (const Region& r : regions)
    if (r.first >= region.first && r.kind != Region::kCheckpoint) call_whole();
  const auto inside = [&](ValueId id) {
    return graph_->values[static_cast<size_t>(id)].producer >= region.first;
  };
  for (Value* v : results) {
    if (std::find(region.results.begin(), region.results.end(), v->id) != region.results.end()) {
      if (call.reentrant) call_whole();
    } else if (inside(v->id)) {
      region.results.push_back(v->id);
    } else if (call.reentrant) {
      call_whole();  // it comes back as another object
    }
  }
  if (call.reentrant) {
    if (result->kind == Kind::kList || region.results.empty() ||
        !is_switch(graph_->nodes[static_cast<size_t>(region.first)]) || !is_switch(graph_->nodes.back()))
      call_whole();
    if (result->kind == Kind::kTuple)
      for (Value* v : result->items)
        if (v->kind == Kind::kTuple || v->kind == Kind::kList) call_whole();
    ++region.begin;
    --region.end;
    for (ValueId id : region.results) {
      if (view_base_[static_cast<size_t>(id)] != id) call_whole();
      graph::TensorMeta& m = graph_->values[static_cast<size_t>(id)].meta;
      m.requires_grad =
          torch::current_ambient().records() && (graph::is_floating(m.dtype) || graph::is_complex(m.dtype));
      m.is_leaf = !m.requires_grad;
    }
    for (size_t i = 0; i < graph_->values.size();
         ++i)  // what shares memory with a result would have to be known as its view
      if (tensor_values_[i] && view_base_[i] != static_cast<ValueId>(i) &&
          std::find(region.results.begin(), region.results.end(), view_base_[i]) != region.results.end())
        call_whole();
  }
  py::Ref bind = py::Ref::steal(PyObject_CallOneArg(caller, call.options.get()));
  if (!bind) call_whole();
  region.caller = keep(bind.release());
  graph_->needs_grad = true;  // on the real tensors that autograd knows
  // Those within this one come after it.
  regions.insert(
      std::find_if(regions.begin(), regions.end(), [&](const Region& r) { return r.first >= region.first; }),
      region);
  return result;
}

Value* Tracer::conditional(const Values& args, const Keywords& keywords) {
  if (args.size() < 3 || args.size() > 4 || !keywords.empty()) return nullptr;
  Value* condition = args[0];
  if (force(condition)->kind != Kind::kTensor || meta(condition).numel() != 1 ||
      meta(condition).dtype != graph::DType::kBool)
    return nullptr;
  Values operands;
  if (args.size() == 4) {
    if (force(args[3])->kind != Kind::kTuple && (args[3]->kind != Kind::kList || args[3]->source >= 0))
      return nullptr;
    operands = args[3]->items;
  }
  for (Value* v : operands)
    if (force(v)->kind != Kind::kTensor) return nullptr;
  argument(condition);
  Region parts[2];
  Values results[2];
  const auto differ = [&](const graph::TensorMeta& a, const graph::TensorMeta& b) {
    return a.dtype != b.dtype || a.sizes != b.sizes || a.strides != b.strides || a.device != b.device ||
           a.storage_offset != b.storage_offset;
  };
  Value* shape[2] = {};
  close_all();  // sizes that are left open are not followed through a choice
  for (int k = 0; k < 2; ++k) {
    Region& r = parts[k];
    r.kind = Region::kBranch;
    r.condition = condition->id;
    r.wanted = k == 0;
    const size_t regions = graph_->regions.size();
    shape[k] = traced_whole(args[static_cast<size_t>(k) + 1], operands, {}, r);
    if (graph_->regions.size() != regions || !tensors_of(*this, shape[k], results[k])) call_whole();
    for (int n = r.first; n <= r.last; ++n) {
      const graph::Node& node = graph_->nodes[static_cast<size_t>(n)];
      if (node.mutates || node.random || node.ambient) call_whole();
    }
    for (Value* v : results[k]) {
      const graph::Value& g = graph_->values[static_cast<size_t>(v->id)];
      // PyTorch refuses results that are operands or share memory with them.
      if (g.producer < r.first || g.meta.requires_grad || std::string_view(v->type->tp_name) != "Tensor" ||
          std::count(results[k].begin(), results[k].end(), v) > 1)
        call_whole();
      for (size_t i = 0; i < graph_->values.size(); ++i)
        if (static_cast<ValueId>(i) != v->id && graph_->values[i].storage == g.storage &&
            (graph_->values[i].producer < r.first || tensor_values_[i] == nullptr))
          call_whole();
      r.results.push_back(v->id);
    }
  }
  if (results[0].size() != results[1].size() || results[0].empty() || shape[0]->kind != shape[1]->kind)
    call_whole();
  std::unordered_map<Value*, Value*> joined;
  for (size_t i = 0; i < results[0].size(); ++i) {
    const graph::TensorMeta m = meta(results[0][i]);
    if (differ(m, meta(results[1][i]))) call_whole();
    Value* v = make(Kind::kTensor);
    v->type = results[0][i]->type;
    v->type_guarded = true;
    v->id = static_cast<ValueId>(graph_->values.size());
    graph::Value g;
    g.meta = m;
    g.producer = parts[1].last;
    g.storage = v->id;
    graph_->values.push_back(std::move(g));
    note_tensor(v, v->id);
    for (Region& r : parts) r.joined.push_back(v->id);
    joined.emplace(results[0][i], v);
  }
  for (Region& r : parts) graph_->regions.push_back(std::move(r));
  if (shape[0]->kind == Kind::kTensor) return joined.at(shape[0]);
  Values items;
  for (size_t i = 0; i < shape[0]->items.size(); ++i) {
    const auto it = joined.find(shape[0]->items[i]);
    if (it == joined.end()) call_whole();
    items.push_back(it->second);
  }
  return shape[0]->kind == Kind::kTuple ? tuple(std::move(items)) : list(std::move(items));
}

}  // namespace breakline::trace
