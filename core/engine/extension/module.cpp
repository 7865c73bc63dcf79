// SPDX-License-Identifier: GPL-3.0-or-later
// The extension module `_breakline`: see core/engine/README.md.
#include <exception>

#include "core/diagnose/reasons.h"
#include "core/engine/extension/compiled_function.h"
#include "core/engine/extension/dump_bindings.h"
#include "core/engine/extension/knowledge_bindings.h"
#include "core/engine/extension/measure_bindings.h"
#include "core/engine/extension/pass_bindings.h"
#include "core/engine/extension/profile_bindings.h"
#include "core/engine/extension/segment_bindings.h"
#include "core/engine/extension/timeline_bindings.h"
#include "core/engine/extension/plans.h"
#include "core/engine/extension/skipped_body.h"
#include "core/resume/prepare.h"
#include "core/segment/options.h"
#include "core/segment/region.h"
#include "core/torch/inference_region.h"
#include "core/torch/kept_memory.h"
#include "core/torch/registry.h"
#include "core/torch/tensor.h"
#include "core/trace/markers.h"

namespace breakline::engine {
namespace {

PyObject* compile(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"function", "fullgraph", "device", "plan", "name", "target_id", "recompile_limit", "static_sizes", "open_sizes", nullptr};
  PyObject* function;
  int fullgraph = 0, limit = 0, static_sizes = 0, open_sizes = 0;
  const char *device = "cpu", *plan = nullptr, *name = nullptr, *target = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$pzzzzipp", const_cast<char**>(names), &function, &fullgraph, &device, &plan, &name, &target,
                                   &limit, &static_sizes, &open_sizes))
    return nullptr;
  if (!PyFunction_Check(function)) {
    PyErr_Format(PyExc_TypeError, "_breakline.compile takes a plain Python function, not %R", Py_TYPE(function));
    return nullptr;
  }
  PyObject* made = make_compiled(function, fullgraph != 0, device ? device : "cpu", plan ? plan : "", name ? name : "", target ? target : "");
  if (made) {
    root_of(made).recompile_limit = limit;
    root_of(made).static_sizes = static_sizes != 0;
    root_of(made).open_sizes = open_sizes != 0;
  }
  return made;
}

PyObject* initialize_torch(PyObject*, PyObject*) {
  bool ok = torch::initialize();
  if (PyErr_Occurred()) PyErr_Clear();
  if (ok) register_plans();
  return PyBool_FromLong(ok);
}

PyObject* register_marker(PyObject*, PyObject* args, PyObject* kwargs) {
  PyObject* object;
  const char* kind;
  if (!PyArg_ParseTuple(args, "Os", &object, &kind)) return nullptr;
  if (!trace::register_marker(object, kind, kwargs)) {
    PyErr_Format(PyExc_ValueError, "marker kind '%s' is not known", kind);
    return nullptr;
  }
  Py_RETURN_NONE;
}
PyObject* add_marker_ids(PyObject*, PyObject* args) {
  PyObject* ids;
  const char* kind;
  if (!PyArg_ParseTuple(args, "O!s", &PySet_Type, &ids, &kind)) return nullptr;
  trace::add_marker_ids(ids, kind);
  Py_RETURN_NONE;
}

PyObject* set_marker_resolver(PyObject*, PyObject* callable) {
  trace::set_marker_resolver(callable);
  Py_RETURN_NONE;
}
PyObject* region_enter(PyObject*, PyObject* flag) {
  int f = PyObject_IsTrue(flag);
  if (f < 0) return nullptr;
  segment::region_enter(f == 1);
  Py_RETURN_NONE;
}
PyObject* region_exit(PyObject*, PyObject*) {
  segment::region_exit();
  Py_RETURN_NONE;
}
PyObject* region_flag(PyObject*, PyObject*) { return PyBool_FromLong(segment::region_flag()); }

