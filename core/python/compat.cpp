// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/python/compat.h"

#if PY_VERSION_HEX >= 0x030D0000
// Exported by the interpreter; its declaration moved out of the public folder in 3.13.
extern "C" int _PyObject_GetMethod(PyObject* object, PyObject* name, PyObject** method);
#endif

namespace breakline::py {

bool get_method(PyObject* owner, PyObject* name, PyObject** method) {
  return _PyObject_GetMethod(owner, name, method) != 0;
}

PyObject* lookup_special(PyObject* object, const char* name) {
  PyObject* found = type_lookup(Py_TYPE(object), intern(name));
  if (!found) return nullptr;
  descrgetfunc bind = Py_TYPE(found)->tp_descr_get;
  return bind ? bind(found, object, reinterpret_cast<PyObject*>(Py_TYPE(object))) : Py_NewRef(found);
}

void set_error_attribute(const char* attribute, PyObject* value) {
  PyObject *type, *exception, *traceback;
  PyErr_Fetch(&type, &exception, &traceback);
  PyErr_NormalizeException(&type, &exception, &traceback);
  // An exception without room for it simply goes without, as in CPython.
  if (exception && PyObject_SetAttr(exception, intern(attribute), value) < 0) PyErr_Clear();
  PyErr_Restore(type, exception, traceback);
}

void restore_exception(PyObject* exception) {
  PyErr_Restore(Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(exception))), Py_NewRef(exception),
                PyException_GetTraceback(exception));
}

PyObject* type_dict(PyTypeObject* type) {
#if PY_VERSION_HEX < 0x030C0000
  return type->tp_dict;
#else
  PyObject* dict = PyType_GetDict(type);
  Py_XDECREF(dict);  // the type keeps it
  return dict;
#endif
}

PyObject* function_text(PyObject* callable) {
  Ref qualname = Ref::steal(PyObject_GetAttr(callable, intern("__qualname__")));
  if (!qualname) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return nullptr;
    PyErr_Clear();  // no name: its str
    return PyObject_Str(callable);
  }
  Ref module = Ref::steal(PyObject_GetAttr(callable, intern("__module__")));
  if (!module) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return nullptr;
    PyErr_Clear();
  }
  if (module && module.get() != Py_None && utf8(module.get()) != "builtins")
    return PyUnicode_FromFormat("%S.%S()", module.get(), qualname.get());
  return PyUnicode_FromFormat("%S()", qualname.get());
}

}  // namespace breakline::py
