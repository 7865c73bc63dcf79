// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/distribution_plot.h"

#include <qcustomplot.h>

#include <QFileDialog>
#include <QMenu>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

namespace breakline::ui {
namespace {

constexpr int kPoints = 160;
constexpr int kReasonWidth = 140;
constexpr double kHeight = 0.78,
                 kLowHeight = 0.42;  // of the distance between two arms; the lower leaves room for words
constexpr int kNarrow = 440;    // below this width the words stand over the ridges instead of beside them
constexpr double kLogFrom = 6;  // medians further apart than this are drawn on a logarithmic axis

double quantile(QVector<double> sorted, double q) {
  if (sorted.isEmpty()) return 0;
  const double at = q * double(sorted.size() - 1);
  const int i = int(at);
  const int j = std::min(i + 1, int(sorted.size()) - 1);
  return sorted[i] + (sorted[j] - sorted[i]) * (at - i);
}

struct Unit {
  double scale;
  const char* name;
};

Unit unit_for(double us) {
  if (us >= 1e6) return {1e6, "s"};
  if (us >= 1e3) return {1e3, "ms"};
  return {1, "µs"};
}

/// Two short lines instead of one long one: the axis stays narrow.
QString short_name(const QString& name) {
  const qsizetype space = name.indexOf(QLatin1Char(' '));
  if (space < 0) return name;
  QString first = name.left(space);
  if (first.endsWith(QLatin1Char(','))) first.chop(1);
  return first + QLatin1Char('\n') + name.mid(space + 1);
}

QString ratio_words(const Arm& a) {
  QString words = QStringLiteral("%1x ±%2")
                      .arg(a.ratio->value, 0, 'f', 2)
                      .arg((a.ratio->high - a.ratio->low) / 2, 0, 'f', 2);
  if (!a.verdict.isEmpty()) words += QLatin1Char(' ') + verdict_word(a.verdict);
  if (a.equal)
    words +=
        QStringLiteral(" · ") + (*a.equal ? DistributionPlot::tr("same") : DistributionPlot::tr("differs"));
  return words;
}

}  // namespace

Tone arm_tone(const QString& id) {
  if (id.contains(QLatin1String("vulkan"))) return Tone::Vulkan;
  return id.startsWith(QLatin1String("eager")) ? Tone::Eager : Tone::Compiled;
}

QVector<double> density(const QVector<double>& samples, double low, double high, int points) {
  QVector<double> out(points, 0.0);
  if (samples.isEmpty() || high <= low) return out;
  QVector<double> sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  double mean = 0, square = 0;
  for (double s : sorted) mean += s;
  mean /= double(sorted.size());
  for (double s : sorted) square += (s - mean) * (s - mean);
  const double deviation = std::sqrt(square / double(sorted.size()));
  const double spread = std::min(deviation, (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / 1.34);
  // Silverman's rule, with a floor of two grid steps so that equal samples still show.
  const double floor = 2 * (high - low) / points;
  const double width =
      std::max(floor, 0.9 * (spread > 0 ? spread : deviation) * std::pow(double(sorted.size()), -0.2));
  double top = 0;
  for (int i = 0; i < points; ++i) {
    const double x = low + (high - low) * i / (points - 1);
    for (auto s = std::lower_bound(sorted.begin(), sorted.end(), x - 4 * width);
         s != sorted.end() && *s < x + 4 * width; ++s)
      out[i] += std::exp(-0.5 * ((x - *s) / width) * ((x - *s) / width));
    top = std::max(top, out[i]);
  }
  if (top > 0)
    for (double& v : out) v /= top;
  return out;
}

DistributionPlot::DistributionPlot(Theme* theme, QWidget* parent) : QWidget(parent), theme_(theme) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  plot_ = new QCustomPlot(this);
  plot_->setObjectName(QStringLiteral("timings_plot"));
  plot_->setInteractions(QCP::iRangeDrag | QCP::iRangeZoom);
  plot_->axisRect()->setRangeDrag(Qt::Horizontal);
  plot_->axisRect()->setRangeZoom(Qt::Horizontal);
  plot_->setMinimumHeight(70);
  plot_->setContextMenuPolicy(Qt::CustomContextMenu);
  plot_->setAccessibleName(tr("Time per call, one distribution per arm"));
  column->addWidget(plot_);
  connect(theme, &Theme::changed, this, &DistributionPlot::rebuild);
  connect(plot_, &QCustomPlot::mouseMove, this, [this](QMouseEvent* e) { show_value(e->pos()); });
  connect(plot_, &QCustomPlot::mouseDoubleClick, this, [this] { reset_range(); });
  connect(plot_, &QWidget::customContextMenuRequested, this, [this](const QPoint& at) {
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    connect(menu->addAction(tr("Reset the range")), &QAction::triggered, this, [this] { reset_range(); });
    connect(menu->addAction(tr("Export the plot…")), &QAction::triggered, this, [this] {
      auto* dialog =
          new QFileDialog(this, tr("Export the plot"), QString(), tr("Image (*.png);;PDF (*.pdf)"));
      dialog->setAttribute(Qt::WA_DeleteOnClose);
      dialog->setAcceptMode(QFileDialog::AcceptSave);
      dialog->setDefaultSuffix(QStringLiteral("png"));
      connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) { save(path); });
      dialog->open();
    });
    menu->popup(plot_->mapToGlobal(at));
  });
}

