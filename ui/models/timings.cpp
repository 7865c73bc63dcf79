// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/timings.h"

#include <QCoreApplication>
#include <QHash>
#include <QJsonArray>
#include <algorithm>
#include <cmath>

namespace breakline::ui {
namespace {

QString text(const QJsonObject& o, const char* key) { return o.value(QLatin1String(key)).toString(); }

std::optional<Ratio> ratio(const QJsonValue& v, const char* value_key) {
  if (!v.isObject()) return std::nullopt;
  const QJsonObject o = v.toObject();
  return Ratio{o.value(QLatin1String(value_key)).toDouble(), o.value(QLatin1String("low")).toDouble(),
               o.value(QLatin1String("high")).toDouble()};
}

Arm arm(const QJsonObject& o) {
  Arm a;
  a.id = text(o, "id");
  a.name = text(o, "name");
  if (a.name.isEmpty()) a.name = a.id;
  a.available = o.value(QLatin1String("available")).toBool();
  a.reason = text(o, "reason");
  for (const QJsonValue& s : o.value(QLatin1String("samples_us")).toArray())
    if (s.isDouble()) a.samples_us.push_back(s.toDouble());
  a.median_us = o.value(QLatin1String("median_us")).toDouble();
  const QJsonArray iqr = o.value(QLatin1String("iqr_us")).toArray();
  a.q1_us = iqr.size() == 2 ? iqr[0].toDouble() : a.median_us;
  a.q3_us = iqr.size() == 2 ? iqr[1].toDouble() : a.median_us;
  a.n = o.value(QLatin1String("n")).toInt(int(a.samples_us.size()));
  a.break_even_calls = o.value(QLatin1String("break_even_calls")).toInt();
  a.compile_ms = o.value(QLatin1String("compile_ms")).toDouble();
  a.ratio = ratio(o.value(QLatin1String("ratio")), "value");
  a.verdict = text(o, "verdict");
  const QJsonValue equal = o.value(QLatin1String("equal"));
  if (equal.isBool()) a.equal = equal.toBool();
  a.max_abs_err = o.value(QLatin1String("max_abs_err")).toDouble();
  a.max_rel_err = o.value(QLatin1String("max_rel_err")).toDouble();
  a.error_note = text(o, "error_note");
  return a;
}

}  // namespace

const Arm* Timings::headline(const QString& device) const {
  const Arm* best = nullptr;
  for (const Arm& a : arms) {
    if (!a.available || !a.ratio || a.id.startsWith(QLatin1String("eager"))) continue;
    if (a.id == device) return &a;
    if (!best && !a.id.endsWith(QLatin1String("_eager"))) best = &a;
  }
  return best;
}

Timings parse_timings(const QJsonObject& o) {
  Timings t;
  t.target = o.value(QLatin1String("target")).toVariant().toString();
  t.blas = text(o, "blas");
  t.allocator = text(o, "allocator");
  t.load_note = text(o, "load_note");
  const QJsonObject notes = o.value(QLatin1String("device_notes")).toObject();
  t.cpu_note = text(notes, "cpu");
  t.vulkan_note = text(notes, "vulkan");
  t.threads = o.value(QLatin1String("threads")).toInt();
  t.rounds = o.value(QLatin1String("rounds")).toInt();
  t.warmup = o.value(QLatin1String("warmup")).toInt();
  for (const QJsonValue& v : o.value(QLatin1String("arms")).toArray()) t.arms.push_back(arm(v.toObject()));
  t.noise = ratio(o.value(QLatin1String("noise")), "ratio");
  for (const QJsonValue& v : o.value(QLatin1String("warnings")).toArray()) t.warnings << v.toString();
  return t;
}

QString arm_name(const Arm& a) {
  static const QHash<QString, const char*> kNames = {
      {QStringLiteral("eager"), QT_TRANSLATE_NOOP("Timings", "Eager")},
      {QStringLiteral("eager_aa"), QT_TRANSLATE_NOOP("Timings", "Eager, again")},
      {QStringLiteral("cpu"), QT_TRANSLATE_NOOP("Timings", "Compiled, CPU")},
      {QStringLiteral("vulkan_eager"), QT_TRANSLATE_NOOP("Timings", "Eager, Vulkan")},
      {QStringLiteral("vulkan"), QT_TRANSLATE_NOOP("Timings", "Compiled, Vulkan")}};
  const char* known = kNames.value(a.id);
  return known ? QCoreApplication::translate("Timings", known) : a.name;
}

QString verdict_word(const QString& verdict) {
  static const QHash<QString, const char*> kWords = {
      {QStringLiteral("faster"), QT_TRANSLATE_NOOP("Timings", "faster")},
      {QStringLiteral("slower"), QT_TRANSLATE_NOOP("Timings", "slower")},
      {QStringLiteral("cannot tell"), QT_TRANSLATE_NOOP("Timings", "cannot tell")}};
  const char* known = kWords.value(verdict);
  return known ? QCoreApplication::translate("Timings", known) : verdict;
}

QString format_3(double value) {
  if (!std::isfinite(value)) return QStringLiteral("–");
  if (value == 0) return QStringLiteral("0");
  const int digits = int(std::floor(std::log10(std::fabs(value)))) + 1;
  return QString::number(value, 'f', std::clamp(3 - digits, 0, 6));
}

QString format_spread(double median_us, double spread_us) {
  const QString whole = format_us(median_us);
  const qsizetype space = whole.indexOf(QLatin1Char(' '));
  if (space < 0) return whole;
  const QString number = whole.left(space), unit = whole.mid(space);
  const double scale = unit == QLatin1String(" ns")   ? 1e3
                       : unit == QLatin1String(" ms") ? 1e-3
                       : unit == QLatin1String(" s")  ? 1e-6
                                                      : 1;
  const qsizetype dot = number.indexOf(QLatin1Char('.'));
  const int digits = dot < 0 ? 0 : int(number.size() - dot - 1);
  return number + QStringLiteral(" ±") + QString::number(spread_us * scale, 'f', digits) + unit;
}

QString format_us(double us) {
  if (!std::isfinite(us)) return QStringLiteral("–");
  if (us < 1 && us > 0) return format_3(us * 1e3) + QStringLiteral(" ns");
  if (us < 1e3) return format_3(us) + QStringLiteral(" µs");
  if (us < 1e6) return format_3(us / 1e3) + QStringLiteral(" ms");
  return format_3(us / 1e6) + QStringLiteral(" s");
}

}  // namespace breakline::ui
