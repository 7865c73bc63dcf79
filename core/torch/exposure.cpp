// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/torch/exposure.h"

#include <unordered_map>

#include "core/torch/library.h"
#include "core/torch/tensor.h"

namespace breakline::torch {
namespace {

std::unordered_map<const void*, std::weak_ptr<uint64_t>>& watched() {
  static auto& table = *new std::unordered_map<const void*, std::weak_ptr<uint64_t>>;
  return table;
}

void expose(PyObject* tensor) {
  if (watched().empty() || !is_tensor(tensor)) return;
  const auto it = watched().find(storage_of(tensor).begin);
  if (it == watched().end()) return;
  if (const auto count = it->second.lock()) {
    ++*count;
  } else {
    watched().erase(it);
  }
}

PyGetSetDef* data_before = nullptr;
PyMethodDef* numpy_before = nullptr;

PyObject* get_data(PyObject* self, void*) {
  expose(self);
  return data_before->get(self, data_before->closure);
}
int set_data(PyObject* self, PyObject* value, void*) {
  expose(self);
  return data_before->set(self, value, data_before->closure);
}
PyObject* numpy(PyObject* self, PyObject* args, PyObject* kwargs) {
  expose(self);
  const auto call =
      reinterpret_cast<PyCFunctionWithKeywords>(reinterpret_cast<void (*)()>(numpy_before->ml_meth));
  return call(self, args, kwargs);
}

PyObject* attribute(const char* name) {
  return PyDict_GetItemString(library()->py.tensor_base->tp_dict, name);
}

/// Puts ours in front of PyTorch's functions, in its descriptor objects.
bool wrap() {
  PyObject* data = attribute("data");
  PyObject* method = attribute("numpy");
  if (!data || !method || !Py_IS_TYPE(data, &PyGetSetDescr_Type) || !Py_IS_TYPE(method, &PyMethodDescr_Type))
    return false;
  auto* getset = reinterpret_cast<PyGetSetDescrObject*>(data);
  auto* function = reinterpret_cast<PyMethodDescrObject*>(method);
  if (!getset->d_getset->get || !getset->d_getset->set ||
      function->d_method->ml_flags != (METH_VARARGS | METH_KEYWORDS))
    return false;
  data_before = getset->d_getset;
  numpy_before = function->d_method;
  static PyGetSetDef new_data = *data_before;
  static PyMethodDef new_numpy = *numpy_before;
  new_data.get = get_data;
  new_data.set = set_data;
  new_numpy.ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(numpy));
  getset->d_getset = &new_data;
  function->d_method = &new_numpy;
  return true;
}

}  // namespace

Exposure watch_exposure(PyObject* tensor) {
  static const bool wrapped = library() && wrap();
  const void* begin = wrapped ? storage_of(tensor).begin : nullptr;
  if (!begin) return nullptr;
  std::weak_ptr<uint64_t>& entry = watched()[begin];
  auto count = entry.lock();
  if (!count) entry = count = std::make_shared<uint64_t>(0);
  return count;
}

long storage_holders(PyObject* tensor) {
  const py::Ref storage = py::Ref::steal(PyObject_CallMethod(tensor, "untyped_storage", nullptr));
  const py::Ref address = py::Ref::steal(storage ? PyObject_GetAttrString(storage.get(), "_cdata") : nullptr);
  const py::Ref count = py::Ref::steal(
      address ? PyObject_CallMethod(library()->py.torch_c, "_storage_Use_Count", "O", address.get())
              : nullptr);
  const long holders = count ? PyLong_AsLong(count.get()) : -1;
  PyErr_Clear();
  return holders;
}

}  // namespace breakline::torch
