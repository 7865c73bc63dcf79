// SPDX-License-Identifier: GPL-3.0-or-later
// Places boxes in layers, top down. Pure geometry, no widgets, any thread. Made for chains of segments with a
// few branches and loops: linear in nodes and edges.
#pragma once
#include <QPainterPath>
#include <QPointF>
#include <QRectF>
#include <QSizeF>
#include <QVector>

namespace breakline::ui {

struct LayoutEdge {
  int from = 0, to = 0;
  QSizeF label;  ///< room for words beside the edge; empty for none
};

struct LayoutResult {
  QVector<QRectF> nodes;
  QVector<QPainterPath> edges;
  QVector<QRectF> labels;      ///< one per edge; null where it has no label
  QVector<QPointF> arrows;     ///< tip of each edge
  QVector<bool> back;          ///< the edge closes a loop (drawn on the right side)
  QVector<qreal> arrow_angle;  ///< direction of the tip, degrees, 90 = downwards
  QRectF bounds;
};

/// Steps: 1 find loop edges by depth-first search; 2 layer = longest path; 3 order by the mean of the
/// parents; 4 place rows; 5 route, long edges through empty slots, loop edges around the right side.
LayoutResult layout_graph(const QVector<QSizeF>& nodes, const QVector<LayoutEdge>& edges);

}  // namespace breakline::ui
