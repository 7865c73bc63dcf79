// SPDX-License-Identifier: GPL-3.0-or-later
// The frame of one call of a plan that runs by slots, one per value of its graph.
#pragma once

#include <algorithm>
#include <vector>

#include "core/graph/graph.h"
#include "core/python/ref.h"

namespace breakline::torch {

/// Fills the slots of the graph's inputs (borrowed handles), calls `run(PyObject** slots)`, which returns -1
/// or the node that failed, hands out new references of the outputs and releases every slot. Needs the GIL; a
/// pending error outlives the release.
template <class Run>
int run_in_slots(const graph::Graph& graph, graph::ObjectHandle const* inputs, graph::ObjectHandle* outputs,
                 Run&& run) {
  constexpr size_t kInline = 256;
  PyObject* room[kInline];
  std::vector<PyObject*> heap;
  const size_t n = graph.values.size();
  PyObject** slots = room;
  if (n > kInline) {
    heap.resize(n);
    slots = heap.data();
  }
  std::fill(slots, slots + n, nullptr);
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    slots[graph.inputs[i]] = Py_NewRef(static_cast<PyObject*>(inputs[i]));
  }
  const auto release = [&] {
    for (size_t i = 0; i < n; ++i) Py_XDECREF(slots[i]);
  };
  const int failed = run(slots);
  if (failed < 0) {
    for (size_t i = 0; i < graph.outputs.size(); ++i) outputs[i] = Py_XNewRef(slots[graph.outputs[i]]);
    release();
  } else {
    // Freeing tensors can run Python code (weak references), which must not see or lose the pending error.
    py::SavedError error;
    release();
    error.restore();
  }
  return failed;
}

}  // namespace breakline::torch
