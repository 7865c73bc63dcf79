// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/graph/graph_panel.h"

#include <QAction>
#include <QCoreApplication>
#include <QFileInfo>
#include <QGraphicsScene>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QPointer>
#include <QStackedWidget>
#include <QThreadPool>
#include <QToolButton>
#include <QVBoxLayout>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "ui/models/timings.h"
#include "ui/models/words.h"
#include "ui/panels/graph/graph_items.h"
#include "ui/widgets/banner.h"

namespace breakline::ui {
namespace {
constexpr double kLeastZoom = 0.05, kMostZoom = 4;
constexpr qreal kPartGap = 40;
// Boxes and edges up to which placing them takes less than waking a thread up.
constexpr qsizetype kPlacedAtOnce = 200;
}  // namespace

void GraphView::zoom(double factor) {
  const double now = transform().m11();
  const double next = std::clamp(now * factor, kLeastZoom, kMostZoom);
  scale(next / now, next / now);
}

void GraphView::wheelEvent(QWheelEvent* event) {
  if (event->modifiers() & (Qt::ControlModifier | Qt::ShiftModifier)) {
    QGraphicsView::wheelEvent(event);
    return;
  }
  const auto anchor = transformationAnchor();
  setTransformationAnchor(AnchorUnderMouse);
  zoom(std::pow(1.0015, event->angleDelta().y()));
  setTransformationAnchor(anchor);
  event->accept();
}

void GraphView::mousePressEvent(QMouseEvent* event) {
  pressed_ = event->pos();
  QGraphicsView::mousePressEvent(event);
}

void GraphView::mouseReleaseEvent(QMouseEvent* event) {
  QGraphicsView::mouseReleaseEvent(event);
  if (event->button() != Qt::LeftButton || (event->pos() - pressed_).manhattanLength() > 4) return;
  for (const QGraphicsItem* item : items(event->pos()))
    if (item->data(kItemKind).toInt()) {
      emit clicked(item->data(kItemKind).toInt(), item->data(kItemId).toString());
      return;
    }
  emit clicked(0, {});
}

void GraphView::mouseDoubleClickEvent(QMouseEvent* event) {
  for (const QGraphicsItem* item : items(event->pos()))
    if (item->data(kItemKind).toInt()) {
      emit double_clicked(item->data(kItemKind).toInt(), item->data(kItemId).toString());
      return;
    }
}

void GraphView::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Down:
      emit step_wanted(1);
      break;
    case Qt::Key_Up:
      emit step_wanted(-1);
      break;
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      zoom(1.2);
      break;
    case Qt::Key_Minus:
      zoom(1 / 1.2);
      break;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      emit expand_wanted();
      break;
    default:
      QGraphicsView::keyPressEvent(event);
  }
}

