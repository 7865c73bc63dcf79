// SPDX-License-Identifier: GPL-3.0-or-later
// A timeline of real calls, as `breakline trace-export` takes it.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace breakline::protocol {

/// Parameters of `timeline`.
struct TimelineParams {
  std::string target;
  int calls = 20;
};

/// Where the time of one call goes, in microseconds; the parts follow one another without gaps.
struct TimelineParts {
  double entry = 0, segments = 0, breaks = 0, python = 0, exit = 0, compile = 0, call = 0;
};

/// What is recorded of the calls; the events themselves are in `trace_of`.
struct Timeline {
  int schema = 1, calls = 0;
  std::string target;
  double call_us = 0, recorded_call_us = 0;  ///< medians without and with the recording
  double events_a_call = 0;
  double event_ns = 0;     ///< cost of an event, measured in the same process
  double event_share = 0;  ///< of a call
  std::optional<TimelineParts> parts_us;
};

std::string to_json(const TimelineParams& value);
std::string to_json(const Timeline& value);
Result<Timeline> parse_timeline(std::string_view json);
/// The Chrome trace in an answer to `timeline`, as the text of a file.
Result<std::string> trace_of(std::string_view json);

}  // namespace breakline::protocol
