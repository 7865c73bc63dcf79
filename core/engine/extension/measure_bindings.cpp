// SPDX-License-Identifier: GPL-3.0-or-later
// core/measure for Python: interleaved rounds over Python callables, and the statistics of their samples.
#include "core/engine/extension/measure_bindings.h"

#include <memory>
#include <string>
#include <vector>

#include "core/measure/load.h"
#include "core/measure/rounds.h"

namespace breakline::engine {
namespace {

using measure::ArmSamples;

/// Thrown through run_rounds when a Python callable raised; the Python error stays set. Never leaves this
/// file.
struct PythonError {};

void call(PyObject* callable) {
  PyObject* result = PyObject_CallNoArgs(callable);
  if (!result) throw PythonError{};
  Py_DECREF(result);
}

PyObject* list_of(const std::vector<double>& values) {
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(values.size()));
  for (std::size_t n = 0; list && n < values.size(); ++n) {
    PyObject* item = PyFloat_FromDouble(values[n]);
    if (!item) {
      Py_CLEAR(list);
      break;
    }
    PyList_SET_ITEM(list, static_cast<Py_ssize_t>(n), item);
  }
  return list;
}

/// A sequence of numbers as doubles. False with a Python error set.
bool read_samples(PyObject* sequence, std::vector<double>& out) {
  PyObject* fast = PySequence_Fast(sequence, "samples must be a list of microseconds");
  if (!fast) return false;
  for (Py_ssize_t n = 0; n < PySequence_Fast_GET_SIZE(fast); ++n) {
    const double value = PyFloat_AsDouble(PySequence_Fast_GET_ITEM(fast, n));
    if (value == -1.0 && PyErr_Occurred()) {
      Py_DECREF(fast);
      return false;
    }
    out.push_back(value);
  }
  Py_DECREF(fast);
  return true;
}

/// A block made by Python: block(calls, group, settle) -> (median_us, mean_us, waiting).
measure::BlockSample call_block(PyObject* callable, const measure::BlockShape& shape) {
  PyObject* result =
      PyObject_CallFunction(callable, "iiO", shape.calls, shape.group, shape.settle ? Py_True : Py_False);
  measure::BlockSample sample;
  const bool fine = result && PyArg_ParseTuple(result, "ddd;a block returns (median_us, mean_us, waiting)",
                                               &sample.median_us, &sample.mean_us, &sample.waiting);
  Py_XDECREF(result);
  if (!fine) throw PythonError{};
  return sample;
}

/// One (id, run, prepare or None), or (id, block). The callables are kept alive by the caller's list. False
/// with a Python error set.
bool read_arm(PyObject* item, std::vector<measure::Arm>& arms) {
  const char* id = nullptr;
  PyObject *run = nullptr, *prepare = Py_None;
  if (!PyTuple_Check(item)) {
    PyErr_SetString(PyExc_TypeError, "an arm is a tuple (id, run, prepare or None) or (id, block)");
    return false;
  }
  if (!PyArg_ParseTuple(item, "sO|O;an arm is a tuple (id, run, prepare or None) or (id, block)", &id, &run,
                        &prepare))
    return false;
  measure::Arm arm;
  arm.id = id;
  if (PyTuple_GET_SIZE(item) == 2)
    arm.block = [run](const measure::BlockShape& shape) { return call_block(run, shape); };
  else
    arm.run = [run] { call(run); };
  if (prepare != Py_None) arm.prepare = [prepare] { call(prepare); };
  arms.push_back(std::move(arm));
  return true;
}

PyObject* rounds_result(const measure::RoundsResult& result) {
  PyObject* arms = PyList_New(0);
  if (!arms) return nullptr;
  for (const ArmSamples& arm : result.arms) {
    PyObject* samples = list_of(arm.samples_us);
    PyObject* means = samples ? list_of(arm.means_us) : nullptr;
    PyObject* entry =
        means ? Py_BuildValue("{s:s,s:N,s:N,s:i,s:i}", "id", arm.id.c_str(), "samples_us", samples,
                              "means_us", means, "calls", arm.shape.calls, "group", arm.shape.group)
              : nullptr;
    if (!entry || PyList_Append(arms, entry) < 0) {
      Py_XDECREF(entry);
      Py_DECREF(arms);
      return nullptr;
    }
    Py_DECREF(entry);
  }
  return Py_BuildValue(
      "{s:N,s:n,s:n,s:O,s:n,s:n,s:n,s:O,s:d}", "arms", arms, "rounds", static_cast<Py_ssize_t>(result.rounds),
      "warmup", static_cast<Py_ssize_t>(result.warmup), "cancelled", result.cancelled ? Py_True : Py_False,
      "blocks", static_cast<Py_ssize_t>(result.blocks), "loaded_blocks",
      static_cast<Py_ssize_t>(result.loaded_blocks), "dropped_blocks",
      static_cast<Py_ssize_t>(result.dropped_blocks), "kept_loaded", result.kept_loaded ? Py_True : Py_False,
      "others", result.others);
}

/// Runs `work`; what it returns, or null with the Python error set.
template <class Work>
PyObject* guarded(const Work& work) {
  try {
    return work();
  } catch (const PythonError&) {
    return nullptr;  // the Python error is set
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return nullptr;
  }
}

PyObject* measure_rounds(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"arms",      "rounds",   "least_rounds", "budget_s", "seed",
                                "cancelled", "block_ms", "precision",    nullptr};
  PyObject *list = nullptr, *cancelled = Py_None;
  measure::RoundOptions options;
  unsigned long long seed = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$iidKOdd", const_cast<char**>(names), &list,
                                   &options.rounds, &options.least_rounds, &options.budget_s, &seed,
                                   &cancelled, &options.block_ms, &options.precision))
    return nullptr;
  options.seed = seed;
  PyObject* fast = PySequence_Fast(list, "arms must be a list");
  if (!fast) return nullptr;
  std::vector<measure::Arm> arms;
  for (Py_ssize_t n = 0; n < PySequence_Fast_GET_SIZE(fast); ++n) {
    if (!read_arm(PySequence_Fast_GET_ITEM(fast, n), arms)) {
      Py_DECREF(fast);
      return nullptr;
    }
  }
  if (cancelled != Py_None) {
    options.cancelled = [cancelled] {
      PyObject* answer = PyObject_CallNoArgs(cancelled);
      if (!answer) throw PythonError{};
      const int yes = PyObject_IsTrue(answer);
      Py_DECREF(answer);
      if (yes < 0) throw PythonError{};
      return yes == 1;
    };
  }
  measure::SteadyClock clock;
  const std::unique_ptr<measure::LoadReader> load = measure::make_proc_load_reader();
  PyObject* outcome = guarded([&]() -> PyObject* {
    const auto result = measure::run_rounds(arms, options, clock, load.get());
    if (result) return rounds_result(*result);
    PyErr_SetString(PyExc_ValueError, result.error().message.c_str());
    return nullptr;
  });
  Py_DECREF(fast);
  return outcome;
}

