// SPDX-License-Identifier: GPL-3.0-or-later
// How it works: 1. each operand gets a meta twin (one per value, so identity and aliasing of results can be
// seen);
// 2. the callable runs on them, device arguments turned to "meta"; 3. results are classified: the operand
// itself, a view of it, a fresh tensor, or a constant; 4. the answer is kept under the call's content.
#include "core/torch/meta_call.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <unordered_map>

#include "core/torch/ambient.h"
#include "core/torch/arg_object.h"
#include "core/torch/library.h"
#include "core/torch/light_import.h"
#include "core/torch/tensor.h"

namespace breakline::torch {
namespace {

using graph::Arg;
using graph::TensorMeta;
using graph::ValueId;

/// Elements of an operand up to which a real tensor is made for a question.
constexpr int64_t kRealTwinLimit = 1 << 22;

int64_t calls = 0;
double microseconds = 0;

InferFailure failure(InferFailure::Why why, std::string message, std::string_view reason = "no-shape-rule") {
  InferFailure f;
  f.why = why;
  f.reason = reason;
  f.message = std::move(message);
  return f;
}

/// Text form of a call for the memo: operands by number and metadata, constants by value or by address (kept
/// alive).
class KeyMaker {
 public:
  explicit KeyMaker(const Call& call) : call_(call) {
    put(call.callable);
    put(call.grad_mode);
    const Ambient now = current_ambient();
    put(now.default_dtype);
    put(now.inference_mode);
    put(now.deterministic);
    put(call.info.ask_real);
    put(now.autocast_cpu);
    put(now.autocast_cpu_dtype);
    for (const Arg& a : call.args) add(a);
    for (const auto& [name, a] : call.kwargs) {
      key_ += name;
      key_ += '=';
      add(a);
    }
    for (ValueId id : call.operands) {
      const TensorMeta& m = call.graph.values[static_cast<size_t>(id)].meta;
      put(m.dtype);
      put(m.device);
      put(m.requires_grad);
      put(m.is_leaf);
      put(m.storage_offset);
      put(m.sizes.size());
      for (int64_t v : m.sizes) put(v);
      for (int64_t v : m.strides) put(v);
    }
  }
  std::string key_;
  std::vector<py::Ref> kept_;

 private:
  template <class T>
  void put(const T& value) {
    key_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void add(const Arg& a) {
    put(static_cast<char>('a' + a.v.index()));
    std::visit([this](const auto& v) { content(v); }, a.v);
  }
  void content(std::monostate) {}
  void content(graph::Value_ v) {
    put(std::find(call_.operands.begin(), call_.operands.end(), v.id) - call_.operands.begin());
  }
  void content(bool b) { put(b); }
  void content(int64_t i) { put(i); }
  void content(double d) { put(d); }
  void content(const std::string& s) {
    put(s.size());
    key_ += s;
  }
  void content(const graph::DTypeArg& d) { put(d.object); }
  void content(const graph::ArgSeq& seq) {
    put(seq.kind);
    put(seq.items.size());
    for (const Arg& item : seq.items) add(item);
  }
  void content(const graph::Opaque& o) {
    put(o.object);
    kept_.push_back(py::Ref::borrow(static_cast<PyObject*>(o.object)));
  }
  const Call& call_;
};

/// Sets the grad mode and mutes Python warnings while it lives: eager gives them once, when the op really
/// runs.
class Surroundings {
 public:
  explicit Surroundings(bool grad_mode) : grad_(library()->c.grad_mode()) {
    if (grad_ != grad_mode) library()->c.set_grad_mode(grad_mode);
    static PyObject* module = PyImport_ImportModule("warnings");
    static PyObject* ignore_all = Py_BuildValue("[(sOOOi)]", "ignore", Py_None, PyExc_Warning, Py_None, 0);
    if (module && ignore_all) filters_ = py::Ref::steal(PyObject_GetAttr(module, py::intern("filters")));
    if (!filters_ || PyObject_SetAttr(module, py::intern("filters"), ignore_all) < 0) PyErr_Clear();
    warnings_ = module;
    // A warning that PyTorch gives once in a process would be used up here.
    always_ = warn_always("_get_warnAlways", nullptr);
    if (always_.get() == Py_False) warn_always("_set_warnAlways", Py_True);
  }
  ~Surroundings() {
    library()->c.set_grad_mode(grad_);
    if (always_.get() == Py_False) {
      py::SavedError error;
      warn_always("_set_warnAlways", Py_False);
      error.restore();
    }
    if (filters_ && PyObject_SetAttr(warnings_, py::intern("filters"), filters_.get()) < 0) PyErr_Clear();
  }
  Surroundings(const Surroundings&) = delete;
  Surroundings& operator=(const Surroundings&) = delete;

