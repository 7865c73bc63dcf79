// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/shell/main_window.h"

#include <QAction>
#include <QApplication>
#include <QCloseEvent>
#include <QComboBox>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenuBar>
#include <QMessageBox>
#include <QMimeData>
#include <QStandardItemModel>
#include <QStatusBar>
#include <QTabBar>
#include <QTimer>
#include <QToolBar>
#include <QToolButton>
#include <QUndoStack>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/models/knowledge.h"
#include "ui/models/timings.h"
#include "ui/models/words.h"
#include "ui/panels/panel.h"
#include "ui/panels/source/source_panel.h"
#include "ui/shell/palette.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/chip.h"

namespace breakline::ui {
namespace {

constexpr int kBusyAfterMs = 100;
constexpr int kNarrowest = 300;  // a lower dock below this is tabbed with its neighbour

/// A dock asks its title bar for a size hint, not for its fixed height; this one answers with the latter.
class TitleBar : public QFrame {
 public:
  using QFrame::QFrame;
  QSize sizeHint() const override { return {QFrame::sizeHint().width(), maximumHeight()}; }
  QSize minimumSizeHint() const override { return {120, maximumHeight()}; }
};

QLabel* quiet_label(const QString& text, QWidget* parent) {
  auto* label = new QLabel(text, parent);
  label->setProperty("quiet", true);
  return label;
}

QMainWindow* dock_area(const MainWindow* window) {
  return window->findChild<QMainWindow*>(QStringLiteral("dock_area"), Qt::FindChildrenRecursively);
}

}  // namespace

MainWindow::MainWindow(Session* session, Document* document, Selection* selection, Theme* theme,
                       QWidget* parent)
    : QMainWindow(parent), session_(session), document_(document), selection_(selection), theme_(theme) {
  setWindowTitle(tr("Breakline Studio[*]"));
  setWindowIcon(QIcon(QStringLiteral(":/icons/app.svg")));
  setAcceptDrops(true);
  setContextMenuPolicy(Qt::NoContextMenu);
  auto* center = new QWidget(this);
  auto* column = new QVBoxLayout(center);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  banner_ = new Banner(theme, center);
  auto* area = new QMainWindow(center);
  area->setObjectName(QStringLiteral("dock_area"));
  area->setWindowFlags(Qt::Widget);
  area->setDockNestingEnabled(true);
  area->setAnimated(false);  // while docks move by themselves, a tab that is raised falls back
  area->setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
  area->setContextMenuPolicy(Qt::NoContextMenu);
  column->addWidget(banner_);
  column->addWidget(area, 1);
  setCentralWidget(center);
  make_actions();
  make_tool_bar();
  make_docks();
  make_menus();
  make_status_bar();

  busy_delay_.setSingleShot(true);
  busy_delay_.setInterval(kBusyAfterMs);
  connect(&busy_delay_, &QTimer::timeout, this, [this] {
    busy_shown_ = true;
    refresh_state();
  });
  connect(session_, &Session::state_changed, this, &MainWindow::refresh_state);
  connect(session_, &Session::progressed, this, &MainWindow::refresh_status);
  connect(session_, &Session::problem_changed, this, &MainWindow::show_problem);
  connect(session_, &Session::still_running, this, &MainWindow::show_still_running);
  connect(session_, &Session::report_changed, this, [this] {
    refresh_targets();
    refresh_chips();
    refresh_status();
    repaint_due_ = true;
    const ReportPtr r = session_->report();
    if (r && document_->path().isEmpty() && !r->targets.isEmpty())
      document_->load(r->resolve(r->targets.first().file));
    ask_for_repaint();
  });
  connect(session_, &Session::timings_changed, this, &MainWindow::refresh_chips);
  connect(session_, &Session::target_changed, this, [this] {
    refresh_targets();
    refresh_chips();
  });
  connect(session_, &Session::overlays_changed, this, &MainWindow::refresh_targets);
  connect(session_, &Session::latency_measured, this, [this](double ms) {
    latency_words_->setText(delta_words_ + tr("recompiled in %1").arg(format_us(ms * 1e3)));
  });
  connect(document_, &Document::loaded, this, [this] {
    session_->set_source(document_->disk_text());
    if (std::exchange(outside_banner_, false)) banner_->hide();
    setWindowFilePath(document_->path());
    setWindowTitle(tr("%1[*] – Breakline Studio").arg(QFileInfo(document_->path()).fileName()));
    if (document_->read_only() && !document_->problem().isEmpty())
      session_->set_problem({QStringLiteral("not_utf8"), document_->problem(), {}, 2});
  });
  connect(document_, &Document::changed_outside, this, &MainWindow::changed_outside);
  connect(document_, &Document::as_before, this, [this] {
    source_->set_orphaned(false);
    if (std::exchange(outside_banner_, false)) banner_->hide(), show_problem();
  });
  connect(session_, &Session::stale_changed, this, &MainWindow::refresh_stale);
  connect(session_, &Session::report_changed, this, &MainWindow::refresh_stale);
  connect(theme_, &Theme::changed, this, &MainWindow::restyle);
  restyle();
  refresh_targets();
  refresh_chips();
  refresh_state();
  show_problem();
  resize(1280, 800);
  source_->setFocus();
}

QAction* MainWindow::add_action(const QString& id, const QString& text, const QString& icon,
                                const QString& shortcut, std::function<void()> run) {
  auto* action = new QAction(text, this);
  action->setObjectName(id);
  action->setProperty("icon_name", icon);
  if (!shortcut.isEmpty()) action->setShortcut(QKeySequence(shortcut));
  action->setToolTip(shortcut.isEmpty() ? text
                                        : QStringLiteral("%1 (%2)").arg(
                                              text, action->shortcut().toString(QKeySequence::NativeText)));
  connect(action, &QAction::triggered, this, [run = std::move(run)] { run(); });
  actions_ << action;
  by_id_.insert(id, action);
  addAction(action);
  return action;
}

void MainWindow::make_actions() {
  const auto s = [](const char* text) { return QString::fromLatin1(text); };
  add_action(s("open"), tr("Open…"), s("open"), s("Ctrl+O"), [this] { ask_open(); });
  add_action(s("save"), tr("Save and recompile"), s("save"), s("Ctrl+S"), [this] { save(); });
  add_action(s("save_as"), tr("Save as…"), {}, s("Ctrl+Shift+S"), [this] { ask_save_as(); });
  add_action(s("interpreter"), tr("Choose interpreter…"), {}, {}, [this] {
    auto* dialog = new QFileDialog(this, tr("Choose a Python interpreter (3.11 or newer with torch)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
      EngineCommand command = session_->command();
      command.program = path;
      session_->set_engine(command);
      session_->restart();
    });
    dialog->open();
  });
  add_action(s("recompile"), tr("Recompile"), s("recompile"), s("F5"), [this] {
    if (source_->modified())
      save();
    else
      session_->recompile();
  });
  add_action(s("stop"), tr("Stop"), s("stop"), s("Ctrl+."), [this] { session_->stop(); });
  add_action(s("restart"), tr("Restart engine"), s("restart"), s("Ctrl+Shift+R"),
             [this] { session_->restart(); });
  add_action(s("clear_selection"), tr("Clear selection"), {}, s("Escape"), [this] { selection_->clear(); });
  add_action(s("clear_overlays"), tr("Remove all toggles"), {}, {}, [this] { session_->clear_overlays(); });
  add_action(s("light"), tr("Light theme"), {}, {}, [this] { theme_->set(QStringLiteral("light")); });
  add_action(s("dark"), tr("Dark theme"), {}, {}, [this] { theme_->set(QStringLiteral("dark")); });
  add_action(s("other_theme"), tr("Switch light / dark"), s("theme"), s("Ctrl+Shift+D"),
             [this] { theme_->set(theme_->dark() ? QStringLiteral("light") : QStringLiteral("dark")); });
  add_action(s("reset_layout"), tr("Reset layout"), {}, {}, [this] {
    layouts_[narrow_].clear();
    arrange();
  });
  add_action(s("palette"), tr("Command palette"), {}, s("Ctrl+Shift+P"), [this] { show_palette(); });
  add_action(s("quit"), tr("Quit"), {}, s("Ctrl+Q"), [this] { close(); });
  // Toggles have an undo of their own; the editor keeps Ctrl+Z while it has the focus.
  for (const bool redo : {false, true}) {
    QAction* action = redo ? session_->undo_stack()->createRedoAction(this, tr("Redo toggle"))
                           : session_->undo_stack()->createUndoAction(this, tr("Undo toggle"));
    action->setObjectName(redo ? s("redo") : s("undo"));
    action->setShortcut(redo ? QKeySequence(s("Ctrl+Shift+Z")) : QKeySequence(s("Ctrl+Z")));
    action->setProperty("icon_name", action->objectName());
    actions_ << action;
    by_id_.insert(action->objectName(), action);
    addAction(action);
  }
}

void MainWindow::make_tool_bar() {
  auto* bar = addToolBar(tr("Main"));
  bar->setObjectName(QStringLiteral("main_bar"));
  bar->setMovable(false);
  bar->setFloatable(false);
  bar->setIconSize({16, 16});
  bar->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  const auto button = [&](const QString& id, const QString& words) {
    auto* b = new QToolButton(bar);
    b->setDefaultAction(by_id_[id]);
    b->setText(words);
    b->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    b->setObjectName(QStringLiteral("button_") + id);
    b->setFocusPolicy(Qt::TabFocus);
    bar->addWidget(b);
    return b;
  };
  by_id_[QStringLiteral("open")]->setIconText(tr("Open"));
  button(QStringLiteral("open"), tr("Open"));
  bar->addSeparator();
  const auto combo = [&](const QString& label, const QString& name, int width) {
    bar->addWidget(quiet_label(label, bar));
    auto* c = new QComboBox(bar);
    c->setObjectName(name);
    c->setAccessibleName(label);
    c->setMinimumWidth(width);
    c->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    c->setMaximumWidth(170);
    bar->addWidget(c);
    return c;
  };
  target_ = combo(tr("Target"), QStringLiteral("target"), 80);
  device_ = combo(tr("Device"), QStringLiteral("device"), 64);
  policy_set_ = combo(tr("Policy set"), QStringLiteral("policy_set"), 96);
  device_->addItem(QStringLiteral("cpu"), QStringLiteral("cpu"));
  device_->addItem(QStringLiteral("vulkan"), QStringLiteral("vulkan"));
  connect(target_, &QComboBox::activated, this,
          [this](int i) { session_->set_current_target(target_->itemData(i).toString()); });
  connect(device_, &QComboBox::activated, this,
          [this](int i) { session_->set_device(device_->itemData(i).toString()); });
  connect(policy_set_, &QComboBox::activated, this, [this](int i) { session_->use_overlays(i == 1); });
  bar->addSeparator();
  button(QStringLiteral("recompile"), tr("Recompile"));
  button(QStringLiteral("stop"), tr("Stop"));
  auto* space = new QWidget(bar);
  space->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  bar->addWidget(space);
  const auto chip = [&](const char* name, const QString& tip, const char* opens) {
    auto* c = new Chip(theme_, bar);
    c->setObjectName(QLatin1String(name));
    c->setToolTip(tip);
    connect(c, &QAbstractButton::clicked, this, [this, opens] { show_panel(QLatin1String(opens)); });
    bar->addWidget(c);
    auto* gap = new QWidget(bar);
    gap->setFixedWidth(4);
    bar->addWidget(gap);
    return c;
  };
  graphs_ = chip("chip_graphs", {}, "graph");
  breaks_ = chip("chip_breaks", {}, "breaks");
  ratio_ = chip("chip_ratio", tr("Eager time ÷ compiled time; opens the timings"), "timings");
}

void MainWindow::make_docks() {
  QMainWindow* area = dock_area(this);
  const PanelContext context{session_, selection_, document_, theme_};
  for (const PanelEntry& entry : panel_registry()) {
    const QString id = QLatin1String(entry.id);
    const QString title = QCoreApplication::translate("Panel", entry.title);
    auto* dock = new QDockWidget(title, area);
    dock->setObjectName(QStringLiteral("dock_") + id);
    Panel* panel = entry.make(context, dock);
    panel->setObjectName(id);
    panel->setMinimumWidth(220);
    dock->setWidget(panel);
    auto* bar = new TitleBar(dock);
    bar->setObjectName(QStringLiteral("panel_title"));
    auto* row = new QHBoxLayout(bar);
    row->setContentsMargins(12, 0, 6, 0);
    row->setSpacing(4);
    auto* words = new QLabel(title, bar);
    row->addWidget(words);
    auto* note = new QLabel(bar);
    note->setObjectName(QStringLiteral("stale_note"));
    note->hide();
    row->addWidget(note);
    row->addStretch(1);
    for (QWidget* tool : panel->title_tools()) row->addWidget(tool);
    bar->setFixedHeight(30);
    dock->setTitleBarWidget(bar);
    docks_.insert(id, {dock, panel, bar, words, note});
    if (id == QLatin1String("source")) source_ = static_cast<SourcePanel*>(panel);
    for (QAction* a : panel->commands()) {
      if (a->objectName().isEmpty())
        a->setObjectName(id + QLatin1Char('.') + QString::number(actions_.size()));
      actions_ << a;
      by_id_.insert(a->objectName(), a);
      addAction(a);
    }
    QAction* show = add_action(QStringLiteral("show_") + id, tr("Show %1").arg(title), {},
                               QLatin1String(entry.shortcut), [this, id] { show_panel(id); });
    show->setToolTip(tr("Bring %1 to the front").arg(title));
    connect(panel, &Panel::wants_panel, this, &MainWindow::show_panel);
    connect(panel, &Panel::wants_front, this, [this](const QString& front) {
      if (docks_.contains(front)) bring_to_front(docks_[front].widget);
    });
    connect(panel, &Panel::wants_command, this, &MainWindow::run_command);
    connect(panel, &Panel::settled_changed, this, [this] {
      if (settled()) ask_for_repaint();
      emit settled_changed();
    });
    connect(dock, &QDockWidget::dockLocationChanged, this, &MainWindow::title_visibility);
    connect(dock, &QDockWidget::topLevelChanged, this, &MainWindow::title_visibility);
  }
  connect(source_, &SourcePanel::modified_changed, this, &QWidget::setWindowModified);
}

void MainWindow::bring_to_front(QDockWidget* dock) {
  dock->raise();
  // A dock that was placed in this very turn is not raised by that: its tab is not laid out yet.
  for (QTabBar* tabs : dock_area(this)->findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly))
    for (int i = 0; i < tabs->count(); ++i)
      if (tabs->tabData(i).value<quintptr>() == reinterpret_cast<quintptr>(dock)) tabs->setCurrentIndex(i);
}

