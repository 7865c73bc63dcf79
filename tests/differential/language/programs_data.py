# SPDX-License-Identifier: GPL-3.0-or-later
# Long because it is one table of small independent programs.
"""Numbers, text, containers, match, formatting, standard modules."""

import bisect
import collections
import copy
import functools
import heapq
import inspect
import json
import math
import operator
import re
import string
import types
import typing

from cases import table

CASES, case = table()
LOG = []


@case
def big_integers(x, n):
    k = 2 ** 62 + n
    return x, k * 4, -k // 3, k % 7, k ** 3, (1 << 70) >> 65, -7 // 2, -7 % 3, 7 // -2, divmod(-7, 2), (-5).bit_length(), int("ff", 16), 10**20 // 3


@case
def float_things(x, n):
    return x, 0.1 + 0.2, 7.5 // 2, -7.5 % 2, float("inf"), float("-0"), (1e308 * 10), 2.5.is_integer(), (0.5).as_integer_ratio(), round(2.5), round(
        2.675, 2), int(-3.7), 1e16 + 1, 5 / 2, 3.0 == 3, math.nan != math.nan, (2.0).hex()


@case
def zero_signs(x, n):
    z = -0.0
    return x * z, z, z + 0.0, -z, abs(z), math.copysign(1, z), 0.0 == z, str(z), [0.0, z], {0.0: "a"}[z]


@case
def float_keys_mixed(x, n):
    v = [0.0, -0.0, 1, True, 1.0][n % 5]
    return x * v, v


@case
def complex_things(x, n):
    c = 3 + 4j
    return x, abs(c), c.conjugate(), c * 2, c == 3 + 4j, c.real, complex("1+2j"), c ** 2, -c


@case
def bool_things(x, n):
    return x, True + True, True & False, True | 2, not 0, bool([]), ~True, isinstance(True, int), [1, 2][True], sum([True, False])


@case
def bit_things(x, n):
    return x, 5 & 3, 5 | 3, 5 ^ 3, ~5, 5 << 2, 5 >> 1, bin(5), hex(255), oct(8), (255).to_bytes(2, "big"), int.from_bytes(b"\x01\x00", "little"), (13).bit_count()


@case
def chained_comparison(x, n):
    def f(v):
        LOG.append(v)
        return v

    return x, 1 < 2 < 3, f(1) < f(3) < f(2) < f(9), 1 < n < 3, 3 > 2 >= 2 != 1, 1 == 1.0 == True


@case
def boolean_operators(x, n):
    def f(v):
        LOG.append(v)
        return v

    return x, f(0) or f(3) or f(4), f(1) and f(0) and f(5), not (f(0) or f(0)), [] or {} or None, (f(2) if n else f(3))


@case
def string_methods(x, n):
    s = "Hello, World"
    return x, s.upper(), s.split(", "), s.replace("l", "L", 1), s.find("World"), s[::-1], s[1:5:2], "-".join("abc"), s.center(20, "*"), s.startswith(
        ("He", "x")), s.partition(","), " a b ".strip(), "a\nb".splitlines(), s.count("l"), s.index("o"), "abc".zfill(5), s.swapcase(), s.title(), "%d" % 3, "x".isalpha(
    ), s.encode(), "é".encode("utf-8"), s.translate(str.maketrans("l", "1")), "a,b,,c".rsplit(",", 1), "TeSt".casefold(), "abc" < "abd", "b" in "abc", "ab" * 3, ord("a"), chr(98), "\u00e9" == "é"


@case
def string_building(x, n):
    s = ""
    for i in range(4):
        s += str(i)
    parts = []
    parts.append(f"{n}")
    parts.append(s)
    return x, "".join(parts), s.join(["a", "b"])


@case
def f_strings(x, n):
    v, w = 3.14159, "text"
    d = {"k": 1}
    return x, f"{v:.2f} {w!r:>10} {n:03d} {n=} {d['k']} {v:{8}.{3}} {{}} {w[0]}{'nested ' + f'{n + 1}'} {1_000_000:,} {0.25:%} {255:#x} {-3:+d} {w:^9}|"


