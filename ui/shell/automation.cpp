// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/shell/automation.h"

#include <unistd.h>

#include <QCoreApplication>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QPixmap>
#include <algorithm>
#include <cstdio>

namespace breakline::ui {
namespace {

double percentile(QVector<double> v, double q) {
  if (v.isEmpty()) return 0;
  std::sort(v.begin(), v.end());
  return v[std::min(int(q * double(v.size())), int(v.size()) - 1)];
}

constexpr int kWarmUp = 3;

}  // namespace

qint64 resident_kb(qint64 pid) {
  QFile status(QStringLiteral("/proc/%1/status").arg(pid));
  if (pid <= 0 || !status.open(QIODevice::ReadOnly)) return 0;
  for (const QByteArray& line : status.readAll().split('\n'))
    if (line.startsWith("VmRSS:")) return line.mid(6).trimmed().split(' ').first().toLongLong();
  return 0;
}

qint64 since_start_ms() {
  // Clock ticks since boot when the process began: field 22, counted behind the name, which may hold
  // anything.
  QFile stat(QStringLiteral("/proc/self/stat")), uptime(QStringLiteral("/proc/uptime"));
  if (!stat.open(QIODevice::ReadOnly) || !uptime.open(QIODevice::ReadOnly)) return 0;
  const QByteArray fields = stat.readAll();
  const double begun =
      fields.mid(fields.lastIndexOf(')') + 2).split(' ').value(19).toDouble() / double(sysconf(_SC_CLK_TCK));
  return qint64((uptime.readAll().split(' ').first().toDouble() - begun) * 1000);
}

Automation::Automation(const Options& options, MainWindow* window, Session* session, Selection* selection,
                       QObject* parent)
    : QObject(parent), options_(options), window_(window), session_(session), selection_(selection) {
  limit_.setSingleShot(true);
  connect(&limit_, &QTimer::timeout, this, [this] {
    std::fprintf(stderr, "The engine did not answer within %d s: raise --timeout or look at the file.\n",
                 options_.timeout_s);
    finish(4);
  });
  // How long until the first answer is on the screen, from the start of the program.
  connect(session, &Session::latency_measured, this, [this] {
    if (!first_result_ms_) first_result_ms_ = since_start_ms();
  });
  // Steps are taken when the session or the picture changes; each looks at the state and waits or goes on.
  for (auto signal : {&Session::state_changed, &Session::report_changed, &Session::timings_changed,
                      &Session::problem_changed})
    connect(session, signal, this, &Automation::next, Qt::QueuedConnection);
  connect(window, &MainWindow::settled_changed, this, &Automation::next, Qt::QueuedConnection);
  connect(session, &Session::diagnosed, this, &Automation::next, Qt::QueuedConnection);
  connect(session, &Session::profiles_changed, this, &Automation::next, Qt::QueuedConnection);
  connect(session, &Session::latency_measured, this, [this](double ms) {
    if (step_ == Step::Bench) latencies_.push_back(ms), bench();
  });
}

void Automation::start() {
  limit_.start(options_.timeout_s * 1000);
  QTimer::singleShot(0, this, &Automation::next);
}

void Automation::next() {
  if (step_ == Step::Done || session_->running() || !window_->settled()) return;
  const Problem& problem = session_->problem();
  if (!problem.empty()) {
    std::fprintf(stderr, "%s\n", qPrintable(problem.sentence));
    exit_code_ = problem.exit_code;
    step_ = Step::Picture;
  }
  switch (step_) {
    case Step::Open:
      if (!session_->report()) return;
      step_ = options_.bench_toggles ? Step::Bench : Step::Toggle;
      return next();
    case Step::Toggle:
      if (!sent_ && !options_.toggles.isEmpty()) {
        sent_ = true;
        for (const auto& [key, value] : options_.toggles) session_->set_overlay(key, value);
        if (session_->running()) return;
      }
      sent_ = false;
      step_ = Step::Measure;
      return next();
    case Step::Measure:
      if (options_.measure && !sent_) {
        sent_ = true;
        session_->measure({});
        if (session_->running()) return;
      }
      step_ = Step::Select;
      return next();
    case Step::Select:
      select();
      step_ = Step::Picture;
      // The knowledge of a selected break arrives a little later; a further turn of the loop is enough
      // otherwise.
      if (selection_->current().kind == SelectionKind::Break && session_->diagnosing()) return;
      QTimer::singleShot(0, this, &Automation::next);
      return;
    case Step::Picture:
      if (session_->diagnosing() || (problem.empty() && session_->profiling())) return;
      step_ = Step::Done;
      QTimer::singleShot(0, this, &Automation::picture);
      return;
    case Step::Bench:
      if (toggled_ == 0) bench();
      return;
    case Step::Done:
      return;
  }
}

void Automation::select() {
  if (!options_.focus_panel.isEmpty()) window_->show_panel(options_.focus_panel);
  const ReportPtr r = session_->report();
  if (!options_.select_break || !r) return;
  const auto breaks = r->breaks_of(session_->current_target());
  if (options_.select_break > breaks.size()) {
    std::fprintf(stderr, "There are only %d breaks: choose one of them with --select-break.\n",
                 int(breaks.size()));
    exit_code_ = 2;
    return;
  }
  const Break* b = breaks[options_.select_break - 1];
  selection_->set({SelectionKind::Break, b->id, r->resolve(b->file), b->line, b->end_line});
}

void Automation::picture() {
  if (!options_.screenshot.isEmpty()) {
    QCoreApplication::sendPostedEvents();
    const QPixmap picture = window_->grab();
    if (!picture.save(options_.screenshot)) {
      std::fprintf(stderr, "The picture cannot be written to %s: choose another place.\n",
                   qPrintable(options_.screenshot));
      return finish(2);
    }
  }
  finish(exit_code_);
}

void Automation::bench() {
  if (toggled_ == 0) {
    const ReportPtr r = session_->report();
    for (const Region& g : r->regions)
      if (const QString key = Session::overlay_key(g);
          !key.isEmpty() && (bench_key_.isEmpty() || g.breaks > 0)) {
        bench_key_ = key;
        if (g.breaks > 0) break;
      }
    if (!options_.toggles.isEmpty()) bench_key_ = options_.toggles.first().first;
    if (bench_key_.isEmpty()) {
      std::fprintf(stderr, "The file has no policy region to toggle: name one with --toggle KEY=VALUE.\n");
      return finish(2);
    }
  }
  if (toggled_ == kWarmUp) {
    latencies_.clear();
    window_before_kb_ = resident_kb(QCoreApplication::applicationPid());
    engine_before_kb_ = resident_kb(session_->engine().pid);
  }
  if (toggled_ == options_.bench_toggles + kWarmUp) {
    const QJsonObject out{
        {QStringLiteral("toggles"), options_.bench_toggles},
        {QStringLiteral("key"), bench_key_},
        {QStringLiteral("p50_ms"), percentile(latencies_, 0.5)},
        {QStringLiteral("p95_ms"), percentile(latencies_, 0.95)},
        {QStringLiteral("max_ms"), percentile(latencies_, 1)},
        {QStringLiteral("first_result_ms"), first_result_ms_},
        {QStringLiteral("window_rss_kb"), resident_kb(QCoreApplication::applicationPid())},
        {QStringLiteral("window_rss_growth_kb"),
         resident_kb(QCoreApplication::applicationPid()) - window_before_kb_},
        {QStringLiteral("engine_rss_kb"), resident_kb(session_->engine().pid)},
        {QStringLiteral("engine_rss_growth_kb"), resident_kb(session_->engine().pid) - engine_before_kb_}};
    std::fputs(QJsonDocument(out).toJson().constData(), stdout);
    step_ = Step::Select;
    return next();
  }
  ++toggled_;
  session_->set_overlay(bench_key_, toggled_ % 2 ? QStringLiteral("error") : QStringLiteral("allow"));
}

void Automation::finish(int code) {
  step_ = Step::Done;
  limit_.stop();
  leave(code);
}

void Automation::leave(int code) { QCoreApplication::exit(code); }

}  // namespace breakline::ui
