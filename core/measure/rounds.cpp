// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/measure/rounds.h"

#include <algorithm>
#include <cmath>

#include "core/measure/random.h"

namespace breakline::measure {
namespace {

// A reading shorter than this is mostly the clock's own cost.
constexpr double kShortestReadingUs = 10;

/// One round's blocks and whether others disturbed one that is in it.
struct Round {
  std::vector<BlockSample> samples;
  bool loaded = false;
};

/// Runs rounds and keeps count of what others did meanwhile.
class Runner {
 public:
  Runner(const std::vector<Arm>& arms, const RoundOptions& options, Clock& clock, LoadReader* load)
      : arms_(arms), options_(options), clock_(clock), load_(load), begin_(clock.now_ns()) {
    for (const Arm& arm : arms) shapes_.push_back(shape_block(arm, options, clock));
    share_shapes();
    if (load_) first_ = window_ = load_->read();
  }

  bool out_of_time() { return static_cast<double>(clock_.now_ns() - begin_) > options_.budget_s * 1e9; }

  void run(const std::vector<int>& order) {
    Round round;
    round.samples.resize(arms_.size());
    for (const int index : order) {
      const auto arm = static_cast<std::size_t>(index);
      for (int attempt = 0;; ++attempt) {
        round.samples[arm] = run_block(arms_[arm], shapes_[arm], clock_, load_);
        ++blocks_;
        if (round.samples[arm].waiting <= options_.load.most_waiting) break;
        ++loaded_;
        if (attempt >= options_.retries || !worth_retrying() || out_of_time()) {
          round.loaded = true;
          break;
        }
        ++dropped_;
      }
    }
    rounds_.push_back(std::move(round));
    if (static_cast<double>(clock_.now_ns() - window_begun_) >= options_.window_ms * 1e6) close_window();
  }

  /// Clean rounds among those on which the load has been looked at.
  int clean() const {
    const auto end = load_ ? rounds_.begin() + static_cast<std::ptrdiff_t>(window_first_) : rounds_.end();
    return static_cast<int>(std::count_if(rounds_.begin(), end, [](const Round& r) { return !r.loaded; }));
  }
  int done() const { return static_cast<int>(rounds_.size()); }

  /// The samples of the clean rounds, or of all when these are too few.
  RoundsResult result() {
    close_window();
    RoundsResult result;
    const int enough = std::max(options_.least_rounds, done() / 4);
    result.kept_loaded = clean() < std::min(enough, done());
    for (std::size_t arm = 0; arm < arms_.size(); ++arm) {
      ArmSamples samples{arms_[arm].id, {}, {}, shapes_[arm]};
      for (const Round& round : rounds_) {
        if (round.loaded && !result.kept_loaded) continue;
        samples.samples_us.push_back(round.samples[arm].median_us);
        samples.means_us.push_back(round.samples[arm].mean_us);
      }
      result.arms.push_back(std::move(samples));
    }
    result.blocks = blocks_;
    result.loaded_blocks = loaded_;
    result.dropped_blocks = dropped_;
    if (!result.kept_loaded)
      result.dropped_blocks += (rounds_.size() - result.arms.front().samples_us.size()) * arms_.size();
    result.others = load_ ? others_between(first_, window_) : 0;
    result.warmup = drop_warmup(result.arms, options_.warmup);
    result.rounds = result.arms.front().samples_us.size();
    return result;
  }

 private:
  /// Arms that take about as long make the same number of calls: the first of a block are slower than the
  /// others.
  void share_shapes() {
    const std::vector<BlockShape> own = shapes_;
    for (std::size_t i = 0; i < own.size(); ++i)
      for (const BlockShape& other : own)
        if (other.group == own[i].group && 2 * other.calls <= 3 * own[i].calls)
          shapes_[i].calls = std::max(shapes_[i].calls, other.calls);
  }

  /// Where a block never comes through, making it again only takes the time of further rounds.
  bool worth_retrying() const { return dropped_ * 3 < blocks_ * 2 + 30; }

