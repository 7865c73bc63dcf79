# SPDX-License-Identifier: GPL-3.0-or-later
"""The numbered behaviours of PyTorch's error_on_graph_break, as small programs of our own.

Each row is a function `row(c, m)`: `c` compiles (keywords as torch.compile), `m` holds the markers (`E`, `gb`, `skip`, `disable`,
`allow_in_graph`, `nonstrict`, `export`). It returns a function to call. EXPECT tells what PyTorch 2.13 did when it was run:
outcome, first line of the error, and op-bearing graphs with nested graph breaks off and on.
"""

import os
import sys
import tempfile
import warnings
import zlib

import torch


def start():
    return torch.arange(3.0) + 1


def broken(m):
    """A function with an op, a break, an op."""
    gb = m.gb

    def brk(x):
        x = x + 1
        gb()
        return x + 2

    return brk


def call(fn, *args):
    return lambda: fn(start(), *args)


def B01(c, m):
    return call(c(broken(m)))


def B02(c, m):
    @m.E(True)
    @c
    def fn(x):
        y = x * 3
        with m.E(False):
            m.gb()
        return y - 1

    return call(fn)


def B03(c, m):
    @c
    def fn(x):
        y = x * 3
        with m.E(True):
            m.gb()
        return y - 1

    return call(fn)


def B04(c, m):
    @m.E(True)
    @c
    def fn(x):
        x = x * 2
        with m.E(False):
            m.gb()
            x = x - 3
            m.gb()
        return x / 4

    return call(fn)


def B05(c, m):
    leaf = m.E(False)(broken(m))

    @m.E(True)
    @c
    def fn(x):
        return leaf(x * 5)

    return call(fn)


def B06(c, m):
    def leaf(x):
        x = x + 1
        with m.E(False):
            m.gb()
        return x * 2

    @m.E(True)
    @c
    def fn(x):
        return leaf(x * 5)

    return call(fn)


def B07(c, m):
    def leaf(x):
        x = x + 1
        with m.E(True):
            m.gb()
        return x * 2

    @m.E(False)
    @c
    def fn(x):
        return leaf(x * 5)

    return call(fn)


def B08(c, m):
    brk = broken(m)

    def leaf(x):
        with m.E(True):
            return brk(x)

    @m.E(True)
    @c
    def fn(x):
        return leaf(x * 5)

    return call(fn)


def deep(inside, outside):
    def row(c, m):
        brk = broken(m)

        def third(x):
            return brk(x)

        def second(x):
            with m.E(inside):
                return third(x)

        @m.E(outside)
        @c
        def fn(x):
            return second(x * 5)

        return call(fn)

    return row


B09 = deep(False, True)
B10 = deep(True, False)


def B11(c, m):
    brk = broken(m)

    @m.E(True)
    @c
    def fn(x):
        with m.E(False):
            m.skip()
            return brk(x)

    return call(fn)


def B12(c, m):
    @m.E(True)
    @c
    def fn(x):
        x = x + 1
        m.skip()
        return x * 2

    return call(fn)


def B13(c, m):
    leaf = m.E(False)(broken(m))

    def middle(x):
        with m.E(False):
            m.skip()
            return leaf(x)

    @m.E(True)
    @c
    def fn(x):
        with m.E(False):
            return middle(x * 5)

    return call(fn)


def B14(c, m):
    def leaf(x):
        x = x + 1
        with m.E(True):
            m.gb()
        return x * 2

    @m.disable(recursive=False)
    def middle(x):
        return leaf(x)

    @m.E(False)
    @c
    def fn(x):
        return middle(x * 5)

    return call(fn)


def B15(c, m):
    class Vendor(torch.nn.Module):
        def forward(self, x):
            x = x + 1
            m.gb()
            return x * 2

    module = Vendor()
    module.forward = m.E(False)(module.forward)

    @m.E(True)
    @c
    def fn(x):
        return module(x)

    return call(fn)


