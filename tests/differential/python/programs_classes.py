# SPDX-License-Identifier: GPL-3.0-or-later
# Long because it is one table of small independent programs.
"""Descriptors, metaclasses, data classes, operators, matching, copies, functions as objects."""

import collections, functools, abc, types, typing, dataclasses, enum, operator, copy, sys, string


def t_descr(i):
    log = []

    class D:
        def __set_name__(s, o, n):
            s.n = n
            log.append(("name", n))

        def __get__(s, o, t=None):
            log.append("get")
            return s if o is None else o.__dict__.get("_" + s.n, "dflt")

        def __set__(s, o, v):
            log.append("set")
            o.__dict__["_" + s.n] = v

        def __delete__(s, o):
            log.append("del")
            o.__dict__.pop("_" + s.n)

    class A:
        x = D()
        y = D()

    a = A()
    r = [a.x]
    a.x = i
    r.append(a.x)
    del a.x
    r.append(a.x)
    r.append(type(A.x).__name__)
    r.append(getattr(a, "y"))
    setattr(a, "y", 1)
    r.append(hasattr(a, "zz"))
    return r, log, a.__dict__


def t_prop(i):
    class A:
        def __init__(s):
            s._v = 1

        @property
        def v(s):
            "doc"
            return s._v

        @v.setter
        def v(s, x):
            s._v = x

        @v.deleter
        def v(s):
            s._v = None

        @property
        def ro(s):
            return 1

    a = A()
    a.v = i
    r = [a.v]
    del a.v
    r += [a.v, A.v.__doc__, A.v.fget(a)]
    for f in (lambda: setattr(a, "ro", 1), lambda: delattr(a, "ro"), lambda: a.nope, lambda: A.nope, lambda: delattr(a, "nope")):
        try:
            f()
        except AttributeError as e:
            r.append(str(e))
    return r


def t_slots(i):
    class A:
        __slots__ = ("a", "b")

        def __init__(s):
            s.a = 1

    class B(A):
        pass

    class C(A):
        __slots__ = ("c",)

    a, b, c = A(), B(), C()
    r = []
    b.z = i
    c.c = 2
    r += [a.a, b.a, b.z, c.c, b.__dict__]
    for f in (lambda: a.b, lambda: setattr(a, "q", 1), lambda: setattr(c, "q", 1), lambda: a.__dict__, lambda: delattr(a, "b")):
        try:
            r.append(f())
        except AttributeError as e:
            r.append(str(e))
    del a.a
    return r, hasattr(a, "a"), A.a.__name__


def t_getattr(i):
    class A:
        x = 1

        def __getattr__(s, n):
            if n.startswith("d"):
                return n * 2
            raise AttributeError(n)

        def __getattribute__(s, n):
            if n == "hook":
                return "hooked"
            return super().__getattribute__(n)

    a = A()
    a.y = i
    return a.x, a.y, a.dd, a.hook, getattr(a, "zz", "def"), hasattr(a, "zz"), hasattr(a, "d")


def t_setattr(i):
    class A:
        def __setattr__(s, n, v):
            object.__setattr__(s, n, v if n[0] == "_" else v * 10)

        def __delattr__(s, n):
            object.__setattr__(s, "gone", n)
            object.__delattr__(s, n)

    a = A()
    a.x = i
    a._y = i
    del a.x
    return a.__dict__


def t_meta(i):
    log = []

    class M(type):
        def __new__(m, n, b, ns, **k):
            log.append((n, k))
            ns["extra"] = i
            return super().__new__(m, n, b, ns)

        def __init__(c, n, b, ns, **k):
            super().__init__(n, b, ns)

        def __call__(c, *a):
            log.append("call")
            return super().__call__(*a)

        def __getattr__(c, n):
            return "meta " + n

        def __len__(c):
            return 42

        def __iter__(c):
            return iter([1, 2])

        def __contains__(c, x):
            return x == 5

        def __getitem__(c, k):
            return ("item", k)

        def __eq__(c, o):
            return True

        def __hash__(c):
            return 1

        @property
        def p(c):
            return "prop"

    class A(metaclass=M, k=1):
        pass

    class B(A):
        extra2 = 1

    return A().extra, log, A.nope, len(A), list(A), 5 in A, A[3], B.p, A == 7, type(B).__name__, isinstance(A(), A), bool(A)


