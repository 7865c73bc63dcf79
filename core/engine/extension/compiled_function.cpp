// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/extension/compiled_function.h"

#include <structmember.h>

#include <algorithm>
#include <exception>

#include "core/segment/machine.h"
#include "core/segment/options.h"
#include "core/trace/markers.h"

namespace breakline::engine {
namespace {

struct CompiledFunction {
  PyObject_HEAD vectorcallfunc vectorcall;
  segment::Root* root;
  PyObject* dict;
  PyObject* weak;
  PyObject* on_call;
};

PyTypeObject* type = nullptr;

std::vector<PyObject*>& registry() {
  static auto* r = new std::vector<PyObject*>;
  return *r;
}

CompiledFunction* self_of(PyObject* o) { return reinterpret_cast<CompiledFunction*>(o); }

/// Tells the recorder of a call from plain Python. False with the error set.
bool announce(CompiledFunction* self, PyObject* const* args, size_t nargsf, PyObject* names) {
  Py_ssize_t n = PyVectorcall_NARGS(nargsf);
  py::Ref tuple = py::Ref::steal(PyTuple_New(n));
  py::Ref words = py::Ref::steal(PyDict_New());
  if (!tuple || !words) return false;
  for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(args[i]));
  for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); ++i)
    if (PyDict_SetItem(words.get(), PyTuple_GET_ITEM(names, i), args[n + i]) < 0) return false;
  py::Ref hook = py::Ref::borrow(self->on_call);
  py::Ref r = py::Ref::steal(PyObject_CallFunctionObjArgs(hook.get(), reinterpret_cast<PyObject*>(self),
                                                          tuple.get(), words.get(), nullptr));
  return static_cast<bool>(r);
}

PyObject* vectorcall(PyObject* callable, PyObject* const* args, size_t nargsf, PyObject* names) {
  CompiledFunction* self = self_of(callable);
  py::Ref alive = py::Ref::borrow(callable);
  segment::Root& root = *self->root;
  if (segment::options().force_eager) return PyObject_Vectorcall(root.function(), args, nargsf, names);
  try {
    if (self->on_call && self->on_call != Py_None && !announce(self, args, nargsf, names)) return nullptr;
    return segment::call_root(root, args, nargsf, names);
  } catch (py::PythonError&) {
    if (!PyErr_Occurred())
      PyErr_SetString(PyExc_SystemError, "breakline: an internal error without a message");
    return nullptr;
  } catch (std::exception& e) {
    PyErr_Format(PyExc_SystemError, "breakline: internal error: %s", e.what());
    return nullptr;
  }
}

void dealloc(PyObject* o) {
  CompiledFunction* self = self_of(o);
  PyObject_GC_UnTrack(o);
  if (self->weak) PyObject_ClearWeakRefs(o);
  auto& all = registry();
  all.erase(std::remove(all.begin(), all.end(), o), all.end());
  delete self->root;
  Py_XDECREF(self->dict);
  Py_XDECREF(self->on_call);
  PyTypeObject* t = Py_TYPE(o);
  PyObject_GC_Del(o);
  Py_DECREF(t);
}

int traverse(PyObject* o, visitproc visit, void* arg) {
  CompiledFunction* self = self_of(o);
  Py_VISIT(self->dict);
  Py_VISIT(self->on_call);
  if (self->root) Py_VISIT(self->root->function());
  Py_VISIT(Py_TYPE(o));
  return 0;
}

int clear(PyObject* o) {
  Py_CLEAR(self_of(o)->dict);
  Py_CLEAR(self_of(o)->on_call);
  return 0;
}

PyObject* bind(PyObject* self, PyObject* owner, PyObject*) {
  if (!owner || owner == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, owner);
}

