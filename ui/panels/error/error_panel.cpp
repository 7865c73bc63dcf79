// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/error/error_panel.h"

#include <QPlainTextEdit>
#include <QSet>
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
    connect(session(), signal, this, &ErrorPanel::refresh_later);
  for (auto signal : {&Session::report_changed, &Session::problem_changed})
    connect(session(), signal, this, &ErrorPanel::follow);
  connect(theme(), &Theme::changed, this, [this] { view_->setFont(theme()->code_font()); });
  view_->setFont(theme()->code_font());
}

void ErrorPanel::refresh_now() {
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

void ErrorPanel::follow() {
  const ReportPtr r = report();
  const QString only = session()->current_target();
  QSet<QString> now;
  QString culprit;
  const Problem& problem = session()->problem();
  // "Stopped" is what the user asked for.
  if (!problem.empty() && problem.kind != QLatin1String("stopped"))
    now.insert(problem.kind + problem.sentence);
  if (r)
    for (const Target& t : r->targets) {
      if (!t.error || (!only.isEmpty() && t.id != only)) continue;
      const QString key = t.id + t.error->type + t.error->message;
      now.insert(key);
      if (!known_.contains(key) && culprit.isEmpty() && r->find_break(t.error->break_id))
        culprit = t.error->break_id;
    }
  const bool fresh = !(now - known_).isEmpty();
  known_ = now;
  if (fresh) {
    raised_ = true;
    emit wants_front(QStringLiteral("error"));
    if (!culprit.isEmpty()) select_break(culprit);
  } else if (now.isEmpty() && raised_ && !session()->running()) {
    raised_ = false;
    if (isVisible()) emit wants_front(QStringLiteral("details"));
  }
}

}  // namespace breakline::ui
