// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/graph/passes/pass.h"

namespace breakline::cpu {

/// Linear layers (`linear`, `addmm` with a bias of one dim) whose weight can be kept run by MKL with the
/// weight packed ahead for the number of rows at hand, where that was measured to be faster. oneDNN's packed
/// form was slower than both throughout.
void linear_pass(graph::Rewrite& rewrite, const graph::PassTools& tools);

}  // namespace breakline::cpu
