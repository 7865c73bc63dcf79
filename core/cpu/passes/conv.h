// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/graph/passes/pass.h"

namespace breakline::cpu {

/// Two-dimensional convolutions with weights that can be kept run by oneDNN with weights packed ahead,
/// channels last; the layout is carried on through what follows. No activation goes into the call: oneDNN's
/// own lose NaN, and a kernel does it as fast.
void conv_pass(graph::Rewrite& rewrite, const graph::PassTools& tools);

}  // namespace breakline::cpu
