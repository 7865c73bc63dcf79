// SPDX-License-Identifier: GPL-3.0-or-later
// Runs the window without a user: a screenshot after the given steps, or a measured series of toggles.
#pragma once
#include <QObject>
#include <QTimer>
#include <QVector>

#include "ui/shell/main_window.h"
#include "ui/shell/options.h"

namespace breakline::ui {

class Automation : public QObject {
  Q_OBJECT
 public:
  Automation(const Options& options, MainWindow* window, Session* session, Selection* selection,
             QObject* parent = nullptr);
  /// Ends the application with the documented exit code when all steps are done.
  void start();

 private:
  enum class Step { Open, Toggle, Measure, Select, Picture, Bench, Done };
  void next();
  void select();
  void picture();
  void bench();
  void finish(int code);
  void leave(int code);

  Options options_;
  MainWindow* window_;
  Session* session_;
  Selection* selection_;
  QTimer limit_;
  Step step_ = Step::Open;
  QVector<double> latencies_;
  QString bench_key_;
  qint64 window_before_kb_ = 0, engine_before_kb_ = 0, first_result_ms_ = 0;
  int exit_code_ = 0, toggled_ = 0;
  bool sent_ = false;
};

/// Milliseconds since this process was started; 0 when it cannot be told.
qint64 since_start_ms();
/// Resident memory of a process in KiB; 0 when it cannot be told.
qint64 resident_kb(qint64 pid);

}  // namespace breakline::ui
