// SPDX-License-Identifier: GPL-3.0-or-later
// The whole window, offscreen, with real clicks, against the real engine: toggles, overlays, edits, bad
// input, and user code that crashes, hangs, leaves or asks for input.
#include <QAction>
#include <QComboBox>
#include <QDialog>
#include <QDir>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPlainTextEdit>
#include <QTableView>
#include <QTableWidget>
#include <QTextBrowser>
#include <QToolButton>
#include <QTreeWidget>

#include "tests/ui/shell/window_fixture.h"
#include "ui/panels/breaks/breaks_panel.h"
#include "ui/panels/details/details_panel.h"
#include "ui/panels/error/error_panel.h"
#include "ui/panels/graph/graph_panel.h"
#include "ui/panels/output/output_panel.h"
#include "ui/panels/timings/timings_panel.h"

using namespace breakline::ui;
using namespace breakline::ui::testing;

namespace {

constexpr int kLong = 240000;  // importing PyTorch on a busy machine

EngineCommand real_engine() {
  return {QStringLiteral(BREAKLINE_TEST_PYTHON),
          {QStringLiteral("-m"), QStringLiteral("breakline.engine")},
          QStringLiteral(BREAKLINE_BINARY_DIR "/python"),
          {}};
}

// Line numbers are named by the tests below.
const char* const kModel = R"(import torch
from torch import nn


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)

    def forward(self, x):
        y = torch.tanh(self.lin(x))
        print("gate")
        return x * y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Gate() for _ in range(2))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        if x.sum() > 0:
            x = x * 2
        scale = x.abs().max().item()
        return x / (1 + scale)


torch.manual_seed(0)
net = torch.compile(Net().eval())
with torch.no_grad():
    net(torch.randn(4, 8))
)";
const QString kNet = QStringLiteral("fn:model.py:Net.forward");
const QString kGate = QStringLiteral("fn:model.py:Gate.forward");

struct Fixture : WindowFixture {
  explicit Fixture(const QByteArray& text = kModel, const EngineCommand& command = real_engine())
      : WindowFixture(command, QStringLiteral("model.py"), text) {}
  QTreeWidgetItem* row(const QString& key) {
    for (QTreeWidgetItemIterator it(panel<PolicyPanel>("policies")->tree()); *it; ++it)
      if ((*it)->data(0, Qt::UserRole + 1).toString() == key) return *it;
    return nullptr;
  }
  QString error_text() { return panel<ErrorPanel>("error")->view()->toPlainText(); }
  void add_overlay(int kind, const QString& what) {
    for (QAction* a : panel<PolicyPanel>("policies")->commands())
      if (a->shortcut() == QKeySequence(QStringLiteral("Ctrl+L"))) a->trigger();
    auto* dialog = window->findChild<QDialog*>(QStringLiteral("overlay_dialog"));
    QVERIFY(dialog);
    dialog->findChild<QComboBox*>(QStringLiteral("overlay_kind"))->setCurrentIndex(kind);
    auto* line = dialog->findChild<QLineEdit*>(QStringLiteral("overlay_what"));
    line->clear();
    QTest::keyClicks(line, what);
    for (QPushButton* b : dialog->findChildren<QPushButton*>())
      if (b->property("primary").toBool()) {
        QVERIFY(b->isEnabled());
        QTest::mouseClick(b, Qt::LeftButton);
      }
  }
};

#define READY(f) QTRY_VERIFY_WITH_TIMEOUT((f).ready(), kLong)

QByteArray with(const char* old, const char* replacement) {
  QByteArray text(kModel);
  text.replace(old, replacement);
  return text;
}

}  // namespace

class EngineTest : public QObject {
  Q_OBJECT
 private slots:
  void a_model_fills_every_pane();
  void a_toggle_is_seen_in_every_pane();
  void overlays_on_function_lines_and_module();
  void costs_come_by_themselves();
  void all_known_records_of_a_break();
  void edit_and_external_edit();
  void measuring_with_the_real_engine();
  void bad_files_data();
  void bad_files();
  void bad_targets_data();
  void bad_targets();
  void interpreters_data();
  void interpreters();
  void crashes_data();
  void crashes();
  void a_loop_without_end();
};

