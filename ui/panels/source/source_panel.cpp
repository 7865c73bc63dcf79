// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/source/source_panel.h"

#include <QAction>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QMenu>
#include <QStackedWidget>
#include <QTabBar>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/models/python_outline.h"
#include "ui/models/timings.h"
#include "ui/models/words.h"
#include "ui/panels/source/code_editor.h"
#include "ui/widgets/banner.h"

namespace breakline::ui {
namespace {

Band band_of(const QString& effective) {
  if (effective == QLatin1String("error")) return Band::Error;
  return effective == QLatin1String("allow") ? Band::Allow : Band::Inherit;
}

QString error_words(const QString& message) {
  const QString words = SourcePanel::tr("error: %1").arg(message.section(QLatin1Char('\n'), 0, 0));
  return words.size() > 96 ? words.left(95) + QStringLiteral("…") : words;
}

}  // namespace

SourcePanel::SourcePanel(const PanelContext& context, QWidget* parent) : Panel(context, parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  tabs_ = new QTabBar(this);
  tabs_->setDrawBase(false);
  tabs_->setExpanding(false);
  tabs_->hide();
  stack_ = new QStackedWidget;
  outer_ = new QStackedWidget(this);
  auto* empty =
      new EmptyState(tr("No file is open"),
                     tr("Open a PyTorch script, or drop one here. It is run and compiled at once."), this);
  empty->set_action(tr("Open…"), [this] { emit wants_command(QStringLiteral("open")); });
  outer_->addWidget(empty);
  outer_->addWidget(stack_);
  column->addWidget(tabs_);
  column->addWidget(outer_, 1);
  main_ = make_editor();
  main_->setObjectName(QStringLiteral("editor"));
  connect(tabs_, &QTabBar::currentChanged, stack_, &QStackedWidget::setCurrentIndex);
  connect(main_, &QsciScintilla::modificationChanged, this, [this](bool m) {
    tabs_->setTabText(0, QFileInfo(document()->path()).fileName() + (m ? QStringLiteral(" •") : QString()));
    emit modified_changed(m);
  });
  tabs_->addTab(QString());

  connect(document(), &Document::loaded, this, &SourcePanel::show_disk_text);
  for (auto signal : {&Session::report_changed, &Session::problem_changed, &Session::profiles_changed,
                      &Session::target_changed, &Session::strict_preview_changed})
    connect(session(), signal, this, &SourcePanel::refresh_later);
  connect(selection(), &Selection::changed, this, &SourcePanel::follow);

  const auto add = [this](const QString& text, const char* shortcut, auto run) {
    auto* action = new QAction(text, this);
    if (shortcut) action->setShortcut(QKeySequence(QLatin1String(shortcut)));
    connect(action, &QAction::triggered, this, run);
    commands_ << action;
  };
  add(tr("Next break"), "Ctrl+]", [this] { step_break(1); });
  add(tr("Previous break"), "Ctrl+[", [this] { step_break(-1); });
  add(tr("Error on breaks in this function"), "F9", [this] { set_policy_here(QStringLiteral("error")); });
  add(tr("Allow breaks in this function"), "Shift+F9", [this] { set_policy_here(QStringLiteral("allow")); });
  add(tr("Inherit policy in this function"), "Ctrl+F9",
      [this] { set_policy_here(QStringLiteral("inherit")); });
}

CodeEditor* SourcePanel::make_editor() {
  auto* editor = new CodeEditor(theme(), this);
  stack_->addWidget(editor);
  connect(editor, &QsciScintilla::cursorPositionChanged, this,
          [this, editor](int line, int) { caret_moved(editor, line + 1); });
  connect(editor, &QsciScintilla::marginClicked, this,
          [this, editor](int margin, int line, Qt::KeyboardModifiers) {
            margin_clicked(editor, margin, line + 1);
          });
  connect(editor, &CodeEditor::context_menu_wanted, this,
          [this, editor](const QPoint& global, int line) { open_menu(editor, global, line); });
  return editor;
}

CodeEditor* SourcePanel::current_editor() const { return static_cast<CodeEditor*>(stack_->currentWidget()); }

QString SourcePanel::text() const { return main_->text(); }
bool SourcePanel::edited() const { return main_->isModified(); }
bool SourcePanel::modified() const { return orphaned_ || edited(); }
void SourcePanel::set_orphaned(bool on) {
  orphaned_ = on;
  emit modified_changed(modified());
}

LineMap SourcePanel::lines_of(const CodeEditor* editor) const {
  // Files beside the user's are shown as they are on disk.
  return editor == main_ && report() ? LineMap(session()->report_source(), main_->text()) : LineMap();
}

void SourcePanel::show_disk_text() {
  const bool other = main_->file() != document()->path();
  if (other) {
    for (CodeEditor* e : std::as_const(others_)) {
      stack_->removeWidget(e);
      e->deleteLater();
    }
    others_.clear();
    while (tabs_->count() > 1) tabs_->removeTab(tabs_->count() - 1);
    tabs_->hide();
  }
  main_->set_file(document()->path());
  following_ = true;
  if (main_->text() != document()->disk_text()) {
    int line = 0, column = 0;
    main_->getCursorPosition(&line, &column);
    const int top = main_->firstVisibleLine();
    main_->setReadOnly(false);
    if (other) {
      main_->setText(document()->disk_text());
    } else {
      // One undo step, so that text replaced from disk can be brought back.
      main_->beginUndoAction();
      main_->selectAll();
      main_->replaceSelectedText(document()->disk_text());
      main_->endUndoAction();
    }
    main_->setCursorPosition(other ? 0 : line, other ? 0 : column);
    main_->setFirstVisibleLine(other ? 0 : top);
  }
  main_->setReadOnly(document()->read_only());
  main_->setModified(false);
  if (std::exchange(orphaned_, false)) emit modified_changed(false);
  following_ = false;
  tabs_->setTabText(0, QFileInfo(document()->path()).fileName());
  tabs_->setTabToolTip(0, document()->path());
  outer_->setCurrentIndex(1);
  decorate(main_);
}

CodeEditor* SourcePanel::editor_for(const QString& file) {
  if (file.isEmpty() || file == main_->file()) return main_;
  if (CodeEditor* known = others_.value(file)) return known;
  QFile source(file);
  if (!source.open(QIODevice::ReadOnly)) return nullptr;
  CodeEditor* editor = make_editor();
  editor->set_file(file);
  editor->setText(QString::fromUtf8(source.readAll()));
  editor->setReadOnly(true);
  others_.insert(file, editor);
  const int tab = tabs_->addTab(tr("%1 (read-only)").arg(QFileInfo(file).fileName()));
  tabs_->setTabToolTip(tab, file);
  tabs_->show();
  decorate(editor);
  return editor;
}

void SourcePanel::show_line(const QString& file, int line) {
  CodeEditor* editor = editor_for(file);
  if (!editor) return;
  tabs_->setCurrentIndex(stack_->indexOf(editor));
  stack_->setCurrentWidget(editor);
  editor->highlight(line, line, true);
}

void SourcePanel::refresh_now() {
  decorate(main_);
  for (CodeEditor* e : std::as_const(others_)) decorate(e);
}

void SourcePanel::decorate(CodeEditor* editor) {
  const ReportPtr r = report();
  Decorations shown;
  QVector<LineDecoration>& lines = shown.lines;
  QVector<CodeUnderline>& underlines = shown.underlines;
  lines.resize(editor->lines());
  if (r && !editor->file().isEmpty()) {
    // Only what is still true of the text that is shown: a line that changed has no marks.
    const LineMap map = lines_of(editor);
    const auto line_at = [&](int line) -> LineDecoration* {
      const int at = line >= 1 ? map.forward(line) : 0;
      return at >= 1 && at <= lines.size() ? &lines[at - 1] : nullptr;
    };
    // Outer regions first, so that inner ones paint over them.
    QVector<const Region*> regions;
    for (const Region& g : r->regions)
      if (r->resolve(g.file) == editor->file()) regions.push_back(&g);
    std::stable_sort(regions.begin(), regions.end(), [](const Region* a, const Region* b) {
      return a->end_line - a->line > b->end_line - b->line;
    });
    for (const Region* g : std::as_const(regions))
      for (int l = std::max(1, g->line); l <= g->end_line; ++l) {
        LineDecoration* at = line_at(l);
        if (!at) continue;
        LineDecoration& d = *at;
        const bool silent = g->band() == QLatin1String("inherit") && d.band != Band::None;
        if (!silent) d.band = band_of(g->band());
        if (g->overlay != QLatin1String("inherit")) d.overlay = true;
      }
    QHash<int, int> ops;
    const QString& only = session()->current_target();
    for (const Target& t : r->targets) {
      if (!only.isEmpty() && t.id != only) continue;
      for (const Segment& s : t.segments) {
        for (const SegmentOp& op : s.ops)
          if (r->resolve(op.file) == editor->file()) ++ops[op.line];
      }
      for (const Break& b : t.breaks) {
        const bool own = r->resolve(b.file) == editor->file();
        const bool mine = own || place_file(b) == editor->file();
        const int line = own ? b.line : b.user.line;
        const bool error = b.is_error() || (session()->strict_preview() && r->strict_rejects.contains(b.id));
        if (mine) {
          if (LineDecoration* d = line_at(line)) {
            d->mark = error || d->mark == Mark::Error ? Mark::Error : Mark::Allowed;
            if (own)
              underlines.push_back({map.forward(line), b.column,
                                    std::max(map.forward(line), map.forward(b.end_line)), b.end_column,
                                    error});
          }
        }
        if (t.error && t.error->break_id == b.id) {
          if (mine) shown.errors[map.forward(line)] = error_words(t.error->message);
        }
      }
      if (t.error && t.error->break_id.isEmpty())
        shown.errors[map.forward(traceback_line(t.error->traceback, editor->file()))] =
            error_words(t.error->type + QStringLiteral(": ") + t.error->message);
    }
    for (auto it = ops.constBegin(); it != ops.constEnd(); ++it)
      if (LineDecoration* d = line_at(it.key())) d->note = counted(it.value(), tr("%1 op"), tr("%1 ops"));
    // Time per call, where a profile has it, instead of the number of ops.
    double most = 0;
    QHash<int, LineTime> times;
    for (const Target& t : r->targets) {
      const ProfilePtr profile = session()->profile(t.id);
      if (!profile || (!only.isEmpty() && t.id != only)) continue;
      for (const LineTime& l : profile->lines) {
        if (r->resolve(l.file) != editor->file()) continue;
        LineTime& known = times[l.line];
        known.us += l.us;
        known.shared |= l.shared;
        most = std::max(most, known.us);
      }
    }
    for (auto it = times.constBegin(); it != times.constEnd(); ++it)
      if (LineDecoration* d = line_at(it.key())) {
        d->note = (it->shared ? QStringLiteral("≈") : QString()) + format_us(it->us);
        d->hot = true;
        d->heat = most > 0 ? it->us / most : 0;
      }
  }
  const Problem& problem = session()->problem();
  int failed = 0;
  if (editor == main_ && !problem.empty()) {
    const LineMap map(session()->tried_source(), main_->text());
    const bool here = problem.line > 0 && QDir::cleanPath(problem.file) == main_->file();
    failed = map.forward(here ? problem.line : traceback_line(problem.detail, main_->file()));
    if (failed >= 1 && failed <= lines.size()) {
      lines[failed - 1].mark = Mark::Error;
      underlines.removeIf([failed](const CodeUnderline& u) { return u.line == failed; });
      const QString text = main_->text(failed - 1).remove(QLatin1Char('\n'));
      if (here && problem.column >= 0 && !text.trimmed().isEmpty()) {
        // An error behind the last character is shown at that character.
        const int from = std::clamp(problem.column, 0, int(text.size()) - 1);
        const int bytes = int(text.left(from).toUtf8().size());
        underlines.push_back({failed, bytes, failed, bytes + int(text.mid(from, 1).toUtf8().size()), true});
      }
    }
  }
  if (failed) shown.errors[failed] = error_words(problem.sentence);
  editor->set_decorations(shown);
}

void SourcePanel::follow(const Selected& now) {
  if (now.kind == SelectionKind::None) {
    main_->highlight(0, 0, true);
    for (CodeEditor* e : std::as_const(others_)) e->highlight(0, 0, true);
    return;
  }
  if (now.file.isEmpty() || now.file.startsWith(QLatin1Char('<'))) return;
  CodeEditor* editor = editor_for(now.file);
  if (!editor) return;
  const bool was = std::exchange(following_, true);
  stack_->setCurrentWidget(editor);
  tabs_->setCurrentIndex(stack_->indexOf(editor));
  const bool area = now.kind == SelectionKind::Segment || now.kind == SelectionKind::Region;
  const LineMap map = lines_of(editor);
  const auto [first, last] = map.shown(now.line, now.end_line);
  editor->highlight(first, last, !area);
  if (!editor->hasFocus() && first >= 1) editor->setCursorPosition(first - 1, 0);
  following_ = was;
}

void SourcePanel::caret_moved(CodeEditor* editor, int line) {
  if (following_ || !editor->hasFocus() || editor->isModified()) return;
  const ReportPtr r = report();
  if (!r) return;
  select_line(editor, lines_of(editor).back(line));
}

void SourcePanel::select_line(CodeEditor* editor, int line, bool breaks) {
  if (line < 1) return selection()->clear();  // a new line: nothing is known about it
  const ReportPtr r = report();
  for (const Break* b : breaks ? r->breaks_of(session()->current_target()) : QVector<const Break*>())
    if ((b->line == line && r->resolve(b->file) == editor->file()) ||
        (b->user.line == line && place_file(*b) == editor->file()))
      return select_break(b->id);
  selection()->set({SelectionKind::Line, QString::number(line), editor->file(), line, line});
}

void SourcePanel::margin_clicked(CodeEditor* editor, int margin, int shown) {
  const ReportPtr r = report();
  if (!r) return;
  const int line = lines_of(editor).back(shown);
  if (margin == CodeEditor::kBandMargin)
    if (const Region* g = line > 0 ? r->region_at(editor->file(), line) : nullptr)
      return select_region(g->key);
  select_line(editor, line, margin != CodeEditor::kBandMargin);
}

void SourcePanel::open_menu(CodeEditor* editor, const QPoint& global, int line) {
  QMenu* menu = editor->createStandardContextMenu();
  menu->setAttribute(Qt::WA_DeleteOnClose);
  menu->addSeparator();
  int from_line = line, to_line = line, from = 0, to = 0;
  if (editor->hasSelectedText())
    editor->getSelection(&from_line, &from, &to_line, &to), ++from_line, ++to_line;
  const QString file = key_file(editor->file());
  const auto submenu = [&](const QString& title, const QString& key) {
    QMenu* sub = menu->addMenu(title);
    for (const char* value : {"inherit", "allow", "error"}) {
      QAction* action = sub->addAction(policy_word(QLatin1String(value)));
      action->setCheckable(true);
      action->setChecked(session()->overlay_value(key) == QLatin1String(value));
      connect(action, &QAction::triggered, this,
              [this, key, value] { session()->set_overlay(key, QLatin1String(value)); });
    }
  };
  const QString function = function_at(editor->text(), line);
  if (!function.isEmpty())
    submenu(tr("Breaks in %1").arg(function), QStringLiteral("fn:%1:%2").arg(file, function));
  submenu(from_line == to_line ? tr("Breaks in line %1").arg(from_line)
                               : tr("Breaks in lines %1–%2").arg(from_line).arg(to_line),
          QStringLiteral("lines:%1:%2-%3").arg(file).arg(from_line).arg(to_line));
  menu->popup(global);
}

void SourcePanel::step_break(int direction) {
  const ReportPtr r = report();
  if (!r) return;
  QVector<const Break*> breaks = r->breaks_of(session()->current_target());
  if (breaks.isEmpty()) return;
  int at = -1;
  for (int i = 0; i < breaks.size(); ++i)
    if (selection()->is(SelectionKind::Break, breaks[i]->id)) at = i;
  const int n = int(breaks.size());
  select_break(breaks[at < 0 ? (direction > 0 ? 0 : n - 1) : (at + direction + n) % n]->id);
}

void SourcePanel::set_policy_here(const QString& value) {
  CodeEditor* editor = current_editor();
  if (editor->file().isEmpty()) return;
  const QString function = function_at(editor->text(), editor->caret_line());
  const QString file = key_file(editor->file());
  session()->set_overlay(function.isEmpty()
                             ? QStringLiteral("lines:%1:%2-%2").arg(file).arg(editor->caret_line())
                             : QStringLiteral("fn:%1:%2").arg(file, function),
                         value);
}

}  // namespace breakline::ui
