// SPDX-License-Identifier: GPL-3.0-or-later
// What the parts of one target's call cost: breaks, segments, source lines. Mirrors "Profile" of
// core/protocol/README.md.
#pragma once
#include <QHash>
#include <QJsonObject>
#include <QString>
#include <QVector>
#include <memory>
#include <optional>

namespace breakline::ui {

/// Microseconds per event. `cost` is the price of the break (leaving and entering); `instruction` is the work
/// that plain Python would have to do too.
struct BreakCost {
  double cost = 0, leave = 0, enter = 0, instruction = 0, events = 0;
};

/// Time of one line per call. `shared`: a kernel computes this and other lines, and its time is split by ops.
struct LineTime {
  QString file;
  int line = 0;
  double us = 0;
  bool shared = false;
};

struct Profile {
  QString target, note;  ///< `note` says why there are no numbers; empty when there are
  int calls = 0;
  double call_us = 0;
  QHash<QString, BreakCost> breaks;
  QHash<QString, double> segment_us;  ///< by the segment's id within its target
  QVector<LineTime> lines;

  const BreakCost* of_break(const QString& id) const {
    const auto it = breaks.constFind(id);
    return it == breaks.constEnd() ? nullptr : &*it;
  }
  /// Median run time of a segment; `id` may carry its target in front.
  std::optional<double> of_segment(const QString& id) const {
    const auto it = segment_us.constFind(id.section(QLatin1Char('/'), -1));
    return it == segment_us.constEnd() ? std::nullopt : std::optional(*it);
  }
};

using ProfilePtr = std::shared_ptr<const Profile>;
/// By target id.
using Profiles = QHash<QString, ProfilePtr>;

/// Reads a Profile, or the same fields of Timings.
Profile parse_profile(const QJsonObject& json);

/// "9.10 µs: 5.00 µs to leave and 4.10 µs to enter, each time; the instruction itself takes 35.0 µs".
QString cost_words(const BreakCost& cost);

}  // namespace breakline::ui
