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
  kUnknown,    ///< not torch's: ordinary Python rules
  kOp,         ///< builtin torch function, Tensor method or operator: a graph node
  kFactory,    ///< makes a tensor without tensor operands (torch.zeros …)
  kFoldFalse,  ///< has_torch_function* of plain tensors
  kFold,  ///< pure: call it at trace time on constants (dtype/device queries, finfo, broadcast_shapes …)
  kAmbientQuery,  ///< answer depends on tracked ambient state (is_grad_enabled, is_autocast_enabled …):
                  ///< guarded constant
  kAmbientSet,    ///< changes tracked ambient state (set_grad_enabled …): a graph node and a model change
  kReadsValue,    ///< needs tensor data (item, tolist, numpy, bool …): a break; `reason` names the row of
                  ///< diagnose
  kBreak,         ///< a break for another reason (backward, manual_seed, save …)
  kMarker,        ///< graph_break, disable, is_compiling …: `marker` tells which
};

struct Ambient;

struct CallableInfo {
  CallableKind kind = CallableKind::kUnknown;
  const graph::OpRow* row = nullptr;
  bool in_place = false;
  bool reversed = false;
  bool random = false;
  bool dynamic_shape = false;  ///< output shape depends on data (nonzero, unique …): a break
  bool may_fail = false;
  bool answers_metadata = false;  ///< an answer that is no tensor follows from the operands' metadata
  bool ask_real = false;    ///< meta tensors answer wrongly: metadata comes from a call on small real tensors
  std::string_view reason;  ///< id of diagnose's reason table for kReadsValue / kBreak
  std::string name;         ///< for people: "torch.add", "Tensor.relu_"
};

/// Looks `callable` up (identity, then method descriptors by d_name); never fails. O(1).
const CallableInfo& callable_info(PyObject* callable);
/// Additional entries made by the Python layer at start (markers, overrides).
void register_callable(PyObject* callable, CallableInfo info);

/// What reading an attribute of a tensor is.
enum class AttributeKind : uint8_t {
  kUnknown,  ///< not an attribute of torch.Tensor's own: ordinary Python rules (a method, a Python attribute)
  kConstant,  ///< follows from the metadata: attribute_constant()
  kOp,        ///< a tensor (T, mT, real …): a node `callable(x)`
  kBreak,     ///< grad, grad_fn, _version …
};
struct AttributeInfo {
  AttributeKind kind = AttributeKind::kUnknown;
  PyObject* callable = nullptr;  ///< kOp: borrowed, immortal; callable_info() knows it
  std::string_view reason;       ///< kBreak
};
/// By attribute name (an interned or ordinary str). Only for plain tensors.
AttributeInfo attribute_info(PyObject* name);
/// The value of a kConstant attribute, e.g. torch.Size for "shape". Null + error only when out of memory;
/// null without an error when the metadata does not tell.
py::Ref attribute_constant(const graph::TensorMeta& meta, PyObject* name);

/// Result of inferring a call: one entry per output; `structure` tells how the callable returns them.
struct Inferred {
  enum Structure { kNone, kTensor, kTuple, kList, kNamedTuple, kConstant } structure = kTensor;
  std::vector<graph::ShapeOut> outs;
  std::vector<py::Ref> non_tensors;  ///< per output: a constant instead of a tensor, else null
  PyTypeObject* named_tuple = nullptr;
  py::Ref constant;  ///< for kConstant
  /// Operands whose data the call writes (in-place, out=, running statistics of batch_norm): the node
  /// mutates.
  std::vector<graph::ValueId> written;
  /// New metadata of written operands that are no output (x[0] = w makes x require grad when w does): by
  /// position in `written`.
  std::vector<graph::TensorMeta> written_meta;
};
struct InferFailure {
  enum Why {
    kRaises,         ///< the call raises on this metadata: eager would raise too
    kNoMeta,         ///< PyTorch has no meta kernel
    kDataDependent,  ///< the result's metadata depends on data
    kUnsupported,    ///< not handled here; `reason` says of what kind
  } why = kUnsupported;
  std::string_view reason = "no-shape-rule";  ///< id of diagnose's reason table
  std::string message;                        ///< text of the error that the meta call raised
  bool dynamic_number = false;  ///< it would be answered if the numbers among the operands were constants
};

/// Infers outputs of callable(args, kwargs) on values of `graph`: shape rule first, else the meta-tensor call
/// (memoised by op and metadata). Never runs anything on real data and never touches the RNG. The process
/// must be in the ambient state of the traced place (autocast, default dtype …); only the grad mode is given
/// and set for the call; `now` is that state where the caller has it at hand. An operand that is a dynamic scalar is answered only where the shape does not depend
/// on it, else kUnsupported.
std::variant<Inferred, InferFailure> infer(const graph::Graph& graph, PyObject* callable,
                                           const CallableInfo& info, std::span<const graph::Arg> args,
                                           std::span<const std::pair<std::string, graph::Arg>> kwargs,
                                           bool grad_mode, const Ambient* now = nullptr);

/// Counts for reports: rule hits, meta calls, µs in them.
struct InferStats {
  int64_t rule_hits, meta_calls;
  double meta_us;
};
InferStats infer_stats();

/// For tests and `_breakline.debug_infer(callable, args, kwargs)`: infers with real tensors in args standing
/// for graph inputs. Returns a new list of (dtype, sizes, strides, offset, alias, same, requires_grad), one
/// per output, ("constant", value) for a constant, or a str with the failure. `alias` is the index of the
/// tensor among the flattened operands.
PyObject* debug_infer(PyObject* callable, PyObject* args, PyObject* kwargs, bool rules_only);

}  // namespace breakline::torch
