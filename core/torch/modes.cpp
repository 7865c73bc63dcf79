// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/torch/modes.h"

#include "core/python/ref.h"
#include "core/torch/library.h"

namespace breakline::torch {

namespace {

std::string last_of(const char* length, const char* item) {
  PyObject* c = library()->py.torch_c;
  const py::Ref count = py::Ref::steal(PyObject_CallMethod(c, length, nullptr));
  const long n = count ? PyLong_AsLong(count.get()) : 0;
  const py::Ref mode = py::Ref::steal(n > 0 ? PyObject_CallMethod(c, item, "l", n - 1) : nullptr);
  PyErr_Clear();
  return mode ? Py_TYPE(mode.get())->tp_name : "";
}

}  // namespace

std::string innermost_mode() {
  if (!library()) return "";
  std::string name = last_of("_len_torch_function_stack", "_get_function_stack_at");
  return name.empty() ? last_of("_len_torch_dispatch_stack", "_get_dispatch_stack_at") : name;
}

}  // namespace breakline::torch
