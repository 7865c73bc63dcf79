// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "app/cli/arguments.h"

namespace breakline::cli {

/// Exit codes of every program of ours. kGateFailed is also diagnose without a hit.
enum ExitCode { kDone = 0, kGateFailed = 1, kBadInput = 2, kUserCode = 3, kEngineDied = 4 };

/// Runs the command; returns its exit code. `run` and `python` replace this process and return only on
/// failure.
int run_command(const Arguments& arguments);

/// Prints "breakline: SENTENCE" on stderr and returns `code`.
int complain(const std::string& sentence, int code);

}  // namespace breakline::cli
