// SPDX-License-Identifier: GPL-3.0-or-later
// Inference on real tensors, for tests.
#include "core/torch/arg_object.h"
#include "core/torch/library.h"
#include "core/torch/registry.h"
#include "core/torch/tensor.h"

namespace breakline::torch {
namespace {

PyObject* dims(const std::vector<int64_t>& values) {
  PyObject* out = PyTuple_New(static_cast<Py_ssize_t>(values.size()));
  for (size_t i = 0; out && i < values.size(); ++i) {
    PyTuple_SET_ITEM(out, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(values[i]));
  }
  return out;
}

PyObject* describe(const graph::ShapeOut& out, PyObject* constant) {
  if (constant) return Py_BuildValue("(sO)", "constant", constant);
  PyObject* dtype = dtype_object(out.meta.dtype);
  return Py_BuildValue("(ONNLiOOO)", dtype ? dtype : Py_None, dims(out.meta.sizes), dims(out.meta.strides),
                       static_cast<long long>(out.meta.storage_offset), static_cast<int>(out.alias_value),
                       out.same_value ? Py_True : Py_False, out.meta.requires_grad ? Py_True : Py_False,
                       out.meta.is_leaf ? Py_True : Py_False);
}

}  // namespace

PyObject* debug_infer(PyObject* callable, PyObject* args, PyObject* kwargs, bool rules_only) {
  if (!available() || !PyTuple_Check(args) || !PyDict_Check(kwargs)) {
    PyErr_SetString(PyExc_TypeError, "debug_infer(callable, args tuple, kwargs dict) needs torch");
    return nullptr;
  }
  graph::Graph graph;
  std::vector<PyObject*> seen;
  const auto id_of = [&](PyObject* tensor) {
    for (size_t i = 0; i < seen.size(); ++i) {
      if (seen[i] == tensor) return static_cast<graph::ValueId>(i);
    }
    graph::Value v;
    v.meta = meta_of(tensor);
    graph.values.push_back(std::move(v));
    seen.push_back(tensor);
    return static_cast<graph::ValueId>(seen.size() - 1);
  };
  std::vector<graph::Arg> positional;
  std::vector<std::pair<std::string, graph::Arg>> named;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i)
    positional.push_back(arg_of(PyTuple_GET_ITEM(args, i), id_of));
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t position = 0;
  while (PyDict_Next(kwargs, &position, &key, &value))
    named.emplace_back(py::utf8(key), arg_of(value, id_of));

  const CallableInfo& info = callable_info(callable);
  const int64_t hits = infer_stats().rule_hits;
  const auto answer = infer(graph, callable, info, positional, named, library()->c.grad_mode());
  if (rules_only && infer_stats().rule_hits == hits) return Py_NewRef(Py_None);
  if (const auto* bad = std::get_if<InferFailure>(&answer)) {
    static constexpr const char* kWhy[] = {"raises", "no meta", "data dependent", "unsupported"};
    return PyUnicode_FromFormat("%s: %s: %s", kWhy[bad->why], std::string(bad->reason).c_str(),
                                bad->message.c_str());
  }
  const auto& good = std::get<Inferred>(answer);
  if (good.structure == Inferred::kNone) return Py_BuildValue("[(sO)]", "constant", Py_None);
  if (good.structure == Inferred::kConstant) return Py_BuildValue("[(sO)]", "constant", good.constant.get());
  PyObject* list = PyList_New(0);
  for (size_t i = 0; list && i < good.outs.size(); ++i) {
    const py::Ref row = py::Ref::steal(describe(good.outs[i], good.non_tensors[i].get()));
    if (!row || PyList_Append(list, row.get()) < 0) Py_CLEAR(list);
  }
  return list;
}

}  // namespace breakline::torch
