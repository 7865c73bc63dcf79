// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/torch/probe.h"

#include <algorithm>
#include <cstring>

namespace breakline::torch {
namespace {

/// Tensors of many kinds; those of `plain` are ordinary dense ones, with and without inference mode.
constexpr const char* kSamples = R"(
def make(torch):
    plain, other = [], []
    with torch.enable_grad():
        for n in range(1, 13):
            t = torch.empty(n, dtype=torch.float32)
            plain += [t, torch.empty(n, 2).t(), torch.empty(n, dtype=torch.int64), torch.empty(n, device='meta')]
            leaf = torch.empty(n, dtype=torch.float64, requires_grad=True)
            plain += [leaf, leaf.view(1, n), torch.empty(n, requires_grad=True).requires_grad_(False), leaf.detach()]
            plain += [torch.nn.Parameter(torch.empty(n, 3)), torch.nn.Parameter(torch.empty(n), requires_grad=False)]
            moved = torch.zeros(n)
            for _ in range(n):
                moved.add_(1)
            plain += [moved, torch.empty(n, dtype=torch.bool), torch.empty(n, dtype=torch.bfloat16)]
            plain += [torch.empty(20, 3)[n:, 1:], torch.empty(()), torch.empty((n,) * (n % 5 + 1), dtype=torch.uint8)]
    with torch.inference_mode():
        plain += [torch.empty(3), torch.empty(3, device='meta'), torch.empty(2, 2).t()]
    c = torch.empty(3, dtype=torch.complex64)
    other += [c.conj(), c.conj().imag, torch.empty(3, 3).to_sparse()]
    return plain, other
)";

struct Samples {
  py::Ref plain, other;
};

Samples make_samples(PyObject* torch) {
  const py::Ref scope = py::Ref::steal(PyDict_New());
  PyDict_SetItemString(scope.get(), "__builtins__", PyEval_GetBuiltins());
  const py::Ref ran = py::Ref::steal(PyRun_String(kSamples, Py_file_input, scope.get(), scope.get()));
  PyObject* make = ran ? PyDict_GetItemString(scope.get(), "make") : nullptr;
  const py::Ref both = py::Ref::steal(make ? PyObject_CallOneArg(make, torch) : nullptr);
  if (!both || !PyTuple_Check(both.get()) || PyTuple_GET_SIZE(both.get()) != 2) {
    PyErr_Clear();
    return {};
  }
  return {py::Ref::borrow(PyTuple_GET_ITEM(both.get(), 0)), py::Ref::borrow(PyTuple_GET_ITEM(both.get(), 1))};
}

template <class F>
bool every(PyObject* list, F&& holds) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    if (!holds(PyList_GET_ITEM(list, i))) return false;
  }
  return true;
}

void* impl_by_api(const Library& library, PyObject* tensor) {
  const py::Ref capsule = py::Ref::steal(PyObject_CallOneArg(library.py.handle_probe, tensor));
  void* handle = capsule ? PyCapsule_GetPointer(capsule.get(), PyCapsule_GetName(capsule.get())) : nullptr;
  if (!handle) {
    PyErr_Clear();
    return nullptr;
  }
  void* impl = *static_cast<void**>(handle);
  library.c.delete_tensor(handle);
  return impl;
}

bool attribute_is(PyObject* tensor, const char* name, bool value) {
  const py::Ref found = py::Ref::steal(PyObject_GetAttrString(tensor, name));
  if (!found) PyErr_Clear();
  return found.get() == (value ? Py_True : Py_False);
}

int find_object_offset(const Library& library, PyObject* tensors) {
  if (!library.py.handle_probe) return 0;
  for (int offset : {16, 24}) {
    const auto matches = [&](PyObject* t) {
      return *reinterpret_cast<void**>(reinterpret_cast<char*>(t) + offset) == impl_by_api(library, t);
    };
    if (every(tensors, matches)) return offset;
  }
  return 0;
}

