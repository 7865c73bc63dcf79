// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/trace/tracer.h"

namespace breakline::trace {

/// One level further down in containers while a trace looks into them. One that holds itself has no last
/// level: past a thousand it is a break, and the program itself meets what it meets there.
class Level {
 public:
  Level(Tracer& t, const char* function) {
    constexpr int kMost = 1000;
    if (depth >= kMost)
      t.stop("builtin", {{"function", function}, {"arg_types", "a thousand levels of containers"}});
    ++depth;
  }
  ~Level() { --depth; }
  Level(const Level&) = delete;

 private:
  static inline thread_local int depth = 0;
};

}  // namespace breakline::trace
