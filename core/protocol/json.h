// SPDX-License-Identifier: GPL-3.0-or-later
// Structs of report.h from and to JSON text. Reading is tolerant of unknown and absent fields, so that a
// newer engine can add some; a field of the wrong type is an error that names its path.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/report.h"

namespace breakline::protocol {

Result<Hello> parse_hello(std::string_view json);
Result<Report> parse_report(std::string_view json);
Result<Timings> parse_timings(std::string_view json);
Result<Parity> parse_parity(std::string_view json);
Result<Dump> parse_dump(std::string_view json);

std::string to_json(const Hello& value);
std::string to_json(const Report& value);
std::string to_json(const Timings& value);
std::string to_json(const OpenParams& value);
std::string to_json(const TimeParams& value);
std::string to_json(const DumpParams& value);
std::string to_json(const std::vector<Overlay>& overlays);

/// Overlays of a policy file: `[{"key": …, "value": …}]`, `{"overlays": [...]}` or an object of key: value.
Result<std::vector<Overlay>> parse_overlays(std::string_view json);

/// The same JSON with two blanks of indent. The input must be JSON (else it comes back as it is).
std::string pretty(std::string_view json);

/// Paths of fields (as "targets[].segments[].ops[].name") that `json` has and a Report lacks, or the other
/// way round for objects that are there. Both lists are empty when engine and client agree; for tests.
struct FieldDifference {
  std::vector<std::string> unknown, missing;
};
FieldDifference compare_report_fields(std::string_view json);

}  // namespace breakline::protocol
