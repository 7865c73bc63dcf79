// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/output/output_panel.h"

#include <QAction>
#include <QPlainTextEdit>
#include <QScrollBar>
#include <QStackedWidget>
#include <QTextCharFormat>
#include <QVBoxLayout>

#include "ui/widgets/banner.h"

namespace breakline::ui {
namespace {
constexpr int kLongest = 20000;  // lines
}

OutputPanel::OutputPanel(const PanelContext& context, QWidget* parent) : Panel(context, parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  stack_ = new QStackedWidget(this);
  stack_->addWidget(new EmptyState(
      tr("No output"), tr("What your code prints is shown here, each run and recompile labelled.")));
  view_ = new QPlainTextEdit(this);
  view_->setObjectName(QStringLiteral("output_text"));
  view_->setReadOnly(true);
  view_->setFrameShape(QFrame::NoFrame);
  view_->setMaximumBlockCount(kLongest);
  view_->setTabChangesFocus(true);
  view_->setUndoRedoEnabled(false);
  stack_->addWidget(view_);
  column->addWidget(stack_);
  view_->setFont(theme()->code_font());
  auto* forget = new QAction(tr("Clear output"), this);
  connect(forget, &QAction::triggered, this, &OutputPanel::clear);
  commands_ << forget;
  connect(session(), &Session::output, this, &OutputPanel::add);
  connect(session(), &Session::output_cleared, this, &OutputPanel::clear);
}

void OutputPanel::add(const OutputChunk& chunk) {
  QScrollBar* bar = view_->verticalScrollBar();
  const bool at_end = bar->value() == bar->maximum();
  QTextCursor cursor(view_->document());
  cursor.movePosition(QTextCursor::End);
  QTextCharFormat quiet, normal, wrong;
  quiet.setForeground(theme()->color(Tone::Quiet));
  normal.setForeground(theme()->color(Tone::Text));
  wrong.setForeground(theme()->color(Tone::BreakError));
  if (chunk.label != label_) {
    label_ = chunk.label;
    if (!cursor.atBlockStart()) cursor.insertText(QStringLiteral("\n"), normal);
    cursor.insertText(
        QStringLiteral("— %1 —\n").arg(label_ == QLatin1String("recompile") ? tr("recompile") : tr("run")),
        quiet);
  }
  cursor.insertText(chunk.text, chunk.stream == QLatin1String("stderr") ? wrong : normal);
  if (at_end) bar->setValue(bar->maximum());
  stack_->setCurrentIndex(1);
}

void OutputPanel::clear() {
  view_->clear();
  label_.clear();
  stack_->setCurrentIndex(0);
}

}  // namespace breakline::ui
