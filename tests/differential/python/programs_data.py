# SPDX-License-Identifier: GPL-3.0-or-later
"""Sets, dicts, lists, text, numbers, itertools, collections, scopes."""

import collections, itertools, functools, operator, math, string, re, heapq, bisect, json, copy, sys, types, random


def t_set(i):
    a = {1, 2, 3}
    b = {3, 4}
    r = [
        a | b,
        a & b,
        a - b,
        a ^ b,
        a <= b,
        a > {1},
        a.isdisjoint({9}),
        a.union([7], (8,)),
        a.intersection([1, 2], [2]),
        frozenset(a) == a,
        {frozenset([1]): 2}[frozenset([1])],
        a.symmetric_difference([1, 10]),
    ]
    a.update([5], {6})
    a.difference_update([1])
    a.intersection_update({5, 6, 2, 3})
    a.symmetric_difference_update({2, 99})
    a.discard(100)
    r.append(sorted(a))
    a |= {0}
    a &= {0, 5}
    a -= {5}
    a ^= {1}
    r.append(sorted(a))
    x = a.pop() if len(a) == 1 else None
    r.append(x)
    for f in (lambda: set().pop(), lambda: {1}.remove(5), lambda: {[]}, lambda: {1} | [1], lambda: {1} < [1], lambda: {1}.update(5)):
        try:
            r.append(f())
        except Exception as e:
            r.append((type(e).__name__, str(e)))
    return r


def t_dict(i):
    d = {"a": 1, "b": 2}
    r = [
        d.pop("a"),
        d.pop("z", 9),
        d.setdefault("c", []),
        d.get("q"),
        d.get("q", 1),
        list(d),
        d.items() & {("b", 2)},
        d.keys() | {"z"} == {"b", "c", "z"},
        "b" in d.keys(),
        ("b", 2) in d.items(),
        2 in d.values(),
        len(d.items()),
        list(reversed(d)),
        dict.fromkeys("ab", 0),
        {**d, "x": 1},
        d | {"y": 2},
        d == {"c": [], "b": 2},
        d.copy() is d,
        list(map(str, d)),
        {v: k for k, v in {"q": 1}.items()},
        dict([("a", 1)], b=2),
        dict(zip("ab", [1, 2])),
        d.popitem(),
    ]
    d.update({"m": 1}, n=2)
    d.update([("o", 3)])
    d |= {"p": 4}
    r.append(d)
    k = d.keys()
    d["new"] = 1
    r.append(list(k))
    v = d.values()
    del d["new"]
    r.append(list(v))
    d.clear()
    r.append((k, v, len(k)))
    for f in (
        lambda: {}.popitem(),
        lambda: {}["x"],
        lambda: {}.pop("x"),
        lambda: {[]: 1},
        lambda: {} | 5,
        lambda: dict(5),
        lambda: dict([1]),
        lambda: {}.update(5),
        lambda: {1: 1} < {2: 2},
        lambda: {}.fromkeys(5),
        lambda: {**{1: 2}} and f2(**{1: 2}),
    ):
        try:
            r.append(f())
        except Exception as e:
            r.append((type(e).__name__, str(e)))
    return r


def f2(**k):
    return k


def t_dict_nan(i):
    n = float("nan")
    d = {n: 1, 1: "i", 1.0: "f", True: "t", -0.0: "z"}
    return (
        d[n],
        len(d),
        d[1],
        d.get(float("nan")),
        d[0],
        [n] == [n],
        n in [n],
        n == n,
        (n,) == (n,),
        [float("nan")] == [float("nan")],
        {1: n} == {1: n},
        list(d),
    )


