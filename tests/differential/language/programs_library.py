# SPDX-License-Identifier: GPL-3.0-or-later
# Long because it is one table of small independent programs.
"""What ordinary code takes from the standard library: containers, native objects, questions about the process, classes made on the way."""

import bisect
import collections
import collections.abc
import contextvars
import copy
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import hashlib
import heapq
import inspect
import io
import itertools
import json
import logging
import math
import operator
import os
import pathlib
import random
import re
import struct
import sys
import textwrap
import threading
import traceback
import types
import typing
import warnings
import weakref

import numpy as np
import torch
from cases import table

CASES, case = table()
LOG = []
STATE = {}


def opaque(f, *a):
    print(end="")
    return f(*a)


def fresh(name, n, make):
    """An object that lives over the calls of one run: made anew at the first."""
    if n == 0:
        STATE[name] = make()
    return STATE[name]


# ---------------------------------------------------------------- deque


@case
def deque_of_tensors(x, n):
    d = collections.deque(maxlen=3)
    for i in range(5):
        d.append(x * i)
    return sum(d), len(d), d[0], d[-1], d.maxlen


@case
def deque_kept(x, n):
    d = fresh("kept", n, lambda: collections.deque(maxlen=2))
    d.append(x + n)
    return torch.stack(list(d)).sum(), len(d)


@case
def deque_kept_unbounded(x, n):
    d = fresh("unbounded", n, collections.deque)
    d.append(n)
    d.appendleft(-n)
    return x * len(d), list(d)


@case
def deque_every_method(x, n):
    d = collections.deque([3, 1, 2])
    e = d.copy()
    d.rotate(1)
    d.rotate(-2)
    d.extend([7, 8])
    d.extendleft([5, 6])
    d.insert(2, "i")
    d.remove(7)
    d.reverse()
    del d[0]
    d[0] = "z"
    return x, d, e, d.count(1), d.index(1), 1 in d, d == e, e == collections.deque([3, 1, 2]), e != d, list(reversed(d)), repr(e), bool(d), d.pop(), d.popleft()


@case
def deque_errors(x, n):
    out = []
    d = collections.deque([1], maxlen=1)
    for f in (lambda: collections.deque().pop(), lambda: d.insert(0, 1), lambda: d[5], lambda: collections.deque().popleft()):
        try:
            f()
        except IndexError as e:
            out.append(str(e))
    try:
        for v in d:
            d.append(v)
    except RuntimeError as e:
        out.append(str(e))
    return x, out


@case(breaks=1)
def deque_at_break(x, n):
    d = collections.deque([x, 1], maxlen=4)
    e = d
    opaque(lambda: None)
    e.append(2)
    return d[0] * 2, len(d), d is e, d.maxlen


@case(breaks=2)
def deque_iterated_over_breaks(x, n):
    d = collections.deque([1, 2, 3])
    t = x
    for v in d:
        opaque(lambda: None)
        t = t + v
    return t


@case(breaks=1)
def deque_changed_by_callback(x, n):
    d = fresh("callback", n, lambda: collections.deque([1]))
    a = len(d)
    opaque(lambda: d.append(5))
    return x * len(d), a, d[-1]


class Buffered:
    def __init__(self):
        self.items = collections.deque(maxlen=2)
        self.log = {}

    def step(self, x):
        self.items.append(x)
        self.log[len(self.log)] = len(self.items)
        return sum(self.items)


@case
def deque_in_object(x, n):
    b = fresh("buffered", n, Buffered)
    return b.step(x), b.step(x * 2), b.log


@case
def deque_added_and_compared(x, n):
    a = collections.deque([1, 2])
    b = a
    b += [3]
    return x, a + collections.deque([4]), a * 2, a is b, [1, 2, 3] == a, (a == [1, 2, 3]), a


@case
def defaultdict_of_deques(x, n):
    d = collections.defaultdict(collections.deque)
    d["a"].append(x)
    d["a"].append(n)
    d["b"].appendleft(1)
    return d["a"][0] + d["a"][1], len(d), d["b"]


# ---------------------------------------------------------------- other containers


@case
def namespace_of_options(x, n):
    o = types.SimpleNamespace(scale=n + 1, bias=2)
    o.extra = x
    o.scale += 1
    del o.bias
    return x * o.scale, o, vars(o), hasattr(o, "bias"), o == types.SimpleNamespace(scale=n + 2, extra=x)


@case
def namespace_kept(x, n):
    o = fresh("options", n, lambda: types.SimpleNamespace(calls=0))
    o.calls += 1
    return x * o.calls, repr(o)


class Options(types.SimpleNamespace):
    def total(self):
        return self.a + self.b