int find_key_set_offset(const Library& library, PyObject* plain, PyObject* other, int object_offset) {
  constexpr int kEnd = 192;  // TensorImpl is a little larger; the key set lies before its end
  for (int offset = 8; offset < kEnd; offset += 8) {
    const auto matches = [&](PyObject* t) {
      const char* impl = *reinterpret_cast<char**>(reinterpret_cast<char*>(t) + object_offset);
      uint64_t word = 0;
      std::memcpy(&word, impl + offset, sizeof word);
      const uint64_t expected = slow_key_set(library, t);
      return expected != 0 && word == expected;
    };
    if (every(plain, matches) && every(other, matches)) return offset;
  }
  return 0;
}

/// The only offset below `end` at which every sample has the number that the C interface gives; 0 when there
/// is none or several.
template <class T, class Expected>
int find_field(PyObject* samples, int object_offset, int end, Expected&& expected) {
  int found = 0;
  for (int offset = 8; offset + static_cast<int>(sizeof(T)) <= end; offset += static_cast<int>(sizeof(T))) {
    const auto matches = [&](PyObject* t) {
      char* handle = reinterpret_cast<char*>(t) + object_offset;
      T value;
      std::memcpy(&value, *reinterpret_cast<char**>(handle) + offset, sizeof value);
      return value == static_cast<T>(expected(handle));
    };
    if (!every(samples, matches)) continue;
    if (found) return 0;
    found = offset;
  }
  return found;
}

/// Offset of the array that `get` points to, when it lies at the same place in every sample.
int find_array(PyObject* samples, int object_offset, int end, Status (*get)(void*, int64_t**)) {
  int found = -1;
  const bool same = every(samples, [&](PyObject* t) {
    char* handle = reinterpret_cast<char*>(t) + object_offset;
    int64_t* array = nullptr;
    get(handle, &array);
    const std::ptrdiff_t at = reinterpret_cast<char*>(array) - *reinterpret_cast<char**>(handle);
    if (at <= 0 || at + kDirectRank * 8 > end || (found >= 0 && at != found)) return false;
    found = static_cast<int>(at);
    return true;
  });
  return same && found > 0 ? found : 0;
}

void find_metadata(const CInterface& c, PyObject* samples, Layout& layout) {
  const int at = layout.object_offset, end = layout.key_set_offset;
  const auto number = [](auto get) {
    return [get](void* handle) {
      int64_t value = 0;
      get(handle, &value);
      return value;
    };
  };
  const auto small = [](auto get) {
    return [get](void* handle) {
      int32_t value = 0;
      get(handle, &value);
      return value;
    };
  };
  layout.sizes_offset = find_array(samples, at, end, c.get_sizes);
  layout.strides_offset = find_array(samples, at, end, c.get_strides);
  layout.rank_offset = find_field<int64_t>(samples, at, end, number(c.get_dim));
  layout.start_offset = find_field<int64_t>(samples, at, end, number(c.get_storage_offset));
  layout.dtype_offset = find_field<uint16_t>(samples, at, end, small(c.get_dtype));
  layout.device_offset = find_field<int8_t>(samples, at, end, small(c.get_device_type));
  layout.direct = layout.sizes_offset && layout.strides_offset && layout.rank_offset && layout.start_offset &&
                  layout.dtype_offset && layout.device_offset;
}