void EngineTest::a_model_fills_every_pane() {
  Fixture f;
  f.open();
  READY(f);
  const ReportPtr r = f.session->report();
  QCOMPARE(r->targets.size(), 1);
  QCOMPARE(f.chip("chip_breaks"), QStringLiteral("3 breaks: 3 allowed"));
  QCOMPARE(f.panel<BreaksPanel>("breaks")->table()->model()->rowCount(), 3);
  QVERIFY(f.panel<GraphPanel>("graph")->segment_items() >= 4);
  for (const int line : {12, 24, 26})
    QVERIFY2(f.editor()->markersAtLine(line - 1), qPrintable(QString::number(line)));
  QVERIFY(f.row(kNet) && f.row(kGate));
  QVERIFY(f.panel<OutputPanel>("output")->view()->toPlainText().contains(QLatin1String("gate")));
}

void EngineTest::a_toggle_is_seen_in_every_pane() {
  Fixture f;
  f.open();
  READY(f);
  f.click_policy(kNet, QStringLiteral("error"));
  QTRY_VERIFY_WITH_TIMEOUT(f.chip("chip_breaks").contains(QLatin1String("1 error")), kLong);
  READY(f);
  // As the user would get it: PyTorch's class, reason, hints, and the place with its caret.
  const QString error = f.error_text();
  for (const char* part : {"Unsupported", "Explanation:", "Hint:", "Developer debug context:",
                           "from user code:", "model.py\", line 12, in ", "print(\"gate\")"})
    QVERIFY2(error.contains(QLatin1String(part)), qPrintable(error));
  QVERIFY(!f.editor()->annotation(11).isEmpty());
  QVERIFY(f.panel<BreaksPanel>("breaks")
              ->table()
              ->model()
              ->index(0, 0)
              .data(BreakTableModel::ErrorRole)
              .toBool());
  QCOMPARE(text_of(f.path), QString::fromUtf8(kModel));  // a toggle never writes
  QVERIFY(!f.window->source()->modified());
  // Allow in the inner function beats error in the outer one; then the next break is the first error.
  f.click_policy(kGate, QStringLiteral("allow"));
  QTRY_VERIFY_WITH_TIMEOUT(f.error_text().contains(QLatin1String("line 24, in ")), kLong);
  READY(f);
  f.click_policy(kNet, QStringLiteral("inherit"));
  QTRY_COMPARE_WITH_TIMEOUT(f.chip("chip_breaks"), QStringLiteral("3 breaks: 3 allowed"), kLong);
  QVERIFY(f.error_text().isEmpty());
}

void EngineTest::overlays_on_function_lines_and_module() {
  Fixture f;
  f.open();
  READY(f);
  const QString target = f.session->report()->targets.first().name;
  const QString lines = QStringLiteral("lines:model.py:26-26");
  const QString module = QStringLiteral("module:%1:layers.1").arg(target);
  f.add_overlay(1, QStringLiteral("26-26"));
  QTRY_VERIFY_WITH_TIMEOUT(f.error_text().contains(QLatin1String("line 26, in ")), kLong);
  READY(f);
  QVERIFY(f.row(lines));
  f.add_overlay(2, QStringLiteral("layers.1"));
  QTRY_VERIFY_WITH_TIMEOUT(f.error_text().contains(QLatin1String("line 12, in ")), kLong);
  READY(f);
  QVERIFY(f.row(module));
  f.add_overlay(0, QStringLiteral("Gate.forward"));
  READY(f);
  QCOMPARE(f.session->overlays().size(), 3);
  // They outlive the engine.
  f.window->action(QStringLiteral("restart"))->trigger();
  READY(f);
  QTRY_VERIFY_WITH_TIMEOUT(f.error_text().contains(QLatin1String("line 12, in ")), kLong);
  QCOMPARE(f.session->overlays().size(), 3);
  // Removed one by one: by the button, by the key, by the menu's command.
  auto* tree = f.panel<PolicyPanel>("policies")->tree();
  tree->setCurrentItem(f.row(kGate));
  QTest::mouseClick(f.window->findChild<QToolButton*>(QStringLiteral("remove_overlay")), Qt::LeftButton);
  QTRY_COMPARE(f.session->overlays().size(), 2);
  READY(f);
  tree->setCurrentItem(f.row(module));
  QTest::keyClick(tree, Qt::Key_Delete);
  QTRY_COMPARE(f.session->overlays().size(), 1);
  READY(f);
  QTRY_VERIFY_WITH_TIMEOUT(f.error_text().contains(QLatin1String("line 26, in ")), kLong);
  emit tree->customContextMenuRequested(tree->visualItemRect(f.row(lines)).center());
  auto* menu = f.window->findChild<QMenu*>(QStringLiteral("policy_menu"));
  QVERIFY(menu);
  for (QAction* a : menu->actions())
    if (a->toolTip().contains(QLatin1String("Del"))) a->trigger();
  QTRY_VERIFY(f.session->overlays().isEmpty());
  QTRY_COMPARE_WITH_TIMEOUT(f.chip("chip_breaks"), QStringLiteral("3 breaks: 3 allowed"), kLong);
  QCOMPARE(text_of(f.path), QString::fromUtf8(kModel));
}