void MainWindow::arrange() {
  QMainWindow* area = dock_area(this);
  // The words before the boxes go first when room is short: the answers at the right must stay.
  if (auto* bar = findChild<QToolBar*>(QStringLiteral("main_bar")))
    for (QAction* a : bar->actions())
      if (qobject_cast<QLabel*>(bar->widgetForAction(a))) a->setVisible(!narrow_);
  arranged_ = true;
  if (!layouts_[narrow_].isEmpty() && area->restoreState(layouts_[narrow_])) {
    QTimer::singleShot(0, this, &MainWindow::title_visibility);
    return;
  }
  const auto dock = [this](const char* id) { return docks_.value(QLatin1String(id)).widget; };
  for (const Dock& d : std::as_const(docks_)) {
    d.widget->setFloating(false);
    area->removeDockWidget(d.widget);
  }
  area->addDockWidget(Qt::TopDockWidgetArea, dock("source"));
  area->splitDockWidget(dock("source"), dock("graph"), Qt::Horizontal);
  area->addDockWidget(Qt::BottomDockWidgetArea, dock("policies"));
  if (narrow_) {
    area->splitDockWidget(dock("policies"), dock("timings"), Qt::Horizontal);
    area->tabifyDockWidget(dock("policies"), dock("breaks"));
    area->tabifyDockWidget(dock("timings"), dock("details"));
  } else {
    area->splitDockWidget(dock("policies"), dock("breaks"), Qt::Horizontal);
    area->splitDockWidget(dock("breaks"), dock("timings"), Qt::Horizontal);
    area->splitDockWidget(dock("timings"), dock("details"), Qt::Horizontal);
  }
  for (const char* id : {"error", "kernels", "output"}) area->tabifyDockWidget(dock("details"), dock(id));
  for (const Dock& d : std::as_const(docks_)) d.widget->show();
  dock("details")->raise();
  const int w = width(), h = std::max(200, height() - 110);
  area->resizeDocks({dock("source"), dock("policies")}, {h * 60 / 100, h * 40 / 100}, Qt::Vertical);
  area->resizeDocks({dock("source"), dock("graph")}, {w / 2, w / 2}, Qt::Horizontal);
  if (!narrow_)
    area->resizeDocks({dock("policies"), dock("breaks"), dock("timings"), dock("details")},
                      {w * 22 / 100, w * 29 / 100, w * 25 / 100, w * 24 / 100}, Qt::Horizontal);
  // Tabs can be raised once the layout has run.
  QTimer::singleShot(0, this, [this] {
    bring_to_front(docks_[QStringLiteral("details")].widget);
    if (narrow_)
      for (const char* id : {"breaks", "timings"}) bring_to_front(docks_[QLatin1String(id)].widget);
    title_visibility();
  });
}

