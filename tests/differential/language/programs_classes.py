# SPDX-License-Identifier: GPL-3.0-or-later
# Long because it is one table of small independent programs.
"""Classes, special methods, descriptors, metaclasses, dataclasses, named tuples, enums."""

import abc
import collections
import copy
import dataclasses
import enum
import functools
import typing
import weakref

from cases import table

CASES, case = table()
LOG = []


class Vec:
    def __init__(self, *v):
        self.v = list(v)

    def __add__(self, o):
        return Vec(*[a + b for a, b in zip(self.v, o.v)])

    def __radd__(self, o):
        return ("radd", o)

    def __iadd__(self, o):
        self.v = [a + o for a in self.v]
        return self

    def __mul__(self, k):
        if not isinstance(k, int):
            return NotImplemented
        return Vec(*[a * k for a in self.v])

    __rmul__ = __mul__

    def __neg__(self):
        return Vec(*[-a for a in self.v])

    def __eq__(self, o):
        return isinstance(o, Vec) and self.v == o.v

    def __hash__(self):
        return hash(tuple(self.v))

    def __lt__(self, o):
        return self.v < o.v

    def __len__(self):
        return len(self.v)

    def __bool__(self):
        return any(self.v)

    def __getitem__(self, i):
        return self.v[i]

    def __setitem__(self, i, k):
        self.v[i] = k

    def __delitem__(self, i):
        del self.v[i]

    def __contains__(self, k):
        return k in self.v

    def __iter__(self):
        return iter(self.v)

    def __reversed__(self):
        return iter(self.v[::-1])

    def __call__(self, k=1):
        return sum(self.v) * k

    def __index__(self):
        return len(self.v)

    def __int__(self):
        return self.v[0]

    def __float__(self):
        return self.v[0] + 0.5

    def __abs__(self):
        return Vec(*[abs(a) for a in self.v])

    def __format__(self, spec):
        return f"<{spec}|{self.v}>"

    def __repr__(self):
        return f"Vec{self.v}"

    def __str__(self):
        return f"vec of {len(self.v)}"

    def __matmul__(self, o):
        return sum(a * b for a, b in zip(self.v, o.v))

    def __enter__(self):
        LOG.append("in")
        return self

    def __exit__(self, *e):
        LOG.append("out")

    def __divmod__(self, k):
        return ("divmod", k)

    def __pow__(self, k, m=None):
        return ("pow", k, m)

    def __round__(self, k=None):
        return ("round", k)

    def __invert__(self):
        return "inverted"

    def __rsub__(self, o):
        return ("rsub", o)


@case
def vector_arithmetic(x, n):
    a, b = Vec(1, 2), Vec(3, n)
    c = a + b
    d = c * 2
    e = 2 * a
    a += 5
    return x * c[0], c.v, d.v, e.v, a.v, (-b).v, a @ b, 1 + a, 5 - a


@case
def vector_compare(x, n):
    a, b = Vec(1, 2), Vec(1, 2)
    return x, a == b, a != b, a is b, a < b, b > a, hash(a) == hash(b), {a: 1}[b], a in [b], [a].index(b), [b, a].count(a)


@case
def vector_container(x, n):
    a = Vec(1, 2, 3)
    a[0] = 9
    del a[1]
    return x * len(a), a.v, 3 in a, list(a), list(reversed(a)), bool(a), bool(Vec(0)), [*a], a[-1], a[0:1]


@case
def vector_conversions(x, n):
    a = Vec(4, 5)
    return x, int(a), float(a), abs(Vec(-1)).v, f"{a:spec}", f"{a!r} {a}", str(a), repr([a]), [10, 20, 30][a], round(a, 2), divmod(a, 3), pow(
        a, 2, 5), ~a, "%s" % a, "{0!r:>10}".format(a), range(a).stop


@case
def vector_calls(x, n):
    a = Vec(1, 2)
    f = a
    with a as b:
        k = b(3)
    return x + f() + k, callable(a), a.__call__(2), Vec.__len__(a)


@case
def unsupported_operand(x, n):
    try:
        return Vec(1) * 1.5
    except TypeError as e:
        return x, str(e)


@case
def tensor_attribute_of_object(x, n):
    class Holder:
        pass

    h = Holder()
    h.t = x
    h.t = h.t * 2
    h.t += 1
    return h.t, vars(h)["t"] is h.t, h


