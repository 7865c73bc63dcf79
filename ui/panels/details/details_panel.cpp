// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/details/details_panel.h"

#include <QAction>
#include <QDesktopServices>
#include <QEvent>
#include <QFileInfo>
#include <QLocale>
#include <QPushButton>
#include <QScrollBar>
#include <QStackedWidget>
#include <QTextBrowser>
#include <QTextDocument>
#include <QToolButton>
#include <QUrl>
#include <QUrlQuery>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/models/reasons.h"
#include "ui/models/words.h"
#include "ui/widgets/banner.h"

namespace breakline::ui {
namespace {
constexpr qreal kMargin = 12;

QString html(const QString& text) {
  return text.toHtmlEscaped().replace(QLatin1Char('\n'), QLatin1String("<br>"));
}

QString percent(double rate) { return QStringLiteral("%1 %").arg(rate * 100, 0, 'f', 0); }

QString link(const QString& kind, const QString& id, const QString& words) {
  QUrl url(kind + QStringLiteral(":x"));
  QUrlQuery query;
  query.addQueryItem(QStringLiteral("id"), QString::fromLatin1(QUrl::toPercentEncoding(id)));
  url.setQuery(query);
  return QStringLiteral("<a href=\"%1\">%2</a>").arg(url.toString(QUrl::FullyEncoded), words.toHtmlEscaped());
}

}  // namespace

DetailsPanel::DetailsPanel(const PanelContext& context, QWidget* parent) : Panel(context, parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  stack_ = new QStackedWidget(this);
  auto* empty = new EmptyState({}, {});
  empty->set_action(tr("Go to the first break"), [this] {
    if (const ReportPtr r = report())
      for (const Break* b : r->breaks_of(session()->current_target())) return select_break(b->id);
  });
  auto offer = [this, empty] {
    const ReportPtr r = report();
    if (const auto w = waiting())
      empty->set_words(w->heading, w->words);
    else
      empty->set_words(tr("Nothing selected"), tr("Select a break, a segment, a region or a line."));
    empty->offer(r && !r->breaks_of(session()->current_target()).isEmpty());
  };
  for (auto signal : {&Session::report_changed, &Session::state_changed, &Session::problem_changed})
    connect(session(), signal, empty, offer);
  offer();
  browser_ = new QTextBrowser(this);
  browser_->setObjectName(QStringLiteral("details"));
  browser_->setOpenLinks(false);
  browser_->setFrameShape(QFrame::NoFrame);
  stack_->addWidget(empty);
  stack_->addWidget(browser_);
  column->addWidget(stack_);
  connect(browser_, &QTextBrowser::anchorClicked, this, &DetailsPanel::follow_link);
  connect(selection(), &Selection::changed, this, &DetailsPanel::refresh_later);
  connect(session(), &Session::report_changed, this, [this] {
    records_.clear();
    refresh_later();
  });
  connect(session(), &Session::profiles_changed, this, &DetailsPanel::refresh_later);
  connect(session(), &Session::diagnosed, this, [this](const QString& id, const QJsonArray& records) {
    records_.insert(id, records);
    if (selection()->is(SelectionKind::Break, id)) refresh_later();
  });
  connect(theme(), &Theme::changed, this, &DetailsPanel::refresh_later);
  if (QLocale().language() == QLocale::Chinese) language_ = Language::Chinese;
  auto* toggle = new QAction(tr("Details in English / 简体中文"), this);
  toggle->setShortcut(QKeySequence(QStringLiteral("Ctrl+Shift+L")));
  connect(toggle, &QAction::triggered, this, [this] {
    language_ = language_ == Language::English ? Language::Chinese : Language::English;
    refresh_later();
  });
  commands_ << toggle;
  // The switch floats over the page's corner: it belongs to the text, not to the window.
  switch_ = new QToolButton(browser_);
  switch_->setObjectName(QStringLiteral("language"));
  switch_->setToolTip(tr("Switch the language of the explanation (%1)").arg(toggle->shortcut().toString()));
  const auto name = [this] {
    switch_->setText(language_ == Language::English ? QStringLiteral("中文") : QStringLiteral("English"));
    switch_->adjustSize();
    switch_->move(browser_->width() - switch_->width() - 14, 6);
  };
  name();
  connect(switch_, &QToolButton::clicked, toggle, &QAction::trigger);
  connect(toggle, &QAction::triggered, switch_, name);
  browser_->installEventFilter(this);
}

bool DetailsPanel::eventFilter(QObject* object, QEvent* event) {
  if (object == browser_ && (event->type() == QEvent::Resize || event->type() == QEvent::Show)) {
    switch_->adjustSize();
    switch_->move(browser_->width() - switch_->width() - 14, 6);
  }
  return Panel::eventFilter(object, event);
}

QString DetailsPanel::heading(const QString& text) const {
  return QStringLiteral("<p style='margin-top:10px;margin-bottom:2px'><b>%1</b></p>")
      .arg(text.toHtmlEscaped());
}

QString DetailsPanel::quiet(const QString& text) const {
  return QStringLiteral("<span style='color:%1'>%2</span>").arg(theme()->css(Tone::Quiet), html(text));
}

QString DetailsPanel::place_link(const QString& file, int line, const QString& words) const {
  return link(QStringLiteral("place"), QStringLiteral("%1\n%2").arg(file).arg(line), words);
}

void DetailsPanel::refresh_now() {
  const Selected& now = selection()->current();
  const ReportPtr r = report();
  QString page;
  if (r) switch (now.kind) {
      case SelectionKind::Break:
        if (const Break* b = r->find_break(now.id)) {
          if (!records_.contains(b->id)) session()->diagnose(*b);
          page = break_page(*b);
        }
        break;
      case SelectionKind::Segment:
        if (const Segment* s = r->find_segment(now.id)) page = segment_page(*s);
        break;
      case SelectionKind::Region:
        if (const Region* g = r->find_region(now.id)) page = region_page(*g);
        break;
      case SelectionKind::Line:
        page = line_page(now);
        break;
      case SelectionKind::None:
        break;
    }
  stack_->setCurrentIndex(page.isEmpty() ? 0 : 1);
  if (page.isEmpty()) return;
  page = QStringLiteral(
             "<style>a { color: %1; text-decoration: none; } li { margin-bottom: 4px; } "
             "p { margin-top: 2px; margin-bottom: 2px; }</style>%2")
             .arg(theme()->css(Tone::Accent), page);
  if (page == shown_) return;  // laying out a page takes far longer than writing it
  shown_ = page;
  const QString id = now.id + QString::number(int(now.kind));
  const int scroll = id == shown_for_ ? browser_->verticalScrollBar()->value() : 0;
  shown_for_ = id;
  show_page(page);
  browser_->verticalScrollBar()->setValue(scroll);
}

void DetailsPanel::show_page(const QString& page) {
  constexpr int kMostLaidOut = 6;
  const QString key = browser_->font().key() + page;
  const auto known =
      std::find_if(laid_out_.begin(), laid_out_.end(), [&](const auto& p) { return p.first == key; });
  if (known != laid_out_.end()) {
    std::rotate(laid_out_.begin(), known, known + 1);
  } else {
    // A document that is in the view already would be laid out at every step of its making.
    auto* document = new QTextDocument(browser_);
    document->setDocumentMargin(kMargin);
    document->setDefaultFont(browser_->font());
    document->setHtml(page);
    laid_out_.prepend({key, document});
  }
  browser_->setDocument(laid_out_.first().second);
  while (laid_out_.size() > kMostLaidOut) delete laid_out_.takeLast().second;
}

QString DetailsPanel::break_page(const Break& b) const {
  const QString color = theme()->css(b.is_error() ? Tone::BreakError : Tone::BreakAllowed);
  // PyTorch's own headline where the window speaks English, so that it can be searched for.
  const QString head =
      QLocale().language() == QLocale::Chinese ? reason_label(b.reason_id, b.reason) : b.reason;
  QString page = QStringLiteral("<p style='font-size:large;color:%1'><b>%2 %3</b></p>")
                     .arg(color, b.is_error() ? QStringLiteral("⬣") : QStringLiteral("◆"), html(head));
  if (head != b.reason) page += QStringLiteral("<p>%1</p>").arg(quiet(b.reason));
  const QString place =
      tr("%1, line %2").arg(QFileInfo(b.file).fileName()).arg(b.line) +
      (b.column >= 0 ? tr(", columns %1–%2").arg(b.column + 1).arg(b.end_column) : QString());
  // A break inside a library is first of all that line of the user's which called it.
  QString where = place_link(b.file, b.line, place);
  if (b.in_library())
    where =
        place_link(b.user.file, b.user.line,
                   tr("%1, line %2").arg(QFileInfo(b.user.file).fileName()).arg(b.user.line) +
                       (b.user.function.isEmpty() ? QString() : QStringLiteral(" · ") + b.user.function)) +
        QStringLiteral("<br>%1 %2").arg(quiet(tr("happens in")), where);
  if (!b.code.isEmpty()) page += QStringLiteral("<p><code>%1</code></p>").arg(html(b.code));
  page += QStringLiteral("<p>%1<br>%2</p>")
              .arg(where,
                   quiet(tr("%1, decided by %2")
                             .arg(b.is_error() ? tr("error") : tr("allowed"), source_words(b.policy_source)) +
                         QStringLiteral(" · ") + tr("%1 per call").arg(b.per_call, 0, 'g', 3)));
  const ProfilePtr profile = session()->profile(b.target);
  if (const BreakCost* cost = profile ? profile->of_break(b.id) : nullptr)
    page += QStringLiteral("<p><b>%1</b> %2</p>").arg(tr("Cost:"), html(cost_words(*cost)));
  if (!b.explanation.isEmpty()) page += QStringLiteral("<p>%1</p>").arg(html(b.explanation));
  if (!b.hints.isEmpty()) {
    page +=
        heading(tr("Hints")) + QStringLiteral("<ul style='margin-left:-24px;margin-top:0;margin-bottom:0'>");
    for (const QString& h : b.hints) page += QStringLiteral("<li>%1</li>").arg(html(h));
    page += QStringLiteral("</ul>");
  }
  if (!b.chain.isEmpty()) {
    page += heading(tr("Call chain"));
    int depth = 0, library = 0;
    // Frames of installed packages are counted, not listed: the user's own frames are what can be changed.
    const auto flush = [&] {
      if (library)
        page += QStringLiteral("<p style='margin-left:%1px'>%2</p>")
                    .arg(depth * 10)
                    .arg(quiet(counted(library, tr("… %1 library frame"), tr("… %1 library frames"))));
      library = 0;
    };
    for (const CallPlace& c : b.chain) {
      if (c.file.contains(QLatin1String("site-packages")) ||
          c.file.contains(QLatin1String("dist-packages"))) {
        ++library;
        continue;
      }
      flush();
      page += QStringLiteral("<p style='margin-left:%1px'>%2 %3</p>")
                  .arg(depth++ * 10)
                  .arg(place_link(c.file, c.line, c.function),
                       quiet(QStringLiteral("%1:%2").arg(QFileInfo(c.file).fileName()).arg(c.line)));
    }
    flush();
  }
  if (!b.context.isEmpty())
    page += heading(tr("Context")) + QStringLiteral("<p>%1</p>").arg(quiet(b.context));
  return page + records_page(b);
}

QString DetailsPanel::records_page(const Break& b) const {
  const auto found = records_.constFind(b.id);
  if (found == records_.constEnd())
    return session()->state() == EngineState::Died
               ? QString()
               : QStringLiteral("<p>%1</p>").arg(quiet(tr("Looking up what is known about it…")));
  const QVector<KnowledgeRecord> records = matching_records(*found, b.knowledge, language_);
  if (records.isEmpty())
    return heading(tr("Known about it")) +
           QStringLiteral("<p>%1</p>").arg(quiet(tr("No record matches this break.")));
  QString page;
  for (int i = 0; i < records.size(); ++i) page += record_page(records[i], i + 1, int(records.size()));
  return page;
}

QString DetailsPanel::record_page(const KnowledgeRecord& record, int number, int count) const {
  const KnowledgeRecord* k = &record;
  const bool zh = language_ == Language::Chinese;
  const auto say = [zh](const char* english, const char* chinese) {
    return zh ? QString::fromUtf8(chinese) : QString::fromUtf8(english);
  };
  const auto local = [&](const LocalText& t) {
    return html(t.text) + (t.translated ? QString() : QLatin1Char(' ') + quiet(QStringLiteral("（未翻译）")));
  };
  const auto rate = [&](const std::optional<double>& r, const char* english, const char* chinese) {
    return quiet(r ? say(english, chinese).arg(percent(*r)) : say("not measured", "未测量"));
  };
  QString page = QStringLiteral("<hr>");
  if (count > 1)
    page += QStringLiteral("<p>%1<br><b>%2</b></p>")
                .arg(quiet(say("Known record %1 of %2", "已知记录 %1 / %2").arg(number).arg(count)),
                     local(k->signature));
  page += heading(say("Root cause", "根本原因")) + QStringLiteral("<p>%1</p>").arg(local(k->root_cause));
  if (!k->workarounds.isEmpty()) {
    page += heading(say("Workarounds", "解决办法")) +
            QStringLiteral("<ol style='margin-left:-20px;margin-top:0;margin-bottom:0'>");
    for (const auto& w : k->workarounds) {
      page += QStringLiteral("<li>%1<br>%2").arg(local(w.action), rate(w.rate, "worked in %1", "成功率 %1"));
      if (!w.how.text.isEmpty()) page += QStringLiteral("<br>%1").arg(local(w.how));
      if (!w.condition.isEmpty()) page += QStringLiteral("<br>%1").arg(quiet(w.condition));
      page += QStringLiteral("</li>");
    }
    page += QStringLiteral("</ol>");
  }
  if (!k->dead_ends.isEmpty()) {
    page += heading(say("Dead ends", "走不通的办法")) +
            QStringLiteral("<ul style='margin-left:-24px;margin-top:0;margin-bottom:0'>");
    for (const auto& d : k->dead_ends)
      page += QStringLiteral("<li><span style='color:%1'>✕</span> %2<br>%3 %4<br>%5</li>")
                  .arg(theme()->css(Tone::BreakError), local(d.action), say("Why it fails:", "失败原因："),
                       local(d.why), rate(d.rate, "failed in %1", "失败率 %1"));
    page += QStringLiteral("</ul>");
  }
  if (!k->links.isEmpty()) {
    page += heading(say("Links", "链接"));
    for (const QString& l : k->links)
      page += QStringLiteral("<p><a href=\"%1\">%1</a></p>").arg(l.toHtmlEscaped());
  }
  QStringList trust;
  if (!k->tier.isEmpty()) trust << say("tier: %1", "级别：%1").arg(k->tier);
  trust << (k->confidence ? say("confidence %1", "置信度 %1").arg(percent(*k->confidence))
                          : say("confidence not measured", "置信度未测量"));
  trust << say("evidence: %1", "证据：%1").arg(k->evidence);
  trust << (k->fix_rate ? say("fixed in %1 of cases", "修复成功率 %1").arg(percent(*k->fix_rate))
                        : say("fix rate not measured", "修复率未测量"));
  if (!k->last_confirmed.isEmpty()) trust << say("last confirmed %1", "最近确认于 %1").arg(k->last_confirmed);
  page += heading(say("How far to trust this", "可信程度")) +
          QStringLiteral("<p>%1<br>%2</p>").arg(quiet(trust.join(QStringLiteral(" · "))), quiet(k->id));
  return page;
}

QString DetailsPanel::segment_page(const Segment& s) const {
  QString page = QStringLiteral("<p style='font-size:large;color:%1'><b>%2</b></p>")
                     .arg(theme()->css(Tone::Segment),
                          s.ops.isEmpty() ? tr("Segment without ops") : tr("Segment (a graph)"));
  page +=
      QStringLiteral("<p>%1<br>%2</p>")
          .arg(place_link(s.file, s.line, tr("%1, lines %2–%3").arg(s.function).arg(s.line).arg(s.end_line)),
               quiet(counted(int(s.ops.size()), tr("%1 op"), tr("%1 ops")) + QStringLiteral(" · ") +
                     counted(s.kernel_count, tr("%1 kernel"), tr("%1 kernels")) + QStringLiteral(" · ") +
                     counted(s.guards, tr("%1 guard"), tr("%1 guards")) + QStringLiteral(" · ") +
                     counted(s.runs, tr("%1 run"), tr("%1 runs"))));
  page += heading(tr("Plan")) + QStringLiteral("<p>%1%2</p>")
                                    .arg(html(s.plan), s.plan_reason.isEmpty()
                                                           ? QString()
                                                           : QStringLiteral(": ") + html(s.plan_reason));
  if (s.plan_reason.contains(QLatin1String("grad")) && !session()->request().no_grad)
    page += QStringLiteral("<p>%1</p>")
                .arg(link(QStringLiteral("command"), QStringLiteral("no_grad"), tr("Measure under no_grad")));
  if (s.trace_us > 0 || s.compile_us > 0)
    page += QStringLiteral("<p>%1</p>")
                .arg(quiet(
                    tr("traced in %1, compiled in %2").arg(format_us(s.trace_us), format_us(s.compile_us))));
  if (!s.exit.isEmpty()) page += QStringLiteral("<p>%1</p>").arg(quiet(tr("ends with: %1").arg(s.exit)));
  if (!s.kernels.isEmpty()) {
    page += heading(tr("Kernels"));
    for (const SegmentKernel& k : s.kernels)
      page += QStringLiteral("<p>%1 %2</p>")
                  .arg(html(k.name), quiet(QStringLiteral("%1 · %2").arg(
                                         k.device, counted(int(k.ops.size()), tr("%1 op"), tr("%1 ops")))));
  }
  page += heading(tr("Ops")) + QStringLiteral("<table cellspacing='0' cellpadding='1'>");
  for (const SegmentOp& op : s.ops)
    page += QStringLiteral("<tr><td>%1&nbsp;&nbsp;</td><td>%2&nbsp;&nbsp;</td><td align='right'>%3</td></tr>")
                .arg(html(op.name), quiet(op.dtype + op.shape),
                     op.line ? place_link(op.file, op.line, QString::number(op.line)) : QString());
  return page + QStringLiteral("</table>");
}

QString DetailsPanel::region_page(const Region& g) const {
  QString page = QStringLiteral("<p style='font-size:large'><b>%1</b></p>")
                     .arg(html(g.qualname.isEmpty() ? g.key : g.qualname));
  page += QStringLiteral("<p>%1<br>%2</p>")
              .arg(place_link(
                       g.file, g.line,
                       tr("%1, lines %2–%3").arg(QFileInfo(g.file).fileName()).arg(g.line).arg(g.end_line)),
                   quiet(kind_word(g.kind)));
  page += QStringLiteral("<p>%1: <b>%2</b><br>%3</p>")
              .arg(tr("In force"), html(policy_word(g.effective)),
                   quiet(tr("decided by %1").arg(source_words(g.source))));
  page += QStringLiteral("<p>%1: %2<br>%3: %4</p>")
              .arg(tr("In the code"), html(policy_word(g.declared)), tr("Your overlay"),
                   html(policy_word(session()->overlay_value(Session::overlay_key(g)))));
  const ReportPtr r = report();
  for (const OverlayState& s : r->overlays)
    if (s.key == Session::overlay_key(g) && !s.note.isEmpty())
      page += QStringLiteral("<p>%1</p>").arg(quiet(s.note));
  QString inside;
  for (const Break* b : r->breaks_of({}))
    if (r->holds(g, *b))
      inside +=
          QStringLiteral("<p>%1</p>")
              .arg(link(QStringLiteral("break"), b->id,
                        tr("line %1: %2").arg(b->user.line).arg(reason_label(b->reason_id, b->reason))));
  return inside.isEmpty() ? page : page + heading(tr("Breaks inside")) + inside;
}

QString DetailsPanel::line_page(const Selected& where) const {
  const ReportPtr r = report();
  QString page =
      QStringLiteral("<p style='font-size:large'><b>%1</b></p>").arg(tr("Line %1").arg(where.line));
  QString inside;
  for (const Target& t : r->targets) {
    int n = 0;
    for (const Segment& s : t.segments) {
      QStringList names;
      for (const SegmentOp& op : s.ops)
        if (op.line == where.line && r->resolve(op.file) == where.file) names << op.name;
      if (!names.isEmpty())
        inside += QStringLiteral("<p>%1 %2</p>")
                      .arg(link(QStringLiteral("segment"), s.id, tr("%1, segment %2").arg(t.name).arg(n)),
                           quiet(names.join(QStringLiteral(", "))));
      ++n;
    }
  }
  page += inside.isEmpty()
              ? QStringLiteral("<p>%1</p>").arg(quiet(tr("No compiled op comes from this line.")))
              : inside;
  if (const Region* g = r->region_at(where.file, where.line))
    page += QStringLiteral("<p>%1 %2</p>")
                .arg(link(QStringLiteral("region"), g->key, g->qualname.isEmpty() ? g->key : g->qualname),
                     quiet(tr("policy in force: %1").arg(policy_word(g->effective))));
  return page;
}

void DetailsPanel::follow_link(const QUrl& url) {
  const QString id = QUrl::fromPercentEncoding(
      QUrlQuery(url).queryItemValue(QStringLiteral("id"), QUrl::FullyDecoded).toUtf8());
  if (url.scheme() == QLatin1String("place")) {
    const int line = id.section(QLatin1Char('\n'), 1).toInt();
    const ReportPtr r = report();
    const QString file = id.section(QLatin1Char('\n'), 0, 0);
    // The selected break stays selected; the source goes to the place.
    emit wants_command(QStringLiteral("goto:%1:%2").arg(line).arg(r ? r->resolve(file) : file));
  } else if (url.scheme() == QLatin1String("break")) {
    select_break(id);
  } else if (url.scheme() == QLatin1String("segment")) {
    select_segment(id);
  } else if (url.scheme() == QLatin1String("region")) {
    select_region(id);
  } else if (url.scheme() == QLatin1String("command")) {
    session()->set_no_grad(true);
    session()->measure(session()->current_target());
    emit wants_panel(QStringLiteral("timings"));
  } else if (url.scheme().startsWith(QLatin1String("http"))) {
    QDesktopServices::openUrl(url);
  }
}

}  // namespace breakline::ui
