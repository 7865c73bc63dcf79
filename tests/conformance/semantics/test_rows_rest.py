# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows of PyTorch's behaviours at graph breaks that the other files leave out:

B28      a strict function without any operation is no error
B31–B33  breaks in loops and context managers of the user's: refused under a strict policy, and no frame given up under a lax one
B34, B35 the program's own `except` does not see a refusal of its own frame; that of a plain caller does
B37      a region with a bad argument does what it does in plain Python (PyTorch: a hard error)
B40–B42  the recompile limit: silent, FailOnRecompileLimitHit, refused where the function was compiled strictly
B56      an internal failure (injected) leaves the frame to plain Python and says so; nothing reaches the program
B58      a branch of torch.cond that breaks is run as plain Python with the operator (PyTorch: always an error)
B60      the stances for recompilations; set_stance inside compiled code is a call like any other (PyTorch: an assertion)
"""

import contextlib
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))

import torch  # noqa: E402
from harness import bits_equal, run_rows  # noqa: E402
from test_rows_later import agrees, broken, compiled, gb, outcome, refused, start, strict  # noqa: E402

import breakline  # noqa: E402
from breakline import _native  # noqa: E402

ROWS = []


def row(f):
    ROWS.append(f)
    return f


def message(f, *args):
    try:
        f(*args)
    except Exception as e:
        return type(e).__name__, str(e)
    return None


@row
def B28():
    one, same = compiled(lambda x: 1), compiled(lambda x: x)
    x = start()
    with strict(True):
        ok = one(x) == 1 and same(x) is x
    return ok and one.stats["graphs"] == 0 and same.stats["graphs"] <= 1 and compiled(lambda x: x, fullgraph=True)(x) is x


def loop(x):
    for i in range(3):
        x = x + i
        gb()
    n = 0
    while n < 2:
        x = x * 2
        gb()
        n += 1
    return x


@row
def B30_B31():
    with strict(True):
        kind = message(compiled(loop), start())
    original = kind[0] == "Unsupported" and kind[1].startswith("Call to `torch._dynamo.graph_break()`")
    return original and agrees(loop, start(), skipped=0)


class Counting:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append("in")

    def __exit__(self, *error):
        self.log.append("out")


def managed(x, log):
    x = x + 1
    with Counting(log):
        x = x * 2
        gb()
        x = x - 3
    return x * 5, list(log)


@row
def B32():
    log = []
    with strict(True):
        kind = message(compiled(managed), start(), log)
    full = message(compiled(managed, fullgraph=True), start(), log)
    return all(k[0] == "Unsupported" and k[1].startswith("Call to `torch._dynamo.graph_break()`") for k in (kind, full)) and log == []


@row
def B33():
    c = compiled(managed)
    return bits_equal(c(start(), []), managed(start(), [])) and c.stats["breaks"] == 1 and c.stats["skipped"] == 0


@row
def B34():
    handled = []

    def f(x):
        try:
            x = x + 1
            gb()
        except Exception as e:
            handled.append(e)
        return x

    with strict(True):
        return refused(compiled(f), start()) and not handled


@row
def B35():
    inner = compiled(broken)

    def caller(x):
        try:
            return inner(x)
        except RuntimeError as e:
            return type(e).__name__

    with strict(True):
        return caller(start()) == "Unsupported"


@row
def B37():
    def without(x):
        with breakline.error_on_graph_break():
            return x + 1

    def text(x):
        with breakline.error_on_graph_break("yes"):
            return x + 1

    def keyword(x):
        with breakline.error_on_graph_break(error_on_graph_break=False):
            x = x + 1
            gb()
            return x + 1

    ok = all(bits_equal(outcome(compiled(f), start()), outcome(f, start())) for f in (text, keyword))
    return ok and outcome(compiled(without), start())[0] == outcome(without, start())[0] == "TypeError"


def sized(x, n):
    return x * 2 if n == "a" else x * 3 if n == "b" else x * 4 if n == "c" else x * 5


@row
def B40():
    c = compiled(sized, recompile_limit=2)
    ok = all(torch.equal(c(start(), n), sized(start(), n)) for n in "abcdabcd")
    return ok and c.stats["graphs"] == 2 and c.stats["skipped"] >= 1


@row
def B41():
    c = compiled(sized, recompile_limit=2, fullgraph=True)
    for n in "ab":
        c(start(), n)
    kind = message(c, start(), "c")
    return kind is not None and kind[0] == "FailOnRecompileLimitHit" and "Hard failure due to fullgraph=True" in kind[1]


@row
def B42():
    c = compiled(sized, recompile_limit=2)
    with strict(True):
        for n in "ab":
            c(start(), n)
    lax = compiled(sized, recompile_limit=2)
    for n in "ab":
        lax(start(), n)
    kind = message(c, start(), "c")
    with strict(True):
        silent = torch.equal(lax(start(), "c"), sized(start(), "c"))
    return silent and kind is not None and kind[0] == "Unsupported" and "recompile limit" in kind[1]


@row
def B56():
    set_option = _native.load().set_option
    set_option("fault", "internal")
    try:
        ok = True
        for region in (contextlib.nullcontext(), strict(True)):  # B57: the flag changes nothing about it
            c = compiled(broken)
            with region:
                ok = ok and torch.equal(c(start()), broken(start()))
            report = c.report()
            frames = (report if "skipped_frames" in report else report["targets"][0])["skipped_frames"]
            ok = ok and c.stats["skipped"] == 1 and any("internal" in str(frame) for frame in frames)
    finally:
        set_option("fault", "none")
    return ok


@row
def B58():
    def f(x):
        def up(y):
            gb()
            return y + 1

        return torch.cond(x.sum() > 0, up, lambda y: y - 1, (x,)) * 2

    def plain(x):
        return torch.cond(x.sum() > 0, lambda y: y + 1, lambda y: y - 1, (x,)) * 2

    return bits_equal(compiled(plain)(start()), plain(start())) and bits_equal(outcome(compiled(f), start()), (start() + 1) * 2)


@row
def B60():
    c = compiled(sized)
    first = torch.equal(c(start(), "a"), sized(start(), "a"))
    with breakline.set_stance("eager_on_recompile"):
        later = torch.equal(c(start(), "b"), sized(start(), "b")) and torch.equal(c(start(), "a"), sized(start(), "a"))
    graphs = c.stats["graphs"] == 1
    with breakline.set_stance("fail_on_recompile"):
        known = torch.equal(c(start(), "a"), sized(start(), "a"))
        kind = message(c, start(), "b")
    again = torch.equal(c(start(), "b"), sized(start(), "b")) and c.stats["graphs"] == 2
    failed = kind is not None and kind[0] == "RuntimeError" and kind[1].startswith("Detected recompile when torch.compile stance is 'fail_on_recompile'")

    def inside(x):
        with breakline.set_stance("default"):
            return x + 1

    return first and later and graphs and known and failed and again and torch.equal(compiled(inside)(start()), start() + 1)


if __name__ == "__main__":
    run_rows("remaining semantics rows", ROWS, outcome)
