// SPDX-License-Identifier: GPL-3.0-or-later
// The list of breaks as a table: line, why, events, cost, policy. Owns no data: it reads the session's
// report.
#pragma once
#include <QAbstractTableModel>

#include "ui/models/profile.h"
#include "ui/models/report.h"

namespace breakline::ui {

class BreakTableModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { Line, Why, Events, Cost, Policy, ColumnCount };
  enum Role { IdRole = Qt::UserRole, SortRole, ErrorRole };
  using QAbstractTableModel::QAbstractTableModel;
  /// `preview` marks what a strict policy would reject. `why_no_cost` stands in for costs that are missing.
  void set(ReportPtr report, const QString& target, const Profiles& profiles, bool preview,
           const QString& why_no_cost);
  int rowCount(const QModelIndex& parent = {}) const override {
    return parent.isValid() ? 0 : int(rows_.size());
  }
  int columnCount(const QModelIndex& parent = {}) const override {
    return parent.isValid() ? 0 : ColumnCount;
  }
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  /// Why no row has a cost, where the engine or an error says so; empty otherwise.
  QString why_no_costs() const;
  int row_of(const QString& id) const;
  const Break* at(int row) const { return row >= 0 && row < rows_.size() ? rows_[row] : nullptr; }

 private:
  const BreakCost* cost(const Break& b) const;
  ReportPtr report_;
  Profiles profiles_;
  QString why_no_cost_;
  QVector<const Break*> rows_;
  QHash<QString, int> alike_;  ///< breaks of each reason
  bool preview_ = false;
};

}  // namespace breakline::ui
