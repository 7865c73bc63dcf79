# SPDX-License-Identifier: GPL-3.0-or-later
"""What a trace has taken from classes, functions and modules is asked again: bases, names, abstract registrations, metaclasses,
entries of sys.modules, attributes of functions. Each program runs eagerly and compiled, in children of their own, with a change
between the calls; every result has to be equal."""

import abc
import collections
import functools
import os
import sys
import threading
import types
import typing

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "support")]

import torch  # noqa: E402
from harness import Tally, bits_equal, run_child  # noqa: E402

WARM = 4  # calls after which a guard program answers from its snapshot


def one():
    return torch.arange(2.0) - 0.5


def stages(call, changes, seen):
    """The results before and after each of the changes; the second call answers from what the first one made."""
    for change in [lambda: None] * WARM + changes:
        change()
        seen += [call(), call()]


def class_name(wrap, seen):
    class Thing:
        pass

    f = wrap(lambda t, a: (t + 1, type(a).__name__, type(a).__qualname__, a.__class__.__module__))
    a = Thing()
    stages(lambda: f(one(), a),
           [lambda: setattr(Thing, "__name__", "Other"), lambda: setattr(Thing, "__qualname__", "Q"), lambda: setattr(Thing, "__module__", "m")], seen)


def bases_under_super(wrap, seen):
    class Plus:
        def m(self, t):
            return t + 1

    class Minus:
        def m(self, t):
            return t - 1

    class Made(Plus):
        def m(self, t):
            return super().m(t) * 2

    f = wrap(lambda a, t: a.m(t))
    a = Made()
    stages(lambda: f(a, one()), [lambda: setattr(Made, "__bases__", (Minus,)), lambda: setattr(Minus, "m", lambda self, t: t * 5)], seen)


def method_before_super(wrap, seen):
    class First:
        pass

    class Second:
        def m(self, t):
            return t + 1

    class Made(First, Second):
        def m(self, t):
            return super().m(t) * 2

    f = wrap(lambda a, t: a.m(t))
    a = Made()
    stages(lambda: f(a, one()), [lambda: setattr(First, "m", lambda self, t: t * 50), lambda: delattr(First, "m")], seen)


def bases_under_isinstance(wrap, seen):
    class Asked:
        pass

    class Root:
        pass

    class Made(Root):
        pass

    f = wrap(lambda t, a: (t + (1 if isinstance(a, Asked) else 2), issubclass(type(a), Asked), isinstance(a, (int, Asked))))
    a = Made()
    stages(lambda: f(one(), a), [lambda: setattr(Made, "__bases__", (Asked,)), lambda: setattr(Made, "__bases__", (Root,))], seen)


def abstract_registration(wrap, seen):
    class Asked(abc.ABC):
        pass

    class Made:
        pass

    f = wrap(lambda t, a: (t + (1 if isinstance(a, Asked) else 2), issubclass(type(a), Asked), isinstance(a, (int, Asked)), isinstance(3, Asked)))
    a = Made()
    stages(lambda: f(one(), a), [lambda: Asked.register(Made), lambda: Asked.register(int)], seen)


def abstract_by_method(wrap, seen):
    class Made:
        pass

    f = wrap(lambda t, a: t + (1 if isinstance(a, collections.abc.Iterable) else 2))
    stages(lambda: f(one(), Made()), [lambda: setattr(Made, "__iter__", lambda self: iter([]))], seen)


def metaclass(wrap, seen):
    class Meta(type):
        @property
        def size(cls):
            return cls.k * 2

        def scaled(cls, t):
            return t * cls.k

        def __getattr__(cls, name):
            return name + "!"

        def __len__(cls):
            return 7

        def __contains__(cls, item):
            return item == 3

        def __getitem__(cls, item):
            return item

        def __iter__(cls):
            return iter([1, 2])

    class Made(metaclass=Meta):
        k = 3

    f = wrap(lambda t: (Made.scaled(t), Made.size, Made.unknown, len(Made), 3 in Made, Made[2], list(Made)))
    stages(lambda: f(one()),
           [lambda: setattr(Made, "k", 4), lambda: setattr(Meta, "scaled", lambda cls, t: t - 100), lambda: setattr(Meta, "size", property(lambda cls: "s")),
            lambda: setattr(Meta, "__getattr__", lambda cls, name: 1), lambda: setattr(Meta, "__len__", lambda cls: 9),
            lambda: setattr(Meta, "__contains__", lambda cls, item: False), lambda: setattr(Meta, "__getitem__", lambda cls, item: -item),
            lambda: setattr(Meta, "__iter__", lambda cls: iter([5]))], seen)


