// SPDX-License-Identifier: GPL-3.0-or-later
// Asks what a new overlay is set on: a function, a range of lines or a module path. Not modal over the
// session: recompiles go on behind it.
#pragma once
#include <QDialog>

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;

namespace breakline::ui {

class OverlayDialog : public QDialog {
  Q_OBJECT
 public:
  struct Defaults {
    QString file, function, target;
    int first = 1, last = 1;
    QStringList functions, modules;  ///< names known from the report, offered while typing
  };
  OverlayDialog(const Defaults& defaults, QWidget* parent);
  /// Valid once accepted.
  QString key() const;
  QString value() const;

 private:
  void kind_changed();
  void check();
  Defaults defaults_;
  QComboBox* kind_;
  QComboBox* value_;
  QLineEdit* where_;
  QLineEdit* what_;
  QLabel* where_label_;
  QLabel* what_label_;
  QLabel* preview_;
  QPushButton* ok_;
};

}  // namespace breakline::ui
