// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/policy/policy_switch.h"

#include <QApplication>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>

#include "ui/models/words.h"
#include "ui/widgets/marks.h"

namespace breakline::ui {
namespace {
const QStringList kValues{QStringLiteral("inherit"), QStringLiteral("allow"), QStringLiteral("error")};
constexpr int kPad = 7, kHeight = 20;
}  // namespace

int PolicySwitchDelegate::width() const {
  const QFontMetrics metrics(theme_->small_font());
  int w = 8;
  for (const QString& v : kValues) w += metrics.horizontalAdvance(policy_word(v)) + 2 * kPad;
  return w;
}

QRect PolicySwitchDelegate::part(const QRect& cell, const QString& value) const {
  const QFontMetrics metrics(theme_->small_font());
  int x = cell.left() + 2;
  for (const QString& v : kValues) {
    const int w = metrics.horizontalAdvance(policy_word(v)) + 2 * kPad;
    if (v == value) return {x, cell.center().y() - kHeight / 2, w, kHeight};
    x += w;
  }
  return {};
}

QSize PolicySwitchDelegate::sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const {
  return {width(), 26};
}

void PolicySwitchDelegate::paint(QPainter* p, const QStyleOptionViewItem& option,
                                 const QModelIndex& index) const {
  QStyleOptionViewItem ground = option;
  initStyleOption(&ground, index);
  ground.text.clear();
  QApplication::style()->drawControl(QStyle::CE_ItemViewItem, &ground, p, ground.widget);
  const QString overlay = index.data(kValueRole).toString();
  if (index.data(kOverlayKeyRole).toString().isEmpty()) return;
  const bool inactive = index.data(kInactiveRole).toBool();
  p->save();
  p->setRenderHint(QPainter::Antialiasing);
  p->setFont(theme_->small_font());
  if (inactive) p->setOpacity(0.55);
  const QRect all = part(option.rect, kValues.first()) | part(option.rect, kValues.last());
  p->setPen(QPen(theme_->color(Tone::Line), 1));
  p->setBrush(theme_->color(Tone::Ground));
  p->drawRoundedRect(QRectF(all).adjusted(0.5, 0.5, -0.5, -0.5), 5, 5);
  for (const QString& v : kValues) {
    const QRect box = part(option.rect, v);
    const QColor color = theme_->policy_color(v);
    const bool on = v == overlay;
    if (on) {
      QColor fill = color;
      if (v == QLatin1String("error")) {
        p->setPen(Qt::NoPen);
      } else {
        fill.setAlphaF(v == QLatin1String("allow") ? 0.16f : 0.12f);
        p->setPen(QPen(color, 1.2, v == QLatin1String("inherit") ? Qt::DotLine : Qt::SolidLine));
      }
      p->setBrush(fill);
      p->drawRoundedRect(QRectF(box).adjusted(1, 1, -1, -1), 4, 4);
    }
    QColor words =
        on ? (v == QLatin1String("error") ? theme_->color(Tone::Pane) : color) : theme_->color(Tone::Quiet);
    p->setPen(words);
    p->drawText(box, Qt::AlignCenter, policy_word(v));
  }
  p->restore();
}

bool PolicySwitchDelegate::editorEvent(QEvent* event, QAbstractItemModel*, const QStyleOptionViewItem& option,
                                       const QModelIndex& index) {
  if (event->type() != QEvent::MouseButtonRelease || index.data(kOverlayKeyRole).toString().isEmpty())
    return false;
  const auto* mouse = static_cast<QMouseEvent*>(event);
  if (mouse->button() != Qt::LeftButton) return false;
  for (const QString& v : kValues)
    if (part(option.rect, v).contains(mouse->position().toPoint())) {
      emit chosen(index, v);
      return true;
    }
  return false;
}

void PolicyNameDelegate::paint(QPainter* p, const QStyleOptionViewItem& option,
                               const QModelIndex& index) const {
  QStyleOptionViewItem ground = option;
  initStyleOption(&ground, index);
  const QString text = ground.text;
  ground.text.clear();
  QApplication::style()->drawControl(QStyle::CE_ItemViewItem, &ground, p, ground.widget);
  p->save();
  QRect box = option.rect.adjusted(2, 0, -4, 0);
  const QString effective = index.data(kEffectiveRole).toString();
  const bool user = index.data(kUserRole).toBool();
  if (!effective.isEmpty()) {
    p->drawPixmap(box.left(), box.center().y() - 8, policy_band(effective, user, *theme_, 16));
    box.setLeft(box.left() + 14);
  }
  // Headings have no switch beside them: their words may go on over its place.
  if (index.data(kOverlayKeyRole).toString().isEmpty() && option.widget)
    box.setRight(std::max(box.right(), option.widget->width() - kPad));
  QFont font = theme_->ui_font();
  font.setUnderline(user);
  font.setBold(effective.isEmpty());
  p->setFont(font);
  p->setPen(theme_->color(index.data(kInactiveRole).toBool() ? Tone::Inherit : Tone::Text));
  const QFontMetrics metrics(font);
  const QString quiet = index.data(kQuietRole).toString();
  const QFontMetrics small(theme_->small_font());
  const int name_room = std::max(40, box.width() - (user ? 18 : 0));
  const QString name = metrics.elidedText(text, Qt::ElideMiddle, name_room);
  p->drawText(box, Qt::AlignVCenter | Qt::AlignLeft, name);
  int x = box.left() + metrics.horizontalAdvance(name) + 6;
  if (user) {
    theme_->icon(QStringLiteral("pencil"), Tone::Accent).paint(p, QRect(x, box.center().y() - 6, 12, 12));
    x += 16;
  }
  if (box.right() - x > 24 && !quiet.isEmpty()) {
    p->setFont(theme_->small_font());
    p->setPen(theme_->color(Tone::Quiet));
    p->drawText(QRect(x, box.top(), box.right() - x, box.height()), Qt::AlignVCenter | Qt::AlignLeft,
                small.elidedText(quiet, Qt::ElideRight, box.right() - x));
  }
  p->restore();
}

}  // namespace breakline::ui
