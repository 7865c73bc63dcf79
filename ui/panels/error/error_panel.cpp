// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/error/error_panel.h"

#include <QPlainTextEdit>
#include <QStackedWidget>
#include <QVBoxLayout>

#include "ui/widgets/banner.h"

namespace breakline::ui {

ErrorPanel::ErrorPanel(const PanelContext& context, QWidget* parent) : Panel(context, parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  stack_ = new QStackedWidget(this);
  stack_->addWidget(new EmptyState(
      tr("No errors"),
      tr("Set a region to “error” and the exception that your program would get is shown here.")));
  view_ = new QPlainTextEdit(this);
  view_->setObjectName(QStringLiteral("error_text"));
  view_->setReadOnly(true);
  view_->setFrameShape(QFrame::NoFrame);
  view_->setLineWrapMode(QPlainTextEdit::NoWrap);
  view_->setTabChangesFocus(true);
  stack_->addWidget(view_);
  column->addWidget(stack_);
  for (auto signal : {&Session::report_changed, &Session::problem_changed, &Session::target_changed})
    connect(session(), signal, this, &ErrorPanel::refresh);
  connect(session(), &Session::overlays_changed, this, [this] { toggled_ = true; });
  connect(session(), &Session::report_changed, this, &ErrorPanel::follow_toggle);
  connect(theme(), &Theme::changed, this, [this] { view_->setFont(theme()->code_font()); });
  view_->setFont(theme()->code_font());
}

void ErrorPanel::refresh() {
  QStringList parts;
  const Problem& problem = session()->problem();
  if (!problem.empty())
    parts << problem.sentence +
                 (problem.detail.isEmpty() ? QString() : QStringLiteral("\n\n") + problem.detail.trimmed());
  if (const ReportPtr r = report())
    for (const Target& t : r->targets) {
      if (!t.error || (!session()->current_target().isEmpty() && t.id != session()->current_target()))
        continue;
      const QString said = t.error->traceback.isEmpty()
                               ? t.error->type + QStringLiteral(": ") + t.error->message
                               : t.error->traceback;
      parts << (r->targets.size() > 1 ? tr("target %1:").arg(t.name) + QStringLiteral("\n") : QString()) +
                   said.trimmed();
    }
  const QString text = parts.join(QStringLiteral("\n\n"));
  if (text != view_->toPlainText()) view_->setPlainText(text);
  stack_->setCurrentIndex(text.isEmpty() ? 0 : 1);
}

void ErrorPanel::follow_toggle() {
  const ReportPtr r = report();
  if (!r) {
    toggled_ = had_error_ = false;
    return;
  }
  const QString only = session()->current_target();
  bool has_error = false;
  QString culprit;
  for (const Target& t : r->targets) {
    if (!only.isEmpty() && t.id != only) continue;
    has_error |= t.error.has_value();
    if (t.error && culprit.isEmpty())
      for (const Break* b : r->breaks_of(t.id))
        if (culprit.isEmpty() && b->is_error()) culprit = b->id;
  }
  if (toggled_ && has_error && !had_error_) {
    raised_ = true;
    emit wants_panel(QStringLiteral("error"));
    if (!culprit.isEmpty()) select_break(culprit);
  } else if (!has_error && raised_) {
    raised_ = false;
    if (isVisible()) emit wants_panel(QStringLiteral("details"));
  }
  toggled_ = false;
  had_error_ = has_error;
}

}  // namespace breakline::ui
