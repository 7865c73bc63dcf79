// SPDX-License-Identifier: GPL-3.0-or-later
// Entry points of libbreakline_cpu.so.
#include "core/cpu/orc_jit.h"

#define BL_EXPORT extern "C" __attribute__((visibility("default")))

BL_EXPORT int breakline_cpu_interface() { return breakline::cpu::kJitInterface; }
BL_EXPORT breakline::cpu::Jit* breakline_cpu_jit(std::string* why) {
  return breakline::cpu::process_jit(why);
}
