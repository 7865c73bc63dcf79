// SPDX-License-Identifier: GPL-3.0-or-later
// Statistics on samples whose truth is known: identical arms, planted slow-downs, planted warm-up. Fixed
// seeds.
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QtTest>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <vector>

#include "core/measure/random.h"
#include "core/measure/rounds.h"
#include "core/measure/statistics.h"

using namespace breakline::measure;

namespace {

// A timing sample: a level, multiplicative noise, now and then an interrupted call, and the load of its
// round.
std::vector<double> timings(Random& random, const std::vector<double>& load, double level, double noise) {
  std::vector<double> samples;
  for (double factor : load) {
    double time = level * factor * std::exp(noise * random.normal());
    if (random.uniform() < 0.04) time *= 3;
    samples.push_back(time);
  }
  return samples;
}

std::vector<double> load_of(Random& random, int rounds) {
  std::vector<double> load;
  for (int i = 0; i < rounds; ++i) load.push_back(1 + 0.2 * random.uniform());
  return load;
}

struct Outcome {
  int faster = 0, slower = 0, cannot_tell = 0;
};

// Many synthetic experiments with an arm that takes `factor` times the baseline's time.
Outcome experiments(double factor, double noise, int rounds, int count) {
  Outcome outcome;
  for (int i = 0; i < count; ++i) {
    Random random(1000 + static_cast<std::uint64_t>(i));
    const std::vector<double> load = load_of(random, rounds);
    const auto eager = timings(random, load, 100, noise);
    const auto again = timings(random, load, 100, noise);
    const auto arm = timings(random, load, 100 * factor, noise);
    const BootstrapOptions options{.resamples = 400, .seed = static_cast<std::uint64_t>(i)};
    switch (compare({"", eager}, {"", again}, {"", arm}, options).verdict) {
      case Verdict::Faster:
        ++outcome.faster;
        break;
      case Verdict::Slower:
        ++outcome.slower;
        break;
      case Verdict::CannotTell:
        ++outcome.cannot_tell;
        break;
    }
  }
  return outcome;
}

// Noise as on a busy machine: speed that drifts, blocks that run beside a busy neighbour (1.7 times as slow),
// some that were interrupted.
Outcome busy_experiments(double factor, int rounds, int count) {
  Outcome outcome;
  for (int i = 0; i < count; ++i) {
    Random random(5000 + static_cast<std::uint64_t>(i));
    ArmSamples arms[3];
    double drift = 1, beside = 1;
    for (int round = 0; round < rounds; ++round) {
      drift *= std::exp(0.01 * random.normal());
      if (random.uniform() < 0.1) beside = beside > 1 ? 1 : 1.7;  // lasts for some rounds
      for (int which = 0; which < 3; ++which) {
        double time = 100 * drift * (which == 2 ? factor : 1) * std::exp(0.025 * random.normal());
        time *= random.uniform() < 0.1 ? 2.7 - beside : beside;  // changed just now
        if (random.uniform() < 0.05) time *= 1 + 10 * random.uniform();
        arms[which].samples_us.push_back(time);
      }
    }
    const BootstrapOptions options{.resamples = 400, .seed = static_cast<std::uint64_t>(i)};
    const Verdict verdict = compare(arms[0], arms[1], arms[2], options).verdict;
    ++(verdict == Verdict::Faster   ? outcome.faster
       : verdict == Verdict::Slower ? outcome.slower
                                    : outcome.cannot_tell);
  }
  return outcome;
}

// A load reader whose answers the test sets.
class FakeLoad final : public LoadReader {
 public:
  LoadReading read() override { return {at, others}; }
  std::int64_t waiting_ns() override { return waited; }
  std::int64_t resolution_ns() const override { return 10'000'000; }
  std::int64_t at = 0, others = 0, waited = 0;
};

// A clock that moves only when an arm runs.
class FakeClock final : public Clock {
 public:
  std::int64_t now_ns() override { return now; }
  std::int64_t now = 0;
};

}  // namespace

