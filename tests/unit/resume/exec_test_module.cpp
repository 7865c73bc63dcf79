// SPDX-License-Identifier: GPL-3.0-or-later
// _bl_exec_test: the decoder and the executor for tests written in Python, in any interpreter, without the
// engine.
#include <cstddef>

#include "core/bytecode/rules.h"
#include "core/resume/executor.h"
#include "core/resume/unwind.h"

namespace {

using namespace breakline;
using bytecode::Code;
using bytecode::Op;

PyObject* run_function(PyFunctionObject* function, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  resume::State state;
  if (!resume::make_root(state, function, args, nargsf, kwnames)) {
    if (PyErr_Occurred()) return nullptr;
    return PyObject_Vectorcall(reinterpret_cast<PyObject*>(function), args, nargsf, kwnames);
  }
  return resume::run_concretely(state);
}

// py_run_concretely(callable, args, kwargs)
PyObject* run_concretely(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 3 || !PyTuple_Check(args[1]) || !PyDict_Check(args[2])) {
    PyErr_SetString(PyExc_TypeError, "call py_run_concretely(function, args tuple, kwargs dict)");
    return nullptr;
  }
  PyObject* callable = args[0];
  std::vector<PyObject*> all;
  if (PyMethod_Check(callable)) {
    all.push_back(PyMethod_GET_SELF(callable));
    callable = PyMethod_GET_FUNCTION(callable);
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args[1]); ++i) all.push_back(PyTuple_GET_ITEM(args[1], i));
  const size_t positional = all.size();
  py::Ref names = py::Ref::steal(PyTuple_New(PyDict_GET_SIZE(args[2])));
  if (!names) return nullptr;
  PyObject *key, *value;
  Py_ssize_t at = 0, index = 0;
  while (PyDict_Next(args[2], &at, &key, &value)) {
    PyTuple_SET_ITEM(names.get(), index++, Py_NewRef(key));
    all.push_back(value);
  }
  PyObject* kwnames = index ? names.get() : nullptr;
  if (!PyFunction_Check(callable)) return PyObject_Vectorcall(callable, all.data(), positional, kwnames);
  return run_function(reinterpret_cast<PyFunctionObject*>(callable), all.data(), positional, kwnames);
}

// run_code(code, globals, locals): as exec does.
PyObject* run_code(PyObject*, PyObject* args) {
  PyObject *code, *globals, *locals;
  if (!PyArg_ParseTuple(args, "O!O!O", &PyCode_Type, &code, &PyDict_Type, &globals, &locals)) return nullptr;
  resume::State state;
  resume::make_code_root(state, reinterpret_cast<PyCodeObject*>(code), globals, locals);
  return resume::run_concretely(state);
}

// wrap(function): a callable that runs the function by the machine; binds like a method.
struct Machined {
  PyObject ob_base;
  vectorcallfunc call;
  PyObject* function;
};

PyObject* call_machined(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  auto* function = reinterpret_cast<PyFunctionObject*>(reinterpret_cast<Machined*>(self)->function);
  return run_function(function, args, nargsf, kwnames);
}
PyObject* bind_machined(PyObject* self, PyObject* object, PyObject*) {
  return object ? PyMethod_New(self, object) : Py_NewRef(self);
}
void free_machined(PyObject* self) {
  Py_CLEAR(reinterpret_cast<Machined*>(self)->function);
  PyObject_Free(self);
}
PyObject* machined_attribute(PyObject* self, PyObject* name) {
  return PyObject_GetAttr(reinterpret_cast<Machined*>(self)->function, name);
}

PyTypeObject* machined_type() {
  static PyTypeObject type = [] {
    PyTypeObject t = {PyVarObject_HEAD_INIT(nullptr, 0)};
    t.tp_name = "_bl_exec_test.machined";
    t.tp_basicsize = sizeof(Machined);
    t.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR;
    t.tp_vectorcall_offset = offsetof(Machined, call);
    t.tp_call = PyVectorcall_Call;
    t.tp_descr_get = bind_machined;
    t.tp_dealloc = free_machined;
    t.tp_getattro = machined_attribute;
    return t;
  }();
  static const bool ready = PyType_Ready(&type) == 0;
  return ready ? &type : nullptr;
}

