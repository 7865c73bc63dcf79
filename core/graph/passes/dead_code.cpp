// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <iterator>
#include <string_view>

#include "core/graph/op_table.h"
#include "core/graph/passes/pure.h"
#include "core/graph/walk.h"

namespace breakline::graph {

bool drops_nothing(const Node& node) {
  static constexpr std::string_view kForms[] = {"dropout", "feature_dropout", "alpha_dropout",
                                                "feature_alpha_dropout"};
  std::string_view name = std::string_view(node.name).substr(node.name.rfind('.') + 1);
  if (name.ends_with('_')) name.remove_suffix(1);  // in place: nothing is written either
  if (std::find(std::begin(kForms), std::end(kForms), name) == std::end(kForms) || node.outputs.size() != 1)
    return false;
  const Arg* x = operand(node, 0, "input");
  const Arg* train = operand(node, 2, "train");
  const bool* on = train ? std::get_if<bool>(&train->v) : nullptr;
  return on && !*on && x && x->is_value() && x->id() == node.outputs[0];
}

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
