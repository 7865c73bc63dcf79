# SPDX-License-Identifier: GPL-3.0-or-later
"""Corners of the language, CPython against the tracer; no PyTorch needed. Each function `t_*` of programs_*.py is called three times.

Compared: the result's text, what was printed, and exceptions with their type, text, chain and the lines of the traceback.
Legs: replay, forced (a break before every third instruction), executor (no tracing).

  test_python.py [--leg NAME] [--show] [FUNCTION ...]
"""

import argparse
import contextlib
import glob
import importlib.util
import io
import os
import re
import sys
import traceback
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "support")]

from harness import Tally, run_child  # noqa: E402

CALLS = 3
LEGS = {"replay": {}, "forced": {"force_break_every": 3}, "executor": {"executor_only": 1}}


def load(path):
    """A fresh copy of a program file: its classes and globals belong to one run."""
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spec.loader.exec_module(module)
    return module


def text(value):
    return re.sub(r"0x[0-9a-f]+", "0x", repr(value))


def observe(function, path):
    facts = []
    for n in range(CALLS):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            try:
                result = ("returned", text(function(n)))
            except Exception as e:
                lines = [(f.name, f.lineno) for f in traceback.extract_tb(e.__traceback__) if f.filename == path]
                result = ("raised", text(e), lines, text(e.__context__), text(e.__cause__), e.__suppress_context__)
        facts.append((result, out.getvalue()))
    return facts


def run(path, names, leg):
    """Facts of each function, its breaks and skipped frames; `leg` None: plain Python."""
    import breakline
    from breakline import _breakline

    for key, value in LEGS.get(leg, {}).items():
        _breakline.set_option(key, value)
    module = load(path)
    answer = {}
    for name in names:
        function = getattr(module, name)
        compiled = breakline.compile(function, plan="replay") if leg else function
        facts = observe(compiled, path)
        report = compiled.target_report() if leg else {"breaks": [], "skipped_frames": []}
        answer[name] = (facts, sorted({(b["reason"], b["line"]) for b in report["breaks"]}),
                        [s["reason"] for s in report["skipped_frames"]])
    return answer


def run_all(path, names, leg):
    """As run, in a child; when one function takes the child down, each has its own."""
    answer = run_child(lambda: run(path, names, leg), 240)
    if "crash" not in answer:
        return answer
    answer = {}
    for name in names:
        single = run_child(lambda: run(path, [name], leg), 60)
        answer[name] = single[name] if name in single else (single["crash"][-1000:], [], [])
    return answer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--leg", choices=list(LEGS))
    parser.add_argument("--show", action="store_true", help="the places that break")
    parser.add_argument("functions", nargs="*")
    options = parser.parse_args()
    import breakline  # noqa: F401

    tally = Tally("python")
    for path in sorted(glob.glob(os.path.join(HERE, "programs_*.py"))):
        names = [n for n in vars(load(path)) if n.startswith("t_") and (not options.functions or n in options.functions)]
        if not names:
            continue
        want = run_all(path, names, None)
        for leg in [options.leg] if options.leg else LEGS:
            got = run_all(path, names, leg)
            for name in names:
                facts, breaks, skipped = got[name]
                difference = "" if facts == want[name][0] else f"\n  CPython   {want[name][0]}\n  Breakline {facts}"[:3000]
                tally.check(f"{name}.{leg}", not difference, difference)
                tally.check(f"{name}.{leg}.skipped", not any(s.startswith("internal") for s in skipped), str(skipped))
                if options.show and leg == "replay":
                    print(name, breaks, skipped)
    tally.finish()


if __name__ == "__main__":
    main()
