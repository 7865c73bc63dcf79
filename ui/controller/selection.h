// SPDX-License-Identifier: GPL-3.0-or-later
// The one current thing. Every panel draws it and may set it; none keeps a selection of its own.
#pragma once
#include <QObject>
#include <QString>

namespace breakline::ui {

enum class SelectionKind { None, Break, Segment, Region, Line };

/// `id` names a break, segment or region key; `file` (absolute) and `line` say where it is in the source.
struct Selected {
  SelectionKind kind = SelectionKind::None;
  QString id, file;
  int line = 0, end_line = 0;
  bool operator==(const Selected&) const = default;
};

class Selection : public QObject {
  Q_OBJECT
 public:
  using QObject::QObject;
  const Selected& current() const { return current_; }
  void set(const Selected& next) {
    if (next == current_) return;
    current_ = next;
    emit changed(current_);
  }
  void clear() { set({}); }
  bool is(SelectionKind kind, const QString& id) const { return current_.kind == kind && current_.id == id; }

 signals:
  void changed(const breakline::ui::Selected& now);

 private:
  Selected current_;
};

}  // namespace breakline::ui
