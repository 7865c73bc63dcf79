// SPDX-License-Identifier: GPL-3.0-or-later
// What the test extensions of the plans share: a graph recorded from calls on real tensors, and a capsule
// that holds a plan of it.
#pragma once

#include <map>

#include "core/graph/op_table.h"
#include "core/torch/arg_object.h"
#include "core/torch/node_runner.h"
#include "core/torch/registry.h"
#include "core/torch/tensor.h"

namespace breakline::test {

using graph::ValueId;

struct Recorded {
  std::shared_ptr<graph::Graph> graph = std::make_shared<graph::Graph>();
  std::vector<py::Ref> keep;  ///< tensors while their addresses name values
  std::map<PyObject*, ValueId> ids;
  std::map<const void*, int32_t> storages;

  ValueId id_of(PyObject* tensor) {
    const auto [it, fresh] = ids.emplace(tensor, static_cast<ValueId>(graph->values.size()));
    if (!fresh) return it->second;
    keep.push_back(py::Ref::borrow(tensor));
    graph::Value value;
    value.meta = torch::meta_of(tensor);
    const void* begin = torch::storage_of(tensor).begin;
    // An empty tensor has no address: it shares memory with nothing.
    const auto next = static_cast<int32_t>(storages.size());
    if (!begin) begin = tensor;
    value.storage = storages.emplace(begin, next).first->second;
    graph->values.push_back(std::move(value));
    return it->second;
  }
};

inline void add_outputs(Recorded& r, graph::Node& node, PyObject* result, int index) {
  const auto add = [&](PyObject* item) {
    if (!torch::is_tensor(item)) return node.outputs.push_back(graph::kNoValue);
    const bool known = r.ids.count(item) != 0;
    const ValueId id = r.id_of(item);
    if (!known) r.graph->values[static_cast<size_t>(id)].producer = index;
    node.outputs.push_back(id);
  };
  if (PyTuple_Check(result) || PyList_Check(result)) {
    node.multi = true;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); ++i)
      add(PySequence_Fast_GET_ITEM(result, i));
  } else {
    add(result);
  }
}

/// A row of the op table, or one with the name and scalar function given where the table has none.
inline const graph::OpRow* row_of(const torch::CallableInfo& info, const char* name, int scalar) {
  if (info.row || (!name && !scalar)) return info.row;
  static std::map<std::pair<std::string, int>, graph::OpRow> rows;
  auto [it, fresh] = rows.try_emplace(std::make_pair(std::string(name ? name : ""), scalar));
  if (fresh) {
    it->second.name = it->first.first;
    it->second.scalar = static_cast<graph::ScalarFn>(scalar);
    if (scalar) it->second.kind = graph::OpKind::kPointwise;
  }
  return &it->second;
}

/// One call: (callable, args, kwargs, result, mutates[, row name or None[, scalar function or 0]]); the last
/// two count where the op table does not know the callable.
inline bool add_call(Recorded& r, PyObject* call) {
  PyObject *callable, *args, *kwargs, *result;
  int mutates = 0, scalar = 0;
  const char* row_name = nullptr;
  if (!PyArg_ParseTuple(call, "OO!O!Op|zi", &callable, &PyTuple_Type, &args, &PyDict_Type, &kwargs, &result,
                        &mutates, &row_name, &scalar)) {
    return false;
  }
  const auto id_of = [&](PyObject* tensor) { return r.id_of(tensor); };
  const torch::CallableInfo& info = torch::callable_info(callable);
  graph::Node node;
  node.op = row_of(info, row_name, scalar);
  node.callable = Py_NewRef(callable);
  node.name = info.name.empty() && row_name ? row_name : info.name;
  node.mutates = mutates || info.in_place;
  node.random = info.random;
  node.reversed = info.reversed;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
    PyObject* arg = PyTuple_GET_ITEM(args, i);
    r.keep.push_back(py::Ref::borrow(arg));
    node.args.push_back(torch::arg_of(arg, id_of));
  }
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t position = 0;
  while (PyDict_Next(kwargs, &position, &key, &value)) {
    r.keep.push_back(py::Ref::borrow(value));
    node.kwargs.emplace_back(py::utf8(key), torch::arg_of(value, id_of));
  }
  add_outputs(r, node, result, static_cast<int>(r.graph->nodes.size()));
  r.graph->nodes.push_back(std::move(node));
  return true;
}

