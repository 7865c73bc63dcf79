// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

#include "core/guard/program.h"

namespace breakline::trace {

struct SymFrame;

/// Notes in a step, where its kind leaves room, which instruction looked at what it checks.
void note_guard_place(guard::GuardStep& step, const SymFrame& frame);
/// "FILE:LINE" of that instruction, or "".
std::string guard_place(const guard::GuardStep& step);

}  // namespace breakline::trace
