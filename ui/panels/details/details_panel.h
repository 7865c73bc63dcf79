// SPDX-License-Identifier: GPL-3.0-or-later
// Everything about the selected break, segment or region: reason, chain, hints and the matching knowledge
// record.
#pragma once
#include <QHash>
#include <QJsonArray>
#include <QList>
#include <QPair>

#include "ui/models/knowledge.h"
#include "ui/panels/panel.h"

class QStackedWidget;
class QTextBrowser;
class QTextDocument;
class QToolButton;
class QUrl;

namespace breakline::ui {

class DetailsPanel : public Panel {
  Q_OBJECT
 public:
  DetailsPanel(const PanelContext& context, QWidget* parent);
  bool eventFilter(QObject* object, QEvent* event) override;
  QList<QAction*> commands() override { return commands_; }
  QTextBrowser* browser() const { return browser_; }

 private:
  void refresh_now() override;
  void show_page(const QString& page);
  void follow_link(const QUrl& url);
  QString break_page(const Break& b) const;
  QString segment_page(const Segment& s) const;
  QString region_page(const Region& g) const;
  QString line_page(const Selected& where) const;
  QString records_page(const Break& b) const;
  QString record_page(const KnowledgeRecord& record, int number, int count) const;
  QString heading(const QString& text) const;
  QString place_link(const QString& file, int line, const QString& words) const;
  QString quiet(const QString& text) const;

  QStackedWidget* stack_;
  QTextBrowser* browser_;
  QToolButton* switch_;
  QHash<QString, QJsonArray> records_;
  QList<QAction*> commands_;
  QString shown_for_, shown_;
  /// The pages shown last, the present one first, with their fonts: a toggle there and back lays out nothing
  /// anew. Owned by the browser.
  QList<QPair<QString, QTextDocument*>> laid_out_;
  Language language_ = Language::English;
};

}  // namespace breakline::ui
