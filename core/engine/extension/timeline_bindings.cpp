// SPDX-License-Identifier: GPL-3.0-or-later
// Timelines for Python: the marks of the calls of one compiled function.
#include "core/engine/extension/timeline_bindings.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "core/base/timeline.h"
#include "core/engine/extension/compiled_function.h"
#include "core/segment/profile.h"

namespace breakline::engine {
namespace {

using base::Mark;
using base::MarkKind;

int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// A timeline being taken, and where both clocks stood when it began.
struct Taking {
  explicit Taking(size_t capacity) : timeline(capacity) { profile.timeline = &timeline; }
  base::Timeline timeline;
  segment::Profile profile;
  uint64_t first_ticks = base::ticks();
  int64_t first_ns = steady_ns();
};

std::unique_ptr<Taking> current;
PyObject* owner = nullptr;  // no Ref: one would be released after the interpreter is gone

const char* name_of(MarkKind kind) {
  static constexpr const char* kNames[] = {"call", "entered",     "kernel",   "plan",
                                           "left", "instruction", "compiled", "return"};
  return kNames[static_cast<size_t>(kind)];
}

PyObject* timeline_begin(PyObject*, PyObject* args) {
  PyObject* compiled = nullptr;
  Py_ssize_t capacity = 1 << 16;
  if (!PyArg_ParseTuple(args, "O|n", &compiled, &capacity)) return nullptr;
  if (!is_compiled_function(compiled) || capacity < 1 || capacity > (1 << 24)) {
    PyErr_SetString(PyExc_TypeError, "timeline_begin takes a CompiledFunction and a number of marks");
    return nullptr;
  }
  current = std::make_unique<Taking>(static_cast<size_t>(capacity));
  current->profile.root = &root_of(compiled);
  Py_XSETREF(owner, Py_NewRef(compiled));
  segment::active_profile = &current->profile;
  Py_RETURN_NONE;
}

/// [(kind, id, microseconds since the first mark, device microseconds)]
PyObject* marks_of(const Taking& taking) {
  const uint64_t last_ticks = base::ticks();
  const int64_t last_ns = steady_ns();
  const double us_per_tick = static_cast<double>(last_ns - taking.first_ns) / 1e3 /
                             static_cast<double>(std::max<uint64_t>(1, last_ticks - taking.first_ticks));
  const std::vector<Mark> marks = taking.timeline.marks();
  py::Ref list = py::Ref::steal(PyList_New(0));
  for (const Mark& mark : marks) {
    py::Ref entry =
        py::Ref::steal(Py_BuildValue("(sidd)", name_of(mark.kind), static_cast<int>(mark.id),
                                     static_cast<double>(mark.at - marks.front().at) * us_per_tick,
                                     static_cast<double>(mark.device_ns) / 1e3));
    if (!list || !entry || PyList_Append(list.get(), entry.get()) < 0) return nullptr;
  }
  return list.release();
}

PyObject* timeline_end(PyObject*, PyObject*) {
  segment::active_profile = nullptr;
  if (!current) {
    PyErr_SetString(PyExc_RuntimeError, "no timeline was begun");
    return nullptr;
  }
  const std::unique_ptr<Taking> taking = std::move(current);
  const py::Ref compiled = py::Ref::steal(std::exchange(owner, nullptr));
  PyObject* marks = marks_of(*taking);
  if (!marks) return nullptr;
  py::Ref breaks = py::Ref::steal(PyList_New(0));
  for (const segment::BreakRecord& record : root_of(compiled.get()).breaks) {
    py::Ref id = py::Ref::steal(
        PyUnicode_DecodeUTF8(record.id.data(), static_cast<Py_ssize_t>(record.id.size()), "replace"));
    if (!breaks || !id || PyList_Append(breaks.get(), id.get()) < 0) {
      Py_DECREF(marks);
      return nullptr;
    }
  }
  return Py_BuildValue("{s:N,s:N,s:n}", "marks", marks, "breaks", breaks.release(), "count",
                       static_cast<Py_ssize_t>(taking->timeline.count()));
}

PyObject* timeline_pause(PyObject*, PyObject*) {
  segment::active_profile = nullptr;
  Py_RETURN_NONE;
}

PyObject* timeline_resume(PyObject*, PyObject*) {
  if (current) segment::active_profile = &current->profile;
  Py_RETURN_NONE;
}

/// Nanoseconds that one mark costs, the least of several rows of them.
PyObject* timeline_cost(PyObject*, PyObject*) {
  constexpr int kRows = 20, kMarks = 5000;
  base::Timeline timeline(1 << 12);
  double least = 1e9;
  for (int row = 0; row < kRows; ++row) {
    const int64_t begin = steady_ns();
    for (int i = 0; i < kMarks; ++i) timeline.mark(MarkKind::kKernel, i);
    least = std::min(least, static_cast<double>(steady_ns() - begin) / kMarks);
  }
  return PyFloat_FromDouble(least);
}

PyMethodDef kMethods[] = {
    {"timeline_begin", timeline_begin, METH_VARARGS, "timeline_begin(compiled, capacity=65536)"},
    {"timeline_end", timeline_end, METH_NOARGS,
     "timeline_end() -> {marks: [(kind, id, us, device_us)], breaks: [id], count}"},
    {"timeline_pause", timeline_pause, METH_NOARGS, "timeline_pause(): calls from now on are not in it"},
    {"timeline_resume", timeline_resume, METH_NOARGS, "timeline_resume(): they are again"},
    {"timeline_cost", timeline_cost, METH_NOARGS, "timeline_cost() -> nanoseconds a mark"},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_timeline_functions(PyObject* module) { return PyModule_AddFunctions(module, kMethods); }

}  // namespace breakline::engine
