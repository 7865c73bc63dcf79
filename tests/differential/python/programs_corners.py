# SPDX-License-Identifier: GPL-3.0-or-later
"""Equality that acts, ordered comparison, binding, context managers, super, isinstance, deletion."""

import collections, functools, operator, sys, types, contextlib, itertools, inspect, copy


class EvilEq:
    def __init__(s, l):
        s.l = l

    def __eq__(s, o):
        s.l.clear()
        return False


def t_evil_eq(i):
    l = [1, 2, 3]
    l.append(EvilEq(l))
    l.append(5)
    r = []
    try:
        l.index(99)
    except ValueError as e:
        r.append(str(e))
    r.append(l)
    m = [1, 2]
    m.insert(0, EvilEq(m))
    r.append(7 in m)
    r.append(len(m))
    n = [1]
    n.insert(0, EvilEq(n))
    r.append(n == [5, 6])
    r.append(n.count(4))
    return r


def t_evil_iter(i):
    l = [1, 2, 3, 4]
    r = []
    for x in l:
        r.append(x)
        l.remove(x)
    it = iter(l)
    l.extend([9])
    r.append(list(it))
    l[:] = []
    for x in map(lambda v: l.append(v) or v, [1, 2]):
        r.append(len(l))
    d = {1: 2}

    def g():
        for k in d:
            yield k

    z = g()
    next(z)
    d[5] = 6
    try:
        next(z)
    except RuntimeError as e:
        r.append(str(e))
    return r, l


def t_eq_ordered(i):
    O = collections.OrderedDict
    D = collections.defaultdict
    return (
        O(a=1) == {"a": 1},
        {"a": 1} == O(a=1),
        O(a=1, b=2) == O(b=2, a=1),
        O(a=1, b=2) == O(a=1, b=2),
        D(int, a=1) == {"a": 1},
        collections.deque([1]) == collections.deque([1]),
        collections.deque([1]) == [1],
        collections.Counter("a") == {"a": 1},
        {1: 2}.keys() == {1},
        {1: 2}.items() == {(1, 2)},
        frozenset([1]) == {1},
        {1} == frozenset([1]),
        {1} != frozenset([1]),
        {1, 2} > frozenset([1]),
        frozenset([i]) == {i},
        slice(i, 2) == slice(i, 2),
        range(i) == range(i),
        [i] == (i,),
        {i: 1} == {i: 1},
        {i} == [i],
        (i,) == [i],
        [] == {},
        bytearray(b"a") == b"a",
        [[i], {i}] == [[i], {i}],
        types.SimpleNamespace(a=i) == types.SimpleNamespace(a=i),
    )


class P:
    def __init__(s, v):
        s.v = v

    def __eq__(s, o):
        return isinstance(o, P) and s.v == o.v

    def __hash__(s):
        return hash(s.v)

    def __repr__(s):
        return f"P({s.v})"


def t_objkeys(i):
    d = {P(1): "a", P(2): "b"}
    d[P(1)] = "c"
    s = {P(1), P(1), P(2)}
    l = [P(1), P(2)]
    return (
        d[P(1)],
        P(2) in d,
        len(s),
        P(1) in s,
        l.index(P(2)),
        l.count(P(1)),
        P(3) in l,
        [P(1)] == [P(1)],
        {P(1): 2} == {P(1): 2},
        {P(1)} == {P(1)},
        sorted(s, key=lambda p: p.v),
        d.pop(P(2)),
        list(d),
        {**d, P(1): 5},
        P(1) in d.keys(),
        (P(1), "c") in d.items(),
        {P(1)} | {P(1), P(4)},
        {P(1)} & {P(1)},
        {P(1)} - {P(1)},
        frozenset([P(1)]) == {P(1)},
    )



def t_argbind(i):
    def f(a, b=2, /, c=3, *args, d, e=5, **kw):
        return a, b, c, args, d, e, kw

    r = [f(1, d=4), f(1, 2, 3, 4, 5, d=6, z=7), f(*[1], **{"d": 1, "a": 9}), f(1, c=8, d=2)]
    for c in (
        lambda: f(),
        lambda: f(1),
        lambda: f(1, d=1, e=2, e2=3, **{"d": 5}),
        lambda: f(1, **{1: 2}),
        lambda: f(*5),
        lambda: f(**5),
        lambda: (lambda a, b: 0)(1),
        lambda: (lambda a, b: 0)(1, 2, 3),
        lambda: (lambda *, a, b: 0)(),
        lambda: (lambda a: 0)(b=1),
        lambda: (lambda a: 0)(1, b=2),
        lambda: (lambda a, /, b: 0)(a=1, b=2),
        lambda: P(),
        lambda: P(1, 2),
        lambda: P.v,
        lambda: len(1, 2),
        lambda: print(1, foo=2),
        lambda: int(x=1),
        lambda: "a".join(),
        lambda: [].append(),
        lambda: [].append(1, 2),
        lambda: {}.get(),
        lambda: isinstance(1),
    ):
        try:
            r.append(c())
        except Exception as e:
            r.append((type(e).__name__, str(e)))
    return r


