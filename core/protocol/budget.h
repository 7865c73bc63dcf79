// SPDX-License-Identifier: GPL-3.0-or-later
// What `breakline check` allows a target, and what it found: the files it reads and writes.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace breakline::protocol {

/// A break that is known: it may move to another line, but not to another function or text.
struct KnownBreak {
  std::string file, function, reason, code;
  int line = 0;  ///< when the budget was written; not compared
};

/// A budget file. What is absent is not limited.
struct Budget {
  int schema = 1;
  std::optional<int> breaks, graphs, given_up;
  std::optional<double> time_ratio;  ///< least eager ÷ compiled
  std::optional<std::vector<KnownBreak>> known;
};

/// One limit that does not hold.
struct Excess {
  std::string what, sentence;
  double allowed = 0, measured = 0;
};

/// The answer of `breakline check --json`.
struct CheckResult {
  int schema = 1;
  bool within = true;
  int breaks = 0, graphs = 0, given_up = 0;
  std::optional<double> time_ratio, time_low, time_high;
  std::vector<Excess> over;
  std::vector<KnownBreak> added, gone;  ///< "new" and "gone" on the wire
  std::vector<std::string> notes;
};

Result<Budget> parse_budget(std::string_view json);
std::string to_json(const Budget& value);
std::string to_json(const CheckResult& value);

}  // namespace breakline::protocol