class Temp:
    unit = "C"

    def __init__(self, t):
        self._t = t

    @property
    def t(self):
        return self._t

    @t.setter
    def t(self, v):
        LOG.append(("set", v))
        self._t = v

    @t.deleter
    def t(self):
        LOG.append("del")
        self._t = None

    @classmethod
    def make(cls, v):
        return cls(v * 2)

    @staticmethod
    def double(v):
        return v * 2


class Hot(Temp):
    unit = "H"

    @property
    def t(self):
        return super().t + 100

    @classmethod
    def make(cls, v):
        o = super().make(v)
        o.extra = True
        return o


@case
def properties(x, n):
    a = Temp(1)
    a.t = n + 5
    v = a.t
    del a.t
    return x + v, a._t


@case
def property_without_setter(x, n):
    h = Hot(1)
    try:
        h.t = 3
    except AttributeError as e:
        return x + h.t, str(e)


@case
def class_and_static_methods(x, n):
    return x, Temp.make(3).t, Hot.make(3).t, Hot.double(4), Hot(1).double(3), Hot.make(1).extra, type(Hot.make(1)).__name__


@case
def class_attribute_shadowed(x, n):
    a = Temp(1)
    before = a.unit
    a.unit = "K"
    after = a.unit
    del a.unit
    return x, before, after, a.unit, Temp.unit


@case
def class_attribute_written(x, n):
    Temp.counter = getattr(Temp, "counter", 0) + 1
    return x * Temp.counter


@case
def instance_dict_access(x, n):
    a = Temp(1)
    a.__dict__["z"] = 5
    return x + a.z, sorted(vars(a)), hasattr(a, "z"), "z" in a.__dict__


@case
def setattr_delattr(x, n):
    a = Temp(1)
    setattr(a, "k" + str(n), n)
    got = getattr(a, f"k{n}")
    delattr(a, f"k{n}")
    return x + got, hasattr(a, f"k{n}")


class Lazy:
    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        LOG.append(("getattr", name))
        return len(name)


class Strict:
    def __setattr__(self, name, v):
        LOG.append(("setattr", name))
        object.__setattr__(self, name, v * 2)

    def __delattr__(self, name):
        LOG.append(("delattr", name))
        super().__delattr__(name)


class Watch:
    def __init__(self):
        self.real = 4

    def __getattribute__(self, name):
        if name == "fake":
            return 7
        return object.__getattribute__(self, name)


@case
def dunder_getattr(x, n):
    a = Lazy()
    a.here = 10
    return x + a.abc + a.here, getattr(a, "_hidden", None), hasattr(a, "_x"), hasattr(a, "ok")


@case
def dunder_setattr(x, n):
    a = Strict()
    a.v = n + 1
    v = a.v
    del a.v
    return x + v, hasattr(a, "v")


@case
def dunder_getattribute(x, n):
    w = Watch()
    return x + w.fake + w.real


class Typed:
    def __init__(self, kind):
        self.kind = kind

    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, obj, cls=None):
        if obj is None:
            return self
        return getattr(obj, self.name, 0)

    def __set__(self, obj, v):
        if not isinstance(v, self.kind):
            raise TypeError(f"{self.name} needs {self.kind.__name__}")
        setattr(obj, self.name, v)


class Plain:
    def __get__(self, obj, cls):
        return ("plain", obj is None, cls.__name__)


class Field:
    a = Typed(int)
    p = Plain()


@case
def descriptors(x, n):
    f = Field()
    f.a = n + 3
    try:
        f.a = "no"
    except TypeError as e:
        text = str(e)
    f.__dict__["p"] = "shadow"
    return x + f.a, text, f.p, Field.p, type(Field.a).__name__


class Slots:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


@case
def slots(x, n):
    s = Slots(2)
    s.b = x
    out = []
    try:
        s.c = 1
    except AttributeError as e:
        out.append(str(e))
    del s.a
    try:
        s.a
    except AttributeError as e:
        out.append(str(e))
    return s.b + 1, out


class A:
    def who(self):
        return ["A"]

    def __init__(self):
        self.log = ["A"]


class B(A):
    def who(self):
        return ["B"] + super().who()

    def __init__(self):
        super().__init__()
        self.log.append("B")


class C(A):
    def who(self):
        return ["C"] + super(C, self).who()

    def __init__(self):
        super(C, self).__init__()
        self.log.append("C")


