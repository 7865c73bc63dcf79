// SPDX-License-Identifier: GPL-3.0-or-later
// The kernels of the selected segment with their generated source, as far as the engine sends it.
#pragma once
#include "ui/panels/panel.h"

class QListWidget;
class QPlainTextEdit;
class QStackedWidget;

namespace breakline::ui {

class EmptyState;

class KernelsPanel : public Panel {
  Q_OBJECT
 public:
  KernelsPanel(const PanelContext& context, QWidget* parent);

 private:
  void refresh_now() override;
  void show_kernel();
  const Segment* segment() const;
  QStackedWidget* stack_;
  EmptyState* empty_;
  QListWidget* list_;
  QPlainTextEdit* source_;
};

}  // namespace breakline::ui
