// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

namespace breakline::trace {

/// Keys of SiteHints::varying for a container at `path` that had other keys, or another length, in each
/// variant.
inline std::string keys_hint(const std::string& path) { return "keys of " + path; }
inline std::string length_hint(const std::string& path) { return "length of " + path; }

}  // namespace breakline::trace
