// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/extension/graph_work.h"

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

#include "core/graph/op_table.h"

namespace breakline::engine {
namespace {

using graph::Arg;
using graph::Graph;
using graph::Node;
using graph::OpKind;
using graph::TensorMeta;
using graph::ValueId;

double numel(const TensorMeta& meta) { return static_cast<double>(meta.numel()); }

/// Bytes behind a tensor: an expanded dimension holds its data once.
double bytes_of(const TensorMeta& meta) {
  double count = graph::item_size(meta.dtype);
  for (std::size_t d = 0; d < meta.sizes.size(); ++d)
    if (d >= meta.strides.size() || meta.strides[d] != 0) count *= static_cast<double>(meta.sizes[d]);
  return count;
}

void each_value(const Arg& arg, const std::function<void(ValueId)>& take) {
  if (arg.is_value()) take(arg.id());
  if (const graph::ArgSeq* items = arg.seq())
    for (const Arg& item : items->items) each_value(item, take);
}

void each_operand(const Node& node, const std::function<void(ValueId)>& take) {
  for (const Arg& arg : node.args) each_value(arg, take);
  for (const auto& [name, arg] : node.kwargs) each_value(arg, take);
}

/// Reads a node's operands and results.
class NodeView {
 public:
  NodeView(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  const TensorMeta* tensor(std::size_t index, const char* name) const {
    const Arg* arg = index < node_.args.size() ? &node_.args[index] : nullptr;
    for (const auto& [keyword, value] : node_.kwargs)
      if (!arg && keyword == name) arg = &value;
    return arg && arg->is_value() ? &meta(arg->id()) : nullptr;
  }
  /// All results together, or the first alone.
  double results() const {
    double count = 0;
    for (const ValueId id : node_.outputs)
      if (id != graph::kNoValue) count += numel(meta(id));
    return count;
  }
  const TensorMeta& meta(ValueId id) const { return graph_.values[static_cast<std::size_t>(id)].meta; }

 private:
  const Graph& graph_;
  const Node& node_;
};

double last_size(const TensorMeta* meta) {
  return meta && !meta->sizes.empty() ? static_cast<double>(meta->sizes.back()) : 0;
}

double matmul_flops(const Node& node, const NodeView& view) {
  const bool with_addend = node.op->name == "addmm" || node.op->name == "baddbmm";
  return 2 * view.results() * last_size(with_addend ? view.tensor(1, "batch1") : view.tensor(0, "input"));
}

double conv_flops(const Node& node, const NodeView& view) {
  const TensorMeta* input = view.tensor(0, "input");
  const TensorMeta* weight = view.tensor(1, "weight");
  if (!input || !weight || weight->sizes.empty() || !weight->sizes[0]) return 0;
  const bool transposed = node.op->name.find("transpose") != std::string_view::npos;
  // A weight's first dimension is the results' channels; of a transposed convolution the input's.
  return 2 * (transposed ? numel(*input) : view.results()) * numel(*weight) /
         static_cast<double>(weight->sizes[0]);
}

double attention_flops(const Node&, const NodeView& view) {
  const TensorMeta* query = view.tensor(0, "query");
  const TensorMeta* key = view.tensor(1, "key");
  const TensorMeta* value = view.tensor(2, "value");
  if (!query || !key || !value || key->rank() < 2) return 0;
  const auto keys = static_cast<double>(key->sizes[static_cast<std::size_t>(key->rank() - 2)]);
  // scores: a product of length E for each query and key; results: one of length `keys` for each element
  return 2 * numel(*query) * keys + 2 * view.results() * keys;
}

double a_flop_a_result(const Node&, const NodeView& view) { return view.results(); }
double a_flop_an_element(const Node&, const NodeView& view) {
  const TensorMeta* input = view.tensor(0, "input");
  return input ? numel(*input) : view.results();
}
double no_flops(const Node&, const NodeView&) { return 0; }

struct KindRow {
  OpKind kind;
  bool product;
  double (*flops)(const Node&, const NodeView&);
};
constexpr KindRow kKinds[] = {
    {OpKind::kPointwise, false, a_flop_a_result}, {OpKind::kReduction, false, a_flop_an_element},
    {OpKind::kMatmul, true, matmul_flops},        {OpKind::kView, false, no_flops},
    {OpKind::kMovement, false, no_flops},         {OpKind::kNorm, false, a_flop_an_element},
    {OpKind::kSoftmax, false, a_flop_an_element}, {OpKind::kConv, true, conv_flops},
    {OpKind::kPool, false, a_flop_a_result},      {OpKind::kEmbedding, false, no_flops},
    {OpKind::kAttention, true, attention_flops},  {OpKind::kFactory, false, no_flops},
};

const KindRow* row_of(const Node& node) {
  if (!node.op) return nullptr;
  for (const KindRow& row : kKinds)
    if (row.kind == node.op->kind) return &row;
  return nullptr;
}

/// The least bytes that are read of each value.
class Traffic {
 public:
  explicit Traffic(const Graph& graph) : graph_(graph), uses_(graph.values.size()) {
    for (const Node& node : graph.nodes)
      each_operand(node, [&](ValueId id) { uses_[static_cast<std::size_t>(id)].push_back(&node); });
    for (const ValueId id : graph.outputs) returned_.insert(id);
  }

  double read_of(ValueId id) const {
    const double whole = bytes_of(graph_.values[static_cast<std::size_t>(id)].meta);
    double sum = 0;
    for (const Node* node : uses_[static_cast<std::size_t>(id)]) {
      const OpKind kind = node->op ? node->op->kind : OpKind::kOther;
      if (kind == OpKind::kView && !node->mutates) {
        for (const ValueId result : node->outputs)
          if (result != graph::kNoValue && result != id) sum += read_of(result);
      } else if (kind == OpKind::kEmbedding || kind == OpKind::kMovement) {
        for (const ValueId result : node->outputs)
          if (result != graph::kNoValue)
            sum += bytes_of(graph_.values[static_cast<std::size_t>(result)].meta);
      } else {
        sum += whole;
      }
      if (sum >= whole) return whole;
    }
    return sum;
  }

  double total() const {
    double bytes = 0;
    std::set<int32_t> given;
    for (const ValueId id : std::set<ValueId>(graph_.inputs.begin(), graph_.inputs.end())) {
      bytes += read_of(id);
      given.insert(graph_.values[static_cast<std::size_t>(id)].storage);
    }
    for (const ValueId id : returned_) {
      const graph::Value& value = graph_.values[static_cast<std::size_t>(id)];
      if (value.producer >= 0 && (value.storage < 0 || given.insert(value.storage).second))
        bytes += bytes_of(value.meta);
    }
    return bytes;
  }

 private:
  const Graph& graph_;
  std::vector<std::vector<const Node*>> uses_;
  std::set<ValueId> returned_;
};

}  // namespace

GraphWork work_of(const Graph& graph) {
  GraphWork work;
  for (const Node& node : graph.nodes) {
    const KindRow* row = row_of(node);
    if (!row) {
      ++work.uncounted;
      continue;
    }
    const NodeView view(graph, node);
    const double flops = row->flops(node, view);
    work.flops += flops;
    if (!row->product) continue;
    work.matrix_flops += flops;
    if (!node.outputs.empty() && node.outputs[0] != graph::kNoValue)
      work.matrix_dtype = view.meta(node.outputs[0]).dtype;
  }
  work.bytes = Traffic(graph).total();
  return work;
}

}  // namespace breakline::engine
