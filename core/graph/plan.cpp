// SPDX-License-Identifier: GPL-3.0-or-later
// Registry of plan makers, filled once at start.
#include "core/graph/plan.h"

#include <map>
#include <mutex>

namespace breakline::graph {
namespace {
std::mutex registry_lock;
std::map<std::string, PlanMaker>& makers() {
  static std::map<std::string, PlanMaker> table;
  return table;
}
}  // namespace

void register_plan_maker(const std::string& name, PlanMaker maker) {
  const std::lock_guard hold(registry_lock);
  makers()[name] = maker;
}

PlanMaker find_plan_maker(const std::string& name) {
  const std::lock_guard hold(registry_lock);
  const auto it = makers().find(name);
  return it == makers().end() ? nullptr : it->second;
}

}  // namespace breakline::graph
