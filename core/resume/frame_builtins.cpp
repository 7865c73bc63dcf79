// SPDX-License-Identifier: GPL-3.0-or-later
// Builtins that look at the calling frame, answered from the virtual frame; and calls that never look at any.
#include <algorithm>
#include <unordered_map>

#include "core/resume/ops.h"
#include "core/resume/prepare.h"

namespace breakline::resume {
namespace {

enum class Looker { kLocals, kGlobals, kVars, kDir, kEval, kExec };

struct LookerRow {
  const char* name;
  Looker looker;
};
constexpr LookerRow kLookers[] = {
    {"locals", Looker::kLocals}, {"globals", Looker::kGlobals}, {"vars", Looker::kVars},
    {"dir", Looker::kDir},       {"eval", Looker::kEval},       {"exec", Looker::kExec},
};
constexpr size_t kLookerCount = sizeof kLookers / sizeof *kLookers;

PyObject* builtin_object(const char* name) {
  py::Ref module = py::Ref::steal(PyImport_ImportModule("builtins"));
  PyObject* object = module ? PyObject_GetAttrString(module.get(), name) : nullptr;
  if (!object) PyErr_Clear();  // never equal to a callable then
  return object;
}

const LookerRow* looker_of(PyObject* callable) {
  static const std::array<PyObject*, kLookerCount> objects = [] {
    std::array<PyObject*, kLookerCount> found{};
    for (size_t k = 0; k < kLookerCount; ++k) found[k] = builtin_object(kLookers[k].name);
    return found;
  }();
  for (size_t k = 0; k < kLookerCount; ++k)
    if (objects[k] == callable) return &kLookers[k];
  return nullptr;
}

// Bound variables of a function's frame; cells give what they hold.
bool copy_locals(State& s, PyObject* into) {
  const Frame& frame = s.top();
  for (int slot = 0; slot < frame.code->slot_count; ++slot) {
    PyObject* value = s.local(slot);
    if (value && PyCell_Check(value) && bytecode::is_cell_slot(frame.code->code, slot))
      value = PyCell_GET(value);
    PyObject* name = frame.code->slot_name(slot);
    if (value) {
      if (PyDict_SetItem(into, name, value) < 0) return false;
    } else if (PyDict_Contains(into, name) == 1 && PyDict_DelItem(into, name) < 0) {
      return false;
    }
  }
  return true;
}

// The mapping itself in class bodies and modules, but a copy with the variables of a comprehension while one
// runs inlined.
PyObject* current_mapping(State& s) {
  const Frame& frame = s.top();
  py::Ref copy;
  for (int slot = 0; slot < frame.code->slot_count; ++slot) {
    PyObject* value = s.local(slot);
    if (!value || !bytecode::is_hidden_slot(frame.code->code, slot)) continue;
    if (PyCell_Check(value) && bytecode::is_cell_slot(frame.code->code, slot)) value = PyCell_GET(value);
    if (!value) continue;
    if (!copy) {
      copy = py::Ref::steal(PyDict_New());
      if (!copy || PyDict_Update(copy.get(), frame.locals) < 0) return nullptr;
    }
    if (PyDict_SetItem(copy.get(), frame.code->slot_name(slot), value) < 0) return nullptr;
  }
  return copy ? copy.release() : Py_XNewRef(frame.locals);
}

// What locals() gives: the mapping in class bodies and modules, a snapshot in functions.
PyObject* current_locals(State& s) {
  Frame& frame = s.top();
  if (!frame.code->is_optimized) return current_mapping(s);
#if PY_VERSION_HEX < 0x030D0000
  if (!frame.snapshot) frame.snapshot = py::Ref::steal(PyDict_New());
  py::Ref dict = frame.snapshot;
#else
  py::Ref dict = py::Ref::steal(PyDict_New());
#endif
  if (!dict || !copy_locals(s, dict.get())) return nullptr;
  return dict.release();
}

PyObject* sorted_names(PyObject* mapping) {
  py::Ref keys = py::Ref::steal(PyMapping_Keys(mapping));
  if (!keys || PyList_Sort(keys.get()) < 0) return nullptr;
  return keys.release();
}

// eval and exec with the frame's namespaces put in. False: both namespaces were given, or the call is
// malformed (then the builtin itself complains).
bool run_source(State& s, PyObject* callable, PyObject* const* args, Py_ssize_t count, PyObject* kwnames,
                PyObject** result) {
  if (count < 1 || count > 3) return false;
  PyObject* globals = count > 1 ? args[1] : Py_None;
  PyObject* locals = count > 2 ? args[2] : Py_None;
  const Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  py::Ref rest = py::Ref::steal(PyDict_New());
  if (!rest) return true;
  for (Py_ssize_t k = 0; k < named; ++k) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, k);
    if (py::utf8(name) == "globals" && count < 2) {
      globals = args[count + k];
    } else if (py::utf8(name) == "locals" && count < 3) {
      locals = args[count + k];
    } else if (PyDict_SetItem(rest.get(), name, args[count + k]) < 0) {
      return true;
    }
  }
#if PY_VERSION_HEX < 0x030D0000
  if (named > PyDict_GET_SIZE(rest.get())) return false;  // not keywords there yet: the builtin says so
#endif
  if (globals != Py_None) return false;
  py::Ref here = locals == Py_None ? py::Ref::steal(current_locals(s)) : py::Ref::borrow(locals);
  py::Ref tuple = py::Ref::steal(here ? PyTuple_Pack(3, args[0], s.top().globals, here.get()) : nullptr);
  if (!tuple) return true;
  // Without namespaces the builtin would take the frame's, so a missing __builtins__ isn't put into its
  // globals.
  *result = PyObject_Call(callable, tuple.get(), rest.get());
  return true;
}