QByteArray MainWindow::layout_state(bool narrow) const {
  return narrow == narrow_ && arranged_ ? dock_area(this)->saveState() : layouts_[narrow];
}

void MainWindow::set_layout_state(bool narrow, const QByteArray& state) { layouts_[narrow] = state; }

void MainWindow::title_visibility() {
  QMainWindow* area = dock_area(this);
  for (const Dock& d : std::as_const(docks_)) {
    const bool tabbed = !area->tabifiedDockWidgets(d.widget).isEmpty() && !d.widget->isFloating();
    const bool tools = d.title->layout()->count() > 3 || !d.title_note->text().isEmpty();
    d.title_words->setVisible(!tabbed);
    d.title->setFixedHeight(tabbed && !tools ? 0 : 30);
  }
  for (QTabBar* tabs : area->findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly)) {
    tabs->setDrawBase(false);
    tabs->setExpanding(false);
    tabs->setElideMode(Qt::ElideNone);
    tabs->setUsesScrollButtons(true);
  }
}

void MainWindow::make_menus() {
  const auto put = [this](QMenu* menu, std::initializer_list<const char*> ids) {
    for (const char* id : ids) {
      if (!*id)
        menu->addSeparator();
      else
        menu->addAction(by_id_.value(QLatin1String(id)));
    }
  };
  put(menuBar()->addMenu(tr("&File")), {"open", "save", "save_as", "", "interpreter", "", "quit"});
  QMenu* edit = menuBar()->addMenu(tr("&Edit"));
  put(edit, {"undo", "redo", "clear_overlays", "", "clear_selection"});
  QMenu* run = menuBar()->addMenu(tr("&Run"));
  put(run, {"recompile", "stop", "restart", ""});
  QMenu* policy = menuBar()->addMenu(tr("&Policy"));
  QMenu* view = menuBar()->addMenu(tr("&View"));
  for (const PanelEntry& entry : panel_registry()) {
    const QString id = QLatin1String(entry.id);
    for (QAction* a : docks_[id].panel->commands()) {
      if (id == QLatin1String("timings"))
        run->addAction(a);
      else if (id == QLatin1String("policies"))
        policy->addAction(a);
      else if (id == QLatin1String("source"))
        policy->addAction(a);
      else
        view->addAction(a);
    }
  }
  view->addSeparator();
  for (const PanelEntry& entry : panel_registry())
    view->addAction(by_id_[QStringLiteral("show_") + QLatin1String(entry.id)]);
  view->addSeparator();
  put(view, {"reset_layout", "", "light", "dark", "other_theme"});
  QMenu* help = menuBar()->addMenu(tr("&Help"));
  put(help, {"palette"});
}

