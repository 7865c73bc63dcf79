// SPDX-License-Identifier: GPL-3.0-or-later
// One node through its torch callable. PyTorch's functions and methods take (args tuple, kwargs dict), so for
// these the C function is called directly; everything else goes through vectorcall.
#include "core/torch/node_runner.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/torch/arg_object.h"

namespace breakline::torch {
namespace {

/// How an operand is made at each call.
struct Operand {
  enum Kind : uint8_t { kConstant, kValue, kSequence } kind = kConstant;
  graph::ArgSeq::Kind sequence = graph::ArgSeq::kTuple;
  graph::ValueId id = graph::kNoValue;
  py::Ref constant;
  std::vector<Operand> items;

  /// New reference, or null with an error set.
  PyObject* make(PyObject* const* slots) const {
    switch (kind) {
      case kConstant:
        return Py_NewRef(constant.get());
      case kValue:
        return Py_NewRef(slots[id]);
      case kSequence:
        return make_sequence(slots);
    }
    return nullptr;
  }

 private:
  PyObject* make_sequence(PyObject* const* slots) const {
    const auto n = static_cast<Py_ssize_t>(items.size());
    if (sequence == graph::ArgSeq::kSlice) {
      PyObject* part[3] = {};
      bool ok = true;
      for (size_t i = 0; i < 3 && i < items.size(); ++i)
        ok = (part[i] = items[i].make(slots)) != nullptr && ok;
      PyObject* slice = ok ? PySlice_New(part[0], part[1], part[2]) : nullptr;
      for (PyObject* p : part) Py_XDECREF(p);
      return slice;
    }
    const bool tuple = sequence == graph::ArgSeq::kTuple;
    PyObject* out = tuple ? PyTuple_New(n) : PyList_New(n);
    for (Py_ssize_t i = 0; out && i < n; ++i) {
      PyObject* item = items[static_cast<size_t>(i)].make(slots);
      if (!item) {
        Py_CLEAR(out);
      } else if (tuple) {
        PyTuple_SET_ITEM(out, i, item);
      } else {
        PyList_SET_ITEM(out, i, item);
      }
    }
    return out;
  }
};

Operand operand_of(const graph::Arg& a) {
  Operand o;
  if (a.is_value()) {
    o.kind = Operand::kValue;
    o.id = a.id();
    return o;
  }
  // Tuples of constants are made once, as the program's own are.
  const auto fixed = [&](const graph::ArgSeq& seq) { return !holds_value(a) && (a.object || seq.kind == graph::ArgSeq::kTuple); };
  if (const graph::ArgSeq* seq = a.seq(); seq && !fixed(*seq)) {
    o.kind = Operand::kSequence;
    o.sequence = seq->kind;
    for (const graph::Arg& item : seq->items) o.items.push_back(operand_of(item));
    return o;
  }
  o.constant = py::Ref::steal(object_of(a, {}));
  if (!o.constant) {
    PyErr_Clear();
    o.constant = py::Ref::borrow(Py_None);
  }
  return o;
}

/// The C function behind a function of module `operator` with two operands; null when it is none.
binaryfunc operator_behind(PyObject* callable) {
  static const std::unordered_map<PyObject*, binaryfunc> table = [] {
    static constexpr std::pair<const char*, binaryfunc> kRows[] = {{"add", PyNumber_Add},
                                                                   {"sub", PyNumber_Subtract},
                                                                   {"mul", PyNumber_Multiply},
                                                                   {"truediv", PyNumber_TrueDivide},
                                                                   {"floordiv", PyNumber_FloorDivide},
                                                                   {"mod", PyNumber_Remainder},
                                                                   {"matmul", PyNumber_MatrixMultiply},
                                                                   {"and_", PyNumber_And},
                                                                   {"or_", PyNumber_Or},
                                                                   {"xor", PyNumber_Xor},
                                                                   {"lshift", PyNumber_Lshift},
                                                                   {"rshift", PyNumber_Rshift},
                                                                   {"getitem", PyObject_GetItem},
                                                                   {"iadd", PyNumber_InPlaceAdd},
                                                                   {"isub", PyNumber_InPlaceSubtract},
                                                                   {"imul", PyNumber_InPlaceMultiply},
                                                                   {"itruediv", PyNumber_InPlaceTrueDivide}};
    std::unordered_map<PyObject*, binaryfunc> made;
    const py::Ref module = py::Ref::steal(PyImport_ImportModule("_operator"));
    for (const auto& [name, function] : kRows) {
      PyObject* found =
          module ? PyObject_GetAttrString(module.get(), name) : nullptr;  // kept: the table names it
      if (found)
        made.emplace(found, function);
      else
        PyErr_Clear();
    }
    return made;
  }();
  const auto it = table.find(callable);
  return it == table.end() ? nullptr : it->second;
}

/// Stack room for the usual call; more goes to the heap.
constexpr size_t kInline = 16;

}  // namespace

struct NodeRunner::Impl {
  enum Way : uint8_t { kVectorcall, kFunction, kMethod, kOperator } way = kVectorcall;
  bool takes_keywords = false;
  bool multi = false;
  bool constant_call = false;  ///< no operand is a value
  py::Ref callable;
  py::Ref keyword_names;      ///< tuple for vectorcall, or null
  py::Ref constant_keywords;  ///< dict when all keyword operands are constants (direct ways)
  PyCFunction function = nullptr;
  binaryfunc two = nullptr;       ///< for kOperator
  PyTypeObject* owner = nullptr;  ///< type of self for kMethod
  size_t positional = 0;
  std::vector<Operand> operands;           ///< positional, then keywords
  std::vector<PyObject*> keyword_objects;  ///< interned names, borrowed from keyword_names
  std::vector<graph::ValueId> outputs;

