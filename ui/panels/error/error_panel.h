// SPDX-License-Identifier: GPL-3.0-or-later
// The errors exactly as the user's program would raise them, and the problems of the session with their
// details.
#pragma once
#include "ui/panels/panel.h"

class QPlainTextEdit;
class QStackedWidget;

namespace breakline::ui {

class ErrorPanel : public Panel {
  Q_OBJECT
 public:
  ErrorPanel(const PanelContext& context, QWidget* parent);
  QPlainTextEdit* view() const { return view_; }

 private:
  void refresh();
  QStackedWidget* stack_;
  QPlainTextEdit* view_;
};

}  // namespace breakline::ui
