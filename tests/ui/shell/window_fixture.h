// SPDX-License-Identifier: GPL-3.0-or-later
// A window on a copy of one source file in a folder of its own, with an engine of the test's choice in a
// process.
#pragma once
#include <QFile>
#include <QPushButton>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <memory>

#include "ui/panels/policy/policy_panel.h"
#include "ui/panels/source/code_editor.h"
#include "ui/panels/source/source_panel.h"
#include "ui/shell/main_window.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/chip.h"

namespace breakline::ui::testing {

constexpr int kPatience = 20000;  // upper bound for a process to answer; nothing waits for it to pass

/// Counts what goes over the wire.
class SpyLink : public ProcessLink {
 public:
  using ProcessLink::ProcessLink;
  qint64 send(const QString& method, const QJsonObject& params) override {
    sent << method;
    last_params = params;
    return ProcessLink::send(method, params);
  }
  QStringList sent;
  QJsonObject last_params;
};

inline QString text_of(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

inline void write(const QString& path, const QByteArray& bytes) {
  QFile file(path);
  QVERIFY(file.open(QIODevice::WriteOnly));
  file.write(bytes);
}

struct WindowFixture {
  WindowFixture(const EngineCommand& command, const QString& file_name, const QByteArray& text) {
    theme.set(QStringLiteral("light"));
    path = folder.filePath(file_name);
    write(path, text);
    auto owned = std::make_unique<SpyLink>();
    link = owned.get();
    session = std::make_unique<Session>(std::move(owned));
    session->profile_after_ms = -1;  // only what a test asks for goes over the wire
    session->set_engine(command);
    window = std::make_unique<MainWindow>(session.get(), &document, &selection, &theme);
    window->resize(1280, 800);
    window->show();
  }
  // The text is given up, so that the window closes without a question.
  ~WindowFixture() {
    if (window) window->source()->main_editor()->setModified(false);
  }

  void open(const QString& suffix = {}, const QStringList& inputs = {}) {
    OpenRequest request;
    request.target = path + suffix;
    request.inputs = inputs;
    window->open_request(request);
  }
  bool ready() { return session->report() && session->state() == EngineState::Ready && window->settled(); }
  template <class P>
  P* panel(const char* id) {
    return static_cast<P*>(window->panel(QLatin1String(id)));
  }
  QString chip(const char* name) { return window->findChild<Chip*>(QLatin1String(name))->text(); }
  QPushButton* button(const char* name) {
    return window->banner()->findChild<QPushButton*>(QLatin1String(name));
  }
  CodeEditor* editor() { return window->source()->main_editor(); }
  void click_policy(const QString& key, const QString& value) {
    auto* policies = panel<PolicyPanel>("policies");
    const QRect target = policies->switch_rect(key, value);
    QVERIFY2(!target.isEmpty(), qPrintable(key));
    QTest::mouseClick(policies->tree()->viewport(), Qt::LeftButton, {}, target.center());
  }
  /// Types a whole text into the editor and saves it.
  void edit_and_save(const QString& text) {
    editor()->setText(text);
    window->action(QStringLiteral("save"))->trigger();
  }

  QTemporaryDir folder;
  QString path;
  Theme theme;
  Document document;
  Selection selection;
  std::unique_ptr<Session> session;
  SpyLink* link = nullptr;
  std::unique_ptr<MainWindow> window;
};

}  // namespace breakline::ui::testing
