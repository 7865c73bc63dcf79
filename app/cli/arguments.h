// SPDX-License-Identifier: GPL-3.0-or-later
// The command line.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/report.h"

namespace breakline::cli {

enum class Command {
  kHelp,
  kVersion,
  kExplain,
  kRun,
  kPython,
  kDiagnose,
  kTime,
  kBench,
  kParity,
  kCheck,
  kDump,
  kTraceExport
};

/// What the user asked for. Only the fields of the command are filled.
struct Arguments {
  Command command = Command::kHelp;
  std::string help_topic;  ///< kHelp: a command's name, or empty
  std::string python;      ///< --python
  bool json = false, strict = false, chinese = false;
  std::optional<double> timeout_s;
  protocol::OpenParams open;            ///< explain, time, …
  protocol::TimeParams time;            ///< time, bench
  std::string bench_device = "cpu";     ///< bench: whose arms
  std::string file;                     ///< diagnose: FILE or "-"
  std::string budget, markdown, sarif;  ///< check: files
  std::string output;                   ///< trace-export: a file
  int calls = 20;                       ///< trace-export
  std::string stage;                    ///< dump
  bool update = false;                  ///< check: write the budget instead
  std::vector<std::string> rest;  ///< run: script and its arguments; python: the interpreter's arguments
};

/// Reads the arguments after the program's name. Errors are one sentence each.
Result<Arguments> parse_arguments(const std::vector<std::string>& words);

/// The text of --help, for all commands or one.
std::string help_text(const std::string& topic);

}  // namespace breakline::cli
