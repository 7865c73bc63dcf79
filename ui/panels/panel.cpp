// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/panel.h"

#include <QDir>
#include <QFileInfo>

namespace breakline::ui {

void Panel::select_break(const QString& id) {
  const ReportPtr r = report();
  const Break* b = r ? r->find_break(id) : nullptr;
  if (b) selection()->set({SelectionKind::Break, b->id, r->resolve(b->file), b->line, b->end_line});
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
