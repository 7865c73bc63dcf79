// SPDX-License-Identifier: GPL-3.0-or-later
// Interleaved rounds: every arm runs once a round, in an order that is random but balanced over positions.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/measure/clock.h"
#include "core/measure/statistics.h"

namespace breakline::measure {

/// `order[round]` lists the arms (0-based) in the order in which that round runs them.
struct RoundPlan {
  std::vector<std::vector<int>> order;
};

/// A random plan. In each block of `arms` rounds every arm stands once at every position (a shuffled Latin
/// square), so that an arm is neither always first after the cold start of a round nor always behind the same
/// neighbour. Empty when `arms` or `rounds` is not positive.
RoundPlan plan_rounds(int arms, int rounds, std::uint64_t seed);

/// One thing to time. `prepare` (optional; outside the clock) restores equal state and RNG before each run.
struct Arm {
  std::string id;
  std::function<void()> run;
  std::function<void()> prepare;
};

struct RoundOptions {
  int rounds = 30;
  int least_rounds = 5;      ///< run even when the budget is spent
  double budget_s = 10;      ///< no new round starts once this much time has passed
  int calls_per_sample = 1;  ///< calls inside one clock reading, for very short arms
  std::uint64_t seed = 0;
  WarmupOptions warmup;
  /// Asked before every round; true stops. May be empty.
  std::function<bool()> cancelled;
};

/// Times of one arm in microseconds per call, warm-up rounds already dropped from `samples_us`.
struct ArmSamples {
  std::string id;
  std::vector<double> samples_us;
};

struct RoundsResult {
  std::vector<ArmSamples>
      arms;                ///< in the order of the arms given; equal counts, sample i of each is round i
  std::size_t warmup = 0;  ///< rounds dropped from the front of every arm
  std::size_t rounds = 0;  ///< rounds kept
  bool cancelled = false;
};

/// Runs the arms. Exceptions of an arm pass through. Fails on no arms, an arm without `run`, or counts below
/// one.
Result<RoundsResult> run_rounds(const std::vector<Arm>& arms, const RoundOptions& options, Clock& clock);

/// Drops the longest warm-up that any arm needs from all arms (rounds stay aligned); returns how many were
/// dropped.
std::size_t drop_warmup(std::vector<ArmSamples>& arms, const WarmupOptions& options);

/// One arm against the baseline.
struct Comparison {
  Summary summary;
  Interval ratio;  ///< baseline ÷ arm; above 1 is faster
  Verdict verdict = Verdict::CannotTell;
};

/// Summary, ratio and verdict of `arm` against `baseline`; `noise` is the A/A pair's interval (see
/// `bootstrap_ratio`).
Comparison compare(const ArmSamples& baseline, const ArmSamples& arm, const Interval& noise,
                   const BootstrapOptions& bootstrap = {}, const VerdictOptions& verdict = {});

}  // namespace breakline::measure
