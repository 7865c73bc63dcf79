// SPDX-License-Identifier: GPL-3.0-or-later
// The small shapes that mean something everywhere: a break's mark and a policy's band.
#pragma once
#include <QPixmap>

#include "ui/widgets/theme.h"

namespace breakline::ui {

/// Diamond (allowed) or octagon (error).
QPixmap break_mark(bool error, const Theme& theme, int size);
/// Band: dotted (inherit), open (allow), filled (error); wider when the user set it.
QPixmap policy_band(const QString& value, bool overlay, const Theme& theme, int height);

}  // namespace breakline::ui
