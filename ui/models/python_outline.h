// SPDX-License-Identifier: GPL-3.0-or-later
// Finds the function around a line by indentation: enough to propose an overlay's key while the engine is
// away.
#pragma once
#include <QString>

namespace breakline::ui {

/// Qualified name of the function that holds a 1-based line; empty at module level. `first` and `last` get
/// its lines.
QString function_at(const QString& source, int line, int* first = nullptr, int* last = nullptr);

}  // namespace breakline::ui