  /// Others' CPU time since the last look decides on all rounds since then.
  void close_window() {
    if (load_) {
      const LoadReading now = load_->read();
      if (loaded_between(window_, now, load_->resolution_ns(), options_.load))
        for (std::size_t i = window_first_; i < rounds_.size(); ++i) {
          if (!rounds_[i].loaded) loaded_ += arms_.size();
          rounds_[i].loaded = true;
        }
      window_ = now;
    }
    window_first_ = rounds_.size();
    window_begun_ = clock_.now_ns();
  }

  const std::vector<Arm>& arms_;
  const RoundOptions& options_;
  Clock& clock_;
  LoadReader* load_;
  std::int64_t begin_;
  std::vector<BlockShape> shapes_;
  std::vector<Round> rounds_;
  LoadReading first_, window_;
  std::int64_t window_begun_ = 0;
  std::size_t window_first_ = 0;
  std::size_t blocks_ = 0, loaded_ = 0, dropped_ = 0;
};

/// Whether every ratio is known well enough.
bool precise_enough(const RoundsResult& so_far, double precision) {
  const auto& arms = so_far.arms;
  constexpr std::size_t kLeast = 40;  // fewer may look alike by chance
  if (arms[0].samples_us.size() < kLeast) return false;
  for (std::size_t i = 1; i < arms.size(); ++i) {
    BootstrapOptions few;
    few.resamples = 200;
    const Interval ratio = i == 1 ? bootstrap_ratio(arms[0].samples_us, arms[1].samples_us, few)
                                  : compare(arms[0], arms[1], arms[i], few).ratio;
    if (!(std::log(ratio.high / ratio.low) <= 2 * precision)) return false;
  }
  return true;
}

double calls_time(const Arm& arm, int calls, Clock& clock) {
  double elapsed = 0;
  for (int call = 0; call < calls; ++call) {
    if (arm.prepare) arm.prepare();
    const std::int64_t start = clock.now_ns();
    arm.run();
    elapsed += static_cast<double>(clock.now_ns() - start);
  }
  return elapsed;
}

}  // namespace

RoundPlan plan_rounds(int arms, int rounds, std::uint64_t seed) {
  RoundPlan plan;
  if (arms <= 0 || rounds <= 0) return plan;
  Random random(seed);
  while (static_cast<int>(plan.order.size()) < rounds) {
    std::vector<int> round = random.permutation(arms);
    plan.order.push_back(round);
    std::reverse(round.begin(), round.end());
    if (static_cast<int>(plan.order.size()) < rounds) plan.order.push_back(std::move(round));
  }
  return plan;
}

BlockShape shape_block(const Arm& arm, const RoundOptions& options, Clock& clock) {
  const double wanted_us = options.block_ms * 1e3;
  double call_us = 0, wall_us = 0;
  if (arm.block) {
    call_us = wall_us = arm.block({1, 1}).median_us;
    if (call_us * 32 < wanted_us) call_us = wall_us = arm.block({8, 1}).median_us;
  } else {
    // Doubling until what was timed is a quarter of a block; the last and a repetition decide, the first are
    // slow.
    for (int calls = 1;; calls *= 2) {
      const auto time_calls = [&] {
        const std::int64_t start = clock.now_ns();
        call_us = calls_time(arm, calls, clock) / 1e3 / calls;
        wall_us = static_cast<double>(clock.now_ns() - start) / 1e3 / calls;
      };
      time_calls();
      if (wall_us * calls * 4 < wanted_us && calls * 2 <= options.most_calls) continue;
      const double first_call_us = call_us, first_wall_us = wall_us;
      if (wall_us * calls < 8 * wanted_us) time_calls();
      call_us = std::min(call_us, first_call_us);
      wall_us = std::min(wall_us, first_wall_us);
      break;
    }
  }
  BlockShape shape;
  if (!arm.prepare && call_us < kShortestReadingUs)
    shape.group = static_cast<int>(std::min(64.0, std::ceil(kShortestReadingUs / std::max(call_us, 0.01))));
  // Preparing may cost more than the call; a block must not take all the time for that.
  const double each_us = std::max({call_us, wall_us / 4, 0.01});
  const double readings = std::ceil(wanted_us / each_us / shape.group);
  const int most = std::max(1, options.most_calls / shape.group);
  shape.settle = each_us < 5 * wanted_us;
  shape.calls = shape.group * static_cast<int>(std::clamp(readings, 1.0, static_cast<double>(most)));
  return shape;
}

BlockSample run_block(const Arm& arm, const BlockShape& shape, Clock& clock, LoadReader* load) {
  if (arm.block) return arm.block(shape);
  if (shape.settle) {
    if (arm.prepare) arm.prepare();
    arm.run();
  }
  std::vector<double> readings;
  readings.reserve(static_cast<std::size_t>(shape.calls / shape.group));
  const std::int64_t waited = load ? load->waiting_ns() : 0, begun = clock.now_ns();
  double total = 0;
  for (int call = 0; call < shape.calls; call += shape.group) {
    if (arm.prepare) arm.prepare();
    const std::int64_t start = clock.now_ns();
    for (int i = 0; i < shape.group; ++i) arm.run();
    const auto elapsed = static_cast<double>(clock.now_ns() - start);
    readings.push_back(elapsed / 1e3 / shape.group);
    total += elapsed;
  }
  BlockSample sample{median(readings), total / 1e3 / shape.calls, 0};
  const auto wall = static_cast<double>(clock.now_ns() - begun);
  if (load && wall > 0) sample.waiting = static_cast<double>(load->waiting_ns() - waited) / wall;
  return sample;
}

std::size_t drop_warmup(std::vector<ArmSamples>& arms, const WarmupOptions& options) {
  std::size_t longest = 0;
  for (const ArmSamples& arm : arms) longest = std::max(longest, detect_warmup(arm.samples_us, options));
  const auto cut = [longest](std::vector<double>& samples) {
    samples.erase(samples.begin(),
                  samples.begin() + static_cast<std::ptrdiff_t>(std::min(longest, samples.size())));
  };
  for (ArmSamples& arm : arms) cut(arm.samples_us), cut(arm.means_us);
  return longest;
}

Result<RoundsResult> run_rounds(const std::vector<Arm>& arms, const RoundOptions& options, Clock& clock,
                                LoadReader* load) {
  if (arms.empty()) return Error{"There is nothing to time: give at least one arm."};
  if (options.rounds < 1 || options.most_calls < 1)
    return Error{"Timing needs at least one round and one call per sample."};
  for (const Arm& arm : arms)
    if (!arm.run && !arm.block) return Error{"The arm '" + arm.id + "' has nothing to run."};

  Runner runner(arms, options, clock, load);
  // On a loaded machine clean rounds may never come: the budget ends it, or four times as many rounds.
  const RoundPlan plan = plan_rounds(static_cast<int>(arms.size()), 4 * options.rounds, options.seed);
  int next_look = 40;
  bool cancelled = false;
  for (const std::vector<int>& order : plan.order) {
    if (runner.clean() >= options.rounds) break;
    if (options.cancelled && options.cancelled()) {
      cancelled = true;
      break;
    }
    if (runner.done() >= options.least_rounds && runner.out_of_time()) break;
    runner.run(order);
    if (options.precision <= 0 || arms.size() < 2 || runner.done() < next_look) continue;
    next_look = runner.done() + std::max(10, runner.done() / 5);
    if (precise_enough(runner.result(), options.precision)) break;
  }
  if (!runner.done()) {
    RoundsResult none;
    for (const Arm& arm : arms) none.arms.push_back({arm.id, {}});
    none.cancelled = cancelled;
    return none;
  }
  RoundsResult result = runner.result();
  result.cancelled = cancelled;
  return result;
}

Comparison compare(const ArmSamples& first, const ArmSamples& second, const ArmSamples& arm,
                   const BootstrapOptions& bootstrap, const VerdictOptions& verdict) {
  Comparison comparison;
  comparison.summary = summarise(arm.samples_us);
  comparison.ratio = bootstrap_pairs(first.samples_us, second.samples_us, arm.samples_us, bootstrap);
  constexpr std::size_t kLeastRounds = 10;  // an interval from fewer means little
  if (arm.samples_us.size() < kLeastRounds) return comparison;
  comparison.verdict =
      judge(comparison.ratio, bootstrap_ratio(first.samples_us, second.samples_us, bootstrap), verdict);
  return comparison;
}

}  // namespace breakline::measure