def t_gen_more(i):
    log = []

    def g():
        try:
            for k in range(5):
                try:
                    yield k
                except KeyError as e:
                    log.append(("k", e.args))
                    yield "caught"
        finally:
            log.append("done")

    a = g()
    r = [next(a), a.throw(KeyError(1)), next(a)]
    a.close()
    r.append(list(a))

    def inf():
        n = 0
        while True:
            n += 1
            yield n

    r.append(list(itertools.islice(inf(), 3)))
    x, y = itertools.islice(inf(), 2)
    r.append((x, y))
    try:
        x, y = inf()
    except ValueError as e:
        r.append(str(e))
    r.append(next(z for z in inf() if z > 5))
    r.append(any(z > 3 for z in inf()))
    r.append(3 in inf())

    def ctx():
        with contextlib.suppress(ValueError):
            yield 1
            raise ValueError
        yield 2

    r.append(list(ctx()))
    b = (q * 2 for q in [1, 2])
    r += [next(b), b.gi_frame is None, list(b), b.gi_frame is None]

    def rec(n):
        if n:
            yield n
            yield from rec(n - 1)

    r.append(list(rec(4)))
    c = g()
    r.append(c.send(None))
    try:
        c.throw(TypeError, "msg")
    except TypeError as e:
        r.append(str(e))
    try:
        g().send(5)
    except TypeError as e:
        r.append(str(e))

    def me():
        yield 1
        try:
            next(it)
        except ValueError as e:
            yield str(e)

    it = me()
    r += list(it)
    return r, log


def t_cmgr(i):
    log = []

    @contextlib.contextmanager
    def m(n, sup=False):
        log.append("+" + n)
        try:
            yield n
        except KeyError:
            log.append("!" + n)
            if not sup:
                raise
        finally:
            log.append("-" + n)

    with m("a") as x, m("b", True) as y:
        log.append(x + y)
        raise KeyError

    @m("dec")
    def f():
        return 5

    f()
    f()

    class C(contextlib.ContextDecorator):
        def __enter__(s):
            log.append("ce")
            return s

        def __exit__(s, *a):
            log.append(a[0])
            return True

    @C()
    def h():
        raise ValueError

    log.append(h())
    with contextlib.closing(types.SimpleNamespace(close=lambda: log.append("closed"))):
        pass
    with contextlib.ExitStack() as st:
        for n in "xy":
            st.enter_context(m(n, True))
        st.pop_all().close()
    try:
        with m("q"):
            raise StopIteration(3)
    except StopIteration as e:
        log.append(e.value)

    @contextlib.contextmanager
    def bad():
        yield 1
        yield 2

    try:
        with bad():
            pass
    except RuntimeError as e:
        log.append(str(e))

    @contextlib.contextmanager
    def none():
        if 0:
            yield

    try:
        with none():
            pass
    except RuntimeError as e:
        log.append(str(e))

    def ret():
        with m("r"):
            return "ret"

    log.append(ret())
    for k in range(2):
        with m(str(k)):
            continue
    return log


def t_super(i):
    class A:
        x = 1

        def f(s):
            return "A"

        @classmethod
        def c(cls):
            return cls.__name__

        @staticmethod
        def st():
            return "st"

        @property
        def p(s):
            return "Ap"

        def __getattr__(s, n):
            return "ga " + n

    class B(A):
        x = 2

        def f(s):
            return super().f() + super(B, s).f() + str(super().x)

        @classmethod
        def c(cls):
            return super().c() + "!"

        @staticmethod
        def st():
            return A.st()

        @property
        def p(s):
            return super().p + "B"

        def g(s):
            def inner():
                return super(B, s).f()

            return inner() + str([super(B, s).x for _ in range(2)])

        def h(s):
            try:
                return super().nope
            except AttributeError as e:
                return str(e)

        def __init_subclass__(cls):
            cls.tag = super().__init_subclass__()

    class C(B):
        pass

    b = C()
    s = super(B, b)
    return (
        b.f(),
        b.c(),
        C.c(),
        b.st(),
        b.p,
        b.g(),
        b.h(),
        b.zz,
        s.__thisclass__.__name__,
        s.__self__ is b,
        s.__self_class__.__name__,
        repr(s)[:10],
        s.x,
        C.tag,
        isinstance(s, super),
    )


def t_instancecheck(i):
    class M(type):
        def __instancecheck__(c, o):
            return o == 5

        def __subclasscheck__(c, o):
            return o is int

    class A(metaclass=M):
        pass

    class D:
        @property
        def __class__(s):
            return int

    return (
        isinstance(5, A),
        isinstance(6, A),
        issubclass(int, A),
        issubclass(str, A),
        isinstance(A(), A),
        isinstance(D(), int),
        isinstance(D(), D),
        isinstance(1, int | str),
        isinstance("a", (int, (str,))),
        issubclass(bool, int | None),
        type(D()) is D,
        D().__class__ is int,
    )


