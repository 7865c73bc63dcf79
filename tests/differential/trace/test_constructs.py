# SPDX-License-Identifier: GPL-3.0-or-later
"""Constructs of ordinary code: equal to eager bit for bit on several calls, with no needless break, traced and run concretely."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "support")]

import torch  # noqa: E402
from harness import Tally, bits_equal, run_child  # noqa: E402


def inputs():
    torch.manual_seed(0)
    a = torch.randn(3, 3)
    return [a, a.clone(), -a, torch.randn(3, 3).requires_grad_()]


def facts(name, options):
    """Runs one construct eagerly and compiled, each in its own copy of the module's state."""
    import constructs

    import breakline
    from breakline import _breakline

    function, allowed = next((f, b) for n, f, b in constructs.CASES if n == name)
    want = run_child(lambda: [outcome(function, x) for x in inputs()])
    for key, value in options.items():
        _breakline.set_option(key, value)
    compiled = breakline.compile(function, plan="replay")
    got = [outcome(compiled, x) for x in inputs()]
    report = compiled.target_report()
    places = sorted({(b["reason"], os.path.basename(b["file"]), b["line"]) for b in report["breaks"]})
    return {"equal": bits_equal(want, got), "want": str(want)[:300], "got": str(got)[:300], "places": places, "allowed": allowed,
            "skipped": report["skipped_frames"]}


def outcome(function, x):
    try:
        return plain(function(x))
    except Exception as e:
        return (type(e).__name__, str(e))


def plain(v):
    """Without autograd history, so that it can be sent between processes."""
    if isinstance(v, torch.Tensor):
        return v.detach().clone()
    if isinstance(v, dict):
        return {k: plain(x) for k, x in v.items()}
    if isinstance(v, (list, tuple)):
        return [plain(x) for x in v]
    return v


def main():
    import constructs

    tally = Tally("constructs")
    only = sys.argv[1:]
    for name, _, allowed in constructs.CASES:
        if only and name not in only:
            continue
        for leg, options in (("traced", {}), ("forced", {"force_break_every": 3}), ("executor", {"executor_only": 1})):
            r = run_child(lambda name=name, options=options: facts(name, options))
            if "crash" in r:
                tally.check(f"{name}.{leg}", False, r["crash"])
                continue
            tally.check(f"{name}.{leg}.equal", r["equal"], f"want {r['want']}\ngot  {r['got']}")
            if leg == "traced":
                tally.check(f"{name}.places", len(r["places"]) <= r["allowed"], str(r["places"]))
                tally.check(f"{name}.whole", not r["skipped"], str(r["skipped"]))
    tally.finish()


if __name__ == "__main__":
    main()
