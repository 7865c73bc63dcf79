// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers with their noun. Qt's plural forms need a translation file even for English; this does not.
#pragma once
#include <QString>

namespace breakline::ui {

/// `one` or `many` with %1 replaced by the number.
inline QString counted(qsizetype n, const QString& one, const QString& many) {
  return (n == 1 ? one : many).arg(n);
}

}  // namespace breakline::ui