@case
def formats(x, n):
    return x, "{} {1}".replace("{1}", "") .format(1), "{0} {a} {b[0]} {c.real}".format(1, a=2, b=[3], c=4), "%s %5.2f %-5s| %(k)s" .replace("%(k)s", "") % (
        1, 2.5, "a"), "%(k)s %(v)d" % {"k": 1, "v": 2}, format(3.5, ".1f"), "{:>5}|{:<5}|{:^5}".format(1, 2, 3), "{!r}".format("a"), string.Template(
            "$a b").substitute(a=1), format(n, "b")


@case
def format_shape(x, n):
    return x, f"{x.shape} {x.dtype} {x.dim()} {tuple(x.shape)} {x.size(0)}"


@case
def bytes_things(x, n):
    b = b"abc"
    return x, b[0], b[1:], b + b"d", b.decode(), list(b), b.hex(), bytes([1, 2]), b"a" in b, b.upper(), b.split(b"b"), b == b"abc"


@case
def bytearray_things(x, n):
    b = bytearray(b"abc")
    b[0] = 65
    b.append(100)
    m = memoryview(b)
    return x, bytes(b), m[1], len(m), bytes(m[1:3])


@case
def list_methods(x, n):
    a = [3, 1, 2]
    a.append(4)
    a.insert(1, 9)
    a.extend((7, 8))
    p = a.pop()
    q = a.pop(0)
    a.remove(9)
    i = a.index(2)
    c = a.copy()
    a.reverse()
    c.sort(reverse=True)
    a[1:3] = [10, 11, 12]
    a[::2] = [0] * len(a[::2])
    del a[-1]
    b = a * 2
    b += [1]
    b *= 2
    a.clear()
    return x, p, q, i, c, a, b, [1, 2] == [1, 2], [1, 2] < [1, 3], [[0] * 2 for _ in range(2)]


@case
def list_aliasing(x, n):
    a = [[0] * 2] * 2
    a[0][0] = 5
    b = a
    b += [1]
    c = a[:]
    c.append(2)
    return x, a, b is a, c


@case
def slice_deletion(x, n):
    a = list(range(10))
    del a[2:4]
    del a[::3]
    s = slice(1, None, 2)
    return x, a, a[s], s.indices(5), "abcdef"[s], s.start, (1, 2, 3, 4)[s]


@case
def tuple_things(x, n):
    t = (1, [2], "c")
    t[1].append(3)
    u = t + (4,)
    return x, u, t * 2, t.count(1), t.index("c"), t < (2,), hash((1, 2)) == hash((1, 2)), len(u), u[-1], t[1:], () == tuple(), (x, 1)[1]


@case
def dict_methods(x, n):
    d = {"a": 1, "b": 2}
    d["c"] = 3
    d.update(d=4, a=10)
    d.update([("e", 5)])
    p = d.pop("b")
    q = d.pop("zz", None)
    s = d.setdefault("f", []).append(1)
    last = d.popitem()
    e = d | {"a": 0}
    d |= {"g": 7}
    keys = list(d.keys())
    return x, d, p, q, s, last, e, keys, d.get("a"), d.get("q", 9), "a" in d, len(d), list(d.items())[0], {**d}, dict(a=1) == {"a": 1}, dict.fromkeys(
        "ab", 0), d.keys() & {"a", "zz"}, list(reversed(d)), d.items() >= {("a", 10)}, sorted(d.values())


@case
def dict_order(x, n):
    d = {}
    d["b"] = 1
    d["a"] = 2
    d["b"] = 3
    del d["b"]
    d["b"] = 4
    return x, list(d), d


@case
def dict_odd_keys(x, n):
    d = {1: "int", (1, 2): "t", None: "n", 2.5: "f", "s": "s", True: "b"}
    return x, d, d[1.0], d[1, 2], d[None], len(d)


@case
def dict_with_object_keys(x, n):
    class K:
        pass

    a, b = K(), K()
    d = {a: 1, b: 2}
    d[a] += 5
    return x, d[a], d[b], a in d, K() in d


