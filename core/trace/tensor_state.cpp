// SPDX-License-Identifier: GPL-3.0-or-later
// What a program changes of a tensor besides its numbers: requires_grad, .data, and parameters made of
// tensors.
#include <algorithm>

#include "core/torch/tensor.h"
#include "core/trace/level.h"
#include "core/trace/tensor_forms.h"
#include "core/trace/tracer.h"
#include "core/trace/types.h"

namespace breakline::trace {

PyObject* polyfill_named(const char* name) {
  py::Ref module = py::Ref::steal(PyImport_ImportModule("breakline.polyfills"));
  py::Ref function = module ? py::Ref::steal(PyObject_GetAttrString(module.get(), name)) : py::Ref();
  if (!function) PyErr_Clear();
  return function.release();
}

bool is_parameter_class(PyTypeObject* type) {
  static PyObject* parameter = nullptr;
  if (!parameter) {
    py::Ref module = py::Ref::steal(PyImport_GetModule(py::intern("torch.nn.parameter")));
    parameter = module ? PyObject_GetAttrString(module.get(), "Parameter") : nullptr;
    PyErr_Clear();
  }
  return parameter == reinterpret_cast<PyObject*>(type);
}

graph::Node Tracer::new_node(PyObject* callable, std::string name, const Values& args) {
  close_all();  // sizes that are left open are not followed through such nodes
  graph::Node node;
  node.callable = keep_borrowed(callable);
  node.name = std::move(name);
  for (Value* v : args) node.args.push_back(argument(v));
  node.origin = origin();
  return node;
}

Value* Tracer::require_grad(Value* tensor, Value* flag) {
  PyObject* wanted = constant_of(flag);
  const graph::TensorMeta now = meta(tensor);
  if (!wanted || !PyBool_Check(wanted)) return nullptr;
  const bool on = wanted == Py_True;
  if (on == now.requires_grad) {
    if (!on || now.is_leaf || std::string_view(tensor->type->tp_name) == "Tensor") return tensor;
    return nullptr;
  }
  if (!now.is_leaf || !(graph::is_floating(now.dtype) || graph::is_complex(now.dtype)) ||
      torch::current_ambient().inference_mode)
    return nullptr;
  // What other views of the same memory answer afterwards depends on when they were made and used.
  const graph::ValueId base = view_base_[static_cast<size_t>(tensor->id)];
  for (size_t i = 0; i < graph_->values.size(); ++i)
    if (tensor_values_[i] && tensor_values_[i] != tensor && view_base_[i] == base) return nullptr;
  mutated();
  graph::Node node = new_node(py::type_lookup(tensor->type, py::intern("requires_grad_")),
                              "Tensor.requires_grad_", {tensor, constant(wanted)});
  node.mutates = true;
  graph::TensorMeta& known = graph_->values[static_cast<size_t>(tensor->id)].meta;
  known.requires_grad = on;
  node.outputs.push_back(tensor->id);
  graph_->nodes.push_back(std::move(node));
  graph_->needs_grad = true;  // on the real tensor that autograd knows
  if (tensor->source >= 0) {
    history_written_ = true;
    grad_writes_.push_back(torch::storage_of(tensor->object).begin);
  }
  return tensor;
}

bool Tracer::set_data(Value* tensor, Value* other) {
  if (force(other)->kind != Kind::kTensor || torch::current_ambient().inference_mode) return false;
  if (other == tensor) return true;
  const graph::TensorMeta to = meta(other), from = meta(tensor);
  if (to.device != from.device ||
      (from.requires_grad && !graph::is_floating(to.dtype) && !graph::is_complex(to.dtype)))
    return false;
  static PyObject* set = polyfill_named("set_data");
  if (!set) return false;
  mutated();
  graph::TensorMeta now = to;
  now.requires_grad = from.requires_grad;
  now.is_leaf = from.is_leaf;
  graph::Node node = new_node(set, "Tensor.data =", {tensor, other});
  node.mutates = true;
  becomes(tensor, std::move(now), other->id);
  node.outputs.push_back(tensor->id);
  graph_->nodes.push_back(std::move(node));
  return true;
}

Value* Tracer::hook_on_tensor(Value* tensor, Value* hook) {
  force(hook);
  if (force(tensor)->kind != Kind::kTensor || !meta(tensor).requires_grad) return nullptr;
  PyObject* function = hook->kind == Kind::kConstant && (PyFunction_Check(hook->object) || PyCFunction_Check(hook->object)) ? hook->object : nullptr;
  if (hook->kind == Kind::kFunction && !hook->items[2]) function = real_function(hook);
  static PyObject* set = polyfill_named("set_hook");
  static PyObject* handle = [] {
    py::Ref m = py::Ref::steal(PyImport_ImportModule("torch.utils.hooks"));
    PyObject* found = m ? PyObject_GetAttrString(m.get(), "RemovableHandle") : nullptr;
    PyErr_Clear();
    return found;
  }();
  if (!function || !set || !handle || torch::current_ambient().inference_mode) return nullptr;
  BreakInfo info;
  info.reason = "tensor-hook";
  info.arguments = {{"name", "register_hook"}};
  capture_place(info);
  made_at_.emplace(outer_instruction_, std::move(info));
  mutated();
  graph::Node node = new_node(set, "Tensor.register_hook", {tensor, constant(function)});
  graph_->nodes.push_back(std::move(node));
  if (tensor->source >= 0) history_written_ = true;  // a failing segment can't take it back
  graph_->needs_grad = true;  // on the real tensor that autograd knows
  Value* made = new_instance(reinterpret_cast<PyTypeObject*>(handle));
  made->stand_in = true;
  return made;
}

namespace {

/// Whether nested lists hold nothing but numbers: ints only, or no bools.
bool all_numbers(Tracer& t, Value* v, bool ints) {
  t.force(v);
  const Level level(t, "operand");
  if (v->kind == Kind::kTuple || v->kind == Kind::kList) {
    if (v->type) return false;
    if (v->kind == Kind::kList) t.list_load(v);
    return std::all_of(v->items.begin(), v->items.end(),
                       [&](Value* i) { return i && all_numbers(t, i, ints); });
  }
  PyObject* c = t.constant_of(v);
  return c && (PyLong_CheckExact(c) || (!ints && PyFloat_CheckExact(c)) ||
               (PyTuple_CheckExact(c) && !PyTuple_GET_SIZE(c)));
}

}  // namespace

Value* TensorForms::legacy_tensor(Tracer& t, PyObject* type, const Values& args, const Keywords& keywords) {
  static PyObject* torch_module = PyImport_ImportModule("torch");
  py::Ref plain = py::Ref::steal(PyObject_GetAttrString(torch_module, "Tensor"));
  py::Ref dtype;
  if (type == plain.get()) {
    dtype = py::Ref::steal(PyObject_CallMethod(torch_module, "get_default_dtype", nullptr));
  } else if (std::string_view(Py_TYPE(type)->tp_name) == "torch.tensortype") {
    py::Ref cuda = py::Ref::steal(PyObject_GetAttrString(type, "is_cuda")),
            sparse = py::Ref::steal(PyObject_GetAttrString(type, "is_sparse"));
    dtype = py::Ref::steal(PyObject_GetAttrString(type, "dtype"));
    if (cuda.get() != Py_False || sparse.get() != Py_False) dtype = py::Ref();
  }
  PyErr_Clear();
  if (!dtype || !torch::is_dtype(dtype.get()) || !keywords.empty()) return nullptr;
  const bool whole = !graph::is_floating(torch::dtype_of(dtype.get())) ||
                     torch::dtype_of(dtype.get()) == graph::DType::kBool;
  const bool sizes = args.empty() || std::all_of(args.begin(), args.end(), [&](Value* v) {
                       PyObject* c = t.constant_of(v);
                       return c && PyLong_CheckExact(c);
                     });
  t.force(args.empty() ? t.none() : args[0]);
  const bool numbers = args.size() == 1 &&
                       (args[0]->kind == Kind::kList || (args[0]->kind == Kind::kTuple && !args[0]->type)) &&
                       all_numbers(t, args[0], whole);
  if (!sizes && !numbers) return nullptr;
  py::Ref callable = py::Ref::steal(PyObject_GetAttrString(torch_module, sizes ? "empty" : "tensor"));
  if (!callable) return nullptr;
  Values given = sizes && args.empty() ? Values{t.constant_new(PyLong_FromLong(0))} : args;
  return t.torch_call(t.keep_borrowed(callable.get()), std::move(given),
                      {{py::intern("dtype"), t.constant(t.keep_borrowed(dtype.get()))}});
}

Value* Tracer::new_parameter(PyObject* cls, const Values& args, const Keywords& keywords) {
  Value *data = args.empty() ? nullptr : args[0], *flag = args.size() > 1 ? args[1] : nullptr;
  for (const auto& [name, v] : keywords)
    (PyUnicode_CompareWithASCIIString(name, "data") == 0 ? data : flag) = v;
  if (!data || args.size() + keywords.size() > 2 || force(data)->kind != Kind::kTensor ||
      torch::current_ambient().inference_mode)
    return nullptr;
  PyObject* wanted = flag ? constant_of(flag) : Py_True;
  if (!wanted || !PyBool_Check(wanted)) return nullptr;
  // PyTorch's fullgraph takes a parameter made of an input only.
  if (options_.root_fullgraph && data->source < 0) return nullptr;
  graph::TensorMeta now = meta(data);
  if (wanted == Py_True && !graph::is_floating(now.dtype) && !graph::is_complex(now.dtype))
    quiet("nn.Parameter", true);
  mutated();
  graph::Node node = new_node(cls, "nn.Parameter", {data, constant(wanted)});
  now.requires_grad = wanted == Py_True;
  now.is_leaf = true;
  Value* made = make(Kind::kTensor);
  made->type = reinterpret_cast<PyTypeObject*>(cls);
  made->type_guarded = true;
  made->id = static_cast<graph::ValueId>(graph_->values.size());
  graph::Value g;
  g.meta = std::move(now);
  g.producer = static_cast<int32_t>(graph_->nodes.size());
  g.storage = graph_->values[static_cast<size_t>(data->id)].storage;
  graph_->values.push_back(std::move(g));
  note_tensor(made, made->id);
  node.outputs.push_back(made->id);
  graph_->nodes.push_back(std::move(node));
  graph_->needs_grad = true;
  return made;
}

}  // namespace breakline::trace
