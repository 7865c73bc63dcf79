// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace breakline::graph {

/// Empty when the graph is well formed: operands are made before they are used, producers and outputs are
/// right.
std::string verify(const Graph& graph);

/// Who uses what, and what shares memory with what. A picture of one state of a graph.
struct Uses {
  explicit Uses(const Graph& graph);
  std::vector<std::vector<int>> users;           ///< per value: nodes that read it, each once, in order
  std::vector<bool> is_output;                   ///< per value
  std::vector<std::vector<ValueId>> of_storage;  ///< per storage id: its values, in order of their ids
  std::vector<std::vector<int>> writers;         ///< per storage id: nodes that write it
  std::vector<bool> escapes;                     ///< per storage id: some value of it is a graph output
  std::vector<bool> given;                       ///< per storage id: some value of it is a graph input
  std::vector<bool> opaque;  ///< per storage id: read by a callable that nothing is known of
  /// No other value shares memory with it.
  bool alone(const Graph& graph, ValueId id) const;
};

/// A copy of a graph while passes change it. What is said of nodes (where they come from, whether they are
/// computed ahead) lies beside the graph. Changes that move nodes are collected and take effect at `commit`;
/// until then indices stay as they are.
class Rewrite {
 public:
  struct Note {
    std::vector<int> origin;  ///< nodes of the original graph that it stands for, in order
    bool frozen = false;      ///< depends on graph inputs only and is computed when one of them changes
  };
  explicit Rewrite(const Graph& original);

  Graph graph;
  std::vector<Note> notes;  ///< per node
  int library_calls = 0;    ///< nodes that passes have put a library's call or prepared weights in place of

  Value& value(ValueId id) { return graph.values[static_cast<size_t>(id)]; }
  const Value& value(ValueId id) const { return graph.values[static_cast<size_t>(id)]; }
  Node& node(int n) { return graph.nodes[static_cast<size_t>(n)]; }
  const Node& node(int n) const { return graph.nodes[static_cast<size_t>(n)]; }
  int count() const { return static_cast<int>(graph.nodes.size()); }

  /// A value in memory of its own. Invalidates references to values.
  ValueId add_value(TensorMeta meta);
  /// Puts a node in front of `before` (after those put there earlier).
  void insert(int before, Node node, Note note);
  void erase(int node);
  /// Every use of `from` becomes one of `to`, from node `first` on and in the outputs, inserted nodes
  /// excepted.
  void replace(ValueId from, ValueId to, int first = 0);
  bool pending() const { return !inserted_.empty() || !erased_.empty(); }
  void commit();

  /// True for a graph input that nobody writes and a result of a frozen node: what packed weights may be made
  /// of.
  bool settled(ValueId id, const Uses& uses) const;

 private:
  struct Inserted {
    int before;
    Node node;
    Note note;
  };
  std::vector<Inserted> inserted_;
  std::vector<int> erased_;
  int32_t next_storage_ = 0;
};

/// A rewritten graph in two parts.
struct Split {
  std::shared_ptr<const Graph> main;    ///< without the frozen nodes: `kept` are further inputs of it
  std::shared_ptr<const Graph> frozen;  ///< the frozen nodes, outputs `kept`; null when there are none
  std::vector<ValueId> kept;
  std::vector<int> sources;              ///< inputs that frozen nodes read, by their number
  std::vector<std::vector<int>> origin;  ///< per node of `main`
};
Split split(const Rewrite& rewrite);

}  // namespace breakline::graph
