// SPDX-License-Identifier: GPL-3.0-or-later
// `breakline check`: a report against a budget, and the summaries that a CI shows. Pure functions.
#pragma once
#include <optional>
#include <string>

#include "core/protocol/budget.h"
#include "core/protocol/report.h"

namespace breakline::client {

/// What is measured against a budget. `folder`: paths below it are written relative to it.
struct CheckInput {
  const protocol::Report* report = nullptr;
  const protocol::Timings* timings = nullptr;  ///< null: not timed
  std::string device = "cpu";                  ///< whose arm is timed
  std::string folder;
};

/// The limits that do not hold, the breaks that are new and those that are gone. A time ratio is over only
/// when its whole interval lies below what is allowed; one that can't be told is a note.
protocol::CheckResult check(const CheckInput& input, const protocol::Budget& budget);

/// The budget that holds exactly for what was found; limits that `before` lacks stay absent, its time ratio
/// stays.
protocol::Budget budget_of(const CheckInput& input, const std::optional<protocol::Budget>& before);

std::string check_text(const protocol::CheckResult& result, const std::string& target);
std::string check_markdown(const protocol::CheckResult& result, const std::string& target);
/// SARIF 2.1.0: a result for each break of the report; new ones are errors where the check failed, else
/// warnings, known ones notes.
std::string check_sarif(const CheckInput& input, const protocol::CheckResult& result);

}  // namespace breakline::client