const char* find_class_cell(State& s, PyObject** type, PyObject** self) {
  const bytecode::Code* code = s.top().code;
  if (code->code->co_argcount == 0) return "super(): no arguments";
  PyObject* first = s.local(0);
  if (first && PyCell_Check(first) && bytecode::is_cell_slot(code->code, 0)) first = PyCell_GET(first);
  if (!first) return "super(): arg[0] deleted";
  for (int slot = 0; slot < code->slot_count; ++slot) {
    if (!code->is_free_slot(slot) || py::utf8(code->slot_name(slot)) != "__class__") continue;
    PyObject* cell = s.local(slot);
    if (!cell || !PyCell_Check(cell)) return "super(): bad __class__ cell";
    *type = PyCell_GET(cell);
    if (!*type) return "super(): empty __class__ cell";
    *self = first;
    return nullptr;
  }
  return "super(): __class__ cell not found";
}

PyObject* super_without_arguments(State& s) {
  PyObject *type = nullptr, *self = nullptr;
  if (const char* refusal = find_class_cell(s, &type, &self)) {
    PyErr_SetString(PyExc_RuntimeError, refusal);
    return nullptr;
  }
  if (!PyType_Check(type)) {
    PyErr_Format(PyExc_RuntimeError, "super(): __class__ is not a type (%s)", Py_TYPE(type)->tp_name);
    return nullptr;
  }
  PyObject* const args[] = {type, self};
  return PyObject_Vectorcall(reinterpret_cast<PyObject*>(&PySuper_Type), args, 2, nullptr);
}

bool all_scalars(PyObject* const* args, Py_ssize_t count) {
  for (Py_ssize_t k = 0; k < count; ++k)
    if (!is_scalar(args[k])) return false;
  return true;
}

// When a C function can't run Python code that looks at frames.
enum class Quiet { kScalarArguments, kBuiltinData, kExactType };

// Builtins that write, import, compile or call back whatever their arguments are.
constexpr std::string_view kLoud[] = {"print",   "input",           "open",       "__import__",
                                      "compile", "__build_class__", "breakpoint", "iter"};

