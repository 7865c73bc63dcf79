# SPDX-License-Identifier: GPL-3.0-or-later
"""Subclasses of int, float, str, bytes and tuple: instances made in the trace, and instances that come in from outside."""

import enum
import math

from cases import table

CASES, case = table()
LOG = []


class I(int):
    pass


class F(float):
    pass


class S(str):
    pass


class B(bytes):
    pass


class T(tuple):
    pass


class Doubled(int):
    def __new__(cls, v, note=None):
        self = super().__new__(cls, v * 2)
        self.note = note
        return self

    def half(self):
        return self // 2


class Noted(str):
    def __new__(cls, text, *, note="-"):
        made = str.__new__(cls, text)
        made.note = note
        return made

    def __init__(self, text, note="-"):
        LOG.append(("init", text, note))

    def shout(self):
        return self.upper() + "!"


class Celsius(float):
    unit = "C"

    def __init__(self, value):
        self.first = value

    def __add__(self, other):
        return Celsius(float(self) + other)

    def __repr__(self):
        return f"{float(self):.1f}{self.unit}"


class Odd(int):
    """Its own answers everywhere."""

    def __add__(self, o):
        return ("add", int(self), type(o).__name__, int(o))

    def __radd__(self, o):
        return ("radd", int(self), type(o).__name__, int(o))

    def __eq__(self, o):
        return "eq " + type(o).__name__

    def __lt__(self, o):
        return "lt " + type(o).__name__

    def __gt__(self, o):
        return "gt " + type(o).__name__

    def __hash__(self):
        return 7

    def __bool__(self):
        return False

    def __str__(self):
        return "odd"

    def __index__(self):
        return 100

    def __format__(self, spec):
        return "<" + spec + ">"


class Asks:
    """Sees what it is given."""

    def __radd__(self, o):
        return type(o).__name__

    def __gt__(self, o):
        return type(o).__name__

    def __eq__(self, o):
        return type(o).__name__


class Pair(tuple):
    def __new__(cls, a, b):
        return super().__new__(cls, (a, b))

    def __init__(self, a, b):
        self.total = a + b

    def swap(self):
        return Pair(self[1], self[0])


class Mixed(int, enum.Enum):
    A = 1


class Whole(enum.IntEnum):
    A = 1


class Version(tuple):
    __slots__ = ()

    def __lt__(self, o):
        LOG.append("lt")
        return tuple.__lt__(self, o)


@case
def made_and_used(x, n):
    i = I(3)
    return x + i + int(i), x * i, i * x, i - 1, 1 - i, i + i, type(i + i).__name__, type(i).__name__, isinstance(i, int)


@case
def returned(x, n):
    i, f, s, b = I(3), F(1.5), S("abc"), B(b"xy")
    i.a = [i]
    s.tag = x
    return x + 1, i, f, s, b, [i, i]


@case
def same_object(x, n):
    i = I(5)
    j = I(5)
    held = [i, i, j]
    return x + i, held[0] is held[1], held[0] is held[2], i is j, i == j, held


@case
def own_new(x, n):
    d = Doubled(n + 2, note="two")
    return x + d, d.half(), d.note, d, type(d + 1).__name__


@case
def own_init(x, n):
    t = Noted("abc", note="high")
    u = Noted("q")
    return x, t.shout(), t.note, u.note, t + u, type(t + u).__name__, t


@case
def operators_of_int(x, n):
    i = I(7)
    i2 = i
    i2 += 1
    return (x + 1, -i, +i, ~i, abs(i), i // 2, i / 2, i % 4, i ** 2, i << 1, i >> 1, i & 3, i | 8, i ^ 1, 2 ** i, 10 % i, divmod(i, 2),
            round(i), i < 8, i >= 7, 7 == i, i != 7, bool(i), not I(0), i2, type(i2).__name__, type(+i).__name__)


@case
def operators_of_float(x, n):
    f = F(2.5)
    return x * f, f + 1, 1 / f, f // 1, -f, round(f), math.sqrt(F(4.0)), f == 2.5, f < 3, int(f), F("1.5"), F(3), type(f * 2).__name__


@case
def operators_of_str(x, n):
    s = S("abc")
    return (x + 1, s + "d", "d" + s, s * 2, 2 * s, s == "abc", s < "abd", "b" in s, s in "xabcx", len(s), s[1], s[::-1], list(s), bool(S("")),
            [c for c in s], type(s[0]).__name__, type(s + s).__name__, "%s-%s" % (s, 1), "%s" % s, S("%d") % 3)


