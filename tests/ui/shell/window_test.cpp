// SPDX-License-Identifier: GPL-3.0-or-later
// The whole window, offscreen, with real clicks and keys, against fake_engine.py in a process of its own.
// Long because its steps are the slots of one Qt Test class that shares the window it opens.
#include <QAction>
#include <QComboBox>
#include <QDialog>
#include <QDir>
#include <QFile>
#include <QHeaderView>
#include <QJsonArray>
#include <QJsonObject>
#include <QLabel>
#include <QLineEdit>
#include <QMenuBar>
#include <QPaintEvent>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QTableView>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QTextBrowser>
#include <QToolButton>
#include <QTreeWidget>
#include <QUndoStack>

#include "tests/ui/shell/window_fixture.h"
#include "ui/panels/breaks/breaks_panel.h"
#include "ui/panels/details/details_panel.h"
#include "ui/panels/error/error_panel.h"
#include "ui/panels/graph/graph_panel.h"
#include "ui/panels/output/output_panel.h"
#include "ui/panels/policy/policy_panel.h"
#include "ui/panels/source/code_editor.h"
#include "ui/panels/source/source_panel.h"
#include "ui/panels/timings/timings_panel.h"
#include "ui/shell/main_window.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/chip.h"

using namespace breakline::ui;
using namespace breakline::ui::testing;

namespace {

const QString kNet = QStringLiteral("fn:demo_model.py:Net.forward");
const QString kStep = QStringLiteral("fn:demo_model.py:step");

EngineCommand fake_engine(const QString& scenario) {
  return {QStringLiteral(BREAKLINE_TEST_PYTHON),
          {QStringLiteral(BREAKLINE_SOURCE_DIR "/tests/ui/shell/fake_engine.py"), scenario},
          {},
          {}};
}

struct Fixture : WindowFixture {
  explicit Fixture(const QString& scenario = QStringLiteral("normal"))
      : WindowFixture(
            fake_engine(scenario), QStringLiteral("demo_model.py"),
            text_of(QStringLiteral(BREAKLINE_SOURCE_DIR "/tests/ui/shell/demo_model.py")).toUtf8()) {}
};

/// The text is given up, so that the window closes without a question.
void editor_done(Fixture& f) { f.window->source()->main_editor()->setModified(false); }

}  // namespace

class WindowTest : public QObject {
  Q_OBJECT
 private slots:
  void an_empty_window_says_what_to_do();
  void opening_fills_every_pane();
  void a_click_in_the_tree_recompiles();
  void a_toggle_draws_only_what_changed();
  void toggles_by_keyboard_and_undo();
  void toggles_are_sent_one_at_a_time();
  void from_code_and_back();
  void one_selection_everywhere();
  void strict_preview_marks_all();
  void measuring_fills_plot_and_chip();
  void no_grad_is_one_action();
  void output_is_labelled();
  void details_in_both_languages();
  void engine_death_keeps_toggles();
  void a_hang_can_be_stopped();
  void a_deaf_engine_is_ended();
  void bad_input_data();
  void bad_input();
  void an_engine_that_cannot_start_data();
  void an_engine_that_cannot_start();
  void saving_recompiles();
  void a_syntax_error_keeps_the_last_good_result();
  void old_results_are_marked_as_such();
  void a_crash_leaves_marked_results();
  void an_unwritable_file_keeps_the_text();
  void a_change_from_outside();
  void a_vanished_file();
  void a_file_that_comes_back();
  void an_error_of_the_script_comes_to_the_front();
  void skipped_frames_are_named();
  void empty_panes_fit_the_state();
  void leaving_ends_the_engine();
  void titles_have_room();
  void chips_keep_their_words_clear();
  void breaks_of_a_kind_can_be_told_apart();
  void invalid_utf8_and_missing_files();
  void overlays_by_dialog();
  void themes_and_contrast_data();
  void themes_and_contrast();
  void every_command_has_text_and_a_key_of_its_own();
  void docks_keep_their_least_width();
  void latency_is_measured();
};

void WindowTest::an_empty_window_says_what_to_do() {
  Fixture f;
  QVERIFY(QTest::qWaitForWindowExposed(f.window.get()));
  int buttons = 0;
  for (const EmptyState* empty : f.window->findChildren<EmptyState*>())
    for (const QPushButton* b : empty->findChildren<QPushButton*>())
      buttons += b->isVisible() && !b->text().isEmpty();
  QVERIFY(buttons >= 3);
  QCOMPARE(f.session->state(), EngineState::None);
  QVERIFY(!f.window->banner()->isVisible());
  QVERIFY(!f.window->action(QStringLiteral("recompile"))->isEnabled());
}

void WindowTest::opening_fills_every_pane() {
  Fixture f;
  f.open();
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  QCOMPARE(f.chip("chip_graphs"), QStringLiteral("5 graphs"));
  QCOMPARE(f.chip("chip_breaks"), QStringLiteral("4 breaks: 4 allowed"));
  QCOMPARE(f.panel<BreaksPanel>("breaks")->table()->model()->rowCount(), 4);
  QCOMPARE(f.panel<GraphPanel>("graph")->segment_items(), 6);
  QCOMPARE(f.panel<GraphPanel>("graph")->break_items(), 4);
  QVERIFY(f.window->source()->text().contains(QLatin1String("class Net")));
  CodeEditor* editor = f.window->source()->main_editor();
  QVERIFY(editor->markersAtLine(27));      // the branch has a mark
  QCOMPARE(editor->markersAtLine(1), 0u);  // a plain line has none
  QVERIFY(!f.window->source()->modified());
  QCOMPARE(f.window->findChild<QComboBox*>(QStringLiteral("target"))->count(), 3);
}

