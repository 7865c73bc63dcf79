// SPDX-License-Identifier: GPL-3.0-or-later
// _bl_prepared_rules: the table prepared for CPython 3.14, for a test in any interpreter. Its rules are not
// run.
#include "core/bytecode/rules.h"

namespace breakline::bytecode {
// What rules call; the decoder itself is not part of this test.
void Emitter::emit(Op, int, PyObject*) {}
void Emitter::emit_name(Op, int, int) {}
void Emitter::emit_const(int) {}
void Emitter::emit_jump(Op, int, int) {}
void rules::intrinsic_1(Emitter&) {}
void rules::intrinsic_2(Emitter&) {}
bool is_cell_slot(PyCodeObject*, int) { return false; }
}  // namespace breakline::bytecode

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

PyMethodDef methods[] = {{"opcodes", opcodes, METH_NOARGS, nullptr},
                         {"has_rule", has_rule, METH_O, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_bl_prepared_rules", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__bl_prepared_rules() { return PyModule_Create(&module); }