PyObject* get_function(PyObject* o, void*) { return Py_NewRef(self_of(o)->root->function()); }
/// A compiled function passes for a function: libraries ask `isinstance(f, types.FunctionType)` before they
/// look at one.
PyObject* get_class(PyObject*, void*) { return Py_NewRef(reinterpret_cast<PyObject*>(&PyFunction_Type)); }
PyObject* get_stats(PyObject* o, void*) { return stats_of(*self_of(o)->root); }
PyObject* get_on_call(PyObject* o, void*) {
  return Py_NewRef(self_of(o)->on_call ? self_of(o)->on_call : Py_None);
}
int set_on_call(PyObject* o, PyObject* v, void*) {
  Py_XINCREF(v);
  Py_XSETREF(self_of(o)->on_call, v);
  return 0;
}
PyObject* report(PyObject* o, PyObject*) { return report_of(*self_of(o)->root); }
PyObject* reset(PyObject* o, PyObject*) {
  self_of(o)->root->reset();
  Py_RETURN_NONE;
}
PyObject* configure(PyObject* o, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"device", "plan", "fullgraph", "target_id", nullptr};
  const char *device = nullptr, *plan = nullptr, *target = nullptr;
  PyObject* fullgraph = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$zzOz", const_cast<char**>(names), &device, &plan,
                                   &fullgraph, &target))
    return nullptr;
  segment::Root& r = *self_of(o)->root;
  std::string new_device = device ? device : r.device, new_plan = plan ? plan : "";
  bool changed = new_device != r.device || new_plan != r.plan;
  r.device = new_device;
  r.plan = new_plan;
  if (target) r.target_id = target;
  if (fullgraph) r.fullgraph = PyObject_IsTrue(fullgraph) == 1;
  if (changed) r.reset();
  Py_RETURN_NONE;
}

PyObject* repr(PyObject* o) { return PyUnicode_FromFormat("<compiled %R>", self_of(o)->root->function()); }

PyMethodDef kMethods[] = {{"report", report, METH_NOARGS, "One entry of `targets` of the report."},
                          {"reset", reset, METH_NOARGS, "Forgets everything compiled."},
                          {"configure", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(configure)),
                           METH_VARARGS | METH_KEYWORDS, "Changes device, plan, fullgraph."},
                          {nullptr, nullptr, 0, nullptr}};
PyGetSetDef kAttributes[] = {
    {"function", get_function, nullptr, "The Python function.", nullptr},
    {"__class__", get_class, nullptr, "The class of functions, which it stands for.", nullptr},
    {"stats", get_stats, nullptr, "Counts.", nullptr},
    {"on_call", get_on_call, set_on_call, "Called before each call as a root.", nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef kMembers[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(CompiledFunction, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(CompiledFunction, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(CompiledFunction, weak), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot kSlots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                        {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                        {Py_tp_clear, reinterpret_cast<void*>(clear)},
                        {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                        {Py_tp_descr_get, reinterpret_cast<void*>(bind)},
                        {Py_tp_repr, reinterpret_cast<void*>(repr)},
                        {Py_tp_methods, kMethods},
                        {Py_tp_getset, kAttributes},
                        {Py_tp_members, kMembers},
                        {0, nullptr}};
PyType_Spec kSpec = {
    "breakline._breakline.CompiledFunction", sizeof(CompiledFunction), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    kSlots};

bool probe(PyObject* object, trace::CompiledView* out) {
  if (!is_compiled_function(object)) return false;
  out->function = root_of(object).function();
  out->fullgraph = root_of(object).fullgraph;
  return true;
}

}  // namespace

int add_compiled_function(PyObject* module) {
  type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&kSpec));
  if (!type) return -1;
  // `report` and the like may be replaced on the type by the package.
  type->tp_flags &= ~static_cast<unsigned long>(Py_TPFLAGS_IMMUTABLETYPE);
  trace::set_compiled_probe(probe);
  return PyModule_AddObjectRef(module, "CompiledFunction", reinterpret_cast<PyObject*>(type));
}

PyObject* make_compiled(PyObject* function, bool fullgraph, const std::string& device,
                        const std::string& plan, const std::string& name, const std::string& target_id) {
  auto* self = reinterpret_cast<CompiledFunction*>(PyType_GenericAlloc(type, 0));
  if (!self) return nullptr;
  self->vectorcall = vectorcall;
  self->root = new segment::Root(function);
  self->root->fullgraph = fullgraph;
  self->root->device = device;
  self->root->plan = plan;
  self->root->name = name;
  self->root->target_id = target_id;
  registry().push_back(reinterpret_cast<PyObject*>(self));
  return reinterpret_cast<PyObject*>(self);
}

bool is_compiled_function(PyObject* object) { return type && PyObject_TypeCheck(object, type); }
segment::Root& root_of(PyObject* compiled) { return *self_of(compiled)->root; }
const std::vector<PyObject*>& live_compiled() { return registry(); }

}  // namespace breakline::engine
