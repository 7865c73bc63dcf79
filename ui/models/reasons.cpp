// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/reasons.h"

#include <QFile>
#include <QHash>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLocale>

namespace breakline::ui {

QString reason_label(const QString& reason_id, const QString& fallback) {
  static const QHash<QString, QString> kLabels = [] {
    QHash<QString, QString> labels;
    QFile file(QStringLiteral(":/reasons/reasons.json"));
    if (!file.open(QIODevice::ReadOnly)) return labels;
    const QString key =
        QLocale().language() == QLocale::Chinese ? QStringLiteral("label_zh") : QStringLiteral("label");
    for (const QJsonValue& v :
         QJsonDocument::fromJson(file.readAll()).object().value(QLatin1String("reasons")).toArray()) {
      const QJsonObject o = v.toObject();
      labels.insert(o.value(QLatin1String("id")).toString(), o.value(key).toString());
    }
    return labels;
  }();
  const QString label = kLabels.value(reason_id);
  return label.isEmpty() ? fallback : label;
}

}  // namespace breakline::ui
