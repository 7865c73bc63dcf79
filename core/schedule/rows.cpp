// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/rows.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "core/graph/op_table.h"
#include "core/graph/shape_util.h"
#include "core/schedule/loops.h"
#include "core/schedule/pointwise_call.h"

namespace breakline::schedule {
namespace {

using graph::Arg;
using graph::DType;
using graph::TensorMeta;

/// A node with its arguments found by position or name.
class RowCall {
 public:
  RowCall(const graph::Graph& graph, int index)
      : graph_(graph), node_(graph.nodes[static_cast<size_t>(index)]) {}

  const graph::Node& node() const { return node_; }
  /// Null when absent or None.
  const Arg* arg(size_t i, std::string_view name, std::string_view other = {}) const {
    if (i < node_.args.size()) return node_.args[i].is_none() ? nullptr : &node_.args[i];
    for (const auto& [key, value] : node_.kwargs) {
      if (key == name || (!other.empty() && key == other)) return value.is_none() ? nullptr : &value;
    }
    return nullptr;
  }
  bool only(size_t positional, std::initializer_list<std::string_view> names) const {
    return node_.args.size() <= positional &&
           std::all_of(node_.kwargs.begin(), node_.kwargs.end(), [&](const auto& kwarg) {
             return kwarg.second.is_none() ||
                    std::find(names.begin(), names.end(), kwarg.first) != names.end();
           });
  }
  const TensorMeta& meta(const Arg* arg) const { return graph_.values[static_cast<size_t>(arg->id())].meta; }
  const TensorMeta& x() const { return meta(input()); }
  const Arg* input() const { return arg(0, "input", "self"); }
  const TensorMeta& out() const { return graph_.values[static_cast<size_t>(node_.outputs[0])].meta; }
  bool flag(size_t i, std::string_view name, bool otherwise) const {
    const Arg* a = arg(i, name);
    const bool* value = a ? std::get_if<bool>(&a->v) : nullptr;
    return value ? *value : otherwise;
  }
  double real(size_t i, std::string_view name, double otherwise) const {
    const auto n = number_of(arg(i, name));
    return n ? n->real : otherwise;
  }
  /// Per dim of the input: reduced by `dims` (null: all).
  std::vector<bool> reduced(const Arg* dims) const {
    const int64_t rank = x().rank();
    std::vector<bool> result(static_cast<size_t>(rank), dims == nullptr);
    if (dims) {
      const auto list = graph::dims_arg(dims);
      if (list && list->empty()) return std::vector<bool>(static_cast<size_t>(rank), true);
      for (const int64_t d : list.value_or(graph::Dims{}))
        result[static_cast<size_t>(d < 0 ? d + rank : d)] = true;
    }
    return result;
  }

 private:
  const graph::Graph& graph_;
  const graph::Node& node_;
};

bool is_half(DType dtype) { return dtype == DType::kBFloat16 || dtype == DType::kFloat16; }
bool is_single(DType dtype) { return dtype == DType::kFloat32 || dtype == DType::kFloat64; }

/// A call with the instructions of its operands.
struct RowLowering {
  const RowCall& call;
  const std::vector<int>& operands;
  Builder& b;
  RegType reg;   ///< of the computation
  double count;  ///< elements reduced

