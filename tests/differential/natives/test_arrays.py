# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions and methods of numpy that write: by position, by name, in place. The arrays come from the caller, from a global, or are made
in the program; results, all arrays and what is read of them afterwards equal plain Python's at each call."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import numpy as np  # noqa: E402
from harness import Tally  # noqa: E402

import breakline  # noqa: E402


def whole():
    return np.arange(6.0).reshape(2, 3), np.arange(6.0)[::-1].copy().reshape(2, 3), np.zeros((2, 3))


WRITES = {
    "ufunc of two": lambda a, b, c: np.add(a, b, c),
    "ufunc of one": lambda a, b, c: np.sqrt(a, c),
    "ufunc with two results": lambda a, b, c: np.modf(a, b, c),
    "ufunc where": lambda a, b, c: np.add(a, b, where=a > 2, out=c),
    "ufunc of its own operand": lambda a, b, c: np.add(a, b, a),
    "ufunc at": lambda a, b, c: np.add.at(c, (0,), 1),
    "ufunc reduce": lambda a, b, c: np.add.reduce(a, 0, None, c[0]),
    "ufunc accumulate": lambda a, b, c: np.add.accumulate(a, 0, None, c),
    "clip": lambda a, b, c: np.clip(a, 1, 2, c),
    "method clip": lambda a, b, c: a.clip(1, 2, c),
    "cumsum": lambda a, b, c: np.cumsum(a, 0, None, c),
    "sum": lambda a, b, c: np.sum(a, 0, None, c[0]),
    "method sum": lambda a, b, c: a.sum(0, None, c[0]),
    "mean": lambda a, b, c: a.mean(0, None, c[0]),
    "ptp": lambda a, b, c: np.ptp(a, 0, c[0]),
    "any": lambda a, b, c: np.any(a, 0, c[0]),
    "argmax": lambda a, b, c: np.argmax(a, 0, np.zeros(3, int)),
    "dot": lambda a, b, c: np.dot(a[:, :2], b[:, :2], np.zeros((2, 2))),
    "matmul": lambda a, b, c: np.matmul(a[:, :2], b[:, :2], c[:, :2]),
    "take": lambda a, b, c: np.take(a, [0, 1, 2], 1, c),
    "choose": lambda a, b, c: np.choose(np.zeros((2, 3), int), [a, b], c),
    "round": lambda a, b, c: np.round(a * 1.5, 0, c),
    "trace": lambda a, b, c: np.trace(a, 0, 0, 1, None, np.zeros(())),
    "quantile": lambda a, b, c: np.quantile(b, 0.5, 0, c[0]),
    "median of its own operand": lambda a, b, c: np.median(b, None, None, True),
    "einsum": lambda a, b, c: np.einsum("ij,ij->ij", a, b, out=c),
    "put": lambda a, b, c: np.put(c, [0, 1], [5, 6]),
    "copyto": lambda a, b, c: np.copyto(c, a),
    "place": lambda a, b, c: np.place(c, c == 0, [7]),
    "putmask": lambda a, b, c: np.putmask(c, c == 0, a),
    "fill_diagonal": lambda a, b, c: np.fill_diagonal(c, 9),
    "nan_to_num": lambda a, b, c: np.nan_to_num(c, False, 3.0),
    "method fill": lambda a, b, c: c.fill(3),
    "method sort": lambda a, b, c: b.sort(),
    "method partition": lambda a, b, c: b.partition(1),
    "method put": lambda a, b, c: c.put([0], [8]),
    "store": lambda a, b, c: c.__setitem__((0, 0), 4),
    "added in place": lambda a, b, c: c.__iadd__(a),
    "attribute": lambda a, b, c: setattr(c, "real", a),
    "flat": lambda a, b, c: setattr(c, "flat", a),
    "view of it": lambda a, b, c: np.swapaxes(c, 0, 1).fill(1),
    "the same object": lambda a, b, c: np.asarray(a) is a,
    "views stay writeable": lambda a, b, c: (a[0].flags.writeable, np.broadcast_to(a[0], (2, 3)).flags.writeable, np.asarray(a).flags.writeable),
}


def programs(operation):
    """(how, program, call) for the three ways an array comes to be."""
    held = []

    def given(a, b, c):
        r = operation(a, b, c)
        return r, a, b, c, c + 1, a + 1

    def made():
        a, b, c = np.arange(6.0).reshape(2, 3), np.arange(6.0)[::-1].copy().reshape(2, 3), np.zeros((2, 3))
        r = operation(a, b, c)
        return r, a, b, c, c + 1, a + 1

    def kept():
        a, b, c = held
        r = operation(a, b, c)
        return r, a, b, c, c + 1, a + 1

    def call_kept(fn):
        held[:] = whole()
        return fn()

    return ("given", given, lambda fn: fn(*whole())), ("made", made, lambda fn: fn()), ("kept", kept, call_kept)


def outcome(call, fn):
    try:
        return repr(call(fn))
    except Exception as error:  # what is raised is the outcome
        return repr(error)


if __name__ == "__main__":
    tally = Tally("arrays")
    for name, operation in WRITES.items():
        for how, program, call in programs(operation):
            compiled = breakline.compile(program, plan="replay")
            wanted, got = ([outcome(call, fn) for _ in range(3)] for fn in (program, compiled))
            tally.check(f"{name}, {how}", wanted == got, (wanted[0], got))
    tally.finish()
