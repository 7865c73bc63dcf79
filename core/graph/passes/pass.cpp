// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/graph/passes/pass.h"

#include <chrono>
#include <cstdlib>

namespace breakline::graph {

PassOptions& pass_options() {
  static PassOptions options = [] {
    PassOptions made;
    const char* off = std::getenv("BREAKLINE_PASSES_OFF");
    std::string_view names = off ? off : "";
    while (!names.empty()) {
      const size_t end = names.find(',');
      made.off.emplace(names.substr(0, end));
      names = end == std::string_view::npos ? std::string_view{} : names.substr(end + 1);
    }
    return made;
  }();
  return options;
}

bool run_passes(std::span<const Pass> passes, Rewrite& rewrite, const PassTools& tools, PassLog& log) {
  for (const Pass& pass : passes) {
    if (pass_options().off.contains(pass.name)) continue;
    PassRecord record;
    record.name = pass.name;
    record.before = rewrite.count();
    const int calls = rewrite.library_calls;
    const auto start = std::chrono::steady_clock::now();
    pass.run(rewrite, tools);
    rewrite.commit();
    record.us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    record.after = rewrite.count();
    record.library_calls = rewrite.library_calls - calls;
    if (pass_options().keep_text) record.graph = print(rewrite.graph);
    log.passes.push_back(std::move(record));
    const std::string fault = verify(rewrite.graph);
    if (fault.empty()) continue;
    log.fault = "pass " + std::string(pass.name) + ": " + fault;
    return false;
  }
  return true;
}

}  // namespace breakline::graph