def B16(c, m):
    leaf = m.E(False)(broken(m))

    def middle(x):
        return leaf(x)

    @m.E(True)
    @c
    def fn(x):
        return middle(x)

    return call(fn)


def B17(c, m):
    strict = m.E(True)(broken(m))

    def middle(x):
        return strict(x)

    @c
    def fn(x):
        x = x * 4
        m.gb()
        return middle(x)

    return call(fn)


def B18(c, m):
    def leaf(x):
        x = x + 1
        with m.E(False):
            m.gb()
        return x * 2

    def middle(x):
        with m.E(True):
            return leaf(x)

    @c
    def fn(x):
        return middle(x)

    return call(fn)


def B19(c, m):
    leaf = m.E(False)(broken(m))

    @c(fullgraph=True)
    def fn(x):
        return leaf(x)

    return call(fn)


def B20(c, m):
    leaf = c(broken(m), fullgraph=False)

    @c(fullgraph=True)
    def fn(x):
        return leaf(x)

    return call(fn)


def B21(c, m):
    leaf = c(broken(m), fullgraph=True)

    @c(fullgraph=False)
    def fn(x):
        return leaf(x)

    return call(fn)


def B22(c, m):
    leaf = c(lambda x: x * 2, fullgraph=True)

    @c
    def fn(x):
        return leaf(x + 1) - 1

    return call(fn)


def B23(c, m):
    leaf = m.E(True)(c(broken(m)))

    @m.E(False)
    @c
    def fn(x):
        return leaf(x + 1) - 1

    return call(fn)


def B24(c, m):
    leaf = m.E(False)(c(broken(m)))

    @m.E(True)
    @c
    def fn(x):
        return leaf(x + 1) - 1

    return call(fn)


def B25_true(c, m):
    brk = broken(m)

    @c
    @m.E(True)
    def fn(x):
        return brk(x)

    return call(fn)


def B25_false(c, m):
    return call(c(m.E(False)(broken(m))))


def B25_under_true(c, m):
    return call(m.E(True)(c(m.E(False)(broken(m)))))


def B26(c, m):
    fn = c(broken(m))

    def run():
        with m.E(True):
            return fn(start())

    return run


def B26_setattr(c, m):
    class Loud:
        def __setattr__(self, name, value):
            m.gb()
            object.__setattr__(self, name, value)

    @c
    def fn(x):
        o = Loud()
        x = x + 1
        o.kept = x
        return x * 2

    def run():
        with m.E(True):
            return fn(start())

    return run


def B29(c, m):
    @c
    def fn(x):
        x = x + 1
        x = x * 2
        x = x - 3
        with m.E(True):
            x = x / 4
            m.gb()
        return x + 5

    return call(fn)


def B30_for(c, m):
    @m.E(True)
    @c
    def fn(x):
        for i in range(3):
            x = x + i
            m.gb()
        return x

    return call(fn)


def B30_while(c, m):
    @m.E(True)
    @c
    def fn(x):
        i = 0
        while i < 3:
            x = x + i
            m.gb()
            i += 1
        return x

    return call(fn)


def branchy(x):
    x = x * 2
    if x.sum() > 0:
        return x + 1
    return x - 1


def B36(c, m):
    return call(m.E(True)(c(branchy)))


def B36_allowed(c, m):
    return call(m.E(False)(c(branchy)))


def B38(c, m):
    leaf = m.E(False)(broken(m))

    def fn(x):
        return leaf(x)

    return lambda: m.export(fn)(start())


def B43(c, m):
    @m.allow_in_graph
    def opaque(x):
        m.gb()
        return x * 2

    @c(fullgraph=True)
    def fn(x):
        return opaque(x + 1) - 1

    return call(fn)


def B44(c, m):
    @m.nonstrict
    def opaque(x):
        m.gb()
        return x * 2

    @c(fullgraph=True)
    def fn(x):
        return opaque(x + 1) - 1

    return call(fn)


def disabled(m):
    brk = broken(m)
    return m.disable(lambda x: brk(x))


