# SPDX-License-Identifier: GPL-3.0-or-later
"""Small programs, one construct each. `case(breaks=n)`: at most n places may break."""

import bisect
import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import itertools
import math
import operator
import typing
import weakref

import torch
import torch.nn as nn
import torch.nn.functional as F

CASES = []


def case(function=None, *, breaks=0):
    def note(f):
        CASES.append((f.__name__, f, breaks))
        return f

    return note(function) if function else note


class Manager:
    def __init__(self):
        self.log = []

    def __enter__(self):
        self.log.append("in")
        return 3

    def __exit__(self, *exc):
        self.log.append("out")
        return False


@contextlib.contextmanager
def scope(n):
    yield n + 1


class Box:
    scale = 2

    def __init__(self, v=1):
        self.v = v

    @property
    def twice(self):
        return self.v * 2

    @classmethod
    def make(cls, v):
        return cls(v)

    @staticmethod
    def helper(a, b=2):
        return a * b

    def __call__(self, x):
        return x + self.v

    def __getitem__(self, i):
        return self.v + i

    def __len__(self):
        return 3

    def __contains__(self, i):
        return i == self.v

    def __iter__(self):
        return iter([self.v, 1, 2])

    def __eq__(self, other):
        return isinstance(other, Box) and other.v == self.v

    def __hash__(self):
        return 1

    def __add__(self, other):
        return other + self.v

    __radd__ = __add__


class Child(Box):
    def __init__(self, v):
        super().__init__(v + 1)

    def __call__(self, x):
        return super().__call__(x) * 2


class Slots:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


@dataclasses.dataclass
class Pair:
    a: int
    b: list = dataclasses.field(default_factory=list)

    def total(self):
        return self.a + len(self.b)


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: int = 1


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5


Point = collections.namedtuple("Point", "u v")


class Typed(typing.NamedTuple):
    u: int
    v: int = 3


BOX = Box(4)
SLOTS = Slots(3)
TABLE = {"a": 1, "b": 2}
ITEMS = [1, 2, 3]
COUNT = 0
LINEAR = nn.Linear(3, 3)
LAYERS = nn.ModuleList([nn.Linear(3, 3) for _ in range(2)])