def t_initsub(i):
    reg = []

    class A:
        def __init_subclass__(cls, /, tag=None, **k):
            super().__init_subclass__(**k)
            reg.append((cls.__name__, tag))

        def __class_getitem__(cls, k):
            return (cls.__name__, k)

    class B(A, tag=i):
        pass

    class C(B):
        pass

    return reg, A[1], C["x"]


def t_mro(i):
    class A:
        def f(s):
            return "A"

    class B(A):
        def f(s):
            return "B" + super().f()

    class C(A):
        def f(s):
            return "C" + super().f()

    class D(B, C):
        def f(s):
            return "D" + super().f()

    r = [D().f(), [c.__name__ for c in D.__mro__], super(B, D()).f(), issubclass(D, A), D.__bases__ == (B, C), D.mro()[1] is B]
    try:

        class E(A, B):
            pass

    except TypeError as e:
        r.append(str(e))
    return r


def t_classbody(i):
    class A:
        x = 1
        y = [x + k for k in range(2)] if False else [1]
        for z in range(3):
            pass

        def f(self, q=x):
            return q, __class__.__name__

        if i:
            w = i
        try:
            1 / 0
        except ZeroDivisionError:
            err = True

        class In:
            v = 3

        l = lambda s: s.x

    return (
        A.z,
        A().f(),
        getattr(A, "w", None),
        A.err,
        A.In.v,
        A().l(),
        A.__qualname__,
        A.__module__,
        A.In.__qualname__,
        sorted(k for k in vars(A) if k[0] != "_"),
    )


def t_abc(i):
    class A(abc.ABC):
        @abc.abstractmethod
        def f(s): ...
        @property
        @abc.abstractmethod
        def p(s): ...
    class B(A):
        def f(s):
            return 1

        p = 5

    r = [B().f(), B().p, isinstance(B(), A)]
    try:
        A()
    except TypeError as e:
        r.append(str(e))
    A.register(int)
    r.append(isinstance(5, A))
    r.append(sorted(A.__abstractmethods__))
    r.append(isinstance([], collections.abc.Sequence))
    return r


def t_dc(i):
    @dataclasses.dataclass(order=True, frozen=False)
    class P:
        x: int
        y: list = dataclasses.field(default_factory=list, compare=False)
        z: typing.ClassVar[int] = 7

        def __post_init__(s):
            s.y.append(s.x)

    @dataclasses.dataclass(frozen=True, slots=True)
    class Q:
        a: int
        b: int = 2

    p = P(i)
    q = Q(1)
    r = [
        p,
        p == P(i, [3]),
        P(1) < P(2),
        dataclasses.replace(p, x=9),
        dataclasses.asdict(p),
        dataclasses.astuple(q),
        [f.name for f in dataclasses.fields(P)],
        hash(q) == hash(Q(1)),
        P.z,
    ]
    try:
        q.a = 5
    except dataclasses.FrozenInstanceError as e:
        r.append(str(e))
    try:
        P()
    except TypeError as e:
        r.append(str(e))
    return r


def t_nt(i):
    P = collections.namedtuple("P", "x y", defaults=[5])

    class T(typing.NamedTuple):
        a: int
        b: str = "q"

        def m(s):
            return s.a * 2

    p = P(i)
    t = T(3)
    r = [
        p,
        p.x,
        p._replace(y=1),
        p._asdict(),
        P._fields,
        t,
        t.m(),
        p == (i, 5),
        p + (1,),
        P._make([1, 2]),
        x := (p[0], p[-1]),
        isinstance(p, tuple),
        hash(p) == hash((i, 5)),
        p < P(9),
        len(t),
        [*t],
        T.__annotations__["a"],
        t._field_defaults,
    ]
    try:
        P()
    except TypeError as e:
        r.append(str(e))
    try:
        p.x = 1
    except AttributeError as e:
        r.append(str(e))
    return r


