// SPDX-License-Identifier: GPL-3.0-or-later
// Runs the window without a user: a screenshot after the given steps, or a measured series of toggles or
// edits.
#pragma once
#include <QObject>
#include <QTemporaryDir>
#include <QTimer>
#include <QVector>
#include <memory>

#include "ui/shell/main_window.h"
#include "ui/shell/options.h"

namespace breakline::ui {

class Automation : public QObject {
  Q_OBJECT
 public:
  Automation(const Options& options, MainWindow* window, Session* session, Selection* selection,
             QObject* parent = nullptr);
  /// What to open: a series of edits works on a copy of the file, in a folder of its own.
  OpenRequest request();
  /// Ends the application with the documented exit code when all steps are done.
  void start();

 private:
  enum class Step { Open, Toggle, Measure, Select, Picture, Bench, Done };
  void next();
  void select();
  void picture();
  /// The next step of the series, or its result.
  void bench();
  /// Chooses what the series changes; the sentence that says why it can't, or an empty one.
  QString choose_toggle();
  QString choose_edit();
  void change();
  void report();
  void finish(int code);
  void leave(int code);

  Options options_;
  MainWindow* window_;
  Session* session_;
  Selection* selection_;
  QTimer limit_;
  Step step_ = Step::Open;
  QVector<double> latencies_, answers_;
  QString bench_key_;                 ///< policy that is toggled, or what is edited, in words
  QString text_before_, text_after_;  ///< the source around the number that is edited
  std::unique_ptr<QTemporaryDir> copy_;
  qint64 window_before_kb_ = 0, engine_before_kb_ = 0, first_result_ms_ = 0;
  double window_before_ms_ = 0, engine_before_ms_ = 0;  ///< processor time
  int exit_code_ = 0, step_number_ = 0;
  bool sent_ = false;
};

/// Milliseconds since this process was started; 0 when it cannot be told.
qint64 since_start_ms();
/// Processor time of a process in milliseconds, all threads; 0 when it cannot be told.
double processor_ms(qint64 pid);
/// Resident memory of a process in KiB; 0 when it cannot be told.
qint64 resident_kb(qint64 pid);

}  // namespace breakline::ui
