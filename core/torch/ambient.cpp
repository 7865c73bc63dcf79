// SPDX-License-Identifier: GPL-3.0-or-later
// Reads every ambient switch of PyTorch. Each has a quick way through a C++ symbol and a slow one through
// torch._C.
#include "core/torch/ambient.h"

#include <array>
#include <string_view>

#include "core/torch/inference_region.h"
#include "core/torch/library.h"
#include "core/torch/tensor.h"
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace breakline::torch {
namespace {

constexpr int8_t kCpu = 0;
constexpr std::array<int8_t, 3> kOtherDevices = {1, 12, 13};  // cuda, xpu, mps
constexpr std::array<const char*, 3> kOtherNames = {"cuda", "xpu", "mps"};

/// Calls torch._C.<name>(argument?); null when that fails.
py::Ref ask(const char* name, const char* argument = nullptr) {
  const py::Ref function = py::Ref::steal(PyObject_GetAttr(library()->py.torch_c, py::intern(name)));
  py::Ref result;
  if (function) {
    result = py::Ref::steal(argument ? PyObject_CallFunction(function.get(), "s", argument)
                                     : PyObject_CallNoArgs(function.get()));
  }
  if (!result) PyErr_Clear();
  return result;
}
bool ask_bool(const char* name, const char* argument = nullptr) {
  return ask(name, argument).get() == Py_True;
}
int64_t ask_int(const char* name) {
  const py::Ref result = ask(name);
  const int64_t n = result ? PyLong_AsLongLong(result.get()) : 0;
  PyErr_Clear();
  return n;
}
int8_t ask_dtype(const char* name, const char* argument, int8_t otherwise);

bool flushes_denormals() {
#if defined(__SSE2__)
  return (_mm_getcsr() & 0x8040U) != 0;  // FTZ | DAZ, what torch.set_flush_denormal sets
#else
  return false;
#endif
}

bool functorch_active(const CppSymbols& cpp) {
  if (cpp.functorch_stack) {
    void* const* stack = cpp.functorch_stack();
    return stack[0] != stack[1];
  }
  const py::Ref module = py::Ref::steal(PyObject_GetAttrString(library()->py.torch_c, "_functorch"));
  const py::Ref top =
      py::Ref::steal(module ? PyObject_CallMethod(module.get(), "peek_interpreter_stack", nullptr) : nullptr);
  if (!top) PyErr_Clear();
  return top && top.get() != Py_None;
}

/// Tensors may carry tangents, which own kernels would drop.
bool forward_ad_active(const PythonObjects& p) {
  if (!p.forward_ad) return false;
  static PyObject* const name = PyUnicode_InternFromString("_current_level");
  const auto look = [&p] {
    PyObject* level = PyDict_GetItem(p.forward_ad, name);
    return level && PyLong_CheckExact(level) && PyLong_AsLong(level) >= 0;
  };
#if PY_VERSION_HEX < 0x030D0000
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  static uint64_t version = 0;  // of the dict when `active` was looked up
  static bool active = false;
  const uint64_t now = reinterpret_cast<PyDictObject*>(p.forward_ad)->ma_version_tag;
#pragma GCC diagnostic pop
  if (now != version) {
    active = look();
    version = now;
  }
  return active;
#else
  return look();
#endif
}

/// What the torch-function modes on the stack are: default devices, and how many are not the CPU as default device (which changes nothing
/// of what is computed).
struct FunctionModes {
  bool device = false;
  int64_t others = 0;
};
FunctionModes modes_on_stack(int64_t count) {
  FunctionModes found;
  for (int64_t i = 0; i < count; ++i) {
    const py::Ref mode = py::Ref::steal(
        PyObject_CallMethod(library()->py.torch_c, "_get_function_stack_at", "L", static_cast<long long>(i)));
    const bool is_device = mode && std::string_view(Py_TYPE(mode.get())->tp_name).ends_with("DeviceContext");
    const py::Ref device = py::Ref::steal(is_device ? PyObject_GetAttrString(mode.get(), "device") : nullptr);
    const py::Ref name = py::Ref::steal(device ? PyObject_Str(device.get()) : nullptr);
    PyErr_Clear();
    found.device = found.device || is_device;
    if (!name || py::utf8(name.get()) != "cpu") ++found.others;
  }
  return found;
}

int8_t ask_dtype(const char* name, const char* argument, int8_t otherwise) {
  const py::Ref result = ask(name, argument);
  const py::Ref text = py::Ref::steal(result ? PyObject_Str(result.get()) : nullptr);
  if (!text) {
    PyErr_Clear();
    return otherwise;
  }
  std::string_view dtype = py::utf8(text.get());
  if (dtype.starts_with("torch.")) dtype.remove_prefix(6);
  for (int8_t t = 0; t < 16; ++t) {
    if (graph::dtype_name(static_cast<graph::DType>(t)) == dtype) return t;
  }
  return otherwise;
}

bool is_inference_mode() {
  const auto quick = library()->cpp.inference_mode;
  return quick ? quick() : ask_bool("is_inference_mode_enabled");
}

int8_t default_dtype_by_python() {
  const py::Ref dtype =
      py::Ref::steal(PyObject_CallMethod(library()->py.torch, "get_default_dtype", nullptr));
  if (!dtype) PyErr_Clear();
  return static_cast<int8_t>(dtype ? dtype_of(dtype.get()) : graph::DType::kFloat32);
}

}  // namespace

Ambient current_ambient() {
  Ambient a;
  const Library* l = library();
  if (!l) return a;
  const CppSymbols& cpp = l->cpp;
  a.grad_mode = l->c.grad_mode();
  a.inference_depth = torch::inference_depth();
  a.inference_mode = is_inference_mode();
  if (cpp.global_context && cpp.deterministic && cpp.deterministic_warn) {
    const void* context = cpp.global_context();
    a.deterministic = cpp.deterministic(context);
    a.deterministic_warn = cpp.deterministic_warn(context);
  } else {
    a.deterministic = ask_bool("_get_deterministic_algorithms");
    a.deterministic_warn = ask_bool("_get_deterministic_algorithms_warn_only");
  }
  if (cpp.autocast_enabled && cpp.autocast_dtype) {
    a.autocast_cpu = cpp.autocast_enabled(kCpu);
    a.autocast_cpu_dtype = cpp.autocast_dtype(kCpu);
    for (int8_t device : kOtherDevices) a.autocast_other = a.autocast_other || cpp.autocast_enabled(device);
  } else {
    a.autocast_cpu = ask_bool("is_autocast_enabled", "cpu");
    a.autocast_cpu_dtype = ask_dtype("get_autocast_dtype", "cpu", 15);
    for (const char* device : kOtherNames)
      a.autocast_other = a.autocast_other || ask_bool("is_autocast_enabled", device);
  }
  if (cpp.autocast_enter && cpp.autocast_leave) {
    a.autocast_depth = static_cast<int16_t>(cpp.autocast_enter() - 1);
    cpp.autocast_leave();
  } else {
    a.autocast_depth = static_cast<int16_t>(ask_int("autocast_increment_nesting") - 1);
    ask_int("autocast_decrement_nesting");
  }
  a.autocast_cache = cpp.autocast_cache ? cpp.autocast_cache() : ask_bool("is_autocast_cache_enabled");
  a.default_dtype = cpp.default_dtype ? cpp.default_dtype() : default_dtype_by_python();
  a.function_modes = static_cast<int16_t>(cpp.function_mode_count ? cpp.function_mode_count()
                                                                  : ask_int("_len_torch_function_stack"));
  if (a.function_modes) {
    const FunctionModes modes = modes_on_stack(a.function_modes);
    a.default_device_set = modes.device;
    a.function_modes = static_cast<int16_t>(modes.others);
  }
  a.dispatch_modes = static_cast<int16_t>(cpp.dispatch_mode_count ? cpp.dispatch_mode_count()
                                                                  : ask_int("_len_torch_dispatch_stack"));
  a.functorch_levels = functorch_active(cpp) || forward_ad_active(l->py) ? 1 : 0;
  a.torch_function_enabled = cpp.function_disabled_state ? cpp.function_disabled_state() == 0
                                                         : ask_bool("_is_torch_function_enabled");
  a.anomaly = cpp.anomaly ? *cpp.anomaly : ask_bool("is_anomaly_enabled");
  a.flush_denormal = flushes_denormals();
  if (cpp.global_context) {
    const void* context = cpp.global_context();
    for (const auto getter : cpp.backend_flags)
      a.backend_flags = (a.backend_flags << 1) | (getter(context) ? 1U : 0U);
  }
  return a;
}

bool ambient_matches(const Ambient& expected) { return current_ambient() == expected; }

bool Ambient::traceable(std::string* why) const {
  const char* reason = nullptr;
  if (functorch_levels)
    reason = "functorch";
  else if (function_modes || !torch_function_enabled)
    reason = "torch-function-mode";
  else if (dispatch_modes)
    reason = "dispatch-mode";
  else if (autocast_other || anomaly)
    reason = "global-state";
  if (reason && why) *why = reason;
  return reason == nullptr;
}

void restore_ambient(const Ambient& target) {
  const Library* l = library();
  if (!l) return;
  // First, since it brings back the grad mode of the place that a region was entered from.
  if (const int16_t depth = torch::inference_depth(); depth != target.inference_depth)
    set_inference_depth(target.inference_depth, target.inference_mode);
  else if (depth && is_inference_mode() != target.inference_mode) {
    set_inference_depth(static_cast<int16_t>(depth - 1), false);
    set_inference_depth(depth, target.inference_mode);
  }
  const Ambient now = current_ambient();
  if (now.grad_mode != target.grad_mode) l->c.set_grad_mode(target.grad_mode);
  const auto set = [l](const char* name, const char* format, auto... values) {
    const py::Ref done = py::Ref::steal(PyObject_CallMethod(l->py.torch_c, name, format, values...));
    if (!done) PyErr_Clear();  // a build without that device: nothing to restore
  };
  if (now.autocast_cpu != target.autocast_cpu)
    set("set_autocast_enabled", "sO", "cpu", target.autocast_cpu ? Py_True : Py_False);
  if (now.autocast_cpu_dtype != target.autocast_cpu_dtype) {
    PyObject* dtype = dtype_object(static_cast<graph::DType>(target.autocast_cpu_dtype));
    if (dtype) set("set_autocast_dtype", "sO", "cpu", dtype);
  }
  for (int depth = now.autocast_depth; depth < target.autocast_depth; ++depth) set("autocast_increment_nesting", nullptr);
  for (int depth = now.autocast_depth; depth > target.autocast_depth; --depth) set("autocast_decrement_nesting", nullptr);
  if (now.autocast_cache != target.autocast_cache) {
    set("set_autocast_cache_enabled", "O", target.autocast_cache ? Py_True : Py_False);
  }
  if (now.torch_function_enabled != target.torch_function_enabled) {
    const py::Ref states = py::Ref::steal(PyObject_GetAttrString(l->py.torch_c, "_TorchFunctionState"));
    const py::Ref state = py::Ref::steal(
        states ? PyObject_GetAttrString(states.get(), target.torch_function_enabled ? "ENABLED" : "SUBCLASSES_DISABLED") : nullptr);
    if (state) set("_set_torch_function_state", "O", state.get());
    PyErr_Clear();
  }
  if (now.deterministic != target.deterministic || now.deterministic_warn != target.deterministic_warn) {
    const py::Ref setter = py::Ref::steal(PyObject_GetAttrString(l->py.torch_c, "_set_deterministic_algorithms"));
    const py::Ref how = py::Ref::steal(Py_BuildValue("(O)", target.deterministic ? Py_True : Py_False));
    const py::Ref words = py::Ref::steal(Py_BuildValue("{sO}", "warn_only", target.deterministic_warn ? Py_True : Py_False));
    const py::Ref done = py::Ref::steal(setter && how && words ? PyObject_Call(setter.get(), how.get(), words.get()) : nullptr);
    if (!done) PyErr_Clear();
  }
  if (now.backend_flags != target.backend_flags) {
    const auto& setters = l->cpp.backend_setters;
    for (size_t i = 0; i < setters.size(); ++i) {
      const uint32_t bit = 1U << (setters.size() - 1 - i);
      if (setters[i] && ((now.backend_flags ^ target.backend_flags) & bit)) set(setters[i], "O", target.backend_flags & bit ? Py_True : Py_False);
    }
  }
  if (now.default_dtype != target.default_dtype) {
    PyObject* dtype = dtype_object(static_cast<graph::DType>(target.default_dtype));
    if (dtype) set("_set_default_dtype", "O", dtype);
  }
}

}  // namespace breakline::torch
