// SPDX-License-Identifier: GPL-3.0-or-later
// The list of breaks as a table: line, why, events, cost, policy. Owns no data: it reads the session's
// report.
#pragma once
#include <QAbstractTableModel>

#include "ui/models/report.h"
#include "ui/models/timings.h"

namespace breakline::ui {

class BreakTableModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { Line, Why, Events, Cost, Policy, ColumnCount };
  enum Role { IdRole = Qt::UserRole, SortRole, ErrorRole };
  using QAbstractTableModel::QAbstractTableModel;
  /// `preview` marks what a strict policy would reject. Timings may be null.
  void set(ReportPtr report, const QString& target, TimingsPtr timings, bool preview);
  int rowCount(const QModelIndex& parent = {}) const override {
    return parent.isValid() ? 0 : int(rows_.size());
  }
  int columnCount(const QModelIndex& parent = {}) const override {
    return parent.isValid() ? 0 : ColumnCount;
  }
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  int row_of(const QString& id) const;
  const Break* at(int row) const { return row >= 0 && row < rows_.size() ? rows_[row] : nullptr; }

 private:
  QString cost(const Break& b) const;
  ReportPtr report_;
  TimingsPtr timings_;
  QVector<const Break*> rows_;
  bool preview_ = false;
};

}  // namespace breakline::ui