  void choose_way();
  PyObject* call(PyObject* const* slots) const;
  PyObject* call_direct(PyObject* const* slots) const;
  PyObject* call_vector(PyObject* const* slots) const;
  PyObject* call_operator(PyObject* const* slots) const;
  bool store(PyObject* result, PyObject** slots) const;
};

void NodeRunner::Impl::choose_way() {
  PyObject* f = callable.get();
  if (positional == 2 && operands.size() == 2 && (two = operator_behind(f))) {
    way = kOperator;
    return;
  }
  const PyMethodDef* def = nullptr;
  if (PyCFunction_CheckExact(f)) {
    def = reinterpret_cast<PyCFunctionObject*>(f)->m_ml;
    way = kFunction;
  } else if (Py_IS_TYPE(f, &PyMethodDescr_Type)) {
    def = reinterpret_cast<PyMethodDescrObject*>(f)->d_method;
    owner = reinterpret_cast<PyMethodDescrObject*>(f)->d_common.d_type;
    way = kMethod;
  }
  const int flags = def ? def->ml_flags & ~(METH_STATIC | METH_CLASS | METH_COEXIST) : 0;
  const bool varargs = flags == METH_VARARGS || flags == (METH_VARARGS | METH_KEYWORDS);
  takes_keywords = (flags & METH_KEYWORDS) != 0;
  if (!varargs || (way == kMethod && positional == 0) || (!takes_keywords && operands.size() > positional)) {
    way = kVectorcall;
    return;
  }
  function = def->ml_meth;
  const bool all_constant =
      std::all_of(operands.begin() + static_cast<std::ptrdiff_t>(positional), operands.end(),
                  [](const Operand& o) { return o.kind == Operand::kConstant; });
  if (operands.size() > positional && all_constant) {
    constant_keywords = py::Ref::steal(PyDict_New());
    for (size_t i = positional; constant_keywords && i < operands.size(); ++i) {
      PyDict_SetItem(constant_keywords.get(), keyword_objects[i - positional], operands[i].constant.get());
    }
  }
}

PyObject* NodeRunner::Impl::call_direct(PyObject* const* slots) const {
  const size_t first = way == kMethod ? 1 : 0;
  py::Ref self;
  if (way == kMethod) {
    self = py::Ref::steal(operands[0].make(slots));
    if (!self) return nullptr;
    if (!PyObject_TypeCheck(self.get(), owner)) return call_vector(slots);  // the real call words the error
  }
  const py::Ref args = py::Ref::steal(PyTuple_New(static_cast<Py_ssize_t>(positional - first)));
  if (!args) return nullptr;
  for (size_t i = first; i < positional; ++i) {
    PyObject* item = operands[i].make(slots);
    if (!item) return nullptr;
    PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(i - first), item);
  }
  py::Ref keywords = constant_keywords;
  if (!keywords && operands.size() > positional) {
    keywords = py::Ref::steal(PyDict_New());
    for (size_t i = positional; i < operands.size(); ++i) {
      const py::Ref item = py::Ref::steal(operands[i].make(slots));
      if (!keywords || !item ||
          PyDict_SetItem(keywords.get(), keyword_objects[i - positional], item.get()) < 0) {
        return nullptr;
      }
    }
  }
  PyObject* receiver = way == kMethod ? self.get() : PyCFunction_GET_SELF(callable.get());
  if (takes_keywords) {
    return reinterpret_cast<PyCFunctionWithKeywords>(reinterpret_cast<void (*)()>(function))(
        receiver, args.get(), keywords.get());
  }
  return function(receiver, args.get());
}

PyObject* NodeRunner::Impl::call_vector(PyObject* const* slots) const {
  const size_t n = operands.size();
  PyObject* room[kInline + 1];
  std::vector<PyObject*> heap;
  PyObject** args = room;
  if (n > kInline) {
    heap.resize(n + 1);
    args = heap.data();
  }
  ++args;  // args[-1] belongs to the callee (PY_VECTORCALL_ARGUMENTS_OFFSET)
  size_t made = 0;
  while (made < n && (args[made] = operands[made].make(slots))) ++made;
  PyObject* result =
      made == n ? PyObject_Vectorcall(callable.get(), args, positional | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                      keyword_names.get())
                : nullptr;
  for (size_t i = 0; i < made; ++i) Py_DECREF(args[i]);
  return result;
}