def t_match(i):
    class Pt:
        __match_args__ = ("x", "y")

        def __init__(s, x, y):
            s.x, s.y = x, y

    def m(v):
        match v:
            case 0 | 1:
                return "small"
            case int(n) if n > 100:
                return ("big", n)
            case str() as s:
                return "s" + s
            case [1, *rest]:
                return ("list1", rest)
            case [a, b]:
                return ("two", a, b)
            case {"k": k, **rest}:
                return ("map", k, rest)
            case Pt(0, y=yy):
                return ("pt0", yy)
            case Pt(x, y):
                return ("pt", x, y)
            case None:
                return "none"
            case float():
                return "f"
            case ():
                return "empty"
            case _:
                return "other"

    return [
        m(v)
        for v in (
            0,
            1,
            5,
            500,
            "q",
            [1, 2, 3],
            (7, 8),
            {"k": 1, "z": 2},
            {},
            Pt(0, 5),
            Pt(1, 2),
            None,
            1.5,
            (),
            [],
            object,
            True,
            b"x",
            range(2),
        )
    ]


def t_ops(i):
    class V:
        def __init__(s, v):
            s.v = v

        def __add__(s, o):
            return V(s.v + getattr(o, "v", o)) if not isinstance(o, str) else NotImplemented

        def __radd__(s, o):
            return ("radd", o)

        def __iadd__(s, o):
            s.v += 100
            return s

        def __matmul__(s, o):
            return "mm"

        def __rmatmul__(s, o):
            return "rmm"

        def __pow__(s, o, m=None):
            return ("pow", o, m)

        def __rpow__(s, o):
            return "rpow"

        def __neg__(s):
            return V(-s.v)

        def __invert__(s):
            return "inv"

        def __abs__(s):
            return "abs"

        def __bool__(s):
            return s.v > 0

        def __index__(s):
            return 2

        def __int__(s):
            return 77

        def __float__(s):
            return 7.5

        def __complex__(s):
            return 1j

        def __round__(s, n=None):
            return ("round", n)

        def __floor__(s):
            return "floor"

        def __divmod__(s, o):
            return "dm"

        def __rdivmod__(s, o):
            return "rdm"

        def __lt__(s, o):
            return "lt"

        def __eq__(s, o):
            return s.v == getattr(o, "v", None)

        def __hash__(s):
            return 5

        def __len__(s):
            return 4

        def __getitem__(s, k):
            return k

        def __contains__(s, k):
            return "yes"

        def __call__(s, *a, **k):
            return a, k

        def __format__(s, f):
            return "F" + f

        def __str__(s):
            return "S"

        def __repr__(s):
            return f"R{s.v}"

        def __bytes__(s):
            return b"by"

        def __reversed__(s):
            return "rev"

        def __length_hint__(s):
            return 3

        def __dir__(s):
            return ["b", "a"]

        def __sizeof__(s):
            return 1

    a, b = V(1), V(-1)
    import math

    r = [
        a + b,
        1 + a,
        "x" + a,
        a @ 1,
        1 @ a,
        a**2,
        2**a,
        pow(a, 2, 3),
        -a,
        ~a,
        abs(a),
        bool(b),
        not b,
        [1, 2, 3][a],
        int(a),
        float(a),
        complex(a),
        round(a),
        round(a, 1),
        math.floor(a),
        divmod(a, 1),
        divmod(1, a),
        a < b,
        a > b,
        a == V(1),
        a != b,
        {a: 1}[V(1)],
        len(a),
        a[1:2],
        a[1, ...],
        5 in a,
        a(1, k=2),
        f"{a:>3}",
        f"{a}",
        f"{a!r}",
        str(a),
        "%s" % a,
        "{0!s}".format(a),
        bytes(a),
        reversed(a),
        operator.index(a),
        dir(a),
        hex(a),
        range(a),
        "ab" * 1,
        list(a[k] for k in range(2)),
        a and "T",
        b or "F",
        sum([a, a], a),
    ]
    c = a
    c += 1
    r.append((c is a, a.v))
    try:
        a + "x"
    except TypeError as e:
        r.append(str(e))
    return r


