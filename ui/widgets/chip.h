// SPDX-License-Identifier: GPL-3.0-or-later
// A rounded button that carries one answer ("5 graphs"). Dimmed with a small spinner while a new answer is
// made.
#pragma once
#include <QAbstractButton>
#include <QTimer>

#include "ui/widgets/theme.h"

namespace breakline::ui {

class Chip : public QAbstractButton {
  Q_OBJECT
 public:
  struct Part {
    QString text;
    Tone tone = Tone::Text;
    bool bold = false;
    bool operator==(const Part&) const = default;
  };
  explicit Chip(Theme* theme, QWidget* parent = nullptr);
  /// The visible words, in order; the accessible name is all of them together.
  void set_parts(const QVector<Part>& parts, Tone border, Tone fill);
  /// Dims at once; the spinner appears after 250 ms.
  void set_busy(bool busy);
  /// The value belongs to an older compile.
  void set_stale(bool stale);
  bool stale() const { return stale_; }
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return sizeHint(); }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  Theme* theme_;
  QVector<Part> parts_;
  Tone border_ = Tone::Line, fill_ = Tone::Raised;
  bool busy_ = false, stale_ = false, spinner_ = false;
  int angle_ = 0;
  QTimer delay_, spin_;
};

}  // namespace breakline::ui
