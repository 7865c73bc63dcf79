# SPDX-License-Identifier: GPL-3.0-or-later
"""Which objects are one, orders that only C code sees, and frames that are kept."""

import collections
import functools
import math
import operator
import sys

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
