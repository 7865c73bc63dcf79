// SPDX-License-Identifier: GPL-3.0-or-later
// Globals, names of class bodies and modules, imports.
#include <opcode.h>

#include "core/python/compat.h"
#include "core/resume/ops.h"
#include "core/resume/trampoline.h"

namespace breakline::resume {
namespace {

constexpr const char* kNotDefined = "name '%.200s' is not defined";

// Item of a mapping or null; `*failed` when an error other than KeyError is set.
PyObject* find(PyObject* mapping, PyObject* name, bool* failed) {
  PyObject* value;
  if (PyDict_CheckExact(mapping)) {
    value = Py_XNewRef(PyDict_GetItemWithError(mapping, name));
    *failed = !value && PyErr_Occurred();
    return value;
  }
  value = PyObject_GetItem(mapping, name);
  *failed = false;
  if (!value) {
    *failed = !PyErr_ExceptionMatches(PyExc_KeyError);
    if (!*failed) PyErr_Clear();  // absent
  }
  return value;
}

// Looks through mappings in order; NameError when none has the name. A null entry is skipped.
PyObject* find_first(std::initializer_list<PyObject*> mappings, PyObject* name) {
  for (PyObject* mapping : mappings) {
    if (!mapping) continue;
    bool failed = false;
    PyObject* value = find(mapping, name, &failed);
    if (value || failed) return value;
  }
  set_name_error(PyExc_NameError, kNotDefined, name);
  return nullptr;
}

Outcome push(State& s, PyObject* value) {
  if (!value) return Outcome::kRaised;
  s.push(value);
  return Outcome::kNext;
}

Outcome load_global(State& s, const Instr& i) {
  return push(s, find_first({s.top().globals, s.top().builtins}, i.object));
}

Outcome store_global(State& s, const Instr& i) {
  return drop_if(s, 1, PyDict_SetItem(s.top().globals, i.object, s.operand(1)) == 0);
}

Outcome delete_global(State& s, const Instr& i) {
  if (PyDict_DelItem(s.top().globals, i.object) == 0) return Outcome::kNext;
  if (PyErr_ExceptionMatches(PyExc_KeyError)) set_name_error(PyExc_NameError, kNotDefined, i.object);
  return Outcome::kRaised;
}

bool need_locals(State& s, const char* format, PyObject* name) {
  if (s.top().locals) return true;
  PyErr_Format(PyExc_SystemError, format, name);
  return false;
}

Outcome load_name(State& s, const Instr& i) {
  if (!need_locals(s, "no locals when loading %R", i.object)) return Outcome::kRaised;
  return push(s, find_first({s.top().locals, s.top().globals, s.top().builtins}, i.object));
}

Outcome store_name(State& s, const Instr& i) {
  if (!need_locals(s, "no locals found when storing %R", i.object)) return Outcome::kRaised;
  PyObject* locals = s.top().locals;
  const int status = PyDict_CheckExact(locals) ? PyDict_SetItem(locals, i.object, s.operand(1))
                                               : PyObject_SetItem(locals, i.object, s.operand(1));
  return drop_if(s, 1, status == 0);
}

Outcome delete_name(State& s, const Instr& i) {
  if (!need_locals(s, "no locals when deleting %R", i.object)) return Outcome::kRaised;
  if (PyObject_DelItem(s.top().locals, i.object) == 0) return Outcome::kNext;
  set_name_error(PyExc_NameError, kNotDefined, i.object);
  return Outcome::kRaised;
}

Outcome load_locals(State& s, const Instr&) {
  if (!s.top().locals) {
    PyErr_SetString(PyExc_SystemError, "no locals");
    return Outcome::kRaised;
  }
  s.push(Py_NewRef(s.top().locals));
  return Outcome::kNext;
}

Outcome load_from_dict_or_globals(State& s, const Instr& i) {
  return replace(s, 1, find_first({s.operand(1), s.top().globals, s.top().builtins}, i.object));
}

// 3.11 looks in the frame's locals, later versions in a mapping on the stack.
Outcome load_class_deref(State& s, const Instr& i) {
#if PY_VERSION_HEX < 0x030C0000
  PyObject* mapping = s.top().locals;
  constexpr int kInputs = 0;
#else
  PyObject* mapping = s.operand(1);
  constexpr int kInputs = 1;
#endif
  bool failed = false;
  PyObject* value = mapping ? find(mapping, s.top().code->slot_name(i.arg), &failed) : nullptr;
  if (failed) return Outcome::kRaised;
  if (!value) {
    value = Py_XNewRef(PyCell_GET(s.local(i.arg)));
    if (!value) set_unbound_error(s.top().code, i.arg);
  }
  return replace(s, kInputs, value);
}

Outcome setup_annotations(State& s, const Instr&) {
  if (!need_locals(s, "no locals found when setting up annotations", nullptr)) return Outcome::kRaised;
  PyObject* name = py::intern("__annotations__");
  bool failed = false;
  PyObject* annotations = find(s.top().locals, name, &failed);
  if (failed) return Outcome::kRaised;
  if (!annotations) {
    annotations = PyDict_New();
    if (!annotations || PyObject_SetItem(s.top().locals, name, annotations) < 0) {
      Py_XDECREF(annotations);
      return Outcome::kRaised;
    }
  }
  Py_DECREF(annotations);
  return Outcome::kNext;
}

PyObject* builtin(State& s, const char* name, PyObject* error, const char* text) {
  PyObject* builtins = s.top().builtins;
  bool failed = false;
  PyObject* value = find(builtins, py::intern(name), &failed);
  if (!value && !failed) PyErr_SetString(error, text);
  return value;
}

Outcome load_build_class(State& s, const Instr&) {
  return push(s, builtin(s, "__build_class__", PyExc_NameError, "__build_class__ not found"));
}

Outcome load_assertion_error(State& s, const Instr&) {
  s.push(Py_NewRef(PyExc_AssertionError));
  return Outcome::kNext;
}

// Stack: level, names.
Outcome import_name(State& s, const Instr& i) {
  py::Ref import = py::Ref::steal(builtin(s, "__import__", PyExc_ImportError, "__import__ not found"));
  if (!import) return Outcome::kRaised;
  PyObject* locals = s.top().locals ? s.top().locals : Py_None;
  PyObject* const args[] = {i.object, s.top().globals, locals, s.operand(1), s.operand(2)};
  return replace(s, 2, PyObject_Vectorcall(import.get(), args, 5, nullptr));
}

// The fall-backs and texts of a failed `from` differ between versions, so the real instruction gives them.
Outcome import_from(State& s, const Instr& i) {
  PyObject* const inputs[] = {s.operand(1)};
  PyObject* value = nullptr;
  if (PyModule_CheckExact(inputs[0]))
    value = Py_XNewRef(PyDict_GetItemWithError(PyModule_GetDict(inputs[0]), i.object));
  if (!value) {
    PyErr_Clear();  // an unhashable or raising name can't be: names are str
    value =
        run_native(s, {.opcode = IMPORT_FROM, .arg = 0, .inputs = 1, .outputs = 1, .name = i.object}, inputs);
  }
  return push(s, value);
}

// What `from m import *` stores: names of __all__, else the dictionary's public ones.
bool store_star(PyObject* locals, PyObject* module) {
  bool by_all = true;
  py::Ref names = py::Ref::steal(PyObject_GetAttrString(module, "__all__"));
  if (!names) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return false;
    PyErr_Clear();
    by_all = false;
    py::Ref dict = py::Ref::steal(PyObject_GetAttrString(module, "__dict__"));
    if (!dict) {
      if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return false;
      PyErr_SetString(PyExc_ImportError, "from-import-* object has no __dict__ and no __all__");
      return false;
    }
    names = py::Ref::steal(PyMapping_Keys(dict.get()));
    if (!names) return false;
  }
  for (Py_ssize_t position = 0;; ++position) {
    py::Ref name = py::Ref::steal(PySequence_GetItem(names.get(), position));
    if (!name) {
      if (!PyErr_ExceptionMatches(PyExc_IndexError)) return false;
      PyErr_Clear();
      return true;
    }
    if (!PyUnicode_Check(name.get())) {
      py::Ref module_name = py::Ref::steal(PyObject_GetAttrString(module, "__name__"));
      if (!module_name) return false;
      if (!PyUnicode_Check(module_name.get())) {
        PyErr_Format(PyExc_TypeError, "module __name__ must be a string, not %.100s",
                     Py_TYPE(module_name.get())->tp_name);
      } else {
        PyErr_Format(PyExc_TypeError, "%s in %U.%s must be str, not %.100s", by_all ? "Item" : "Key",
                     module_name.get(), by_all ? "__all__" : "__dict__", Py_TYPE(name.get())->tp_name);
      }
      return false;
    }
    if (!by_all && PyUnicode_GET_LENGTH(name.get()) > 0 && PyUnicode_READ_CHAR(name.get(), 0) == '_')
      continue;
    py::Ref value = py::Ref::steal(PyObject_GetAttr(module, name.get()));
    if (!value) return false;
    if (PyObject_SetItem(locals, name.get(), value.get()) < 0) return false;
  }
}

Outcome import_star(State& s, const Instr&) {
  if (!s.top().locals) {
    PyErr_SetString(PyExc_SystemError, "no locals found during 'import *'");
    return Outcome::kRaised;
  }
  return drop_if(s, 1, store_star(s.top().locals, s.operand(1)));
}

bool always(State&, const Instr&) { return true; }
bool odd_mapping(State& s, const Instr&) { return s.top().locals && !PyDict_CheckExact(s.top().locals); }
bool odd_module(State& s, const Instr&) { return !PyModule_CheckExact(s.operand(1)); }

}  // namespace

