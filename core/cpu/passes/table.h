// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <span>

#include "core/graph/passes/pass.h"

namespace breakline::cpu {

/// In the order in which they run. The library passes put calls of PyTorch's libraries with prepared weights
/// in place of nodes; they run between the two halves of the pure ones.
std::span<const graph::Pass> plain_passes();
std::span<const graph::Pass> library_passes();

}  // namespace breakline::cpu
