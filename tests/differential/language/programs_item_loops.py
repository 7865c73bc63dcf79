# SPDX-License-Identifier: GPL-3.0-or-later
"""Native code that loops over an iterable: each item is used before the next one is asked for, and an exception on the way leaves
what was done until then."""

import collections
import functools

from cases import table

CASES, case = table()
LOG = []
KEPT = [0]
KEPT_DICT = {}


def up_to(stop, n):
    for i in range(n):
        if i == stop:
            raise ValueError(f"at {i}")
        yield i


def pairs_up_to(stop, n):
    for i in up_to(stop, n):
        yield i, i * i


def logged(*values):
    for v in values:
        LOG.append(("item", v))
        yield v


@case
def extended_by_its_own_length(x, n):
    held = [n]
    held.extend(len(held) + i for i in range(3))
    held += (held[-1] for _ in range(2))
    return held, x + len(held)


@case
def list_keeps_what_came_before_the_error(x, n):
    held = [x]
    for fill in (lambda: held.extend(up_to(2, 5)), lambda: held.__iadd__(up_to(1, 5))):
        try:
            fill()
        except ValueError as e:
            held.append(str(e))
    return held


@case
def operator_keeps_what_came_before_the_error(x, n):
    held, ends = [n], collections.deque([n], maxlen=4)
    try:
        held += up_to(2, 4)
    except ValueError:
        LOG.append(list(held))
    try:
        ends += up_to(2, 4)
    except ValueError:
        LOG.append(list(ends))
    return held, ends, x + len(ends)


@case
def deque_sees_itself(x, n):
    ends = collections.deque([1, 2, 3], maxlen=4)
    ends.extend(ends.popleft() + 10 for _ in range(3))
    ends.extendleft(ends.pop() * 2 for _ in range(2))
    more = collections.deque([1])
    more.extendleft(more[0] + i for i in range(3))
    more.extend(more)
    more.extendleft(more)
    try:
        ends.extendleft(up_to(1, 3))
    except ValueError:
        pass
    return ends, more, x + 1


@case
def set_sees_itself(x, n):
    held = {n}
    held.update((len(held) * 10 for _ in range(3)), range(2))
    try:
        held.update(up_to(2, 5))
    except ValueError:
        LOG.append(sorted(held))
    try:
        held.difference_update(up_to(1, 5))
    except ValueError:
        LOG.append(sorted(held))
    return held, x + len(held)


@case
def dict_sees_itself(x, n):
    held = {n: 0}
    held.update((len(held) * 7, i) for i in range(3))
    try:
        held.update(pairs_up_to(2, 4))
    except ValueError:
        LOG.append(list(held))
    try:
        held |= pairs_up_to(1, 4)
    except ValueError:
        LOG.append(list(held))
    ordered = collections.OrderedDict()
    try:
        ordered.update(pairs_up_to(2, 4), last=x)
    except ValueError:
        LOG.append(list(ordered))
    return held, ordered, x + len(held)


class Items(list):
    pass


class Table(dict):
    pass


@case
def subclasses_see_themselves(x, n):
    held, known = Items([n]), Table()
    held.extend(len(held) for _ in range(2))
    held += (len(held) for _ in range(2))
    known.update((len(known), i) for i in range(2))
    try:
        held.extend(up_to(1, 3))
    except ValueError:
        LOG.append(list(held))
    try:
        known.update(pairs_up_to(1, 3))
    except ValueError:
        LOG.append(list(known))
    return held, known, x + len(held)


@case
def existing_containers(x, n):
    del KEPT[1:]
    KEPT_DICT.clear()
    try:
        KEPT.extend(up_to(2, 4))
    except ValueError:
        LOG.append(list(KEPT))
    try:
        KEPT_DICT.update(pairs_up_to(2, 4))
    except ValueError:
        LOG.append(dict(KEPT_DICT))
    return x + len(KEPT)


@case
def cleared_on_the_way(x, n):
    held = [9]

    def items():
        yield 1
        held.clear()
        yield 2
        held.append("own")

    held.extend(items())
    return held, x + len(held)


class Sized:
    def __init__(self, length):
        self.length = length

    def __iter__(self):
        LOG.append("iter")
        return iter([1, 2])

    def __len__(self):
        LOG.append("len")
        if isinstance(self.length, Exception):
            raise self.length
        return self.length


class Hinted:
    def __init__(self, hint):
        self.left, self.hint = 2, hint

    def __iter__(self):
        return self

    def __next__(self):
        if not self.left:
            raise StopIteration
        self.left -= 1
        return self.left

    def __length_hint__(self):
        LOG.append("hint")
        return self.hint


