// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/policy/policy_panel.h"

#include <QAction>
#include <QCoreApplication>
#include <QFileInfo>
#include <QHeaderView>
#include <QKeyEvent>
#include <QMenu>
#include <QScrollBar>
#include <QStackedWidget>
#include <QToolButton>
#include <QTreeWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/models/python_outline.h"
#include "ui/models/words.h"
#include "ui/panels/policy/overlay_dialog.h"
#include "ui/panels/policy/policy_switch.h"
#include "ui/widgets/banner.h"

namespace breakline::ui {
namespace {

/// What kind of region it is, in a word or two after its name.
QString kind_words(const Region& r) {
  const QString lines =
      r.line > 0 ? QStringLiteral("%1–%2").arg(r.line).arg(std::max(r.line, r.end_line)) : QString();
  QStringList parts;
  if (r.kind == QLatin1String("patch") || r.kind == QLatin1String("module") ||
      r.kind == QLatin1String("lines"))
    parts << kind_word(r.kind);
  if (!lines.isEmpty()) parts << lines;
  if (r.breaks)
    parts << counted(r.breaks, QCoreApplication::translate("Policy", "%1 break"),
                     QCoreApplication::translate("Policy", "%1 breaks"));
  return parts.join(QStringLiteral(" · "));
}

QString name_of(const Region& r) {
  if (r.kind == QLatin1String("with")) return QStringLiteral("with error_on_graph_break");
  if (r.kind == QLatin1String("decorator")) return QStringLiteral("@error_on_graph_break");
  if (!r.qualname.isEmpty()) return r.qualname;
  const OverlayKey key = parse_overlay_key(r.key);
  if (key.kind == QLatin1String("lines")) return QStringLiteral("%1–%2").arg(key.first).arg(key.last);
  return key.valid() ? key.name : r.key;
}

}  // namespace

PolicyPanel::PolicyPanel(const PanelContext& context, QWidget* parent) : Panel(context, parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  stack_ = new QStackedWidget(this);
  auto* empty = new EmptyState({}, {});
  const auto say = [this, empty] {
    if (const auto w = waiting())
      empty->set_words(w->heading, w->words);
    else
      empty->set_words(
          tr("No policy regions yet"),
          tr("Regions of the code are listed here. Overlays rule breaks without touching your file."));
  };
  for (auto signal : {&Session::report_changed, &Session::state_changed, &Session::problem_changed})
    connect(session(), signal, empty, say);
  say();
  empty->set_action(tr("Add overlay…"), [this] { add_overlay(); });
  tree_ = new QTreeWidget(this);
  tree_->setObjectName(QStringLiteral("policy_tree"));
  tree_->setAccessibleName(tr("Policies"));
  tree_->setColumnCount(2);
  tree_->setHeaderHidden(true);
  tree_->setIndentation(14);
  tree_->setUniformRowHeights(true);
  tree_->setRootIsDecorated(true);
  tree_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  auto* control = new PolicySwitchDelegate(theme(), tree_);
  tree_->setItemDelegateForColumn(0, new PolicyNameDelegate(theme(), tree_));
  tree_->setItemDelegateForColumn(1, control);
  tree_->header()->setStretchLastSection(false);
  tree_->header()->setMinimumSectionSize(40);
  tree_->header()->setSectionResizeMode(0, QHeaderView::Stretch);
  tree_->header()->setSectionResizeMode(1, QHeaderView::Fixed);
  tree_->header()->resizeSection(1, control->width());
  tree_->installEventFilter(this);
  stack_->addWidget(empty);
  stack_->addWidget(tree_);
  column->addWidget(stack_);
  connect(
      control, &PolicySwitchDelegate::chosen, this, [this](const QModelIndex& index, const QString& value) {
        set_value(
            tree_->topLevelItemCount() ? static_cast<QTreeWidgetItem*>(tree_->itemFromIndex(index)) : nullptr,
            value);
      });
  connect(tree_, &QTreeWidget::currentItemChanged, this, [this](QTreeWidgetItem* now) {
    enable_remove();
    if (!following_ && now) select_region(now->data(0, kKeyRole).toString());
  });
  tree_->setContextMenuPolicy(Qt::CustomContextMenu);
  connect(tree_, &QWidget::customContextMenuRequested, this, &PolicyPanel::open_menu);
  connect(session(), &Session::report_changed, this, &PolicyPanel::refresh_later);
  connect(session(), &Session::overlays_changed, this, &PolicyPanel::refresh_later);
  connect(selection(), &Selection::changed, this, &PolicyPanel::follow);
  connect(theme(), &Theme::changed, tree_->viewport(), qOverload<>(&QWidget::update));

  const auto add = [this](const QString& text, const char* shortcut, auto run) {
    auto* action = new QAction(text, this);
    if (shortcut) action->setShortcut(QKeySequence(QLatin1String(shortcut)));
    connect(action, &QAction::triggered, this, run);
    commands_ << action;
    return action;
  };
  add_ = add(tr("Add overlay…"), "Ctrl+L", [this] { add_overlay(); });
  strict_ = add(tr("Strict preview"), "Ctrl+Shift+E",
                [this] { session()->set_strict_preview(strict_->isChecked()); });
  strict_->setCheckable(true);
  strict_->setToolTip(
      tr("Mark every break that a strict policy would reject (%1)").arg(strict_->shortcut().toString()));
  connect(session(), &Session::strict_preview_changed, this,
          [this] { strict_->setChecked(session()->strict_preview()); });
  add(tr("Selected region: inherit"), "Ctrl+Alt+I", [this] { set_current(QStringLiteral("inherit")); });
  add(tr("Selected region: allow"), "Ctrl+Alt+A", [this] { set_current(QStringLiteral("allow")); });
  add(tr("Selected region: error"), "Ctrl+Alt+E", [this] { set_current(QStringLiteral("error")); });
  remove_ = add(tr("Remove selected overlay"), nullptr, [this] { remove_current(); });
  remove_->setToolTip(tr("Remove your overlay from the selected row (Del)"));
  remove_->setEnabled(false);
}

QList<QWidget*> PolicyPanel::title_tools() {
  auto* strict = new QToolButton(this);
  strict->setDefaultAction(strict_);
  strict->setProperty("word", true);
  strict->setObjectName(QStringLiteral("strict_preview"));
  auto* plus = new QToolButton(this);
  plus->setDefaultAction(add_);
  plus->setToolButtonStyle(Qt::ToolButtonIconOnly);
  plus->setToolTip(
      tr("Add an overlay on a function, lines or a module path (%1)").arg(add_->shortcut().toString()));
  auto* minus = new QToolButton(this);
  minus->setDefaultAction(remove_);
  minus->setToolButtonStyle(Qt::ToolButtonIconOnly);
  minus->setObjectName(QStringLiteral("remove_overlay"));
  const auto paint = [this, plus] {
    plus->setIcon(theme()->icon(QStringLiteral("add")));
    remove_->setIcon(theme()->icon(QStringLiteral("remove")));
  };
  paint();
  connect(theme(), &Theme::changed, plus, paint);
  return {strict, minus, plus};
}

void PolicyPanel::open_menu(const QPoint& at) {
  QTreeWidgetItem* item = tree_->itemAt(at);
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  menu->setObjectName(QStringLiteral("policy_menu"));
  if (item && !item->data(0, kOverlayKeyRole).toString().isEmpty()) {
    tree_->setCurrentItem(item);
    for (const char* value : {"inherit", "allow", "error"}) {
      QAction* action = menu->addAction(policy_word(QLatin1String(value)));
      action->setCheckable(true);
      action->setChecked(item->data(0, kValueRole).toString() == QLatin1String(value));
      connect(action, &QAction::triggered, this, [this, value] { set_current(QLatin1String(value)); });
    }
    menu->addSeparator();
    menu->addAction(remove_);
  }
  menu->addAction(add_);
  menu->popup(tree_->viewport()->mapToGlobal(at));
}

QVector<PolicyPanel::Row> PolicyPanel::rows() const {
  const ReportPtr r = report();
  QVector<Row> rows;
  QHash<QString, int> known;  // by id
  const auto file_row = [&](const QString& file) {
    const QString id = QStringLiteral("file:") + file;
    if (!known.contains(id)) {
      known.insert(id, int(rows.size()));
      rows.push_back({id, -1, QFileInfo(file).fileName(), file});
    }
    return known.value(id);
  };
  // Module paths of a target stand in a branch of their own, closed at first: a model has many.
  const auto modules_row = [&](const Region& g) {
    const QString target = g.key.section(QLatin1Char(':'), 1, -2);
    const QString id = QStringLiteral("modules:") + target;
    if (!known.contains(id)) {
      const int parent = file_row(g.file.isEmpty() ? document()->path() : r->resolve(g.file));
      known.insert(id, int(rows.size()));
      rows.push_back({id, parent, tr("modules of %1").arg(target), {}});
      rows.last().closed = true;
    }
    return known.value(id);
  };
  QHash<QString, OverlayState> states;
  QSet<QString> shown;
  if (r) {
    for (const OverlayState& s : r->overlays) states.insert(s.key, s);
    for (const Region& g : r->regions) {
      const QString key = Session::overlay_key(g);
      int parent = known.value(g.parent, -1);
      if (parent < 0)
        parent = g.kind == QLatin1String("module") ? modules_row(g) : file_row(r->resolve(g.file));
      shown.insert(key);
      const OverlayState state = states.value(key);
      QStringList tip{tr("%1, in force: %2 (decided by %3)")
                          .arg(name_of(g), policy_word(g.effective), source_words(g.source)),
                      tr("in the code: %1").arg(policy_word(g.declared))};
      if (!state.note.isEmpty()) tip << state.note;
      known.insert(g.key, int(rows.size()));
      Row row{g.key, parent, name_of(g), tip.join(QLatin1Char('\n'))};
      row.overlay_key = key;
      row.value = session()->overlay_value(key);
      row.effective = g.band();
      row.quiet = state.note.isEmpty() ? kind_words(g) : state.note;
      row.user = row.value != QLatin1String("inherit");
      row.inactive = !state.key.isEmpty() && !state.active;
      rows.push_back(row);
    }
  }
  for (const Overlay& o : session()->overlays()) {
    if (shown.contains(o.key)) continue;
    const OverlayKey key = parse_overlay_key(o.key);
    const OverlayState state = states.value(o.key);
    const QString script = r ? r->resolve(key.file) : key.file;
    const int parent = file_row(key.kind == QLatin1String("module") ? document()->path() : script);
    const QString note =
        !session()->uses_overlays() ? tr("switched off: policy set is “from code”") : state.note;
    Row row{o.key, parent,
            key.kind == QLatin1String("lines") ? tr("lines %1–%2").arg(key.first).arg(key.last) : key.name,
            note.isEmpty() ? o.key : o.key + QLatin1Char('\n') + note};
    row.overlay_key = o.key;
    row.value = o.value;
    row.effective = state.active ? o.value : QStringLiteral("inherit");
    row.quiet = note;
    row.user = true;
    row.inactive = !state.active || !session()->uses_overlays();
    rows.push_back(row);
  }
  return rows;
}

void PolicyPanel::build_items(const QVector<Row>& rows) {
  QSet<QString> closed;
  for (QTreeWidgetItemIterator it(tree_); *it; ++it)
    if (!(*it)->isExpanded() && (*it)->childCount()) closed.insert((*it)->data(0, kKeyRole).toString());
  const int scroll = tree_->verticalScrollBar()->value();
  tree_->clear();
  items_.clear();
  for (const Row& row : rows) {
    auto* item = row.parent < 0 ? new QTreeWidgetItem(tree_) : new QTreeWidgetItem(items_[row.parent]);
    item->setData(0, kKeyRole, row.id);
    items_ << item;
    if (row.closed && !seen_.contains(row.id)) closed.insert(row.id);
    if (row.closed) seen_.insert(row.id);
  }
  tree_->expandAll();
  for (QTreeWidgetItem* item : std::as_const(items_))
    if (closed.contains(item->data(0, kKeyRole).toString())) item->setExpanded(false);
  tree_->verticalScrollBar()->setValue(scroll);
}

void PolicyPanel::refresh_now() {
  following_ = true;
  const QVector<Row> wanted = rows();
  const auto same_place = [](const Row& a, const Row& b) { return a.id == b.id && a.parent == b.parent; };
  if (!std::equal(wanted.begin(), wanted.end(), shown_.begin(), shown_.end(), same_place))
    build_items(wanted);
  shown_ = wanted;
  // An item asks for a repaint only where something differs.
  for (qsizetype i = 0; i < shown_.size(); ++i) {
    const Row& row = shown_[i];
    QTreeWidgetItem* item = items_[i];
    item->setText(0, row.name);
    item->setToolTip(0, row.tip);
    if (row.overlay_key.isEmpty() && row.effective.isEmpty()) continue;
    item->setToolTip(1, row.tip);
    for (int column : {0, 1}) {
      item->setData(column, kOverlayKeyRole, row.overlay_key);
      item->setData(column, kValueRole, row.value);
      item->setData(column, kInactiveRole, row.inactive);
    }
    item->setData(0, kEffectiveRole, row.effective);
    item->setData(0, kQuietRole, row.quiet);
    item->setData(0, kUserRole, row.user);
    // Screen readers get the words that the switch paints.
    item->setData(1, Qt::AccessibleTextRole,
                  tr("%1, in force: %2").arg(policy_word(row.value), policy_word(row.effective)));
  }
  stack_->setCurrentIndex(shown_.isEmpty() ? 0 : 1);
  following_ = false;
  follow();
  enable_remove();
}

void PolicyPanel::follow() {
  const Selected& now = selection()->current();
  QString key = now.kind == SelectionKind::Region ? now.id : QString();
  // A break shows the region that rules it, when that is one of the tree.
  const ReportPtr r = report();
  if (now.kind == SelectionKind::Break && r)
    if (const Break* b = r->find_break(now.id)) {
      key = b->policy_source;
      if (!r->find_region(key))
        if (const Region* g = r->region_at(b->user.file, b->user.line)) key = g->key;
    }
  // A line or a segment shows the region around it.
  if ((now.kind == SelectionKind::Line || now.kind == SelectionKind::Segment) && r)
    if (const Region* g = r->region_at(now.file, now.line)) key = g->key;
  QTreeWidgetItem* wanted = nullptr;
  for (QTreeWidgetItem* item : std::as_const(items_))
    if (!key.isEmpty() && item->data(0, kKeyRole).toString() == key) wanted = item;
  following_ = true;
  if (wanted != tree_->currentItem()) tree_->setCurrentItem(wanted);
  following_ = false;
}

void PolicyPanel::enable_remove() {
  const QTreeWidgetItem* now = tree_->currentItem();
  remove_->setEnabled(now && now->data(0, kUserRole).toBool());
}

QRect PolicyPanel::switch_rect(const QString& key, const QString& value) const {
  const auto* control = static_cast<const PolicySwitchDelegate*>(tree_->itemDelegateForColumn(1));
  for (QTreeWidgetItemIterator it(tree_); *it; ++it)
    if ((*it)->data(0, kOverlayKeyRole).toString() == key) {
      tree_->scrollToItem(*it);
      const QRect row = tree_->visualItemRect(*it);
      const int x = tree_->columnViewportPosition(1);
      return control->part(QRect(x, row.top(), tree_->columnWidth(1), row.height()), value);
    }
  return {};
}

void PolicyPanel::set_value(QTreeWidgetItem* item, const QString& value) {
  if (!item) return;
  const QString key = item->data(0, kOverlayKeyRole).toString();
  if (key.isEmpty()) return;
  const QString region = item->data(0, kKeyRole).toString();
  session()->set_overlay(key, value);
  select_region(region);
}

void PolicyPanel::set_current(const QString& value) { set_value(tree_->currentItem(), value); }

void PolicyPanel::cycle_current() {
  if (!tree_->currentItem()) return;
  static const QStringList kValues{QStringLiteral("inherit"), QStringLiteral("allow"),
                                   QStringLiteral("error")};
  const int at = int(kValues.indexOf(tree_->currentItem()->data(0, kValueRole).toString()));
  set_current(kValues[(at + 1) % 3]);
}

void PolicyPanel::remove_current() {
  if (!tree_->currentItem()) return;
  session()->remove_overlay(tree_->currentItem()->data(0, kOverlayKeyRole).toString());
}

void PolicyPanel::add_overlay() {
  OverlayDialog::Defaults defaults;
  const Selected& now = selection()->current();
  const ReportPtr r = report();
  defaults.file = key_file(now.file.isEmpty() ? document()->path() : now.file);
  if (now.line > 0) {
    defaults.first = now.line;
    defaults.last = std::max(now.line, now.end_line);
    defaults.function = function_at(document()->disk_text(), now.line);
  }
  if (r && !r->targets.isEmpty()) {
    const Target* t = r->find_target(session()->current_target());
    defaults.target = t ? t->name : r->targets.first().name;
    for (const Region& g : r->regions) {
      const OverlayKey key = parse_overlay_key(g.key);
      if (key.kind == QLatin1String("fn"))
        defaults.functions << key.name;
      else if (key.kind == QLatin1String("module"))
        defaults.modules << key.name;
    }
  }
  auto* dialog = new OverlayDialog(defaults, window());
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog, &QDialog::accepted, this,
          [this, dialog] { session()->set_overlay(dialog->key(), dialog->value()); });
  dialog->open();
}

bool PolicyPanel::eventFilter(QObject* object, QEvent* event) {
  if (object == tree_ && event->type() == QEvent::KeyPress) {
    const auto* key = static_cast<QKeyEvent*>(event);
    if (key->modifiers() == Qt::NoModifier) switch (key->key()) {
        case Qt::Key_I:
          set_current(QStringLiteral("inherit"));
          return true;
        case Qt::Key_A:
          set_current(QStringLiteral("allow"));
          return true;
        case Qt::Key_E:
          set_current(QStringLiteral("error"));
          return true;
        case Qt::Key_Space:
          cycle_current();
          return true;
        case Qt::Key_Delete:
          remove_current();
          return true;
        default:
          break;
      }
  }
  return Panel::eventFilter(object, event);
}

}  // namespace breakline::ui
