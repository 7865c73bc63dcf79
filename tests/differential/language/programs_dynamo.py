# SPDX-License-Identifier: GPL-3.0-or-later
"""Constructs that PyTorch 2.13 traces without a break (an operation before and one after), and those it breaks at without need:
none of them may break here, except where `breaks` says so."""

import abc
import bisect
import collections
import contextlib
import copy
import dataclasses
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
import pickle
import random
import re
import statistics
import struct
import sys
import tempfile
import textwrap
import threading
import types
import typing
import weakref

from cases import table

CASES, case = table()
STATE = {"n": 0}
ITEMS = []
PATTERN = re.compile(r"a(\d)")
THREAD = threading.local()
THREAD.v = 3


def whole(work, breaks=0):
    """A case: an operation, `work(y, n)`, an operation."""

    def f(x, n):
        y = x + 1
        v = work(y, n)
        return y * 2, v

    f.__name__ = work.__name__
    case(breaks=breaks)(f)
    return work


class Thing:
    k = 2

    def __init__(self):
        self.v = 1

    @functools.cached_property
    def lazy(self):
        return 7


THING = Thing()
REF = weakref.ref(THING)


@whole
def os_environ_get(y, n):
    return os.environ.get("HOME", "") is not None


@whole
def os_path(y, n):
    return os.path.join("a", "b"), os.path.basename("/a/b")


@whole
def path_join(y, n):
    return str(pathlib.Path("a") / "b")


@whole
def sys_version(y, n):
    return sys.version_info >= (3, 8), sys.getrecursionlimit() > 10


@whole
def sys_exc_info(y, n):
    return sys.exc_info()[0] is None


@whole
def inspect_signature(y, n):
    return len(inspect.signature(whole).parameters)


@whole
def locals_call(y, n):
    return len(locals()), locals()["n"]


@whole
def dir_call(y, n):
    return "v" in dir(THING)


@whole
def vars_call(y, n):
    return vars(THING)["v"]


@whole
def globals_call(y, n):
    return globals()["STATE"]["n"]


@whole
def re_match(y, n):
    return re.match("a", "abc") is not None


@whole
def re_compile_sub(y, n):
    return re.compile("a").sub("b", "banana")


@whole
def re_global_match(y, n):
    return PATTERN.match("a1").group(1)


@whole
def math_calls(y, n):
    return math.sqrt(2), math.floor(2.5), math.pi, math.gcd(4, 6), math.comb(4, 2), math.prod([2, 3])


@whole
def fractions_calls(y, n):
    return float(fractions.Fraction(1, 2) + 1)


@whole
def struct_pack(y, n):
    return struct.pack("<i", 3)


@whole
def dedent(y, n):
    return textwrap.dedent("  a")


@whole
def operator_calls(y, n):
    return operator.add(1, 2), operator.itemgetter(0)([3]), operator.methodcaller("upper")("a")


@whole
def deepcopy_list(y, n):
    return copy.deepcopy([1, [2]])


@whole
def copy_list(y, n):
    return copy.copy([1, 2]), copy.copy({"a": 1})


@whole
def global_mutation(y, n):
    STATE["n"] += 1
    ITEMS.append(n)
    return len(ITEMS)


@whole
def eval_call(y, n):
    return eval("1 + 2")


@whole
def type_call(y, n):
    T = type("T", (), {"k": 3})
    return T.k, T().k


@whole
def import_inside(y, n):
    import math as m
    from collections import OrderedDict

    return m.pi > 3, len(OrderedDict())


@whole
def hash_id(y, n):
    return hash("a") == hash("a"), id(THING) == id(THING), hash(3)


@whole
def id_of_tensor(y, n):
    return id(y) == id(y)


@whole
def weakref_global(y, n):
    return REF() is THING


@whole
def weakref_local(y, n):
    t = Thing()
    r = weakref.ref(t)
    return r() is t


@whole
def thread_local_read(y, n):
    return THREAD.v


@functools.lru_cache
def cached(a):
    return a * 2


@whole
def lru_cache(y, n):
    return cached(3)


