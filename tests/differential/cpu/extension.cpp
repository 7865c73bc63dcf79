// SPDX-License-Identifier: GPL-3.0-or-later
// Python module _bl_cpu_test: builds a graph from recorded calls on real tensors and runs it by the cpu or
// the replay plan.
#include "core/cpu/cpu_plan.h"
#include "core/cpu/jit_loader.h"
#include "core/graph/op_table.h"
#include "core/schedule/memory.h"
#include "core/schedule/schedule.h"
#include "tests/support/recorded_graph.h"

namespace {

using namespace breakline;

using test::Held;
using test::held_of;

std::unique_ptr<graph::Plan> plan_of(std::shared_ptr<graph::Graph> graph, std::string_view name) {
  if (name == "cpu") return cpu::make_cpu_plan(std::move(graph), "");
  return torch::make_replay_plan(std::move(graph), "asked for");
}

PyObject* make_plan(PyObject*, PyObject* args) { return test::make_plan(args, &plan_of); }

PyObject* plan_info(PyObject*, PyObject* capsule) {
  Held* held = held_of(capsule);
  if (!held) return nullptr;
  const graph::PlanInfo& info = held->plan->info();
  return Py_BuildValue("{s:s,s:s,s:N,s:d}", "plan", info.plan.c_str(), "reason", info.reason.c_str(),
                       "kernels", test::kernels_of(info), "compile_us", info.compile_us);
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
    {"run", &test::run_plan, METH_VARARGS, "run(plan, inputs) -> outputs"},
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
