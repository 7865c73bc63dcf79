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
  void refresh();
  void follow();
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
  bool following_ = false;
};

}  // namespace breakline::ui