@case
def namespace_subclass(x, n):
    o = Options(a=n, b=2)
    return x * o.total(), o


@case
def counters(x, n):
    c = collections.Counter("abca")
    c.update(["b", "b"])
    c["z"] += n
    return x, c, c.most_common(1), c.most_common(), sorted(c.elements()), c + collections.Counter("a"), c - collections.Counter("ab"), c["none"], sum(c.values())


@case
def counter_kept(x, n):
    c = fresh("counter", n, collections.Counter)
    c[n % 2] += 1
    return x * c[0], dict(c)


@case
def chain_maps(x, n):
    c = collections.ChainMap({"a": n}, {"b": x, "a": 9})
    c["c"] = 3
    d = c.new_child({"a": 0})
    return c["b"], d["a"], sorted(d), len(c), "zz" in c, c.get("zz", 4), dict(c)


@case
def proxies(x, n):
    inner = {"a": n}
    p = types.MappingProxyType(inner)
    inner["b"] = 2
    try:
        p["c"] = 1
    except TypeError as e:
        text = str(e)
    return x * p["b"], list(p), len(p), "a" in p, p.get("q"), text, dict(p)


# ---------------------------------------------------------------- native functions on values


@case
def patterns(x, n):
    m = re.match(r"(?P<k>\w+)-(\d+)", f"layer-{n}")
    return x * int(m.group(2)), m["k"], m.groupdict(), re.sub(r"\d", "#", f"a{n}b"), re.split(r"[,;]", "a,b;c"), re.findall(r"\w", "a b"), re.compile("a+").sub("-", "baab")


@case
def numbers_packed(x, n):
    return x + struct.unpack("<i", struct.pack("<i", n))[0], math.isclose(0.1 + 0.2, 0.3), math.gcd(12, 18), int.from_bytes(b"\x01\x02", "big"), (n).to_bytes(2, "little")


@case
def jsons(x, n):
    text = json.dumps({"n": n, "l": [1, 2.5, None]}, indent=1, sort_keys=True)
    back = json.loads(text)
    back["l"].append(3)
    return x * back["n"], back, text, json.loads("[1]") is json.loads("[1]")


@case
def json_of_bad(x, n):
    try:
        json.loads("{")
    except ValueError as e:
        return x, type(e).__name__, str(e)


@case
def paths(x, n):
    p = pathlib.PurePosixPath("a") / f"b{n}.txt"
    return x, str(p), p.stem, p.suffix, p.parent.name, p.with_suffix(".pt").name, os.path.join("a", p.name), os.path.splitext("m.bin")


@case
def dates(x, n):
    d = datetime.date(2024, 2, 28) + datetime.timedelta(days=n)
    return x * d.day, d.isoformat(), (datetime.datetime(2024, 1, 1) - datetime.datetime(2023, 1, 1)).days, d > datetime.date(2024, 1, 1)


@case
def exact_numbers(x, n):
    f = fractions.Fraction(1, 3) + n
    d = decimal.Decimal("1.10") * n
    return x * float(f), f, str(d), f.numerator, decimal.Decimal("0.1") + decimal.Decimal("0.2") == decimal.Decimal("0.3"), abs(-f), {f: 1}[f]


@case
def texts(x, n):
    return x, textwrap.dedent("  a\n  b"), textwrap.shorten("a b c d", 5), "a-b".translate(str.maketrans("-", "_")), "{:>{w}}|{!r}".format(n, "q", w=5), "%(a)s %(b)05.1f" % {"a": n, "b": 2}, "%s" % [1, 2]


@case
def hashes(x, n):
    h = hashlib.sha256(b"a")
    h.update(str(n).encode())
    return x, h.hexdigest(), hashlib.md5(b"x").digest()[:2]


@case
def seeded_random(x, n):
    r = random.Random(n)
    first = r.random()
    return x * first, r.randint(0, 9), r.uniform(1, 2), r.choice("abc"), r.sample(range(10), 3), r.gauss(0, 1)


@case(breaks=2)
def seeded_random_over_break(x, n):
    r = random.Random(3)
    a = r.random()
    opaque(lambda: None)
    return x * a, r.random()


@case
def buffers(x, n):
    b = io.BytesIO()
    b.write(b"ab")
    b.write(bytes([n]))
    b.seek(1)
    s = io.StringIO("q")
    s.read()
    s.write(f"{n}")
    a = bytearray(b"xyz")
    a[0] = 65
    a.extend(b"!")
    a += b"?"
    del a[1]
    return x, b.read(), b.getvalue(), s.getvalue(), bytes(a), a, len(a), a.decode(), a == b"Az!?", 65 in a, list(a), bytes(memoryview(b"abc")[1:])