GraphPanel::GraphPanel(const PanelContext& context, QWidget* parent) : Panel(context, parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  stack_ = new QStackedWidget(this);
  empty_ = new EmptyState({}, {});
  empty_->set_action(tr("Open…"), [this] { emit wants_command(QStringLiteral("open")); });
  scene_ = new QGraphicsScene(this);
  view_ = new GraphView(scene_, this);
  view_->setObjectName(QStringLiteral("graph_view"));
  view_->setDragMode(QGraphicsView::ScrollHandDrag);
  view_->setFrameShape(QFrame::NoFrame);
  view_->setRenderHint(QPainter::Antialiasing);
  view_->setViewportUpdateMode(QGraphicsView::MinimalViewportUpdate);
  view_->viewport()->setCursor(Qt::ArrowCursor);
  view_->setAccessibleName(tr("Partition graph"));
  stack_->addWidget(empty_);
  stack_->addWidget(view_);
  column->addWidget(stack_);

  follow_waiting(this, &GraphPanel::say_why_empty);
  say_why_empty();
  connect(session(), &Session::stale_changed, this, &GraphPanel::fade);
  connect(session(), &Session::report_changed, this, &GraphPanel::refresh_later);
  connect(session(), &Session::target_changed, this, &GraphPanel::refresh_later);
  connect(session(), &Session::profiles_changed, this, &GraphPanel::refresh_later);
  connect(session(), &Session::strict_preview_changed, this, &GraphPanel::refresh_later);
  connect(theme(), &Theme::changed, this, &GraphPanel::refresh_later);
  connect(selection(), &Selection::changed, this, &GraphPanel::mark);
  connect(view_, &GraphView::clicked, this, [this](int kind, const QString& id) {
    if (kind == int(GraphItemKind::Segment))
      select_segment(id);
    else if (kind == int(GraphItemKind::Break))
      select_break(id);
    else
      selection()->clear();
  });
  connect(view_, &GraphView::double_clicked, this, [this](int kind, const QString& id) {
    if (kind == int(GraphItemKind::Segment))
      toggle_expanded(id);
    else
      emit wants_panel(QStringLiteral("details"));
  });
  connect(view_, &GraphView::step_wanted, this, &GraphPanel::step);
  connect(view_, &GraphView::expand_wanted, this, [this] {
    if (selection()->current().kind == SelectionKind::Segment) toggle_expanded(selection()->current().id);
  });

  const auto add = [this](const QString& text, const QString& icon, const char* shortcut, auto run) {
    auto* action = new QAction(text, this);
    action->setShortcut(QKeySequence(QLatin1String(shortcut)));
    action->setToolTip(QStringLiteral("%1 (%2)").arg(text, action->shortcut().toString()));
    action->setProperty("icon_name", icon);
    action->setIcon(theme()->icon(icon));
    connect(action, &QAction::triggered, this, run);
    commands_ << action;
  };
  add(tr("Fit graph"), QStringLiteral("fit"), "Ctrl+0", [this] { fit(); });
  add(tr("Zoom in"), QStringLiteral("zoom_in"), "Ctrl++", [this] { view_->zoom(1.2); });
  add(tr("Zoom out"), QStringLiteral("zoom_out"), "Ctrl+-", [this] { view_->zoom(1 / 1.2); });
  connect(theme(), &Theme::changed, this, [this] {
    for (QAction* a : std::as_const(commands_))
      a->setIcon(theme()->icon(a->property("icon_name").toString()));
  });
}

void GraphPanel::say_why_empty() {
  const auto w = waiting();
  empty_->offer(!w && !report());
  if (w)
    empty_->set_words(w->heading, w->words);
  else if (report())
    empty_->set_words(tr("No graphs"), tr("Nothing of this target was traced: see the list of breaks."));
  else
    empty_->set_words(tr("No graphs yet"),
                      tr("Once a script is compiled, its segments and breaks are drawn here."));
}

void GraphPanel::fade() {
  const qreal opacity = session()->report_stale() ? 0.5 : 1;
  for (QGraphicsItem* item : scene_->items())
    if (!item->parentItem()) item->setOpacity(opacity);
}

QList<QWidget*> GraphPanel::title_tools() {
  search_ = new QLineEdit(this);
  search_->setObjectName(QStringLiteral("graph_search"));
  search_->setPlaceholderText(tr("Find op"));
  search_->setClearButtonEnabled(true);
  search_->setMaximumWidth(150);
  search_count_ = new QLabel(this);
  search_count_->setProperty("quiet", true);
  connect(search_, &QLineEdit::textChanged, this, [this] {
    found_ = -1;
    mark();
  });
  connect(search_, &QLineEdit::returnPressed, this, &GraphPanel::find_next);
  QList<QWidget*> tools{search_count_, search_};
  for (QAction* a : std::as_const(commands_)) {
    auto* button = new QToolButton(this);
    button->setDefaultAction(a);
    tools << button;
  }
  return tools;
}

QString GraphPanel::cost_words(const Break& b) const {
  const ProfilePtr profile = session()->profile(b.target);
  const BreakCost* cost = profile ? profile->of_break(b.id) : nullptr;
  return cost ? format_us(cost->cost) : QString();
}

QString GraphPanel::time_of(const Target& t, const Segment& s) const {
  const ProfilePtr profile = session()->profile(t.id);
  const std::optional<double> us = profile ? profile->of_segment(s.id) : std::nullopt;
  return us ? format_us(*us) : QString();
}