@case
def dict_tensor_values(x, n):
    d = {"a": x, "b": x * 2}
    d["a"] = d["a"] + d["b"]
    d["c"] = d.pop("b")
    total = 0
    for k, v in d.items():
        total = total + v
    return total, d


@case
def unhashable(x, n):
    out = []
    for k in ([1], {}, {1}):
        try:
            {k: 1}
        except TypeError as e:
            out.append(str(e))
    return x, out


@case
def set_things(x, n):
    a, b = {1, 2, 3}, {2, 3, 4}
    c = set(a)
    c.add(9)
    c.discard(1)
    c.remove(2)
    c |= {7}
    c -= {9}
    return x, a & b, a | b, a - b, a ^ b, c, a < {1, 2, 3, 4}, a.isdisjoint({9}), frozenset([1, 2]), 2 in a, len(a), sorted(
        a.union([8])), a == {3, 2, 1}, a.issubset(b), {1} <= a, sorted({i % 3 for i in range(9)}), set("hello") == set("ohell")


@case
def set_pop_missing(x, n):
    s = {1}
    try:
        s.remove(5)
    except KeyError as e:
        return x, e.args, s.pop()


@case
def match_values(x, n):
    def m(v):
        match v:
            case 0:
                return "zero"
            case 1 | 2:
                return "small"
            case int(k) if k > 100:
                return ("big", k)
            case str():
                return "text"
            case None | True:
                return "single"
            case -1.5:
                return "f"
            case _:
                return "other"

    return x, [m(v) for v in (0, 1, 2, 500, "a", None, True, 50, -1.5, [])]


@case
def match_sequences(x, n):
    def m(v):
        match v:
            case []:
                return "empty"
            case [a]:
                return ("one", a)
            case [1, *rest]:
                return ("starts", rest)
            case (a, b, [c, *_]):
                return (a, b, c)
            case [*_, "end"]:
                return "end"
            case "abc":
                return "never a sequence"
            case _:
                return "none"

    return x, [m(v) for v in ([], [5], [1, 2, 3], (2, 3, [4, 5]), [0, 0, 0, "end"], "abc", 7, range(1))]


@case
def match_mappings(x, n):
    def m(v):
        match v:
            case {"kind": "a", "v": k}:
                return ("a", k)
            case {"kind": str(k), **rest}:
                return (k, rest)
            case {}:
                return "any map"

    return x, [m(v) for v in ({"kind": "a", "v": 3}, {"kind": "b", "z": 1}, {"q": 1}, [])]


class P:
    __match_args__ = ("a", "b")

    def __init__(self, a, b):
        self.a, self.b = a, b


class Q(P):
    pass


@case
def match_classes(x, n):
    def m(v):
        match v:
            case Q(a=0):
                return "q0"
            case P(1, b):
                return ("p1", b)
            case P(a, P(c, d)) as whole:
                return (a, c, d, type(whole).__name__)
            case P():
                return "p"
            case int() | float():
                return "num"

    return x, [m(v) for v in (Q(0, 1), P(1, 2), P(5, P(6, 7)), P(8, 9), 3, "x")]


@case
def match_tensor_parts(x, n):
    match x.shape:
        case (k,) if k > 2:
            y = x * k
        case _:
            y = x
    match (x, n):
        case (t, 0):
            return t + y
        case (t, k):
            return t * k + y


@case
def walrus(x, n):
    if (k := n + 1) > 2:
        x = x * k
    while (k := k - 1) > 0:
        x = x + k
    return x, k


@case
def lambda_forms(x, n):
    f = lambda a, *b, k=2, **c: (a, b, k, c)  # noqa: E731
    return x, f(1), f(1, 2, 3, k=4, z=5), (lambda: n)(), [g(2) for g in [lambda v, i=i: v * i for i in range(3)]]


def params(a, b=2, /, c=3, *args, d, e=5, **kw):
    return (a, b, c, args, d, e, kw)


@case
def argument_forms(x, n):
    return x, params(1, d=4), params(1, 2, 3, 4, 5, d=6, z=7), params(1, c=9, d=0, a=5), params(*[1, 2], **{"d": 3, "q": 4})