PyObject* wrap(PyObject*, PyObject* function) {
  if (!PyFunction_Check(function)) {
    PyErr_SetString(PyExc_TypeError, "wrap a plain Python function");
    return nullptr;
  }
  PyTypeObject* type = machined_type();
  Machined* made = type ? PyObject_New(Machined, type) : nullptr;
  if (!made) return nullptr;
  made->call = call_machined;
  made->function = Py_NewRef(function);
  return reinterpret_cast<PyObject*>(made);
}

// decode(code): ([(op, arg, target, offset, line, column, end line, end column)], [(start, end, target,
// depth, lasti)])
PyObject* decode(PyObject*, PyObject* real) {
  if (!PyCode_Check(real)) {
    PyErr_SetString(PyExc_TypeError, "decode a code object");
    return nullptr;
  }
  const Code* code = bytecode::decode(reinterpret_cast<PyCodeObject*>(real));
  py::Ref instrs = py::Ref::steal(PyList_New(0));
  for (size_t i = 0; i < code->instrs.size(); ++i) {
    const bytecode::Instr& instr = code->instrs[i];
    const bytecode::Position p = code->position(static_cast<int>(i));
    py::Ref row = py::Ref::steal(Py_BuildValue("(siiiiiiiO)", bytecode::op_name(instr.op), instr.arg,
                                               instr.target, instr.offset, p.line, p.column, p.end_line,
                                               p.end_column, instr.object ? instr.object : Py_None));
    if (!row || PyList_Append(instrs.get(), row.get()) < 0) return nullptr;
  }
  py::Ref entries = py::Ref::steal(PyList_New(0));
  for (const bytecode::ExceptionEntry& e : code->exceptions) {
    py::Ref row =
        py::Ref::steal(Py_BuildValue("(iiiii)", e.start, e.end, e.target, e.depth, int(e.push_lasti)));
    if (!row || PyList_Append(entries.get(), row.get()) < 0) return nullptr;
  }
  return Py_BuildValue("(OO)", instrs.get(), entries.get());
}

PyObject* has_rule(PyObject*, PyObject* opcode) {
  return PyBool_FromLong(bytecode::find_rule(static_cast<int>(PyLong_AsLong(opcode))) != nullptr);
}

PyObject* ops_without_executor(PyObject*, PyObject*) {
  PyObject* list = PyList_New(0);
  for (int op = 0; op < static_cast<int>(Op::kCount); ++op) {
    if (resume::has_executor(static_cast<Op>(op))) continue;
    py::Ref name = py::Ref::steal(PyUnicode_FromString(bytecode::op_name(static_cast<Op>(op))));
    if (!name || PyList_Append(list, name.get()) < 0) return nullptr;
  }
  return list;
}

PyObject* all_ops(PyObject*, PyObject*) {
  PyObject* list = PyList_New(0);
  for (int op = 0; op < static_cast<int>(Op::kCount); ++op) {
    py::Ref name = py::Ref::steal(PyUnicode_FromString(bytecode::op_name(static_cast<Op>(op))));
    if (!name || PyList_Append(list, name.get()) < 0) return nullptr;
  }
  return list;
}

PyObject* set_deep(PyObject*, PyObject* on) {
  resume::set_deep(PyObject_IsTrue(on) == 1);
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"py_run_concretely", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(run_concretely)),
     METH_FASTCALL, nullptr},
    {"run_code", run_code, METH_VARARGS, nullptr},
    {"wrap", wrap, METH_O, nullptr},
    {"decode", decode, METH_O, nullptr},
    {"has_rule", has_rule, METH_O, nullptr},
    {"ops_without_executor", ops_without_executor, METH_NOARGS, nullptr},
    {"all_ops", all_ops, METH_NOARGS, nullptr},
    {"set_deep", set_deep, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_bl_exec_test", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__bl_exec_test() { return PyModule_Create(&module); }
