// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/shell/options.h"

#include <QCommandLineParser>

namespace breakline::ui {

Options parse_options(const QStringList& arguments) {
  Options o;
  QCommandLineParser p;
  p.setApplicationDescription(
      QStringLiteral("Breakline Studio: graphs, breaks, policies and timings of PyTorch code."));
  const QCommandLineOption help({QStringLiteral("h"), QStringLiteral("help")},
                                QStringLiteral("Show this help."));
  const QCommandLineOption version(QStringLiteral("version"), QStringLiteral("Show the version."));
  const auto value = [](const char* name, const char* what, const char* text) {
    return QCommandLineOption(QLatin1String(name), QLatin1String(text), QLatin1String(what));
  };
  const auto flag = [](const char* name, const char* text) {
    return QCommandLineOption(QLatin1String(name), QLatin1String(text));
  };
  const QCommandLineOption python = value("python", "PYTHON", "Interpreter of the engine.");
  const QCommandLineOption engine =
      value("engine", "COMMAND", "Any command that speaks the engine protocol.");
  const QCommandLineOption theme = value("theme", "light|dark", "Theme of the window.");
  const QCommandLineOption size = value("size", "WxH", "Size of the window.");
  const QCommandLineOption screenshot =
      value("screenshot", "FILE.png", "Write a picture of the window and leave.");
  const QCommandLineOption measure = flag("measure", "Measure the target once it is compiled.");
  const QCommandLineOption toggle =
      value("toggle", "KEY=VALUE", "Set a policy overlay after the first report (repeatable).");
  const QCommandLineOption policy = value("policy", "KEY=VALUE", "The same as --toggle.");
  const QCommandLineOption select = value("select-break", "N", "Select the N-th break.");
  const QCommandLineOption panel = value("panel", "ID",
                                         "Bring a panel to the front (source, graph, policies, breaks, "
                                         "timings, details, error, kernels, output).");
  const QCommandLineOption bench =
      value("bench-toggle", "N", "Toggle a policy N times and print latency as JSON.");
  const QCommandLineOption bench_edit =
      value("bench-edit", "N", "Edit and save a copy of the file N times and print latency as JSON.");
  const QCommandLineOption timeout =
      value("timeout", "SECONDS", "Give up a screenshot or bench after this long (300).");
  const QCommandLineOption device = value("device", "cpu|vulkan", "Device to compile for.");
  const QCommandLineOption input = value("input", "[NAME=]SPEC", "Input of the target (repeatable).");
  const QCommandLineOption train = flag("train", "Call a module in train mode.");
  const QCommandLineOption no_grad = flag("no-grad", "Run the target under no_grad.");
  const QCommandLineOption fullgraph = flag("fullgraph", "Compile with fullgraph=True.");
  const QCommandLineOption seed = value("seed", "N", "Seed of the inputs (0).");
  p.addOptions({help,    version, python, engine, theme,   size,      screenshot,
                measure, toggle,  policy, select, panel,   bench,     bench_edit,
                timeout, device,  input,  train,  no_grad, fullgraph, seed});
  p.addPositionalArgument(QStringLiteral("target"), QStringLiteral("A script, or FILE:EXPR."),
                          QStringLiteral("[FILE | TARGET] [-- ARGS…]"));
  // Everything after "--" belongs to the user's script.
  QStringList own = arguments;
  const qsizetype dashes = own.indexOf(QStringLiteral("--"));
  if (dashes >= 0) {
    o.request.argv = own.mid(dashes + 1);
    own = own.mid(0, dashes);
  }
  if (!p.parse(own)) {
    o.problem = p.errorText() + QStringLiteral(" See --help.");
    return o;
  }
  o.help_text = p.helpText();
  o.help = p.isSet(help);
  o.version = p.isSet(version);
  o.python = p.value(python);
  o.engine = p.value(engine);
  o.theme = p.value(theme);
  o.screenshot = p.value(screenshot);
  o.measure = p.isSet(measure);
  o.focus_panel = p.value(panel);
  if (!o.theme.isEmpty() && o.theme != QLatin1String("light") && o.theme != QLatin1String("dark"))
    o.problem = QStringLiteral("There is no theme “%1”: use light or dark.").arg(o.theme);
  if (p.isSet(size)) {
    const QStringList parts = p.value(size).split(QLatin1Char('x'));
    const int w = parts.value(0).toInt(), h = parts.value(1).toInt();
    if (parts.size() != 2 || w < 640 || h < 480 || w > 16384 || h > 16384)
      o.problem = QStringLiteral("“%1” is no window size: write it as 1280x800.").arg(p.value(size));
    o.size = {w, h};
    o.size_given = true;
  }
  for (const QString& t : p.values(toggle) + p.values(policy)) {
    const qsizetype at = t.lastIndexOf(QLatin1Char('='));
    const QString key = t.left(at), v = t.mid(at + 1);
    static const QStringList kValues{QStringLiteral("inherit"), QStringLiteral("allow"),
                                     QStringLiteral("error")};
    if (at < 1 || !kValues.contains(v) || !parse_overlay_key(key).valid())
      o.problem = QStringLiteral(
                      "“%1” is no policy: write fn:FILE:NAME, lines:FILE:A-B or module:TARGET:PATH, then "
                      "=inherit, =allow or =error.")
                      .arg(t);
    o.toggles.push_back({key, v});
  }
  const auto count = [&](const QCommandLineOption& option, int* out, int least) {
    if (!p.isSet(option)) return;
    bool ok = false;
    const int n = p.value(option).toInt(&ok);
    if (!ok || n < least)
      o.problem = QStringLiteral("--%1 wants a number from %2 up, not “%3”.")
                      .arg(option.names().first())
                      .arg(least)
                      .arg(p.value(option));
    *out = n;
  };
  count(select, &o.select_break, 1);
  count(bench, &o.bench_toggles, 1);
  count(bench_edit, &o.bench_edits, 1);
  if (o.bench_toggles && o.bench_edits)
    o.problem =
        QStringLiteral("Toggles and edits are measured one at a time: give --bench-toggle or --bench-edit.");
  count(timeout, &o.timeout_s, 1);
  count(seed, &o.request.seed, 0);
  if (p.isSet(device)) o.request.device = p.value(device);
  o.request.inputs = p.values(input);
  o.request.train = p.isSet(train);
  o.request.no_grad = p.isSet(no_grad);
  o.request.fullgraph = p.isSet(fullgraph);
  const QStringList rest = p.positionalArguments();
  o.request.target = rest.value(0);
  if (rest.size() > 1)
    o.problem =
        QStringLiteral("Only one file or target can be opened; put arguments of the script after “--”.");
  if (o.request.target.isEmpty() && o.automatic()) o.problem = QStringLiteral("Name the file to open.");
  return o;
}

}  // namespace breakline::ui