void WindowTest::a_click_in_the_tree_recompiles() {
  Fixture f;
  f.open();
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  const QString before = text_of(f.path);
  f.click_policy(kNet, QStringLiteral("error"));
  QCOMPARE(f.session->overlay_value(kNet), QStringLiteral("error"));
  QCOMPARE(f.link->sent.last(), QStringLiteral("policy.set"));
  QTRY_COMPARE_WITH_TIMEOUT(f.chip("chip_breaks"), QStringLiteral("2 breaks: 1 allowed 1 error"), kPatience);
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  QCOMPARE(f.chip("chip_graphs"), QStringLiteral("3 graphs"));
  QCOMPARE(f.panel<GraphPanel>("graph")->segment_items(), 3);
  QVERIFY(f.panel<ErrorPanel>("error")->view()->toPlainText().contains(
      QLatin1String("Unsupported: Data-dependent branching")));
  QVERIFY(f.window->source()->main_editor()->annotation(27).contains(QLatin1String("Data-dependent")));
  QCOMPARE(text_of(f.path), before);  // the user's file is never changed by a toggle
  // The error comes to the front with its break selected; the details come back when it is gone.
  auto* error = f.panel<ErrorPanel>("error");
  QTRY_VERIFY_WITH_TIMEOUT(error->visibleRegion().isEmpty() == false, kPatience);
  QCOMPARE(f.selection.current().kind, SelectionKind::Break);
  QCOMPARE(f.selection.current().line, 28);  // the editor counts from 0
  f.click_policy(kNet, QStringLiteral("inherit"));
  QTRY_COMPARE_WITH_TIMEOUT(f.chip("chip_breaks"), QStringLiteral("4 breaks: 4 allowed"), kPatience);
  QTRY_VERIFY_WITH_TIMEOUT(error->visibleRegion().isEmpty(), kPatience);
}

/// Counts the paint events of a widget and the pixels they were for.
class PaintCount : public QObject {
 public:
  explicit PaintCount(QWidget* widget) { widget->installEventFilter(this); }
  bool eventFilter(QObject*, QEvent* event) override {
    if (event->type() == QEvent::Paint) {
      const QRect r = static_cast<QPaintEvent*>(event)->region().boundingRect();
      pixels = std::max(pixels, r.width() * r.height());
    }
    return false;
  }
  int pixels = 0;
};

void WindowTest::a_toggle_draws_only_what_changed() {
  Fixture f;
  f.open();
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  auto* tree = f.panel<PolicyPanel>("policies")->tree();
  QTreeWidgetItem* const first = tree->topLevelItem(0);
  QTest::qWait(50);
  PaintCount bar(f.window->menuBar());
  QSignalSpy latency(f.session.get(), &Session::latency_measured);
  f.click_policy(kNet, QStringLiteral("error"));
  QTRY_COMPARE_WITH_TIMEOUT(latency.size(), 1, kPatience);
  QVERIFY(f.session->answer_ms() > 0 && f.session->answer_ms() <= latency.first().first().toDouble());
  // The tree was filled again, not made again; what shows nothing of a report was left alone.
  QCOMPARE(tree->topLevelItem(0), first);
  QVERIFY2(bar.pixels <= 1, qPrintable(QString::number(bar.pixels)));
  QVERIFY(f.window->settled());
  QCOMPARE(f.panel<GraphPanel>("graph")->break_items(), int(f.session->report()->breaks_of({}).size()));
}

void WindowTest::toggles_by_keyboard_and_undo() {
  Fixture f;
  f.open();
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  auto* tree = f.panel<PolicyPanel>("policies")->tree();
  f.panel<PolicyPanel>("policies")->switch_rect(kStep, QStringLiteral("error"));
  for (QTreeWidgetItemIterator it(tree); *it; ++it)
    if ((*it)->text(0) == QLatin1String("step")) tree->setCurrentItem(*it);
  QTest::keyClick(tree, Qt::Key_E);
  QCOMPARE(f.session->overlay_value(kStep), QStringLiteral("error"));
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  // The inner region of the code allows, so the break there stays allowed.
  QCOMPARE(f.chip("chip_breaks"), QStringLiteral("4 breaks: 4 allowed"));
  f.click_policy(QStringLiteral("lines:demo_model.py:37-39"), QStringLiteral("error"));
  QTRY_COMPARE_WITH_TIMEOUT(f.chip("chip_breaks"), QStringLiteral("4 breaks: 3 allowed 1 error"), kPatience);
  f.window->action(QStringLiteral("undo"))->trigger();
  QTRY_COMPARE_WITH_TIMEOUT(f.chip("chip_breaks"), QStringLiteral("4 breaks: 4 allowed"), kPatience);
  f.window->action(QStringLiteral("redo"))->trigger();
  QTRY_COMPARE_WITH_TIMEOUT(f.chip("chip_breaks"), QStringLiteral("4 breaks: 3 allowed 1 error"), kPatience);
  f.window->action(QStringLiteral("clear_overlays"))->trigger();
  QVERIFY(f.session->overlays().isEmpty());
  f.window->action(QStringLiteral("undo"))->trigger();
  QCOMPARE(f.session->overlays().size(), 2);
}

void WindowTest::toggles_are_sent_one_at_a_time() {
  Fixture f;
  f.open();
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  f.link->sent.clear();
  for (const char* value : {"error", "allow", "error", "allow", "error"})
    f.session->set_overlay(kNet, QLatin1String(value));
  QCOMPARE(f.link->sent, QStringList{QStringLiteral("policy.set")});  // the rest waits
  QTRY_COMPARE_WITH_TIMEOUT(f.chip("chip_breaks"), QStringLiteral("2 breaks: 1 allowed 1 error"), kPatience);
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  QCOMPARE(f.link->sent.count(QStringLiteral("policy.set")), 2);  // and only the newest list follows
}

void WindowTest::from_code_and_back() {
  Fixture f;
  f.open();
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  f.click_policy(kNet, QStringLiteral("error"));
  QTRY_COMPARE_WITH_TIMEOUT(f.chip("chip_breaks"), QStringLiteral("2 breaks: 1 allowed 1 error"), kPatience);
  f.session->use_overlays(false);
  QTRY_COMPARE_WITH_TIMEOUT(f.chip("chip_breaks"), QStringLiteral("4 breaks: 4 allowed"), kPatience);
  QCOMPARE(f.session->overlay_value(kNet), QStringLiteral("error"));
  f.session->use_overlays(true);
  QTRY_COMPARE_WITH_TIMEOUT(f.chip("chip_breaks"), QStringLiteral("2 breaks: 1 allowed 1 error"), kPatience);
}

