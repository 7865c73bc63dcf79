// SPDX-License-Identifier: GPL-3.0-or-later
// Outputs of a call: the op table's shape rule when it answers, else the meta-tensor call.
#include <algorithm>
#include <unordered_map>

#include "core/torch/ambient.h"
#include "core/torch/arg_object.h"
#include "core/torch/autocast.h"
#include "core/torch/library.h"
#include "core/torch/meta_call.h"
#include "core/torch/registry.h"

namespace breakline::torch {
namespace {

using graph::Arg;
using graph::ValueId;

int64_t rule_hits = 0;

InferFailure unsupported(std::string message, std::string_view reason) {
  InferFailure f;
  f.why = InferFailure::kUnsupported;
  f.reason = reason;
  f.message = std::move(message);
  return f;
}

bool has_keyword(const Call& call, std::string_view name) {
  return std::any_of(call.kwargs.begin(), call.kwargs.end(),
                     [name](const auto& k) { return k.first == name && !k.second.is_none(); });
}

InferFailure open_number() {
  InferFailure f = unsupported("a dynamic number where the shape may depend on it", "no-shape-rule");
  f.dynamic_number = true;
  return f;
}

std::optional<InferFailure> check_operands(const Call& call, bool& has_scalar) {
  for (ValueId id : call.operands) {
    const graph::Value& v = call.graph.values[static_cast<size_t>(id)];
    if (v.is_scalar) {
      has_scalar = true;
    } else if (!v.meta.plain) {
      return unsupported("an operand is no ordinary strided tensor", "tensor-subclass");
    } else if (v.meta.device != graph::DeviceKind::kCpu && v.meta.device != graph::DeviceKind::kMeta) {
      return unsupported("an operand is on another device", "foreign-device");
    } else if (graph::item_size(v.meta.dtype) == 0) {
      return unsupported("an operand has a dtype that is not handled", "no-shape-rule");
    }
  }
  return std::nullopt;
}

/// torch.return_types.<name>, borrowed; null when this PyTorch lacks it.
PyTypeObject* return_type(std::string_view name) {
  static auto& found = *new std::unordered_map<std::string_view, PyTypeObject*>;
  const auto it = found.find(name);
  if (it != found.end()) return it->second;
  const py::Ref module = py::Ref::steal(PyImport_ImportModule("torch.return_types"));
  const py::Ref key =
      py::Ref::steal(PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size())));
  PyObject* type = module && key ? PyObject_GetAttr(module.get(), key.get()) : nullptr;
  if (!type) PyErr_Clear();
  return found[name] = reinterpret_cast<PyTypeObject*>(type);
}

std::optional<Inferred> by_rule(const Call& call, graph::DType default_dtype) {
  const graph::OpRow* row = call.info.row;
  if (!row || !row->rule || has_keyword(call, "out")) return std::nullopt;
  graph::ShapeCall shape;
  shape.graph = &call.graph;
  shape.args = call.args;
  shape.kwargs = call.kwargs;
  shape.grad_mode = call.grad_mode;
  shape.in_place = call.info.in_place;
  shape.default_dtype = default_dtype;
  std::vector<Arg> swapped;
  if (call.info.reversed && call.args.size() == 2) {
    swapped = {call.args[1], call.args[0]};
    shape.args = swapped;
    shape.reversed = true;
  }
  auto outs = row->rule(shape, *row);
  if (!outs) return std::nullopt;
  ++rule_hits;
  Inferred answer;
  answer.structure = shape.returns_list ? Inferred::kTuple : Inferred::kTensor;
  answer.outs = std::move(*outs);
  if (!shape.returns_named.empty()) {
    answer.named_tuple = return_type(shape.returns_named);
    if (!answer.named_tuple) return std::nullopt;
    answer.structure = Inferred::kNamedTuple;
  }
  answer.non_tensors.resize(answer.outs.size());
  for (graph::ShapeOut& out : answer.outs) {
    if (out.alias >= 0 && shape.args[static_cast<size_t>(out.alias)].is_value()) {
      out.alias_value = shape.args[static_cast<size_t>(out.alias)].id();
      if (!swapped.empty()) out.alias = 1 - out.alias;
    }
  }
  const auto wrote = [&](const Arg& a, const graph::TensorMeta* now) {
    if (!a.is_value()) return;
    answer.written.push_back(a.id());
    answer.written_meta.push_back(now ? *now : call.graph.values[static_cast<size_t>(a.id())].meta);
  };
  if (call.info.in_place && !call.args.empty()) {
    wrote(call.args[0], answer.outs.empty() ? nullptr : &answer.outs[0].meta);
  }
  for (size_t i : shape.also_written) wrote(call.args[i], nullptr);
  if (row->name == "setitem") {  // returns None; its one "output" was the written operand
    answer.structure = Inferred::kNone;
    answer.outs.clear();
    answer.non_tensors.clear();
  }
  return answer;
}

InferFailure data_dependent(std::string message, std::string_view reason) {
  InferFailure f;
  f.why = InferFailure::kDataDependent;
  f.reason = reason;
  f.message = std::move(message);
  return f;
}

