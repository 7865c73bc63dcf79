// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/theme.h"

#include <QApplication>
#include <QFile>
#include <QFontDatabase>
#include <QJsonDocument>
#include <QJsonObject>
#include <QPainter>
#include <QPixmap>
#include <QStyleFactory>
#include <QSvgRenderer>
#include <algorithm>
#include <cmath>

namespace breakline::ui {
namespace {

const char* const kToneNames[] = {"ground",
                                  "pane",
                                  "raised",
                                  "line",
                                  "hover",
                                  "text",
                                  "quiet",
                                  "accent",
                                  "accent_text",
                                  "selection",
                                  "segment",
                                  "segment_fill",
                                  "break_allowed",
                                  "break_allowed_fill",
                                  "break_error",
                                  "break_error_fill",
                                  "allow",
                                  "error",
                                  "inherit",
                                  "eager",
                                  "compiled",
                                  "vulkan",
                                  "code_keyword",
                                  "code_string",
                                  "code_number",
                                  "code_comment",
                                  "code_definition",
                                  "code_decorator",
                                  "heat"};

QFont first_font(const QStringList& wanted, double points) {
  const QStringList have = QFontDatabase::families();
  QStringList families;
  for (const QString& family : wanted)
    if (have.contains(family)) families << family;
  if (families.isEmpty()) families << wanted.last();
  QFont font;
  font.setFamilies(families);
  font.setPointSizeF(points);
  return font;
}

const char* const kStyle = R"(
QMainWindow, QDialog { background: @ground; }
QMainWindow::separator { background: @ground; width: 5px; height: 5px; }
QMainWindow::separator:hover { background: @accent; }
QToolTip { background: @raised; color: @text; border: 1px solid @line; padding: 4px 6px; }
QToolBar { background: @ground; border: 0; padding: 4px 8px; spacing: 4px; }
QToolBar::separator { background: @line; width: 1px; margin: 4px 4px; }
QToolBar QLabel { color: @quiet; padding-left: 4px; }
QToolButton { background: transparent; color: @text; border: 1px solid transparent; border-radius: 5px; padding: 4px 8px; }
QToolButton:hover { background: @hover; border-color: @line; }
QToolButton:pressed, QToolButton:checked { background: @selection; }
QToolButton:disabled { color: @inherit; }
QToolButton:focus { border-color: @accent; }
QPushButton { background: @raised; color: @text; border: 1px solid @line; border-radius: 5px; padding: 5px 14px; }
QPushButton:hover { background: @hover; }
QPushButton:focus { border-color: @accent; }
QPushButton:pressed { background: @selection; }
QPushButton:disabled { color: @inherit; }
QPushButton[primary="true"] { background: @accent; color: @accent_text; border-color: @accent; }
QComboBox { background: @raised; color: @text; border: 1px solid @line; border-radius: 5px; padding: 3px 8px; min-height: 18px; }
QComboBox:hover { background: @hover; }
QComboBox:focus { border-color: @accent; }
QComboBox::drop-down { border: 0; width: 20px; }
QComboBox::down-arrow { image: url(:/icons/chevron_%theme%.svg); width: 10px; height: 10px; }
QComboBox QAbstractItemView { background: @raised; color: @text; border: 1px solid @line; selection-background-color: @selection; selection-color: @text; outline: 0; }
QLineEdit, QSpinBox { background: @raised; color: @text; border: 1px solid @line; border-radius: 5px; padding: 3px 6px; selection-background-color: @accent; selection-color: @accent_text; }
QLineEdit:focus { border-color: @accent; }
QMenuBar { background: @ground; color: @text; padding: 1px 6px; }
QMenuBar::item { padding: 4px 8px; border-radius: 4px; background: transparent; }
QMenuBar::item:selected { background: @hover; }
QMenu { background: @raised; color: @text; border: 1px solid @line; padding: 4px; }
QMenu::item { padding: 5px 24px 5px 12px; border-radius: 4px; }
QMenu::item:selected { background: @selection; }
QMenu::item:disabled { color: @inherit; }
QMenu::separator { height: 1px; background: @line; margin: 4px 8px; }
QStatusBar { background: @ground; color: @quiet; border-top: 1px solid @line; }
QStatusBar::item { border: 0; }
QStatusBar QLabel { color: @quiet; padding: 2px 6px; }
QHeaderView { background: @pane; }
QHeaderView::section { background: @pane; color: @quiet; border: 0; border-bottom: 1px solid @line; padding: 0 6px; }
QTableView, QTreeView, QTextBrowser, QPlainTextEdit, QListView { background: @pane; color: @text; border: 0; selection-background-color: @selection; selection-color: @text; outline: 0; }
QTableView::item, QTreeView::item { padding: 2px 6px; border: 0; }
QTableView::item:selected, QTreeView::item:selected { background: @selection; color: @text; }
QTreeView::item:hover, QTableView::item:hover { background: @hover; }
QTreeView::item:selected:hover, QTableView::item:selected:hover { background: @selection; }
QGraphicsView, QsciScintilla { border: 0; }
QAbstractScrollArea::corner { background: transparent; border: 0; }
QTabBar { background: @ground; }
QTabBar::tab { background: transparent; color: @quiet; padding: 6px 12px; border: 0; border-bottom: 2px solid transparent; }
QTabBar::tab:selected { color: @text; border-bottom: 2px solid @accent; }
QTabBar::tab:hover { color: @text; }
QTabBar::tab:focus { color: @text; }
QScrollBar:vertical { background: transparent; width: 10px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 0; }
QScrollBar::handle { background: @line; border-radius: 3px; margin: 2px; min-height: 24px; min-width: 24px; }
QScrollBar::handle:hover { background: @inherit; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
#panel_title { background: @pane; border-bottom: 1px solid @line; }
#panel_title QLabel { color: @text; font-weight: 600; }
#panel_title QLabel[quiet="true"] { color: @quiet; font-weight: 400; }
#panel_title QToolButton { padding: 2px; }
#panel_title QLineEdit { padding: 1px 6px; max-height: 20px; }
#panel_title QToolButton[word="true"] { padding: 1px 8px; }
#banner { border: 0; }
#banner QLabel { background: transparent; color: @text; }
#empty_state { background: @pane; }
#empty_state QLabel { color: @quiet; }
#empty_state QLabel[heading="true"] { color: @text; font-weight: 600; }
#quiet_note { color: @quiet; background: @pane; padding: 4px 12px; }
)";

}  // namespace

Theme::Theme(QObject* parent) : QObject(parent), colors_(std::size(kToneNames)) {
  const double points = 9;
  ui_font_ = first_font({QStringLiteral("Inter"), QStringLiteral("Noto Sans CJK SC"),
                         QStringLiteral("Noto Sans"), QStringLiteral("DejaVu Sans")},
                        points);
  code_font_ = first_font({QStringLiteral("JetBrains Mono"), QStringLiteral("Noto Sans Mono"),
                           QStringLiteral("DejaVu Sans Mono"), QStringLiteral("Noto Sans Mono CJK SC")},
                          points);
  code_font_.setStyleHint(QFont::Monospace);
  small_font_ = ui_font_;
  small_font_.setPointSizeF(points - 1);
}

bool Theme::set(const QString& name) {
  QFile file(QStringLiteral(":/themes/%1.json").arg(name));
  if (!file.open(QIODevice::ReadOnly)) return false;
  const QJsonObject json = QJsonDocument::fromJson(file.readAll()).object();
  for (size_t i = 0; i < std::size(kToneNames); ++i)
    colors_[int(i)] = QColor(json.value(QLatin1String(kToneNames[i])).toString());
  name_ = name;
  icons_.clear();
  dark_ = json.value(QLatin1String("dark")).toBool();
  apply();
  emit changed();
  return true;
}

void Theme::apply() {
  QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
  QPalette p;
  const QColor ground = color(Tone::Ground), pane = color(Tone::Pane), text = color(Tone::Text);
  for (const QPalette::ColorGroup group : {QPalette::Active, QPalette::Inactive, QPalette::Disabled}) {
    const QColor words = group == QPalette::Disabled ? color(Tone::Inherit) : text;
    p.setColor(group, QPalette::Window, ground);
    p.setColor(group, QPalette::WindowText, words);
    p.setColor(group, QPalette::Base, pane);
    p.setColor(group, QPalette::AlternateBase, ground);
    p.setColor(group, QPalette::Text, words);
    p.setColor(group, QPalette::Button, color(Tone::Raised));
    p.setColor(group, QPalette::ButtonText, words);
    p.setColor(group, QPalette::ToolTipBase, color(Tone::Raised));
    p.setColor(group, QPalette::ToolTipText, text);
    p.setColor(group, QPalette::Highlight, color(Tone::Selection));
    p.setColor(group, QPalette::HighlightedText, text);
    p.setColor(group, QPalette::PlaceholderText, color(Tone::Quiet));
    p.setColor(group, QPalette::Link, color(Tone::Accent));
    p.setColor(group, QPalette::Mid, color(Tone::Line));
    p.setColor(group, QPalette::Light, pane);
    p.setColor(group, QPalette::Dark, color(Tone::Line));
  }
  QApplication::setPalette(p);
  QApplication::setFont(ui_font_);
  QString style = QString::fromLatin1(kStyle);
  // Longest names first, so that "@text" does not eat the start of a longer name.
  QVector<int> order;
  for (int i = 0; i < int(std::size(kToneNames)); ++i) order.push_back(i);
  std::sort(order.begin(), order.end(),
            [](int a, int b) { return qstrlen(kToneNames[a]) > qstrlen(kToneNames[b]); });
  for (int i : order) style.replace(QLatin1Char('@') + QLatin1String(kToneNames[i]), colors_[i].name());
  style.replace(QLatin1String("%theme%"), name_);
  qApp->setStyleSheet(style);
}

QColor Theme::policy_color(const QString& value) const {
  if (value == QLatin1String("error")) return color(Tone::Error);
  return color(value == QLatin1String("allow") ? Tone::Allow : Tone::Inherit);
}

QIcon Theme::icon(const QString& name, Tone tone) const {
  const QString key = name + QLatin1Char('/') + QLatin1String(kToneNames[int(tone)]);
  if (const auto known = icons_.constFind(key); known != icons_.constEnd()) return *known;
  QFile file(QStringLiteral(":/icons/%1.svg").arg(name));
  if (!file.open(QIODevice::ReadOnly)) return {};
  const QByteArray svg = file.readAll();
  QIcon icon;
  const auto add = [&](const QColor& c, QIcon::Mode mode) {
    QByteArray colored = svg;
    colored.replace("currentColor", c.name().toLatin1());
    QSvgRenderer renderer(colored);
    for (int size : {16, 32}) {
      QPixmap pixmap(size, size);
      pixmap.fill(Qt::transparent);
      QPainter painter(&pixmap);
      renderer.render(&painter);
      painter.end();
      icon.addPixmap(pixmap, mode);
    }
  };
  add(color(tone), QIcon::Normal);
  add(color(Tone::Inherit), QIcon::Disabled);
  return *icons_.insert(key, icon);
}

double contrast(const QColor& a, const QColor& b) {
  const auto luminance = [](const QColor& c) {
    const auto part = [](double v) { return v <= 0.03928 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4); };
    return 0.2126 * part(c.redF()) + 0.7152 * part(c.greenF()) + 0.0722 * part(c.blueF());
  };
  const double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

}  // namespace breakline::ui
