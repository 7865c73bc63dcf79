// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/op_table.h"
#include "core/python/ref.h"

namespace breakline::torch {

/// What a callable is to the tracer.
enum class CallableKind : uint8_t {
  kUnknown,      ///< not torch's: ordinary Python rules
  kOp,           ///< builtin torch function, Tensor method or operator: a graph node
  kFactory,      ///< makes a tensor without tensor operands (torch.zeros …)
  kFoldFalse,    ///< has_torch_function* of plain tensors
  kFold,         ///< pure: call it at trace time on constants (dtype/device queries, finfo, broadcast_shapes …)
  kAmbientQuery, ///< answer depends on tracked ambient state (is_grad_enabled, is_autocast_enabled …): guarded constant
  kAmbientSet,   ///< changes tracked ambient state (set_grad_enabled …): a graph node and a model change
  kReadsValue,   ///< needs tensor data (item, tolist, numpy, bool …): a break; `reason` names the row of diagnose
  kBreak,        ///< a break for another reason (backward, manual_seed, save …)
  kMarker,       ///< graph_break, disable, is_compiling …: `marker` tells which
};

struct CallableInfo {
  CallableKind kind = CallableKind::kUnknown;
  const graph::OpRow* row = nullptr;
  bool in_place = false;
  bool reversed = false;
  bool random = false;
  bool dynamic_shape = false;   ///< output shape depends on data (nonzero, unique …): a break
  bool may_fail = false;
  std::string_view reason;      ///< id of diagnose's reason table for kReadsValue / kBreak
  std::string name;             ///< for people: "torch.add", "Tensor.relu_"
};

/// Looks `callable` up (identity, then method descriptors by d_name); never fails. O(1).
const CallableInfo& callable_info(PyObject* callable);
/// Additional entries made by the Python layer at start (markers, overrides).
void register_callable(PyObject* callable, CallableInfo info);

/// Result of inferring a call: one entry per output; `structure` tells how the callable returns them.
struct Inferred {
  enum Structure { kNone, kTensor, kTuple, kList, kNamedTuple, kConstant } structure = kTensor;
  std::vector<graph::ShapeOut> outs;
  std::vector<py::Ref> non_tensors;  ///< per output: a constant instead of a tensor, else null
  PyTypeObject* named_tuple = nullptr;
  py::Ref constant;                  ///< for kConstant
};
struct InferFailure {
  enum Why { kRaises, kNoMeta, kDataDependent, kUnsupported } why = kUnsupported;
  std::string message;  ///< text of the error that the meta call raised
};

/// Infers outputs of callable(args, kwargs) on values of `graph`: shape rule first, else the meta-tensor call
/// (memoised by op and metadata). Never runs anything on real data and never touches the RNG.
std::variant<Inferred, InferFailure> infer(const graph::Graph& graph, PyObject* callable, const CallableInfo& info,
                                           std::span<const graph::Arg> args,
                                           std::span<const std::pair<std::string, graph::Arg>> kwargs,
                                           bool grad_mode);

/// Counts for reports: rule hits, meta calls, µs in them.
struct InferStats { int64_t rule_hits, meta_calls; double meta_us; };
InferStats infer_stats();

}  // namespace breakline::torch
