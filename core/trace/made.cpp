// SPDX-License-Identifier: GPL-3.0-or-later
// Objects that the segment makes at each run and that are no plain tensors: numpy's arrays and scalars of
// tensors, quantised tensors. A twin of the same layout, made of zeros, tells what they are like; what the
// numbers are is never asked of it.
#include <algorithm>
#include <array>
#include <string_view>

#include "core/guard/equality.h"
#include "core/torch/tensor.h"
#include "core/trace/arrays.h"
#include "core/trace/level.h"
#include "core/trace/numpy_errors.h"
#include "core/trace/tensor_forms.h"
#include "core/trace/tracer.h"
#include "core/trace/types.h"

namespace breakline::trace {

using guard::SourceKind;
using guard::StepKind;

namespace {

constexpr int64_t kMostTwinBytes = int64_t{64} << 20;  ///< larger ones are left to a break

/// Functions of numpy, methods of its arrays and operators whose result's layout and type follow from those
/// of the operands.
constexpr std::string_view kNumpyNames[] = {"asarray",
                                            "array",
                                            "ascontiguousarray",
                                            "where",
                                            "sum",
                                            "mean",
                                            "max",
                                            "min",
                                            "amax",
                                            "amin",
                                            "prod",
                                            "std",
                                            "var",
                                            "ptp",
                                            "cumsum",
                                            "cumprod",
                                            "argmax",
                                            "argmin",
                                            "argsort",
                                            "sort",
                                            "clip",
                                            "round",
                                            "around",
                                            "dot",
                                            "vdot",
                                            "inner",
                                            "outer",
                                            "matmul",
                                            "tensordot",
                                            "kron",
                                            "concatenate",
                                            "stack",
                                            "vstack",
                                            "hstack",
                                            "dstack",
                                            "column_stack",
                                            "split",
                                            "squeeze",
                                            "expand_dims",
                                            "reshape",
                                            "ravel",
                                            "transpose",
                                            "swapaxes",
                                            "moveaxis",
                                            "broadcast_to",
                                            "tile",
                                            "repeat",
                                            "flip",
                                            "fliplr",
                                            "flipud",
                                            "roll",
                                            "rot90",
                                            "pad",
                                            "zeros_like",
                                            "ones_like",
                                            "full_like",
                                            "tril",
                                            "triu",
                                            "trace",
                                            "diag",
                                            "diagonal",
                                            "diff",
                                            "interp",
                                            "norm",
                                            "nan_to_num",
                                            "isclose",
                                            "median",
                                            "percentile",
                                            "quantile",
                                            "average",
                                            "convolve",
                                            "correlate",
                                            "cross",
                                            "astype",
                                            "copy",
                                            "flatten",
                                            "take",
                                            "any",
                                            "all",
                                            "conj",
                                            "conjugate",
                                            "real",
                                            "imag",
                                            "angle",
                                            "sinc",
                                            "gradient",
                                            "getitem",
                                            "neg",
                                            "pos",
                                            "abs",
                                            "invert",
                                            "atleast_1d",
                                            "atleast_2d",
                                            "count_nonzero",
                                            "cumulative_sum",
                                            "meshgrid",
                                            "take_along_axis",
                                            "broadcast_arrays",
                                            "array_split",
                                            "vsplit",
                                            "hsplit",
                                            "dsplit",
                                            "nansum",
                                            "nanmean",
                                            "nanstd",
                                            "nanvar",
                                            "nanmin",
                                            "nanmax",
                                            "fft",
                                            "ifft",
                                            "fft2",
                                            "ifft2",
                                            "fftn",
                                            "ifftn",
                                            "rfft",
                                            "irfft",
                                            "fftshift",
                                            "ifftshift",
                                            "searchsorted",
                                            "digitize",
                                            "view",
                                            "einsum"};

bool is_numpy_type(PyTypeObject* type) {
  return std::string_view(type->tp_name) == "numpy.ndarray" || guard::is_numpy_scalar_type(type);
}

bool is_array(PyObject* o) { return std::string_view(Py_TYPE(o)->tp_name) == "numpy.ndarray"; }

std::string last_name(PyObject* callable) {
  py::Ref name = py::Ref::steal(PyObject_GetAttrString(callable, "__name__"));
  PyErr_Clear();
  return name && PyUnicode_Check(name.get()) ? std::string(py::utf8(name.get())) : std::string();
}

bool is_known_name(PyObject* callable) {
  const std::string name = last_name(callable);
  return std::find(std::begin(kNumpyNames), std::end(kNumpyNames), name) != std::end(kNumpyNames);
}

/// A function of numpy, a method of its arrays and scalars, or an operator, of those above or a ufunc.
bool is_followed_of_numpy(PyObject* o) {
  if (std::string_view(Py_TYPE(o)->tp_name) == "numpy.ufunc") return true;
  if (is_numpy_function(o)) return is_known_name(o);
  if (Py_TYPE(o) == &PyMethodDescr_Type || Py_TYPE(o) == &PyWrapperDescr_Type)
    return is_numpy_type(PyDescr_TYPE(o)) && is_known_name(o);
  if (!PyCFunction_Check(o)) return false;
  py::Ref module = py::Ref::steal(PyObject_GetAttrString(o, "__module__"));
  PyErr_Clear();
  return module && PyUnicode_Check(module.get()) &&
         PyUnicode_CompareWithASCIIString(module.get(), "numpy") == 0 && is_known_name(o);
}

/// Makers of tensors out of numpy's objects.
bool is_tensor_maker(PyObject* o) {
  const torch::CallableInfo& info = torch::callable_info(o);
  for (const char* name : {"torch.from_numpy", "torch.as_tensor", "torch.tensor", "torch.asarray"})
    if (info.name == name) return true;
  return false;
}

/// A tensor whose layout the graph can tell.
bool is_dense_tensor(PyObject* o) { return torch::is_plain_tensor(o) && torch::meta_of(o).plain; }

/// The first and last byte of what an array or tensor lies in; none for others.
std::pair<const char*, const char*> memory_of(PyObject* o) {
  if (torch::is_tensor(o)) {
    if (!torch::is_plain_tensor(o)) return {};
    const auto extent = torch::storage_of(o);
    const char* begin = static_cast<const char*>(extent.begin);
    return {begin, begin + extent.bytes};
  }
  Py_buffer view;
  if (!is_array(o) || PyObject_GetBuffer(o, &view, PyBUF_STRIDES) < 0) {
    PyErr_Clear();
    return {};
  }
  const char *begin = static_cast<const char*>(view.buf), *end = begin + view.itemsize;
  for (int i = 0; i < view.ndim; ++i)
    (view.strides[i] < 0 ? begin : end) += (view.shape[i] - 1) * view.strides[i];
  PyBuffer_Release(&view);
  return {begin, end};
}

bool overlap(std::pair<const char*, const char*> a, std::pair<const char*, const char*> b) {
  return a.first && b.first && a.first < b.second && b.first < a.second;
}

/// An array of plain numbers: one whose layout can be guarded.
bool is_array_of_numbers(PyObject* array) {
  static PyObject* layout = polyfill_named("array_layout");
  py::Ref now = layout ? py::Ref::steal(PyObject_CallOneArg(layout, array)) : py::Ref();
  PyErr_Clear();
  return now && now.get() != Py_None;
}

/// Warnings are none of the program's while a twin is made, and arrays are not to be written to: some are the program's own.
PyObject* call_for_twin(PyObject* callable, PyObject* args, PyObject* keywords, bool of_numpy) {
  static PyObject *quietly = polyfill_named("call_quietly"), *without_writes = polyfill_named("call_without_writes");
  PyObject* through = of_numpy ? without_writes : quietly;
  return through ? PyObject_CallFunctionObjArgs(through, callable, args, keywords, nullptr) : nullptr;
}

}  // namespace

/// Methods of nested tensors, in Python, that hand out a part.
static bool is_part_getter(PyObject* o) {
  if (!PyFunction_Check(o)) return false;
  const std::string_view name =
      py::utf8(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(o))->co_qualname);
  return name == "NestedTensor.values" || name == "NestedTensor.offsets";
}

