// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/chip.h"

#include <QPainter>
#include <QPainterPath>

namespace breakline::ui {
namespace {
constexpr int kPadding = 10, kSpinner = 12, kGap = 6, kHeight = 26;
}

Chip::Chip(Theme* theme, QWidget* parent) : QAbstractButton(parent), theme_(theme) {
  setFocusPolicy(Qt::TabFocus);
  setCursor(Qt::PointingHandCursor);
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
  delay_.setSingleShot(true);
  delay_.setInterval(250);
  spin_.setInterval(60);
  connect(&delay_, &QTimer::timeout, this, [this] {
    spinner_ = true;
    spin_.start();
    updateGeometry();
    update();
  });
  connect(&spin_, &QTimer::timeout, this, [this] {
    angle_ = (angle_ + 30) % 360;
    update();
  });
  connect(theme, &Theme::changed, this, [this] { updateGeometry(), update(); });
}

void Chip::set_parts(const QVector<Part>& parts, Tone border, Tone fill) {
  if (parts == parts_ && border == border_ && fill == fill_) return;
  parts_ = parts;
  border_ = border;
  fill_ = fill;
  QString all;
  for (const Part& p : parts) all += p.text;
  setText(all);
  setAccessibleName(all);
  updateGeometry();
  update();
}

void Chip::set_busy(bool busy) {
  if (busy == busy_) return;
  busy_ = busy;
  if (busy) {
    delay_.start();
  } else {
    delay_.stop();
    spin_.stop();
    spinner_ = false;
    updateGeometry();
  }
  update();
}

void Chip::set_stale(bool stale) {
  if (stale == stale_) return;
  stale_ = stale;
  update();
}

QSize Chip::sizeHint() const {
  // The spinner stands behind the words, never on them.
  int width = 2 * kPadding + (spinner_ ? kSpinner + kGap : 0);
  for (const Part& p : parts_) {
    QFont f = font();
    f.setBold(p.bold);
    width += QFontMetrics(f).horizontalAdvance(p.text);
  }
  return {width, kHeight};
}

void Chip::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  // Dimmed by colour, not by opacity: the words stay readable.
  const bool dim = busy_ || stale_ || !isEnabled();
  const QRectF box = QRectF(rect()).adjusted(1, 1, -1, -1);
  QColor border = theme_->color(dim ? Tone::Line : border_);
  if (hasFocus()) border = theme_->color(Tone::Accent);
  painter.setPen(QPen(border, hasFocus() ? 2 : 1, stale_ && !hasFocus() ? Qt::DashLine : Qt::SolidLine));
  painter.setBrush(theme_->color(underMouse() && isEnabled() ? Tone::Hover : fill_));
  painter.drawRoundedRect(box, box.height() / 2, box.height() / 2);
  int x = kPadding;
  for (const Part& p : parts_) {
    QFont f = font();
    f.setBold(p.bold);
    painter.setFont(f);
    painter.setPen(theme_->color(dim ? Tone::Quiet : p.tone));
    const int w = painter.fontMetrics().horizontalAdvance(p.text);
    painter.drawText(QRect(x, 0, w + 2, height()), Qt::AlignVCenter | Qt::AlignLeft, p.text);
    x += w;
  }
  if (spinner_) {
    painter.setPen(QPen(theme_->color(Tone::Accent), 2, Qt::SolidLine, Qt::RoundCap));
    painter.setBrush(Qt::NoBrush);
    const QRectF ring(width() - kSpinner - kGap, (height() - kSpinner) / 2.0, kSpinner, kSpinner);
    painter.drawArc(ring, -angle_ * 16, 110 * 16);
  }
}

}  // namespace breakline::ui
