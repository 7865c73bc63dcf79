// SPDX-License-Identifier: GPL-3.0-or-later
// Sizes that are left open. The trace knows the sizes of the present call and works with them; what it reads
// of them become numbers with a source of their own, and what it concludes from them is logged, so that it
// can be repeated for other sizes (segment/shapes.h).
#include <algorithm>

#include "core/guard/marks.h"
#include "core/torch/tensor.h"
#include "core/trace/level.h"
#include "core/trace/tracer.h"
#include "core/trace/types.h"

namespace breakline::trace {

using guard::SourceKind;

namespace {

PyTypeObject* size_type() {
  static PyTypeObject* type = [] {
    py::Ref t = py::check(PyImport_ImportModule("torch"));
    return reinterpret_cast<PyTypeObject*>(PyObject_GetAttrString(t.get(), "Size"));
  }();
  return type;
}

/// Native functions of one or two numbers that depend on nothing else.
bool is_number_function(PyObject* f) {
  if (f == reinterpret_cast<PyObject*>(&PyLong_Type) || f == reinterpret_cast<PyObject*>(&PyFloat_Type))
    return true;
  if (!PyCFunction_Check(f)) return false;
  PyObject* self = PyCFunction_GET_SELF(f);
  if (!self || !PyModule_Check(self)) return false;
  const char* module = PyModule_GetName(self);
  if (!module) {
    PyErr_Clear();
    return false;
  }
  const std::string_view name = module, method = reinterpret_cast<PyCFunctionObject*>(f)->m_ml->ml_name;
  if (name == "builtins") return method == "abs" || method == "round";
  if (name == "math")
    return method != "prod" && method != "fsum" && method != "isclose" && method != "dist" &&
           method != "sumprod";
  return name == "_operator" && (method == "neg" || method == "pos" || method == "invert" ||
                                 method == "inv" || method == "abs" || method == "index");
}

/// Whether a function of one number answers with that very object.
bool gives_itself(PyObject* f, PyObject* number) {
  if (f == reinterpret_cast<PyObject*>(&PyFloat_Type)) return PyFloat_CheckExact(number);
  if (f == reinterpret_cast<PyObject*>(&PyLong_Type)) return PyLong_CheckExact(number);
  if (!PyCFunction_Check(f)) return false;
  const std::string_view name = reinterpret_cast<PyCFunctionObject*>(f)->m_ml->ml_name;
  if (name == "pos") return true;
  return PyLong_CheckExact(number) &&
         (name == "round" || name == "index" || name == "floor" || name == "ceil" || name == "trunc");
}

bool is_math_prod(PyObject* f) {
  static PyObject* prod = [] {
    py::Ref m = py::check(PyImport_ImportModule("math"));
    return PyObject_GetAttrString(m.get(), "prod");
  }();
  return f == prod;
}

}  // namespace

std::string size_hint(const std::string& path, size_t dim) {
  return "size " + std::to_string(dim) + " of " + path;
}

std::vector<bool> Tracer::open_dims(Value* v, const graph::TensorMeta& m) {
  const size_t rank = m.sizes.size();
  if (closed_all_ || v->source < 0 || !rank || rank >= static_cast<size_t>(guard::kMostDims) ||
      sources_[v->source].kind == SourceKind::kObject)
    return {};
  std::vector<bool> open(rank, false);
  uint64_t hard = 0, weak = 0, fixed = 0;
  if (PyObject** place = _PyObject_GetDictPtr(v->object); place && *place) {
    hard = guard::marked_dims(v->object);
    weak = guard::dims_in(v->object, "_dynamo_weak_dynamic_indices");
    fixed = guard::dims_in(v->object, "_dynamo_static_indices") & ~hard;
    if (hard) guard::note_marks();
  }
  const auto has = [](uint64_t bits, size_t d) { return d < 64 && (bits >> d & 1); };
  const bool any_mark = hard || weak;
  const bool all = options_.open_sizes && std::string_view(Py_TYPE(v->object)->tp_name) == "Tensor";
  if (!any_mark && !all && hints_.dynamic.empty()) return {};
  std::string path;
  if (!hints_.dynamic.empty() || !closed_.empty()) path = source_path(v->source);
  if (closed_.contains(path)) return {};
  bool any = false;
  for (size_t d = 0; d < rank; ++d) {
    if (has(fixed, d) || m.sizes[d] < 2) continue;
    open[d] = has(hard | weak, d) || all || (!hints_.dynamic.empty() && hints_.dynamic.contains(size_hint(path, d)));
    any = any || open[d];
  }
  if (!any) return {};
  if (!logging_) {
    // What was traced so far was not logged.
    must_log_ = true;
    throw Restart{};
  }
  return open;
}

void Tracer::keep_sizes(Value* tensor) {
  if (!varies(tensor->id)) return;
  if (tensor->source < 0) close_all();
  closed_.insert(source_path(tensor->source));
  throw Restart{};
}

void Tracer::close_all() {
  if (!logging_ || closed_all_) return;
  closed_all_ = true;
  throw Restart{};
}

Value* Tracer::size_of(Value* tensor, size_t d) {
  const graph::TensorMeta& m = meta(tensor);
  if (!varies(tensor->id) || m.sizes.size() >= static_cast<size_t>(guard::kMostDims))
    return integer(m.sizes[d]);
  SourceId source;
  if (auto it = open_inputs_.find(tensor->id); it != open_inputs_.end()) {
    if (!tensors_[static_cast<size_t>(it->second)].open[d]) return integer(m.sizes[d]);
    source = child(SourceKind::kTensorSize, tensor->source, nullptr, static_cast<int64_t>(d));
  } else {
    source = child(SourceKind::kNodeSize, kNoSource, nullptr,
                   tensor->id * guard::kMostDims + static_cast<int64_t>(d));
  }
  return open_number(keep(py::check(PyLong_FromLongLong(m.sizes[d])).release()), source);
}

Value* Tracer::open_number(PyObject* now, SourceId source) {
  Value* v = calculated(now, source);
  if (v->kind == Kind::kLive) v->type_guarded = true;
  return v;
}

Value* Tracer::calculated(PyObject* now, SourceId source) {
  const auto place = static_cast<size_t>(source + 1);
  Value* known = place < by_source_.size() ? by_source_[place] : nullptr;
  Value* v = known ? make(Kind::kLive) : live(now, source);
  if (known) {
    v->object = keep_for_trace(py::Ref::borrow(now));
    v->source = source;
    v->unbacked = known->unbacked;
    if (known->kind == Kind::kConstant) {  // guarded by its value since
      v->kind = Kind::kConstant;
      keep_borrowed(now);
      return v;
    }
  }
  guard_type(v);
  v->dynamic = true;
  return v;
}

bool Tracer::is_cached_number(Value* v) {
  static PyObject* const cached = [] {
    py::Ref from = py::check(PyLong_FromLong(-5)), to = py::check(PyLong_FromLong(257));
    return PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(&PyRange_Type), from.get(), to.get(),
                                        nullptr);
  }();
  static PyObject* const contains =
      py::check(PyObject_GetAttrString(py::check(PyImport_ImportModule("_operator")).get(), "contains"))
          .release();
  py::Ref answer = py::check(PyObject_CallFunctionObjArgs(contains, cached, v->object, nullptr));
  guard(guard::StepKind::kIdentity,
        sources_.child(SourceKind::kExpression, object_source(cached), contains, 0, v->source), answer.get());
  return answer.get() == Py_True;
}