PyObject* set_overlays(PyObject*, PyObject* args) {
  PyObject* list;
  const char* folder = "";
  if (!PyArg_ParseTuple(args, "O|s", &list, &folder)) return nullptr;
  py::Ref items = py::Ref::steal(PySequence_Fast(list, "overlays are a list of (key, value)"));
  if (!items) return nullptr;
  std::vector<policy::Overlay> overlays;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    const char *key, *value;
    PyObject* item = PySequence_Fast_GET_ITEM(items.get(), i);
    if (!PyTuple_Check(item) || !PyArg_ParseTuple(item, "ss", &key, &value)) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "an overlay is a tuple (key, value)");
      return nullptr;
    }
    auto parsed = policy::parse_overlay(key, value);
    if (!parsed) {
      PyErr_SetString(PyExc_ValueError, parsed.error().message.c_str());
      return nullptr;
    }
    overlays.push_back(*parsed);
  }
  segment::set_overlays(std::make_shared<const policy::OverlaySet>(std::move(overlays), folder, segment::overlay_generation() + 1));
  Py_RETURN_NONE;
}

PyObject* invalidate(PyObject*, PyObject* paths) {
  py::Ref items = py::Ref::steal(PySequence_Fast(paths, "invalidate takes a list of paths"));
  if (!items) return nullptr;
  int64_t count = 0;
  for (PyObject* c : live_compiled())
    for (segment::Segment* s : root_of(c).all_segments())
      for (const auto& r : s->ranges)
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
          if (!s->dead && r.file == py::utf8(PySequence_Fast_GET_ITEM(items.get(), i))) {
            s->dead = true;
            ++count;
          }
  return PyLong_FromLongLong(count);
}

PyObject* tally(PyObject*, PyObject*) {
  segment::RootStats total;
  int64_t skipped = 0;
  for (PyObject* c : live_compiled()) {
    const segment::RootStats& s = root_of(c).stats;
    total.graphs += s.graphs;
    total.ops += s.ops;
    total.breaks += s.breaks;
    total.recompiles += s.recompiles;
    skipped += static_cast<int64_t>(root_of(c).skipped.size());
  }
  return Py_BuildValue("{si,si,si,si,sL}", "graphs", total.graphs, "ops", total.ops, "breaks", total.breaks, "recompiles",
                       total.recompiles, "skipped", static_cast<long long>(skipped));
}

PyObject* reset(PyObject*, PyObject*) {
  for (PyObject* c : live_compiled()) root_of(c).reset();
  torch::release_kept_memory();
  segment::coverage() = segment::Coverage();
  Py_RETURN_NONE;
}

PyObject* set_option(PyObject*, PyObject* args) {
  const char* name;
  PyObject* value;
  if (!PyArg_ParseTuple(args, "sO", &name, &value)) return nullptr;
  int64_t number = 0;
  std::string text;
  if (PyUnicode_Check(value)) text = py::to_string(value);
  else if (value != Py_None) {
    number = PyLong_AsLongLong(value);
    if (number == -1 && PyErr_Occurred()) return nullptr;
  }
  if (!segment::set_option(name, number, text)) {
    PyErr_Format(PyExc_ValueError, "option '%s' is not known or does not take %R", name, value);
    return nullptr;
  }
  Py_RETURN_NONE;
}

PyObject* coverage(PyObject*, PyObject*) {
  const segment::Coverage& c = segment::coverage();
  return Py_BuildValue("{sL,sL,sL,sL,sL,sL,sL}", "roots", static_cast<long long>(c.roots), "roots_traced", static_cast<long long>(c.roots_traced),
                       "segments", static_cast<long long>(c.segments), "segments_with_ops", static_cast<long long>(c.segments_with_ops),
                       "ops_symbolic", static_cast<long long>(c.ops_symbolic), "ops_executor", static_cast<long long>(c.ops_executor),
                       "ops_native", static_cast<long long>(c.ops_native));
}

PyObject* set_factory(PyObject*, PyObject* callable) {
  set_error_factory(callable);
  Py_RETURN_NONE;
}

PyObject* diagnose_reasons(PyObject*, PyObject*) {
  py::Ref list = py::Ref::steal(PyList_New(0));
  for (const diagnose::Reason& r : diagnose::all_reasons()) {
    py::Ref d = py::Ref::steal(Py_BuildValue("{ss,ss,ss,ss,ss,ss}", "id", r.id.c_str(), "gb_id", r.gb_id.c_str(), "group", r.group.c_str(),
                                             "label", r.label.c_str(), "type", r.type.c_str(), "knowledge", r.knowledge.c_str()));
    if (!d || PyList_Append(list.get(), d.get()) < 0) return nullptr;
  }
  return list.release();
}

