// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/graph/graph_layout.h"

#include <QLineF>
#include <algorithm>
#include <utility>

namespace breakline::ui {
namespace {

// Loop edges: where they leave the bottom or top of a box, and how far under or over its row they run.
constexpr qreal kInset = 24, kUnder = 7, kOver = 12, kRadius = 10;
constexpr qreal kColumnGap = 40, kRowGap = 32, kLabelGap = 10, kSlot = 16, kLoopGap = 28;

struct Slot {
  int node = -1;  ///< -1 for an empty slot of a long edge
  int layer = 0;
  qreal width = kSlot, x = 0;
  QVector<int> parents;
};

/// Marks edges that lead to a node still open in the search; iterative, so that long chains are fine.
QVector<bool> find_back_edges(int nodes, const QVector<LayoutEdge>& edges, const QVector<QVector<int>>& out) {
  QVector<bool> back(edges.size(), false);
  QVector<char> state(nodes, 0);
  for (int root = 0; root < nodes; ++root) {
    if (state[root]) continue;
    QVector<std::pair<int, int>> stack{{root, 0}};
    state[root] = 1;
    while (!stack.isEmpty()) {
      auto& [node, next] = stack.last();
      if (next == out[node].size()) {
        state[node] = 2;
        stack.removeLast();
        continue;
      }
      const int e = out[node][next++];
      const int to = edges[e].to;
      if (state[to] == 1) {
        back[e] = true;
      } else if (state[to] == 0) {
        state[to] = 1;
        stack.push_back({to, 0});
      }
    }
  }
  return back;
}

QVector<int> layers_of(int nodes, const QVector<LayoutEdge>& edges, const QVector<QVector<int>>& out,
                       const QVector<bool>& back) {
  QVector<int> layer(nodes, 0), open(nodes, 0);
  for (int e = 0; e < edges.size(); ++e)
    if (!back[e]) ++open[edges[e].to];
  QVector<int> ready;
  for (int n = 0; n < nodes; ++n)
    if (!open[n]) ready.push_back(n);
  for (int i = 0; i < ready.size(); ++i) {
    const int n = ready[i];
    for (int e : out[n]) {
      if (back[e]) continue;
      const int to = edges[e].to;
      layer[to] = std::max(layer[to], layer[n] + 1);
      if (--open[to] == 0) ready.push_back(to);
    }
  }
  return layer;
}

/// A line through `corners` whose inner corners are round.
QPainterPath rounded(const QVector<QPointF>& corners) {
  QPainterPath line(corners.first());
  for (qsizetype i = 1; i + 1 < corners.size(); ++i) {
    const QLineF in(corners[i], corners[i - 1]), out(corners[i], corners[i + 1]);
    const qreal radius = std::min({kRadius, in.length() / 2, out.length() / 2});
    if (radius < 1) {
      line.lineTo(corners[i]);
      continue;
    }
    line.lineTo(in.pointAt(radius / in.length()));
    line.quadTo(corners[i], out.pointAt(radius / out.length()));
  }
  line.lineTo(corners.last());
  return line;
}

}  // namespace

LayoutResult layout_graph(const QVector<QSizeF>& nodes, const QVector<LayoutEdge>& edges) {
  LayoutResult r;
  const int n = int(nodes.size());
  r.nodes.resize(n);
  r.edges.resize(edges.size());
  r.labels.resize(edges.size());
  r.arrows.resize(edges.size());
  r.arrow_angle.fill(90, edges.size());
  if (!n) return r;

  QVector<QVector<int>> out(n);
  for (int e = 0; e < edges.size(); ++e) out[edges[e].from].push_back(e);
  r.back = find_back_edges(n, edges, out);
  const QVector<int> layer = layers_of(n, edges, out, r.back);

  const int rows = *std::max_element(layer.begin(), layer.end()) + 1;
  QVector<Slot> cells(n);
  QVector<QVector<int>> row(rows);
  for (int i = 0; i < n; ++i) {
    cells[i] = {i, layer[i], nodes[i].width(), 0, {}};
    row[layer[i]].push_back(i);
  }
  QVector<QVector<int>> path(edges.size());  // cells that an edge passes, ends included
  QVector<qreal> gap(rows, kRowGap);         // room under each row
  for (int e = 0; e < edges.size(); ++e) {
    if (r.back[e]) continue;
    const LayoutEdge& edge = edges[e];
    path[e].push_back(edge.from);
    for (int l = layer[edge.from] + 1; l < layer[edge.to]; ++l) {
      cells.push_back({-1, l, kSlot, 0, {path[e].last()}});
      row[l].push_back(int(cells.size()) - 1);
      path[e].push_back(int(cells.size()) - 1);
    }
    cells[edge.to].parents.push_back(path[e].last());
    path[e].push_back(edge.to);
    qreal& room = gap[layer[edge.from]];
    room = std::max(room, edge.label.height() + 2 * kLabelGap + 8);
    // A label hangs to the right of its edge: it needs that room in its column.
    const qreal half = edge.label.isEmpty() ? 0 : edge.label.width() + kLabelGap;
    cells[edge.from].width = std::max(cells[edge.from].width, out[edge.from].size() > 1 ? 0 : 2 * half);
    if (layer[edge.to] == layer[edge.from] + 1 && out[edge.from].size() > 1)
      cells[edge.to].width = std::max(cells[edge.to].width, 2 * half);
  }

  for (int l = 0; l < rows; ++l) {
    QVector<int>& line = row[l];
    for (int s : line) {
      const QVector<int>& parents = cells[s].parents;
      qreal sum = 0;
      for (int p : parents) sum += cells[p].x;
      cells[s].x = parents.isEmpty() ? 0 : sum / qreal(parents.size());
    }
    std::stable_sort(line.begin(), line.end(), [&](int a, int b) { return cells[a].x < cells[b].x; });
    // Push right where boxes would overlap, then move the row so that the mean displacement is zero.
    qreal edge = 0, moved = 0;
    for (int i = 0; i < line.size(); ++i) {
      Slot& s = cells[line[i]];
      const qreal wanted = s.x;
      if (i) s.x = std::max(s.x, edge + kColumnGap + s.width / 2);
      edge = s.x + s.width / 2;
      moved += s.x - wanted;
    }
    if (!line.isEmpty())
      for (int s : line) cells[s].x -= moved / qreal(line.size());
  }

  QVector<qreal> top(rows), bottom(rows);
  qreal y = 0;
  for (int l = 0; l < rows; ++l) {
    qreal height = 0;
    for (int s : row[l])
      if (cells[s].node >= 0) height = std::max(height, nodes[cells[s].node].height());
    top[l] = y;
    bottom[l] = y + height;
    y = bottom[l] + gap[l];
  }
  qreal right = 0;
  for (int i = 0; i < n; ++i) {
    r.nodes[i] =
        QRectF(cells[i].x - nodes[i].width() / 2, top[layer[i]], nodes[i].width(), nodes[i].height());
    r.bounds |= r.nodes[i];
  }
  for (int e = 0; e < edges.size(); ++e) {
    if (r.back[e]) continue;
    QPainterPath line;
    QPointF at(cells[path[e][0]].x, r.nodes[edges[e].from].bottom());
    line.moveTo(at);
    for (int i = 1; i < path[e].size(); ++i) {
      const Slot& s = cells[path[e][i]];
      const QPointF next(s.x, top[s.layer]);
      if (qFuzzyCompare(at.x() + 1, next.x() + 1)) {
        line.lineTo(next);
      } else {
        const qreal middle = (at.y() + next.y()) / 2;
        line.cubicTo(QPointF(at.x(), middle), QPointF(next.x(), middle), next);
      }
      at = next;
      if (s.node < 0) line.lineTo(at = QPointF(s.x, bottom[s.layer]));
    }
    r.edges[e] = line;
    r.arrows[e] = at;
    if (!edges[e].label.isEmpty()) {
      const int l = layer[edges[e].from];
      const qreal from_bottom = r.nodes[edges[e].from].bottom();
      const qreal center = (std::max(from_bottom, bottom[l]) + bottom[l] + gap[l]) / 2;
      const qreal x = path[e].size() > 1 ? (cells[path[e][0]].x + cells[path[e][1]].x) / 2 : 0;
      r.labels[e] = QRectF(QPointF(x + kLabelGap, center - edges[e].label.height() / 2), edges[e].label);
      r.bounds |= r.labels[e];
    }
    r.bounds |= line.boundingRect();
  }
  right = r.bounds.right();
  // Whether a box of the same row stands between a box and the right side.
  const auto blocked = [&](int node) {
    return std::any_of(row[layer[node]].begin(), row[layer[node]].end(),
                       [&](int s) { return cells[s].node >= 0 && cells[s].x > cells[node].x; });
  };
  for (int e = 0; e < edges.size(); ++e) {
    if (!r.back[e]) continue;
    const int a = edges[e].from, b = edges[e].to;
    const QRectF& from = r.nodes[a];
    const QRectF& to = r.nodes[b];
    const bool self = a == b;
    right += kLoopGap;
    // Out of the right side and back in, or under and over the row where boxes are in the way.
    QVector<QPointF> corners;
    if (blocked(a)) {
      const qreal x = from.right() - kInset, y = bottom[layer[a]] + kUnder;
      corners << QPointF(x, from.bottom()) << QPointF(x, y) << QPointF(right, y);
    } else {
      const qreal y = self ? from.bottom() - from.height() * 0.25 : from.center().y();
      corners << QPointF(from.right(), y) << QPointF(right, y);
    }
    const qreal leaves = corners.last().y();
    if (blocked(b)) {
      const qreal x = to.right() - kInset, y = top[layer[b]] - kOver;
      corners << QPointF(right, y) << QPointF(x, y) << QPointF(x, to.top());
      r.arrow_angle[e] = 90;
    } else {
      const qreal y = self ? to.top() + to.height() * 0.25 : to.center().y();
      corners << QPointF(right, y) << QPointF(to.right(), y);
      r.arrow_angle[e] = 180;
    }
    const qreal enters = blocked(b) ? top[layer[b]] - kOver : corners.last().y();
    r.edges[e] = rounded(corners);
    r.arrows[e] = corners.last();
    if (!edges[e].label.isEmpty()) {
      const QSizeF size = edges[e].label;
      r.labels[e] = QRectF(QPointF(right + kLabelGap, (leaves + enters - size.height()) / 2), size);
      right = r.labels[e].right();
      r.bounds |= r.labels[e];
    }
    r.bounds |= r.edges[e].boundingRect();
  }
  return r;
}

}  // namespace breakline::ui