Value* Tracer::size_tuple(Values items) {
  Value* v = tuple(std::move(items));
  v->type = size_type();
  return v;
}

bool Tracer::is_open_tuple(Value* v) {
  bool integral = false;
  return v->kind == Kind::kTuple && holds_open_number(v, &integral);
}

Value* Tracer::join_sizes(Value* a, Value* b) {
  const auto is_size = [&](Value* v) { return type_of(v) == size_type(); };
  const auto is_plain = [&](Value* v) { return is_size(v) || type_of(v) == &PyTuple_Type; };
  if (!torch::available() || !is_plain(a) || !is_plain(b)) return nullptr;
  Values all = drain(a), more = drain(b);
  all.insert(all.end(), more.begin(), more.end());
  if (!is_size(a) && !is_size(b)) return tuple(std::move(all));
  // torch.Size + tuple is a torch.Size, whichever comes first.
  return std::all_of(all.begin(), all.end(), [&](Value* v) { return type_of(v) == &PyLong_Type; })
             ? size_tuple(std::move(all))
             : nullptr;
}

Value* Tracer::shape_of(Value* tensor) {
  Values items;
  for (size_t d = 0; d < meta(tensor).sizes.size(); ++d) items.push_back(size_of(tensor, d));
  return size_tuple(std::move(items));
}

Value* Tracer::numel_of(Value* tensor) {
  Value* total = integer(1);
  for (size_t d = 0; d < meta(tensor).sizes.size(); ++d) {
    Value* size = size_of(tensor, d);
    total = d ? binary(5, total, size) : size;
  }
  return total;
}

