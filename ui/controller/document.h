// SPDX-License-Identifier: GPL-3.0-or-later
// The user's source file: its text on disk, changes from outside, and saving that never loses what was typed.
#pragma once
#include <QFileSystemWatcher>
#include <QObject>
#include <QString>
#include <QTimer>

namespace breakline::ui {

class Document : public QObject {
  Q_OBJECT
 public:
  explicit Document(QObject* parent = nullptr);

  /// Reads a file. False when it cannot be read; `problem()` then says why. Bytes that are not UTF-8 are
  /// shown replaced and the document is read-only.
  bool load(const QString& path);
  /// Writes `text` and makes it the disk text. False leaves the file and the text as they were.
  bool save(const QString& text);
  bool save_as(const QString& path, const QString& text);

  const QString& path() const { return path_; }
  const QString& disk_text() const { return text_; }
  const QString& problem() const { return problem_; }
  bool read_only() const { return read_only_; }
  /// Reads the file again; true when its text differs from the known one.
  bool reload();
  /// The text that `changed_outside(false)` was about.
  const QString& other_text() const { return other_; }

 signals:
  /// A file (or another one) was read or written: its text is `disk_text()`.
  void loaded();
  /// Somebody else changed or removed the file.
  void changed_outside(bool removed);
  /// The file on disk is again what it was: nothing is left of the last `changed_outside`.
  void as_before();

 private:
  void watch();
  void look();
  void known();
  QString not_utf8() const;

  QFileSystemWatcher watcher_;
  enum class Disk { Known, Other, Gone };
  QTimer calm_;  ///< editors write in several steps: look once they are through
  QTimer gone_;  ///< while the file is gone its folder may be too, which nothing can watch
  Disk disk_ = Disk::Known;
  QString other_;  ///< the text last told as changed
  QString path_, text_, problem_;
  bool read_only_ = false;
};

}  // namespace breakline::ui
