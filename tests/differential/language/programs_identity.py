# SPDX-License-Identifier: GPL-3.0-or-later
"""Which objects are one, orders that only C code sees, and frames that are kept."""

import collections
import copy
import functools
import math
import operator
import sys
import threading
import weakref

import torch
from cases import table

CASES, case = table()
KEPT = []


@case(breaks=2)
def open_integers_made_twice(x, n):
    m = n + 200000
    a = m * 1000
    b = a
    return x + 1, m * 1000 is m * 1000, n * 1 is n * 1, m is m, a is b, a is m * 1000, (a, b)[0] is b, -m is -m, (n + 5) is (n + 5)


@case(breaks=1)
def open_floats_made_twice(x, n):
    f = n * 1.5
    g = n * 1.5
    return x + 1, f is g, f is f, f * 2 is f * 2, float(f) is f, +f is f


@case(breaks=2)
def numbers_that_give_themselves(x, n):
    m = n + 200000
    return x + 1, abs(m) is m, int(m) is m, round(m) is m, operator.index(m) is m, math.floor(m) is m, +m is m, m + 0 is m


@case(breaks=1)
def sizes_read_twice(x, n):
    y = torch.zeros(n + 300)
    shape = y.shape
    return y.sum(), y.shape[0] is y.shape[0], shape[0] is shape[0], x.shape[0] is x.shape[0]


@case(breaks=2)
def two_evaluations_after_a_break(x, n):
    a = n + 200000
    b = n + 200000
    c = a
    print("here")
    return x + 1, a is b, a is c, a == b


@case(breaks=2)
def number_of_the_caller(x, n):
    big = int("123456789")
    name = "".join(["mo", "de"])
    given = hands_back(big, name, x)
    return x + 1, given[0] is big, given[1] is name, same_object(big, int("123456789")), same_object(big, big)


def hands_back(number, name, x):
    print("here")
    return (number, name) if number == 123456789 and name == "mode" else x


def same_object(a, b):
    return a is b


@case(breaks=1)
def empty_tuples(x, n):
    made, none = tuple([]), ()
    return x + 1, made is none, tuple(i for i in ()) is made, (1,)[1:] is made


@case(breaks=1)
def parts_of_a_partial(x, n):
    p = functools.partial(max, n, key=abs)
    q = functools.partial(p, 7)
    return x + 1, p.args is p.args, p.keywords is p.keywords, q.args is q.args, q.keywords is q.keywords, q.args, q.keywords


def turned(n):
    od = collections.OrderedDict((str(i), i) for i in range(4 + n))
    od.move_to_end("1")
    od.move_to_end("2", last=False)
    return od


@case(breaks=4)
def order_below_an_ordered_dict(x, n):
    od = turned(n)
    return x + 1, list(od), list(dict.__iter__(od)), list(dict.keys(od)), list(dict.items(od)), list(dict.values(od)), dict(od), {**od}


@case(breaks=2)
def texts_of_an_ordered_dict(x, n):
    od = turned(n)
    return x + 1, dict.__repr__(od), repr(od), dict.copy(od), type(dict.copy(od)).__name__


@case
def ordered_dict_handed_out(x, n):
    od = turned(n)
    od["new"] = 1
    del od["0"]
    od.move_to_end("3")
    od["0"] = 2
    KEPT.append(od)
    return x + 1


@case(breaks=2)
def order_of_one_handed_out(x, n):
    od = turned(n)
    print("here")
    od["z"] = n
    return x + 1, list(od), raw_order(od), raw_order(KEPT[-1]) if KEPT else None


def raw_order(d):
    return list(dict.__iter__(d))


GLOBAL = collections.OrderedDict(a=1, b=2, c=3)


@case(breaks=1)
def order_of_a_global(x, n):
    GLOBAL.move_to_end("a")
    return x + 1, list(GLOBAL), list(dict.__iter__(GLOBAL)), dict(GLOBAL)


class Ordered(collections.OrderedDict):
    pass


@case(breaks=2)
def order_of_a_subclass(x, n):
    od = Ordered(a=1, b=2, c=3)
    od.tag = n
    od.move_to_end("a")
    print("here")
    return x + 1, list(od), list(dict.__iter__(od)), od.tag


def keep():
    KEPT.append(sys._getframe(1))
    return KEPT[-1]


@case(breaks=2)
def kept_frame_shows_later_values(x, n):
    a = n
    f = keep()
    a = a + 10
    first = f.f_locals["a"]
    late = 5
    second = f.f_locals["late"]
    del late
    third = "late" in f.f_locals
    return x + a, first, second, third, f.f_code.co_name


