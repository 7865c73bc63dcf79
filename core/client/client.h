// SPDX-License-Identifier: GPL-3.0-or-later
// One engine, one request at a time. Not for several threads.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/client/process.h"
#include "core/protocol/framing.h"
#include "core/protocol/message.h"

namespace breakline::client {

/// How a request ended.
enum class Outcome {
  kAnswered,  ///< `body` holds the result's JSON text
  kRefused,   ///< the engine answered with an error: `failure`
  kDied,      ///< the engine process ended: `failure.message` says how
  kTimedOut,  ///< no answer in time; the engine has been ended
};

struct Answer {
  Outcome outcome = Outcome::kAnswered;
  std::string body;
  protocol::Failure failure;
};

class Client {
 public:
  using Seconds = std::chrono::duration<double>;

  /// Starts `command` (a program that speaks the protocol on its standard streams).
  static Result<std::unique_ptr<Client>> start(const Command& command);

  /// Called for each `output` and `progress` notification while a request runs. May be empty.
  void on_notice(std::function<void(const std::string& method, const protocol::Notice& notice)> handler) {
    on_notice_ = std::move(handler);
  }

  /// Sends a request and waits for its answer, for at most `timeout` (none: without limit).
  Answer call(std::string_view method, std::string_view params, std::optional<Seconds> timeout = {});

  /// All requests from now on, together, get `total`; each still has its own `timeout` as well.
  void limit(Seconds total);

  /// Asks the engine to end and waits a moment for it.
  void shut_down();

 private:
  /// A moment, and how long before it the time began to run.
  struct Limit {
    std::chrono::steady_clock::time_point end;
    Seconds length;
  };
  static Limit limit_from_now(Seconds length);

  explicit Client(std::unique_ptr<Process> process) : process_(std::move(process)) {}
  Answer died(std::string_view method);
  std::optional<Answer> take(std::string_view body, long long id);

  std::unique_ptr<Process> process_;
  protocol::FrameReader frames_;
  std::function<void(const std::string&, const protocol::Notice&)> on_notice_;
  std::string errors_;  ///< tail of the engine's own stderr
  long long next_id_ = 1;
  std::optional<Limit> limit_;  ///< of all requests together
};

}  // namespace breakline::client
