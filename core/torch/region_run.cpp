// SPDX-License-Identifier: GPL-3.0-or-later
// Regions of a graph: a checkpoint's nodes as a function that PyTorch calls, now and in the backward pass;
// the nodes of torch.cond's branches.
#include "core/torch/region_run.h"

#include <algorithm>

#include "core/graph/profile.h"
#include "core/torch/arg_object.h"

namespace breakline::torch {
namespace {

using graph::Region;
using graph::ValueId;

/// Values made by the nodes of a region that are used after it.
std::vector<ValueId> used_after(const graph::Graph& g, const Region& r) {
  std::vector<ValueId> used;
  const auto note = [&](ValueId id) {
    const int32_t by = g.values[static_cast<size_t>(id)].producer;
    if (by >= r.first && by <= r.last && std::find(used.begin(), used.end(), id) == used.end())
      used.push_back(id);
  };
  for (size_t n = static_cast<size_t>(r.last) + 1; n < g.nodes.size(); ++n) {
    for (const graph::Arg& a : g.nodes[n].args) visit_values(a, note);
    for (const auto& [name, a] : g.nodes[n].kwargs) visit_values(a, note);
  }
  for (const Region& later : g.regions)
    if (later.first > r.last && later.condition != graph::kNoValue) note(later.condition);
  for (ValueId id : g.outputs) note(id);
  return used;
}

/// The nodes of one checkpoint as a function of its operands.
struct RegionCall {
  std::shared_ptr<const PreparedNodes> nodes;
  size_t region = 0;
  std::vector<std::pair<ValueId, py::Ref>> captured;
  /// During the first call: where values go that are used later without being results.
  std::vector<std::pair<ValueId, py::Ref>>* extra = nullptr;
  std::vector<ValueId> extra_ids;
};

/// Nodes [from, to), the regions from number `next` on among them. -1, or the node that failed.
int run_range(const std::shared_ptr<const PreparedNodes>& nodes, PyObject** slots, int from, int to,
              size_t next, graph::KernelTimes* times = nullptr);

PyObject* call_region(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  auto* call = static_cast<RegionCall*>(PyCapsule_GetPointer(self, nullptr));
  const graph::Graph& g = *call->nodes->graph;
  const Region& r = g.regions[call->region];
  if (static_cast<size_t>(count) != r.operands.size()) {
    PyErr_SetString(PyExc_SystemError, "a checkpoint's function was called with other operands");
    return nullptr;
  }
  std::vector<PyObject*> slots(g.values.size(), nullptr);
  for (const auto& [id, object] : call->captured) slots[static_cast<size_t>(id)] = Py_NewRef(object.get());
  for (size_t i = 0; i < r.operands.size(); ++i) {
    PyObject*& slot = slots[static_cast<size_t>(r.operands[i])];
    Py_XSETREF(slot, Py_NewRef(args[i]));
  }
  const int failed = run_range(call->nodes, slots.data(), r.begin, r.end, call->region + 1);
  PyObject* results = failed < 0 ? PyTuple_New(static_cast<Py_ssize_t>(r.results.size())) : nullptr;
  for (size_t i = 0; results && i < r.results.size(); ++i)
    PyTuple_SET_ITEM(results, static_cast<Py_ssize_t>(i),
                     Py_NewRef(slots[static_cast<size_t>(r.results[i])]));
  if (results && call->extra)
    for (ValueId id : call->extra_ids)
      call->extra->emplace_back(id, py::Ref::borrow(slots[static_cast<size_t>(id)]));
  py::SavedError error;
  for (PyObject* object : slots) Py_XDECREF(object);
  error.restore();
  return results;
}

PyMethodDef region_function = {"checkpointed",
                               reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_region)),
                               METH_FASTCALL, nullptr};

void forget_call(PyObject* capsule) {
  delete static_cast<RegionCall*>(PyCapsule_GetPointer(capsule, nullptr));
}

