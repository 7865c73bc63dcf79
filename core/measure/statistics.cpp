// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include "core/measure/random.h"

namespace breakline::measure {
namespace {

// Scale of the normal distribution's inter-quartile range, to turn an IQR into a standard deviation.
constexpr double kIqrPerSigma = 1.349;

// The median of a scratch buffer, which it reorders.
double median_in_place(std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2) return *middle;
  const double below = *std::max_element(values.begin(), middle);
  return (below + *middle) / 2;
}

// Below the clock's resolution a sample may read zero; a finite stand-in keeps the interpolation of quantiles
// finite.
double ratio_of(double baseline, double arm) { return std::max(baseline, 1e-9) / std::max(arm, 1e-9); }

// Ratios of rounds, sorted; resampled by rounds, since those of one round share its arm.
class PairedRatios {
 public:
  PairedRatios(std::span<const double> first, std::span<const double> second, std::span<const double> arm)
      : counts_(arm.size(), 1) {
    for (std::size_t i = 0; i < arm.size(); ++i) {
      sorted_.push_back({std::log(ratio_of(first[i], arm[i])), i});
      if (!second.empty()) sorted_.push_back({std::log(ratio_of(second[i], arm[i])), i});
    }
    std::sort(sorted_.begin(), sorted_.end(), [](const One& a, const One& b) { return a.log < b.log; });
  }

  void resample(Random& random) {
    std::fill(counts_.begin(), counts_.end(), 0);
    for (std::size_t n = 0; n < counts_.size(); ++n) ++counts_[random.below(counts_.size())];
  }

  /// The mean of the middle half.
  double middle() const {
    const auto total = static_cast<double>(sorted_.size());
    const double from = total / 4, to = total - from;
    double sum = 0, at = 0;
    for (std::size_t i = 0; i < sorted_.size() && at < to; ++i) {
      const double end = at + counts_[sorted_[i].round];
      const double inside = std::min(end, to) - std::max(at, from);
      if (inside > 0) sum += sorted_[i].log * inside;
      at = end;
    }
    return std::exp(sum / (to - from));
  }

 private:
  struct One {
    double log;
    std::size_t round;
  };
  std::vector<One> sorted_;
  std::vector<int> counts_;
};

Interval interval_of(std::vector<double>& resampled, double value, double confidence) {
  std::sort(resampled.begin(), resampled.end());
  const double tail = (1 - confidence) / 2;
  return {value, std::min(quantile_sorted(resampled, tail), value),
          std::max(quantile_sorted(resampled, 1 - tail), value)};
}

}  // namespace

double quantile_sorted(std::span<const double> sorted, double p) {
  if (sorted.empty()) return 0;
  const double position = std::clamp(p, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto index = static_cast<std::size_t>(position);
  if (index + 1 >= sorted.size()) return sorted.back();
  const double fraction = position - static_cast<double>(index);
  return sorted[index] + fraction * (sorted[index + 1] - sorted[index]);
}

double median(std::span<const double> samples) {
  std::vector<double> copy(samples.begin(), samples.end());
  return median_in_place(copy);
}

Summary summarise(std::span<const double> samples) {
  Summary summary;
  if (samples.empty()) return summary;
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  summary.count = sorted.size();
  summary.median = quantile_sorted(sorted, 0.5);
  summary.q1 = quantile_sorted(sorted, 0.25);
  summary.q3 = quantile_sorted(sorted, 0.75);
  summary.minimum = sorted.front();
  summary.maximum = sorted.back();
  return summary;
}

Interval bootstrap_ratio(std::span<const double> baseline, std::span<const double> arm,
                         const BootstrapOptions& options) {
  if (baseline.size() == arm.size()) return bootstrap_pairs(baseline, {}, arm, options);
  if (baseline.size() < 2 || arm.size() < 2) return {};
  const double arm_median = median(arm);
  if (arm_median <= 0) return {1, 0, std::numeric_limits<double>::infinity()};
  Random random(options.seed);
  std::vector<double> ratios, base_pick(baseline.size()), arm_pick(arm.size());
  for (int i = 0; i < std::max(options.resamples, 1); ++i) {
    for (double& value : base_pick) value = baseline[random.below(baseline.size())];
    for (double& value : arm_pick) value = arm[random.below(arm.size())];
    ratios.push_back(ratio_of(median_in_place(base_pick), median_in_place(arm_pick)));
  }
  return interval_of(ratios, median(baseline) / arm_median, options.confidence);
}

Interval bootstrap_pairs(std::span<const double> first, std::span<const double> second,
                         std::span<const double> arm, const BootstrapOptions& options) {
  if (arm.size() < 2 || first.size() != arm.size()) return {};
  if (second.size() != arm.size()) second = {};
  if (median(arm) <= 0) return {1, 0, std::numeric_limits<double>::infinity()};
  Random random(options.seed);
  PairedRatios pairs(first, second, arm);
  const double value = pairs.middle();
  std::vector<double> ratios;
  for (int i = 0; i < std::max(options.resamples, 1); ++i) {
    pairs.resample(random);
    ratios.push_back(pairs.middle());
  }
  return interval_of(ratios, value, options.confidence);
}

std::size_t detect_warmup(std::span<const double> samples, const WarmupOptions& options) {
  const std::size_t window = std::max<std::size_t>(options.window, 1);
  if (samples.size() < 4 * window) return 0;
  const Summary steady = summarise(samples.subspan(samples.size() / 2));
  const double allowed =
      std::max(options.tolerance * steady.median, options.spread_factor * steady.iqr() / kIqrPerSigma);
  const auto longest = static_cast<std::size_t>(options.longest_share * static_cast<double>(samples.size()));
  for (std::size_t start = 0; start < longest; ++start) {
    // A window is steady when its middle is, and its first sample is not itself an outlier of the warm-up.
    const bool middle = median(samples.subspan(start, window)) <= steady.median + allowed;
    const bool first = samples[start] <= steady.q3 + 3 * std::max(steady.iqr(), allowed);
    if (middle && first) return start;
  }
  return longest;
}

Verdict judge(const Interval& ratio, const Interval& noise, const VerdictOptions& options) {
  double margin = std::log1p(options.minimum_effect);
  if (!noise.contains(1))  // the same code differs from itself: so may any other, by as much
    margin += std::max(std::abs(std::log(noise.low)), std::abs(std::log(noise.high)));
  if (std::log(ratio.low) > margin) return Verdict::Faster;
  if (std::log(ratio.high) < -margin) return Verdict::Slower;
  return Verdict::CannotTell;
}

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::Faster:
      return "faster";
    case Verdict::Slower:
      return "slower";
    case Verdict::CannotTell:
      return "cannot tell";
  }
  return "cannot tell";
}

}  // namespace breakline::measure
