// SPDX-License-Identifier: GPL-3.0-or-later
// Python module _bl_vulkan_test: builds a graph from recorded calls on real tensors, runs it by the Vulkan
// plans, and shows the device layer's counters.
#include <map>

#include "core/graph/op_table.h"
#include "core/torch/arg_object.h"
#include "core/torch/node_runner.h"
#include "core/torch/registry.h"
#include "core/torch/tensor.h"
#include "core/vulkan/info.h"
#include "core/vulkan/vulkan_plan.h"

namespace {

using namespace breakline;
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
    if (!begin) begin = tensor;  // an empty tensor shares memory with nothing
    value.storage = storages.emplace(begin, static_cast<int32_t>(storages.size())).first->second;
    graph->values.push_back(std::move(value));
    return it->second;
  }
};

void add_outputs(Recorded& r, graph::Node& node, PyObject* result, int index) {
  const auto add = [&](PyObject* item) {
    if (!torch::is_tensor(item)) return node.outputs.push_back(graph::kNoValue);
    const bool known = r.ids.contains(item);
    const ValueId id = r.id_of(item);
    if (!known) r.graph->values[static_cast<size_t>(id)].producer = index;
    node.outputs.push_back(id);
  };
  node.multi = PyTuple_Check(result) || PyList_Check(result);
  if (!node.multi) return add(result);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); ++i) add(PySequence_Fast_GET_ITEM(result, i));
}

/// A row of the op table, or one with just the name where the table has none (then no shape rule is needed
/// here).
const graph::OpRow* row_of(const torch::CallableInfo& info, const char* name) {
  if (info.row || !name) return info.row;
  static std::map<std::string, graph::OpRow> rows;
  auto [it, fresh] = rows.try_emplace(name);
  it->second.name = it->first;
  return &it->second;
}

/// One call: (callable, args, kwargs, result, mutates, row name or None).
bool add_call(Recorded& r, PyObject* call) {
  PyObject *callable, *args, *kwargs, *result;
  int mutates = 0;
  const char* row_name = nullptr;
  if (!PyArg_ParseTuple(call, "OO!O!Opz", &callable, &PyTuple_Type, &args, &PyDict_Type, &kwargs, &result,
                        &mutates, &row_name)) {
    return false;
  }
  const auto id_of = [&](PyObject* tensor) { return r.id_of(tensor); };
  const torch::CallableInfo& info = torch::callable_info(callable);
  graph::Node node;
  node.op = row_of(info, row_name);
  node.callable = Py_NewRef(callable);
  node.name = info.name.empty() && row_name ? row_name : info.name;
  node.mutates = mutates || info.in_place;
  node.random = info.random;
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

struct Held {
  std::shared_ptr<graph::Graph> graph;
  std::unique_ptr<graph::Plan> plan;
  std::vector<py::Ref> keep;
};
constexpr const char* kCapsule = "bl_vulkan_test.plan";
void drop(PyObject* capsule) { delete static_cast<Held*>(PyCapsule_GetPointer(capsule, kCapsule)); }
Held* held_of(PyObject* capsule) { return static_cast<Held*>(PyCapsule_GetPointer(capsule, kCapsule)); }

PyObject* make_plan(PyObject*, PyObject* args) {
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
  const std::string_view wanted = name;
  if (wanted == "vulkan") {
    held->plan = vulkan::make_vulkan_plan(r.graph, "");
  } else if (wanted == "vulkan_eager") {
    held->plan = vulkan::make_vulkan_eager_plan(r.graph, "");
  } else {
    held->plan = torch::make_replay_plan(r.graph, "asked for");
  }
  // Constants among the arguments stay alive; tensors of the recording do not.
  for (py::Ref& object : r.keep) {
    if (!torch::is_tensor(object.get())) held->keep.push_back(object);
  }
  return PyCapsule_New(held.release(), kCapsule, &drop);
}

PyObject* run_plan(PyObject*, PyObject* args) {
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

PyObject* plan_info(PyObject*, PyObject* capsule) {
  Held* held = held_of(capsule);
  if (!held) return nullptr;
  const graph::PlanInfo& info = held->plan->info();
  PyObject* kernels = PyList_New(0);
  for (const graph::KernelInfo& kernel : info.kernels) {
    PyObject* nodes = PyList_New(0);
    for (const int node : kernel.nodes) PyList_Append(nodes, py::Ref::steal(PyLong_FromLong(node)).get());
    const py::Ref row = py::Ref::steal(
        Py_BuildValue("(ssNs)", kernel.name.c_str(), kernel.device.c_str(), nodes, kernel.source.c_str()));
    PyList_Append(kernels, row.get());
  }
  PyObject* times = PyList_New(0);
  for (const double t : vulkan::kernel_times_us(*held->plan)) {
    PyList_Append(times, py::Ref::steal(PyFloat_FromDouble(t)).get());
  }
  return Py_BuildValue("{s:s,s:s,s:N,s:d,s:N}", "plan", info.plan.c_str(), "reason", info.reason.c_str(),
                       "kernels", kernels, "compile_us", info.compile_us, "times_us", times);
}

PyObject* initialize(PyObject*, PyObject*) { return PyBool_FromLong(torch::initialize()); }

PyObject* device(PyObject*, PyObject*) {
  const vulkan::VulkanInfo info = vulkan::vulkan_info();
  return Py_BuildValue("{s:O,s:s,s:s,s:O,s:O}", "available", info.available ? Py_True : Py_False, "name",
                       info.name.c_str(), "reason", info.reason.c_str(), "software",
                       info.software ? Py_True : Py_False, "validation",
                       vulkan::validation_active() ? Py_True : Py_False);
}

PyObject* options(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* kNames[] = {"validation", "staging", "barriers", "device", nullptr};
  int validation = 0, staging = 0, barriers = 0;
  const char* name = "";
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$ppps", const_cast<char**>(kNames), &validation, &staging,
                                   &barriers, &name)) {
    return nullptr;
  }
  vulkan::set_vulkan_options({.validation = validation != 0,
                              .force_staging = staging != 0,
                              .force_barriers = barriers != 0,
                              .device = name});
  Py_RETURN_NONE;
}