void WindowTest::one_selection_everywhere() {
  Fixture f;
  f.open();
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  auto* table = f.panel<BreaksPanel>("breaks")->table();
  const QModelIndex row = table->model()->index(1, BreakTableModel::Why);
  QTest::mouseClick(table->viewport(), Qt::LeftButton, {}, table->visualRect(row).center());
  QCOMPARE(f.selection.current().kind, SelectionKind::Break);
  QCOMPARE(f.selection.current().line, 31);
  CodeEditor* editor = f.window->source()->main_editor();
  QCOMPARE(editor->caret_line(), 31);
  auto* tree = f.panel<PolicyPanel>("policies")->tree();
  QVERIFY(tree->currentItem() && tree->currentItem()->text(0) == QLatin1String("Net.forward"));
  QTRY_VERIFY_WITH_TIMEOUT(f.panel<DetailsPanel>("details")->browser()->toPlainText().contains(
                               QLatin1String("Tensor.item() call")),
                           kPatience);
  // From the tree to the others.
  tree->setCurrentItem(nullptr);
  for (QTreeWidgetItemIterator it(tree); *it; ++it)
    if ((*it)->text(0) == QLatin1String("Block.forward")) tree->setCurrentItem(*it);
  QCOMPARE(f.selection.current().kind, SelectionKind::Region);
  QVERIFY(!table->currentIndex().isValid());
  QCOMPARE(editor->caret_line(), 14);
  // From the graph.
  auto* graph = f.panel<GraphPanel>("graph");
  graph->fit();
  graph->view()->setFocus();
  QTest::keyClick(graph->view(), Qt::Key_Down);
  QCOMPARE(f.selection.current().kind, SelectionKind::Segment);
  QTRY_VERIFY(f.window->settled());
  QVERIFY(f.panel<DetailsPanel>("details")->browser()->toPlainText().contains(QLatin1String("layer_norm")));
  // From the source margin.
  emit editor->marginClicked(CodeEditor::kMarkMargin, 38, Qt::NoModifier);
  QCOMPARE(f.selection.current().kind, SelectionKind::Break);
  QCOMPARE(table->currentIndex().row(), 3);
  f.window->action(QStringLiteral("clear_selection"))->trigger();
  QCOMPARE(f.selection.current().kind, SelectionKind::None);
}

void WindowTest::strict_preview_marks_all() {
  Fixture f;
  f.open();
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  auto* button = f.window->findChild<QToolButton*>(QStringLiteral("strict_preview"));
  QTest::mouseClick(button, Qt::LeftButton);
  QVERIFY(f.session->strict_preview());
  QTRY_VERIFY(f.window->settled());
  const auto* model = f.panel<BreaksPanel>("breaks")->table()->model();
  QVERIFY(model->index(0, BreakTableModel::Policy).data().toString().contains(QLatin1String("first")));
  QVERIFY(model->index(3, 0).data(BreakTableModel::ErrorRole).toBool());
  QCOMPARE(f.chip("chip_breaks"), QStringLiteral("4 breaks: 4 allowed"));  // a preview changes nothing
}

void WindowTest::measuring_fills_plot_and_chip() {
  Fixture f;
  f.open();
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  QCOMPARE(f.chip("chip_ratio"), QStringLiteral("not measured"));
  QTest::mouseClick(f.window->findChild<QToolButton*>(QStringLiteral("measure")), Qt::LeftButton);
  QTRY_VERIFY_WITH_TIMEOUT(f.session->timings({}), kPatience);
  auto* table = f.panel<TimingsPanel>("timings")->table();
  QCOMPARE(table->rowCount(), 5);
  QCOMPARE(table->item(4, 1)->text(), QStringLiteral("layer_norm has no shader yet"));
  QCOMPARE(table->item(2, 3)->text(), QStringLiteral("faster"));
  QVERIFY(f.chip("chip_ratio").contains(QStringLiteral("x ±")));
  QVERIFY(!f.session->timings_stale({}));
  QTRY_COMPARE_WITH_TIMEOUT(
      f.panel<BreaksPanel>("breaks")->table()->model()->index(0, BreakTableModel::Cost).data().toString(),
      QStringLiteral("9.10 µs"), kPatience);
  f.click_policy(kNet, QStringLiteral("error"));
  QTRY_VERIFY_WITH_TIMEOUT(f.session->timings_stale({}), kPatience);
}

void WindowTest::no_grad_is_one_action() {
  Fixture f(QStringLiteral("grad"));
  f.open();
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  QCOMPARE(f.session->report()->targets.first().segments.first().plan, QStringLiteral("replay"));
  auto* button = f.window->findChild<QToolButton*>(QStringLiteral("measure_no_grad"));
  QVERIFY(button->isVisible());
  QTest::mouseClick(button, Qt::LeftButton);
  QTRY_VERIFY_WITH_TIMEOUT(f.session->timings({}), kPatience);
  QCOMPARE(f.session->report()->targets.first().segments.first().plan, QStringLiteral("cpu"));
  QVERIFY(f.link->sent.contains(QStringLiteral("option.set")));
}

void WindowTest::output_is_labelled() {
  Fixture f;
  f.open();
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  auto* view = f.panel<OutputPanel>("output")->view();
  QVERIFY(view->toPlainText().contains(QStringLiteral("— run —\nnorm 8.25")));
  f.click_policy(kNet, QStringLiteral("allow"));
  QTRY_VERIFY_WITH_TIMEOUT(view->toPlainText().contains(QStringLiteral("— recompile —\nnorm 8.25")),
                           kPatience);
}

void WindowTest::details_in_both_languages() {
  Fixture f;
  f.open();
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  const Break* b = f.session->report()->breaks_of({}).first();
  f.selection.set({SelectionKind::Break, b->id, f.path, b->line, b->end_line});
  auto* browser = f.panel<DetailsPanel>("details")->browser();
  QTRY_VERIFY_WITH_TIMEOUT(browser->toPlainText().contains(QLatin1String("Dead ends")), kPatience);
  const QString english = browser->toPlainText();
  QVERIFY(english.contains(QLatin1String("not measured")));
  QVERIFY(english.contains(QLatin1String("bool() asks for the same value.")));
  QVERIFY(english.indexOf(QLatin1String("Move the test out of the compiled function")) <
          english.indexOf(QLatin1String("Use torch.where\n")));
  f.window->show_panel(QStringLiteral("details"));
  QTest::mouseClick(f.window->findChild<QToolButton*>(QStringLiteral("language")), Qt::LeftButton);
  QTRY_VERIFY_WITH_TIMEOUT(browser->toPlainText().contains(QStringLiteral("根本原因")), kPatience);
  QVERIFY(browser->toPlainText().contains(QStringLiteral("未测量")));
  QVERIFY(browser->toPlainText().contains(QStringLiteral("（未翻译）")));
}

