// SPDX-License-Identifier: GPL-3.0-or-later
// Reports and parities as text for a terminal.
#pragma once
#include <string>

#include "core/protocol/report.h"

namespace breakline::client {

struct TextOptions {
  bool colour = false;  ///< terminal colours
  std::string folder;   ///< paths below it are shown relative to it
  bool strict = false;  ///< ends with the verdict of the gate
};

/// Segments with their ops, breaks with reason and place, policy, counts, errors: everything in a report but
/// the user's own output. Source lines are read from the files named, where they still exist.
std::string report_text(const protocol::Report& report, const TextOptions& options);

/// Both sides' counts and every place with who breaks there and why.
std::string parity_text(const protocol::Parity& parity, const TextOptions& options);
/// The texts of a dump, each under a line that says whose it is; what has no such stage says so.
std::string dump_text(const protocol::Dump& dump, const TextOptions& options);

}  // namespace breakline::client
