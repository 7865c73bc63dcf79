// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/report.h"

#include <QDir>
#include <QFileInfo>
#include <QJsonArray>
#include <QRegularExpression>
#include <algorithm>

namespace breakline::ui {
namespace {

QString text(const QJsonObject& o, const char* key) { return o.value(QLatin1String(key)).toString(); }
int number(const QJsonObject& o, const char* key, int fallback = 0) {
  return o.value(QLatin1String(key)).toInt(fallback);
}
/// Ids may arrive as strings or as small numbers; the window only compares them.
QString ident(const QJsonValue& v) { return v.isDouble() ? QString::number(v.toInteger()) : v.toString(); }
QString ident(const QJsonObject& o, const char* key) { return ident(o.value(QLatin1String(key))); }

template <class F>
auto list(const QJsonObject& o, const char* key, F convert) {
  QVector<decltype(convert(QJsonValue()))> out;
  const QJsonArray array = o.value(QLatin1String(key)).toArray();
  out.reserve(array.size());
  for (const QJsonValue& v : array) out.push_back(convert(v));
  return out;
}

QStringList strings(const QJsonObject& o, const char* key) {
  return list(o, key, [](const QJsonValue& v) { return ident(v); });
}

CallPlace call_place(const QJsonValue& v) {
  const QJsonObject o = v.toObject();
  return {text(o, "file"), number(o, "line"), text(o, "function")};
}

/// "float32" → "f32": as input specs write them.
QString short_dtype(const QString& dtype) {
  static const QHash<QString, QString> kShort = {{QStringLiteral("float32"), QStringLiteral("f32")},
                                                 {QStringLiteral("float64"), QStringLiteral("f64")},
                                                 {QStringLiteral("float16"), QStringLiteral("f16")},
                                                 {QStringLiteral("bfloat16"), QStringLiteral("bf16")},
                                                 {QStringLiteral("int64"), QStringLiteral("i64")},
                                                 {QStringLiteral("int32"), QStringLiteral("i32")},
                                                 {QStringLiteral("int16"), QStringLiteral("i16")},
                                                 {QStringLiteral("int8"), QStringLiteral("i8")},
                                                 {QStringLiteral("uint8"), QStringLiteral("u8")}};
  return kShort.value(dtype, dtype);
}

SegmentOp op(const QJsonValue& v) {
  const QJsonObject o = v.toObject();
  SegmentOp r;
  r.name = text(o, "name");
  r.file = text(o, "file");
  r.module = text(o, "module");
  r.dtype = short_dtype(text(o, "dtype"));
  for (const QLatin1String prefix : {QLatin1String("torch."), QLatin1String("Tensor.")})
    if (r.name.startsWith(prefix)) r.name.remove(0, prefix.size());
  const QJsonValue shape = o.value(QLatin1String("shape"));
  if (shape.isArray()) {
    QStringList dims;
    for (const QJsonValue& d : shape.toArray()) dims << d.toVariant().toString();
    r.shape = QLatin1Char('[') + dims.join(QLatin1String(", ")) + QLatin1Char(']');
  } else {
    r.shape = shape.toString();
  }
  r.line = number(o, "line");
  r.column = number(o, "column", -1);
  r.kernel = number(o, "kernel", -1);
  return r;
}

SegmentKernel kernel(const QJsonValue& v) {
  const QJsonObject o = v.toObject();
  SegmentKernel r;
  r.id = number(o, "id", -1);
  r.name = text(o, "name");
  r.device = text(o, "device");
  r.source = text(o, "source");
  r.ops = list(o, "ops", [](const QJsonValue& i) { return i.toInt(); });
  return r;
}

Segment segment(const QJsonValue& v) {
  const QJsonObject o = v.toObject();
  Segment s;
  s.id = ident(o, "id");
  s.site = ident(o, "site");
  s.plan = text(o, "plan");
  s.plan_reason = text(o, "plan_reason");
  s.file = text(o, "file");
  s.function = text(o, "function");
  s.exit = text(o, "exit");
  s.runs = number(o, "runs");
  s.line = number(o, "line");
  s.end_line = number(o, "end_line", s.line);
  const QJsonValue guards = o.value(QLatin1String("guards"));
  s.guards = guards.isArray() ? int(guards.toArray().size()) : guards.toInt();
  s.trace_us = o.value(QLatin1String("trace_us")).toDouble();
  s.compile_us = o.value(QLatin1String("compile_us")).toDouble();
  s.ops = list(o, "ops", op);
  s.kernels = list(o, "kernel_list", kernel);
  s.kernel_count = number(o, "kernels", int(s.kernels.size()));
  // An op that runs as PyTorch's own callable is listed as a kernel of device "torch"; it is none of ours.
  if (!s.kernels.isEmpty()) {
    for (const SegmentKernel& k : std::as_const(s.kernels))
      if (k.device == QLatin1String("torch"))
        for (SegmentOp& r : s.ops)
          if (r.kernel == k.id) r.kernel = -1;
    s.kernels.removeIf([](const SegmentKernel& k) { return k.device == QLatin1String("torch"); });
    s.kernel_count = int(s.kernels.size());
  }
  s.ranges = list(o, "source_ranges", [](const QJsonValue& r) {
    const QJsonObject x = r.toObject();
    return LineRange{text(x, "file"), number(x, "line"), number(x, "end_line")};
  });
  return s;
}

Edge edge(const QJsonValue& v) {
  const QJsonObject o = v.toObject();
  return {ident(o, "from"), ident(o, "to"), ident(o, "break"), text(o, "kind")};
}

Break parse_break(const QJsonValue& v) {
  const QJsonObject o = v.toObject();
  Break b;
  b.id = ident(o, "id");
  b.target = ident(o, "target");
  b.reason_id = text(o, "reason");
  b.reason = text(o, "type").remove(QLatin1Char('`'));
  if (b.reason.isEmpty()) b.reason = b.reason_id;
  b.gb_id = ident(o, "gb_id");
  b.file = text(o, "file");
  b.line = number(o, "line");
  b.column = number(o, "column", -1);
  b.end_line = number(o, "end_line", b.line);
  b.end_column = number(o, "end_column", -1);
  b.chain = list(o, "chain", call_place);
  b.explanation = text(o, "explanation");
  b.hints = strings(o, "hints");
  b.context = text(o, "context");
  b.code = text(o, "code");
  b.user = call_place(o.value(QLatin1String("user")));
  if (b.user.line <= 0) b.user = {b.file, b.line, b.chain.isEmpty() ? QString() : b.chain.last().function};
  b.events = number(o, "events");
  b.after = ident(o, "after");
  b.before = ident(o, "before");
  b.knowledge = ident(o, "knowledge");
  const QJsonObject policy = o.value(QLatin1String("policy")).toObject();
  if (!policy.isEmpty()) {
    b.effective = text(policy, "effective");
    b.policy_source = text(policy, "source");
  }
  return b;
}

Target target(const QJsonValue& v) {
  const QJsonObject o = v.toObject();
  Target t;
  t.id = ident(o, "id");
  t.name = text(o, "name");
  t.kind = text(o, "kind");
  t.file = text(o, "file");
  t.line = number(o, "line");
  t.graphs = number(o, "graphs");
  t.ops = number(o, "ops");
  t.places = number(o, "places");
  t.recompiles = number(o, "recompiles");
  t.skipped = number(o, "skipped");
  t.fullgraph = o.value(QLatin1String("fullgraph")).toBool();
  t.side_effects = o.value(QLatin1String("side_effects")).toBool();
  t.segments = list(o, "segments", segment);
  t.edges = list(o, "edges", edge);
  t.breaks = list(o, "breaks", parse_break);
  t.uncloneable = strings(o, "uncloneable");
  t.skipped_frames = list(o, "skipped_frames", [](const QJsonValue& s) {
    const QJsonObject x = s.toObject();
    return SkippedFrame{text(x, "name"), text(x, "file"), text(x, "reason"), number(x, "line")};
  });
  if (t.id.isEmpty()) t.id = t.name;
  // Segment ids count per target; here they get its name in front, so that one selection can mean one
  // segment.
  const auto qualify = [&t](QString& id) {
    if (!id.isEmpty()) id = t.id + QLatin1Char('/') + id;
  };
  for (Segment& s : t.segments) {
    s.target = t.id;
    qualify(s.id);
  }
  for (Edge& e : t.edges) qualify(e.from), qualify(e.to);
  const int calls = number(o, "calls");
  for (Break& b : t.breaks) {
    if (b.target.isEmpty()) b.target = t.id;
    b.per_call = calls > 0 ? double(b.events) / calls : b.events;
    qualify(b.before);
    qualify(b.after);
  }
  const QJsonValue error = o.value(QLatin1String("error"));
  if (error.isObject()) {
    const QJsonObject e = error.toObject();
    t.error = TargetError{text(e, "type"), text(e, "message"), text(e, "traceback"), ident(e, "break")};
  }
  return t;
}

Region region(const QJsonValue& v) {
  const QJsonObject o = v.toObject();
  Region r;
  r.key = text(o, "key");
  r.kind = text(o, "kind");
  r.file = text(o, "file");
  r.qualname = text(o, "qualname");
  r.parent = text(o, "parent");
  r.declared = text(o, "declared");
  r.overlay = text(o, "overlay");
  r.effective = text(o, "effective");
  r.source = text(o, "source");
  r.line = number(o, "line");
  r.end_line = number(o, "end_line", r.line);
  r.depth = number(o, "depth");
  r.breaks = number(o, "breaks");
  for (QString* value : {&r.declared, &r.overlay, &r.effective})
    if (value->isEmpty()) *value = QStringLiteral("inherit");
  return r;
}

}  // namespace

const Break* Report::find_break(const QString& id) const {
  for (const Target& t : targets)
    for (const Break& b : t.breaks)
      if (b.id == id) return &b;
  return nullptr;
}

const Segment* Report::find_segment(const QString& id) const {
  for (const Target& t : targets)
    for (const Segment& s : t.segments)
      if (s.id == id) return &s;
  return nullptr;
}

const Region* Report::find_region(const QString& key) const {
  for (const Region& r : regions)
    if (r.key == key) return &r;
  return nullptr;
}

const Target* Report::find_target(const QString& id) const {
  for (const Target& t : targets)
    if (t.id == id) return &t;
  return nullptr;
}

QVector<const Break*> Report::breaks_of(const QString& target) const {
  QVector<const Break*> out;
  for (const Target& t : targets)
    if (target.isEmpty() || t.id == target)
      for (const Break& b : t.breaks) out.push_back(&b);
  return out;
}

int Report::graphs(const QString& target) const {
  int n = 0;
  for (const Target& t : targets)
    if (target.isEmpty() || t.id == target) n += t.graphs;
  return n;
}

QVector<const SkippedFrame*> Report::skipped_of(const QString& target) const {
  QVector<const SkippedFrame*> out;
  for (const Target& t : targets)
    if (target.isEmpty() || t.id == target)
      for (const SkippedFrame& s : t.skipped_frames) out.push_back(&s);
  return out;
}

bool Report::holds(const Region& region, const Break& b) const {
  const QString wanted = resolve(region.file);
  const auto inside = [&](const QString& path, int line) {
    return line >= region.line && line <= region.end_line && resolve(path) == wanted;
  };
  return inside(b.file, b.line) || std::any_of(b.chain.begin(), b.chain.end(),
                                               [&](const CallPlace& c) { return inside(c.file, c.line); });
}

QString Report::resolve(const QString& path) const {
  if (path.isEmpty() || path.startsWith(QLatin1Char('<'))) return path;
  if (QFileInfo(path).isAbsolute()) return QDir::cleanPath(path);
  return QDir::cleanPath(QFileInfo(file).absoluteDir().absoluteFilePath(path));
}

const Region* Report::region_at(const QString& path, int line) const {
  const QString wanted = resolve(path);
  const Region* best = nullptr;
  for (const Region& r : regions) {
    if (line < r.line || line > r.end_line || resolve(r.file) != wanted) continue;
    if (!best || r.end_line - r.line <= best->end_line - best->line) best = &r;
  }
  return best;
}

Report parse_report(const QJsonObject& o) {
  Report r;
  r.schema = number(o, "schema");
  r.breakline = text(o, "breakline");
  r.python = text(o, "python");
  r.torch = text(o, "torch");
  r.file = text(o, "file");
  r.device = text(o, "device");
  r.threads = number(o, "threads");
  r.targets = list(o, "targets", target);
  // Breaks are listed per target; a report that lists them only at the top is sorted in here.
  for (const QJsonValue& v : o.value(QLatin1String("breaks")).toArray()) {
    const Break b = parse_break(v);
    for (Target& t : r.targets) {
      if (t.id != b.target && t.name != b.target) continue;
      bool known = false;
      for (const Break& have : t.breaks) known |= have.id == b.id;
      if (!known) t.breaks.push_back(b);
    }
  }
  r.regions = list(o, "regions", region);
  r.overlays = list(o, "overlays", [](const QJsonValue& v) {
    const QJsonObject x = v.toObject();
    OverlayState s;
    s.key = text(x, "key");
    s.value = text(x, "value");
    s.active = x.value(QLatin1String("active")).toBool(true);
    s.effect = x.value(QLatin1String("effect")).toBool(true);
    s.note = text(x, "note");
    return s;
  });
  const QJsonObject preview = o.value(QLatin1String("preview")).toObject();
  r.strict_rejects = strings(preview, "strict_rejects");
  r.strict_first = ident(preview, "first");
  r.warnings = strings(o, "warnings");
  r.output = list(o, "output", [](const QJsonValue& v) {
    const QJsonObject x = v.toObject();
    return OutputChunk{text(x, "stream"), text(x, "text"), text(x, "label")};
  });
  r.total_ms = o.value(QLatin1String("timing_ms")).toObject().value(QLatin1String("total")).toDouble();
  return r;
}

int traceback_line(const QString& traceback, const QString& file) {
  static const QRegularExpression kPlace(QStringLiteral("File \"([^\"]+)\", line (\\d+)"));
  int line = 0;
  for (auto it = kPlace.globalMatch(traceback); it.hasNext();) {
    const QRegularExpressionMatch m = it.next();
    if (QDir::cleanPath(m.captured(1)) == file) line = m.captured(2).toInt();
  }
  return line;
}

OverlayKey parse_overlay_key(const QString& key) {
  OverlayKey r;
  const int colon = key.indexOf(QLatin1Char(':'));
  const int last = key.lastIndexOf(QLatin1Char(':'));
  if (colon <= 0 || last <= colon) return {};
  const QString kind = key.left(colon);
  r.file = key.mid(colon + 1, last - colon - 1);
  r.name = key.mid(last + 1);
  if (kind == QLatin1String("lines")) {
    const QStringList ends = r.name.split(QLatin1Char('-'));
    bool first_ok = false, last_ok = true;
    r.first = ends.value(0).toInt(&first_ok);
    r.last = ends.size() > 1 ? ends.value(1).toInt(&last_ok) : r.first;
    if (!first_ok || !last_ok || r.first < 1 || r.last < r.first || ends.size() > 2) return {};
  } else if (kind != QLatin1String("fn") && kind != QLatin1String("module")) {
    return {};
  }
  if (r.file.isEmpty() || r.name.isEmpty()) return {};
  r.kind = kind;
  return r;
}

}  // namespace breakline::ui