class D(B, C):
    def who(self):
        f = super().who
        return ["D"] + f()

    @classmethod
    def name(cls):
        return cls.__name__


@case
def super_forms(x, n):
    d = D()
    return x * len(d.who()), d.who(), d.log, super(D, d).who(), D.name(), [c.__name__ for c in D.__mro__], d.__class__.__name__


class Meta(type):
    def __call__(cls, *args):
        LOG.append(("meta", cls.__name__))
        o = super().__call__(*args)
        o.tagged = True
        return o

    def __getitem__(cls, k):
        return (cls.__name__, k)

    def __len__(cls):
        return 42

    @property
    def shout(cls):
        return cls.__name__.upper()

    def __instancecheck__(cls, o):
        return hasattr(o, "duck") or type.__instancecheck__(cls, o)


class Tagged(metaclass=Meta):
    def __init__(self, v=0):
        self.v = v


class Singleton(type):
    made = {}

    def __call__(cls, *a):
        if cls not in cls.made:
            cls.made[cls] = super().__call__(*a)
        return cls.made[cls]


class Only(metaclass=Singleton):
    def __init__(self):
        self.calls = 0


@case
def metaclass_call(x, n):
    t = Tagged(3)
    return x + t.v, t.tagged, Tagged["k"], len(Tagged), Tagged.shout, isinstance(Lazy(), Tagged)


@case
def metaclass_singleton(x, n):
    a, b = Only(), Only()
    a.calls += 1
    return x * a.calls, a is b


class Pool:
    free = []

    def __new__(cls, *a):
        if cls.free:
            return cls.free.pop()
        return super().__new__(cls)

    def __init__(self, v):
        self.v = v


@case
def custom_new(x, n):
    p = Pool(n)
    Pool.free.append(p)
    q = Pool(5)
    return x + q.v, p is q


class NotMine:
    def __new__(cls, v):
        return [v, v]


class IntLike(int):
    def __new__(cls, v):
        return super().__new__(cls, v * 2)

    def half(self):
        return self // 2


class MyList(list):
    def total(self):
        return sum(self)

    def append(self, v):
        LOG.append(("append", v))
        super().append(v)


class MyDict(dict):
    def __missing__(self, k):
        self[k] = len(k)
        return self[k]

    def __getattr__(self, k):
        try:
            return self[k]
        except KeyError:
            raise AttributeError(k)


class Text(str):
    def shout(self):
        return self.upper() + "!"


@case
def new_returns_other(x, n):
    return x, NotMine(3)


@case
def int_subclass(x, n):
    i = IntLike(n + 2)
    return x + i, i.half(), i + 1, type(i + 1).__name__, type(i).__name__, i


@case
def list_subclass(x, n):
    m = MyList([1, 2])
    m.append(3)
    m.extend([4])
    m[0] = 10
    m += [6]
    return x * m.total(), m, len(m), m[1:], type(m[1:]).__name__, sorted(m), isinstance(m, list)


@case
def dict_subclass(x, n):
    d = MyDict(a=1)
    d["b"] = 2
    return x + d.a + d["zzz"], d, d.get("nope"), list(d), "zzz" in d


@case
def str_subclass(x, n):
    t = Text("abc")
    return x, t.shout(), t + "d", type(t + "d").__name__, t == "abc", {t: 1}["abc"]


class Sized(abc.ABC):
    @abc.abstractmethod
    def size(self):
        ...

    @classmethod
    def __subclasshook__(cls, c):
        return hasattr(c, "size") or NotImplemented


class Real(Sized):
    def size(self):
        return 3


class Duck:
    def size(self):
        return 4


@case
def abstract_classes(x, n):
    try:
        Sized()
    except TypeError as e:
        text = str(e)
    return x + Real().size(), isinstance(Duck(), Sized), issubclass(int, Sized), text


@case
def abc_of_collections(x, n):
    return x, isinstance([], collections.abc.Sequence), isinstance({}, collections.abc.Mapping), isinstance(
        Vec(1), collections.abc.Iterable), isinstance(len, collections.abc.Callable), issubclass(set, collections.abc.Set), isinstance(
            3, (int, str)), isinstance("a", int | str)


@dataclasses.dataclass
class Point:
    x: float
    y: float = 2.0
    tags: list = dataclasses.field(default_factory=list)
    norm: float = dataclasses.field(init=False, default=0.0)

    def __post_init__(self):
        self.norm = self.x + self.y


