# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls of native callables on samples, eager beside compiled; what both sweeps share."""

import collections
import copy
import itertools
import random
import re
import warnings

import breakline
import torch

MOST = 4  # depth to which an answer is looked into


def ramp():
    return torch.arange(3.0) + 0.5


def plain(o, depth=0):
    """An answer as comparable data: types, items in order, a few steps of an iterator."""
    if depth > MOST:
        return ".."
    base = next((b for b in (list, tuple, collections.deque) if isinstance(o, b)), None)
    deeper = [plain(i, depth + 1) for i in base.__iter__(o)] if base else None
    if isinstance(o, torch.Tensor):
        return type(o).__name__, str(o.dtype), tuple(o.shape), o.requires_grad, repr(o.tolist())
    if deeper is not None:
        return type(o).__name__, deeper, o.maxlen if base is collections.deque else None
    if isinstance(o, dict):
        return type(o).__name__, [(plain(k, depth + 1), plain(v, depth + 1)) for k, v in dict.items(o)]
    if isinstance(o, (set, frozenset)):
        return type(o).__name__, sorted(map(repr, set(o) if type(o) in (set, frozenset) else []))
    if isinstance(o, BaseException):
        return type(o).__name__, plain(o.args, depth + 1)
    if isinstance(o, collections.ChainMap):
        return type(o).__name__, plain(o.maps, depth + 1)
    if hasattr(type(o), "__next__"):
        steps = []
        try:
            steps += [plain(i, depth + 1) for i in itertools.islice(o, 6)]
        except Exception as error:  # noqa: BLE001
            steps.append(repr(error))
        return type(o).__name__, steps
    return type(o).__name__, re.sub(r"0x[0-9a-f]+", "0x", repr(o))


def outcome(f, *args):
    random.seed(0)
    try:
        answer = f(ramp(), *args)
    except RecursionError:
        return "RecursionError"
    except Exception as error:  # noqa: BLE001
        answer = error, re.sub(r"0x[0-9a-f]+", "0x", str(error))
    try:
        return plain(answer), plain(list(args))
    except Exception as error:  # noqa: BLE001
        return "no text", type(error).__name__


def fresh(values):
    return [copy.deepcopy(v) if not callable(v) else v for v in values]


def program(text, before="", space=None):
    """def f(x, *a): `text` with the call's arguments as a; its answer and an op on x."""
    space = dict(space or {})
    exec(f"{before}\ndef f(x, *a):\n    r = {text}\n    return r, x * 2", space)
    return space["f"]


def differences(f, calls):
    """Argument makers in turn: the numbers of those whose compiled answer is not eager's. A call that answers otherwise
    each time in eager is left out."""
    compiled = breakline.compile(f, plan="replay")
    wrong = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i, make in enumerate(calls):
            want = outcome(f, *make())
            if want != outcome(compiled, *make()) and want == outcome(f, *make()):
                wrong.append(i)
    return wrong