void GraphPanel::refresh_now() {
  const ReportPtr r = report();
  const int job = ++wanted_;
  if (!r) {
    show_parts({});
    shown_ = job;
    emit settled_changed();
    return;
  }
  QVector<Part> parts;
  for (const Target& t : r->targets) {
    if (!session()->current_target().isEmpty() && t.id != session()->current_target()) continue;
    Part part;
    part.target = t.id;
    QHash<QString, int> index;
    int n = 0;
    for (const Segment& s : t.segments) {
      index.insert(s.id, int(part.nodes.size()));
      part.nodes << s.id;
      part.sizes << SegmentItem::size_of(s, tr("segment %1").arg(n++), time_of(t, s),
                                         expanded_.contains(s.id), *theme());
    }
    QSet<QString> drawn;
    const auto label_of = [&](const QString& id) {
      const Break* b = id.isEmpty() ? nullptr : r->find_break(id);
      return b ? EdgeItem::label_size(*b, cost_words(*b), *theme()) : QSizeF();
    };
    for (const Edge& e : t.edges) {
      if (!index.contains(e.from) || !index.contains(e.to)) continue;
      part.edges.push_back({index.value(e.from), index.value(e.to), label_of(e.break_id)});
      part.edge_breaks << e.break_id;
      if (!e.break_id.isEmpty()) drawn.insert(e.break_id);
    }
    for (const Break& b : t.breaks) {
      if (drawn.contains(b.id)) continue;
      // The path ends here: at an error, or where nothing was traced after the break. A break before the
      // first op has no segment in front of it, so its end stands alone.
      const bool end = b.is_error() || !index.contains(b.after);
      int to = index.value(b.after, -1);
      if (end) {
        to = int(part.nodes.size());
        part.nodes << QStringLiteral("!") + b.id;
        const QString words = b.is_error() ? tr("error: compilation stops here") : tr("back to Python");
        part.sizes << ErrorEndItem::size_of(words, *theme());
      }
      int from = index.value(b.before, -1);
      if (from < 0) {
        from = int(part.nodes.size());
        part.nodes << QStringLiteral("?") + b.id;
        part.sizes << QSizeF(120, 26);
      }
      part.edges.push_back({from, to, label_of(b.id)});
      part.edge_breaks << b.id;
    }
    parts.push_back(part);
  }
  qsizetype size = 0;
  for (const Part& p : std::as_const(parts)) size += p.nodes.size() + p.edges.size();
  if (size <= kPlacedAtOnce) {
    for (Part& p : parts) p.placed = layout_graph(p.sizes, p.edges);
    shown_report_ = r;
    show_parts(parts);
    shown_ = job;
    emit settled_changed();
    return;
  }
  // Geometry only: no widget, no item, no font is touched over there.
  QThreadPool::globalInstance()->start([self = QPointer<GraphPanel>(this), parts, job, r]() mutable {
    for (Part& p : parts) p.placed = layout_graph(p.sizes, p.edges);
    QMetaObject::invokeMethod(
        qApp,
        [self, parts, job, r] {
          if (!self || job != self->wanted_) return;
          self->shown_report_ = r;
          self->show_parts(parts);
          self->shown_ = job;
          emit self->settled_changed();
        },
        Qt::QueuedConnection);
  });
}

namespace {
/// A small quiet box where a path starts or ends without a segment.
class WordItem : public QGraphicsItem {
 public:
  WordItem(const QString& words, QSizeF size, const Theme& theme)
      : words_(words), size_(size), theme_(theme) {}
  QRectF boundingRect() const override { return QRectF(QPointF(-1, -1), size_ + QSizeF(2, 2)); }
  void paint(QPainter* p, const QStyleOptionGraphicsItem*, QWidget*) override {
    p->setPen(QPen(theme_.color(Tone::Inherit), 1, Qt::DashLine));
    p->setBrush(theme_.color(Tone::Pane));
    p->drawRoundedRect(QRectF(QPointF(0, 0), size_), size_.height() / 2, size_.height() / 2);
    p->setFont(theme_.small_font());
    p->setPen(theme_.color(Tone::Quiet));
    p->drawText(QRectF(QPointF(0, 0), size_), Qt::AlignCenter, words_);
  }

 private:
  QString words_;
  QSizeF size_;
  const Theme& theme_;
};
}  // namespace

