// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/marks.h"

#include <QPainter>
#include <QPixmapCache>
#include <QPolygonF>

namespace breakline::ui {

QPixmap break_mark(bool error, const Theme& theme, int size) {
  constexpr qreal kRatio = 2;
  // Lists ask for it at every repaint of every row.
  const QString key = QStringLiteral("break_mark/%1/%2/%3").arg(theme.name()).arg(error).arg(size);
  QPixmap pixmap;
  if (QPixmapCache::find(key, &pixmap)) return pixmap;
  pixmap = QPixmap(QSize(size, size) * kRatio);
  pixmap.setDevicePixelRatio(kRatio);
  pixmap.fill(Qt::transparent);
  QPainter p(&pixmap);
  p.setRenderHint(QPainter::Antialiasing);
  p.scale(size / 14.0, size / 14.0);
  const QColor color = theme.color(error ? Tone::BreakError : Tone::BreakAllowed);
  p.setPen(QPen(color, 1.6));
  if (error) {
    p.setBrush(color);
    p.drawPolygon(QPolygonF{QPointF(4.6, 1), QPointF(9.4, 1), QPointF(13, 4.6), QPointF(13, 9.4),
                            QPointF(9.4, 13), QPointF(4.6, 13), QPointF(1, 9.4), QPointF(1, 4.6)});
    p.setPen(QPen(theme.color(Tone::Pane), 1.6, Qt::SolidLine, Qt::RoundCap));
    p.drawLine(QPointF(7, 4), QPointF(7, 7.6));
    p.drawPoint(QPointF(7, 10));
  } else {
    p.setBrush(theme.color(Tone::BreakAllowedFill));
    p.drawPolygon(QPolygonF{QPointF(7, 1), QPointF(13, 7), QPointF(7, 13), QPointF(1, 7)});
  }
  p.end();
  QPixmapCache::insert(key, pixmap);
  return pixmap;
}

QPixmap policy_band(const QString& value, bool overlay, const Theme& theme, int height) {
  QPixmap pixmap(10, height);
  pixmap.fill(Qt::transparent);
  QPainter p(&pixmap);
  const QColor color = theme.policy_color(value);
  const int width = overlay ? 7 : 5;
  if (value == QLatin1String("error")) {
    p.fillRect(QRect(1, 0, width, height), color);
  } else if (value == QLatin1String("allow")) {
    p.fillRect(QRect(1, 0, 1, height), color);
    p.fillRect(QRect(width, 0, 1, height), color);
    if (overlay) {
      QColor tint = color;
      tint.setAlphaF(0.35f);
      p.fillRect(QRect(2, 0, width - 2, height), tint);
    }
  } else {
    for (int y = 1; y < height; y += 4) p.fillRect(QRect(3, y, 2, 2), color);
  }
  return pixmap;
}

}  // namespace breakline::ui
