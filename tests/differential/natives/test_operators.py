# SPDX-License-Identifier: GPL-3.0-or-later
"""Every operator on every pair of values of the builtin and standard container types, made inside the traced function: the answer or
the error, and what became of both, are eager's."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "support")]

from harness import run_sweep  # noqa: E402
from sweep import differences, program  # noqa: E402

VALUES = """2
-1.5
True
'ab'
b'a'
None
[1, 'a']
(1, 'a')
{'a': 1}
{1, 'a'}
frozenset({1, 'a'})
x
[x]
{'a': x}
range(1, 3)
bytearray(b'a')
slice(1, 2)
1 + 0j
{'a': 1}.keys()
{'a': 1}.items()
collections.OrderedDict(a=1)
collections.OrderedDict(b=2, a=1)
collections.defaultdict(int, a=1)
collections.Counter('a')
collections.ChainMap({'a': 1})
collections.deque([1, 'a'])
Pair(1, 'a')
Listed([1, 'a'])
Mapped(a=1)
Number(2)
Text('ab')
Thing()
torch.Size([1, 2])""".splitlines()
SPACE = """import collections, torch
Pair = collections.namedtuple('Pair', 'a b')
class Listed(list): pass
class Mapped(dict): pass
class Number(int): pass
class Text(str): pass
class Thing:
    def __eq__(self, other): return NotImplemented
    def __add__(self, other): return 'sum'
    def __rmul__(self, other): return 'product'
    def __lt__(self, other): return 'less'
"""
BINARY = ["+", "-", "*", "/", "//", "%", "@", "<<", ">>", "&", "|", "^"]
PLAIN = BINARY + ["**", "<", "<=", "==", "!=", ">", ">=", "in", "not in"]


def wrong_of(left):
    space = {}
    exec(SPACE, space)
    found = {}
    for right in VALUES:
        for op in PLAIN + [b + "=" for b in BINARY]:
            text = f"answer({left}, {right}, x)"
            body = f"    a {op} b\n    r = a" if op in [b + "=" for b in BINARY] else f"    r = a {op} b"
            f = program(text, f"def answer(a, b, x):\n{body}\n    return r, a, b", space)
            found[f"{op} {right}"] = "other than eager" if differences(f, [lambda: []] * 2) else ""
    return found


if __name__ == "__main__":
    run_sweep("native operators", VALUES, wrong_of)
