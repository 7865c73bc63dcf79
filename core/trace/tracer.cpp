// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/trace/tracer.h"

#include "core/guard/equality.h"

#include <algorithm>

#include "core/torch/tensor.h"
#include "core/trace/guard_place.h"

namespace breakline::trace {

using guard::SourceKind;
using guard::StepKind;

Tracer::Tracer(const Options& options, const SiteHints& hints, std::string target)
    : options_(options), hints_(hints), target_(std::move(target)) {}
Tracer::~Tracer() = default;

void Tracer::reset() {
  arena_.clear();
  sources_ = guard::SourceTable();
  steps_.clear();
  drawn_.clear();
  types_.clear();
  tensors_.clear();
  groups_.clear();
  type_index_.clear();
  lookups_.clear();
  places_.clear();
  plain_functions_.clear();
  namespaces_.clear();
  seen_guards_.clear();
  fetched_.clear();
  by_source_.clear();
  by_object_.clear();
  constants_by_object_.clear();
  graph_ = std::make_shared<graph::Graph>();
  input_sources_.clear();
  input_values_.clear();
  tensor_values_.clear();
  view_base_.clear();
  varies_.clear();
  open_inputs_.clear();
  log_ = ShapeLog();
  logging_ = !closed_all_ && (must_log_ || options_.open_sizes || !hints_.dynamic.empty());
  patches_ = nullptr;
  stale_.clear();
  inference_.clear();
  settled_.clear();
  modes_.clear();
  grad_writes_.clear();
  history_written_ = false;
  frames_.clear();
  effects_.clear();
  touched_.clear();
  entry_values_.clear();
  released_ = false;
  handled_ = return_value_ = nullptr;
  instruction_count_ = outer_instruction_ = 0;
  nesting_ = 0;
  mutations_ = 0;
  progress_nodes_ = progress_steps_ = 0;
  progress_at_ = 0;
  codes_.clear();
  instruction_ranges_.clear();
  regions_.clear();
  module_places_.clear();
  module_paths_.clear();
  module_classes_.clear();
  globals_checked_ = 0;
  last_origin_ = nullptr;
  last_origin_at_ = -1;
  yielded_ = false;
  yielded_frame_ = nullptr;
  expecting_ = 0;
  watching_ = false;
  generators_.clear();
  mortals_.clear();
  class_writes_.clear();
  made_objects_.clear();
  made_at_.clear();
  draws_.clear();
  arrays_made_ = 0;
  identities_.clear();
}

void Tracer::start(const std::vector<EntryFrame>& entry) {
  size_t slot = 0;
  for (const EntryFrame& e : entry) {
    auto f = new_frame();
    f->code = e.code;
    f->function = e.function ? constant(e.function) : nullptr;
    f->globals = e.globals;
    f->builtins = e.builtins;
    f->locals = e.locals;
    f->pc = e.pc;
    f->current = &e == &entry.back() ? e.pc : e.pc - 1;  // the others wait at the instruction before
    f->on_return = e.on_return;
    f->compile_root = e.compile_root;
    f->resumed_line = e.resumed_line;
    size_t count = static_cast<size_t>(e.code->slot_count) + static_cast<size_t>(e.stack);
    for (size_t i = 0; i < count; ++i, ++slot) {
      PyObject* o = slots_[slot];
      Value* v = o ? live(o, sources_.slot(static_cast<int64_t>(slot))) : nullptr;
      (i < static_cast<size_t>(e.code->slot_count) ? f->locals_ : f->stack).push_back(v);
      if (v) entry_values_.push_back(v);
      if (v && std::find(hints_.unbacked.begin(), hints_.unbacked.end(), static_cast<int32_t>(slot)) != hints_.unbacked.end())
        v->unbacked = watching_ = true;
    }
    codes_.push_back(e.code);
    frames_.push_back(std::move(f));
  }
  if (handled_object_) handled_ = live(handled_object_, sources_.slot(static_cast<int64_t>(slot_count_)));
  find_mortals();
}

void Tracer::trace(const std::vector<EntryFrame>& entry, PyObject* const* slots, size_t slot_count,
                   PyObject* handled) {
  slots_ = slots;
  slot_count_ = slot_count;
  handled_object_ = handled;
  bool with_torch = torch::available();
  if (with_torch) entry_ambient_ = torch::current_ambient();
  // Ambient setters run for real while tracing, so that what follows sees their effect; this puts things back.
  struct Back {
    const torch::Ambient& ambient;
    bool on;
    ~Back() {
      if (!on) return;
      py::SavedError saved;
      if (!torch::ambient_matches(ambient)) torch::restore_ambient(ambient);
      saved.restore();
    }
  } back{entry_ambient_, with_torch};
  for (restarts_ = 0;; ++restarts_) {
    reset();
    if (with_torch && restarts_ && !torch::ambient_matches(entry_ambient_)) torch::restore_ambient(entry_ambient_);
    graph_->grad_mode = entry_ambient_.grad_mode;
    graph_->inference_mode = entry_ambient_.inference_mode;
    log_.ambients.push_back(entry_ambient_);
    try {
      start(entry);
      try {
        return_value_ = run(0);
        exit_ = ExitKind::kReturn;
        break_ = BreakInfo();
      } catch (Break& b) {
        if (!b.info.quiet && b.info.inner_root > 0 && !options_.root_fullgraph && b.info.tolerance != Tolerance::kAlways) {
          // A nested compiled function that tolerates no break: it is called whole, and raises on its own.
          BreakInfo whole = std::move(b.info);
          size_t depth = static_cast<size_t>(whole.inner_root);
          whole.place.resize(depth);
          whole.views.resize(depth);
          whole.reason = "inner-compile";
          whole.arguments = {{"function", whole.inner_name}};
          whole.inner_root = -1;
          int64_t at = whole.inner_call;
          forced_[at] = std::move(whole);
          throw Restart{};
        }
        if (b.info.reason == "skip-frame" && frames_.size() > 1 && frames_.back()->entered_at > 0 && !forced_.count(frames_.back()->entered_at)) {
          // A callee that gives its frame up is called as plain Python, whole.
          int64_t at = frames_.back()->entered_at;
          forced_[at] = std::move(b.info);
          throw Restart{};
        }
        break_ = std::move(b.info);
        exit_ = break_.quiet ? ExitKind::kStep : ExitKind::kBreak;
      }
      leave_modes();
      finish();
      return;
    } catch (Restart&) {
      if (restarts_ < 400) continue;
      // Give up optimising: everything from the entry instruction on is executed concretely.
      forced_.clear();
      BreakInfo b;
      b.reason = "trace-limit";
      b.quiet = b.limit = true;
      forced_[1] = b;
    }
  }
}

guard::GuardProgram Tracer::take_guards() {
  guard::GuardProgram p;
  p.sources = sources_.take();
  p.steps = std::move(steps_);
  p.drawn = std::move(drawn_);
  p.types = std::move(types_);
  p.tensors = std::move(tensors_);
  p.groups = std::move(groups_);
  return p;
}

// ---------------------------------------------------------------- values

Value* Tracer::make(Kind kind) {
  Value* v = arena_.make();
  v->kind = kind;
  return v;
}

PyObject* Tracer::keep(PyObject* owned) {
  if (owned) constants_.push_back(py::Ref::steal(owned));
  return owned;
}

PyObject* Tracer::keep_borrowed(PyObject* object) {
  Py_XINCREF(object);
  return keep(object);
}

Value* Tracer::constant(PyObject* object) {
  const auto [v, fresh] = constants_by_object_.try_emplace(object, nullptr);
  if (fresh) {
    keep_borrowed(object);
    *v = make(Kind::kConstant);
    (*v)->object = object;
  }
  return *v;
}

Value* Tracer::constant_new(PyObject* fresh) {
  if (!fresh) raise_pending("constant expression");
  keep(fresh);
  return constant(fresh);
}

Value* Tracer::text(const std::string& s) {
  return constant_new(PyUnicode_FromStringAndSize(s.data(), static_cast<Py_ssize_t>(s.size())));
}

Value* Tracer::tuple(Values items) {
  Value* v = make(Kind::kTuple);
  v->items = std::move(items);
  return v;
}

Value* Tracer::list(Values items) {
  Value* v = make(Kind::kList);
  v->items = std::move(items);
  v->loaded = true;
  return v;
}

Value* Tracer::method(Value* function, Value* self) {
  Value* v = make(Kind::kMethod);
  v->items = {function, self};
  return v;
}

Value* Tracer::pop() {
  Value* v = top().stack.back();
  top().stack.pop_back();
  return v;
}

// ---------------------------------------------------------------- sources and guards

SourceId Tracer::child(SourceKind kind, SourceId parent, PyObject* key, int64_t index) {
  return sources_.child(kind, parent, key, index);
}

SourceId Tracer::object_source(PyObject* object) { return sources_.object(object); }

Value* Tracer::namespace_value(PyObject* dict) {
  if (Value** known = namespaces_.find(dict)) return *known;
  Value* d = live(dict, object_source(dict));
  d->type_guarded = true;
  namespaces_.set(dict, force(d));
  return d;
}

std::unique_ptr<SymFrame> Tracer::new_frame() {
  if (spare_frames_.empty()) return std::make_unique<SymFrame>();
  std::unique_ptr<SymFrame> f = std::move(spare_frames_.back());
  spare_frames_.pop_back();
  return f;
}

SourceId Tracer::expression(PyObject* function, PyObject* a, PyObject* b) {
  const SourceId first = object_source(a), second = object_source(b);
  return sources_.child(SourceKind::kExpression, first, function, 0, second);
}

void Tracer::need(SourceId id) {
  if (fetched_.size() < sources_.size()) fetched_.resize(sources_.size() + 64, false);
  if (fetched_[static_cast<size_t>(id)]) return;
  if (!draws_.empty() && is_drawn(id)) return;
  const SourceId parent = sources_[id].parent, second = sources_[id].second;
  if (parent >= 0) need(parent);
  if (second >= 0) need(second);
  if (fetched_.size() < sources_.size()) fetched_.resize(sources_.size() + 64, false);
  fetched_[static_cast<size_t>(id)] = true;
  guard::GuardStep step;
  step.kind = StepKind::kFetch;
  step.source = id;
  steps_.push_back(std::move(step));
}

void Tracer::guard(StepKind kind, SourceId source, PyObject* object, int64_t number, int extra) {
  if (!draws_.empty() && (is_drawn(source) || (kind == StepKind::kSame && is_drawn(static_cast<SourceId>(number))))) {
    if (kind == StepKind::kType) return;
    undraw(source);
  }
  if (!seen_guards_.try_emplace(GuardKey{kind, source, number, object}, true).second) return;
  if (source >= 0) need(source);
  if (kind == StepKind::kSame || kind == StepKind::kNotSame || kind == StepKind::kNoOverlap || kind == StepKind::kOverlapAs)
    need(static_cast<SourceId>(number));
  guard::GuardStep step;
  step.kind = kind;
  step.source = source;
  step.number = number;
  step.extra = extra;
  step.object = py::Ref::borrow(object);
  if (!frames_.empty()) note_guard_place(step, top());
  steps_.push_back(std::move(step));
}

SourceId Tracer::fetch_source(Value* v) {
  if (v->source < 0) return kNoSource;
  need(v->source);
  return v->source;
}

guard::TypeRecord& Tracer::type_record(PyTypeObject* type) {
  auto [it, fresh] = type_index_.try_emplace(type, static_cast<int>(types_.size()));
  if (fresh) {
    guard::TypeRecord record;
    record.type = py::Ref::borrow(reinterpret_cast<PyObject*>(type));
    types_.push_back(std::move(record));
    // Static types never change.
    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE)
      guard(StepKind::kTypeVersion, kNoSource, reinterpret_cast<PyObject*>(type), 0, it->second);
  }
  return types_[static_cast<size_t>(it->second)];
}