class MeasureTest : public QObject {
  Q_OBJECT
 private slots:
  void quantiles_interpolate();
  void summary_of_known_samples();
  void random_is_the_published_generator();
  void random_below_is_uniform();
  void ratio_of_exact_samples();
  void ratio_without_enough_samples();
  void ratio_interval_covers_the_truth();
  void pairs_cancel_the_load_of_a_round();
  void both_arms_of_the_pair_count();
  void identical_arms_cannot_be_told_apart();
  void rates_hold_under_heavy_noise();
  void recorded_samples_get_their_verdict();
  void three_percent_slow_down_is_found();
  void three_percent_speed_up_is_found();
  void noisy_or_tiny_effects_are_not_called();
  void shifted_noise_pair_widens_the_margin();
  void warm_up_is_found();
  void steady_samples_have_no_warm_up();
  void plan_is_balanced_and_seeded();
  void rounds_measure_with_the_injected_clock();
  void blocks_fill_their_time();
  void blocks_that_waited_are_made_again();
  void rounds_beside_others_are_left_out();
  void rounds_end_when_ratios_are_known();
  void the_machine_has_a_load();
  void rounds_keep_preparation_out_of_the_time();
  void rounds_stop_at_the_budget();
  void rounds_can_be_cancelled();
  void rounds_refuse_nonsense();
};

void MeasureTest::quantiles_interpolate() {
  const std::vector<double> sorted{1, 2, 3, 4};
  QCOMPARE(quantile_sorted(sorted, 0), 1.0);
  QCOMPARE(quantile_sorted(sorted, 0.25), 1.75);
  QCOMPARE(quantile_sorted(sorted, 0.5), 2.5);
  QCOMPARE(quantile_sorted(sorted, 1), 4.0);
  QCOMPARE(quantile_sorted({}, 0.5), 0.0);
}

void MeasureTest::summary_of_known_samples() {
  const std::vector<double> samples{9, 1, 5, 3, 7};
  const Summary summary = summarise(samples);
  QCOMPARE(summary.count, std::size_t(5));
  QCOMPARE(summary.median, 5.0);
  QCOMPARE(summary.q1, 3.0);
  QCOMPARE(summary.q3, 7.0);
  QCOMPARE(summary.iqr(), 4.0);
  QCOMPARE(summary.minimum, 1.0);
  QCOMPARE(summary.maximum, 9.0);
  QCOMPARE(median(samples), 5.0);
  QCOMPARE(median(std::vector<double>{4, 1, 3, 2}), 2.5);
  QCOMPARE(summarise({}).count, std::size_t(0));
}

void MeasureTest::random_is_the_published_generator() {
  // splitmix64 from 0 starts 16294208416658607535, 7960286522194355700, …; the first output follows by hand:
  // rotl(state[1] * 5, 7) * 9.
  const std::uint64_t second = 7960286522194355700ULL;
  const std::uint64_t product = second * 5;
  const std::uint64_t expected = ((product << 7) | (product >> 57)) * 9;
  QCOMPARE(Random(0).next(), expected);
}

void MeasureTest::random_below_is_uniform() {
  Random random(7);
  std::vector<int> counts(7);
  for (int i = 0; i < 70000; ++i) ++counts[random.below(7)];
  for (int count : counts) QVERIFY2(std::abs(count - 10000) < 400, qPrintable(QString::number(count)));
  double sum = 0, squares = 0;
  for (int i = 0; i < 20000; ++i) {
    const double value = random.normal();
    sum += value;
    squares += value * value;
  }
  QVERIFY(std::abs(sum / 20000) < 0.03);
  QVERIFY(std::abs(squares / 20000 - 1) < 0.05);
}

