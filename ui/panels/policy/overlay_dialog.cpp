// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/policy/overlay_dialog.h"

#include <QComboBox>
#include <QCompleter>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>

#include "ui/models/report.h"
#include "ui/models/words.h"

namespace breakline::ui {

OverlayDialog::OverlayDialog(const Defaults& defaults, QWidget* parent)
    : QDialog(parent), defaults_(defaults) {
  setWindowTitle(tr("Add overlay"));
  setObjectName(QStringLiteral("overlay_dialog"));
  auto* form = new QFormLayout(this);
  form->setContentsMargins(16, 16, 16, 16);
  form->setVerticalSpacing(8);
  kind_ = new QComboBox(this);
  kind_->setObjectName(QStringLiteral("overlay_kind"));
  kind_->addItem(tr("Function"), QStringLiteral("fn"));
  kind_->addItem(tr("Lines"), QStringLiteral("lines"));
  kind_->addItem(tr("Module path"), QStringLiteral("module"));
  where_ = new QLineEdit(this);
  what_ = new QLineEdit(this);
  what_->setObjectName(QStringLiteral("overlay_what"));
  where_label_ = new QLabel(this);
  what_label_ = new QLabel(this);
  where_label_->setBuddy(where_);
  what_label_->setBuddy(what_);
  value_ = new QComboBox(this);
  value_->setObjectName(QStringLiteral("overlay_value"));
  for (const char* v : {"error", "allow", "inherit"})
    value_->addItem(policy_word(QLatin1String(v)), QLatin1String(v));
  preview_ = new QLabel(this);
  preview_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  form->addRow(tr("Set on"), kind_);
  form->addRow(where_label_, where_);
  form->addRow(what_label_, what_);
  form->addRow(tr("Breaks there"), value_);
  form->addRow(tr("Key"), preview_);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel, this);
  ok_ = buttons->button(QDialogButtonBox::Ok);
  ok_->setText(tr("Add"));
  ok_->setProperty("primary", true);
  form->addRow(buttons);
  connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  connect(kind_, &QComboBox::currentIndexChanged, this, &OverlayDialog::kind_changed);
  connect(where_, &QLineEdit::textChanged, this, &OverlayDialog::check);
  connect(what_, &QLineEdit::textChanged, this, &OverlayDialog::check);
  if (defaults.function.isEmpty()) kind_->setCurrentIndex(1);
  kind_changed();
  setMinimumWidth(420);
}

void OverlayDialog::kind_changed() {
  const QString kind = kind_->currentData().toString();
  const bool module = kind == QLatin1String("module");
  where_label_->setText(module ? tr("Target") : tr("File"));
  where_->setText(module ? defaults_.target : defaults_.file);
  what_label_->setText(module                        ? tr("Path")
                       : kind == QLatin1String("fn") ? tr("Qualified name")
                                                     : tr("Lines"));
  what_->setPlaceholderText(module                        ? QStringLiteral("layers.3.attn")
                            : kind == QLatin1String("fn") ? QStringLiteral("Net.forward")
                                                          : QStringLiteral("12-18"));
  what_->setText(module ? QString()
                 : kind == QLatin1String("fn")
                     ? defaults_.function
                     : QStringLiteral("%1-%2").arg(defaults_.first).arg(defaults_.last));
  const QStringList names = module                        ? defaults_.modules
                            : kind == QLatin1String("fn") ? defaults_.functions
                                                          : QStringList();
  auto* completer = new QCompleter(names, what_);
  completer->setFilterMode(Qt::MatchContains);
  completer->setCompletionMode(QCompleter::PopupCompletion);
  delete what_->completer();
  what_->setCompleter(completer);
  check();
}

void OverlayDialog::check() {
  const bool valid = parse_overlay_key(key()).valid();
  preview_->setText(valid ? key() : tr("not complete yet"));
  ok_->setEnabled(valid);
}

QString OverlayDialog::key() const {
  return QStringLiteral("%1:%2:%3")
      .arg(kind_->currentData().toString(), where_->text().trimmed(), what_->text().trimmed());
}

QString OverlayDialog::value() const { return value_->currentData().toString(); }

}  // namespace breakline::ui
