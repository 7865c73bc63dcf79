// SPDX-License-Identifier: GPL-3.0-or-later
// The window's end of the wire: JSON-RPC 2.0 to one engine process. ProcessLink speaks it over a child's
// standard streams. All signals arrive on the GUI thread.
#pragma once
#include <QByteArray>
#include <QJsonObject>
#include <QObject>
#include <QProcess>
#include <QStringList>
#include <optional>

namespace breakline::ui {

/// How to start an engine: any command that speaks the protocol on its standard streams.
struct EngineCommand {
  QString program;
  QStringList arguments;
  QString python_path;  ///< put in front of PYTHONPATH when not empty
  QString working_folder;
};

/// The error member of a JSON-RPC answer.
struct EngineFailure {
  int code = 0;
  QString message, kind, traceback;
  QString file;  ///< with `line` (from 1) and `column` (characters, from 0; -1 unknown): what is to blame
  int line = 0, column = -1;
};

class EngineLink : public QObject {
  Q_OBJECT
 public:
  using QObject::QObject;
  virtual void start(const EngineCommand& command) = 0;
  /// Sends a request and returns its id. Requests sent before the process runs are kept until it does.
  virtual qint64 send(const QString& method, const QJsonObject& params) = 0;
  /// Ends the process now; `died` is not emitted for it.
  virtual void kill() = 0;
  virtual bool alive() const = 0;

 signals:
  void replied(qint64 id, const QJsonObject& result);
  void failed(qint64 id, const breakline::ui::EngineFailure& failure);
  void notified(const QString& method, const QJsonObject& params);
  /// The process ended without being asked to. `why` is one sentence; `tail` the last of its stderr.
  void died(const QString& why, const QString& tail);
};

/// Cuts a byte stream into the bodies of Content-Length frames.
class FrameReader {
 public:
  void feed(const QByteArray& bytes) { buffer_ += bytes; }
  /// The next whole body; empty when more bytes are needed. `broken()` tells a stream that is no protocol.
  std::optional<QByteArray> next();
  bool broken() const { return broken_; }
  void clear() { buffer_.clear(), broken_ = false; }

 private:
  QByteArray buffer_;
  bool broken_ = false;
};

QByteArray frame(const QJsonObject& message);

class ProcessLink : public EngineLink {
  Q_OBJECT
 public:
  explicit ProcessLink(QObject* parent = nullptr);
  ~ProcessLink() override;
  void start(const EngineCommand& command) override;
  qint64 send(const QString& method, const QJsonObject& params) override;
  void kill() override;
  bool alive() const override;

 private:
  void read_stdout();
  void take(const QByteArray& body);
  void report_death(const QString& why);
  /// Kills a process and waits until it is gone, so that it is never destroyed while running.
  static void end(QProcess* process);

  QProcess* process_ = nullptr;
  FrameReader reader_;
  QByteArray stderr_tail_;
  QString program_;
  qint64 next_id_ = 1;
};

}  // namespace breakline::ui
