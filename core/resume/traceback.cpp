// SPDX-License-Identifier: GPL-3.0-or-later
// Traceback entries without a running frame: a frame object of the original code that never runs, and the
// public constructor of types.TracebackType.
#include "core/resume/traceback.h"

#include <frameobject.h>  // not part of Python.h before 3.12

#include <unordered_map>

namespace breakline::resume {
namespace {

using bytecode::Code;

// A frame that never ran has no closure, and reading f_locals of one whose code has free variables would
// follow the missing closure. So code with free or cell variables is shown by a twin in which all variables
// are plain locals.
PyCodeObject* display_code(const Code* code) {
  PyCodeObject* real = code->code;
  if (real->co_nfreevars == 0 && real->co_ncellvars == 0) return real;
  static auto* twins = new std::unordered_map<PyCodeObject*, PyCodeObject*>;
  PyCodeObject*& twin = (*twins)[real];
  if (twin) return twin;
  py::Ref replace = py::Ref::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(real), "replace"));
  py::Ref names = py::Ref::borrow(real->co_localsplusnames);
  py::Ref empty = py::Ref::steal(PyTuple_New(0));
  py::Ref kwargs =
      py::Ref::steal(Py_BuildValue("{sOsOsOsi}", "co_varnames", names.get(), "co_freevars", empty.get(),
                                   "co_cellvars", empty.get(), "co_nlocals", code->slot_count));
  PyObject* made = replace && kwargs ? PyObject_Call(replace.get(), empty.get(), kwargs.get()) : nullptr;
  if (!made) {
    PyErr_Clear();  // showing the original without its variables is still right
    return real;
  }
  twin = reinterpret_cast<PyCodeObject*>(made);
  return twin;
}

void fill_locals(PyFrameObject* frame, const Code* code, PyObject* const* locals) {
  py::Ref mapping = py::Ref::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(frame), "f_locals"));
  if (!mapping) {
    PyErr_Clear();
    return;
  }
  for (int slot = 0; slot < code->slot_count; ++slot) {
    PyObject* value = locals[slot];
    if (value && PyCell_Check(value) && bytecode::is_cell_slot(code->code, slot)) value = PyCell_GET(value);
    if (value && PyObject_SetItem(mapping.get(), code->slot_name(slot), value) < 0) PyErr_Clear();
  }
#if PY_VERSION_HEX < 0x030D0000
  PyFrame_LocalsToFast(frame, 0);
#endif
}

PyObject* traceback_type() {
  static PyObject* type = reinterpret_cast<PyObject*>(&PyTraceBack_Type);
  return type;
}

}  // namespace

PyObject* make_traceback(const Code* code, int index, PyObject* globals, PyObject* const* locals, PyObject* next) {
  const int offset = code->instrs[index].offset;
  int line = PyCode_Addr2Line(code->code, offset);
  PyCodeObject* shown = display_code(code);
  PyFrameObject* frame = PyFrame_New(PyThreadState_Get(), shown, globals, nullptr);
  if (!frame) return nullptr;
  if (locals && code->is_optimized) fill_locals(frame, code, locals);
  PyObject* entry = PyObject_CallFunction(traceback_type(), "OOii", next ? next : Py_None, frame, offset, line);
  Py_DECREF(frame);
  return entry;
}

void add_traceback(const Code* code, int index, PyObject* globals, PyObject* const* locals) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyObject* entry = make_traceback(code, index, globals, locals, traceback);
  if (entry) {
    Py_XSETREF(traceback, entry);
  } else {
    PyErr_Clear();  // as CPython, which drops an entry it can't allocate
  }
  PyErr_Restore(type, value, traceback);
}

}  // namespace breakline::resume
