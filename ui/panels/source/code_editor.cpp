// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/source/code_editor.h"

#include <Qsci/qscicommand.h>
#include <Qsci/qscicommandset.h>
#include <Qsci/qscilexerpython.h>
#include <Qsci/qscistyle.h>

#include <QContextMenuEvent>
#include <QPainter>
#include <QScrollBar>
#include <algorithm>

#include "ui/widgets/marks.h"

namespace breakline::ui {
namespace {

// Markers: three bands, three bands set by the user, two marks, two line grounds.
enum Marker {
  kInherit,
  kAllow,
  kError,
  kInheritSet,
  kAllowSet,
  kErrorSet,
  kMarkAllowed,
  kMarkError,
  kGround,
  kStrongGround
};
constexpr int kBandMask = (1 << kInherit) | (1 << kAllow) | (1 << kError) | (1 << kInheritSet) |
                          (1 << kAllowSet) | (1 << kErrorSet);
constexpr int kMarkMask = (1 << kMarkAllowed) | (1 << kMarkError);
constexpr int kAmber = 8, kRed = 9;  // indicators
// Style numbers of our own, above those of the lexer and of Scintilla: letting QsciStyle number them would
// use up all 256 after some dozen recompiles.
constexpr int kQuietStyle = 200, kErrorStyle = 201, kHeatStyle = 202;
constexpr double kHeatFrom[] = {0, 0.05, 0.2, 0.5};  // least share of each ground

QColor mixed(const QColor& a, const QColor& b, double share) {
  const auto part = [share](int x, int y) { return int(x + (y - x) * share); };
  return QColor(part(a.red(), b.red()), part(a.green(), b.green()), part(a.blue(), b.blue()));
}

int marker_of(Band band, bool overlay) {
  const int base = band == Band::Allow ? kAllow : band == Band::Error ? kError : kInherit;
  return overlay ? base + 3 : base;
}

const char* band_word(Band band) {
  return band == Band::Error ? "error" : band == Band::Allow ? "allow" : "inherit";
}

/// A scroll bar that shows where in the file the breaks and the hot lines are.
class MarkedScrollBar : public QScrollBar {
 public:
  MarkedScrollBar(const Theme* theme, const QVector<LineDecoration>* lines, QWidget* parent)
      : QScrollBar(Qt::Vertical, parent), theme_(theme), lines_(lines) {}

 protected:
  void paintEvent(QPaintEvent* event) override {
    QScrollBar::paintEvent(event);
    if (lines_->isEmpty()) return;
    QPainter p(this);
    const double step = double(height()) / double(lines_->size());
    for (int i = 0; i < lines_->size(); ++i) {
      const LineDecoration& d = (*lines_)[i];
      const QRectF at(0, i * step, width(), std::clamp(step, 3.0, 5.0));
      if (d.mark != Mark::None)
        p.fillRect(at.adjusted(2, 0, -2, 0),
                   theme_->color(d.mark == Mark::Error ? Tone::BreakError : Tone::BreakAllowed));
      else if (d.heat >= kHeatFrom[2])
        p.fillRect(at.adjusted(4, 0, -4, 0), theme_->color(Tone::Heat));
    }
  }