bool makes_other_tensors(PyObject* function) {
  const std::string_view name =
      PyFunction_Check(function)
          ? py::utf8(reinterpret_cast<PyFunctionObject*>(function)->func_name)
          : std::string_view(reinterpret_cast<PyCFunctionObject*>(function)->m_ml->ml_name);
  const bool quantises = name == "quantize_per_tensor" || name == "quantize_per_channel";
  if ((!quantises && name != "nested_tensor" && name != "as_nested_tensor") || !torch::available())
    return false;
  py::Ref module = py::Ref::steal(PyImport_GetModule(py::intern(quantises ? "torch" : "torch.nested")));
  py::Ref original =
      module ? py::Ref::steal(PyObject_GetAttrString(module.get(), std::string(name).c_str())) : py::Ref();
  PyErr_Clear();
  return original.get() == function;
}

bool Tracer::holds_made(Value* v) {
  force(v);
  const Level level(*this, "operand");
  if (v->kind == Kind::kMade) return true;
  if (v->kind == Kind::kList && v->source >= 0) return false;
  if (v->kind == Kind::kTuple || v->kind == Kind::kList || v->kind == Kind::kSlice)
    for (Value* i : v->items)
      if (i && holds_made(i)) return true;
  return false;
}

/// An array that was there before, as an operand: its layout is guarded.
bool Tracer::array_as_input(Value* v) {
  force(v);
  if (v->kind != Kind::kLive || v->source < 0 || !is_array(v->object)) return false;
  static PyObject* layout = polyfill_named("array_layout");
  py::Ref now = layout ? py::Ref::steal(PyObject_CallOneArg(layout, v->object)) : py::Ref();
  if (!now || now.get() == Py_None) {
    PyErr_Clear();
    return false;
  }
  guard_type(v);
  guard(StepKind::kEqual, child(SourceKind::kExpression, v->source, layout), keep_for_trace(now));
  graph::Value g;
  g.is_scalar = true;
  g.meta.dtype = graph::DType::kOther;
  g.meta.plain = false;
  g.storage = static_cast<int32_t>(graph_->values.size());
  add_input(v, std::move(g));
  v->kind = Kind::kMade;
  v->type = Py_TYPE(v->object);
  has_made_ = true;
  return true;
}

