// SPDX-License-Identifier: GPL-3.0-or-later
// Short names of break reasons for lists and labels, from resources/reasons/reasons.json (built in as a
// resource).
#pragma once
#include <QString>

namespace breakline::ui {

/// Two to four words for a reason id, in Chinese when the window speaks it; `fallback` for an unknown id.
QString reason_label(const QString& reason_id, const QString& fallback);

}  // namespace breakline::ui
