// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/protocol/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <type_traits>

#include "core/protocol/fields.h"

namespace breakline::protocol {
namespace {

using Json = nlohmann::ordered_json;

/// Thrown inside this file only: the path and what was expected there.
struct WrongField {
  std::string path, expected;
};

template <class T>
void read(const Json& j, T& out, const std::string& path);

struct Reader {
  const Json& object;
  const std::string& path;
  template <class T>
  void operator()(const char* name, T& field) {
    const auto found = object.find(name);
    if (found == object.end() || found->is_null()) return;
    read(*found, field, path.empty() ? name : path + "." + name);
  }
};

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};

template <class T>
void read(const Json& j, T& out, const std::string& path) {
  if constexpr (std::is_same_v<T, std::string>) {
    if (!j.is_string()) throw WrongField{path, "a text"};
    out = j.get<std::string>();
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!j.is_boolean()) throw WrongField{path, "true or false"};
    out = j.get<bool>();
  } else if constexpr (std::is_arithmetic_v<T>) {
    if (!j.is_number()) throw WrongField{path, "a number"};
    out = j.get<T>();
  } else if constexpr (IsOptional<T>::value) {
    out.emplace();
    read(j, *out, path);
  } else if constexpr (IsVector<T>::value) {
    if (!j.is_array()) throw WrongField{path, "a list"};
    out.clear();
    for (std::size_t n = 0; n < j.size(); ++n)
      read(j[n], out.emplace_back(), path + "[" + std::to_string(n) + "]");
  } else {
    if (!j.is_object()) throw WrongField{path, "an object"};
    Reader reader{j, path};
    walk(reader, out);
  }
}

template <class T>
Json write(const T& value);

struct Writer {
  Json object = Json::object();
  template <class T>
  void operator()(const char* name, T& field) {
    object[name] = write(field);
  }
};

template <class T>
Json write(const T& value) {
  if constexpr (std::is_same_v<T, std::string> || std::is_arithmetic_v<T>) {
    return value;
  } else if constexpr (IsOptional<T>::value) {
    return value ? write(*value) : Json(nullptr);
  } else if constexpr (IsVector<T>::value) {
    Json list = Json::array();
    for (const auto& item : value) list.push_back(write(item));
    return list;
  } else {
    Writer writer;
    walk(writer, const_cast<T&>(value));  // the walk is shared with reading; the writer only looks
    return std::move(writer.object);
  }
}

std::string dump(const Json& j, int indent = -1) {
  return j.dump(indent, ' ', false, Json::error_handler_t::replace);
}

template <class T>
Result<T> parse(std::string_view text, const char* what) {
  const Json j = Json::parse(text, nullptr, false);
  if (j.is_discarded()) return Error{std::string("The engine's ") + what + " is not JSON."};
  T value;
  try {
    read(j, value, "");
  } catch (const WrongField& wrong) {
    return Error{std::string("The engine's ") + what + " is not what this version expects: " + wrong.path +
                 " is not " + wrong.expected + "."};
  }
  return value;
}

template <class T>
std::string text_of(const T& value) {
  return dump(write(value));
}

/// Collects "path" for every field of every object.
void collect(const Json& j, const std::string& path, std::set<std::string>& out) {
  if (j.is_object()) {
    for (const auto& [name, item] : j.items()) {
      const std::string inner = path.empty() ? name : path + "." + name;
      out.insert(inner);
      collect(item, inner, out);
    }
  } else if (j.is_array()) {
    for (const auto& item : j) collect(item, path + "[]", out);
  }
}

}  // namespace

Result<Hello> parse_hello(std::string_view json) { return parse<Hello>(json, "greeting"); }
Result<Report> parse_report(std::string_view json) { return parse<Report>(json, "report"); }
Result<Timings> parse_timings(std::string_view json) { return parse<Timings>(json, "timing result"); }
Result<Parity> parse_parity(std::string_view json) { return parse<Parity>(json, "parity result"); }
Result<Dump> parse_dump(std::string_view json) { return parse<Dump>(json, "dump"); }