void EngineTest::costs_come_by_themselves() {
  Fixture f;
  f.session->profile_after_ms = 0;
  f.open();
  READY(f);
  const QString target = f.session->report()->targets.first().id;
  QTRY_VERIFY_WITH_TIMEOUT(f.session->profile(target), kLong);
  const ProfilePtr p = f.session->profile(target);
  QVERIFY2(p->note.isEmpty(), qPrintable(p->note));
  QVERIFY(p->calls >= 2);
  QCOMPARE(p->breaks.size(), 3);
  for (const BreakCost& c : p->breaks) {
    QVERIFY(c.leave > 0 && c.enter > 0);
    QVERIFY(qAbs(c.cost - c.leave - c.enter) < 1e-6);
    QVERIFY(c.events == 1 || c.events == 2);  // the print is in a module that is there twice
  }
  double lines = 0;
  QSet<int> timed;
  for (const LineTime& l : p->lines) lines += l.us, timed.insert(l.line);
  for (const int line : {11, 12, 24, 26}) QVERIFY2(timed.contains(line), qPrintable(QString::number(line)));
  QVERIFY(lines <= p->call_us * 1.5);  // parts of the same calls; medians need not add up exactly
  QTRY_VERIFY(f.panel<BreaksPanel>("breaks")
                  ->table()
                  ->model()
                  ->index(0, BreakTableModel::Cost)
                  .data()
                  .toString()
                  .contains(QLatin1String("s")));
  // What must not be run again unasked says so.
  f.edit_and_save(QString::fromUtf8(with("print(\"gate\")", "open(__file__).close()")));
  QTRY_VERIFY_WITH_TIMEOUT(!f.session->profile(target) || !f.session->profile(target)->note.isEmpty(), kLong);
  READY(f);
  QTRY_VERIFY_WITH_TIMEOUT(f.session->profile(target) && !f.session->profiling(), kLong);
  QVERIFY(f.session->profile(target)->note.contains(QLatin1String("press Measure")));
  const QModelIndex cost = f.panel<BreaksPanel>("breaks")->table()->model()->index(0, BreakTableModel::Cost);
  QCOMPARE(cost.data().toString(), QStringLiteral("–"));
  QVERIFY(cost.data(Qt::ToolTipRole).toString().contains(QLatin1String("press Measure")));
}

