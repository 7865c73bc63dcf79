// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>

#include "core/graph/passes/pass.h"

namespace breakline::cpu {

/// Values whose results come in another layout than the graph says, with the strides they really have.
using NewStrides = std::map<graph::ValueId, std::vector<int64_t>>;

/// True when `id` may get other strides: made by its producer in memory of its own that nobody
/// writes, but for pointwise operations in place on the value itself.
bool may_change_layout(const graph::Rewrite& rewrite, const graph::Uses& uses, graph::ValueId id);

/// Puts the new strides into the graph and carries them on: through nodes whose results follow from the
/// elements alone (pointwise, pools, cat …), whose metadata are inferred anew; everything else, and the
/// graph's outputs, get a copy with the strides that the program knows, one per value. Nodes whose callable
/// is in `takes_any` take operands in any layout.
void spread_layout(graph::Rewrite& rewrite, const graph::PassTools& tools, const NewStrides& changed,
                   bool (*takes_any)(const graph::Node&));

}  // namespace breakline::cpu
