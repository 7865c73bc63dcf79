// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/graph/passes/pass.h"

namespace breakline::cpu {

/// Batch norm with given statistics: behind a convolution that nobody else looks at it goes into the weights,
/// which are computed ahead; elsewhere it becomes a product and a sum with terms that are computed ahead, so
/// that a kernel can hold it.
void batch_norm_pass(graph::Rewrite& rewrite, const graph::PassTools& tools);

}  // namespace breakline::cpu
