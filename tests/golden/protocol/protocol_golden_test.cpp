// SPDX-License-Identifier: GPL-3.0-or-later
// report.json is a report that the engine wrote (engine_test.py makes it and keeps it honest). The structs
// must hold all of it, and core/protocol/README.md must name every field.
#include <QFile>
#include <QRegularExpression>
#include <QSet>
#include <QtTest>

#include "core/protocol/json.h"

using namespace breakline::protocol;

namespace {

std::string read(const char* path) {
  QFile file(QStringLiteral(BREAKLINE_SOURCE_DIR "/") + QLatin1String(path));
  return file.open(QIODevice::ReadOnly) ? file.readAll().toStdString() : std::string();
}

}  // namespace

class ProtocolGoldenTest : public QObject {
  Q_OBJECT
 private slots:
  void the_structs_hold_all_of_a_real_report() {
    const std::string text = read("tests/golden/protocol/report.json");
    QVERIFY(!text.empty());
    const FieldDifference difference = compare_report_fields(text);
    for (const auto& path : difference.unknown) qWarning("the structs lack %s", path.c_str());
    for (const auto& path : difference.missing) qWarning("the engine lacks %s", path.c_str());
    QVERIFY(difference.unknown.empty());
    QVERIFY(difference.missing.empty());
    const auto report = parse_report(text);
    QVERIFY(report);
    const auto again = parse_report(to_json(*report));
    QVERIFY(again);
    QCOMPARE(pretty(to_json(*again)), pretty(to_json(*report)));
    QVERIFY(!report->targets.empty() && !report->breaks.empty() && !report->regions.empty());
  }

  void the_contract_names_every_field() {
    const QString contract = QString::fromStdString(read("core/protocol/README.md"));
    QSet<QString> words;
    auto match = QRegularExpression(QStringLiteral("[a-z][a-z_0-9]*")).globalMatch(contract);
    while (match.hasNext()) words.insert(match.next().captured());
    const std::string text = read("tests/golden/protocol/report.json");
    const auto report = parse_report(text);
    QVERIFY(report);
    auto names = QRegularExpression(QStringLiteral("\"([a-z][a-z_0-9]*)\":"))
                     .globalMatch(QString::fromStdString(to_json(*report)));
    int count = 0;
    for (; names.hasNext(); ++count) {
      const QString name = names.next().captured(1);
      QVERIFY2(words.contains(name), qPrintable(QStringLiteral("core/protocol/README.md lacks ") + name));
    }
    QVERIFY(count > 60);
  }
};

QTEST_APPLESS_MAIN(ProtocolGoldenTest)
#include "protocol_golden_test.moc"
