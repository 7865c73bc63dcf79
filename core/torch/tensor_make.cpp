// SPDX-License-Identifier: GPL-3.0-or-later
// New tensors, dtype objects, and meta-device twins.
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/torch/library.h"
#include "core/torch/tensor.h"

namespace breakline::torch {
namespace {

constexpr graph::DType kDTypes[] = {
    graph::DType::kUInt8,     graph::DType::kInt8,      graph::DType::kInt16,      graph::DType::kInt32,
    graph::DType::kInt64,     graph::DType::kFloat16,   graph::DType::kFloat32,    graph::DType::kFloat64,
    graph::DType::kComplex32, graph::DType::kComplex64, graph::DType::kComplex128, graph::DType::kBool,
    graph::DType::kBFloat16,
};

/// torch.<name> objects by number; filled on first use, never freed.
PyObject* const* dtype_objects() {
  static PyObject* table[128] = {};
  static bool filled = false;
  if (!filled && library()) {
    filled = true;
    for (const graph::DType t : kDTypes) {
      const std::string name(graph::dtype_name(t));
      table[static_cast<int>(t)] = PyObject_GetAttrString(library()->py.torch, name.c_str());
      if (!table[static_cast<int>(t)]) PyErr_Clear();
    }
  }
  return table;
}

py::Ref dims_tuple(std::span<const int64_t> dims) {
  py::Ref tuple = py::Ref::steal(PyTuple_New(static_cast<Py_ssize_t>(dims.size())));
  for (size_t i = 0; tuple && i < dims.size(); ++i) {
    PyObject* number = PyLong_FromLongLong(dims[i]);
    if (!number) return {};
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), number);
  }
  return tuple;
}

/// torch.empty_strided(sizes, strides, dtype=…, device=…)
PyObject* empty_by_python(std::span<const int64_t> sizes, std::span<const int64_t> strides,
                          graph::DType dtype, PyObject* device) {
  static PyObject* names = PyTuple_Pack(2, py::intern("dtype"), py::intern("device"));
  const py::Ref s = dims_tuple(sizes), t = dims_tuple(strides);
  PyObject* type = dtype_object(dtype);
  if (!s || !t) return nullptr;
  if (!type) {
    PyErr_SetString(PyExc_TypeError, "a tensor of this dtype cannot be made here");
    return nullptr;
  }
  PyObject* args[] = {s.get(), t.get(), type, device};
  return PyObject_Vectorcall(library()->py.empty_strided, args, 2, names);
}

/// An offset is had by as_strided on a larger base.
py::Ref make_twin(const graph::TensorMeta& m, PyObject* device) {
  if (m.storage_offset == 0) return py::Ref::steal(empty_by_python(m.sizes, m.strides, m.dtype, device));
  int64_t last = m.storage_offset + 1;
  for (size_t i = 0; i < m.sizes.size(); ++i) {
    if (m.sizes[i] > 0) last += (m.sizes[i] - 1) * m.strides[i];
  }
  const int64_t one = 1;
  const py::Ref base = py::Ref::steal(empty_by_python({&last, 1}, {&one, 1}, m.dtype, device));
  const py::Ref s = dims_tuple(m.sizes), t = dims_tuple(m.strides);
  if (!base || !s || !t) return {};
  return py::Ref::steal(PyObject_CallMethod(base.get(), "as_strided", "OOL", s.get(), t.get(),
                                            static_cast<long long>(m.storage_offset)));
}

std::string key_of(const graph::TensorMeta& m) {
  std::string key;
  key.push_back(static_cast<char>(m.dtype));
  key.push_back(m.requires_grad ? 'g' : '-');
  const auto put = [&key](int64_t v) { key.append(reinterpret_cast<const char*>(&v), sizeof v); };
  put(m.storage_offset);
  for (int64_t v : m.sizes) put(v);
  for (int64_t v : m.strides) put(v);
  return key;
}

}  // namespace

PyObject* dtype_object(graph::DType dtype) {
  const int number = static_cast<int>(dtype);
  return number >= 0 && number < 127 ? dtype_objects()[number] : nullptr;
}

