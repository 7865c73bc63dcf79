// SPDX-License-Identifier: GPL-3.0-or-later
// Metadata of Python tensors through the C interface. What the interface lacks (dispatch keys, requires_grad,
// version) is read by probed or optional means that are verified against the Python API at start; the slow
// way is kept.
#include "core/torch/tensor.h"

#include <algorithm>
#include <cstring>
#include <deque>

#include "core/torch/library.h"
#include "core/torch/probe.h"

namespace breakline::torch {
namespace {

Library the_library;
Layout the_layout;

/// Handles of a build whose tensor objects have an unknown layout: made by the official call and kept for a
/// while.
Handle slow_handle(PyObject* tensor) {
  static std::deque<Handle> ring;
  const py::Ref capsule = py::Ref::steal(PyObject_CallOneArg(the_library.py.handle_probe, tensor));
  void* handle = capsule ? PyCapsule_GetPointer(capsule.get(), PyCapsule_GetName(capsule.get())) : nullptr;
  if (!handle) {
    PyErr_Clear();
    return nullptr;
  }
  ring.push_back(handle);
  if (ring.size() > 65536) {
    the_library.c.delete_tensor(ring.front());
    ring.pop_front();
  }
  return handle;
}

bool bool_attribute(PyObject* tensor, const char* name) {
  const py::Ref value = py::Ref::steal(PyObject_GetAttr(tensor, py::intern(name)));
  if (!value) PyErr_Clear();
  return value.get() == Py_True;
}

graph::DType dtype_from_number(int32_t number) {
  const auto t = static_cast<graph::DType>(number);
  return graph::item_size(t) ? t : graph::DType::kOther;
}

graph::DeviceKind device_from_number(int32_t number) {
  constexpr int32_t kCpu = 0, kCuda = 1, kMeta = 14;  // c10::DeviceType, stable
  switch (number) {
    case kCpu:
      return graph::DeviceKind::kCpu;
    case kCuda:
      return graph::DeviceKind::kCuda;
    case kMeta:
      return graph::DeviceKind::kMeta;
    default:
      return graph::DeviceKind::kOther;
  }
}

}  // namespace

const Library* library() { return the_library.ready ? &the_library : nullptr; }

/// For shape rules: what an opaque constant is.
static graph::OpaqueKind classify_opaque(graph::ObjectHandle handle) {
  using graph::OpaqueKind;
  auto* object = static_cast<PyObject*>(handle);
  if (object == Py_Ellipsis) return OpaqueKind::kEllipsis;
  PyTypeObject* type = Py_TYPE(object);
  const PythonObjects& p = the_library.py;
  if (type == p.device) {
    const std::string text = py::to_string(object);
    return text == "cpu"    ? OpaqueKind::kCpuDevice
           : text == "meta" ? OpaqueKind::kMetaDevice
                            : OpaqueKind::kOtherDevice;
  }
  if (type == p.layout)
    return py::to_string(object) == "torch.strided" ? OpaqueKind::kStrided : OpaqueKind::kUnknown;
  if (type != p.memory_format) return OpaqueKind::kUnknown;
  const std::string text = py::to_string(object);
  if (text == "torch.contiguous_format") return OpaqueKind::kContiguousFormat;
  if (text == "torch.preserve_format") return OpaqueKind::kPreserveFormat;
  if (text == "torch.channels_last") return OpaqueKind::kChannelsLast;
  return text == "torch.channels_last_3d" ? OpaqueKind::kChannelsLast3d : OpaqueKind::kUnknown;
}

bool initialize() {
  static bool tried = false;
  if (tried) return the_library.ready;
  if (!Py_IsInitialized()) return false;
  tried = true;
  Library candidate;
  if (!load_library(candidate)) return false;
  the_library = candidate;
  the_layout = probe_layout(the_library);
  graph::set_opaque_classifier(&classify_opaque);
  if (the_layout.object_offset == 0 && !the_library.py.handle_probe) the_library.ready = false;
  return the_library.ready;
}

bool available() { return the_library.ready; }

bool is_tensor(PyObject* object) {
  return the_library.ready && object &&
         (Py_TYPE(object) == the_library.py.tensor ||
          PyType_IsSubtype(Py_TYPE(object), the_library.py.tensor_base));
}

bool is_plain_tensor(PyObject* object) {
  return the_library.ready && object &&
         (Py_TYPE(object) == the_library.py.tensor || Py_TYPE(object) == the_library.py.parameter);
}

Handle handle_of(PyObject* tensor) {
  if (the_layout.object_offset) return reinterpret_cast<char*>(tensor) + the_layout.object_offset;
  return slow_handle(tensor);
}

bool is_plain_keys(uint64_t key_set) {
  const auto& known = the_layout.plain_key_sets;
  return std::find(known.begin(), known.end(), key_set) != known.end();
}

RawMeta raw_meta(PyObject* tensor) {
  const CInterface& c = the_library.c;
  RawMeta m{};
  void* handle = handle_of(tensor);
  const char* impl = *static_cast<char**>(handle);
  if (the_layout.key_set_offset) {
    std::memcpy(&m.key_set, impl + the_layout.key_set_offset, sizeof m.key_set);
  } else {
    m.key_set = slow_key_set(the_library, tensor);
  }
  if (the_layout.direct) std::memcpy(&m.rank, impl + the_layout.rank_offset, sizeof m.rank);
  const bool direct = the_layout.direct && m.rank <= kDirectRank && is_plain_keys(m.key_set);
  int32_t number = 0;
  if (direct) {
    uint16_t dtype;
    std::memcpy(&dtype, impl + the_layout.dtype_offset, sizeof dtype);
    m.dtype = dtype_from_number(dtype);
    m.device = device_from_number(static_cast<int8_t>(impl[the_layout.device_offset]));
  } else {
    c.get_dtype(handle, &number);
    m.dtype = dtype_from_number(number);
    c.get_device_type(handle, &number);
    m.device = device_from_number(number);
  }
  m.requires_grad = the_layout.fast_requires_grad ? the_library.cpp.requires_grad(impl)
                                                  : bool_attribute(tensor, "requires_grad");
  // A tensor without requires_grad has no grad_fn, so it is a leaf.
  m.is_leaf = !m.requires_grad ||
              (the_layout.fast_is_leaf ? the_library.cpp.is_leaf(handle) : bool_attribute(tensor, "is_leaf"));
  if (is_plain_keys(m.key_set)) {
    if (direct) {
      m.sizes = reinterpret_cast<const int64_t*>(impl + the_layout.sizes_offset);
      m.strides = reinterpret_cast<const int64_t*>(impl + the_layout.strides_offset);
      std::memcpy(&m.storage_offset, impl + the_layout.start_offset, sizeof m.storage_offset);
      return m;
    }
    int64_t *sizes = nullptr, *strides = nullptr;
    c.get_dim(handle, &m.rank);
    c.get_sizes(handle, &sizes);
    c.get_strides(handle, &strides);
    c.get_storage_offset(handle, &m.storage_offset);
    m.sizes = sizes;
    m.strides = strides;
  } else {
    m.rank = 0;  // nobody walks over sizes that are not given
  }
  return m;
}

bool is_inference_tensor(PyObject* tensor) {
  const auto& known = the_layout.inference_key_sets;
  return std::find(known.begin(), known.end(), raw_meta(tensor).key_set) != known.end();
}

MetaImage image_of(PyObject* tensor) {
  MetaImage image;
  const RawMeta m = raw_meta(tensor);
  constexpr int kFirst = MetaImage::kFirst;
  const int end = the_layout.key_set_offset + 8;
  if (!the_layout.direct || !the_layout.fast_requires_grad || !the_layout.fast_is_leaf || !m.sizes ||
      m.rank > kDirectRank || end - kFirst > static_cast<int>(sizeof image.words))
    return image;
  image.count = (end - kFirst) / 8;
  image.object_offset = the_layout.object_offset;
  image.requires_grad = m.requires_grad;
  image.is_leaf = m.is_leaf;
  std::memcpy(image.words.data(), *static_cast<char**>(handle_of(tensor)) + kFirst,
              static_cast<size_t>(image.count) * 8);
  // Without the object that keeps a tensor's part in autograd it needs no gradient.
  if (const int at = the_layout.autograd_offset; at >= kFirst)
    image.whole = !image.requires_grad && image.words[static_cast<size_t>(at - kFirst) / 8] == 0;
  return image;
}

bool same_gradient(PyObject* tensor, const MetaImage& image) {
  void* handle = reinterpret_cast<char*>(tensor) + image.object_offset;
  if (the_library.cpp.requires_grad(*static_cast<char**>(handle)) != image.requires_grad) return false;
  return !image.requires_grad || the_library.cpp.is_leaf(handle) == image.is_leaf;
}

graph::TensorMeta meta_of(PyObject* tensor) {
  const RawMeta raw = raw_meta(tensor);
  graph::TensorMeta m;
  m.dtype = raw.dtype;
  m.device = raw.device;
  m.requires_grad = raw.requires_grad;
  m.is_leaf = raw.is_leaf;
  m.plain = is_plain_keys(raw.key_set);
  if (raw.sizes) {
    m.sizes.assign(raw.sizes, raw.sizes + raw.rank);
    m.strides.assign(raw.strides, raw.strides + raw.rank);
  }
  m.storage_offset = raw.storage_offset;
  return m;
}

void* data_ptr(PyObject* tensor) {
  void* out = nullptr;
  the_library.c.get_data_ptr(handle_of(tensor), &out);
  return out;
}

StorageExtent storage_of(PyObject* tensor) {
  const CInterface& c = the_library.c;
  void* handle = handle_of(tensor);
  void* data = nullptr;
  int64_t bytes = 0, offset = 0;
  int32_t dtype = 0;
  c.get_data_ptr(handle, &data);
  c.get_storage_size(handle, &bytes);
  c.get_storage_offset(handle, &offset);
  c.get_dtype(handle, &dtype);
  const int64_t skipped = offset * graph::item_size(dtype_from_number(dtype));
  return {data ? static_cast<char*>(data) - skipped : nullptr, static_cast<size_t>(bytes)};
}

/// False for inference tensors, for which the C++ calls would throw.
static bool keeps_version(PyObject* tensor) {
  const char* impl = *static_cast<char**>(handle_of(tensor));
  uint64_t keys = 0;
  if (the_layout.key_set_offset == 0) return false;
  std::memcpy(&keys, impl + the_layout.key_set_offset, sizeof keys);
  const auto& inference = the_layout.inference_key_sets;
  return is_plain_keys(keys) && std::find(inference.begin(), inference.end(), keys) == inference.end();
}

int64_t version_of(PyObject* tensor) {
  if (the_layout.fast_version && keeps_version(tensor)) return the_library.cpp.version(handle_of(tensor));
  const py::Ref value = py::Ref::steal(PyObject_GetAttr(tensor, py::intern("_version")));
  const int64_t number = value ? PyLong_AsLongLong(value.get()) : -1;
  PyErr_Clear();  // inference tensors keep no version: -1
  return number;
}

bool bump_version(PyObject* tensor) {
  if (the_layout.fast_bump && keeps_version(tensor)) {
    the_library.cpp.bump_version(handle_of(tensor));
    return true;
  }
  if (!the_library.py.increment_version) return false;
  const py::Ref list = py::Ref::steal(PyTuple_Pack(1, tensor));
  const py::Ref done = py::Ref::steal(PyObject_CallOneArg(the_library.py.increment_version, list.get()));
  if (!done) PyErr_Clear();
  return static_cast<bool>(done);
}

bool set_version(PyObject* tensor, int64_t version) {
  if (version < 0) return false;
  const py::Ref module = py::Ref::steal(PyObject_GetAttrString(the_library.py.torch_c, "_autograd"));
  const py::Ref done =
      py::Ref::steal(module ? PyObject_CallMethod(module.get(), "_unsafe_set_version_counter", "(O)(L)",
                                                  tensor, static_cast<long long>(version))
                            : nullptr);
  if (!done) PyErr_Clear();
  return static_cast<bool>(done);
}

}  // namespace breakline::torch
