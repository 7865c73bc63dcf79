// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/protocol/message.h"

#include <nlohmann/json.hpp>

namespace breakline::protocol {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& j) { return j.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string text(const Json& object, const char* name) {
  if (!object.is_object()) return {};
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

std::string make_request(long long id, std::string_view method, std::string_view params) {
  return "{\"jsonrpc\":\"2.0\",\"id\":" + std::to_string(id) +
         ",\"method\":" + dump(Json(std::string(method))) + ",\"params\":" + std::string(params) + "}";
}

Result<Incoming> parse_incoming(std::string_view json) {
  const Json j = Json::parse(json, nullptr, false);
  if (j.is_discarded() || !j.is_object())
    return Error{"The engine sent something that is no JSON-RPC message."};
  Incoming message;
  message.method = text(j, "method");
  if (!message.method.empty()) {
    message.body = j.contains("params") ? dump(j["params"]) : "{}";
    return message;
  }
  if (j.contains("id") && j["id"].is_number_integer()) message.id = j["id"].get<long long>();
  if (j.contains("error") && j["error"].is_object()) {
    const Json& error = j["error"];
    Failure failure;
    if (error.contains("code") && error["code"].is_number_integer()) failure.code = error["code"].get<int>();
    failure.message = text(error, "message");
    const Json data = error.contains("data") ? error["data"] : Json::object();
    failure.kind = text(data, "kind");
    failure.traceback = text(data, "traceback");
    message.failure = std::move(failure);
  } else {
    message.body = j.contains("result") ? dump(j["result"]) : "null";
  }
  return message;
}

Notice parse_notice(std::string_view params) {
  const Json j = Json::parse(params, nullptr, false);
  return {text(j, "stream"), text(j, "text"), text(j, "label"), text(j, "phase")};
}

}  // namespace breakline::protocol
