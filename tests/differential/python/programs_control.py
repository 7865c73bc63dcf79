# SPDX-License-Identifier: GPL-3.0-or-later
"""Generators, exceptions and their texts, with, iteration."""

import collections, functools, contextlib, operator, itertools, types, sys, copy, math, inspect


def t_gen_send(i):
    def g():
        x = yield 1
        try:
            while True:
                x = yield x * 2
        except ValueError as e:
            yield ("caught", str(e))
        finally:
            log.append("fin")

    log = []
    it = g()
    r = [next(it), it.send(3), it.send(i), it.throw(ValueError("v"))]
    r.append(next(it, "done"))
    return r, log


def t_gen_close(i):
    log = []

    def g():
        try:
            yield 1
            yield 2
        except GeneratorExit:
            log.append("exit")
            raise
        finally:
            log.append("fin")

    it = g()
    next(it)
    it.close()
    it.close()
    return log, list(it)


def t_gen_ret(i):
    def sub():
        a = yield 1
        return a

    def g():
        r = yield from sub()
        s = yield from [7, 8]
        yield (r, s)
        return 99

    it = g()
    out = [next(it), it.send("A")]
    try:
        while 1:
            out.append(next(it))
    except StopIteration as e:
        out.append(e.value)
    return out


def t_gen_throw_from(i):
    log = []

    def sub():
        try:
            yield 1
        except KeyError:
            log.append("sub")
            yield 2

    def g():
        yield from sub()
        yield 3

    it = g()
    a = next(it)
    b = it.throw(KeyError)
    return a, b, list(it), log


def t_gen_stop(i):
    def g():
        yield 1
        raise StopIteration(5)

    it = g()
    next(it)
    try:
        next(it)
    except RuntimeError as e:
        return str(e), repr(e.__cause__), repr(e.__context__), e.__suppress_context__


def t_gen_attrs(i):
    def g():
        yield i

    it = g()
    return it.__name__, it.__qualname__, it.gi_running, it.gi_frame is not None, inspect.getgeneratorstate(it), next(it), it.gi_yieldfrom


def t_finally_ret(i):
    def f():
        try:
            return 1
        finally:
            return 2

    def g():
        for k in range(3):
            try:
                continue
            finally:
                out.append(k)
        return out

    def h():
        while True:
            try:
                raise KeyError
            finally:
                break
        return "ok"

    out = []
    return f(), g(), h()


def t_nested_exc(i):
    try:
        try:
            {}[i]
        except KeyError as e:
            raise ValueError("x") from e
    except ValueError as v:
        return repr(v.__cause__), v.__suppress_context__, repr(v.__context__), v.__cause__ is v.__context__


def t_except_del(i):
    e = 5
    try:
        raise KeyError(i)
    except KeyError as e:
        pass
    try:
        return e
    except UnboundLocalError as u:
        return str(u)


def t_bare_raise(i):
    try:
        try:
            1 / 0
        except ZeroDivisionError:
            raise
    except ZeroDivisionError as e:
        return str(e)


def t_raise_noactive(i):
    try:
        raise
    except RuntimeError as e:
        return str(e)


def t_raise_class_bad(i):
    r = []
    for v in (5, "s", None, object):
        try:
            raise v
        except TypeError as e:
            r.append(str(e))
    return r