PyObject* measure_block(PyObject*, PyObject* args) {
  PyObject *run = nullptr, *prepare = nullptr;
  measure::BlockShape shape;
  int settle = 1;
  if (!PyArg_ParseTuple(args, "OOii|p", &run, &prepare, &shape.calls, &shape.group, &settle)) return nullptr;
  shape.settle = settle;
  if (shape.calls < 1 || shape.group < 1) {
    PyErr_SetString(PyExc_ValueError, "a block has at least one call");
    return nullptr;
  }
  measure::Arm arm;
  arm.run = [run] { call(run); };
  if (prepare != Py_None) arm.prepare = [prepare] { call(prepare); };
  measure::SteadyClock clock;
  return guarded([&] {
    static const std::unique_ptr<measure::LoadReader> load = measure::make_proc_load_reader();
    const measure::BlockSample sample = measure::run_block(arm, shape, clock, load.get());
    return Py_BuildValue("(ddd)", sample.median_us, sample.mean_us, sample.waiting);
  });
}

PyObject* interval(const measure::Interval& value) {
  return Py_BuildValue("{s:d,s:d,s:d}", "value", value.value, "low", value.low, "high", value.high);
}

PyObject* measure_compare(PyObject*, PyObject* args) {
  PyObject *first, *second, *arm;
  if (!PyArg_ParseTuple(args, "OOO", &first, &second, &arm)) return nullptr;
  ArmSamples base, again, other;
  if (!read_samples(first, base.samples_us) || !read_samples(second, again.samples_us) ||
      !read_samples(arm, other.samples_us))
    return nullptr;
  const measure::Comparison result = measure::compare(base, again, other);
  const measure::Summary& s = result.summary;
  PyObject* summary =
      Py_BuildValue("{s:n,s:d,s:d,s:d,s:d,s:d}", "count", static_cast<Py_ssize_t>(s.count), "median",
                    s.median, "q1", s.q1, "q3", s.q3, "minimum", s.minimum, "maximum", s.maximum);
  PyObject* ratio = interval(result.ratio);
  if (!summary || !ratio) {
    Py_XDECREF(summary);
    Py_XDECREF(ratio);
    return nullptr;
  }
  const std::string verdict(measure::to_string(result.verdict));
  return Py_BuildValue("{s:N,s:N,s:s}", "summary", summary, "ratio", ratio, "verdict", verdict.c_str());
}

PyMethodDef kMethods[] = {
    {"measure_rounds", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(measure_rounds)),
     METH_VARARGS | METH_KEYWORDS,
     "measure_rounds(arms, *, rounds, least_rounds, budget_s, seed, cancelled=None, block_ms, precision)"},
    {"measure_block", measure_block, METH_VARARGS,
     "measure_block(run, prepare or None, calls, group, settle=True) -> (median_us, mean_us, waiting)"},
    {"measure_compare", measure_compare, METH_VARARGS, "measure_compare(first, second, arm)"},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_measure_functions(PyObject* module) { return PyModule_AddFunctions(module, kMethods); }

}  // namespace breakline::engine
