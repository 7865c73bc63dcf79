// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

#include "core/python/ref.h"

namespace breakline::trace {

/// What a Python object means inside traced code (core/engine/README.md).
enum class MarkerKind : uint8_t {
  kNone, kGraphBreak, kSkipFrame, kStepUnsupported, kIsCompiling, kDisable, kAllowInGraph, kNonstrictTrace, kRegion,
  kRegionWrapper, kExport, kCompile, kCompiledModule, kAssumeConstant, kRegionEnter, kRegionExit, kDisableCall, kLeafFunction, kNonstrictCall,
};

struct Marker {
  MarkerKind kind = MarkerKind::kNone;
  py::Ref function;      ///< kDisable, kRegionWrapper: the wrapped function
  bool recursive = true; ///< kDisable
  bool flag = false;     ///< kRegionWrapper
  std::string reason;    ///< kDisable
};

/// Registers `object` (kept alive unless it supports weak references). False: unknown kind.
bool register_marker(PyObject* object, const std::string& kind, PyObject* data);
/// The marker of an object by identity, or of a class's instances; kNone when there is none. Asks the resolver once for
/// functions that look like PyTorch's own wrappers.
const Marker& find_marker(PyObject* object);
void set_marker_resolver(PyObject* callable);
/// A Python set of id()s kept elsewhere (PyTorch's own allow_in_graph table): a function in it means `kind`.
void add_marker_ids(PyObject* ids, const std::string& kind);
/// True when `type` is a registered region class (or a subclass of one).
bool is_region_class(PyTypeObject* type);
/// A region class of our package: entering and leaving it has no effect but the policy, so neither is run.
bool is_own_region_class(PyTypeObject* type);
/// `function` is the exit of an own region class.
bool is_own_region_exit(PyObject* function, PyTypeObject* type);

/// A compiled function met inside a trace: its Python function and settings. False when `object` is none.
struct CompiledView {
  PyObject* function = nullptr;  ///< borrowed
  bool fullgraph = false;
};
using CompiledProbe = bool (*)(PyObject* object, CompiledView* out);
void set_compiled_probe(CompiledProbe probe);
bool compiled_view(PyObject* object, CompiledView* out);

}  // namespace breakline::trace