const std::unordered_map<PyObject*, Quiet>& quiet_functions() {
  static const auto* table = [] {
    auto* t = new std::unordered_map<PyObject*, Quiet>;
    for (const char* module_name : {"builtins", "math", "_operator", "time"}) {
      py::Ref module = py::Ref::steal(PyImport_ImportModule(module_name));
      if (!module) {
        PyErr_Clear();  // a build without it has no such functions either
        continue;
      }
      PyObject *key, *value;
      for (Py_ssize_t at = 0; PyDict_Next(PyModule_GetDict(module.get()), &at, &key, &value);) {
        const std::string_view name = py::utf8(key);
        const bool loud = std::find(std::begin(kLoud), std::end(kLoud), name) != std::end(kLoud);
        if (!PyCFunction_CheckExact(value) || loud || looker_of(value)) continue;
        Quiet how = Quiet::kScalarArguments;
        if (name == "len") how = Quiet::kBuiltinData;
        if (name == "isinstance") how = Quiet::kExactType;
        t->emplace(Py_NewRef(value), how);
      }
    }
    return t;
  }();
  return *table;
}

}  // namespace

void prepare_frame_builtins() {
  looker_of(nullptr);
  quiet_functions();
}

bool call_frame_builtin(State& s, PyObject* callable, PyObject* const* args, Py_ssize_t count,
                        PyObject* kwnames, PyObject** result) {
  if (callable == reinterpret_cast<PyObject*>(&PySuper_Type)) {
    if (count || kwnames) return false;
    *result = super_without_arguments(s);
    return true;
  }
  if (!PyCFunction_CheckExact(callable)) return false;
  const LookerRow* looker = looker_of(callable);
  if (!looker) return false;
  switch (looker->looker) {
    case Looker::kEval:
    case Looker::kExec:
      return run_source(s, callable, args, count, kwnames, result);
    case Looker::kGlobals:
      if (count || kwnames) return false;
      *result = Py_NewRef(s.top().globals);
      return true;
    case Looker::kLocals:
    case Looker::kVars:
      if (count || kwnames) return false;
      *result = current_locals(s);
      return true;
    case Looker::kDir: {
      if (count || kwnames) return false;
      py::Ref locals = py::Ref::steal(current_locals(s));
      *result = locals ? sorted_names(locals.get()) : nullptr;
      return true;
    }
  }
  return false;
}

bool is_quiet_call(PyObject* callable, PyObject* const* args, Py_ssize_t count) {
  PyTypeObject* type = Py_TYPE(callable);
  if (type == &PyCFunction_Type) {
    const auto found = quiet_functions().find(callable);
    if (found == quiet_functions().end()) return false;
    switch (found->second) {
      case Quiet::kScalarArguments:
        return all_scalars(args, count);
      case Quiet::kBuiltinData:
        return count == 1 && is_builtin_data(args[0]);
      case Quiet::kExactType:
        return count == 2 && Py_TYPE(args[1]) == &PyType_Type;
    }
    return false;
  }
  if (type == &PyMethodDescr_Type) {
    if (count < 1 || !is_builtin_data(args[0])) return false;
    static PyObject* const append =
        PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyList_Type), "append");
    return callable == append || all_scalars(args + 1, count - 1);
  }
  if (type == &PyType_Type) {
    auto* made = reinterpret_cast<PyTypeObject*>(callable);
    if (made == &PyType_Type) return count == 1;
    const bool builtin = made == &PyLong_Type || made == &PyFloat_Type || made == &PyBool_Type ||
                         made == &PyUnicode_Type || made == &PyList_Type || made == &PyTuple_Type ||
                         made == &PyDict_Type || made == &PyRange_Type || made == &PySet_Type;
    return builtin && all_scalars(args, count);
  }
  return false;
}

}  // namespace breakline::resume
