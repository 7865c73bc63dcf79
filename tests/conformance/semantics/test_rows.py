# SPDX-License-Identifier: GPL-3.0-or-later
"""Every row: same outcome as PyTorch 2.13, value equal to eager, op-bearing graphs never more than min(off, on).

Each row runs twice in children of its own: with Breakline's markers, and with PyTorch's own (torch._dynamo loaded for real).
`test_rows.py ROW...` runs only those; `--live` adds PyTorch's own compiler beside them.
"""

import os
import sys
import types

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import rows  # noqa: E402
from harness import Tally, bits_equal, run_child, seed_all  # noqa: E402


def own_markers():
    import breakline
    from breakline import markers, standin

    return types.SimpleNamespace(
        E=breakline.error_on_graph_break, gb=breakline.graph_break, skip=markers.skip_frame, disable=breakline.disable,
        allow_in_graph=markers.allow_in_graph, nonstrict=markers.nonstrict_trace, export=standin.export)


def torch_markers():
    import torch._dynamo as dynamo

    return types.SimpleNamespace(
        E=dynamo.error_on_graph_break, gb=dynamo.graph_break, skip=dynamo.skip_frame, disable=dynamo.disable,
        allow_in_graph=dynamo.allow_in_graph, nonstrict=dynamo.nonstrict_trace, export=dynamo.export)


def plain(f=None, **_):
    return f if f is not None else (lambda g: g)


def facts(name, markers, compiler):
    import breakline

    m = markers()
    row = getattr(rows, name)
    made = []

    def ours(f=None, **kw):
        if f is None:
            return lambda g: ours(g, **kw)
        made.append(breakline.compile(f, **kw))
        return made[-1]

    seed_all()
    want = None
    if name != "B38":
        want = row(plain, m)()
    seed_all()
    out = {"error": None}
    try:
        got = row(ours if compiler == "ours" else compiler, m)()
        out["equal"] = bits_equal(want, got)
    except Exception as e:
        import torch._dynamo.exc as exc

        out.update(error=(str(e).splitlines() or [""])[0], type=type(e).__name__, text=str(e),
                   unsupported=isinstance(e, exc.Unsupported))
    out["graphs"] = sum(f.stats["graphs"] for f in made)
    out["breaks"] = sum(f.stats["breaks"] for f in made)
    return out


def judge(tally, name, label, result):
    outcome, off, on = rows.EXPECT[name]
    title = f"{name}[{label}]"
    if "crash" in result:
        return tally.check(title, False, result["crash"][-1500:])
    if outcome == rows.OK:
        if not tally.check(title, result["error"] is None and result["equal"], f"wanted ok, got {result}"):
            return None
    elif not tally.check(title, result["error"] == outcome and result["unsupported"],
                         f"wanted Unsupported '{outcome}', got {result}"):
        return None
    if off is not None:
        tally.check(title + ".graphs", result["graphs"] <= min(off, on),
                    f"{result['graphs']} graphs, PyTorch makes {off} (off) and {on} (on)")
    if outcome == rows.OK and name not in ("B22", "B43", "B44", "B13", "B11"):
        tally.check(title + ".breaks", result["breaks"] >= 1, "no break was counted")
    return None


def main():
    names = [a for a in sys.argv[1:] if not a.startswith("-")] or list(rows.EXPECT)
    tally = Tally("semantics rows")
    for name in names:
        judge(tally, name, "own", run_child(lambda: facts(name, own_markers, "ours")))
        # B38's export is PyTorch's own there: nothing of ours runs.
        if name != "B38":
            judge(tally, name, "torch", run_child(lambda: facts(name, torch_markers, "ours")))
    tally.finish()


if __name__ == "__main__":
    main()
