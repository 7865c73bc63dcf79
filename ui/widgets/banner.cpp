// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/banner.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>

namespace breakline::ui {

Banner::Banner(Theme* theme, QWidget* parent) : QFrame(parent), theme_(theme) {
  setObjectName(QStringLiteral("banner"));
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(12, 6, 8, 6);
  row->setSpacing(8);
  mark_ = new QLabel(this);
  text_ = new QLabel(this);
  text_->setWordWrap(true);
  text_->setObjectName(QStringLiteral("banner_text"));
  text_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  row->addWidget(mark_);
  row->addWidget(text_, 1);
  actions_ = new QHBoxLayout;
  actions_->setSpacing(4);
  row->addLayout(actions_);
  connect(theme, &Theme::changed, this, &Banner::restyle);
  hide();
}

QString Banner::sentence() const { return text_->text(); }

void Banner::restyle() {
  const Tone line = kind_ == Kind::Error     ? Tone::BreakError
                    : kind_ == Kind::Warning ? Tone::BreakAllowed
                                             : Tone::Accent;
  const Tone fill = kind_ == Kind::Error     ? Tone::BreakErrorFill
                    : kind_ == Kind::Warning ? Tone::BreakAllowedFill
                                             : Tone::Selection;
  setStyleSheet(QStringLiteral("#banner { background: %1; border-left: 3px solid %2; }")
                    .arg(theme_->css(fill), theme_->css(line)));
  mark_->setPixmap(theme_->icon(QStringLiteral("strict"), line).pixmap(16, 16));
}

void Banner::show_message(Kind kind, const QString& sentence, const QVector<Action>& actions, bool closable) {
  kind_ = kind;
  text_->setText(sentence);
  while (QLayoutItem* item = actions_->takeAt(0)) {
    if (item->widget()) {
      item->widget()->hide();
      item->widget()->deleteLater();
    }
    delete item;
  }
  for (const Action& a : actions) {
    auto* button = new QPushButton(a.text, this);
    button->setObjectName(a.object_name);
    connect(button, &QPushButton::clicked, this, [run = a.run] { run(); });
    actions_->addWidget(button);
  }
  if (closable) {
    auto* close = new QToolButton(this);
    close->setIcon(theme_->icon(QStringLiteral("close")));
    close->setToolTip(tr("Hide this message"));
    connect(close, &QToolButton::clicked, this, &QWidget::hide);
    actions_->addWidget(close);
  }
  restyle();
  show();
}

EmptyState::EmptyState(const QString& heading, const QString& words, QWidget* parent) : QFrame(parent) {
  setObjectName(QStringLiteral("empty_state"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(16, 12, 16, 12);
  column->setSpacing(4);
  column->addStretch(2);
  heading_ = new QLabel(heading, this);
  heading_->setProperty("heading", true);
  heading_->setAlignment(Qt::AlignCenter);
  heading_->setWordWrap(true);
  words_ = new QLabel(words, this);
  words_->setAlignment(Qt::AlignCenter);
  words_->setWordWrap(true);
  button_ = new QPushButton(this);
  button_->hide();
  connect(button_, &QPushButton::clicked, this, [this] {
    if (run_) run_();
  });
  column->addWidget(heading_);
  column->addWidget(words_);
  column->addSpacing(8);
  column->addWidget(button_, 0, Qt::AlignHCenter);
  column->addStretch(3);
}

void EmptyState::set_action(const QString& text, std::function<void()> run) {
  button_->setText(text);
  run_ = std::move(run);
  button_->show();
}

void EmptyState::offer(bool on) { button_->setVisible(on && run_); }

void EmptyState::set_words(const QString& heading, const QString& words) {
  heading_->setText(heading);
  words_->setText(words);
}

}  // namespace breakline::ui
