// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/segment/region.h"

namespace breakline::segment {

RegionState& region_state() {
  static thread_local RegionState state;
  return state;
}

bool region_flag() { return region_state().flag; }

void region_enter(bool value) {
  RegionState& s = region_state();
  s.outer.push_back(s.flag);
  s.flag = value;
}

void region_exit() {
  RegionState& s = region_state();
  if (s.outer.size() <= s.floor_depth) return;
  s.flag = s.outer.back();
  s.outer.pop_back();
}

}  // namespace breakline::segment