PyObject* debug_infer(PyObject*, PyObject* args) {
  PyObject *callable, *positional, *words;
  int rules_only = 0;
  if (!PyArg_ParseTuple(args, "OOO|p", &callable, &positional, &words, &rules_only)) return nullptr;
  return torch::debug_infer(callable, positional, words, rules_only != 0);
}

PyObject* infer_stats(PyObject*, PyObject*) {
  torch::InferStats s = torch::infer_stats();
  return Py_BuildValue("{sL,sL,sd}", "rule_hits", static_cast<long long>(s.rule_hits), "meta_calls", static_cast<long long>(s.meta_calls), "meta_us", s.meta_us);
}

PyObject* kept_memory(PyObject*, PyObject*) { return PyLong_FromLongLong(torch::kept_bytes()); }

PyMethodDef kMethods[] = {
    {"compile", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(compile)), METH_VARARGS | METH_KEYWORDS, "Compiles a plain Python function."},
    {"initialize_torch", initialize_torch, METH_NOARGS, "Takes PyTorch's interface after it was imported."},
    {"register_marker", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(register_marker)), METH_VARARGS | METH_KEYWORDS, "What an object means in traced code."},
    {"add_marker_ids", add_marker_ids, METH_VARARGS, "A set of id()s kept by PyTorch, and what its members mean."},
    {"set_marker_resolver", set_marker_resolver, METH_O, "Asked once for functions that look like wrappers."},
    {"region_enter", region_enter, METH_O, "Sets this thread's flag."},
    {"region_exit", region_exit, METH_NOARGS, "Puts this thread's flag back."},
    {"region_flag", region_flag, METH_NOARGS, "This thread's flag."},
    {"set_overlays", set_overlays, METH_VARARGS, "Replaces the overlays."},
    {"invalidate", invalidate, METH_O, "Drops segments made from these files."},
    {"tally", tally, METH_NOARGS, "Counts over all compiled functions."},
    {"kept_memory", kept_memory, METH_NOARGS, "Bytes held for the results of later calls."},
    {"reset", reset, METH_NOARGS, "Forgets everything compiled."},
    {"set_option", set_option, METH_VARARGS, "Sets a switch by name."},
    {"coverage", coverage, METH_NOARGS, "Counts of what was traced and what was not."},
    {"set_error_factory", set_factory, METH_O, "Makes the exceptions of rejected breaks."},
    {"devices", devices, METH_NOARGS, "The devices that plans can run on."},
    {"diagnose_reasons", diagnose_reasons, METH_NOARGS, "The table of break reasons."},
    {"debug_infer", debug_infer, METH_VARARGS, "Infers a call on real tensors' metadata."},
    {"infer_stats", infer_stats, METH_NOARGS, "Counts of shape rules and meta calls."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef kModule = {PyModuleDef_HEAD_INIT, "_breakline", "Breakline's engine.", -1, kMethods, nullptr, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace breakline::engine

PyMODINIT_FUNC PyInit__breakline() {
  using namespace breakline;
  PyObject* m = PyModule_Create(&engine::kModule);
  if (!m) return nullptr;
  resume::prepare_frame_builtins();
  resume::prepare_trampolines();
  engine::install_error_raiser();
  engine::install_skipped_body();
  bool ok = engine::add_compiled_function(m) == 0 && engine::add_measure_functions(m) == 0 && engine::add_profile_functions(m) == 0 && engine::add_segment_functions(m) == 0 && engine::add_knowledge_functions(m) == 0 && engine::add_dump_functions(m) == 0 &&
            engine::add_pass_functions(m) == 0 && engine::add_timeline_functions(m) == 0;
  ok = ok && PyModule_AddObjectRef(m, "enter_inference_mode", torch::inference_enter()) == 0 &&
       PyModule_AddObjectRef(m, "leave_inference_mode", torch::inference_leave()) == 0;
  for (const char* name : {"region_enter", "region_exit"}) {
    py::Ref f = py::Ref::steal(PyObject_GetAttrString(m, name));
    if (f) trace::register_marker(f.get(), name, nullptr);
  }
  if (!ok) {
    Py_DECREF(m);
    return nullptr;
  }
  return m;
}