def t_list(i):
    l = [3, 1, 2]
    r = [
        l.sort(),
        l[:],
        l.reverse(),
        l[:],
        l.insert(1, 9),
        l[::2],
        l[::-1],
        l[-2:],
        l.index(9),
        l.count(1),
        l + [1],
        l * 2,
        l.copy(),
        [*l, *l],
        l == [3, 9, 2, 1],
        l < [4],
        max(l),
        min(l, default=0),
        sum(l),
        sorted(l, reverse=True),
        sorted(l, key=lambda x: -x),
        l.pop(),
        l.pop(0),
        l.extend("ab"),
        l,
    ]
    l[1:2] = [7, 7, 7]
    r.append(l[:])
    l[::2] = [0] * len(l[::2])
    r.append(l[:])
    del l[::2]
    r.append(l[:])
    l[5:5] = [1]
    l[-1:] = ()
    r.append(l)
    l *= 2
    l += (1, 2)
    r.append(l[:])
    l.remove(7)
    r.append(l)
    l.sort(key=str)
    r.append(l)
    for f in (
        lambda: [].pop(),
        lambda: [1].pop(5),
        lambda: [1].index(5),
        lambda: [1].remove(5),
        lambda: [1][5],
        lambda: [1]["a"],
        lambda: setitem([1], 5, 0),
        lambda: setitem([1, 2, 3], slice(None, None, 2), [1]),
        lambda: [1] + "a",
        lambda: [1] < 5,
        lambda: [1].extend(5),
        lambda: [3, "a"].sort(),
        lambda: [1].insert("a", 1),
        lambda: [1] * "a",
        lambda: [0, 1].index(1, 2),
        lambda: setitem([], slice(0, 1), 5),
    ):
        try:
            r.append(f())
        except Exception as e:
            r.append((type(e).__name__, str(e)))
    return r


def setitem(o, k, v):
    o[k] = v
    return o


def t_sort_cb(i):
    l = [3, 1, 2]
    seen = []

    def key(x):
        seen.append(x)
        return -x

    l.sort(key=key)
    r = [l, seen]

    class K:
        def __init__(s, v):
            s.v = v

        def __lt__(s, o):
            seen.append("lt")
            return s.v < o.v

        def __repr__(s):
            return f"K{s.v}"

    m = [K(2), K(1)]
    m.sort()
    r.append(m)
    r.append(sorted(m, reverse=True))
    r.append(max(K(1), K(5), key=lambda k: k.v))

    def bad(x):
        l.append(1)
        return x

    try:
        l.sort(key=bad)
    except ValueError as e:
        r.append(str(e))
    return r


def t_str(i):
    s = "Hello, World"
    r = [
        s.split(),
        s.split(","),
        s.rsplit("o", 1),
        s.partition(","),
        s.rpartition("o"),
        s.replace("l", "L", 2),
        s.find("o"),
        s.rfind("o"),
        s.startswith(("He", "x")),
        s.endswith("ld"),
        s.strip("Hd"),
        s.center(20, "*"),
        s.ljust(15) + "|",
        s.zfill(15),
        s.title(),
        s.swapcase(),
        s.casefold(),
        s.count("l"),
        s.isalpha(),
        s.encode(),
        s.translate({72: "J"}),
        s.expandtabs(),
        "a\tb".expandtabs(4),
        "a\nb\r\nc".splitlines(True),
        ",".join(map(str, [1, 2])),
        s[::-1],
        s[2:5],
        s * 2,
        "e" in s,
        s < "I",
        "%5.2f|%-5d|%05d|%x|%r|%s|%%" % (1.5, 3, 4, 255, "q", None),
        "{0:>5}{1!r:^7}{k[a]}{o.real}".format(1, "b", k={"a": 2}, o=3),
        f"{s!r:>20}{1.5:e}{255:#x}{1000000:,}{0.25:%}{i:{'>'}{4}}",
        f"{s=}",
        f"{{}}",
        "%(a)s" % {"a": 1},
        "abc".removeprefix("a").removesuffix("c"),
        str.maketrans("a", "b"),
        "ß".upper(),
        "İ".lower(),
        ord("a"),
        chr(97),
        "x".isidentifier(),
        ascii("é"),
        repr("a'b"),
        "a" "b",
        s.format_map({}),
        "{:d}".format(True),
        format(3.14159, ".2f"),
        format(5, "b"),
        "%c" % 97,
        "%s" % (1,),
        "%s %s" % ("a", "b"),
    ]
    return r