/// What a capsule holds.
struct Held {
  std::shared_ptr<graph::Graph> graph;
  std::unique_ptr<graph::Plan> plan;
  std::vector<py::Ref> keep;
};
constexpr const char* kCapsule = "breakline.test.plan";

inline Held* held_of(PyObject* capsule) {
  return static_cast<Held*>(PyCapsule_GetPointer(capsule, kCapsule));
}

/// Makes a plan of a recorded graph: (graph, name) -> plan.
using MakePlan = std::unique_ptr<graph::Plan> (*)(std::shared_ptr<graph::Graph>, std::string_view);

/// make_plan(inputs, calls, outputs, name, needs_grad=False) -> capsule
inline PyObject* make_plan(PyObject* args, MakePlan make) {
  PyObject *inputs, *calls, *outputs;
  const char* name;
  int needs_grad = 0;
  if (!PyArg_ParseTuple(args, "O!O!O!s|p", &PyList_Type, &inputs, &PyList_Type, &calls, &PyList_Type,
                        &outputs, &name, &needs_grad)) {
    return nullptr;
  }
  Recorded r;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(inputs); ++i) {
    const ValueId id = r.id_of(PyList_GET_ITEM(inputs, i));
    r.graph->values[static_cast<size_t>(id)].input = static_cast<int32_t>(i);
    r.graph->inputs.push_back(id);
  }
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(calls); ++i) {
    if (!add_call(r, PyList_GET_ITEM(calls, i))) return nullptr;
  }
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(outputs); ++i) {
    r.graph->outputs.push_back(r.id_of(PyList_GET_ITEM(outputs, i)));
  }
  r.graph->grad_mode = needs_grad;
  r.graph->needs_grad = needs_grad;
  auto held = std::make_unique<Held>();
  held->graph = r.graph;
  held->plan = make(r.graph, name);
  // Constants among the arguments stay alive; tensors of the recording do not.
  for (py::Ref& object : r.keep) {
    if (!torch::is_tensor(object.get())) held->keep.push_back(object);
  }
  return PyCapsule_New(held.release(), kCapsule, [](PyObject* capsule) { delete held_of(capsule); });
}

/// run(plan, inputs) -> outputs
inline PyObject* run_plan(PyObject*, PyObject* args) {
  PyObject *capsule, *inputs;
  if (!PyArg_ParseTuple(args, "OO!", &capsule, &PyList_Type, &inputs)) return nullptr;
  Held* held = held_of(capsule);
  if (!held) return nullptr;
  std::vector<graph::ObjectHandle> in, out(held->graph->outputs.size(), nullptr);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(inputs); ++i) in.push_back(PyList_GET_ITEM(inputs, i));
  if (held->plan->run(in.data(), out.data()) >= 0) return nullptr;
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(out.size()));
  for (size_t i = 0; i < out.size(); ++i) {
    PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), static_cast<PyObject*>(out[i]));
  }
  return list;
}

/// The kernels of a plan: a list of (name, device, nodes, source).
inline PyObject* kernels_of(const graph::PlanInfo& info) {
  PyObject* kernels = PyList_New(0);
  for (const graph::KernelInfo& kernel : info.kernels) {
    PyObject* nodes = PyList_New(0);
    for (const int node : kernel.nodes) PyList_Append(nodes, py::Ref::steal(PyLong_FromLong(node)).get());
    const py::Ref row = py::Ref::steal(
        Py_BuildValue("(ssNs)", kernel.name.c_str(), kernel.device.c_str(), nodes, kernel.text().c_str()));
    PyList_Append(kernels, row.get());
  }
  return kernels;
}

}  // namespace breakline::test
