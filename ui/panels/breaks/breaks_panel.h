// SPDX-License-Identifier: GPL-3.0-or-later
// The list of breaks: where, why, how often, what it costs and what the policy says.
#pragma once
#include "ui/models/break_table_model.h"
#include "ui/panels/panel.h"

class QLabel;
class QStackedWidget;
class QTableView;

namespace breakline::ui {

class EmptyState;

class BreaksPanel : public Panel {
  Q_OBJECT
 public:
  BreaksPanel(const PanelContext& context, QWidget* parent);
  QLabel* foot() const { return foot_; }
  QTableView* table() const { return table_; }

 private:
  void refresh_now() override;
  void follow();
  void open_menu(const QPoint& at);
  QTableView* table_;
  QStackedWidget* stack_;
  EmptyState* empty_;
  QLabel* foot_;
  BreakTableModel* model_;
  bool following_ = false;
};

}  // namespace breakline::ui