void set_name_error(PyObject* type, const char* format, PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  if (!text) return;
  PyErr_Format(type, format, text);
  if (type != PyExc_NameError) return;
  py::set_error_attribute("name", name);
}

void add_name_ops(OpTable& t) {
  row(t, Op::kLoadGlobal) = {load_global};
  row(t, Op::kStoreGlobal) = {store_global};
  row(t, Op::kDeleteGlobal) = {delete_global};
  row(t, Op::kLoadName) = {load_name, odd_mapping};
  row(t, Op::kStoreName) = {store_name, odd_mapping};
  row(t, Op::kDeleteName) = {delete_name, odd_mapping};
  row(t, Op::kLoadLocals) = {load_locals};
  row(t, Op::kLoadFromDictOrGlobals) = {load_from_dict_or_globals};
  row(t, Op::kLoadClassDeref) = {load_class_deref, odd_mapping};
  row(t, Op::kSetupAnnotations) = {setup_annotations, odd_mapping};
  row(t, Op::kLoadBuildClass) = {load_build_class};
  row(t, Op::kLoadAssertionError) = {load_assertion_error};
  row(t, Op::kImportName) = {import_name, always};
  row(t, Op::kImportFrom) = {import_from, nullptr};
  row(t, Op::kImportStar) = {import_star, odd_module};
}

}  // namespace breakline::resume
