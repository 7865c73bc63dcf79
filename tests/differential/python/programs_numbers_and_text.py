# SPDX-License-Identifier: GPL-3.0-or-later
"""Subclasses of built-in types, enums, defaults, caches, random numbers, exec, tracebacks."""

import collections, functools, contextlib, operator, itertools, enum, types, sys, weakref, copy, string, math, random, re, dataclasses, abc, typing


class MyInt(int):
    def __eq__(self, o):
        return super().__eq__(o)

    def __hash__(self):
        return super().__hash__()

    def __add__(self, o):
        return MyInt(super().__add__(o))

    def __repr__(self):
        return f"MyInt({int(self)})"


def t_intsub(i):
    a = MyInt(3)
    b = MyInt(3 + i)
    return a == b, a == 3, a + b, a + 1, 1 + a, hash(a), int(a), a * 2, -a, a < b, [1, 2, 3, 4][a], f"{a}", str(a), a in (3, 4), {a: 1}


class MyStr(str):
    def upper(self):
        return "U" + super().upper()

    def __add__(self, o):
        return MyStr(str.__add__(self, o))


def t_strsub(i):
    s = MyStr("ab" * (i + 1))
    return (
        s.upper(),
        s + "x",
        type(s + "x").__name__,
        s[0],
        len(s),
        s == "ab",
        f"{s:>6}",
        s.join(["1", "2"]),
        "%s" % s,
        {s: 1}["ab" * (i + 1)],
        sorted([s, "aa"]),
        type(s[:]).__name__,
        type(str(s)).__name__,
    )


class MyFloat(float):
    def __mul__(self, o):
        return MyFloat(float.__mul__(self, o))


def t_floatsub(i):
    f = MyFloat(1.5 + i)
    return (
        f * 2,
        type(f * 2).__name__,
        f + 1,
        type(f + 1).__name__,
        f == 1.5,
        round(f),
        f.is_integer(),
        math.floor(f),
        abs(-f),
        divmod(f, 1),
    )


class MyTuple(tuple):
    def __new__(cls, *a):
        return super().__new__(cls, a)

    def total(self):
        return sum(self)


def t_tuplesub(i):
    t = MyTuple(1, 2, i)
    return (
        t,
        t.total(),
        type(t).__name__,
        t + (1,),
        type(t + (1,)).__name__,
        t[1:],
        type(t[1:]).__name__,
        t == (1, 2, i),
        hash(t) == hash((1, 2, i)),
        len(t),
        i in t,
        t * 2,
        [*t],
    )


class MyList(list):
    def append(self, x):
        super().append(x * 2)

    def __getitem__(self, k):
        r = super().__getitem__(k)
        return r if isinstance(k, slice) else r + 100


def t_listsub(i):
    l = MyList([1, 2])
    l.append(i)
    l.extend([7])
    l += [8]
    return l, l[0], l[-1], l[0:2], list(l), sorted(l), len(l), 7 in l, l == [1, 2, 2 * i, 7, 8], [x for x in l], max(l), l * 2, l + [1]


class MyDict(dict):
    def __missing__(self, k):
        self[k] = k * 2
        return self[k]

    def __setitem__(self, k, v):
        super().__setitem__(k, v + 1)


def t_dictsub(i):
    d = MyDict(a=1)
    d[i] = 5
    x = d[9]
    d.update(z=3)
    d.setdefault("q", 4)
    return d, x, d.get(77), 77 in d, list(d.items()), d | {"m": 1}, type(d | {}).__name__, {**d}, dict(d), len(d), d == {"a": 1}


class MySet(set):
    def add(self, x):
        super().add(x + 1)


def t_setsub(i):
    s = MySet([1, 2])
    s.add(i)
    s |= {10}
    return sorted(s), type(s).__name__, type(s | {1}).__name__, type(s & {1}).__name__, 10 in s, len(s), s == {1}, s >= {1, 2}


class Color(enum.Flag):
    R = 1
    G = 2
    B = 4
    RG = 3


def t_flags(i):
    c = Color.R | Color.B
    return (
        c,
        Color.R in c,
        Color.G in c,
        ~c,
        c & Color.R,
        c ^ Color.RG,
        bool(c & Color.G),
        Color(3),
        [x.name for x in Color],
        c.value,
        Color["R"],
        str(c),
        repr(c),
        Color.R == Color(1),
        isinstance(c, Color),
    )


class IC(enum.IntEnum):
    A = 1
    B = 2


def t_intenum(i):
    return (
        IC.A + 1,
        IC(2),
        IC.A < IC.B,
        IC.A == 1,
        [1, 2, 3][IC.A],
        f"{IC.A}",
        str(IC.B),
        repr(IC.A),
        IC.A.name,
        max(IC),
        sorted(IC, reverse=True),
        {IC.A: 1}[1],
        IC.A is IC(1),
        range(IC.B),
        IC.A * 2.5,
    )


class SE(str, enum.Enum):
    X = "x"
    Y = "y"


def t_strenum(i):
    return (
        SE.X == "x",
        SE.X.value,
        SE("y"),
        SE.X.upper(),
        f"{SE.X.value}",
        SE.X + "z",
        "x" in [SE.X],
        {SE.X: 1}.get("x"),
        len(SE.Y),
        SE.X.name,
    )


class Base:
    def who(self):
        return "base"


