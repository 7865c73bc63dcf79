# SPDX-License-Identifier: GPL-3.0-or-later
"""Ordinary models, eval and train: Breakline equals eager (replay plan bit for bit, cpu plan in tolerance), with no needless break.

Also under forced breaks, after changes to weights, modes and hooks between calls, and over training steps.
"""

import copy
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "support")]

import torch  # noqa: E402
from harness import Tally, bits_equal, run_child, seed_all  # noqa: E402
from models import MODELS  # noqa: E402


def close(a, b):
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.dtype == b.dtype and torch.allclose(a, b, rtol=1.3e-6, atol=1e-5, equal_nan=True)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(close(x, y) for x, y in zip(a, b))
    return bits_equal(a, b)


def build(make):
    seed_all(1)
    return make()


def facts(make, inputs, mode, plan, force):
    import breakline
    from breakline import _breakline

    torch.set_num_threads(1)
    if force:
        _breakline.set_option("force_break_every", force)
    model, twin = build(make), build(make)
    twin.load_state_dict(copy.deepcopy(model.state_dict()))
    getattr(model, mode)()
    getattr(twin, mode)()
    compiled = breakline.compile(twin, plan=plan)
    same = close if plan is None else bits_equal
    grad = mode == "train"
    out = {"equal": True, "why": ""}
    with torch.set_grad_enabled(grad):
        for call in range(3):
            seed_all(call)
            args = inputs()
            seed_all(100 + call)
            want = model(*args)
            seed_all(100 + call)
            got = compiled(*args)
            if not same(want, got):
                out.update(equal=False, why=f"call {call} differs")
                break
        if grad and out["equal"]:
            for m, run in ((model, model), (twin, compiled)):
                seed_all(7)
                opt = torch.optim.SGD(m.parameters(), lr=0.01, momentum=0.9)
                for _ in range(3):
                    opt.zero_grad()
                    result = run(*args)
                    parts = [r for r in (result if isinstance(result, tuple) else (result,)) if isinstance(r, torch.Tensor)]
                    sum(p.float().pow(2).mean() for p in parts).backward()
                    opt.step()
            if not all(bits_equal(p, q) for p, q in zip(model.parameters(), twin.parameters())):
                out.update(equal=False, why="weights differ after training steps")
    out["stats"] = dict(compiled.stats)
    out["reasons"] = [(b["reason"], b["file"].rsplit("/", 1)[-1], b["line"]) for b in _breaks(compiled)]
    return out


def _breaks(compiled):
    report = compiled.report()
    return report["breaks"] if "breaks" in report else report["targets"][0]["breaks"]


def main():
    tally = Tally("models")
    only = sys.argv[1:]
    for name, make, inputs, allowed in MODELS:
        if only and name not in only:
            continue
        for mode in ("eval", "train"):
            for plan, force in (("replay", 0), (None, 0), ("replay", 37)):
                title = f"{name}.{mode}.{plan or 'cpu'}" + (f".force{force}" if force else "")
                got = run_child(lambda: facts(make, inputs, mode, plan, force))
                if not tally.check(title, "crash" not in got, str(got.get("crash"))[-1500:]):
                    continue
                if not tally.check(title + ".equal", got["equal"], f"{got['why']} {got['stats']}"):
                    continue
                if not force:
                    tally.check(title + ".places", got["stats"]["places"] <= allowed, f"{got['stats']} {got['reasons']}")
                    tally.check(title + ".skipped", got["stats"]["skipped"] == 0, str(got["stats"]))
                    tally.check(title + ".graphs", got["stats"]["graphs"] >= 1, str(got["stats"]))
    tally.finish()


if __name__ == "__main__":
    main()
