# SPDX-License-Identifier: GPL-3.0-or-later
"""Small programs of ordinary and odd Python, eager against compiled.

Compared on every call: result, printed text, LOG, arguments, and exceptions with their type, text, chain and the traceback's
functions, lines and columns. Legs: replay (also the number of places that break and frames left to CPython), forced (a break before
every third instruction), executor (no tracing), cpu (fused kernels, with a tolerance).

  language_test.py [--leg NAME] [--only CASE] [--show]
"""

import argparse
import contextlib
import glob
import importlib.util
import io
import math
import os
import sys
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "support")]

from harness import Tally, error_facts, run_child, seed_all  # noqa: E402
from still_break import STILL_BREAK  # noqa: E402

CALLS = 4
LEGS = {"replay": {}, "forced": {"force_break_every": 3}, "executor": {"executor_only": 1}, "cpu": {}}


def load(path, tag):
    """A fresh copy of a program file: its classes and globals belong to one leg."""
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def tell(v, depth=0):
    """A value as plain nested tuples: comparable between two copies of a module."""
    import torch

    if depth > 8:
        return "..."
    if isinstance(v, torch.Tensor):
        return ("tensor", type(v).__name__, str(v.dtype), tuple(v.shape), tuple(v.stride()), v.requires_grad, v.detach().flatten().tolist())
    if isinstance(v, (bool, int, str, bytes, complex, type(None), type(...))):
        return (type(v).__name__, repr(v) if type(v) in (bool, int, str, bytes, complex, type(None), type(...)) else
                (repr(v), tell(getattr(v, "__dict__", None), depth + 1)))
    if isinstance(v, float):
        return (type(v).__name__, v)
    if isinstance(v, dict):
        return (type(v).__name__, [(tell(k, depth + 1), tell(x, depth + 1)) for k, x in v.items()], tell(own(v), depth + 1))
    if isinstance(v, (set, frozenset)):
        return (type(v).__name__, sorted(map(str, (tell(i, depth + 1) for i in v))))
    if isinstance(v, (list, tuple)) or type(v).__name__ == "deque":
        return (type(v).__name__, [tell(i, depth + 1) for i in v], tell(own(v), depth + 1))
    if isinstance(v, BaseException):
        return (type(v).__name__, str(v))
    if isinstance(v, type):
        return ("class", v.__name__, v.__module__, [b.__name__ for b in v.__mro__])
    if callable(v) and hasattr(v, "__qualname__"):
        return ("callable", v.__qualname__)
    if hasattr(type(v), "__next__"):
        return ("iterator", type(v).__name__, [tell(i, depth + 1) for _, i in zip(range(5), v)])
    return (type(v).__name__, tell(own(v), depth + 1) if own(v) else None)


def own(v):
    return getattr(v, "__dict__", None) or None


def observe(module, function, path):
    import torch

    facts = []
    if hasattr(module, "LOG"):
        module.LOG.clear()
    for n in range(CALLS):
        seed_all(n)
        x = torch.arange(3.0) + n
        args = x.clone()
        out = io.StringIO()
        result = error = None
        with contextlib.redirect_stdout(out):
            try:
                result = tell(function(args, n))
            except Exception as e:
                error = error_facts(e, path)
        facts.append({"result": result, "error": error, "printed": out.getvalue(), "LOG": tell(getattr(module, "LOG", None)),
                      "argument": tell(args), "STATE": tell(getattr(module, "STATE", None))})
    return facts


def near(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= 1e-4 * max(1.0, abs(a))
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(near(x, y) for x, y in zip(a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(near(a[k], b[k]) for k in a)
    return a == b


def same(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return a == b


def difference(want, got, equal):
    for call, (w, g) in enumerate(zip(want, got)):
        for key in w:
            if not equal(w[key], g[key]):
                return f"call {call}, {key}:\n  eager    {w[key]!r}\n  compiled {g[key]!r}"[:2500]
    return None


def run(path, leg, names):
    import torch

    import breakline
    from breakline import _breakline

    torch.set_num_threads(1)
    eager = load(path, "eager")
    cases = [c for c in eager.CASES if not names or c.name in names]
    want = {}
    for c in cases:
        want[c.name] = observe(eager, c.function, path)
    for key, value in LEGS[leg].items():
        _breakline.set_option(key, value)
    ours = load(path, "compiled")
    rows = []
    for c in ours.CASES:
        if names and c.name not in names:
            continue
        compiled = breakline.compile(c.function, plan=None if leg == "cpu" else "replay")
        try:
            got = observe(ours, compiled, path)
            diff = difference(want[c.name], got, near if leg == "cpu" else same)
        except BaseException:
            diff = "harness: " + traceback.format_exc()[-1500:]
        report = compiled.target_report()
        places = sorted({(b["reason"], os.path.basename(b["file"]), b["line"]) for b in report["breaks"]})
        segments = len(report["segments"])
        rows.append((c.name, diff, places, c.breaks, [s["reason"] for s in report["skipped_frames"]], c.skipped, segments, c.segments))
    return {"rows": rows}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--leg", choices=list(LEGS))
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--show", action="store_true", help="the places and segments of each case")
    options = parser.parse_args()
    import torch  # noqa: F401  (loaded once, before the children are forked)

    import breakline  # noqa: F401

    tally = Tally("language")
    for path in sorted(glob.glob(os.path.join(HERE, "programs_*.py"))):
        names = [c.name for c in load(path, "names").CASES if not options.only or c.name in options.only]
        if not names:
            continue
        for leg in [options.leg] if options.leg else LEGS:
            answer = run_child(lambda: run(path, leg, names), 300)
            if "crash" in answer:
                rows = []
                for name in names:  # one case took the file down: find it alone
                    single = run_child(lambda: run(path, leg, [name]), 60)
                    if "crash" in single:
                        tally.check(f"{name}.{leg}", False, single["crash"])
                    else:
                        rows += single["rows"]
            else:
                rows = answer["rows"]
            for name, diff, places, breaks, skipped, skips, segments, most in rows:
                tally.check(f"{name}.{leg}", diff is None, diff or "")
                if leg == "replay":
                    if options.show:
                        print(name, places, skipped, segments)
                    tally.check(f"{name}.places", len(places) <= max(breaks, STILL_BREAK.get(name, 0)), str(places))
                    tally.check(f"{name}.skipped", bool(skipped) == skips, str(skipped))
                    if most:
                        tally.check(f"{name}.segments", segments <= most, f"{segments} segments")
    tally.finish()


if __name__ == "__main__":
    main()
