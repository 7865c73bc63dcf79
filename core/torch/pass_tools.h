// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/graph/passes/pass.h"

namespace breakline::torch {

/// What passes ask of PyTorch. `resolve` walks attributes from a module that is imported by its longest
/// dotted name; objects it has given live on. `infer` asks the shape rule, else a call on meta tensors. GIL.
const graph::PassTools& pass_tools();

}  // namespace breakline::torch
