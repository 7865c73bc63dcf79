// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/knowledge.h"

#include <QJsonObject>
#include <QSet>
#include <algorithm>
#include <limits>

namespace breakline::ui {
namespace {

std::optional<double> rate(const QJsonValue& v) {
  return v.isDouble() ? std::optional(v.toDouble()) : std::nullopt;
}

QString text(const QJsonObject& o, const QString& key) { return o.value(key).toString(); }

/// `key` in the wanted language. A Chinese field without Chinese words counts as untranslated.
LocalText local(const QJsonObject& o, const QString& key, Language language) {
  const QString english = text(o, key);
  if (language == Language::English) return {english, true};
  const QString chinese = text(o, key + QStringLiteral("_zh"));
  return has_chinese(chinese) ? LocalText{chinese, true} : LocalText{english, false};
}

/// Lists may carry their Chinese twin as a list of strings or of objects beside them.
LocalText local_item(const QJsonObject& item, const QString& key, const QJsonValue& twin, Language language) {
  if (language == Language::English) return {text(item, key), true};
  QString chinese = text(item, key + QStringLiteral("_zh"));
  if (!has_chinese(chinese))
    chinese =
        twin.isString() && key == QLatin1String("action") ? twin.toString() : text(twin.toObject(), key);
  return has_chinese(chinese) ? LocalText{chinese, true} : LocalText{text(item, key), false};
}

KnowledgeRecord convert(const QJsonObject& o, Language language) {
  KnowledgeRecord r;
  r.id = text(o, QStringLiteral("id"));
  r.tier = text(o, QStringLiteral("verification_tier"));
  r.last_confirmed = text(o, QStringLiteral("last_confirmed"));
  r.resolvable = o.value(QLatin1String("resolvable")).toVariant().toString();
  r.signature = local(o, QStringLiteral("signature"), language);
  r.root_cause = local(o, QStringLiteral("root_cause"), language);
  r.confidence = rate(o.value(QLatin1String("confidence")));
  r.fix_rate = rate(o.value(QLatin1String("fix_success_rate")));
  r.evidence = o.value(QLatin1String("evidence_count")).toInt();
  const QJsonArray dead_zh = o.value(QLatin1String("dead_ends_zh")).toArray();
  int i = 0;
  for (const QJsonValue& v : o.value(QLatin1String("dead_ends")).toArray()) {
    const QJsonObject d = v.toObject();
    const QJsonValue twin = dead_zh.at(i++);
    r.dead_ends.push_back({local_item(d, QStringLiteral("action"), twin, language),
                           local_item(d, QStringLiteral("why_fails"), twin, language),
                           rate(d.value(QLatin1String("fail_rate"))), text(d, QStringLiteral("condition"))});
  }
  const QJsonArray work_zh = o.value(QLatin1String("workarounds_zh")).toArray();
  i = 0;
  for (const QJsonValue& v : o.value(QLatin1String("workarounds")).toArray()) {
    const QJsonObject w = v.toObject();
    const QJsonValue twin = work_zh.at(i++);
    KnowledgeRecord::Workaround entry;
    entry.action = local_item(w, QStringLiteral("action"), twin, language);
    entry.how = local_item(w, QStringLiteral("how"), twin, language);
    if (entry.how.text == text(w, QStringLiteral("action")) || entry.how.text == entry.action.text)
      entry.how = {};
    entry.condition = text(w, QStringLiteral("condition"));
    entry.rate = rate(w.value(QLatin1String("success_rate")));
    r.workarounds.push_back(entry);
  }
  std::stable_sort(r.workarounds.begin(), r.workarounds.end(),
                   [](const auto& a, const auto& b) { return a.rate.value_or(-1) > b.rate.value_or(-1); });
  const QString doc = text(o, QStringLiteral("official_doc_url"));
  if (!doc.isEmpty()) r.links << doc;
  for (const QString& key : {QStringLiteral("links"), QStringLiteral("sources")})
    for (const QJsonValue& v : o.value(key).toArray()) {
      const QString link = v.isObject() ? text(v.toObject(), QStringLiteral("url")) : v.toString();
      if (!link.isEmpty() && !r.links.contains(link)) r.links << link;
    }
  for (const QJsonValue& v : o.value(QLatin1String("versions")).toArray())
    r.versions << (v.isObject() ? text(v.toObject(), QStringLiteral("version")) : v.toString());
  return r;
}

}  // namespace

bool has_chinese(const QString& text) {
  return std::any_of(text.begin(), text.end(),
                     [](QChar c) { return c.unicode() >= 0x4E00 && c.unicode() <= 0x9FFF; });
}

QVector<KnowledgeRecord> matching_records(const QJsonArray& records, const QString& id, Language language) {
  struct Scored {
    QJsonObject record;
    double score;
  };
  QVector<Scored> found;
  QSet<QString> seen;
  for (const QJsonValue& v : records) {
    const QJsonObject o = v.toObject();
    const QJsonObject record = o.value(QLatin1String("record")).toObject();
    const QString own = text(record, QStringLiteral("id"));
    if (record.isEmpty() || seen.contains(own)) continue;
    seen.insert(own);
    const bool first = !id.isEmpty() && own == id;
    found.push_back({record, first ? std::numeric_limits<double>::infinity()
                                   : o.value(QLatin1String("score")).toDouble()});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Scored& a, const Scored& b) { return a.score > b.score; });
  QVector<KnowledgeRecord> out;
  for (const Scored& s : std::as_const(found)) out.push_back(convert(s.record, language));
  return out;
}

}  // namespace breakline::ui
