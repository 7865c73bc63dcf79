// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/graph/op_table.h"
#include "core/graph/passes/pure.h"
#include "core/graph/walk.h"

namespace breakline::graph {
namespace {

constexpr int64_t kMostBytes = int64_t{4} << 20;

size_t at(int32_t index) { return static_cast<size_t>(index); }

/// Results that stay inside, in memory that nobody writes and no unknown callable sees.
bool stays_inside(const Rewrite& r, const Uses& uses, const Node& node) {
  return std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
    if (id == kNoValue) return false;
    const Value& value = r.value(id);
    if (value.storage < 0 || value.is_scalar || value.meta.device != DeviceKind::kCpu || !value.meta.plain)
      return false;
    const size_t storage = at(value.storage);
    return !uses.escapes[storage] && !uses.given[storage] && uses.writers[storage].empty() &&
           !uses.opaque[storage] && value.meta.numel() * item_size(value.meta.dtype) <= kMostBytes;
  });
}

}  // namespace

void constants_pass(Rewrite& r, const PassTools&) {
  const bool changes_state =
      std::any_of(r.graph.nodes.begin(), r.graph.nodes.end(), [](const Node& n) { return n.ambient; });
  if (changes_state) return;
  const Uses uses(r.graph);
  for (int n = 0; n < r.count(); ++n) {
    const Node& node = r.node(n);
    if (!is_pure(node) || node.may_fail || node.outputs.empty() || node.op->name.starts_with("empty"))
      continue;
    bool constant = true, any = false;
    walk_operands(node, [&](ValueId id) {
      any = true;
      constant = constant && r.value(id).producer >= 0 && r.notes[at(r.value(id).producer)].frozen;
    });
    if (!constant || (!any && node.op->kind != OpKind::kFactory) || !stays_inside(r, uses, node)) continue;
    r.notes[at(n)].frozen = true;
  }
}

}  // namespace breakline::graph