void MeasureTest::ratio_of_exact_samples() {
  const Interval interval = bootstrap_ratio(std::vector<double>(20, 10), std::vector<double>(20, 5));
  QCOMPARE(interval.value, 2.0);
  QCOMPARE(interval.low, 2.0);
  QCOMPARE(interval.high, 2.0);
  // The same seed gives the same interval, another seed another one.
  Random random(3);
  const auto load = load_of(random, 30);
  const auto a = timings(random, load, 10, 0.1), b = timings(random, load, 12, 0.1);
  QCOMPARE(bootstrap_ratio(a, b, {.seed = 5}).low, bootstrap_ratio(a, b, {.seed = 5}).low);
  QVERIFY(bootstrap_ratio(a, b, {.resamples = 50, .seed = 5}).low !=
          bootstrap_ratio(a, b, {.resamples = 50, .seed = 6}).low);
}

void MeasureTest::ratio_without_enough_samples() {
  const std::vector<double> one{1}, two{1, 2}, zero{0, 0};
  QCOMPARE(bootstrap_ratio(one, two).value, 1.0);
  QCOMPARE(bootstrap_ratio(two, {}).high, 1.0);
  const Interval unbounded = bootstrap_ratio(two, zero);
  QCOMPARE(unbounded.low, 0.0);
  QVERIFY(std::isinf(unbounded.high));
  QCOMPARE(judge(unbounded, {}), Verdict::CannotTell);
}

void MeasureTest::ratio_interval_covers_the_truth() {
  int covered = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    Random random(i);
    const auto load = load_of(random, 40);
    const auto a = timings(random, load, 120, 0.05), b = timings(random, load, 100, 0.05);
    covered += bootstrap_ratio(a, b, {.resamples = 400, .seed = i}).contains(1.2);
  }
  QVERIFY2(covered >= 180, qPrintable(QString::number(covered)));  // 95 % asked; 90 % is the alarm
}

void MeasureTest::pairs_cancel_the_load_of_a_round() {
  // One round in two runs on a busy machine: alone the arms look 60 % wide, as pairs they are equal.
  std::vector<double> a, b;
  for (int i = 0; i < 41; ++i) {
    const double load = i % 2 ? 1.6 : 1.0;
    a.push_back(100 * load);
    b.push_back(102 * load);
  }
  const Interval paired = bootstrap_ratio(a, b);
  QVERIFY(paired.high - paired.low < 0.001);
  b.push_back(102);
  const Interval alone = bootstrap_ratio(a, b);
  QVERIFY(alone.high - alone.low > 0.3);
}

void MeasureTest::identical_arms_cannot_be_told_apart() {
  const Outcome outcome = experiments(1.0, 0.03, 40, 200);
  QVERIFY2(outcome.faster + outcome.slower <= 6,
           qPrintable(QString("%1 faster, %2 slower of 200").arg(outcome.faster).arg(outcome.slower)));
}

void MeasureTest::both_arms_of_the_pair_count() {
  const std::vector<double> first{10, 10, 10, 10}, second{20, 20, 20, 20}, arm{10, 10, 10, 10};
  const Interval both = bootstrap_pairs(first, second, arm);
  QVERIFY(std::abs(both.value - std::sqrt(2.0)) < 1e-12);
  QCOMPARE(bootstrap_pairs(first, {}, arm).value, 1.0);
  QCOMPARE(bootstrap_pairs(first, std::vector<double>{1}, arm).value, 1.0);
  QCOMPARE(bootstrap_pairs(std::vector<double>{1, 2}, {}, arm).value, 1.0);
}

void MeasureTest::rates_hold_under_heavy_noise() {
  const Outcome same = busy_experiments(1, 120, 200);
  QVERIFY2(same.cannot_tell >= 190, qPrintable(QString::number(same.cannot_tell)));
  const Outcome slower = busy_experiments(1.03, 200, 200);
  QVERIFY2(slower.slower >= 190, qPrintable(QString::number(slower.slower)));
  const Outcome faster = busy_experiments(1 / 1.03, 200, 200);
  QVERIFY2(faster.faster >= 190, qPrintable(QString::number(faster.faster)));
}

