// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/profile.h"

#include <QCoreApplication>
#include <QJsonArray>

#include "ui/models/timings.h"

namespace breakline::ui {

Profile parse_profile(const QJsonObject& o) {
  const auto real = [](const QJsonObject& from, const char* key) {
    return from.value(QLatin1String(key)).toDouble();
  };
  const auto id_of = [](const QJsonObject& from) {
    return from.value(QLatin1String("id")).toVariant().toString();
  };
  Profile p;
  p.target = o.value(QLatin1String("target")).toVariant().toString();
  p.note = o.value(o.contains(QLatin1String("profile_note")) ? QLatin1String("profile_note")
                                                             : QLatin1String("note"))
               .toString();
  p.calls = o.value(QLatin1String("calls")).toInt();
  p.call_us = real(o, "call_us");
  for (const QJsonValue& v : o.value(QLatin1String("breaks")).toArray()) {
    const QJsonObject b = v.toObject();
    if (b.value(QLatin1String("cost_us")).isDouble())
      p.breaks.insert(id_of(b), {real(b, "cost_us"), real(b, "leave_us"), real(b, "enter_us"),
                                 real(b, "instruction_us"), real(b, "events")});
  }
  for (const QJsonValue& v : o.value(QLatin1String("segments")).toArray()) {
    const QJsonObject s = v.toObject();
    if (s.value(QLatin1String("time_us")).isDouble()) p.segment_us.insert(id_of(s), real(s, "time_us"));
  }
  for (const QJsonValue& v : o.value(QLatin1String("lines")).toArray()) {
    const QJsonObject l = v.toObject();
    p.lines.push_back({l.value(QLatin1String("file")).toString(), l.value(QLatin1String("line")).toInt(),
                       real(l, "time_us"), l.value(QLatin1String("shared")).toBool()});
  }
  return p;
}

QString cost_words(const BreakCost& c) {
  QString words = QCoreApplication::translate("Profile", "%1 each time").arg(format_us(c.cost));
  if (c.leave > 0 || c.enter > 0)
    words += QCoreApplication::translate("Profile", ": %1 to leave the graph, %2 to enter the next one")
                 .arg(format_us(c.leave), format_us(c.enter));
  if (c.instruction > 0)
    words += QCoreApplication::translate("Profile", "; the instruction itself takes %1")
                 .arg(format_us(c.instruction));
  return words;
}

}  // namespace breakline::ui