def t_bytes(i):
    b = b"abc"
    r = [
        b[0],
        b[1:],
        b + b"d",
        b * 2,
        b.hex(),
        bytes.fromhex("6162"),
        b.decode(),
        list(b),
        b.split(b"b"),
        b.upper(),
        b"a" in b,
        97 in b,
        bytes(3),
        bytes([1, 2]),
        b.find(b"c"),
        b == b"abc",
        b < b"abd",
        b % () if False else b"%d" % 5,
        int.from_bytes(b, "big"),
        (258).to_bytes(2, "little"),
        b.join([b"x", b"y"]),
        hash(b) == hash(b"abc"),
    ]
    a = bytearray(b)
    a[0] = 65
    a.append(66)
    a += b"zz"
    del a[1]
    a.extend([1])
    m = memoryview(a)
    r += [a, m[0], m[1:3].tolist(), len(m), bytes(m), a.pop] if False else [bytes(a), m[0], m[1:3].tolist(), len(m)]
    return r


def t_num(i):
    r = [
        7 // 2,
        -7 // 2,
        7 % -3,
        -7 % 3,
        divmod(-7, 3),
        2**10,
        2**-1,
        7 / 2,
        1e308 * 10,
        -0.0,
        0.1 + 0.2,
        round(2.5),
        round(3.5),
        round(-2.5),
        round(1234.567, -2),
        round(1.005, 2),
        int(-3.7),
        int("0x1f", 16),
        float("inf"),
        float("-inf") < 0,
        math.isnan(float("nan")),
        1 << 70,
        ~5,
        5 & 3,
        5 | 8,
        5 ^ 1,
        -5 >> 1,
        abs(-3),
        pow(3, 4, 5),
        pow(3, -1, 7),
        complex(1, 2) * 1j,
        (1 + 2j).conjugate(),
        abs(3 + 4j),
        (5).bit_length(),
        (5).bit_count(),
        (0.5).as_integer_ratio(),
        (0.1).hex(),
        float.fromhex("0x1p-2"),
        1 == 1.0,
        1 == True,
        hash(1) == hash(1.0),
        10**20 == 1e20,
        isinstance(True, int),
        True + True,
        max(1, 2.0),
        min(1, True),
        sum([0.1] * 3),
        math.fsum([0.1] * 3),
        math.gcd(12, 18),
        math.lcm(4, 6),
        math.comb(5, 2),
        math.prod([1, 2, 3]),
        math.hypot(3, 4),
        math.copysign(1, -0.0),
        math.frexp(8),
        math.modf(1.5),
        (3).real,
        int.__add__(1, 2),
        float(3).is_integer(),
        1_000,
        0b11,
        0o17,
        1 if i else 2,
        not i,
        i and 5,
        i or 6,
        1 < 2 < 3,
        1 < 2 > 3,
        i is None,
        bin(5),
        oct(8),
        hex(255),
        chr(0x1F600),
        (5).__class__.__name__,
        divmod(5.5, 2),
        5.5 // 2,
        -5.5 % 2,
        1 // 1.0,
    ]
    return r


