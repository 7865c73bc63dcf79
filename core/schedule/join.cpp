// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/join.h"

#include <algorithm>
#include <string_view>

#include "core/graph/op_table.h"
#include "core/graph/shape_util.h"
#include "core/schedule/kernel_ir.h"

namespace breakline::schedule {
namespace {

using graph::Arg;
using graph::TensorMeta;

/// A kernel each.
constexpr size_t kMostOperands = 8;

struct Rule {
  std::string_view name;
  bool stacks;
  /// The dim where the call names none that it could name; it depends on the operands' rank.
  std::optional<int64_t> (*fixed_dim)(int64_t rank);
};
constexpr Rule kRules[] = {
    {"cat", false, nullptr},
    {"stack", true, nullptr},
    {"hstack", false, [](int64_t rank) { return std::optional<int64_t>(rank == 1 ? 0 : 1); }},
    {"vstack", false, [](int64_t rank) { return rank > 1 ? std::optional<int64_t>(0) : std::nullopt; }},
};

const Arg* find_arg(const graph::Node& node, size_t i, std::string_view name, std::string_view other = {}) {
  if (i < node.args.size()) return &node.args[i];
  for (const auto& [key, value] : node.kwargs) {
    if (key == name || (!other.empty() && key == other)) return &value;
  }
  return nullptr;
}

bool has_other_kwargs(const graph::Node& node) {
  return std::any_of(node.kwargs.begin(), node.kwargs.end(), [](const auto& kwarg) {
    return kwarg.first != "tensors" && kwarg.first != "dim" && kwarg.first != "axis";
  });
}

std::string bind(const graph::Graph& graph, const graph::Node& node, const Rule& rule, Join& join) {
  const Arg* list = find_arg(node, 0, "tensors");
  const graph::ArgSeq* seq = list ? list->seq() : nullptr;
  if (!seq || seq->items.size() < 2 || seq->items.size() > kMostOperands) return "not a few tensors";
  const graph::Value& out = graph.values[static_cast<size_t>(node.outputs[0])];
  const auto usable = [](const graph::Value& value) {
    return !value.is_scalar && value.meta.device == graph::DeviceKind::kCpu && value.meta.plain &&
           has_reg_type(value.meta.dtype) && value.meta.numel() > 0;
  };
  if (!usable(out)) return "a tensor that is not plain";
  const int64_t rank = out.meta.rank() - (rule.stacks ? 1 : 0);
  for (const Arg& item : seq->items) {
    if (!item.is_value()) return "an operand that is no tensor";
    const graph::Value& value = graph.values[static_cast<size_t>(item.id())];
    if (!usable(value) || value.meta.rank() != rank) return "a tensor that is not plain";
    if (value.storage == out.storage && value.storage >= 0) return "result shares memory with an operand";
    join.operands.push_back(item.id());
  }
  const Arg* where = find_arg(node, 1, "dim", "axis");
  const auto number = rule.fixed_dim ? rule.fixed_dim(rank)
                      : where        ? graph::int_arg(where)
                                     : std::optional<int64_t>(0);
  const auto dim = number ? graph::wrap_dim(*number, out.meta.rank()) : std::nullopt;
  if (!dim) return "a dim of another form";
  join.dim = static_cast<size_t>(*dim);
  join.stacks = rule.stacks;
  join.begins = {0};
  for (size_t k = 0; k < join.operands.size(); ++k) {
    const TensorMeta& meta = graph.values[static_cast<size_t>(join.operands[k])].meta;
    join.begins.push_back(join.begins.back() + (rule.stacks ? 1 : meta.sizes[join.dim]));
    if (meta.sizes != join.part_shape(out.meta.sizes, k)) return "operands of other shapes";
  }
  return join.begins.back() == out.meta.sizes[join.dim] ? "" : "operands of other shapes";
}

}  // namespace

std::vector<int64_t> Join::part_shape(std::vector<int64_t> shape, size_t k) const {
  const auto at = shape.begin() + static_cast<int64_t>(dim);
  if (stacks) {
    shape.erase(at);
  } else {
    *at = begins[k + 1] - begins[k];
  }
  return shape;
}

std::optional<Join> find_join(const graph::Graph& graph, int index, std::string* why) {
  const graph::Node& node = graph.nodes[static_cast<size_t>(index)];
  const std::string_view name = node.op ? node.op->name : std::string_view{};
  const Rule* rule =
      std::find_if(std::begin(kRules), std::end(kRules), [&](const Rule& r) { return r.name == name; });
  Join join;
  if (rule == std::end(kRules)) {
    *why = "joins nothing";
  } else if (node.mutates || node.random || node.ambient || node.multi || node.outputs.size() != 1 ||
             node.outputs[0] == graph::kNoValue || has_other_kwargs(node)) {
    *why = "a call of another form";
  } else if (*why = bind(graph, node, *rule, join); why->empty()) {
    return join;
  }
  return {};
}

}  // namespace breakline::schedule
