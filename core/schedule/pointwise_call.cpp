// SPDX-License-Identifier: GPL-3.0-or-later
// Binds the arguments of a pointwise call to the parameters of its rule and converts operands as eager does.
#include "core/schedule/pointwise_call.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace breakline::schedule {
namespace {

using graph::Arg;
using graph::DType;

bool is_half(DType dtype) { return dtype == DType::kBFloat16 || dtype == DType::kFloat16; }

std::string_view last_part(std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

struct ParamList {
  std::array<std::string_view, 6> names{};
  size_t count = 0, positional = 0;
  explicit ParamList(std::string_view text) {
    bool keyword_only = false;
    while (!text.empty()) {
      const size_t end = std::min(text.find(' '), text.size());
      const std::string_view word = text.substr(0, end);
      if (word == "*") {
        keyword_only = true;
      } else {
        names[count++] = word;
        if (!keyword_only) positional = count;
      }
      text = end == text.size() ? std::string_view{} : text.substr(end + 1);
    }
  }
};

bool is_false(const Arg& arg) {
  const bool* flag = std::get_if<bool>(&arg.v);
  return flag && !*flag;
}

int category(DType dtype) {
  if (dtype == DType::kBool) return 0;
  return graph::is_integral(dtype) ? 1 : 2;
}

}  // namespace

DType result_type(const std::vector<PromotionOperand>& operands, DType default_dtype) {
  // Three levels: ranked tensors, rank-0 tensors, numbers. A weaker level counts only if its category is
  // higher.
  std::optional<DType> level[3];
  for (const PromotionOperand& operand : operands) {
    const int at = operand.wrapped_number ? 2 : operand.rank > 0 ? 0 : 1;
    DType dtype = operand.dtype;
    if (operand.wrapped_number && category(dtype) == 2) dtype = default_dtype;
    level[at] = level[at] ? graph::promote(*level[at], dtype) : dtype;
  }
  std::optional<DType> result;
  for (const auto& dtype : level) {
    if (!dtype) continue;
    if (!result) {
      result = dtype;
    } else if (category(*dtype) > category(*result)) {
      result = graph::promote(*result, *dtype);
    }
  }
  return result.value_or(default_dtype);
}

float round_to_half(float x, DType half) {
  if (std::isnan(x) || std::isinf(x)) return x;
  if (half == DType::kBFloat16) {
    uint32_t bits = std::bit_cast<uint32_t>(x);
    bits += 0x7fff + ((bits >> 16) & 1);
    return std::bit_cast<float>(bits & 0xffff0000u);
  }
  const float magnitude = std::fabs(x);
  // Spacing of float16 around x: 2^(e-10), and 2^-24 below the smallest normal number.
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  const float spacing = std::ldexp(1.0f, std::max(exponent - 11, -24));
  const float rounded = std::nearbyint(magnitude / spacing) * spacing;
  return std::copysign(rounded > 65504.0f ? INFINITY : rounded, x);
}

std::optional<Number> number_of(const Arg* arg) {
  if (!arg) return {};
  if (const bool* flag = std::get_if<bool>(&arg->v)) return Number{true, true, *flag, *flag ? 1.0 : 0.0};
  if (const int64_t* integer = std::get_if<int64_t>(&arg->v)) {
    return Number{true, false, *integer, static_cast<double>(*integer)};
  }
  if (const double* real = std::get_if<double>(&arg->v)) return Number{false, false, 0, *real};
  return {};
}

PointwiseCall::PointwiseCall(const graph::Graph& graph, int node, std::string* why)
    : graph_(graph), node_(graph.nodes[static_cast<size_t>(node)]) {
  rule_ = find_rule(node_);
  if (!rule_) {
    *why = "no kernel rule for " + node_.name;
    return;
  }
  if (bind(why) && rule_->check) *why = rule_->check(*this);
}

bool PointwiseCall::bind(std::string* why) {
  const ParamList list(rule_->params);
  // A cast's further arguments (dtype, device, memory format, another tensor) are all in the output's
  // metadata.
  const bool only_first = rule_->fn == graph::ScalarFn::kCast || rule_->fn == graph::ScalarFn::kCopy;
  for (size_t i = 0; i < node_.args.size(); ++i) {
    if (i >= list.positional && only_first) break;
    if (i >= list.positional) return *why = "more positional arguments than the rule knows", false;
    params_[i] = &node_.args[i];
  }
  for (const auto& [name, arg] : node_.kwargs) {
    size_t at = 0;
    while (at < list.count && list.names[at] != name && !(name == "self" && at == 0)) ++at;
    if (at < list.count) {
      params_[at] = &arg;
    } else if (!arg.is_none() && !(name == "inplace" && is_false(arg)) && !only_first) {
      return *why = "keyword argument " + name, false;
    }
  }
  const std::string_view method = last_part(node_.name);
  reversed_ = node_.reversed || graph::find_op(method).reversed;
  if (reversed_) std::swap(params_[0], params_[1]);
  for (size_t i = 0; i < list.count; ++i) {
    const Arg* arg = params_[i];
    const bool data = static_cast<int>(i) < rule_->operands;
    if (!arg || arg->is_none()) {
      // Only the bounds of a clamp may be left out.
      if (data && !(rule_->fn == graph::ScalarFn::kClamp && i > 0)) return *why = "missing operand", false;
      continue;
    }
    if (arg->is_value()) {
      if (graph_.values[static_cast<size_t>(arg->id())].is_scalar)
        return *why = "number that changes between calls", false;
      if (!data) return *why = "tensor for " + std::string(list.names[i]), false;
    } else if (data && !number_of(arg)) {
      return *why = "operand that is no tensor or number", false;
    }
  }
  return true;
}

const graph::TensorMeta& PointwiseCall::out() const {
  return graph_.values[static_cast<size_t>(node_.outputs[0])].meta;
}

const Arg* PointwiseCall::param(int i) const {
  const Arg* arg = params_[static_cast<size_t>(i)];
  return arg && !arg->is_none() ? arg : nullptr;
}

bool PointwiseCall::is_tensor(int i) const {
  const Arg* arg = param(i);
  return arg && arg->is_value();
}

const graph::TensorMeta& PointwiseCall::meta(int i) const {
  return graph_.values[static_cast<size_t>(param(i)->id())].meta;
}

double PointwiseCall::real(int i, double otherwise) const {
  const auto n = number(i);
  return n ? n->real : otherwise;
}

std::optional<std::string> PointwiseCall::text(int i) const {
  const Arg* arg = param(i);
  if (!arg) return {};
  if (const std::string* s = std::get_if<std::string>(&arg->v)) return *s;
  return {};
}

DType PointwiseCall::common_dtype() const {
  std::vector<PromotionOperand> operands;
  for (int i = 0; i < rule_->operands; ++i) {
    if (is_tensor(i)) {
      operands.push_back({meta(i).dtype, static_cast<int>(meta(i).rank()), false});
    } else if (const auto n = number(i)) {
      const DType dtype = n->is_bool ? DType::kBool : n->is_integer ? DType::kInt64 : DType::kFloat32;
      operands.push_back({dtype, 0, true});
    }
  }
  return result_type(operands, DType::kFloat32);
}

Lowering::Lowering(const PointwiseCall& c, const std::vector<int>& operands, Builder& builder)
    : call(c), b(builder) {
  insts_.fill(-1);
  size_t next = 0;
  for (int i = 0; i < call.rule().operands; ++i) {
    if (call.is_tensor(i)) insts_[static_cast<size_t>(i)] = operands[next++];
  }
}

bool Lowering::out_is_half() const { return is_half(call.out_dtype()); }

int Lowering::as(int i, DType dtype) const {
  const RegType type = reg_type(dtype);
  if (call.is_tensor(i)) {
    const int inst = insts_[static_cast<size_t>(i)];
    return call.meta(i).dtype == dtype ? inst : b.convert(inst, dtype);
  }
  const auto n = call.number(i);
  if (n->is_integer && !is_half(dtype)) return b.integer(type, n->integer);
  const float single = n->is_integer ? static_cast<float>(n->integer) : static_cast<float>(n->real);
  return b.constant(type, is_half(dtype) ? static_cast<double>(round_to_half(single, dtype)) : n->real);
}

int Lowering::wide(int i) const {
  if (!out_is_half()) return as_out(i);
  if (!call.is_tensor(i)) {
    const auto n = call.number(i);
    return n->is_integer ? b.integer(RegType::kF32, n->integer) : b.constant(RegType::kF32, n->real);
  }
  return call.meta(i).rank() == 0 ? b.cast(insts_[static_cast<size_t>(i)], RegType::kF32) : as_out(i);
}

std::string why_not_pointwise(const graph::Graph& graph, int index) {
  const graph::Node& node = graph.nodes[static_cast<size_t>(index)];
  if (!node.op) return "not in the op table";
  if (!find_rule(node)) return "not a pointwise op with a rule";
  if (node.mutates) return "writes its operand";
  if (node.random) return "random";
  if (node.ambient) return "changes ambient state";
  if (node.multi || node.outputs.size() != 1 || node.outputs[0] == graph::kNoValue) return "several results";
  const auto fits = [&](graph::ValueId id) -> std::string {
    const graph::TensorMeta& meta = graph.values[static_cast<size_t>(id)].meta;
    if (meta.device != graph::DeviceKind::kCpu) return "a tensor on another device";
    if (!meta.plain) return "a tensor that is not plain and strided";
    if (!has_reg_type(meta.dtype)) return "dtype " + std::string(graph::dtype_name(meta.dtype));
    return "";
  };
  std::string why;
  const PointwiseCall call(graph, index, &why);
  if (!why.empty()) return why;
  const graph::ValueId out = node.outputs[0];
  if (why = fits(out); !why.empty()) return why;
  const graph::Value& result = graph.values[static_cast<size_t>(out)];
  const auto operands = pointwise_operands(graph, index);
  if (operands.empty()) return "no tensor operand";
  for (const graph::ValueId id : operands) {
    if (why = fits(id); !why.empty()) return why;
    const graph::Value& value = graph.values[static_cast<size_t>(id)];
    if (value.storage == result.storage && value.storage >= 0) return "result shares memory with an operand";
    const auto& sizes = value.meta.sizes;
    if (sizes.size() > result.meta.sizes.size()) return "operand of higher rank than the result";
    for (size_t i = 0; i < sizes.size(); ++i) {
      const int64_t want = result.meta.sizes[result.meta.sizes.size() - sizes.size() + i];
      if (sizes[i] != 1 && sizes[i] != want) return "operand that does not broadcast to the result";
    }
  }
  return "";
}

std::vector<graph::ValueId> pointwise_operands(const graph::Graph& graph, int node) {
  std::string why;
  const PointwiseCall call(graph, node, &why);
  std::vector<graph::ValueId> ids;
  for (int i = 0; i < call.rule().operands; ++i) {
    if (call.is_tensor(i)) ids.push_back(call.param(i)->id());
  }
  return ids;
}

int lower_node(const graph::Graph& graph, int node, const std::vector<int>& operands, Builder& builder) {
  std::string why;
  const PointwiseCall call(graph, node, &why);
  builder.set_node(node);
  const Lowering lowering(call, operands, builder);
  const int result = call.rule().emit(lowering);
  return lowering.round_out(builder.cast(result, reg_type(call.out_dtype())));
}

}  // namespace breakline::schedule