@case(breaks=4)
def buffer_over_break(x, n):
    s = io.StringIO()
    s.write("a")
    opaque(lambda: s.write("b"))
    s.write("c")
    return x, s.getvalue()


# ---------------------------------------------------------------- heaps and sorting


@case
def heap_of_pairs(x, n):
    h = []
    for i, w in enumerate([5, 1, 4, n]):
        heapq.heappush(h, (w, i, x * i))
    out = [heapq.heappop(h)[1] for _ in range(2)]
    return h[0][2], out, heapq.nsmallest(2, [3, 1, 2]), heapq.nlargest(2, [3, 1, 2]), heapq.heappushpop([1, 5], 3), list(heapq.merge([1, 4], [2, 3]))


@case
def heap_kept(x, n):
    h = fresh("heap", n, list)
    heapq.heappush(h, -n)
    return x * h[0], list(h)


class Weighted:
    def __init__(self, w):
        self.w = w

    def __lt__(self, other):
        LOG.append((self.w, other.w))
        return self.w < other.w


@case
def sorted_by_own_less(x, n):
    items = [Weighted(w) for w in (3, 1, 2, n, 0, 5)]
    a = sorted(items)
    b = sorted(items, reverse=True)
    items.sort(key=lambda v: Weighted(-v.w))
    return x, [v.w for v in a], [v.w for v in b], [v.w for v in items], max(items).w


@case
def sorted_by_tuples_with_tensors(x, n):
    pairs = [(2, x), (1, x * 2), (3, x * 3)]
    return sorted(pairs)[0][1], sorted(pairs, key=lambda p: -p[0])[0][1], (1, 2) < (1, 3, x), [1, 2] >= [1, 2]


@case
def sorted_with_cmp(x, n):
    return x, sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: b - a)), bisect.bisect([1, 2, 3], n), bisect.bisect_left([1, 2, 3], 2, key=lambda v: v)


@case
def insertion(x, n):
    a = fresh("sorted", n, list)
    bisect.insort(a, 5 - n)
    bisect.insort_left(a, 2)
    return x * len(a), list(a)


# ---------------------------------------------------------------- iterators


@case
def lazy_iterators(x, n):
    def note(v):
        LOG.append(v)
        return v < 3

    a = itertools.takewhile(note, itertools.count(1))
    first = next(a)
    LOG.append("between")
    rest = list(a)
    b = itertools.starmap(lambda p, q: p * q, [(x, 2), (x, 3)])
    one = next(b)
    return one + next(b), first, rest, list(itertools.islice(itertools.cycle("ab"), 1, 6, 2)), list(itertools.accumulate([1, 2, 3], initial=n))


@case
def groups_and_tees(x, n):
    groups = [(k, [v for v in g]) for k, g in itertools.groupby([1, 1, 2, 3, 3], key=lambda v: v % 2)]
    a, b = itertools.tee(v * 2 for v in range(3))
    next(a)
    return x, groups, list(a), list(b), list(itertools.zip_longest([1, 2], [x], fillvalue=n))[1], list(itertools.product([1, 2], repeat=2)), list(itertools.pairwise("abc")), list(
        itertools.compress("abc", [1, 0, 1])), list(itertools.filterfalse(None, [0, 1, 2])), list(itertools.repeat(n, 2))


@case(breaks=1)
def iterator_over_break(x, n):
    it = itertools.count(n)
    a = next(it)
    opaque(lambda: None)
    return x * a, next(it), type(it).__name__


@case
def iterator_returned(x, n):
    return x * 2, itertools.accumulate([1, n]), itertools.chain([1], [2])


@case
def zipped_with_count(x, n):
    return sum(i * v for i, v in zip(itertools.count(1), [x, x + 1])), [i for i in iter(lambda q=iter([1, 2, 3, 4]): next(q), 3)]


class Old:
    def __getitem__(self, i):
        if i > 2:
            raise IndexError(i)
        return i * 2


@case
def iterated_by_index(x, n):
    return x, list(Old()), 4 in Old(), sum(Old()), max(Old())


# ---------------------------------------------------------------- questions


LOGGER = logging.getLogger("breakline.test.library")
LOGGER.propagate = False
LOGGER.addHandler(logging.NullHandler())


@case
def disabled_messages(x, n):
    log = logging.getLogger("breakline.test.quiet")
    log.debug("hidden %s", n)
    if log.isEnabledFor(logging.DEBUG):
        x = x + 1
    return x, log.name


