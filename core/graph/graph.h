// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/graph/dtype.h"

namespace breakline::graph {

enum class DeviceKind : int8_t { kCpu, kMeta, kCuda, kOther };

/// What is known of a tensor without its data. Sizes and strides in elements.
struct TensorMeta {
  DType dtype = DType::kFloat32;
  DeviceKind device = DeviceKind::kCpu;
  bool requires_grad = false;
  bool is_leaf = true;
  /// Set on a plain strided tensor (no sparse, quantised, conj or neg bit, no functorch wrapper).
  bool plain = true;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  int64_t storage_offset = 0;

  int64_t rank() const { return static_cast<int64_t>(sizes.size()); }
  int64_t numel() const;
  bool is_contiguous() const;
  bool operator==(const TensorMeta&) const = default;
};

/// Row-major strides for `sizes`, as torch.empty makes them.
std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& sizes);

/// Index of a tensor (or, for dynamic scalars, a Python number) in a Graph.
using ValueId = int32_t;
constexpr ValueId kNoValue = -1;

/// A Python object owned by somebody else (the segment's constant pool); opaque here.
using ObjectHandle = void*;

struct Arg;
struct ArgSeq {
  enum Kind : int8_t { kTuple, kList, kSlice } kind = kTuple;
  std::vector<Arg> items;
};
struct Value_ {
  ValueId id;
};
struct Opaque {
  ObjectHandle object =
      nullptr;  ///< any constant that has no plain form: device, dtype object, layout, generator, …
};
struct DTypeArg {
  DType dtype;
  ObjectHandle object;
};

/// An operand. `object` keeps the exact Python constant for the replay plan (null for values and for
/// sequences that hold values); the variant is its plain form for compilers.
struct Arg {
  std::variant<std::monostate /* None */, Value_, bool, int64_t, double, std::string, DTypeArg, ArgSeq,
               Opaque>
      v;
  ObjectHandle object = nullptr;

  static Arg none() { return {}; }
  static Arg value(ValueId id) { return Arg{Value_{id}}; }
  bool is_none() const { return v.index() == 0; }
  bool is_value() const { return std::holds_alternative<Value_>(v); }
  ValueId id() const { return std::get<Value_>(v).id; }
  const ArgSeq* seq() const { return std::get_if<ArgSeq>(&v); }
};

/// What an opaque constant is to a shape rule.
enum class OpaqueKind : uint8_t {
  kUnknown,
  kEllipsis,
  kCpuDevice,
  kMetaDevice,
  kOtherDevice,
  kStrided,           ///< torch.strided
  kContiguousFormat,  ///< torch.contiguous_format
  kPreserveFormat,
  kChannelsLast,
  kChannelsLast3d,
};
/// Asks the classifier that `torch` has set; also answers for the strings "cpu" and "meta" (kUnknown
/// otherwise).
OpaqueKind opaque_kind(const Arg& arg);
void set_opaque_classifier(OpaqueKind (*classify)(ObjectHandle));

/// One step of the inlining stack at the place a node comes from.
struct OriginFrame {
  std::string file;
  std::string function;
  int line = 0, column = -1, end_line = 0, end_column = -1;
};
/// Outermost first; shared between nodes of one instruction. `module` is the innermost module path
/// ("layers.3.attn") or "".
struct Origin {
  std::vector<OriginFrame> frames;
  std::string module;
};

struct OpRow;  // op_table.h

/// One call of a torch callable. Outputs are fresh values, except that an in-place op's result is its input
/// again.
struct Node {
  const OpRow* op = nullptr;  ///< table row, or null: extern node known by its callable only
  ObjectHandle callable =
      nullptr;       ///< the torch callable the program called (always set; the replay plan calls it)
  std::string name;  ///< for people: "add", "linear", "Tensor.relu_"
  std::vector<Arg> args;
  std::vector<std::pair<std::string, Arg>> kwargs;
  std::vector<ValueId> outputs;  ///< kNoValue for a non-tensor element of a multi-output result
  bool multi = false;            ///< the callable returns a tuple/list; outputs are its elements
  /// The callable takes operands 0 and 1 of `op` the other way round (Tensor.__rsub__, torch.rsub). From
  /// CallableInfo.
  bool reversed = false;
  bool mutates = false;   ///< writes an operand (in-place, out=, setitem)
  bool random = false;    ///< uses the RNG stream: order among random nodes is kept
  bool ambient = false;   ///< changes ambient state (set_grad_enabled, autocast …): a barrier
  bool may_fail = false;  ///< can raise at run time although the metadata is right (index range, linalg)
  std::shared_ptr<const Origin> origin;
};

/// What a value is.
struct Value {
  TensorMeta meta;
  bool is_scalar = false;  ///< a dynamic Python int/float passed by value
  int32_t producer = -1;   ///< node index; -1 = graph input
  int32_t input = -1;      ///< input index if it is one
  int32_t storage = -1;    ///< values with the same id may share memory (views, in-place results)
};

/// Consecutive nodes that Python runs as a function of its own: an activation checkpoint runs them again in
/// the backward pass, a branch of torch.cond runs them or not. Regions are in program order and nest.
struct Region {
  enum Kind : uint8_t { kCheckpoint, kBranch } kind = kCheckpoint;
  int first = 0, last = -1;  ///< nodes that the region stands for
  int begin = 0, end = 0;    ///< [begin, end) of them are run; `caller` does what the others say
  /// kCheckpoint: called with a function of the operands and their tuple, answers what that function answers:
  /// the tuple of `results`.
  ObjectHandle caller = nullptr;
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  /// kBranch: run if the truth of `condition` is `wanted`; its results then are those of the values `joined`.
  ValueId condition = kNoValue;
  bool wanted = true;
  std::vector<ValueId> joined;
};

/// Nodes in program order; running them in that order with the callables is the definition of the result.
struct Graph {
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;  ///< values the segment's recipes need afterwards
  std::vector<Region> regions;   ///< a graph that has some is run by the replay plan
  bool in_order = false;  ///< so is this one: it writes, and reads memory of arrays that may be the same
  bool grad_mode = true;  ///< at entry
  bool inference_mode = false;
  bool reshapes =
      false;  ///< some node changes the shape or the memory of its operand: the result is a value of its own
  bool needs_grad = false;  ///< grad mode on at some node with an operand that requires grad
};

/// Stable text of a graph for dumps and golden tests.
std::string print(const Graph& graph);

}  // namespace breakline::graph