PyObject* NodeRunner::Impl::call_operator(PyObject* const* slots) const {
  const py::Ref a = py::Ref::steal(operands[0].make(slots));
  const py::Ref b = py::Ref::steal(a ? operands[1].make(slots) : nullptr);
  return b ? two(a.get(), b.get()) : nullptr;
}

PyObject* NodeRunner::Impl::call(PyObject* const* slots) const {
  PyObject* result = way == kOperator     ? call_operator(slots)
                     : way == kVectorcall ? call_vector(slots)
                                          : call_direct(slots);
  if (!result && !PyErr_Occurred())
    PyErr_SetString(PyExc_SystemError, "a torch call failed without an error");
  return result;
}

bool NodeRunner::Impl::store(PyObject* result, PyObject** slots) const {
  const auto put = [slots](graph::ValueId id, PyObject* object) {  // takes the reference
    if (id == graph::kNoValue || slots[id]) {  // unused, or an operand that is its own result
      Py_DECREF(object);
    } else {
      slots[id] = object;
    }
  };
  if (!multi) {
    put(outputs.empty() ? graph::kNoValue : outputs[0], result);
    return true;
  }
  const py::Ref items = py::Ref::steal(PySequence_Fast(result, "a torch call returned no sequence"));
  Py_DECREF(result);
  if (!items) return false;
  if (PySequence_Fast_GET_SIZE(items.get()) != static_cast<Py_ssize_t>(outputs.size())) {
    PyErr_Format(PyExc_RuntimeError, "a torch call returned %zd results where %zu were traced",
                 PySequence_Fast_GET_SIZE(items.get()), outputs.size());
    return false;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    put(outputs[i], Py_NewRef(PySequence_Fast_GET_ITEM(items.get(), static_cast<Py_ssize_t>(i))));
  }
  return true;
}

NodeRunner::NodeRunner(const graph::Graph& graph, int node_index) {
  const graph::Node& node = graph.nodes[static_cast<size_t>(node_index)];
  auto impl = std::make_shared<Impl>();
  impl->callable = py::Ref::borrow(static_cast<PyObject*>(node.callable));
  impl->multi = node.multi;
  impl->outputs = node.outputs;
  impl->positional = node.args.size();
  impl->operands.reserve(node.args.size() + node.kwargs.size());
  for (const graph::Arg& a : node.args) impl->operands.push_back(operand_of(a));
  if (!node.kwargs.empty()) {
    impl->keyword_names = py::Ref::steal(PyTuple_New(static_cast<Py_ssize_t>(node.kwargs.size())));
    for (size_t i = 0; i < node.kwargs.size(); ++i) {
      PyObject* name = PyUnicode_InternFromString(node.kwargs[i].first.c_str());
      PyTuple_SET_ITEM(impl->keyword_names.get(), static_cast<Py_ssize_t>(i), name);
      impl->keyword_objects.push_back(name);
      impl->operands.push_back(operand_of(node.kwargs[i].second));
    }
  }
  impl->choose_way();
  impl_ = std::move(impl);
}

bool NodeRunner::run(PyObject** slots) const {
  PyObject* result = impl_->call(slots);
  return result && impl_->store(result, slots);
}

std::vector<std::vector<graph::ValueId>> last_uses(const graph::Graph& graph) {
  std::vector<int> last(graph.values.size(), -1);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const graph::Node& node = graph.nodes[n];
    const auto touch = [&last, n](graph::ValueId id) {
      if (id != graph::kNoValue) last[static_cast<size_t>(id)] = static_cast<int>(n);
    };
    for (const graph::Arg& a : node.args) visit_values(a, touch);
    for (const auto& [name, a] : node.kwargs) visit_values(a, touch);
    for (graph::ValueId id : node.outputs) touch(id);
  }
  for (const graph::Region& r : graph.regions) {
    if (r.condition != graph::kNoValue) {
      int& at = last[static_cast<size_t>(r.condition)];
      at = std::max(at, r.last);
    }
    for (graph::ValueId id : r.results) last[static_cast<size_t>(id)] = -1;  // taken at the region's end
  }
  for (graph::ValueId id : graph.inputs) last[static_cast<size_t>(id)] = -1;
  for (graph::ValueId id : graph.outputs) last[static_cast<size_t>(id)] = -1;
  std::vector<std::vector<graph::ValueId>> dying(graph.nodes.size());
  for (size_t v = 0; v < last.size(); ++v) {
    if (last[v] >= 0) dying[static_cast<size_t>(last[v])].push_back(static_cast<graph::ValueId>(v));
  }
  return dying;
}

}  // namespace breakline::torch
