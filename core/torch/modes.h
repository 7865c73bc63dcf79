// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

namespace breakline::torch {

/// Class of the mode that sees calls first (a torch-function mode, else a dispatch mode), "" when none is in force. GIL.
std::string innermost_mode();

}  // namespace breakline::torch
