// SPDX-License-Identifier: GPL-3.0-or-later
// Measured distributions of one target, one entry per arm. Mirrors "Timings" of core/protocol/README.md.
#pragma once
#include <QJsonObject>
#include <QString>
#include <QStringList>
#include <QVector>
#include <memory>
#include <optional>

namespace breakline::ui {

/// A ratio with its bootstrap interval; above 1 means faster than eager.
struct Ratio {
  double value = 0, low = 0, high = 0;
};

/// One way of running the target. Times are microseconds per call.
struct Arm {
  QString id, name, reason, verdict, error_note;
  bool available = false;
  std::optional<bool> equal;
  QVector<double> samples_us;
  double median_us = 0, q1_us = 0, q3_us = 0, compile_ms = 0, max_abs_err = 0, max_rel_err = 0;
  int n = 0, break_even_calls = 0;  ///< 0: compiling never pays, or unknown
  std::optional<Ratio> ratio;
};

struct Timings {
  QString target, blas, allocator, load_note, cpu_note, vulkan_note;
  int threads = 0, rounds = 0, warmup = 0;
  QVector<Arm> arms;
  std::optional<Ratio> noise;
  QStringList warnings;

  /// The arm whose ratio answers "how much faster": the cpu arm, or the device's own, or any compiled one.
  const Arm* headline(const QString& device) const;
};

using TimingsPtr = std::shared_ptr<const Timings>;

Timings parse_timings(const QJsonObject& json);

/// What an arm and a verdict are called in the window's language.
QString arm_name(const Arm& arm);
QString verdict_word(const QString& verdict);

/// "1.34 ms", "18.0 µs": three significant digits with a unit.
QString format_us(double us);
/// "1.35 ±0.03 ms": both in the unit of the first.
QString format_spread(double median_us, double spread_us);
/// Three significant digits without an exponent.
QString format_3(double value);

}  // namespace breakline::ui