@case(breaks=2)
def level_changed_between(x, n):
    if n == 0:
        opaque(LOGGER.setLevel, logging.WARNING)
    was = LOGGER.isEnabledFor(logging.DEBUG)
    opaque(LOGGER.setLevel, logging.DEBUG if n % 2 else logging.WARNING)
    return x, was, LOGGER.isEnabledFor(logging.DEBUG)


@case
def process_facts(x, n):
    return x, os.getpid() == os.getpid(), threading.get_ident() == threading.get_ident(), os.path.exists("/"), os.path.isdir("/nowhere"), os.environ.get("NOT_SET_AT_ALL", n)


VAR = contextvars.ContextVar("v", default=1)


@case(breaks=2)
def context_variable(x, n):
    a = VAR.get()
    opaque(VAR.set, n)
    return x * VAR.get(), a


PER_THREAD = threading.local()
PER_THREAD.v = 0


@case
def thread_local_counter(x, n):
    PER_THREAD.v = n
    PER_THREAD.v += 1
    return x * PER_THREAD.v


@case
def identities(x, n):
    y = x + 1
    seen = {}
    for v in (x, y, x, LOG):
        seen[id(v)] = seen.get(id(v), 0) + 1
    return y, len(seen), id(x) == id(x), id(x) != id(y), sorted(seen.values())


@case
def names_in_frame(x, n):
    k = 3

    def inner():
        return k

    return x * locals()["k"], sorted(locals()), "k" in dir(), inner()


@case
def evaluated(x, n):
    return eval("x * n + 1"), eval("n + 1"), eval("a * 2", {"a": x}), eval("len([n])")


@case
def evaluated_badly(x, n):
    try:
        eval("x +* 1")
    except SyntaxError as e:
        return x, type(e).__name__


# ---------------------------------------------------------------- classes


class Model:
    total = 0
    seen = None
    scale = 2.0

    def __init__(self, w):
        self.w = w

    def __call__(self, x):
        Model.total += 1
        type(self).seen = self.w
        return x * self.scale + self.total

    @classmethod
    def count(cls):
        cls.total += 10
        return cls.total


class Derived(Model):
    pass


@case(segments=6)
def class_counter(x, n):
    if n == 0:
        Model.total = 0
    m = Model(n)
    return m(x), Model.total, Model.seen, Derived.total


def ready(fn):
    """A decorator that is applied within calls."""

    @functools.wraps(fn)
    def inner(t, *rest):
        "Inner."
        return None if t is None else fn(t, *rest)

    return inner


@case(segments=4)
def wrapped_within_the_call(x, n):
    def shifted(t, by=n):
        "Shifts."
        return t + by

    shifted.unit = "m"
    shift, relu = ready(shifted), ready(torch.relu)
    return shift(relu(x)), shift(None), shift.__name__, shift.__doc__, shift.unit, shift.__dict__.keys(), relu.__name__, shift.__wrapped__ is shifted


@case(segments=3)
def names_of_functions(x, n):
    def f(t):
        return t * n

    f.__name__, f.__qualname__, f.__doc__, f.__module__, f.size = "g", "a.g", "Text.", "m", n
    before = dict(f.__dict__)
    f.__dict__["more"] = 1
    f.__dict__.update(size=n + 1)
    del f.more
    return f(x), before, f.__dict__, (f.__name__, f.__qualname__, f.__doc__, f.__module__, f.size), hasattr(f, "more")


@case
def a_named_function_outlives_the_call(x, n):
    def f(t):
        return t * n

    f.__name__, f.size = "g", n
    w = ready(f)
    LEFT.append((f, w))
    f, w = LEFT.pop()
    return w(x), f.__name__, f.__dict__, w.__name__, w.__dict__["size"], list(w.__dict__), LEFT


LEFT = []


@case
def class_counter_by_method(x, n):
    if n == 0:
        Derived.total = 0
    return x * Derived.count(), Derived.total, Derived(1).total, "total" in vars(Derived(1))


@case
def class_patched_and_used(x, n):
    Derived.extra = lambda self, v: v + n
    d = Derived(1)
    return d.extra(x), Derived.extra is d.extra.__func__, hasattr(Derived, "extra")


@case
def class_inside(x, n):
    class Scale:
        factor = 3

        def __init__(self, v):
            self.v = v

        @property
        def twice(self):
            return self.v * 2

        @staticmethod
        def plus(a):
            return a + n

        @classmethod
        def of(cls, v):
            return cls(v)

        def run(self, y):
            return y * self.v + x * self.factor

    class Deeper(Scale):
        def run(self, y):
            return super().run(y) + 1

    d = Deeper.of(n)
    return d.run(x), d.twice, Scale.plus(1), isinstance(d, Scale), type(d).__name__, Deeper.__mro__[1].__name__


