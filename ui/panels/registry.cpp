// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/breaks/breaks_panel.h"
#include "ui/panels/details/details_panel.h"
#include "ui/panels/error/error_panel.h"
#include "ui/panels/graph/graph_panel.h"
#include "ui/panels/kernels/kernels_panel.h"
#include "ui/panels/output/output_panel.h"
#include "ui/panels/policy/policy_panel.h"
#include "ui/panels/source/source_panel.h"
#include "ui/panels/timings/timings_panel.h"

namespace breakline::ui {
namespace {
template <class P>
Panel* make(const PanelContext& context, QWidget* parent) {
  return new P(context, parent);
}
}  // namespace

const QVector<PanelEntry>& panel_registry() {
  static const QVector<PanelEntry> kPanels = {
      {"source", QT_TRANSLATE_NOOP("Panel", "Source"), PanelPlace::Left, "Alt+1", make<SourcePanel>},
      {"graph", QT_TRANSLATE_NOOP("Panel", "Partition graph"), PanelPlace::Right, "Alt+2", make<GraphPanel>},
      {"policies", QT_TRANSLATE_NOOP("Panel", "Policies"), PanelPlace::Policies, "Alt+3", make<PolicyPanel>},
      {"breaks", QT_TRANSLATE_NOOP("Panel", "Breaks"), PanelPlace::Breaks, "Alt+4", make<BreaksPanel>},
      {"timings", QT_TRANSLATE_NOOP("Panel", "Timings"), PanelPlace::Timings, "Alt+5", make<TimingsPanel>},
      {"details", QT_TRANSLATE_NOOP("Panel", "Details"), PanelPlace::Details, "Alt+6", make<DetailsPanel>},
      {"error", QT_TRANSLATE_NOOP("Panel", "Error"), PanelPlace::Details, "Alt+7", make<ErrorPanel>},
      {"kernels", QT_TRANSLATE_NOOP("Panel", "Kernels"), PanelPlace::Details, "Alt+8", make<KernelsPanel>},
      {"output", QT_TRANSLATE_NOOP("Panel", "Output"), PanelPlace::Details, "Alt+9", make<OutputPanel>},
  };
  return kPanels;
}

}  // namespace breakline::ui