bool run_checkpoint(const std::shared_ptr<const PreparedNodes>& nodes, PyObject** slots, size_t index) {
  const graph::Graph& g = *nodes->graph;
  const Region& r = g.regions[index];
  auto call = std::make_unique<RegionCall>();
  call->nodes = nodes;
  call->region = index;
  const auto capture = [&](ValueId id) {
    const auto known = [id](const auto& c) { return c.first == id; };
    if (slots[id] && std::find(r.operands.begin(), r.operands.end(), id) == r.operands.end() &&
        std::none_of(call->captured.begin(), call->captured.end(), known))
      call->captured.emplace_back(id, py::Ref::borrow(slots[id]));
  };
  for (int n = r.begin; n < r.end; ++n) {
    for (const graph::Arg& a : g.nodes[static_cast<size_t>(n)].args) visit_values(a, capture);
    for (const auto& [name, a] : g.nodes[static_cast<size_t>(n)].kwargs) visit_values(a, capture);
  }
  for (ValueId id : used_after(g, r))
    if (std::find(r.results.begin(), r.results.end(), id) == r.results.end()) call->extra_ids.push_back(id);
  std::vector<std::pair<ValueId, py::Ref>> extra;
  call->extra = &extra;
  RegionCall* made = call.get();
  const py::Ref capsule = py::Ref::steal(PyCapsule_New(made, nullptr, forget_call));
  if (!capsule) return false;
  call.release();
  const py::Ref function = py::Ref::steal(PyCFunction_New(&region_function, capsule.get()));
  const py::Ref operands = py::Ref::steal(PyTuple_New(static_cast<Py_ssize_t>(r.operands.size())));
  if (!function || !operands) return false;
  for (size_t i = 0; i < r.operands.size(); ++i)
    PyTuple_SET_ITEM(operands.get(), static_cast<Py_ssize_t>(i), Py_NewRef(slots[r.operands[i]]));
  const py::Ref results = py::Ref::steal(PyObject_CallFunctionObjArgs(
      static_cast<PyObject*>(r.caller), function.get(), operands.get(), nullptr));
  made->extra = nullptr;  // the capsule, and it with it, lives as long as `capsule`
  if (!results) return false;
  if (!PyTuple_Check(results.get()) ||
      PyTuple_GET_SIZE(results.get()) != static_cast<Py_ssize_t>(r.results.size())) {
    PyErr_SetString(PyExc_SystemError, "a checkpoint returned other results than were traced");
    return false;
  }
  for (size_t i = 0; i < r.results.size(); ++i)
    Py_XSETREF(slots[r.results[i]], Py_NewRef(PyTuple_GET_ITEM(results.get(), static_cast<Py_ssize_t>(i))));
  for (auto& [id, object] : extra) Py_XSETREF(slots[id], object.release());
  return true;
}

/// 1 = done, 0 = the other branch is the one, -1 with an error set.
int run_branch(const std::shared_ptr<const PreparedNodes>& nodes, PyObject** slots, size_t index,
               int* failed) {
  const Region& r = nodes->graph->regions[index];
  if (nodes->leaks[index]) {
    PyErr_SetString(PyExc_RuntimeError, "a branch of torch.cond gives more than its results");
    *failed = r.first;
    return -1;
  }
  const int truth = PyObject_IsTrue(slots[r.condition]);
  *failed = r.first;
  if (truth < 0) return -1;
  if ((truth == 1) != r.wanted) return 0;
  *failed = run_range(nodes, slots, r.begin, r.end, index + 1);
  if (*failed >= 0) return -1;
  for (size_t i = 0; i < r.results.size(); ++i)
    Py_XSETREF(slots[r.joined[i]], Py_XNewRef(slots[r.results[i]]));
  return 1;
}

int run_range(const std::shared_ptr<const PreparedNodes>& nodes, PyObject** slots, int from, int to,
              size_t next, graph::KernelTimes* times) {
  const std::vector<Region>& regions = nodes->graph->regions;
  for (int i = from; i < to;) {
    while (next < regions.size() && regions[next].first < i) ++next;
    const int64_t start = times ? graph::profile_clock_ns() : 0;
    const int begun = i;
    if (next < regions.size() && regions[next].first == i) {
      const Region& r = regions[next];
      if (r.kind == Region::kCheckpoint) {
        if (!run_checkpoint(nodes, slots, next)) return i;
      } else {
        int failed = -1;
        if (run_branch(nodes, slots, next, &failed) < 0) return failed;
      }
      i = r.last + 1;
      ++next;
    } else {
      if (!nodes->runners[static_cast<size_t>(i)].run(slots)) return i;
      ++i;
    }
    for (int n = begun; n < i; ++n)
      for (ValueId id : nodes->dying[static_cast<size_t>(n)]) Py_CLEAR(slots[id]);
    if (times) times->add(static_cast<size_t>(begun), graph::profile_clock_ns() - start);
  }
  return -1;
}

}  // namespace

PreparedNodes::PreparedNodes(std::shared_ptr<const graph::Graph> g)
    : graph(std::move(g)), dying(last_uses(*graph)) {
  runners.reserve(graph->nodes.size());
  for (size_t i = 0; i < graph->nodes.size(); ++i) runners.emplace_back(*graph, static_cast<int>(i));
  for (const Region& r : graph->regions) {
    leaks.push_back(false);
    for (ValueId id : r.kind == Region::kBranch ? used_after(*graph, r) : std::vector<ValueId>())
      if (std::find(r.joined.begin(), r.joined.end(), id) == r.joined.end()) leaks.back() = true;
  }
}

int run_with_regions(const std::shared_ptr<const PreparedNodes>& nodes, PyObject** slots) {
  return run_range(nodes, slots, 0, static_cast<int>(nodes->runners.size()), 0, graph::kernel_times);
}

bool recomputation_ends() {
  PyObject* error = PyErr_Occurred();
  PyObject* module =
      error ? PyDict_GetItemString(PyImport_GetModuleDict(), "torch.utils.checkpoint") : nullptr;
  PyObject* stop =
      module ? PyDict_GetItemString(PyModule_GetDict(module), "_StopRecomputationError") : nullptr;
  return stop && PyErr_GivenExceptionMatches(error, stop);
}

}  // namespace breakline::torch
