// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/protocol/settings.h"

#include <nlohmann/json.hpp>

namespace breakline::protocol {

std::string chosen_python(std::string_view json) {
  const auto j = nlohmann::json::parse(json, nullptr, false);
  if (!j.is_object() || !j.contains("python") || !j["python"].is_string()) return {};
  return j["python"].get<std::string>();
}

}  // namespace breakline::protocol
