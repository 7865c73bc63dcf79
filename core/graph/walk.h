// SPDX-License-Identifier: GPL-3.0-or-later
// The values among a node's operands, at any depth.
#pragma once
#include "core/graph/graph.h"

namespace breakline::graph {

/// Calls `visit(ValueId&)` (or `ValueId` for a const argument) for each value in `arg`, in order.
template <class Argument, class Visit>
void walk_values(Argument& arg, Visit&& visit) {
  if (auto* value = std::get_if<Value_>(&arg.v)) visit(value->id);
  if (auto* seq = std::get_if<ArgSeq>(&arg.v))
    for (auto& item : seq->items) walk_values(item, visit);
}

/// The same for positional, then keyword operands of a node.
template <class NodeType, class Visit>
void walk_operands(NodeType& node, Visit&& visit) {
  for (auto& arg : node.args) walk_values(arg, visit);
  for (auto& [name, arg] : node.kwargs) walk_values(arg, visit);
}

/// Positional operand `index`, else keyword `name`, else null.
inline const Arg* operand(const Node& node, size_t index, std::string_view name) {
  if (index < node.args.size()) return &node.args[index];
  for (const auto& [key, arg] : node.kwargs)
    if (key == name) return &arg;
  return nullptr;
}

}  // namespace breakline::graph
