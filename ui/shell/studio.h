// SPDX-License-Identifier: GPL-3.0-or-later
// Puts the window together; the program's main is a call to this.
#pragma once

namespace breakline::ui {

/// Runs Breakline Studio and returns its exit code (0 done, 2 usage or bad input, 3 user code raised, 4
/// engine died).
int run_studio(int argc, char** argv);

}  // namespace breakline::ui
