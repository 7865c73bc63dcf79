// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/graph/graph_items.h"

#include <QCoreApplication>
#include <QCursor>
#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>

#include "ui/models/reasons.h"
#include "ui/models/timings.h"
#include "ui/models/words.h"

namespace breakline::ui {
namespace {

constexpr int kCap = 6;
constexpr qreal kRow = 18, kHeader = 46, kPad = 12, kLeast = 268, kMost = 440, kSlim = 30, kLabelMost = 300;

QString tr(const char* text) { return QCoreApplication::translate("Graph", text); }

QFont bold(QFont font) {
  font.setBold(true);
  return font;
}

QFont code_small(const Theme& theme) {
  QFont font = theme.code_font();
  font.setPointSizeF(font.pointSizeF() - 0.5);
  return font;
}

int shown_ops(const Segment& s, bool expanded) {
  const int n = int(s.ops.size());
  return expanded || n <= kCap + 1 ? n : kCap;
}

QString facts(const Segment& s, const QString& time) {
  QStringList parts{counted(int(s.ops.size()), tr("%1 op"), tr("%1 ops"))};
  if (s.kernel_count) parts << counted(s.kernel_count, tr("%1 kernel"), tr("%1 kernels"));
  if (!time.isEmpty()) parts << time;
  if (s.runs) parts << counted(s.runs, tr("%1 run"), tr("%1 runs"));
  return parts.join(QStringLiteral(" · "));
}

QString plan_words(const Segment& s) {
  return s.plan_reason.isEmpty() ? QString() : s.plan + QStringLiteral(": ") + s.plan_reason;
}

QString type_words(const SegmentOp& op) { return op.dtype + op.shape; }

QString break_first(const Break& b) {
  return tr("line %1 · %2").arg(b.line).arg(reason_label(b.reason_id, b.reason));
}

QString break_second(const Break& b, const QString& cost) {
  QStringList parts;
  if (b.is_error()) parts << tr("error");
  if (!cost.isEmpty()) parts << cost;
  if (b.per_call > 0) parts << tr("%1 per call").arg(b.per_call, 0, 'g', 3);
  if (!b.is_error()) parts << tr("allowed");
  return parts.join(QStringLiteral(" · "));
}

Tone plan_tone(const QString& plan) {
  return plan == QLatin1String("vulkan") ? Tone::Vulkan
         : plan == QLatin1String("cpu")  ? Tone::Compiled
                                         : Tone::Quiet;
}

void pill(QPainter* p, const QRectF& box, const QString& text, const QColor& color) {
  p->setPen(QPen(color, 1));
  p->setBrush(Qt::NoBrush);
  p->drawRoundedRect(box, box.height() / 2, box.height() / 2);
  p->drawText(box, Qt::AlignCenter, text);
}

}  // namespace

QSizeF SegmentItem::size_of(const Segment& s, const QString& title, const QString& time, bool expanded,
                            const Theme& theme) {
  const QFontMetricsF ui(bold(theme.ui_font())), small(theme.small_font()), code(code_small(theme));
  if (s.ops.isEmpty()) return {std::max<qreal>(170, small.horizontalAdvance(title) + 100), kSlim};
  qreal width = ui.horizontalAdvance(title) + small.horizontalAdvance(s.function) + 100;
  width = std::max(width, small.horizontalAdvance(facts(s, time)) + 3 * kPad);
  const int shown = shown_ops(s, expanded);
  for (int i = 0; i < shown; ++i)
    width = std::max(
        width, code.horizontalAdvance(s.ops[i].name) + small.horizontalAdvance(type_words(s.ops[i])) + 96);
  qreal height = kHeader + shown * kRow + 10;
  if (shown < s.ops.size()) height += kRow;
  if (!plan_words(s).isEmpty()) height += kRow;
  return {std::clamp(width, kLeast, kMost), height};
}

SegmentItem::SegmentItem(const Segment& s, const QString& title, const QString& time, bool expanded,
                         const Theme& theme)
    : segment_(s),
      title_(title),
      time_(time),
      expanded_(expanded),
      size_(size_of(s, title, time, expanded, theme)),
      theme_(theme) {
  setData(kItemKind, int(GraphItemKind::Segment));
  setData(kItemId, s.id);
  QString tip = title + QStringLiteral("\n") + facts(s, time);
  if (!plan_words(s).isEmpty()) tip += QLatin1Char('\n') + plan_words(s);
  if (s.guards) tip += QLatin1Char('\n') + counted(s.guards, tr("%1 guard"), tr("%1 guards"));
  if (!s.ops.isEmpty()) tip += QLatin1Char('\n') + tr("result: %1").arg(type_words(s.ops.last()));
  if (shown_ops(s, expanded) < s.ops.size()) tip += QLatin1Char('\n') + tr("double click shows all ops");
  setToolTip(tip);
  setCacheMode(QGraphicsItem::NoCache);
}

void SegmentItem::set_marked(bool selected, int line, const QString& search) {
  if (selected == selected_ && line == line_ && search == search_) return;
  selected_ = selected;
  line_ = line;
  search_ = search;
  update();
}

void SegmentItem::paint(QPainter* p, const QStyleOptionGraphicsItem*, QWidget*) {
  const QRectF box(QPointF(0, 0), size_);
  const QColor line = theme_.color(Tone::Segment), quiet = theme_.color(Tone::Quiet),
               text = theme_.color(Tone::Text);
  p->setRenderHint(QPainter::Antialiasing);
  if (selected_) {
    p->setPen(QPen(theme_.color(Tone::Accent), 3));
    p->setBrush(Qt::NoBrush);
    p->drawRoundedRect(box.adjusted(-1, -1, 1, 1), 8, 8);
  }
  if (segment_.ops.isEmpty()) {
    p->setPen(QPen(theme_.color(Tone::Inherit), 1, Qt::DashLine));
    p->setBrush(theme_.color(Tone::Pane));
    p->drawRoundedRect(box, kSlim / 2, kSlim / 2);
    p->setFont(theme_.small_font());
    p->setPen(quiet);
    p->drawText(box, Qt::AlignCenter, tr("%1 · no ops").arg(title_));
    return;
  }
  p->setPen(QPen(line, 1.2));
  p->setBrush(theme_.color(Tone::Pane));
  p->drawRoundedRect(box, 7, 7);
  QPainterPath head;
  head.addRoundedRect(box.adjusted(0.6, 0.6, -0.6, -0.6), 6.5, 6.5);
  p->save();
  p->setClipRect(QRectF(0, 0, box.width(), kHeader));
  p->fillPath(head, theme_.color(Tone::SegmentFill));
  p->restore();

  // Header: title, function; plan pill at the right; facts below.
  p->setFont(theme_.small_font());
  const QFontMetricsF small(theme_.small_font());
  const qreal pill_width = small.horizontalAdvance(segment_.plan) + 16;
  if (!segment_.plan.isEmpty())
    pill(p, QRectF(box.width() - kPad - pill_width, 7, pill_width, 17), segment_.plan,
         theme_.color(plan_tone(segment_.plan)));
  const QFont strong = bold(theme_.ui_font());
  p->setFont(strong);
  p->setPen(text);
  const qreal title_width = QFontMetricsF(strong).horizontalAdvance(title_) + 8;
  p->drawText(QRectF(kPad, 4, title_width, 22), Qt::AlignVCenter, title_);
  p->setFont(theme_.small_font());
  p->setPen(quiet);
  const qreal room = box.width() - 2 * kPad - title_width - pill_width - 8;
  p->drawText(QRectF(kPad + title_width, 4, room, 22), Qt::AlignVCenter,
              small.elidedText(segment_.function, Qt::ElideMiddle, room));
  p->drawText(QRectF(kPad, 24, box.width() - 2 * kPad, 18), Qt::AlignVCenter, facts(segment_, time_));

  // Ops, one row each; a bar at the left joins the ops of one kernel.
  const QFont code = code_small(theme_);
  const QFontMetricsF code_metrics(code);
  const int shown = shown_ops(segment_, expanded_);
  qreal y = kHeader + 4;
  for (int i = 0; i < shown; ++i, y += kRow) {
    const SegmentOp& op = segment_.ops[i];
    const bool here = line_ > 0 && op.line == line_;
    const bool found = !search_.isEmpty() && op.name.contains(search_, Qt::CaseInsensitive);
    if (here || found) p->fillRect(QRectF(1, y, box.width() - 2, kRow), theme_.color(Tone::Selection));
    if (op.kernel >= 0) {
      const bool starts = i == 0 || segment_.ops[i - 1].kernel != op.kernel;
      const bool ends = i + 1 == shown || segment_.ops[i + 1].kernel != op.kernel;
      p->fillRect(QRectF(7, y + (starts ? 3 : 0), 3, kRow - (starts ? 3 : 0) - (ends ? 3 : 0)),
                  theme_.color(plan_tone(segment_.plan)));
    } else {
      p->setPen(QPen(theme_.color(Tone::Inherit), 1));
      p->setBrush(Qt::NoBrush);
      p->drawEllipse(QPointF(8.5, y + kRow / 2), 2, 2);
    }
    const QString type = type_words(op);
    const qreal type_width = small.horizontalAdvance(type),
                line_width = small.horizontalAdvance(QStringLiteral("00000"));
    p->setFont(code);
    p->setPen(text);
    const qreal name_room = box.width() - 18 - type_width - line_width - kPad - 12;
    p->drawText(QRectF(18, y, name_room, kRow), Qt::AlignVCenter,
                code_metrics.elidedText(op.name, Qt::ElideMiddle, name_room));
    p->setFont(theme_.small_font());
    p->setPen(quiet);
    p->drawText(QRectF(box.width() - kPad - line_width - type_width - 4, y, type_width + 2, kRow),
                Qt::AlignVCenter, type);
    if (op.line > 0)
      p->drawText(QRectF(box.width() - kPad - line_width, y, line_width, kRow),
                  Qt::AlignVCenter | Qt::AlignRight, QString::number(op.line));
  }
  p->setFont(theme_.small_font());
  p->setPen(quiet);
  if (shown < segment_.ops.size()) {
    p->drawText(QRectF(18, y, box.width() - 18, kRow), Qt::AlignVCenter,
                tr("+ %1 more").arg(segment_.ops.size() - shown));
    y += kRow;
  }
  if (!plan_words(segment_).isEmpty()) {
    p->setPen(theme_.color(Tone::BreakAllowed));
    const qreal width = box.width() - 18 - kPad;
    p->drawText(QRectF(18, y, width, kRow), Qt::AlignVCenter,
                small.elidedText(plan_words(segment_), Qt::ElideRight, width));
  }
}

QSizeF ErrorEndItem::size_of(const QString& words, const Theme& theme) {
  const qreal width = QFontMetricsF(bold(theme.ui_font())).horizontalAdvance(words) + 56;
  return {std::clamp<qreal>(width, 120, 360), 34};
}

ErrorEndItem::ErrorEndItem(const QString& words, const Theme& theme)
    : words_(words), size_(size_of(words, theme)), theme_(theme) {
  setToolTip(words);
}

void ErrorEndItem::paint(QPainter* p, const QStyleOptionGraphicsItem*, QWidget*) {
  p->setRenderHint(QPainter::Antialiasing);
  const QRectF b(QPointF(0, 0), size_);
  const qreal c = 10;
  const QPolygonF octagon{QPointF(c, 0),
                          QPointF(b.right() - c, 0),
                          QPointF(b.right(), c),
                          QPointF(b.right(), b.bottom() - c),
                          QPointF(b.right() - c, b.bottom()),
                          QPointF(c, b.bottom()),
                          QPointF(0, b.bottom() - c),
                          QPointF(0, c)};
  p->setPen(QPen(theme_.color(Tone::BreakError), 2));
  p->setBrush(theme_.color(Tone::BreakErrorFill));
  p->drawPolygon(octagon);
  const QFont font = bold(theme_.ui_font());
  p->setFont(font);
  p->setPen(theme_.color(Tone::BreakError));
  p->drawText(b.adjusted(14, 0, -14, 0), Qt::AlignCenter,
              QFontMetricsF(font).elidedText(words_, Qt::ElideRight, b.width() - 28));
}

QSizeF EdgeItem::label_size(const Break& b, const QString& cost, const Theme& theme) {
  const QFontMetricsF ui(bold(theme.ui_font())), small(theme.small_font());
  const qreal width =
      std::max(ui.horizontalAdvance(break_first(b)), small.horizontalAdvance(break_second(b, cost)));
  return {std::min(kLabelMost, width + 20), 40};
}

EdgeItem::EdgeItem(const QPainterPath& path, const QRectF& label, QPointF tip, qreal angle, const Break* b,
                   const QString& cost, bool preview_error, const Theme& theme)
    : path_(path), label_(label), tip_(tip), angle_(angle), theme_(theme) {
  setZValue(1);
  if (!b) return;
  has_break_ = true;
  error_ = b->is_error() || preview_error;
  first_ = break_first(*b);
  second_ = break_second(*b, cost);
  if (preview_error && !b->is_error()) second_ += QStringLiteral(" · ") + tr("strict would reject");
  setData(kItemKind, int(GraphItemKind::Break));
  setData(kItemId, b->id);
  setToolTip(first_ + QLatin1Char('\n') + second_ +
             (b->context.isEmpty() ? QString() : QLatin1Char('\n') + b->context));
  setCursor(Qt::PointingHandCursor);
}

QRectF EdgeItem::boundingRect() const {
  return path_.boundingRect().adjusted(-12, -6, 12, 6) | label_.adjusted(-4, -4, 4, 4);
}

QPainterPath EdgeItem::shape() const {
  QPainterPathStroker stroker;
  stroker.setWidth(14);
  QPainterPath s = stroker.createStroke(path_);
  s.addRect(label_);
  return s;
}

void EdgeItem::set_marked(bool selected) {
  if (selected == selected_) return;
  selected_ = selected;
  update();
}

void EdgeItem::paint(QPainter* p, const QStyleOptionGraphicsItem*, QWidget*) {
  p->setRenderHint(QPainter::Antialiasing);
  const QColor color = theme_.color(!has_break_ ? Tone::Inherit
                                    : error_    ? Tone::BreakError
                                                : Tone::BreakAllowed);
  p->setBrush(Qt::NoBrush);
  if (!has_break_) {
    p->setPen(QPen(color, 1.4));
    p->drawPath(path_);
  } else if (error_) {
    p->setPen(QPen(color, 4));
    p->drawPath(path_);
  } else {
    // A double line: the wide stroke, then its middle taken out.
    p->setPen(QPen(color, 5));
    p->drawPath(path_);
    p->setPen(QPen(theme_.color(Tone::Ground), 2));
    p->drawPath(path_);
  }
  p->save();
  p->translate(tip_);
  p->rotate(angle_ - 90);
  p->setPen(Qt::NoPen);
  p->setBrush(color);
  p->drawPolygon(QPolygonF{QPointF(0, 0), QPointF(-5, -8), QPointF(5, -8)});
  p->restore();
  if (!has_break_) return;

  // The mark sits on the line at the height of the label.
  const QPointF at(label_.left() - 10, label_.center().y());
  p->setPen(QPen(color, 1.6));
  p->setBrush(theme_.color(error_ ? Tone::BreakErrorFill : Tone::BreakAllowedFill));
  if (error_)
    p->drawPolygon(QPolygonF{at + QPointF(-3, -7), at + QPointF(3, -7), at + QPointF(7, -3),
                             at + QPointF(7, 3), at + QPointF(3, 7), at + QPointF(-3, 7), at + QPointF(-7, 3),
                             at + QPointF(-7, -3)});
  else
    p->drawPolygon(
        QPolygonF{at + QPointF(0, -7), at + QPointF(7, 0), at + QPointF(0, 7), at + QPointF(-7, 0)});

  const QRectF words = label_.adjusted(4, 0, 0, 0);
  if (selected_) {
    p->setPen(QPen(theme_.color(Tone::Accent), 2));
    p->setBrush(theme_.color(Tone::Selection));
    p->drawRoundedRect(label_.adjusted(0, 0, -1, 0), 5, 5);
  }
  const QFont strong = bold(theme_.ui_font());
  p->setFont(strong);
  p->setPen(color);
  p->drawText(QRectF(words.left() + 6, words.top() + 1, words.width() - 10, 20), Qt::AlignVCenter,
              QFontMetricsF(strong).elidedText(first_, Qt::ElideMiddle, words.width() - 10));
  p->setFont(theme_.small_font());
  p->setPen(theme_.color(Tone::Quiet));
  p->drawText(QRectF(words.left() + 6, words.top() + 20, words.width() - 10, 18), Qt::AlignVCenter,
              QFontMetricsF(theme_.small_font()).elidedText(second_, Qt::ElideMiddle, words.width() - 10));
}

FrameItem::FrameItem(const QRectF& box, const QString& title, const QString& words, const Theme& theme)
    : box_(box), title_(title), words_(words), theme_(theme) {
  setZValue(-1);
  setToolTip(title + QStringLiteral("\n") + words);
}

void FrameItem::paint(QPainter* p, const QStyleOptionGraphicsItem*, QWidget*) {
  p->setRenderHint(QPainter::Antialiasing);
  p->setPen(QPen(theme_.color(Tone::Line), 1));
  p->setBrush(theme_.color(Tone::Ground));
  p->drawRoundedRect(box_, 10, 10);
  const QFont strong = bold(theme_.ui_font());
  p->setFont(strong);
  p->setPen(theme_.color(Tone::Text));
  const qreal width = QFontMetricsF(strong).horizontalAdvance(title_);
  const qreal x = box_.left() + kPadding;
  p->drawText(QRectF(x, box_.top() + 6, width + 4, 24), Qt::AlignVCenter, title_);
  p->setFont(theme_.small_font());
  p->setPen(theme_.color(Tone::Quiet));
  const qreal room = box_.width() - 2 * kPadding - width - 10;
  p->drawText(QRectF(x + width + 10, box_.top() + 6, room, 24), Qt::AlignVCenter,
              QFontMetricsF(theme_.small_font()).elidedText(words_, Qt::ElideRight, room));
}

}  // namespace breakline::ui
