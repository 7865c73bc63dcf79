// SPDX-License-Identifier: GPL-3.0-or-later
// What the parts of a root's calls cost, taken while it runs: its segments, their kernels, and each break
// apart in leaving (rebuilding the live state), the instruction itself, and entering the next segment (site,
// guards, inputs).
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "core/graph/profile.h"

namespace breakline::segment {

class Root;

/// Samples in nanoseconds. Touched with the GIL held only.
struct Profile {
  struct SegmentSamples {
    std::vector<int64_t> runs;                  ///< one per run of the segment's plan
    std::vector<std::vector<int64_t>> kernels;  ///< by kernel, then by run
  };
  struct BreakSamples {
    std::vector<int64_t> leave, instruction, enter;
  };
  static constexpr size_t kMost = 4096;  ///< samples kept of one kind; later ones only count

  const Root* root = nullptr;
  base::Timeline* timeline = nullptr;  ///< set: marks there, and no samples here
  std::vector<int64_t> entries,
      exits;  ///< of calls: until the first plan; from the last plan or instruction on
  std::map<int, SegmentSamples> segments;  ///< by segment id
  std::map<int, BreakSamples> breaks;      ///< by break index
  std::map<int, int64_t> segment_runs, break_events;

  void add_segment(int id, int64_t ns, const graph::KernelTimes& kernels) {
    ++segment_runs[id];
    SegmentSamples& s = segments[id];
    if (s.runs.size() >= kMost) return;
    s.runs.push_back(ns);
    if (s.kernels.size() < kernels.ns.size()) s.kernels.resize(kernels.ns.size());
    for (size_t k = 0; k < kernels.ns.size(); ++k)
      if (kernels.ns[k] >= 0) s.kernels[k].push_back(kernels.ns[k]);
  }
  void add_entry(int64_t ns) {
    if (entries.size() < kMost) entries.push_back(ns);
  }
  void add_exit(int64_t ns) {
    if (exits.size() < kMost) exits.push_back(ns);
  }
  void add_break(int index, int64_t leave, int64_t instruction, int64_t enter) {
    ++break_events[index];
    BreakSamples& b = breaks[index];
    if (b.leave.size() >= kMost) return;
    b.leave.push_back(leave);
    b.instruction.push_back(instruction);
    b.enter.push_back(enter);
  }
};

/// The profile being taken, or null.
inline Profile* active_profile = nullptr;

}  // namespace breakline::segment