def B45(c, m):
    skipped = disabled(m)

    @c
    def fn(x):
        return skipped(x + 1) - 1

    return call(fn)


def B46(c, m):
    skipped = disabled(m)

    @m.E(True)
    @c
    def fn(x):
        return skipped(x + 1) - 1

    return call(fn)


def B46_fullgraph(c, m):
    skipped = disabled(m)

    @c(fullgraph=True)
    def fn(x):
        return skipped(x + 1) - 1

    return call(fn)


def B47(c, m):
    def leaf(x):
        return (x + 1) * 2

    @m.disable(recursive=False)
    def middle(x):
        return leaf(x)

    @c
    def fn(x):
        return middle(x + 1) - 1

    return call(fn)


def library(action):
    def row(c, m):
        @m.E(True)
        @c
        def fn(x):
            x = x + 1
            action(x)
            return x * 2

        return call(fn)

    return row


def save(x):
    torch.save(x, os.path.join(tempfile.gettempdir(), "breakline-b48.pt"))


B48_print = library(lambda x: print("seen"))
B48_save = library(save)
B48_warn = library(lambda x: warnings.warn("seen"))
B48_zlib = library(lambda x: zlib.compress(b"seen"))


def B49(c, m):
    @c
    def fn(x):
        x = x + 1
        m.gb(msg="my text")
        return x * 2

    return call(fn)


def B49_strict(c, m):
    @m.E(True)
    @c
    def fn(x):
        x = x + 1
        m.gb(msg="my text")
        return x * 2

    return call(fn)


USER = "Call to `torch._dynamo.graph_break()`"
SKIPPED = "Attempted to call function marked as skipped"
OK = "ok"

# row -> (outcome or first line of the error, op-bearing graphs off, on)
EXPECT = {
    "B01": (OK, 2, 2),
    "B02": (OK, 2, 2),
    "B03": (USER, 0, 0),
    "B04": (OK, 3, 3),
    "B05": (OK, 3, 2),
    "B06": (OK, 3, 2),
    "B07": (USER, 0, 0),
    "B08": (USER, 0, 0),
    "B09": (OK, 3, 2),
    "B10": (USER, 0, 0),
    "B11": (OK, 2, 2),
    "B12": ("Call to `torch._dynamo.skip_frame()`", 0, 0),
    "B13": (OK, 3, 3),
    "B14": (USER, 1, 1),
    "B15": (OK, 2, 2),
    "B16": (OK, 2, 2),
    "B17": (USER, 1, 1),
    "B18": (OK, 2, 2),
    "B19": (USER, 0, 0),
    "B20": (USER, 0, 0),
    "B21": (USER, 0, 0),
    "B22": (OK, 1, 1),
    "B23": (USER, None, None),
    "B24": (OK, 4, 4),
    "B25_true": (USER, 0, 0),
    "B25_false": (OK, 2, 2),
    "B25_under_true": (OK, 2, 2),
    "B26": (USER, 0, 0),
    "B26_setattr": (USER, 0, 0),
    "B29": (USER, 0, 0),
    "B30_for": (USER, 0, 0),
    "B30_while": (USER, 0, 0),
    "B36": ("Data-dependent branching", 0, 0),
    "B36_allowed": (OK, 2, 2),
    "B38": (USER, 0, 0),
    "B43": (OK, 1, 1),
    "B44": (OK, 1, 1),
    "B45": (OK, 2, 2),
    "B46": ("Skip calling `torch.compiler.disable()`d function", 0, 0),
    "B46_fullgraph": ("Skip calling `torch.compiler.disable()`d function", 0, 0),
    "B47": (OK, 3, 3),
    "B48_print": ("Failed to trace builtin operator", 0, 0),
    "B48_save": (SKIPPED, 0, 0),
    "B48_warn": (SKIPPED, 0, 0),
    "B48_zlib": (SKIPPED, 0, 0),
    "B49": (OK, 2, 2),
    "B49_strict": (USER, 0, 0),
}