void MainWindow::make_status_bar() {
  statusBar()->setSizeGripEnabled(false);
  engine_words_ = new QLabel(this);
  engine_words_->setObjectName(QStringLiteral("status_engine"));
  state_words_ = new QLabel(this);
  state_words_->setObjectName(QStringLiteral("status_state"));
  latency_words_ = new QLabel(this);
  latency_words_->setObjectName(QStringLiteral("status_latency"));
  stale_words_ = new QLabel(this);
  stale_words_->setObjectName(QStringLiteral("status_stale"));
  stale_words_->hide();
  statusBar()->addWidget(engine_words_);
  statusBar()->addWidget(state_words_);
  statusBar()->addWidget(stale_words_);
  statusBar()->addPermanentWidget(latency_words_);
}

Panel* MainWindow::panel(const QString& id) const { return docks_.value(id).panel; }

void MainWindow::ask_for_repaint() {
  // What changed has asked for itself. One pixel makes sure that there is an update at all; the whole window
  // would draw every child again.
  update(0, 0, 1, 1);
}

bool MainWindow::settled() const {
  for (const Dock& d : docks_)
    if (!d.panel->settled()) return false;
  return true;
}

void MainWindow::show_panel(const QString& id) {
  if (!docks_.contains(id)) return;
  const Dock& d = docks_[id];
  d.widget->show();
  bring_to_front(d.widget);
  QWidget* target = d.panel->focusProxy() ? d.panel->focusProxy() : d.panel;
  for (QWidget* child : d.panel->findChildren<QWidget*>())
    if (child->isVisible() && (child->focusPolicy() & Qt::TabFocus)) {
      target = child;
      break;
    }
  target->setFocus(Qt::OtherFocusReason);
}

