# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows B27, B39 and B50–B68 of PyTorch's behaviours at graph breaks, where Breakline's outcome is its own decision in places:

B27, B39  the policy is part of what a segment depends on, so what was compiled with breaks is refused under a strict one
B52–B54   the program's own exception at its instruction, where the program can catch it
B61       no error because nothing was compiled
B63–B65   a break inside generators, comprehensions and checkpointed functions gives no frame up
B67       the flag belongs to a thread
B55–B57, B59 have no counterpart: there is no backend that could fail and no prologue that is traced.
"""

import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))

import torch  # noqa: E402
from harness import bits_equal, run_rows  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

import breakline  # noqa: E402
from breakline import markers  # noqa: E402

gb = breakline.graph_break
strict = breakline.error_on_graph_break
ROWS = []


def row(f):
    ROWS.append(f)
    return f


def start():
    return torch.arange(3.0) + 1


def compiled(f, **options):
    return breakline.compile(f, plan="replay", **options)


def outcome(f, *args):
    try:
        return f(*args)
    except Exception as e:
        return type(e).__name__, str(e).partition("\n")[0]


def refused(f, *args):
    kind = outcome(f, *args)
    return isinstance(kind, tuple) and len(kind) == 2 and kind[0] == "Unsupported"


def broken(x):
    x = x + 1
    gb()
    return x * 2


def agrees(f, *args, graphs=None, breaks=None, skipped=0):
    """Equal to eager, at most so many graphs and exactly so many breaks."""
    c = compiled(f)
    want, got = outcome(f, *args), outcome(c, *args)
    s = c.stats
    return bits_equal(want, got) and (graphs is None or s["graphs"] <= graphs) and (breaks is None or s["breaks"] == breaks) and s["skipped"] == skipped


@row
def B27():
    c = compiled(broken)
    first = torch.equal(c(start()), broken(start()))
    with strict(True):
        return first and refused(c, start())


@row
def B39():
    def f(x, flag):
        if flag:
            gb()
        return x + 1

    c = compiled(f)
    with strict(True):
        return torch.equal(c(start(), False), start() + 1) and refused(c, start(), True)


@row
def B50():
    def f(x):
        y = (x + 1) * 2 - 3
        markers.step_unsupported()
        return y + 4

    return agrees(f, start(), graphs=1)


@row
def B51():
    def f(x):
        y = x + 1
        markers.step_unsupported()
        return y

    c = compiled(f)
    with strict(True):
        return refused(c, start()) and refused(compiled(f, fullgraph=True), start())


def raises(x):
    y = x + 1
    if y.shape[0] == 3:
        raise ValueError("three of them")
    return y


@row
def B52():
    def caught(x):
        try:
            return raises(x)
        except ValueError as e:
            return x * 2, str(e)

    with strict(True):
        strictly = outcome(compiled(raises), start()) == ("ValueError", "three of them") and bits_equal(compiled(caught)(start()), caught(start()))
    return strictly and outcome(compiled(raises, fullgraph=True), start()) == ("ValueError", "three of them")


@row
def B53():
    return outcome(compiled(raises), start()) == ("ValueError", "three of them")


@row
def B54():
    def wrong(x):
        return x @ torch.ones(5, 5)

    def caught(x):
        try:
            return wrong(x)
        except RuntimeError as e:
            return str(e)

    return outcome(compiled(wrong), start()) == outcome(wrong, start()) and agrees(caught, start()) and bits_equal(compiled(caught, fullgraph=True)(start()), caught(start()))


@row
def B61():
    return compiled(lambda n: n + 1, fullgraph=True)(3) == 4


@row
def B62():
    def f(x):
        yield x + 1
        gb()
        yield x + 2

    c = compiled(f)
    with strict(True):
        return bits_equal(list(c(start())), list(f(start()))) and c.stats["skipped"] == 1


@row
def B63():
    def parts(x):
        yield x + 1
        gb()
        yield x + 2

    def f(x):
        return [p * 2 for p in parts(x)]

    return agrees(f, start())


@row
def B64():
    def f(x):
        x = x + 1
        a = [broken(x) for _ in range(2)]
        return a, {i: broken(x) for i in range(2)}, x * 2

    return agrees(f, start())


@row
def B65():
    def f(x):
        return checkpoint(broken, x * 2, use_reentrant=False) + 1

    c = compiled(f)
    return bits_equal(c(start()), f(start())) and c.stats["skipped"] == 0


@row
def B66():
    def inner(x):
        return broken(x) + 1

    def f(x):
        return inner(x * 2) * 3

    return agrees(f, start(), graphs=2, breaks=1)


@row
def B67():
    found = []
    with strict(True):
        other = threading.Thread(target=lambda: found.append(outcome(compiled(broken), start())))
        other.start()
        other.join()
    return bits_equal(found, [broken(start())])


@row
def B68():
    def f(x):
        return x * 2 + 1

    x = torch.ones(2, 3)
    return bits_equal(torch.vmap(compiled(f))(x), torch.vmap(f)(x))


if __name__ == "__main__":
    run_rows("later semantics rows", ROWS, outcome)