Value* TensorForms::absolute_made(Tracer& t, Value* v) { return t.operate_made(operator_function("abs"), {v}); }

bool TensorForms::scalar_as_input(Tracer& t, Value* v) {
  if (t.hints_.dynamic.empty() || v->source < 0 || !guard::is_numpy_scalar_type(Py_TYPE(v->object)) || t.sources_[v->source].kind == guard::SourceKind::kObject ||
      !t.hints_.dynamic.count(t.source_path(v->source)) || torch::current_ambient().inference_mode)
    return false;
  t.guard_type(v);
  graph::Value g;
  g.is_scalar = true;
  g.meta.dtype = graph::DType::kOther;
  g.meta.plain = false;
  g.storage = static_cast<int32_t>(t.graph_->values.size());
  t.add_input(v, std::move(g));
  v->kind = Kind::kMade;
  v->type = Py_TYPE(v->object);
  t.has_made_ = true;
  return true;
}

bool is_entry_array(const Value* v) {
  return v->kind == Kind::kLive && v->source >= 0 && v->object && !v->dynamic && is_array(v->object);
}

PyObject* Tracer::example_of(Value* v) {
  force(v);
  const Level level(*this, "operand");
  array_as_input(v);
  switch (v->kind) {
    case Kind::kMade:
      return v->object;
    case Kind::kTensor: {
      const graph::TensorMeta& m = meta(v);
      if (!m.plain || m.requires_grad || m.device != graph::DeviceKind::kCpu ||
          std::string_view(v->type->tp_name) != "Tensor")
        return nullptr;
      int64_t extent = 1;
      for (size_t d = 0; d < m.sizes.size(); ++d)
        extent += std::max<int64_t>(m.sizes[d] - 1, 0) * m.strides[d];
      if (extent * 16 > kMostTwinBytes) return nullptr;
      if (auto it = twins_.find(v->id); it != twins_.end()) return it->second;
      PyObject* twin = torch::real_twin(m);
      if (!twin) {
        PyErr_Clear();
        return nullptr;
      }
      return twins_[v->id] = keep_for_trace(py::Ref::steal(twin));
    }
    case Kind::kTuple:
    case Kind::kList: {
      if (v->type || (v->kind == Kind::kList && v->source >= 0)) return constant_of(v);
      const auto n = static_cast<Py_ssize_t>(v->items.size());
      py::Ref made = py::check(v->kind == Kind::kTuple ? PyTuple_New(n) : PyList_New(n));
      for (Py_ssize_t i = 0; i < n; ++i) {
        PyObject* item = example_of(v->items[static_cast<size_t>(i)]);
        if (!item) return nullptr;
        if (v->kind == Kind::kTuple)
          PyTuple_SET_ITEM(made.get(), i, Py_NewRef(item));
        else
          PyList_SET_ITEM(made.get(), i, Py_NewRef(item));
      }
      return keep_for_trace(made);
    }
    default:
      return constant_of(v);
  }
}

