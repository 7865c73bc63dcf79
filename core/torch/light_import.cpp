// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/torch/light_import.h"

#include "core/python/ref.h"

namespace breakline::torch {
namespace {

constexpr const char* kName = "torch._dynamo";

/// enter() puts a module in place whose `disable` returns the function as it is; leave() takes it away again,
/// and with it what PyTorch's wrappers have remembered of it.
constexpr const char* kSource = R"(
import importlib, sys, types

name = "torch._dynamo"
touched = []

def disable(fn=None, recursive=True, **_):
    touched.append(fn)
    return fn

def real(attribute):
    if attribute.startswith("__"):
        raise AttributeError(attribute)  # whoever looks through sys.modules
    if sys.modules.get(name) is module:
        del sys.modules[name]
    return getattr(importlib.import_module(name), attribute)

module = types.ModuleType(name)
module.disable = disable
module.__getattr__ = real

def leave():
    if sys.modules.get(name) is module:
        del sys.modules[name]
    for fn in touched:
        vars(fn).pop("__dynamo_disable", None)
    touched.clear()
)";

struct StandIn {
  PyObject* module = nullptr;
  PyObject* leave = nullptr;
};

/// Made once, never freed. Null members when it could not be made.
const StandIn& stand_in() {
  static const StandIn made = [] {
    StandIn s;
    const py::Ref scope = py::Ref::steal(PyDict_New());
    const py::Ref builtins = py::Ref::borrow(PyEval_GetBuiltins());
    if (scope) PyDict_SetItemString(scope.get(), "__builtins__", builtins.get());
    const py::Ref done =
        scope ? py::Ref::steal(PyRun_String(kSource, Py_file_input, scope.get(), scope.get())) : py::Ref();
    if (done) {
      s.module = Py_XNewRef(PyDict_GetItemString(scope.get(), "module"));
      s.leave = Py_XNewRef(PyDict_GetItemString(scope.get(), "leave"));
    }
    PyErr_Clear();
    return s;
  }();
  return made;
}

}  // namespace

LightImport::LightImport() {
  PyObject* modules = PyImport_GetModuleDict();
  if (PyDict_GetItemString(modules, kName)) return;
  const StandIn& s = stand_in();
  if (!s.module || !s.leave) return;
  active_ = PyDict_SetItemString(modules, kName, s.module) == 0;
}

LightImport::~LightImport() {
  if (!active_) return;
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  const py::Ref done = py::Ref::steal(PyObject_CallNoArgs(stand_in().leave));
  if (!done) PyErr_Clear();
  PyErr_Restore(type, value, traceback);
}

}  // namespace breakline::torch