void Tracer::rely_on_order(PyTypeObject* type) {
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || is_made_here(reinterpret_cast<PyObject*>(type))) return;
  py::type_lookup(type, py::intern("__class__"));  // gives the class a version when it has none
  guard::TypeRecord& r = type_record(type);
  r.version = type->tp_version_tag;
  r.order = py::Ref::borrow(type->tp_mro);
}

PyObject* Tracer::lookup(PyTypeObject* type, PyObject* name) {
  if (Value* written = nullptr; !class_writes_.empty() && written_class_attribute(type, name, &written)) quiet("a class attribute set before");
  if (!made_objects_.empty() && is_made_here(reinterpret_cast<PyObject*>(type))) return py::type_lookup(type, name);
  const auto [known, fresh] = lookups_.try_emplace({type, name}, {});
  if (!fresh && known->version && known->version == type->tp_version_tag) return known->found;
  PyObject* found = py::type_lookup(type, name);
  *known = {found, type->tp_version_tag};
  guard::TypeRecord& r = type_record(type);
  r.version = type->tp_version_tag;
  for (auto& [n, v] : r.lookups)
    if (n.get() == name) return found;
  r.lookups.emplace_back(py::Ref::borrow(name), py::Ref::borrow(found));
  return found;
}

void Tracer::guard_type(Value* v) {
  if (v->type_guarded || v->source < 0) return;
  v->type_guarded = true;
  guard(StepKind::kType, v->source, reinterpret_cast<PyObject*>(Py_TYPE(v->object)));
}

