// SPDX-License-Identifier: GPL-3.0-or-later
// Passes that hold on any device. Each keeps every result, bit for bit.
#pragma once
#include "core/graph/passes/pass.h"

namespace breakline::graph {

/// In-place pointwise nodes become fresh ones where nobody can tell: the tensor was made in the graph and
/// stays in it, nothing made earlier shares its memory, and the fresh result has the same metadata. Only
/// beside other pointwise nodes and matrix products, with which it needs no tensor.
void functional_pass(Rewrite& rewrite, const PassTools& tools);

/// A reshape that has to copy becomes a copy and a view where kernels and products read the result: the copy is a kernel, too.
void copies_pass(Rewrite& rewrite, const PassTools& tools);

/// Nodes whose results nobody needs go, if they have no effect and cannot fail; so does dropout that drops
/// nothing.
void dead_code_pass(Rewrite& rewrite, const PassTools& tools);

/// A node that computes what an earlier one has computed goes, if no result of one of the two can be told
/// from the other's.
void common_pass(Rewrite& rewrite, const PassTools& tools);

/// What is made of constants alone (masks, ranges) is computed once, up to 4 MiB a value. Not what leaves the
/// graph.
void constants_pass(Rewrite& rewrite, const PassTools& tools);

/// No mutation, random numbers or ambient state, and an op of the table: its results follow from its
/// operands.
bool is_pure(const Node& node);

/// Dropout in eval: its result is its operand.
bool drops_nothing(const Node& node);

}  // namespace breakline::graph
