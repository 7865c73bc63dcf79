// SPDX-License-Identifier: GPL-3.0-or-later
// `breakline`, the command line twin of Breakline Studio.
#include "app/cli/arguments.h"
#include "app/cli/commands.h"

int main(int count, char** words) {
  const auto arguments = breakline::cli::parse_arguments({words + 1, words + count});
  if (!arguments) return breakline::cli::complain(arguments.error().message, breakline::cli::kBadInput);
  return breakline::cli::run_command(*arguments);
}
