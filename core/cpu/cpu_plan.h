// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/graph/passes/pass.h"
#include "core/graph/plan.h"

namespace breakline::cpu {

/// Makes the "cpu" plan: the graph after passes, by kernels and torch callables. A graph that it can't serve
/// gets a replay plan whose reason says why (`reason` is what the caller already knows). Called with the GIL
/// held; the first call of a process loads LLVM.
///
/// Where the library passes (cpu/passes) find something, the graph is made a second time with them at the
/// second run; the next runs take turns, and the form that was faster stays. A form with frozen values gives
/// way to the plain one when these can't be kept. All forms give the graph's result.
std::unique_ptr<graph::Plan> make_cpu_plan(std::shared_ptr<const graph::Graph> graph,
                                           const std::string& reason);

/// When the form with library calls is used: at start as BREAKLINE_LIBRARY says ("never", "measured",
/// "always"), else kMeasured.
enum class LibraryUse : uint8_t { kNever, kMeasured, kAlways };
std::optional<LibraryUse> find_library_use(std::string_view name);
void set_library_use(LibraryUse use);

/// One form of a plan, for tests and dumps.
struct FormInfo {
  std::string name;  ///< "plain" or "library"
  bool chosen = false;
  std::string fault;   ///< why it is not used, "" if it may be
  double best_us = 0;  ///< fastest run of the comparison, 0 without one
  graph::PassLog log;
};
/// The forms of a plan that make_cpu_plan has made; empty for another one.
std::vector<FormInfo> forms_of(const graph::Plan& plan);

}  // namespace breakline::cpu
