// SPDX-License-Identifier: GPL-3.0-or-later
// Statistics of timings. Pure functions: the same samples and seed give the same answer on every machine.
// Samples are durations in any one unit (microseconds in reports); they need not be sorted unless a comment
// says so.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace breakline::measure {

/// Order statistics of one arm. All zero when there are no samples.
struct Summary {
  std::size_t count = 0;
  double median = 0;
  double q1 = 0;
  double q3 = 0;
  double minimum = 0;
  double maximum = 0;
  double iqr() const { return q3 - q1; }
};

/// A point estimate with its confidence interval.
struct Interval {
  double value = 1;
  double low = 1;
  double high = 1;
  bool contains(double x) const { return low <= x && x <= high; }
};

struct BootstrapOptions {
  int resamples = 2000;
  double confidence = 0.95;
  std::uint64_t seed = 0;
};

/// The verdict on one arm against the baseline.
enum class Verdict { Faster, Slower, CannotTell };

/// How strict `judge` is.
struct VerdictOptions {
  /// An effect smaller than this share is never called, whatever the interval (0.005 = half a percent).
  double minimum_effect = 0.005;
};

struct WarmupOptions {
  std::size_t window = 5;      ///< samples whose median is compared
  double tolerance = 0.02;     ///< share by which a window may exceed the steady state
  double spread_factor = 1.0;  ///< …or this many robust standard deviations of the steady state
  double longest_share = 0.5;  ///< never drops more than this share of the samples
};

/// The p-quantile (0 ≤ p ≤ 1) of samples sorted ascending, with linear interpolation (type 7). 0 when empty.
double quantile_sorted(std::span<const double> sorted, double p);

/// The median; the mean of the middle two for an even count. 0 when empty. O(n).
double median(std::span<const double> samples);

/// Order statistics. O(n log n), one copy.
Summary summarise(std::span<const double> samples);

/// How many times faster the arm is than the baseline (above 1: faster), with a bootstrap percentile
/// interval. With equal counts sample i of both is taken as one round's pair and the value is the mean of the
/// middle half of the pairs' ratios (of their logarithms), so that a load which slows a whole round cancels
/// and one that hits single blocks does not count; else it is the ratio of the medians, each side resampled
/// alone. {1, 1, 1} with fewer than two samples on a side; {1, 0, infinity} when the arm's median is zero.
Interval bootstrap_ratio(std::span<const double> baseline, std::span<const double> arm,
                         const BootstrapOptions& options = {});

/// The same for an arm against both arms of an A/A pair, each round giving two ratios; rounds are resampled
/// whole. `second` may be empty. {1, 1, 1} when the counts of `first` and `arm` differ.
Interval bootstrap_pairs(std::span<const double> first, std::span<const double> second,
                         std::span<const double> arm, const BootstrapOptions& options = {});

/// How many leading samples belong to the warm-up: the first position from which a window's median no longer
/// lies above the steady state, which is estimated from the last half. 0 when there are fewer than four
/// windows.
std::size_t detect_warmup(std::span<const double> samples, const WarmupOptions& options = {});

/// The verdict from the arm's ratio interval and the A/A pair's (two runs of the same baseline). The interval
/// must clear 1 by more than `minimum_effect`, and by the A/A pair's whole interval too if that excludes 1.
Verdict judge(const Interval& ratio, const Interval& noise, const VerdictOptions& options = {});

/// "faster", "slower" or "cannot tell": the words of reports and of the protocol.
std::string_view to_string(Verdict verdict);

}  // namespace breakline::measure