@whole
def reduce_call(y, n):
    return functools.reduce(lambda a, b: a + b, [1, 2, 3])


@whole
def cached_property_read(y, n):
    return Thing().lazy


@whole
def itertools_all(y, n):
    return (list(itertools.chain([1], [2])), list(zip(itertools.count(), "ab")), list(itertools.islice(itertools.cycle([1, 2]), 3)),
            list(itertools.repeat(1, 2)), list(itertools.accumulate([1, 2])), list(itertools.product([1], [2])))


@whole
def itertools_more(y, n):
    return (list(itertools.permutations([1, 2])), list(itertools.combinations([1, 2], 2)), list(itertools.zip_longest([1], [2, 3])),
            list(itertools.starmap(pow, [(2, 3)])), list(itertools.takewhile(lambda a: a < 2, [1, 2])),
            list(itertools.dropwhile(lambda a: a < 2, [1, 2])), list(itertools.filterfalse(None, [0, 1])),
            list(itertools.compress([1, 2], [1, 0])))


@whole
def itertools_rest(y, n):
    a, b = itertools.tee([1, 2])
    return [(k, list(g)) for k, g in itertools.groupby([1, 1, 2])], list(itertools.pairwise([1, 2, 3])), list(a), list(b)


@whole
def combinations_with_replacement(y, n):
    return list(itertools.combinations_with_replacement([1, 2], 2))


@whole
def ordered_dict(y, n):
    d = collections.OrderedDict(a=1)
    d["b"] = 2
    d.move_to_end("a")
    return list(d.items())


@whole
def default_dict(y, n):
    d = collections.defaultdict(list)
    d["a"].append(1)
    return dict(d)


@whole
def counter(y, n):
    c = collections.Counter("aab")
    return c["a"], len(c)


@whole
def counter_most_common(y, n):
    return collections.Counter("aab").most_common(1)


@whole
def deque(y, n):
    d = collections.deque([1, 2])
    d.append(3)
    d.appendleft(0)
    return d.pop(), d.popleft(), len(d)


@whole
def chain_map(y, n):
    c = collections.ChainMap({"a": 1}, {"b": 2})
    return c["b"], len(c)


@whole
def user_dict(y, n):
    d = collections.UserDict(a=1)
    return d["a"]


@whole
def namedtuple_inside(y, n):
    P = collections.namedtuple("P", "a b")
    return P(1, 2).b


@dataclasses.dataclass
class Data:
    a: int = 1
    b: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Ice:
    a: int = 1


@whole
def dataclass_use(y, n):
    d = Data(3)
    return d.a, dataclasses.replace(d, a=5).a, dataclasses.asdict(d), Ice(2).a


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@whole
def enum_use(y, n):
    return Color.RED == Color.RED, Color.RED.value, Color.BLUE.name, [c.value for c in Color], Color(2) is Color.BLUE


class Nt(typing.NamedTuple):
    a: int


@whole
def typing_use(y, n):
    return Nt(3).a, typing.cast(int, 4)


@whole
def mapping_proxy(y, n):
    return types.MappingProxyType({"a": 1})["a"]


class Base(abc.ABC):
    @abc.abstractmethod
    def f(self):
        ...


class Impl(Base):
    def f(self):
        return 5


@whole
def abc_instance(y, n):
    return Impl().f()


class Attr:
    def __getattr__(self, name):
        return len(name)


class Slot:
    __slots__ = ("a",)


@whole
def object_forms(y, n):
    s = Slot()
    s.a = 4
    return Attr().abc, s.a


class Count:
    def __init__(self, k):
        self.k = k

    def __iter__(self):
        return self

    def __next__(self):
        if self.k <= 0:
            raise StopIteration
        self.k -= 1
        return self.k


@whole
def iterator_class(y, n):
    return [v for v in Count(3)]


class MyDict(dict):
    pass


class MyList(list):
    def total(self):
        return sum(self)


class MyInt(int):
    pass


@whole
def dict_subclass(y, n):
    d = MyDict(a=1)
    d["b"] = 2
    return d["a"], len(d)


