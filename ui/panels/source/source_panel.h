// SPDX-License-Identifier: GPL-3.0-or-later
// The source with policy bands, break marks and measured time (or compiled ops) per line in its margins. The
// user's file is edited here; other files of the report open beside it, read-only.
#pragma once
#include <QHash>

#include "ui/models/line_map.h"
#include "ui/panels/panel.h"

class QStackedWidget;
class QTabBar;

namespace breakline::ui {

class CodeEditor;
class EmptyState;

class SourcePanel : public Panel {
  Q_OBJECT
 public:
  SourcePanel(const PanelContext& context, QWidget* parent);
  QList<QAction*> commands() override { return commands_; }
  /// The text as typed, saved or not.
  QString text() const;
  bool modified() const;
  /// Something was typed that is not on disk (a file that is gone is `modified` without being edited).
  bool edited() const;
  /// Marks the text as worth saving although it equals the last saved one (its file is gone).
  void set_orphaned(bool on);
  /// Shows the disk text; the typed text is given up, so the caller asks first.
  void show_disk_text();
  void show_line(const QString& file, int line);
  CodeEditor* main_editor() const { return main_; }
  CodeEditor* current_editor() const;

 signals:
  void modified_changed(bool modified);
  void text_dropped(const QString& path);

 private:
  CodeEditor* make_editor();
  CodeEditor* editor_for(const QString& file);
  void refresh_now() override;
  void decorate(CodeEditor* editor);
  /// From lines of the report's text to lines of an editor's, and back.
  LineMap lines_of(const CodeEditor* editor) const;
  void follow(const Selected& now);
  void select_line(CodeEditor* editor, int line, bool breaks = true);
  void caret_moved(CodeEditor* editor, int line);
  void margin_clicked(CodeEditor* editor, int margin, int line);
  void open_menu(CodeEditor* editor, const QPoint& global, int line);
  void step_break(int direction);
  void set_policy_here(const QString& value);

  QTabBar* tabs_;
  QStackedWidget* stack_;
  QStackedWidget* outer_;
  CodeEditor* main_;
  QHash<QString, CodeEditor*> others_;
  QList<QAction*> commands_;
  bool following_ = false, orphaned_ = false;
};

}  // namespace breakline::ui