void EngineTest::all_known_records_of_a_break() {
  Fixture f;
  f.open();
  READY(f);
  const Break* branch = nullptr;
  for (const Break* b : f.session->report()->breaks_of({}))
    if (b->line == 24) branch = b;
  QVERIFY(branch);
  f.selection.set({SelectionKind::Break, branch->id, f.path, branch->line, branch->end_line});
  auto* browser = f.panel<DetailsPanel>("details")->browser();
  QTRY_VERIFY_WITH_TIMEOUT(browser->toPlainText().contains(QLatin1String("Known record 2 of")), kLong);
  const QString page = browser->toPlainText();
  const auto own = page.indexOf(QLatin1String("breakline/data-dependent-branch"));
  const auto seed = page.indexOf(QLatin1String("pytorch/torch-compile-graph-break-unsupported-op"));
  QVERIFY(own > 0 && seed > own);
  QVERIFY(page.count(QLatin1String("Root cause")) >= 2);
  for (const char* part : {"Dead ends", "Why it fails:", "not measured", "worked in 80 %", "failed in 90 %",
                           "confidence 84 %", "tier: ai_generated", "https://pytorch.org/docs"})
    QVERIFY2(page.contains(QLatin1String(part)), part);
  f.window->show_panel(QStringLiteral("details"));
  QTest::mouseClick(f.window->findChild<QToolButton*>(QStringLiteral("language")), Qt::LeftButton);
  QTRY_VERIFY(browser->toPlainText().contains(QStringLiteral("根本原因")));
  QVERIFY(browser->toPlainText().contains(QStringLiteral("（未翻译）")));
  QVERIFY(browser->toPlainText().contains(QStringLiteral("未测量")));
}

void EngineTest::edit_and_external_edit() {
  Fixture f;
  f.open();
  READY(f);
  f.click_policy(kGate, QStringLiteral("error"));
  QTRY_VERIFY_WITH_TIMEOUT(f.error_text().contains(QLatin1String("line 12")), kLong);
  READY(f);
  // The break is mended in the editor: the toggle finds nothing more to reject.
  f.edit_and_save(QString::fromUtf8(with("        print(\"gate\")\n", "")));
  QTRY_COMPARE_WITH_TIMEOUT(f.chip("chip_breaks"), QStringLiteral("2 breaks: 2 allowed"), kLong);
  READY(f);
  QVERIFY(f.error_text().isEmpty());
  QCOMPARE(f.session->overlay_value(kGate), QStringLiteral("error"));
  // Another program puts it back.
  write(f.path, kModel);
  QTRY_VERIFY_WITH_TIMEOUT(f.error_text().contains(QLatin1String("line 12")), kLong);
  QVERIFY(f.window->source()->text().contains(QLatin1String("print(\"gate\")")));
}

void EngineTest::measuring_with_the_real_engine() {
  Fixture f;
  f.open();
  READY(f);
  QTest::mouseClick(f.window->findChild<QToolButton*>(QStringLiteral("measure")), Qt::LeftButton);
  QTRY_VERIFY_WITH_TIMEOUT(f.session->timings({}), kLong);
  const TimingsPtr t = f.session->timings({});
  QStringList arms;
  for (const Arm& a : t->arms) {
    arms << a.id;
    if (!a.available) {
      QVERIFY(!a.reason.isEmpty());
      continue;
    }
    QVERIFY2(a.equal.value_or(false), qPrintable(a.id + a.error_note));
    QVERIFY(a.n >= 5 && a.q1_us <= a.median_us && a.median_us <= a.q3_us);
    if (a.ratio)
      QVERIFY(a.ratio->low <= a.ratio->value && a.ratio->value <= a.ratio->high && !a.verdict.isEmpty());
  }
  QCOMPARE(arms, QStringList({QStringLiteral("eager"), QStringLiteral("eager_aa"), QStringLiteral("cpu"),
                              QStringLiteral("vulkan_eager"), QStringLiteral("vulkan")}));
  QVERIFY(t->noise);
  QVERIFY(f.chip("chip_ratio").contains(QStringLiteral("x ±")));
  QVERIFY(f.session->profile(f.session->report()->targets.first().id));  // a measurement brings the costs too
}

void EngineTest::bad_files_data() {
  QTest::addColumn<QByteArray>("text");
  QTest::addColumn<QString>("kind");
  QTest::addColumn<QString>("says");
  const auto row = [](const char* name, const QByteArray& text, const char* kind, const char* says) {
    QTest::newRow(name) << text << QString::fromLatin1(kind) << QString::fromLatin1(says);
  };
  row("syntax error", with("def forward(self, x):\n        for", "def forward(self, x:\n        for"),
      "syntax", "line 21");
  row("missing import", "import torch\nimport no_such_module_here\n", "missing_import",
      "no_such_module_here");
  row("nothing compiled", "import torch\nprint('hello')\n", "no_compiled_call",
      "never called a compiled function");
  row("raises first", "import torch\n1 / 0\n", "error", "ZeroDivisionError");
  row("asks for input", "import torch\nname = input('who? ')\n", "error", "asks for input");
  row("leaves", "import sys\nsys.exit(3)\n", "error", "sys.exit(3)");
}

