// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/segment/options.h"

#include <unordered_map>

#include "core/guard/marks.h"

namespace breakline::segment {

EngineOptions& options() {
  static EngineOptions o;
  return o;
}

Coverage& coverage() {
  static Coverage c;
  return c;
}

bool set_option(const std::string& name, int64_t number, const std::string& text) {
  EngineOptions& o = options();
  static const std::unordered_map<std::string, Fault> kFaults = {
      {"", Fault::kNone}, {"none", Fault::kNone}, {"drop_guard", Fault::kDropGuard},
      {"swap_effects", Fault::kSwapEffects}, {"stale_segment", Fault::kStaleSegment},
      {"internal", Fault::kInternal}};
  if (name == "fault") {
    auto it = kFaults.find(text);
    if (it == kFaults.end()) return false;
    o.fault = it->second;
    return true;
  }
  if (name == "force_break_every") o.trace.force_break_every = static_cast<int>(number);
  else if (name == "force_break_seed") o.trace.force_break_seed = static_cast<uint64_t>(number);
  else if (name == "executor_only") o.executor_only = number != 0;
  else if (name == "force_eager") o.force_eager = number != 0;
  else if (name == "trace_limit") o.trace.node_limit = number;
  else if (name == "idle_instructions") o.trace.idle_instructions = number;
  else if (name == "inline_depth") o.trace.inline_depth = static_cast<int>(number);
  else if (name == "recompile_limit") o.recompile_limit = static_cast<int>(number);
  else if (name == "on_recompile") o.on_recompile = static_cast<OnRecompile>(number);
  else if (name == "marks_in_use") guard::note_marks();
  else if (name == "keep_going") o.keep_going = number != 0;
  else return false;
  return true;
}

namespace {
std::shared_ptr<const policy::OverlaySet>& current() {
  static auto set = std::make_shared<const policy::OverlaySet>();
  return set;
}
uint64_t generation = 1;
}  // namespace

std::shared_ptr<const policy::OverlaySet> overlays() { return current(); }

void set_overlays(std::shared_ptr<const policy::OverlaySet> set) {
  current() = std::move(set);
  ++generation;
}

uint64_t overlay_generation() { return generation; }

}  // namespace breakline::segment
