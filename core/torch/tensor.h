// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <array>
#include <cstring>
#include <span>

#include "core/graph/graph.h"
#include "core/python/ref.h"

namespace breakline::torch {

/// Loads the interface from an imported torch module; false (no error set) when torch is not importable or
/// too old. Called once by engine after `import torch`; cheap when repeated.
bool initialize();
/// True after a successful initialize().
bool available();

/// An AtenTensorHandle of the stable C interface (a `Tensor*`); valid as long as the Python tensor lives.
using Handle = void*;

/// isinstance(object, torch.Tensor); false without torch. No side effects.
bool is_tensor(PyObject* object);
/// Exactly torch.Tensor or torch.nn.Parameter (no subclass with __torch_function__).
bool is_plain_tensor(PyObject* object);
Handle handle_of(PyObject* tensor);

/// Raw metadata, no allocation; pointers stay valid while the tensor's metadata does. ~10 ns.
struct RawMeta {
  const int64_t* sizes;
  const int64_t* strides;
  int64_t rank;
  int64_t storage_offset;
  graph::DType dtype;
  graph::DeviceKind device;
  uint64_t key_set;  ///< dispatch-key bits, 0 if unknown
  bool requires_grad;
  bool is_leaf;
};
RawMeta raw_meta(PyObject* tensor);
/// The words of a tensor that hold its metadata, as they are now: while they stay, so do sizes, strides,
/// dtype, device, keys and the storage's identity. Empty where this build's layout is unknown or the metadata
/// lie elsewhere.
struct MetaImage {
  static constexpr int kFirst =
      16;  ///< byte of the first word: behind the virtual table and the reference counts
  std::array<uint64_t, 24> words;
  int count = 0;
  int object_offset = 0;  ///< of the Tensor inside the Python object
  bool requires_grad = false, is_leaf = true;
  bool whole = false;  ///< the words say about the gradient too
};
MetaImage image_of(PyObject* tensor);
/// Whether the gradient is needed as it was, for an image that is not `whole`.
bool same_gradient(PyObject* tensor, const MetaImage& image);
/// Where the metadata of a tensor with an image lie.
inline const char* impl_of(PyObject* tensor, const MetaImage& image) {
  return *reinterpret_cast<const char* const*>(reinterpret_cast<const char*>(tensor) + image.object_offset);
}
/// False also when only something without meaning here has changed; a few ns. `tensor` must be one.
inline bool image_holds(PyObject* tensor, const MetaImage& image) {
  const char* impl = impl_of(tensor, image);
  // The C library's comparison, in vectors of the machine it runs on.
  return std::memcmp(impl + MetaImage::kFirst, image.words.data(), static_cast<size_t>(image.count) * 8) == 0 &&
         (image.whole || same_gradient(tensor, image));
}
/// True for the dispatch keys of an ordinary dense CPU or meta tensor: no sparse, quantised, conj or neg bit,
/// no wrapper. Where it is false, raw_meta leaves sizes and strides null and the rank 0.
bool is_plain_keys(uint64_t key_set);
/// Made under inference mode: no version counter, not to be written or saved for backward elsewhere.
bool is_inference_tensor(PyObject* tensor);
/// Same as an owning value.
graph::TensorMeta meta_of(PyObject* tensor);
void* data_ptr(PyObject* tensor);
/// Identity of the storage (address of its data start) and its byte size, for overlap guards.
struct StorageExtent {
  const void* begin;
  size_t bytes;
};
StorageExtent storage_of(PyObject* tensor);
/// tensor._version
int64_t version_of(PyObject* tensor);
/// Marks an in-place write done by own kernels (torch._C._autograd / _bump_version). Returns false when
/// impossible.
bool bump_version(PyObject* tensor);
/// Puts the version counter back after a write was undone; false when impossible.
bool set_version(PyObject* tensor, int64_t version);

/// New uninitialised CPU tensor as a Python object (new reference; null + error on failure).
PyObject* new_empty(std::span<const int64_t> sizes, std::span<const int64_t> strides, graph::DType dtype);

/// torch.float32 … as a borrowed object; null for kOther.
PyObject* dtype_object(graph::DType dtype);
/// The DType of a torch.dtype object; kOther when unknown.
graph::DType dtype_of(PyObject* dtype_object);
bool is_dtype(PyObject* object);
bool is_device(PyObject* object);
/// torch.Size / torch.layout / torch.memory_format / torch.dtype / torch.device instances: immutable
/// constants.
bool is_torch_constant(PyObject* object);
/// A member of an enum of PyTorch's C++ part (SDPBackend and the like): unchanging, equal and hashed by its number.
bool is_native_enum(PyObject* object);

/// A meta-device twin of `meta` (new reference), made once per distinct metadata (cached).
PyObject* meta_twin(const graph::TensorMeta& meta);
/// A meta twin of its own (new reference), for calls that write their operand. A non-leaf twin is a view of a
/// leaf, so an in-place op on it is allowed as on the real tensor.
PyObject* fresh_meta_twin(const graph::TensorMeta& meta);
/// A zero-filled CPU tensor of this metadata (new reference).
PyObject* real_twin(const graph::TensorMeta& meta);

}  // namespace breakline::torch