def t_iter(i):
    r = [
        list(itertools.chain([1], (2,), "a")),
        list(itertools.islice(itertools.count(5, 2), 3)),
        list(itertools.zip_longest([1, 2], [3], fillvalue=0)),
        list(itertools.product([1, 2], "ab")),
        list(itertools.permutations([1, 2, 3], 2)),
        list(itertools.combinations("abc", 2)),
        list(itertools.accumulate([1, 2, 3], operator.mul)),
        [(k, list(g)) for k, g in itertools.groupby("aabbc")],
        list(itertools.takewhile(lambda x: x < 3, [1, 2, 3, 1])),
        list(itertools.dropwhile(lambda x: x < 3, [1, 2, 3, 1])),
        list(itertools.filterfalse(lambda x: x % 2, range(5))),
        list(itertools.starmap(pow, [(2, 3)])),
        list(itertools.compress("abc", [1, 0, 1])),
        list(itertools.repeat(1, 3)),
        list(itertools.islice(itertools.cycle([1, 2]), 5)),
        list(itertools.pairwise([1, 2, 3])),
        list(map(lambda a, b: a + b, [1, 2], [3, 4, 5])),
        list(filter(None, [0, 1, "", 2])),
        list(enumerate("ab", 1)),
        list(zip([1, 2], "ab")),
        list(reversed(range(3))),
        any([]),
        all([]),
        any(x > 1 for x in [1, 2]),
        sum(x for x in range(3)),
        list(range(10, 0, -3)),
        range(5)[1:3],
        3 in range(5),
        range(0, 10, 2).index(4),
        len(range(0, 10, 3)),
        range(3) == range(0, 3),
        sorted(range(3), reverse=True),
    ]
    a, b = itertools.tee([1, 2, 3])
    next(a)
    r += [list(a), list(b)]
    it = iter([1, 2, 3])
    r += [next(it), list(it), next(it, "d"), list(it)]
    z = zip(it, [1])
    r.append(list(z))
    m = map(str, [1, 2])
    r += [next(m), list(m)]
    e = enumerate([5, 6])
    r += [next(e), list(e)]
    c = itertools.count(i)
    r += [next(c), next(c)]
    ch = itertools.chain.from_iterable([[1], [2]])
    r += [next(ch), list(ch)]
    try:
        a, b = itertools.count()
    except ValueError as e:
        r.append(str(e))
    try:
        a, b, *c = iter([1])
    except ValueError as e:
        r.append(str(e))
    return r


def t_coll(i):
    C = collections.Counter("abca")
    C.update("a")
    D = collections.defaultdict(list)
    D["x"].append(i)
    D["y"]
    O = collections.OrderedDict(a=1, b=2)
    O.move_to_end("a")
    q = collections.deque([1, 2, 3], maxlen=3)
    q.append(4)
    q.appendleft(0)
    q.rotate(1)
    cm = collections.ChainMap({"a": 1}, {"b": 2, "a": 3})
    cm["c"] = 5
    r = [
        C,
        C.most_common(1),
        C["zz"],
        C + collections.Counter("a"),
        C - collections.Counter("aaa"),
        sorted(C.elements()),
        C.total(),
        D,
        O,
        O.popitem(last=False),
        list(O),
        O == {"b": 2} or O,
        q,
        q[0],
        q.pop(),
        q.popleft(),
        len(q),
        3 in q,
        list(reversed(q)),
        cm["a"],
        dict(cm),
        cm.maps,
        cm.new_child({"z": 1})["z"],
        cm.parents["a"],
        collections.OrderedDict(a=1, b=2) == collections.OrderedDict(b=2, a=1),
        D.default_factory,
        q.maxlen,
        q.extendleft([7, 8]),
        q,
        q.count(7),
        q.index(8),
        collections.deque("ab") + collections.deque("c"),
        collections.UserDict(a=1),
        collections.UserList([1]) + [2],
        collections.UserString("a") + "b",
    ]
    try:
        cm["nope"]
    except KeyError as e:
        r.append(str(e))
    try:
        q.remove(99)
    except ValueError as e:
        r.append(str(e))
    try:
        collections.deque().pop()
    except IndexError as e:
        r.append(str(e))
    return r


def t_functools(i):
    log = []

    @functools.wraps(t_iter)
    def w(*a):
        return a

    @functools.singledispatch
    def sd(x):
        return "obj"

    @sd.register
    def _(x: int):
        return "int"

    @sd.register(list)
    def _(x):
        return "list"

    class A:
        @functools.cached_property
        def cp(s):
            log.append("cp")
            return 5

        @functools.singledispatchmethod
        def m(s, x):
            return "o"

        @m.register
        def _(s, x: str):
            return "s"

        pm = functools.partialmethod(lambda s, a, b: (a, b), 1)

    a = A()
    p = functools.partial(lambda *a, **k: (a, k), 1, x=2)
    return (
        w.__name__,
        sd(1),
        sd([]),
        sd("q"),
        sd(True),
        a.cp,
        a.cp,
        log,
        a.m(1),
        a.m("z"),
        a.pm(5),
        p(3, y=4),
        p(x=9),
        functools.partial(p, 7)(8),
        functools.reduce(operator.add, [1, 2, 3]),
        functools.reduce(lambda a, b: a + b, [], "init"),
        p.func is not None,
        w.__wrapped__ is t_iter,
        functools.cache(lambda x: x)(4),
    )


