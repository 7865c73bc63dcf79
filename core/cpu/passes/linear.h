// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/graph/passes/pass.h"

namespace breakline::cpu {

/// Linear layers (`linear`, `addmm` with a bias of one dim) whose weight can be kept run by MKL with the
/// weight packed ahead for the number of rows at hand. Measured with one thread, oneDNN's packed form is
/// slower than PyTorch's own call and MKL's faster.
void linear_pass(graph::Rewrite& rewrite, const graph::PassTools& tools);

}  // namespace breakline::cpu