void MainWindow::run_command(const QString& id) {
  if (id.startsWith(QLatin1String("goto:"))) {
    source_->show_line(id.section(QLatin1Char(':'), 2), id.section(QLatin1Char(':'), 1, 1).toInt());
    return;
  }
  if (QAction* action = by_id_.value(id)) action->trigger();
}

void MainWindow::open_request(const OpenRequest& request) {
  if (source_->modified() && !confirm_discard(tr("open another file"))) return;
  const QString file = request.file();
  // A target such as package.module:EXPR has no file to show before the engine found it.
  const bool named_file =
      QFileInfo::exists(file) || file.contains(QLatin1Char('/')) || file.endsWith(QLatin1String(".py"));
  selection_->clear();
  if (named_file) {
    if (QFileInfo(file).isDir()) {
      session_->set_problem(
          {QStringLiteral("unreadable"), tr("%1 is a folder: open a Python file in it.").arg(file), {}, 2});
      return;
    }
    if (!document_->load(file)) {
      session_->set_problem({QStringLiteral("unreadable"), document_->problem(), {}, 2});
      return;
    }
    if (document_->read_only()) {
      const Problem problem = session_->problem();
      session_->close();  // what is on the screen would belong to another file
      session_->set_problem(problem);
      return;
    }
  }
  session_->open(request);
}

