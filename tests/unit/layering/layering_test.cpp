// SPDX-License-Identifier: GPL-3.0-or-later
// The order of the folders, checked on the #include lines of core/, ui/ and app/: an edge against the order
// of the root CMakeLists.txt, a foreign header outside its folder, Qt in core. Also the licence line of every
// source.
#include <QDirIterator>
#include <QFile>
#include <QRegularExpression>
#include <QSet>
#include <QtTest>

namespace {

struct Include {
  QString file;  // relative to the root, e.g. "core/graph/node.cpp"
  QString header;
  int line = 0;
};

// A family of foreign headers and the folders that may include them.
struct Foreign {
  const char* name;
  const char* pattern;
  const char* allowed;  // on the including file's path
};

constexpr Foreign kForeign[] = {
    {"LLVM", "^(llvm|llvm-c)/", "^core/cpu/"},
    {"Vulkan", "^(vulkan|vk_video|shaderc|glslang|SPIRV|spirv-tools|spirv)/|^vulkan\\.h", "^core/vulkan/"},
    {"oneDNN", "^(dnnl|oneapi)", "^core/cpu/"},
    {"Qt", "^(Q[A-Z]|Qt|Qsci|qcustomplot)", "^(ui|app)/"},
    {"Graphviz", "^(graphviz/|gvc\\.h|cgraph\\.h)", "^ui/"},
};

// What core/client may use of the folders before it: it is linked by programs without Python.
const QSet<QString> kClientMayUse = {"base", "measure", "protocol", "client"};
// Folders whose libraries never see Python.h although they stand behind `python` in the order.
const QSet<QString> kWithoutPython = {"base", "measure", "protocol", "diagnose", "client"};

QString source_dir() {
  return qEnvironmentVariable("BREAKLINE_SOURCE_DIR", QStringLiteral(BREAKLINE_SOURCE_DIR));
}

QStringList files_under(const QStringList& folders, const QStringList& patterns) {
  QStringList files;
  for (const QString& folder : folders) {
    QDirIterator it(source_dir() + "/" + folder, patterns, QDir::Files, QDirIterator::Subdirectories);
    while (it.hasNext()) files << QDir(source_dir()).relativeFilePath(it.next());
  }
  files.sort();
  return files;
}

QString read(const QString& relative) {
  QFile file(source_dir() + "/" + relative);
  return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

QList<Include> includes_in(const QString& file, const QString& text) {
  static const QRegularExpression pattern("^\\s*#\\s*include\\s*[<\"]([^>\"]+)[>\"]");
  QList<Include> includes;
  const QStringList lines = text.split('\n');
  for (int i = 0; i < lines.size(); ++i) {
    const auto match = pattern.match(lines[i]);
    if (match.hasMatch()) includes.append({file, match.captured(1), i + 1});
  }
  return includes;
}

QStringList core_order() {
  static const QRegularExpression list("set\\(BREAKLINE_CORE_FOLDERS([^)]*)\\)");
  return list.match(read("CMakeLists.txt")).captured(1).simplified().split(' ', Qt::SkipEmptyParts);
}

// "core/graph/x.h" gives "graph"; anything else gives "".
QString core_folder(const QString& path) {
  return path.startsWith("core/") && path.count('/') >= 2 ? path.section('/', 1, 1) : QString();
}

// What is wrong with one include, or an empty text.
QString fault(const Include& include, const QStringList& order) {
  const QString from = core_folder(include.file), to = core_folder(include.header);
  const bool in_core = include.file.startsWith("core/");
  if (in_core && (include.header.startsWith("ui/") || include.header.startsWith("app/")))
    return "core may not know the window";
  if (include.file.startsWith("ui/") && include.header.startsWith("app/")) return "ui may not know app";
  if (!to.isEmpty()) {
    if (!order.contains(to)) return "core/" + to + " is not in BREAKLINE_CORE_FOLDERS";
    if (in_core && order.indexOf(to) > order.indexOf(from))
      return from + " stands before " + to + " in the order";
    if (from == "client" && !kClientMayUse.contains(to)) return "client uses base, measure and protocol only";
  }
  const bool python_header = include.header == "Python.h" || include.header == "frameobject.h" ||
                             include.header == "structmember.h" ||
                             include.header.startsWith("internal/pycore_") || to == "python";
  if (python_header) {
    if (!in_core) return "only core knows Python";
    if (order.indexOf(from) < order.indexOf("python") || kWithoutPython.contains(from))
      return from + " may not know Python";
  }
  for (const Foreign& family : kForeign) {
    if (QRegularExpression(family.pattern).match(include.header).hasMatch() &&
        !QRegularExpression(family.allowed).match(include.file).hasMatch())
      return QString(family.name) + " headers may be included only where " + family.allowed;
  }
  return {};
}

}  // namespace

class LayeringTest : public QObject {
  Q_OBJECT
 private slots:
  void order_is_read_from_the_build();
  void every_core_folder_is_in_the_order();
  void rules_find_planted_faults_data();
  void rules_find_planted_faults();
  void includes_follow_the_order();
  void window_does_not_link_the_engine();
  void sources_carry_the_licence_line();
};

void LayeringTest::order_is_read_from_the_build() {
  const QStringList order = core_order();
  QVERIFY(order.size() >= 15);
  QCOMPARE(order.first(), QString("base"));
  QVERIFY(order.indexOf("graph") < order.indexOf("trace"));
}

void LayeringTest::every_core_folder_is_in_the_order() {
  const QStringList order = core_order();
  for (const QString& folder : QDir(source_dir() + "/core").entryList(QDir::Dirs | QDir::NoDotAndDotDot))
    QVERIFY2(order.contains(folder), qPrintable("core/" + folder + " is not in BREAKLINE_CORE_FOLDERS"));
}

void LayeringTest::rules_find_planted_faults_data() {
  QTest::addColumn<QString>("file");
  QTest::addColumn<QString>("line");
  QTest::addColumn<bool>("allowed");
  const auto row = [](const char* name, const char* file, const char* line, bool allowed) {
    QTest::newRow(name) << QString(file) << QString(line) << allowed;
  };
  row("later folder", "core/graph/a.cpp", "#include \"core/trace/frame.h\"", false);
  row("earlier folder", "core/trace/a.cpp", "#include \"core/graph/node.h\"", true);
  row("own folder", "core/trace/a.cpp", "#include \"core/trace/b.h\"", true);
  row("unknown folder", "core/trace/a.cpp", "#include \"core/nowhere/b.h\"", false);
  row("python early", "core/protocol/a.h", "#include <Python.h>", false);
  row("python in place", "core/guard/a.h", "#include <Python.h>", true);
  row("python in diagnose", "core/diagnose/a.h", "  #  include \"core/python/ref.h\"", false);
  row("python in ui", "ui/shell/a.cpp", "#include <Python.h>", false);
  row("llvm in cpu", "core/cpu/jit.cpp", "#include <llvm/IR/Module.h>", true);
  row("llvm elsewhere", "core/schedule/a.cpp", "#include <llvm/IR/Module.h>", false);
  row("vulkan in vulkan", "core/vulkan/a.cpp", "#include <vulkan/vulkan.h>", true);
  row("vulkan elsewhere", "core/cpu/a.cpp", "#include <vulkan/vulkan.h>", false);
  row("qt in core", "core/client/a.h", "#include <QString>", false);
  row("qt in ui", "ui/shell/a.h", "#include <QString>", true);
  row("window in core", "core/engine/a.cpp", "#include \"ui/shell/window.h\"", false);
  row("app in ui", "ui/shell/a.cpp", "#include \"app/studio/main.h\"", false);
  row("client and graph", "core/client/a.cpp", "#include \"core/graph/node.h\"", false);
  row("client and protocol", "core/client/a.cpp", "#include \"core/protocol/report.h\"", true);
}

void LayeringTest::rules_find_planted_faults() {
  QFETCH(QString, file);
  QFETCH(QString, line);
  QFETCH(bool, allowed);
  const QList<Include> includes = includes_in(file, line);
  QCOMPARE(includes.size(), 1);
  const QString wrong = fault(includes.first(), core_order());
  QVERIFY2(wrong.isEmpty() == allowed, qPrintable(wrong));
}

void LayeringTest::includes_follow_the_order() {
  const QStringList order = core_order();
  QStringList faults;
  int edges = 0;
  for (const QString& file : files_under({"core", "ui", "app"}, {"*.h", "*.cpp", "*.c"})) {
    for (const Include& include : includes_in(file, read(file))) {
      ++edges;
      const QString wrong = fault(include, order);
      if (!wrong.isEmpty())
        faults << QString("%1:%2: %3: %4").arg(file).arg(include.line).arg(include.header, wrong);
    }
  }
  QVERIFY(edges > 20);
  QVERIFY2(faults.isEmpty(), qPrintable("\n" + faults.join('\n')));
}

// The window and the command line talk to the engine over its streams; they may not link any of it.
void LayeringTest::window_does_not_link_the_engine() {
  static const QRegularExpression target("\\bbl_([a-z]+)");
  const QSet<QString> allowed = {"base", "measure", "protocol", "client", "diagnose", "ui"};
  for (const QString& file : files_under({"ui", "app"}, {"CMakeLists.txt"})) {
    auto it = target.globalMatch(read(file));
    while (it.hasNext()) {
      const QString name = it.next().captured(1);
      QVERIFY2(allowed.contains(name) || !core_order().contains(name),
               qPrintable(file + " links bl_" + name));
    }
  }
}

void LayeringTest::sources_carry_the_licence_line() {
  const QString licence = "SPDX-License-Identifier: GPL-3.0-or-later";
  QStringList without;
  const QStringList files =
      files_under({"app", "core", "ui", "tests", "packaging"},
                  {"*.h", "*.cpp", "*.c", "*.py", "*.cmake", "*.sh", "CMakeLists.txt"}) +
      QStringList{"CMakeLists.txt"};
  for (const QString& file : files) {
    if (file.contains("/__pycache__/")) continue;
    // The first line, or the second behind "#!".
    const QStringList lines = read(file).split('\n');
    const int at = lines.value(0).startsWith("#!") ? 1 : 0;
    if (!lines.value(at).contains(licence)) without << file;
  }
  QVERIFY(files.size() > 20);
  QVERIFY2(without.isEmpty(), qPrintable("\nwithout the line:\n" + without.join('\n')));
}

QTEST_APPLESS_MAIN(LayeringTest)
#include "layering_test.moc"
