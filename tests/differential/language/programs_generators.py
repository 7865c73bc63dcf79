# SPDX-License-Identifier: GPL-3.0-or-later
# Long because it is one table of small independent programs.
"""Generators, iterators, comprehensions, itertools."""

import contextlib
import itertools

from cases import table

CASES, case = table()
LOG = []


def count_up(k):
    for i in range(k):
        LOG.append(("y", i))
        yield i


def echo():
    got = yield "start"
    while got != "stop":
        got = yield ("echo", got)
    return "ended"


def guarded():
    try:
        yield 1
        yield 2
    except ValueError as e:
        yield ("caught", str(e))
    finally:
        LOG.append("final")


def delegating(v):
    r = yield from inner_gen(v)
    yield ("result", r)


def inner_gen(v):
    got = []
    for i in range(2):
        got.append((yield v + i))
    return got


def forever():
    k = 0
    while True:
        yield k
        k += 1


SHARED = forever()


@case
def consume_in_for(x, n):
    for i in count_up(3):
        x = x + i
    return x


@case
def consume_partly(x, n):
    g = count_up(5)
    a = next(g)
    b = next(g)
    return x + a + b, [*g]


@case
def send_values(x, n):
    g = echo()
    out = [next(g), g.send(1), g.send("two")]
    try:
        g.send("stop")
    except StopIteration as e:
        out.append(e.value)
    return x + len(out), out


@case
def send_tensor(x, n):
    def acc():
        total = None
        while True:
            v = yield total
            total = v if total is None else total + v

    g = acc()
    g.send(None)
    g.send(x)
    g.send(x * 2)
    return g.send(x * 3)


@case
def throw_into(x, n):
    g = guarded()
    next(g)
    out = g.throw(ValueError("thrown"))
    return x, out, list(g)


@case
def throw_uncaught(x, n):
    g = guarded()
    next(g)
    try:
        g.throw(KeyError("thrown"))
    except KeyError as e:
        return x, str(e)


@case
def close_early(x, n):
    g = guarded()
    v = next(g)
    g.close()
    return x + v, next(g, "none")


@case
def close_by_break(x, n):
    for v in guarded():
        x = x + v
        break
    return x


@case
def yield_from_sends(x, n):
    g = delegating(n)
    out = [next(g), g.send("a"), g.send("b")]
    return x, out


@case
def yield_from_list(x, n):
    def g():
        yield from [1, 2]
        yield from (i * 10 for i in range(2))
        yield from "ab"

    return x, list(g())


@case
def yield_from_returns(x, n):
    def inner():
        yield 1
        return 5

    def outer():
        v = yield from inner()
        yield v * 2

    return x + sum(outer())


@case
def infinite_with_islice(x, n):
    return x + sum(itertools.islice(forever(), 4))


@case
def infinite_with_zip(x, n):
    return [x * i for _, i in zip("abc", forever())]


@case(breaks=1)
def state_across_calls(x, n):
    return x + next(SHARED)


@case
def generator_returned(x, n):
    y = x + 1

    def g():
        for i in range(3):
            yield y * i

    return g()


@case
def generator_expression_returned(x, n):
    return (x * i for i in range(3))


@case
def generator_started_returned(x, n):
    def g():
        for i in range(4):
            yield i

    it = g()
    next(it)
    return x + 1, it


@case
def generator_expression_closure(x, n):
    k = 2
    g = (v * k for v in range(4))
    k = 5
    return x + sum(g)


@case
def sum_any_all(x, n):
    return x + sum(i * i for i in range(4)), any(i > 2 for i in range(4)), all(i < n for i in range(4))


@case
def short_circuit(x, n):
    return x, any(LOG.append(i) or i == 1 for i in range(4))


@case
def generator_of_tensors(x, n):
    return sum((x * i for i in range(3)), x)


