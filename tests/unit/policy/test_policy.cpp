// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/policy/policy.h"

using namespace breakline::policy;

namespace {

Overlay overlay(const std::string& key, const std::string& value) {
  auto parsed = parse_overlay(key, value);
  if (!parsed) qFatal("%s", parsed.error().message.c_str());
  return *parsed;
}

FrameView frame(const std::string& qualname, int line, std::vector<ActiveRegion> regions = {}) {
  FrameView f;
  f.file = "/models/net.py";
  f.qualname = qualname;
  f.line = line;
  f.regions = std::move(regions);
  return f;
}

ActiveRegion with(bool error, int line) {
  return {error, false, line, "with:net.py:" + std::to_string(line)};
}
ActiveRegion decorator(bool error) { return {error, true, 1, "decorator:net.py:f"}; }

}  // namespace

class TestPolicy : public QObject {
  Q_OBJECT

 private slots:
  void keys_are_parsed() {
    Overlay lines = overlay("lines:net.py:3-9", "error");
    QCOMPARE(lines.kind, Overlay::kLines);
    QCOMPARE(lines.first_line, 3);
    QCOMPARE(lines.last_line, 9);
    Overlay module = overlay("module:net.py:Net(4):layers.3.attn", "allow");
    QCOMPARE(module.target, std::string("net.py:Net(4)"));
    QCOMPARE(module.name, std::string("layers.3.attn"));
    Overlay fn = overlay("fn:torch.nn.functional:gelu", "inherit");
    QCOMPARE(fn.name, std::string("gelu"));
  }

  void bad_keys_say_what_to_do_data() {
    QTest::addColumn<QString>("key");
    QTest::addColumn<QString>("value");
    QTest::newRow("no kind") << "net.py:f"
                             << "error";
    QTest::newRow("unknown kind") << "line:net.py:1-2"
                                  << "error";
    QTest::newRow("empty name") << "fn:net.py:"
                                << "error";
    QTest::newRow("empty file") << "fn::f"
                                << "error";
    QTest::newRow("no range") << "lines:net.py:x-y"
                              << "error";
    QTest::newRow("backwards") << "lines:net.py:9-3"
                               << "error";
    QTest::newRow("zero") << "lines:net.py:0-3"
                          << "error";
    QTest::newRow("value") << "fn:net.py:f"
                           << "maybe";
  }
  void bad_keys_say_what_to_do() {
    QFETCH(QString, key);
    QFETCH(QString, value);
    auto parsed = parse_overlay(key.toStdString(), value.toStdString());
    QVERIFY(!parsed);
    QVERIFY(QString::fromStdString(parsed.error().message).contains("use") ||
            QString::fromStdString(parsed.error().message).contains("write"));
  }

  void default_is_allow() {
    Resolution r = resolve({}, "t", {frame("f", 3)}, false, false);
    QVERIFY(!r.error);
    QCOMPARE(r.source, std::string("default"));
    QVERIFY(resolve({}, "t", {frame("f", 3)}, false, true).error);
  }

  void fullgraph_beats_everything() {
    OverlaySet set({overlay("fn:net.py:f", "allow")}, "/models", 1);
    Resolution r = resolve(set, "t", {frame("f", 3, {with(false, 2)})}, true, false);
    QVERIFY(r.error);
    QCOMPARE(r.source, std::string("fullgraph"));
    FrameView nested = frame("g", 9, {with(false, 8)});
    nested.compile_root = nested.fullgraph = true;
    QVERIFY(resolve({}, "t", {frame("f", 3), nested}, false, false).error);
  }

  void innermost_frame_is_asked_first() {
    std::vector<FrameView> frames = {frame("f", 3, {with(true, 2)}), frame("g", 12, {with(false, 11)})};
    QVERIFY(!resolve({}, "t", frames, false, false).error);
    frames[1].regions.clear();
    Resolution r = resolve({}, "t", frames, false, false);
    QVERIFY(r.error);
    QCOMPARE(r.source, std::string("with:net.py:2"));
  }

  void order_within_a_frame() {
    // A line overlay beats an earlier with; a with that starts inside the range beats the overlay; function
    // overlays beat a decorator only.
    OverlaySet lines({overlay("lines:net.py:10-20", "error")}, "/models", 1);
    QVERIFY(resolve(lines, "t", {frame("f", 15, {with(false, 5)})}, false, false).error);
    QVERIFY(!resolve(lines, "t", {frame("f", 15, {with(false, 12)})}, false, false).error);
    QVERIFY(!resolve(lines, "t", {frame("f", 25)}, false, false).error);
    OverlaySet fn({overlay("fn:net.py:f", "error")}, "/models", 2);
    QVERIFY(!resolve(fn, "t", {frame("f", 15, {with(false, 12)})}, false, false).error);
    QVERIFY(resolve(fn, "t", {frame("f", 15, {decorator(false)})}, false, false).error);
  }

  void shortest_range_wins() {
    OverlaySet set({overlay("lines:net.py:1-50", "error"), overlay("lines:net.py:10-12", "allow")}, "/models",
                   1);
    QVERIFY(!resolve(set, "t", {frame("f", 11)}, false, false).error);
    QVERIFY(resolve(set, "t", {frame("f", 13)}, false, false).error);
  }

  void module_overlay_rules_that_instance_only() {
    OverlaySet set({overlay("module:step:layers.1", "error")}, "/models", 1);
    FrameView other = frame("Layer.forward", 8);
    other.module_path = "layers.0";
    QVERIFY(!resolve(set, "step", {frame("f", 3), other}, false, false).error);
    other.module_path = "layers.1";
    QVERIFY(resolve(set, "step", {frame("f", 3), other}, false, false).error);
  }

  void inherit_overlay_has_no_effect() {
    OverlaySet set({overlay("fn:net.py:f", "inherit")}, "/models", 1);
    QCOMPARE(resolve(set, "t", {frame("f", 3)}, false, false).source, std::string("default"));
  }

  void files_match_relative_absolute_and_package() {
    for (const char* file : {"net.py", "/models/net.py", "models.net", "net"}) {
      OverlaySet set({overlay(std::string("fn:") + file + ":f", "error")}, "/models", 1);
      QVERIFY2(resolve(set, "t", {frame("f", 3)}, false, false).error, file);
    }
    OverlaySet other({overlay("fn:et.py:f", "error")}, "/models", 1);
    QVERIFY(!resolve(other, "t", {frame("f", 3)}, false, false).error);
  }

  void fingerprint_changes_only_where_it_matters() {
    std::vector<FrameView> frames = {frame("f", 3)};
    OverlaySet none({}, "/models", 1);
    OverlaySet elsewhere({overlay("fn:net.py:g", "error")}, "/models", 2);
    OverlaySet here({overlay("fn:net.py:f", "error")}, "/models", 3);
    OverlaySet relaxed({overlay("fn:net.py:f", "allow")}, "/models", 4);
    QCOMPARE(none.fingerprint("t", frames), elsewhere.fingerprint("t", frames));
    QVERIFY(none.fingerprint("t", frames) != here.fingerprint("t", frames));
    QVERIFY(relaxed.fingerprint("t", frames) != here.fingerprint("t", frames));
  }
};

QTEST_APPLESS_MAIN(TestPolicy)
#include "test_policy.moc"
