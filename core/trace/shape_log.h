// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/guard/source.h"
#include "core/torch/ambient.h"
#include "core/torch/registry.h"

namespace breakline::trace {

/// A constant among the operands of a call that comes from a number left open.
struct ArgPatch {
  std::vector<int32_t> path;  ///< operand (a keyword: -1 - its index), then places in nested sequences
  guard::SourceId source = guard::kNoSource;
};

/// What a trace took from one call whose operands may have other sizes the next time.
struct ShapeRecord {
  int32_t node = -1;             ///< of the graph; -1: a question, answered by a constant
  PyObject* callable = nullptr;  ///< borrowed, kept by the trace's constants
  std::vector<graph::Arg> args;  ///< of a question
  std::vector<std::pair<std::string, graph::Arg>> kwargs;
  std::vector<ArgPatch> patches;
  bool grad_mode = true;
  size_t ambient = 0;      ///< index into ShapeLog::ambients
  torch::Inferred answer;  ///< for the sizes of the trace
};

/// All of it, in program order: repeated with other sizes it says what the graph's values are then, and
/// whether the trace would have been the same.
struct ShapeLog {
  bool open = false;  ///< whether anything was left open
  std::vector<ShapeRecord> records;
  std::vector<torch::Ambient> ambients;  ///< at the entry, and after each node that changes it
  std::vector<std::pair<graph::ValueId, int64_t>> offsets;  ///< where a value starts in its memory, as the trace took it
  std::vector<int32_t> inputs;           ///< graph inputs with open dimensions
};

}  // namespace breakline::trace
