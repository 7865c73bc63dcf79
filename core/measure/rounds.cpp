// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/measure/rounds.h"

#include <algorithm>

#include "core/measure/random.h"

namespace breakline::measure {

RoundPlan plan_rounds(int arms, int rounds, std::uint64_t seed) {
  RoundPlan plan;
  if (arms <= 0 || rounds <= 0) return plan;
  Random random(seed);
  while (static_cast<int>(plan.order.size()) < rounds) {
    // A block: a random order of the arms, all its rotations, themselves in random order.
    const std::vector<int> first = random.permutation(arms);
    for (int shift : random.permutation(arms)) {
      if (static_cast<int>(plan.order.size()) == rounds) break;
      std::vector<int> round = first;
      std::rotate(round.begin(), round.begin() + shift, round.end());
      plan.order.push_back(std::move(round));
    }
  }
  return plan;
}

std::size_t drop_warmup(std::vector<ArmSamples>& arms, const WarmupOptions& options) {
  std::size_t longest = 0;
  for (const ArmSamples& arm : arms) longest = std::max(longest, detect_warmup(arm.samples_us, options));
  for (ArmSamples& arm : arms) {
    const auto count = static_cast<std::ptrdiff_t>(std::min(longest, arm.samples_us.size()));
    arm.samples_us.erase(arm.samples_us.begin(), arm.samples_us.begin() + count);
  }
  return longest;
}

Result<RoundsResult> run_rounds(const std::vector<Arm>& arms, const RoundOptions& options, Clock& clock) {
  if (arms.empty()) return Error{"There is nothing to time: give at least one arm."};
  if (options.rounds < 1 || options.calls_per_sample < 1)
    return Error{"Timing needs at least one round and one call per sample."};
  for (const Arm& arm : arms)
    if (!arm.run) return Error{"The arm '" + arm.id + "' has nothing to run."};

  RoundsResult result;
  for (const Arm& arm : arms) result.arms.push_back({arm.id, {}});
  const RoundPlan plan = plan_rounds(static_cast<int>(arms.size()), options.rounds, options.seed);
  const std::int64_t begin = clock.now_ns();
  const auto budget_ns = static_cast<std::int64_t>(options.budget_s * 1e9);
  int done = 0;
  for (const std::vector<int>& round : plan.order) {
    if (options.cancelled && options.cancelled()) {
      result.cancelled = true;
      break;
    }
    if (done >= options.least_rounds && clock.now_ns() - begin > budget_ns) break;
    for (int index : round) {
      const Arm& arm = arms[static_cast<std::size_t>(index)];
      double elapsed_ns = 0;
      if (arm.prepare) {
        for (int call = 0; call < options.calls_per_sample; ++call) {
          arm.prepare();
          const std::int64_t start = clock.now_ns();
          arm.run();
          elapsed_ns += static_cast<double>(clock.now_ns() - start);
        }
      } else {
        const std::int64_t start = clock.now_ns();
        for (int call = 0; call < options.calls_per_sample; ++call) arm.run();
        elapsed_ns = static_cast<double>(clock.now_ns() - start);
      }
      result.arms[static_cast<std::size_t>(index)].samples_us.push_back(elapsed_ns / 1e3 /
                                                                        options.calls_per_sample);
    }
    ++done;
  }
  result.warmup = drop_warmup(result.arms, options.warmup);
  result.rounds = result.arms.front().samples_us.size();
  return result;
}

Comparison compare(const ArmSamples& baseline, const ArmSamples& arm, const Interval& noise,
                   const BootstrapOptions& bootstrap, const VerdictOptions& verdict) {
  Comparison comparison;
  comparison.summary = summarise(arm.samples_us);
  comparison.ratio = bootstrap_ratio(baseline.samples_us, arm.samples_us, bootstrap);
  comparison.verdict = judge(comparison.ratio, noise, verdict);
  return comparison;
}

}  // namespace breakline::measure