@case
def argument_errors(x, n):
    out = []
    for f in (lambda: params(), lambda: params(1), lambda: params(1, b=2, d=3), lambda: params(1, d=1, **{"d": 2}), lambda: (lambda: 0)(
            1), lambda: (lambda a, b: 0)(1), lambda: (lambda *, k: 0)(), lambda: (lambda a: 0)(a=1, b=2)):
        try:
            out.append(f())
        except TypeError as e:
            out.append(str(e))
    return x, out


def grows(v, seen=[]):
    seen.append(v)
    return len(seen)


@case
def mutable_default(x, n):
    return x * grows(n), grows(n)


@case
def mutable_default_inside(x, n):
    def g(v, seen={}):
        seen[v] = len(seen)
        return dict(seen)

    return x, g(1), g(2), g.__defaults__


@case
def closures(x, n):
    total = 0

    def add(v):
        nonlocal total
        total += v
        return total

    def make(k):
        def inner(v):
            return v * k + total

        return inner

    f = make(3)
    add(2)
    return x * f(1), add(5), f(1), f.__closure__[0].cell_contents


@case
def counters(x, n):
    def make():
        c = 0

        def up():
            nonlocal c
            c += 1
            return c

        def get():
            return c

        return up, get

    up, get = make()
    up2, _ = make()
    up()
    up()
    return x, get(), up2(), up


@case
def cell_of_tensor(x, n):
    y = x

    def f():
        nonlocal y
        y = y * 2
        return y

    f()
    y = y + 1
    f()
    return y


@case
def late_binding(x, n):
    fs = []
    for i in range(3):
        def f():
            return i
        fs.append(f)
    del f
    i = 10
    return x, [g() for g in fs]


@case
def deleted_closure(x, n):
    k = 3

    def f():
        return k

    a = f()
    del k
    try:
        f()
    except NameError as e:
        return x + a, str(e)


@case
def recursion(x, n):
    def fib(k):
        return k if k < 2 else fib(k - 1) + fib(k - 2)

    def depth(t, k):
        return t if k == 0 else depth(t + 1, k - 1)

    def even(k):
        return k == 0 or odd(k - 1)

    def odd(k):
        return k != 0 and even(k - 1)

    return depth(x, 20), fib(9), even(10)


@case
def decorators(x, n):
    def twice(f):
        @functools.wraps(f)
        def w(*a, **k):
            return f(f(*a, **k))

        return w

    def plus(k):
        def deco(f):
            def w(v):
                return f(v) + k

            return w

        return deco

    @twice
    @plus(3)
    def g(v):
        """doc"""
        return v * 2

    @twice
    def named(v):
        """doc"""
        return v

    return g(x), named.__name__, named.__doc__, named.__wrapped__(4)


@case
def partials(x, n):
    f = functools.partial(params, 1, d=4)
    g = functools.partial(f, 2, e=0)
    return x, f(), g(3), g.args, g.keywords, f.func is params, functools.partial(lambda t, k: t * k, k=3)(x)


@functools.lru_cache(maxsize=None)
def cached(v):
    LOG.append(("computed", v))
    return v * 2


@case
def lru_cached(x, n):
    return x * cached(3), cached(n), cached(3)


@functools.singledispatch
def kind(v):
    return "object"


@kind.register
def _(v: int):
    return "int"


@kind.register(list)
def _(v):
    return "list"


@case
def single_dispatch(x, n):
    return x, kind(1), kind([]), kind("a"), kind(True), kind(n), kind(x)


@case
def reduce_and_cmp(x, n):
    return x, functools.reduce(lambda a, b: a * b, [1, 2, 3, 4]), functools.reduce(operator.add, ["a", "b"], "z"), sorted(
        [3, 1, 2], key=functools.cmp_to_key(lambda a, b: b - a))


@case
def reduce_tensors(x, n):
    return functools.reduce(lambda a, b: a * b, [x, x + 1, x + 2])


