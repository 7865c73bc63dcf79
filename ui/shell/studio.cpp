// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/shell/studio.h"

#include <QApplication>
#include <QFontDatabase>
#include <QProcess>
#include <QSettings>
#include <QTranslator>
#include <cstdio>
#include <memory>

#include "ui/controller/engine_locator.h"
#include "ui/shell/automation.h"
#include "ui/shell/main_window.h"
#include "ui/shell/options.h"

namespace breakline::ui {
namespace {

QString preferred_theme() {
  const QString saved = QSettings().value(QStringLiteral("theme")).toString();
  if (!saved.isEmpty()) return saved;
  return QApplication::palette().window().color().lightness() < 128 ? QStringLiteral("dark")
                                                                    : QStringLiteral("light");
}

}  // namespace

int run_studio(int argc, char** argv) {
  // Command line answers need no display.
  QStringList arguments;
  for (int i = 0; i < argc; ++i) arguments << QString::fromLocal8Bit(argv[i]);
  const Options options = parse_options(arguments);
  if (options.help) {
    std::fputs(qPrintable(options.help_text), stdout);
    return 0;
  }
  if (options.version) {
    std::puts("breakline-studio " BREAKLINE_VERSION);
    return 0;
  }
  if (!options.problem.isEmpty()) {
    std::fprintf(stderr, "%s\n", qPrintable(options.problem));
    return 2;
  }
  const bool automatic = options.automatic();
#ifdef Q_OS_LINUX
  if (automatic && qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM") && qEnvironmentVariableIsEmpty("DISPLAY") &&
      qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY"))
    qputenv("QT_QPA_PLATFORM", "offscreen");
#endif
  QApplication app(argc, argv);
  QCoreApplication::setOrganizationName(QStringLiteral("breakline"));
  QCoreApplication::setApplicationName(QStringLiteral("studio"));
  QCoreApplication::setApplicationVersion(QStringLiteral(BREAKLINE_VERSION));
  if (QFontDatabase::families().filter(QStringLiteral("DejaVu")).isEmpty() &&
      QFontDatabase::families().size() < 5)
    std::fputs("No fonts are installed, so no text can be drawn: install fonts-dejavu-core.\n", stderr);
  QTranslator translator;
  if (translator.load(QLocale(), QStringLiteral("breakline"), QStringLiteral("_"),
                      QStringLiteral(":/translations")))
    QCoreApplication::installTranslator(&translator);

  Theme theme;
  theme.set(options.theme.isEmpty() ? (automatic ? QStringLiteral("light") : preferred_theme())
                                    : options.theme);
  if (!automatic)
    QObject::connect(&theme, &Theme::changed, &app,
                     [&theme] { QSettings().setValue(QStringLiteral("theme"), theme.name()); });
  Session session(std::make_unique<ProcessLink>());
  EngineCommand command = locate_engine(options.python, QCoreApplication::applicationDirPath());
  if (!options.engine.isEmpty()) {
    QStringList parts = QProcess::splitCommand(options.engine);
    command.program = parts.isEmpty() ? options.engine : parts.takeFirst();
    command.arguments = parts;
  }
  session.set_engine(command);
  session.prestart();  // PyTorch is imported while the window is built
  Document document;
  Selection selection;
  MainWindow window(&session, &document, &selection, &theme);
  window.resize(options.size);
  if (!automatic && !options.size_given) {
    const QByteArray geometry = QSettings().value(QStringLiteral("geometry")).toByteArray();
    if (!geometry.isEmpty()) window.restoreGeometry(geometry);
  }
  static const QString kLayouts[] = {QStringLiteral("layout_wide"), QStringLiteral("layout_narrow")};
  if (!automatic)
    for (const bool narrow : {false, true})
      window.set_layout_state(narrow, QSettings().value(kLayouts[narrow]).toByteArray());
  window.show();
  std::unique_ptr<Automation> automation;  // it ends the program when its steps are done: never beside a user
  if (automatic) automation = std::make_unique<Automation>(options, &window, &session, &selection);
  if (!options.request.target.isEmpty())
    window.open_request(automation ? automation->request() : options.request);
  if (automatic) {
    automation->start();
  } else {
    // The same steps without the ending: toggles and the measurement asked for on the command line.
    auto* once = new QObject(&window);
    QObject::connect(&session, &Session::report_changed, once, [&, once] {
      if (!session.report()) return;
      once->deleteLater();
      QObject::disconnect(&session, nullptr, once, nullptr);
      for (const auto& [key, value] : options.toggles) session.set_overlay(key, value);
      if (options.measure) session.measure({});
    });
  }
  const int code = app.exec();
  if (!automatic) {
    QSettings().setValue(QStringLiteral("geometry"), window.saveGeometry());
    for (const bool narrow : {false, true})
      QSettings().setValue(kLayouts[narrow], window.layout_state(narrow));
  }
  return code;
}

}  // namespace breakline::ui
