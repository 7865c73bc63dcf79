// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/shell/automation.h"

#include <time.h>
#include <unistd.h>

#include <QCoreApplication>
#include <QFile>
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <QPixmap>
#include <QRegularExpression>
#include <algorithm>
#include <cstdio>

#include "ui/panels/source/code_editor.h"
#include "ui/panels/source/source_panel.h"

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

double processor_ms(qint64 pid) {
  clockid_t clock = 0;
  timespec t{};
  if (pid <= 0 || clock_getcpuclockid(pid_t(pid), &clock) || clock_gettime(clock, &t)) return 0;
  return double(t.tv_sec) * 1e3 + double(t.tv_nsec) / 1e6;
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
    if (step_ != Step::Bench) return;
    latencies_.push_back(ms);
    answers_.push_back(session_->answer_ms());
    bench();
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
      step_ = options_.bench_steps() ? Step::Bench : Step::Toggle;
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
      if (step_number_ == 0) bench();
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

OpenRequest Automation::request() {
  OpenRequest request = options_.request;
  const QString file = request.file();
  if (!options_.bench_edits || !QFileInfo::exists(file)) return request;
  copy_ = std::make_unique<QTemporaryDir>();
  const QString copy = copy_->filePath(QFileInfo(file).fileName());
  if (QFile::copy(file, copy)) request.target = copy + request.target.mid(file.size());
  return request;
}

QString Automation::choose_toggle() {
  for (const Region& g : session_->report()->regions)
    if (const QString key = Session::overlay_key(g);
        !key.isEmpty() && (bench_key_.isEmpty() || g.breaks > 0)) {
      bench_key_ = key;
      if (g.breaks > 0) break;
    }
  if (!options_.toggles.isEmpty()) bench_key_ = options_.toggles.first().first;
  return bench_key_.isEmpty()
             ? QStringLiteral("The file has no policy region to toggle: name one with --toggle KEY=VALUE.")
             : QString();
}

QString Automation::choose_edit() {
  // A number with a point in a line that a graph computes: with each new one its kernel is new, too.
  static const QRegularExpression kNumber(QStringLiteral("(?<![\\w.])\\d+\\.\\d+(?![\\w.])"));
  const QString text = window_->source()->text();
  const QStringList lines = text.split(QLatin1Char('\n'));
  const ReportPtr r = session_->report();
  for (const Target& t : r->targets)
    for (const Segment& s : t.segments)
      for (const SegmentOp& op : s.ops) {
        if (op.kernel < 0 || op.line < 1 || op.line > lines.size() ||
            r->resolve(op.file) != window_->source()->main_editor()->file())
          continue;
        const QRegularExpressionMatch found = kNumber.match(lines[op.line - 1]);
        if (!found.hasMatch()) continue;
        qsizetype at = found.capturedStart();
        for (int i = 0; i + 1 < op.line; ++i) at += lines[i].size() + 1;
        text_before_ = text.left(at);
        text_after_ = text.mid(at + found.capturedLength());
        bench_key_ = QStringLiteral("line %1, %2").arg(op.line).arg(found.captured());
        return {};
      }
  return QStringLiteral("No compiled line of the file holds a number such as 0.5 that could be edited.");
}

void Automation::change() {
  if (options_.bench_edits) {
    window_->source()->main_editor()->setText(
        text_before_ + QString::number(0.5 + 0.001 * step_number_, 'f', 3) + text_after_);
    window_->action(QStringLiteral("save"))->trigger();
  } else {
    session_->set_overlay(bench_key_, step_number_ % 2 ? QStringLiteral("error") : QStringLiteral("allow"));
  }
}

void Automation::bench() {
  const qint64 own = QCoreApplication::applicationPid(), engine = session_->engine().pid;
  if (step_number_ == 0) {
    const QString why_not = options_.bench_edits ? choose_edit() : choose_toggle();
    if (!why_not.isEmpty()) {
      std::fprintf(stderr, "%s\n", qPrintable(why_not));
      return finish(2);
    }
  }
  if (step_number_ == kWarmUp) {
    latencies_.clear();
    answers_.clear();
    window_before_kb_ = resident_kb(own), engine_before_kb_ = resident_kb(engine);
    window_before_ms_ = processor_ms(own), engine_before_ms_ = processor_ms(engine);
  }
  if (step_number_ == options_.bench_steps() + kWarmUp) {
    report();
    step_ = Step::Select;
    return next();
  }
  ++step_number_;
  change();
}

void Automation::report() {
  const qint64 own = QCoreApplication::applicationPid(), engine = session_->engine().pid;
  const int steps = options_.bench_steps();
  QVector<double> in_window;
  for (qsizetype i = 0; i < latencies_.size(); ++i) in_window.push_back(latencies_[i] - answers_[i]);
  const QJsonObject out{
      {options_.bench_edits ? QStringLiteral("edits") : QStringLiteral("toggles"), steps},
      {QStringLiteral("key"), bench_key_},
      {QStringLiteral("p50_ms"), percentile(latencies_, 0.5)},
      {QStringLiteral("p95_ms"), percentile(latencies_, 0.95)},
      {QStringLiteral("max_ms"), percentile(latencies_, 1)},
      {QStringLiteral("least_ms"), percentile(latencies_, 0)},
      {QStringLiteral("answer_p50_ms"), percentile(answers_, 0.5)},
      {QStringLiteral("paint_p50_ms"), percentile(in_window, 0.5)},
      {QStringLiteral("window_processor_ms"), (processor_ms(own) - window_before_ms_) / steps},
      {QStringLiteral("engine_processor_ms"), (processor_ms(engine) - engine_before_ms_) / steps},
      {QStringLiteral("first_result_ms"), first_result_ms_},
      {QStringLiteral("window_rss_kb"), resident_kb(own)},
      {QStringLiteral("window_rss_growth_kb"), resident_kb(own) - window_before_kb_},
      {QStringLiteral("engine_rss_kb"), resident_kb(engine)},
      {QStringLiteral("engine_rss_growth_kb"), resident_kb(engine) - engine_before_kb_}};
  std::fputs(QJsonDocument(out).toJson().constData(), stdout);
}

void Automation::finish(int code) {
  step_ = Step::Done;
  limit_.stop();
  leave(code);
}

void Automation::leave(int code) { QCoreApplication::exit(code); }

}  // namespace breakline::ui