@case
def nested_generators(x, n):
    def a():
        for i in range(3):
            yield i

    def b(it):
        for v in it:
            yield v * 2

    def c(it):
        for v in it:
            if v:
                yield v + 1

    return x + sum(c(b(a())))


@case
def recursive_generator(x, n):
    def walk(t):
        if isinstance(t, list):
            for c in t:
                yield from walk(c)
        else:
            yield t

    return x, list(walk([1, [2, [3, 4]], 5]))


@case
def two_generators_interleaved(x, n):
    a, b = count_up(3), count_up(3)
    out = [next(a), next(b), next(a), next(b)]
    return x, out


@case
def generator_with_nonlocal(x, n):
    total = 0

    def g():
        nonlocal total
        for i in range(3):
            total += i
            yield total

    vals = list(g())
    return x + total, vals


@case
def generator_attributes(x, n):
    g = count_up(2)
    return x, g.gi_running, g.__name__


@case
def generator_method(x, n):
    class Bag:
        def __init__(self, *v):
            self.v = v

        def __iter__(self):
            for i in self.v:
                yield i * 2

        def pairs(self):
            yield from zip(self.v, self)

    b = Bag(1, 2, 3)
    return x + sum(b), list(b.pairs()), max(b), 4 in b, [*b], sorted(b)


@case
def iterator_class(x, n):
    class Down:
        def __init__(self, k):
            self.k = k

        def __iter__(self):
            return self

        def __next__(self):
            if self.k == 0:
                raise StopIteration
            self.k -= 1
            return self.k

    total = x
    for v in Down(3):
        total = total + v
    return total, list(Down(2)), sum(Down(4)), tuple(zip(Down(3), Down(2)))


@case
def getitem_iteration(x, n):
    class Old:
        def __getitem__(self, i):
            if i > 2:
                raise IndexError
            return i * 3

    return x + sum(Old()), [v for v in Old()], 3 in Old()


@case
def list_comprehension(x, n):
    return [x + i for i in range(3) if i != 1]


@case
def nested_comprehension(x, n):
    return x, [[i * j for j in range(i)] for i in range(4)], [(a, b) for a in range(3) for b in "xy" if a]


@case
def comprehension_scopes(x, n):
    i = 100
    fs = [lambda: i for i in range(3)]
    return x + i, [f() for f in fs]


@case
def comprehension_walrus(x, n):
    out = [last := v for v in range(4)]
    return x + last, out


@case
def dict_and_set_comprehension(x, n):
    return x, {k: v * 2 for k, v in zip("abc", range(3))}, {i % 2 for i in range(5)}, {v: k for k, v in {"a": 1}.items()}


@case
def comprehension_with_tensor_dict(x, n):
    d = {i: x * i for i in range(3)}
    return {k: v + 1 for k, v in d.items() if k}


@case
def comprehension_calls(x, n):
    def g(v):
        LOG.append(v)
        return v * 2

    return x, [g(v) for v in range(3)], LOG[-1]


@case
def comprehension_over_changed(x, n):
    items = [1, 2, 3]
    out = []
    for v in items:
        if len(items) < 6:
            items.append(v * 10)
        out.append(v)
    return x, out


@case
def iterator_mid_list(x, n):
    it = iter([1, 2, 3, 4])
    for v in it:
        if v == 2:
            break
    return x, list(it)


@case
def iterator_two_arguments(x, n):
    vals = [1, 2, 3, 0, 5]

    def pull():
        return vals.pop(0)

    return x, list(iter(pull, 0)), vals


@case
def chain_things(x, n):
    return x, list(itertools.chain([1], (2, 3), "ab")), list(itertools.chain.from_iterable([[1], [2, 3]]))


@case
def accumulate_things(x, n):
    return x, list(itertools.accumulate([1, 2, 3])), list(itertools.accumulate([1, 2, 3], lambda a, b: a * b, initial=2))


@case
def accumulate_tensors(x, n):
    return list(itertools.accumulate([x, x * 2, x * 3]))


