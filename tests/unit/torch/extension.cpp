// SPDX-License-Identifier: GPL-3.0-or-later
// `_bl_torch_test`: core/torch for Python tests.
#include "core/torch/ambient.h"
#include "core/torch/arg_object.h"
#include "core/torch/node_runner.h"
#include "core/torch/registry.h"
#include "core/torch/tensor.h"

namespace {

using namespace breakline;

PyObject* initialize(PyObject*, PyObject*) { return PyBool_FromLong(torch::initialize()); }

PyObject* debug_infer(PyObject*, PyObject* args) {
  PyObject *callable = nullptr, *positional = nullptr, *keywords = nullptr;
  int rules_only = 0;
  if (!PyArg_ParseTuple(args, "OOO|p", &callable, &positional, &keywords, &rules_only)) return nullptr;
  return torch::debug_infer(callable, positional, keywords, rules_only != 0);
}

PyObject* kind(PyObject*, PyObject* callable) {
  const torch::CallableInfo& info = torch::callable_info(callable);
  static constexpr const char* kNames[] = {
      "unknown",       "op",          "factory",     "fold false", "fold",
      "ambient query", "ambient set", "reads value", "break",      "marker"};
  return Py_BuildValue("(ssssOOOO)", kNames[static_cast<int>(info.kind)], std::string(info.reason).c_str(),
                       info.name.c_str(), info.row ? std::string(info.row->name).c_str() : "",
                       info.in_place ? Py_True : Py_False, info.reversed ? Py_True : Py_False,
                       info.random ? Py_True : Py_False, info.dynamic_shape ? Py_True : Py_False);
}

PyObject* attribute(PyObject*, PyObject* args) {
  PyObject *tensor = nullptr, *name = nullptr;
  if (!PyArg_ParseTuple(args, "OO", &tensor, &name)) return nullptr;
  const torch::AttributeInfo info = torch::attribute_info(name);
  switch (info.kind) {
    case torch::AttributeKind::kUnknown:
      return Py_BuildValue("(sO)", "unknown", Py_None);
    case torch::AttributeKind::kBreak:
      return Py_BuildValue("(ss)", "break", std::string(info.reason).c_str());
    case torch::AttributeKind::kOp:
      return Py_BuildValue("(sO)", "op", info.callable);
    case torch::AttributeKind::kConstant: {
      py::Ref value = torch::attribute_constant(torch::meta_of(tensor), name);
      if (!value) return Py_BuildValue("(sO)", "unanswered", Py_None);
      return Py_BuildValue("(sO)", "constant", value.get());
    }
  }
  return nullptr;
}

PyObject* meta(PyObject*, PyObject* tensor) {
  const torch::RawMeta m = torch::raw_meta(tensor);
  PyObject* sizes = PyList_New(0);
  PyObject* strides = PyList_New(0);
  for (int64_t i = 0; i < m.rank; ++i) {
    PyList_Append(sizes, py::Ref::steal(PyLong_FromLongLong(m.sizes[i])).get());
    PyList_Append(strides, py::Ref::steal(PyLong_FromLongLong(m.strides[i])).get());
  }
  const torch::StorageExtent extent = torch::storage_of(tensor);
  PyObject* dtype = torch::dtype_object(m.dtype);
  return Py_BuildValue(
      "{s:N,s:N,s:L,s:O,s:O,s:O,s:O,s:K,s:n,s:L,s:K}", "sizes", sizes, "strides", strides, "offset",
      static_cast<long long>(m.storage_offset), "dtype", dtype ? dtype : Py_None, "requires_grad",
      m.requires_grad ? Py_True : Py_False, "is_leaf", m.is_leaf ? Py_True : Py_False, "plain",
      torch::is_plain_keys(m.key_set) ? Py_True : Py_False, "storage",
      reinterpret_cast<unsigned long long>(extent.begin), "storage_bytes",
      static_cast<Py_ssize_t>(extent.bytes), "version", static_cast<long long>(torch::version_of(tensor)),
      "keys", static_cast<unsigned long long>(m.key_set));
}

PyObject* bump(PyObject*, PyObject* tensor) { return PyBool_FromLong(torch::bump_version(tensor)); }

PyObject* new_empty(PyObject*, PyObject* args) {
  PyObject *sizes = nullptr, *strides = nullptr, *dtype = nullptr;
  if (!PyArg_ParseTuple(args, "OOO", &sizes, &strides, &dtype)) return nullptr;
  std::vector<int64_t> s, t;
  for (Py_ssize_t i = 0; i < PyTuple_Size(sizes); ++i) {
    s.push_back(PyLong_AsLongLong(PyTuple_GetItem(sizes, i)));
    t.push_back(PyLong_AsLongLong(PyTuple_GetItem(strides, i)));
  }
  return torch::new_empty(s, t, torch::dtype_of(dtype));
}

PyObject* ambient(PyObject*, PyObject*) {
  const torch::Ambient a = torch::current_ambient();
  std::string why;
  const bool traceable = a.traceable(&why);
  return Py_BuildValue(
      "{s:O,s:O,s:O,s:O,s:O,s:i,s:O,s:O,s:i,s:O,s:i,s:i,s:i,s:O,s:O,s:O,s:O,s:s}",  //
      "grad_mode", a.grad_mode ? Py_True : Py_False, "inference_mode", a.inference_mode ? Py_True : Py_False,
      "deterministic", a.deterministic ? Py_True : Py_False, "deterministic_warn",
      a.deterministic_warn ? Py_True : Py_False, "autocast_cpu", a.autocast_cpu ? Py_True : Py_False,
      "autocast_cpu_dtype", a.autocast_cpu_dtype, "autocast_cache", a.autocast_cache ? Py_True : Py_False,
      "autocast_other", a.autocast_other ? Py_True : Py_False, "default_dtype", a.default_dtype,
      "default_device_set", a.default_device_set ? Py_True : Py_False, "function_modes", a.function_modes,
      "dispatch_modes", a.dispatch_modes, "functorch_levels", a.functorch_levels, "torch_function_enabled",
      a.torch_function_enabled ? Py_True : Py_False, "anomaly", a.anomaly ? Py_True : Py_False,
      "flush_denormal", a.flush_denormal ? Py_True : Py_False, "traceable", traceable ? Py_True : Py_False,
      "why", why.c_str());
}

torch::Ambient saved;
PyObject* save_ambient(PyObject*, PyObject*) {
  saved = torch::current_ambient();
  Py_RETURN_NONE;
}
PyObject* restore_ambient(PyObject*, PyObject*) {
  torch::restore_ambient(saved);
  return PyBool_FromLong(torch::ambient_matches(saved));
}

/// replay(inputs, steps, outputs, rounds): a step is (callable, args, kwargs, n_outputs or -1 for none,
/// multi); an int in a one-element set stands for the value of that number. Inputs are values 0 …; each
/// step's outputs number on. Runs the plan `rounds` times and returns the last outputs, or (failing node)
/// after an error in a tuple with its text.
PyObject* replay(PyObject*, PyObject* args) {
  PyObject *inputs = nullptr, *steps = nullptr, *outputs = nullptr;
  int rounds = 1;
  if (!PyArg_ParseTuple(args, "OOO|i", &inputs, &steps, &outputs, &rounds)) return nullptr;
  auto graph = std::make_shared<graph::Graph>();
  for (Py_ssize_t i = 0; i < PyList_Size(inputs); ++i) {
    graph->values.emplace_back();
    graph->inputs.push_back(static_cast<graph::ValueId>(i));
  }
  const std::function<graph::Arg(PyObject*)> arg = [&](PyObject* object) -> graph::Arg {
    if (PyAnySet_Check(object)) {
      const py::Ref iterator = py::Ref::steal(PyObject_GetIter(object));
      const py::Ref first = py::Ref::steal(PyIter_Next(iterator.get()));
      return graph::Arg::value(static_cast<graph::ValueId>(PyLong_AsLong(first.get())));
    }
    if (PyTuple_CheckExact(object) || PyList_CheckExact(object)) {
      graph::ArgSeq seq;
      seq.kind = PyTuple_CheckExact(object) ? graph::ArgSeq::kTuple : graph::ArgSeq::kList;
      const py::Ref items = py::Ref::steal(PySequence_Fast(object, ""));
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
        seq.items.push_back(arg(PySequence_Fast_GET_ITEM(items.get(), i)));
      }
      graph::Arg out;
      out.v = std::move(seq);
      return out;
    }
    return torch::arg_of(object, {});
  };
  for (Py_ssize_t s = 0; s < PyList_Size(steps); ++s) {
    PyObject *callable = nullptr, *positional = nullptr, *keywords = nullptr;
    int count = 0, multi = 0;
    if (!PyArg_ParseTuple(PyList_GetItem(steps, s), "OOOip", &callable, &positional, &keywords, &count,
                          &multi)) {
      return nullptr;
    }
    graph::Node node;
    node.callable = callable;
    node.multi = multi != 0;
    for (Py_ssize_t i = 0; i < PyTuple_Size(positional); ++i)
      node.args.push_back(arg(PyTuple_GetItem(positional, i)));
    PyObject *key = nullptr, *value = nullptr;
    Py_ssize_t position = 0;
    while (PyDict_Next(keywords, &position, &key, &value))
      node.kwargs.emplace_back(py::utf8(key), arg(value));
    for (int i = 0; i < count; ++i) {
      node.outputs.push_back(static_cast<graph::ValueId>(graph->values.size()));
      graph->values.emplace_back();
    }
    graph->nodes.push_back(std::move(node));
  }
  for (Py_ssize_t i = 0; i < PyList_Size(outputs); ++i) {
    graph->outputs.push_back(static_cast<graph::ValueId>(PyLong_AsLong(PyList_GetItem(outputs, i))));
  }
  const auto plan = torch::make_replay_plan(graph, "test");
  std::vector<graph::ObjectHandle> in, out(graph->outputs.size());
  for (Py_ssize_t i = 0; i < PyList_Size(inputs); ++i) in.push_back(PyList_GetItem(inputs, i));
  for (int r = 0; r < rounds; ++r) {
    const int failed = plan->run(in.data(), out.data());
    if (failed >= 0) {
      PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
      PyErr_Fetch(&type, &value, &traceback);
      PyErr_NormalizeException(&type, &value, &traceback);
      Py_XDECREF(type);
      Py_XDECREF(traceback);
      return Py_BuildValue("(iN)", failed, value);
    }
    if (r + 1 < rounds) {
      for (graph::ObjectHandle o : out) Py_DECREF(static_cast<PyObject*>(o));
    }
  }
  PyObject* list = PyList_New(0);
  for (graph::ObjectHandle o : out) {
    PyList_Append(list, static_cast<PyObject*>(o));
    Py_DECREF(static_cast<PyObject*>(o));
  }
  return list;
}