def keeps_itself(n):
    b = n
    f = keep()
    b = b + 1
    return f


@case(breaks=2)
def kept_frame_of_a_callee(x, n):
    f = keeps_itself(n)
    return x + 1, f.f_locals["b"], f.f_code.co_name, sorted(f.f_locals)


@case(breaks=3)
def kept_frame_of_another_call(x, n):
    seen = KEPT[-1].f_locals.get("value") if KEPT and hasattr(KEPT[-1], "f_locals") else None
    value = n
    keep()
    value = value * 100
    return x + value, seen


@case(breaks=2)
def kept_frame_with_a_cell(x, n):
    count = n

    def more():
        nonlocal count
        count = count + 1
        return count

    f = keep()
    more()
    more()
    return x + 1, f.f_locals["count"], count


@case(breaks=1)
def locals_of_a_kept_frame_are_refreshed(x, n):
    a = 1
    f = sys._getframe()
    shown = f.f_locals
    a = 2
    before = shown["a"] if sys.version_info < (3, 13) else 1
    again = f.f_locals["a"]
    return x + a, before, again, shown["a"]


class Holder:
    b = 3

    def method(self):
        return self.b


@case
def dict_of_a_class(x, n):
    d = Holder.__dict__
    return x + d["b"], "b" in vars(Holder), d.get("none", n), d["method"](Holder()), "method" in d, d is Holder.__dict__, type(d).__name__


@case(breaks=1)
def dict_of_a_class_that_changes(x, n):
    Holder.b = n
    return x + Holder.__dict__["b"], vars(Holder)["b"]


@case(breaks=1)
def named_results_by_hand(x, n):
    r = torch.return_types.max((x, n))
    try:
        torch.return_types.max((x,))
    except TypeError as e:
        return r, r.values + 1, r.indices, str(e)


@case
def gradients_of_results(x, n):
    y = x * 2
    return y.grad is None, y.detach().grad, x.grad, x.contiguous().grad


@case(breaks=2)
def frame_kept_past_an_error(x, n):
    a = n
    try:
        keep()
        a = a + 1
        raise ValueError(a)
    except ValueError as e:
        a = a + 5
        return x + 1, KEPT[-1].f_locals["a"], str(e)


class InThread(threading.local):
    kind = "own"

    def __init__(self, **values):
        self.__dict__.update(values)

    def __setattr__(self, name, value):
        if getattr(self, name, None) == value:
            return
        super().__setattr__(name, value)

    @property
    def twice(self):
        return self.n * 2


class Answering(threading.local):
    def __getattr__(self, name):
        return "no " + name


OF_THREAD, PLAIN_OF_THREAD = InThread(n=3, flag=True), threading.local()
PLAIN_OF_THREAD.n = 4


@case
def values_of_a_thread(x, n):
    before = OF_THREAD.n, OF_THREAD.twice, OF_THREAD.kind, OF_THREAD.flag, getattr(OF_THREAD, "none", n)
    OF_THREAD.n = 5
    OF_THREAD.extra = n
    between = OF_THREAD.twice, OF_THREAD.extra, dict(OF_THREAD.__dict__), sorted(vars(OF_THREAD))
    del OF_THREAD.extra
    OF_THREAD.n = 3
    PLAIN_OF_THREAD.n += 1
    PLAIN_OF_THREAD.n -= 1
    return x + OF_THREAD.n, before, between, hasattr(OF_THREAD, "extra"), PLAIN_OF_THREAD.n, PLAIN_OF_THREAD.__dict__


@case
def missing_values_of_a_thread(x, n):
    texts = []
    for name in ("n", "m"):
        try:
            texts.append(getattr(PLAIN_OF_THREAD, name))
            texts.append(getattr(OF_THREAD, name))
        except AttributeError as e:
            texts.append(str(e))
    return x + n, texts


@case(breaks=1)
def threads_own_object_made_here(x, n):
    o = Answering()
    o.a = n
    return x + o.a, o.b, o.__dict__


class Like:
    """Equal to the value it holds."""

    def __init__(self, value):
        self.value, self.links = value, None

    def __hash__(self):
        return hash(self.value)

    def __eq__(self, other):
        if isinstance(other, Like):
            return self.value == other.value
        return self.value == other if isinstance(other, (int, str, tuple)) else NotImplemented


ZERO, WORD = Like(0), Like("k")
BY_LIKENESS, BY_VALUE = {ZERO: 1, WORD: 2}, {0: 1, "k": 2}


