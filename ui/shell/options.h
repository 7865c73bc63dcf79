// SPDX-License-Identifier: GPL-3.0-or-later
// The command line of breakline-studio.
#pragma once
#include <QPair>
#include <QSize>
#include <QString>
#include <QStringList>
#include <QVector>

#include "ui/controller/session.h"

namespace breakline::ui {

struct Options {
  QString python, engine, theme, screenshot, focus_panel;
  QSize size{1280, 800};
  bool size_given = false, measure = false;
  QVector<QPair<QString, QString>> toggles;
  int select_break = 0;  ///< 1-based; 0 for none
  int bench_toggles = 0, bench_edits = 0;
  /// Steps of the series to measure; 0 when none was asked for.
  int bench_steps() const { return bench_toggles + bench_edits; }
  /// The program ends by itself: a picture or a series was asked for.
  bool automatic() const { return !screenshot.isEmpty() || bench_steps(); }
  int timeout_s = 300;
  OpenRequest request;
  /// One sentence when the command line is wrong; the exit code is 2 then.
  QString problem;
  bool help = false, version = false;
  QString help_text;
};

Options parse_options(const QStringList& arguments);

}  // namespace breakline::ui