def t_ordering(i):
    @functools.total_ordering
    class A:
        def __init__(s, v):
            s.v = v

        def __eq__(s, o):
            return s.v == o.v

        def __lt__(s, o):
            return s.v < o.v

        def __repr__(s):
            return f"A{s.v}"

    l = [A(3), A(1), A(2)]
    return (
        sorted(l),
        max(l),
        min(l),
        A(1) <= A(1),
        A(2) > A(1),
        A(1) >= A(2),
        sorted(l, key=lambda a: -a.v),
        sorted(l, key=functools.cmp_to_key(lambda a, b: b.v - a.v)),
        l.sort(),
        l,
        l.index(A(2)),
        l.count(A(1)),
        A(3) in l,
    )


def t_eqhash(i):
    class A:
        def __eq__(s, o):
            return True

    class B:
        def __hash__(s):
            return 1

    r = []
    try:
        {A(): 1}
    except TypeError as e:
        r.append(str(e))
    d = {B(): 1, B(): 2}
    r.append(len(d))
    r.append(A() == 1)
    r.append(1 == A())
    r.append([A()] == [5])
    r.append(A() in [1])
    r.append((A(),) == (3,))
    r.append(A() != 1)
    return r


def t_none_methods(i):
    class A:
        __hash__ = None
        __iter__ = None
        __contains__ = None
        __len__ = None
        __radd__ = None
        __bool__ = None
        __reversed__ = None

        def __getitem__(s, k):
            return 1

    r = []
    for f in (
        lambda: hash(A()),
        lambda: list(A()),
        lambda: 1 in A(),
        lambda: len(A()),
        lambda: 1 + A(),
        lambda: bool(A()),
        lambda: reversed(A()),
        lambda: not A(),
    ):
        try:
            r.append(f())
        except TypeError as e:
            r.append(str(e))
    return r


class CallableDescr:
    def __get__(s, o, t):
        return lambda *a: ("cd", a)


def t_special_odd(i):
    class A:
        __len__ = staticmethod(lambda: 3)
        __add__ = functools.partialmethod(lambda s, a, b: (a, b), 9)
        __call__ = CallableDescr()
        __eq__ = classmethod(lambda c, o: c.__name__)
        __getitem__ = CallableDescr()
        __iter__ = lambda s: iter((1, 2))
        __enter__ = staticmethod(lambda: "ent")
        __exit__ = classmethod(lambda *a: True)
        __contains__ = operator.contains if False else (lambda s, k: k)
        __str__ = CallableDescr().__get__(None, None) and (lambda s: "st")

    a = A()
    with a as e:
        raise KeyError
    return len(a), a + 1, a(5), a == 1, a[3], list(a), e, 7 in a, 0 in a, str(a)


def t_inst_special(i):
    class A:
        pass

    a = A()
    a.__len__ = lambda: 5
    a.__call__ = lambda: 1
    r = []
    for f in (lambda: len(a), lambda: a(), lambda: a.__len__()):
        try:
            r.append(f())
        except TypeError as e:
            r.append(str(e))
    return r


