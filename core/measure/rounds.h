// SPDX-License-Identifier: GPL-3.0-or-later
// Interleaved rounds: in each round every arm runs one block of calls, in an order that is random but
// balanced over positions. Blocks during which other programs used the machine are measured again.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/measure/clock.h"
#include "core/measure/load.h"
#include "core/measure/statistics.h"

namespace breakline::measure {

/// `order[round]` lists the arms (0-based) in the order in which that round runs them.
struct RoundPlan {
  std::vector<std::vector<int>> order;
};

/// A random plan: every other round is a random order of the arms, the one after it the same backwards. So no
/// arm is on average earlier than another, and each stands behind its neighbour as often as before it; orders
/// that last for several rounds would make what one arm leaves to the next look like a difference of the two.
/// Empty when `arms` or `rounds` is not positive.
RoundPlan plan_rounds(int arms, int rounds, std::uint64_t seed);

/// How the calls of a block are made.
struct BlockShape {
  int calls = 1;
  int group = 1;       ///< calls inside one reading of the clock, which costs some too; divides `calls`
  bool settle = true;  ///< one call first that does not count: caches and threads are still the arm's before
};

/// What one block measured, in microseconds a call.
struct BlockSample {
  double median_us = 0;  ///< median of the readings: an interrupted call does not count
  double mean_us = 0;
  double waiting = 0;  ///< share of the block that its thread spent waiting for a CPU
};

/// One thing to time. `prepare` (optional; outside the clock) restores equal state and RNG before each run.
/// An arm that runs elsewhere has `block` in their place: it makes one block itself.
struct Arm {
  std::string id;
  std::function<void()> run;
  std::function<void()> prepare;
  std::function<BlockSample(const BlockShape&)> block;
};

struct RoundOptions {
  int rounds = 30;       ///< clean rounds after which it ends
  int least_rounds = 5;  ///< run even when the budget is spent
  double budget_s = 10;  ///< no new round starts once this much time has passed
  /// A block makes as many calls as fill this time, at least one. Short ones are better: what others do
  /// changes in milliseconds, and a round is only compared with itself.
  double block_ms = 1;
  int most_calls = 2000;  ///< … and no more than this many
  int retries = 10;       ///< how often a block is made again when it had to wait for a CPU
  double precision = 0;   ///< ends early once every ratio is known within this share; 0 never does
  std::uint64_t seed = 0;
  WarmupOptions warmup;
  LoadOptions load;
  double window_ms = 100;  ///< others' CPU time, counted in coarse steps, is looked at over this long
  /// Asked before every round; true stops. May be empty.
  std::function<bool()> cancelled;
};

/// Times of one arm in microseconds per call, warm-up rounds already dropped from both lists.
struct ArmSamples {
  std::string id;
  std::vector<double> samples_us;  ///< one a round: the block's median
  std::vector<double> means_us = {};
  BlockShape shape = {};
};

struct RoundsResult {
  std::vector<ArmSamples>
      arms;                ///< in the order of the arms given; equal counts, sample i of each is round i
  std::size_t warmup = 0;  ///< rounds dropped from the front of every arm
  std::size_t rounds = 0;  ///< rounds kept
  bool cancelled = false;

  std::size_t blocks = 0;          ///< measured, those dropped included
  std::size_t loaded_blocks = 0;   ///< of them, those that others disturbed
  std::size_t dropped_blocks = 0;  ///< of them, those that are in no sample
  bool kept_loaded = false;  ///< too few clean rounds were left, so the disturbed ones are in the samples
  double others = 0;         ///< CPUs that others used on average
};

/// Runs the arms; the first two are the A/A pair when `precision` is given. `load` may be null: then nothing
/// is known of others. Exceptions of an arm pass through. Fails on no arms, an arm without `run` or `block`,
/// or counts below one.
Result<RoundsResult> run_rounds(const std::vector<Arm>& arms, const RoundOptions& options, Clock& clock,
                                LoadReader* load = nullptr);

/// How many calls of an arm fill `block_ms`; runs it for about that long.
BlockShape shape_block(const Arm& arm, const RoundOptions& options, Clock& clock);

/// One block of an arm: a call that does not count, then the timed ones.
BlockSample run_block(const Arm& arm, const BlockShape& shape, Clock& clock, LoadReader* load = nullptr);

/// Drops the longest warm-up that any arm needs from all arms (rounds stay aligned); returns how many were
/// dropped.
std::size_t drop_warmup(std::vector<ArmSamples>& arms, const WarmupOptions& options);

/// One arm against the baseline.
struct Comparison {
  Summary summary;
  Interval ratio;  ///< baseline ÷ arm; above 1 is faster
  Verdict verdict = Verdict::CannotTell;
};

/// Summary, ratio and verdict of `arm` against an A/A pair: two arms that run the same baseline. What these
/// differ by is the noise (see `judge`). Fewer than ten rounds tell nothing.
Comparison compare(const ArmSamples& first, const ArmSamples& second, const ArmSamples& arm,
                   const BootstrapOptions& bootstrap = {}, const VerdictOptions& verdict = {});

}  // namespace breakline::measure