@case
def operators_of_bytes(x, n):
    b = B(b"abc")
    return x + 1, b + b"d", b[1], b[1:], len(b), b == b"abc", b.hex(), b.decode(), list(b), 97 in b, type(b + b).__name__


@case
def methods(x, n):
    s, i, f = S("a,b"), I(5), F(0.5)
    return (x + 1, s.split(","), s.upper(), s.replace("a", S("z")), s.join(["1", "2"]), ",".join([s, S("q")]), "x".join(s), s.startswith(S("a")),
            "a,b,c".split(S(",")), s.strip(), type(s.strip()).__name__, i.bit_length(), i.to_bytes(2, "big"), i.real, i.imag, i.numerator,
            f.is_integer(), f.hex(), f.as_integer_ratio(), f.real, type(f.real).__name__, i.conjugate())


@case
def base_methods(x, n):
    i, s = I(5), S("abc")
    return x + 1, int.__add__(i, 2), str.upper(s), int.__repr__(i), str.__len__(s), int.__eq__(i, 5), int.__eq__(i, "a"), i.__add__(1), s.__contains__("a")


@case
def texts(x, n):
    i, f, s = I(12), F(1.25), S("ab")
    return (x + 1, str(i), repr(i), f"{i}", f"{i:>5}", f"{i:x}", f"{f:.1f}", f"{s!r}", f"{s:>4}", "{}-{}".format(i, s), "%d" % i, "%5.2f" % f,
            format(i, "b"), format(s), hex(i), bin(i), ascii(s), type(str(s)).__name__, chr(I(65)), ord(S("a")))


@case
def conversions(x, n):
    return (x + 1, int(I(3)), float(I(3)), int(F(2.7)), float(F(2.7)), str(S("a")), bytes(B(b"a")), complex(F(1.5)), bool(I(0)), int(S("42")),
            float(S("1.5")), type(int(I(3))).__name__, I("7"), I("ff", 16), S(3), S(b"ab", "ascii"), F(), I(), S())


@case
def as_keys(x, n):
    s, i = S("a"), I(1)
    d = {s: 1, i: 2}
    d["a"] = 3
    d[1] = 4
    return x + d["a"], d[s], d[1], d[i], d[I(1)], d[1.0], S("a") in d, "b" in d, len(d), [type(k).__name__ for k in d], d, hash(s) == hash("a"), hash(i)


@case
def many_keys(x, n):
    d = {S(str(k)): k for k in range(30)}
    d[S("3")] = "three"
    return x + d["7"], d["3"], len(d), S("29") in d, "30" in d


@case
def keys_of_outer_dict(x, n):
    d = {"a": 1}
    return x + OUTER[S("a")], OUTER.get(S("b")), OUTER.get(S("zz"), 5), I(2) in OUTER


OUTER = {"a": 1, "b": 2, 2: 3}


@case
def as_index(x, n):
    i = I(1)
    items = [10, 20, 30]
    items[i] = 21
    return x[i], x[i:], items[i], items[i:], (1, 2, 3)[I(-1)], "abc"[i], items[: I(2)], list(range(I(3))), list(range(I(1), I(5), I(2))), [0] * I(2), (1,) * I(2)


@case
def as_size(x, n):
    i = I(3)
    import torch

    return x.reshape(i, 1), torch.zeros(i), torch.zeros((i, I(2))), x.view(1, i), x.sum(dim=I(0)), torch.full((I(2),), F(0.5)), x.expand(I(2), i), x.repeat(I(2))


@case
def as_scalar(x, n):
    import torch

    return x + F(0.5), F(0.5) * x, x ** I(2), x > I(1), torch.add(x, x, alpha=I(2)), x.clamp(min=F(0.5)), I(2) - x, torch.where(x > 1, x, F(9.0)), x == I(2)


@case
def in_containers(x, n):
    a, b = I(1), I(2)
    return (x + 1, a in [1, 2], I(2) in (1, 2), [3, 2, 1].index(b), [1, 1].count(a), sorted([I(3), I(1), I(2)]), max(I(3), 2), type(max(I(3), 2)).__name__,
            min([I(3), I(2)]), sum([I(1), I(2)]), [a, b] == [1, 2], (a, b) == (1, 2), (a, b) < (1, 3), any([I(0), a]), sorted([S("b"), S("a")], reverse=True))


@case
def attributes(x, n):
    i = I(4)
    i.x = x + 1
    i.y = 2
    i.y += 1
    del i.x
    return x + i.y, hasattr(i, "x"), i.__dict__, vars(i), getattr(i, "z", None), i


