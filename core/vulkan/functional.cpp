// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/vulkan/functional.h"

#include <algorithm>
#include <string>

#include "core/graph/op_table.h"
#include "core/python/ref.h"
#include "core/torch/tensor.h"
#include "core/vulkan/device_ops.h"

namespace breakline::vulkan {
namespace {

using graph::Arg;
using graph::Graph;
using graph::kNoValue;
using graph::Node;
using graph::Value;
using graph::ValueId;

/// torch.Tensor's method of that name as a borrowed object that lives on, or null.
PyObject* tensor_method(const std::string& name) {
  static PyObject* type = nullptr;
  if (!type) {
    py::Ref module = py::Ref::steal(PyImport_ImportModule("torch"));
    if (module) type = PyObject_GetAttrString(module.get(), "Tensor");
  }
  PyObject* method = type ? PyObject_GetAttrString(type, name.c_str()) : nullptr;
  if (!method) PyErr_Clear();
  return method;
}

void replace(Arg& arg, ValueId from, ValueId to) {
  if (auto* value = std::get_if<graph::Value_>(&arg.v)) {
    if (value->id == from) value->id = to;
  } else if (auto* seq = std::get_if<graph::ArgSeq>(&arg.v)) {
    for (Arg& item : seq->items) replace(item, from, to);
  }
}

/// The out-of-place name ("relu") of an in-place node that may be rewritten, else "".
std::string rewritable(const Graph& graph, int index) {
  const Node& node = graph.nodes[static_cast<size_t>(index)];
  if (!node.mutates || node.random || node.ambient || node.multi || !node.op) return "";
  if (node.op->scalar == graph::ScalarFn::kNone || !node.kwargs.empty()) return "";
  std::string name = node.name.substr(node.name.rfind('.') + 1);
  if (name.size() < 2 || name.back() != '_' || name.substr(0, 2) == "__" || !graph::find_op(name).in_place)
    return "";
  if (node.args.empty() || !node.args[0].is_value() || node.outputs.size() != 1) return "";
  ValueId id = node.args[0].id();
  const Value& value = graph.values[static_cast<size_t>(id)];
  if (node.outputs[0] != id || value.producer < 0 || value.storage < 0) return "";
  if (value.meta.dtype != graph::DType::kFloat32 || !value.meta.plain || !is_dense(value.meta)) return "";
  for (size_t i = 1; i < node.args.size(); i++) {
    const Arg& arg = node.args[i];
    if (arg.seq()) return "";
    if (!arg.is_value()) continue;
    const Value& other = graph.values[static_cast<size_t>(arg.id())];
    if (other.is_scalar || other.meta.dtype != value.meta.dtype || other.meta.rank() > value.meta.rank())
      return "";
  }
  for (size_t v = 0; v < graph.values.size(); v++) {
    const Value& other = graph.values[v];
    if (static_cast<ValueId>(v) != id && other.storage == value.storage && other.producer < index) return "";
  }
  name.pop_back();
  return name;
}

}  // namespace

std::shared_ptr<const Graph> without_in_place(std::shared_ptr<const Graph> graph) {
  std::shared_ptr<Graph> made;
  // An opaque callable may keep a tensor it was given, or return one that others hold.
  if (std::any_of(graph->nodes.begin(), graph->nodes.end(), [](const Node& n) { return !n.op; }))
    return graph;
  for (size_t n = 0; n < graph->nodes.size(); n++) {
    const Graph& now = made ? *made : *graph;
    std::string name = rewritable(now, static_cast<int>(n));
    PyObject* method = name.empty() ? nullptr : tensor_method(name);
    if (!method) continue;
    if (!made) made = std::make_shared<Graph>(*graph);
    Node& node = made->nodes[n];
    ValueId old = node.outputs[0];
    auto fresh = static_cast<ValueId>(made->values.size());
    int old_storage = made->values[static_cast<size_t>(old)].storage, storage = 0;
    for (const Value& value : made->values) storage = std::max(storage, value.storage + 1);
    Value value = made->values[static_cast<size_t>(old)];
    value.producer = static_cast<int32_t>(n);
    value.storage = storage;
    value.meta.storage_offset = 0;
    for (Value& other : made->values) {
      if (other.storage == old_storage && other.producer > static_cast<int32_t>(n)) other.storage = storage;
    }
    made->values.push_back(std::move(value));
    node.callable = method;
    node.name = "Tensor." + name;
    node.mutates = false;
    node.outputs[0] = fresh;
    for (size_t later = n + 1; later < made->nodes.size(); later++) {
      for (Arg& arg : made->nodes[later].args) replace(arg, old, fresh);
      for (auto& [key, arg] : made->nodes[later].kwargs) replace(arg, old, fresh);
      std::replace(made->nodes[later].outputs.begin(), made->nodes[later].outputs.end(), old, fresh);
    }
    std::replace(made->outputs.begin(), made->outputs.end(), old, fresh);
  }
  return made ? made : graph;
}

}  // namespace breakline::vulkan