graph::DType dtype_of(PyObject* object) {
  PyObject* const* table = dtype_objects();
  for (const graph::DType t : kDTypes) {
    if (table[static_cast<int>(t)] == object) return t;
  }
  return graph::DType::kOther;
}

bool is_dtype(PyObject* object) { return library() && Py_TYPE(object) == library()->py.dtype; }
bool is_device(PyObject* object) { return library() && Py_TYPE(object) == library()->py.device; }

bool is_native_enum(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || std::string_view(Py_TYPE(type)->tp_name) != "pybind11_type") return false;
  static auto& known = *new std::unordered_map<PyTypeObject*, bool>;
  const auto [it, fresh] = known.try_emplace(type, false);
  if (fresh) {
    Py_INCREF(type);  // its address must not be reused
    it->second = PyDict_GetItemString(type->tp_dict, "__entries") != nullptr;
  }
  return it->second;
}

bool is_torch_constant(PyObject* object) {
  const Library* l = library();
  if (!l) return false;
  PyTypeObject* type = Py_TYPE(object);
  return type == l->py.dtype || type == l->py.device || type == l->py.size || type == l->py.layout ||
         type == l->py.memory_format || is_native_enum(object);
}

PyObject* new_empty(std::span<const int64_t> sizes, std::span<const int64_t> strides, graph::DType dtype) {
  const Library* l = library();
  if (l->cpp.wrap) {
    void* handle = nullptr;
    const Status status = l->c.empty_strided(static_cast<int64_t>(sizes.size()), sizes.data(), strides.data(),
                                             static_cast<int32_t>(dtype), 0, -1, &handle);
    if (status == 0) {
      PyObject* object = l->cpp.wrap(handle);
      l->c.delete_tensor(handle);
      if (object) return object;
      PyErr_Clear();
    }
  }
  return empty_by_python(sizes, strides, dtype, l->py.cpu_device);
}

PyObject* fresh_meta_twin(const graph::TensorMeta& meta) {
  py::Ref twin = make_twin(meta, library()->py.meta_device);
  if (twin && meta.requires_grad && PyObject_SetAttrString(twin.get(), "requires_grad", Py_True) < 0)
    return nullptr;
  if (!twin || !meta.requires_grad || meta.is_leaf) return twin.release();
  // A view made under grad mode is not a leaf.
  const bool grad = library()->c.grad_mode();
  library()->c.set_grad_mode(true);
  const py::Ref s = dims_tuple(meta.sizes), t = dims_tuple(meta.strides);
  PyObject* view = s && t ? PyObject_CallMethod(twin.get(), "as_strided", "OOL", s.get(), t.get(),
                                                static_cast<long long>(meta.storage_offset))
                          : nullptr;
  library()->c.set_grad_mode(grad);
  return view;
}

PyObject* real_twin(const graph::TensorMeta& meta) {
  py::Ref twin = make_twin(meta, library()->py.cpu_device);
  const py::Ref filled = py::Ref::steal(twin ? PyObject_CallMethod(twin.get(), "zero_", nullptr) : nullptr);
  if (filled && meta.requires_grad && PyObject_SetAttrString(twin.get(), "requires_grad", Py_True) < 0) return nullptr;
  return filled ? twin.release() : nullptr;
}

PyObject* meta_twin(const graph::TensorMeta& meta) {
  static auto& cache = *new std::unordered_map<std::string, py::Ref>;  // never freed: no interpreter at exit
  if (cache.size() > 20000) cache.clear();
  std::string key = key_of(meta);
  const auto it = cache.find(key);
  if (it != cache.end()) {
    // An op that wrote its operand on the sly must not spoil later answers.
    const graph::TensorMeta now = meta_of(it->second.get());
    if (now.sizes == meta.sizes && now.strides == meta.strides && now.requires_grad == meta.requires_grad &&
        now.storage_offset == meta.storage_offset && version_of(it->second.get()) <= 0) {
      return py::Ref(it->second).release();
    }
    cache.erase(it);
  }
  graph::TensorMeta leaf = meta;
  leaf.is_leaf = true;
  py::Ref twin = py::Ref::steal(fresh_meta_twin(leaf));
  if (twin) cache.emplace(std::move(key), twin);
  return twin.release();
}

}  // namespace breakline::torch