void MeasureTest::recorded_samples_get_their_verdict() {
  // Runs of tests/bench/selftest on a 2-CPU machine at a load of 5.5 (--record).
  QFile file(QStringLiteral(BREAKLINE_SOURCE_DIR "/tests/unit/measure/recorded_samples.json"));
  QVERIFY(file.open(QIODevice::ReadOnly));
  int wrong = 0, runs = 0;
  for (const QJsonValue& run : QJsonDocument::fromJson(file.readAll()).array()) {
    ArmSamples arms[3];
    for (int which = 0; which < 3; ++which)
      for (const QJsonValue& us : run["samples"][which].toArray())
        arms[which].samples_us.push_back(us.toDouble());
    const Verdict wanted = run["steps"].toInt() == 100 ? Verdict::CannotTell : Verdict::Slower;
    wrong += compare(arms[0], arms[1], arms[2]).verdict != wanted;
    ++runs;
  }
  QCOMPARE(runs, 24);
  QVERIFY2(wrong <= 1, qPrintable(QString::number(wrong)));
}

void MeasureTest::three_percent_slow_down_is_found() {
  const Outcome outcome = experiments(1.03, 0.01, 60, 100);
  QVERIFY2(outcome.slower >= 90, qPrintable(QString::number(outcome.slower)));
  QCOMPARE(outcome.faster, 0);
}

void MeasureTest::three_percent_speed_up_is_found() {
  const Outcome outcome = experiments(1 / 1.03, 0.01, 60, 100);
  QVERIFY2(outcome.faster >= 90, qPrintable(QString::number(outcome.faster)));
  QCOMPARE(outcome.slower, 0);
}

void MeasureTest::noisy_or_tiny_effects_are_not_called() {
  QVERIFY(experiments(1.03, 0.25, 20, 100).slower <= 10);
  // 0.2 % without any noise: real, but below what is worth a word.
  QCOMPARE(judge({1.002, 1.002, 1.002}, {1, 1, 1}), Verdict::CannotTell);
  QCOMPARE(judge({1.002, 1.002, 1.002}, {1, 1, 1}, {.minimum_effect = 0.001}), Verdict::Faster);
}

void MeasureTest::shifted_noise_pair_widens_the_margin() {
  const Interval ratio{1.04, 1.03, 1.05};
  QCOMPARE(judge(ratio, {1.00, 0.99, 1.01}), Verdict::Faster);
  QCOMPARE(judge(ratio, {1.05, 1.04, 1.06}), Verdict::CannotTell);  // eager differs from itself as much
  QCOMPARE(judge(ratio, {1.02, 0.99, 1.06}), Verdict::Faster);      // … or may not: its interval holds 1
  QCOMPARE(judge(ratio, {0.95, 0.94, 0.96}), Verdict::CannotTell);
  QCOMPARE(judge({0.80, 0.78, 0.82}, {1.05, 1.04, 1.06}), Verdict::Slower);
  QCOMPARE(to_string(Verdict::Faster), std::string_view("faster"));
  QCOMPARE(to_string(Verdict::Slower), std::string_view("slower"));
  QCOMPARE(to_string(Verdict::CannotTell), std::string_view("cannot tell"));
}

void MeasureTest::warm_up_is_found() {
  Random random(11);
  std::vector<double> samples;
  for (int i = 0; i < 60; ++i) {
    const double warm = i < 12 ? 4.0 - 0.25 * i : 1.0;
    samples.push_back(100 * warm * std::exp(0.01 * random.normal()));
  }
  const std::size_t warmup = detect_warmup(samples);
  QVERIFY2(warmup >= 9 && warmup <= 14, qPrintable(QString::number(warmup)));
  // All arms lose the same rounds.
  std::vector<ArmSamples> arms{{"slow start", samples}, {"steady", std::vector<double>(60, 50)}};
  QCOMPARE(drop_warmup(arms, {}), warmup);
  QCOMPARE(arms[0].samples_us.size(), 60 - warmup);
  QCOMPARE(arms[1].samples_us.size(), 60 - warmup);
}

