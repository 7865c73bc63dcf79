// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

#include "core/cpu/jit.h"

namespace breakline::cpu {

/// The JIT of this process, made at the first call. Null with a sentence in `why` when LLVM can't serve this
/// machine.
Jit* process_jit(std::string* why);

}  // namespace breakline::cpu
