// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/graph/op_table.h"
#include "core/graph/passes/pure.h"
#include "core/graph/walk.h"

namespace breakline::graph {
namespace {

/// Dropout in eval: its result is its operand.
bool drops_nothing(const Node& node) {
  if (!node.op || node.op->name != "dropout" || node.mutates || node.outputs.size() != 1) return false;
  const Arg* x = operand(node, 0, "input");
  const Arg* train = operand(node, 2, "train");
  const bool* on = train ? std::get_if<bool>(&train->v) : nullptr;
  return on && !*on && x && x->is_value() && x->id() == node.outputs[0];
}

}  // namespace

bool is_pure(const Node& node) { return node.op && !node.mutates && !node.random && !node.ambient; }

void dead_code_pass(Rewrite& r, const PassTools&) {
  std::vector<bool> needed(r.graph.values.size(), false);
  for (const ValueId id : r.graph.outputs) needed[static_cast<size_t>(id)] = true;
  for (int n = r.count(); n-- > 0;) {
    const Node& node = r.node(n);
    const bool used = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
      return id != kNoValue && needed[static_cast<size_t>(id)];
    });
    const bool idle = !used && is_pure(node) && !node.may_fail;
    if (idle || drops_nothing(node)) {
      r.erase(n);
      continue;
    }
    walk_operands(node, [&](ValueId id) { needed[static_cast<size_t>(id)] = true; });
  }
}

}  // namespace breakline::graph