void EngineTest::bad_files() {
  QFETCH(QByteArray, text);
  QFETCH(QString, kind);
  QFETCH(QString, says);
  // First alone, then as an edit of a good file whose result must stay.
  Fixture f(text);
  f.open();
  QTRY_VERIFY_WITH_TIMEOUT(!f.session->problem().empty(), kLong);
  QCOMPARE(f.session->problem().kind, kind);
  const QString sentence = f.window->banner()->sentence();
  QVERIFY2(sentence.contains(says) && !sentence.contains(QLatin1Char('\n')), qPrintable(sentence));
  QVERIFY(f.window->action(QStringLiteral("recompile"))->isEnabled());
  f.edit_and_save(QString::fromUtf8(kModel));
  READY(f);
  QVERIFY(!f.window->banner()->isVisible());
  f.click_policy(kNet, QStringLiteral("allow"));
  READY(f);
  f.edit_and_save(QString::fromUtf8(text));
  QTRY_VERIFY_WITH_TIMEOUT(!f.session->problem().empty(), kLong);
  QCOMPARE(f.window->banner()->sentence(), sentence);
  QCOMPARE(f.chip("chip_breaks"), QStringLiteral("3 breaks: 3 allowed"));
  QCOMPARE(f.session->overlay_value(kNet), QStringLiteral("allow"));
  QCOMPARE(f.window->source()->text(), QString::fromUtf8(text));
}

void EngineTest::bad_targets_data() {
  QTest::addColumn<QString>("suffix");
  QTest::addColumn<QString>("input");
  QTest::addColumn<QString>("kind");
  QTest::newRow("missing target") << QStringLiteral(":Nett") << QStringLiteral("f32[4,8]")
                                  << QStringLiteral("missing_target");
  QTest::newRow("wrong type") << QStringLiteral(":Net") << QStringLiteral("x32[4,8]")
                              << QStringLiteral("bad_input");
  QTest::newRow("wrong dims") << QStringLiteral(":Net") << QStringLiteral("f32[4,a]")
                              << QStringLiteral("bad_input");
  QTest::newRow("too few") << QStringLiteral(":Net") << QString() << QStringLiteral("bad_input");
}

void EngineTest::bad_targets() {
  QFETCH(QString, suffix);
  QFETCH(QString, input);
  QFETCH(QString, kind);
  Fixture f;
  f.open(suffix, input.isEmpty() ? QStringList() : QStringList{input});
  QTRY_VERIFY_WITH_TIMEOUT(!f.session->problem().empty(), kLong);
  QCOMPARE(f.session->problem().kind, kind);
  QVERIFY(!f.window->banner()->sentence().contains(QLatin1Char('\n')));
  QVERIFY(f.window->source()->text().contains(QLatin1String("class Net")));
  f.open(QStringLiteral(":Net"), {QStringLiteral("f32[4,8]")});
  READY(f);
}

void EngineTest::interpreters_data() {
  QTest::addColumn<QString>("script");
  QTest::addColumn<QString>("says");
  // -S leaves site-packages out: an interpreter without PyTorch.
  QTest::newRow("without torch") << QStringLiteral("exec \"%1\" -S \"$@\"\n") << QStringLiteral("torch");
  QTest::newRow("other version") << QStringLiteral("PYTHONPATH=\"%2\" exec \"%1\" \"$@\"\n")
                                 << QStringLiteral("built for");
  QTest::newRow("no interpreter") << QString() << QStringLiteral("could not be started");
}