bool MainWindow::confirm_discard(const QString& what) {
  const auto answer = QMessageBox::question(
      this, tr("Unsaved text"),
      tr("%1 has unsaved text. Save it before you %2?").arg(QFileInfo(document_->path()).fileName(), what),
      QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, QMessageBox::Save);
  if (answer == QMessageBox::Save) return save();
  return answer == QMessageBox::Discard;
}

void MainWindow::ask_open() {
  auto* dialog =
      new QFileDialog(this, tr("Open a PyTorch script"), QFileInfo(document_->path()).absolutePath(),
                      tr("Python (*.py);;All files (*)"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setFileMode(QFileDialog::ExistingFile);
  connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
    OpenRequest request;
    request.target = path;
    request.device = session_->request().device;
    open_request(request);
  });
  dialog->open();
}

void MainWindow::ask_save_as() {
  auto* dialog = new QFileDialog(this, tr("Save as"), document_->path(), tr("Python (*.py);;All files (*)"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setAcceptMode(QFileDialog::AcceptSave);
  connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
    if (!document_->save_as(path, source_->text())) {
      session_->set_problem({QStringLiteral("unwritable"), document_->problem(), {}, 2});
      return;
    }
    OpenRequest request = session_->request();
    const QString old = request.file();
    request.target = path + request.target.mid(old.size());
    session_->open(request);
  });
  dialog->open();
}