Value* Tracer::call_made(PyObject* callable, const Values& args, const Keywords& keywords, bool of_numpy) {
  if (torch::current_ambient().inference_mode) return nullptr;
  py::Ref operands = py::check(PyTuple_New(static_cast<Py_ssize_t>(args.size()))),
          words = py::check(PyDict_New());
  std::vector<std::pair<PyObject*, Value*>> parts;  // twins and what they stand for
  const auto note = [&](auto&& self, Value* v) -> void {
    if (v->kind == Kind::kMade || v->kind == Kind::kTensor)
      parts.emplace_back(example_of(v), v);
    else if (v->kind == Kind::kTuple || v->kind == Kind::kList)
      for (Value* i : v->items) self(self, i);
  };
  for (size_t i = 0; i < args.size(); ++i) {
    PyObject* twin = example_of(args[i]);
    if (!twin) return nullptr;
    note(note, args[i]);
    PyTuple_SET_ITEM(operands.get(), static_cast<Py_ssize_t>(i), Py_NewRef(twin));
  }
  for (const auto& [name, v] : keywords) {
    PyObject* twin = example_of(v);
    if (!twin || is_name(name, "out")) return nullptr;
    note(note, v);
    PyDict_SetItem(words.get(), name, twin);
  }
  py::Ref result = py::Ref::steal(call_for_twin(callable, operands.get(), words.get(), of_numpy));
  if (!result) {
    PyErr_Clear();
    return nullptr;
  }
  for (const auto& [twin, v] : parts)
    if (twin == result.get()) return v;
  const bool several = PyTuple_CheckExact(result.get()) || PyList_CheckExact(result.get());
  std::vector<PyObject*> outs;
  if (several)
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result.get()); ++i)
      outs.push_back(PySequence_Fast_GET_ITEM(result.get(), i));
  else
    outs.push_back(result.get());
  for (PyObject* o : outs) {
    if (torch::is_tensor(o) ? torch::raw_meta(o).requires_grad
                            : !is_numpy_type(Py_TYPE(o)) || (is_array(o) && !is_array_of_numbers(o)))
      return nullptr;
  }
  // A tensor over an array that the call brought along: what is written to it could not be taken back.
  for (PyObject* o : outs)
    if (torch::is_tensor(o))
      for (const auto& [twin, from] : parts)
        for (graph::ValueId input : graph_->inputs) {
          const graph::Value &at_entry = graph_->values[static_cast<size_t>(input)],
                             &operand = graph_->values[static_cast<size_t>(from->id)];
          if (at_entry.is_scalar && at_entry.storage >= 0 && at_entry.storage == operand.storage &&
              overlap(memory_of(o), memory_of(twin)))
            return nullptr;
        }
  mutated();
  graph::Node node;
  if (of_numpy) {
    static PyObject* through = polyfill_named("of_numpy");
    Values all = args;
    all.insert(all.begin(), constant(callable));
    node = new_node(through, "numpy." + last_name(callable), all);
  } else {
    node = new_node(callable, torch::callable_info(callable).name, args);
  }
  for (const auto& [name, v] : keywords) node.kwargs.emplace_back(std::string(py::utf8(name)), argument(v));
  node.may_fail = true;
  if (history_written_) quiet("a call that may fail after a write that autograd has recorded");
  node.multi = several;
  Values made;
  for (PyObject* o : outs) {
    Value* v = make(is_dense_tensor(o) ? Kind::kTensor : Kind::kMade);
    v->type = Py_TYPE(o);
    v->object = v->kind == Kind::kMade ? keep_for_trace(py::Ref::borrow(o)) : nullptr;
    v->type_guarded = true;
    v->id = static_cast<graph::ValueId>(graph_->values.size());
    graph::Value g;
    g.storage = v->id;
    const auto own = memory_of(o);
    for (const auto& [twin, from] : parts) {
      const auto other = memory_of(twin);
      if (overlap(own, other)) g.storage = graph_->values[static_cast<size_t>(from->id)].storage;
    }
    if (v->kind == Kind::kTensor) {
      g.meta = torch::meta_of(o);
    } else {
      g.is_scalar = true;
      g.meta.plain = false;
      g.meta.dtype = graph::DType::kOther;
      has_made_ = true;
    }
    g.producer = static_cast<int32_t>(graph_->nodes.size());
    if (v->kind == Kind::kTensor) twins_[v->id] = keep_for_trace(py::Ref::borrow(o));
    graph_->values.push_back(std::move(g));
    note_tensor(v->kind == Kind::kTensor ? v : nullptr, v->id);
    if (v->kind == Kind::kTensor && graph_->values.back().storage != v->id) view_base_.back() = v->id;
    node.outputs.push_back(v->id);
    made.push_back(v);
  }
  graph_->nodes.push_back(std::move(node));
  if (!several) return made[0];
  return PyTuple_CheckExact(result.get()) ? tuple(std::move(made)) : list(std::move(made));
}

