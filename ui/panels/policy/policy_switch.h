// SPDX-License-Identifier: GPL-3.0-or-later
// The three-way switch of the policy tree, painted by a delegate; and the name column with its band and
// pencil.
#pragma once
#include <QStyledItemDelegate>
#include <functional>

#include "ui/widgets/theme.h"

namespace breakline::ui {

/// Roles of the policy tree's items.
enum PolicyRole {
  kKeyRole = Qt::UserRole,
  kOverlayKeyRole,
  kValueRole,
  kEffectiveRole,
  kUserRole,
  kQuietRole,
  kInactiveRole
};

class PolicySwitchDelegate : public QStyledItemDelegate {
  Q_OBJECT
 public:
  PolicySwitchDelegate(Theme* theme, QObject* parent) : QStyledItemDelegate(parent), theme_(theme) {}
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
  bool editorEvent(QEvent* event, QAbstractItemModel* model, const QStyleOptionViewItem& option,
                   const QModelIndex& index) override;
  /// The part of a cell that stands for a value; parts are as wide as their words.
  QRect part(const QRect& cell, const QString& value) const;
  int width() const;

 signals:
  void chosen(const QModelIndex& index, const QString& value);

 private:
  Theme* theme_;
};

class PolicyNameDelegate : public QStyledItemDelegate {
 public:
  PolicyNameDelegate(Theme* theme, QObject* parent) : QStyledItemDelegate(parent), theme_(theme) {}
  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 private:
  Theme* theme_;
};

}  // namespace breakline::ui
