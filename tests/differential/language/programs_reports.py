# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs of the kinds that users of compilers report: looks at the own names, signatures, weak references, containers whose subclasses
step in, lone forms of super()."""

import collections
import inspect
import os
import weakref

import torch
from cases import table

CASES, case = table()


class Bare:
    @staticmethod
    def nothing():
        return super().__init__()

    @staticmethod
    def of(v):
        return super().__init__()

    def packed(*everything):
        return super().__init__()

    def swapped(self):
        self = 3
        return super().__repr__()

    def plain():
        return super().__init__()


@case
def super_without_a_first_argument(x, n):
    b = Bare()
    y = x + 1
    if n == 0:
        b.nothing()
    if n == 1:
        b.packed()
    if n == 2:
        Bare.plain()
    return y, b.swapped()


@case
def super_of_something_else(x, n):
    return x * 2, Bare.of(Bare() if n else 3)


@case
def names_that_may_be_there(x, n):
    if n % 2:
        width = x.shape[-1]
        x = x.reshape(-1)
    x = x * 2
    if "width" in locals() and "x" in vars():
        x = x.view(-1, width)
    return x, "y" not in locals(), sorted(vars())


def two(a, b):
    return a + b


@case
def signature_of_a_local_function(x, n):
    def inner(a, b, *rest, key=n):
        return a

    def bare(a, b, *rest, key):
        return a

    def known(function, words):
        names = set(inspect.signature(function).parameters)
        return sorted(w for w in words if w not in names)

    return x + 1, known(bare, {"a": 1, "key": 2, "no": 3}), known(two, {"a": 1, "c": 2})


@case
def file_system_paths(x, n):
    return x + 1, os.fspath("a/b"), os.fspath(b"c")


@case
def weak_reference_to_an_argument(x, n):
    w = weakref.ref(x)
    y = w() * 2
    return y, w() is x


class Counting(collections.OrderedDict):
    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        self.writes = getattr(self, "writes", 0) + 1


class Renaming(collections.OrderedDict):
    def keys(self):
        return [k + "!" for k in super().keys()]

    def __getitem__(self, key):
        return key * 2


class Pairs:
    def items(self):
        return [("p", 1), ("q", 2)]


@case
def ordered_dict_that_counts(x, n):
    a = Counting(first=x + 1, second=n)
    b = Counting({"k": x}, other=2)
    c = Counting([("k", 1), ("l", 2)])
    c.update(Pairs(), z=3)
    return a, b, c, a.writes, b.writes, c.writes


@case
def ordered_dict_from_odd_sources(x, n):
    y = x * 2
    sources = (Renaming(a=1, b=2), [("a", 1, 2)], [("a",)], [()], 5, [5], Pairs())
    try:
        return y, list(Counting(sources[n]).items()), list(Counting(sources[6]).items())
    except (ValueError, TypeError) as e:
        return y, type(e).__name__, str(e)


@case(breaks=1)
def ordered_dict_of_two_sources(x, n):
    return x + 1, Counting({}, {})


@case
def index_in_a_part_of_a_deque(x, n):
    d = collections.deque([1, 2, 3, 1])
    found = d.index(1, 1), d.index(1, -2), d.index(2, 0, 99), d.index(3, -3, -1)
    return x + found[0], found, d.index(3, 3) if n == 3 else None


@case
def list_of_foreach(x, n):
    many, pair = [x + 1, x + 2], (x + 3, x + 4)
    first = torch._foreach_add_(many, 1)
    second = torch._foreach_mul_(self=pair, scalar=2)
    fresh = torch._foreach_add(many, 1)
    return first is many, second is pair, fresh is many, many, pair, fresh
