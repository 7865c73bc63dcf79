// SPDX-License-Identifier: GPL-3.0-or-later
// What is open and what the engine said about it: the only shared state of the window. It survives engine
// restarts; the last good report stays until a new one is there. GUI thread only.
#pragma once
#include <QElapsedTimer>
#include <QHash>
#include <QJsonArray>
#include <QObject>
#include <QTimer>
#include <QUndoStack>
#include <QVector>
#include <memory>

#include "ui/controller/engine_link.h"
#include "ui/models/profile.h"
#include "ui/models/report.h"
#include "ui/models/timings.h"

namespace breakline::ui {

enum class EngineState { None, Starting, Ready, Running, Died };

/// What to compile: a script or FILE:EXPR, and how (see "open" in the protocol).
struct OpenRequest {
  QString target;
  QStringList argv, inputs;
  QString device = QStringLiteral("cpu");
  bool train = false, no_grad = false, fullgraph = false;
  int seed = 0;
  /// The file part of `target`, or the target itself when it has none.
  QString file() const;
};

/// Something the user has to know, in one sentence. `exit_code` is the one of the command line programs.
struct Problem {
  QString kind, sentence, detail;
  int exit_code = 2;
  QString file;  ///< with `line` (from 1) and `column` (characters from 0, or -1): the place to blame
  int line = 0, column = -1;
  bool empty() const { return sentence.isEmpty(); }
};

struct EngineInfo {
  qint64 pid = 0;
  QString engine, python, python_path, torch, torch_note;
  struct Device {
    QString id, name, reason;
    bool available = false;
  };
  QVector<Device> devices;
};

class Session : public QObject {
  Q_OBJECT
 public:
  explicit Session(std::unique_ptr<EngineLink> link, QObject* parent = nullptr);
  ~Session() override;

  void set_engine(const EngineCommand& command) { command_ = command; }
  const EngineCommand& command() const { return command_; }
  /// Opens a script or target in a fresh engine; overlays of another file are dropped.
  void open(const OpenRequest& request);
  /// Nothing is open any more; the engine stays.
  void close();
  /// The text on disk of the file that is open, as the next open or recompile will find it.
  void set_source(const QString& text);
  /// Starts an engine before there is anything to open, so that it has imported PyTorch by then.
  void prestart();
  /// Reads the file again and recompiles what changed (or opens again when nothing was compiled yet).
  void recompile();
  /// Asks the running request to end; an engine that does not answer in `stop_grace_ms` is ended.
  void stop();
  /// A new engine process with everything the user had set.
  void restart();
  void set_device(const QString& device);
  void set_no_grad(bool on);
  /// Measures all arms of one target; empty means the first.
  void measure(const QString& target);
  /// Asks for the knowledge records of a break; the answer arrives as `diagnosed`.
  void diagnose(const Break& b);

  /// The user's toggles. Each change goes through the undo stack and to the engine at once.
  const QVector<Overlay>& overlays() const { return overlays_; }
  QString overlay_value(const QString& key) const;
  void set_overlay(const QString& key, const QString& value);
  void remove_overlay(const QString& key);
  void clear_overlays() { push_overlays({}, tr("remove all toggles")); }
  /// The key that an overlay on this region has; empty for one that cannot have any (a monkey patch).
  static QString overlay_key(const Region& region);
  /// "From code" ignores the user's toggles without forgetting them.
  void use_overlays(bool on);
  bool uses_overlays() const { return use_overlays_; }
  QUndoStack* undo_stack() { return &undo_; }

