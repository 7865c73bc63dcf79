// SPDX-License-Identifier: GPL-3.0-or-later
// What each torch callable is. Whole namespaces are ops; the tables of registry_tables.cpp say what else is
// known.
#include "core/torch/registry.h"

#include <unordered_map>
#include <unordered_set>

#include "core/python/compat.h"
#include "core/torch/inference_region.h"
#include "core/torch/library.h"
#include "core/torch/registry_tables.h"
#include "core/torch/tensor.h"

namespace breakline::torch {
namespace {

template <class F>
void for_each_word(std::string_view words, F&& visit) {
  while (!words.empty()) {
    const size_t end = words.find(' ');
    if (end != 0) visit(words.substr(0, end));
    words = end == std::string_view::npos ? std::string_view{} : words.substr(end + 1);
  }
}

std::unordered_set<std::string_view> word_set(std::string_view words) {
  std::unordered_set<std::string_view> out;
  for_each_word(words, [&out](std::string_view w) { out.insert(w); });
  return out;
}

/// Attribute of a module or class without binding; null without an error when absent. New reference.
py::Ref raw_attribute(PyObject* holder, std::string_view name) {
  const py::Ref key =
      py::Ref::steal(PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size())));
  if (!holder || !key) return {};
  if (PyType_Check(holder))
    return py::Ref::borrow(py::type_lookup(reinterpret_cast<PyTypeObject*>(holder), key.get()));
  py::Ref found = py::Ref::steal(PyObject_GetAttr(holder, key.get()));
  if (!found) PyErr_Clear();
  return found;
}

class Registry {
 public:
  Registry() {
    dynamic_ = word_set(dynamic_shape_names());
    random_ = word_set(random_names());
    fails_ = word_set(may_fail_names());
    real_ = word_set(asked_for_real_names());
    metadata_ = word_set(metadata_answer_names());
    const PythonObjects& p = library()->py;
    for (const char* ns : {"_VariableFunctions", "_nn", "_linalg", "_fft", "_special"}) {
      add_namespace(raw_attribute(p.torch_c, ns).get());
    }
    add_type(p.tensor_base);
    add_type(p.tensor);
    for (const NameGroup& group : name_groups()) {
      for_each_word(group.names, [&](std::string_view name) { add_named(group, name); });
    }
    for (PyObject* function : {inference_enter(), inference_leave()}) {
      CallableInfo info;
      info.kind = CallableKind::kAmbientSet;
      info.name = function == inference_enter() ? "enter_inference_mode" : "leave_inference_mode";
      put(function, std::move(info));
    }
    mark_dynamic_python_functions();
    add_attributes(p.tensor);
  }

  const CallableInfo& find(PyObject* callable) {
    const auto it = table_.find(callable);
    if (it != table_.end()) return it->second;
    return find_overload(callable);
  }
  void put(PyObject* callable, CallableInfo info) {
    if (!table_.contains(callable)) Py_INCREF(callable);  // an address in the table must not be reused
    table_[callable] = std::move(info);
  }
  AttributeInfo attribute(PyObject* name) const {
    const auto it = attributes_.find(py::utf8(name));
    return it == attributes_.end() ? AttributeInfo{} : it->second;
  }

 private:
  CallableInfo op_info(std::string_view name, std::string shown) const {
    CallableInfo info;
    info.kind = CallableKind::kOp;
    std::string_view known = name;
    graph::OpRef found = graph::find_op(shown);  // "Tensor.where" differs from torch.where
    if (!found.row) found = graph::find_op(known);
    if (!found.row && known.starts_with("special_")) found = graph::find_op(known.substr(8));
    info.row = found.row;
    info.in_place = found.in_place;
    info.reversed = found.reversed;
    const bool dunder = name.starts_with("__");
    if (!dunder && name.size() > 1 && name.back() == '_') info.in_place = true;
    if (name == "__setitem__" || name == "__delitem__") info.in_place = true;
    info.dynamic_shape = dynamic_.contains(name);
    info.random = random_.contains(name) || (found.row && found.row->random);
    info.may_fail = fails_.contains(name) || (found.row && found.row->may_fail);
    info.answers_metadata = metadata_.contains(name);
    info.ask_real = real_.contains(name);
    if (info.dynamic_shape) info.reason = "dynamic-shape";
    info.name = std::move(shown);
    return info;
  }

  void add_namespace(PyObject* ns) {
    const py::Ref names = py::Ref::steal(ns ? PyObject_Dir(ns) : nullptr);
    if (!names) {
      PyErr_Clear();
      return;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(names.get()); ++i) {
      const std::string_view name = py::utf8(PyList_GET_ITEM(names.get(), i));
      const py::Ref object = raw_attribute(ns, name);
      if (!object || !PyCFunction_Check(object.get()) || name.starts_with("__")) continue;
      put(object.get(), op_info(name, "torch." + std::string(name)));
    }
  }

  /// Method descriptors and slots are ops; so are the operators that PyTorch writes in Python (they only swap
  /// operands).
  void add_type(PyTypeObject* type) {
    static const std::unordered_set<std::string_view> kPythonOps = word_set(
        "norm split unflatten stft istft lu __rsub__ __rdiv__ __rtruediv__ __pow__ __ipow__ __rmod__ "
        "__rpow__ "
        "__floordiv__ __rfloordiv__ __rlshift__ __rrshift__ __rmatmul__");
    PyObject *key = nullptr, *value = nullptr;
    Py_ssize_t position = 0;
    while (PyDict_Next(py::type_dict(type), &position, &key, &value)) {
      const std::string_view name = py::utf8(key);
      const bool native = Py_IS_TYPE(value, &PyMethodDescr_Type) || Py_IS_TYPE(value, &PyWrapperDescr_Type);
      const bool python = PyFunction_Check(value) && kPythonOps.contains(name);
      if (native || python) put(value, op_info(name, "Tensor." + std::string(name)));
    }
  }

