// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/line_map.h"

#include <QStringList>
#include <algorithm>

namespace breakline::ui {
namespace {
constexpr qsizetype kMostCells = 4'000'000;  // beyond this a changed middle is not searched for moved lines
}

LineMap::LineMap(const QString& from, const QString& to) : same_(from == to) {
  if (same_) return;
  const QStringList a = from.split(QLatin1Char('\n')), b = to.split(QLatin1Char('\n'));
  forward_.resize(a.size());
  back_.resize(b.size());
  const auto pair = [this](qsizetype i, qsizetype j) {
    forward_[i] = int(j) + 1;
    back_[j] = int(i) + 1;
  };
  const qsizetype shorter = std::min(a.size(), b.size());
  qsizetype head = 0, tail = 0;
  while (head < shorter && a[head] == b[head]) pair(head, head), ++head;
  while (tail < shorter - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail])
    pair(a.size() - 1 - tail, b.size() - 1 - tail), ++tail;
  // The longest common run of lines of what is left between.
  const qsizetype n = a.size() - head - tail, m = b.size() - head - tail;
  if (n == 0 || m == 0 || n * m > kMostCells) return;
  QVector<int> best((n + 1) * (m + 1), 0);
  const auto at = [&best, m](qsizetype i, qsizetype j) -> int& { return best[i * (m + 1) + j]; };
  for (qsizetype i = n - 1; i >= 0; --i)
    for (qsizetype j = m - 1; j >= 0; --j)
      at(i, j) = a[head + i] == b[head + j] ? at(i + 1, j + 1) + 1 : std::max(at(i + 1, j), at(i, j + 1));
  for (qsizetype i = 0, j = 0; i < n && j < m;) {
    if (a[head + i] == b[head + j])
      pair(head + i++, head + j++);
    else if (at(i + 1, j) >= at(i, j + 1))
      ++i;
    else
      ++j;
  }
}

std::pair<int, int> LineMap::shown(int first, int last) const {
  if (same_ || first < 1) return {first, last};
  int from = 0, to = 0;
  for (int line = first; line <= std::max(first, last); ++line)
    if (const int at = forward(line)) from = from ? from : at, to = at;
  return {from, to};
}

}  // namespace breakline::ui
