// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/extension/plans.h"

#include <string>

#include "core/graph/plan.h"
#include "core/torch/node_runner.h"
#ifdef BREAKLINE_WITH_CPU
#include "core/cpu/cpu_plan.h"
#endif
#ifdef BREAKLINE_WITH_VULKAN
#include "core/vulkan/info.h"
#include "core/vulkan/vulkan_plan.h"
#endif

namespace breakline::engine {

void register_plans() {
  static bool done = false;
  if (done) return;
  done = true;
  graph::register_plan_maker("replay", torch::make_replay_plan);
#ifdef BREAKLINE_WITH_CPU
  graph::register_plan_maker("cpu", cpu::make_cpu_plan);
#endif
#ifdef BREAKLINE_WITH_VULKAN
  graph::register_plan_maker("vulkan", vulkan::make_vulkan_plan);
  graph::register_plan_maker("vulkan_eager", vulkan::make_vulkan_eager_plan);
#endif
}

PyObject* devices(PyObject*, PyObject*) {
  py::Ref list = py::Ref::steal(PyList_New(0));
  if (!list) return nullptr;
  auto add = [&](const char* id, const std::string& name, bool available, const std::string& reason) {
    py::Ref d = py::Ref::steal(Py_BuildValue("{ss,ss,sO,ss}", "id", id, "name", name.c_str(), "available",
                                             available ? Py_True : Py_False, "reason", reason.c_str()));
    return d && PyList_Append(list.get(), d.get()) == 0;
  };
#ifdef BREAKLINE_WITH_CPU
  if (!add("cpu", "CPU", true, "")) return nullptr;
#else
  if (!add("cpu", "CPU", true, "built without LLVM: graphs run operator by operator")) return nullptr;
#endif
#ifdef BREAKLINE_WITH_VULKAN
  vulkan::VulkanInfo v = vulkan::vulkan_info();
  if (!add("vulkan", v.name, v.available, v.reason)) return nullptr;
#else
  if (!add("vulkan", "Vulkan", false, "built without Vulkan")) return nullptr;
#endif
  return list.release();
}

}  // namespace breakline::engine