@case
def operators(x, n):
    return operator.add(x, 1), operator.mul(2, 3), operator.itemgetter(1)([5, 6]), operator.itemgetter("a", "b")({"a": 1, "b": 2}), operator.attrgetter(
        "shape")(x), operator.methodcaller("upper")("a"), operator.contains([1], 1), operator.neg(3), operator.is_(None, None), operator.index(3), operator.concat(
            [1], [2]), operator.countOf([1, 1], 1), operator.length_hint([1]), operator.xor(5, 1), operator.truth([])


@case
def math_things(x, n):
    return x * math.sqrt(4), math.pi, math.floor(2.7), math.ceil(2.1), math.gcd(12, 18), math.prod([1, 2, 3]), math.comb(5, 2), math.isclose(
        0.1 + 0.2, 0.3), math.log2(8), math.hypot(3, 4), math.factorial(5), math.fsum([0.1] * 10), math.inf > 1, math.isqrt(17), math.trunc(-2.5)


@case
def math_errors(x, n):
    out = []
    for f in (lambda: math.sqrt(-1), lambda: math.log(0), lambda: math.exp(1000), lambda: math.factorial(-1)):
        try:
            out.append(f())
        except (ValueError, OverflowError) as e:
            out.append((type(e).__name__, str(e)))
    return x, out


@case
def collections_things(x, n):
    dd = collections.defaultdict(int)
    for c in "hello":
        dd[c] += 1
    dl = collections.defaultdict(lambda: [0])
    dl["a"].append(1)
    return x, dict(dd), dl["a"], dd["zz"], len(dd), "q" in dd, dd.get("q")


@case
def counter_things(x, n):
    c = collections.Counter("hello")
    d = collections.Counter(l=1, z=2)
    return x, c["l"], c["nope"], c + d, c - d, sorted(c.elements()), c.most_common(1), sum(c.values())


@case
def deque_things(x, n):
    d = collections.deque([1, 2, 3])
    d.append(4)
    d.appendleft(0)
    d.rotate(2)
    a = d.pop()
    b = d.popleft()
    d.extend([9])
    return x, list(d), a, b, len(d), 9 in d, d[0], collections.deque(range(5), maxlen=2)


@case
def chain_map(x, n):
    c = collections.ChainMap({"a": 1}, {"b": 2, "a": 0})
    c["c"] = 3
    return x, c["a"], c["b"], dict(c), c.maps[0], len(c), c.get("z")


@case
def user_containers(x, n):
    class UD(collections.UserDict):
        def __setitem__(self, k, v):
            super().__setitem__(k.upper(), v)

    class UL(collections.UserList):
        pass

    d = UD(a=1)
    d["b"] = 2
    return x, d["A"], dict(d), UL([1, 2]) + [3]


@case
def heap_and_bisect(x, n):
    h = []
    for v in (3, 1, 2):
        heapq.heappush(h, v)
    a = heapq.heappop(h)
    s = [1, 3, 5]
    bisect.insort(s, 4)
    return x, a, h, s, bisect.bisect_left(s, 3), heapq.nsmallest(2, [5, 1, 4]), heapq.merge is not None


@case
def copies_of_containers(x, n):
    a = [1, [2], {"k": [3]}]
    b = copy.copy(a)
    c = copy.deepcopy(a)
    a[1].append(9)
    return x, b, c, copy.copy({"a": 1}), copy.deepcopy((1, [2])), copy.copy({1, 2})


@case(breaks=2)  # the text of a signature is made by Python code of its own
def signature(x, n):
    s = inspect.signature(params)
    return x, list(s.parameters), str(s), s.parameters["c"].default, inspect.isfunction(params), inspect.isclass(P)


@case
def json_round_trip(x, n):
    t = json.dumps({"a": [1, 2.5, None, True], "b": "t"}, sort_keys=True)
    return x, t, json.loads(t)


@case
def regular_expressions(x, n):
    m = re.match(r"(\w+)-(\d+)", "ab-12")
    return x, m.group(1), m.groups(), re.sub("a", "b", "banana"), re.findall(r"\d", "a1b2"), bool(re.search("z", "a")), re.split(",", "a,b")


@case
def simple_namespace(x, n):
    s = types.SimpleNamespace(a=1)
    s.b = 2
    return x, s.a + s.b, s, s == types.SimpleNamespace(a=1, b=2)


