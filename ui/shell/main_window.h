// SPDX-License-Identifier: GPL-3.0-or-later
// The window: docks, tool bar with the answer chips, banner, menus. Holds no state of the session itself.
#pragma once
#include <QHash>
#include <QMainWindow>
#include <QTimer>
#include <QVector>
#include <functional>

#include "ui/controller/document.h"
#include "ui/controller/selection.h"
#include "ui/controller/session.h"
#include "ui/widgets/theme.h"

class QComboBox;
class QDockWidget;
class QLabel;

namespace breakline::ui {

class Banner;
class Chip;
class Panel;
class SourcePanel;

class MainWindow : public QMainWindow {
  Q_OBJECT
 public:
  MainWindow(Session* session, Document* document, Selection* selection, Theme* theme,
             QWidget* parent = nullptr);
  /// Opens a script or target; asks first when typed text would be lost.
  void open_request(const OpenRequest& request);
  void show_panel(const QString& id);
  Panel* panel(const QString& id) const;
  SourcePanel* source() const { return source_; }
  Banner* banner() const { return banner_; }
  /// Writes the typed text and recompiles. False when it could not be written; the text is kept.
  bool save();
  /// No work is left that would still change the picture of the newest report.
  bool settled() const;
  /// Where the docks stand in wide and in narrow windows, to be kept between sessions; empty means the
  /// default.
  QByteArray layout_state(bool narrow) const;
  void set_layout_state(bool narrow, const QByteArray& state);
  QList<QAction*> all_actions() const { return actions_; }
  QAction* action(const QString& id) const { return by_id_.value(id); }

 signals:
  void settled_changed();

 protected:
  bool event(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  struct Dock {
    QDockWidget* widget;
    Panel* panel;
    QWidget* title;
    QLabel* title_words;
    QLabel* title_note;
  };
  void make_actions();
  void make_tool_bar();
  void make_docks();
  void make_menus();
  void make_status_bar();
  QAction* add_action(const QString& id, const QString& text, const QString& icon, const QString& shortcut,
                      std::function<void()> run);
  void arrange();
  /// Shows a dock's tab, also right after the docks were placed.
  void bring_to_front(QDockWidget* dock);
  void title_visibility();
  void run_command(const QString& id);
  void ask_open();
  void ask_save_as();
  bool confirm_discard(const QString& what);
  void ask_for_repaint();
  void refresh_chips();
  void refresh_state();
  void refresh_targets();
  void refresh_status();
  void show_problem();
  void show_still_running(int ms, const QString& phase);
  void changed_outside(bool removed);
  void load_from_disk();
  void refresh_stale();
  void show_palette();
  void restyle();

  Session* session_;
  Document* document_;
  Selection* selection_;
  Theme* theme_;
  SourcePanel* source_ = nullptr;
  Banner* banner_ = nullptr;
  QHash<QString, Dock> docks_;
  QList<QAction*> actions_;
  QHash<QString, QAction*> by_id_;
  QComboBox* target_ = nullptr;
  QComboBox* device_ = nullptr;
  QComboBox* policy_set_ = nullptr;
  Chip* graphs_ = nullptr;
  Chip* breaks_ = nullptr;
  Chip* ratio_ = nullptr;
  QLabel* engine_words_ = nullptr;
  QLabel* state_words_ = nullptr;
  QLabel* latency_words_ = nullptr;
  QLabel* stale_words_ = nullptr;
  QString last_counts_, delta_words_;
  QByteArray layouts_[2];  ///< the user's own, for wide and narrow windows
  QTimer busy_delay_;      ///< a recompile that is over before this changes nothing but its result
  bool busy_shown_ = false;
  bool narrow_ = false, running_banner_ = false, outside_banner_ = false, arranged_ = false,
       repaint_due_ = false;
};

}  // namespace breakline::ui
