// SPDX-License-Identifier: GPL-3.0-or-later
// Content-Length framing of the wire. Knows nothing of what the bodies say.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace breakline::protocol {

/// `body` with its header, ready to be sent.
std::string frame(std::string_view body);

/// Cuts a stream of bytes into bodies. Feed it as bytes arrive; one thread.
class FrameReader {
 public:
  void feed(std::string_view bytes) { buffer_.append(bytes); }
  /// The next whole body, or nothing while bytes are missing.
  std::optional<std::string> next();
  /// True once the stream turned out not to be framed messages; nothing more comes out of it then.
  bool broken() const { return broken_; }

 private:
  std::string buffer_;
  std::size_t start_ = 0;  ///< bytes before it are used up
  bool broken_ = false;
};

}  // namespace breakline::protocol
