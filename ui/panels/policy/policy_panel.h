// SPDX-License-Identifier: GPL-3.0-or-later
// The tree of policy regions found in the code plus the user's overlays, each with an inherit/allow/error
// switch.
#pragma once
#include <QSet>

#include "ui/panels/panel.h"

class QAction;
class QStackedWidget;
class QTreeWidget;
class QTreeWidgetItem;

namespace breakline::ui {

class PolicyPanel : public Panel {
  Q_OBJECT
 public:
  PolicyPanel(const PanelContext& context, QWidget* parent);
  QList<QWidget*> title_tools() override;
  QList<QAction*> commands() override { return commands_; }
  QTreeWidget* tree() const { return tree_; }
  /// Where to click to give a region a value (viewport coordinates); null when it is not shown.
  QRect switch_rect(const QString& key, const QString& value) const;

 private:
  /// One row of the tree, in the order of `rows_`; a parent stands before its children.
  struct Row {
    QString id;  ///< of the region, the overlay or the heading
    int parent;  ///< index of the row above it, -1 at the top
    QString name, tip;
    QString overlay_key, value, effective, quiet;  ///< empty for headings
    bool user = false, inactive = false;
    bool closed = false;  ///< until the user opens it
  };

  QVector<Row> rows() const;
  void build_items(const QVector<Row>& rows);
  void refresh_now() override;
  void follow();
  void enable_remove();
  void set_value(QTreeWidgetItem* item, const QString& value);
  void set_current(const QString& value);
  void cycle_current();
  void remove_current();
  void add_overlay();
  void open_menu(const QPoint& at);
  bool eventFilter(QObject* object, QEvent* event) override;

  QTreeWidget* tree_;
  QStackedWidget* stack_;
  QList<QAction*> commands_;
  QAction* add_ = nullptr;
  QAction* strict_ = nullptr;
  QAction* remove_ = nullptr;
  QSet<QString> seen_;  ///< branches that were shown once: from then on the user decides
  QVector<Row> shown_;
  QVector<QTreeWidgetItem*> items_;  ///< one per row of `shown_`
  bool following_ = false;
};

}  // namespace breakline::ui
