// SPDX-License-Identifier: GPL-3.0-or-later
// Attributes of a plain tensor that follow from its metadata.
#include <array>

#include "core/torch/library.h"
#include "core/torch/registry.h"
#include "core/torch/tensor.h"

namespace breakline::torch {
namespace {

using graph::TensorMeta;

PyObject* py_bool(bool b) { return Py_NewRef(b ? Py_True : Py_False); }

PyObject* shape(const TensorMeta& m) {
  const py::Ref dims = py::Ref::steal(PyTuple_New(static_cast<Py_ssize_t>(m.sizes.size())));
  for (size_t i = 0; dims && i < m.sizes.size(); ++i) {
    PyTuple_SET_ITEM(dims.get(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(m.sizes[i]));
  }
  return dims ? PyObject_CallOneArg(reinterpret_cast<PyObject*>(library()->py.size), dims.get()) : nullptr;
}
PyObject* device(const TensorMeta& m) {
  const PythonObjects& p = library()->py;
  switch (m.device) {
    case graph::DeviceKind::kCpu:
      return Py_NewRef(p.cpu_device);
    case graph::DeviceKind::kMeta:
      return Py_NewRef(p.meta_device);
    case graph::DeviceKind::kCuda:
    case graph::DeviceKind::kOther:
      break;
  }
  return nullptr;
}
PyObject* strided(const TensorMeta&) { return PyObject_GetAttrString(library()->py.torch, "strided"); }

struct Row {
  std::string_view name;
  PyObject* (*make)(const TensorMeta&);
};
constexpr auto kFalse = [](const TensorMeta&) { return Py_NewRef(Py_False); };
constexpr std::array kRows = {
    Row{"shape", shape},
    Row{"dtype", [](const TensorMeta& m) { return Py_XNewRef(dtype_object(m.dtype)); }},
    Row{"device", device},
    Row{"layout", strided},
    Row{"ndim", [](const TensorMeta& m) { return PyLong_FromLongLong(m.rank()); }},
    Row{"requires_grad", [](const TensorMeta& m) { return py_bool(m.requires_grad); }},
    Row{"is_leaf", [](const TensorMeta& m) { return py_bool(m.is_leaf); }},
    Row{"itemsize", [](const TensorMeta& m) { return PyLong_FromLong(graph::item_size(m.dtype)); }},
    Row{"nbytes",
        [](const TensorMeta& m) { return PyLong_FromLongLong(m.numel() * graph::item_size(m.dtype)); }},
    Row{"is_cpu", [](const TensorMeta& m) { return py_bool(m.device == graph::DeviceKind::kCpu); }},
    Row{"is_meta", [](const TensorMeta& m) { return py_bool(m.device == graph::DeviceKind::kMeta); }},
    Row{"is_cuda", [](const TensorMeta& m) { return py_bool(m.device == graph::DeviceKind::kCuda); }},
    Row{"is_mtia", kFalse},
    Row{"is_xla", kFalse},
    Row{"is_xpu", kFalse},
    Row{"is_ipu", kFalse},
    Row{"is_mps", kFalse},
    Row{"is_maia", kFalse},
    Row{"is_vulkan", kFalse},
    Row{"is_sparse", kFalse},
    Row{"is_sparse_csr", kFalse},
    Row{"is_mkldnn", kFalse},
    Row{"is_quantized", kFalse},
    Row{"is_nested", kFalse},
    Row{"_has_symbolic_sizes_strides", kFalse},
    Row{"name", [](const TensorMeta&) { return Py_NewRef(Py_None); }},
};

}  // namespace

py::Ref attribute_constant(const TensorMeta& meta, PyObject* name) {
  if (!available() || !meta.plain || graph::item_size(meta.dtype) == 0) return {};
  const std::string_view wanted = py::utf8(name);
  for (const Row& row : kRows) {
    if (row.name == wanted) return py::Ref::steal(row.make(meta));
  }
  return {};
}

}  // namespace breakline::torch