@case
def class_with_answers(x, n):
    c = Celsius(20.5)
    d = c + 1
    return x + 1, d, type(d).__name__, repr(c), str(c), f"{c}", c.first, d.first, c * 2, c.unit, c


@case(breaks=4)
def odd_one(x, n):
    o = Odd(3)
    return x + 1, o + 1, 1 + o, o + I(2), I(2) + o, o == 3, 3 == o, I(3) == o, o < 4, 4 < o, I(4) < o, bool(o), str(o), f"{o:>4}", hash(o), int(o), [1, 2, 3, 4][o], repr(o)


@case(breaks=3)
def odd_from_others(x, n):
    i = I(2)
    return x + 1, i + Asks(), i < Asks(), i == Asks()


@case
def tuples(x, n):
    t = T([1, x, 3])
    p = Pair(1, 2)
    p.more = x
    q = p.swap()
    return t[1] + 1, t, len(t), t[1:], type(t[1:]).__name__, p, p.total, q, q.total, type(q).__name__, isinstance(p, tuple), [*p], p == (1, 2), p + q, type(p + q).__name__


@case
def tuples_compare(x, n):
    a, b = Version((1, 2)), Version([1, 3])
    return x + 1, a < b, a == (1, 2), max(a, b), a


@case
def missing_attribute(x, n):
    try:
        I(3).nothing
    except AttributeError as e:
        return x + 1, str(e)


@case(breaks=1)
def wrong_operand(x, n):
    try:
        return I(3) + "a"
    except TypeError as e:
        return x + 1, str(e)


@case
def in_a_loop(x, n):
    for k in range(3):
        x = x + I(k) * F(0.5)
    return x


@case
def through_a_function(x, n):
    def scale(v, by):
        return v * by if isinstance(by, I) else v

    return scale(x, I(3)), scale(x, 3)


@case
def flag_in_signature(x, n):
    class_of = {I: "i", S: "s"}
    return x + 1, class_of[type(I(1))], type(S("a")) is S, I(3).__class__ is I, issubclass(type(I(2)), int)


OUTSIDE = [I(3), F(0.5), S("abc"), B(b"q"), Doubled(2, note="in")]


@case
def from_outside(x, n):
    i, f, s, b, d = OUTSIDE
    return x + i, x * f, s.upper(), s + "d", i + 1, d.note, d.half(), {"abc": 1}[s], x[: OUTSIDE[0]], b + b"r", f"{s:>4}", [1, 2, 3, 4][i], i == 3, -i, str(i), len(s)


@case
def changing_outside(x, n):
    held = [I(n), S("v" * n)]
    return use_of(x, held)


def use_of(x, held):
    return x + held[0], held[1] + "w", held


@case
def members_as_operands(x, n):
    return x + 1, "%s" % Mixed.A, "%s %d" % (Whole.A, Mixed.A), Whole.A + Asks(), Whole.A + I(1), Mixed.A == 1, I(1) + Whole.A


@case
def derived_twice(x, n):
    class_of = Later(2)
    return x, I(1) + class_of, class_of + I(1), 1.5 + class_of, F(1.5) + class_of, True + class_of, sum([0.5, class_of]), sum([1, class_of])


class Later(I):
    def __radd__(self, o):
        return "later"


@case
def attributes_in_text(x, n):
    i = I(3)
    i.tag = "t"
    return x + 1, "{:>5}|{}".format(i, S("q")), i.tag


def kinds(*values):
    return [(type(v).__name__, v) for v in values]


@case(breaks=7)
def answers_itself(x, n):
    s = S("ab")
    first = kinds(s % (), s % {}, s.format(), s.format_map({}), s.partition("x")[0], s.rpartition("x")[2])
    return x + 1, first, kinds(S("%s") % s, s * 1, s[:], s.strip(), s + "", "".join([s]), f"{s}"), (s % ()) is s


@case(breaks=3)
def repeated_in_place(x, n):
    told = []
    for other in ("ab", [1], (n,)):
        i = I(2)
        try:
            i *= other
        except TypeError as e:
            told.append(str(e))
    j = I(2)
    j *= 3
    return x + 1, told, kinds(j, I(2) * "ab", I(2) * [n])


@case(breaks=2)
def hash_of_no_number(x, n):
    value = F("nan")
    return x + 1, hash(value) == object.__hash__(value), hash(F(1.5)) == hash(1.5), hash(value) == hash(value)