@case
def product_things(x, n):
    return x, list(itertools.product("ab", [1, 2])), list(itertools.product([0, 1], repeat=2))


@case
def permutations_things(x, n):
    return x, list(itertools.permutations([1, 2, 3], 2)), list(itertools.combinations("abc", 2)), list(
        itertools.combinations_with_replacement("ab", 2))


@case
def groupby_things(x, n):
    return x, [(k, list(g)) for k, g in itertools.groupby([1, 1, 2, 3, 3])], [
        (k, len(list(g))) for k, g in itertools.groupby(["a", "bb", "cc"], key=len)]


@case
def zip_things(x, n):
    return x, list(itertools.zip_longest([1, 2], [3], fillvalue=0)), list(zip([1, 2], "ab")), list(zip()), dict(zip("ab", (1, 2)))


@case
def zip_strict(x, n):
    try:
        return x, list(zip([1, 2], [1], strict=True))
    except ValueError as e:
        return x + 1, str(e)


@case
def takewhile_things(x, n):
    return x, list(itertools.takewhile(lambda v: v < 3, [1, 2, 3, 1])), list(
        itertools.dropwhile(lambda v: v < 3, [1, 2, 3, 1])), list(itertools.filterfalse(lambda v: v % 2, range(5))), list(
            itertools.compress("abcd", [1, 0, 1, 0]))


@case
def starmap_pairwise(x, n):
    return x, list(itertools.starmap(lambda a, b: a * b, [(1, 2), (3, 4)])), list(itertools.pairwise("abcd")), list(
        itertools.islice([1, 2, 3, 4, 5], 1, None, 2))


@case
def tee_things(x, n):
    a, b = itertools.tee(iter([1, 2, 3]))
    return x, next(a), list(b), list(a)


@case
def count_cycle_repeat(x, n):
    out = []
    for i, c, r in zip(itertools.count(5, 2), itertools.cycle("ab"), itertools.repeat("z", 3)):
        out.append((i, c, r))
    return x, out


@case
def enumerate_reversed(x, n):
    return x, list(enumerate("ab", 3)), list(reversed([1, 2, 3])), list(reversed(range(4))), list(reversed({"a": 1, "b": 2}))


@case
def map_filter(x, n):
    return x, list(map(lambda a, b: a + b, [1, 2], [3, 4, 5])), list(filter(None, [0, 1, "", "a"])), list(
        map(str, range(3))), list(filter(lambda v: v > 1, (1, 2, 3)))


@case
def map_tensors(x, n):
    a, b = map(lambda v: x * v, (2, 3))
    return a + b


@case
def lazy_map_order(x, n):
    m = map(lambda v: LOG.append(v) or v, [1, 2, 3])
    LOG.append("made")
    first = next(m)
    LOG.append("first")
    return x + first, list(m)


@case
def min_max_sorted(x, n):
    d = [("b", 2), ("a", 3), ("c", 1)]
    return x, min(d), max(d, key=lambda p: p[1]), sorted(d, key=lambda p: -p[1]), min([], default=4), max(3, 1, 2), sorted(
        "hello", reverse=True), max("ab", "b", key=len)


@case
def sort_is_stable(x, n):
    d = [(1, "b"), (0, "z"), (1, "a"), (0, "y")]
    d.sort(key=lambda p: p[0])
    e = sorted(d, key=lambda p: p[0], reverse=True)
    return x, d, e


@case
def sum_things(x, n):
    return x + sum([1, 2, 3]), sum([[1], [2]], []), sum((x, x), x), sum([1.5, 2]), sum([True, True])


@case
def loop_else(x, n):
    for i in range(3):
        if i == n:
            break
        x = x + i
    else:
        x = x * 10
    while n > 0:
        n -= 1
        if n == 1:
            break
    else:
        x = x - 1
    return x


