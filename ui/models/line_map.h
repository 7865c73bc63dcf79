// SPDX-License-Identifier: GPL-3.0-or-later
// Which line of one text stands where in another: what was said about a text that compiled is shown over the
// text of the moment only where the line is still the same.
#pragma once
#include <QString>
#include <QVector>
#include <utility>

namespace breakline::ui {

class LineMap {
 public:
  /// The map of equal texts.
  LineMap() = default;
  LineMap(const QString& from, const QString& to);
  bool same() const { return same_; }
  /// The line (from 1) of the second text that is this one of the first; 0 when it is gone or changed.
  int forward(int line) const { return same_ ? line : forward_.value(line - 1); }
  /// A range of lines: from the first that is left of it to the last; {0, 0} when none is.
  std::pair<int, int> shown(int first, int last) const;
  int back(int line) const { return same_ ? line : back_.value(line - 1); }

 private:
  bool same_ = true;
  QVector<int> forward_, back_;
};

}  // namespace breakline::ui
