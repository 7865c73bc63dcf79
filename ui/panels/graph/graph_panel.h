// SPDX-License-Identifier: GPL-3.0-or-later
// The partition graph: segments as boxes with their ops, breaks as labelled edges. Layout of a large
// one runs off the GUI thread; the picture of the last report stays until the new one is placed.
#pragma once
#include <QGraphicsView>
#include <QHash>
#include <QSet>
#include <QVector>

#include "ui/panels/graph/graph_layout.h"
#include "ui/panels/panel.h"

class QGraphicsScene;
class QLabel;
class QLineEdit;
class QStackedWidget;

namespace breakline::ui {

class EdgeItem;
class EmptyState;
class SegmentItem;

/// A view with wheel zoom at the pointer and drag to pan.
class GraphView : public QGraphicsView {
  Q_OBJECT
 public:
  using QGraphicsView::QGraphicsView;
  void zoom(double factor);

 signals:
  void clicked(int kind, const QString& id);
  void double_clicked(int kind, const QString& id);
  void step_wanted(int direction);
  void expand_wanted();

 protected:
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  QPoint pressed_;
};

class GraphPanel : public Panel {
  Q_OBJECT
 public:
  GraphPanel(const PanelContext& context, QWidget* parent);
  QList<QWidget*> title_tools() override;
  QList<QAction*> commands() override { return commands_; }
  bool settled() const override { return Panel::settled() && shown_ == wanted_; }
  int segment_items() const { return int(segments_.size()); }
  int break_items() const { return int(edges_.size()); }
  GraphView* view() const { return view_; }
  void fit();

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;

 private:
  /// One target's boxes and edges before and after layout.
  struct Part {
    QString target;
    QVector<QString> nodes;  ///< segment ids; error ends are "!" + break id
    QVector<QSizeF> sizes;
    QVector<LayoutEdge> edges;
    QVector<QString> edge_breaks;  ///< break id or empty
    LayoutResult placed;
  };

  void refresh_now() override;
  void show_parts(const QVector<Part>& parts);
  void mark();
  void say_why_empty();
  /// A picture that is no longer of the text on the screen is drawn faintly.
  void fade();
  void fit_first();
  void step(int direction);
  void find_next();
  QString cost_words(const Break& b) const;
  QString time_of(const Target& target, const Segment& segment) const;
  void toggle_expanded(const QString& id);

  GraphView* view_;
  QGraphicsScene* scene_;
  QStackedWidget* stack_;
  EmptyState* empty_;
  QLineEdit* search_ = nullptr;
  QLabel* search_count_ = nullptr;
  QHash<QString, SegmentItem*> segments_;
  QMultiHash<QString, EdgeItem*> edges_;
  QVector<QString> order_;  ///< segment ids, top to bottom
  QSet<QString> expanded_;
  QList<QAction*> commands_;
  ReportPtr shown_report_;
  QString fitted_for_;
  int wanted_ = 0, shown_ = 0, found_ = -1;
};

}  // namespace breakline::ui
