// SPDX-License-Identifier: GPL-3.0-or-later
// Profiles for Python: what the segments, kernels and breaks of a compiled function cost while it runs.
#include "core/engine/extension/profile_bindings.h"

#include <memory>
#include <string>
#include <utility>

#include "core/engine/extension/compiled_function.h"
#include "core/segment/profile.h"

namespace breakline::engine {
namespace {

using segment::Profile;

/// The profile being taken and the compiled function it belongs to (kept alive).
std::unique_ptr<Profile> current;
PyObject* owner = nullptr;  // no Ref: one would be released after the interpreter is gone

py::Ref microseconds(const std::vector<int64_t>& ns) {
  py::Ref list = py::check(PyList_New(static_cast<Py_ssize_t>(ns.size())));
  for (size_t i = 0; i < ns.size(); ++i)
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i),
                    py::check(PyFloat_FromDouble(static_cast<double>(ns[i]) / 1e3)).release());
  return list;
}

void append(PyObject* list, PyObject* entry) {
  py::check_status(PyList_Append(list, py::check(entry).get()));
}

PyObject* profile_begin(PyObject*, PyObject* compiled) {
  if (!is_compiled_function(compiled)) {
    PyErr_SetString(PyExc_TypeError, "profile_begin takes a CompiledFunction");
    return nullptr;
  }
  current = std::make_unique<Profile>();
  current->root = &root_of(compiled);
  Py_XSETREF(owner, Py_NewRef(compiled));
  segment::active_profile = current.get();
  Py_RETURN_NONE;
}

py::Ref result_of(const Profile& profile, const segment::Root& root) {
  py::Ref segments = py::check(PyList_New(0)), breaks = py::check(PyList_New(0));
  for (const auto& [id, samples] : profile.segments) {
    py::Ref kernels = py::check(PyList_New(0));
    for (const auto& kernel : samples.kernels) append(kernels.get(), microseconds(kernel).release());
    append(segments.get(),
           Py_BuildValue("{s:s,s:L,s:N,s:N}", "id", ("s" + std::to_string(id)).c_str(), "runs",
                         static_cast<long long>(profile.segment_runs.at(id)), "run_us",
                         microseconds(samples.runs).release(), "kernels_us", kernels.release()));
  }
  for (const auto& [index, samples] : profile.breaks) {
    if (index >= static_cast<int>(root.breaks.size())) continue;
    append(breaks.get(),
           Py_BuildValue("{s:s,s:L,s:N,s:N,s:N}", "id", root.breaks[static_cast<size_t>(index)].id.c_str(),
                         "events", static_cast<long long>(profile.break_events.at(index)), "leave_us",
                         microseconds(samples.leave).release(), "instruction_us",
                         microseconds(samples.instruction).release(), "enter_us",
                         microseconds(samples.enter).release()));
  }
  return py::check(Py_BuildValue("{s:N,s:N,s:N,s:N}", "segments", segments.release(), "breaks",
                                 breaks.release(), "entry_us", microseconds(profile.entries).release(), "exit_us",
                                 microseconds(profile.exits).release()));
}

PyObject* profile_end(PyObject*, PyObject*) {
  segment::active_profile = nullptr;
  if (!current) {
    PyErr_SetString(PyExc_RuntimeError, "no profile was begun");
    return nullptr;
  }
  const std::unique_ptr<Profile> profile = std::move(current);
  const py::Ref compiled = py::Ref::steal(std::exchange(owner, nullptr));
  try {
    return result_of(*profile, root_of(compiled.get())).release();
  } catch (py::PythonError&) {
    return nullptr;
  }
}

PyMethodDef kMethods[] = {
    {"profile_begin", profile_begin, METH_O, "profile_begin(compiled): times its parts from now on"},
    {"profile_end", profile_end, METH_NOARGS, "profile_end() -> {segments, breaks}: samples in microseconds"},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_profile_functions(PyObject* module) { return PyModule_AddFunctions(module, kMethods); }

}  // namespace breakline::engine