  /// The input in the computation's type.
  int x() const {
    const DType out = call.out().dtype;
    return is_half(out) && call.x().dtype != out ? b.convert(operands[0], out) : b.cast(operands[0], reg);
  }
  int number(double value) const { return b.constant(reg, value); }
  int reduce(Op op, int a) const { return b.unary(op, a); }
  int sum(int a) const { return reduce(Op::kReduceSum, a); }
  int mean(int a) const { return b.binary(Op::kMul, sum(a), number(1 / count)); }
  int operand(size_t k) const { return b.cast(operands[k], reg); }
};
using R = RowLowering;

// A NaN in a row makes its sum NaN, so its largest element may miss it.
int below_top(const R& r) {
  const int x = r.x();
  return r.b.binary(Op::kSub, x, r.reduce(Op::kReduceTop, x));
}
int exp_down(const R& r, int x) { return r.b.unary(r.reg == RegType::kF32 ? Op::kExpDown : Op::kExp, x); }
int emit_softmax(const R& r) {
  const int e = exp_down(r, below_top(r));
  return r.b.binary(Op::kMul, e, r.b.binary(Op::kDiv, r.number(1), r.sum(e)));
}
int emit_log_softmax(const R& r) {
  const int shifted = below_top(r);
  return r.b.binary(Op::kSub, shifted, r.b.unary(Op::kLog, r.sum(exp_down(r, shifted))));
}
int emit_logsumexp(const R& r) {
  const int x = r.x(), largest = r.reduce(Op::kReduceTop, x);
  const int infinite =
      r.b.binary(Op::kEq, r.b.unary(Op::kAbs, largest), r.number(std::numeric_limits<double>::infinity()));
  const int shift = r.b.select(infinite, r.number(0), largest);
  const int sum = r.sum(r.b.unary(Op::kExp, r.b.binary(Op::kSub, x, shift)));
  return r.b.binary(Op::kAdd, r.b.unary(Op::kLog, sum), shift);
}

struct Moments {
  int centred, variance_sum;
};
Moments moments(const R& r, int x) {
  const int centred = r.b.binary(Op::kSub, x, r.mean(x));
  return {centred, r.sum(r.b.binary(Op::kMul, centred, centred))};
}
int inverse_root(const R& r, int variance, double eps) {
  return r.b.binary(Op::kDiv, r.number(1),
                    r.b.unary(Op::kSqrt, r.b.binary(Op::kAdd, variance, r.number(eps))));
}
/// y * weight + bias, where given: operands 1 and 2.
int affine(const R& r, int y, bool weight, bool bias) {
  size_t next = 1;
  const int w = weight ? r.operand(next++) : -1;
  const int b = bias ? r.operand(next) : -1;
  if (weight && bias) return r.b.fma(y, w, b);
  if (weight) return r.b.binary(Op::kMul, y, w);
  return bias ? r.b.binary(Op::kAdd, y, b) : y;
}
int emit_norm(const R& r) {  // layer_norm, group_norm: (x, shape or groups, weight, bias, eps)
  const Moments m = moments(r, r.x());
  const int scale = inverse_root(r, r.b.binary(Op::kMul, m.variance_sum, r.number(1 / r.count)),
                                 r.call.real(4, "eps", 1e-5));
  return affine(r, r.b.binary(Op::kMul, m.centred, scale), r.call.arg(2, "weight"), r.call.arg(3, "bias"));
}
int emit_rms_norm(const R& r) {  // (x, shape, weight, eps)
  const int x = r.x();
  const double machine = r.reg == RegType::kF64 ? std::numeric_limits<double>::epsilon()
                                                : static_cast<double>(std::numeric_limits<float>::epsilon());
  const int scale = inverse_root(r, r.mean(r.b.binary(Op::kMul, x, x)), r.call.real(3, "eps", machine));
  return affine(r, r.b.binary(Op::kMul, x, scale), r.call.arg(2, "weight"), false);
}

int emit_sum(const R& r) { return r.sum(r.x()); }
int emit_mean(const R& r) { return r.b.binary(Op::kDiv, r.sum(r.x()), r.number(r.count)); }
template <Op op>
int emit_plain(const R& r) {
  return r.reduce(op, r.x());
}
template <Op op>
int emit_truth(const R& r) {
  return r.reduce(op, r.b.convert(r.operands[0], DType::kBool));
}
double correction(const RowCall& call) {
  const Arg* dims = call.arg(1, "dim");
  if (dims && std::get_if<bool>(&dims->v)) return std::get<bool>(dims->v) ? 1 : 0;
  if (!call.flag(2, "unbiased", true)) return 0;
  return call.real(99, "correction", 1);
}
int emit_variance(const R& r) {
  const Moments m = moments(r, r.x());
  return r.b.binary(Op::kDiv, m.variance_sum, r.number(r.count - correction(r.call)));
}
int emit_deviation(const R& r) { return r.b.unary(Op::kSqrt, emit_variance(r)); }
int emit_length(const R& r) {
  const int x = r.x();
  return r.b.unary(Op::kSqrt, r.sum(r.b.binary(Op::kMul, x, x)));
}

// --- which dims, and what does not fit

const Arg* dims_of(const RowCall& call, size_t at) { return call.arg(at, "dim", "axis"); }

std::string check_dim_dtype(const RowCall& call) {  // softmax
  return call.only(3, {"input", "dim", "dtype"}) ? "" : "argument of another form";
}
std::string check_float_rows(const RowCall& call) {
  return is_single(call.out().dtype) && call.x().dtype == call.out().dtype ? check_dim_dtype(call)
                                                                           : "not float32 or float64";
}
std::string check_norm(const RowCall& call) {
  if (!call.only(6, {"input", "normalized_shape", "num_groups", "weight", "bias", "eps", "cudnn_enable",
                     "cudnn_enabled"}))
    return "argument of another form";
  return "";
}
std::string check_rms(const RowCall& call) {
  if (!call.only(4, {"input", "normalized_shape", "weight", "eps"})) return "argument of another form";
  return is_single(call.x().dtype) ? "" : "rms_norm of half tensors";
}
std::string check_reduce(const RowCall& call) {
  const Arg* dims = dims_of(call, 1);
  if (!call.only(3, {"input", "dim", "axis", "keepdim", "dtype"})) return "argument of another form";
  if (dims && (std::get_if<bool>(&dims->v) || dims->is_value())) return "dims of another form";
  return "";
}
std::string check_prod(const RowCall& call) {
  return is_half(call.out().dtype) ? "product of half tensors" : check_reduce(call);
}
std::string check_extreme(const RowCall& call) {
  if (call.x().dtype == DType::kBool) return "extreme of bools";
  return check_reduce(call);
}
std::string check_whole(const RowCall& call) {  // max(x), min(x)
  return call.node().args.size() == 1 && call.node().kwargs.empty() ? check_extreme(call)
                                                                    : "argument of another form";
}
std::string check_truth(const RowCall& call) {
  const Arg* dims = dims_of(call, 1);
  if (dims && dims->seq() && dims->seq()->items.empty()) return "dims of another form";
  return call.out().dtype == DType::kBool ? check_reduce(call) : "bytes as truth";
}
std::string check_spread(const RowCall& call) {
  if (!call.only(4, {"input", "dim", "unbiased", "correction", "keepdim"})) return "argument of another form";
  const auto flags = call.reduced(
      call.arg(1, "dim") && std::get_if<bool>(&call.arg(1, "dim")->v) ? nullptr : call.arg(1, "dim"));
  double count = 1;
  for (size_t d = 0; d < flags.size(); ++d) count *= flags[d] ? static_cast<double>(call.x().sizes[d]) : 1;
  return count - correction(call) > 0 ? "" : "no degree of freedom";
}
std::string check_length(const RowCall& call) {
  const bool linalg = call.node().op->name == "linalg_vector_norm";
  if (!call.only(4, {"input", "ord", "p", "dim", "keepdim"})) return "argument of another form";
  const Arg* order = call.arg(1, linalg ? "ord" : "p");
  const auto* text = order ? std::get_if<std::string>(&order->v) : nullptr;
  const auto n = number_of(order);
  const bool two = !order || (text && *text == "fro") || (n && n->real == 2);
  return two && is_single(call.x().dtype) ? "" : "norm of another order";
}

/// Dims behind the channels: the digit before the last letter of the op's name.
size_t spatial_dims(std::string_view name) { return static_cast<size_t>(name[name.size() - 2] - '0'); }
std::string check_whole_windows(const RowCall& call) {  // adaptive_avg_poolNd(x, 1)
  const auto target = graph::dims_arg(call.arg(1, "output_size"));
  const bool ones = target && std::all_of(target->begin(), target->end(), [](int64_t n) { return n == 1; });
  return ones && call.only(2, {"input", "output_size"}) ? "" : "several windows";
}

enum class Dims : uint8_t { kArg1, kArg2, kLast, kGroups, kSpatial };

struct RowRule {
  std::string_view name;
  Dims dims;
  bool reduces;
  int weight;
  int (*emit)(const R& r);
  std::string (*check)(const RowCall& call);
};
constexpr RowRule kRules[] = {
    {"softmax", Dims::kArg1, false, 2, &emit_softmax, &check_dim_dtype},
    {"log_softmax", Dims::kArg1, false, 2, &emit_log_softmax, &check_dim_dtype},
    {"logsumexp", Dims::kArg1, true, 2, &emit_logsumexp, &check_float_rows},
    {"layer_norm", Dims::kLast, false, 2, &emit_norm, &check_norm},
    {"rms_norm", Dims::kLast, false, 2, &emit_rms_norm, &check_rms},
    {"group_norm", Dims::kGroups, false, 2, &emit_norm, &check_norm},
    {"sum", Dims::kArg1, true, 1, &emit_sum, &check_reduce},
    {"mean", Dims::kArg1, true, 1, &emit_mean, &check_reduce},
    {"prod", Dims::kArg1, true, 1, &emit_plain<Op::kReduceProd>, &check_prod},
    {"amax", Dims::kArg1, true, 1, &emit_plain<Op::kReduceMax>, &check_extreme},
    {"amin", Dims::kArg1, true, 1, &emit_plain<Op::kReduceMin>, &check_extreme},
    {"max", Dims::kArg1, true, 1, &emit_plain<Op::kReduceMax>, &check_whole},
    {"min", Dims::kArg1, true, 1, &emit_plain<Op::kReduceMin>, &check_whole},
    {"any", Dims::kArg1, true, 1, &emit_truth<Op::kReduceAny>, &check_truth},
    {"all", Dims::kArg1, true, 1, &emit_truth<Op::kReduceAll>, &check_truth},
    {"var", Dims::kArg1, true, 2, &emit_variance, &check_spread},
    {"std", Dims::kArg1, true, 2, &emit_deviation, &check_spread},
    {"adaptive_avg_pool1d", Dims::kSpatial, true, 1, &emit_mean, &check_whole_windows},
    {"adaptive_avg_pool2d", Dims::kSpatial, true, 1, &emit_mean, &check_whole_windows},
    {"adaptive_avg_pool3d", Dims::kSpatial, true, 1, &emit_mean, &check_whole_windows},
    {"norm", Dims::kArg2, true, 1, &emit_length, &check_length},
    {"linalg_vector_norm", Dims::kArg2, true, 1, &emit_length, &check_length},
};

const RowRule* rule_of(const graph::Node& node) {
  if (!node.op) return nullptr;
  for (const RowRule& rule : kRules) {
    if (rule.name == node.op->name) return &rule;
  }
  return nullptr;
}

RowSpace space_of(const RowCall& call, const RowRule& rule) {
  RowSpace space;
  space.shape = call.x().sizes;
  switch (rule.dims) {
    case Dims::kArg1: {
      const Arg* dims = dims_of(call, 1);
      space.reduced = call.reduced(dims && std::get_if<bool>(&dims->v) ? nullptr : dims);
      break;
    }
    case Dims::kArg2:
      space.reduced = call.reduced(dims_of(call, 2));
      break;
    case Dims::kLast: {
      const size_t count = graph::dims_arg(call.arg(1, "normalized_shape")).value_or(graph::Dims{}).size();
      space.reduced.assign(space.shape.size(), false);
      std::fill(space.reduced.end() - static_cast<int64_t>(count), space.reduced.end(), true);
      break;
    }
    case Dims::kSpatial:
      space.reduced.assign(space.shape.size(), false);
      std::fill(space.reduced.end() - static_cast<int64_t>(spatial_dims(rule.name)), space.reduced.end(),
                true);
      break;
    case Dims::kGroups:
      space.split = 1;
      space.split_inner = space.shape[1] / graph::int_arg(call.arg(1, "num_groups")).value_or(1);
      space.reduced.assign(space.shape.size() + 1, true);
      space.reduced[0] = space.reduced[1] = false;
      break;
  }
  return space;
}

}  // namespace

std::vector<int64_t> RowSpace::dims() const {
  std::vector<int64_t> result = shape;
  if (split < 0) return result;
  const auto at = static_cast<size_t>(split);
  result[at] /= split_inner;
  result.insert(result.begin() + split + 1, split_inner);
  return result;
}

std::vector<int64_t> RowSpace::split_strides(std::vector<int64_t> strides) const {
  if (split < 0) return strides;
  const auto at = static_cast<size_t>(split);
  strides.insert(strides.begin() + split + 1, strides[at]);
  strides[at] *= split_inner;
  return strides;
}

std::vector<int64_t> RowSpace::kept_shape() const {
  std::vector<int64_t> result = shape;
  for (size_t d = 0; d < result.size(); ++d) {
    if (reduced[d]) result[d] = 1;
  }
  return result;
}

std::vector<int64_t> RowSpace::dropped_shape() const {
  std::vector<int64_t> result;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!reduced[d]) result.push_back(shape[d]);
  }
  return result;
}