/// x[mask] has a shape that depends on the mask; one_hot without a class count reads its operand.
std::optional<InferFailure> data_dependent_index(const Call& call) {
  const std::string_view row = call.info.row ? call.info.row->name : "";
  if (row == "one_hot") {
    const bool counted = call.args.size() > 1 ? !std::holds_alternative<int64_t>(call.args[1].v) ||
                                                    std::get<int64_t>(call.args[1].v) >= 0
                                              : has_keyword(call, "num_classes");
    if (!counted) return data_dependent("one_hot without num_classes", "one-hot-classes");
  }
  if (row == "repeat_interleave") {
    const bool counts =
        call.args.size() > 1 ? call.args[1].is_value() : call.args.size() == 1 && call.kwargs.empty();
    if (counts && !has_keyword(call, "output_size"))
      return data_dependent("repeat counts from a tensor", "dynamic-shape");
  }
  if (call.info.name == "torch.where" && call.args.size() + call.kwargs.size() == 1)
    return data_dependent("where with a condition only", "dynamic-shape");
  if (row != "getitem" || call.args.size() != 2) return std::nullopt;
  bool mask = false;
  const auto look = [&](const Arg& a) {
    if (!a.is_value()) return;
    const graph::Value& v = call.graph.values[static_cast<size_t>(a.id())];
    mask = mask ||
           (!v.is_scalar && (v.meta.dtype == graph::DType::kBool || v.meta.dtype == graph::DType::kUInt8));
  };
  look(call.args[1]);
  if (const graph::ArgSeq* seq = call.args[1].seq())
    std::for_each(seq->items.begin(), seq->items.end(), look);
  if (mask) return data_dependent("indexing by a mask", "dynamic-shape");
  return std::nullopt;
}

std::variant<Inferred, InferFailure> infer_under_autocast(const Call& call, const Ambient& now, bool has_scalar) {
  const auto lower = static_cast<graph::DType>(now.autocast_cpu_dtype);
  const AutocastPolicy policy = autocast_policy(call.info);
  if (policy == AutocastPolicy::kUnknown && !has_scalar && !call.info.random && !call.info.name.starts_with("torch.ops")) {
    // A composite op: what autocast does inside it shows on real tensors only. The process is in the traced place's state.
    auto without = infer_by_meta(call);
    if (std::holds_alternative<InferFailure>(without)) return without;  // metadata that depend on data, or an error
    CallableInfo info = call.info;
    info.ask_real = true;
    return infer_by_meta(Call{call.graph, call.callable, info, call.args, call.kwargs, call.grad_mode, call.operands});
  }
  if (policy == AutocastPolicy::kUnknown) {
    return unsupported(call.info.name + ": what autocast does to it is not modelled", "global-state");
  }
  for (ValueId id : call.operands) {
    const graph::DType t = call.graph.values[static_cast<size_t>(id)].meta.dtype;
    const bool half = t == graph::DType::kBFloat16 || t == graph::DType::kFloat16;
    if (policy == AutocastPolicy::kPromote && half && t != lower) {
      return unsupported("autocast refuses to join this dtype", "op-error");
    }
  }
  const graph::Graph seen = after_casts(call, policy, lower);
  const Call cast{seen, call.callable, call.info, call.args, call.kwargs, call.grad_mode, call.operands};
  if (auto answer = by_rule(cast, static_cast<graph::DType>(now.default_dtype))) return std::move(*answer);
  if (has_scalar) return open_number();
  return infer_by_meta(cast);
}

}  // namespace

std::variant<Inferred, InferFailure> infer(const graph::Graph& graph, PyObject* callable,
                                           const CallableInfo& info, std::span<const Arg> args,
                                           std::span<const std::pair<std::string, Arg>> kwargs,
                                           bool grad_mode, const Ambient* known) {
  Call call{graph, callable, info, args, kwargs, grad_mode, {}};
  const auto note = [&call](ValueId id) {
    if (std::find(call.operands.begin(), call.operands.end(), id) == call.operands.end())
      call.operands.push_back(id);
  };
  for (const Arg& a : args) visit_values(a, note);
  for (const auto& [name, a] : kwargs) visit_values(a, note);
  bool has_scalar = false;
  if (auto bad = check_operands(call, has_scalar)) return *bad;
  if (info.dynamic_shape) {
    InferFailure f;
    f.why = InferFailure::kDataDependent;
    f.reason = "dynamic-shape";
    f.message = info.name + ": the output's shape depends on data";
    return f;
  }
  if (auto bad = data_dependent_index(call)) return *bad;
  const Ambient now = known ? *known : current_ambient();
  if (now.autocast_other) return unsupported("autocast is on for another device", "global-state");
  if (now.autocast_cpu)
    return infer_under_autocast(call, now, has_scalar);
  if (auto answer = by_rule(call, static_cast<graph::DType>(now.default_dtype))) return std::move(*answer);
  if (has_scalar) return open_number();
  // Of numbers alone (torch.div(7, 2)) PyTorch makes a real tensor, wherever it is asked.
  const bool numbers_alone = call.operands.empty() && info.row && info.row->kind == graph::OpKind::kPointwise;
  const bool nothing_in = numbers_alone || std::any_of(call.operands.begin(), call.operands.end(), [&graph](ValueId id) {
    return graph.values[static_cast<size_t>(id)].meta.numel() == 0;
  });
  if (nothing_in && !info.random && !info.ask_real) {
    // PyTorch's meta functions differ in the strides of what is empty; the real ones cost little there.
    CallableInfo real = info;
    real.ask_real = true;
    auto answer = infer_by_meta(Call{graph, callable, real, args, kwargs, grad_mode, call.operands});
    if (std::holds_alternative<Inferred>(answer)) return answer;
  }
  return infer_by_meta(call);
}

InferStats infer_stats() { return {rule_hits, meta_call_count(), meta_call_us()}; }

}  // namespace breakline::torch
