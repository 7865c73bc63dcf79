# SPDX-License-Identifier: GPL-3.0-or-later
"""Seeded random Python programs around torch: the input of the differential tests.

`program(seed)` gives the source of a module that defines `f(x, y, n, items, table, thing)`, the global `G` and the list `LOG`.
Every value has a kind (T 3x3 tensor, I int, S str, L list of tensors, N list of ints, D dict of ints), so programs mostly run, and
those that raise do so the same way every time. Loops are bounded. Breaks are drawn like any other statement. Where PyTorch is
missing or not wanted, `plain = True` puts the stand-in of plain_torch.py in its place.
"""

import random

from templates import TEMPLATES

plain = False

PRELUDE = '''\
import torch
import collections
import contextlib
import dataclasses
import functools
import itertools
import math
import operator
import random

G = 1
LOG = []


class Thing:
    scale = 2

    def __init__(self, weight):
        self.weight = weight
        self.count = 0

    def bump(self, by=1):
        self.count += by
        return self.count

    @property
    def double(self):
        return self.count * 2

    @double.setter
    def double(self, value):
        self.count = value // 2

    @classmethod
    def tag(cls, n):
        return cls.scale + n

    @staticmethod
    def mix(a, b):
        return a * 3 + b

    def __getattr__(self, name):
        if name == "lazy":
            return 11
        raise AttributeError(name)

    def __len__(self):
        return self.count

    def __call__(self, t, k=1):
        return t * k + self.weight

    def __add__(self, other):
        return self.count + other


class Child(Thing):
    def bump(self, by=1):
        return super().bump(by + 1)


@dataclasses.dataclass
class Pair:
    a: int
    b: int = 4

    def total(self):
        return self.a + self.b


Point = collections.namedtuple("Point", ["u", "v"])


class Guard:
    def __init__(self, name, swallow=False):
        self.name, self.swallow = name, swallow

    def __enter__(self):
        LOG.append("enter " + self.name)
        return self

    def __exit__(self, kind, value, tb):
        LOG.append(f"exit {self.name} {kind.__name__ if kind else None}")
        return self.swallow and kind is not None and issubclass(kind, ValueError)


def deco(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        LOG.append("call " + fn.__name__)
        return fn(*args, **kwargs)

    return wrapper


def gen(t, k):
    for i in range(k):
        yield t + i


def counter(k):
    total = 0

    def inc(by):
        nonlocal total
        total += by
        return total

    return [inc(j) for j in range(k)]


@contextlib.contextmanager
def scope(name):
    LOG.append("in " + name)
    try:
        yield name
    finally:
        LOG.append("out " + name)


'''

T_UNARY = ["({} * random.uniform(0.5, 1.5))", "torch.tanh({})", "torch.sigmoid({})", "{}.relu()", "torch.sin({})", "({} * 0.5)", "({} + 1)", "(-{})", "{}.abs()", "{}.t()",
           "{}.transpose(0, 1)", "torch.nn.functional.gelu({})", "{}.clamp(-1, 1)", "{}.softmax(-1)", "{}.contiguous()",
           "({} / 3)", "torch.exp(-{}.abs())", "{}.view(3, 3)", "{}.reshape(9).reshape(3, 3)", "{}.float()", "{}.clone()",
           "({} ** 2)", "{}.sum(0, keepdim=True).expand(3, 3)", "{}.detach()", "(1 - {})"]
# What the stand-in for PyTorch has not.
T_REAL = ["checkpoint(torch.tanh, {}, use_reentrant=False)", "checkpoint(lambda p: p * G + x.sum(), {}, use_reentrant=False)",
          "torch.from_numpy(np.sin({}.detach().numpy()))", "torch.from_numpy({}.detach().numpy().T + n)",
          "torch.as_tensor(np.log({}.detach().numpy()).clip(-2, 2))", "(lambda p: p.long().cumsum(0).type_as(p.tanh()))({})",
          "(lambda p: p.double().flip(0).to(p * 2) + p)({})", "torch.from_numpy(np.add({0}.detach().numpy(), n, np.zeros((3, 3), np.float32)))"]