// ---------------------------------------------------------------- stopping

void Tracer::stop(const std::string& reason, std::vector<std::pair<std::string, std::string>> arguments) {
  PyErr_Clear();
  Break b;
  b.info.reason = reason;
  b.info.arguments = std::move(arguments);
  note_tolerance(b.info);
  capture_place(b.info);
  throw b;
}

void Tracer::quiet(const std::string& what, bool raises) {
  PyErr_Clear();
  Break b;
  b.info.reason = what;
  b.info.quiet = true;
  b.info.raises = raises;
  capture_place(b.info);
  throw b;
}

std::string Tracer::name_of(PyObject* callable) {
  // Only classes whose attributes are their own: asking must not run code of the program.
  PyTypeObject* type = Py_TYPE(callable);
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) && !PyType_Check(callable) && type->tp_getattro != PyObject_GenericGetAttr) return type->tp_name;
  for (const char* attribute : {"__qualname__", "__name__"}) {
    py::Ref n = py::Ref::steal(PyObject_GetAttr(callable, py::intern(attribute)));
    if (n && PyUnicode_Check(n.get())) return std::string(py::utf8(n.get()));
    PyErr_Clear();
  }
  return Py_TYPE(callable)->tp_name;
}

std::string Tracer::describe(Value* v) {
  if (!v) return "NULL";
  switch (v->kind) {
    case Kind::kConstant: {
      if (PyCallable_Check(v->object)) return name_of(v->object);
      std::string type = Py_TYPE(v->object)->tp_name;
      const bool plain = guard::is_plain_constant(v->object) || !(Py_TYPE(v->object)->tp_flags & Py_TPFLAGS_HEAPTYPE);
      if (!plain || PyModule_Check(v->object) || (PyTuple_Check(v->object) && !guard::is_plain_constant(v->object))) return "ConstantVariable(" + type + ")";
      return "ConstantVariable(" + type + ": " + py::repr(v->object, 80) + ")";
    }
    case Kind::kTensor: return "TensorVariable()";
    case Kind::kLive: return std::string("UserDefinedObjectVariable(") + Py_TYPE(v->object)->tp_name + ")";
    case Kind::kTuple: return "TupleVariable(length=" + std::to_string(v->items.size()) + ")";
    case Kind::kList: return "ListVariable(length=" + std::to_string(v->items.size()) + ")";
    case Kind::kDict: return "ConstDictVariable()";
    case Kind::kFunction: return "NestedUserFunctionVariable()";
    case Kind::kMethod: return "UserMethodVariable()";
    case Kind::kInstance:
      return std::string("UserDefinedObjectVariable(") + reinterpret_cast<PyTypeObject*>(v->object)->tp_name + ")";
    default: return "value";
  }
}

}  // namespace breakline::trace