void MeasureTest::steady_samples_have_no_warm_up() {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    const auto samples = timings(random, std::vector<double>(60, 1), 100, 0.02);
    QVERIFY(detect_warmup(samples) <= 6);
  }
  QCOMPARE(detect_warmup(std::vector<double>(60, 3)), std::size_t(0));
  QCOMPARE(detect_warmup(std::vector<double>{9, 1, 1}), std::size_t(0));
  // Never more than half, even when the times only fall.
  std::vector<double> falling(40);
  std::iota(falling.rbegin(), falling.rend(), 1);
  QVERIFY(detect_warmup(falling) <= 20);
}

void MeasureTest::plan_is_balanced_and_seeded() {
  const RoundPlan plan = plan_rounds(4, 40, 9);
  QCOMPARE(plan.order.size(), std::size_t(40));
  std::map<int, int> sum_of_positions;
  std::map<std::pair<int, int>, int> behind;
  for (const auto& round : plan.order) {
    std::vector<int> sorted = round;
    std::sort(sorted.begin(), sorted.end());
    QCOMPARE(sorted, (std::vector<int>{0, 1, 2, 3}));
    for (int position = 0; position < 4; ++position) {
      sum_of_positions[round[static_cast<std::size_t>(position)]] += position;
      if (position)
        ++behind[{round[static_cast<std::size_t>(position - 1)], round[static_cast<std::size_t>(position)]}];
    }
  }
  for (const auto& [arm, sum] : sum_of_positions) QCOMPARE(sum, 60);
  for (const auto& [pair, count] : behind) QCOMPARE(count, (behind[{pair.second, pair.first}]));
  QCOMPARE(plan_rounds(4, 40, 9).order, plan.order);
  QVERIFY(plan_rounds(4, 40, 10).order != plan.order);
  QVERIFY(plan_rounds(0, 5, 1).order.empty());
  QCOMPARE(plan_rounds(3, 3, 1).order.size(), std::size_t(3));
}