Value* Tracer::size_query(const torch::CallableInfo& info, const Values& args, const Keywords& keywords) {
  if (args.empty() || args[0]->kind != Kind::kTensor || !varies(args[0]->id)) return nullptr;
  const std::string_view name = info.name;
  const auto rank = static_cast<int64_t>(meta(args[0]).sizes.size());
  if (name == "Tensor.size") {
    Value* dim = args.size() == 2                                            ? args[1]
                 : keywords.size() == 1 && is_name(keywords[0].first, "dim") ? keywords[0].second
                                                                             : nullptr;
    if (args.size() + keywords.size() == 1) return shape_of(args[0]);
    int64_t d;
    if (args.size() + keywords.size() != 2 || !dim || !int_of(dim, &d)) return nullptr;
    if (d < 0) d += rank;
    return d >= 0 && d < rank ? size_of(args[0], static_cast<size_t>(d)) : nullptr;
  }
  if (args.size() != 1 || !keywords.empty()) return nullptr;
  if (name == "Tensor.numel" || name == "Tensor.nelement" || name == "torch.numel") return numel_of(args[0]);
  if (name == "Tensor.dim" || name == "Tensor.ndimension") return integer(rank);
  return nullptr;
}

Value* Tracer::number_call(PyObject* f, const Values& args, const Keywords& keywords) {
  if (args.empty() || args.size() > 2 || !keywords.empty()) return nullptr;
  if (args.size() == 1 && is_math_prod(f) && is_open_tuple(force(args[0]))) {
    Value* total = integer(1);
    for (Value* i : drain(args[0])) total = binary(5, total, i);
    return total;
  }
  bool integral = false;
  if (args.size() == 1 && torch::available() && f == reinterpret_cast<PyObject*>(size_type()) &&
      holds_open_number(args[0], &integral)) {
    Values items = drain(args[0]);
    return std::all_of(items.begin(), items.end(), [&](Value* v) { return type_of(v) == &PyLong_Type; })
               ? size_tuple(std::move(items))
               : nullptr;
  }
  if (!is_number_function(f)) return nullptr;
  bool open = false;
  for (Value* v : args) {
    force(v);
    const bool dynamic = v->kind == Kind::kLive && v->dynamic && !v->unbacked;
    const bool number =
        v->kind == Kind::kConstant && (PyLong_CheckExact(v->object) || PyFloat_CheckExact(v->object));
    if (!dynamic && !number) return nullptr;
    open = open || dynamic;
  }
  if (!open) return nullptr;
  if (args.size() == 1 && gives_itself(f, args[0]->object)) return args[0];
  py::Ref r = py::Ref::steal(
      PyObject_CallFunctionObjArgs(f, args[0]->object, args.size() > 1 ? args[1]->object : nullptr, nullptr));
  if (!r) PyErr_Clear();
  if (!r || (!PyLong_CheckExact(r.get()) && !PyFloat_CheckExact(r.get()))) return nullptr;
  const auto source = [&](Value* v) { return v->kind == Kind::kLive ? v->source : object_source(v->object); };
  const SourceId first = source(args[0]), second = args.size() > 1 ? source(args[1]) : kNoSource;
  return calculated(r.get(), sources_.child(SourceKind::kExpression, first, keep_borrowed(f), 0, second));
}

bool Tracer::holds_open_number(Value* v, bool* integral) {
  force(v);
  const Level level(*this, "operand");
  switch (v->kind) {
    case Kind::kLive:
      if (v->dynamic && PyLong_Check(v->object)) *integral = true;
      return v->dynamic;
    case Kind::kTuple:
    case Kind::kSlice:
    case Kind::kList: {
      bool any = false;
      for (Value* i : v->items) any = (i && holds_open_number(i, integral)) || any;
      return any;
    }
    default:
      return false;
  }
}

void Tracer::log_call(ShapeRecord record, const std::vector<graph::ValueId>& outputs, bool varying) {
  if (!logging_ || !varying) return;
  log_.open = log_.open || !record.patches.empty();
  for (graph::ValueId id : outputs)
    if (id != graph::kNoValue) varies_[static_cast<size_t>(id)] = true;
  record.ambient = log_.ambients.size() - 1;
  keep_borrowed(record.callable);
  log_.records.push_back(std::move(record));
}

ShapeLog Tracer::take_shape_log() {
  for (const auto& [id, record] : open_inputs_)
    log_.inputs.push_back(graph_->values[static_cast<size_t>(id)].input);
  std::sort(log_.inputs.begin(), log_.inputs.end());
  log_.open = log_.open || !log_.inputs.empty();
  return std::move(log_);
}

}  // namespace breakline::trace