std::vector<int64_t> RowSpace::result_strides(const std::vector<int64_t>& sizes,
                                              const std::vector<int64_t>& strides) const {
  const bool kept = sizes.size() == shape.size();
  std::vector<int64_t> result;
  size_t next = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (reduced[d]) {
      result.push_back(0);
      next += kept;
    } else {
      result.push_back(sizes[next] == 1 ? 0 : strides[next]);
      ++next;
    }
  }
  return result;
}

std::string why_not_row(const graph::Graph& graph, int index) {
  const graph::Node& node = graph.nodes[static_cast<size_t>(index)];
  const RowRule* rule = rule_of(node);
  if (!rule) return "no row rule for " + node.name;
  if (node.mutates || node.random || node.ambient) return "has effects";
  if (node.multi || node.outputs.size() != 1 || node.outputs[0] == graph::kNoValue) return "several results";
  const RowCall call(graph, index);
  if (!call.input() || !call.input()->is_value()) return "no tensor operand";
  for (const auto& arg : node.args) {
    if (arg.is_value() && graph.values[static_cast<size_t>(arg.id())].is_scalar)
      return "number that changes between calls";
  }
  if (!graph::is_floating(call.out().dtype) && !graph::is_integral(call.out().dtype) &&
      call.out().dtype != DType::kBool)
    return "dtype";
  if (call.x().numel() == 0 || call.x().rank() == 0) return "no elements to walk";
  if (std::string why = rule->check(call); !why.empty()) return why;
  for (const graph::ValueId id : row_operands(graph, index)) {
    const graph::Value& value = graph.values[static_cast<size_t>(id)];
    const TensorMeta& meta = value.meta;
    if (value.is_scalar) return "number that changes between calls";
    if (meta.device != graph::DeviceKind::kCpu || !meta.plain || !has_reg_type(meta.dtype))
      return "an operand that is not plain";
    if (value.storage == graph.values[static_cast<size_t>(node.outputs[0])].storage && value.storage >= 0)
      return "result shares memory with an operand";
  }
  if (!has_reg_type(call.out().dtype) || !call.out().plain) return "dtype";
  const RowSpace space = space_of(call, *rule);
  const std::vector<int64_t> dims = space.dims();
  int64_t extent = 1;
  for (size_t d = 0; d < dims.size(); ++d) extent *= space.reduced[d] ? dims[d] : 1;
  return extent > 1 ? "" : "one element to reduce";
}

