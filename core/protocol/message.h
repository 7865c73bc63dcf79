// SPDX-License-Identifier: GPL-3.0-or-later
// JSON-RPC 2.0 messages. Parameters and results stay JSON text here; json.h reads them.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace breakline::protocol {

/// A request's JSON text; `params` is JSON text of an object.
std::string make_request(long long id, std::string_view method, std::string_view params);

/// The error member of an answer.
struct Failure {
  int code = 0;
  std::string message, kind, traceback;
  /// 1 is bad input, 2 the user's code, the others belong to JSON-RPC.
  bool bad_input() const { return code == 1; }
};

/// A message from the engine: an answer (with `id`) or a notification (with `method`).
struct Incoming {
  std::optional<long long> id;
  std::string method;
  std::string body;  ///< JSON text of the result, or of the notification's params
  std::optional<Failure> failure;
};
Result<Incoming> parse_incoming(std::string_view json);

/// The fields of an `output` or `progress` notification.
struct Notice {
  std::string stream, text, label, phase;
};
Notice parse_notice(std::string_view params);

}  // namespace breakline::protocol
