// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/controller/engine_link.h"

#include <QDir>
#include <QJsonDocument>
#include <QProcessEnvironment>

namespace breakline::ui {
namespace {
constexpr int kStderrTail = 8192;
constexpr int kLongestEnd = 30000;  // ms
constexpr qint64 kLargestFrame = qint64(1) << 30;
}  // namespace

std::optional<QByteArray> FrameReader::next() {
  const qsizetype head = buffer_.indexOf("\r\n\r\n");
  if (head < 0) {
    broken_ = broken_ || buffer_.size() > 4096;
    return std::nullopt;
  }
  qint64 length = -1;
  for (const QByteArray& line : buffer_.left(head).split('\n')) {
    const qsizetype colon = line.indexOf(':');
    if (colon > 0 && line.left(colon).trimmed().toLower() == "content-length") {
      bool ok = false;
      length = line.mid(colon + 1).trimmed().toLongLong(&ok);
      if (!ok) length = -1;
    }
  }
  if (length < 0 || length > kLargestFrame) {
    broken_ = true;
    return std::nullopt;
  }
  if (buffer_.size() < head + 4 + length) return std::nullopt;
  const QByteArray body = buffer_.mid(head + 4, length);
  buffer_.remove(0, head + 4 + length);
  return body;
}

QByteArray frame(const QJsonObject& message) {
  const QByteArray body = QJsonDocument(message).toJson(QJsonDocument::Compact);
  return "Content-Length: " + QByteArray::number(body.size()) + "\r\n\r\n" + body;
}

ProcessLink::ProcessLink(QObject* parent) : EngineLink(parent) {}

ProcessLink::~ProcessLink() { kill(); }

void ProcessLink::start(const EngineCommand& command) {
  kill();
  reader_.clear();
  stderr_tail_.clear();
  program_ = command.program;
  process_ = new QProcess(this);
  QProcessEnvironment env = QProcessEnvironment::systemEnvironment();
  if (!command.python_path.isEmpty()) {
    const QString old = env.value(QStringLiteral("PYTHONPATH"));
    env.insert(QStringLiteral("PYTHONPATH"),
               old.isEmpty() ? command.python_path : command.python_path + QDir::listSeparator() + old);
  }
  process_->setProcessEnvironment(env);
  if (!command.working_folder.isEmpty()) process_->setWorkingDirectory(command.working_folder);
  connect(process_, &QProcess::readyReadStandardOutput, this, &ProcessLink::read_stdout);
  connect(process_, &QProcess::readyReadStandardError, this,
          [this] { stderr_tail_ = (stderr_tail_ + process_->readAllStandardError()).right(kStderrTail); });
  connect(process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart)
      report_death(
          tr("The interpreter %1 could not be started: choose another one with --python.").arg(program_));
  });
  connect(process_, &QProcess::finished, this, [this](int code, QProcess::ExitStatus status) {
    read_stdout();
    if (!process_) return;
    report_death(status == QProcess::CrashExit ? tr("The engine crashed (signal %1).").arg(code)
                                               : tr("The engine ended by itself (exit code %1).").arg(code));
  });
  process_->start(command.program, command.arguments);
}

qint64 ProcessLink::send(const QString& method, const QJsonObject& params) {
  const qint64 id = next_id_++;
  if (process_ && process_->state() != QProcess::NotRunning)
    process_->write(frame({{QStringLiteral("jsonrpc"), QStringLiteral("2.0")},
                           {QStringLiteral("id"), id},
                           {QStringLiteral("method"), method},
                           {QStringLiteral("params"), params}}));
  return id;
}

void ProcessLink::kill() {
  if (!process_) return;
  QProcess* old = process_;
  process_ = nullptr;
  old->disconnect(this);
  old->closeWriteChannel();
  end(old);
}

void ProcessLink::end(QProcess* process) {
  process->kill();
  // A killed process is gone in a moment, but one with much memory on a busy machine takes seconds.
  if (process->state() != QProcess::NotRunning) process->waitForFinished(kLongestEnd);
  process->deleteLater();
}

bool ProcessLink::alive() const { return process_ && process_->state() != QProcess::NotRunning; }

void ProcessLink::report_death(const QString& why) {
  if (!process_) return;
  stderr_tail_ = (stderr_tail_ + process_->readAllStandardError()).right(kStderrTail);
  QProcess* old = process_;
  process_ = nullptr;
  old->disconnect(this);
  end(old);
  emit died(why, QString::fromUtf8(stderr_tail_));
}

void ProcessLink::read_stdout() {
  if (!process_) return;
  reader_.feed(process_->readAllStandardOutput());
  while (process_) {
    const std::optional<QByteArray> body = reader_.next();
    if (!body) break;
    take(*body);
  }
  if (process_ && reader_.broken()) {
    report_death(
        tr("The engine wrote something that is not the protocol; is %1 a Breakline engine?").arg(program_));
  }
}

void ProcessLink::take(const QByteArray& body) {
  const QJsonDocument document = QJsonDocument::fromJson(body);
  const QJsonObject message = document.object();
  const QJsonValue id = message.value(QLatin1String("id"));
  const QJsonValue error = message.value(QLatin1String("error"));
  if (error.isObject()) {
    const QJsonObject e = error.toObject();
    const QJsonObject data = e.value(QLatin1String("data")).toObject();
    emit failed(
        id.toInteger(-1),
        {e.value(QLatin1String("code")).toInt(), e.value(QLatin1String("message")).toString(),
         data.value(QLatin1String("kind")).toString(), data.value(QLatin1String("traceback")).toString(),
         data.value(QLatin1String("file")).toString(), data.value(QLatin1String("line")).toInt(),
         data.value(QLatin1String("column")).toInt(-1)});
  } else if (message.contains(QLatin1String("method"))) {
    emit notified(message.value(QLatin1String("method")).toString(),
                  message.value(QLatin1String("params")).toObject());
  } else if (id.isDouble()) {
    emit replied(id.toInteger(), message.value(QLatin1String("result")).toObject());
  }
}

}  // namespace breakline::ui