 private:
  static py::Ref warn_always(const char* name, PyObject* value) {
    static PyObject* module = PyImport_ImportModule("torch._C");
    const py::Ref function = module ? py::Ref::steal(PyObject_GetAttrString(module, name)) : py::Ref();
    py::Ref result = function ? py::Ref::steal(PyObject_CallFunctionObjArgs(function.get(), value, nullptr)) : py::Ref();
    if (!result) PyErr_Clear();
    return result;
  }

  bool grad_;
  py::Ref always_;
  PyObject* warnings_ = nullptr;
  py::Ref filters_;
};

enum class DeviceArg { kNotDevice, kHost, kMeta, kForeign };
DeviceArg device_arg(PyObject* object, bool strings) {
  std::string text;
  if (is_device(object)) {
    text = py::to_string(object);
  } else if (strings && PyUnicode_Check(object)) {
    text = py::utf8(object);
  } else {
    return DeviceArg::kNotDevice;
  }
  if (text == "cpu") return DeviceArg::kHost;
  if (text == "meta") return DeviceArg::kMeta;
  return DeviceArg::kForeign;
}

/// The objects of one call, ready for vectorcall.
struct Prepared {
  std::vector<py::Ref> args;
  std::vector<py::Ref> values;  ///< of keywords
  py::Ref names;                ///< tuple or null
  std::vector<py::Ref> twins;   ///< one per operand of the call
  std::vector<int64_t> versions;
  bool asked_for_meta = false;
};

bool moves_device(const Call& call) { return call.info.name == "Tensor.to" || call.info.name == "torch.to"; }

/// A failure when the device is neither this host nor meta.
std::optional<InferFailure> set_device(py::Ref& object, bool strings, Prepared& out) {
  switch (device_arg(object.get(), strings)) {
    case DeviceArg::kNotDevice:
      return std::nullopt;
    case DeviceArg::kMeta:
      out.asked_for_meta = true;
      [[fallthrough]];
    case DeviceArg::kHost:
      object = py::Ref::borrow(library()->py.meta_device);
      return std::nullopt;
    case DeviceArg::kForeign:
      break;
  }
  return failure(InferFailure::kUnsupported, "device " + py::to_string(object.get()), "foreign-device");
}

std::optional<InferFailure> check_keyword(const std::string& name, PyObject* value) {
  if (name == "generator" && value != Py_None) {
    return failure(InferFailure::kUnsupported, "a generator object is passed", "generator-object");
  }
  if (name == "pin_memory" && value == Py_True) {
    return failure(InferFailure::kUnsupported, "pinned memory", "foreign-device");
  }
  if (name == "layout" && value != Py_None && py::to_string(value) != "torch.strided") {
    return failure(InferFailure::kUnsupported, "a layout other than strided", "sparse-tensor");
  }
  return std::nullopt;
}

std::optional<InferFailure> prepare(const Call& call, bool own_twins, Prepared& out) {
  for (ValueId id : call.operands) {
    const TensorMeta& m = call.graph.values[static_cast<size_t>(id)].meta;
    if (call.info.ask_real && (m.numel() > kRealTwinLimit || m.device != graph::DeviceKind::kCpu))
      return failure(InferFailure::kUnsupported, "PyTorch's meta kernel is not to be trusted and the operand is large");
    py::Ref twin = py::Ref::steal(call.info.ask_real ? real_twin(m) : own_twins ? fresh_meta_twin(m) : meta_twin(m));
    // Operands of one kind share the kept twin, and then a result could not be told to belong to one of them.
    const bool taken = std::any_of(out.twins.begin(), out.twins.end(), [&twin](const py::Ref& t) { return t.get() == twin.get(); });
    if (twin && taken) twin = py::Ref::steal(fresh_meta_twin(m));
    out.twins.push_back(std::move(twin));
    if (!out.twins.back()) {
      PyErr_Clear();
      return failure(InferFailure::kUnsupported, "no meta tensor of this kind can be made");
    }
    out.versions.push_back(version_of(out.twins.back().get()));
  }
  const auto twin_of = [&](ValueId id) {
    const auto at = std::find(call.operands.begin(), call.operands.end(), id) - call.operands.begin();
    return py::Ref(out.twins[static_cast<size_t>(at)]).release();
  };
  for (const Arg& a : call.args) {
    py::Ref object = py::Ref::steal(object_of(a, twin_of));
    if (!object) {
      PyErr_Clear();
      return failure(InferFailure::kUnsupported, "an operand has no constant form");
    }
    if (auto bad = set_device(object, moves_device(call), out)) return bad;
    out.args.push_back(std::move(object));
  }
  // Without a tensor among its operands a call would make real ones (and draw from the random stream).
  const bool numbers_alone = call.info.ask_real && call.operands.empty() && call.info.row && call.info.row->kind == graph::OpKind::kPointwise;
  const bool add_device = (call.info.kind == CallableKind::kFactory || call.operands.empty()) && !numbers_alone;
  if (call.info.ask_real && call.operands.empty() && !numbers_alone) return failure(InferFailure::kUnsupported, "no tensor is among the operands");
  std::vector<py::Ref> names;
  bool has_device = false;
  for (const auto& [name, a] : call.kwargs) {
    py::Ref object = py::Ref::steal(object_of(a, twin_of));
    if (!object) {
      PyErr_Clear();
      return failure(InferFailure::kUnsupported, "an operand has no constant form");
    }
    if (auto bad = check_keyword(name, object.get())) return bad;
    if (name == "device" && object.get() != Py_None) {
      if (auto bad = set_device(object, true, out)) return bad;
    }
    if (name == "device") {
      has_device = true;
      if (add_device && object.get() == Py_None) object = py::Ref::borrow(library()->py.meta_device);
    }
    names.push_back(py::Ref::steal(PyUnicode_InternFromString(name.c_str())));
    out.values.push_back(std::move(object));
  }
  if (add_device && !has_device) {
    names.push_back(py::Ref::borrow(py::intern("device")));
    out.values.push_back(py::Ref::borrow(library()->py.meta_device));
  }
  if (!names.empty()) {
    out.names = py::Ref::steal(PyTuple_New(static_cast<Py_ssize_t>(names.size())));
    for (size_t i = 0; i < names.size(); ++i) {
      PyTuple_SET_ITEM(out.names.get(), static_cast<Py_ssize_t>(i), names[i].release());
    }
  }
  return std::nullopt;
}

/// Turns the pending Python error of a meta call into a failure. Clearing it is right: nothing real was run.
InferFailure failure_of_error() {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  const std::string text = py::to_string(value);
  const std::string kind = type && PyType_Check(type) ? reinterpret_cast<PyTypeObject*>(type)->tp_name : "";
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  const auto has = [&text](const char* part) { return text.find(part) != std::string::npos; };
  if (has("meta tensor") || has("Meta tensor") || has("data-dependent") ||
      kind == "DynamicOutputShapeException" || kind == "DataDependentOutputException") {
    return failure(InferFailure::kDataDependent, text, "data-dependent-operator");
  }
  if (kind == "NotImplementedError" || has("'Meta' backend") || has("'meta' device") ||
      has("for device meta") || has("meta device") || has("device type meta")) {
    return failure(InferFailure::kNoMeta, text);
  }
  return failure(InferFailure::kRaises, kind + ": " + text, "op-error");
}

bool is_named_tuple(PyObject* object) {
  return PyTuple_Check(object) && !PyTuple_CheckExact(object) && Py_TYPE(object) != library()->py.size;
}

bool is_plain_constant(PyObject* object) {
  return object == Py_None || object == Py_NotImplemented || PyBool_Check(object) ||
         PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyComplex_CheckExact(object) ||
         is_dtype(object) || (is_torch_constant(object) && !is_device(object));
}

bool is_constant_tree(PyObject* object) {
  if (is_plain_constant(object)) return true;
  if (!PyTuple_CheckExact(object)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
    if (!is_constant_tree(PyTuple_GET_ITEM(object, i))) return false;
  }
  return true;
}

bool same_storage(PyObject* a, PyObject* b) {
  if (!library()->py.is_alias_of) return false;
  PyObject* pair[] = {a, b};
  const py::Ref answer = py::Ref::steal(PyObject_Vectorcall(library()->py.is_alias_of, pair, 2, nullptr));
  if (!answer) PyErr_Clear();
  return answer.get() == Py_True;
}

/// Metadata of a result; `alias` and `same_value` are by position among the call's operands.
std::optional<InferFailure> classify(const Call& call, const Prepared& made, PyObject* tensor,
                                     graph::ShapeOut& out) {
  if (!is_plain_tensor(tensor)) {
    return failure(InferFailure::kUnsupported, "the result is of a tensor subclass", "tensor-subclass");
  }
  out.meta = meta_of(tensor);
  if (!out.meta.plain || out.meta.device != (call.info.ask_real ? graph::DeviceKind::kCpu : graph::DeviceKind::kMeta)) {
    return failure(InferFailure::kUnsupported, "the result is no ordinary strided tensor");
  }
  const bool all_meta = std::all_of(call.operands.begin(), call.operands.end(), [&call](ValueId id) {
    return call.graph.values[static_cast<size_t>(id)].meta.device == graph::DeviceKind::kMeta;
  });
  const bool on_meta = made.asked_for_meta || (!call.operands.empty() && all_meta);
  out.meta.device = on_meta ? graph::DeviceKind::kMeta : graph::DeviceKind::kCpu;
  for (size_t i = 0; i < made.twins.size(); ++i) {
    if (made.twins[i].get() == tensor) {
      out.alias = static_cast<int>(i);
      out.same_value = true;
      const TensorMeta& before = call.graph.values[static_cast<size_t>(call.operands[i])].meta;
      for (size_t j = 0; j < made.twins.size(); ++j)
        if (j != i && same_storage(made.twins[j].get(), tensor)) out.moved_to = static_cast<ValueId>(j);
      const bool reshaped = out.meta.sizes != before.sizes || out.meta.strides != before.strides ||
                            out.meta.dtype != before.dtype || out.meta.storage_offset != before.storage_offset;
      if (!reshaped && out.moved_to == graph::kNoValue && version_of(tensor) == made.versions[i]) out.meta = before;
      out.meta.device = before.device;
      return std::nullopt;
    }
  }
  for (size_t i = 0; i < made.twins.size(); ++i) {
    if (same_storage(made.twins[i].get(), tensor)) {
      out.alias = static_cast<int>(i);
      break;
    }
  }
  return std::nullopt;
}

std::variant<Inferred, InferFailure> classify_all(const Call& call, const Prepared& made, PyObject* result) {
  Inferred answer;
  const auto add = [&](PyObject* item) -> std::optional<InferFailure> {
    graph::ShapeOut out;
    py::Ref constant;
    if (is_tensor(item)) {
      if (auto bad = classify(call, made, item, out)) return bad;
    } else if (is_constant_tree(item)) {
      constant = py::Ref::borrow(item);
    } else {
      return failure(InferFailure::kUnsupported, "the result holds a " + std::string(Py_TYPE(item)->tp_name),
                     "non-tensor-result");
    }
    answer.outs.push_back(std::move(out));
    answer.non_tensors.push_back(std::move(constant));
    return std::nullopt;
  };
  if (is_tensor(result)) {
    answer.structure = Inferred::kTensor;
    if (auto bad = add(result)) return *bad;
  } else if (result == Py_None) {
    answer.structure = Inferred::kNone;
  } else if (is_constant_tree(result) || (call.info.answers_metadata && PyUnicode_CheckExact(result))) {
    answer.structure = Inferred::kConstant;
    answer.constant = py::Ref::borrow(result);
  } else if (PyTuple_Check(result) || PyList_CheckExact(result)) {
    answer.structure = PyList_CheckExact(result) ? Inferred::kList
                       : is_named_tuple(result)  ? Inferred::kNamedTuple
                                                 : Inferred::kTuple;
    if (is_named_tuple(result)) answer.named_tuple = Py_TYPE(result);
    const py::Ref items = py::Ref::steal(PySequence_Fast(result, ""));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
      if (auto bad = add(PySequence_Fast_GET_ITEM(items.get(), i))) return *bad;
    }
  } else {
    return failure(InferFailure::kUnsupported, "the result is a " + std::string(Py_TYPE(result)->tp_name),
                   "non-tensor-result");
  }
  for (size_t i = 0; i < made.twins.size(); ++i) {
    if (version_of(made.twins[i].get()) != made.versions[i]) {
      answer.written.push_back(static_cast<ValueId>(i));
      TensorMeta now = call.graph.values[static_cast<size_t>(call.operands[i])].meta;
      const TensorMeta after = meta_of(made.twins[i].get());
      if (after.requires_grad != now.requires_grad) {
        now.requires_grad = after.requires_grad;
        now.is_leaf = after.is_leaf;
      }
      const bool returned = std::any_of(answer.outs.begin(), answer.outs.end(),
                                        [i](const graph::ShapeOut& out) { return out.same_value && out.alias == static_cast<int>(i); });
      if (!returned && (after.sizes != now.sizes || after.strides != now.strides))
        return failure(InferFailure::kUnsupported, "the call changes its operand's shape in place", "inplace-resize");
      answer.written_meta.push_back(std::move(now));
    }
  }
  return answer;
}

std::variant<Inferred, InferFailure> run_once(const Call& call) {
  const bool own_twins = call.info.in_place ||
                         std::any_of(call.kwargs.begin(), call.kwargs.end(),
                                     [](const auto& k) { return k.first == "out" || k.first == "inplace"; });
  Prepared made;
  const Surroundings surroundings(call.grad_mode);
  if (auto bad = prepare(call, own_twins, made)) return *bad;
  std::vector<PyObject*> flat;
  for (const py::Ref& a : made.args) flat.push_back(a.get());
  for (const py::Ref& v : made.values) flat.push_back(v.get());
  ++calls;
  const LightImport light;
  const auto start = std::chrono::steady_clock::now();
  const py::Ref result =
      py::Ref::steal(PyObject_Vectorcall(call.callable, flat.data(), made.args.size(), made.names.get()));
  microseconds += std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
  if (!result) {
    const bool refused = call.operands.empty() && call.info.kind != CallableKind::kFactory && PyErr_ExceptionMatches(PyExc_TypeError);
    InferFailure bad = failure_of_error();
    if (call.info.ask_real) bad = failure(InferFailure::kUnsupported, bad.message);  // zeros may be what it refuses
    if (refused) bad = failure(InferFailure::kUnsupported, bad.message);  // perhaps only the added device
    return bad;
  }
  return classify_all(call, made, result.get());
}

struct Memo {
  std::variant<Inferred, InferFailure> answer;
  std::vector<py::Ref> kept;
};

/// Positions among operands → values of this call.
void name_values(const Call& call, Inferred& answer) {
  for (graph::ShapeOut& out : answer.outs) {
    if (out.alias < 0) continue;
    if (out.moved_to != graph::kNoValue) out.moved_to = call.operands[static_cast<size_t>(out.moved_to)];
    out.alias_value = call.operands[static_cast<size_t>(out.alias)];
    out.alias = -1;
    for (size_t i = 0; i < call.args.size(); ++i) {
      if (call.args[i].is_value() && call.args[i].id() == out.alias_value) {
        out.alias = static_cast<int>(i);
        break;
      }
    }
  }
  for (ValueId& id : answer.written) id = call.operands[static_cast<size_t>(id)];
}

}  // namespace

std::variant<Inferred, InferFailure> infer_by_meta(const Call& call) {
  static auto& memo = *new std::unordered_map<std::string, Memo>;  // never freed: no interpreter at exit
  KeyMaker key(call);
  auto it = memo.find(key.key_);
  if (it == memo.end()) {
    if (memo.size() > 20000) memo.clear();
    Memo entry{run_once(call), std::move(key.kept_)};
    entry.kept.push_back(py::Ref::borrow(call.callable));
    it = memo.emplace(std::move(key.key_), std::move(entry)).first;
  }
  auto answer = it->second.answer;
  if (auto* inferred = std::get_if<Inferred>(&answer)) name_values(call, *inferred);
  return answer;
}

int64_t meta_call_count() { return calls; }
double meta_call_us() { return microseconds; }

}  // namespace breakline::torch
