// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/graph/passes/pass.h"

namespace breakline::cpu {

/// Attention written out (two products around a softmax over the last dim, with a scale, a mask that is added
/// or filled in, and dropout that drops nothing) becomes one call of PyTorch's fused one, which does not keep
/// the scores.
void attention_pass(graph::Rewrite& rewrite, const graph::PassTools& tools);

}  // namespace breakline::cpu
