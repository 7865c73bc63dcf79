// SPDX-License-Identifier: GPL-3.0-or-later
// One record of the knowledge base as the details pane shows it, in English or Chinese.
#pragma once
#include <QJsonArray>
#include <QString>
#include <QStringList>
#include <QVector>
#include <optional>

namespace breakline::ui {

/// Words with a note whether they are in the language that was asked for.
struct LocalText {
  QString text;
  bool translated = true;
};

struct KnowledgeRecord {
  struct DeadEnd {
    LocalText action, why;
    std::optional<double> rate;
    QString condition;
  };
  struct Workaround {
    LocalText action, how;
    QString condition;
    std::optional<double> rate;  ///< nobody measured it when empty
  };
  QString id, tier, last_confirmed, resolvable;
  LocalText signature, root_cause;
  QVector<DeadEnd> dead_ends;
  QVector<Workaround> workarounds;  ///< best measured rate first, unmeasured last
  QStringList links, versions;
  std::optional<double> confidence, fix_rate;
  int evidence = 0;
};

enum class Language { English, Chinese };

/// All records of a `diagnose` answer: the one with this id first, then by score, each once.
QVector<KnowledgeRecord> matching_records(const QJsonArray& records, const QString& id, Language language);

/// True when a text holds Chinese characters.
bool has_chinese(const QString& text);

}  // namespace breakline::ui
