// SPDX-License-Identifier: GPL-3.0-or-later
// A QScintilla editor that draws bands, marks, per-line notes, column underlines and error lines; knows
// nothing of reports. Lines are 1-based here.
#pragma once
#include <Qsci/qsciscintilla.h>

#include <QMap>
#include <QVector>

#include "ui/widgets/theme.h"

class QsciLexerPython;

namespace breakline::ui {

/// How a line's policy band is drawn: allow = open, error = filled, inherit = dotted.
enum class Band { None, Inherit, Allow, Error };
enum class Mark { None, Allowed, Error };

struct LineDecoration {
  Band band = Band::None;
  bool overlay = false;  ///< set by the user: the band is drawn wider
  Mark mark = Mark::None;
  QString note;
  bool hot = false;  ///< the note is a measured time worth a darker colour
  double heat = 0;   ///< share of the hottest line's time, 0 to 1: its ground gets that colour
  bool operator==(const LineDecoration&) const = default;
};

struct CodeUnderline {
  int line, column, end_line, end_column;  ///< columns are UTF-8 bytes, 0-based
  bool error;
  bool operator==(const CodeUnderline&) const = default;
};

/// What is drawn over a text: one decoration per line, underlines, and words under lines that failed.
struct Decorations {
  QVector<LineDecoration> lines;
  QVector<CodeUnderline> underlines;
  QMap<int, QString> errors;  ///< by line, from 1
  bool operator==(const Decorations&) const = default;
};

class CodeEditor : public QsciScintilla {
  Q_OBJECT
 public:
  explicit CodeEditor(Theme* theme, QWidget* parent = nullptr);
  void set_file(const QString& path) { file_ = path; }
  const QString& file() const { return file_; }
  /// Draws these and no others; costs nothing when they are drawn already.
  void set_decorations(const Decorations& wanted);
  /// Colours a range as selected and scrolls it into view when it is not visible.
  void highlight(int first, int last, bool strong);
  int caret_line() const;
  static constexpr int kBandMargin = 0, kMarkMargin = 1, kNumberMargin = 2, kNoteMargin = 3;

 signals:
  void context_menu_wanted(const QPoint& global, int line);

 protected:
  void contextMenuEvent(QContextMenuEvent* event) override;

 private:
  void restyle();
  void define_markers();
  void draw_lines();
  void draw_underlines();
  void draw_errors();

  Theme* theme_;
  QsciLexerPython* lexer_;
  QString file_;
  Decorations decorations_;
  bool drawn_ = false;  ///< false once the text changed under them
};

}  // namespace breakline::ui