def several(*values):
    return values


@case
def asked_for_its_length(x, n):
    held = []
    held.extend(Sized(2))
    held += Sized(7)
    made = list(Sized(0)), tuple(Sized(2)), sorted(Sized(2)), [*Sized(2)], several(*Sized(2)), set(Sized(2))
    return held, made, list(Hinted(1)), tuple(Hinted(NotImplemented)), x + len(held)


@case
def length_that_fails(x, n):
    held = [n]
    for error in (TypeError("no length"), NotImplementedError("none"), ValueError("wrong")):
        try:
            held.append(list(Sized(error)))
            held.extend(Sized(error))
        except (NotImplementedError, ValueError) as e:
            held.append(repr(e))
    return held, x + 1


class Term:
    def __init__(self, value):
        self.value = value

    def __radd__(self, other):
        LOG.append(("add", self.value))
        return self.value + other

    def __lt__(self, other):
        LOG.append(("lt", self.value, other.value))
        return self.value < other.value


@case
def each_item_is_added_at_once(x, n):
    total = sum(Term(v) for v in logged(3, 1, 2))
    least = min(Term(v) for v in logged(3, 1, 2)).value
    return total, least, sum(logged(1, x, 2), 5), sum(logged(), x)


def rank(v):
    LOG.append(("rank", v))
    return -v


@case
def each_item_is_ranked_at_once(x, n):
    def add(a, b):
        LOG.append(("add", a, b))
        return a + b

    found = min(logged(3, 1, 2), key=rank), max(logged(3, 1, 2), key=rank), sorted(logged(3, 1, 2), key=rank)
    return found, functools.reduce(add, logged(1, 2, 3)), max(logged(), default=x), x + 1


@case
def grows_while_it_is_searched(x, n):
    held = [1, 2, 3]
    best = max(held, key=lambda v: (held.append(v + 6) if len(held) < 6 else None) or v)
    return best, held, x + best


@case
def rest_is_left_after_an_error(x, n):
    items, others = logged(3, "a", 2), logged(3, "a", 2)
    try:
        sum(items)
    except TypeError as e:
        LOG.append(str(e))
    try:
        min(others)
    except TypeError as e:
        LOG.append(str(e))
    return list(items), list(others), x + 1


KNOWN = frozenset({2, 4})


class Counting:
    """An iterator of 1, 2, … that writes down what it is asked for."""

    def __init__(self, last):
        self.at, self.last = 0, last

    def __iter__(self):
        return self

    def __next__(self):
        self.at += 1
        LOG.append(("asked", self.at))
        if self.at > self.last:
            raise StopIteration
        return self.at


@case
def sets_ask_no_further_than_the_answer(x, n):
    held = {2, 4, x}
    found = []
    for some in ({2, 4}, frozenset([2, 4]), KNOWN, held, set()):
        rest = logged(1, 2, 3), logged(2, 4, 5, 6), logged(4, 2)
        found.append((some.isdisjoint(rest[0]), some.issuperset(rest[1]), some.issuperset(rest[2]), [list(r) for r in rest]))
        found.append((some.isdisjoint(Counting(3)), some.issuperset(Counting(3)), some.isdisjoint(map(str, logged(1, 2)))))
    return found, frozenset.isdisjoint(KNOWN, logged(1, 4, 5)), set.issuperset({1}, logged(1, 4, 5)), x + len(LOG)


@case
def objects_in_sets_are_met_on_the_way(x, n):
    y = x * 2
    held, rest = {x, 1}, logged(1, x, y, x)
    return held.issuperset(rest), list(rest) == [x], held.isdisjoint(logged(5, y, x, 6)), y + len(LOG)


@case(breaks=2)
def sets_answer_before_what_cannot_be_looked_up(x, n):
    found = [{5}.issuperset(logged(4, [])), {5}.isdisjoint(logged(5, {}))]
    items = logged(7, [], 8)
    try:
        {5}.isdisjoint(items)
    except TypeError as e:
        LOG.append(str(e))
    return found, list(items), x + len(LOG)


@case
def sum_ends_at_the_item_it_cannot_add(x, n):
    def rest(items, *start):
        try:
            return sum(items, *start)
        except (TypeError, OverflowError) as e:
            LOG.append((type(e).__name__, str(e)))
        return list(items)

    found = rest(logged(3, "a", 2)), rest(logged((1,), 2, 3), ()), rest(logged(10**400, 1.5, 2)), rest(logged("a", "b"), "")
    return found, rest(logged((1,), (2, 3)), ()), rest(logged(1, 2.5, True)), rest(logged(1, x, 2)), x + len(LOG)