@case
def mapping_proxy(x, n):
    p = types.MappingProxyType({"a": 1})
    try:
        p["b"] = 2
    except TypeError as e:
        return x + p["a"], str(e), len(p)


@case
def globals_locals(x, n):
    y = 3
    k = locals()["y"]
    return x + k, sorted(locals()), "CASES" in globals(), globals()["CASES"] is CASES


@case
def eval_exec(x, n):
    a = 5
    space = {"a": 1}
    exec("b = a + 1", space)
    return x, eval("a + n"), eval("a", {"a": 7}), space["b"], eval(compile("a * 2", "s", "eval"))


GLOBAL = 1
TABLE = {"k": 0}


@case
def global_writes(x, n):
    global GLOBAL
    GLOBAL += n
    TABLE["k"] += 1
    TABLE[f"n{n}"] = n
    return x * GLOBAL, dict(TABLE)


@case
def global_delete(x, n):
    global TEMPORARY
    TEMPORARY = n
    v = TEMPORARY
    del TEMPORARY
    return x + v, "TEMPORARY" in globals()


@case
def augmented(x, n):
    a = [1]
    t = (a, 2)
    try:
        t[0] += [5]
    except TypeError as e:
        text = str(e)
    d = {"x": 1}
    d["x"] += 1
    d["x"] **= 3
    s = "a"
    s *= 3
    k = 7
    k //= 2
    k <<= 2
    k ^= 1
    f = 1
    f /= 4
    return x, a, text, d, s, k, f


@case
def order_of_evaluation(x, n):
    def f(v):
        LOG.append(v)
        return v

    d = {}
    d[f("k")] = f("v")
    f(1) + f(2) * f(3)
    [f(4), f(5)][f(0)]
    g = lambda *a, **k: None  # noqa: E731
    g(f("a"), *[f("b")], k=f("c"), **{"z": f("d")})
    {f("k1"): f("v1"), f("k2"): f("v2")}
    return x, LOG[-20:]


@case
def del_forms(x, n):
    a = [1, 2, 3]
    d = {"k": 1, "j": 2}
    b = 5
    del a[0], d["k"], b
    try:
        b
    except UnboundLocalError:
        return x, a, d


@case
def ellipsis_and_none(x, n):
    return x, ..., None, x[..., None].shape, type(...) is type(Ellipsis), NotImplemented


@case
def ternary_chain(x, n):
    return x + (1 if n == 0 else 2 if n == 1 else 3), ("a" if n else "b")


@case
def identity_of_constants(x, n):
    a = None
    b = ()
    return x, a is None, b == (), n is n, b is not None


@case
def nested_unpacking(x, n):
    out = []
    for (a, [b, c]), d in [((1, (2, 3)), 4), ((5, "xy"), 6)]:
        out.append((a, b, c, d))
    for i, (k, v) in enumerate({"a": 1, "b": 2}.items()):
        out.append((i, k, v))
    return x, out


@case
def swap_things(x, n):
    a, b = 1, 2
    a, b = b, a
    l = [1, 2, 3]
    i = 0
    i, l[i] = 2, 9
    l[0], l[2] = l[2], l[0]
    return x, a, b, l


@case
def annotations(x, n):
    a: int = 3
    b: "list[int]"

    def f(v: int, *, k: str = "a") -> float:
        return v

    return x + a, f.__annotations__, f.__kwdefaults__


@case
def function_attributes(x, n):
    def f():
        f.calls += 1
        return f.calls

    f.calls = n
    f()
    return x * f(), f.calls, f.__name__, f.__qualname__, hasattr(f, "nope")


@case
def type_things(x, n):
    return x, type(1), type("a") is str, type([]) == list, isinstance(x, type(x)), type(x).__name__, type(type(1)) is type, type(None).__name__, int.__name__, bool.__mro__


@case
def iter_dict_views(x, n):
    d = {"a": 1, "b": 2}
    k, v, i = d.keys(), d.values(), d.items()
    d["c"] = 3
    return x, list(k), list(v), list(i), len(k), "c" in k, 3 in v, ("a", 1) in i, k == {"a", "b", "c"}, k | {"z"} == {"a", "b", "c", "z"}