def deco(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return f(*args, **kwargs) + 1

    return wrapper


@deco
def decorated(x, k=2):
    return x * k


def counter(n):
    for i in range(n):
        yield i


@case
def user_manager(x):
    m = Manager()
    with m as k:
        x = x * k
    return x + len(m.log)


@case
def generator_manager(x):
    with scope(2) as k:
        x = x * k
    return x


@case
def null_manager(x):
    with contextlib.nullcontext(2) as k:
        return x * k


@case
def no_grad_block(x):
    with torch.no_grad():
        y = x * 2
    return y + 1


@case
def grad_modes(x):
    with torch.no_grad():
        a = torch.is_grad_enabled()
        with torch.enable_grad():
            b = torch.is_grad_enabled()
    with torch.set_grad_enabled(False):
        c = x * 2
    return x + a + b, c


@case
def comprehension(x):
    return sum([x * i for i in range(3)])


@case
def dict_comprehension(x):
    d = {k: x * v for k, v in TABLE.items()}
    return d["a"] + d["b"]


@case
def set_use(x):
    s = {1, 2, 3} | {4}
    s.add(7)
    return x * len(s) if 7 in s else x


@case
def generator_use(x):
    for i in counter(3):
        x = x + i
    return x


@case
def generator_expression(x):
    return x * sum(i * i for i in range(4)) + any(i > 2 for i in ITEMS)


@case
def closures(x):
    n = 1

    def inc(k):
        nonlocal n
        n += k
        return n

    inc(2)
    return x * inc(3) + n


@case
def lambdas(x):
    f = lambda a, *, b=2: a * b  # noqa: E731
    return f(x) + f(x, b=3)


@case
def star_args(x):
    def g(a, *rest, k=1, **more):
        return a * k + len(rest) + more.get("z", 0)

    args, kwargs = (x, 1, 2), {"k": 3, "z": 4}
    return g(*args, **kwargs)


@case
def unpack(x):
    a, *b, c = [x, 1, 2, 3]
    (d, e), f = (x, 2), 3
    return a * c + len(b) + d * e - f


@case
def unpack_tensor(x):
    a, b, c = x[0]
    return a + b * c


@case
def iterate_tensor(x):
    t = 0
    for row in x:
        t = t + row
    return t


@case
def objects(x):
    b = Box.make(3)
    c = Child(2)
    return b(x) + c(x) + b.twice + Box.helper(2) + b[1] + len(c) + (3 in b) + sum(b) + (b == Box(3)) + b.scale


@case
def reflected(x):
    return 5 + Box(2) + (Box(1) + 3) + x


@case
def live_object(x):
    return BOX(x) + BOX.twice + SLOTS.a


@case
def slots_write(x):
    s = Slots(2)
    s.b = x
    return s.b * s.a


@case
def data_class(x):
    p = Pair(2)
    p.b.append(3)
    q = dataclasses.replace(p, a=5)
    return x * p.total() + q.a + (p == Pair(2, [3])) + Frozen(4).a


@case
def enums(x):
    return x * Color.RED.value + (Color.BLUE is Color.BLUE) + Level.HIGH + (Level.LOW < Level.HIGH) + len(Color.RED.name)


@case
def named_tuples(x):
    p = Point(x, 2)
    u, v = p
    q = Typed(3)
    return p.u * v + q.v + q[0] + p._replace(v=5).v + len(p._asdict())


@case
def partials(x):
    f = functools.partial(torch.add, x, alpha=2)
    g = functools.partial(Box.helper, b=5)
    return f(x) + g(2)


@case
def reduce_map_filter(x):
    t = functools.reduce(lambda a, b: a + b, [x, x, x])
    return t + sum(map(lambda i: i * 2, ITEMS)) + len(list(filter(None, [0, 1, 2])))


@case
def wrapped(x):
    return decorated(x) + decorated(x, k=3)


@case
def iter_tools(x):
    for i, j in itertools.product([1, 2], [3]):
        x = x + i * j
    for k in itertools.chain([1], (2, 3)):
        x = x + k
    return x + len(list(itertools.islice(ITEMS, 2))) + sum(itertools.chain.from_iterable([[1], [2]]))


@case
def more_iter_tools(x):
    a = list(itertools.accumulate([1, 2, 3]))
    b = list(itertools.permutations([1, 2], 2))
    c = list(itertools.combinations([1, 2, 3], 2))
    d = list(itertools.zip_longest([1], [2, 3], fillvalue=0))
    e = list(itertools.pairwise([1, 2, 3]))
    f = [i for i in itertools.takewhile(lambda v: v < 3, [1, 2, 5])]
    return x + a[-1] + len(b) + len(c) + d[1][1] + len(e) + len(f)


@case
def zips(x):
    for i, (a, b) in enumerate(zip([1, 2], (3, 4)), start=1):
        x = x + i * a - b
    for v in reversed([1, 2, 3]):
        x = x * v
    return x


@case
def mins(x):
    return x + min(3, 1, 2) + max([1, 5, 2], key=lambda v: -v) + sum(ITEMS) + abs(-2) + round(2.6) + divmod(7, 2)[1] + pow(2, 3)


@case
def sorts(x):
    a = sorted([3, 1, 2], reverse=True)
    b = [3, 1, 2]
    b.sort(key=lambda v: -v)
    return x + a[0] * 10 + b[0] + sorted(TABLE)[0].count("a")


@case
def strings(x):
    s = f"{x.shape}-{3.14159:.2f}-{'a'!r}" + "b".join(["x", "y"]).upper() + "%d" % 3 + "{}".format(2)
    return x * len(s) if s.startswith("torch") else x


@case
def dict_methods(x):
    d = dict(a=1, **{"b": 2})
    d.setdefault("c", 3)
    d.update({"e": 5}, f=6)
    p = d.pop("a")
    del d["b"]
    return x * p + len(d) + d.get("zz", 7) + sum(d.values()) + ("c" in d) + list(d)[0].count("c") + (d | {"g": 1})["g"]


@case
def list_methods(x):
    v = [1, 2, 3]
    v.append(4)
    v.extend((5, 6))
    v.insert(0, 0)
    v.remove(3)
    v.reverse()
    w = v[1:3] + v[:1] * 2
    v[0:1] = [9, 9]
    del v[0]
    return x + v.pop() + v.index(4) + v.count(2) + len(w) + w[-1] + (5 in v)


@case
def ordered(x):
    d = collections.OrderedDict(a=1)
    d["b"] = x
    d.move_to_end("a")
    return list(d.values())[0] + d.popitem()[1]


@case
def globals_use(x):
    global COUNT
    COUNT = COUNT + 1
    TABLE["n"] = COUNT
    ITEMS.append(COUNT)
    ITEMS.pop()
    return x + (COUNT > 0)


@case
def attributes(x):
    BOX.extra = x
    ok = hasattr(BOX, "extra") and not hasattr(BOX, "missing")
    v = getattr(BOX, "nothing", 3)
    setattr(BOX, "v", 4)
    del BOX.extra
    return x * v + ok


@case
def types_use(x):
    return x * isinstance(x, torch.Tensor) + (type(x) is torch.Tensor) + issubclass(Child, Box) + callable(deco) + isinstance(3, (int, str))


@case
def tensor_facts(x):
    return x * x.shape[0] + x.dim() + x.numel() + (x.dtype == torch.float32) + x.size(-1) + len(x) + x.ndim + x.is_contiguous()


@case
def identity(x):
    y = x
    return x + (y is x) + (x is not None) + (None is None)


@case
def match_int(x):
    n = x.dim()
    match n:
        case 1:
            return x
        case 2 | 3:
            return x + 2
    return x + 9


@case
def walrus(x):
    if (n := x.size(0)) > 1 and 0 < n < 10:
        return x * n
    return x


@case
def while_loop(x):
    i = 0
    while i < 4:
        i += 1
        if i == 2:
            continue
        if i == 4:
            break
        x = x + i
    else:
        x = x * 100
    return x


@case
def finally_block(x):
    try:
        x = x + 1
    finally:
        x = x * 2
    return x


@case
def recursion(x):
    def f(v, n):
        return v if n == 0 else f(v + n, n - 1)

    return f(x, 3)


@case
def imports(x):
    import math as m
    from torch.nn import functional as G

    return G.relu(x) * m.sqrt(4.0) + math.gcd(4, 6) + math.prod([2, 3])


@case
def operators(x):
    return operator.add(x, 1) + operator.itemgetter(1)([1, 2]) + operator.attrgetter("v")(Box(3)) + operator.mul(2, 3)


@case
def modules(x):
    for layer in LAYERS:
        x = F.relu(layer(x))
    return LINEAR(x) + LAYERS[0].weight.sum() + len(LAYERS)


@case
def module_facts(x):
    n = sum(p.numel() for p in LINEAR.parameters())
    names = [k for k, _ in LINEAR.named_parameters()]
    return x * n + len(names) + LINEAR.training


@case
def in_place(x):
    y = x.clone()
    y.add_(1)
    y[0] = 5
    y[:, 1] *= 2
    v = y.view(-1)
    v[0] = 7
    y += 1
    return y, v


@case
def index_ops(x):
    i = torch.tensor([0, 1])
    return x[i] + x[:, None, 0].squeeze(1)[0] + x[..., -1][0] + x[x.size(0) - 1, ::2].sum()


@case
def concat(x):
    return torch.cat([x, x], dim=0).chunk(2)[1] + torch.stack((x, x)).sum(0) + torch.split(x, 1)[0]


@case
def factories(x):
    return x + torch.zeros(3) + torch.ones_like(x) + torch.arange(3) + torch.full((3,), 2.0) + torch.eye(3)


@case
def masks(x):
    return torch.where(x > 0, x, -x) + x.masked_fill(x < 0, 0.5) + (x == 0).float() + ~(x > 0)


@case
def many_outputs(x):
    v, i = x.max(dim=1)
    r = x.sort(dim=0)
    return v + r.values[0] + i, torch.topk(x, 2).indices


@case
def softmaxes(x):
    return F.softmax(x, dim=-1) + F.gelu(x) + torch.sigmoid(x) + F.layer_norm(x, (3,)) + x.softmax(0).log()


@case
def return_structures(x):
    return {"a": [x, (x + 1, None)], "b": Point(1, x)}


@case
def weak(x):
    r = weakref.ref(BOX)
    return x + 1 if r is not None else x


weak_breaks = CASES.pop()
CASES.append((weak_breaks[0], weak_breaks[1], 2))


@case
def copies(x):
    return x + len(copy.copy(ITEMS))


@case
def slices(x):
    s = slice(0, 2)
    return x[s].sum() + x[slice(None), 1] + s.stop


@case
def bisects(x):
    return x + bisect.bisect_left([1, 3, 5], 4)


@case
def conditional_expressions(x):
    a = x if x.dim() == 2 else -x
    b = None or 3
    return a * (b and 2) + (not a.dim())


@case
def exceptions(x):
    try:
        TABLE["missing"]
    except KeyError:
        x = x + 1
    try:
        raise ValueError("no")
    except (TypeError, ValueError) as e:
        x = x + len(str(e))
    try:
        1 / 0
    except ZeroDivisionError:
        x = x * 2
    return x


@case
def next_default(x):
    it = iter([1, 2])
    return x + next(it) + next(it) + next(it, 5)


@case
def typing_use(x):
    y = typing.cast(torch.Tensor, x)
    v: typing.Optional[int] = 3
    return y * v


@case
def assertions(x):
    assert x.dim() == 2, f"bad {x.dim()}"
    return x + 1


@case
def scalars(x):
    return x * 2.5 + 3 // 2 + 7 % 4 - (2**3) / 4 + (-x) + (+x) + (1 << 2)


@case(breaks=1)
def printing(x):
    y = x + 1
    print("shape", y.shape)
    return y * 2


@case(breaks=1)
def branches(x):
    if x.sum() > 0:
        return x + 1
    return x - 1


@case(breaks=1)
def items(x):
    n = (x * 0 + 2).sum().item()
    return x * n
