// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/torch/arg_object.h"

#include <algorithm>

#include "core/torch/library.h"
#include "core/torch/tensor.h"

namespace breakline::torch {
namespace {

using MakeValue = std::function<PyObject*(graph::ValueId)>;

struct ObjectMaker {
  const MakeValue& make_value;

  PyObject* operator()(std::monostate) const { return Py_NewRef(Py_None); }
  PyObject* operator()(graph::Value_ v) const {
    if (make_value) return make_value(v.id);
    PyErr_SetString(PyExc_ValueError, "an operand that is a value has no constant form");
    return nullptr;
  }
  PyObject* operator()(bool b) const { return Py_NewRef(b ? Py_True : Py_False); }
  PyObject* operator()(int64_t i) const { return PyLong_FromLongLong(i); }
  PyObject* operator()(double d) const { return PyFloat_FromDouble(d); }
  PyObject* operator()(const std::string& s) const {
    return PyUnicode_FromStringAndSize(s.data(), static_cast<Py_ssize_t>(s.size()));
  }
  PyObject* operator()(const graph::DTypeArg& d) const {
    return Py_XNewRef(d.object ? static_cast<PyObject*>(d.object) : dtype_object(d.dtype));
  }
  PyObject* operator()(const graph::ArgSeq& seq) const;
  PyObject* operator()(const graph::Opaque& o) const { return Py_XNewRef(static_cast<PyObject*>(o.object)); }
};

PyObject* ObjectMaker::operator()(const graph::ArgSeq& seq) const {
  std::vector<py::Ref> items;
  for (const graph::Arg& item : seq.items) {
    items.push_back(py::Ref::steal(object_of(item, make_value)));
    if (!items.back()) return nullptr;
  }
  if (seq.kind == graph::ArgSeq::kSlice) {
    items.resize(3);
    return PySlice_New(items[0].get(), items[1].get(), items[2].get());
  }
  const auto n = static_cast<Py_ssize_t>(items.size());
  const bool tuple = seq.kind == graph::ArgSeq::kTuple;
  PyObject* out = tuple ? PyTuple_New(n) : PyList_New(n);
  for (Py_ssize_t i = 0; out && i < n; ++i) {
    PyObject* item = items[static_cast<size_t>(i)].release();
    if (tuple) {
      PyTuple_SET_ITEM(out, i, item);
    } else {
      PyList_SET_ITEM(out, i, item);
    }
  }
  return out;
}

graph::Arg sequence_arg(graph::ArgSeq::Kind kind, PyObject* const* items, Py_ssize_t n,
                        const std::function<graph::ValueId(PyObject*)>& tensor_id) {
  graph::ArgSeq seq;
  seq.kind = kind;
  constexpr int kMostLevels = 1000;  // no operation takes as many: what is below stays the object it is
  static thread_local int levels = 0;
  const struct Down {
    Down() { ++levels; }
    ~Down() { --levels; }
  } down;
  for (Py_ssize_t i = 0; i < n; ++i) {
    graph::Arg item;
    if (levels <= kMostLevels) {
      item = arg_of(items[i], tensor_id);
    } else {
      item.v = graph::Opaque{items[i]};
      item.object = items[i];
    }
    seq.items.push_back(std::move(item));
  }
  graph::Arg out;
  out.v = std::move(seq);
  return out;
}

}  // namespace

bool holds_value(const graph::Arg& arg) {
  if (arg.is_value()) return true;
  const graph::ArgSeq* seq = arg.seq();
  return seq && std::any_of(seq->items.begin(), seq->items.end(), holds_value);
}

PyObject* object_of(const graph::Arg& arg, const MakeValue& make_value) {
  if (arg.object && !holds_value(arg)) return Py_NewRef(static_cast<PyObject*>(arg.object));
  PyObject* made = std::visit(ObjectMaker{make_value}, arg.v);
  if (!made && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a constant operand has lost its object");
  return made;
}

graph::Arg arg_of(PyObject* constant, const std::function<graph::ValueId(PyObject*)>& tensor_id) {
  graph::Arg out;
  PyTypeObject* type = Py_TYPE(constant);
  if (constant == Py_None) {
    out.v = std::monostate{};
  } else if (is_tensor(constant) && tensor_id) {
    return graph::Arg::value(tensor_id(constant));
  } else if (PyBool_Check(constant)) {
    out.v = constant == Py_True;
  } else if (PyLong_CheckExact(constant)) {
    int overflow = 0;
    const int64_t number = PyLong_AsLongLongAndOverflow(constant, &overflow);
    if (overflow) {
      out.v = graph::Opaque{constant};
    } else {
      out.v = number;
    }
  } else if (std::string_view(type->tp_name) == "numpy.int64") {
    out.v = static_cast<int64_t>(PyNumber_AsSsize_t(constant, nullptr));
  } else if (PyFloat_CheckExact(constant)) {
    out.v = PyFloat_AS_DOUBLE(constant);
  } else if (PyUnicode_CheckExact(constant)) {
    out.v = std::string(py::utf8(constant));
  } else if (is_dtype(constant)) {
    out.v = graph::DTypeArg{dtype_of(constant), constant};
  } else if (PyTuple_CheckExact(constant) || (library() && type == library()->py.size)) {
    out = sequence_arg(graph::ArgSeq::kTuple, &PyTuple_GET_ITEM(constant, 0), PyTuple_GET_SIZE(constant),
                       tensor_id);
  } else if (PyList_CheckExact(constant)) {
    out = sequence_arg(graph::ArgSeq::kList, reinterpret_cast<PyListObject*>(constant)->ob_item,
                       PyList_GET_SIZE(constant), tensor_id);
  } else if (PySlice_Check(constant)) {
    const auto* slice = reinterpret_cast<PySliceObject*>(constant);
    PyObject* parts[] = {slice->start, slice->stop, slice->step};
    out = sequence_arg(graph::ArgSeq::kSlice, parts, 3, tensor_id);
  } else {
    out.v = graph::Opaque{constant};
  }
  out.object = holds_value(out) ? nullptr : constant;
  return out;
}

}  // namespace breakline::torch