@case
def views_returned(x, n):
    d = {"a": x}
    return d.keys(), list(d.values()), d


@case
def nested_data(x, n):
    cfg = {"layers": [{"w": 2, "act": "relu"}, {"w": 3, "act": None}], "scale": 0.5}
    for layer in cfg["layers"]:
        x = x * layer["w"]
        if layer["act"] == "relu":
            x = x.relu()
        elif layer["act"] is None:
            layer["seen"] = True
    return x * cfg["scale"], cfg


@case
def while_loops(x, n):
    i = 0
    while i < 5:
        i += 1
        if i % 2:
            continue
        if i > 4:
            break
        x = x + i
    return x, i


@case
def many_locals(x, n):
    a = b = c = [1]
    b = b + [2]
    c += [3]
    return x, a, b, c, a is c


@case
def constant_tuple_of_tensors(x, n):
    t = (x, x + 1)
    u = t[::-1]
    return u[0] - u[1], t[0] is x, x in (1, x), t.index(x) if False else 0


@case
def string_compare_interned(x, n):
    a = "ab"
    b = "".join(["a", "b"])
    return x, a == b, hash(a) == hash(b), {a: 1}[b], a is a


@case
def int_limits(x, n):
    try:
        int("1" * 5000)
    except ValueError as e:
        text = str(e)[:40]
    return x, text, 2**63 - 1, -2**63, 2**64 // 3


@case
def big_loop(x, n):
    t = 0
    for i in range(300):
        t += i * i % 7
    return x + t


@case
def assert_things(x, n):
    assert x.dim() == 1, "never"
    assert isinstance(n, int)
    return x


@case
def print_constants(x, n):
    y = x + 1
    return y * 2


@case(breaks=2)
def prints(x, n):
    print("a", n, sep="-")
    y = x + 1
    print(*[1, 2], end="!\n")
    return y


@case
def builtin_refuses_arguments(x, n):
    said = []
    for call in (lambda: bool(x=n), lambda: len(), lambda: abs(), lambda: list([1], [2]), lambda: repr(n, n), lambda: object.__new__(Plain, n)):
        try:
            said.append(call())
        except TypeError as e:
            said.append(str(e))
    return x + 1, said


class Plain:
    pass


class Chained:
    @classmethod
    @property
    def name(cls):
        return cls.__name__


@case(breaks=3)
def classmethod_over_a_descriptor(x, n):
    return x + 1, isinstance(Chained.name, str)


NAN = float("nan")


@case
def same_object_in_containers(x, n):
    held = [NAN, n]
    return x + 1, NAN in held, held == [NAN, n], (NAN,) == (NAN,), {"k": NAN} == {"k": NAN}


SHOWN = {}
PROXY = types.MappingProxyType(SHOWN)


@case(breaks=3)
def mapping_proxy_is_read_only(x, n):
    SHOWN.clear()
    SHOWN["a"] = n
    try:
        PROXY["b"] = 1
    except TypeError as e:
        text = str(e)
    return x + 1, len(PROXY), list(PROXY.items()), text


@case(breaks=4)
def ranges_at_the_edge(x, n):
    m = 2**63
    return x, [list(range(*p)) for p in ((m - 3, m - 1), (-1, -m, -m), (1, m - 1, m - 1), (-m + 1, -m, -2))], list(reversed(range(-1, -m, -m))), [i for i in range(m - 2, m)]


SOURCES = {"plain": dict, "ordered": collections.OrderedDict, "counter": collections.Counter, "with default": lambda **k: collections.defaultdict(int, **k)}


@case(breaks=3)
def key_put_back(x, n):
    """A key that is removed and set again goes to the end, in all that reads the order."""
    seen = []
    for make in SOURCES.values():
        d = held_dict(make)
        d["a"] = d.pop("a")
        seen.append([list(d), list(reversed(d)), list(d.items()), next(iter(d)), list(d.copy()), list({**d}), list(dict(d)), str(dict(d))])
    return x, seen


def held_dict(make):
    HELD.clear()
    HELD.append(make(a=0, b=1, c=2))
    return HELD[0]


