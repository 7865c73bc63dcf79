// SPDX-License-Identifier: GPL-3.0-or-later
// Timings as text for a terminal.
#pragma once
#include <string>

#include "core/client/report_text.h"
#include "core/protocol/timeline.h"

namespace breakline::client {

/// The table of arms with median, spread, ratio and verdict, below it what holds for all of them: noise,
/// compile times, floor, warnings. Columns that no arm fills are left out.
std::string timings_text(const protocol::Timings& timings, const TextOptions& options);

/// Where the time of a call goes, and what recording it cost.
std::string timeline_text(const protocol::Timeline& timeline);

}  // namespace breakline::client