T_BINARY = ["({} + {})", "({} - {})", "({} * {})", "torch.tanh({} @ {})", "torch.maximum({}, {})", "torch.where({} > 0, {}, 0.25)",
            "torch.cat([{}, {}])[:3]", "torch.stack([{}, {}]).mean(0)"]
I_BINARY = ["({} + {})", "({} - {})", "({} * {}) % 7", "max({}, {})", "min({}, {})", "({} // (abs({}) + 1))", "operator.add({}, {}) % 9"]


class Scope:
    """Names in scope by kind."""

    def __init__(self, parent=None):
        self.kinds = {k: list(v) for k, v in parent.kinds.items()} if parent else {k: [] for k in "TISLND"}

    def add(self, kind, name):
        if name not in self.kinds[kind]:
            for other in self.kinds.values():
                if name in other:
                    other.remove(name)
            self.kinds[kind].append(name)


class Generator:
    def __init__(self, seed, breaks=0.09, depth=3):
        self.r = random.Random(seed)
        self.lines = []
        self.serial = 0
        self.breaks = breaks
        self.depth = depth
        self.helpers = []
        self.in_loop = 0
        self.in_function = "f"

    # -- expressions
    def pick(self, options):
        return self.r.choice(options)

    def fresh(self, kind):
        self.serial += 1
        return f"{kind.lower()}{self.serial}"

    def tensor(self, s, d=2):
        r = self.r.random()
        if d == 0 or r < 0.3:
            return self.pick(s.kinds["T"])
        if r < 0.6:
            return self.pick(T_UNARY if plain or self.r.random() < 0.9 else T_REAL).format(self.tensor(s, d - 1))
        if r < 0.84:
            return self.pick(T_BINARY).format(self.tensor(s, d - 1), self.tensor(s, d - 1))
        if r < 0.88 and s.kinds["L"]:
            return f"{self.pick(s.kinds['L'])}[{self.r.randint(-1, 1)}]"
        if r < 0.92:
            return f"({self.tensor(s, d - 1)} * {self.integer(s, 1)})"
        if r < 0.95:
            return f"thing({self.tensor(s, d - 1)}, k={self.integer(s, 0)})"
        if r < 0.98 and self.helpers:
            return self.call_helper(s)
        return f"({self.tensor(s, d - 1)} if {self.condition(s)} else {self.tensor(s, d - 1)})"

    def integer(self, s, d=2):
        r = self.r.random()
        names = s.kinds["I"]
        if d == 0 or r < 0.35:
            return self.pick(names) if names and self.r.random() < 0.8 else str(self.r.randint(-2, 5))
        if r < 0.65:
            return self.pick(I_BINARY).format(self.integer(s, d - 1), self.integer(s, d - 1))
        if r < 0.7:
            return self.pick(["thing.count", "thing.double", "thing.lazy", "Thing.tag(2)", "thing.mix(1, 2)", "thing.scale", "len(thing)", "random.randint(0, 3)",
                              "(thing + 3)"])
        if r < 0.74:
            return "thing.bump()" if self.r.random() < 0.6 else f"thing.bump(by={self.r.randint(0, 3)})"
        if r < 0.78 and s.kinds["N"]:
            n = self.pick(s.kinds["N"])
            return self.pick([f"len({n})", f"sum({n})", f"max({n}, default=0)", f"{n}[0]", f"{n}[-1]", f"sorted({n})[0]"])
        if r < 0.82 and s.kinds["D"]:
            t = self.pick(s.kinds["D"])
            return self.pick([f"{t}.get('a', 3)", f"len({t})", f"{t}['a']", f"sum({t}.values())", f"{t}.setdefault('q', 2)"])
        if r < 0.85:
            return self.pick(["x.shape[0]", "x.dim()", "len(x)", "x.size(1)", "x.numel() % 5", "math.floor(2.7)", "int(1.9)", "round(2.4)"])
        if r < 0.88:
            return f"Pair({self.integer(s, 0)}).total()"
        if r < 0.9:
            return f"Point({self.integer(s, 0)}, 2).u"
        if r < 0.92:
            return f"sum(j * {self.integer(s, 0)} for j in range({self.r.randint(0, 4)}))"
        if r < 0.94:
            return f"functools.reduce(lambda p, q: p * 2 + q, [1, {self.integer(s, 0)}, 3]) % 13"
        if r < 0.96:
            return f"(lambda k={self.r.randint(0, 3)}: k + {self.integer(s, 0)})()"
        if r < 0.98:
            return f"counter({self.r.randint(1, 3)})[-1]"
        return "G"

    def condition(self, s):
        r = self.r.random()
        a, b = self.integer(s, 1), self.integer(s, 1)
        if r < 0.5:
            return f"{a} {self.pick(['<', '>', '==', '!=', '<=', '>='])} {b}"
        if r < 0.6:
            return f"{a} < {b} <= {self.r.randint(0, 6)}"
        if r < 0.7:
            return f"not ({a} > {b})"
        if r < 0.8:
            return f"({a} > 1 and {b} < 3)"
        if r < 0.86 and s.kinds["N"]:
            return f"{a} in {self.pick(s.kinds['N'])}"
        if r < 0.9:
            return f"isinstance(thing, {self.pick(['Thing', 'Child', 'dict'])})"
        if r < 0.94:
            return f"hasattr(thing, {self.pick(['lazy', 'nope', 'count'])!r})"
        if s.kinds["D"]:
            return f"{self.pick(['a', 'zz'])!r} in {self.pick(s.kinds['D'])}"
        return "x is y"

    def call_helper(self, s):
        name, params = self.pick(self.helpers)
        args = [self.tensor(s, 1)] + [self.integer(s, 1) for _ in range(params)]
        r = self.r.random()
        if r < 0.2:
            return f"{name}(*[{', '.join(args)}])"
        if r < 0.4 and params:
            return f"{name}({args[0]}, **{{'k0': {args[1]}}})"
        if r < 0.5:
            return f"{name}({args[0]})"
        return f"{name}({', '.join(args)})"

    # -- statements
    def emit(self, indent, text):
        self.lines.append("    " * indent + text)

    def block(self, s, indent, depth, size=None):
        before = len(self.lines)
        for _ in range(size or self.r.randint(1, 4)):
            self.statement(s, indent, depth)
        if len(self.lines) == before:
            self.emit(indent, "pass")

    def statement(self, s, indent, depth):
        if self.r.random() < self.breaks:
            self.breaking(s, indent)
            return
        simple = [self.assign, self.assign, self.assign, self.inplace, self.integers, self.containers, self.attributes, self.log]
        nested = [self.branch, self.loop, self.trying, self.managed, self.function, self.comprehension, self.leave, self.template, self.template]
        if depth > 0 and self.r.random() < 0.42:
            self.pick(nested)(s, indent, depth - 1)
        else:
            self.pick(simple)(s, indent)

    def breaking(self, s, indent):
        t = self.tensor(s, 1)
        what = self.r.randint(0, 8)
        if what <= 2:
            self.emit(indent, "gb()")
        elif what == 3:
            self.emit(indent, f"print('p', {self.integer(s, 1)})")
        elif what == 4:
            name = self.fresh("I")
            self.emit(indent, f"{name} = int(({t}).sum().item() * 4) % 5")
            s.add("I", name)
        elif what == 5:
            inner = Scope(s)
            self.emit(indent, f"if ({t}).mean() > 0.05:")
            self.emit(indent + 1, f"{self.pick(s.kinds['T'][:1])} = {self.tensor(inner, 1)}")
            self.emit(indent, "else:")
            self.emit(indent + 1, "LOG.append('neg')")
        elif what == 6:
            self.emit(indent, f"LOG.append(round(float(({t}).max()), 3))")
        elif what == 7:
            self.emit(indent, "with region(False):")
            self.emit(indent + 1, "gb()")
        else:
            self.emit(indent, f"LOG.append(str(({t}).shape) + repr({self.integer(s, 1)}))")
            self.emit(indent, "gb('why')")

    def assign(self, s, indent):
        if self.r.random() < 0.25:
            a, b = self.fresh("T"), self.fresh("I")
            self.emit(indent, self.pick([
                f"{a}, {b} = {self.tensor(s)}, {self.integer(s)}", f"({b}, {a}) = [{self.integer(s)}, {self.tensor(s)}]",
                f"{a} = {self.tensor(s)}; {b} = {self.integer(s)}"]))
            s.add("T", a)
            s.add("I", b)
            return
        name = self.pick(s.kinds["T"]) if self.r.random() < 0.5 else self.fresh("T")
        self.emit(indent, f"{name} = {self.tensor(s)}")
        s.add("T", name)

    def inplace(self, s, indent):
        t = self.pick(s.kinds["T"])
        self.emit(indent, self.pick([
            f"{t}.add_({self.integer(s, 1)})", f"{t}.mul_(0.5)", f"{t}[0] = {self.tensor(s, 1)}[1]", f"{t}[1, 2] = 0.125",
            f"{t} += {self.tensor(s, 1)}", f"{t} = {t}.clone()", f"{t}[:, 0].sub_(1)", f"{t} *= 0.75", f"{t}.copy_({self.tensor(s, 1)})"]))

    def integers(self, s, indent):
        name = self.pick(s.kinds["I"]) if s.kinds["I"] and self.r.random() < 0.4 else self.fresh("I")
        if name in s.kinds["I"] and self.r.random() < 0.5:
            self.emit(indent, f"{name} {self.pick(['+=', '-=', '*='])} {self.integer(s, 1)} % 5")
        else:
            self.emit(indent, f"{name} = {self.integer(s)}")
        s.add("I", name)

    def containers(self, s, indent):
        what = self.r.randint(0, 12)
        if what <= 1:
            name = self.fresh("L")
            self.emit(indent, f"{name} = [{self.tensor(s, 1)}, {self.tensor(s, 1)}]")
            s.add("L", name)
        elif what == 2 and s.kinds["L"]:
            self.emit(indent, f"{self.pick(s.kinds['L'])}.append({self.tensor(s, 1)})")
        elif what == 3:
            name = self.fresh("N")
            self.emit(indent, f"{name} = [{self.integer(s, 1)}, {self.integer(s, 1)}, *items[:1]]")
            s.add("N", name)
        elif what == 4:
            n = self.pick(s.kinds["N"])
            self.emit(indent, self.pick([f"{n}.append({self.integer(s, 1)})", f"{n}.insert(0, {self.integer(s, 1)})", f"{n}.reverse()",
                                         f"{n}[0] = {self.integer(s, 1)}", f"{n}.extend([1, 2])", f"{n}.sort()", f"{n} += [3]"]))
        elif what == 5:
            d = self.pick(s.kinds["D"])
            self.emit(indent, self.pick([f"{d}['k'] = {self.integer(s, 1)}", f"{d}.pop('k', None)", f"{d}.update(a={self.integer(s, 1)})",
                                         f"{d}['b'] = {d}.get('b', 0) + 1", f"{d}.setdefault('z', 5)"]))
        elif what == 6:
            name = self.fresh("D")
            self.emit(indent, self.pick([f"{name} = {{'a': {self.integer(s, 1)}, **table}}", f"{name} = dict(a={self.integer(s, 1)}, c=2)"]))
            s.add("D", name)
        elif what == 7:
            name = self.fresh("I")
            self.emit(indent, f"{name}, *rest{self.serial} = [*items, {self.integer(s, 1)}, 8]")
            s.add("I", name)
            s.add("N", f"rest{self.serial}")
        elif what == 8:
            name = self.fresh("S")
            self.emit(indent, f"{name} = f\"v={{{self.integer(s, 1)}}} {{{self.integer(s, 0)}:>3}} {{'q'!r}}\"")
            s.add("S", name)
        elif what == 9 and s.kinds["S"]:
            self.emit(indent, f"LOG.append({self.pick(s.kinds['S'])}.upper().split(' '))")
        elif what == 10:
            self.emit(indent, f"del {self.pick(s.kinds['D'])}[{self.pick(['a', 'missing'])!r}]")
        elif what == 11:
            name = self.fresh("I")
            self.emit(indent, f"{name} = len({{1, {self.integer(s, 1)}, {self.integer(s, 1)}}} | set(items))")
            s.add("I", name)
        else:
            self.emit(indent, f"LOG.append(sorted({self.pick(s.kinds['D'])}.items(), key=lambda kv: (kv[1], kv[0])))")

    def attributes(self, s, indent):
        self.emit(indent, self.pick([
            f"thing.count = {self.integer(s, 1)}", f"thing.weight = {self.tensor(s, 1)}", f"thing.extra = {self.integer(s, 1)}",
            f"setattr(thing, 'made', {self.integer(s, 1)})", f"thing.double = {self.integer(s, 1)}", "thing.bump(2)",
            "thing.weight.mul_(0.5)", f"thing.count += {self.integer(s, 1)}"]))

    def log(self, s, indent):
        what = self.r.randint(0, 3)
        if what == 0:
            self.emit(indent, "global_bump()")
        else:
            self.emit(indent, f"LOG.append(({self.serial}, {self.integer(s, 1)}))")

    def branch(self, s, indent, depth):
        self.emit(indent, f"if {self.condition(s)}:")
        self.block(Scope(s), indent + 1, depth)
        if self.r.random() < 0.3:
            self.emit(indent, f"elif {self.condition(s)}:")
            self.block(Scope(s), indent + 1, depth)
        if self.r.random() < 0.5:
            self.emit(indent, "else:")
            self.block(Scope(s), indent + 1, depth)

    def loop(self, s, indent, depth):
        inner = Scope(s)
        v = self.fresh("I")
        what = self.r.randint(0, 6)
        if what <= 1:
            self.emit(indent, f"for {v} in range({self.r.randint(0, 3)}):")
        elif what == 2:
            self.emit(indent, f"for {v}, extra{v} in enumerate({self.pick(s.kinds['N'])}[:3]):")
            inner.add("I", f"extra{v}")
        elif what == 3:
            self.emit(indent, f"for {v}, z{v} in zip(range(3), items):")
            inner.add("I", f"z{v}")
        elif what == 4:
            self.emit(indent, f"for w{v} in gen({self.tensor(s, 1)}, {self.r.randint(0, 2)}):")
            inner.add("T", f"w{v}")
            v = None
        elif what == 5:
            # The count is nobody else's: what the body assigns must not keep the loop going.
            self.emit(indent, f"round{v} = 0")
            self.emit(indent, f"while round{v} < {self.r.randint(1, 3)}:")
            self.emit(indent + 1, f"round{v} += 1")
            self.emit(indent + 1, f"{v} = round{v}")
        else:
            self.emit(indent, f"for key{v} in list({self.pick(s.kinds['D'])}):")
            self.emit(indent + 1, f"{v} = len(key{v})")
        if v:
            inner.add("I", v)
        self.in_loop += 1
        self.block(inner, indent + 1, depth)
        if self.r.random() < 0.35:
            self.emit(indent + 1, f"if {self.condition(inner)}:")
            self.emit(indent + 2, self.pick(["break", "continue"]))
            self.block(inner, indent + 1, 0, 1)
        self.in_loop -= 1
        if self.r.random() < 0.2:
            self.emit(indent, "else:")
            self.block(Scope(s), indent + 1, depth)

    def trying(self, s, indent, depth):
        self.emit(indent, "try:")
        self.block(Scope(s), indent + 1, depth)
        if self.r.random() < 0.6:
            self.emit(indent + 1, self.pick([
                "raise ValueError('v')", "raise KeyError('k')", "table['missing']", "items[99]", "1 // 0", "thing.nope",
                "x @ torch.ones(2)", "x.view(4, 4)", "torch.cat([x, torch.ones(2, 2)])", "int('z')", "next(iter([]))", "a_missing_name",
                "raise RuntimeError('r') from ValueError('c')", "assert n > 100, 'small'", "[].pop()", "x + 'text'"]))
        form = self.r.randint(0, 3)
        if form != 3:
            kinds = self.pick(["ValueError", "(KeyError, IndexError)", "Exception", "ZeroDivisionError", "RuntimeError", "AttributeError"])
            name = self.pick([" as e", ""])
            self.emit(indent, f"except {kinds}{name}:")
            if name:
                self.emit(indent + 1, "LOG.append((type(e).__name__, str(e)[:60]))")
            self.block(Scope(s), indent + 1, depth, 1)
            if self.r.random() < 0.15:
                self.emit(indent + 1, self.pick(["raise", "raise TypeError('second')"]))
            if self.r.random() < 0.3:
                self.emit(indent, "else:")
                self.block(Scope(s), indent + 1, 0, 1)
        if form == 3 or self.r.random() < 0.3:
            self.emit(indent, "finally:")
            self.block(Scope(s), indent + 1, 0, 1)

    def managed(self, s, indent, depth):
        what = self.r.randint(0, 5)
        head = [f"with Guard('g{self.serial}', {self.pick(['True', 'False'])}) as held:", "with torch.no_grad():", "with region(False):",
                f"with scope('s{self.serial}') as label:", "with contextlib.nullcontext(4) as four:",
                f"with Guard('p'), Guard('q', True):"][what]
        self.emit(indent, head)
        self.block(Scope(s), indent + 1, depth)
        if self.r.random() < 0.15:
            self.emit(indent + 1, "raise ValueError('inside')")

    def function(self, s, indent, depth):
        name = self.fresh("F")
        inner = Scope(s)
        inner.add("T", "p")
        inner.add("I", "q")
        keep_loop, self.in_loop = self.in_loop, 0
        if self.r.random() < 0.3:
            self.emit(indent, "@deco")
        self.emit(indent, f"def {name}(p, q=2, *more, flag=False):")
        own = [i for i in s.kinds["I"] if i.startswith("i")]
        if own and self.in_function == "f" and indent == 1 and self.r.random() < 0.5:
            self.emit(indent + 1, f"nonlocal {own[0]}")
            self.emit(indent + 1, f"{own[0]} = {own[0]} + 1")
        self.block(inner, indent + 1, max(depth - 1, 0))
        self.emit(indent + 1, f"return {self.tensor(inner, 1)}")
        self.in_loop = keep_loop
        out = self.fresh("T")
        self.emit(indent, f"{out} = {name}({self.tensor(s, 1)}, {self.pick(['3', 'q=1', 'flag=True', '1, 2, 3', '*[4]'])})")
        s.add("T", out)

    def comprehension(self, s, indent, depth):
        v = self.fresh("L")
        what = self.r.randint(0, 5)
        if what == 0:
            self.emit(indent, f"{v} = [{self.pick(s.kinds['T'])} + j for j in range({self.r.randint(2, 3)})]")
            s.add("L", v)
        elif what == 1:
            n = self.fresh("N")
            self.emit(indent, f"{n} = [j * {self.integer(s, 0)} for j in items if j > {self.r.randint(-1, 2)}] + [1]")
            s.add("N", n)
        elif what == 2:
            d = self.fresh("D")
            self.emit(indent, f"{d} = {{str(j): j + {self.integer(s, 0)} for j in range(2)}}")
            s.add("D", d)
        elif what == 3:
            t = self.fresh("T")
            self.emit(indent, f"{t} = sum(gen({self.tensor(s, 1)}, {self.r.randint(1, 3)}))")
            s.add("T", t)
        elif what == 4:
            n = self.fresh("N")
            self.emit(indent, f"{n} = list(map(lambda j: j + {self.integer(s, 0)}, filter(lambda j: j != 1, items))) + [0]")
            s.add("N", n)
        else:
            i = self.fresh("I")
            self.emit(indent, f"{i} = any(j > {self.integer(s, 0)} for j in items) + len([*itertools.chain(items, [1])])")
            s.add("I", i)

    def template(self, s, indent, depth):
        """One of the table's statements, in place."""
        lines, gives = self.pick(TEMPLATES)
        self.serial += 1
        number = str(self.serial)
        made = {"@T": lambda: self.tensor(s, 1), "@I": lambda: self.integer(s, 1), "@N": lambda: self.pick(s.kinds["N"]),
                "@D": lambda: self.pick(s.kinds["D"]), "@C": lambda: self.condition(s), "@J": lambda: str(self.r.randint(0, 4)),
                "@B": lambda: self.pick(["True", "False"])}
        in_loop = self.in_loop
        for line in lines:
            deeper = (len(line) - len(line.lstrip())) // 4
            if line.strip() == "...":
                self.in_loop = 0
                self.block(Scope(s), indent + deeper, 0, 1)
                self.in_loop = in_loop
                continue
            line = line.replace("#", number)
            for mark, draw in made.items():
                while mark in line:
                    line = line.replace(mark, draw(), 1)
            self.emit(indent, line)
        for kind, name in gives.items():
            s.add(kind, name.replace("#", number))

    def leave(self, s, indent, depth):
        if self.r.random() < 0.4:
            self.emit(indent, f"if {self.condition(s)}:")
            self.emit(indent + 1, f"return {self.tensor(s, 1)}, {self.integer(s, 1)}")

    # -- whole programs
    def build(self):
        for index in range(self.r.randint(0, 3)):
            params = self.r.randint(0, 2)
            self.in_function = name = f"helper{index}"
            head = "".join(f", k{i}={i + 1}" for i in range(params))
            if self.r.random() < 0.2:
                self.emit(0, "@deco")
            elif self.r.random() < 0.15:
                self.emit(0, "@region(False)")
            self.emit(0, f"def {name}(x{head}):")
            s = Scope()
            s.add("T", "x")
            for i in range(params):
                s.add("I", f"k{i}")
            s.add("N", "items")
            s.add("D", "table")
            self.emit(1, "y = x")
            self.emit(1, "n = 2")
            self.emit(1, "items = [1, 2]")
            self.emit(1, "table = {'a': 1}")
            self.emit(1, "thing = THING")
            self.block(s, 1, 1)
            self.emit(1, f"return {self.tensor(s, 1)}")
            self.emit(0, "")
            self.helpers.append((name, params))
        self.in_function = "f"
        self.emit(0, "def f(x, y, n, items, table, thing):")
        s = Scope()
        for kind, names in (("T", ["x", "y"]), ("I", ["n"]), ("N", ["items"]), ("D", ["table"])):
            for name in names:
                s.add(kind, name)
        self.block(s, 1, self.depth, self.r.randint(4, 9))
        self.emit(1, f"return {self.tensor(s, 1)}, {self.integer(s, 1)}, {self.pick(s.kinds['N'])}")
        glob = ["def global_bump():", "    global G", "    G += 1", "", ""]
        return PRELUDE + "\n".join(glob) + "THING = Thing(torch.full((3, 3), 0.5))\n\n" + "\n".join(self.lines) + "\n"


REAL_PRELUDE = "import numpy as np\nfrom torch.utils.checkpoint import checkpoint\n"


def program(seed):
    """Source text; the caller puts `gb` and `region` into the module's namespace."""
    text = Generator(seed).build()
    return text.replace("import torch\n", "import plain_torch as torch\n" if plain else "import torch\n" + REAL_PRELUDE, 1)


def arguments(space, seed, call):
    """The arguments of call number `call`: same kinds each time; aliasing, integers and contents vary."""
    torch = space["torch"]
    g = torch.Generator().manual_seed(seed * 31 + call)
    x = torch.randn(3, 3, generator=g)
    y = [torch.randn(3, 3, generator=g), x, x.t(), torch.randn(3, 6, generator=g)[:, ::2]][(seed + call) % 4 if call else 0]
    cls = space["Child"] if seed % 3 == 0 else space["Thing"]
    thing = cls(torch.randn(3, 3, generator=g))
    return [x, y, 1 + (call if seed % 2 else 0), [1, 2, 3 + call % 2], {"a": 1, "b": 2}, thing]
