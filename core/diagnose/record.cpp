// SPDX-License-Identifier: GPL-3.0-or-later
// Reads one knowledge record: JSON, a check against the schema (resources/knowledge/README.md), then the
// struct. Unknown fields are neither refused nor lost: the whole document stays in Record::json.
#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>

#include "core/diagnose/knowledge.h"

namespace breakline::diagnose {
namespace {

using Json = nlohmann::json;

enum class Kind {
  Text,          // a string that is not empty
  String,        // a string
  StringOrNull,  // a string or null
  Url,           // "http…" or null
  Date,          // "YYYY-MM-DD" or null
  Rate,          // a number from 0 to 1, or null: never measured
  Count,         // a whole number from 0
  Strings,       // an array of strings
  Objects,       // an array of objects
  Object,
  Pattern,  // a regular expression that compiles
  Id,       // words of a-z 0-9 . _ - joined by slashes
};

struct Field {
  const char* name;
  Kind kind;
  bool required;
};

constexpr Field kRecordFields[] = {
    {"id", Kind::Id, true},
    {"signature", Kind::Text, true},
    {"signature_zh", Kind::StringOrNull, false},
    {"regex", Kind::Pattern, true},
    {"domain", Kind::Text, true},
    {"category", Kind::Text, true},
    {"subcategory", Kind::StringOrNull, false},
    {"root_cause", Kind::Text, true},
    {"root_cause_type", Kind::StringOrNull, false},
    {"root_cause_zh", Kind::StringOrNull, false},
    {"versions", Kind::Objects, false},
    {"os_specific", Kind::Object, false},
    {"dead_ends", Kind::Objects, true},
    {"workarounds", Kind::Objects, true},
    {"workarounds_zh", Kind::Strings, false},
    {"transition_graph", Kind::Object, false},
    {"official_doc_url", Kind::Url, false},
    {"official_doc_section", Kind::StringOrNull, false},
    {"error_code", Kind::StringOrNull, false},
    {"verification_tier", Kind::Text, true},
    {"confidence", Kind::Rate, false},
    {"fix_success_rate", Kind::Rate, false},
    {"resolvable", Kind::StringOrNull, false},
    {"first_seen", Kind::Date, false},
    {"last_confirmed", Kind::Date, false},
    {"last_updated", Kind::Date, false},
    {"evidence_count", Kind::Count, true},
    {"tags", Kind::Strings, false},
    {"locale", Kind::StringOrNull, false},
    {"aliases", Kind::Strings, false},
    {"reasons", Kind::Strings, false},
};
constexpr Field kDeadEndFields[] = {
    {"action", Kind::Text, true},
    {"why_fails", Kind::Text, true},
    {"fail_rate", Kind::Rate, false},
    {"condition", Kind::StringOrNull, false},
    {"sources", Kind::Strings, false},
    {"action_zh", Kind::StringOrNull, false},
    {"why_fails_zh", Kind::StringOrNull, false},
};
constexpr Field kWorkaroundFields[] = {
    {"action", Kind::Text, true},      {"success_rate", Kind::Rate, false},
    {"how", Kind::Text, true},         {"condition", Kind::StringOrNull, false},
    {"sources", Kind::Strings, false}, {"how_zh", Kind::StringOrNull, false},
};
constexpr Field kVersionFields[] = {
    {"version", Kind::Text, true},
    {"status", Kind::StringOrNull, false},
};
constexpr Field kTransitionFields[] = {
    {"leads_to", Kind::Strings, false},
    {"preceded_by", Kind::Strings, false},
    {"frequently_confused_with", Kind::Strings, false},
};

bool is_id(const std::string& text) {
  bool word = false;  // inside a word
  for (char c : text) {
    const bool good = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    if (!good && !(c == '/' && word)) return false;
    word = good;
  }
  return word;
}

bool is_date(const std::string& text) {
  if (text.size() != 10) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 4 || i == 7;
    if (dash ? text[i] != '-' : text[i] < '0' || text[i] > '9') return false;
  }
  return true;
}

bool all_of_kind(const Json& array, bool (Json::*test)() const noexcept, std::string& index) {
  for (std::size_t i = 0; i < array.size(); ++i)
    if (!(array[i].*test)()) {
      index = "[" + std::to_string(i) + "]";
      return false;
    }
  return true;
}

// What is wrong with a value: empty when nothing. `where` gets the index inside an array.
std::string fault(const Json& value, Kind kind, std::string& where) {
  switch (kind) {
    case Kind::Text:
      return value.is_string() && !value.get_ref<const std::string&>().empty()
                 ? ""
                 : "expected a text that is not empty";
    case Kind::String:
      return value.is_string() ? "" : "expected a text";
    case Kind::StringOrNull:
      return value.is_string() || value.is_null() ? "" : "expected a text or null";
    case Kind::Url:
      return value.is_null() || (value.is_string() && value.get_ref<const std::string&>().starts_with("http"))
                 ? ""
                 : "expected a web address or null";
    case Kind::Date:
      return value.is_null() || (value.is_string() && is_date(value.get_ref<const std::string&>()))
                 ? ""
                 : "expected a date like 2024-06-01 or null";
    case Kind::Rate: {
      if (value.is_null()) return "";
      const double rate = value.is_number() ? value.get<double>() : -1;
      return rate >= 0 && rate <= 1 ? "" : "expected a number from 0 to 1 or null";
    }
    case Kind::Count:
      return value.is_number_unsigned() ? "" : "expected a whole number from 0";
    case Kind::Strings:
      return value.is_array() && all_of_kind(value, &Json::is_string, where) ? ""
                                                                             : "expected a list of texts";
    case Kind::Objects:
      return value.is_array() && all_of_kind(value, &Json::is_object, where) ? ""
                                                                             : "expected a list of objects";
    case Kind::Object:
      return value.is_object() ? "" : "expected an object";
    case Kind::Id:
      return value.is_string() && is_id(value.get_ref<const std::string&>())
                 ? ""
                 : "expected lower-case words joined by slashes, like pytorch/some-error";
    case Kind::Pattern:
      if (!value.is_string() || value.get_ref<const std::string&>().empty())
        return "expected a regular expression";
      try {
        const std::regex compiled(value.get_ref<const std::string&>());
        return "";
      } catch (const std::regex_error& error) {
        return std::string("not a regular expression: ") + error.what();
      }
  }
  return "";
}

// The first broken field as "path: what is wrong", or empty.
std::string check(const Json& object, std::span<const Field> fields, const std::string& path) {
  for (const Field& field : fields) {
    const auto found = object.find(field.name);
    if (found == object.end()) {
      if (field.required) return path + field.name + ": missing";
      continue;
    }
    std::string where;
    const std::string wrong = fault(*found, field.kind, where);
    if (!wrong.empty()) return path + field.name + where + ": " + wrong;
  }
  return "";
}

struct Nested {
  const char* name;
  std::span<const Field> fields;
};

std::string check_record(const Json& document) {
  if (!document.is_object()) return "expected an object at the top";
  std::string wrong = check(document, kRecordFields, "");
  const Nested nested[] = {
      {"dead_ends", kDeadEndFields}, {"workarounds", kWorkaroundFields}, {"versions", kVersionFields}};
  for (const Nested& list : nested) {
    if (!wrong.empty()) return wrong;
    const auto found = document.find(list.name);
    if (found == document.end()) continue;
    for (std::size_t i = 0; i < found->size() && wrong.empty(); ++i)
      wrong = check((*found)[i], list.fields, std::string(list.name) + "[" + std::to_string(i) + "].");
  }
  if (wrong.empty() && document.contains("transition_graph"))
    wrong = check(document["transition_graph"], kTransitionFields, "transition_graph.");
  return wrong;
}

std::string text_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<double> rate_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::vector<std::string> texts_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? std::vector<std::string>() : found->get<std::vector<std::string>>();
}