@case
def keys_that_equal_other_keys(x, n):
    made = {}
    made[ZERO] = 1
    made[0] = made.get(0, 5) + 1
    made["k"] = 7
    made[Like("k")] += 1
    counts = collections.defaultdict(lambda: 1)
    for p in (ZERO, Like(1), 0, 1, WORD):
        counts[p] += 1
    return x + len(made), made[ZERO], made[WORD], counts[0], counts[1], counts["k"], len(counts), 0 in made, 3 in made


@case
def keys_of_existing_dicts_that_equal_others(x, n):
    BY_LIKENESS[0] = 4
    BY_VALUE[WORD] = 6
    r = x + n, len(BY_LIKENESS), BY_LIKENESS[ZERO], BY_LIKENESS["k"], BY_VALUE["k"], len(BY_VALUE), BY_VALUE[Like(0)], 5 in BY_LIKENESS
    BY_LIKENESS[ZERO] = 1
    BY_VALUE["k"] = 2
    return r


@case
def many_keys_that_equal_others(x, n):
    d = {i: i for i in range(40)}
    e = {Like(i): i for i in range(40)}
    return x + d[Like(30)], e[30], Like(41) in d, 41 in e, e.get(39), len({**e, **d})


@case(breaks=3)
def keys_complete_when_hashed(x, n):
    a, b = Like(1), Like((2, 3))
    d = {a: 1, b: [a]}
    a.links, b.links = d, {b}
    c = Like("c")
    c.links = {Like("d"): {c: a}}
    return d[Like(1)], len(d), a.links is d, (2, 3) in d, b in b.links, list(c.links.values())[0][c] is a, x, d.keys() == {1, (2, 3)}


@case(breaks=2)
def keys_complete_when_hashed_at_a_break(x, n):
    a, b = Like(1), Like(2)
    a.links, b.links = {b: a}, {a: b}
    print(x.sum().item())
    return a.links[2] is a, b.links[Like(1)] is b, x + 1


class Named:
    """Hashed by identity."""


NAMED, LISTED = Named(), [Named()]


def by_name(x):
    made = {NAMED: 1}
    print(len(made))
    return made


@case(breaks=3)
def keys_known_by_identity_in_two_ways(x, n):
    d = by_name(x)
    e = {NAMED: 1}
    return x + 1, d == e, e == d, d != e, NAMED in d, {LISTED[0]: n, **d} == {**e, LISTED[0]: n}, [e.get(k) for k in d], d.keys() == e.keys(), d.keys() & e.keys() == {NAMED}


class Scaled(collections.namedtuple("Scaled", "a b")):
    """Its multiplication is not a tuple's repetition."""

    def __mul__(self, other):
        return Scaled(self.a * other, self.b * other)

    __rmul__ = __mul__


SCALED = Scaled(1, 2)


@case
def tuples_with_their_own_multiplication(x, n):
    made = Scaled(n, 3)
    r = SCALED
    r *= 3
    return x + 1, SCALED * 2, 2 * SCALED, made * 2, n * made, r, tuple(made) * 2


class Remaining:
    """Refuses to be on the right of `%`, where a text never asks it."""

    def __rmod__(self, other):
        raise TypeError("not allowed")

    def __str__(self):
        return "remaining"


REMAINING = Remaining()


@case(breaks=1)
def text_formats_objects_with_their_own_remainder(x, n):
    texts = ["<%s>" % REMAINING, "%s and %s" % (REMAINING, n)]
    try:
        texts.append(5 % REMAINING)
    except TypeError as e:
        texts.append(str(e))
    return x + 1, texts


class Referable:
    def __init__(self, n):
        self.n = n


class SlottedReferable:
    __slots__ = ("n", "__weakref__")

    def __init__(self, n):
        self.n = n


@case
def weak_references_of_objects_made_here(x, n):
    texts = []
    for o in (Referable(n), SlottedReferable(n), copy.copy(REFERABLE)):
        texts += [o.__weakref__, hasattr(o, "__weakref__"), getattr(o, "__weakref__", 5), sorted(k for k in dir(o) if k.startswith("__weak"))]
    return x + 1, texts, REFERABLE.__weakref__


REFERABLE = Referable(1)


@case(breaks=2)
def weak_references_made_here_are_seen(x, n):
    o = Referable(n)
    r = weakref.ref(o)
    first = o.__weakref__ is r
    s = weakref.ref(REFERABLE)
    return x + 1, first, REFERABLE.__weakref__ is s, r() is o
