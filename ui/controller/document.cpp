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
  gone_.setInterval(500);
  connect(&gone_, &QTimer::timeout, this, &Document::look);
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
  if (!r.utf8) problem_ = not_utf8();
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
  problem_ = r.utf8 ? QString() : not_utf8();
  known();
  emit loaded();
  return true;
}

QString Document::not_utf8() const {
  return tr("%1 is not UTF-8 text: save it as UTF-8, then open it again.").arg(path_);
}

void Document::known() {
  disk_ = Disk::Known;
  other_.clear();
  gone_.stop();
}

void Document::watch() {
  known();
  const QStringList old = watcher_.files() + watcher_.directories();
  if (!old.isEmpty()) watcher_.removePaths(old);
  // The folder is watched too: editors that replace the file would otherwise end the watch.
  watcher_.addPaths({path_, QFileInfo(path_).absolutePath()});
}

void Document::look() {
  const bool exists = QFileInfo::exists(path_);
  if (!exists) {
    if (disk_ == Disk::Gone) return;
    disk_ = Disk::Gone;
    gone_.start();
    emit changed_outside(true);
    return;
  }
  // A file that was replaced, and a folder that was made anew, have to be watched anew.
  const QString folder = QFileInfo(path_).absolutePath();
  if (!watcher_.files().contains(path_) || disk_ == Disk::Gone) {
    watcher_.removePaths({path_, folder});
    watcher_.addPaths({path_, folder});
  }
  const Read r = read(path_);
  if (!r.ok) return;
  gone_.stop();
  const Disk before = disk_;
  if (r.text == text_) {
    known();
    if (before != Disk::Known) emit as_before();
  } else if (before != Disk::Other || r.text != other_) {
    disk_ = Disk::Other;
    other_ = r.text;
    emit changed_outside(false);
  }
}

}  // namespace breakline::ui