void DistributionPlot::set_arms(const QVector<Arm>& arms, bool stale) {
  arms_.clear();
  for (const Arm& a : arms)
    if (a.id != QLatin1String("eager_aa")) arms_.push_back(a);  // the noise pair is a number, not a picture
  stale_ = stale;
  rebuild();
}

bool DistributionPlot::save(const QString& path) {
  return path.endsWith(QLatin1String(".pdf"), Qt::CaseInsensitive) ? plot_->savePdf(path)
                                                                   : plot_->savePng(path, 0, 0, 2.0);
}

void DistributionPlot::reset_range() {
  plot_->xAxis->setRange(low_, high_);
  plot_->replot();
}

void DistributionPlot::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  if (narrow_ != (width() < kNarrow)) rebuild();
}

void DistributionPlot::rebuild() {
  narrow_ = width() < kNarrow;
  plot_->clearPlottables();
  plot_->clearItems();
  const QColor text = theme_->color(Tone::Text), quiet = theme_->color(Tone::Quiet),
               line = theme_->color(Tone::Line);
  plot_->setBackground(QBrush(theme_->color(Tone::Pane)));
  for (QCPAxis* axis : {plot_->xAxis, plot_->yAxis}) {
    axis->setBasePen(QPen(line));
    axis->setTickPen(QPen(line));
    axis->setSubTickPen(QPen(Qt::NoPen));
    axis->setTickLabelColor(quiet);
    axis->setLabelColor(quiet);
    axis->setTickLabelFont(theme_->small_font());
    axis->setLabelFont(theme_->small_font());
    axis->grid()->setPen(QPen(line, 1, Qt::DotLine));
    axis->grid()->setZeroLinePen(Qt::NoPen);
  }
  plot_->yAxis->setTickLabelColor(text);
  plot_->yAxis->grid()->setVisible(false);
  plot_->yAxis->setBasePen(Qt::NoPen);
  plot_->yAxis->setTickPen(Qt::NoPen);
  plot_->yAxis->setTicks(true);
  if (arms_.isEmpty()) {
    plot_->replot(QCustomPlot::rpQueuedReplot);
    return;
  }
  double low = 1e300, high = 0, fastest = 1e300, slowest = 0;
  for (const Arm& a : std::as_const(arms_)) {
    if (a.samples_us.isEmpty()) continue;
    fastest = std::min(fastest, a.median_us);
    slowest = std::max(slowest, a.median_us);
    QVector<double> sorted = a.samples_us;
    std::sort(sorted.begin(), sorted.end());
    // The far tail would flatten everything else; it stays in the numbers and can be scrolled to.
    low = std::min(low, quantile(sorted, 0));
    high = std::max(high, std::max(quantile(sorted, 0.97), a.q3_us));
  }
  if (high <= low) low = 0, high = std::max(high, 1.0);
  const bool log = fastest > 0 && low > 0 && slowest / fastest > kLogFrom;
  const double margin = std::max((high - low) * 0.08, high * 0.01);
  low = log ? low / 1.25 : std::max(0.0, low - margin);
  high = log ? high * 1.25 : high + margin;
  // Densities are taken along the axis as it is drawn.
  const auto along = [log](double us) { return log ? std::log(us) : us; };
  const double from = along(low), to = along(high);
  const Unit unit = unit_for(high);
  low_ = low / unit.scale;
  high_ = high / unit.scale;
  QSharedPointer<QCPAxisTickerText> names(new QCPAxisTickerText);
  const int n = int(arms_.size());
  for (int i = 0; i < n; ++i) {
    const Arm& a = arms_[i];
    const double base = n - 1 - i;
    names->addTick(base + 0.3, short_name(arm_name(a)));
    add_words(i, base);
    if (a.samples_us.isEmpty()) continue;
    QColor color = theme_->color(arm_tone(a.id));
    if (stale_) color.setAlphaF(0.45f);
    QColor fill = color;
    fill.setAlphaF(stale_ ? 0.12f : 0.3f);
    QVector<double> placed = a.samples_us;
    for (double& us : placed) us = along(std::max(us, low / 2));
    const QVector<double> heights = density(placed, from, to, kPoints);
    const double tall = narrow_ ? kLowHeight : kHeight;
    QVector<double> x(kPoints), y(kPoints), zero(kPoints, base);
    for (int k = 0; k < kPoints; ++k) {
      const double at = from + (to - from) * k / (kPoints - 1);
      x[k] = (log ? std::exp(at) : at) / unit.scale;
      y[k] = base + heights[k] * tall;
    }
    QCPGraph* ground = plot_->addGraph();
    ground->setData(x, zero, true);
    ground->setPen(QPen(line, 1));
    QCPGraph* ridge = plot_->addGraph();
    ridge->setData(x, y, true);
    ridge->setPen(QPen(color, 1.5));
    ridge->setBrush(a.id.contains(QLatin1String("vulkan")) ? QBrush(color, Qt::BDiagPattern) : QBrush(fill));
    ridge->setChannelFillGraph(ground);
    // Quartiles as a bar on the base line, the median as a tick through it.
    auto* box = new QCPItemLine(plot_);
    box->start->setCoords(a.q1_us / unit.scale, base);
    box->end->setCoords(a.q3_us / unit.scale, base);
    box->setPen(QPen(color, 5, Qt::SolidLine, Qt::FlatCap));
    auto* median = new QCPItemLine(plot_);
    median->start->setCoords(a.median_us / unit.scale, base - 0.09);
    median->end->setCoords(a.median_us / unit.scale, base + tall);
    median->setPen(QPen(text, 1.4));
  }
  plot_->axisRect()->setMinimumMargins(QMargins(0, 4, right_width(), 0));
  plot_->yAxis->setTicker(names);
  plot_->yAxis->setTickLabels(!narrow_);
  plot_->yAxis->setRange(-0.2, n - 0.1);
  plot_->xAxis->setLabel((log ? tr("time per call (%1, logarithmic)") : tr("time per call (%1)"))
                             .arg(QString::fromUtf8(unit.name)));
  plot_->xAxis->setScaleType(log ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
  if (log) {
    QSharedPointer<QCPAxisTickerLog> ticks(new QCPAxisTickerLog);
    ticks->setLogBase(high / low > 30 ? 10 : 2);
    plot_->xAxis->setTicker(ticks);
  } else {
    QSharedPointer<QCPAxisTicker> ticks(new QCPAxisTicker);
    ticks->setTickCount(narrow_ ? 3 : 4);
    plot_->xAxis->setTicker(ticks);
  }
  plot_->xAxis->setNumberFormat(QStringLiteral("gb"));
  plot_->xAxis->setNumberPrecision(4);
  plot_->xAxis->setRange(low_, high_);
  plot_->replot(QCustomPlot::rpQueuedReplot);
}

/// Median and spread, ratio and verdict at the right of a ridge.
void DistributionPlot::add_words(int i, double base) {
  const Arm& a = arms_[i];
  const bool eager = a.id.startsWith(QLatin1String("eager"));
  const auto say = [&](const QString& text, double y, const QFont& font, Tone tone, bool left = false) {
    auto* item = new QCPItemText(plot_);
    item->setClipToAxisRect(false);
    item->position->setTypeX(QCPItemPosition::ptAxisRectRatio);
    item->position->setTypeY(QCPItemPosition::ptPlotCoords);
    item->position->setCoords(left ? 0.0 : 1.0, base + y);
    item->setPositionAlignment((narrow_ && !left ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    item->setPadding(QMargins(narrow_ ? 2 : 8, 0, narrow_ ? 2 : 0, 0));
    item->setText(text);
    item->setFont(font);
    item->setColor(theme_->color(stale_ ? Tone::Quiet : tone));
  };
  QFont strong = theme_->ui_font();
  strong.setBold(true);
  if (narrow_) say(arm_name(a), 0.78, strong, arm_tone(a.id), true);
  if (!a.available || a.samples_us.isEmpty()) {
    const QString why = a.reason.isEmpty() ? tr("not available") : a.reason;
    const int room = narrow_ ? width() - 24 : right_width() - 12;
    say(QFontMetrics(theme_->small_font()).elidedText(why, Qt::ElideRight, room), narrow_ ? 0.5 : 0.3,
        theme_->small_font(), Tone::Quiet, narrow_);
    return;
  }
  say(format_spread(a.median_us, (a.q3_us - a.q1_us) / 2),
      narrow_             ? 0.84
      : eager && !a.ratio ? 0.3
                          : 0.52,
      strong, Tone::Text);
  if (a.ratio)
    say(ratio_words(a), narrow_ ? 0.52 : 0.12, theme_->small_font(),
        a.verdict == QLatin1String("faster")   ? Tone::Compiled
        : a.verdict == QLatin1String("slower") ? Tone::BreakError
                                               : Tone::Quiet);
}

int DistributionPlot::right_width() const {
  if (narrow_) return 12;
  const QFontMetrics small(theme_->small_font());
  QFont strong = theme_->ui_font();
  strong.setBold(true);
  int width = 60;
  for (const Arm& a : arms_) {
    if (!a.available) {
      width = std::max(width, std::min(kReasonWidth, small.horizontalAdvance(a.reason)));
      continue;
    }
    width = std::max(
        width, QFontMetrics(strong).horizontalAdvance(format_spread(a.median_us, (a.q3_us - a.q1_us) / 2)));
    if (a.ratio) width = std::max(width, small.horizontalAdvance(ratio_words(a)));
  }
  return width + 20;
}

void DistributionPlot::show_value(const QPoint& at) {
  const int n = int(arms_.size());
  const int i = n - 1 - int(std::floor(plot_->yAxis->pixelToCoord(at.y())));
  if (i < 0 || i >= n) {
    plot_->setToolTip({});
    return;
  }
  const Arm& a = arms_[i];
  if (!a.available) {
    plot_->setToolTip(QStringLiteral("%1: %2").arg(arm_name(a), a.reason));
    return;
  }
  plot_->setToolTip(tr("%1: median %2, middle half %3 to %4, %5 samples")
                        .arg(arm_name(a), format_us(a.median_us), format_us(a.q1_us), format_us(a.q3_us))
                        .arg(a.n));
}

}  // namespace breakline::ui