@whole
def list_subclass(y, n):
    m = MyList([1, 2])
    return m.total(), m[0]


@whole
def int_subclass(y, n):
    return MyInt(3) + 1


@whole
def string_things(y, n):
    return "a,b".split(","), "{} {}".format(1, "a"), "%d %s" % (3, "b"), f"{n:>3}", str(3), "x".upper()


@whole
def numbers(y, n):
    return (1 + 2j).real, divmod(7, 2), round(2.567, 2), abs(-3), pow(2, 3), bin(5), ord("a"), chr(98)


@whole
def temp_dir(y, n):
    return len(tempfile.gettempdir()) > 0


@whole
def exception_forms(y, n):
    out = []
    try:
        raise ValueError("a")
    except ValueError as e:
        out.append(str(e))
    try:
        {}["k"]
    except KeyError as e:
        out.append(repr(e))
    try:
        1 / 0
    except ZeroDivisionError:
        out.append("zero")
    try:
        try:
            raise KeyError("x")
        except KeyError as e:
            raise RuntimeError("y") from e
    except RuntimeError as e:
        out.append(str(e.__cause__))
    return out


@whole
def random_numbers_by_name(y, n):
    return random.randrange(start=0, stop=n + 5), random.randint(1, b=4), random.uniform(b=2.0, a=1), random.randrange(2, 9, step=3), random.gauss(sigma=2, mu=n)


@whole
def random_randint(y, n):
    return random.randint(1, 5) + random.uniform(0, 1) * random.random(), random.gauss(0, n)


@whole
def random_own(y, n):
    return random.Random(0).random()


# --- broken there without need


@whole
def bisect_calls(y, n):
    a = [1, 3]
    bisect.insort(a, 2)
    return a, bisect.bisect([1, 2, 3], 2)


@whole
def heapq_calls(y, n):
    h = [3, 1, 2]
    heapq.heapify(h)
    heapq.heappush(h, 0)
    return heapq.heappop(h), h, heapq.nsmallest(2, [3, 1, 2])


@whole
def hashlib_call(y, n):
    return hashlib.sha256(b"a").hexdigest()


@whole
def json_calls(y, n):
    return json.dumps({"a": [1]}), json.loads('{"a": 1}')


@whole
def pickle_call(y, n):
    return pickle.loads(pickle.dumps([1, 2]))


@whole
def byte_buffers(y, n):
    b = io.BytesIO()
    b.write(b"abc")
    s = io.StringIO()
    s.write("t")
    return b.getvalue(), s.getvalue()


@whole
def bytearrays(y, n):
    b = bytearray(b"ab")
    b[0] = 99
    return len(b), bytes(b), len(memoryview(b"abc"))


@whole
def simple_namespace(y, n):
    s = types.SimpleNamespace(a=1)
    s.b = 2
    return s.a + s.b


@whole
def statistics_mean(y, n):
    return statistics.mean([1, 2, 3])


@whole
def match_on_class(y, n):
    match THING:
        case Thing(v=k):
            return k


@whole
def class_statement(y, n):
    class Local:
        k = 3

        def f(self):
            return self.k

    return Local().f()


@functools.singledispatch
def sd(a):
    return "o"


@sd.register
def _(a: int):
    return "i"


@whole
def singledispatch(y, n):
    return sd(3), sd("a")


@whole
def cmp_to_key(y, n):
    return sorted([2, 1, 3], key=functools.cmp_to_key(lambda a, b: a - b))


@whole
def logger_levels(y, n):
    log = logging.getLogger("breakline.language")
    log.debug("hidden %s", n)
    return log.isEnabledFor(logging.DEBUG)


@whole
def sizes(y, n):
    return sys.getsizeof(3) > 0, os.getpid() > 0, threading.get_ident() > 0, os.path.exists("/")


@whole
def string_template(y, n):
    import string

    return string.Template("$a").substitute(a=1)


@whole
def nested_with(y, n):
    with contextlib.ExitStack() as s:
        s.enter_context(contextlib.nullcontext(3))
        s.callback(ITEMS.append, 5)
    return len(ITEMS)
