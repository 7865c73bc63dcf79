// SPDX-License-Identifier: GPL-3.0-or-later
// The table of break reasons: parsed once from the built-in JSON, then read only.
#include "core/diagnose/reasons.h"

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "core/diagnose/embedded.h"

namespace breakline::diagnose {
namespace {

struct Table {
  std::vector<Reason> rows;
  std::unordered_map<std::string_view, const Reason*> by_id;
};

// "GB0025" and ".../gb{number}.html" give ".../gb0025.html".
std::string page_of(const std::string& pattern, const std::string& gb_id) {
  if (gb_id.size() < 3) return {};
  const std::string_view slot = "{number}";
  const std::size_t at = pattern.find(slot);
  if (at == std::string::npos) return {};
  return pattern.substr(0, at) + gb_id.substr(2) + pattern.substr(at + slot.size());
}

Table parse_table() {
  Table table;
  // The file is part of the program: a fault in it is a fault of the build, and the unit test finds it first.
  const nlohmann::json document = nlohmann::json::parse(embedded_reasons().front().text);
  const auto pattern = document.at("url").get<std::string>();
  for (const nlohmann::json& row : document.at("reasons")) {
    Reason reason;
    row.at("id").get_to(reason.id);
    row.at("gb_id").get_to(reason.gb_id);
    row.at("group").get_to(reason.group);
    row.at("label").get_to(reason.label);
    row.at("label_zh").get_to(reason.label_zh);
    row.at("type").get_to(reason.type);
    row.at("explanation").get_to(reason.explanation);
    row.at("hints").get_to(reason.hints);
    row.at("context").get_to(reason.context);
    row.at("knowledge").get_to(reason.knowledge);
    reason.url = page_of(pattern, reason.gb_id);
    table.rows.push_back(std::move(reason));
  }
  for (const Reason& reason : table.rows) table.by_id.emplace(reason.id, &reason);
  return table;
}

const Table& table() {
  static const Table parsed = [] {
    try {
      return parse_table();
    } catch (const nlohmann::json::exception& error) {
      std::fprintf(stderr, "breakline: the built-in table of break reasons is broken: %s\n", error.what());
      std::abort();
    }
  }();
  return parsed;
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

const Reason* find_reason(std::string_view id) {
  const auto found = table().by_id.find(id);
  return found == table().by_id.end() ? nullptr : found->second;
}

const Reason* find_reason_by_type(std::string_view type) {
  for (const Reason& reason : table().rows)
    if (reason.type == type || fill_template(reason.type, {}) == type) return &reason;
  return nullptr;
}

std::span<const Reason> all_reasons() { return table().rows; }

std::string fill_template(std::string_view text, std::span<const Argument> arguments) {
  std::string filled;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] != '{') {
      filled += text[i++];
      continue;
    }
    std::size_t end = i + 1;
    while (end < text.size() && is_name_character(text[end])) ++end;
    const std::string_view name = text.substr(i + 1, end - i - 1);
    std::string_view fallback = "…";
    std::size_t close = end;
    if (!name.empty() && end < text.size() && text[end] == '|') {
      // A default may itself hold a pair of braces, as in {kwargs|{}}.
      int depth = 1;
      for (close = end + 1; close < text.size(); ++close) {
        if (text[close] == '{') ++depth;
        if (text[close] == '}' && --depth == 0) break;
      }
      fallback = text.substr(end + 1, close - end - 1);
    }
    if (name.empty() || close >= text.size() || text[close] != '}') {
      filled += text[i++];
      continue;
    }
    for (const Argument& argument : arguments)
      if (argument.first == name) fallback = argument.second;
    filled += fallback;
    i = close + 1;
  }
  return filled;
}

Rendered render(const Reason& reason, std::span<const Argument> arguments) {
  Rendered rendered;
  rendered.type = fill_template(reason.type, arguments);
  rendered.explanation = fill_template(reason.explanation, arguments);
  for (const std::string& hint : reason.hints) rendered.hints.push_back(fill_template(hint, arguments));
  rendered.context = fill_template(reason.context, arguments);
  rendered.url = reason.url;
  return rendered;
}

Rendered render(const Reason& reason, std::initializer_list<Argument> arguments) {
  return render(reason, std::span<const Argument>(arguments.begin(), arguments.size()));
}

}  // namespace breakline::diagnose
