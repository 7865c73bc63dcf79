// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/breaks/breaks_panel.h"

#include <QHeaderView>
#include <QLabel>
#include <QMenu>
#include <QPainter>
#include <QStackedWidget>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/models/words.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/marks.h"

namespace breakline::ui {
namespace {

/// Draws the mark (diamond or octagon) before the policy word, in the break's colour.
class PolicyDelegate : public QStyledItemDelegate {
 public:
  PolicyDelegate(Theme* theme, QObject* parent) : QStyledItemDelegate(parent), theme_(theme) {}
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    const bool error = index.data(BreakTableModel::ErrorRole).toBool();
    option->features |= QStyleOptionViewItem::HasDecoration;
    option->icon = QIcon(break_mark(error, *theme_, 14));
    option->decorationSize = {14, 14};
    const QColor color = theme_->color(error ? Tone::BreakError : Tone::BreakAllowed);
    option->palette.setColor(QPalette::Text, color);
    option->palette.setColor(QPalette::HighlightedText, color);
  }

 private:
  Theme* theme_;
};

}  // namespace

BreaksPanel::BreaksPanel(const PanelContext& context, QWidget* parent) : Panel(context, parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  stack_ = new QStackedWidget(this);
  empty_ = new EmptyState(tr("No breaks to show"), tr("Open a script and its graph breaks are listed here."));
  table_ = new QTableView(this);
  table_->setObjectName(QStringLiteral("breaks_table"));
  table_->setAccessibleName(tr("Breaks"));
  model_ = new BreakTableModel(this);
  table_->setModel(model_);
  table_->setItemDelegateForColumn(BreakTableModel::Policy, new PolicyDelegate(theme(), table_));
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  table_->setSelectionMode(QAbstractItemView::SingleSelection);
  table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table_->setShowGrid(false);
  table_->setWordWrap(false);
  table_->setTabKeyNavigation(false);
  table_->verticalHeader()->hide();
  table_->verticalHeader()->setDefaultSectionSize(26);
  table_->horizontalHeader()->setHighlightSections(false);
  table_->horizontalHeader()->setFixedHeight(26);
  table_->horizontalHeader()->setMinimumSectionSize(28);
  table_->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  table_->horizontalHeader()->setSectionResizeMode(BreakTableModel::Why, QHeaderView::Stretch);
  table_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  table_->setContextMenuPolicy(Qt::CustomContextMenu);
  stack_->addWidget(empty_);
  stack_->addWidget(table_);
  column->setSpacing(0);
  column->addWidget(stack_, 1);
  foot_ = new QLabel(this);
  foot_->setObjectName(QStringLiteral("quiet_note"));
  foot_->setWordWrap(true);
  foot_->setMinimumWidth(1);
  foot_->hide();
  column->addWidget(foot_);
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& now) {
            if (!following_ && now.isValid()) select_break(now.data(BreakTableModel::IdRole).toString());
          });
  connect(table_, &QTableView::clicked, this,
          [this](const QModelIndex& now) { select_break(now.data(BreakTableModel::IdRole).toString()); });
  connect(table_, &QTableView::activated, this, [this] { emit wants_panel(QStringLiteral("details")); });
  connect(table_, &QWidget::customContextMenuRequested, this, &BreaksPanel::open_menu);
  follow_waiting(this, &BreaksPanel::refresh_later);
  connect(session(), &Session::profiles_changed, this, &BreaksPanel::refresh_later);
  connect(session(), &Session::target_changed, this, &BreaksPanel::refresh_later);
  connect(session(), &Session::strict_preview_changed, this, &BreaksPanel::refresh_later);
  connect(selection(), &Selection::changed, this, &BreaksPanel::follow);
  connect(theme(), &Theme::changed, table_->viewport(), qOverload<>(&QWidget::update));
}

void BreaksPanel::refresh_now() {
  following_ = true;
  const QString target = session()->current_target();
  model_->set(report(), target, session()->profiles(), session()->strict_preview(),
              session()->profiling() ? tr("Being measured…") : tr("Not measured yet: press Measure."));
  following_ = false;
  const auto skipped = report() ? report()->skipped_of(target) : QVector<const SkippedFrame*>();
  if (const auto w = waiting())
    empty_->set_words(w->heading, w->words);
  else if (!report())
    empty_->set_words(tr("No breaks to show"), tr("Open a script and its graph breaks are listed here."));
  else if (skipped.isEmpty())
    empty_->set_words(tr("No graph breaks"), tr("Everything that was traced is in whole graphs."));
  else
    empty_->set_words(tr("Not everything was traced"),
                      tr("No break, but code was left to Python as a whole."));
  stack_->setCurrentIndex(model_->rowCount() ? 1 : 0);
  QStringList foot;
  for (const SkippedFrame* s : skipped) foot << tr("Skipped:") + QLatin1Char(' ') + skipped_words(*s);
  const QString cost = model_->rowCount() && !session()->profiling() ? model_->why_no_costs() : QString();
  if (!cost.isEmpty()) foot << tr("Cost:") + QLatin1Char(' ') + cost;
  foot_->setToolTip(foot.join(QLatin1Char('\n')));
  constexpr qsizetype kMostLines = 3;
  if (foot.size() > kMostLines) {
    const qsizetype more = foot.size() - kMostLines + 1;
    foot.resize(kMostLines - 1);
    foot << tr("… and %1 more").arg(more);
  }
  foot_->setText(foot.join(QLatin1Char('\n')));
  foot_->setVisible(!foot.isEmpty());
  follow();
}

void BreaksPanel::follow() {
  const Selected& now = selection()->current();
  following_ = true;
  const int row = now.kind == SelectionKind::Break ? model_->row_of(now.id) : -1;
  if (row >= 0)
    table_->setCurrentIndex(
        model_->index(row, table_->currentIndex().isValid() ? table_->currentIndex().column() : 0));
  else
    table_->selectionModel()->clear();
  following_ = false;
}

void BreaksPanel::open_menu(const QPoint& at) {
  const Break* b = model_->at(table_->rowAt(at.y()));
  if (!b) return;
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  const QString file = key_file(place_file(*b));
  const int last = b->in_library() ? b->user.line : std::max(b->line, b->end_line);
  const QString line_key = QStringLiteral("lines:%1:%2-%3").arg(file).arg(b->user.line).arg(last);
  QString function_key;
  if (!b->user.function.isEmpty() && !b->user.function.startsWith(QLatin1Char('<')))
    function_key = QStringLiteral("fn:%1:%2").arg(file, b->user.function);
  for (const auto& [title, key] :
       {std::pair(tr("This line"), line_key), std::pair(tr("This function"), function_key)}) {
    if (key.isEmpty()) continue;
    menu->addSection(title);
    for (const char* value : {"inherit", "allow", "error"}) {
      QAction* action = menu->addAction(policy_word(QLatin1String(value)));
      action->setCheckable(true);
      action->setChecked(session()->overlay_value(key) == QLatin1String(value));
      connect(action, &QAction::triggered, this,
              [this, key = key, value] { session()->set_overlay(key, QLatin1String(value)); });
    }
  }
  menu->popup(table_->viewport()->mapToGlobal(at));
}

}  // namespace breakline::ui