def t_new(i):
    log = []

    class A:
        def __new__(cls, *a, **k):
            log.append(("new", a, k))
            o = super().__new__(cls)
            o.n = 1
            return o

        def __init__(s, *a, **k):
            log.append(("init", a, k))

    class S:
        inst = None

        def __new__(cls):
            if cls.inst is None:
                cls.inst = super().__new__(cls)
            return cls.inst

    class N:
        def __new__(cls):
            return 5

        def __init__(s):
            log.append("never")

    class I:
        def __init__(s):
            return 5

    A(1, k=2)
    r = [S() is S(), N(), A(3).n, log]
    for f in (
        lambda: I(),
        lambda: object.__new__(5),
        lambda: object.__new__(int),
        lambda: A.__new__(),
        lambda: object(5),
        lambda: object.__init__(),
        lambda: type("X", (), {})(5),
    ):
        try:
            r.append(f())
        except TypeError as e:
            r.append(str(e))
    return r


def t_del(i):
    log = []

    class A:
        def __init__(s, n):
            s.n = n

        def __del__(s):
            log.append(s.n)

    a = A(1)
    del a
    b = A(2)
    b = None
    A(3)
    l = [A(4)]
    l.clear()

    def f():
        x = A(5)
        return 1

    f()
    d = {"k": A(6)}
    d["k"] = 0
    return log


def t_annot(i):
    x: int = 5
    y: "undefined"

    class A:
        a: int = 1
        b: str

    def f(p: int, q: "str" = None) -> bool:
        pass

    return x, A.__annotations__, f.__annotations__, inspect.signature(f).parameters["q"].default, str(inspect.signature(f))


def t_chained(i):
    calls = []

    def v(n):
        calls.append(n)
        return n

    r = [
        v(1) < v(2) < v(3),
        v(3) < v(2) < v(1),
        v(1) == v(1) != v(2),
        v(0) or v(5),
        v(1) and v(0) and v(7),
        not v(0),
        v(1) if v(0) else v(9),
    ]
    d = {}
    d[v("k")] = v("val")
    l = [0, 0]
    l[v(0)], l[v(1)] = v(10), v(20)
    (a, (b, *c)), e = (1, (2, 3, 4)), 5
    x = y = [v(6)]
    i = v(0)
    l[i], i = 5, 1
    return r, calls, d, l, a, b, c, e, x is y


class HookedTuple(tuple):
    def __getattribute__(self, name):
        return "hook " + name if name[0] != "_" else tuple.__getattribute__(self, name)


class AnsweringTuple(tuple):
    def __getattr__(self, name):
        if name == "never":
            raise AttributeError("no " + name)
        return "answer " + name


class AnsweringPair(collections.namedtuple("AnsweringPair", "first second")):
    @property
    def failing(self):
        raise AttributeError("inside")

    def __getattr__(self, name):
        return "answer " + name


class AnsweringDict(dict):
    def __getattr__(self, name):
        return self[name]


HOOKED = [HookedTuple((1, 2)), AnsweringTuple((1, 2)), AnsweringPair(1, 2), AnsweringDict(size=3, never=4)]


def t_attribute_hooks_of_containers(n):
    out = []
    for o in HOOKED:
        out.append((o.size, getattr(o, "size", 1), hasattr(o, "never"), getattr(o, "never", n)))
    pair = AnsweringPair(n, 2)
    return out, pair.first, pair.third, pair.failing, getattr(pair, "failing", 1), hasattr(pair, "failing")


def t_missing_attributes_of_native_objects(n):
    out = []
    for o in (abs, len, (1, 2), [1], {1: 2}, {1}, 3, "s", None, 1.5, n):
        try:
            out.append(o.missing)
        except AttributeError as e:
            out.append((str(e), e.name, e.obj is o, e.args))
        try:
            out.append(getattr(o, "__annotations__"))
        except AttributeError as e:
            out.append(str(e))
    return out


# Evaluated when they are first asked for, with the variables as they are then.
TYPE_PARAMETERS = """
def t_lazy_bound_of_a_variable(n):
    a = n

    def method[U: (a, int), V: list[a]](self):
        pass

    type Alias = list[a]
    a = n + 5
    u, v = method.__type_params__
    return u.__constraints__, v.__bound__, Alias.__value__, u.__name__


def t_lazy_bound_in_a_class(n):
    class X:
        T = int

        def method[U: T](self):
            pass

        type Alias = T

    X.T = float
    first = X.method.__type_params__[0].__bound__, X.Alias.__value__
    X.T = str
    return first, X.method.__type_params__[0].__bound__, X.Alias.__value__


def t_lazy_bound_that_acts(n):
    seen = []

    def note(v):
        seen.append(v)
        return int

    def function[U: note(n)]():
        pass

    before = list(seen)
    bound = function.__type_params__[0].__bound__
    return before, bound, function.__type_params__[0].__bound__, seen
"""
if sys.version_info >= (3, 12):
    exec(TYPE_PARAMETERS)