void WindowTest::engine_death_keeps_toggles() {
  Fixture f(QStringLiteral("die_on_toggle"));
  f.open();
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  f.click_policy(kNet, QStringLiteral("error"));
  QTRY_COMPARE_WITH_TIMEOUT(f.session->state(), EngineState::Died, kPatience);
  QVERIFY(f.window->banner()->isVisible());
  QVERIFY(f.session->report());  // the last good result stays
  QCOMPARE(f.session->overlay_value(kNet), QStringLiteral("error"));
  QVERIFY(f.panel<ErrorPanel>("error")->view()->toPlainText().contains(QLatin1String("told to die")));
  QTest::mouseClick(f.button("banner_restart"), Qt::LeftButton);
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  QCOMPARE(f.chip("chip_breaks"), QStringLiteral("2 breaks: 1 allowed 1 error"));
  QVERIFY(!f.window->banner()->isVisible());
}

void WindowTest::a_hang_can_be_stopped() {
  Fixture f(QStringLiteral("hang"));
  f.session->hang_after_ms = 1;
  f.open();
  QTRY_VERIFY_WITH_TIMEOUT(f.button("banner_stop"), kPatience);
  QTRY_VERIFY_WITH_TIMEOUT(f.session->state() == EngineState::Running, kPatience);
  QTRY_VERIFY_WITH_TIMEOUT(f.session->phase() == QLatin1String("running demo_model.py"), kPatience);
  QTest::mouseClick(f.button("banner_stop"), Qt::LeftButton);
  QTRY_COMPARE_WITH_TIMEOUT(f.session->problem().kind, QStringLiteral("stopped"), kPatience);
  QCOMPARE(f.session->state(), EngineState::Ready);
  QVERIFY(f.link->alive());
  QVERIFY(f.window->action(QStringLiteral("recompile"))->isEnabled());
}

void WindowTest::a_deaf_engine_is_ended() {
  Fixture f(QStringLiteral("hang_deaf"));
  f.session->hang_after_ms = 1;
  f.session->stop_grace_ms = 1;
  f.open();
  f.session->set_overlay(kNet, QStringLiteral("error"));
  QTRY_VERIFY_WITH_TIMEOUT(f.session->phase() == QLatin1String("running demo_model.py"), kPatience);
  f.window->action(QStringLiteral("stop"))->trigger();
  QTRY_COMPARE_WITH_TIMEOUT(f.session->state(), EngineState::Died, kPatience);
  QVERIFY(f.button("banner_restart"));
  QCOMPARE(f.session->overlay_value(kNet), QStringLiteral("error"));
}

void WindowTest::bad_input_data() {
  QTest::addColumn<QString>("scenario");
  for (const char* s : {"missing_import", "missing_target", "bad_input", "no_compiled_call", "no_torch",
                        "wrong_python", "raises"})
    QTest::newRow(s) << QString::fromLatin1(s);
}

void WindowTest::bad_input() {
  QFETCH(QString, scenario);
  Fixture f(scenario);
  f.open();
  QTRY_VERIFY_WITH_TIMEOUT(!f.session->problem().empty(), kPatience);
  QVERIFY(f.window->banner()->isVisible());
  QCOMPARE(f.window->banner()->sentence(), f.session->problem().sentence);
  QVERIFY(!f.window->banner()->sentence().contains(QLatin1Char('\n')));
  QCOMPARE(f.session->problem().exit_code, scenario == QLatin1String("raises") ? 3 : 2);
  QVERIFY(f.window->source()->text().contains(QLatin1String("class Net")));  // still usable
  QVERIFY(f.window->action(QStringLiteral("recompile"))->isEnabled());
  if (scenario == QLatin1String("no_torch")) QVERIFY(f.button("banner_interpreter"));
}

void WindowTest::an_engine_that_cannot_start_data() {
  QTest::addColumn<QString>("scenario");
  QTest::addColumn<QString>("says");
  QTest::newRow("no package") << QStringLiteral("cannot_start")
                              << QStringLiteral("No module named breakline");
  QTest::newRow("no protocol") << QStringLiteral("garbage") << QStringLiteral("not the protocol");
  QTest::newRow("other version") << QStringLiteral("protocol") << QStringLiteral("protocol 99");
}

void WindowTest::an_engine_that_cannot_start() {
  QFETCH(QString, scenario);
  QFETCH(QString, says);
  Fixture f(scenario);
  f.open();
  QTRY_COMPARE_WITH_TIMEOUT(f.session->state(), EngineState::Died, kPatience);
  QTRY_VERIFY_WITH_TIMEOUT(f.window->banner()->isVisible(), kPatience);
  QVERIFY2(f.window->banner()->sentence().contains(says), qPrintable(f.window->banner()->sentence()));
  QVERIFY(f.button("banner_restart"));
}

void WindowTest::saving_recompiles() {
  Fixture f;
  f.open();
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  CodeEditor* editor = f.window->source()->main_editor();
  editor->setFocus();
  editor->setCursorPosition(0, 0);
  QTest::keyClicks(editor, QStringLiteral("# typed"));
  QTest::keyClick(editor, Qt::Key_Return);
  QVERIFY(f.window->source()->modified());
  QVERIFY(f.window->isWindowModified());
  QVERIFY(!text_of(f.path).contains(QLatin1String("# typed")));
  f.link->sent.clear();
  f.window->action(QStringLiteral("save"))->trigger();
  QVERIFY(text_of(f.path).startsWith(QLatin1String("# typed\n")));
  QVERIFY(!f.window->source()->modified());
  QCOMPARE(f.link->sent, QStringList{QStringLiteral("reload")});
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
}

