// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/torch/pass_tools.h"

#include <map>
#include <string>

#include "core/torch/registry.h"
#include "core/torch/tensor.h"

namespace breakline::torch {
namespace {

/// The object of a dotted name whose first part is a module, or null without an error.
PyObject* find(const std::string& name) {
  size_t end = name.find('.');
  py::Ref object = py::Ref::steal(PyImport_ImportModule(name.substr(0, end).c_str()));
  while (object && end != std::string::npos) {
    const size_t start = end + 1;
    end = name.find('.', start);
    const std::string part = name.substr(start, end == std::string::npos ? end : end - start);
    py::Ref next = py::Ref::steal(PyObject_GetAttrString(object.get(), part.c_str()));
    if (!next && PyModule_Check(object.get())) {  // a module of a package that nobody has imported yet
      PyErr_Clear();
      next = py::Ref::steal(PyImport_ImportModule(name.substr(0, end).c_str()));
    }
    object = std::move(next);
  }
  PyErr_Clear();
  return object.release();
}

graph::ObjectHandle resolve(std::string_view name) {
  static auto& known = *new std::map<std::string, PyObject*, std::less<>>;
  const auto it = known.find(name);
  if (it != known.end()) return it->second;
  PyObject* object = find(std::string(name));
  known.emplace(name, object);
  return object;
}

std::optional<std::vector<graph::Made>> metadata(const graph::Graph& graph, const graph::Node& node) {
  auto* callable = static_cast<PyObject*>(node.callable);
  const CallableInfo& info = callable_info(callable);
  if (info.kind != CallableKind::kOp && info.kind != CallableKind::kFactory) return std::nullopt;
  auto answer = infer(graph, callable, info, node.args, node.kwargs, false);
  PyErr_Clear();
  const auto* inferred = std::get_if<Inferred>(&answer);
  if (!inferred || inferred->structure == Inferred::kConstant || inferred->structure == Inferred::kNone)
    return std::nullopt;
  std::vector<graph::Made> all;
  for (const graph::ShapeOut& out : inferred->outs) {
    all.push_back({out.meta, out.alias_value});
    all.back().meta.requires_grad = false;
    all.back().meta.is_leaf = true;
  }
  return all;
}

bool prefers(std::string_view name, const std::vector<int64_t>& sizes) {
  auto* function = static_cast<PyObject*>(resolve("breakline._choices." + std::string(name)));
  const py::Ref args =
      py::Ref::steal(function ? PyTuple_New(static_cast<Py_ssize_t>(sizes.size())) : nullptr);
  for (size_t i = 0; args && i < sizes.size(); ++i)
    PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(sizes[i]));
  const py::Ref answer = py::Ref::steal(args ? PyObject_Call(function, args.get(), nullptr) : nullptr);
  const bool yes = answer && PyObject_IsTrue(answer.get()) == 1;
  PyErr_Clear();
  return yes;
}

}  // namespace

const graph::PassTools& pass_tools() {
  static const auto& tools = *new graph::PassTools{resolve, metadata, prefers};
  return tools;
}

}  // namespace breakline::torch
