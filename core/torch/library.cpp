// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/torch/library.h"

#include <dlfcn.h>

#include <string>
#include <string_view>

namespace breakline::torch {
namespace {

template <class F>
bool bind(void* library, const char* name, F& out) {
  out = reinterpret_cast<F>(library ? dlsym(library, name) : nullptr);
  return out != nullptr;
}

/// Libraries of an imported torch are in the process already; the folder is that of the package.
void* loaded(const std::string& folder, const char* name) {
  if (void* handle = dlopen(name, RTLD_LAZY | RTLD_NOLOAD)) return handle;
  return dlopen((folder + "/lib/" + name).c_str(), RTLD_LAZY | RTLD_NOLOAD);
}

PyObject* attribute(PyObject* object, const char* name) {
  PyObject* found = object ? PyObject_GetAttrString(object, name) : nullptr;
  if (!found) PyErr_Clear();
  return found;
}

bool type_attribute(PyObject* object, const char* name, PyTypeObject*& out) {
  PyObject* found = attribute(object, name);
  if (!found || !PyType_Check(found)) {
    Py_XDECREF(found);
    return false;
  }
  out = reinterpret_cast<PyTypeObject*>(found);
  return true;
}

bool bind_c(void* cpu, CInterface& c) {
  bind(cpu, "aoti_torch__reinterpret_tensor", c.reinterpret);
  bind(cpu, "aoti_torch_create_tensor_from_blob", c.from_blob);
  bind(cpu, "aoti_torch_cpu_mm_out", c.mm_out);
  bind(cpu, "aoti_torch_cpu__mkl_linear", c.mkl_linear);
  bind(cpu, "aoti_torch_cpu_bmm_out", c.bmm_out);
  bind(cpu, "aoti_torch_cpu_addmm_out", c.addmm_out);
  bind(cpu, "aoti_torch_cpu_baddbmm_out", c.baddbmm_out);
  return bind(cpu, "aoti_torch_get_data_ptr", c.get_data_ptr) &&
         bind(cpu, "aoti_torch_get_storage_size", c.get_storage_size) &&
         bind(cpu, "aoti_torch_get_dim", c.get_dim) && bind(cpu, "aoti_torch_get_sizes", c.get_sizes) &&
         bind(cpu, "aoti_torch_get_strides", c.get_strides) &&
         bind(cpu, "aoti_torch_get_dtype", c.get_dtype) &&
         bind(cpu, "aoti_torch_get_device_type", c.get_device_type) &&
         bind(cpu, "aoti_torch_get_storage_offset", c.get_storage_offset) &&
         bind(cpu, "aoti_torch_empty_strided", c.empty_strided) &&
         bind(cpu, "aoti_torch_delete_tensor_object", c.delete_tensor) &&
         bind(cpu, "aoti_torch_grad_mode_is_enabled", c.grad_mode) &&
         bind(cpu, "aoti_torch_grad_mode_set_enabled", c.set_grad_mode);
}

void bind_cpp(void* cpu, void* c10, void* python, CppSymbols& s) {
  bind(python, "_Z16THPVariable_WrapRKN2at10TensorBaseE", s.wrap);
  bind(c10, "_ZNK3c1010TensorImpl13requires_gradEv", s.requires_grad);
  bind(cpu, "_ZN2at6native7is_leafERKNS_6TensorE", s.is_leaf);
  bind(cpu, "_ZN2at6native8_versionERKNS_6TensorE", s.version);
  bind(cpu, "_ZN5torch8autograd4impl12bump_versionERKN2at6TensorE", s.bump_version);
  bind(c10, "_ZN3c1013InferenceMode10is_enabledEv", s.inference_mode);
  bind(c10, "_ZN3c1031get_default_dtype_as_scalartypeEv", s.default_dtype);
  bind(cpu, "_ZN2at8autocast19is_autocast_enabledEN3c1010DeviceTypeE", s.autocast_enabled);
  bind(cpu, "_ZN2at8autocast18get_autocast_dtypeEN3c1010DeviceTypeE", s.autocast_dtype);
  bind(cpu, "_ZN2at8autocast25is_autocast_cache_enabledEv", s.autocast_cache);
  bind(cpu, "_ZN2at8autocast17increment_nestingEv", s.autocast_enter);
  bind(cpu, "_ZN2at8autocast17decrement_nestingEv", s.autocast_leave);
  bind(cpu, "_ZN2at4impl22PythonTorchFunctionTLS9stack_lenEv", s.function_mode_count);
  bind(c10, "_ZN3c104impl20TorchDispatchModeTLS9stack_lenEv", s.dispatch_mode_count);
  bind(cpu, "_ZN2at4impl22PythonTorchFunctionTLS18get_disabled_stateEv", s.function_disabled_state);
  bind(cpu, "_ZN2at9functorch20getDynamicLayerStackEv", s.functorch_stack);
  bind(cpu, "_ZN2at13globalContextEv", s.global_context);
  bind(cpu, "_ZNK2at7Context23deterministicAlgorithmsEv", s.deterministic);
  bind(cpu, "_ZNK2at7Context31deterministicAlgorithmsWarnOnlyEv", s.deterministic_warn);
  bind(cpu, "_ZN5torch8autograd11AnomalyMode8_enabledE", s.anomaly);
  struct Flag {
    const char *name, *setter;
  };
  constexpr Flag kFlags[] = {{"userEnabledCuDNN", nullptr},
                             {"benchmarkCuDNN", nullptr},
                             {"deterministicCuDNN", nullptr},
                             {"userEnabledMkldnn", nullptr},
                             {"deterministicMkldnn", nullptr},
                             {"userEnabledNNPACK", nullptr},
                             {"userEnabledFlashSDP", "_set_sdp_use_flash"},
                             {"userEnabledMathSDP", "_set_sdp_use_math"},
                             {"userEnabledMemEfficientSDP", "_set_sdp_use_mem_efficient"},
                             {"userEnabledCuDNNSDP", "_set_sdp_use_cudnn"},
                             {"userEnabledOverrideableSDP", "_set_sdp_use_overrideable"},
                             {"deterministicFillUninitializedMemory", nullptr}};
  for (const auto& [name, setter] : kFlags) {
    bool (*getter)(const void*) = nullptr;
    const std::string mangled = "_ZNK2at7Context" + std::to_string(std::string_view(name).size()) + name + "Ev";
    if (!bind(cpu, mangled.c_str(), getter)) continue;
    s.backend_flags.push_back(getter);
    s.backend_setters.push_back(setter);
  }
}

bool bind_python(PyObject* torch, PythonObjects& p) {
  p.torch = torch;
  p.torch_c = attribute(torch, "_C");
  const py::Ref nn = py::Ref::steal(attribute(torch, "nn"));
  if (!type_attribute(torch, "Tensor", p.tensor) || !type_attribute(p.torch_c, "TensorBase", p.tensor_base) ||
      !type_attribute(nn.get(), "Parameter", p.parameter) || !type_attribute(torch, "dtype", p.dtype) ||
      !type_attribute(torch, "device", p.device) || !type_attribute(torch, "Size", p.size) ||
      !type_attribute(torch, "layout", p.layout) ||
      !type_attribute(torch, "memory_format", p.memory_format) ||
      !type_attribute(torch, "Generator", p.generator)) {
    return false;
  }
  p.meta_device = PyObject_CallFunction(reinterpret_cast<PyObject*>(p.device), "s", "meta");
  p.cpu_device = PyObject_CallFunction(reinterpret_cast<PyObject*>(p.device), "s", "cpu");
  p.empty_strided = attribute(torch, "empty_strided");
  p.dispatch_keys = attribute(p.torch_c, "_dispatch_keys");
  const py::Ref aoti = py::Ref::steal(attribute(p.torch_c, "_aoti"));
  p.handle_probe = attribute(aoti.get(), "unsafe_alloc_void_ptr_from_tensor");
  p.increment_version = attribute(p.torch_c, "_increment_version");
  p.is_alias_of = attribute(p.torch_c, "_is_alias_of");
  const py::Ref autograd = py::Ref::steal(attribute(torch, "autograd"));
  const py::Ref forward = py::Ref::steal(attribute(autograd.get(), "forward_ad"));
  p.forward_ad = forward && PyModule_Check(forward.get()) ? PyModule_GetDict(forward.get()) : nullptr;
  PyErr_Clear();
  return p.meta_device && p.cpu_device && p.empty_strided;
}

}  // namespace

bool load_library(Library& out) {
  PyObject* torch = PyImport_ImportModule("torch");
  if (!torch) {
    PyErr_Clear();
    return false;
  }
  if (!bind_python(torch, out.py)) return false;
  std::string folder;
  if (const py::Ref file = py::Ref::steal(attribute(torch, "__file__"))) {
    folder = py::utf8(file.get());
    folder.resize(folder.rfind('/') == std::string::npos ? 0 : folder.rfind('/'));
  }
  void* cpu = loaded(folder, "libtorch_cpu.so");
  if (!cpu || !bind_c(cpu, out.c)) return false;
  bind_cpp(cpu, loaded(folder, "libc10.so"), loaded(folder, "libtorch_python.so"), out.cpp);
  out.ready = true;
  return true;
}

}  // namespace breakline::torch
