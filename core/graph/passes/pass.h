// SPDX-License-Identifier: GPL-3.0-or-later
// Passes: a table of functions that change a graph, in order. To add one: two files and one row of a table.
#pragma once
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/passes/rewrite.h"

namespace breakline::graph {

/// One output as it would be made.
struct Made {
  TensorMeta meta;
  ValueId alias = kNoValue;  ///< the operand whose memory it shares
};

/// What passes ask of PyTorch, in terms of the graph. `torch` fills it; in tests of passes alone it may be
/// empty.
struct PassTools {
  /// The object of a dotted name ("torch.Tensor.relu", "torch.ops.mkldnn._linear_pointwise.default._op"),
  /// which lives on; null where this PyTorch has none.
  std::function<ObjectHandle(std::string_view)> resolve;
  /// A node's outputs as PyTorch makes them of the values its operands are now; none when nobody can tell.
  /// The need of a gradient is left out.
  std::function<std::optional<std::vector<Made>>(const Graph&, const Node&)> infer;
  /// Whether the library's form of a call was faster on this machine, measured once per process and sizes:
  /// the function of that name in breakline._choices. False when it can't be told.
  std::function<bool(std::string_view name, const std::vector<int64_t>& sizes)> prefers;
};

struct Pass {
  std::string_view name;
  std::string_view about;  ///< one sentence for people
  void (*run)(Rewrite& rewrite, const PassTools& tools);
};

/// What one pass did.
struct PassRecord {
  std::string name;
  double us = 0;
  int before = 0, after = 0;  ///< nodes
  int library_calls = 0;
  std::string graph;  ///< its text afterwards, when asked for
};

struct PassLog {
  std::vector<PassRecord> passes;
  std::string fault;  ///< why the graph is used as it was, "" if it is not
};

/// Switches of the process. Written with the GIL held.
struct PassOptions {
  std::set<std::string, std::less<>> off;  ///< at start: the names in BREAKLINE_PASSES_OFF, by commas
  bool keep_text = false;
};
PassOptions& pass_options();

/// Runs the passes that are not off, and the verifier after each. False when one left a graph that is not
/// well formed: then the rewrite must not be used, and `log.fault` says why.
bool run_passes(std::span<const Pass> passes, Rewrite& rewrite, const PassTools& tools, PassLog& log);

}  // namespace breakline::graph
