// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/segment/region.h"

#include <vector>

namespace breakline::segment {
namespace {
thread_local bool flag = false;
thread_local std::vector<bool> outer;
thread_local size_t floor_depth = 0;  // regions below it were entered outside the running scope
}  // namespace

bool region_flag() { return flag; }

void region_enter(bool value) {
  outer.push_back(flag);
  flag = value;
}

void region_exit() {
  if (outer.size() <= floor_depth) return;
  flag = outer.back();
  outer.pop_back();
}

RegionScope::RegionScope(bool value) : saved_(flag), depth_(floor_depth) {
  floor_depth = outer.size();
  flag = value;
}

RegionScope::~RegionScope() {
  outer.resize(floor_depth);
  floor_depth = depth_;
  flag = saved_;
}

}  // namespace breakline::segment
