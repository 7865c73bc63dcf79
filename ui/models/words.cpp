// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/words.h"

#include <QCoreApplication>
#include <QFileInfo>
#include <QHash>

#include "ui/models/report.h"

namespace breakline::ui {
namespace {

QString said(const QHash<QString, const char*>& words, const QString& id) {
  const char* known = words.value(id);
  return known ? QCoreApplication::translate("Policy", known) : id;
}

}  // namespace

QString policy_word(const QString& value) {
  static const QHash<QString, const char*> kWords = {
      {QStringLiteral("error"), QT_TRANSLATE_NOOP("Policy", "error")},
      {QStringLiteral("allow"), QT_TRANSLATE_NOOP("Policy", "allow")},
      {QStringLiteral("inherit"), QT_TRANSLATE_NOOP("Policy", "inherit")}};
  return said(kWords, value);
}

QString kind_word(const QString& kind) {
  static const QHash<QString, const char*> kWords = {
      {QStringLiteral("function"), QT_TRANSLATE_NOOP("Policy", "function")},
      {QStringLiteral("method"), QT_TRANSLATE_NOOP("Policy", "method")},
      {QStringLiteral("module"), QT_TRANSLATE_NOOP("Policy", "module")},
      {QStringLiteral("lines"), QT_TRANSLATE_NOOP("Policy", "lines")},
      {QStringLiteral("patch"), QT_TRANSLATE_NOOP("Policy", "patch")},
      {QStringLiteral("with"), QT_TRANSLATE_NOOP("Policy", "with block")},
      {QStringLiteral("decorator"), QT_TRANSLATE_NOOP("Policy", "decorator")}};
  return said(kWords, kind);
}

QString phase_words(const QString& phase, const QString& text) {
  static const QHash<QString, const char*> kWords = {
      {QStringLiteral("import"), QT_TRANSLATE_NOOP("Phase", "importing PyTorch")},
      {QStringLiteral("run"), QT_TRANSLATE_NOOP("Phase", "running the code")},
      {QStringLiteral("trace"), QT_TRANSLATE_NOOP("Phase", "tracing")},
      {QStringLiteral("compile"), QT_TRANSLATE_NOOP("Phase", "compiling")},
      {QStringLiteral("measure"), QT_TRANSLATE_NOOP("Phase", "measuring")}};
  const char* known = kWords.value(phase);
  if (!known) return text.isEmpty() ? phase : text;
  const QString words = QCoreApplication::translate("Phase", known);
  return text.isEmpty() || words != QLatin1String(known) ? words : text;
}

QString problem_heading(const QString& kind) {
  static const QHash<QString, const char*> kWords = {
      {QStringLiteral("syntax"), QT_TRANSLATE_NOOP("Problem", "syntax error")},
      {QStringLiteral("missing_import"), QT_TRANSLATE_NOOP("Problem", "missing module")},
      {QStringLiteral("missing_target"), QT_TRANSLATE_NOOP("Problem", "missing target")},
      {QStringLiteral("bad_input"), QT_TRANSLATE_NOOP("Problem", "wrong input")},
      {QStringLiteral("no_compiled_call"), QT_TRANSLATE_NOOP("Problem", "nothing was compiled")},
      {QStringLiteral("no_torch"), QT_TRANSLATE_NOOP("Problem", "the interpreter has no PyTorch")},
      {QStringLiteral("wrong_python"), QT_TRANSLATE_NOOP("Problem", "the interpreter does not fit")},
      {QStringLiteral("unreadable"), QT_TRANSLATE_NOOP("Problem", "the file cannot be read")},
      {QStringLiteral("not_utf8"), QT_TRANSLATE_NOOP("Problem", "not UTF-8")},
      {QStringLiteral("error"), QT_TRANSLATE_NOOP("Problem", "the code raised")}};
  const char* known = kWords.value(kind);
  if (!known) return {};
  const QString words = QCoreApplication::translate("Problem", known);
  return words == QLatin1String(known) ? QString() : words;
}

QString skipped_words(const SkippedFrame& s) {
  const QString place =
      s.line > 0 ? QStringLiteral("%1:%2").arg(QFileInfo(s.file).fileName()).arg(s.line) : s.file;
  return QCoreApplication::translate("Report", "%1 (%2) was left whole to Python: %3")
      .arg(s.name, place, s.reason);
}

QString source_words(const QString& source) {
  static const QHash<QString, const char*> kWords = {
      {QStringLiteral("default"), QT_TRANSLATE_NOOP("Policy", "the default")},
      {QStringLiteral("ambient"), QT_TRANSLATE_NOOP("Policy", "a region around the call")},
      {QStringLiteral("fullgraph"), QT_TRANSLATE_NOOP("Policy", "fullgraph=True of the target")}};
  return said(kWords, source);
}

}  // namespace breakline::ui
