# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects die where eager lets them die: weak references, finalisers and __del__ seen from user code and after the call."""

import contextlib
import gc
import io
import os
import sys
import weakref

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from harness import Tally, bits_equal  # noqa: E402

import torch  # noqa: E402

import breakline  # noqa: E402


class Noisy:
    def __init__(self, name, t=None):
        self.name, self.t = name, t

    def __del__(self):
        print("gone", self.name)


class Box:
    pass


def ask(ref):
    print("dead" if ref() is None else "alive")


def local_deleted(x):
    big = x * 2
    ref = weakref.ref(big)
    y = x + 1 if ref() is big else x - 1
    del big
    return y.relu() if ref() is None else -y


def local_overwritten(x):
    big = x * 2
    ref = weakref.ref(big)
    print("made")
    big = x + 1
    ask(ref)
    return big


def deleted_after_two_breaks(x):
    big = x * 2
    print("one")
    ref = weakref.ref(big)
    print("two")
    del big
    ask(ref)
    return x


def callee_returns(x):
    def inner():
        big = x * 3
        ref = weakref.ref(big)
        ask(ref)
        return ref

    ref = inner()
    ask(ref)
    return x + 1


def popped(x):
    items = [x * 2, x * 3]
    refs = [weakref.ref(t) for t in items]
    print("list")
    items.pop()
    ask(refs[1])
    ask(refs[0])
    items.clear()
    ask(refs[0])
    return x


def dict_entry(x):
    d = {"a": x * 2}
    ref = weakref.ref(d["a"])
    print("dict")
    del d["a"]
    ask(ref)
    return x


def attribute(x):
    b = Box()
    b.t = x * 2
    ref = weakref.ref(b.t)
    whole = weakref.ref(b)
    print("box")
    b.t = None
    ask(ref)
    del b
    ask(whole)
    return x


def finaliser(x):
    n = Noisy("n", x * 2)
    print("before")
    del n
    print("after")
    return x + 1


def finaliser_at_return(x):
    n = Noisy("r")
    print("body")
    return x + len(n.name)


def finaliser_overwritten(x):
    n = Noisy("first")
    n = Noisy("second")
    print("two")
    n = None
    print("end")
    return x


def loop_temporaries(x):
    refs = []
    for i in range(3):
        t = x * i
        refs.append(weakref.ref(t))
        print("round", i, [r() is None for r in refs])
    return x


def weak_dictionary(x):
    store = weakref.WeakValueDictionary()
    t = x + 1
    store["t"] = t
    print(len(store))
    del t
    print(len(store))
    return x


def finalize_callback(x):
    b = Box()
    weakref.finalize(b, print, "finalized")
    print("before")
    b = None
    print("after")
    return x * 2


def in_handler(x):
    ref = None
    try:
        big = x * 2
        ref = weakref.ref(big)
        raise ValueError("no")
    except ValueError as e:
        print(e)
        del big
        ask(ref)
    ask(ref)
    return x


def argument_dropped(x):
    def take(t):
        ref = weakref.ref(t)
        print("in")
        del t
        ask(ref)
        return ref

    ref = take(x * 5)
    ask(ref)
    return x


def generator_closed(x):
    def gen():
        big = x * 2
        yield weakref.ref(big)
        yield big

    g = gen()
    ref = next(g)
    ask(ref)
    g.close()
    ask(ref)
    return x


def item_break(x):
    big = x * 2
    ref = weakref.ref(big)
    k = float(big.sum())
    del big
    return x + k, ref() is None


GLOBAL = {}


def global_replaced(x):
    GLOBAL["t"] = x * 2
    ref = weakref.ref(GLOBAL["t"])
    print("set")
    GLOBAL["t"] = None
    ask(ref)
    return x


def a_temporary(x):
    log = []
    Logging(1, log)
    seen = list(log)
    kept = Logging(2, log)
    kept = Logging(3, log)
    again = list(log)
    del kept
    return x + 1, seen, again, log


class Logging:
    def __init__(self, name, log):
        self.name, self.log = name, log

    def __del__(self):
        self.log.append(self.name)


def in_a_container(x):
    log = []
    held = [Logging(1, log), {"a": Logging(2, log)}]
    held.pop()
    seen = list(log)
    held = ()
    return x * 2, seen, log


def with_a_callback(x):
    log, box = [], Box()
    ref = weakref.ref(box, lambda _: log.append("dead"))
    weakref.finalize(box, log.append, "finalised")
    seen = list(log)
    del box
    return x + 1, seen, log, ref() is None


def lost_with_an_inner_frame(x):
    log = []

    def inner(t):
        mine = Logging("inner", log)
        return t * 2 if mine.name else t

    return inner(x), list(log)


def lost_by_raising(x):
    log = []

    def inner(t):
        mine = Logging("inner", log)
        raise ValueError(mine.name)

    try:
        inner(x)
    except ValueError:
        seen = list(log)
    return x + 1, seen, log


PROGRAMS = [a_temporary, in_a_container, with_a_callback, lost_with_an_inner_frame, lost_by_raising, local_deleted, local_overwritten, deleted_after_two_breaks, callee_returns, popped, dict_entry, attribute, finaliser,
            finaliser_at_return, finaliser_overwritten, loop_temporaries, weak_dictionary, finalize_callback, in_handler,
            argument_dropped, generator_closed, item_break, global_replaced]


def observe(call):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        x = torch.tensor([1.0, -2.0])
        r = call(x)
        alive = weakref.ref(x)
        del x
        print("input", alive() is None or r is alive() or isinstance(r, tuple))
    return r, out.getvalue()


def after_the_call(tally, plan):
    """Inputs, intermediate results and outputs are free once the caller lets go of them."""

    def fn(x, b):
        b.kept = x * 2
        print("break")
        return b.kept + 1

    c = breakline.compile(fn, plan=plan)
    for i in range(3):
        x, b = torch.ones(3), Box()
        with contextlib.redirect_stdout(io.StringIO()):
            r = c(x, b)
        refs = [weakref.ref(o) for o in (x, b, b.kept, r)]
        del x, b, r
        left = [ref() is not None for ref in refs]
        if any(left):
            gc.collect()
            left = [(was, ref() is not None) for was, ref in zip(left, refs)]
        tally.check(f"after_the_call[{plan}] {i}", not any(map(bool, left)) if not left or isinstance(left[0], bool) else False, left)


def main():
    tally = Tally("lifetimes")
    for plan in ("replay", None):
        for fn in PROGRAMS:
            c = breakline.compile(fn, plan=plan)
            for i in range(3):
                want, got = observe(fn), observe(c)
                ok = want[1] == got[1] and bits_equal(want[0], got[0])
                tally.check(f"{fn.__name__}[{plan}] call {i}", ok, f"\nwant {want}\ngot  {got}")
            tally.check(f"{fn.__name__}[{plan}] traced", c.stats["skipped"] == 0, c.stats)
        after_the_call(tally, plan)
    tally.finish()


if __name__ == "__main__":
    main()
