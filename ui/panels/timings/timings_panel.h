// SPDX-License-Identifier: GPL-3.0-or-later
// Eager and compiled arms side by side: distribution, median, spread, ratio, verdict, and whether outputs
// agree.
#pragma once
#include "ui/panels/panel.h"

class QAction;
class QLabel;
class QStackedWidget;
class QTableWidget;

namespace breakline::ui {

class DistributionPlot;
class EmptyState;

class TimingsPanel : public Panel {
  Q_OBJECT
 public:
  TimingsPanel(const PanelContext& context, QWidget* parent);
  QList<QWidget*> title_tools() override;
  QList<QAction*> commands() override { return commands_; }
  QTableWidget* table() const { return table_; }

 private:
  void refresh_now() override;
  /// At once, and while the panel is hidden too: their keys work everywhere.
  void enable_actions();
  bool can_measure() const;
  void resizeEvent(QResizeEvent* event) override;
  QString plan_note() const;
  QStackedWidget* stack_;
  EmptyState* empty_;
  DistributionPlot* plot_;
  QTableWidget* table_;
  QLabel* note_;
  QList<QAction*> commands_;
  QAction* measure_;
  QAction* no_grad_;
  QAction* always_;
};

}  // namespace breakline::ui