def named_tuple_new(wrap, seen):
    Pair = collections.namedtuple("Pair", "a b")

    class Doubled(Pair):
        __slots__ = ()

        def __new__(cls, a):
            return super().__new__(cls, a * 2, 3)

        @property
        def total(self):
            return self.a + self.b

    class Typed(typing.NamedTuple):
        u: int
        v: float = 2.5

    def body(t, k):
        return t + Doubled(k).total, tuple(Doubled(k)), Doubled(k).a, Typed(k), Typed(v=1, u=k), Typed(k)._replace(v=k), type(Doubled(k)).__name__

    f = wrap(body)
    for k in (1, 2, 3, 3):
        seen.append(repr(f(one(), k)))
    stages(lambda: repr(f(one(), 1)), [lambda: setattr(Typed.__new__, "__defaults__", (9.0,))], seen)


def function_attributes(wrap, seen):
    def helper(t):
        return t

    f = wrap(lambda t: (t + (5 if hasattr(helper, "flag") else 0), getattr(helper, "extra", None)))
    stages(lambda: f(one()), [lambda: setattr(helper, "flag", 1), lambda: setattr(helper, "extra", 2), lambda: delattr(helper, "flag")], seen)


def function_made(wrap, seen):
    def body(t):
        def inner(y, k=1, *, m=0):
            "text"
            return y + k + m

        @functools.wraps(inner)
        def outer(*a):
            return inner(*a) * 2

        outer.extra = 3
        inner.__defaults__ = (5,)
        inner.__kwdefaults__ = {"m": 7}
        inner.__name__ = "renamed"
        first = inner(t), outer(t), inner.__name__, inner.__defaults__, inner.__kwdefaults__, outer.__wrapped__ is inner
        inner.__code__ = (lambda y, k=1, *, m=0: y * 100).__code__
        return first, inner(t), inner.__dict__, sorted(outer.__dict__), outer

    f = wrap(body)
    for _ in range(3):
        *rest, outer = f(one())
        seen += [rest, outer.__name__, outer.__doc__, sorted(outer.__dict__), outer.__wrapped__.__defaults__, outer.__wrapped__.__name__, outer(one())]


def imported(wrap, seen):
    module = types.ModuleType("breakline_test_module")
    module.K = 2
    other = types.ModuleType("breakline_test_module")
    other.K = 10
    sys.modules["breakline_test_module"] = module

    def body(t):
        import breakline_test_module
        from breakline_test_module import K

        return t * breakline_test_module.K + K

    f = wrap(body)

    def call():
        try:
            return f(one())
        except ImportError as e:
            return str(e)

    stages(call, [lambda: setattr(module, "K", 3), lambda: sys.modules.update(breakline_test_module=other), lambda: sys.modules.pop("breakline_test_module")], seen)


def measured_alias(wrap, seen):
    def before(t, a, b):
        n = len(b)
        a["new"] = 1
        return t + n, len(b)

    def after(t, a, b):
        a["new"] = 1
        return t + len(b)

    for body in (before, after):
        f = wrap(body)
        for _ in range(WARM):
            seen.append(f(one(), {}, {"k": 1}))
        d = {"k": 1}
        seen += [f(one(), d, d), d, f(one(), {}, {"k": 1})]


def to_of_a_number(wrap, seen):
    f = wrap(lambda t, n: t.to(n))
    seen += [f(one(), True), f(one(), False), f(one(), 1.5)]


def threads(wrap, seen):
    """The first calls of a process, from many threads at once."""
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 4)).eval()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.arange(float(p.numel())).view_as(p) / 10)
    f = wrap(model)
    results = [None] * 8

    def work(i):
        with torch.no_grad():
            for _ in range(10):
                results[i] = f(torch.ones(i % 3 + 1, 4) + i)

    sys.setswitchinterval(1e-6)  # threads give way to each other wherever they can
    all_threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in all_threads:
        t.start()
    for t in all_threads:
        t.join()
    seen += results


PROGRAMS = [class_name, bases_under_super, method_before_super, bases_under_isinstance, abstract_registration, abstract_by_method, metaclass,
            named_tuple_new, function_attributes, function_made, imported, measured_alias, to_of_a_number, threads]


def main():
    tally = Tally("classes")
    for program in PROGRAMS:

        def work(program=program):
            import breakline

            expected, got = [], []
            # The compiled one first: the eager run leaves things behind (dicts of functions, caches of abstract classes).
            program(lambda f: breakline.compile(f, plan="replay"), got)
            program(lambda f: f, expected)
            bad = [f"result {i}:\n  eager    {w!r}\n  compiled {g!r}" for i, (w, g) in enumerate(zip(expected, got)) if not bits_equal(w, g)]
            return not bad and len(expected) == len(got), "\n".join(bad)[:1500]

        answer = run_child(work)
        if isinstance(answer, dict):
            tally.check(program.__name__, False, answer["crash"][-1500:])
        else:
            tally.check(program.__name__, *answer)
    tally.finish()


if __name__ == "__main__":
    main()
