# SPDX-License-Identifier: GPL-3.0-or-later
"""Special methods of user classes with every kind of answer, right and wrong, asked through the syntax and the builtins that ask them:
the result or the error is eager's. Classes stand alone or on a builtin type; binary ones meet relatives, strangers and numbers."""

import itertools
import os
import sys
import types

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "support")]

from harness import run_sweep  # noqa: E402
from sweep import differences, program, ramp  # noqa: E402

HELPERS = """
import copy, math, operator, os
def entered(a):
    with a as v:
        return v
def deleted(a):
    del a[1]
def unpacked(a):
    p, *q = a
    return p, q
"""
# expression: the method it asks
ASKS = {
    "-a": "neg", "+a": "pos", "~a": "invert", "abs(a)": "abs", "len(a)": "len", "bool(a)": "bool", "1 if a else 2": "bool", "not a": "bool",
    "int(a)": "int", "float(a)": "float", "complex(a)": "complex", "[0, 1, 2, 3][a]": "index", "[1, 2, 3, 4][a:]": "index",
    "[1] * a": "index", "'abc'[a]": "index", "hex(a)": "index", "chr(a)": "index", "list(range(a))": "index", "operator.index(a)": "index",
    "hash(a)": "hash", "{a: 1}[a]": "hash", "str(a)": "str", "repr(a)": "repr", "ascii(a)": "repr", "'%s %r' % (a, a)": "repr",
    "f'{a} {a!r} {a:x}'": "str", "format(a, 'x')": "format", "f'{a}'": "format", "list(a)": "iter", "[*a]": "iter", "unpacked(a)": "iter",
    "sorted(a)": "iter", "sum(a)": "iter", "max(a)": "iter", "list(zip(a, a))": "iter", "list(enumerate(a))": "iter", "any(a)": "iter",
    "','.join(a)": "iter", "list(map(str, a))": "iter", "1 in a": "contains", "a[1]": "getitem", "a[1:2]": "getitem", "deleted(a)": "delitem",
    "a(1, k=2)": "call", "entered(a)": "enter", "round(a)": "round", "math.trunc(a)": "trunc", "math.floor(a)": "floor",
    "math.ceil(a)": "ceil", "list(reversed(a))": "reversed", "bytes(a)": "bytes", "os.fspath(a)": "fspath", "a.zork": "getattr",
    "copy.copy(a)": "copy", "copy.deepcopy(a)": "deepcopy", "divmod(a, 3)": "divmod", "pow(a, 2, 5)": "pow", "a == a": "eq", "a in [a]": "eq",
    "a in {a}": "eq", "[1, a].index(a)": "eq", "[a, a].count(a)": "eq", "dict(a)": "keys", "(lambda **k: k)(**a)": "keys", "x * a": "rmul",
    "x + a": "radd", "next(a)": "next"}
ANSWERS = {
    "pair": lambda self, *a, **k: ("pair", len(a)), "NotImplemented": lambda self, *a, **k: NotImplemented,
    "one": lambda self, *a, **k: 1, "self": lambda self, *a, **k: self, "text": lambda self, *a, **k: "s",
    "iterator": lambda self, *a, **k: iter([1, 2]), "false": lambda self, *a, **k: False, "minus one": lambda self, *a, **k: -1,
    "two": lambda self, *a, **k: 2.0, "tensor": lambda self, *a, **k: ramp(), "none": lambda self, *a, **k: None,
    "list": lambda self, *a, **k: [3, 1], "big": lambda self, *a, **k: 2**62,
}


def refuses(self, *a, **k):
    raise ValueError("refused")


ANSWERS["error"] = refuses
BASES = {"object": object, "list": list, "dict": dict, "int": int, "str": str, "float": float, "tuple": tuple}


def made(name, bases, body):
    return types.new_class(name, bases, {}, lambda space: space.update(body))


def wrong_of_base(base):
    space = {}
    exec(HELPERS, space)
    found = []
    for expression, word in ASKS.items():
        name = "keys" if word == "keys" else f"__{word}__"
        for kind, answer in ANSWERS.items():
            if base != "object" and kind not in ("pair", "one", "text", "error", "iterator"):
                continue
            body = {name: answer}
            if word == "keys" and kind == "self":
                continue  # never ends
            if word == "enter":
                body["__exit__"] = lambda self, *a: None
            if word == "next":
                body["__iter__"] = lambda self: self
            if word == "keys":
                body["__getitem__"] = lambda self, k: k
            cls = made("Asked", (BASES[base],), body)
            f = program("ask(x, a[0])", f"def ask(x, a):\n    return {expression}", space)
            if differences(f, [lambda: [cls()]] * 2):
                found.append((expression, kind))
    return found


OPERATORS = dict(zip("add mul pow matmul or".split(), "+ * ** @ |".split()))
COMPARISONS = dict(zip("lt le eq ne gt ge".split(), "< <= == != > >=".split()))
MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


def relatives(base, body):
    return {"sub": lambda: made("Second", (base,), body), "stranger": lambda: made("Second", (), body), "same": lambda: base,
            "int": lambda: int, "list": lambda: list, "tensor": lambda: ramp, "str": lambda: str}


def wrong_of_operator(word):
    symbol = OPERATORS.get(word) or COMPARISONS[word]
    forms = [f"    return a {symbol} b"] + ([f"    a {symbol}= b\n    return a"] if word in OPERATORS else [])
    left, right = f"__{word}__", f"__r{word}__" if word in OPERATORS else f"__{MIRRORED[word]}__"
    found = []
    for number, form in enumerate(forms):
        f = program("ask(*a)", f"def ask(a, b):\n{form}")
        kinds = itertools.product(["pair", "NotImplemented", "error", None], ["pair", "NotImplemented", None], ["self", "NotImplemented", None] if number else [None])
        for first, second, own in kinds:
            body = {left: ANSWERS[first]} if first else {}
            if own:
                body[f"__i{word}__"] = ANSWERS[own]
            one = made("First", (), body)
            for relation, make in relatives(one, {right: ANSWERS[second]} if second else {}).items():
                two = make()
                if differences(f, [lambda: [one(), two()], lambda: [two(), one()]]):
                    found.append((form.strip(), first, second, own, relation))
    return found


def wrong_of_case(case):
    found = wrong_of_base(case) if case in BASES else wrong_of_operator(case)
    return {"all": str(found)[:600] if found else ""}


if __name__ == "__main__":
    run_sweep("native protocols", [*BASES, *OPERATORS, *COMPARISONS], wrong_of_case)
