// SPDX-License-Identifier: GPL-3.0-or-later
// Tensors that follow from constants alone (torch.tensor(3), torch.arange(n), torch.div of two numbers): a
// place that reads one needs no break. PyTorch computes them, once they are read.
#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "core/torch/ambient.h"
#include "core/torch/arg_object.h"
#include "core/trace/operand_forms.h"
#include "core/trace/tracer.h"
#include "core/trace/types.h"

namespace breakline::trace {

namespace {

constexpr int64_t kMostElements = 4096;
constexpr size_t kMostNodes = 64;

/// Reasons of calls that only lack a number that sits in a tensor.
constexpr std::string_view kLacksNumber[] = {"data-dependent-operator", "dynamic-slice", "tensor-index",
                                             "tensor-item"};

/// Kinds of reading that give numbers, truth values or lists of them.
bool reads_numbers(const torch::CallableInfo& info) {
  static constexpr std::string_view kReasons[] = {"tensor-item", "tensor-tolist", "tensor-index",
                                                  "data-dependent-branch", "data-dependent-operator"};
  return info.kind == torch::CallableKind::kReadsValue && !info.name.ends_with("__contains__") &&
         !info.name.ends_with("_assert_async") && !info.name.ends_with("_assert_scalar") &&
         std::find(std::begin(kReasons), std::end(kReasons), info.reason) != std::end(kReasons);
}

/// torch.ops.library.name: it may be anybody's, and act outside.
bool is_found_by_name(PyObject* callable) {
  return std::string_view(Py_TYPE(callable)->tp_name).starts_with("OpOverload");
}

/// The same for everything but what autograd does, which no value depends on.
bool same_but_for_grad(torch::Ambient a, const torch::Ambient& b) {
  a.grad_mode = b.grad_mode;
  return a == b;
}

}  // namespace

/// Collects the nodes behind a value; false when it depends on anything but constants, or may be written.
bool Tracer::settled_nodes(graph::ValueId id, std::unordered_set<int32_t>& nodes) const {
  const graph::Value& v = graph_->values[static_cast<size_t>(id)];
  if (v.is_scalar || v.producer < 0 || varies(id) || v.meta.device != graph::DeviceKind::kCpu ||
      v.meta.numel() > kMostElements)
    return false;
  if (!nodes.insert(v.producer).second) return true;
  const graph::Node& node = graph_->nodes[static_cast<size_t>(v.producer)];
  auto* callable = static_cast<PyObject*>(node.callable);
  const torch::CallableKind kind = torch::callable_info(callable).kind;
  if (nodes.size() > kMostNodes || node.mutates || node.random || node.ambient || is_found_by_name(callable))
    return false;
  if (kind != torch::CallableKind::kOp && kind != torch::CallableKind::kFactory) return false;
  bool settled = true;
  const auto look = [&](graph::ValueId operand) { settled = settled && settled_nodes(operand, nodes); };
  for (const graph::Arg& a : node.args) torch::visit_values(a, look);
  for (const auto& [name, a] : node.kwargs) torch::visit_values(a, look);
  return settled;
}

PyObject* Tracer::settled(Value* tensor) {
  if (force(tensor)->kind != Kind::kTensor || tensor->type == nullptr || is_overriding(tensor))
    return nullptr;
  std::unordered_set<int32_t> nodes;
  if (has_made_ || graph_->reshapes || !settled_nodes(tensor->id, nodes)) return nullptr;
  const torch::Ambient& entry = log_.ambients.front();
  if (entry.function_modes || entry.dispatch_modes || entry.functorch_levels) return nullptr;
  for (const torch::Ambient& later : log_.ambients)
    if (!same_but_for_grad(later, entry)) return nullptr;
  // Nothing that shares memory with one of them has been written.
  std::unordered_set<int32_t> storages;
  for (const int32_t n : nodes)
    for (const graph::ValueId id : graph_->nodes[static_cast<size_t>(n)].outputs)
      if (id != graph::kNoValue) storages.insert(graph_->values[static_cast<size_t>(id)].storage);
  bool written = false;
  const auto look = [&](graph::ValueId id) {
    written = written || storages.contains(graph_->values[static_cast<size_t>(id)].storage);
  };
  for (const graph::Node& node : graph_->nodes) {
    if (!node.mutates &&
        torch::callable_info(static_cast<PyObject*>(node.callable)).kind != torch::CallableKind::kUnknown)
      continue;
    for (const graph::Arg& a : node.args) torch::visit_values(a, look);
    for (const auto& [name, a] : node.kwargs) torch::visit_values(a, look);
  }
  if (written) return nullptr;
  // What the call warns of is said when the graph runs.
  static PyObject* quietly = polyfill_named("call_without_warnings");
  if (!quietly) return nullptr;
  std::vector<int32_t> order(nodes.begin(), nodes.end());
  std::sort(order.begin(), order.end());
  const auto value_of = [this](graph::ValueId id) -> PyObject* {
    const auto known = settled_.find(id);
    return known == settled_.end() ? nullptr : Py_NewRef(known->second.get());
  };
  for (const int32_t n : order) {
    if (settled_.contains(graph_->nodes[static_cast<size_t>(n)].outputs[0])) continue;
    const graph::Node& node = graph_->nodes[static_cast<size_t>(n)];
    py::Ref operands = py::check(PyTuple_New(static_cast<Py_ssize_t>(node.args.size()))),
            words = py::check(PyDict_New());
    bool whole = true;
    for (size_t i = 0; whole && i < node.args.size(); ++i) {
      PyObject* operand = torch::object_of(node.args[i], value_of);
      PyTuple_SET_ITEM(operands.get(), static_cast<Py_ssize_t>(i), operand);
      whole = operand != nullptr;
    }
    for (const auto& [name, a] : node.kwargs) {
      const py::Ref operand = py::Ref::steal(whole ? torch::object_of(a, value_of) : nullptr);
      whole = operand && PyDict_SetItemString(words.get(), name.c_str(), operand.get()) == 0;
    }
    py::Ref made;
    if (whole)
      made = py::Ref::steal(PyObject_CallFunctionObjArgs(quietly, static_cast<PyObject*>(node.callable),
                                                         operands.get(), words.get(), nullptr));
    if (!made || (node.multi ? !PySequence_Check(made.get()) : !torch::is_tensor(made.get()))) {
      PyErr_Clear();
      return nullptr;
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == graph::kNoValue) continue;
      py::Ref part = node.multi ? py::check(PySequence_GetItem(made.get(), static_cast<Py_ssize_t>(i)))
                                : py::Ref::borrow(made.get());
      settled_[node.outputs[i]] = std::move(part);
    }
  }
  return settled_.at(tensor->id).get();
}

