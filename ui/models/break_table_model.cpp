// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/break_table_model.h"

#include <QFileInfo>

#include "ui/models/reasons.h"
#include "ui/models/timings.h"
#include "ui/models/words.h"

namespace breakline::ui {

void BreakTableModel::set(ReportPtr report, const QString& target, const Profiles& profiles, bool preview,
                          const QString& why_no_cost) {
  const QVector<const Break*> rows = report ? report->breaks_of(target) : QVector<const Break*>();
  bool same = rows.size() == rows_.size();
  for (int i = 0; same && i < rows.size(); ++i) same = rows[i]->id == rows_[i]->id;
  // The same breaks in the same order: only their values change, so selection and scroll position stay.
  if (!same) beginResetModel();
  report_ = std::move(report);
  profiles_ = profiles;
  why_no_cost_ = why_no_cost;
  preview_ = preview;
  rows_ = rows;
  alike_.clear();
  for (const Break* b : rows_) ++alike_[b->reason_id];
  if (!same)
    endResetModel();
  else if (!rows_.isEmpty())
    emit dataChanged(index(0, 0), index(int(rows_.size()) - 1, ColumnCount - 1));
}

const BreakCost* BreakTableModel::cost(const Break& b) const {
  const ProfilePtr profile = profiles_.value(b.target);
  return profile ? profile->of_break(b.id) : nullptr;
}

QString BreakTableModel::why_no_costs() const {
  QString note;
  for (const Break* b : rows_) {
    if (cost(*b)) return {};
    const ProfilePtr profile = profiles_.value(b->target);
    if (note.isEmpty() && profile) note = profile->note;
  }
  return note;
}

int BreakTableModel::row_of(const QString& id) const {
  for (int i = 0; i < rows_.size(); ++i)
    if (rows_[i]->id == id) return i;
  return -1;
}

QVariant BreakTableModel::data(const QModelIndex& index, int role) const {
  const Break* b = at(index.row());
  if (!b) return {};
  const bool elsewhere = report_ && report_->resolve(b->user.file) != report_->resolve(report_->file);
  const bool rejected = preview_ && report_->strict_rejects.contains(b->id);
  if (role == IdRole) return b->id;
  if (role == ErrorRole) return b->is_error() || rejected;
  if (role == Qt::TextAlignmentRole)
    return int(Qt::AlignVCenter |
               (index.column() == Why || index.column() == Policy ? Qt::AlignLeft : Qt::AlignRight));
  if (role == Qt::DisplayRole || role == SortRole) switch (index.column()) {
      case Line:
        if (role == SortRole) return b->user.line;
        return elsewhere ? QStringLiteral("%1:%2").arg(QFileInfo(b->user.file).fileName()).arg(b->user.line)
                         : QString::number(b->user.line);
      case Why: {
        // Breaks of one kind differ in their code, so that comes first for them.
        const QString label = reason_label(b->reason_id, b->reason);
        if (b->code.isEmpty()) return label;
        return alike_.value(b->reason_id) > 1 ? b->code + QStringLiteral(" – ") + label
                                              : label + QStringLiteral(" – ") + b->code;
      }
      case Events:
        return role == SortRole ? QVariant(b->per_call) : QString::number(b->per_call, 'g', 3);
      case Cost:
        if (const BreakCost* c = cost(*b)) return role == SortRole ? QVariant(c->cost) : format_us(c->cost);
        return QStringLiteral("–");
      case Policy:
        if (rejected && !b->is_error())
          return b->id == report_->strict_first ? tr("allow → error (first)") : tr("allow → error");
        return b->is_error() ? tr("error") : tr("allow");
      default:
        return {};
    }
  if (role == Qt::ToolTipRole) {
    if (index.column() == Cost) {
      if (const BreakCost* c = cost(*b)) return cost_words(*c);
      if (b->is_error()) return tr("An error ends the call here, so there is nothing to enter again.");
      const ProfilePtr profile = profiles_.value(b->target);
      if (profile && !profile->note.isEmpty()) return tr("Not measured: %1.").arg(profile->note);
      if (profile) return tr("Not measured: the recorded call does not come by here.");
      return why_no_cost_;
    }
    if (index.column() == Policy)
      return tr("%1, decided by %2").arg(policy_word(b->effective), source_words(b->policy_source));
    QStringList tip{b->reason};
    if (!b->code.isEmpty()) tip.prepend(b->code);
    if (b->in_library())
      tip << tr("in %1, line %2, called from here").arg(QFileInfo(b->file).fileName()).arg(b->line);
    if (!b->explanation.isEmpty()) tip << QString() << b->explanation;
    return tip.join(QLatin1Char('\n'));
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
        return tr(
            "Times this break is executed in one call of the target, on average over the calls of the script "
            "or, after a toggle, over the recorded ones");
      case Cost:
        return tr(
            "Measured price of leaving and entering here, per event; the instruction itself is not in it");
      case Policy:
        return tr("What the policy in force does here");
      default:
        return {};
    }
  return {};
}

}  // namespace breakline::ui