void WindowTest::a_syntax_error_keeps_the_last_good_result() {
  Fixture f;
  f.open();
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  const ReportPtr good = f.session->report();
  CodeEditor* editor = f.window->source()->main_editor();
  const QString text = editor->text();
  editor->setText(QStringLiteral("SYNTAX\n") + text);
  f.window->action(QStringLiteral("save"))->trigger();
  QTRY_COMPARE_WITH_TIMEOUT(f.session->problem().kind, QStringLiteral("syntax"), kPatience);
  QVERIFY(f.window->banner()->isVisible());
  QCOMPARE(f.session->report(), good);
  QCOMPARE(f.chip("chip_graphs"), QStringLiteral("5 graphs"));
  QVERIFY(f.panel<ErrorPanel>("error")->view()->toPlainText().contains(QLatin1String("SyntaxError")));
  editor->setText(text);
  f.window->action(QStringLiteral("save"))->trigger();
  QTRY_VERIFY_WITH_TIMEOUT(f.session->problem().empty(), kPatience);
  QTRY_VERIFY_WITH_TIMEOUT(!f.window->banner()->isVisible(), kPatience);
}

void WindowTest::old_results_are_marked_as_such() {
  Fixture f;
  f.open();
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  auto* graphs = f.window->findChild<Chip*>(QStringLiteral("chip_graphs"));
  auto* status = f.window->findChild<QLabel*>(QStringLiteral("status_stale"));
  const auto notes = [&f] {
    int n = 0;
    for (const QLabel* note : f.window->findChildren<QLabel*>(QStringLiteral("stale_note")))
      n += note->isVisible() && note->text().contains(QLatin1String("last text that compiled"));
    return n;
  };
  QVERIFY(!graphs->stale() && !status->isVisible() && notes() == 0);
  CodeEditor* editor = f.editor();
  const QString good = editor->text();
  const auto marks = [editor](int line) { return editor->markersAtLine(line - 1); };
  const unsigned plain = marks(2), branch = marks(28);
  QVERIFY(branch);
  // Two new lines in front, the branch of line 28 rewritten, and a fault in line 2.
  QString bad = good;
  bad.replace(QLatin1String("if x.sum() > 0:"), QLatin1String("if x.sum() > 1:"));
  f.edit_and_save(QStringLiteral("# new\nx SYNTAX\n") + bad);
  QTRY_COMPARE_WITH_TIMEOUT(f.session->problem().kind, QStringLiteral("syntax"), kPatience);
  QTRY_VERIFY_WITH_TIMEOUT(graphs->stale(), kPatience);
  QVERIFY(status->isVisible());
  QCOMPARE(notes(), 2);
  QVERIFY(graphs->toolTip().contains(QLatin1String("last text that compiled")));
  QVERIFY(editor->annotation(1).contains(QLatin1String("syntax error")));
  QVERIFY(marks(2) != plain);       // the broken line is marked
  QVERIFY(marks(31) && marks(33));  // the print moved with its text
  QVERIFY(marks(30) != branch);     // the rewritten branch has no break any more
  QVERIFY(marks(33) & ~marks(32));  // only the line with the break has its mark
  // A toggle works on the last good text; the failure of the edit stands.
  f.click_policy(kNet, QStringLiteral("error"));
  QTRY_COMPARE_WITH_TIMEOUT(f.chip("chip_breaks"), QStringLiteral("2 breaks: 1 allowed 1 error"), kPatience);
  QVERIFY(graphs->stale());
  QCOMPARE(f.session->problem().kind, QStringLiteral("syntax"));
  f.edit_and_save(good);
  QTRY_VERIFY_WITH_TIMEOUT(f.session->problem().empty(), kPatience);
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  QVERIFY(!graphs->stale() && !status->isVisible() && notes() == 0);
  QVERIFY(editor->annotation(1).isEmpty());
  QVERIFY(marks(28));
}

void WindowTest::a_crash_leaves_marked_results() {
  Fixture f;
  f.open();
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  const unsigned branch = f.editor()->markersAtLine(27);
  QVERIFY(branch);
  write(f.path, "CRASH\n");  // by another program
  QTRY_COMPARE_WITH_TIMEOUT(f.session->state(), EngineState::Died, kPatience);
  QVERIFY(f.session->report());
  QVERIFY(f.window->findChild<Chip*>(QStringLiteral("chip_breaks"))->stale());
  for (int line = 0; line < f.editor()->lines(); ++line) QCOMPARE(f.editor()->markersAtLine(line), 0u);
}

void WindowTest::an_unwritable_file_keeps_the_text() {
  Fixture f;
  f.open();
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  CodeEditor* editor = f.window->source()->main_editor();
  editor->insertAt(QStringLiteral("# kept\n"), 0, 0);
  QVERIFY(f.folder.remove());  // nobody can write into a folder that is gone, root neither
  f.window->action(QStringLiteral("save"))->trigger();
  QCOMPARE(f.session->problem().kind, QStringLiteral("unwritable"));
  QVERIFY(f.window->banner()->sentence().contains(QLatin1String("your text is kept")));
  QVERIFY(f.button("banner_save_as"));
  QVERIFY(f.window->source()->modified());
  QVERIFY(f.window->source()->text().startsWith(QLatin1String("# kept")));
  editor_done(f);
}

void WindowTest::a_change_from_outside() {
  Fixture f;
  f.open();
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  const QByteArray text = text_of(f.path).toUtf8();
  f.link->sent.clear();
  write(f.path, "# outside\n" + text);
  QTRY_VERIFY_WITH_TIMEOUT(f.window->source()->text().startsWith(QLatin1String("# outside")), kPatience);
  QTRY_VERIFY_WITH_TIMEOUT(f.link->sent.contains(QStringLiteral("reload")), kPatience);
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  // With unsaved text nothing is replaced: the user decides.
  f.window->source()->main_editor()->insertAt(QStringLiteral("# mine\n"), 0, 0);
  write(f.path, "# outside again\n" + text);
  QTRY_VERIFY_WITH_TIMEOUT(f.button("banner_load"), kPatience);
  QVERIFY(f.window->source()->text().startsWith(QLatin1String("# mine")));
  QTest::mouseClick(f.button("banner_load"), Qt::LeftButton);
  QVERIFY(f.window->source()->text().startsWith(QLatin1String("# outside again")));
  f.window->source()->main_editor()->undo();  // and the typed text can be had back
  QVERIFY(f.window->source()->text().startsWith(QLatin1String("# mine")));
  editor_done(f);
}