PyObject* shutdown(PyObject*, PyObject*) {
  vulkan::shutdown_vulkan();
  Py_RETURN_NONE;
}

PyObject* messages(PyObject*, PyObject*) {
  PyObject* list = PyList_New(0);
  for (const std::string& text : vulkan::validation_messages()) {
    PyList_Append(list, py::Ref::steal(PyUnicode_FromString(text.c_str())).get());
  }
  return list;
}

PyObject* stats(PyObject*, PyObject*) {
  const vulkan::VulkanStats s = vulkan::vulkan_stats();
  const auto n = [](int64_t v) { return static_cast<long long>(v); };
  return Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:L}", "device_bytes", n(s.device_bytes),
                       "resident_bytes", n(s.resident_bytes), "uploads", n(s.uploads), "upload_bytes",
                       n(s.upload_bytes), "resident_hits", n(s.resident_hits), "stale_retries",
                       n(s.stale_retries), "downloads", n(s.downloads), "submits", n(s.submits), "dispatches",
                       n(s.dispatches), "pipelines", n(s.pipelines));
}

PyObject* lose_device(PyObject*, PyObject* count) {
  vulkan::inject_device_loss(static_cast<int>(PyLong_AsLong(count)));
  Py_RETURN_NONE;
}

PyObject* timestamps(PyObject*, PyObject* on) {
  vulkan::set_kernel_timestamps(PyObject_IsTrue(on) == 1);
  Py_RETURN_NONE;
}

PyMethodDef kMethods[] = {
    {"initialize", &initialize, METH_NOARGS, "initialize() -> bool, after torch is imported"},
    {"make_plan", &make_plan, METH_VARARGS, "make_plan(inputs, calls, outputs, name, needs_grad=False)"},
    {"run", &run_plan, METH_VARARGS, "run(plan, inputs) -> outputs"},
    {"info", &plan_info, METH_O, "info(plan) -> dict"},
    {"device", &device, METH_NOARGS, "vulkan_info()"},
    {"options", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&options)),
     METH_VARARGS | METH_KEYWORDS, "set_vulkan_options"},
    {"shutdown", &shutdown, METH_NOARGS, "shutdown_vulkan()"},
    {"messages", &messages, METH_NOARGS, "validation_messages()"},
    {"stats", &stats, METH_NOARGS, "vulkan_stats()"},
    {"lose_device", &lose_device, METH_O, "inject_device_loss(count)"},
    {"timestamps", &timestamps, METH_O, "set_kernel_timestamps(on)"},
    {nullptr, nullptr, 0, nullptr},
};
PyModuleDef kModule = {
    PyModuleDef_HEAD_INIT, "_bl_vulkan_test", nullptr, -1, kMethods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__bl_vulkan_test() { return PyModule_Create(&kModule); }
