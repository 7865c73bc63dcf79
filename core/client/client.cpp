// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/client/client.h"

#include <algorithm>
#include <cstdio>

namespace breakline::client {
namespace {

constexpr std::size_t kTail = 8192;

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", seconds);
  return text;
}

}  // namespace

Result<std::unique_ptr<Client>> Client::start(const Command& command) {
  auto process = Process::start(command);
  if (!process) return process.error();
  return std::unique_ptr<Client>(new Client(std::move(*process)));
}

namespace {
/// What the engine was at, for a sentence.
const char* doing(std::string_view method) {
  struct Row {
    std::string_view method;
    const char* words;
  };
  constexpr Row kRows[] = {{"hello", "while it started"},         {"open", "while it ran your code"},
                           {"reload", "while it ran your code"},  {"policy.set", "while it recompiled"},
                           {"option.set", "while it recompiled"}, {"time", "while it measured"},
                           {"shutdown", "while it shut down"}};
  for (const Row& row : kRows)
    if (row.method == method) return row.words;
  return "while it worked";
}
}  // namespace

Client::Limit Client::limit_from_now(Seconds length) {
  // steady_clock counts in 64 bits of nanoseconds: a century is as good as no limit and can't overflow
  constexpr Seconds kMost{3e9};
  return {std::chrono::steady_clock::now() +
              std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::min(length, kMost)),
          length};
}

void Client::limit(Seconds total) { limit_ = limit_from_now(total); }

Answer Client::call(std::string_view method, std::string_view params, std::optional<Seconds> timeout) {
  const long long id = next_id_++;
  std::optional<Limit> limit = limit_;
  if (timeout) {
    const Limit own = limit_from_now(*timeout);
    if (!limit || own.end < limit->end) limit = own;
  }
  const auto deadline = limit ? std::optional(limit->end) : std::nullopt;
  process_->write(protocol::frame(protocol::make_request(id, method, params)));  // a dead engine shows below
  while (true) {
    while (auto body = frames_.next())
      if (auto answer = take(*body, id)) return *answer;
    if (frames_.broken()) {
      process_->kill();
      return {Outcome::kDied,
              "",
              {0, "The program that was started is not a Breakline engine: it doesn't speak the protocol.",
               "", ""}};
    }
    if (process_->ended()) return died(method);
    const Process::Piece piece = process_->read(deadline);
    if (piece.stream == Process::Stream::kOutput) {
      frames_.feed(piece.bytes);
    } else if (piece.stream == Process::Stream::kError) {
      errors_ += piece.bytes;
      if (errors_.size() > kTail) errors_.erase(0, errors_.size() - kTail);
    } else if (deadline && std::chrono::steady_clock::now() >= *deadline) {
      process_->kill();
      const std::string sentence = "The engine gave no answer within " + seconds_text(limit->length.count()) +
                                   " s " + doing(method) +
                                   " and was stopped: the code may hang, or needs more with --timeout.";
      return {Outcome::kTimedOut, "", {0, sentence, "", ""}};
    }
  }
}

std::optional<Answer> Client::take(std::string_view body, long long id) {
  const auto message = protocol::parse_incoming(body);
  if (!message) return std::nullopt;
  if (!message->method.empty()) {
    if (on_notice_) on_notice_(message->method, protocol::parse_notice(message->body));
    return std::nullopt;
  }
  if (message->id && *message->id != id) return std::nullopt;  // the answer to a request that was given up
  if (message->failure) return Answer{Outcome::kRefused, "", *message->failure};
  return Answer{Outcome::kAnswered, message->body, {}};
}

Answer Client::died(std::string_view method) {
  const std::string how = process_->wait();
  Answer answer{Outcome::kDied, "", {}};
  answer.failure.message =
      "The engine " + how + " " + doing(method) +
      ": the code crashed or ended the process; what it was at stands above, if anything.";
  answer.failure.traceback = errors_;
  return answer;
}

void Client::shut_down() { call("shutdown", "{}", Seconds(5)); }

}  // namespace breakline::client