@case(breaks=1)
def class_inside_returned(x, n):
    class Kept:
        def get(self):
            return n

    k = Kept()
    return x * k.get(), Kept, k


@case
def class_inside_with_state(x, n):
    class Acc:
        def __init__(self):
            self.items = []

        def __enter__(self):
            return self

        def __exit__(self, *e):
            self.items.append("out")

        def __iadd__(self, v):
            self.items.append(v)
            return self

        def __len__(self):
            return len(self.items)

    a = Acc()
    with a as b:
        b += x
        b += n
    return b.items[0] * 2, len(a), a.items[1:]


@case
def exception_class_inside(x, n):
    class Stop(Exception):
        def __init__(self, v):
            super().__init__(f"stopped {v}")
            self.v = v

    try:
        raise Stop(n)
    except Stop as e:
        return x * e.v, str(e)


@case
def class_inside_closing_over(x, n):
    hits = 0

    class Hit:
        def go(self):
            nonlocal hits
            hits += 1
            return x * hits

    h = Hit()
    return h.go() + h.go(), hits


@case(breaks=2)
def class_inside_over_break(x, n):
    class C:
        k = 2

        def f(self):
            return x * self.k

    c = C()
    opaque(lambda: None)
    C.k = 5
    return c.f(), C.k


@case
def class_body_reads(x, n):
    size = n + 1

    class C:
        width = size
        label: str = "w"
        pair = (size, 2)

        def area(self, h=2):
            return self.width * h

    return x * C().area(), C.label, C.pair


@case(breaks=1)
def class_body_acts(x, n):
    class C:
        LOG.append("body")
        v = 3

    return x * C.v


@case
def named_tuple_inside(x, n):
    P = collections.namedtuple("P", "a b", defaults=[7])
    p = P(x)
    return p.a + p.b, p._replace(b=n).b, P._fields


@case
def type_called(x, n):
    T = type("T", (), {"k": 3, "go": lambda self, v: v * self.k})
    return T().go(x), T.__name__


@case
def dataclass_inside(x, n):
    @dataclasses.dataclass
    class D:
        a: int
        b: int = 2

        def total(self):
            return self.a + self.b

    d = D(n)
    return x * d.total(), repr(d) == f"{D.__qualname__}(a={n}, b=2)", d == D(n, 2), dataclasses.asdict(d)


@dataclasses.dataclass(frozen=True)
class Key:
    a: int
    b: str = "b"


@case
def frozen_as_key(x, n):
    table = {Key(n): x, Key(n, "c"): x * 2}
    return table[Key(n)] + table[Key(n, "c")], Key(9) in table, repr(Key(1)), hash(Key(n)) == hash(Key(n))


class Lazy:
    @functools.cached_property
    def value(self):
        LOG.append("made")
        return 3

    @functools.singledispatchmethod
    def show(self, v):
        return "any"

    @show.register
    def _(self, v: int):
        return "int"


@case
def cached_and_dispatched(x, n):
    z = Lazy()
    return x * z.value + z.value, vars(z), z.show(1), z.show("a")


class Copied:
    def __init__(self, t):
        self.t = t
        self.l = [t]


@case
def copies(x, n):
    c = Copied(x)
    s = copy.copy(c)
    s.t = x * 2
    d = copy.deepcopy({"a": [1, n]})
    d["a"].append(2)
    return c.t + s.t, s.l is c.l, d, copy.copy([1, x])[1], copy.copy(collections.deque([1], 2))


def caller_name():
    return sys._getframe(1).f_code.co_name


def caller_line():
    return inspect.currentframe().f_back.f_lineno


def caller_locals():
    return sorted(sys._getframe(1).f_locals)


def names_on_the_stack():
    return [frame.function for frame in inspect.stack()[:2]], [line.name for line in traceback.extract_stack()[-2:]]


@case(breaks=1)
def asks_who_called(x, n):
    return caller_name(), x + 1


@case(breaks=1)
def asks_from_which_line(x, n):
    y = x + 1
    return caller_line(), y


@case(breaks=1)
def asks_for_the_callers_locals(x, n):
    y = x + 1
    return caller_locals(), y


@case(breaks=2)
def asks_for_the_stack(x, n):
    return names_on_the_stack(), x + 1


@case(breaks=5)
def warned_by_numpy(x, n):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        quotient = np.float64(n) / np.float64(0.0)
        root = np.float64(-1.0) ** 0.5
        rounded = np.float32(1e30) * np.float32(1e30)
    return x + 1, float(quotient), float(root), float(rounded), [(str(w.message), w.lineno) for w in seen]


