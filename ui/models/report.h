// SPDX-License-Identifier: GPL-3.0-or-later
// What one compile produced, as plain values for the panels. Mirrors "Report" of core/protocol/README.md;
// reading is tolerant: a missing field keeps its default, an unknown one is ignored.
#pragma once
#include <QHash>
#include <QJsonObject>
#include <QString>
#include <QStringList>
#include <QVector>
#include <memory>
#include <optional>

namespace breakline::ui {

/// One frame of a call chain. `line` is 1-based.
struct CallPlace {
  QString file;
  int line = 0;
  QString function;
};

struct SegmentOp {
  QString name, file, shape, dtype, module;
  int line = 0, column = -1;
  int kernel = -1;  ///< id in Segment::kernels, or -1 (runs as the torch callable)
};

struct SegmentKernel {
  int id = -1;
  QString name, device, source;
  QVector<int> ops;
};

struct LineRange {
  QString file;
  int first = 0, last = 0;
};

/// A compiled piece between two breaks. It counts as a graph when it has at least one op.
struct Segment {
  QString id, site, plan, plan_reason, file, function, exit;
  QString target;
  int kernel_count = 0, runs = 0, line = 0, end_line = 0, guards = 0;
  double trace_us = 0, compile_us = 0;
  QVector<SegmentOp> ops;
  QVector<SegmentKernel> kernels;
  QVector<LineRange> ranges;
};

struct Edge {
  QString from, to, break_id, kind;
};

/// A place the tracer could not pass. Lines are 1-based, columns 0-based (-1 unknown). `reason` is the
/// headline for people, `reason_id` the id of the kind; `before` and `after` are the segments around the
/// break.
struct Break {
  QString id, target, reason, reason_id, gb_id, file, explanation, context, after, before, knowledge;
  double per_call = 0;  ///< executions in one call of the target, on average
  QString code;         ///< the instruction's source text on one line
  int line = 0, column = -1, end_line = 0, end_column = -1, events = 0;
  QVector<CallPlace> chain;
  /// The innermost place in the user's own code: the break's own, or the line that called into a library.
  CallPlace user;
  bool in_library() const { return user.line > 0 && (user.line != line || user.file != file); }
  QStringList hints;
  QString effective = QStringLiteral("allow"), policy_source;
  bool is_error() const { return effective == QLatin1String("error"); }
};

/// A code object whose frames were left whole to CPython.
struct SkippedFrame {
  QString name, file, reason;
  int line = 0;
};

struct TargetError {
  QString type, message, traceback, break_id;
};

struct Target {
  QString id, name, kind, file;
  int line = 0, graphs = 0, ops = 0, recompiles = 0, skipped = 0, places = 0;
  bool fullgraph = false, side_effects = false;
  QVector<Segment> segments;
  QVector<Edge> edges;
  QVector<Break> breaks;
  QVector<SkippedFrame> skipped_frames;
  QStringList uncloneable;
  std::optional<TargetError> error;
};

/// A policy region found in the code, or an overlay the user set. Values: "inherit", "allow", "error".
struct Region {
  QString key, kind, file, qualname, parent, declared, overlay, effective, source;
  int line = 0, end_line = 0, depth = 0, breaks = 0;
  /// The value in force for its band: "inherit" where nobody said anything.
  QString band() const { return source == QLatin1String("default") ? QStringLiteral("inherit") : effective; }
};

struct Overlay {
  QString key, value;
  bool operator==(const Overlay&) const = default;
};

struct OverlayState : Overlay {
  bool active = true, effect = true;
  QString note;
};

struct OutputChunk {
  QString stream, text, label;
};

struct Report {
  int schema = 0;
  QString breakline, python, torch, file, device;
  int threads = 0;
  QVector<Target> targets;
  QVector<Region> regions;
  QVector<OverlayState> overlays;
  QStringList strict_rejects;
  QString strict_first;
  QStringList warnings;
  QVector<OutputChunk> output;
  double total_ms = 0;

  const Break* find_break(const QString& id) const;
  const Segment* find_segment(const QString& id) const;
  const Region* find_region(const QString& key) const;
  const Target* find_target(const QString& id) const;
  /// Breaks of one target, or of all when `target` is empty; order of the report.
  QVector<const Break*> breaks_of(const QString& target) const;
  int graphs(const QString& target) const;
  /// Frames that were not traced at all, of one target or of all.
  QVector<const SkippedFrame*> skipped_of(const QString& target) const;
  /// Whether a break happens at the lines of a region or in what they call.
  bool holds(const Region& region, const Break& b) const;
  /// Absolute, clean path of a report file name (relative ones are relative to the script's folder).
  QString resolve(const QString& file) const;
  /// Innermost region that holds a line, or null.
  const Region* region_at(const QString& file, int line) const;
};

using ReportPtr = std::shared_ptr<const Report>;

/// The last `File "…", line N` of a traceback that names `file` (absolute); 0 when none does.
int traceback_line(const QString& traceback, const QString& file);

/// Never fails; a wrong `schema` is left for the caller to refuse.
Report parse_report(const QJsonObject& json);

/// "lines:model.py:3-9" and friends taken apart.
struct OverlayKey {
  QString kind, file, name;
  int first = 0, last = 0;
  bool valid() const { return !kind.isEmpty(); }
};
OverlayKey parse_overlay_key(const QString& key);

}  // namespace breakline::ui
