# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages' own tests, each test function plainly and by Breakline's machine, one process a file and leg.

  packages.py [--limit SECONDS] [--json FILE] [PACKAGE_OR_MODULE ...]        (see README.md)

Without names: PART, the slice in CTest. Prints each test whose outcomes differ, each that is late only by the machine, and the counts;
exit status 1 if any differs that is not one of KNOWN, if a file has no test that ran, or if the machine traced fewer than 95 % of the
test functions; 77 where pytest cannot be had.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PART = """networkx.classes.tests.test_graph networkx.algorithms.tests.test_dag sympy.core.tests.test_basic sympy.utilities.tests.test_pickling
numpy._core.tests.test_deprecations numpy.polynomial.tests.test_polynomial""".split()
KNOWN = {  # part of a test's name: why its outcome may differ
    "Leaks::": "reference counts: what a compiled segment depends on lives as long as the segment",
    "leak": "reference counts",
    "Refcount": "reference counts",
}
SLOWER = 6  # A test gets this many times the plain limit by the machine: it traces.


def test_files(name):
    """The test files of a package or module, in order."""
    spec = importlib.util.find_spec(name)
    if spec is None:
        raise SystemExit(f"no module named {name}: install it beside the Python that runs this")
    if not spec.submodule_search_locations:
        return [spec.origin]
    found = []
    for root in spec.submodule_search_locations:
        for folder, folders, files in os.walk(root):
            folders.sort()
            found += [os.path.join(folder, f) for f in sorted(files) if f.startswith("test_") and f.endswith(".py")]
    return found


def have_pytest():
    """Puts pytest on the path of the processes to come, from pip where it is not installed; false where it can't be had."""
    if importlib.util.find_spec("pytest"):
        return True
    target = os.path.join(os.environ.get("BREAKLINE_BINARY_DIR", tempfile.gettempdir()), "pytest")
    if not os.path.isdir(os.path.join(target, "pytest")):
        fetch = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--target", target, "pytest", "hypothesis"]
        if subprocess.run(fetch, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=300).returncode:
            return False
    os.environ["PYTHONPATH"] = os.pathsep.join([target, *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    return True


def run(file, leg, limit, skip, crashes=20):
    """The outcomes of a file's tests: {node: the plugin's record}; a node that ended the process has the outcome `process ended`, and the
    tests after it run in another, `crashes` times at most."""
    with tempfile.TemporaryDirectory() as scratch:
        records = os.path.join(scratch, "records")
        skipped = os.path.join(scratch, "skipped")
        with open(skipped, "w") as out:
            json.dump(skip, out)
        environment = dict(os.environ, BREAKLINE_LEG=leg, BREAKLINE_OUTCOMES=records, BREAKLINE_LIMIT=str(limit), PYTHONHASHSEED="0",
                           BREAKLINE_SKIP=skipped)
        environment["PYTHONPATH"] = os.pathsep.join([HERE] + environment.get("PYTHONPATH", "").split(os.pathsep))
        command = [sys.executable, "-m", "pytest", "-q", "-p", "machine_plugin", "-p", "no:cacheprovider", "--assert=plain",
                   "-W", "ignore", "--rootdir", scratch, "-o", "addopts=", file]
        try:
            subprocess.run(command, env=environment, cwd=scratch, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=1800, check=False)
        except subprocess.TimeoutExpired:
            pass
        found, begun = {}, None
        if os.path.exists(records):
            for line in open(records):
                node, *rest = json.loads(line)
                begun = None if rest else node
                if rest:
                    found[node] = rest
        if begun is not None and crashes:
            found.update(run(file, leg, limit, [*skip, *found, begun], crashes - 1))
            found[begun] = [["process ended"], 0, [], [0, 1]]
        return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--limit", type=float, default=5)
    parser.add_argument("--json")
    options = parser.parse_args()
    if not have_pytest():
        print("skipped: the tests of packages need pytest, and pip could not fetch it (pip install pytest)")
        sys.exit(77)
    total = differ = late = unsteady = known = empty = traced = calls = 0
    rows, frames = [], {}
    for file in [f for name in options.names or PART for f in test_files(name)]:
        plain = run(file, "plain", options.limit, [])
        empty += not plain
        steady = {n: o for n, o in plain.items() if "late" not in o[0] and not all(x.startswith("Skip") for x in o[0])}
        machine = run(file, "machine", options.limit * SLOWER, [n for n in plain if n not in steady])
        if any(machine.get(node, [None])[0] != answer[0] for node, answer in steady.items()):
            again = run(file, "plain", options.limit, [])
            steady = {node: answer for node, answer in steady.items() if again.get(node, [None])[0] == answer[0]}
        bad = slow = 0
        for node, (expected, seconds, *_) in steady.items():
            found, took, given_up, roots = machine.get(node, [["not run"], 0, [], [0, 1]])
            traced, calls = traced + roots[0], calls + roots[1]
            rows.append([node, expected, found, seconds, took])
            for frame in {":".join(frame.split(":")[:2]) for frame in given_up}:
                frames[frame] = frames.get(frame, 0) + 1
            if "late" in found:
                slow += 1
                print("LATE", node, f"plain {seconds} s", flush=True)
            elif found != expected and any(part in node for part in KNOWN):
                known += 1
            elif found != expected:
                bad += 1
                print("DIFFERS", node, expected, found, sep="\n    ", flush=True)
        total, differ, late, unsteady = total + len(steady), differ + bad, late + slow, unsteady + len(plain) - len(steady)
        print(os.path.basename(file), len(steady), bad, slow, flush=True)
    if options.json:
        with open(options.json, "w") as out:
            json.dump(rows, out)
    for frame, count in sorted(frames.items()):
        print("given up", frame, f"({count} tests)")
    print(f"{total} tests, {differ} differ, {late} late, {known} differ as KNOWN says, {unsteady} left out: late, skipped or unsteady plainly")
    print(f"coverage: {traced} root frames traced in {calls} calls of test functions; {empty} files without a test")
    short = empty + (traced < 0.95 * calls) + (not calls)
    print(f"packages: {total - differ - late - known} passed, {differ + short} failed")
    sys.exit(differ + short > 0)


if __name__ == "__main__":
    main()