bool MainWindow::save() {
  if (document_->path().isEmpty()) return false;
  if (document_->read_only()) return false;
  if (!document_->save(source_->text())) {
    session_->set_problem({QStringLiteral("unwritable"), document_->problem(), {}, 2});
    return false;
  }
  if (!session_->request().target.isEmpty()) session_->recompile();
  return true;
}

void MainWindow::changed_outside(bool removed) {
  if (removed) {
    source_->set_orphaned(true);
    outside_banner_ = true;
    banner_->show_message(
        Banner::Kind::Warning,
        tr("%1 was removed from the disk: your text is kept here, save it to bring it back.")
            .arg(QFileInfo(document_->path()).fileName()),
        {{tr("Save"), QStringLiteral("banner_save"), [this] { banner_->hide(), save(); }},
         {tr("Save as…"), QStringLiteral("banner_save_as"), [this] { ask_save_as(); }}});
    return;
  }
  // Nothing typed, or the very same text typed here and written there: no conflict.
  if (!source_->edited() || document_->other_text() == source_->text()) return load_from_disk();
  outside_banner_ = true;
  banner_->show_message(Banner::Kind::Warning,
                        tr("%1 was changed by another program, and you have unsaved text.")
                            .arg(QFileInfo(document_->path()).fileName()),
                        {{tr("Load the file"), QStringLiteral("banner_load"),
                          [this] {
                            banner_->hide();
                            load_from_disk();
                          }},
                         {tr("Keep my text"), QStringLiteral("banner_keep"), [this] { banner_->hide(); }}});
}

void MainWindow::load_from_disk() {
  if (document_->reload() && !session_->request().target.isEmpty()) session_->recompile();
}

void MainWindow::show_palette() {
  auto* palette = new CommandPalette(actions_, this);
  palette->setAttribute(Qt::WA_DeleteOnClose);
  palette->show();
}

void MainWindow::restyle() {
  for (QAction* a : std::as_const(actions_)) {
    const QString icon = a->property("icon_name").toString();
    if (!icon.isEmpty())
      a->setIcon(
          theme_->icon(icon, a->objectName() == QLatin1String("recompile") ? Tone::Segment : Tone::Text));
  }
  refresh_stale();
  refresh_status();
}

bool MainWindow::event(QEvent* event) {
  const bool handled = QMainWindow::event(event);
  // After an update request the newest picture is on the screen.
  if (event->type() == QEvent::UpdateRequest && repaint_due_ && settled()) {
    repaint_due_ = false;
    session_->painted();
  }
  return handled;
}

void MainWindow::resizeEvent(QResizeEvent* event) {
  QMainWindow::resizeEvent(event);
  const bool narrow = width() / 4 < kNarrowest;
  if (!arranged_ || narrow != narrow_) {
    if (arranged_) layouts_[narrow_] = dock_area(this)->saveState();
    narrow_ = narrow;
    arrange();
  }
}

void MainWindow::closeEvent(QCloseEvent* event) {
  if (source_->modified() && !confirm_discard(tr("close the window"))) {
    event->ignore();
    return;
  }
  event->accept();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls() && event->mimeData()->urls().first().isLocalFile())
    event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  OpenRequest request;
  request.target = event->mimeData()->urls().first().toLocalFile();
  request.device = session_->request().device;
  event->acceptProposedAction();
  open_request(request);
}

}  // namespace breakline::ui