Value* Tracer::read_settled(PyObject* callable, const torch::CallableInfo& info, const Values& args,
                            const Keywords& keywords) {
  if (!reads_numbers(info) || args.empty() || !keywords.empty()) return nullptr;
  std::vector<PyObject*> operands;
  for (Value* v : args) {
    operands.push_back(force(v)->kind == Kind::kTensor ? settled(v) : constant_of(v));
    if (!operands.back()) return nullptr;
  }
  PyObject* answer = PyObject_Vectorcall(callable, operands.data(), operands.size(), nullptr);
  if (answer) return wrap(answer);
  PyErr_Clear();  // the program's own line raises it
  return nullptr;
}

Value* Tracer::settled_number(Value* v, PyObject* type) {
  PyObject* tensor = settled(v);
  if (!tensor) return nullptr;
  const bool index = type == nullptr;
  PyObject* number = index ? PyNumber_Index(tensor) : PyObject_CallOneArg(type, tensor);
  if (number) return wrap(number);
  PyErr_Clear();
  return nullptr;
}

bool Tracer::settle_numbers(const torch::CallableInfo& info, std::string_view reason, Values& args,
                            Keywords& keywords) {
  if (std::find(std::begin(kLacksNumber), std::end(kLacksNumber), reason) == std::end(kLacksNumber))
    return false;
  bool found = false;
  const auto settle = [&](Value* v, const auto& self) -> Value* {
    if (!v) return v;
    force(v);
    if (v->kind == Kind::kTensor) {
      const graph::TensorMeta& m = meta(v);
      const bool integral =
          !graph::is_floating(m.dtype) && !graph::is_complex(m.dtype) && m.dtype != graph::DType::kBool;
      Value* number = integral && m.sizes.empty() ? settled_number(v, nullptr) : nullptr;
      found = found || number;
      return number ? number : v;
    }
    if (v->kind != Kind::kTuple && v->kind != Kind::kList && v->kind != Kind::kSlice) return v;
    if (v->kind == Kind::kList) list_load(v);
    return with_items(*this, v, [&](Value* i) { return self(i, self); });
  };
  const size_t first = info.name.starts_with("Tensor.") || info.name.ends_with("item")
                           ? 1
                           : 0;  // the tensor that is asked, or indexed
  for (size_t i = first; i < args.size(); ++i) args[i] = settle(args[i], settle);
  for (auto& [name, v] : keywords) v = settle(v, settle);
  return found;
}

}  // namespace breakline::trace