void GraphPanel::show_parts(const QVector<Part>& parts) {
  scene_->clear();
  segments_.clear();
  edges_.clear();
  order_.clear();
  const ReportPtr r = shown_report_;
  view_->setBackgroundBrush(theme()->color(Tone::Pane));
  // Frames stand side by side while they can be read that way, else below one another.
  qreal wide = 0;
  for (const Part& part : parts) wide += part.placed.bounds.width() + 2 * FrameItem::kPadding + kPartGap;
  const bool row = wide <= view_->viewport()->width() * 1.05;
  qreal left = 0, top = 0;
  QRectF all;
  for (const Part& part : parts) {
    const Target* t = r->find_target(part.target);
    if (!t || part.nodes.isEmpty()) continue;
    const QPointF offset(left + FrameItem::kPadding - part.placed.bounds.left(), top + FrameItem::kTitle + 8);
    int n = 0;
    for (int i = 0; i < part.nodes.size(); ++i) {
      const QString& id = part.nodes[i];
      QGraphicsItem* item = nullptr;
      if (id.startsWith(QLatin1Char('!'))) {
        const Break* b = r->find_break(id.mid(1));
        if (b && b->is_error()) {
          item = new ErrorEndItem(
              t->error && t->error->break_id == b->id
                  ? t->error->type.section(QLatin1Char('.'), -1) + tr(": compilation stops here")
                  : tr("error: compilation stops here"),
              *theme());
          item->setData(kItemKind, int(GraphItemKind::Break));
          item->setData(kItemId, b->id);
        } else {
          item = new WordItem(tr("back to Python"), part.sizes[i], *theme());
        }
      } else if (id.startsWith(QLatin1Char('?'))) {
        item = new WordItem(tr("call"), part.sizes[i], *theme());
      } else if (const Segment* s = r->find_segment(id)) {
        auto* segment =
            new SegmentItem(*s, tr("segment %1").arg(n++), time_of(*t, *s), expanded_.contains(id), *theme());
        segments_.insert(id, segment);
        order_ << id;
        item = segment;
      }
      if (!item) continue;
      item->setPos(part.placed.nodes[i].topLeft() + offset);
      scene_->addItem(item);
    }
    for (int e = 0; e < part.edges.size(); ++e) {
      const Break* b = part.edge_breaks[e].isEmpty() ? nullptr : r->find_break(part.edge_breaks[e]);
      auto* edge =
          new EdgeItem(part.placed.edges[e], part.placed.labels[e], part.placed.arrows[e],
                       part.placed.arrow_angle[e], b, b ? cost_words(*b) : QString(),
                       b && session()->strict_preview() && r->strict_rejects.contains(b->id), *theme());
      edge->setPos(offset);
      scene_->addItem(edge);
      if (b) edges_.insert(b->id, edge);
    }
    const QString words = QStringLiteral("%1 · %2:%3 · %4 · %5")
                              .arg(kind_word(t->kind), QFileInfo(t->file).fileName())
                              .arg(t->line)
                              .arg(counted(t->graphs, tr("%1 graph"), tr("%1 graphs")),
                                   counted(int(t->breaks.size()), tr("%1 break"), tr("%1 breaks")));
    const qreal title = QFontMetricsF(theme()->ui_font()).horizontalAdvance(t->name + words) + 60;
    const QRectF box(
        left, top,
        std::max(part.placed.bounds.width() + 2 * FrameItem::kPadding, std::min<qreal>(title, 520)),
        part.placed.bounds.height() + FrameItem::kTitle + 8 + FrameItem::kPadding);
    scene_->addItem(new FrameItem(box, t->name, words, *theme()));
    all |= box;
    if (row)
      left = box.right() + kPartGap;
    else
      top = box.bottom() + kPartGap / 2;
  }
  scene_->setSceneRect(all.adjusted(-24, -24, 24, 24));
  stack_->setCurrentIndex(all.isNull() ? 0 : 1);
  fade();
  const QString what = r ? r->file + session()->current_target() : QString();
  if (what != fitted_for_ && !all.isNull()) fit_first();
  mark();
}