void MeasureTest::rounds_measure_with_the_injected_clock() {
  FakeClock clock;
  const std::vector<Arm> arms{{"a", [&] { clock.now += 20'000; }, {}},
                              {"b", [&] { clock.now += 50'000; }, {}}};
  auto result = run_rounds(arms, {.rounds = 10, .block_ms = 1}, clock);
  QVERIFY(result.ok());
  QCOMPARE(result->rounds, std::size_t(10));
  QCOMPARE(result->warmup, std::size_t(0));
  QCOMPARE(result->blocks, std::size_t(20));
  QCOMPARE(result->arms[0].id, std::string("a"));
  QCOMPARE(result->arms[0].shape.calls, 50);  // fill a millisecond
  QCOMPARE(result->arms[1].shape.calls, 20);
  QCOMPARE(result->arms[0].samples_us, std::vector<double>(10, 20.0));
  QCOMPARE(result->arms[1].samples_us, std::vector<double>(10, 50.0));
  const Comparison comparison = compare(result->arms[1], {}, result->arms[0]);
  QVERIFY(std::abs(comparison.ratio.value - 2.5) < 1e-12);
  QCOMPARE(comparison.verdict, Verdict::Faster);
  QCOMPARE(comparison.summary.median, 20.0);
}

void MeasureTest::blocks_fill_their_time() {
  FakeClock clock;
  const RoundOptions options{.block_ms = 1, .most_calls = 2000};
  const auto shape = [&](std::int64_t call_ns) {
    return shape_block({"a", [&clock, call_ns] { clock.now += call_ns; }, {}}, options, clock);
  };
  QCOMPARE(shape(100'000).calls, 10);
  QCOMPARE(shape(100'000).group, 1);
  QCOMPARE(shape(3'000'000).calls, 1);
  QVERIFY(shape(3'000'000).settle);
  QVERIFY(!shape(50'000'000).settle);  // not worth a call that does not count
  QCOMPARE(shape(1'000).group, 10);    // a reading of the clock would be a part of so short a call
  QCOMPARE(shape(1'000).calls % 10, 0);
  QVERIFY(shape(1).calls <= 2000);
  // A reading with an interrupted call does not move the block's median; the mean tells of it.
  int calls = 0;
  const BlockSample sample =
      run_block({"a", [&] { clock.now += ++calls == 4 ? 900'000 : 100'000; }, {}}, {.calls = 8}, clock);
  QCOMPARE(sample.median_us, 100.0);
  QCOMPARE(sample.mean_us, 200.0);
  // An arm that runs elsewhere makes its blocks itself.
  const Arm remote{"r", {}, {}, [](const BlockShape& s) { return BlockSample{double(s.calls), 2, 0}; }};
  QCOMPARE(run_block(remote, {.calls = 7}, clock).median_us, 7.0);
}

void MeasureTest::blocks_that_waited_are_made_again() {
  FakeClock clock;
  FakeLoad load;
  int calls = 0;
  const Arm arm{"a",
                [&] {
                  clock.now += 100'000;
                  load.at = clock.now;
                  if (++calls % 40 == 0) clock.now += 2'000'000, load.waited += 2'000'000;
                },
                {}};
  const auto result = run_rounds({arm, arm}, {.rounds = 20, .block_ms = 1}, clock, &load);
  QVERIFY(result.ok());
  QVERIFY(result->rounds >= 20);  // until the load was looked at
  QVERIFY(result->loaded_blocks > 5);
  QCOMPARE(result->dropped_blocks, result->loaded_blocks);
  QCOMPARE(result->blocks, 2 * result->rounds + result->dropped_blocks);
  QVERIFY(!result->kept_loaded);
  for (double mean : result->arms[0].means_us) QCOMPARE(mean, 100.0);
}

void MeasureTest::rounds_beside_others_are_left_out() {
  FakeClock clock;
  FakeLoad load;
  bool busy = false;
  const Arm arm{"a",
                [&] {
                  clock.now += 100'000;
                  load.at = clock.now;
                  busy = clock.now / 300'000'000 % 2 == 1;
                  if (busy) load.others += 80'000;
                },
                {}};
  const RoundOptions options{.rounds = 300, .budget_s = 100, .block_ms = 1};
  auto result = run_rounds({arm, arm}, options, clock, &load);
  QVERIFY(result.ok());
  QVERIFY(result->rounds >= 300);
  QVERIFY(result->loaded_blocks > 100 && result->dropped_blocks == result->loaded_blocks);
  QVERIFY(!result->kept_loaded);
  QVERIFY(result->others > 0.2 && result->others < 0.7);
  // A neighbour that never rests: flagged, and what there is is kept.
  const Arm beside{"a", [&] { clock.now += 100'000, load.at = clock.now, load.others += 100'000; }, {}};
  result = run_rounds({beside, beside}, {.rounds = 20, .budget_s = 100, .block_ms = 1}, clock, &load);
  QVERIFY(result->kept_loaded);
  QCOMPARE(result->rounds, std::size_t(80));  // four times what was asked for, without a clean one
  QVERIFY(result->loaded_blocks >= 150);  // what the last window held may be too short to tell
  QCOMPARE(result->dropped_blocks, std::size_t(0));
  QVERIFY(std::abs(result->others - 1) < 0.01);
  // One step of the reader is nothing.
  QVERIFY(!loaded_between({0, 0}, {20'000'000, 10'000'000}, 10'000'000));
  QVERIFY(loaded_between({0, 0}, {20'000'000, 20'000'000}, 10'000'000));
  QVERIFY(!loaded_between({0, 0}, {1'000'000'000, 20'000'000}, 10'000'000));
}

void MeasureTest::rounds_end_when_ratios_are_known() {
  FakeClock clock;
  Random random(3);
  const Arm arm{
      "a", [&] { clock.now += 1'000'000 + static_cast<std::int64_t>(20'000 * random.normal()); }, {}};
  const RoundOptions options{.rounds = 2000, .budget_s = 1e6, .block_ms = 1, .precision = 0.01};
  const auto result = run_rounds({arm, arm, arm}, options, clock);
  QVERIFY(result.ok());
  QVERIFY2(result->rounds >= 40 && result->rounds < 400, qPrintable(QString::number(result->rounds)));
}

void MeasureTest::the_machine_has_a_load() {
  const auto reader = make_proc_load_reader();
  if (!reader) QSKIP("no /proc here: the load of other programs is read from it; run this on Linux with /proc mounted");
  const LoadReading before = reader->read();
  const LoadReading after = reader->read();
  QVERIFY(after.at_ns >= before.at_ns);
  QVERIFY(before.others_ns > 0);
  QVERIFY(reader->resolution_ns() > 0);
  QVERIFY(reader->waiting_ns() >= 0);
}

void MeasureTest::rounds_keep_preparation_out_of_the_time() {
  FakeClock clock;
  int prepared = 0, runs = 0;
  const std::vector<Arm> arms{
      {"a", [&] { ++runs, clock.now += 1000; }, [&] { ++prepared, clock.now += 777777; }}};
  auto result = run_rounds(arms, {.rounds = 6, .block_ms = 1}, clock);
  QVERIFY(result.ok());
  QCOMPARE(prepared, runs);
  QCOMPARE(result->arms[0].shape.group, 1);
  QVERIFY(result->arms[0].shape.calls <= 8);  // preparing must not take all the time
  QCOMPARE(result->arms[0].samples_us, std::vector<double>(6, 1.0));
}

void MeasureTest::rounds_stop_at_the_budget() {
  FakeClock clock;
  const std::vector<Arm> arms{{"a", [&] { clock.now += 1'000'000'000; }, {}}};
  auto result = run_rounds(arms, {.rounds = 100, .least_rounds = 3, .budget_s = 7.5}, clock);
  QVERIFY(result.ok());
  QCOMPARE(result->rounds, std::size_t(7));  // one call more went into finding the block's size
  result = run_rounds(arms, {.rounds = 100, .least_rounds = 3, .budget_s = 0.1}, clock);
  QCOMPARE(result->rounds, std::size_t(3));
}

void MeasureTest::rounds_can_be_cancelled() {
  FakeClock clock;
  int asked = 0;
  const std::vector<Arm> arms{{"a", [&] { clock.now += 1'000'000; }, {}}};
  auto result = run_rounds(arms, {.rounds = 50, .cancelled = [&] { return ++asked > 4; }}, clock);
  QVERIFY(result.ok());
  QVERIFY(result->cancelled);
  QCOMPARE(result->rounds, std::size_t(4));
  result = run_rounds(arms, {.cancelled = [] { return true; }}, clock);
  QCOMPARE(result->rounds, std::size_t(0));
}

void MeasureTest::rounds_refuse_nonsense() {
  FakeClock clock;
  QVERIFY(!run_rounds({}, {}, clock).ok());
  QVERIFY(!run_rounds({{"a", {}, {}}}, {}, clock).ok());
  QVERIFY(!run_rounds({{"a", [] {}, {}}}, {.rounds = 0}, clock).ok());
  QVERIFY(!run_rounds({{"a", [] {}, {}}}, {.most_calls = 0}, clock).ok());
}

QTEST_APPLESS_MAIN(MeasureTest)
#include "measure_test.moc"
