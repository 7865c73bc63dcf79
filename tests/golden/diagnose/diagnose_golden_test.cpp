// SPDX-License-Identifier: GPL-3.0-or-later
// The text of `breakline diagnose`, compared with files kept here. BREAKLINE_UPDATE_GOLDEN=1 writes them
// anew; read the difference before you commit it.
#include <QFile>
#include <QtTest>

#include "core/diagnose/knowledge.h"

using namespace breakline::diagnose;

class DiagnoseGoldenTest : public QObject {
  Q_OBJECT
 private slots:
  void report_data();
  void report();
  void lines_keep_to_the_width();
};

void DiagnoseGoldenTest::report_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<QString>("reason");
  QTest::addColumn<bool>("chinese");
  const QString general = "torch.compile: function 'train_step' failed with a graph break.";
  QTest::newRow("general_en") << general << QString() << false;
  QTest::newRow("general_zh") << general << QString() << true;
  QTest::newRow("data_dependent_branch_en") << QString() << QString("data-dependent-branch") << false;
  QTest::newRow("data_dependent_branch_zh") << QString() << QString("data-dependent-branch") << true;
  QTest::newRow("nothing_en") << QString("12345") << QString() << false;
  QTest::newRow("nothing_zh") << QString("12345") << QString() << true;
}

void DiagnoseGoldenTest::report() {
  QFETCH(QString, text);
  QFETCH(QString, reason);
  QFETCH(bool, chinese);
  const auto matches = KnowledgeBase::builtin().diagnose(text.toStdString(), reason.toStdString());
  const QByteArray report =
      QByteArray::fromStdString(render_matches(matches, chinese ? Language::Chinese : Language::English));
  const QString path =
      QStringLiteral(BREAKLINE_SOURCE_DIR "/tests/golden/diagnose/") + QTest::currentDataTag() + ".txt";
  QFile file(path);
  if (qEnvironmentVariableIsSet("BREAKLINE_UPDATE_GOLDEN")) {
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(report);
    return;
  }
  QVERIFY2(file.open(QIODevice::ReadOnly), qPrintable(path));
  QCOMPARE(QString::fromUtf8(report), QString::fromUtf8(file.readAll()));
}

void DiagnoseGoldenTest::lines_keep_to_the_width() {
  for (const Record* record : KnowledgeBase::builtin().records()) {
    const Match match[] = {{record, 1.0, ""}};
    for (Language language : {Language::English, Language::Chinese}) {
      const QString report = QString::fromStdString(render_matches(match, language, 60));
      for (const QString& line : report.split('\n')) {
        int columns = 0;
        for (QChar c : line) columns += c.unicode() >= 0x3000 ? 2 : 1;
        // A word longer than the line stays whole (addresses, code); marks hang over by two.
        const bool one_word = !line.trimmed().contains(' ') || line.contains("http") || line.contains('`');
        QVERIFY2(columns <= 62 || one_word, qPrintable(line));
      }
    }
  }
}

QTEST_APPLESS_MAIN(DiagnoseGoldenTest)
#include "diagnose_golden_test.moc"