@case
def range_things(x, n):
    r = range(10, 0, -3)
    return x, list(r), len(r), r[1], r[-1], 7 in r, r.index(7), list(r[1:]), r == range(10, 0, -3), sum(range(n))


@case
def unpack_things(x, n):
    a, *b, c = range(5)
    (d, e), [f, *g] = (1, 2), "xyz"
    h, = [9]
    *i, j = (1,)
    return x + a, b, c, d, e, f, g, h, i, j


@case
def unpack_generator(x, n):
    a, b, *c = count_up(5)
    return x + a + b, c


@case
def unpack_tensor(x, n):
    a, b, c = x
    return a + b * c


@case
def star_calls(x, n):
    def f(*args, **kw):
        return args, kw

    a = [1, 2]
    d = {"k": 3}
    return x, f(*a, 5, *range(2), **d, z=1), [*a, *"ab"], {**d, "k": 4, **{"q": 1}}, (*a, *a), {*a, 7}


@case
def iterate_dict_while_reading(x, n):
    d = {"a": 1, "b": 2}
    out = []
    for k in d:
        d[k] += 1
        out.append((k, d[k]))
    return x, out, d


@case
def dict_changed_during_iteration(x, n):
    d = {"a": 1}
    try:
        for k in d:
            d[k + "x"] = 1
    except RuntimeError as e:
        return x, str(e)


@case
def generator_already_executing(x, n):
    def g():
        yield next(me)

    me = g()
    try:
        next(me)
    except ValueError as e:
        return x, str(e)


@case
def generator_stopiteration_inside(x, n):
    def g():
        yield 1
        raise StopIteration("no")

    try:
        return x, list(g())
    except RuntimeError as e:
        return x, str(e), type(e.__cause__).__name__


@case
def send_to_fresh_generator(x, n):
    g = echo()
    try:
        g.send(3)
    except TypeError as e:
        return x, str(e)


@case
def generator_in_attribute(x, n):
    class H:
        pass

    h = H()
    h.g = count_up(3)
    next(h.g)
    return x + next(h.g), h.g


@case
def async_never_awaited(x, n):
    async def co():
        return x

    c = co()
    name = type(c).__name__
    c.close()
    return x, name


@case(skipped=True)
def generator_root(x, n):
    yield x + 1
    yield x + n


@case
def generator_drives_ops(x, n):
    def layers():
        yield lambda v: v * 2
        yield lambda v: v + 1
        yield lambda v: v.relu()

    for layer in layers():
        x = layer(x)
    return x


@case
def generator_finally_on_exhaust(x, n):
    def g():
        try:
            yield 1
        finally:
            LOG.append("exhausted")

    return x + sum(g())


@case
def coroutine_like_pipeline(x, n):
    def consumer(out):
        try:
            while True:
                v = yield
                out.append(v * 2)
        except GeneratorExit:
            out.append("closed")

    out = []
    c = consumer(out)
    next(c)
    for v in range(3):
        c.send(v)
    c.close()
    return x, out


@case
def enumerate_over_generator(x, n):
    for i, v in enumerate(count_up(3)):
        x = x + i * v
    return x


@case
def zip_over_generators(x, n):
    return x, list(zip(count_up(3), count_up(2))), LOG[-4:]


def guarded(x, n):
    """Its handlers run when the last name of it goes."""
    try:
        for i in range(n):
            yield x + i
    finally:
        LOG.append("closed")


def delegating(x):
    try:
        yield from guarded(x, 4)
    finally:
        LOG.append("outer closed")


class Noted:
    def __enter__(self):
        LOG.append("in")

    def __exit__(self, kind, value, trace):
        LOG.append(("out", kind and kind.__name__))


def within(x):
    with Noted():
        for i in range(4):
            yield x * i


def new_log(start):
    return LOG[start:], len(LOG) - start


@case
def left_by_break(x, n):
    start = len(LOG)
    for v in guarded(x, 3):
        break
    return v, new_log(start)


