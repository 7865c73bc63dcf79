// SPDX-License-Identifier: GPL-3.0-or-later
// Files of resources/ that are built into the library (written by packaging/cmake/EmbedFiles.cmake).
#pragma once
#include <span>
#include <string_view>

namespace breakline::diagnose {

struct EmbeddedFile {
  std::string_view name;
  std::string_view text;
};

/// resources/reasons/reasons.json alone.
std::span<const EmbeddedFile> embedded_reasons();
/// resources/knowledge/*.json.
std::span<const EmbeddedFile> embedded_knowledge();

}  // namespace breakline::diagnose
