// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/trace/inline_rules.h"

#include <string_view>
#include <unordered_map>

namespace breakline::trace {
namespace {

/// A file prefix list made once from the running interpreter.
struct Places {
  std::string stdlib, site, torch, own;
  PyObject* module_class = nullptr;
};

std::string path_of_module(const char* name) {
  py::Ref module = py::Ref::steal(PyImport_ImportModule(name));
  py::Ref file = module ? py::Ref::steal(PyObject_GetAttrString(module.get(), "__file__")) : py::Ref();
  PyErr_Clear();
  if (!file || !PyUnicode_Check(file.get())) return "";
  std::string path(py::utf8(file.get()));
  return path.substr(0, path.rfind('/') + 1);
}

Places& places() {
  static Places* p = [] {
    auto* made = new Places;
    made->stdlib = path_of_module("os");
    made->own = path_of_module("breakline");
    return made;
  }();
  if (p->torch.empty()) {
    py::Ref torch = py::Ref::steal(PyImport_GetModule(py::intern("torch")));
    PyErr_Clear();
    if (torch) {
      p->torch = path_of_module("torch");
      py::Ref nn = py::Ref::steal(PyObject_GetAttrString(torch.get(), "nn"));
      if (nn) p->module_class = PyObject_GetAttrString(nn.get(), "Module");
      PyErr_Clear();
    }
  }
  return *p;
}

bool starts_with(std::string_view text, std::string_view head) { return text.substr(0, head.size()) == head; }

bool in_standard_library(const Places& p, const std::string& file) {
  if (starts_with(file, "<frozen")) return true;
  return !p.stdlib.empty() && starts_with(file, p.stdlib) && file.find("/site-packages/") == std::string::npos &&
         file.find("/dist-packages/") == std::string::npos;
}

/// Parts of torch whose Python code is traced; everything else of torch is called.
constexpr const char* kTorchInlined[] = {
    "nn/", "functional.py", "_jit_internal.py", "overrides.py", "autograd/grad_mode.py", "amp/autocast_mode.py",
    "_tensor.py", "backends/", "special/", "fft/", "linalg/", "distributions/", "utils/_contextlib.py", "utils/_pytree.py",
    "_refs/", "masked/", "ao/nn/", "_lowrank.py", "cuda/amp/", "cpu/amp/", "_utils.py", "types.py",
    "_dynamo/decorators.py", "_dynamo/external_utils.py", "compiler/__init__.py", "utils/_python_dispatch.py",
};
constexpr const char* kTorchNotInlined[] = {
    "nn/parallel/", "nn/utils/rnn.py", "nn/init.py", "nn/parameter.py", "nn/utils/stateless.py", "nn/attention/flex_attention.py"};

/// Pure helpers of the standard library that are traced: file → functions ("*" = all).
struct Helper {
  const char* file;
  const char* function;
};
constexpr Helper kHelpers[] = {
    {"contextlib.py", "*"}, {"_collections_abc.py", "*"}, {"typing.py", "cast"}, {"functools.py", "*"},
    {"collections/__init__.py", "*"}, {"operator.py", "*"}, {"types.py", "*"}, {"enum.py", "*"},
    {"dataclasses.py", "replace"}, {"dataclasses.py", "fields"}, {"dataclasses.py", "is_dataclass"}, {"dataclasses.py", "_is_dataclass_instance"},
    {"numbers.py", "*"}, {"abc.py", "*"}, {"statistics.py", "*"}, {"bisect.py", "*"}, {"heapq.py", "*"},
};

}  // namespace

bool is_torch_file(const std::string& file) {
  const Places& p = places();
  return !p.torch.empty() && starts_with(file, p.torch);
}

bool is_user_file(const std::string& file) {
  const Places& p = places();
  return !in_standard_library(p, file) && !is_torch_file(file) && (p.own.empty() || !starts_with(file, p.own));
}

bool is_inlined_file(const std::string& file, const std::string& function) {
  const Places& p = places();
  if (in_standard_library(p, file)) {
    for (const Helper& h : kHelpers)
      if (file.ends_with(std::string("/") + h.file) && (h.function[0] == '*' || function == h.function)) return true;
    return false;
  }
  if (is_torch_file(file)) {
    std::string_view tail = std::string_view(file).substr(p.torch.size());
    for (const char* no : kTorchNotInlined)
      if (starts_with(tail, no)) return false;
    for (const char* yes : kTorchInlined)
      if (starts_with(tail, yes)) return true;
    if (tail == "jit/__init__.py") return function == "annotate";  // returns its second argument
    return tail.find('/') == std::string_view::npos && (function == "lu" || tail == "_VF.py" || tail == "functional.py");
  }
  return true;
}

bool is_module(PyObject* object) {
  PyObject* cls = places().module_class;
  return cls && PyType_IsSubtype(Py_TYPE(object), reinterpret_cast<PyTypeObject*>(cls));
}

bool is_module_class(PyTypeObject* type) {
  PyObject* cls = places().module_class;
  return cls && PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(cls));
}

}  // namespace breakline::trace