PyObject* stats(PyObject*, PyObject*) {
  const torch::InferStats s = torch::infer_stats();
  return Py_BuildValue("(LLd)", static_cast<long long>(s.rule_hits), static_cast<long long>(s.meta_calls),
                       s.meta_us);
}

/// rules(): names of the table's rows that have a shape rule.
PyObject* rules(PyObject*, PyObject*) {
  PyObject* list = PyList_New(0);
  for (const graph::OpRow& row : graph::all_ops()) {
    if (row.rule)
      PyList_Append(list, py::Ref::steal(PyUnicode_FromString(std::string(row.name).c_str())).get());
  }
  return list;
}

PyMethodDef kMethods[] = {
    {"initialize", initialize, METH_NOARGS, nullptr},
    {"debug_infer", debug_infer, METH_VARARGS, nullptr},
    {"kind", kind, METH_O, nullptr},
    {"attribute", attribute, METH_VARARGS, nullptr},
    {"meta", meta, METH_O, nullptr},
    {"bump", bump, METH_O, nullptr},
    {"new_empty", new_empty, METH_VARARGS, nullptr},
    {"ambient", ambient, METH_NOARGS, nullptr},
    {"save_ambient", save_ambient, METH_NOARGS, nullptr},
    {"restore_ambient", restore_ambient, METH_NOARGS, nullptr},
    {"replay", replay, METH_VARARGS, nullptr},
    {"stats", stats, METH_NOARGS, nullptr},
    {"rules", rules, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyModuleDef kModule = {
    PyModuleDef_HEAD_INIT, "_bl_torch_test", nullptr, -1, kMethods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__bl_torch_test() { return PyModule_Create(&kModule); }