def t_scope(i):
    global GX
    GX = i
    x = 0

    def f():
        nonlocal x
        x += 1

        def g():
            nonlocal x
            global GX
            x += 10
            GX += 1

        g()
        return x

    r = [
        f(),
        f(),
        x,
        GX,
        [y := 5, y**2],
        y,
        [x for x in range(3)],
        x,
        {k: v for k, v in zip("ab", [1, 2])},
        (lambda *a, **k: (a, k))(*[1], *(2,), **{"a": 1}, **{"b": 2}),
        [a + b for a in range(2) for b in range(2) if a != b],
        [[j for j in range(k)] for k in range(3)],
        (lambda a, b=i, *, c=3: (a, b, c))(1),
    ]
    while (n := len(r)) < 15:
        r.append(n)
    else:
        r.append("else")
    for q in []:
        pass
    else:
        r.append("felse")
    for q in range(3):
        if q == 1:
            break
    else:
        r.append("no")
    r.append(q)
    del GX
    try:
        GX
    except NameError as e:
        r.append(str(e))
    return r


def t_misc(i):
    r = [
        type(i).__name__,
        isinstance(i, (int, str)),
        callable(t_misc),
        id(r0) == id(r0) if (r0 := []) is not None else 0,
        hash("a") == hash("a"),
        getattr(i, "real"),
        hasattr(i, "zz"),
        [] is [],
        () is (),
        None is None,
        type(None).__name__,
        ... is Ellipsis,
        NotImplemented is NotImplemented,
        __name__,
        sys.maxsize > 0,
        len(sys.argv) >= 0,
        vars(types.SimpleNamespace(a=1)),
        sorted(vars(T1())),
        dir(T1())[-1],
        print("out", i, sep="-", end="!\n"),
        repr(slice(1, 2)),
        slice(1, 10, 2).indices(5),
        memoryview(b"ab")[0],
        bool([]),
        int(True),
        str(None),
        zip.__name__,
        json.dumps({"a": [1, None, True]}),
        json.loads("[1, {}]"),
        re.sub("a", "b", "aa"),
        re.match(r"(\d+)", "12a").group(1),
        heapq.nsmallest(2, [3, 1, 2]),
        bisect.bisect([1, 3], 2),
        copy.copy([1]),
        string.ascii_lowercase[:3],
        sys.getrefcount([]) > 0,
        type(lambda: 0).__name__,
        (lambda: (yield))().__class__.__name__,
        str(type(5)),
        int.__name__,
        object().__class__ is object,
        issubclass(bool, int),
        round(i + 0.5),
        divmod(i, 3),
        eval("i + 1"),
        sorted(locals())[:2],
        "r" in vars(),
    ]
    h = [3, 1, 2]
    heapq.heapify(h)
    heapq.heappush(h, 0)
    r.append(heapq.heappop(h))
    r.append(h)
    return r


class T1:
    def __init__(s):
        s.zz = 1


def t_alias(i):
    a = [1]
    b = a
    b += [2]
    c = [a, a]
    c[0].append(3)
    d = {"k": a}
    d["k"].append(4)
    t = (a, [5])
    t[1].append(6)
    e = a[:]
    e.append(9)
    m = [[0] * 2] * 2
    m[0][0] = 1
    try:
        t[0] += [7]
    except TypeError as x:
        pass
    return a, b is a, c, c[0] is c[1], d, t, e, m


def t_big(i):
    s = 0
    for k in range(3000):
        s += k % 7
    l = [k * 2 for k in range(500)]
    d = {k: k for k in range(200)}
    x = 0
    while x < 1000:
        x += 3
    return s, sum(l), len(d), x, "".join(str(k) for k in range(50)), sum(k for k in range(1000) if k % 3 == 0)
