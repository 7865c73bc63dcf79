// SPDX-License-Identifier: GPL-3.0-or-later
// A child process with its three standard streams on pipes. POSIX.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace breakline::client {

/// What to start. `environment` is set on top of this process's own.
struct Command {
  std::vector<std::string> arguments;  ///< the program first
  std::vector<std::pair<std::string, std::string>> environment;
};

/// Owns the child: its destructor ends it. One thread.
class Process {
 public:
  static Result<std::unique_ptr<Process>> start(const Command& command);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Writes all of `bytes`; false when the child no longer reads.
  bool write(std::string_view bytes);

  enum class Stream { kOutput, kError, kNone };
  struct Piece {
    Stream stream = Stream::kNone;  ///< kNone: the time was up
    std::string bytes;              ///< empty: that stream has ended
  };
  /// Waits for bytes of either stream until `deadline` (none: for ever). Ended streams are not reported
  /// twice.
  Piece read(std::optional<std::chrono::steady_clock::time_point> deadline);
  /// True once both streams have ended.
  bool ended() const { return output_ < 0 && error_ < 0; }

  /// Ends the child at once.
  void kill();
  /// Waits for the child to end; returns how it ended in words, e.g. "was killed by signal 11 (Segmentation
  /// fault)".
  std::string wait();

 private:
  Process() = default;
  void close_all();
  pid_t pid_ = -1;
  int input_ = -1, output_ = -1, error_ = -1;
};

}  // namespace breakline::client