void GraphPanel::fit_first() {
  if (!isVisible() || view_->viewport()->width() < 80) return;
  fitted_for_ = shown_report_ ? shown_report_->file + session()->current_target() : QString();
  const QRectF all = scene_->itemsBoundingRect().adjusted(-12, -12, 12, 12);
  const QSizeF room = view_->viewport()->size();
  const double whole = std::min(room.width() / all.width(), room.height() / all.height());
  // Whole when it can still be read; else as wide as the pane, from the top.
  const double scale = whole >= 0.7 ? std::min(whole, 1.0) : std::clamp(room.width() / all.width(), 0.7, 1.0);
  view_->setTransform(QTransform::fromScale(scale, scale));
  if (whole >= 0.7) {
    view_->centerOn(all.center());
  } else {
    const qreal x =
        all.width() * scale <= room.width() ? all.center().x() : all.left() + room.width() / scale / 2;
    view_->centerOn(x, all.top() + room.height() / scale / 2);
  }
}

void GraphPanel::fit() {
  const QRectF all = scene_->itemsBoundingRect().adjusted(-12, -12, 12, 12);
  if (all.isEmpty()) return;
  const QSizeF room = view_->viewport()->size();
  const double scale =
      std::clamp(std::min(room.width() / all.width(), room.height() / all.height()), kLeastZoom, 1.25);
  view_->setTransform(QTransform::fromScale(scale, scale));
  view_->centerOn(all.center());
}

void GraphPanel::resizeEvent(QResizeEvent* event) {
  Panel::resizeEvent(event);
  if (fitted_for_.isEmpty() && !segments_.isEmpty()) fit_first();
}

void GraphPanel::showEvent(QShowEvent* event) {
  Panel::showEvent(event);
  if (fitted_for_.isEmpty() && !segments_.isEmpty()) fit_first();
}

void GraphPanel::mark() {
  const Selected& now = selection()->current();
  const ReportPtr r = shown_report_;
  const QString search = search_ ? search_->text() : QString();
  int hits = 0;
  QGraphicsItem* wanted = nullptr;
  for (auto it = segments_.constBegin(); it != segments_.constEnd(); ++it) {
    const Segment* s = r ? r->find_segment(it.key()) : nullptr;
    bool on = now.kind == SelectionKind::Segment && now.id == it.key();
    int line = 0;
    if (s && (now.kind == SelectionKind::Line || now.kind == SelectionKind::Break) &&
        r->resolve(s->file) == now.file)
      line = now.line;
    if (s && now.kind == SelectionKind::Region)
      for (const SegmentOp& op : s->ops)
        on |= op.line >= now.line && op.line <= now.end_line && r->resolve(op.file) == now.file;
    if (s && !search.isEmpty())
      for (const SegmentOp& op : s->ops) hits += op.name.contains(search, Qt::CaseInsensitive);
    it.value()->set_marked(on, line, search);
    if (on && now.kind == SelectionKind::Segment) wanted = it.value();
  }
  for (auto it = edges_.constBegin(); it != edges_.constEnd(); ++it) {
    const bool on = now.kind == SelectionKind::Break && now.id == it.key();
    it.value()->set_marked(on);
    if (on) wanted = it.value();
  }
  if (search_count_)
    search_count_->setText(search.isEmpty() ? QString() : counted(hits, tr("%1 hit"), tr("%1 hits")));
  if (wanted) {
    const QRectF seen = view_->mapToScene(view_->viewport()->rect()).boundingRect();
    const QRectF box = wanted->sceneBoundingRect();
    if (!seen.contains(box.center())) view_->centerOn(box.center());
  }
}

void GraphPanel::step(int direction) {
  if (order_.isEmpty()) return;
  const Selected& now = selection()->current();
  const int at = now.kind == SelectionKind::Segment ? int(order_.indexOf(now.id))
                                                    : (direction > 0 ? -1 : int(order_.size()));
  select_segment(order_[std::clamp(at + direction, 0, int(order_.size()) - 1)]);
}

void GraphPanel::find_next() {
  const QString search = search_->text();
  if (search.isEmpty() || !shown_report_) return;
  for (int i = 1; i <= order_.size(); ++i) {
    const int at = (found_ + i) % int(order_.size());
    const Segment* s = shown_report_->find_segment(order_[at]);
    for (const SegmentOp& op : s->ops)
      if (op.name.contains(search, Qt::CaseInsensitive)) {
        found_ = at;
        select_segment(s->id);
        return;
      }
  }
}

void GraphPanel::toggle_expanded(const QString& id) {
  if (!expanded_.remove(id)) expanded_.insert(id);
  refresh_later();
}

}  // namespace breakline::ui
