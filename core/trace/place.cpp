// SPDX-License-Identifier: GPL-3.0-or-later
// Where the trace is: frames for reports and policy, origins of graph nodes.
#include <cstring>

#include "core/trace/inline_rules.h"
#include "core/trace/tracer.h"

namespace breakline::trace {

policy::FrameView Tracer::frame_view(const SymFrame& f, const bytecode::Position& position) {
  policy::FrameView view;
  view.file = f.code->file;
  view.qualname = f.code->qualname;
  view.line = position.line;
  view.compile_root = f.compile_root.is_root;
  view.fullgraph = f.compile_root.fullgraph;
  if (!f.locals_.empty() && f.locals_[0] && f.code->name == "forward") view.module_path = module_path(f.locals_[0]);
  const Marker* marker = nullptr;
  if (f.function && f.function->kind == Kind::kConstant) marker = &find_marker(f.function->object);
  for (size_t depth = 0; depth < f.stack.size(); ++depth) {
    Value* v = f.stack[depth];
    if (!v) continue;
    Value* self = nullptr;
    if (v->kind == Kind::kMethod) {
      self = v->items[1];
    } else if (v->kind == Kind::kLive && PyMethod_Check(v->object) &&
               is_region_class(Py_TYPE(PyMethod_GET_SELF(v->object)))) {
      force(v);
      self = v->items[1];
    }
    if (!self) continue;
    PyTypeObject* type = nullptr;
    if (self->kind == Kind::kLive) type = Py_TYPE(self->object);
    if (self->kind == Kind::kInstance) type = reinterpret_cast<PyTypeObject*>(self->object);
    if (!type || !is_region_class(type)) continue;
    Value* function = v->items[0];
    bool known = function->kind == Kind::kConstant || function->kind == Kind::kLive;
    if (!known || function->object != py::type_lookup(type, py::intern("__exit__"))) continue;
    policy::ActiveRegion region;
    Value* flag = attribute(self, py::intern("error_on_graph_break"));
    region.error = truth(flag) == 1;
    region.decorator = marker && marker->kind == MarkerKind::kRegionWrapper;
    if (region.decorator && marker->function) {
      PyObject* inner = marker->function.get();
      if (PyMethod_Check(inner)) inner = PyMethod_GET_FUNCTION(inner);
      if (PyFunction_Check(inner)) {
        auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(inner));
        region.key = "decorator:" + std::string(py::utf8(code->co_filename)) + ":" + std::string(py::utf8(code->co_qualname));
        region.line = code->co_firstlineno;
      }
    } else {
      // The with statement is where this operand was pushed: the nearest BeforeWith whose body covers the pc.
      region.line = with_line(f, static_cast<int>(depth));
      region.key = "with:" + f.code->file + ":" + std::to_string(region.line);
    }
    view.regions.push_back(std::move(region));
  }
  return view;
}

int with_line(const SymFrame& f, int depth) {
  // The exception table entry that guards the with body has the depth at which the exit function lies (+1).
  int best = 0, width = 1 << 30;
  for (const bytecode::ExceptionEntry& e : f.code->exceptions) {
    if (f.current < e.start || f.current >= e.end || e.depth != depth + 1) continue;
    if (e.end - e.start >= width) continue;
    for (int i = e.start - 1; i >= 0 && i >= e.start - 4; --i)
      if (f.code->instrs[static_cast<size_t>(i)].op == bytecode::Op::kBeforeWith) {
        best = f.code->position(i).line;
        width = e.end - e.start;
        break;
      }
  }
  return best;
}

namespace {

bool is_module_call(const bytecode::Code& code) {
  return (code.name == "_wrapped_call_impl" || code.name == "_call_impl") && code.file.ends_with("torch/nn/modules/module.py");
}

}  // namespace

void Tracer::capture_place(BreakInfo& info) {
  if (!info.place.empty()) return;
  for (size_t i = 0; i < frames_.size(); ++i) {
    SymFrame& f = *frames_[i];
    if (is_form_code(f.code)) continue;
    bytecode::Position p = f.code->position(f.current);
    PlaceFrame frame;
    frame.file = f.code->file;
    frame.position = p;
    frame.function = frame.code_name = f.code->name;
    frame.user = is_user_file(f.code->file);
    frame.call = i + 1 < frames_.size() && is_module_call(*f.code);
    if (f.resumed_line)
      frame.function = "torch_dynamo_resume_in_" + f.code->name + "_at_" + std::to_string(f.resumed_line);
    info.place.push_back(std::move(frame));
    info.views.push_back(frame_view(f, p));
    if (i > 0 && f.compile_root.fullgraph && !f.resumed_line && info.inner_root < 0) {
      info.inner_root = static_cast<int>(i);
      info.inner_call = f.entered_at;
      info.inner_name = f.code->qualname;
    }
  }
}

std::shared_ptr<const graph::Origin> Tracer::origin() {
  if (last_origin_ && last_origin_at_ == instruction_count_) return last_origin_;
  // Reports name the innermost frame in a user's file; the others are not worth their texts.
  auto o = std::make_shared<graph::Origin>();
  const SymFrame* place = nullptr;
  for (auto it = frames_.rbegin(); it != frames_.rend(); ++it) {
    SymFrame& f = **it;
    if (!place && is_user_code(f.code)) place = &f;
    if (o->module.empty() && f.code->name == "forward" && !f.locals_.empty() && f.locals_[0]) o->module = module_path(f.locals_[0]);
    if (place && !o->module.empty()) break;
  }
  if (!place) place = frames_.back().get();
  bytecode::Position p = place->code->position(place->current);
  o->frames.reserve(1);
  o->frames.emplace_back(graph::OriginFrame{place->code->file, place->code->name, p.line, p.column, p.end_line, p.end_column});
  last_origin_ = o;
  last_origin_at_ = instruction_count_;
  return o;
}

void Tracer::find_modules(PyObject* module, PyObject* parent, PyObject* key, int depth) {
  if (depth > 40 || !module_places_.try_emplace(module, {parent, key}).second) return;
  PyObject** place = _PyObject_GetDictPtr(module);
  PyObject* children = place && *place ? PyDict_GetItem(*place, py::intern("_modules")) : nullptr;
  if (!children || !PyDict_Check(children)) return;
  PyObject *k, *v;
  Py_ssize_t pos = 0;
  while (PyDict_Next(children, &pos, &k, &v))
    if (PyUnicode_Check(k) && v != Py_None) find_modules(v, module, k, depth + 1);
}

const std::string& Tracer::path_of_module(PyObject* module) {
  const auto [it, fresh] = module_paths_.try_emplace(module);
  std::string& path = it->second;
  const ModulePlace place = fresh ? *module_places_.find(module) : ModulePlace();
  if (!place.key) return path;
  path = path_of_module(place.parent);  // (others come and go without moving it)
  if (!path.empty()) path += '.';
  return path += py::utf8(place.key);
}

const std::string& Tracer::module_path(Value* v) {
  static const std::string none;
  if (v->kind != Kind::kLive) return none;
  if (module_places_.size() == 0 && !frames_.empty()) {
    for (Value* root : frames_.front()->locals_)
      if (root && root->kind == Kind::kLive && is_module(root->object)) find_modules(root->object, nullptr, nullptr, 0);
  }
  if (module_places_.find(v->object)) return path_of_module(v->object);
  if (is_module(v->object)) find_modules(v->object, nullptr, nullptr, 0);  // a model reached through a global is a root of its own
  return none;
}

}  // namespace breakline::trace
