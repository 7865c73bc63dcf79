// SPDX-License-Identifier: GPL-3.0-or-later
// The errors exactly as the user's program would raise them, and the problems of the session with their
// details. A toggle that makes a break an error brings this panel to the front and selects that break; when the
// error is gone again, the details come back.
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
  void follow_toggle();
  QStackedWidget* stack_;
  QPlainTextEdit* view_;
  bool toggled_ = false, had_error_ = false, raised_ = false;
};

}  // namespace breakline::ui
