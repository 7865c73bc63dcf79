// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/controller/document.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QSaveFile>
#include <QStringDecoder>

namespace breakline::ui {
namespace {

struct Read {
  bool ok = false, utf8 = true;
  QString text, problem;
};

Read read(const QString& path) {
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly))
    return {false,
            true,
            {},
            Document::tr("%1 cannot be read (%2): check the path.").arg(path, file.errorString())};
  const QByteArray bytes = file.readAll();
  QStringDecoder decoder(QStringDecoder::Utf8);
  Read r{true, true, decoder(bytes), {}};
  r.utf8 = !decoder.hasError();
  return r;
}

}  // namespace

Document::Document(QObject* parent) : QObject(parent) {
  calm_.setSingleShot(true);
  calm_.setInterval(80);
  connect(&calm_, &QTimer::timeout, this, &Document::look);
  connect(&watcher_, &QFileSystemWatcher::fileChanged, &calm_, qOverload<>(&QTimer::start));
  connect(&watcher_, &QFileSystemWatcher::directoryChanged, &calm_, qOverload<>(&QTimer::start));
}

bool Document::load(const QString& path) {
  const QString full = QDir::cleanPath(QFileInfo(path).absoluteFilePath());
  const Read r = read(full);
  problem_ = r.problem;
  if (!r.ok) return false;
  path_ = full;
  text_ = r.text;
  read_only_ = !r.utf8;
  if (!r.utf8) problem_ = tr("%1 is not UTF-8 text: save it as UTF-8, then open it again.").arg(path_);
  watch();
  emit loaded();
  return true;
}

bool Document::save(const QString& text) { return save_as(path_, text); }

bool Document::save_as(const QString& path, const QString& text) {
  const QFileInfo info(path);
  if (!info.absoluteDir().exists()) {
    problem_ = tr("The folder of %1 is gone: your text is kept, save it under another name.").arg(path);
    return false;
  }
  if (info.exists() && !info.isWritable()) {
    problem_ =
        tr("%1 cannot be written (no permission): your text is kept, save it under another name.").arg(path);
    return false;
  }
  QSaveFile file(path);
  file.setDirectWriteFallback(true);
  const QByteArray bytes = text.toUtf8();
  if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size() || !file.commit()) {
    problem_ = tr("%1 cannot be written (%2): your text is kept, save it under another name.")
                   .arg(path, file.errorString());
    return false;
  }
  path_ = QDir::cleanPath(info.absoluteFilePath());
  text_ = text;
  problem_.clear();
  read_only_ = false;
  watch();
  emit loaded();
  return true;
}

bool Document::reload() {
  const Read r = read(path_);
  if (!r.ok || r.text == text_) return false;
  text_ = r.text;
  read_only_ = !r.utf8;
  emit loaded();
  return true;
}

void Document::watch() {
  const QStringList old = watcher_.files() + watcher_.directories();
  if (!old.isEmpty()) watcher_.removePaths(old);
  // The folder is watched too: editors that replace the file would otherwise end the watch.
  watcher_.addPaths({path_, QFileInfo(path_).absolutePath()});
}

void Document::look() {
  const bool exists = QFileInfo::exists(path_);
  if (exists && !watcher_.files().contains(path_)) watcher_.addPath(path_);
  if (!exists) {
    emit changed_outside(true);
    return;
  }
  const Read r = read(path_);
  if (r.ok && r.text != text_) emit changed_outside(false);
}

}  // namespace breakline::ui
