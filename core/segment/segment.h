// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/graph/plan.h"
#include "core/guard/program.h"
#include "core/resume/effects.h"
#include "core/resume/executor.h"
#include "core/torch/ambient.h"
#include "core/segment/shapes.h"
#include "core/trace/tracer.h"

namespace breakline::segment {

struct Site;

/// A frame of an exit: where it goes on, and which recipe step is its function (-1: `function`, may be null).
struct ExitFrame {
  trace::EntryFrame entry;
  int32_t function_step = -1;
  bool kept = false;  ///< the frame was there at the segment's entry
};

/// What comes after an exit, remembered by outcome, pc and which slots are bound.
struct Successor {
  resume::Outcome outcome;
  int pc;
  uint64_t bound;
  Site* site;
};

struct SourceRange {
  std::string file;
  int line, end_line;
};

/// A traced stretch of one continuation. Immutable after it was built, but for counters and caches.
struct Segment {
  int id = 0;
  Site* site = nullptr;
  guard::GuardProgram guards;
  bool with_torch = false;
  bool with_handled = false;  ///< built while an exception was being handled outside the frames
  torch::Ambient ambient;
  std::shared_ptr<graph::Graph> graph;
  std::unique_ptr<graph::Plan> plan;     ///< null when there is nothing to run
  std::vector<guard::SourceId> inputs;
  Restoration restoration;
  std::unique_ptr<OpenShapes> shapes;  ///< null: for the sizes of its trace only
  resume::Recipe recipe;
  resume::EffectProgram effects;
  std::vector<py::Ref> constants;

  trace::ExitKind exit = trace::ExitKind::kReturn;
  std::vector<ExitFrame> frames;         ///< after a break or step
  std::vector<int32_t> slots;            ///< recipe steps, -1 = null
  std::vector<int32_t> unbacked;         ///< under fullgraph: slots of the exit whose value was read out of a tensor
  bool reads = false;                    ///< under fullgraph: so is what the exit's instruction delivers
  int32_t handled = -1;
  int32_t result = -1;
  bool gives_up = false;                 ///< skip_frame: the frame runs as plain Python from where the segment starts
  bool plain_rest = false;               ///< step_unsupported: what is left of the exit's frame runs as plain Python
  bool stretch = false;                  ///< run the loop around the exit concretely
  int loop_start = 0, loop_end = 0;
  std::vector<Successor> successors;
  std::vector<const Segment*> followed;  ///< segments that came next, as edges of the root

  trace::BreakInfo break_info;
  int break_index = -1;                  ///< in the root's break list
  uint64_t policy_generation = 0;        ///< of the overlays it was last checked against
  bool policy_ambient = false, policy_fullgraph = false;
  bool region = false;                   ///< flag while the exit's instruction runs

  // for reports
  std::vector<const bytecode::Code*> codes;  ///< run by its trace
  int ops = 0;
  int64_t runs = 0;
  double trace_us = 0, compile_us = 0;
  std::vector<SourceRange> ranges;
  std::string file, function;
  int line = 0, end_line = 0;
  int steps_recorded = 0;
  bool dead = false;
};

/// A place where a trace starts: the frames of a continuation without their values.
struct Site {
  int id = 0;
  std::vector<trace::EntryFrame> frames;
  std::vector<py::Ref> kept;
  std::vector<std::unique_ptr<Segment>> segments;
  trace::SiteHints hints;
  bool stepping = false;  ///< has all the variants it may have: for other calls one instruction is left to the executor
  int misses = 0;         ///< such calls; after many no variant is looked for any more
  bool executor = false;
  int made = 0;
};

}  // namespace breakline::segment