 private:
  const Theme* theme_;
  const QVector<LineDecoration>* lines_;
};

}  // namespace

CodeEditor::CodeEditor(Theme* theme, QWidget* parent) : QsciScintilla(parent), theme_(theme) {
  setUtf8(true);
  lexer_ = new QsciLexerPython(this);
  setLexer(lexer_);
  setMargins(5);
  setMarginType(kBandMargin, SymbolMargin);
  setMarginType(kMarkMargin, SymbolMargin);
  setMarginType(kNumberMargin, NumberMargin);
  setMarginType(kNoteMargin, TextMarginRightJustified);
  setMarginMarkerMask(kBandMargin, kBandMask);
  setMarginMarkerMask(kMarkMargin, kMarkMask);
  setMarginMarkerMask(kNumberMargin, 0);
  setMarginMarkerMask(kNoteMargin, 0);
  for (int margin : {kBandMargin, kMarkMargin, kNumberMargin, kNoteMargin})
    setMarginSensitivity(margin, true);
  setMarginWidth(kBandMargin, 10);
  setMarginWidth(kMarkMargin, 18);
  setMarginWidth(4, 6);
  setMarginType(4, SymbolMargin);
  setMarginMarkerMask(4, 0);
  setFolding(NoFoldStyle);
  replaceVerticalScrollBar(new MarkedScrollBar(theme, &decorations_.lines, this));
  setTabWidth(4);
  setIndentationWidth(4);
  setIndentationsUseTabs(false);
  setAutoIndent(true);
  setBraceMatching(SloppyBraceMatch);
  setCaretLineVisible(true);
  setAnnotationDisplay(AnnotationIndented);
  setFrameShape(QFrame::NoFrame);
  setScrollWidth(1);
  setScrollWidthTracking(true);
  setExtraAscent(1);
  setExtraDescent(1);
  setEolMode(EolUnix);
  // Keys that the window uses are taken from the editor's own set, or they would not work while it has the
  // focus.
  static const int kTaken[] = {(Qt::CTRL | Qt::Key_L).toCombined(),
                               (Qt::CTRL | Qt::SHIFT | Qt::Key_L).toCombined(),
                               (Qt::CTRL | Qt::Key_BracketLeft).toCombined(),
                               (Qt::CTRL | Qt::Key_BracketRight).toCombined(),
                               (Qt::CTRL | Qt::Key_Plus).toCombined(),
                               (Qt::CTRL | Qt::Key_Minus).toCombined(),
                               int(Qt::Key_Escape)};
  for (QsciCommand* command : standardCommands()->commands())
    for (int key : kTaken) {
      if (command->key() == key) command->setKey(0);
      if (command->alternateKey() == key) command->setAlternateKey(0);
    }
  indicatorDefine(SquiggleLowIndicator, kAmber);
  indicatorDefine(SquiggleLowIndicator, kRed);
  SendScintilla(SCI_SETLAYOUTCACHE, SC_CACHE_PAGE);  // lines that are drawn again are not measured again
  connect(this, &QsciScintilla::textChanged, this, [this] { drawn_ = false; });
  connect(theme, &Theme::changed, this, &CodeEditor::restyle);
  restyle();
}

void CodeEditor::define_markers() {
  const int height = textHeight(0);
  for (const Band band : {Band::Inherit, Band::Allow, Band::Error})
    for (const bool overlay : {false, true})
      markerDefine(policy_band(QLatin1String(band_word(band)), overlay, *theme_, height),
                   marker_of(band, overlay));
  for (const bool error : {false, true}) {
    QPixmap mark =
        break_mark(error, *theme_, 14).scaled(14, 14, Qt::KeepAspectRatio, Qt::SmoothTransformation);
    mark.setDevicePixelRatio(1);
    markerDefine(mark, error ? kMarkError : kMarkAllowed);
  }
  markerDefine(Background, kGround);
  markerDefine(Background, kStrongGround);
  setMarkerBackgroundColor(theme_->color(Tone::SegmentFill), kGround);
  setMarkerBackgroundColor(theme_->color(Tone::Selection), kStrongGround);
}

void CodeEditor::restyle() {
  const QFont font = theme_->code_font();
  const QColor pane = theme_->color(Tone::Pane), text = theme_->color(Tone::Text);
  lexer_->setDefaultFont(font);
  lexer_->setDefaultColor(text);
  lexer_->setDefaultPaper(pane);
  lexer_->setFont(font, -1);
  lexer_->setColor(text, -1);
  lexer_->setPaper(pane, -1);
  struct StyleTone {
    int style;
    Tone tone;
    bool bold;
  };
  static const StyleTone kStyles[] = {
      {QsciLexerPython::Keyword, Tone::CodeKeyword, false},
      {QsciLexerPython::HighlightedIdentifier, Tone::CodeKeyword, false},
      {QsciLexerPython::Number, Tone::CodeNumber, false},
      {QsciLexerPython::Comment, Tone::CodeComment, false},
      {QsciLexerPython::CommentBlock, Tone::CodeComment, false},
      {QsciLexerPython::DoubleQuotedString, Tone::CodeString, false},
      {QsciLexerPython::SingleQuotedString, Tone::CodeString, false},
      {QsciLexerPython::TripleSingleQuotedString, Tone::CodeString, false},
      {QsciLexerPython::TripleDoubleQuotedString, Tone::CodeString, false},
      {QsciLexerPython::DoubleQuotedFString, Tone::CodeString, false},
      {QsciLexerPython::SingleQuotedFString, Tone::CodeString, false},
      {QsciLexerPython::TripleSingleQuotedFString, Tone::CodeString, false},
      {QsciLexerPython::TripleDoubleQuotedFString, Tone::CodeString, false},
      {QsciLexerPython::ClassName, Tone::CodeDefinition, true},
      {QsciLexerPython::FunctionMethodName, Tone::CodeDefinition, true},
      {QsciLexerPython::Decorator, Tone::CodeDecorator, false},
  };
  for (const StyleTone& s : kStyles) {
    lexer_->setColor(theme_->color(s.tone), s.style);
    QFont f = font;
    f.setBold(s.bold);
    lexer_->setFont(f, s.style);
  }
  setPaper(pane);
  setColor(text);
  setFont(font);
  setMarginsFont(font);
  setMarginsBackgroundColor(pane);
  setMarginsForegroundColor(theme_->color(Tone::Quiet));
  setMarginBackgroundColor(kNoteMargin, pane);
  setCaretForegroundColor(text);
  setCaretLineBackgroundColor(theme_->color(Tone::Hover));
  setSelectionBackgroundColor(theme_->color(Tone::Selection));
  setSelectionForegroundColor(text);
  setMatchedBraceBackgroundColor(theme_->color(Tone::Selection));
  setMatchedBraceForegroundColor(text);
  setIndicatorForegroundColor(theme_->color(Tone::BreakAllowed), kAmber);
  setIndicatorForegroundColor(theme_->color(Tone::BreakError), kRed);
  const QFontMetrics metrics(font);
  setMarginWidth(kNumberMargin, metrics.horizontalAdvance(QStringLiteral("0000 ")));
  define_markers();
  if (!drawn_) return;
  draw_lines();
  draw_errors();
}

void CodeEditor::set_decorations(const Decorations& wanted) {
  if (drawn_ && wanted == decorations_) return;
  const bool all = !drawn_;
  const Decorations before = std::exchange(decorations_, wanted);
  if (all || before.lines != wanted.lines) draw_lines();
  if (all || before.underlines != wanted.underlines) draw_underlines();
  if (all || before.errors != wanted.errors) draw_errors();
  drawn_ = true;
}

void CodeEditor::draw_lines() {
  const QVector<LineDecoration>& wanted = decorations_.lines;
  for (int m = kInherit; m <= kMarkError; ++m) markerDeleteAll(m);
  clearMarginText();
  QFont small = theme_->code_font();
  small.setPointSizeF(small.pointSizeF() - 1.5);
  const QColor pane = theme_->color(Tone::Pane);
  const QsciStyle quiet(kQuietStyle, QStringLiteral("note"), theme_->color(Tone::Quiet), pane, small);
  QVector<QsciStyle> heat;
  for (int level = 0; level < int(std::size(kHeatFrom)); ++level)
    heat.push_back(QsciStyle(kHeatStyle + level, QStringLiteral("heat"), theme_->color(Tone::Text),
                             mixed(pane, theme_->color(Tone::Heat), level * 0.14), small));
  int widest = 0;
  const int count = std::min<int>(int(wanted.size()), lines());
  for (int i = 0; i < count; ++i) {
    const LineDecoration& d = wanted[i];
    if (d.band != Band::None) markerAdd(i, marker_of(d.band, d.overlay));
    if (d.mark != Mark::None) markerAdd(i, d.mark == Mark::Error ? kMarkError : kMarkAllowed);
    if (!d.note.isEmpty()) {
      int level = 0;
      while (level + 1 < heat.size() && d.heat >= kHeatFrom[level + 1]) ++level;
      setMarginText(i, QLatin1Char(' ') + d.note + QLatin1Char(' '), d.hot ? heat[level] : quiet);
      widest = std::max(widest, QFontMetrics(small).horizontalAdvance(d.note + QStringLiteral("  ")));
    }
  }
  setMarginWidth(kNoteMargin, widest ? widest + 8 : 0);
  verticalScrollBar()->update();
}

void CodeEditor::draw_underlines() {
  const int last = lines() - 1;
  for (int indicator : {kAmber, kRed}) clearIndicatorRange(0, 0, last, lineLength(last), indicator);
  for (const CodeUnderline& u : std::as_const(decorations_.underlines)) {
    if (u.column < 0 || u.end_column < 0 || u.line < 1 || u.line > lines()) continue;
    const long from = SendScintilla(SCI_POSITIONFROMLINE, u.line - 1) + u.column;
    long to = SendScintilla(SCI_POSITIONFROMLINE, std::min(u.end_line, lines()) - 1) + u.end_column;
    const long line_end = SendScintilla(SCI_GETLINEENDPOSITION, u.line - 1);
    to = std::min(to, line_end);  // only the first line of a long expression: calmer, and the place is clear
    if (to <= from) continue;
    SendScintilla(SCI_SETINDICATORCURRENT, u.error ? kRed : kAmber);
    SendScintilla(SCI_INDICATORFILLRANGE, static_cast<unsigned long>(from), to - from);
  }
}

void CodeEditor::draw_errors() {
  clearAnnotations();
  QFont small = theme_->ui_font();
  const QsciStyle style(kErrorStyle, QStringLiteral("error"), theme_->color(Tone::BreakError),
                        theme_->color(Tone::BreakErrorFill), small, true);
  for (auto it = decorations_.errors.constBegin(); it != decorations_.errors.constEnd(); ++it) {
    if (it.key() < 1 || it.key() > lines()) continue;
    annotate(it.key() - 1, QLatin1Char(' ') + it.value() + QLatin1Char(' '), style);
    // A note under the last line in view would be cut off.
    const int top = firstVisibleLine(), shown = int(SendScintilla(SCI_LINESONSCREEN));
    const int line = int(SendScintilla(SCI_VISIBLEFROMDOCLINE, it.key() - 1));
    const int end = line + int(SendScintilla(SCI_ANNOTATIONGETLINES, it.key() - 1));
    if (line >= top && line < top + shown && end >= top + shown) setFirstVisibleLine(end - shown + 1);
  }
}

void CodeEditor::highlight(int first, int last, bool strong) {
  markerDeleteAll(kGround);
  markerDeleteAll(kStrongGround);
  if (first < 1) return;
  last = std::min(std::max(first, last), lines());
  for (int line = first; line <= last; ++line) markerAdd(line - 1, strong ? kStrongGround : kGround);
  const int top = firstVisibleLine();
  const int shown = int(SendScintilla(SCI_LINESONSCREEN));
  const int visual = int(SendScintilla(SCI_VISIBLEFROMDOCLINE, first - 1));
  if (visual < top || visual >= top + shown - 1) setFirstVisibleLine(std::max(0, visual - shown / 3));
}

int CodeEditor::caret_line() const {
  int line = 0, index = 0;
  getCursorPosition(&line, &index);
  return line + 1;
}

void CodeEditor::contextMenuEvent(QContextMenuEvent* event) {
  const long position = SendScintilla(SCI_POSITIONFROMPOINT, event->pos().x(), event->pos().y());
  const int line = event->reason() == QContextMenuEvent::Keyboard
                       ? caret_line()
                       : int(SendScintilla(SCI_LINEFROMPOSITION, position)) + 1;
  emit context_menu_wanted(event->globalPos(), line);
}

}  // namespace breakline::ui
