// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/timings/timings_panel.h"

#include <QAction>
#include <QHeaderView>
#include <QLabel>
#include <QSplitter>
#include <QStackedWidget>
#include <QTableWidget>
#include <QToolButton>
#include <QVBoxLayout>

#include "ui/models/words.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/distribution_plot.h"

namespace breakline::ui {
namespace {

constexpr int kTableFrom = 340;  // below this height the plot alone has the room; it carries the same numbers
enum Column { kArm, kMedian, kRatio, kVerdict, kEqual, kColumns };

QString ratio_words(const Ratio& r) {
  return QStringLiteral("%1x ±%2").arg(QString::number(r.value, 'f', 2),
                                       QString::number((r.high - r.low) / 2, 'f', 2));
}

}  // namespace

TimingsPanel::TimingsPanel(const PanelContext& context, QWidget* parent) : Panel(context, parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  stack_ = new QStackedWidget(this);
  empty_ = new EmptyState(tr("Not measured yet"),
                          tr("Measure runs every arm in interleaved rounds on the same inputs."));
  empty_->set_action(tr("Measure"), [this] { measure_->trigger(); });
  auto* filled = new QWidget(this);
  auto* rows = new QVBoxLayout(filled);
  rows->setContentsMargins(0, 4, 0, 0);
  rows->setSpacing(0);
  plot_ = new DistributionPlot(theme(), filled);
  table_ = new QTableWidget(0, kColumns, filled);
  table_->setObjectName(QStringLiteral("timings_table"));
  table_->setAccessibleName(tr("Timings"));
  table_->setHorizontalHeaderLabels({tr("Arm"), tr("Median"), tr("Ratio"), tr("Verdict"), tr("Same")});
  table_->setShowGrid(false);
  table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  table_->setSelectionMode(QAbstractItemView::NoSelection);
  table_->setFocusPolicy(Qt::TabFocus);
  table_->verticalHeader()->hide();
  table_->verticalHeader()->setDefaultSectionSize(22);
  table_->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  table_->horizontalHeader()->setSectionResizeMode(kArm, QHeaderView::Stretch);
  table_->horizontalHeader()->setMinimumSectionSize(20);
  table_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  table_->setWordWrap(false);
  note_ = new QLabel(filled);
  note_->setObjectName(QStringLiteral("quiet_note"));
  note_->setWordWrap(true);
  rows->addWidget(plot_, 1);
  rows->addWidget(table_);
  rows->addWidget(note_);
  stack_->addWidget(empty_);
  stack_->addWidget(filled);
  column->addWidget(stack_);

  measure_ = new QAction(tr("Measure"), this);
  measure_->setShortcut(QKeySequence(QStringLiteral("Ctrl+M")));
  measure_->setToolTip(tr("Measure all arms of the target (%1)").arg(measure_->shortcut().toString()));
  connect(measure_, &QAction::triggered, this, [this] { session()->measure(session()->current_target()); });
  no_grad_ = new QAction(tr("Measure under no_grad"), this);
  // What its button in the title says: tool buttons take their words from the action whenever it changes.
  no_grad_->setIconText(tr("no_grad"));
  no_grad_->setShortcut(QKeySequence(QStringLiteral("Ctrl+Shift+M")));
  no_grad_->setToolTip(tr("Recompile under no_grad, so that compiled plans can be used, and measure"));
  connect(no_grad_, &QAction::triggered, this, [this] {
    session()->set_no_grad(true);
    session()->measure(session()->current_target());
  });
  always_ = new QAction(tr("Measure after each recompile"), this);
  always_->setCheckable(true);
  commands_ = {measure_, no_grad_, always_};
  connect(session(), &Session::report_changed, this, [this] {
    enable_actions();
    refresh_later();
    if (always_->isChecked()) session()->measure(session()->current_target());
  });
  for (auto signal : {&Session::timings_changed, &Session::target_changed, &Session::state_changed,
                      &Session::problem_changed})
    connect(session(), signal, this, [this] {
      enable_actions();
      refresh_later();
    });
  connect(theme(), &Theme::changed, this, &TimingsPanel::refresh_later);
  enable_actions();
  refresh_later();
}

QList<QWidget*> TimingsPanel::title_tools() {
  auto* no_grad = new QToolButton(this);
  no_grad->setDefaultAction(no_grad_);
  no_grad->setProperty("word", true);
  no_grad->setObjectName(QStringLiteral("measure_no_grad"));
  auto* measure = new QToolButton(this);
  measure->setDefaultAction(measure_);
  measure->setProperty("word", true);
  measure->setObjectName(QStringLiteral("measure"));
  measure->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  const auto paint = [this, measure, no_grad] {
    measure_->setIcon(theme()->icon(QStringLiteral("measure"), Tone::Accent));
    no_grad->setIcon({});
    Q_UNUSED(measure);
  };
  paint();
  connect(theme(), &Theme::changed, measure, paint);
  const auto show = [this, no_grad] {
    no_grad->setVisible(!plan_note().isEmpty() && !session()->request().no_grad);
  };
  show();
  connect(session(), &Session::report_changed, no_grad, show);
  return {no_grad, measure};
}

void TimingsPanel::resizeEvent(QResizeEvent* event) {
  Panel::resizeEvent(event);
  table_->setVisible(height() >= kTableFrom);
}

QString TimingsPanel::plan_note() const {
  const ReportPtr r = report();
  if (!r) return {};
  for (const Target& t : r->targets) {
    if (!session()->current_target().isEmpty() && t.id != session()->current_target()) continue;
    for (const Segment& s : t.segments)
      if (s.plan == QLatin1String("replay") && s.plan_reason.contains(QLatin1String("grad")))
        return s.plan_reason;
  }
  return {};
}

bool TimingsPanel::can_measure() const { return report() && !report()->targets.isEmpty(); }

void TimingsPanel::enable_actions() {
  for (QAction* a : {measure_, no_grad_}) a->setEnabled(can_measure() && !session()->measuring());
}

void TimingsPanel::refresh_now() {
  const QString target = session()->current_target();
  const TimingsPtr t = session()->timings(target);
  if (!t || t->arms.isEmpty()) {
    empty_->offer(measure_->isEnabled());
    if (const auto w = waiting())
      empty_->set_words(w->heading, w->words);
    else if (session()->measuring())
      empty_->set_words(tr("Measuring…"), session()->phase());
    else if (!can_measure())
      empty_->set_words(tr("Nothing to measure"), tr("Timings of a compiled target are plotted here."));
    else if (!plan_note().isEmpty() && !session()->request().no_grad)
      empty_->set_words(tr("Not measured yet"),
                        tr("The replay plan is in use: %1. Measure under no_grad to compare compiled plans.")
                            .arg(plan_note()));
    else
      empty_->set_words(tr("Not measured yet"),
                        tr("Measure runs every arm in interleaved rounds on the same inputs."));
    stack_->setCurrentIndex(0);
    return;
  }
  const bool stale = session()->timings_stale(target) || session()->measuring();
  plot_->set_arms(t->arms, stale);
  table_->clearSpans();
  table_->setRowCount(int(t->arms.size()));
  const QColor quiet = theme()->color(Tone::Quiet);
  for (int row = 0; row < t->arms.size(); ++row) {
    const Arm& a = t->arms[row];
    QString words[kColumns];
    words[kArm] = arm_name(a);
    QString tip;
    if (a.available) {
      words[kMedian] = format_spread(a.median_us, (a.q3_us - a.q1_us) / 2);
      if (a.ratio) words[kRatio] = ratio_words(*a.ratio);
      words[kVerdict] = verdict_word(a.verdict);
      if (a.equal) words[kEqual] = *a.equal ? (a.max_abs_err > 0 ? tr("within") : tr("yes")) : tr("no");
      tip = tr("%1: median %2, quartiles %3 to %4, %5 samples")
                .arg(arm_name(a), format_us(a.median_us), format_us(a.q1_us), format_us(a.q3_us))
                .arg(a.n);
      if (a.ratio)
        tip += QLatin1Char('\n') + tr("eager ÷ this arm: %1 (interval %2 to %3)")
                                       .arg(a.ratio->value, 0, 'f', 3)
                                       .arg(a.ratio->low, 0, 'f', 3)
                                       .arg(a.ratio->high, 0, 'f', 3);
      if (a.compile_ms > 0) tip += QLatin1Char('\n') + tr("compiled in %1 ms").arg(format_3(a.compile_ms));
      if (a.break_even_calls > 0)
        tip += QLatin1Char('\n') + tr("compiling pays after %1 calls").arg(a.break_even_calls);
      if (a.equal)
        tip += QLatin1Char('\n') + tr("largest difference to eager: %1 absolute, %2 relative")
                                       .arg(a.max_abs_err, 0, 'g', 3)
                                       .arg(a.max_rel_err, 0, 'g', 3);
      if (!a.error_note.isEmpty()) tip += QLatin1Char('\n') + a.error_note;
    } else {
      words[kMedian] = a.reason.isEmpty() ? tr("not available") : a.reason;
      tip = a.reason;
    }
    if (!a.available) table_->setSpan(row, kMedian, 1, kColumns - kMedian);
    for (int c = 0; c < kColumns; ++c) {
      auto* item = new QTableWidgetItem(words[c]);
      item->setToolTip(tip);
      const bool left = c == kArm || c == kVerdict || c == kEqual || !a.available;
      item->setTextAlignment(Qt::AlignVCenter | (left ? Qt::AlignLeft : Qt::AlignRight));
      if (!a.available || stale)
        item->setForeground(quiet);
      else if (c == kArm)
        item->setForeground(theme()->color(arm_tone(a.id)));
      else if (c == kVerdict && a.verdict == QLatin1String("faster"))
        item->setForeground(theme()->color(Tone::Compiled));
      else if ((c == kVerdict && a.verdict == QLatin1String("slower")) ||
               (c == kEqual && a.equal && !*a.equal))
        item->setForeground(theme()->color(Tone::BreakError));
      table_->setItem(row, c, item);
    }
  }
  table_->setFixedHeight(table_->horizontalHeader()->sizeHint().height() + 22 * int(t->arms.size()) + 4);
  QStringList notes;
  if (stale) notes << (session()->measuring() ? tr("measuring again…") : tr("of an earlier compile"));
  notes << counted(t->rounds, tr("%1 round"), tr("%1 rounds"));
  if (t->noise) notes << tr("noise %1 to %2").arg(t->noise->low, 0, 'f', 2).arg(t->noise->high, 0, 'f', 2);
  if (!t->blas.isEmpty()) notes << t->blas;
  if (t->threads) notes << counted(t->threads, tr("%1 thread"), tr("%1 threads"));
  QString all = notes.join(QStringLiteral(" · "));
  QStringList tip = notes;
  for (const QString& w : t->warnings) tip << w;
  for (const QString& w : {t->cpu_note, t->vulkan_note, t->load_note, t->allocator})
    if (!w.isEmpty()) tip << w;
  if (!t->warnings.isEmpty()) all = QStringLiteral("⚠ ") + t->warnings.first() + QStringLiteral(" · ") + all;
  note_->setText(all);
  note_->setMinimumWidth(1);
  note_->setToolTip(tip.join(QLatin1Char('\n')));
  stack_->setCurrentIndex(1);
}

}  // namespace breakline::ui