void WindowTest::a_vanished_file() {
  Fixture f;
  f.open();
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  QVERIFY(QFile::remove(f.path));
  QTRY_VERIFY_WITH_TIMEOUT(f.button("banner_save"), kPatience);
  QTest::mouseClick(f.button("banner_save"), Qt::LeftButton);
  QVERIFY(text_of(f.path).contains(QLatin1String("class Net")));
  QVERIFY(!f.window->source()->modified());
}

void WindowTest::a_file_that_comes_back() {
  Fixture f;
  f.open();
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  const QString text = text_of(f.path), aside = f.path + QStringLiteral(".aside");
  f.link->sent.clear();
  QVERIFY(QFile::rename(f.path, aside));
  QTRY_VERIFY_WITH_TIMEOUT(f.button("banner_save"), kPatience);
  QVERIFY(QFile::rename(aside, f.path));
  QTRY_VERIFY_WITH_TIMEOUT(!f.window->banner()->isVisible(), kPatience);  // quiet again
  QVERIFY(!f.window->source()->modified());
  QVERIFY(f.link->sent.isEmpty());
  // Gone, then back with another text: nothing was typed, so it is no conflict.
  QVERIFY(QFile::remove(f.path));
  QTRY_VERIFY_WITH_TIMEOUT(f.window->banner()->isVisible(), kPatience);
  write(f.path, "# new\n" + text.toUtf8());
  QTRY_VERIFY_WITH_TIMEOUT(f.window->source()->text().startsWith(QLatin1String("# new")), kPatience);
  QTRY_VERIFY_WITH_TIMEOUT(f.link->sent.contains(QStringLiteral("reload")), kPatience);
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  QVERIFY(!f.window->banner()->isVisible() && !f.window->source()->modified());
  // The whole folder made anew, as a checkout of another branch does.
  const QString folder = QFileInfo(f.path).absolutePath();
  QVERIFY(QDir(folder).removeRecursively());
  QTRY_VERIFY_WITH_TIMEOUT(f.window->banner()->isVisible(), kPatience);
  QVERIFY(QDir().mkpath(folder));
  write(f.path, "# third\n" + text.toUtf8());
  QTRY_VERIFY_WITH_TIMEOUT(f.window->source()->text().startsWith(QLatin1String("# third")), kPatience);
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  // With typed text it is a conflict, until the other program takes its change back.
  f.editor()->insertAt(QStringLiteral("# mine\n"), 0, 0);
  write(f.path, "# fourth\n");
  QTRY_VERIFY_WITH_TIMEOUT(f.button("banner_load"), kPatience);
  write(f.path, "# third\n" + text.toUtf8());
  QTRY_VERIFY_WITH_TIMEOUT(!f.window->banner()->isVisible(), kPatience);
  QVERIFY(f.window->source()->text().startsWith(QLatin1String("# mine")));
  QVERIFY(f.window->source()->modified());
  editor_done(f);
}

void WindowTest::an_error_of_the_script_comes_to_the_front() {
  Fixture f(QStringLiteral("exits"));
  f.open();
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  auto* error = f.panel<ErrorPanel>("error");
  QTRY_VERIFY_WITH_TIMEOUT(!error->visibleRegion().isEmpty(), kPatience);
  QVERIFY(error->view()->toPlainText().contains(QLatin1String("SystemExit: 7")));
  QCOMPARE(f.selection.current().kind, SelectionKind::None);  // no break is to blame
  QVERIFY(f.editor()->annotation(45).contains(QLatin1String("SystemExit")));
}

void WindowTest::skipped_frames_are_named() {
  Fixture f(QStringLiteral("skipped"));
  f.open();
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  auto* panel = f.panel<BreaksPanel>("breaks");
  QCOMPARE(panel->table()->model()->rowCount(), 0);
  QVERIFY(panel->foot()->text().contains(QLatin1String("step.f (demo_model.py:35)")));
  QVERIFY(panel->foot()->text().contains(QLatin1String("recompile limit")));
  for (const QLabel* label : panel->findChildren<QLabel*>())
    QVERIFY(!label->text().contains(QLatin1String("whole graphs")));
  QVERIFY(f.chip("chip_breaks").contains(QLatin1String("2 skipped")));
  QVERIFY(f.window->findChild<Chip*>(QStringLiteral("chip_breaks"))
              ->toolTip()
              .contains(QLatin1String("recompile limit")));
}

void WindowTest::empty_panes_fit_the_state() {
  const auto words = [](Fixture& f) {
    QString all;
    for (const EmptyState* empty : f.window->findChildren<EmptyState*>())
      for (const QLabel* label : empty->findChildren<QLabel*>()) all += label->text() + QLatin1Char('\n');
    return all;
  };
  const auto buttons = [](Fixture& f) {
    QStringList all;
    for (const EmptyState* empty : f.window->findChildren<EmptyState*>())
      for (const QPushButton* b : empty->findChildren<QPushButton*>())
        if (b->isVisibleTo(f.window.get()) && b->isEnabled()) all << b->text();
    return all;
  };
  Fixture hang(QStringLiteral("hang"));
  QVERIFY(words(hang).contains(QLatin1String("Open a script")));
  QVERIFY(!buttons(hang).contains(QStringLiteral("Measure")));
  hang.open();
  QTRY_COMPARE_WITH_TIMEOUT(hang.session->state(), EngineState::Running, kPatience);
  QVERIFY(words(hang).contains(QStringLiteral("Loading…")));
  QVERIFY(!words(hang).contains(QLatin1String("Open a script and")));
  QVERIFY(!buttons(hang).contains(QStringLiteral("Open…")) &&
          !buttons(hang).contains(QStringLiteral("Measure")));
  hang.session->stop();
  QTRY_VERIFY_WITH_TIMEOUT(words(hang).contains(QLatin1String("Stopped")), kPatience);
  Fixture failed(QStringLiteral("raises"));
  failed.open();
  QTRY_VERIFY_WITH_TIMEOUT(!failed.session->problem().empty(), kPatience);
  QTRY_VERIFY_WITH_TIMEOUT(words(failed).contains(QLatin1String("see the Error tab")), kPatience);
  QVERIFY(!buttons(failed).contains(QStringLiteral("Open…")));
}

