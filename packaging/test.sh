#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Sets up, builds and runs every test. The last line counts them: "N passed, N failed".
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

given=() select=()
while [ $# -gt 0 ]; do
  case $1 in
    --python) [ $# -ge 2 ] || fail 2 "--python needs the path of an interpreter."; given+=("$2"); shift 2 ;;
    --python=*) given+=("${1#*=}"); shift ;;
    -R | -L | -E | -LE) [ $# -ge 2 ] || fail 2 "$1 needs a regular expression."; select+=("$1" "$2"); shift 2 ;;
    -h | --help) say "Usage: ./packaging/test.sh [--python PATH]... [-R NAME] [-L KIND] (all tests without a choice)"; exit 0 ;;
    *) fail 2 "unknown option $1; ./packaging/test.sh --help lists them." ;;
  esac
done

set_up "${given[@]}"

step "Testing"
results=$build/tests.xml
rm -f "$results"
# Its own exit status is not needed: the counts below come from the results it wrote, and no results is a failure.
ctest --test-dir "$build" -j2 --output-on-failure --output-junit "$results" "${select[@]}" </dev/null || true
[ -f "$results" ] || fail 1 "the tests did not run (see above)."
exec "$python" - "$results" <<'PY'
import sys
import xml.etree.ElementTree as tree

cases = tree.parse(sys.argv[1]).getroot().findall("testcase")
# CTest writes "run", "fail", "notrun" or "disabled"; a test that says "skip me" is notrun with a <skipped>.
skipped = [c for c in cases if c.find("skipped") is not None or c.get("status") == "disabled"]
passed = [c for c in cases if c.get("status") == "run" and c.find("failure") is None and c not in skipped]
failed = [c for c in cases if c not in passed and c not in skipped]
for case in skipped:
    print("skipped:", case.get("name"))
for case in failed:
    print("FAILED:", case.get("name"))
line = "%d passed, %d failed" % (len(passed), len(failed))
if skipped:
    line += ", %d skipped" % len(skipped)
if not cases:
    print("No test was found.")
print(line)
sys.exit(0 if passed and not failed else 1)
PY