Record convert(const Json& document) {
  Record record;
  record.id = text_of(document, "id");
  record.signature = text_of(document, "signature");
  record.signature_zh = text_of(document, "signature_zh");
  record.regex = text_of(document, "regex");
  record.domain = text_of(document, "domain");
  record.category = text_of(document, "category");
  record.root_cause = text_of(document, "root_cause");
  record.root_cause_zh = text_of(document, "root_cause_zh");
  record.root_cause_type = text_of(document, "root_cause_type");
  for (const Json& entry : document.at("dead_ends")) {
    record.dead_ends.push_back({text_of(entry, "action"), text_of(entry, "action_zh"),
                                text_of(entry, "why_fails"), text_of(entry, "why_fails_zh"),
                                text_of(entry, "condition"), rate_of(entry, "fail_rate"),
                                texts_of(entry, "sources")});
  }
  const std::vector<std::string> translated = texts_of(document, "workarounds_zh");
  for (const Json& entry : document.at("workarounds")) {
    const std::size_t index = record.workarounds.size();
    Workaround workaround{text_of(entry, "action"),    index < translated.size() ? translated[index] : "",
                          text_of(entry, "how"),       text_of(entry, "how_zh"),
                          text_of(entry, "condition"), rate_of(entry, "success_rate"),
                          texts_of(entry, "sources")};
    record.workarounds.push_back(std::move(workaround));
  }
  record.aliases = texts_of(document, "aliases");
  record.tags = texts_of(document, "tags");
  record.reasons = texts_of(document, "reasons");
  record.official_doc_url = text_of(document, "official_doc_url");
  if (const auto graph = document.find("transition_graph"); graph != document.end())
    for (const char* name : {"leads_to", "frequently_confused_with", "preceded_by"})
      for (std::string& id : texts_of(*graph, name)) record.related.push_back(std::move(id));
  record.verification_tier = text_of(document, "verification_tier");
  record.resolvable = text_of(document, "resolvable");
  record.first_seen = text_of(document, "first_seen");
  record.last_confirmed = text_of(document, "last_confirmed");
  record.last_updated = text_of(document, "last_updated");
  record.confidence = rate_of(document, "confidence");
  record.fix_success_rate = rate_of(document, "fix_success_rate");
  record.evidence_count = document.at("evidence_count").get<std::size_t>();
  record.json = document.dump();
  return record;
}

}  // namespace

Result<Record> parse_record(std::string_view json_text, std::string_view origin) {
  const std::string prefix = std::string(origin) + ": ";
  try {
    const Json document = Json::parse(json_text);
    const std::string wrong = check_record(document);
    if (!wrong.empty()) return Error{prefix + wrong};
    return convert(document);
  } catch (const Json::parse_error& error) {
    return Error{prefix + "not JSON at byte " + std::to_string(error.byte) +
                 "; check for a missing comma or quote"};
  } catch (const Json::exception& error) {
    return Error{prefix + error.what()};
  }
}

std::string matches_to_json(std::span<const Match> matches) {
  Json list = Json::array();
  for (const Match& match : matches)
    list.push_back({{"record", Json::parse(match.record->json)},
                    {"score", std::round(match.score * 1000) / 1000},
                    {"why", match.why}});
  return list.dump();
}

}  // namespace breakline::diagnose
