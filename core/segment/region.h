// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <vector>

namespace breakline::segment {

/// The per-thread flag that `error_on_graph_break` sets when it is entered by plain Python.
bool region_flag();
void region_enter(bool flag);
/// Back to the flag before the last region_enter; nothing when there was none (the region was entered symbolically).
void region_exit();

/// The regions of one thread.
struct RegionState {
  bool flag = false;
  std::vector<bool> outer;
  size_t floor_depth = 0;  ///< regions below it were entered outside the running scope
};
RegionState& region_state();

/// While it lives the thread's flag is `flag`; whatever regions are entered or left meanwhile is undone at the end.
class RegionScope {
 public:
  explicit RegionScope(bool flag, RegionState& state = region_state())
      : state_(state), saved_(state.flag), depth_(state.floor_depth) {
    state.floor_depth = state.outer.size();
    state.flag = flag;
  }
  ~RegionScope() {
    if (state_.outer.size() != state_.floor_depth) state_.outer.resize(state_.floor_depth);
    state_.floor_depth = depth_;
    state_.flag = saved_;
  }
  RegionScope(const RegionScope&) = delete;
  RegionScope& operator=(const RegionScope&) = delete;

 private:
  RegionState& state_;
  bool saved_;
  size_t depth_;
};

}  // namespace breakline::segment