void WindowTest::leaving_ends_the_engine() {
  QTest::failOnWarning(QRegularExpression(QStringLiteral("QProcess: Destroyed")));
  Fixture f(QStringLiteral("hang_deaf"));
  f.open();
  QTRY_COMPARE_WITH_TIMEOUT(f.session->state(), EngineState::Running, kPatience);
  const qint64 pid = f.session->engine().pid;
  QVERIFY(pid > 0 && QFile::exists(QStringLiteral("/proc/%1").arg(pid)));
  f.window.reset();
  f.session.reset();
  QVERIFY(!QFile::exists(QStringLiteral("/proc/%1").arg(pid)));
}

void WindowTest::titles_have_room() {
  Fixture f(QStringLiteral("grad"));
  f.open();
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  QVERIFY(f.window->findChild<QToolButton*>(QStringLiteral("measure_no_grad"))->isVisible());
  // The name of a part that is cut or lies outside; the layout settles over a few turns of the event loop.
  const auto cramped = [&f]() -> QString {
    for (const QWidget* title : f.window->findChildren<QWidget*>(QStringLiteral("panel_title")))
      for (const QWidget* part : title->findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly)) {
        if (part->visibleRegion().isEmpty()) continue;  // behind another tab
        const bool words = qobject_cast<const QLabel*>(part) || qobject_cast<const QToolButton*>(part);
        if (!title->rect().contains(part->geometry()) || (words && part->width() < part->sizeHint().width()))
          return part->objectName() + QStringLiteral(" at %1").arg(f.window->width());
      }
    return {};
  };
  for (const QSize size : {QSize(1280, 800), QSize(1920, 1080), QSize(1000, 700)}) {
    f.window->resize(size);
    QCoreApplication::processEvents();
    QTRY_COMPARE_WITH_TIMEOUT(cramped(), QString(), kPatience);
  }
}

void WindowTest::chips_keep_their_words_clear() {
  Theme theme;
  theme.set(QStringLiteral("light"));
  Chip chip(&theme);
  chip.set_parts({{QStringLiteral("graphs…"), Tone::Quiet}}, Tone::Line, Tone::Raised);
  const int calm = chip.sizeHint().width();
  chip.set_busy(true);
  QTRY_VERIFY(chip.sizeHint().width() > calm + 12);  // the spinner has room of its own
  chip.set_busy(false);
  QCOMPARE(chip.sizeHint().width(), calm);
}

void WindowTest::breaks_of_a_kind_can_be_told_apart() {
  BreakTableModel model;
  const auto one = [](int line, const char* code) {
    return QJsonObject{
        {QStringLiteral("id"), QString::number(line)},
        {QStringLiteral("reason"), QStringLiteral("untraced")},
        {QStringLiteral("type"), QStringLiteral("function of an untraced module")},
        {QStringLiteral("file"), QStringLiteral("/lib/library.py")},
        {QStringLiteral("line"), 900},
        {QStringLiteral("events"), 6},
        {QStringLiteral("code"), QLatin1String(code)},
        {QStringLiteral("user"), QJsonObject{{QStringLiteral("file"), QStringLiteral("/m.py")},
                                             {QStringLiteral("line"), line},
                                             {QStringLiteral("function"), QStringLiteral("f")}}}};
  };
  const QJsonObject target{
      {QStringLiteral("id"), QStringLiteral("t0")},
      {QStringLiteral("calls"), 3},
      {QStringLiteral("breaks"), QJsonArray{one(4, "opt.step()"), one(5, "opt.zero_grad()")}}};
  const QJsonObject json{{QStringLiteral("schema"), 1},
                         {QStringLiteral("file"), QStringLiteral("/m.py")},
                         {QStringLiteral("targets"), QJsonArray{target}}};
  const auto report = std::make_shared<Report>(parse_report(json));
  model.set(report, {}, {}, false, {});
  QVERIFY(model.index(0, BreakTableModel::Why).data().toString().startsWith(QLatin1String("opt.step()")));
  QVERIFY(
      model.index(1, BreakTableModel::Why).data().toString().startsWith(QLatin1String("opt.zero_grad()")));
  QCOMPARE(model.index(0, BreakTableModel::Line).data().toString(), QStringLiteral("4"));  // the user's line
  QCOMPARE(model.index(0, BreakTableModel::Events).data().toString(), QStringLiteral("2"));  // per call
  const QString tip = model.index(0, BreakTableModel::Why).data(Qt::ToolTipRole).toString();
  QVERIFY(tip.contains(QLatin1String("opt.step()")) && tip.contains(QLatin1String("library.py")));
}

void WindowTest::invalid_utf8_and_missing_files() {
  Fixture f;
  write(f.path, "x = '\xff\xfe'\n");
  f.open();
  QVERIFY(f.window->banner()->isVisible());
  QVERIFY(f.window->banner()->sentence().contains(QLatin1String("UTF-8")));
  QVERIFY(f.window->source()->main_editor()->isReadOnly());
  OpenRequest request;
  request.target = f.folder.filePath(QStringLiteral("gone.py"));
  f.window->open_request(request);
  QVERIFY(f.window->banner()->sentence().contains(QLatin1String("gone.py")));
  QVERIFY(f.button("banner_open"));
  request.target = f.folder.path();
  f.window->open_request(request);
  QVERIFY(f.window->banner()->sentence().contains(QLatin1String("folder")));
}