@dataclasses.dataclass(frozen=True, order=True)
class Frozen:
    a: int
    b: str = "b"


@dataclasses.dataclass(slots=True, kw_only=True)
class Kw:
    a: int
    b: int = 5


@dataclasses.dataclass
class Child(Point):
    z: float = 3.0

    @property
    def total(self):
        return self.x + self.z


@case
def dataclass_made(x, n):
    p = Point(1.0)
    p.tags.append(n)
    q = Point(1.0, tags=[n])
    return x * p.norm, p == q, p, repr(q), dataclasses.asdict(q), dataclasses.astuple(q)


@case
def dataclass_frozen(x, n):
    f = Frozen(n)
    try:
        f.a = 3
    except dataclasses.FrozenInstanceError as e:
        text = str(e)
    return x + f.a, text, f < Frozen(9), hash(f) == hash(Frozen(n)), dataclasses.replace(f, b="z"), {f: 1}[Frozen(n)], sorted(
        [Frozen(2), Frozen(1)])


@case
def dataclass_with_tensor(x, n):
    p = Point(x, x * 2)
    c = dataclasses.replace(p, y=x)
    return p.norm, c.norm, [f.name for f in dataclasses.fields(p)]


@case
def dataclass_keywords(x, n):
    k = Kw(a=n)
    try:
        Kw(3)
    except TypeError as e:
        text = str(e)
    return x + k.b, k, text, Child(1.0, z=9.0).total, dataclasses.is_dataclass(k)


@case
def dataclass_made_inside(x, n):
    @dataclasses.dataclass
    class Local:
        v: int
        w: list = dataclasses.field(default_factory=lambda: [1])

    a = Local(n)
    a.w.append(2)
    return x + a.v, a.w, Local(1) == Local(1)


Pt = collections.namedtuple("Pt", "a b c", defaults=[7])


class Nt(typing.NamedTuple):
    v: typing.Any
    k: int = 3

    def both(self):
        return self.v * self.k


@case
def named_tuples(x, n):
    p = Pt(1, b=2)
    a, b, c = p
    t = Nt(x)
    return t.both(), p, p.c, p._replace(a=n), p._asdict(), Pt._make([1, 2, 3]), p == (1, 2, 7), len(p), p[1:], t._fields, p + (1,), isinstance(
        p, tuple), hash(p) == hash((1, 2, 7))


@case
def named_tuple_errors(x, n):
    out = []
    for f in (lambda: Pt(1), lambda: Pt(1, 2, 3, 4), lambda: Pt(1, 2, d=4), lambda: setattr(Pt(1, 2), "a", 3)):
        try:
            f()
        except (TypeError, AttributeError) as e:
            out.append(str(e))
    return x, out


class Color(enum.Enum):
    RED = 1
    BLUE = "b"

    @property
    def low(self):
        return self.name.lower()

    @classmethod
    def default(cls):
        return cls.RED


class Bits(enum.IntFlag):
    R = 1
    W = 2
    X = 4


class Num(enum.IntEnum):
    ONE = 1
    TWO = 2


class Auto(enum.StrEnum):
    UP = enum.auto()
    DOWN = enum.auto()


@case
def enums(x, n):
    return x, Color.RED.value, Color("b").name, Color["RED"] is Color.RED, list(Color), Color.BLUE.low, Color.default() == Color.RED, {
        Color.RED: 1}[Color.RED], Color.RED in Color, len(Color), repr(Color.RED), isinstance(Color.RED, Color)


@case
def enum_flags(x, n):
    b = Bits.R | Bits.X
    return x + int(b), Bits.R in b, Bits.W in b, b & Bits.R, ~b & Bits.W, b ^ Bits.R, Num.TWO + 1, Num(1) == 1, f"{Auto.UP}", Num.ONE < Num.TWO


@case
def enum_missing(x, n):
    try:
        Color(99)
    except ValueError as e:
        return x, str(e)


@case
def enum_as_branch(x, n):
    kind = list(Color)[n % 2]
    if kind is Color.RED:
        return x + 1
    return x - 1


@case(breaks=1)
def class_statement(x, n):
    class Local:
        k = n

        def go(self, v):
            return v * self.k

    return Local().go(x)


