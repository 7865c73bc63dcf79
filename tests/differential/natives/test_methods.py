# SPDX-License-Identifier: GPL-3.0-or-later
"""Every attribute and method of the builtin types and the standard containers, on samples and arguments that fit and that do not:
the answer or the error, and what became of the object, are eager's."""

import collections
import os
import sys
import types

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "support")]

import torch  # noqa: E402
from harness import run_sweep  # noqa: E402
from sweep import differences, fresh, program, ramp  # noqa: E402

Pair = collections.namedtuple("Pair", "a b")


class Listed(list):
    pass


class Mapped(dict):
    pass


SAMPLES = {
    "str": ["aBc d", "x,y,x", "", "12"],
    "bytes": [b"aBc", b""],
    "bytearray": [bytearray(b"abc"), bytearray()],
    "int": [5, -7, 0, 2**70],
    "bool": [True, False],
    "float": [1.5, -0.0, float("inf"), 3.0],
    "complex": [1 + 2j, 0j],
    "list": [[3, 1, 2], [], ["a", "b", "a"]],
    "list of tensors": [[ramp(), ramp()], [1, ramp()]],
    "tuple": [(3, 1, 3), ()],
    "tuple of tensors": [(ramp(), 1), (2, ramp())],
    "dict": [{"a": 1, "b": 2}, {}, {"b": 1}],
    "dict of tensors": [{"a": ramp(), "b": 1}, {"b": ramp()}],
    "set": [{1, 2}, set(), {3}],
    "frozenset": [frozenset({1, 2}), frozenset()],
    "range": [range(5), range(4, 0, -2), range(0)],
    "slice": [slice(1, 3), slice(None)],
    "deque": [collections.deque([1, 2, 3]), collections.deque([1, 2], 2), collections.deque()],
    "OrderedDict": [collections.OrderedDict(a=1, b=2), collections.OrderedDict()],
    "defaultdict": [collections.defaultdict(list, {"a": [1]}), collections.defaultdict(int)],
    "Counter": [collections.Counter("aab"), collections.Counter()],
    "ChainMap": [collections.ChainMap({"a": 1}, {"b": 2})],
    "named tuple": [Pair(1, 2), Pair(ramp(), "x")],
    "exception": [ValueError("a", 1), KeyError("k")],
    "type": [int, dict],
    "function": [lambda a, b=1: a],
    "Size": [torch.Size([2, 3]), torch.Size([])],
    "dtype": [torch.float32, torch.int64],
    "namespace": [types.SimpleNamespace(a=1)],
    "subclass of list": [Listed([1, 2]), Listed()],
    "subclass of dict": [Mapped(a=1), Mapped()],
}
ARGUMENTS = [
    (), (1,), ("a",), (-1,), ([1, 2],), ({"a": 5},), ({2, 3},), (b"a",), (1, 2), ("a", "b"), (None,), (slice(0, 2),), ("a", 1, 2),
    (max,), (ramp(),), (0, ramp()),
]
# What describes the process or makes classes; `__globals__` holds everything.
LEFT_OUT = set("__reduce__ __reduce_ex__ __init_subclass__ __subclasshook__ __class_getitem__ __subclasses__ __sizeof__ __dir__ "
               "__getstate__ mro __hash__ __globals__".split())


def wrong_of(kind, name):
    samples = SAMPLES[kind]
    if callable(getattr(samples[0], name)):
        f = program(f"a[0].{name}(*a[1:])")
        calls = [lambda o=o, a=a: fresh([o]) + fresh(a) for a in ARGUMENTS for o in samples]
        return [(ARGUMENTS[i // len(samples)], i % len(samples)) for i in differences(f, calls)]
    return differences(program(f"a[0].{name}"), [lambda o=o: fresh([o]) for o in samples])


def wrong_of_kind(kind):
    found = {}
    for name in dir(SAMPLES[kind][0]):
        if name in LEFT_OUT or not hasattr(SAMPLES[kind][0], name):
            continue
        wrong = wrong_of(kind, name)
        found[name] = repr(wrong[:3])[:300] if wrong else ""
    return found


if __name__ == "__main__":
    run_sweep("native methods", SAMPLES, wrong_of_kind)
