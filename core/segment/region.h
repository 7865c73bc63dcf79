// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>

namespace breakline::segment {

/// The per-thread flag that `error_on_graph_break` sets when it is entered by plain Python.
bool region_flag();
void region_enter(bool flag);
/// Back to the flag before the last region_enter; nothing when there was none (the region was entered symbolically).
void region_exit();

/// While it lives the thread's flag is `flag`; whatever regions are entered or left meanwhile is undone at the end.
class RegionScope {
 public:
  explicit RegionScope(bool flag);
  ~RegionScope();
  RegionScope(const RegionScope&) = delete;
  RegionScope& operator=(const RegionScope&) = delete;

 private:
  bool saved_;
  size_t depth_;
};

}  // namespace breakline::segment
