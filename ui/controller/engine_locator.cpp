// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/controller/engine_locator.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonDocument>
#include <QStandardPaths>

namespace breakline::ui {

EngineCommand locate_engine(const QString& explicit_python, const QString& bin_folder) {
  const QDir bin(bin_folder);
  EngineCommand command;
  command.program = explicit_python;
  if (command.program.isEmpty()) command.program = qEnvironmentVariable("BREAKLINE_PYTHON");
  if (command.program.isEmpty()) {
    QFile chosen(bin.absoluteFilePath(QStringLiteral("../breakline.json")));
    if (chosen.open(QIODevice::ReadOnly))
      command.program =
          QJsonDocument::fromJson(chosen.readAll()).object().value(QLatin1String("python")).toString();
  }
  if (command.program.isEmpty()) command.program = QStandardPaths::findExecutable(QStringLiteral("python3"));
  if (command.program.isEmpty()) command.program = QStringLiteral("python3");
  command.arguments = {QStringLiteral("-m"), QStringLiteral("breakline.engine")};
  for (const QString& folder : {QStringLiteral("../python"), QStringLiteral("../lib/breakline/python")}) {
    const QString path = QDir::cleanPath(bin.absoluteFilePath(folder));
    if (QFileInfo(path + QStringLiteral("/breakline")).isDir()) {
      command.python_path = path;
      break;
    }
  }
  return command;
}

}  // namespace breakline::ui