def t_except_tuple(i):
    E = (KeyError, IndexError)
    r = []
    for f in (lambda: {}[1], lambda: [][1], lambda: 1 // 0):
        try:
            try:
                f()
            except E as e:
                r.append(type(e).__name__)
        except ArithmeticError as e:
            r.append("A")
    return r


def t_except_bad(i):
    try:
        try:
            raise KeyError
        except 5:
            pass
    except TypeError as e:
        return str(e), repr(e.__context__)


def t_exc_group(i):
    r = []
    try:
        raise ExceptionGroup("g", [ValueError(1), KeyError(2), OSError(3)])
    except* ValueError as e:
        r.append(repr(e.exceptions))
    except* (KeyError, OSError) as e:
        r.append(repr(e.exceptions))
    return r


def t_with_multi(i):
    log = []

    class C:
        def __init__(s, n, sw=False):
            s.n, s.sw = n, sw

        def __enter__(s):
            log.append("e" + s.n)
            return s.n

        def __exit__(s, *a):
            log.append(("x" + s.n, a[0] and a[0].__name__))
            return s.sw

    with C("1") as a, C("2", True) as b:
        log.append(a + b)
        raise KeyError
    with C("3"):
        try:
            with C("4"):
                raise ValueError("z")
        except ValueError:
            log.append("c")
    return log


def t_with_noexit(i):
    class A:
        def __enter__(s):
            pass

    r = []
    for o in (A(), 5):
        try:
            with o:
                pass
        except TypeError as e:
            r.append(str(e))
    return r


def t_exitstack(i):
    log = []
    with contextlib.ExitStack() as s:
        s.callback(log.append, 1)
        s.callback(log.append, 2)
        x = s.enter_context(contextlib.nullcontext(5))
        s.push(lambda *a: log.append(a[0]) or True)
        raise KeyError
    return log, x


def t_suppress(i):
    with contextlib.suppress(KeyError, ValueError):
        {}[1]
    with contextlib.suppress():
        pass
    try:
        with contextlib.suppress(KeyError):
            raise IndexError("q")
    except IndexError as e:
        return str(e)


def t_exc_notes(i):
    e = ValueError("a")
    e.add_note("n1")
    e.add_note("n2")
    e.x = i
    return e.__notes__, e.x, e.args, str(e), repr(e), e.__dict__


def t_exc_attrs(i):
    r = []
    try:
        None.foo
    except AttributeError as e:
        r.append((e.name, e.obj, str(e)))
    try:
        nonexist
    except NameError as e:
        r.append((e.name, str(e)))
    try:
        [].pop()
    except IndexError as e:
        r.append(e.args)
    try:
        int("x")
    except ValueError as e:
        r.append(e.args)
    try:
        open("/nonexistent/q")
    except OSError as e:
        r.append((e.errno, e.filename, e.strerror))
    try:
        import nonexistent_mod
    except ImportError as e:
        r.append((e.name, e.msg))
    try:
        from math import nope
    except ImportError as e:
        r.append((e.name, str(e)))
    try:
        "é".encode("ascii")
    except UnicodeEncodeError as e:
        r.append((e.start, e.end, e.reason, e.object))
    try:
        {}["k"]
    except KeyError as e:
        r.append((e.args, str(e)))
    try:
        sys.exit(3)
    except SystemExit as e:
        r.append(e.code)
    try:
        eval("1 +")
    except SyntaxError as e:
        r.append((e.msg, e.lineno, e.offset))
    return r


def t_exc_eq(i):
    a = ValueError(1)
    b = ValueError(1)
    return a == b, a == a, hash(a) == hash(a), a in [a], a in [b], a is a, a != b


def t_exc_sub_init(i):
    class E(Exception):
        def __init__(self, a, b=2):
            super().__init__(a, b)
            self.a = a

        def __str__(self):
            return f"E<{self.a}>"

    class F(E):
        def __init__(self):
            self.z = 1

    class G(Exception):
        def __new__(cls, *a):
            o = super().__new__(cls, *a)
            o.made = len(a)
            return o

    r = []
    for m in (lambda: E(i), lambda: F(), lambda: G(1, 2)):
        try:
            raise m()
        except Exception as e:
            r.append((str(e), repr(e), e.args, dict(e.__dict__)))
    return r


def t_unpack_err(i):
    r = []
    for f in (
        lambda: (lambda a, b: 0)(*[1]),
        lambda: [a for a, b in [(1,)]],
        lambda: [a for a, b in [(1, 2, 3)]],
        lambda: dict([(1,)]),
        lambda: (lambda *, k: k)(),
        lambda: (lambda a: a)(1, a=2),
        lambda: (lambda a, /: a)(a=1),
        lambda: (lambda: 0)(1),
        lambda: max(),
        lambda: max([]),
        lambda: int([]),
        lambda: len(5),
        lambda: [] + (),
        lambda: "a" + 1,
        lambda: 1 < "a",
        lambda: [][0:"a"],
        lambda: {}[[]],
        lambda: {[]: 1},
        lambda: hash([]),
        lambda: (1)(),
        lambda: None[0],
        lambda: [1][1.0],
        lambda: iter(5),
        lambda: next([]),
        lambda: abs("a"),
        lambda: -"a",
        lambda: f"{1:q}",
        lambda: "%d" % "a",
        lambda: "%s %s" % 1,
        lambda: "{}".format(),
        lambda: "abc".index("z"),
        lambda: [1].index(2),
        lambda: [].remove(1),
        lambda: {1}.remove(2),
        lambda: (1,).index(3),
        lambda: range(0, 5, 0),
        lambda: chr(-1),
        lambda: ord("ab"),
        lambda: bytes([300]),
        lambda: 2**-1 // 0,
        lambda: math.sqrt(-1),
        lambda: math.log(0),
        lambda: divmod(1, 0),
        lambda: round("a"),
        lambda: sum(["a"]),
        lambda: sorted([1, "a"]),
        lambda: zip([1], strict=1).__next__() and list(zip([1], [], strict=True)),
        lambda: isinstance(1, 5),
        lambda: issubclass(1, int),
        lambda: getattr(1, "q"),
        lambda: setattr(1, "q", 2),
        lambda: type("A", (5,), {}),
        lambda: object(1),
        lambda: super(),
        lambda: {**5},
        lambda: [*5],
        lambda: print(sep=5),
        lambda: int("9" * 3, 99),
        lambda: float("z"),
        lambda: complex("z"),
        lambda: [1, 2][::0],
        lambda: slice(),
        lambda: enumerate(5),
        lambda: map(),
        lambda: filter(1),
        lambda: reversed({1}),
        lambda: dict(5),
        lambda: set(5),
        lambda: "a" * "b",
        lambda: [1] * 1.5,
        lambda: b"a" + "a",
        lambda: "a" in 5,
        lambda: 5 in 5,
        lambda: del_missing(),
        lambda: type.__call__(),
        lambda: operator.itemgetter(),
        lambda: functools.reduce(operator.add, []),
        lambda: next(iter([])),
        lambda: pow(2, -1, 4),
        lambda: memoryview(5),
        lambda: str(b"a", "q"),
        lambda: vars(5),
        lambda: format(1, 5),
    ):
        try:
            r.append(f())
        except Exception as e:
            r.append((type(e).__name__, str(e)))
    return r


def t_assert(i):
    r = []
    try:
        assert i < 0, f"bad {i}"
    except AssertionError as e:
        r.append(e.args)
    try:
        assert i < 0
    except AssertionError as e:
        r.append(e.args)
    return r


def t_recursion(i):
    def f(n):
        return 0 if n == 0 else 1 + f(n - 1)

    a = f(300)

    def g(n):
        return g(n + 1)

    try:
        g(0)
    except RecursionError as e:
        return a, str(e)


def t_iter_proto(i):
    class S:
        def __getitem__(s, k):
            if k > 3:
                raise IndexError
            return k * 10

    class I:
        def __iter__(s):
            s.n = 0
            return s

        def __next__(s):
            s.n += 1
            if s.n > 3:
                raise StopIteration
            return s.n

    class B:
        def __iter__(s):
            return 5

    r = [list(S()), 20 in S(), [*I()], sum(I()), tuple(I()), max(S()), list(zip(S(), I())), list(reversed([1, 2])), dict(zip(I(), S()))]
    try:
        list(B())
    except TypeError as e:
        r.append(str(e))
    a, *b = I()
    r.append((a, b))
    it = iter(lambda: r.append(0) or len(r), 14)
    r.append(list(it))
    return r


def t_iter_mut(i):
    l = [1, 2, 3]
    r = []
    for x in l:
        r.append(x)
        if x < 3:
            l.append(x + 5)
        if len(r) > 8:
            break
    d = {1: 1}
    try:
        for k in d:
            d[k + 1] = 1
    except RuntimeError as e:
        r.append(str(e))
    s = {1}
    try:
        for k in s:
            s.add(k + 1)
    except RuntimeError as e:
        r.append(str(e))
    it = iter(l)
    l.clear()
    r.append(list(it))
    l.append(1)
    r.append(list(it))
    return r


def t_async(i):
    async def h(x):
        return x * 2

    async def f():
        return await h(i) + 1

    c = f()
    try:
        c.send(None)
    except StopIteration as e:
        return e.value
