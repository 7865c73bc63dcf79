// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/extension/pass_bindings.h"

#include <string>

#include "core/engine/extension/compiled_function.h"
#include "core/graph/passes/pass.h"
#ifdef BREAKLINE_WITH_CPU
#include "core/cpu/cpu_plan.h"
#endif

namespace breakline::engine {
namespace {

#ifdef BREAKLINE_WITH_CPU
bool set_library(const char* wanted) {
  const auto use = cpu::find_library_use(wanted);
  if (use)
    cpu::set_library_use(*use);
  else
    PyErr_Format(PyExc_ValueError, "library is 'never', 'measured' or 'always', not '%s'", wanted);
  return use.has_value();
}

py::Ref form_entry(const cpu::FormInfo& form) {
  py::Ref passes = py::check(PyList_New(0));
  for (const graph::PassRecord& p : form.log.passes) {
    const py::Ref entry = py::check(Py_BuildValue("{ss,sd,si,si,si,ss}", "name", p.name.c_str(), "us", p.us,
                                                  "before", p.before, "after", p.after, "library_calls",
                                                  p.library_calls, "graph", p.graph.c_str()));
    py::check_status(PyList_Append(passes.get(), entry.get()));
  }
  return py::check(Py_BuildValue("{ss,sO,ss,sd,sO}", "name", form.name.c_str(), "chosen",
                                 form.chosen ? Py_True : Py_False, "fault", form.fault.c_str(), "best_us",
                                 form.best_us, "passes", passes.get()));
}
#endif

PyObject* pass_options(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"off", "text", "library", nullptr};
  PyObject* off = nullptr;
  int text = -1;
  const char* library = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$Opz", const_cast<char**>(names), &off, &text, &library))
    return nullptr;
  if (off) {
    const py::Ref items = py::Ref::steal(PySequence_Fast(off, "off is a list of names"));
    if (!items) return nullptr;
    graph::pass_options().off.clear();
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
      graph::pass_options().off.emplace(py::utf8(PySequence_Fast_GET_ITEM(items.get(), i)));
  }
  if (text >= 0) graph::pass_options().keep_text = text != 0;
#ifdef BREAKLINE_WITH_CPU
  if (library && !set_library(library)) return nullptr;
#endif
  Py_RETURN_NONE;
}

PyObject* plan_forms(PyObject*, PyObject*) {
  try {
    py::Ref all = py::check(PyList_New(0));
#ifdef BREAKLINE_WITH_CPU
    for (PyObject* compiled : live_compiled())
      for (const segment::Segment* s : root_of(compiled).all_segments()) {
        if (!s->plan) continue;
        const py::Ref forms = py::check(PyList_New(0));
        for (const cpu::FormInfo& form : cpu::forms_of(*s->plan))
          py::check_status(PyList_Append(forms.get(), form_entry(form).get()));
        py::check_status(PyList_Append(all.get(), forms.get()));
      }
#endif
    return all.release();
  } catch (py::PythonError&) {
    return nullptr;
  }
}

PyMethodDef kMethods[] = {
    {"pass_options", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(pass_options)),
     METH_VARARGS | METH_KEYWORDS,
     "Switches passes: names that are off, whether graphs are kept as text, when library calls are used."},
    {"plan_forms", plan_forms, METH_NOARGS, "Per segment with a plan: the forms of it and what passes did."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int add_pass_functions(PyObject* module) { return PyModule_AddFunctions(module, kMethods); }

}  // namespace breakline::engine
