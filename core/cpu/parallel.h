// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>

#include "core/cpu/jit.h"

namespace breakline::cpu {

/// Runs the whole kernel, cut over PyTorch's own threads when there is enough to do (one pool in the process,
/// and torch.set_num_threads rules it). No Python is touched: the caller may have released the GIL.
void run_kernel(KernelFunction function, void* const* buffers, int64_t numel);

/// Below this many elements a kernel stays on the calling thread (PyTorch's own grain).
constexpr int64_t kGrain = 32768;

}  // namespace breakline::cpu
