# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine's report of model.py has exactly the fields of report.json, and the same counts, places and policies.
`engine_test.py --write` records it anew."""
import json
import os
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
OVERLAYS = ["--policy", "fn:model.py:nothing=error", "--policy", "fn:model.py:Block.forward=allow"]
KEPT = ("id", "name", "kind", "line", "fullgraph", "graphs", "ops", "breaks_traced", "places", "recompiles", "skipped")


def report():
    breakline = os.path.join(os.environ["BREAKLINE_BINARY_DIR"], "bin", "breakline")
    environment = {**os.environ, "BREAKLINE_PYTHON": sys.executable}
    done = subprocess.run(
        [breakline, "explain", "--json", str(HERE / "model.py"), *OVERLAYS], capture_output=True, encoding="utf-8", env=environment, timeout=300
    )
    if done.returncode != 3:
        raise AssertionError(f"exit {done.returncode}: {done.stderr}")
    package = os.path.join(os.environ["BREAKLINE_BINARY_DIR"], "python")
    text = done.stdout.replace(str(HERE), "/models").replace(package, "/package").replace(os.path.dirname(os.path.dirname(json.__file__)), "/lib")
    return json.loads(text.replace(sys.prefix, "/env"))


def steady(value):
    """The report without what a machine or a moment decides (times, kernel sources, thread count)."""
    if isinstance(value, dict):
        fixed = {"trace_us": 0.5, "compile_us": 0.5, "run": 0.5, "trace": 0.5, "compile": 0.5, "total": 0.5, "threads": 2}
        return {key: fixed.get(key, steady(item)) if not (key == "source" and "ops" in value) else steady_source(item) for key, item in value.items()}
    return [steady(item) for item in value] if isinstance(value, list) else value


def steady_source(text):
    return None if text is None else "…"


def paths(value, path=""):
    found = set()
    if isinstance(value, dict):
        for key, item in value.items():
            inner = f"{path}.{key}" if path else key
            found |= {inner} | paths(item, inner)
    elif isinstance(value, list):
        for item in value:
            found |= paths(item, path + "[]")
    return found


def essence(whole):
    return {
        "targets": [{key: target[key] for key in KEPT} for target in whole["targets"]],
        "breaks": [{key: item[key] for key in ("target", "reason", "line", "column", "events", "policy")} for item in whole["breaks"]],
        "regions": [{key: region[key] for key in ("key", "declared", "overlay", "effective", "breaks")} for region in whole["regions"]],
        "overlays": whole["overlays"],
        "output": whole["output"],
        "errors": [target["error"] and target["error"]["message"] for target in whole["targets"]],
    }


class Engine(unittest.TestCase):
    maxDiff = None

    def test_the_recorded_report_is_what_the_engine_says(self):
        recorded = json.loads((HERE / "report.json").read_text(encoding="utf-8"))
        fresh = report()
        self.assertEqual(sorted(paths(fresh) ^ paths(recorded)), [])
        self.assertEqual(essence(fresh), essence(recorded))


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        (HERE / "report.json").write_text(json.dumps(steady(report()), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    else:
        unittest.main()
