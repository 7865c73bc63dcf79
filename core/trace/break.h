// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "core/bytecode/code.h"
#include "core/policy/policy.h"

namespace breakline::trace {

/// One frame of a break's place.
struct PlaceFrame {
  std::string file, function;   ///< function: as an error's stack names it
  std::string code_name;        ///< as the source names it
  bytecode::Position position;
  bool user = true;  ///< not of the standard library or torch
  bool call = false;  ///< how nn.Module gets from `__call__` to `forward`: stacks and chains leave it out, as PyTorch's do
};

/// What PyTorch's compiler makes of a place where this tracer has to stop. It decides whether a policy may call the place an error.
enum class Tolerance : uint8_t {
  kNone,       ///< a break there as well
  kFullgraph,  ///< a value or size known at run time only: kept in the one graph under fullgraph=True, a break otherwise
  kAlways      ///< never a break there
};

/// Why and where tracing stops. `quiet` steps are executed without being reported as breaks.
struct BreakInfo {
  std::string reason;                                       ///< id in diagnose's table
  std::vector<std::pair<std::string, std::string>> arguments;  ///< of its templates
  bool quiet = false;
  bool raises = false;                                      ///< quiet: the instruction is expected to raise
  Tolerance tolerance = Tolerance::kNone;
  bool reads = false;                                       ///< what the instruction delivers was read out of a tensor
  bool limit = false;                                       ///< quiet: the site should run in executor mode
  std::vector<PlaceFrame> place;                            ///< outermost first, last = the break
  std::vector<policy::FrameView> views;                     ///< same frames, for policy
  int inner_root = -1;                                      ///< frame of a nested compiled function with fullgraph, entered in this trace
  int64_t inner_call = 0;                                   ///< outer instruction that called it
  std::string inner_name;
};

/// Thrown inside the tracer: the present instruction can't be traced.
struct Break {
  BreakInfo info;
};

struct Value;

/// Thrown inside the tracer: the program raises `exception` (made in this trace). Caught by the frames' own handlers, or by
/// builtins that probe; one that would leave the root is raised by the executor instead.
struct Raise {
  Value* exception = nullptr;
  bool reraise = false;   ///< adds no traceback entry at the raising instruction
  int64_t origin = 0;     ///< outer instruction that raised
};

/// Thrown inside the tracer: start over, with the instructions noted in `forced_` executed concretely.
struct Restart {};

}  // namespace breakline::trace
