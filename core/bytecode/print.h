// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

#include "core/bytecode/code.h"

namespace breakline::bytecode {

/// Stable text of a code object in normal form: a line of source number, instruction number, jump mark, name,
/// operand per instruction, then the exception table. The same program gives the same text on every CPython
/// but for what the compilers of the versions do differently. GIL.
std::string print(const Code& code);

}  // namespace breakline::bytecode
