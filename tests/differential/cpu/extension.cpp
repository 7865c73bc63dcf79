// SPDX-License-Identifier: GPL-3.0-or-later
// Python module _bl_cpu_test: builds a graph from recorded calls on real tensors and runs it by the cpu or
// the replay plan.
#include <map>

#include "core/cpu/cpu_plan.h"
#include "core/cpu/jit_loader.h"
#include "core/graph/op_table.h"
#include "core/schedule/memory.h"
#include "core/schedule/schedule.h"
#include "core/torch/arg_object.h"
#include "core/torch/node_runner.h"
#include "core/torch/registry.h"
#include "core/torch/tensor.h"

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
    // An empty tensor has no address: it shares memory with nothing.
    const auto next = static_cast<int32_t>(storages.size());
    if (!begin) begin = tensor;
    value.storage = storages.emplace(begin, next).first->second;
    graph->values.push_back(std::move(value));
    return it->second;
  }
};

void add_outputs(Recorded& r, graph::Node& node, PyObject* result, int index) {
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

/// One call: (callable, args, kwargs, result, mutates, row name or None, scalar function or 0); the last two
/// count where the op table does not know the callable.
bool add_call(Recorded& r, PyObject* call) {
  PyObject *callable, *args, *kwargs, *result;
  int mutates = 0, scalar = 0;
  const char* row_name = nullptr;
  if (!PyArg_ParseTuple(call, "OO!O!Opzi", &callable, &PyTuple_Type, &args, &PyDict_Type, &kwargs, &result,
                        &mutates, &row_name, &scalar)) {
    return false;
  }
  const auto id_of = [&](PyObject* tensor) { return r.id_of(tensor); };
  const torch::CallableInfo& info = torch::callable_info(callable);
  graph::Node node;
  node.op = info.row;
  if (scalar && !node.op) {
    static std::map<std::pair<std::string, int>, graph::OpRow> rows;
    const auto key = std::make_pair(std::string(row_name ? row_name : ""), scalar);
    auto [it, fresh] = rows.try_emplace(key);
    if (fresh) {
      it->second.name = it->first.first;
      it->second.kind = graph::OpKind::kPointwise;
      it->second.scalar = static_cast<graph::ScalarFn>(scalar);
    }
    node.op = &it->second;
  }
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

/// What the capsule holds.
struct Held {
  std::shared_ptr<graph::Graph> graph;
  std::unique_ptr<graph::Plan> plan;
  std::vector<py::Ref> keep;
};
constexpr const char* kCapsule = "bl_cpu_test.plan";
void drop(PyObject* capsule) { delete static_cast<Held*>(PyCapsule_GetPointer(capsule, kCapsule)); }

PyObject* make_plan(PyObject*, PyObject* args) {
  PyObject *inputs, *calls, *outputs;
  const char* name;
  if (!PyArg_ParseTuple(args, "O!O!O!s", &PyList_Type, &inputs, &PyList_Type, &calls, &PyList_Type, &outputs,
                        &name)) {
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
  r.graph->grad_mode = false;
  auto held = std::make_unique<Held>();
  held->graph = r.graph;
  const bool cpu = std::string_view(name) == "cpu";
  held->plan = cpu ? cpu::make_cpu_plan(r.graph, "") : torch::make_replay_plan(r.graph, "asked for");
  // Constants among the arguments stay alive; tensors of the recording do not.
  for (py::Ref& object : r.keep) {
    if (!torch::is_tensor(object.get())) held->keep.push_back(object);
  }
  return PyCapsule_New(held.release(), kCapsule, &drop);
}

Held* held_of(PyObject* capsule) { return static_cast<Held*>(PyCapsule_GetPointer(capsule, kCapsule)); }

PyObject* run_plan(PyObject*, PyObject* args) {
  PyObject *capsule, *inputs;
  if (!PyArg_ParseTuple(args, "OO!", &capsule, &PyList_Type, &inputs)) return nullptr;
  Held* held = held_of(capsule);
  if (!held) return nullptr;
  std::vector<graph::ObjectHandle> in, out(held->graph->outputs.size(), nullptr);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(inputs); ++i) in.push_back(PyList_GET_ITEM(inputs, i));
  const int failed = held->plan->run(in.data(), out.data());
  if (failed >= 0) return nullptr;
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
  return Py_BuildValue("{s:s,s:s,s:N,s:d}", "plan", info.plan.c_str(), "reason", info.reason.c_str(),
                       "kernels", kernels, "compile_us", info.compile_us);
}

PyObject* schedule_text(PyObject*, PyObject* capsule) {
  Held* held = held_of(capsule);
  if (!held) return nullptr;
  const auto schedule = schedule::build_schedule(*held->graph);
  return PyUnicode_FromString(schedule::print(schedule, *held->graph).c_str());
}

PyObject* initialize(PyObject*, PyObject*) { return PyBool_FromLong(torch::initialize()); }

PyObject* scalar_functions(PyObject*, PyObject*) {
  PyObject* names = PyDict_New();
  for (const graph::OpRow& row : graph::all_ops()) {
    if (row.scalar == graph::ScalarFn::kNone) continue;
    const py::Ref number = py::Ref::steal(PyLong_FromLong(static_cast<long>(row.scalar)));
    PyDict_SetItemString(names, std::string(row.name).c_str(), number.get());
  }
  return names;
}

PyObject* host(PyObject*, PyObject*) {
  std::string why;
  cpu::Jit* jit = cpu::load_jit(&why);
  if (!jit) return PyErr_Format(PyExc_RuntimeError, "%s", why.c_str());
  const cpu::HostTarget& h = jit->host();
  return Py_BuildValue("{s:s,s:i,s:i,s:L}", "cpu", h.cpu.c_str(), "vector_bytes", h.vector_bytes, "fma",
                       h.fma ? 1 : 0, "compiled", static_cast<long long>(jit->compiled()));
}

PyMethodDef kMethods[] = {
    {"initialize", &initialize, METH_NOARGS, "initialize() -> bool, after torch is imported"},
    {"make_plan", &make_plan, METH_VARARGS, "make_plan(inputs, calls, outputs, 'cpu'|'replay')"},
    {"run", &run_plan, METH_VARARGS, "run(plan, inputs) -> outputs"},
    {"info", &plan_info, METH_O, "info(plan) -> dict"},
    {"schedule", &schedule_text, METH_O, "schedule(plan) -> text"},
    {"rows", &scalar_functions, METH_NOARGS, "scalar function of each pointwise row of the op table"},
    {"host", &host, METH_NOARGS, "what the JIT compiles for"},
    {nullptr, nullptr, 0, nullptr},
};
PyModuleDef kModule = {
    PyModuleDef_HEAD_INIT, "_bl_cpu_test", nullptr, -1, kMethods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__bl_cpu_test() { return PyModule_Create(&kModule); }
