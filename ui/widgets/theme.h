// SPDX-License-Identifier: GPL-3.0-or-later
// Colours and fonts of the window. Every painter asks this object; nothing else names a colour.
#pragma once
#include <QColor>
#include <QFont>
#include <QHash>
#include <QIcon>
#include <QObject>
#include <QPalette>

namespace breakline::ui {

/// The meanings that have a colour (resources/themes/*.json gives each one).
enum class Tone {
  Ground,
  Pane,
  Raised,
  Line,
  Hover,
  Text,
  Quiet,
  Accent,
  AccentText,
  Selection,
  Segment,
  SegmentFill,
  BreakAllowed,
  BreakAllowedFill,
  BreakError,
  BreakErrorFill,
  Allow,
  Error,
  Inherit,
  Eager,
  Compiled,
  Vulkan,
  CodeKeyword,
  CodeString,
  CodeNumber,
  CodeComment,
  CodeDefinition,
  CodeDecorator,
  Heat
};

class Theme : public QObject {
  Q_OBJECT
 public:
  explicit Theme(QObject* parent = nullptr);
  /// "light" or "dark"; sets the application's palette and style sheet. False for an unknown name.
  bool set(const QString& name);
  const QString& name() const { return name_; }
  bool dark() const { return dark_; }
  QColor color(Tone tone) const { return colors_[int(tone)]; }
  QString css(Tone tone) const { return color(tone).name(); }
  QColor policy_color(const QString& value) const;
  const QFont& ui_font() const { return ui_font_; }
  const QFont& small_font() const { return small_font_; }
  const QFont& code_font() const { return code_font_; }
  /// An icon of resources/icons in the text colour (or another tone); drawn once per theme.
  QIcon icon(const QString& name, Tone tone = Tone::Text) const;

 signals:
  void changed();

 private:
  void apply();
  QString name_;
  bool dark_ = false;
  QVector<QColor> colors_;
  QFont ui_font_, small_font_, code_font_;
  mutable QHash<QString, QIcon> icons_;  ///< by name and tone; of the theme in force
};

/// WCAG contrast ratio of two opaque colours, 1 to 21.
double contrast(const QColor& a, const QColor& b);

}  // namespace breakline::ui
