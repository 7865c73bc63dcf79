// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>

#include "core/cpu/jit.h"

namespace breakline::cpu {

/// Runs the whole kernel, cut over PyTorch's own threads when there is enough to do (one pool in the process,
/// and torch.set_num_threads rules it). No Python is touched: the caller may have released the GIL.
/// `units`: what the code counts (schedule::Kernel::units); `work`: elements behind each; `piece`: a cut
/// comes at multiples of this many units, so that vectors are rarely cut.
void run_kernel(KernelFunction function, void* const* buffers, int64_t units, int64_t work = 1,
                int64_t piece = 256);
/// Threads of that pool.
int kernel_threads();

/// Below this many elements a kernel stays on the calling thread (PyTorch's own grain).
constexpr int64_t kGrain = 32768;

}  // namespace breakline::cpu
