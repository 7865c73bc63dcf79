// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers with their noun. Qt's plural forms need a translation file even for English; this does not.
#pragma once
#include <QString>

namespace breakline::ui {

struct SkippedFrame;

/// `one` or `many` with %1 replaced by the number.
inline QString counted(qsizetype n, const QString& one, const QString& many) {
  return (n == 1 ? one : many).arg(n);
}

/// "inherit", "allow" and "error" in the window's language.
QString policy_word(const QString& value);
/// The kind of a region or target ("function", "with" …) in the window's language.
QString kind_word(const QString& kind);
/// What the engine is doing: its own words, or in another language those of the phase ("trace" …).
QString phase_words(const QString& phase, const QString& text);
/// A few words before the engine's English sentence about a bad input of this kind; empty in English.
QString problem_heading(const QString& kind);
/// A frame that was not traced: its name, its place and why.
QString skipped_words(const SkippedFrame& frame);
/// Who decided a policy: "default" and the like in words, a key as it is.
QString source_words(const QString& source);

}  // namespace breakline::ui