class Der(Base):
    def who(self):
        return "der"


def t_classassign(i):
    o = Base()
    a = o.who()
    o.__class__ = Der
    b = o.who()
    o.x = i
    o.__class__ = Base
    return a, b, o.who(), type(o).__name__, o.x


def t_defaults(i):
    def f(a, b=2, *, c=3):
        return a, b, c

    r = [f(1)]
    f.__defaults__ = (7, 8)
    r.append(f())
    f.__kwdefaults__ = {"c": 9}
    r.append(f(1))
    f.__defaults__ = None
    try:
        f(1)
    except TypeError as e:
        r.append(str(e))
    return r


def glob(a, b=1):
    return a + b


def t_globdefaults(i):
    r = glob(1)
    glob.__defaults__ = (5 + i,)
    return r, glob(1)


@contextlib.contextmanager
def cm(log):
    log.append("in")
    try:
        yield log
    except ValueError as e:
        log.append(str(e))
    finally:
        log.append("out")


def t_cm_escape(i):
    log = []
    c = cm(log)
    with c as l:
        l.append(i)
    d = cm(log)
    d.__enter__()
    return log, d


def t_cm_ret(i):
    log = []
    c = cm(log)
    x = c.__enter__()
    log.append(9)
    c.__exit__(ValueError, ValueError("q"), None)
    return log


def t_lru(i):
    @functools.lru_cache(None)
    def f(x):
        calls.append(x)
        return x * K[0]

    calls = []
    K = [2]
    r = [f(1), f(1), f(2)]
    K[0] = 5
    r.append(f(1))
    f.cache_clear()
    r.append(f(1))
    return r, calls, f.cache_info()


K0 = 3


@functools.lru_cache(None)
def kf(x):
    return x * K0


def t_lruglobal(i):
    global K0
    a = kf(2)
    K0 += 1
    b = kf(2)
    kf.cache_clear()
    c = kf(2)
    return a, b, c


class Kept:
    def __init__(self, value):
        self.value = value


@functools.lru_cache(None)
def kept(x, *, more=0):
    return Kept([x * K0, more])


def read_kept(x):
    return kept(x, more=1).value


def t_lrustale(i):
    """What is cached may be older than the variable; later the cache is cleared and the variable stays."""
    global K0
    seen = [list(read_kept(3))]
    K0 += 7
    seen.append(list(read_kept(3)))
    seen.append(kf(3))
    kept.cache_clear()
    seen.append(list(read_kept(3)))
    kf.cache_clear()
    return seen, kf(3), kept(3, more=1) is kept(3, more=1)


def t_random(i):
    random.seed(i)
    a = (
        random.randint(0, 100),
        random.random(),
        random.choice([1, 2, 3]),
        random.sample(range(10), 3),
        random.uniform(0, 1),
        random.gauss(0, 1),
    )
    l = [1, 2, 3, 4]
    random.shuffle(l)
    return a, l, random.getrandbits(8), random.randrange(5), random.choices("abc", k=2)


class W:
    pass


def t_weak(i):
    w = W()
    r = weakref.ref(w)
    a = r() is w
    w.x = i
    b = r().x
    del w
    return a, b, r() is None


def t_exec(i):
    d = {"i": i}
    exec("y = i * 2\ndef g(a): return a + y", d)
    return d["y"], d["g"](1), eval("i + 1", {"i": i}), eval(compile("i*3", "q", "eval")), sorted(locals()), sorted(vars()), sorted(dir())


def t_exec_local(i):
    a = 1
    exec("b = a + i")
    return locals().get("b"), a


def t_globals(i):
    globals()["ZZ"] = i
    return ZZ, "ZZ" in globals(), globals()["ZZ"] + 1


def t_tb(i):
    try:
        raise IndexError(4)
    except IndexError as e:
        tb = e.__traceback__
        e2 = BaseException().with_traceback(tb)
        return e2.__traceback__ is tb, e.__traceback__ is tb, tb.tb_lineno, tb.tb_next


def t_tb2(i):
    def f():
        raise KeyError(i)

    try:
        f()
    except KeyError as e:
        t = e.__traceback__
        n = 0
        while t:
            n += 1
            last = t.tb_lineno
            t = t.tb_next
        return n, last, sys.exc_info()[2] is e.__traceback__


def t_excchain(i):
    class A(Exception):
        pass

    class B(Exception):
        pass

    try:
        try:
            raise A()
        except A as _a:
            a = _a
            try:
                raise B()
            except B as _b:
                b = _b
                a.__context__ = b
                raise ValueError
    except ValueError as e:
        return repr(e.__context__), repr(e.__context__.__context__)


def t_reinit(i):
    e = ImportError("t", name="n")
    e.__init__()
    return e.args, e.msg, e.name


def t_reinit2(i):
    e = KeyError(1, 2)
    e.__init__()
    return e.args


def t_dequeinit(i):
    d = collections.deque([1, 2, 3], 2)
    d.__init__()
    return d, d.maxlen


def t_subror(i):
    class A:
        def __or__(self, o):
            return "A.or"

        def __ror__(self, o):
            return "A.ror"

    class B(A):
        pass

    class C(A):
        def __ror__(self, o):
            return "C.ror"

    return A() | B(), A() | C(), B() | A(), C() | A(), 1 | A(), A() | 1
