// SPDX-License-Identifier: GPL-3.0-or-later
// Tensors of other classes made of tensors: Class(tensor), Tensor.__new__(Class, tensor) and
// Tensor._make_subclass.
#include "core/torch/tensor.h"
#include "core/trace/tensor_forms.h"
#include "core/trace/types.h"

namespace breakline::trace {

namespace {

bool is_new_of_tensor(PyObject* o) {
  return PyType_Check(PyCFunction_GET_SELF(o)) &&
         std::string_view(reinterpret_cast<PyCFunctionObject*>(o)->m_ml->ml_name) == "__new__" &&
         std::string_view(reinterpret_cast<PyTypeObject*>(PyCFunction_GET_SELF(o))->tp_name)
             .ends_with("TensorBase");
}

bool is_make_subclass(PyObject* o) {
  static PyObject* own = [] {
    py::Ref module = py::Ref::steal(PyImport_ImportModule("torch"));
    py::Ref tensor = module ? py::Ref::steal(PyObject_GetAttrString(module.get(), "Tensor")) : py::Ref();
    PyObject* found = tensor ? PyObject_GetAttrString(tensor.get(), "_make_subclass") : nullptr;
    PyErr_Clear();
    return found;
  }();
  return own &&
         reinterpret_cast<PyCFunctionObject*>(o)->m_ml == reinterpret_cast<PyCFunctionObject*>(own)->m_ml;
}

}  // namespace

Value* TensorForms::of_class(Tracer& t, PyObject* callable, PyTypeObject* type, Value* tensor,
                             PyObject* leaf) {
  t.lookup(type, py::intern("__torch_function__"));
  graph::TensorMeta now = t.meta(tensor);
  const bool records = torch::current_ambient().records();
  if (leaf) {
    if (leaf == Py_True && !graph::is_floating(now.dtype) && !graph::is_complex(now.dtype))
      t.quiet("Tensor._make_subclass", true);
    now.requires_grad = leaf == Py_True;
    now.is_leaf = true;
  } else {
    now.is_leaf = !now.requires_grad || !records;
  }
  t.mutated();
  Values operands = {t.constant(reinterpret_cast<PyObject*>(type)), tensor};
  if (leaf) operands.push_back(t.constant(leaf));
  graph::Node node = t.new_node(callable, leaf ? "Tensor._make_subclass" : "Tensor.__new__", operands);
  if (now.requires_grad) t.graph_->needs_grad = true;
  Value* made = t.make(Kind::kTensor);
  made->type = type;
  made->id = static_cast<graph::ValueId>(t.graph_->values.size());
  graph::Value g;
  g.meta = std::move(now);
  g.producer = static_cast<int32_t>(t.graph_->nodes.size());
  g.storage = t.graph_->values[static_cast<size_t>(tensor->id)].storage;
  t.graph_->values.push_back(std::move(g));
  t.note_tensor(
      made,
      leaf ? made->id : t.view_base_[static_cast<size_t>(tensor->id)]);  // the former is no view for autograd
  node.outputs.push_back(made->id);
  t.graph_->nodes.push_back(std::move(node));
  return made;
}

Value* TensorForms::subclass_function(Tracer& t, PyObject* function, const Values& args,
                                      const Keywords& keywords) {
  const bool makes = PyCFunction_GET_SELF(function) ? is_new_of_tensor(function) : is_make_subclass(function);
  if (!makes || args.size() < 2 || torch::current_ambient().inference_mode) return nullptr;
  PyObject* cls = t.constant_of(args[0]);
  if (!cls || !PyType_Check(cls) || !is_traced_subclass(reinterpret_cast<PyTypeObject*>(cls)) ||
      t.force(args[1])->kind != Kind::kTensor)
    return nullptr;
  PyObject* leaf = nullptr;
  if (!PyCFunction_GET_SELF(function)) {
    leaf = Py_False;
    if (args.size() + keywords.size() > 3) return nullptr;
    if (args.size() == 3) leaf = t.constant_of(args[2]);
    for (const auto& [name, v] : keywords)
      leaf = PyUnicode_CompareWithASCIIString(name, "require_grad") == 0 ? t.constant_of(v) : nullptr;
    if (!leaf || !PyBool_Check(leaf)) return nullptr;
  } else if (args.size() > 2 || !keywords.empty()) {
    return nullptr;
  }
  return of_class(t, function, reinterpret_cast<PyTypeObject*>(cls), args[1], leaf);
}

Value* TensorForms::instance_of_subclass(Tracer& t, PyTypeObject* type, const Values& args,
                                         const Keywords& keywords) {
  if (!is_traced_subclass(type) || torch::current_ambient().inference_mode) return nullptr;
  PyObject* maker = t.lookup(type, py::intern("__new__"));
  if (maker && Py_TYPE(maker) == &PyStaticMethod_Type)
    maker = t.keep_for_trace(py::check(PyObject_GetAttrString(maker, "__func__")));
  if (!maker) return nullptr;
  Values given = args;
  given.insert(given.begin(), t.constant(reinterpret_cast<PyObject*>(type)));
  Value* made = nullptr;
  if (PyFunction_Check(maker)) {
    made = t.force(t.call_nested(t.constant(maker), std::move(given), keywords));
    if (made->kind != Kind::kTensor || !PyType_IsSubtype(made->type, type)) return made;
  } else {
    if (!PyCFunction_Check(maker) || !keywords.empty()) return nullptr;
    made = subclass_function(t, maker, given, keywords);
    if (!made) return nullptr;
  }
  PyObject* init = t.lookup(made->type, py::intern("__init__"));
  if (init && PyFunction_Check(init)) {
    given = args;
    given.insert(given.begin(), made);
    t.call_nested(t.constant(init), std::move(given), keywords);
  }
  return made;
}

}  // namespace breakline::trace
