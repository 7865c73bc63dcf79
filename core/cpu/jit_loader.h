// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

#include "core/cpu/jit.h"

namespace breakline::cpu {

/// The process's JIT. The first call opens libbreakline_cpu.so (and with it LLVM, some 80 ms); it is looked
/// for next to the object that holds this code, then where the dynamic linker looks. Null with a sentence in
/// `why`, the same at each further call.
Jit* load_jit(std::string* why);
/// Jit::settle of a JIT that is loaded; else nothing. Without the GIL.
void settle_kernels();

}  // namespace breakline::cpu