  void add_named(const NameGroup& group, std::string_view name) {
    const PythonObjects& p = library()->py;
    const auto put_from = [&](PyObject* holder, const char* prefix) {
      const py::Ref object = raw_attribute(holder, name);
      if (!object) return;
      CallableInfo info = op_info(op_name(group.scope, name), prefix + std::string(name));
      info.kind = group.kind;
      if (!group.reason.empty()) info.reason = group.reason;
      put(object.get(), std::move(info));
    };
    switch (group.scope) {
      case Scope::kTorch:
      case Scope::kBoth:
        put_from(p.torch, "torch.");
        put_from(p.torch_c, "torch.");
        put_from(raw_attribute(p.torch_c, "_VariableFunctions").get(), "torch.");
        put_from(raw_attribute(p.torch_c, "_nn").get(), "torch.");
        if (group.scope == Scope::kTorch) break;
        [[fallthrough]];
      case Scope::kTensor:
        put_from(reinterpret_cast<PyObject*>(p.tensor), "Tensor.");
        break;
      case Scope::kFunctional:
        put_from(raw_attribute(p.torch, "functional").get(), "torch.");
        break;
      case Scope::kOperator: {
        const py::Ref module = py::Ref::steal(PyImport_ImportModule("_operator"));
        put_from(module.get(), "");
        PyErr_Clear();
        break;
      }
    }
  }

  /// operator.iadd is Tensor.__iadd__ and so on.
  std::string_view op_name(Scope scope, std::string_view name) {
    if (scope != Scope::kOperator) return name;
    if (name == "inv") name = "invert";
    if (name.ends_with('_')) name.remove_suffix(1);
    return *operator_names_.insert("__" + std::string(name) + "__").first;
  }

  void mark_dynamic_python_functions() {
    const PythonObjects& p = library()->py;
    const auto mark = [this](PyObject* holder, const char* name, const char* prefix) {
      const py::Ref object = raw_attribute(holder, name);
      if (!object) return;
      CallableInfo info;
      info.kind = CallableKind::kOp;
      info.dynamic_shape = true;
      info.reason = "dynamic-shape";
      info.name = std::string(prefix) + name;
      put(object.get(), std::move(info));
    };
    for (const char* name : {"unique", "unique_consecutive"}) {
      mark(p.torch, name, "torch.");
      mark(raw_attribute(p.torch, "functional").get(), name, "torch.");
      mark(reinterpret_cast<PyObject*>(p.tensor), name, "Tensor.");
    }
  }

  void add_attributes(PyTypeObject* tensor) {
    for (const AttributeGroup& group : attribute_groups()) {
      for_each_word(group.names, [&](std::string_view name) {
        const py::Ref descriptor = raw_attribute(reinterpret_cast<PyObject*>(tensor), name);
        if (!descriptor) return;
        AttributeInfo info{group.kind, nullptr, group.reason};
        if (group.kind == AttributeKind::kOp) {
          info.callable = PyObject_GetAttrString(descriptor.get(), "__get__");
          if (!info.callable) {
            PyErr_Clear();
            return;
          }
          put(info.callable, op_info(name, "Tensor." + std::string(name)));
        }
        attributes_.emplace(name, info);
      });
    }
  }

  /// torch.ops.<ns>.<op>[.<overload>]: made on demand, so known by type. Kept once seen.
  const CallableInfo& find_overload(PyObject* callable) {
    static const CallableInfo kNothing;
    const std::string_view type = Py_TYPE(callable)->tp_name;
    if (type != "OpOverload" && type != "OpOverloadPacket") return kNothing;
    const py::Ref text = py::Ref::steal(PyObject_Str(callable));
    if (!text) {
      PyErr_Clear();
      return kNothing;
    }
    const std::string full(py::utf8(text.get()));  // "aten.add.Tensor"
    CallableInfo info;
    info.kind = CallableKind::kOp;
    info.name = full;
    const size_t first = full.find('.');
    const size_t second = full.find('.', first + 1);
    const std::string name =
        full.substr(first + 1, second == std::string::npos ? second : second - first - 1);
    info.in_place = name.size() > 1 && name.back() == '_' && !name.starts_with("__");
    info.dynamic_shape = dynamic_.contains(name);
    info.random = random_.contains(name);
    info.may_fail = fails_.contains(name);
    info.ask_real = real_.contains(name);
    put(callable, std::move(info));
    return table_[callable];
  }

  std::unordered_map<PyObject*, CallableInfo> table_;
  std::unordered_map<std::string_view, AttributeInfo> attributes_;
  std::unordered_set<std::string> operator_names_;
  std::unordered_set<std::string_view> dynamic_, random_, fails_, real_, metadata_;
};

Registry* registry() {
  if (!available()) return nullptr;
  static Registry* the_registry =
      new Registry;  // never freed: its objects outlive the interpreter's last calls
  return the_registry;
}

}  // namespace

const CallableInfo& callable_info(PyObject* callable) {
  static const CallableInfo kNothing;
  Registry* r = registry();
  return r ? r->find(callable) : kNothing;
}

void register_callable(PyObject* callable, CallableInfo info) {
  if (Registry* r = registry()) r->put(callable, std::move(info));
}

AttributeInfo attribute_info(PyObject* name) {
  const Registry* r = registry();
  return r ? r->attribute(name) : AttributeInfo{};
}

}  // namespace breakline::torch
