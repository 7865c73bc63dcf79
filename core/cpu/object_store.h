// SPDX-License-Identifier: GPL-3.0-or-later
// Machine code kept on disk between processes, when the user names a folder (BREAKLINE_CACHE_DIR).
#pragma once
#include <llvm/Support/MemoryBuffer.h>

#include <memory>
#include <string>

#include "core/cpu/jit.h"

namespace breakline::cpu {

/// Files are named by what decides the code: the kernel's content, the processor and its features, LLVM's and
/// Breakline's version. A file that can't be read or written is as if it were not there.
class ObjectStore {
 public:
  /// Takes the folder from the environment; without one nothing is kept.
  explicit ObjectStore(const HostTarget& host);
  bool enabled() const { return !folder_.empty(); }
  /// Null when there is none. Checks the length and checksum that `save` wrote.
  std::unique_ptr<llvm::MemoryBuffer> load(const std::string& content) const;
  /// Written under another name and moved, so that nobody sees half a file.
  void save(const std::string& content, llvm::StringRef object) const;

 private:
  std::string path(const std::string& content) const;
  std::string folder_, salt_;
};

}  // namespace breakline::cpu
