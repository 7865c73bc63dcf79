// SPDX-License-Identifier: GPL-3.0-or-later
// What the user's code printed, apart from the protocol; output of a recompile is labelled.
#pragma once
#include "ui/panels/panel.h"

class QPlainTextEdit;
class QStackedWidget;

namespace breakline::ui {

class OutputPanel : public Panel {
  Q_OBJECT
 public:
  OutputPanel(const PanelContext& context, QWidget* parent);
  QList<QAction*> commands() override { return commands_; }
  QPlainTextEdit* view() const { return view_; }

 private:
  void add(const OutputChunk& chunk);
  void clear();
  QStackedWidget* stack_;
  QPlainTextEdit* view_;
  QString label_;
  qsizetype column_ = 0;  ///< characters of the line that is still open, cut ones included
  QList<QAction*> commands_;
};

}  // namespace breakline::ui
