// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/gather.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "core/graph/op_table.h"
#include "core/graph/shape_util.h"
#include "core/schedule/loops.h"

namespace breakline::schedule {
namespace {

using graph::Arg;
using graph::TensorMeta;
using graph::ValueId;

struct Call {
  const graph::Graph& graph;
  const graph::Node& node;

  /// Null when absent or None.
  const Arg* arg(size_t i, std::string_view name, std::string_view other = {}) const {
    const Arg* found = i < node.args.size() ? &node.args[i] : nullptr;
    for (const auto& [key, value] : node.kwargs) {
      if (!found && (key == name || (!other.empty() && key == other))) found = &value;
    }
    return found && !found->is_none() ? found : nullptr;
  }
  ValueId tensor(const Arg* arg) const { return arg && arg->is_value() ? arg->id() : graph::kNoValue; }
  const TensorMeta& meta(ValueId id) const { return graph.values[static_cast<size_t>(id)].meta; }
  std::optional<size_t> dim(int64_t rank) const {
    const auto number = graph::int_arg(arg(1, "dim"));
    const auto wrapped = number && rank > 0 ? graph::wrap_dim(*number, rank) : std::nullopt;
    return wrapped ? std::optional(static_cast<size_t>(*wrapped)) : std::nullopt;
  }
};

/// The table is indexed along `dim`; the index's dims take its place in the result.
void replace_dim(const Call& call, size_t dim, Gather& g) {
  const TensorMeta &table = call.meta(g.table), &index = call.meta(g.index);
  const size_t rank = index.sizes.size();
  g.table_strides = table.strides;
  g.table_strides.erase(g.table_strides.begin() + static_cast<int64_t>(dim));
  g.index_strides.assign(g.table_strides.size(), 0);
  g.table_strides.insert(g.table_strides.begin() + static_cast<int64_t>(dim), rank, 0);
  g.index_strides.insert(g.index_strides.begin() + static_cast<int64_t>(dim), index.strides.begin(),
                         index.strides.end());
  g.step = table.strides[dim];
  g.extent = table.sizes[dim];
}

bool bind_embedding(const Call& call, Gather& g) {  // (weight, indices)
  g.table = call.tensor(call.arg(0, "weight"));
  g.index = call.tensor(call.arg(1, "indices", "input"));
  if (g.table < 0 || g.index < 0 || call.meta(g.table).rank() != 2) return false;
  replace_dim(call, 0, g);
  return true;
}
bool bind_index_select(const Call& call, Gather& g) {  // (x, dim, index)
  g.table = call.tensor(call.arg(0, "input", "self"));
  g.index = call.tensor(call.arg(2, "index"));
  if (g.table < 0 || g.index < 0 || call.meta(g.index).rank() != 1) return false;
  const auto dim = call.dim(call.meta(g.table).rank());
  if (dim) replace_dim(call, *dim, g);
  return dim.has_value();
}
bool bind_gather(const Call& call, Gather& g) {  // (x, dim, index), index of the result's shape
  g.table = call.tensor(call.arg(0, "input", "self"));
  g.index = call.tensor(call.arg(2, "index"));
  if (g.table < 0 || g.index < 0) return false;
  const TensorMeta &table = call.meta(g.table), &index = call.meta(g.index);
  const auto dim = call.dim(table.rank());
  if (!dim || index.rank() != table.rank()) return false;
  g.table_strides = table.strides;
  g.table_strides[*dim] = 0;
  g.index_strides = index.strides;
  g.step = table.strides[*dim];
  g.extent = table.sizes[*dim];
  return true;
}
bool bind_getitem(const Call& call, Gather& g) {  // x[index]
  g.table = call.tensor(call.arg(0, "self"));
  g.index = call.tensor(call.arg(1, "index"));
  if (g.table < 0 || g.index < 0 || call.meta(g.table).rank() == 0) return false;
  replace_dim(call, 0, g);
  g.wraps = true;
  return true;
}

struct Rule {
  std::string_view name;
  bool (*bind)(const Call& call, Gather& gather);
};
constexpr Rule kRules[] = {
    {"embedding", &bind_embedding},
    {"index_select", &bind_index_select},
    {"gather", &bind_gather},
    {"getitem", &bind_getitem},
};

std::string why_not(const Call& call, const Gather& g) {
  const graph::Node& node = call.node;
  if (node.mutates || node.random || node.ambient) return "has effects";
  if (node.multi || node.outputs.size() != 1 || node.outputs[0] == graph::kNoValue) return "several results";
  const graph::Value& out = call.graph.values[static_cast<size_t>(node.outputs[0])];
  for (const ValueId id : {g.table, g.index, node.outputs[0]}) {
    const graph::Value& value = call.graph.values[static_cast<size_t>(id)];
    if (value.is_scalar || value.meta.device != graph::DeviceKind::kCpu || !value.meta.plain ||
        !has_reg_type(value.meta.dtype))
      return "a tensor that is not plain";
    if (id != node.outputs[0] && value.storage == out.storage && value.storage >= 0)
      return "result shares memory with an operand";
  }
  const TensorMeta &table = call.meta(g.table), &index = call.meta(g.index);
  if (index.dtype != graph::DType::kInt64 && index.dtype != graph::DType::kInt32)
    return "indices of another dtype";
  if (table.numel() == 0 || table.dtype != out.meta.dtype || g.table_strides.size() != out.meta.sizes.size())
    return "a table of another form";
  return "";
}

bool is_near(const TensorMeta& table) {
  int64_t span = 0;
  for (size_t d = 0; d < table.sizes.size(); ++d) span += (table.sizes[d] - 1) * table.strides[d];
  return span <= std::numeric_limits<int32_t>::max();
}

}  // namespace

std::optional<Gather> find_gather(const graph::Graph& graph, int index, std::string* why) {
  const Call call{graph, graph.nodes[static_cast<size_t>(index)]};
  const std::string_view name = call.node.op ? call.node.op->name : std::string_view{};
  const Rule* rule =
      std::find_if(std::begin(kRules), std::end(kRules), [&](const Rule& r) { return r.name == name; });
  Gather found;
  if (rule == std::end(kRules)) {
    *why = "reads by no index";
  } else if (!rule->bind(call, found)) {
    *why = "arguments of another form";
  } else if (*why = why_not(call, found); why->empty()) {
    found.near = is_near(call.meta(found.table));
    const auto& sizes = call.meta(call.node.outputs[0]).sizes;
    found.each = true;
    for (size_t d = 0; d < sizes.size(); ++d) found.each &= sizes[d] == 1 || found.index_strides[d] != 0;
    return found;
  }
  return {};
}

int lower_index(const Gather& gather, int index, Builder& b) {
  const RegType type = gather.near ? RegType::kI32 : RegType::kI64;
  int at = b.cast(index, type);
  const int zero = b.integer(type, 0), last = b.integer(type, gather.extent - 1);
  if (gather.wraps) {
    const int wrapped = b.binary(Op::kAdd, at, b.integer(type, gather.extent));
    at = b.select(b.binary(Op::kLt, at, zero), wrapped, at);
  }
  at = b.select(b.binary(Op::kLt, at, zero), zero, at);
  return b.select(b.binary(Op::kGt, at, last), last, at);
}

}  // namespace breakline::schedule