  EngineState state() const { return state_; }
  bool running() const { return state_ == EngineState::Running || state_ == EngineState::Starting; }
  bool measuring() const;
  /// Costs per break and line are being taken, or will be in a moment.
  bool profiling() const { return pending(Method::Profile) || profile_delay_.isActive(); }
  bool diagnosing() const { return pending(Method::Diagnose); }
  const OpenRequest& request() const { return request_; }
  const EngineInfo& engine() const { return info_; }
  ReportPtr report() const { return report_; }
  /// The report is not of the last text or of the last run: that one failed, died or was stopped.
  bool report_stale() const { return report_ && stale_; }
  /// In a few words what a stale report is of; empty for one that is not.
  QString stale_note() const;
  /// The text the report is about, and the text of the last attempt.
  const QString& report_source() const { return report_source_; }
  const QString& tried_source() const { return sent_source_; }
  /// Null until measured. `timings_stale()` when the model was recompiled since.
  TimingsPtr timings(const QString& target) const;
  bool timings_stale(const QString& target) const;
  /// Costs of a target's parts, taken by itself in the background after each report; null before.
  ProfilePtr profile(const QString& target) const { return profiles_.value(target); }
  const Profiles& profiles() const { return profiles_; }
  const Problem& problem() const { return problem_; }
  const QString& current_target() const { return current_target_; }
  void set_current_target(const QString& id);
  int running_ms() const;
  const QString& phase() const { return phase_; }
  bool strict_preview() const { return strict_preview_; }
  void set_strict_preview(bool on);
  void set_problem(const Problem& problem);
  /// Milliseconds from the user's last toggle, edit or recompile to the engine's answer; the rest of
  /// `latency_measured` is the window's.
  double answer_ms() const { return answer_ms_; }
  /// The shell tells that the newest report is on the screen; closes the toggle's latency measurement.
  void painted();

  int hang_after_ms = 3000;  ///< a request longer than this offers Stop and Restart
  int stop_grace_ms = 2000;
  int profile_after_ms = 250;  ///< quiet time after a report before profiles are taken; negative: never

 signals:
  void state_changed();
  void report_changed();
  void stale_changed();
  void timings_changed();
  void profiles_changed();
  void overlays_changed();
  void problem_changed();
  void target_changed();
  void strict_preview_changed();
  void diagnosed(const QString& reason, const QJsonArray& records);
  void output(const breakline::ui::OutputChunk& chunk);
  void output_cleared();
  /// Sent every half second once a request runs longer than `hang_after_ms`.
  void still_running(int ms, const QString& phase);
  void progressed();
  /// Milliseconds from the user's toggle, edit or recompile to the repainted window.
  void latency_measured(double ms);

 private:
  friend class OverlayCommand;
  enum class Method { Hello, Open, Policy, Reload, Option, Time, Profile, Diagnose, Cancel, Shutdown };
  struct Call {
    Method method;
    QString subject;
  };

  void start_engine();
  qint64 call(Method method, const QJsonObject& params, const QString& subject = {});
  void on_reply(qint64 id, const QJsonObject& result);
  void on_failure(qint64 id, const EngineFailure& failure);
  void on_notification(const QString& method, const QJsonObject& params);
  void on_death(const QString& why, const QString& tail);
  void on_hello(const QJsonObject& result);
  /// `ran`: the program was run from its file; else recorded calls of the last good text were made again.
  void take_report(const QJsonObject& result, bool ran);
  void send_open();
  void send_policy();
  void apply_overlays(const QVector<Overlay>& overlays);
  void push_overlays(QVector<Overlay> next, const QString& text);
  QJsonArray overlay_json() const;
  void set_stale(bool stale);
  void update_state();
  bool pending(Method method) const;
  /// Ends what runs in the background, since the engine does one thing at a time.
  void cancel_measurement();
  void take_profiles();
  static bool background(Method method) {
    return method == Method::Profile || method == Method::Diagnose || method == Method::Cancel;
  }
  void start_latency() { latency_.start(), latency_open_ = true; }

  std::unique_ptr<EngineLink> link_;
  EngineCommand command_;
  EngineState state_ = EngineState::None;
  EngineInfo info_;
  OpenRequest request_;
  Problem problem_;
  QHash<qint64, Call> calls_;
  QVector<Overlay> overlays_;
  QUndoStack undo_;
  ReportPtr report_;
  int generation_ = 0;
  struct Measured {
    TimingsPtr timings;
    int generation;
  };
  QHash<QString, Measured> timings_;
  Profiles profiles_;
  QHash<QString, QJsonArray> knowledge_;
  QString current_target_, phase_, measure_after_report_, source_, sent_source_, report_source_;
  QElapsedTimer busy_since_, latency_;
  double answer_ms_ = 0;
  QTimer tick_, grace_, profile_delay_;
  bool use_overlays_ = true, overlays_dirty_ = false, compiled_once_ = false, latency_open_ = false;
  bool strict_preview_ = false, output_seen_ = false, hello_done_ = false, prestarted_ = false;
  bool stale_ = false, reload_again_ = false;
};

}  // namespace breakline::ui