EMPTY, COMPLEX, NANS = np.array([]), np.array([1 + 2j, 3]), np.full(2, np.nan)


@case(breaks=12)
def warned_inside_numpy(x, n):
    """By numpy's own Python and C, once each: where the call's line is the place, and where the same was said before."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        for _ in range(2):
            got = [np.mean(EMPTY), COMPLEX.astype(float), np.nanmean(NANS), np.var(EMPTY), np.median(EMPTY), np.int8(100) * np.int8(3)]
    return x + 1, repr(got), [(str(w.message), w.lineno) for w in seen]


class Typed:
    dtype = np.dtype("f8")


@case(breaks=6)
def dtypes_of_classes(x, n):
    """numpy reads the attribute of a class that was written just before."""

    class Own:
        dtype = np.dtype("f4")

    kinds = [np.dtype(Own), np.dtype(Typed), np.dtype(float)]
    Own.dtype = np.dtype("i4")
    Typed.dtype = np.dtype("i2")
    kinds += [np.dtype(Own), np.dtype(Typed)]
    Typed.dtype = np.dtype("f8")
    return x + 1, [str(k) for k in kinds]


def names_two_up():
    return sorted(sys._getframe(2).f_locals)


@case(breaks=2)
def asks_through_another(x, n):
    def between():
        return names_two_up()

    opaque(int)
    here = n
    return x + here, opaque(between), between()


@case(breaks=3)
def keys_ask_for_locals(x, n):
    seen = []

    def key(v):
        seen.append(sorted(sys._getframe(1).f_locals))
        return -v

    return x + 1, sorted([n, n + 1], key=key), seen


@case(breaks=2)
def comprehension_asks(x, n):
    return x + 1, [sorted(caller_locals_of()) for _ in range(2)]


def caller_locals_of():
    return sys._getframe(1).f_locals


def warned(x):
    warnings.warn("of the caller", stacklevel=2)
    return x


@case(breaks=4)
def warns_of_the_caller(x, n):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        y = warned(x + 1)
    return y, [(w.lineno, w.filename) for w in seen]


@case(breaks=2)
def traces_its_calls(x, n):
    seen = []

    def note(frame, event, argument):
        if frame.f_code.co_name == "warned_not":
            seen.append(event)

    sys.setprofile(note)
    y = warned_quietly(x)
    sys.setprofile(None)
    return y, seen


def warned_quietly(x):
    return warned_not(x) + 1


def warned_not(x):
    return x


# ---------------------------------------------------------------- found by CPython's own tests


def refused(f, *a, **k):
    try:
        return f(*a, **k)
    except Exception as e:
        return type(e).__name__, str(e)


@case
def functions_of_operator(x, n):
    a = [4, 3, 2, n]
    operator.delitem(a, 1)
    operator.setitem(a, 0, x)
    it = iter("to the first match")
    found = operator.indexOf(it, " ")
    inner = [[n], [n]]
    both = operator.concat(inner, [n])
    both[0].append(9)
    operator.iconcat(inner, [1])
    return a, found, next(it), inner, both, operator.countOf([1, n, 1], 1), operator.invert(n), operator.pos(x), operator.abs(-x)


@case(breaks=6)
def methods_with_arguments_too_many(x, n):
    od = collections.OrderedDict(a=n)
    return (x, refused(od.update, [("a", 1)], None), refused({}.pop), refused([1].insert, 1), refused({}.get), refused({}.update, 1, 2),
            refused([].index), refused(od.popitem, True, 1), refused({}.setdefault, 1, 2, 3), refused((1,).index), od)


class Ordered(collections.OrderedDict):
    pass


@case(breaks=4)
def ordered_dict_behind_its_back(x, n):
    od = Ordered(a=1, b=n)
    made = refused(Ordered, [("a", 1)], None)
    dict.__delitem__(od, "a")
    return x, made, refused(od.__delitem__, "a"), refused(lambda: od["a"]), len(od)


@case(breaks=8)
def ordered_dict_with_attributes(x, n):
    od = collections.OrderedDict(a=n)
    od.note = [n]
    return x, refused(lambda: copy.copy(od).note is od.note), refused(lambda: copy.deepcopy(od).note == od.note), list(copy.copy(od).items())


class Counted(int):
    asked = 0

    def __hash__(self):
        Counted.asked += 1
        return int.__hash__(self)


COUNTED = {Counted(1): 1, Counted(2): 2}


@case(breaks=8)
def hashes_are_asked_for_as_often(x, n):
    Counted.asked = 0
    total = x
    for k, v in COUNTED.items():
        total = total + v
    keys = list(COUNTED)
    s = set(COUNTED)
    return total, Counted.asked, len(keys), len(s), sorted(COUNTED.values())


class CountingReference(weakref.ref):
    calls = 0

    def __call__(self):
        CountingReference.calls += 1
        return super().__call__()


class Target:
    def method(self):
        return 5


TARGET = Target()
REFERENCE = CountingReference(TARGET)
METHOD = weakref.WeakMethod(TARGET.method)


@case(breaks=6)
def references_of_own_classes(x, n):
    same = REFERENCE() is TARGET
    return x * METHOD()(), same, CountingReference.calls > 0


@case(breaks=2)
def read_only_members(x, n):
    r = weakref.ref(TARGET)
    s = slice(1, n)
    return x, refused(setattr, r, "__callback__", None), refused(setattr, s, "start", 2), refused(setattr, TARGET.method, "__func__", 1)


class Stores(dict):
    __setattr__ = dict.__setitem__
    __neg__ = dict.copy


@case(breaks=4)
def slots_of_another_name(x, n):
    s = Stores()
    s.y = n
    return x, dict(s), -s, refused(lambda: s.y)


class Talking(types.ModuleType):
    flag = 3

    def __getattribute__(self, name):
        LOG.append(name)
        return types.ModuleType.__getattribute__(self, name)


class Flagged(types.ModuleType):
    flag = 3


TALKING = Talking("talking")
FLAGGED = Flagged("flagged")


@case(breaks=4)
def modules_of_own_classes(x, n):
    LOG.clear()
    return x * FLAGGED.flag, TALKING.flag, hasattr(FLAGGED, "flag"), hasattr(FLAGGED, "other"), list(LOG)


@case(breaks=2)
def copies_of_circles(x, n):
    t = ([n],)
    t[0].append(t)
    u = copy.deepcopy(t)
    return x, u is not t, u[0][1] is u, u[0] is not t[0]


@case(breaks=3)
def sizes_of_containers(x, n):
    a = list((1, n))
    a.append(n)
    return x, sys.getsizeof(a) >= sys.getsizeof([1, 2, 3]), sys.getsizeof(n), sys.getsizeof("ab")


@case(breaks=2)
def backwards_ranges(x, n):
    return x, list(reversed(range(n, 7, 2))), type(reversed(range(3))) is type(iter(range(3))), refused(type, "a", (), {}, k=1)


class Bare:
    __slots__ = ["__class__", "__dict__"]

    def __init__(self):
        self.bar = "wow"


@case(breaks=4)
def dir_of_an_object_without_class(x, n):
    return x, dir(Bare())


@case(breaks=1)
def asks_what_an_iterator_is(x, n):
    kinds = (list, tuple, object, dict, collections.abc.Iterator, collections.abc.Iterable, collections.abc.Sequence, collections.abc.Sized)
    some = [iter([1]), iter((1,)), iter({1: 2}), iter({1}), iter("a"), zip([1]), map(str, [1]), enumerate([1]), reversed([1]), iter(range(3))]
    some += [filter(None, [1]), {1: 2}.keys(), (i for i in [1]), itertools.chain([1]), itertools.count()]
    return x + 1, [[isinstance(it, k) for k in (*kinds, int, (list, tuple), str)] for it in some], isinstance(some[5], zip), isinstance(some[6], map)


@case
def annotations_are_one_dict(x, n):
    def f(v, w: int = 1):
        return v

    def g(v):
        return v

    f.__annotations__["v"] = n
    g.__annotations__["v"] = n
    return f(x), f.__annotations__, g.__annotations__, g.__annotations__ is g.__annotations__, f, g


@case
def sets_of_one(x, n):
    s = {n}
    only = s.pop()
    t = set()
    return x * only, s, refused(t.pop), len(s)


# ---------------------------------------------------------------- names of types, mappings of own kinds

Number = int | float
Item = typing.TypeVar("Item")


@dataclasses.dataclass
class Settings:
    size: "int | None" = None
    value: int | torch.Tensor = 3


class Box(typing.Generic[Item]):
    def __init__(self, value: Item):
        self.value = value


class Registered:
    made = []

    def __class_getitem__(cls, key):
        cls.made.append(key)
        return cls.__name__, key


@case
def parts_of_types(x, n):
    kinds = [int | None, list[int], typing.Optional[int], typing.Union[int, torch.Tensor], dict[str, int], Number]
    own = [(f.name, typing.get_args(f.type)) for f in dataclasses.fields(Settings)]
    return x + 1, [typing.get_args(k) for k in kinds], [typing.get_origin(k) for k in kinds], own, Settings.__annotations__["value"].__args__


@case
def questions_to_types(x, n):
    same = (int | None) == (None | int), hash(int | str) == hash(str | int), list[int] == list[int]
    return x + 1, same, isinstance(x, torch.Tensor | int), isinstance(n, Number), issubclass(bool, Number), list[int].append, str(int | None)


@case(breaks=2)
def parameterized_generics_are_refused(x, n):
    def ask(value, kind):
        return refused(isinstance, value, kind), refused(issubclass, type(value), kind)

    values = [1], {}, (1,), x, None, {1}, iter([1]), "a"
    kinds = list[int], list[int] | None, typing.Optional[list[int]], (int | None, list[int] | None), (list, list[int]), int | None
    return x + 1, [ask(v, k) for v in values for k in kinds]


@case
def annotated_inside(x, n):
    def f(a: collections.abc.Callable[[Item], typing.Any], b: typing.Optional[int] = None) -> typing.List[Item]:
        return [a, b]

    return x + 1, f(1), f.__annotations__


@case
def made_through_an_alias(x, n):
    box = Box[int](3)
    return x + box.value, list[int]((1, 2)), dict[str, int](a=1), type(box), box.__orig_class__, collections.deque[int]([1, 2])


@case
def subscripted_own_class(x, n):
    mine = fresh("registered", n, list)
    Registered.made = mine
    return x + 1, Registered[int], Registered["q"], len(mine)


class Titled(property):
    def __init__(self, getter):
        property.__init__(self, lambda self: getter(self))
        self.getter_given = getter


class Lazy:
    def __init__(self, getter):
        self.getter_given = getter

    def __get__(self, instance, owner=None):
        if instance is None:
            return Titled(self.getter_given)
        value = self.getter_given(instance)
        setattr(instance, self.getter_given.__name__, value)
        return value


class Documented(property):
    pass


class Measures:
    @Lazy
    def length(self):
        """of it"""
        return 5

    area = Documented(lambda self: 7, doc="in metres")


@case
def properties_of_own_classes(x, n):
    given = Measures.length
    return x + Measures().length + Measures().area, isinstance(given, Titled), given.getter_given(None), Measures.area.__doc__


@case(breaks=2)
def a_property_made_and_kept(x, n):
    made = Titled(len)
    return x + 1, made.fget([1, 2]), made.getter_given is len, type(made)


@dataclasses.dataclass
class Output(collections.OrderedDict):
    first: object = None
    second: object = None

    def __post_init__(self):
        for f in dataclasses.fields(self):
            if getattr(self, f.name) is not None:
                self[f.name] = getattr(self, f.name)


class Doubling:
    def keys(self):
        return ["p", "q"]

    def __getitem__(self, key):
        return key * 2


class Keyless(dict):
    def keys(self):
        return ["never asked"]


def named(**words):
    return dict(words)


@case
def unpacked_mappings(x, n):
    out = Output(x, x + n)
    one, other = {"z": 0}, {}
    one.update(Doubling())
    other.update(Keyless(a=1), b=2)
    return named(**out), {**out}, dict(out), Output(**out).second, named(**Doubling()), {**Doubling()}, named(**Keyless(a=n)), one, other


@case
def unpacked_mappings_of_the_library(x, n):
    chain = collections.ChainMap({"a": 1}, {"b": n})
    return named(**chain), {**collections.UserDict(a=x)}, named(**collections.Counter("ab")), named(**types.MappingProxyType({"c": 3}))


class Kind(enum.Enum):
    RELU = "relu"
    TANH = "tanh"


@dataclasses.dataclass(frozen=True, order=True)
class Frozen:
    size: int = 4
    kind: Kind = Kind.RELU
    rate: float = 0.1
    extra: dict = dataclasses.field(default_factory=dict, compare=False)


class Fields(typing.TypedDict, total=False):
    size: int
    value: torch.Tensor


@case
def frozen_settings(x, n):
    one = Frozen(size=n)
    other = dataclasses.replace(one, kind=Kind.TANH)
    whole = hash((n, "a", (1.5, None), Kind.RELU)) == hash((n, "a", (1.5, None), Kind.RELU))
    known = hash((1, (2.5, "b"))) == hash((1, (2.5, "b"))), hash(()), hash((1, (2, 3), -1)), hash((n, True))
    return x + one.size, hash(one) == hash(Frozen(size=n)), hash(one) == hash(other), dataclasses.asdict(other), copy.deepcopy([Kind.TANH]), whole, known


@case
def typed_dictionaries(x, n):
    d: Fields = {"size": n, "value": x}
    return Fields(size=2), Fields(d, size=3), d["value"] + 1, type(Fields()), typing.cast(int, 3)