HELD = []


def reorders(d):
    d["a"] = d.pop("a")
    d["z"] = 1
    del d["z"]
    d["z"] = 2
    d["b"] = d.pop("b")
    return list(d), d.popitem(), list(d)


def keys_of(**words):
    words["b"] = words.pop("b")
    return list(words)


class Plain:
    pass


PLAIN = Plain()
PLAIN.a, PLAIN.b = 1, 2
GIVEN = {"a": 0, "b": 1, "c": 2}
RECENT = {"p": 0, "q": 0, "r": 0}


class Joined(typing.NamedTuple):
    a: int
    b: int = 2


class Adding(typing.NamedTuple):
    a: int

    def __add__(self, other):
        return "added"


@case
def named_tuples_joined(x, n):
    p = Joined(n)
    q = p
    q += (5,)
    return x + 1, p + (1,), (0,) + p, p + p, q, type(p + p).__name__, Adding(1) + (2,), (3,) + Adding(1)


@case
def views_of_dicts_as_sets(x, n):
    d, e = {i * 37 % 50: i for i in range(12)}, {i * 11 % 50: i for i in range(20 + n)}
    k = d.keys()
    keys = [k & e.keys(), e.keys() & k, k | e.keys(), k - e.keys(), k ^ e.keys(), k & {1, 37, 24}, {1, 37, 24} & k, k & [37, 37, 0], k - [37]]
    more = [{0, 99} | k, {0, 99} - k, [0, 99] - k, frozenset([0, 37]) & k, k & set(range(60)), {"a": x}.keys() & {"a", "b"}]
    items = [d.items() & e.items(), d.items() - e.items(), d.items() | {(1, 2)}]
    held = {1, 2}
    held |= k
    return x + 1, [list(s) for s in keys + more + items], list(held)


@case
def key_of_an_entry_dict_put_back(x, n):
    d = GIVEN
    got = reorders(d)
    del PLAIN.a
    PLAIN.a = 2
    k = ("p", "q", "r")[x.shape[0] % 3]
    RECENT[k] = RECENT.pop(k) + 1
    order = [(i, v) for i, v in enumerate(d.items())]
    d["b"] = d.get("b", 5)
    return x * len(order), got, list(vars(PLAIN)), next(iter(RECENT)), list(RECENT.items()), order, keys_of(b=1, a=2), list(d)


SHOWN = {"a": 1, "b": 2}
PROXY = types.MappingProxyType(SHOWN)


@case
def mapping_proxy_outside(x, n):
    SHOWN["n"] = n
    try:
        PROXY["a"] = 3
    except TypeError as e:
        text = str(e)
    out = [PROXY["a"], PROXY["n"], len(PROXY), list(PROXY), "b" in PROXY, PROXY.get("zz", 7), dict(PROXY), [v for _, v in PROXY.items()],
           {**PROXY}, list(PROXY.values()), PROXY.copy(), type(PROXY) is types.MappingProxyType, PROXY == SHOWN]
    SHOWN["a"] += 1
    return x + PROXY["a"], out, text


@case(breaks=2)
def mapping_proxy_refuses(x, n):
    global PROXY
    try:
        del PROXY["a"]
    except TypeError as e:
        first = str(e)
    try:
        PROXY |= {"q": 1}
    except TypeError as e:
        return x + 1, first, str(e), len(SHOWN)


class Compared:
    def __init__(self, v, at):
        self.v, self.at = v, at

    def __lt__(self, o):
        LOG.append((self.at, o.at))
        return self.v < o.v


@case
def order_of_comparisons(x, n):
    out = []
    for values in ([3, 1, 2], [1, 2, 3, 0], [3, 2, 2, 1, 4, 0], [5, 5, 4, 4, 9, 1], [2, 2, 2], [2, 2, 1, 1, 3, 4, 0], [7, 6, 5, 4], [1, 1, 2, 0, 3]):
        items = [Compared(v, i) for i, v in enumerate(values)]
        out.append([c.at for c in sorted(items)])
        items.sort(reverse=True)
        out.append([c.at for c in items])
    return x + 1, out

