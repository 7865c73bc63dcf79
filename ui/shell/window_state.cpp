// SPDX-License-Identifier: GPL-3.0-or-later
// What the window's bars, pills and banner say about the state of the session.
#include <QAction>
#include <QComboBox>
#include <QLabel>
#include <QStandardItemModel>
#include <algorithm>

#include "ui/models/knowledge.h"
#include "ui/models/timings.h"
#include "ui/models/words.h"
#include "ui/panels/source/source_panel.h"
#include "ui/shell/main_window.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/chip.h"

namespace breakline::ui {
namespace {

/// A style sheet that is set makes the widget and its layout anew, even the same one.
void set_style(QWidget* widget, const QString& style) {
  if (widget->styleSheet() != style) widget->setStyleSheet(style);
}

/// Fills a box with (text, data) pairs, unless it holds them already.
void set_items(QComboBox* box, const QVector<std::pair<QString, QString>>& items) {
  bool same = box->count() == items.size();
  for (int i = 0; same && i < items.size(); ++i)
    same = box->itemText(i) == items[i].first && box->itemData(i).toString() == items[i].second;
  if (same) return;
  box->clear();
  for (const auto& [text, data] : items) box->addItem(text, data);
}

}  // namespace

void MainWindow::refresh_stale() {
  const QString note = session_->stale_note();
  stale_words_->setText(note.isEmpty() ? note : tr("shown: results %1").arg(note));
  stale_words_->setVisible(!note.isEmpty());
  const QString color = QStringLiteral("color: %1").arg(theme_->css(Tone::BreakAllowed));
  set_style(stale_words_, color);
  bool moved = false;
  for (const char* id : {"graph", "breaks"}) {
    QLabel* words = docks_[QLatin1String(id)].title_note;
    moved |= words->text() != note;
    words->setText(note);
    words->setVisible(!note.isEmpty());
    set_style(words, color);
  }
  if (moved) title_visibility();
  refresh_chips();
}

void MainWindow::refresh_targets() {
  const ReportPtr r = session_->report();
  QVector<std::pair<QString, QString>> items;
  if (r) {
    if (r->targets.size() > 1) items.push_back({tr("all targets"), QString()});
    for (const Target& t : r->targets) items.push_back({t.name, t.id});
  }
  set_items(target_, items);
  if (r) target_->setCurrentIndex(std::max(0, target_->findData(session_->current_target())));
  target_->setEnabled(target_->count() > 1);
  const int n = int(session_->overlays().size());
  set_items(policy_set_,
            {{tr("from code"), {}},
             {n ? counted(n, tr("with %1 toggle"), tr("with %1 toggles")) : tr("with toggles"), {}}});
  policy_set_->setCurrentIndex(n && session_->uses_overlays() ? 1 : 0);
  policy_set_->setEnabled(n > 0);
  policy_set_->setToolTip(n ? tr("Compare with what the code alone says")
                            : tr("Set a toggle in the policy tree to have a second set"));
  device_->setCurrentIndex(std::max(0, device_->findData(session_->request().device)));
}

void MainWindow::refresh_chips() {
  const ReportPtr r = session_->report();
  const QString target = session_->current_target();
  const QString graphs_tip = tr("Compiled graphs; opens the partition graph");
  QStringList breaks_tip{tr("Graph breaks; opens their list")};
  if (!r) {
    const bool loading = session_->running() && !session_->request().target.isEmpty();
    graphs_->set_parts({{loading ? tr("graphs…") : tr("no graphs"), Tone::Quiet}}, Tone::Line, Tone::Raised);
    breaks_->set_parts({{loading ? tr("breaks…") : tr("no breaks"), Tone::Quiet}}, Tone::Line, Tone::Raised);
  } else {
    const int graphs = r->graphs(target);
    graphs_->set_parts(
        {{QString::number(graphs), Tone::Segment, true}, {graphs == 1 ? tr(" graph") : tr(" graphs")}},
        Tone::Segment, Tone::Raised);
    int errors = 0;
    const auto breaks = r->breaks_of(target);
    for (const Break* b : breaks) errors += b->is_error();
    const int allowed = int(breaks.size()) - errors;
    QVector<Chip::Part> parts{{QString::number(breaks.size()),
                               errors    ? Tone::BreakError
                               : allowed ? Tone::BreakAllowed
                                         : Tone::Segment,
                               true},
                              {breaks.size() == 1 ? tr(" break") : tr(" breaks")}};
    if (!breaks.isEmpty()) parts.push_back({QStringLiteral(":"), Tone::Text});
    if (allowed) parts.push_back({tr(" %1 allowed").arg(allowed), Tone::BreakAllowed});
    if (errors) parts.push_back({tr(" %1 error").arg(errors), Tone::BreakError, true});
    const auto skipped = r->skipped_of(target);
    if (!skipped.isEmpty()) parts.push_back({tr(" +%1 skipped").arg(skipped.size()), Tone::BreakAllowed});
    for (const SkippedFrame* s : skipped) breaks_tip << skipped_words(*s);
    breaks_->set_parts(parts,
                       errors    ? Tone::BreakError
                       : allowed ? Tone::BreakAllowed
                                 : Tone::Segment,
                       Tone::Raised);
    QString counts = tr("graphs %1, breaks %2").arg(graphs).arg(breaks.size());
    if (errors) counts += tr(", errors %1").arg(errors);
    delta_words_ = !last_counts_.isEmpty() && last_counts_ != counts
                       ? tr("%1 (before: %2) · ").arg(counts, last_counts_)
                       : QString();
    last_counts_ = counts;
  }
  const QString note = session_->stale_note();
  for (Chip* c : {graphs_, breaks_}) c->set_stale(!note.isEmpty());
  if (!note.isEmpty()) breaks_tip.prepend(tr("These counts are %1.").arg(note));
  graphs_->setToolTip(note.isEmpty() ? graphs_tip
                                     : tr("These counts are %1.").arg(note) + QLatin1Char('\n') + graphs_tip);
  breaks_->setToolTip(breaks_tip.join(QLatin1Char('\n')));
  const TimingsPtr t = session_->timings(target);
  const Arm* arm = t ? t->headline(session_->request().device) : nullptr;
  if (arm) {
    const Ratio& x = *arm->ratio;
    const Tone tone = arm->verdict == QLatin1String("faster")   ? Tone::Compiled
                      : arm->verdict == QLatin1String("slower") ? Tone::BreakError
                                                                : Tone::Quiet;
    ratio_->set_parts({{QStringLiteral("%1x").arg(x.value, 0, 'f', 2), tone, true},
                       {QStringLiteral(" ±%1 ").arg((x.high - x.low) / 2, 0, 'f', 2), Tone::Quiet},
                       {verdict_word(arm->verdict), tone}},
                      tone == Tone::Quiet ? Tone::Line : tone, Tone::Raised);
  } else {
    ratio_->set_parts({{tr("not measured"), Tone::Quiet}}, Tone::Line, Tone::Raised);
  }
  ratio_->set_stale(session_->timings_stale(target) || (arm && !note.isEmpty()));
}

void MainWindow::refresh_state() {
  const bool running = session_->running();
  if (!running) {
    busy_delay_.stop();
    busy_shown_ = false;
  } else if (session_->state() == EngineState::Starting || session_->measuring() || !session_->report()) {
    busy_shown_ = true;
  } else if (!busy_shown_ && !busy_delay_.isActive()) {
    busy_delay_.start();
  }
  const bool busy = busy_shown_;
  for (Chip* c : {graphs_, breaks_}) c->set_busy(busy && !session_->measuring());
  ratio_->set_busy(session_->measuring());
  by_id_[QStringLiteral("stop")]->setEnabled(busy);
  by_id_[QStringLiteral("recompile")]->setEnabled(!busy && !session_->request().target.isEmpty());
  by_id_[QStringLiteral("restart")]->setEnabled(!session_->request().target.isEmpty());
  const auto& devices = session_->engine().devices;
  auto* model = qobject_cast<QStandardItemModel*>(device_->model());
  for (const EngineInfo::Device& d : devices)
    for (int i = 0; model && i < device_->count(); ++i)
      if (device_->itemData(i).toString() == d.id) {
        model->item(i)->setEnabled(d.available);
        model->item(i)->setToolTip(d.available ? d.name : d.reason);
      }
  if (!running && running_banner_) {
    running_banner_ = false;
    banner_->hide();
    show_problem();
  }
  if (!session_->report()) refresh_chips();
  refresh_status();
}

void MainWindow::refresh_status() {
  const EngineInfo& e = session_->engine();
  QStringList parts;
  if (!e.python.isEmpty()) parts << tr("python %1").arg(e.python);
  if (!e.torch.isEmpty()) parts << tr("torch %1").arg(e.torch);
  for (const EngineInfo::Device& d : e.devices)
    if (d.id == session_->request().device || (d.id == QLatin1String("vulkan") && d.available))
      parts << (d.name.isEmpty() ? d.id : d.name);
  engine_words_->setText(parts.join(QStringLiteral(" · ")));
  engine_words_->setToolTip(e.python_path +
                            (e.torch_note.isEmpty() ? QString() : QLatin1Char('\n') + e.torch_note));
  QString state;
  Tone tone = Tone::Quiet;
  switch (session_->state()) {
    case EngineState::None:
      state = tr("no engine");
      break;
    case EngineState::Starting:
      state = tr("engine starting…");
      break;
    case EngineState::Ready:
      state = tr("engine ready");
      break;
    case EngineState::Running:
      if (!busy_shown_)
        state = tr("engine ready");
      else
        state = session_->phase().isEmpty() ? tr("engine running…") : session_->phase();
      break;
    case EngineState::Died:
      state = tr("engine ended"), tone = Tone::BreakError;
      break;
  }
  state_words_->setText(state);
  set_style(state_words_, QStringLiteral("color: %1").arg(theme_->css(tone)));
}

void MainWindow::show_problem() {
  const Problem& p = session_->problem();
  if (p.empty()) {
    if (!running_banner_) banner_->hide();
    return;
  }
  running_banner_ = false;
  QVector<Banner::Action> actions;
  const auto add = [&](const QString& text, const char* name, const QString& command) {
    actions.push_back({text, QLatin1String(name), [this, command] { run_command(command); }});
  };
  if (p.kind == QLatin1String("died") || p.kind == QLatin1String("stopped") ||
      p.kind == QLatin1String("protocol"))
    add(tr("Restart engine"), "banner_restart", QStringLiteral("restart"));
  if (p.kind == QLatin1String("no_torch") || p.kind == QLatin1String("wrong_python") ||
      (p.kind == QLatin1String("died") && p.exit_code == 2))
    add(tr("Choose interpreter…"), "banner_interpreter", QStringLiteral("interpreter"));
  if (p.kind == QLatin1String("unwritable")) add(tr("Save as…"), "banner_save_as", QStringLiteral("save_as"));
  if (p.kind == QLatin1String("unreadable")) add(tr("Open…"), "banner_open", QStringLiteral("open"));
  if (!p.detail.isEmpty()) add(tr("Details"), "banner_details", QStringLiteral("show_error"));
  const QString heading = problem_heading(p.kind);
  banner_->show_message(
      p.kind == QLatin1String("stopped") ? Banner::Kind::Warning : Banner::Kind::Error,
      heading.isEmpty() || has_chinese(p.sentence) ? p.sentence : heading + QStringLiteral("：") + p.sentence,
      actions);
}

void MainWindow::show_still_running(int ms, const QString& phase) {
  const QString words = phase.isEmpty() ? tr("Still running after %1 s.").arg(ms / 1000)
                                        : tr("Still running after %1 s: %2.").arg(ms / 1000).arg(phase);
  if (running_banner_ && banner_->isVisible()) {
    // Only the seconds change: the buttons stay as they are, so that a click is never lost.
    if (auto* label = banner_->findChild<QLabel*>(QStringLiteral("banner_text"))) label->setText(words);
    return;
  }
  running_banner_ = true;
  banner_->show_message(
      Banner::Kind::Info, words,
      {{tr("Stop"), QStringLiteral("banner_stop"), [this] { session_->stop(); }},
       {tr("Restart engine"), QStringLiteral("banner_restart"), [this] { session_->restart(); }}},
      false);
}

}  // namespace breakline::ui
