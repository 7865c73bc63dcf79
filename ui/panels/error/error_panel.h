// SPDX-License-Identifier: GPL-3.0-or-later
// The errors exactly as the user's program would raise them, and the problems of the session with their
// details. A new error brings this panel to the front and, when one break is to blame, selects that break;
// when the errors are gone again, the details come back.
#pragma once
#include <QSet>

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
  void refresh_now() override;
  void follow();
  QStackedWidget* stack_;
  QPlainTextEdit* view_;
  QSet<QString> known_;  ///< the errors that were shown already
  bool raised_ = false;
};

}  // namespace breakline::ui
