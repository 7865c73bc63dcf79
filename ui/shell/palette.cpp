// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/shell/palette.h"

#include <QAction>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QVBoxLayout>

namespace breakline::ui {

bool fuzzy_match(const QString& text, const QString& needle) {
  qsizetype at = 0;
  for (const QChar c : needle) {
    at = text.indexOf(c, at, Qt::CaseInsensitive);
    if (at < 0) return false;
    ++at;
  }
  return true;
}

CommandPalette::CommandPalette(const QList<QAction*>& actions, QWidget* parent)
    : QDialog(parent, Qt::Popup | Qt::FramelessWindowHint), actions_(actions) {
  setObjectName(QStringLiteral("palette"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(8, 8, 8, 8);
  search_ = new QLineEdit(this);
  search_->setPlaceholderText(tr("Type a command"));
  list_ = new QListWidget(this);
  list_->setFrameShape(QFrame::NoFrame);
  column->addWidget(search_);
  column->addWidget(list_);
  resize(520, 360);
  if (parent) move(parent->mapToGlobal(QPoint((parent->width() - width()) / 2, 60)));
  connect(search_, &QLineEdit::textChanged, this, &CommandPalette::filter);
  connect(search_, &QLineEdit::returnPressed, this, &CommandPalette::run);
  connect(list_, &QListWidget::itemClicked, this, &CommandPalette::run);
  search_->installEventFilter(this);
  filter();
}

void CommandPalette::filter() {
  list_->clear();
  for (int i = 0; i < actions_.size(); ++i) {
    QAction* a = actions_[i];
    QString text = a->text().remove(QLatin1Char('&'));
    if (!a->isEnabled() || !fuzzy_match(text, search_->text())) continue;
    const QString keys = a->shortcut().toString(QKeySequence::NativeText);
    auto* item =
        new QListWidgetItem(keys.isEmpty() ? text : QStringLiteral("%1   [%2]").arg(text, keys), list_);
    item->setData(Qt::UserRole, i);
    item->setIcon(a->icon());
  }
  list_->setCurrentRow(0);
}

void CommandPalette::run() {
  QListWidgetItem* item = list_->currentItem();
  QAction* action = item ? actions_[item->data(Qt::UserRole).toInt()] : nullptr;
  accept();
  if (action) action->trigger();
}

bool CommandPalette::eventFilter(QObject* object, QEvent* event) {
  if (event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    const int step = key == Qt::Key_Down ? 1 : key == Qt::Key_Up ? -1 : 0;
    if (step && list_->count()) {
      list_->setCurrentRow((list_->currentRow() + step + list_->count()) % list_->count());
      return true;
    }
  }
  return QDialog::eventFilter(object, event);
}

}  // namespace breakline::ui
