// SPDX-License-Identifier: GPL-3.0-or-later
// The colours of text for a terminal.
#pragma once
#include <string>

namespace breakline::client {

/// Parameters of the terminal's SGR sequence (ECMA-48).
inline constexpr const char* kBold = "1";
inline constexpr const char* kDim = "2";
inline constexpr const char* kRed = "31";
inline constexpr const char* kGreen = "32";
inline constexpr const char* kYellow = "33";
inline constexpr const char* kCyan = "36";

/// `text` in the colour `code`, or as it is when `colour` is off or there is nothing to colour.
inline std::string painted(const std::string& text, const char* code, bool colour) {
  return colour && !text.empty() ? std::string("\033[") + code + "m" + text + "\033[0m" : text;
}

}  // namespace breakline::client
