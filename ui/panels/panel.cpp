// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/panel.h"

#include <QDir>
#include <QFileInfo>
#include <utility>

namespace breakline::ui {

void Panel::refresh_later() {
  due_ = true;
  if (std::exchange(posted_, true)) return;
  // Behind the signals of this turn and before the window's repaint, which Qt posts with low priority.
  QMetaObject::invokeMethod(
      this,
      [this] {
        posted_ = false;
        if (isVisible()) refresh_if_due();
      },
      Qt::QueuedConnection);
}

void Panel::refresh_if_due() {
  if (!std::exchange(due_, false)) return;
  refresh_now();
  emit settled_changed();
}

void Panel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  refresh_if_due();
}

void Panel::select_break(const QString& id) {
  const ReportPtr r = report();
  const Break* b = r ? r->find_break(id) : nullptr;
  if (b)
    selection()->set({SelectionKind::Break, b->id, place_file(*b), b->user.line,
                      b->in_library() ? b->user.line : b->end_line});
}

QString Panel::place_file(const Break& b) const {
  const ReportPtr r = report();
  return r ? r->resolve(b.user.file) : b.user.file;
}

std::optional<Panel::Waiting> Panel::waiting() const {
  if (report() || (session()->request().target.isEmpty() && document()->path().isEmpty()))
    return std::nullopt;
  if (session()->running() && !session()->request().target.isEmpty()) {
    const QString name = QFileInfo(session()->request().file()).fileName();
    return Waiting{tr("Loading…"), tr("%1 is run and compiled; the result comes here.").arg(name)};
  }
  const Problem& problem = session()->problem();
  if (problem.empty()) return std::nullopt;
  if (problem.kind == QLatin1String("stopped"))
    return Waiting{tr("Stopped"), tr("Recompile (F5) runs it again.")};
  return Waiting{tr("Not compiled"),
                 tr("It failed: see the Error tab. Mend it and save, or press Recompile (F5).")};
}

void Panel::select_segment(const QString& id) {
  const ReportPtr r = report();
  const Segment* s = r ? r->find_segment(id) : nullptr;
  if (s) selection()->set({SelectionKind::Segment, s->id, r->resolve(s->file), s->line, s->end_line});
}

void Panel::select_region(const QString& key) {
  const ReportPtr r = report();
  const Region* g = r ? r->find_region(key) : nullptr;
  if (g) selection()->set({SelectionKind::Region, g->key, r->resolve(g->file), g->line, g->end_line});
}

QString Panel::key_file(const QString& file) const {
  const QFileInfo info(file);
  if (!info.isAbsolute()) return file;
  const QString relative = QFileInfo(document()->path()).absoluteDir().relativeFilePath(file);
  return relative.startsWith(QLatin1String("..")) ? file : relative;
}

}  // namespace breakline::ui
