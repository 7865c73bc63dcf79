// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/kernels/kernels_panel.h"

#include <QListWidget>
#include <QPlainTextEdit>
#include <QSplitter>
#include <QStackedWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/widgets/banner.h"

namespace breakline::ui {

KernelsPanel::KernelsPanel(const PanelContext& context, QWidget* parent) : Panel(context, parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  stack_ = new QStackedWidget(this);
  empty_ = new EmptyState(tr("No kernel selected"), tr("Select a compiled segment to see its kernels."));
  auto* splitter = new QSplitter(Qt::Vertical, this);
  splitter->setChildrenCollapsible(false);
  list_ = new QListWidget(splitter);
  list_->setObjectName(QStringLiteral("kernel_list"));
  list_->setFrameShape(QFrame::NoFrame);
  source_ = new QPlainTextEdit(splitter);
  source_->setObjectName(QStringLiteral("kernel_source"));
  source_->setReadOnly(true);
  source_->setFrameShape(QFrame::NoFrame);
  source_->setLineWrapMode(QPlainTextEdit::NoWrap);
  source_->setTabChangesFocus(true);
  source_->setFont(theme()->code_font());
  splitter->setStretchFactor(1, 2);
  stack_->addWidget(empty_);
  stack_->addWidget(splitter);
  column->addWidget(stack_);
  connect(list_, &QListWidget::currentRowChanged, this, &KernelsPanel::show_kernel);
  connect(session(), &Session::report_changed, this, &KernelsPanel::refresh_later);
  connect(selection(), &Selection::changed, this, &KernelsPanel::refresh_later);
}

const Segment* KernelsPanel::segment() const {
  const ReportPtr r = report();
  if (!r) return nullptr;
  const Selected& now = selection()->current();
  if (now.kind == SelectionKind::Segment) return r->find_segment(now.id);
  if (now.kind == SelectionKind::Line)
    for (const Target& t : r->targets)
      for (const Segment& s : t.segments)
        for (const SegmentOp& op : s.ops)
          if (op.line == now.line && r->resolve(op.file) == now.file) return &s;
  return nullptr;
}

void KernelsPanel::refresh_now() {
  const Segment* s = segment();
  const int row = std::max(0, list_->currentRow());
  list_->clear();
  if (!s || s->kernels.isEmpty()) {
    if (s)
      empty_->set_words(tr("This segment has no kernels of its own"),
                        s->plan_reason.isEmpty() ? s->plan : s->plan + QStringLiteral(": ") + s->plan_reason);
    else
      empty_->set_words(tr("No kernel selected"), tr("Select a compiled segment to see its kernels."));
    stack_->setCurrentIndex(0);
    return;
  }
  for (const SegmentKernel& k : s->kernels) {
    QStringList ops;
    for (int i : k.ops)
      if (i >= 0 && i < s->ops.size()) ops << s->ops[i].name;
    auto* item = new QListWidgetItem(
        QStringLiteral("%1 · %2 · %3").arg(k.name, k.device, ops.join(QStringLiteral(", "))), list_);
    item->setToolTip(item->text());
  }
  stack_->setCurrentIndex(1);
  list_->setCurrentRow(std::min(row, list_->count() - 1));
}

void KernelsPanel::show_kernel() {
  const Segment* s = segment();
  const int row = list_->currentRow();
  if (!s || row < 0 || row >= s->kernels.size()) return;
  const QString& source = s->kernels[row].source;
  source_->setPlainText(source.isEmpty() ? tr("The engine sent no source for this kernel.") : source);
}

}  // namespace breakline::ui
