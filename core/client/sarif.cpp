// SPDX-License-Identifier: GPL-3.0-or-later
// Breaks as SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0/), which code hosts show beside the
// lines.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "core/client/check.h"

namespace breakline::client {

std::string check_sarif(const CheckInput& input, const protocol::CheckResult& result) {
  using Json = nlohmann::ordered_json;
  std::vector<protocol::KnownBreak> added = result.added;
  std::set<std::string> seen;
  Json rules = Json::array(), results = Json::array();
  for (const protocol::Break& b : input.report->breaks) {
    const std::filesystem::path inside = std::filesystem::path(b.file).lexically_relative(input.folder);
    const bool below = !input.folder.empty() && !inside.empty() && *inside.begin() != "..";
    const std::string file = below ? inside.generic_string() : b.file;
    if (seen.insert(b.reason).second)
      rules.push_back({{"id", b.reason},
                       {"shortDescription", {{"text", b.type}}},
                       {"fullDescription", {{"text", b.explanation}}}});
    std::string level = "note";
    for (auto it = added.begin(); it != added.end(); ++it)
      if (it->file == file && it->line == b.line && it->reason == b.reason) {
        level = result.within ? "warning" : "error";
        added.erase(it);
        break;
      }
    Json region = {{"startLine", std::max(b.line, 1)}};
    if (b.column >= 0) region["startColumn"] = b.column + 1;
    if (b.end_line >= b.line && b.end_line > 0) region["endLine"] = b.end_line;
    if (b.end_column >= 0) region["endColumn"] = b.end_column + 1;
    Json uri = {{"uri", below ? file : "file://" + file}};
    if (below) uri["uriBaseId"] = "SRCROOT";
    std::string text = b.type + ": " + b.explanation;
    for (const std::string& hint : b.hints) text += " " + hint;
    results.push_back(
        {{"ruleId", b.reason},
         {"level", level},
         {"message", {{"text", text}}},
         {"locations",
          Json::array({{{"physicalLocation", {{"artifactLocation", uri}, {"region", region}}}}})}});
  }
  const Json run = {
      {"tool", {{"driver", {{"name", "Breakline"}, {"version", input.report->breakline}, {"rules", rules}}}}},
      {"columnKind", "unicodeCodePoints"},
      {"results", results}};
  const Json sarif = {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                      {"version", "2.1.0"},
                      {"runs", Json::array({run})}};
  return sarif.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace breakline::client