/// The only word below `end` that is null before a tensor is asked to need a gradient and not after, and is
/// not null in any sample that needs one.
int find_autograd(const Library& library, PyObject* samples, int object_offset, int end) {
  const auto word_at = [object_offset](PyObject* t, int offset) {
    uint64_t word = 0;
    std::memcpy(&word, *reinterpret_cast<char**>(reinterpret_cast<char*>(t) + object_offset) + offset,
                sizeof word);
    return word;
  };
  const py::Ref fresh = py::Ref::steal(PyObject_CallMethod(library.py.torch, "empty", "i", 3));
  std::vector<uint64_t> before;
  for (int offset = 0; fresh && offset < end; offset += 8) before.push_back(word_at(fresh.get(), offset));
  const py::Ref asked =
      py::Ref::steal(fresh ? PyObject_CallMethod(fresh.get(), "requires_grad_", nullptr) : nullptr);
  if (!asked) {
    PyErr_Clear();
    return 0;
  }
  int found = 0;
  for (int offset = 16; offset < end; offset += 8) {
    if (before[static_cast<size_t>(offset / 8)] != 0 || word_at(fresh.get(), offset) == 0) continue;
    const auto fits = [&](PyObject* t) {
      return word_at(t, offset) != 0 || attribute_is(t, "requires_grad", false);
    };
    if (!every(samples, fits)) continue;
    if (found) return 0;
    found = offset;
  }
  return found;
}

int64_t api_version(PyObject* tensor, bool& known) {
  const py::Ref value = py::Ref::steal(PyObject_GetAttrString(tensor, "_version"));
  known = static_cast<bool>(value);
  if (!known) PyErr_Clear();
  return known ? PyLong_AsLongLong(value.get()) : -1;
}

}  // namespace

uint64_t slow_key_set(const Library& library, PyObject* tensor) {
  if (!library.py.dispatch_keys) return 0;
  const py::Ref keys = py::Ref::steal(PyObject_CallOneArg(library.py.dispatch_keys, tensor));
  const py::Ref number =
      py::Ref::steal(keys ? PyObject_CallMethod(keys.get(), "raw_repr", nullptr) : nullptr);
  const uint64_t bits = number ? PyLong_AsUnsignedLongLong(number.get()) : 0;
  PyErr_Clear();
  return bits;
}

Layout probe_layout(const Library& library) {
  Layout layout;
  const Samples samples = make_samples(library.py.torch);
  if (!samples.plain) return layout;
  PyObject* plain = samples.plain.get();
  every(plain, [&](PyObject* t) {
    const uint64_t keys = slow_key_set(library, t);
    auto& known = layout.plain_key_sets;
    if (!keys || std::find(known.begin(), known.end(), keys) != known.end()) return true;
    known.push_back(keys);
    bool has_version = false;
    api_version(t, has_version);
    if (!has_version) layout.inference_key_sets.push_back(keys);
    return true;
  });
  const int offset = find_object_offset(library, plain);
  layout.object_offset = offset;
  if (!offset) return layout;
  const auto handle = [offset](PyObject* t) { return reinterpret_cast<char*>(t) + offset; };
  layout.key_set_offset = find_key_set_offset(library, plain, samples.other.get(), offset);
  if (layout.key_set_offset) {
    find_metadata(library.c, plain, layout);
    layout.autograd_offset = find_autograd(library, plain, offset, layout.key_set_offset);
  }
  const CppSymbols& cpp = library.cpp;
  layout.fast_requires_grad =
      cpp.requires_grad && every(plain, [&](PyObject* t) {
        return attribute_is(t, "requires_grad", cpp.requires_grad(*reinterpret_cast<void**>(handle(t))));
      });
  layout.fast_is_leaf = cpp.is_leaf && every(plain, [&](PyObject* t) {
                          return attribute_is(t, "is_leaf", cpp.is_leaf(handle(t)));
                        });
  bool known = false;
  // Inference tensors have no version counter (the C++ call would throw): they are left out here and in
  // version_of.
  layout.fast_version = cpp.version && every(plain, [&](PyObject* t) {
                          const int64_t expected = api_version(t, known);
                          return !known || cpp.version(handle(t)) == expected;
                        });
  if (cpp.bump_version && PyList_GET_SIZE(plain) > 0) {
    PyObject* t = PyList_GET_ITEM(plain, 0);
    const int64_t before = api_version(t, known);
    if (known) {
      cpp.bump_version(handle(t));
      layout.fast_bump = api_version(t, known) == before + 1;
    }
  }
  return layout;
}

}  // namespace breakline::torch