std::string to_json(const Hello& value) { return text_of(value); }
std::string to_json(const Report& value) { return text_of(value); }
std::string to_json(const Timings& value) { return text_of(value); }
std::string to_json(const OpenParams& value) { return text_of(value); }
std::string to_json(const TimeParams& value) { return text_of(value); }
std::string to_json(const DumpParams& value) { return text_of(value); }
std::string to_json(const TimelineParams& value) { return text_of(value); }
std::string to_json(const Timeline& value) { return text_of(value); }
Result<Timeline> parse_timeline(std::string_view json) { return parse<Timeline>(json, "timeline"); }

Result<std::string> trace_of(std::string_view json) {
  const Json j = Json::parse(json, nullptr, false);
  if (!j.is_object() || !j.contains("trace")) return Error{"The engine sent a timeline without a trace."};
  return dump(j["trace"], 0);
}
std::string to_json(const std::vector<Overlay>& overlays) { return text_of(overlays); }

std::string to_json(const CheckResult& value) { return text_of(value); }
std::string to_json(const Budget& value) {
  Json j = write(value);
  for (auto it = j.begin(); it != j.end();)
    it = it->is_null() ? j.erase(it) : std::next(it);  // what is not limited is absent
  return dump(j, 2) + "\n";
}

Result<Budget> parse_budget(std::string_view json) {
  const Json j = Json::parse(json, nullptr, false);
  if (j.is_discarded() || !j.is_object()) return Error{"it is not a JSON object"};
  Budget budget;
  const Json fields = write(budget);
  for (const auto& [name, value] : j.items())
    if (!fields.contains(name)) return Error{"it limits '" + name + "', which is not known"};
  try {
    read(j, budget, "");
  } catch (const WrongField& wrong) {
    return Error{wrong.path + " is not " + wrong.expected};
  }
  if (budget.schema != 1)
    return Error{"its schema is " + std::to_string(budget.schema) + ", this version knows 1"};
  return budget;
}

Result<std::vector<Overlay>> parse_overlays(std::string_view json) {
  const Json j = Json::parse(json, nullptr, false);
  if (j.is_discarded()) return Error{"it is not JSON"};
  const Json& list = j.is_object() && j.contains("overlays") ? j["overlays"] : j;
  std::vector<Overlay> overlays;
  if (list.is_object()) {
    for (const auto& [key, value] : list.items()) {
      if (!value.is_string()) return Error{"the policy of '" + key + "' is not a text"};
      overlays.push_back({key, value.get<std::string>()});
    }
    return overlays;
  }
  try {
    read(list, overlays, "overlays");
  } catch (const WrongField& wrong) {
    return Error{wrong.path + " is not " + wrong.expected};
  }
  for (const Overlay& overlay : overlays)
    if (overlay.key.empty() || overlay.value.empty()) return Error{"an entry lacks key or value"};
  return overlays;
}

std::string pretty(std::string_view json) {
  const Json j = Json::parse(json, nullptr, false);
  return j.is_discarded() ? std::string(json) : dump(j, 2);
}

FieldDifference compare_report_fields(std::string_view json) {
  const Json theirs = Json::parse(json, nullptr, false);
  FieldDifference difference;
  const Result<Report> report = parse_report(json);
  if (!report) {
    difference.unknown.push_back(report.error().message);
    return difference;
  }
  std::set<std::string> theirs_set, ours_set;
  collect(theirs, "", theirs_set);
  collect(write(*report), "", ours_set);
  std::set_difference(theirs_set.begin(), theirs_set.end(), ours_set.begin(), ours_set.end(),
                      std::back_inserter(difference.unknown));
  std::set_difference(ours_set.begin(), ours_set.end(), theirs_set.begin(), theirs_set.end(),
                      std::back_inserter(difference.missing));
  return difference;
}

}  // namespace breakline::protocol
