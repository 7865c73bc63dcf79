// SPDX-License-Identifier: GPL-3.0-or-later
// _bl_prepared_rules: the table prepared for CPython 3.14, for a test in any interpreter. Its rules run one
// by one; only an interpreter of that version has whole code for them.
#include "core/bytecode/rules.h"

namespace {

struct Named {
  const char* name;
  int number;
};
const Named kOpcodes[] = {
#define X(name) {#name, name},
    BREAKLINE_PREPARED_OPCODES(X)
#undef X
};

PyObject* opcodes(PyObject*, PyObject*) {
  PyObject* map = PyDict_New();
  for (const Named& opcode : kOpcodes) {
    const auto number = breakline::py::Ref::steal(PyLong_FromLong(opcode.number));
    if (!map || !number || PyDict_SetItemString(map, opcode.name, number.get()) < 0) return nullptr;
  }
  return map;
}

PyObject* has_rule(PyObject*, PyObject* opcode) {
  return PyBool_FromLong(breakline::bytecode::find_rule(static_cast<int>(PyLong_AsLong(opcode))) != nullptr);
}

/// What the rule of an opcode makes of one instruction at byte 10 whose caches end at byte 14: (name, arg,
/// target byte or -1, object).
PyObject* translated(PyObject*, PyObject* args) {
  using namespace breakline;
  PyObject* real = nullptr;
  int opcode = 0, arg = 0;
  if (!PyArg_ParseTuple(args, "O!ii", &PyCode_Type, &real, &opcode, &arg)) return nullptr;
  bytecode::Rule rule = bytecode::find_rule(opcode);
  if (!rule) return PyErr_Format(PyExc_LookupError, "no rule for %d", opcode);
  bytecode::Code code;
  bytecode::Emitter emitter{
      .code = code, .real = reinterpret_cast<PyCodeObject*>(real), .offset = 10, .arg = arg, .after = 14};
  rule(emitter);
  py::Ref list = py::Ref::steal(PyList_New(0));
  for (const bytecode::Instr& instr : code.instrs) {
    const py::Ref row = py::Ref::steal(Py_BuildValue("(siiO)", bytecode::op_name(instr.op), instr.arg,
                                                     instr.target, instr.object ? instr.object : Py_None));
    if (!list || !row || PyList_Append(list.get(), row.get()) < 0) return nullptr;
  }
  return list.release();
}

PyMethodDef methods[] = {{"opcodes", opcodes, METH_NOARGS, nullptr},
                         {"has_rule", has_rule, METH_O, nullptr},
                         {"translated", translated, METH_VARARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_bl_prepared_rules", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__bl_prepared_rules() { return PyModule_Create(&module); }
