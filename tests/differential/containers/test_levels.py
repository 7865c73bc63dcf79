# SPDX-License-Identifier: GPL-3.0-or-later
"""Containers that hold themselves, and containers of many levels: what plain Python gives or raises, at each call, and no crash."""

import copy
import functools
import itertools
import json
import os
import pickle
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import numpy as np  # noqa: E402
from harness import Tally  # noqa: E402

import torch  # noqa: E402
import torch.utils._pytree as pytree  # noqa: E402

import breakline  # noqa: E402


def own_list():
    a = [1]
    a.append(a)
    return a


def own_dict():
    d = {1: 2}
    d["me"] = d
    return d


def own_tuple():
    a = []
    t = (1, a)
    a.append(t)
    return t


def nested_list(levels=3000):
    a = []
    for _ in range(levels):
        a = [a]
    return a


def nested_tuple(levels=3000):
    t = ()
    for _ in range(levels):
        t = (t,)
    return t


def nested_dict(levels=3000):
    d = {}
    for _ in range(levels):
        d = {"a": d}
    return d


MAKERS = (own_list, own_dict, own_tuple, nested_list, nested_tuple, nested_dict)
OPERATIONS = {
    "repr": repr,
    "text": lambda v: f"{v}" + "%s" % (v,),
    "equal to itself": lambda v: v == v,
    "equal in a list": lambda v: [v] == [v],
    "equal to a copy": lambda v: v == copy.copy(v),
    "less": lambda v: v < v,
    "contained": lambda v: v in [v],
    "index": lambda v: [v].index(v),
    "hash": lambda v: type(hash(v)),
    "largest": lambda v: max([v, v]) is v,
    "torch.as_tensor": lambda v: torch.as_tensor([v]),
    "torch.stack": lambda v: torch.stack(v),
    "torch.cat": lambda v: torch.cat([v, v]),
    "as sizes": lambda v: torch.ones(v),
    "as an index": lambda v: torch.ones(3)[v],
    "as a shape": lambda v: torch.zeros(3).view(v),
    "added": lambda v: torch.ones(3) + v,
    "as dim": lambda v: torch.sum(torch.ones(2, 2), dim=v),
    "as dtype": lambda v: torch.ones(2).to(dtype=v),
    "as classes": lambda v: isinstance(1, v),
    "leaves": lambda v: len(pytree.tree_leaves(v)),
    "json": lambda v: len(json.dumps(v)),
    "array": lambda v: np.array(v, dtype=object).shape,
    "pickled": lambda v: len(pickle.dumps(v)) > 0,
    "spread": lambda v: len([*v, *v]),
    "chained": lambda v: len(list(itertools.chain(v, v))),
    "reduced": lambda v: type(functools.reduce(lambda a, b: a, v)),
}
LEFT_OUT = {("own_tuple", "torch.as_tensor")}  # PyTorch itself overflows the stack


def outcome(fn):
    try:
        return repr(fn(torch.ones(2))[1])[:200]
    except Exception as error:  # what is raised is the outcome
        return f"{type(error).__name__}: {str(error)[:60]}"


if __name__ == "__main__":
    tally = Tally("levels")
    for make in MAKERS:
        for name, operation in OPERATIONS.items():
            if (make.__name__, name) in LEFT_OUT:
                continue
            held = make()

            def kept(x, operation=operation, held=held):
                return x + 1, operation(held)

            def made(x, operation=operation, make=make):
                return x + 1, operation(make())

            for fn in (kept, made):
                compiled = breakline.compile(fn, plan="replay")
                wanted, got = [outcome(fn) for _ in range(2)], [outcome(compiled) for _ in range(2)]
                tally.check(f"{name} of {make.__name__}, {fn.__name__}", wanted == got, (wanted, got))
    tally.finish()