void EngineTest::interpreters() {
  QFETCH(QString, script);
  QFETCH(QString, says);
  QTemporaryDir folder;
  const QString wrapper = folder.filePath(QStringLiteral("python"));
  if (!script.isEmpty()) {
    // The package with an engine for another version only.
    const QString package = folder.filePath(QStringLiteral("breakline"));
    QDir().mkpath(package + QStringLiteral("/engine"));
    for (const QString& part : {QString(), QStringLiteral("/engine")})
      for (const QFileInfo& file : QDir(QStringLiteral(BREAKLINE_BINARY_DIR "/python/breakline") + part)
                                       .entryInfoList({QStringLiteral("*.py")}, QDir::Files))
        QFile::copy(file.absoluteFilePath(), package + part + QLatin1Char('/') + file.fileName());
    write(package + QStringLiteral("/_breakline.cpython-399-x86_64-linux-gnu.so"), "");
    QString text = QStringLiteral("#!/bin/sh\n") + script;
    text.replace(QLatin1String("%1"), QLatin1String(BREAKLINE_TEST_PYTHON))
        .replace(QLatin1String("%2"), folder.path());
    write(wrapper, text.toUtf8());
    QFile::setPermissions(wrapper, QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
  }
  EngineCommand command = real_engine();
  command.program = wrapper;
  Fixture f(kModel, command);
  f.open();
  QTRY_VERIFY_WITH_TIMEOUT(!f.session->problem().empty(), kLong);
  const QString sentence = f.window->banner()->sentence();
  QVERIFY2(sentence.contains(says) && !sentence.contains(QLatin1Char('\n')), qPrintable(sentence));
  // The user names another one, and nothing is lost.
  f.editor()->insertAt(QStringLiteral("# typed\n"), 0, 0);
  f.session->set_engine(real_engine());
  f.window->action(QStringLiteral("restart"))->trigger();
  READY(f);
  QVERIFY(f.window->source()->text().startsWith(QLatin1String("# typed")));
}

void EngineTest::crashes_data() {
  QTest::addColumn<QByteArray>("bad");
  QTest::newRow("abort") << QByteArray("import os\nos.abort()\n");
  QTest::newRow("segfault") << QByteArray("import ctypes\nctypes.string_at(0)\n");
  QTest::newRow("_exit") << QByteArray("import os\nos._exit(0)\n");
  QTest::newRow("kill") << QByteArray("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n");
}

void EngineTest::crashes() {
  QFETCH(QByteArray, bad);
  Fixture f;
  f.open();
  READY(f);
  f.click_policy(kGate, QStringLiteral("allow"));
  READY(f);
  const ReportPtr good = f.session->report();
  f.edit_and_save(QString::fromUtf8(kModel + bad));
  QTRY_COMPARE_WITH_TIMEOUT(f.session->state(), EngineState::Died, kLong);
  QVERIFY(f.window->banner()->isVisible());
  QVERIFY(!f.window->banner()->sentence().contains(QLatin1Char('\n')));
  QCOMPARE(f.session->report(), good);
  QVERIFY(f.button("banner_restart"));
  // Mended in the editor, then started again: the toggle is still there.
  f.edit_and_save(QString::fromUtf8(kModel));
  READY(f);
  QTRY_VERIFY(!f.window->banner()->isVisible());
  QCOMPARE(f.session->overlay_value(kGate), QStringLiteral("allow"));
  QCOMPARE(f.chip("chip_breaks"), QStringLiteral("3 breaks: 3 allowed"));
}

void EngineTest::a_loop_without_end() {
  Fixture f(QByteArray(kModel) + "print('now')\nwhile True:\n    pass\n");
  f.session->hang_after_ms = 1;
  f.open();
  f.session->set_overlay(kGate, QStringLiteral("allow"));
  QTRY_VERIFY_WITH_TIMEOUT(
      f.panel<OutputPanel>("output")->view()->toPlainText().contains(QLatin1String("now")), kLong);
  QTRY_VERIFY_WITH_TIMEOUT(f.button("banner_stop"), kLong);
  QTest::mouseClick(f.button("banner_stop"), Qt::LeftButton);
  QTRY_COMPARE_WITH_TIMEOUT(f.session->problem().kind, QStringLiteral("stopped"), kLong);
  QCOMPARE(f.session->state(), EngineState::Ready);
  f.session->hang_after_ms = kLong;
  f.edit_and_save(QString::fromUtf8(kModel));
  READY(f);
  QCOMPARE(f.session->overlay_value(kGate), QStringLiteral("allow"));
}

QTEST_MAIN(EngineTest)
#include "engine_test.moc"