Value* Tracer::call_of_made(PyObject* o, const Values& args, const Keywords& keywords) {
  if (!torch::available()) return nullptr;
  bool tensors = false;
  for (Value* v : args) tensors = tensors || (force(v)->kind == Kind::kMade && torch::is_tensor(v->object));
  if (tensors) {
    const torch::CallableInfo& info = torch::callable_info(o);
    constexpr std::array<std::string_view, 10> kFacts = {
        "is_conj",           "is_neg",        "dim",         "size", "stride", "numel", "is_complex",
        "is_floating_point", "is_contiguous", "element_size"};
    const std::string name = last_name(o);
    if (args.size() == 1 && keywords.empty() && torch::is_plain_tensor(args[0]->object) &&
        std::find(kFacts.begin(), kFacts.end(), name) != kFacts.end())
      return wrap(py::check(PyObject_CallOneArg(o, args[0]->object)).release());
    const bool plain =
        info.kind == torch::CallableKind::kOp && !info.in_place && !info.random && !info.dynamic_shape;
    return plain || is_part_getter(o) ? call_made(o, args, keywords, false) : nullptr;
  }
  const bool numpy = is_followed_of_numpy(o);
  if (!numpy && !is_tensor_maker(o)) return nullptr;
  if (numpy && last_name(o) == "where" && args.size() != 3)
    return nullptr;  // a result as long as the values say
  return call_made(o, args, keywords, numpy);
}

