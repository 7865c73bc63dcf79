// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers from Python's own random generator. A trace takes none: the segment does, in order, each time it runs, before
// anything else of it. Nothing that a segment holds draws on its own, so nobody sees that they all come first.
#include "core/guard/equality.h"
#include "core/trace/arguments.h"
#include "core/trace/tracer.h"
#include "core/trace/types.h"

namespace breakline::trace {

using guard::SourceKind;

namespace {

struct Draw {
  const char* name;
  size_t least, most;  ///< arguments
  bool integral;
};
constexpr Draw kDraws[] = {
    {"random", 0, 0, false},      {"uniform", 2, 2, false},     {"randint", 2, 2, true},
    {"randrange", 1, 3, true},    {"getrandbits", 1, 1, true},  {"gauss", 0, 2, false},
    {"normalvariate", 0, 2, false}, {"triangular", 0, 3, false}, {"betavariate", 2, 2, false},
    {"expovariate", 1, 1, false}, {"lognormvariate", 2, 2, false}, {"vonmisesvariate", 2, 2, false},
};

const Draw* draw_named(std::string_view name) {
  for (const Draw& d : kDraws)
    if (name == d.name) return &d;
  return nullptr;
}

/// Appends what is given by name to the arguments of a method of Python; false when one is missing or unknown.
bool append_keywords(PyObject* callable, Values& args, const Keywords& keywords) {
  if (!PyMethod_Check(callable)) return keywords.empty();
  return append_by_name(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(PyMethod_GET_FUNCTION(callable))), 1, args, keywords);
}

}  // namespace

bool is_python_generator(PyObject* object) {
  if (std::string_view(Py_TYPE(object)->tp_name) != "Random") return false;
  static PyObject* own = [] {
    py::Ref m = py::Ref::steal(PyImport_ImportModule("random"));
    PyObject* found = m ? PyObject_GetAttrString(m.get(), "_inst") : nullptr;
    PyErr_Clear();
    return found;
  }();
  return object == own;
}

Value* Tracer::draw(PyObject* callable, const Values& positional, const Keywords& keywords) {
  Values args = positional;
  py::Ref name = py::Ref::steal(PyObject_GetAttrString(callable, "__name__"));
  PyErr_Clear();
  const Draw* d = name && PyUnicode_Check(name.get()) ? draw_named(py::utf8(name.get())) : nullptr;
  if (!d || !append_keywords(callable, args, keywords) || args.size() < d->least || args.size() > d->most) return nullptr;
  if (PyMethod_Check(callable)) {
    // The function that `random` itself came with.
    auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(PyMethod_GET_FUNCTION(callable)));
    if (!py::utf8(code->co_filename).ends_with("/random.py") && py::utf8(code->co_filename) != "<frozen random>") return nullptr;
  }
  py::Ref call = py::check(PyTuple_New(static_cast<Py_ssize_t>(args.size() + 1)));
  PyTuple_SET_ITEM(call.get(), 0, Py_NewRef(callable));
  for (size_t i = 0; i < args.size(); ++i) {
    PyObject* number = constant_of(args[i]);
    if (!number || !(PyLong_CheckExact(number) || PyFloat_CheckExact(number))) return nullptr;
    if (d->integral && !PyLong_CheckExact(number)) return nullptr;
    PyTuple_SET_ITEM(call.get(), static_cast<Py_ssize_t>(i + 1), Py_NewRef(number));
  }
  // What is drawn is any number: this one stands for it, and nothing that would have to know more is made from it.
  py::Ref example = d->integral ? py::check(PyLong_FromLong(3)) : py::check(PyFloat_FromDouble(0.625));
  BreakInfo info;
  info.reason = "python-random";
  info.arguments = {{"qualname", std::string("random.") + d->name}};
  capture_place(info);
  made_at_.emplace(outer_instruction_, std::move(info));
  mutated();
  const SourceId source = child(SourceKind::kDraw, guard::kNoSource, keep_for_trace(call), static_cast<int64_t>(drawn_.size()));
  draws_.emplace(source, outer_instruction_);
  drawn_.push_back({source, Py_TYPE(example.get())});
  Value* v = make(Kind::kLive);
  v->object = keep_for_trace(example);
  v->source = source;
  v->dynamic = v->type_guarded = true;
  return v;
}

bool Tracer::is_drawn(SourceId id) {
  if (draws_.empty() || id < 0) return false;
  if (draws_.count(id)) return true;
  const guard::Source s = sources_[id];
  if (s.kind != SourceKind::kExpression) return false;
  const SourceId of = is_drawn(s.parent) ? s.parent : is_drawn(s.second) ? s.second : guard::kNoSource;
  if (of < 0) return false;
  for (const SourceId part : {s.parent, s.second})
    if (part >= 0) need(part);
  draws_.emplace(id, draws_.at(of));
  const auto place = static_cast<size_t>(id + 1);
  PyObject* example = place < by_source_.size() && by_source_[place] ? by_source_[place]->object : nullptr;
  if (!example) undraw(of);  // looked at, not kept
  drawn_.push_back({id, Py_TYPE(example)});
  return true;
}

void Tracer::undraw(SourceId id) { rewind_to(draws_.at(id), "python-random"); }

}  // namespace breakline::trace
