// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace breakline::segment {

/// One thread traces at a time: tracing runs Python code here and there, which gives the GIL away, and the
/// tables that are filled meanwhile are not made for two. Waits for the other thread without the GIL. Nested
/// turns of one thread are free. A thread that waits for very long (the other one may be waiting for it, by
/// way of the user's locks) goes on without a turn. With the GIL.
class TraceTurn {
 public:
  TraceTurn();
  ~TraceTurn();
  TraceTurn(const TraceTurn&) = delete;
  TraceTurn& operator=(const TraceTurn&) = delete;
  bool waited() const { return waited_; }

 private:
  bool taken_ = false, waited_ = false;
};

}  // namespace breakline::segment
