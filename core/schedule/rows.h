// SPDX-License-Identifier: GPL-3.0-or-later
// Reductions, softmax and normalisations as kernel IR: over which space they work, which operands they read,
// what they compute. Formulas are those of PyTorch's CPU kernels. Internal to schedule.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/schedule/lower.h"

namespace breakline::schedule {

/// The iteration space of nodes that walk some dims of a tensor more than once.
struct RowSpace {
  std::vector<int64_t> shape;  ///< of the operand
  int split = -1;              ///< a dim of `shape` that is taken as two (groups of channels), or -1
  int64_t split_inner = 1;     ///< extent of the inner one
  std::vector<bool> reduced;   ///< per dim after the split
  bool operator==(const RowSpace&) const = default;

  /// `shape` and the strides of a tensor over it, after the split.
  std::vector<int64_t> dims() const;
  std::vector<int64_t> split_strides(std::vector<int64_t> strides) const;
  /// Shapes of a result over the dims that are left: those of extent 1 kept or dropped. Empty optional-like
  /// (false) when a dim is split.
  bool has_results() const { return split < 0; }
  std::vector<int64_t> kept_shape() const;
  std::vector<int64_t> dropped_shape() const;
  /// Strides over `shape` of a tensor of one of those two shapes: 0 where it was reduced.
  std::vector<int64_t> result_strides(const std::vector<int64_t>& sizes,
                                      const std::vector<int64_t>& strides) const;
};

/// Why `node` has no row kernel ("" if it has one). Looks at the node and its operands' metadata only.
std::string why_not_row(const graph::Graph& graph, int node);

/// The rest is for nodes that passed.
RowSpace row_space(const graph::Graph& graph, int node);
/// True: one result for all reduced elements; false: a result for each.
bool row_reduces(const graph::Graph& graph, int node);
/// How many pointwise nodes it stands for when a kernel's worth is judged.
int row_weight(const graph::Graph& graph, int node);
std::vector<graph::ValueId> row_operands(const graph::Graph& graph, int node);
/// Strides of operand `k`, of metadata `meta`, over the unsplit shape.
std::vector<int64_t> row_operand_strides(const graph::Graph& graph, int node, size_t k,
                                         const graph::TensorMeta& meta);
/// As lower_node.
int lower_row_node(const graph::Graph& graph, int node, const std::vector<int>& operands, Builder& builder);

}  // namespace breakline::schedule
