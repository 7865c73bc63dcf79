// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/protocol/framing.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace breakline::protocol {
namespace {

constexpr std::size_t kLongestHeader = 4096;
constexpr std::size_t kLongestBody = std::size_t{1} << 30;
constexpr std::string_view kLength = "content-length:";

/// The length that a header block states, or nothing when it states none.
std::optional<std::size_t> stated_length(std::string_view header) {
  std::string lower(header);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto at = lower.find(kLength);
  if (at == std::string::npos || (at > 0 && lower[at - 1] != '\n')) return std::nullopt;
  auto first = at + kLength.size();
  while (first < lower.size() && lower[first] == ' ') ++first;
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(lower.data() + first, lower.data() + lower.size(), length);
  const bool whole = end == lower.data() + lower.size() || *end == '\r' || *end == '\n';
  if (error != std::errc() || !whole || length > kLongestBody) return std::nullopt;
  return length;
}

}  // namespace

std::string frame(std::string_view body) {
  std::string message = "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  return message.append(body);
}

std::optional<std::string> FrameReader::next() {
  if (broken_) return std::nullopt;
  const std::string_view rest = std::string_view(buffer_).substr(start_);
  const auto header_end = rest.find("\r\n\r\n");
  if (header_end == std::string_view::npos) {
    broken_ = rest.size() > kLongestHeader;
    return std::nullopt;
  }
  const auto length = stated_length(rest.substr(0, header_end));
  if (!length) {
    broken_ = true;
    return std::nullopt;
  }
  const auto body = header_end + 4;
  if (rest.size() < body + *length) return std::nullopt;
  std::string result(rest.substr(body, *length));
  start_ += body + *length;
  if (start_ == buffer_.size() || start_ > (1u << 20)) {
    buffer_.erase(0, start_);
    start_ = 0;
  }
  return result;
}

}  // namespace breakline::protocol