@case(breaks=2)
def class_with_closure_and_bases(x, n):
    class Base:
        def __init_subclass__(cls, tag=None, **kw):
            cls.tag = tag

    class Local(Base, tag="t"):
        y = [i for i in range(3)]

        def go(self):
            return x * 2, __class__.__name__

    return Local().go(), Local.tag, Local.y, Local.__qualname__


@case(breaks=1)
def class_decorated(x, n):
    def deco(cls):
        cls.extra = 5
        return cls

    @deco
    class Local:
        pass

    return x + Local.extra


@case
def type_three_arguments(x, n):
    T = type("T", (), {"k": 3, "go": lambda self, v: v * self.k})
    return T().go(x), T.__name__


class Lower:
    @functools.cached_property
    def heavy(self):
        LOG.append("computed")
        return 6


@case
def cached_property(x, n):
    a = Lower()
    return x + a.heavy + a.heavy, "heavy" in vars(a)


@functools.total_ordering
class Ver:
    def __init__(self, v):
        self.v = v

    def __eq__(self, o):
        return self.v == o.v

    def __lt__(self, o):
        return self.v < o.v


@case
def total_ordering(x, n):
    return x, Ver(1) <= Ver(2), Ver(1) > Ver(0), Ver(1) >= Ver(1), max(Ver(1), Ver(3)).v, sorted([Ver(3), Ver(1)])[0].v


class Copied:
    def __init__(self, v):
        self.v = v
        self.items = [v]

    def __copy__(self):
        LOG.append("copy")
        return Copied(self.v + 1)


@case
def copies(x, n):
    a = {"k": [1, [2]], "t": (1, 2)}
    b = copy.copy(a)
    c = copy.deepcopy(a)
    b["k"][1].append(3)
    o = Temp([1])
    p = copy.copy(o)
    q = copy.deepcopy(o)
    q._t.append(2)
    return x, a, c, p._t is o._t, o._t, q._t, copy.copy(Copied(1)).v


@case
def deepcopy_memo(x, n):
    shared = [1]
    d = {"a": shared, "b": shared}
    e = copy.deepcopy(d)
    e["a"].append(2)
    loop = []
    loop.append(loop)
    m = copy.deepcopy(loop)
    return x, e, m[0] is m


@case
def deepcopy_of_tensors(x, n):
    d = {"t": x, "u": [x]}
    e = copy.deepcopy(d)
    e["t"].add_(1)
    return x, e["u"][0] is e["t"], e["t"]


GLOBAL = Temp(5)


@case(breaks=1)
def weak_references(x, n):
    r = weakref.ref(GLOBAL)
    return x + r().t, r() is GLOBAL


@case
def identity_of_methods(x, n):
    t = Temp(1)
    m = t.make
    return x, t.make == t.make, t.make is t.make, m.__self__ is Temp, m.__func__.__name__, Temp.double is Temp.double


@case
def method_stored(x, n):
    v = Vec(1, 2)
    f = v.__call__
    g = v.v.append
    g(3)
    h = Vec.__add__
    return x + f(2), h(v, v).v


@case
def callable_attribute(x, n):
    t = Temp(1)
    t.f = lambda v: v + 10
    return t.f(x)


@case
def class_identity(x, n):
    d = D()
    return x, type(d) is D, isinstance(d, A), issubclass(D, (B, int)), d.__class__ is D, D.__bases__ == (B, C), type(D) is type, type(Tagged) is Meta


@case
def change_class(x, n):
    d = B()
    d.__class__ = C
    return x, d.who()


@case
def class_getitem(x, n):
    class G:
        def __class_getitem__(cls, k):
            return (cls.__name__, k)

    return x, G[3], list[int], dict[str, int] == dict[str, int]


class Counted:
    live = 0

    def __init__(self):
        Counted.live += 1

    def __del__(self):
        Counted.live -= 1
        LOG.append("dropped")


@case(breaks=3)
def finalizers(x, n):
    c = Counted()
    a = Counted.live
    del c
    LOG.append("after")
    return x + a, Counted.live


@case
def dir_vars(x, n):
    t = Temp(1)
    t.zz = 2
    return x, vars(t), "zz" in dir(t), sorted(k for k in dir(t) if not k.startswith("_"))


@case
def repr_default(x, n):
    return x, repr(Temp).startswith("<class"), object() == object(), repr(Point(1.0, 2.0))


