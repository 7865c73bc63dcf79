// SPDX-License-Identifier: GPL-3.0-or-later
// Python module _bl_vulkan_test: builds a graph from recorded calls on real tensors, runs it by the Vulkan
// plans, and shows the device layer's counters.
#include "core/vulkan/info.h"
#include "core/vulkan/vulkan_plan.h"
#include "tests/support/recorded_graph.h"

namespace {

using namespace breakline;

using test::Held;
using test::held_of;

std::unique_ptr<graph::Plan> plan_of(std::shared_ptr<graph::Graph> graph, std::string_view name) {
  if (name == "vulkan") return vulkan::make_vulkan_plan(std::move(graph), "");
  if (name == "vulkan_eager") return vulkan::make_vulkan_eager_plan(std::move(graph), "");
  return torch::make_replay_plan(std::move(graph), "asked for");
}

PyObject* make_plan(PyObject*, PyObject* args) { return test::make_plan(args, &plan_of); }

PyObject* plan_info(PyObject*, PyObject* capsule) {
  Held* held = held_of(capsule);
  if (!held) return nullptr;
  const graph::PlanInfo& info = held->plan->info();
  PyObject* times = PyList_New(0);
  for (const double t : vulkan::kernel_times_us(*held->plan)) {
    PyList_Append(times, py::Ref::steal(PyFloat_FromDouble(t)).get());
  }
  return Py_BuildValue("{s:s,s:s,s:N,s:d,s:N}", "plan", info.plan.c_str(), "reason", info.reason.c_str(),
                       "kernels", test::kernels_of(info), "compile_us", info.compile_us, "times_us", times);
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
    {"run", &test::run_plan, METH_VARARGS, "run(plan, inputs) -> outputs"},
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