RowSpace row_space(const graph::Graph& graph, int node) {
  return space_of(RowCall(graph, node), *rule_of(graph.nodes[static_cast<size_t>(node)]));
}
bool row_reduces(const graph::Graph& graph, int node) {
  return rule_of(graph.nodes[static_cast<size_t>(node)])->reduces;
}
int row_weight(const graph::Graph& graph, int node) {
  return rule_of(graph.nodes[static_cast<size_t>(node)])->weight;
}

std::vector<graph::ValueId> row_operands(const graph::Graph& graph, int index) {
  const RowCall call(graph, index);
  std::vector<graph::ValueId> ids{call.input()->id()};
  const RowRule& rule = *rule_of(call.node());
  if (rule.dims != Dims::kLast && rule.dims != Dims::kGroups) return ids;
  if (const Arg* weight = call.arg(2, "weight"); weight && weight->is_value()) ids.push_back(weight->id());
  if (rule.emit == &emit_rms_norm) return ids;
  if (const Arg* bias = call.arg(3, "bias"); bias && bias->is_value()) ids.push_back(bias->id());
  return ids;
}

std::vector<int64_t> row_operand_strides(const graph::Graph& graph, int index, size_t k,
                                         const TensorMeta& meta) {
  const RowCall call(graph, index);
  const std::vector<int64_t>& shape = call.x().sizes;
  if (k == 0 || rule_of(call.node())->dims != Dims::kGroups)
    return broadcast_strides(meta.sizes, meta.strides, shape);
  std::vector<int64_t> strides(shape.size(), 0);
  strides[1] = meta.sizes[0] == 1 ? 0 : meta.strides[0];
  return strides;
}

int lower_row_node(const graph::Graph& graph, int node, const std::vector<int>& operands, Builder& builder) {
  const RowCall call(graph, node);
  const RowSpace space = row_space(graph, node);
  const std::vector<int64_t> dims = space.dims();
  double count = 1;
  for (size_t d = 0; d < dims.size(); ++d) count *= space.reduced[d] ? static_cast<double>(dims[d]) : 1;
  builder.set_node(node);
  const DType out = call.out().dtype;
  const RowLowering lowering{call, operands, builder, reg_type(out), count};
  const int result = builder.cast(rule_of(call.node())->emit(lowering), reg_type(out));
  return is_half(out) ? builder.round(result, out) : result;
}

}  // namespace breakline::schedule