@case
def mutual_objects(x, n):
    a, b = Temp(1), Temp(2)
    a.other, b.other = b, a
    a.other.other.mark = 3
    return x + a.mark, a.other.other is a


@case
def object_cycle_returned(x, n):
    a = Temp(x)
    a.me = a
    return a.me.me is a, a.t


@case
def operator_fallback(x, n):
    class L:
        def __add__(self, o):
            return NotImplemented

        def __eq__(self, o):
            return NotImplemented

    class R:
        def __radd__(self, o):
            return "r"

    class S(L):
        def __radd__(self, o):
            return "s"

    return x, L() + R(), L() + S(), L() == L(), L() != R()


@case
def tensor_in_object_operators(x, n):
    class W:
        def __init__(self, t):
            self.t = t

        def __add__(self, o):
            return W(self.t + (o.t if isinstance(o, W) else o))

        def __rmul__(self, o):
            return W(o * self.t)

        def __getattr__(self, name):
            return getattr(self.t, name)

    w = W(x) + W(x) + 1
    return (2 * w).t, w.shape, w.sum()


@case
def bool_and_len_truth(x, n):
    class E:
        def __len__(self):
            return 0

    class F:
        def __bool__(self):
            return False

    return x, bool(E()), not F(), E() or 3, F() and 4, [] or "e", 1 if E() else 2


@case
def bad_bool(x, n):
    class F:
        def __bool__(self):
            return 3

    try:
        return x, not F()
    except TypeError as e:
        return x, str(e)


@case
def bad_len_and_index(x, n):
    class F:
        def __len__(self):
            return -1

        def __index__(self):
            return "a"

    out = []
    for f in (lambda: len(F()), lambda: [1][F()], lambda: range(F())):
        try:
            f()
        except (TypeError, ValueError) as e:
            out.append(str(e))
    return x, out


@case
def init_returns_value(x, n):
    class F:
        def __init__(self):
            return 3

    try:
        F()
    except TypeError as e:
        return x, str(e)


@case
def attribute_errors(x, n):
    out = []
    for f in (lambda: Temp(1).nope, lambda: Temp.nope, lambda: (3).nope, lambda: setattr(3, "a", 1), lambda: delattr(Temp(1), "q")):
        try:
            f()
        except AttributeError as e:
            out.append(str(e))
    return x, out


class Chain:
    def __init__(self):
        self.ops = []

    def __getattr__(self, name):
        def f(*a):
            self.ops.append((name, a))
            return self

        return f


@case
def fluent(x, n):
    c = Chain()
    c.a(1).b().c(n)
    return x + len(c.ops), c.ops


@case
def private_names(x, n):
    class P:
        def __init__(self):
            self.__hid = 4

        def get(self):
            return self.__hid

    p = P()
    return x + p.get(), vars(p)


@case
def multiple_inheritance_of_dict(x, n):
    class Mix:
        def twice(self):
            return {k: v * 2 for k, v in self.items()}

    class MD(Mix, dict):
        pass

    m = MD(a=n)
    m.update(b=2)
    return x, m.twice(), m


class Axis(enum.IntEnum):
    ROW = 0
    COL = 1
    LONG = 7


class Mark(str, enum.Enum):
    A = "a"


class Owned(enum.IntEnum):
    P = 3

    def __add__(self, other):
        return "own", other

    __radd__ = __add__


@case
def enum_members_as_numbers(x, n):
    tensors = x * Axis.LONG, Axis.LONG * x, x + Owned.P, x.view(1, 3).sum(dim=Axis.COL), x[Axis.COL], torch.zeros(Axis.LONG).shape
    plain = Axis.LONG + 1, n - Axis.LONG, Axis.LONG / 2, 2**Axis.COL, type(Axis.LONG + Axis.COL).__name__, -Axis.LONG, [0] * Axis.LONG
    return tensors, plain, Mark.A + "x", "y" + Mark.A, Mark.A * 2, Owned.P + 1, 1 + Owned.P, [1, 2][Axis.COL], list(range(Axis.LONG))


