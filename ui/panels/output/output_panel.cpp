// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/output/output_panel.h"

#include <QAction>
#include <QPlainTextEdit>
#include <QScrollBar>
#include <QStackedWidget>
#include <QTextCharFormat>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/widgets/banner.h"

namespace breakline::ui {
namespace {
constexpr int kLongest = 20000;     // lines
constexpr int kLongestLine = 4000;  // characters: laying out a line of megabytes would stop the window

/// `text` with what passes the longest line cut; `column` is where the text begins, and is moved along.
QString with_short_lines(const QString& text, qsizetype* column) {
  QString out;
  qsizetype begin = 0;
  while (begin <= text.size()) {
    const qsizetype end = text.indexOf(QLatin1Char('\n'), begin);
    const qsizetype size = (end < 0 ? text.size() : end) - begin;
    const qsizetype room = std::max<qsizetype>(0, kLongestLine - *column);
    out += QStringView(text).mid(begin, std::min(size, room));
    if (size > room && room > 0) out += QStringLiteral(" …");
    *column += size;
    if (end < 0) break;
    out += QLatin1Char('\n');
    *column = 0;
    begin = end + 1;
  }
  return out;
}
}  // namespace

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
  if (cursor.atBlockStart()) column_ = 0;
  cursor.insertText(with_short_lines(chunk.text, &column_),
                    chunk.stream == QLatin1String("stderr") ? wrong : normal);
  if (at_end) bar->setValue(bar->maximum());
  stack_->setCurrentIndex(1);
}

void OutputPanel::clear() {
  view_->clear();
  label_.clear();
  stack_->setCurrentIndex(0);
}

}  // namespace breakline::ui
