// SPDX-License-Identifier: GPL-3.0-or-later
// One clear sentence above the panes with the actions that help. Never modal.
#pragma once
#include <QFrame>
#include <QVector>
#include <functional>

#include "ui/widgets/theme.h"

class QHBoxLayout;
class QLabel;
class QPushButton;

namespace breakline::ui {

class Banner : public QFrame {
  Q_OBJECT
 public:
  enum class Kind { Info, Warning, Error };
  struct Action {
    QString text, object_name;
    std::function<void()> run;
  };
  explicit Banner(Theme* theme, QWidget* parent = nullptr);
  void show_message(Kind kind, const QString& sentence, const QVector<Action>& actions, bool closable = true);
  QString sentence() const;

 private:
  void restyle();
  Theme* theme_;
  Kind kind_ = Kind::Info;
  QLabel* mark_;
  QLabel* text_;
  QHBoxLayout* actions_;
};

/// What an empty pane shows: what would fill it, and a button that does so.
class EmptyState : public QFrame {
  Q_OBJECT
 public:
  EmptyState(const QString& heading, const QString& words, QWidget* parent = nullptr);
  /// Adds the button; `run` is called when it is pressed.
  void set_action(const QString& text, std::function<void()> run);
  void set_words(const QString& heading, const QString& words);
  /// Hides or shows the button of `set_action`.
  void offer(bool on);

 private:
  QLabel* heading_;
  QLabel* words_;
  QPushButton* button_;
  std::function<void()> run_;
};

}  // namespace breakline::ui