class AttributeDict(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__
    __delattr__ = dict.__delitem__


KEPT_DICT = AttributeDict(z=1)


@case
def dict_methods_as_attribute_methods(x, n):
    d = AttributeDict(a=n)
    d.b = x
    d.c = AttributeDict()
    d.c.k = n + 1
    del d.a
    kept = KEPT_DICT
    kept.n = n
    said = []
    for attempt in (lambda: d.nope, lambda: kept.nope, lambda: hasattr(d, "nope"), lambda: delattr(d, "nope")):
        try:
            attempt()
        except KeyError as e:
            said.append(e.args)
    return d.b * d.c.k, sorted(d), d.c, dict(kept), hasattr(kept, "n"), said


class Refuses:
    __contains__ = __reversed__ = __len__ = None

    def __iter__(self):
        return iter([1, 2])

    def __or__(self, other):
        return "or"


class RefusesMore(Refuses):
    __ror__ = __add__ = __lt__ = __call__ = __getitem__ = None


@case
def special_methods_that_are_none(x, n):
    r, said = RefusesMore(), []
    for attempt in (lambda: 1 in r, lambda: reversed(r), lambda: len(r), lambda: Refuses() | r, lambda: r | 1, lambda: r + 1, lambda: r < r, lambda: r(), lambda: r[0], lambda: list(r)):
        try:
            said.append(attempt())
        except TypeError as e:
            said.append(str(e))
    return x + 1, said


@case
def ordered_things(x, n):
    od = collections.OrderedDict(a=1, b=2)
    od.move_to_end("a")
    od["c"] = 3
    first = od.popitem(last=False)
    dd = collections.defaultdict(list)
    dd["k"].append(1)
    dd["k"].append(2)
    ct = collections.Counter("hello")
    ct.update("l")
    cm = collections.ChainMap({"a": 1}, {"a": 2, "b": 3})
    dq = collections.deque([1, 2, 3], maxlen=3)
    dq.append(4)
    dq.appendleft(0)
    dq.rotate(1)
    return x, od, first, dd, ct.most_common(2), ct["z"], cm["a"], cm["b"], list(cm), dq, dq[0], dq.popleft(), list(dq)


def classes_that_use_what_is_outside():
    log = []

    def statement(x, n):
        class Local:
            def note(self):
                log.append(n)
                return len(log)

        log.clear()
        return x + Local().note(), list(log)

    def call(x, n):
        made = type("Made", (), {"note": lambda self: log.append("made")})
        log.clear()
        made().note()
        return x + 1, list(log)

    return statement, call


for outside in classes_that_use_what_is_outside():
    case(outside)


class Weak:
    def __init__(self, v=1):
        self.v = v


@case
def weak_reference_to_made(x, n):
    o = Weak(n)
    r = weakref.ref(o)
    o.back = r
    held = [o]

    def through():
        return r().v

    alive = r() is o
    del o
    return x + through(), alive, r() is held[0], held[0].back() is held[0], isinstance(r, weakref.ref)


@case(breaks=2)
def weak_reference_dies(x, n):
    o = Weak()
    r = weakref.ref(o)
    alive = r() is o
    del o
    x = x + 1
    gone = r()
    p = Weak()
    p.me = p
    q = weakref.ref(p)
    del p
    return x * 2, alive, gone, q() is None


@case(breaks=4)
def weak_reference_and_holders(x, n):
    out = []
    o = Weak()
    r = weakref.ref(o)
    over = iter([o])
    del o
    out.append(r() is not None)
    for last in over:
        pass
    del last
    out.append(r())  # the iterator has let go of its list
    o = Weak()
    r = weakref.ref(o)
    LOG.append(o)
    del o
    out.append(r() is LOG[-1])
    LOG.clear()
    out.append(r())
    return x + 1, out


@case(breaks=1)
def weak_reference_from_a_call(x, n):
    def make():
        o = Weak()
        return weakref.ref(o)

    return x + 1, make()()


class Slots:
    __slots__ = ("a", "b")

    def __init__(self):
        self.a, self.b = 1, 2


SLOTTED = Slots()


@case
def slot_deleted(x, n):
    return with_slots(x, SLOTTED)


def with_slots(x, s):
    s.a = n = 3
    del s.a
    gone = hasattr(s, "a"), getattr(s, "a", None)
    try:
        s.a
    except AttributeError as e:
        text = str(e)
    s.a = n + 1
    del s.b
    s.b = x
    return x + s.a, gone, text, s.b


@case
def slot_stays_deleted(x, n):
    s = SLOTS_GIVEN[n % 2]
    s.a = 1
    del s.a
    return x + s.b, hasattr(s, "a")


SLOTS_GIVEN = [Slots(), Slots()]
