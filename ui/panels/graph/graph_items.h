// SPDX-License-Identifier: GPL-3.0-or-later
// Painted things of the partition graph: segments with their ops, breaks as labelled edges, error ends,
// frames.
#pragma once
#include <QGraphicsItem>
#include <QPainterPath>

#include "ui/models/report.h"
#include "ui/widgets/theme.h"

namespace breakline::ui {

/// What a click on an item means.
enum GraphItemData { kItemKind = 0, kItemId = 1 };
enum class GraphItemKind { Segment = 1, Break = 2, Frame = 3 };

class SegmentItem : public QGraphicsItem {
 public:
  /// Rows of ops beyond the cap are folded into one "+ n more" row unless `expanded`.
  /// `time` is the measured run time in words, or empty.
  SegmentItem(const Segment& segment, const QString& title, const QString& time, bool expanded,
              const Theme& theme);
  static QSizeF size_of(const Segment& segment, const QString& title, const QString& time, bool expanded,
                        const Theme& theme);
  QRectF boundingRect() const override { return QRectF(QPointF(-2, -2), size_ + QSizeF(4, 4)); }
  void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;
  void set_marked(bool selected, int line, const QString& search);

 private:
  Segment segment_;
  QString title_, time_;
  bool expanded_, selected_ = false;
  int line_ = 0;
  QString search_;
  QSizeF size_;
  const Theme& theme_;
};

/// The end of a path at a break that a policy turned into an error.
class ErrorEndItem : public QGraphicsItem {
 public:
  ErrorEndItem(const QString& words, const Theme& theme);
  static QSizeF size_of(const QString& words, const Theme& theme);
  QRectF boundingRect() const override { return QRectF(QPointF(-2, -2), size_ + QSizeF(4, 4)); }
  void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;

 private:
  QString words_;
  QSizeF size_;
  const Theme& theme_;
};

/// An edge; with a break it carries a label and a mark, without it is a plain step.
class EdgeItem : public QGraphicsItem {
 public:
  EdgeItem(const QPainterPath& path, const QRectF& label, QPointF tip, qreal angle, const Break* b,
           const QString& cost, bool preview_error, const Theme& theme);
  static QSizeF label_size(const Break& b, const QString& cost, const Theme& theme);
  QRectF boundingRect() const override;
  QPainterPath shape() const override;
  void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;
  void set_marked(bool selected);

 private:
  QPainterPath path_;
  QRectF label_;
  QPointF tip_;
  qreal angle_;
  QString first_, second_;
  bool has_break_ = false, error_ = false, selected_ = false;
  const Theme& theme_;
};

class FrameItem : public QGraphicsItem {
 public:
  FrameItem(const QRectF& box, const QString& title, const QString& words, const Theme& theme);
  QRectF boundingRect() const override { return box_.adjusted(-2, -2, 2, 2); }
  void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;
  static constexpr qreal kTitle = 34, kPadding = 16;

 private:
  QRectF box_;
  QString title_, words_;
  const Theme& theme_;
};

}  // namespace breakline::ui
