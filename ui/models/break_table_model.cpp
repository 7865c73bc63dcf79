// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/break_table_model.h"

#include <QFileInfo>

#include "ui/models/reasons.h"

namespace breakline::ui {

void BreakTableModel::set(ReportPtr report, const QString& target, TimingsPtr timings, bool preview) {
  const QVector<const Break*> rows = report ? report->breaks_of(target) : QVector<const Break*>();
  bool same = rows.size() == rows_.size();
  for (int i = 0; same && i < rows.size(); ++i) same = rows[i]->id == rows_[i]->id;
  // The same breaks in the same order: only their values change, so selection and scroll position stay.
  if (!same) beginResetModel();
  report_ = std::move(report);
  timings_ = std::move(timings);
  preview_ = preview;
  rows_ = rows;
  if (!same)
    endResetModel();
  else if (!rows_.isEmpty())
    emit dataChanged(index(0, 0), index(int(rows_.size()) - 1, ColumnCount - 1));
}

QString BreakTableModel::cost(const Break& b) const {
  if (b.cost_us) return format_us(*b.cost_us);
  if (timings_ && timings_->break_cost_us.contains(b.id))
    return format_us(timings_->break_cost_us.value(b.id));
  return QStringLiteral("–");
}

int BreakTableModel::row_of(const QString& id) const {
  for (int i = 0; i < rows_.size(); ++i)
    if (rows_[i]->id == id) return i;
  return -1;
}

QVariant BreakTableModel::data(const QModelIndex& index, int role) const {
  const Break* b = at(index.row());
  if (!b) return {};
  const bool elsewhere = report_ && report_->resolve(b->file) != report_->resolve(report_->file);
  const bool rejected = preview_ && report_->strict_rejects.contains(b->id);
  if (role == IdRole) return b->id;
  if (role == ErrorRole) return b->is_error() || rejected;
  if (role == Qt::TextAlignmentRole)
    return int(Qt::AlignVCenter |
               (index.column() == Why || index.column() == Policy ? Qt::AlignLeft : Qt::AlignRight));
  if (role == Qt::DisplayRole || role == SortRole) switch (index.column()) {
      case Line:
        if (role == SortRole) return b->line;
        return elsewhere ? QStringLiteral("%1:%2").arg(QFileInfo(b->file).fileName()).arg(b->line)
                         : QString::number(b->line);
      case Why:
        return reason_label(b->reason_id, b->reason);
      case Events:
        return b->events;
      case Cost:
        return cost(*b);
      case Policy:
        if (rejected && !b->is_error())
          return b->id == report_->strict_first ? tr("allow → error (first)") : tr("allow → error");
        return b->is_error() ? tr("error") : tr("allow");
      default:
        return {};
    }
  if (role == Qt::ToolTipRole) {
    if (index.column() == Cost && cost(*b) == QStringLiteral("–"))
      return tr("Not measured yet: press Measure in the timings pane.");
    if (index.column() == Policy) return tr("%1, decided by %2").arg(b->effective, b->policy_source);
    return b->explanation.isEmpty() ? b->reason : b->reason + QStringLiteral("\n\n") + b->explanation;
  }
  return {};
}

QVariant BreakTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::TextAlignmentRole)
    return int(Qt::AlignVCenter | (section == Why || section == Policy ? Qt::AlignLeft : Qt::AlignRight));
  if (role == Qt::DisplayRole) switch (section) {
      case Line:
        return tr("Line");
      case Why:
        return tr("Why");
      case Events:
        return tr("n");
      case Cost:
        return tr("Cost");
      case Policy:
        return tr("Policy");
      default:
        return {};
    }
  if (role == Qt::ToolTipRole) switch (section) {
      case Events:
        return tr("Times this break was executed");
      case Cost:
        return tr("Measured cost of one event");
      case Policy:
        return tr("What the policy in force does here");
      default:
        return {};
    }
  return {};
}

}  // namespace breakline::ui
