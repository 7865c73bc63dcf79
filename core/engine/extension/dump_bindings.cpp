// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/extension/dump_bindings.h"

#include <set>
#include <string>
#include <string_view>

#include "core/bytecode/print.h"
#include "core/engine/extension/compiled_function.h"
#include "core/graph/plan.h"
#include "core/segment/segment.h"
#ifdef BREAKLINE_WITH_CPU
#include "core/cpu/jit_loader.h"
#endif

namespace breakline::engine {
namespace {

using segment::Root;
using segment::Segment;

void append(PyObject* list, const std::string& id, const std::string& function, const std::string& file,
            int line, const std::string& plan, const std::string& text) {
  py::check_status(PyList_Append(
      list,
      py::check(Py_BuildValue("{ss,ss,ss,si,ss,ss}", "id", id.c_str(), "function", function.c_str(), "file",
                              file.c_str(), "line", line, "plan", plan.c_str(), "text", text.c_str()))
          .get()));
}

/// The root's code and that of every function it was inlined into or resumed in, each once.
void dump_bytecode(PyObject* list, Root& root) {
  std::set<const bytecode::Code*> seen;
  const auto add = [&](const bytecode::Code* code) {
    if (code && seen.insert(code).second)
      append(list, code->qualname, code->qualname, code->file, code->first_line, "", bytecode::print(*code));
  };
  add(root.code());
  for (const Segment* s : root.all_segments()) {
    for (const bytecode::Code* code : s->codes) add(code);
  }
}

PyObject* dump(PyObject*, PyObject* args) {
  PyObject* compiled = nullptr;
  const char* stage = nullptr;
  if (!PyArg_ParseTuple(args, "Os", &compiled, &stage)) return nullptr;
  if (!is_compiled_function(compiled)) {
    PyErr_SetString(PyExc_TypeError, "dump takes a CompiledFunction");
    return nullptr;
  }
  try {
    Root& root = root_of(compiled);
    py::Ref list = py::check(PyList_New(0));
    if (std::string_view(stage) == "bytecode") {
      dump_bytecode(list.get(), root);
      return list.release();
    }
    for (const Segment* s : root.all_segments()) {
      if (!s->graph || s->graph->nodes.empty()) continue;
      const bool graph = std::string_view(stage) == "graph";
      const std::string text = graph ? graph::print(*s->graph) : s->plan ? s->plan->dump(stage) : "";
      append(list.get(), "s" + std::to_string(s->id), s->function, s->file, s->line,
             s->plan ? s->plan->info().plan : "", text);
    }
    return list.release();
  } catch (const py::PythonError&) {
    return nullptr;
  }
}

PyObject* settle_kernels(PyObject*, PyObject*) {
#ifdef BREAKLINE_WITH_CPU
  Py_BEGIN_ALLOW_THREADS;
  cpu::settle_kernels();
  Py_END_ALLOW_THREADS;
#endif
  Py_RETURN_NONE;
}

PyMethodDef kFunctions[] = {
    {"dump", dump, METH_VARARGS, "The text of one stage of a compiled function."},
    {"settle_kernels", settle_kernels, METH_NOARGS, "Waits for the optimised code of all kernels."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int add_dump_functions(PyObject* module) { return PyModule_AddFunctions(module, kFunctions); }

}  // namespace breakline::engine
