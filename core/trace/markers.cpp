// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/trace/markers.h"

#include <string_view>
#include <unordered_map>
#include <vector>

namespace breakline::trace {
namespace {

struct KindName {
  const char* name;
  MarkerKind kind;
};
constexpr KindName kKinds[] = {
    {"graph_break", MarkerKind::kGraphBreak},       {"skip_frame", MarkerKind::kSkipFrame},
    {"step_unsupported", MarkerKind::kStepUnsupported}, {"is_compiling", MarkerKind::kIsCompiling},
    {"disable", MarkerKind::kDisable},              {"allow_in_graph", MarkerKind::kAllowInGraph},
    {"nonstrict_trace", MarkerKind::kNonstrictTrace}, {"region", MarkerKind::kRegion},
    {"region_wrapper", MarkerKind::kRegionWrapper}, {"export", MarkerKind::kExport},
    {"compile", MarkerKind::kCompile},              {"compiled_module", MarkerKind::kCompiledModule},
    {"assume_constant_result", MarkerKind::kAssumeConstant},
    {"nonstrict_call", MarkerKind::kNonstrictCall},
    {"ordinary", MarkerKind::kNone},                // takes another one back
    {"leaf_function", MarkerKind::kLeafFunction},   {"disable_call", MarkerKind::kDisableCall},
    {"nothing", MarkerKind::kRegionExit},  // a call without effect in traced code
    {"region_enter", MarkerKind::kRegionEnter},     {"region_exit", MarkerKind::kRegionExit},
};

/// Process-wide; entries live as long as the process, as the functions they name usually do.
struct Registry {
  std::unordered_map<PyObject*, Marker> markers;
  std::vector<PyTypeObject*> regions;
  py::Ref resolver;
  CompiledProbe probe = nullptr;
  std::vector<std::pair<py::Ref, std::string>> id_sets;  ///< sets of id()s that another registry keeps → kind
};
Registry& registry() {
  static Registry* r = new Registry;
  return *r;
}

const Marker kNoMarker;

bool worth_asking(PyObject* object) {
  if (!PyFunction_Check(object)) return false;
  PyObject* notes = reinterpret_cast<PyFunctionObject*>(object)->func_dict;
  if (notes)
    for (const char* name : {"_torchdynamo_disable", "_torchdynamo_orig_callable", "_torchdynamo_inline"})
      if (PyDict_GetItem(notes, py::intern(name))) return true;
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(object));
  static auto* known = new std::unordered_map<PyCodeObject*, bool>;  // keeps them alive
  auto [it, fresh] = known->try_emplace(code, false);
  if (fresh) {
    Py_INCREF(code);
    std::string_view file = py::utf8(code->co_filename);
    it->second = file.find("/torch/_dynamo/") != std::string_view::npos || file.find("/torch/compiler/") != std::string_view::npos;
  }
  return it->second;
}

}  // namespace

bool register_marker(PyObject* object, const std::string& kind, PyObject* data) {
  for (const KindName& k : kKinds) {
    if (kind != k.name) continue;
    Marker m;
    m.kind = k.kind;
    if (data && PyDict_Check(data)) {
      if (PyObject* f = PyDict_GetItemString(data, "function")) m.function = py::Ref::borrow(f);
      if (PyObject* r = PyDict_GetItemString(data, "recursive")) m.recursive = PyObject_IsTrue(r) == 1;
      if (PyObject* f = PyDict_GetItemString(data, "flag")) m.flag = PyObject_IsTrue(f) == 1;
      if (PyObject* t = PyDict_GetItemString(data, "reason"); t && t != Py_None) m.reason = py::to_string(t);
    }
    if (registry().markers.find(object) == registry().markers.end()) Py_INCREF(object);
    registry().markers[object] = std::move(m);
    if (k.kind == MarkerKind::kRegion && PyType_Check(object))
      registry().regions.push_back(reinterpret_cast<PyTypeObject*>(object));
    return true;
  }
  return false;
}

const Marker& find_marker(PyObject* object) {
  Registry& r = registry();
  auto it = r.markers.find(object);
  if (it != r.markers.end()) return it->second;
  for (const auto& [ids, kind] : r.id_sets) {
    py::Ref id = py::Ref::steal(PyLong_FromVoidPtr(object));
    if (id && PyFunction_Check(object) && PySet_Contains(ids.get(), id.get()) == 1) {
      register_marker(object, kind, nullptr);
      return r.markers[object];
    }
  }
  if (!r.resolver || !worth_asking(object)) return kNoMarker;
  py::Ref answer = py::Ref::steal(PyObject_CallOneArg(r.resolver.get(), object));
  if (!answer) PyErr_Clear();
  if (answer && PyTuple_Check(answer.get()) && PyTuple_GET_SIZE(answer.get()) == 2)
    register_marker(object, py::to_string(PyTuple_GET_ITEM(answer.get(), 0)), PyTuple_GET_ITEM(answer.get(), 1));
  else {
    Py_INCREF(object);
    r.markers[object] = Marker();
  }
  return r.markers[object];
}

void set_marker_resolver(PyObject* callable) { registry().resolver = py::Ref::borrow(callable); }

void add_marker_ids(PyObject* ids, const std::string& kind) { registry().id_sets.emplace_back(py::Ref::borrow(ids), kind); }

bool is_region_class(PyTypeObject* type) {
  for (PyTypeObject* r : registry().regions)
    if (PyType_IsSubtype(type, r)) return true;
  return false;
}

bool is_own_region_class(PyTypeObject* type) {
  if (!is_region_class(type)) return false;
  // PyTorch's class counts too once the package has put its own methods there.
  PyObject* leave = py::type_lookup(type, py::intern("__exit__"));
  if (!leave || !PyFunction_Check(leave)) return false;
  PyObject* module = PyDict_GetItemString(PyFunction_GET_GLOBALS(leave), "__name__");
  return module && PyUnicode_Check(module) && py::utf8(module).substr(0, 9) == "breakline";
}

bool is_own_region_exit(PyObject* function, PyTypeObject* type) {
  return is_own_region_class(type) && function == py::type_lookup(type, py::intern("__exit__"));
}

void set_compiled_probe(CompiledProbe probe) { registry().probe = probe; }

bool compiled_view(PyObject* object, CompiledView* out) {
  return registry().probe && registry().probe(object, out);
}

}  // namespace breakline::trace
