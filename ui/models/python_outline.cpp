// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/python_outline.h"

#include <QRegularExpression>
#include <QStringList>
#include <QVector>

#include <algorithm>

namespace breakline::ui {

QString function_at(const QString& source, int line, int* first, int* last) {
  struct Open {
    int indent, line;
    QString name;
    bool function;
  };
  static const QRegularExpression definition(QStringLiteral(R"(^(\s*)(async\s+def|def|class)\s+(\w+))"));
  const QStringList text = source.split(QLatin1Char('\n'));
  const auto indent_of = [](const QString& l) {
    int n = 0;
    while (n < l.size() && l[n].isSpace()) ++n;
    return n;
  };
  QVector<Open> open;
  const int stop = std::min(line, int(text.size()));
  for (int i = 0; i < stop; ++i) {
    const QString& l = text[i];
    const QString bare = l.trimmed();
    if (bare.isEmpty() || bare.startsWith(QLatin1Char('#'))) continue;
    const int indent = indent_of(l);
    // A closing bracket on its own continues the header above it.
    if (!bare.startsWith(QLatin1Char(')')))
      while (!open.isEmpty() && open.last().indent >= indent) open.removeLast();
    const QRegularExpressionMatch m = definition.match(l);
    if (m.hasMatch())
      open.push_back({int(m.captured(1).size()), i + 1, m.captured(3),
                      !m.captured(2).startsWith(QLatin1String("class"))});
  }
  while (!open.isEmpty() && !open.last().function) open.removeLast();
  if (open.isEmpty()) return {};
  QString name;
  for (int i = 0; i < open.size(); ++i) {
    name += open[i].name;
    if (i + 1 < open.size()) name += open[i].function ? QStringLiteral(".<locals>.") : QStringLiteral(".");
  }
  if (first) *first = open.last().line;
  if (last) {
    int end = open.last().line;
    for (int i = open.last().line; i < text.size(); ++i) {
      const QString bare = text[i].trimmed();
      if (bare.isEmpty()) continue;
      if (indent_of(text[i]) <= open.last().indent && !bare.startsWith(QLatin1Char(')'))) break;
      end = i + 1;
    }
    *last = end;
  }
  return name;
}

}  // namespace breakline::ui