void WindowTest::overlays_by_dialog() {
  Fixture f;
  f.open();
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  f.window->action(QStringLiteral("show_policies"))->trigger();
  for (QAction* a : f.panel<PolicyPanel>("policies")->commands())
    if (a->shortcut() == QKeySequence(QStringLiteral("Ctrl+L"))) a->trigger();
  auto* dialog = f.window->findChild<QDialog*>(QStringLiteral("overlay_dialog"));
  QVERIFY(dialog);
  dialog->findChild<QComboBox*>(QStringLiteral("overlay_kind"))->setCurrentIndex(1);
  auto* what = dialog->findChild<QLineEdit*>(QStringLiteral("overlay_what"));
  what->clear();
  QTest::keyClicks(what, QStringLiteral("9-3"));
  QPushButton* ok = nullptr;
  for (QPushButton* b : dialog->findChildren<QPushButton*>())
    if (b->property("primary").toBool()) ok = b;
  QVERIFY(ok && !ok->isEnabled());  // not a range
  what->clear();
  QTest::keyClicks(what, QStringLiteral("10-12"));
  QVERIFY(ok->isEnabled());
  QTest::mouseClick(ok, Qt::LeftButton);
  QCOMPARE(f.session->overlay_value(QStringLiteral("lines:demo_model.py:10-12")), QStringLiteral("error"));
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  // A region the engine does not list is shown all the same, with the engine's word about it.
  bool found = false;
  for (QTreeWidgetItemIterator it(f.panel<PolicyPanel>("policies")->tree()); *it; ++it)
    found |= (*it)->text(0).contains(QStringLiteral("10–12"));
  QVERIFY(found);
}

void WindowTest::themes_and_contrast_data() {
  QTest::addColumn<QString>("name");
  QTest::newRow("light") << QStringLiteral("light");
  QTest::newRow("dark") << QStringLiteral("dark");
}

void WindowTest::themes_and_contrast() {
  QFETCH(QString, name);
  Fixture f;
  f.open();
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  f.window->action(name)->trigger();
  QCOMPARE(f.theme.name(), name);
  QTRY_VERIFY_WITH_TIMEOUT(f.window->settled(), kPatience);
  for (const Tone text : {Tone::Text, Tone::Quiet, Tone::BreakAllowed, Tone::BreakError, Tone::Accent,
                          Tone::Error, Tone::Allow, Tone::CodeKeyword, Tone::CodeString, Tone::CodeComment})
    QVERIFY2(contrast(f.theme.color(text), f.theme.color(Tone::Pane)) >= 4.5,
             qPrintable(QString::number(int(text))));
  QVERIFY(contrast(f.theme.color(Tone::Text), f.theme.color(Tone::Selection)) >= 4.5);
  QVERIFY(contrast(f.theme.color(Tone::BreakError), f.theme.color(Tone::BreakErrorFill)) >= 4.5);
  const QImage picture = f.window->grab().toImage();
  QCOMPARE(picture.size(), QSize(1280, 800));
  const int middle = picture.pixelColor(640, 795).lightness();
  QVERIFY(name == QLatin1String("dark") ? middle < 80 : middle > 200);
  QVERIFY(!f.theme.set(QStringLiteral("pink")));
}

void WindowTest::every_command_has_text_and_a_key_of_its_own() {
  Fixture f;
  QSet<QString> keys;
  for (QAction* a : f.window->all_actions()) {
    QVERIFY(!a->text().isEmpty());
    const QString key = a->shortcut().toString();
    if (key.isEmpty()) continue;
    QVERIFY2(!keys.contains(key), qPrintable(key + QLatin1Char(' ') + a->text()));
    keys.insert(key);
  }
  for (QToolButton* b : f.window->findChildren<QToolButton*>())
    if (!b->icon().isNull() && b->isVisible() && !qobject_cast<QLineEdit*>(b->parent()))
      QVERIFY2(!b->toolTip().isEmpty(), qPrintable(b->objectName()));
}

void WindowTest::docks_keep_their_least_width() {
  Fixture f;
  f.open();
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  // A dock behind another one's tab counts as visible in Qt, but none of it can be seen.
  const auto seen = [&f](const char* id) {
    const QWidget* panel = f.window->panel(QLatin1String(id));
    return panel->isVisible() && !panel->visibleRegion().isEmpty();
  };
  QTRY_VERIFY_WITH_TIMEOUT(seen("breaks") && seen("policies") && seen("timings") && seen("details"),
                           kPatience);
  for (const char* id : {"source", "graph", "policies", "breaks", "timings", "details"})
    QVERIFY2(f.window->panel(QLatin1String(id))->width() >= 220, id);
  f.window->resize(1000, 700);
  QCOMPARE(f.window->width(), 1000);  // nothing inside asks for more
  QTRY_VERIFY_WITH_TIMEOUT(!seen("policies") && seen("breaks"), kPatience);
  QTRY_VERIFY_WITH_TIMEOUT(seen("timings") && !seen("details"), kPatience);
  f.window->show_panel(QStringLiteral("details"));
  QTRY_VERIFY_WITH_TIMEOUT(!seen("timings") && seen("details"), kPatience);
  QTest::mouseClick(f.window->findChild<Chip*>(QStringLiteral("chip_ratio")), Qt::LeftButton);
  QTRY_VERIFY_WITH_TIMEOUT(seen("timings"), kPatience);
  f.window->show_panel(QStringLiteral("policies"));
  QTRY_VERIFY_WITH_TIMEOUT(seen("policies") && !seen("breaks"), kPatience);
  for (const char* id : {"source", "graph", "policies", "timings"})
    QVERIFY2(f.window->panel(QLatin1String(id))->width() >= 220, id);
  // And back: each width has a layout of its own, and the user's choice in it stays.
  f.window->resize(1280, 800);
  QTRY_VERIFY_WITH_TIMEOUT(seen("breaks") && seen("policies"), kPatience);
  f.window->resize(1000, 700);
  QTRY_VERIFY_WITH_TIMEOUT(!seen("breaks") && seen("policies"), kPatience);
}

void WindowTest::latency_is_measured() {
  Fixture f;
  QVERIFY(QTest::qWaitForWindowExposed(f.window.get()));
  f.open();
  QTRY_VERIFY_WITH_TIMEOUT(f.ready(), kPatience);
  QSignalSpy spy(f.session.get(), &Session::latency_measured);
  f.click_policy(kNet, QStringLiteral("error"));
  QTRY_COMPARE_WITH_TIMEOUT(spy.size(), 1, kPatience);
  QVERIFY(spy.first().first().toDouble() > 0);
  QVERIFY(f.window->findChild<QLabel*>(QStringLiteral("status_latency"))
              ->text()
              .contains(QLatin1String("recompiled in")));
}

QTEST_MAIN(WindowTest)
#include "window_test.moc"
