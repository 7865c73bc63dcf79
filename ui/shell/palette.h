// SPDX-License-Identifier: GPL-3.0-or-later
// Finds any command by a few letters and runs it; shows the shortcut beside each one.
#pragma once
#include <QDialog>
#include <QList>

class QAction;
class QLineEdit;
class QListWidget;

namespace breakline::ui {

class CommandPalette : public QDialog {
  Q_OBJECT
 public:
  CommandPalette(const QList<QAction*>& actions, QWidget* parent);

 private:
  void filter();
  void run();
  bool eventFilter(QObject* object, QEvent* event) override;
  QList<QAction*> actions_;
  QLineEdit* search_;
  QListWidget* list_;
};

/// True when the letters of `needle` come in this order in `text` (case does not matter).
bool fuzzy_match(const QString& text, const QString& needle);

}  // namespace breakline::ui
