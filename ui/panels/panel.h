// SPDX-License-Identifier: GPL-3.0-or-later
// A panel shows one side of the session. It knows the session, the selection, the document and the theme;
// never another panel. A new panel is one folder and one line in registry.cpp.
#pragma once
#include <QList>
#include <QString>
#include <QWidget>
#include <optional>

#include "ui/controller/document.h"
#include "ui/controller/selection.h"
#include "ui/controller/session.h"
#include "ui/widgets/theme.h"

class QAction;

namespace breakline::ui {

struct PanelContext {
  Session* session = nullptr;
  Selection* selection = nullptr;
  Document* document = nullptr;
  Theme* theme = nullptr;
};

class Panel : public QWidget {
  Q_OBJECT
 public:
  Panel(const PanelContext& context, QWidget* parent) : QWidget(parent), context_(context) {}
  /// Small widgets for the panel's title line; the panel owns them until the shell takes them.
  virtual QList<QWidget*> title_tools() { return {}; }
  /// Every command of the panel, for the menu and the palette.
  virtual QList<QAction*> commands() { return {}; }
  /// False while the screen does not show the newest report yet: `refresh_now` is still to come, or work off
  /// the GUI thread.
  virtual bool settled() const { return !due_ || !isVisible(); }

 signals:
  void settled_changed();
  /// Asks the shell to bring a panel to the front and give it the keyboard.
  void wants_panel(const QString& id);
  /// The same without the keyboard: the user did not ask for it.
  void wants_front(const QString& id);
  /// Asks the shell to run one of its commands ("open", "measure" …).
  void wants_command(const QString& id);

 protected:
  /// Has `refresh_now` called before the next picture, once however often it was asked for. A panel that is
  /// hidden is refreshed when it is shown.
  void refresh_later();
  virtual void refresh_now() {}
  void showEvent(QShowEvent* event) override;

  Session* session() const { return context_.session; }
  Selection* selection() const { return context_.selection; }
  Document* document() const { return context_.document; }
  Theme* theme() const { return context_.theme; }
  ReportPtr report() const { return context_.session->report(); }

  /// What an empty pane says while a file is open but has no report; none when that is not so.
  struct Waiting {
    QString heading, words;
  };
  std::optional<Waiting> waiting() const;
  /// Calls `refresh` whenever `waiting` may answer something else.
  template <class P, class Q>
  void follow_waiting(P* panel, void (Q::*refresh)()) {
    for (auto signal : {&Session::report_changed, &Session::state_changed, &Session::problem_changed})
      connect(session(), signal, panel, refresh);
  }
  /// Where a break is for its user: its own place, or the line that called into a library.
  QString place_file(const Break& b) const;

  /// Selects a break, segment or region with its place.
  void select_break(const QString& id);
  void select_segment(const QString& id);
  void select_region(const QString& key);
  /// A file as overlay keys name it: relative to the script's folder.
  QString key_file(const QString& file) const;

 private:
  void refresh_if_due();

  PanelContext context_;
  bool due_ = false, posted_ = false;
};

enum class PanelPlace { Left, Right, Policies, Breaks, Timings, Details };

/// One line of the registry. `title` is translated with the context "Panel".
struct PanelEntry {
  const char* id;
  const char* title;
  PanelPlace place;
  const char* shortcut;
  Panel* (*make)(const PanelContext& context, QWidget* parent);
};

const QVector<PanelEntry>& panel_registry();

}  // namespace breakline::ui
