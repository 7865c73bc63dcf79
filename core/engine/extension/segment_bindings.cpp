// SPDX-License-Identifier: GPL-3.0-or-later
// Single segments of a compiled function for Python: the work of their graphs, and forgetting one.
#include "core/engine/extension/segment_bindings.h"

#include <string>

#include "core/engine/extension/compiled_function.h"
#include "core/engine/extension/graph_work.h"

namespace breakline::engine {
namespace {

bool is_compiled(PyObject* object) {
  if (is_compiled_function(object)) return true;
  PyErr_SetString(PyExc_TypeError, "a CompiledFunction is expected");
  return false;
}

PyObject* segment_work(PyObject*, PyObject* compiled) {
  if (!is_compiled(compiled)) return nullptr;
  py::Ref list = py::Ref::steal(PyList_New(0));
  if (!list) return nullptr;
  for (const segment::Segment* s : root_of(compiled).all_segments()) {
    if (s->dead || !s->graph) continue;
    const GraphWork work = work_of(*s->graph);
    const std::string dtype(graph::dtype_name(work.matrix_dtype));
    py::Ref entry = py::Ref::steal(
        Py_BuildValue("{s:s,s:L,s:d,s:d,s:d,s:i,s:i,s:s}", "id", ("s" + std::to_string(s->id)).c_str(),
                      "runs", static_cast<long long>(s->runs), "flops", work.flops, "matrix_flops",
                      work.matrix_flops, "bytes", work.bytes, "ops", static_cast<int>(s->graph->nodes.size()),
                      "uncounted", work.uncounted, "dtype", dtype.c_str()));
    if (!entry || PyList_Append(list.get(), entry.get()) < 0) return nullptr;
  }
  return list.release();
}

PyObject* drop_segment(PyObject*, PyObject* args) {
  PyObject* compiled = nullptr;
  const char* id = nullptr;
  if (!PyArg_ParseTuple(args, "Os", &compiled, &id) || !is_compiled(compiled)) return nullptr;
  for (segment::Segment* s : root_of(compiled).all_segments())
    if (!s->dead && "s" + std::to_string(s->id) == id) {
      s->dead = true;
      Py_RETURN_TRUE;
    }
  Py_RETURN_FALSE;
}

PyMethodDef kMethods[] = {
    {"segment_work", segment_work, METH_O,
     "segment_work(compiled) -> [{id, runs, flops, matrix_flops, bytes, ops, uncounted, dtype}]"},
    {"drop_segment", drop_segment, METH_VARARGS,
     "drop_segment(compiled, id) -> bool: the next call that comes there traces it again"},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_segment_functions(PyObject* module) { return PyModule_AddFunctions(module, kMethods); }

}  // namespace breakline::engine
