// SPDX-License-Identifier: GPL-3.0-or-later
// Private to this folder: PyTorch's C interface by dlsym, the Python objects used over and over, and a few
// C++ symbols that are optional (each is verified at start or has a slow way through Python).
#pragma once
#include <cstdint>
#include <vector>

#include "core/python/ref.h"

namespace breakline::torch {

using Status = int32_t;  ///< AOTITorchError: 0 is success

/// Stable C interface; required by initialize() unless said otherwise.
struct CInterface {
  Status (*get_data_ptr)(void*, void**) = nullptr;
  Status (*get_storage_size)(void*, int64_t*) = nullptr;
  Status (*get_dim)(void*, int64_t*) = nullptr;
  Status (*get_sizes)(void*, int64_t**) = nullptr;
  Status (*get_strides)(void*, int64_t**) = nullptr;
  Status (*get_dtype)(void*, int32_t*) = nullptr;
  Status (*get_device_type)(void*, int32_t*) = nullptr;
  Status (*get_storage_offset)(void*, int64_t*) = nullptr;
  Status (*empty_strided)(int64_t, const int64_t*, const int64_t*, int32_t, int32_t, int32_t,
                          void**) = nullptr;
  Status (*delete_tensor)(void*) = nullptr;
  /// A tensor over another's storage; null where this build lacks it.
  Status (*reinterpret)(void*, int64_t, const int64_t*, const int64_t*, int64_t, void**) = nullptr;
  /// Null where this build lacks them.
  Status (*from_blob)(void*, int64_t, const int64_t*, const int64_t*, int64_t, int32_t, int32_t, int32_t, void**) = nullptr;
  Status (*mm_out)(void*, void*, void*) = nullptr;
  Status (*bmm_out)(void*, void*, void*) = nullptr;
  Status (*addmm_out)(void*, void*, void*, void*, double, double) = nullptr;
  Status (*baddbmm_out)(void*, void*, void*, void*, double, double) = nullptr;
  Status (*mkl_linear)(void*, void*, void*, void**, int64_t, void**) = nullptr;
  bool (*grad_mode)() = nullptr;
  void (*set_grad_mode)(bool) = nullptr;
};

/// C++ symbols; null where this build of PyTorch lacks them. `Tensor*` arguments are handles.
struct CppSymbols {
  PyObject* (*wrap)(const void* tensor) = nullptr;    ///< THPVariable_Wrap
  bool (*requires_grad)(const void* impl) = nullptr;  ///< TensorImpl::requires_grad
  bool (*is_leaf)(const void* tensor) = nullptr;
  int64_t (*version)(const void* tensor) = nullptr;
  void (*bump_version)(const void* tensor) = nullptr;
  bool (*inference_mode)() = nullptr;
  int8_t (*default_dtype)() = nullptr;
  bool (*autocast_enabled)(int8_t device) = nullptr;
  int8_t (*autocast_dtype)(int8_t device) = nullptr;
  bool (*autocast_cache)() = nullptr;
  int (*autocast_enter)() = nullptr;  ///< counts one region more; the new depth
  int (*autocast_leave)() = nullptr;
  int64_t (*function_mode_count)() = nullptr;
  int64_t (*dispatch_mode_count)() = nullptr;
  int32_t (*function_disabled_state)() = nullptr;
  void* const* (*functorch_stack)() = nullptr;  ///< reference to a std::vector: begin, end
  void* (*global_context)() = nullptr;
  bool (*deterministic)(const void* context) = nullptr;
  bool (*deterministic_warn)(const void* context) = nullptr;
  const bool* anomaly = nullptr;
  std::vector<bool (*)(const void* context)> backend_flags;  ///< in a fixed order
  std::vector<const char*> backend_setters;  ///< beside each: torch._C's function that sets it, null for flags that traced code can't set
};

/// Borrowed for the life of the process (owned by this table).
struct PythonObjects {
  PyObject* torch = nullptr;
  PyObject* torch_c = nullptr;          ///< torch._C
  PyTypeObject* tensor = nullptr;       ///< torch.Tensor
  PyTypeObject* tensor_base = nullptr;  ///< torch._C.TensorBase
  PyTypeObject* parameter = nullptr;
  PyTypeObject* dtype = nullptr;
  PyTypeObject* device = nullptr;
  PyTypeObject* size = nullptr;
  PyTypeObject* layout = nullptr;
  PyTypeObject* memory_format = nullptr;
  PyTypeObject* generator = nullptr;
  PyObject* meta_device = nullptr;
  PyObject* cpu_device = nullptr;
  PyObject* empty_strided = nullptr;  ///< torch.empty_strided
  PyObject* dispatch_keys = nullptr;  ///< torch._C._dispatch_keys
  PyObject* handle_probe = nullptr;   ///< torch._C._aoti.unsafe_alloc_void_ptr_from_tensor
  PyObject* increment_version = nullptr;
  PyObject* is_alias_of = nullptr;
  PyObject* forward_ad = nullptr;  ///< dict of torch.autograd.forward_ad, or null
};

struct Library {
  bool ready = false;
  CInterface c;
  CppSymbols cpp;
  PythonObjects py;
};

/// Null until initialize() has succeeded.
const Library* library();
/// Loads everything from an imported torch; false without one. Clears errors.
bool load_library(Library& out);

}  // namespace breakline::torch