@case
def left_by_break_inside_with(x, n):
    start = len(LOG)
    for v in within(x):
        if v.dim() < 9:
            break
    return v, new_log(start)


def first_of(x):
    for v in guarded(x, 3):
        return v


@case
def left_by_return(x, n):
    start = len(LOG)
    return first_of(x), new_log(start)


@case
def left_by_raise(x, n):
    start = len(LOG)
    try:
        for v in guarded(x, 3):
            raise ValueError(1)
    except ValueError:
        seen = new_log(start)
    return v, seen


@case
def overwritten_while_waiting(x, n):
    start = len(LOG)
    g = guarded(x, 3)
    a = next(g)
    g = None
    return a, new_log(start)


@case
def deleted_while_waiting(x, n):
    start = len(LOG)
    g = guarded(x, 3)
    a, h = next(g), g
    del g
    still = new_log(start)
    del h
    return a, still, new_log(start)


@case
def a_temporary_generator(x, n):
    start = len(LOG)
    a = next(guarded(x, 3))
    return a, new_log(start)


@case
def held_by_a_cell(x, n):
    start = len(LOG)
    g = guarded(x, 3)
    step = lambda: next(g)  # noqa: E731
    a, b = step(), step()
    del step
    still = new_log(start)
    del g
    return a, b, still, new_log(start)


@case
def held_by_zip(x, n):
    start = len(LOG)
    pairs = [(a, b) for a, b in zip(guarded(x, 4), range(2))]
    return pairs, new_log(start)


@case
def held_by_islice(x, n):
    start = len(LOG)
    some = list(itertools.islice(guarded(x, 4), 2))
    return some, new_log(start)


@case
def delegating_left(x, n):
    start = len(LOG)
    for v in delegating(x):
        break
    return v, new_log(start)


@case
def manager_never_left(x, n):
    start = len(LOG)
    c = managed(x)
    v = c.__enter__()
    before = new_log(start)
    del c
    return v, before, new_log(start)


@contextlib.contextmanager
def managed(x):
    LOG.append("entered")
    try:
        yield x + 1
    finally:
        LOG.append("left")


def two_waiting(x):
    a, b = guarded(x, 3), within(x)
    return next(a) + next(b)


@case
def two_die_with_a_frame(x, n):
    start = len(LOG)
    return two_waiting(x), new_log(start)


@case
def waiting_at_the_return(x, n):
    g = guarded(x, 3)
    return next(g)


@case
def waiting_generator_kept(x, n):
    start = len(LOG)
    kept = [guarded(x, 3)]
    v = next(kept[0])
    before = new_log(start)
    kept.append(1)
    still = new_log(start)
    kept.clear()
    return v, before, still, new_log(start)


@case(breaks=1)
def waiting_over_a_break(x, n):
    start = len(LOG)
    for v in guarded(x, 3):
        opaque(len, "a")
        break
    return v, new_log(start)


def catching_leaf(kind):
    try:
        LOG.append((yield "first"))
    except ValueError as e:
        LOG.append(("leaf", str(e)))
        if kind == "return":
            return "handled"
        if kind == "raise":
            raise KeyError("from leaf") from e
        yield "second"
    except GeneratorExit:
        LOG.append("leaf exits")
        if kind == "raise":
            raise TypeError("while closing") from None
        if kind == "ignore":
            yield "ignored"
        raise
    finally:
        LOG.append("leaf ends")
    return "leaf done"


class Waiter:
    """An iterator that is no generator, with methods of its own."""

    def __init__(self, last=None):
        self.last, self.asked = last, 0

    def __iter__(self):
        return self

    def __next__(self):
        self.asked += 1
        if self.asked > 2:
            raise StopIteration(self.last)
        return self.asked

    def send(self, value):
        LOG.append(("sent", value))
        if value == "end":
            raise StopIteration("by send")
        return value

    def throw(self, *given):
        LOG.append(("thrown", [getattr(v, "__name__", repr(v)) for v in given]))
        if isinstance(given[0], ValueError):
            raise StopIteration("by throw")
        return "thrown"

    def close(self):
        LOG.append("closed")


