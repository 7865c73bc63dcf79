// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/controller/session.h"

#include <QFileInfo>
#include <QUndoCommand>
#include <algorithm>

#include "ui/models/words.h"

namespace breakline::ui {
namespace {

constexpr int kProtocol = 1;
constexpr int kCancelled = -32800;
constexpr int kUserRaised = 2;

const QString kInherit = QStringLiteral("inherit");

const char* const kMethodNames[] = {"hello", "open",    "policy.set", "reload", "option.set",
                                    "time",  "profile", "diagnose",   "cancel", "shutdown"};

QString last_line(const QString& text) {
  const QStringList lines = text.trimmed().split(QLatin1Char('\n'));
  return lines.isEmpty() ? QString() : lines.last().trimmed();
}

}  // namespace

/// One change of the user's toggles; carries both whole lists, so undo needs no engine.
class OverlayCommand : public QUndoCommand {
 public:
  OverlayCommand(Session* session, QVector<Overlay> before, QVector<Overlay> after, const QString& text)
      : QUndoCommand(text), session_(session), before_(std::move(before)), after_(std::move(after)) {}
  void undo() override { session_->apply_overlays(before_); }
  void redo() override { session_->apply_overlays(after_); }

 private:
  Session* session_;
  QVector<Overlay> before_, after_;
};

QString OpenRequest::file() const {
  if (QFileInfo::exists(target)) return target;
  // FILE:EXPR; a drive letter or a path may hold colons too, so the longest existing prefix wins.
  for (qsizetype at = target.lastIndexOf(QLatin1Char(':')); at > 0;
       at = target.lastIndexOf(QLatin1Char(':'), at - 1))
    if (QFileInfo::exists(target.left(at))) return target.left(at);
  const qsizetype script = target.indexOf(QLatin1String(".py:"));
  return script > 0 ? target.left(script + 3) : target;
}

Session::Session(std::unique_ptr<EngineLink> link, QObject* parent)
    : QObject(parent), link_(std::move(link)) {
  connect(link_.get(), &EngineLink::replied, this, &Session::on_reply);
  connect(link_.get(), &EngineLink::failed, this, &Session::on_failure);
  connect(link_.get(), &EngineLink::notified, this, &Session::on_notification);
  connect(link_.get(), &EngineLink::died, this, &Session::on_death);
  tick_.setInterval(500);
  connect(&tick_, &QTimer::timeout, this, [this] {
    if (running() && !request_.target.isEmpty() && running_ms() >= hang_after_ms)
      emit still_running(running_ms(), phase_);
  });
  profile_delay_.setSingleShot(true);
  connect(&profile_delay_, &QTimer::timeout, this, &Session::take_profiles);
  grace_.setSingleShot(true);
  connect(&grace_, &QTimer::timeout, this, [this] {
    if (!running()) return;
    link_->kill();
    calls_.clear();
    state_ = EngineState::Died;
    set_stale(true);
    update_state();
    set_problem(
        {QStringLiteral("stopped"),
         tr("The code did not answer to Stop, so its engine was ended: restart it; your toggles are kept."),
         {},
         4});
  });
}

Session::~Session() {
  link_->disconnect(this);
  link_->kill();
}

void Session::open(const OpenRequest& request) {
  const bool other = request.target != request_.target;
  request_ = request;
  if (other) {
    undo_.clear();
    if (!overlays_.isEmpty()) overlays_.clear();
    report_.reset();
    set_stale(false);
    timings_.clear();
    profiles_.clear();
    current_target_.clear();
    emit overlays_changed();
    emit report_changed();
    emit timings_changed();
    emit profiles_changed();
  }
  if (std::exchange(prestarted_, false) && link_->alive() && (hello_done_ || pending(Method::Hello))) {
    start_latency();
    if (hello_done_) send_open();
    return;
  }
  restart();
}

void Session::close() {
  if (request_.target.isEmpty()) return;
  const QString device = request_.device;
  open({});
  request_.device = device;
}

QString Session::stale_note() const {
  if (!report_stale()) return {};
  return report_source_ == sent_source_ ? tr("of the last run that went through")
                                        : tr("of the last text that compiled");
}

void Session::set_source(const QString& text) {
  // A target by module name: its file is known only from the report.
  if (report_ && source_.isEmpty() && sent_source_.isEmpty()) report_source_ = sent_source_ = text;
  source_ = text;
}

void Session::set_stale(bool stale) {
  if (stale == stale_) return;
  stale_ = stale;
  emit stale_changed();
}

void Session::prestart() {
  if (link_->alive() || !request_.target.isEmpty()) return;
  prestarted_ = true;
  start_engine();
}

void Session::restart() {
  link_->kill();
  calls_.clear();
  if (request_.target.isEmpty()) return prestart();
  knowledge_.clear();
  profile_delay_.stop();
  compiled_once_ = hello_done_ = false;
  emit output_cleared();
  start_latency();
  start_engine();
}

void Session::start_engine() {
  grace_.stop();
  state_ = EngineState::Starting;
  phase_ = tr("starting the engine");
  busy_since_.start();
  tick_.start();
  set_problem({});
  EngineCommand command = command_;
  const QFileInfo file(request_.file());
  if (file.exists()) command.working_folder.clear();
  link_->start(command);
  if (link_->alive())
    call(Method::Hello,
         {{QStringLiteral("protocol"), kProtocol}, {QStringLiteral("client"), QStringLiteral("studio")}});
  emit state_changed();
}

qint64 Session::call(Method method, const QJsonObject& params, const QString& subject) {
  const qint64 id = link_->send(QLatin1String(kMethodNames[int(method)]), params);
  calls_.insert(id, {method, subject});
  if (!background(method) && state_ == EngineState::Ready) {
    busy_since_.start();
    phase_.clear();
  }
  update_state();
  return id;
}

bool Session::pending(Method method) const {
  for (const Call& c : calls_)
    if (c.method == method) return true;
  return false;
}

bool Session::measuring() const { return pending(Method::Time); }

int Session::running_ms() const { return busy_since_.isValid() ? int(busy_since_.elapsed()) : 0; }

void Session::update_state() {
  const EngineState before = state_;
  if (state_ == EngineState::Ready || state_ == EngineState::Running) {
    bool busy = false;
    for (const Call& c : calls_) busy |= !background(c.method);
    state_ = busy ? EngineState::Running : EngineState::Ready;
  }
  if (running()) {
    if (!tick_.isActive()) tick_.start();
  } else {
    tick_.stop();
    grace_.stop();
    phase_.clear();
  }
  if (before != state_ || state_ == EngineState::Died) emit state_changed();
}

void Session::on_hello(const QJsonObject& r) {
  const int version = r.value(QLatin1String("protocol")).toInt();
  if (version != kProtocol) {
    link_->kill();
    calls_.clear();
    state_ = EngineState::Died;
    update_state();
    set_problem({QStringLiteral("protocol"),
                 tr("This engine speaks protocol %1 and the window %2: install the same version of both.")
                     .arg(version)
                     .arg(kProtocol),
                 {},
                 2});
    return;
  }
  hello_done_ = true;
  info_ = {};
  const auto text = [&r](const char* key) { return r.value(QLatin1String(key)).toString(); };
  info_.pid = r.value(QLatin1String("pid")).toInteger();
  info_.engine = text("engine");
  info_.python = text("python");
  info_.python_path = text("python_path");
  info_.torch = text("torch");
  info_.torch_note = text("torch_note");
  for (const QJsonValue& v : r.value(QLatin1String("devices")).toArray()) {
    const QJsonObject d = v.toObject();
    info_.devices.push_back(
        {d.value(QLatin1String("id")).toString(), d.value(QLatin1String("name")).toString(),
         d.value(QLatin1String("reason")).toString(), d.value(QLatin1String("available")).toBool()});
  }
  state_ = EngineState::Ready;
  if (request_.target.isEmpty())
    update_state(), emit state_changed();
  else
    send_open();
}

QJsonArray Session::overlay_json() const {
  QJsonArray out;
  if (use_overlays_)
    for (const Overlay& o : overlays_)
      out.push_back(QJsonObject{{QStringLiteral("key"), o.key}, {QStringLiteral("value"), o.value}});
  return out;
}

void Session::send_open() {
  overlays_dirty_ = false;
  reload_again_ = false;
  sent_source_ = source_;
  output_seen_ = false;
  call(Method::Open, {{QStringLiteral("target"), request_.target},
                      {QStringLiteral("argv"), QJsonArray::fromStringList(request_.argv)},
                      {QStringLiteral("inputs"), QJsonArray::fromStringList(request_.inputs)},
                      {QStringLiteral("overlays"), overlay_json()},
                      {QStringLiteral("device"), request_.device},
                      {QStringLiteral("train"), request_.train},
                      {QStringLiteral("no_grad"), request_.no_grad},
                      {QStringLiteral("seed"), request_.seed},
                      {QStringLiteral("fullgraph"), request_.fullgraph}});
}

void Session::send_policy() {
  if (!hello_done_ || !link_->alive()) return;
  // One at a time: while a compile runs, the newest list waits and is sent when it ends.
  if (pending(Method::Open) || pending(Method::Policy) || pending(Method::Reload) ||
      pending(Method::Option)) {
    overlays_dirty_ = true;
    return;
  }
  cancel_measurement();
  overlays_dirty_ = false;
  output_seen_ = false;
  if (compiled_once_)
    call(Method::Policy, {{QStringLiteral("overlays"), overlay_json()}});
  else
    send_open();
}

void Session::cancel_measurement() {
  profile_delay_.stop();
  QVector<qint64> ids;
  for (auto it = calls_.constBegin(); it != calls_.constEnd(); ++it)
    if (it->method == Method::Time || it->method == Method::Profile) ids.push_back(it.key());
  for (const qint64 id : ids) call(Method::Cancel, {{QStringLiteral("id"), id}});
}

void Session::take_profiles() {
  if (!report_ || state_ != EngineState::Ready || !compiled_once_) return;
  for (const Target& t : report_->targets) call(Method::Profile, {{QStringLiteral("target"), t.id}}, t.id);
  emit profiles_changed();
}

void Session::recompile() {
  if (request_.target.isEmpty()) return;
  if (!link_->alive()) {
    restart();
    return;
  }
  if (!hello_done_) return;  // the open that follows reads the file
  if (pending(Method::Open) || pending(Method::Reload)) {
    reload_again_ = true;  // the file may have changed since that request read it
    return;
  }
  cancel_measurement();
  start_latency();
  output_seen_ = false;
  knowledge_.clear();
  reload_again_ = false;
  sent_source_ = source_;
  if (compiled_once_)
    call(Method::Reload, {});
  else
    send_open();
}

void Session::stop() {
  if (!running()) return;
  if (state_ == EngineState::Running) {
    const QList<qint64> ids = calls_.keys();
    for (qint64 id : ids)
      if (calls_.value(id).method != Method::Cancel) call(Method::Cancel, {{QStringLiteral("id"), id}});
  }
  overlays_dirty_ = false;
  grace_.start(stop_grace_ms);
}

void Session::set_device(const QString& device) {
  if (device == request_.device) return;
  request_.device = device;
  if (compiled_once_ && link_->alive()) {
    cancel_measurement();
    start_latency();
    call(Method::Option, {{QStringLiteral("device"), device}});
  }
}

void Session::set_no_grad(bool on) {
  if (on == request_.no_grad) return;
  request_.no_grad = on;
  if (compiled_once_ && link_->alive()) {
    cancel_measurement();
    start_latency();
    call(Method::Option, {{QStringLiteral("no_grad"), on}});
  }
}

void Session::measure(const QString& target) {
  if (!report_ || report_->targets.isEmpty() || measuring()) return;
  QString id = target;
  if (!report_->find_target(id)) id = report_->targets.first().id;
  if (state_ != EngineState::Ready) {
    measure_after_report_ = id;
    return;
  }
  cancel_measurement();
  call(Method::Time, {{QStringLiteral("target"), id}}, id);
}

void Session::diagnose(const Break& b) {
  const QString subject = b.id;
  const auto known = knowledge_.constFind(subject);
  if (known != knowledge_.constEnd()) {
    emit diagnosed(subject, *known);
    return;
  }
  for (const Call& c : calls_)
    if (c.method == Method::Diagnose && c.subject == subject) return;
  if (!hello_done_ || !link_->alive()) return;
  QStringList text{b.reason};
  if (!b.explanation.isEmpty()) text << b.explanation;
  call(Method::Diagnose,
       {{QStringLiteral("text"), text.join(QLatin1Char('\n'))}, {QStringLiteral("reason"), b.reason_id}},
       subject);
}

QString Session::overlay_value(const QString& key) const {
  for (const Overlay& o : overlays_)
    if (o.key == key) return o.value;
  return kInherit;
}

QString Session::overlay_key(const Region& r) {
  if (parse_overlay_key(r.key).valid()) return r.key;
  // The key of a region in the code names its file as overlays do: KIND:FILE:WHAT.
  const QString file = r.key.section(QLatin1Char(':'), 1, -2);
  if (file.isEmpty()) return {};
  if (r.kind == QLatin1String("decorator")) return QStringLiteral("fn:%1:%2").arg(file, r.qualname);
  if (r.kind == QLatin1String("with"))
    return QStringLiteral("lines:%1:%2-%3").arg(file).arg(r.line).arg(r.end_line);
  return {};
}

void Session::set_overlay(const QString& key, const QString& value) {
  if (overlay_value(key) == value && value != kInherit) return;
  QVector<Overlay> next = overlays_;
  bool found = false;
  for (Overlay& o : next)
    if (o.key == key) o.value = value, found = true;
  if (!found) next.push_back({key, value});
  // "inherit" on a region of the code is no overlay at all; one that the user added stays listed.
  const bool in_code =
      report_ && std::any_of(report_->regions.begin(), report_->regions.end(), [&](const Region& r) {
        return overlay_key(r) == key && (r.declared != kInherit || r.kind != QLatin1String("lines"));
      });
  if (value == kInherit && in_code) next.removeIf([&](const Overlay& o) { return o.key == key; });
  push_overlays(next, tr("%1 = %2").arg(key, value));
}

void Session::remove_overlay(const QString& key) {
  QVector<Overlay> next = overlays_;
  next.removeIf([&](const Overlay& o) { return o.key == key; });
  push_overlays(next, tr("remove %1").arg(key));
}

void Session::push_overlays(QVector<Overlay> next, const QString& text) {
  if (next == overlays_) return;
  undo_.push(new OverlayCommand(this, overlays_, std::move(next), text));
}

void Session::apply_overlays(const QVector<Overlay>& overlays) {
  overlays_ = overlays;
  use_overlays_ = true;
  start_latency();
  emit overlays_changed();
  send_policy();
}

void Session::use_overlays(bool on) {
  if (use_overlays_ == on) return;
  use_overlays_ = on;
  start_latency();
  emit overlays_changed();
  send_policy();
}

void Session::set_current_target(const QString& id) {
  if (id == current_target_) return;
  current_target_ = id;
  emit target_changed();
}

void Session::set_strict_preview(bool on) {
  if (on == strict_preview_) return;
  strict_preview_ = on;
  emit strict_preview_changed();
}

TimingsPtr Session::timings(const QString& target) const {
  if (!target.isEmpty()) return timings_.value(target).timings;
  if (!report_) return nullptr;
  for (const Target& t : report_->targets)
    if (timings_.contains(t.id)) return timings_.value(t.id).timings;
  return nullptr;
}

bool Session::timings_stale(const QString& target) const {
  for (auto it = timings_.constBegin(); it != timings_.constEnd(); ++it)
    if ((target.isEmpty() || it.key() == target) && it->generation != generation_) return true;
  return false;
}

void Session::set_problem(const Problem& problem) {
  if (problem_.empty() && problem.empty()) return;
  problem_ = problem;
  emit problem_changed();
}

void Session::painted() {
  // A measurement that follows is no part of it.
  if (!latency_open_ || !report_ || pending(Method::Hello) || pending(Method::Open) ||
      pending(Method::Policy) || pending(Method::Reload) || pending(Method::Option))
    return;
  latency_open_ = false;
  emit latency_measured(double(latency_.nsecsElapsed()) / 1e6);
}

void Session::take_report(const QJsonObject& result, bool ran) {
  auto report = std::make_shared<Report>(parse_report(result));
  if (report->schema != 1) {
    set_problem({QStringLiteral("schema"),
                 tr("The engine's report has schema %1, which this window cannot read: install the same "
                    "version of both.")
                     .arg(report->schema),
                 {},
                 2});
    return;
  }
  compiled_once_ = true;
  ++generation_;
  if (!output_seen_)
    for (const OutputChunk& chunk : report->output) emit output(chunk);
  report_ = std::move(report);
  if (ran) report_source_ = sent_source_;
  // A toggle after an edit that failed works on the last good text: the failure stands.
  const bool failed_edit = stale_ && report_source_ != sent_source_;
  set_stale(failed_edit);
  if (!failed_edit) set_problem({});
  for (auto it = profiles_.begin(); it != profiles_.end();)
    it = report_->find_target(it.key()) ? std::next(it) : profiles_.erase(it);
  if (profile_after_ms >= 0) profile_delay_.start(profile_after_ms);
  if (!current_target_.isEmpty() && !report_->find_target(current_target_)) {
    current_target_.clear();
    emit target_changed();
  }
  emit report_changed();
  if (!timings_.isEmpty()) emit timings_changed();
}

void Session::on_reply(qint64 id, const QJsonObject& result) {
  if (!calls_.contains(id)) return;
  const Call c = calls_.take(id);
  switch (c.method) {
    case Method::Hello:
      on_hello(result);
      break;
    case Method::Open:
    case Method::Policy:
    case Method::Reload:
    case Method::Option:
      answer_ms_ = double(latency_.nsecsElapsed()) / 1e6;
      update_state();
      take_report(result, c.method == Method::Open || c.method == Method::Reload);
      break;
    case Method::Time: {
      const auto timings = std::make_shared<Timings>(parse_timings(result));
      timings_.insert(c.subject, {timings, generation_});
      if (result.contains(QLatin1String("breaks")))
        profiles_.insert(c.subject, std::make_shared<Profile>(parse_profile(result)));
      update_state();
      emit timings_changed();
      emit profiles_changed();
      break;
    }
    case Method::Profile:
      profiles_.insert(c.subject, std::make_shared<Profile>(parse_profile(result)));
      emit profiles_changed();
      break;
    case Method::Diagnose: {
      const QJsonArray records = result.value(QLatin1String("records")).toArray();
      knowledge_.insert(c.subject, records);
      emit diagnosed(c.subject, records);
      break;
    }
    case Method::Cancel:
    case Method::Shutdown:
      break;
  }
  update_state();
  if (reload_again_ && !pending(Method::Open) && !pending(Method::Reload)) recompile();
  if (overlays_dirty_) send_policy();
  if (!measure_after_report_.isEmpty() && state_ == EngineState::Ready)
    measure(std::exchange(measure_after_report_, {}));
}

void Session::on_failure(qint64 id, const EngineFailure& failure) {
  if (!calls_.contains(id)) return;
  const Call c = calls_.take(id);
  if (c.method == Method::Cancel) return;
  if (c.method == Method::Diagnose) {
    emit diagnosed(c.subject, {});
    return;
  }
  if (c.method == Method::Profile) {
    if (failure.code != kCancelled) {
      auto none = std::make_shared<Profile>();
      none->target = c.subject;
      none->note = failure.message;
      profiles_.insert(c.subject, none);
    }
    emit profiles_changed();
    return;
  }
  latency_open_ = false;
  if (c.method == Method::Hello) {
    link_->kill();
    calls_.clear();
    state_ = EngineState::Died;
  }
  update_state();
  if (c.method != Method::Time) set_stale(true);
  if (failure.code == kCancelled) {
    const bool replaced = c.method == Method::Time && pending(Method::Policy);
    if (!replaced && c.method != Method::Time)
      set_problem({QStringLiteral("stopped"), tr("Stopped: press Recompile to run it again."), {}, 4});
    emit timings_changed();
  } else {
    set_problem({failure.kind.isEmpty() ? QStringLiteral("error") : failure.kind, failure.message,
                 failure.traceback, failure.code == kUserRaised ? 3 : 2, failure.file, failure.line,
                 failure.column});
  }
  if (std::exchange(reload_again_, false) && failure.code != kCancelled) return recompile();
  if (overlays_dirty_) send_policy();
}

void Session::on_notification(const QString& method, const QJsonObject& params) {
  if (method == QLatin1String("output")) {
    output_seen_ = true;
    emit output({params.value(QLatin1String("stream")).toString(),
                 params.value(QLatin1String("text")).toString(),
                 params.value(QLatin1String("label")).toString()});
  } else if (method == QLatin1String("progress")) {
    phase_ = phase_words(params.value(QLatin1String("phase")).toString(),
                         params.value(QLatin1String("text")).toString());
    emit progressed();
  }
}

void Session::on_death(const QString& why, const QString& tail) {
  const bool early = !hello_done_;
  calls_.clear();
  profile_delay_.stop();
  hello_done_ = compiled_once_ = false;
  latency_open_ = reload_again_ = false;
  state_ = EngineState::Died;
  set_stale(true);
  update_state();
  QString sentence = why;
  const QString last = last_line(tail);
  if (early && !last.isEmpty())
    sentence = tr("The engine could not start: %1").arg(last);
  else
    sentence += QLatin1Char(' ') + tr("Restart it to go on; your toggles and your text are kept.");
  set_problem({QStringLiteral("died"), sentence, tail, early ? 2 : 4});
}

}  // namespace breakline::ui