Value* Tracer::operate_made(PyObject* function, const Values& args) {
  for (Value* v : args)  // what Python's own ways have a say in
    if (force(v)->kind == Kind::kInstance || v->kind == Kind::kNative) return nullptr;
  bool numpy = false;
  for (Value* v : args) numpy = numpy || (v->kind == Kind::kMade && !torch::is_tensor(v->object));
  return call_made(function, args, {}, numpy);
}

Value* Tracer::item_of_made(Value* made, Value* key) {
  // Which items a mask picks is known by its values alone.
  const auto fits = [&](Value* k) {
    PyObject* c = constant_of(k);
    if (c)
      return !PyBool_Check(c) && (c == Py_None || c == Py_Ellipsis || PyLong_Check(c) || PySlice_Check(c));
    if (force(k)->kind != Kind::kMade || !is_array(k->object)) return false;
    py::Ref type = py::check(PyObject_GetAttrString(k->object, "dtype")),
            kind = py::check(PyObject_GetAttrString(type.get(), "kind"));
    return is_name(kind.get(), "i");
  };
  if (force(key)->kind == Kind::kTuple && !constant_of(key)) {
    for (Value* k : key->items)
      if (!fits(k)) return nullptr;
  } else if (PyObject* c = constant_of(key); c && PyTuple_CheckExact(c)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(c); ++i)
      if (!fits(constant(PyTuple_GET_ITEM(c, i)))) return nullptr;
  } else if (!fits(key)) {
    return nullptr;
  }
  return operate_made(operator_function("getitem"), {made, key});
}

Value* Tracer::attribute_of_made(Value* made, PyObject* name, bool* missing) {
  constexpr std::array<std::string_view, 7> kLayout = {"shape", "dtype",    "ndim",   "size",
                                                       "itemsize", "nbytes", "strides"};
  const std::string_view text = py::utf8(name);
  if (torch::is_tensor(made->object)) {
    constexpr std::array<std::string_view, 6> kFacts = {"dtype",        "device",    "layout",
                                                        "is_quantized", "is_nested", "requires_grad"};
    const bool known = std::find(kFacts.begin(), kFacts.end(), text) != kFacts.end() ||
                       ((text == "shape" || text == "ndim") && torch::is_plain_tensor(made->object));
    if (const torch::AttributeInfo info = torch::attribute_info(name); info.kind == torch::AttributeKind::kOp)
      if (Value* part = call_made(info.callable, {made}, {}, false)) return part;
    if (known) return wrap(py::check(PyObject_GetAttr(made->object, name)).release());
  } else if (std::find(kLayout.begin(), kLayout.end(), text) != kLayout.end()) {
    py::Ref value = py::check(PyObject_GetAttr(made->object, name));
    if (text == "dtype") return constant(keep_for_trace(value));
    return wrap(value.release());
  }
  if (!torch::is_tensor(made->object) && (text == "T" || text == "real" || text == "imag" || text == "mT")) {
    static PyObject* get = polyfill_named("get_attribute");
    if (get)
      if (Value* r = call_made(get, {made, constant(name)}, {}, true)) return r;
    stop("method-call", {{"class", made->type->tp_name}, {"name", std::string(text)}});
  }
  if (text == "__class__") return constant(reinterpret_cast<PyObject*>(made->type));
  PyObject* found = py::type_lookup(made->type, name);
  if (!found) {
    if (missing) {
      *missing = true;
      return nullptr;
    }
    quiet("attribute", true);
  }
  if (is_part_getter(found) || Py_TYPE(found) == &PyMethodDescr_Type ||
      Py_TYPE(found) == &PyWrapperDescr_Type)
    return method(constant(found), made);
  stop("method-call", {{"class", made->type->tp_name}, {"name", std::string(text)}});
}

}  // namespace breakline::trace