def middle(inner):
    try:
        got = yield from inner
        LOG.append(("middle", got))
    except KeyError as e:
        LOG.append(("middle caught", repr(e), repr(e.__cause__)))
        got = "mended"
    finally:
        LOG.append("middle ends")
    yield ("result", got)
    return "end"


def drive(gen, *steps):
    """What each step gives, or the exception it raises with its chain."""
    seen = []
    for method, *args in steps:
        try:
            seen.append(getattr(gen, method)(*args))
        except BaseException as e:
            seen.append((repr(e), repr(e.__context__), repr(e.__cause__)))
    return seen


@case
def throw_through_delegation(x, n):
    seen = []
    for kind in ("yield", "return", "raise"):
        seen.append(drive(middle(catching_leaf(kind)), ("send", None), ("throw", ValueError("v")), ("send", 5), ("send", 6)))
        seen.append(drive(middle(middle(catching_leaf(kind))), ("__next__",), ("throw", ValueError), ("__next__",), ("__next__",)))
    return seen, x + len(seen)


@case
def close_through_delegation(x, n):
    seen = []
    for kind in ("yield", "raise", "ignore"):
        seen.append(drive(middle(catching_leaf(kind)), ("__next__",), ("close",), ("close",), ("__next__",)))
        seen.append(drive(middle(catching_leaf(kind)), ("__next__",), ("throw", GeneratorExit), ("__next__",)))
    return seen, x + len(seen)


@case
def waiting_for_an_object(x, n):
    seen = [
        drive(middle(Waiter()), ("__next__",), ("throw", RuntimeError), ("throw", RuntimeError, "text"), ("close",)),
        drive(middle(Waiter(7)), ("send", None), ("send", 3), ("send", "end"), ("__next__",)),
        drive(middle(Waiter(8)), ("__next__",), ("throw", ValueError("v")), ("__next__",)),
        drive(middle(Waiter(9)), ("__next__",), ("throw", GeneratorExit), ("__next__",)),
        list(middle(Waiter("last"))),
        list(middle(middle(Waiter(x)))),
    ]
    return seen


@case
def left_waiting_for_an_object(x, n):
    gen = middle(Waiter())
    first = next(gen)
    start = len(LOG)
    gen = None
    return first, LOG[start:], x + 1


@case
def waiting_for_an_iterator(x, n):
    seen = [
        drive(middle(iter([1, 2])), ("__next__",), ("throw", ValueError("v")), ("__next__",)),
        drive(middle(range(3)), ("__next__",), ("throw", KeyError("k")), ("__next__",)),
        drive(middle(iter([1, 2])), ("__next__",), ("close",)),
    ]
    return seen, x + 1


@case
def thrown_into_a_fresh_one(x, n):
    seen = [
        drive(count_up(3), ("throw", ValueError("early")), ("__next__",)),
        drive(guarded(), ("throw", KeyError), ("__next__",)),
        drive(count_up(2), ("throw", StopIteration("s"))),
        drive(count_up(2), ("throw", GeneratorExit), ("close",)),
    ]
    return seen, x + 1


@case
def escapes_from_a_fresh_one(x, n):
    gen = count_up(3)
    gen.throw(ValueError, "early")
    return x


@case(breaks=1)  # a loop without operations is left to the executor
def throws_what_is_no_exception(x, n):
    gen = middle(catching_leaf("yield"))
    seen = drive(gen, ("__next__",), ("throw", 3), ("__next__",))
    other = guarded()
    seen += drive(other, ("__next__",), ("throw", list), ("throw", "text"), ("throw", ValueError("a"), 2), ("throw", ValueError, (1, 2)), ("__next__",))
    return seen, x + 1