def t_copy(i):
    class A:
        def __init__(s):
            s.l = [1]
            s.me = s

    class C:
        def __copy__(s):
            return "cp"

        def __deepcopy__(s, m):
            return "dcp"

        def __reduce__(s):
            return (int, ("5",))

    class S:
        __slots__ = ("a",)

    a = A()
    b = copy.deepcopy(a)
    c = copy.copy(a)
    s = S()
    s.a = [1]
    s2 = copy.deepcopy(s)
    l = [1, [2]]
    l.append(l)
    m = copy.deepcopy(l)
    return (
        b.me is b,
        b.l is a.l,
        c.l is a.l,
        copy.copy(C()),
        copy.deepcopy([C()]),
        s2.a,
        s2.a is s.a,
        m[2] is m,
        copy.copy({1: [2]}),
        copy.deepcopy((1, [2])),
        copy.replace if False else 0,
    )


def t_funcattr(i):
    def f(a: int, /, b: "str" = 1, *c, d, e=2, **g) -> float:
        "doc"
        x = 1
        return x

    f.z = i
    return (
        f.__name__,
        f.__doc__,
        f.__defaults__,
        f.__kwdefaults__,
        f.__annotations__,
        f.z,
        f.__dict__,
        f.__code__.co_argcount,
        f.__code__.co_varnames,
        f.__closure__,
        f.__module__,
        f.__qualname__,
        f.__code__.co_kwonlyargcount,
        f.__globals__ is globals(),
        callable(f),
        f.__code__.co_name,
    )


def t_closure(i):
    def mk():
        x = i

        def get():
            return x

        def set(v):
            nonlocal x
            x = v

        def dele():
            nonlocal x
            del x

        return get, set, dele

    g, s, d = mk()
    r = [g()]
    s(5)
    r.append(g())
    r.append(g.__closure__[0].cell_contents)
    d()
    try:
        g()
    except NameError as e:
        r.append(str(e))
    fs = [lambda: k for k in range(3)]
    r.append([f() for f in fs])
    fs = [lambda k=k: k for k in range(3)]
    r.append([f() for f in fs])
    return r


def t_delete(i):
    x = 1
    del x
    r = []
    try:
        x
    except UnboundLocalError as e:
        r.append(str(e))
    l = [1, 2, 3, 4]
    del l[0], l[-1]
    d = {1: 2}
    del d[1]
    r += [l, d]
    del l[:]
    r.append(l)
    try:
        del d[5]
    except KeyError as e:
        r.append(repr(e))
    try:
        del l[5]
    except IndexError as e:
        r.append(str(e))
    return r


def t_typecalls(i):
    A = type("A", (), {"x": 1, "f": lambda s: s.x})
    B = types.new_class("B", (A,), {}, lambda ns: ns.update(y=i))
    n = types.SimpleNamespace(a=1)
    n.b = 2
    return (
        A().f(),
        B().y,
        n,
        n == types.SimpleNamespace(a=1, b=2),
        type(A).__name__,
        type(A()).__name__,
        isinstance(A(), (int, A)),
        types.MappingProxyType({"a": 1})["a"],
        type(types.MappingProxyType({})).__name__,
        types.MethodType(lambda s, k: (s, k), 5)(6),
    )


def t_callables(i):
    class A:
        @staticmethod
        def s(x):
            return x

        @classmethod
        def c(cls, x):
            return cls.__name__, x

        def m(self, x=1):
            return x

    a = A()
    p = functools.partial(a.m, 5)
    q = functools.partial(p)
    mg = operator.methodcaller("m", x=3)
    ag = operator.attrgetter("m.__name__", "c")
    return (
        A.s(1),
        a.s(2),
        A.c(3),
        a.c(4),
        A.m(a, 5),
        p(),
        q(),
        mg(a),
        ag(a)[0],
        p.func is a.m,
        p.func == a.m,
        a.m == a.m,
        a.m is a.m,
        A.m is A.m,
        a.m.__self__ is a,
        hash(a.m) == hash(a.m),
        list(map(a.m, [1, 2])),
        functools.reduce(lambda x, y: x * y, [1, 2, 3], i),
        p.args,
        p.keywords,
    )
