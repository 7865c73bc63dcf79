// SPDX-License-Identifier: GPL-3.0-or-later
// Distributions of several arms as ridges over one time axis, with median and quartiles. Wraps QCustomPlot,
// whose header is included by the .cpp only.
#pragma once
#include <QWidget>

#include "ui/models/timings.h"
#include "ui/widgets/theme.h"

class QCustomPlot;

namespace breakline::ui {

class DistributionPlot : public QWidget {
  Q_OBJECT
 public:
  explicit DistributionPlot(Theme* theme, QWidget* parent = nullptr);
  /// One ridge per arm, top down; unavailable arms keep a line with their reason. A stale plot is dimmed.
  void set_arms(const QVector<Arm>& arms, bool stale);
  bool save(const QString& path);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void rebuild();
  void show_value(const QPoint& at);
  void reset_range();
  void add_words(int i, double base);
  int right_width() const;
  Theme* theme_;
  QCustomPlot* plot_;
  QVector<Arm> arms_;
  bool stale_ = false, narrow_ = false;
  double low_ = 0, high_ = 1;
};

/// Density of samples on an even grid between low and high, its highest value scaled to 1.
QVector<double> density(const QVector<double>& samples, double low, double high, int points);

/// The colour and the brush pattern of an arm.
Tone arm_tone(const QString& id);

}  // namespace breakline::ui
