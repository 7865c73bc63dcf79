# SPDX-License-Identifier: GPL-3.0-or-later
# Long because it is one table of small independent programs.
"""Exceptions: raised, caught, chained, with tracebacks; finally, with, assert, except*."""

import contextlib
import sys
import traceback

import torch
from cases import table

CASES, case = table()
LOG = []


class Oops(Exception):
    def __init__(self, text, code=0):
        super().__init__(text)
        self.code = code


class Deep(Oops):
    pass


def fail(x, kind=ValueError):
    y = x * 2
    raise kind("bad")
    return y


def middle(x):
    z = x + 1
    return fail(z) + 1


class Guard:
    def __init__(self, swallow=False):
        self.swallow = swallow

    def __enter__(self):
        LOG.append("in")
        return self

    def __exit__(self, kind, value, tb):
        LOG.append(("out", kind and kind.__name__, str(value)))
        return self.swallow


@case
def raise_and_catch_here(x, n):
    y = x + 1
    try:
        raise ValueError("a", n)
    except ValueError as e:
        y = y * len(e.args)
    return y + 1


@case
def raise_in_callee(x, n):
    try:
        return fail(x)
    except ValueError:
        return x * 3


@case
def raise_two_deep(x, n):
    try:
        return middle(x)
    except (KeyError, ValueError) as e:
        return x * 3, str(e)


@case
def uncaught_here(x, n):
    y = x + 1
    if n == 2:
        raise KeyError("k", n)
    return y


@case
def uncaught_in_callee(x, n):
    y = x + n
    return middle(y)


@case
def custom_with_attributes(x, n):
    try:
        raise Deep("deep", code=n + 5)
    except Oops as e:
        return x * e.code, type(e).__name__, e.args


@case
def raise_class(x, n):
    try:
        raise Oops
    except TypeError as e:
        return x + 1, str(e)


@case
def raise_class_without_arguments(x, n):
    try:
        raise KeyError
    except LookupError as e:
        return x + 1, e.args


@case
def raise_from(x, n):
    try:
        try:
            raise ValueError("inner")
        except ValueError as e:
            raise KeyError("outer") from e
    except KeyError as e:
        return x + 1, type(e.__cause__).__name__, str(e.__cause__), e.__suppress_context__


@case
def raise_from_none(x, n):
    try:
        try:
            raise ValueError("inner")
        except ValueError:
            raise KeyError("outer") from None
    except KeyError as e:
        return x + 1, e.__cause__, type(e.__context__).__name__, e.__suppress_context__


@case
def context_is_set(x, n):
    try:
        try:
            fail(x)
        finally:
            {}["missing"]
    except KeyError as e:
        return x + 1, type(e.__context__).__name__


@case
def context_escapes(x, n):
    try:
        fail(x)
    except ValueError:
        return x + [][n]


@case
def cause_escapes(x, n):
    y = x * 2
    try:
        middle(y)
    except ValueError as e:
        raise Oops("wrapped", n) from e


@case
def reraise_bare(x, n):
    y = x * 2
    try:
        try:
            fail(y)
        except ValueError:
            LOG.append("seen")
            raise
    except ValueError as e:
        return y, str(e)


def breaks_and_fails(x):
    print(end="")
    raise ValueError("bad")


def waits(x):
    return breaks_and_fails(x) + 1


@case(breaks=1)
def raised_through_a_waiting_frame(x, n):
    try:
        waits(x)
    except ValueError:
        raise


@case
def reraise_escapes(x, n):
    try:
        middle(x)
    except ValueError:
        raise


@case
def reraise_named(x, n):
    try:
        middle(x)
    except ValueError as e:
        raise e


@case
def raise_nothing_active(x, n):
    y = x + 1
    raise


@case
def finally_normal(x, n):
    try:
        y = x * 2
    finally:
        LOG.append(n)
    return y


@case
def finally_with_return(x, n):
    try:
        return x * 2
    finally:
        LOG.append(n)


@case
def finally_overrides(x, n):
    try:
        fail(x)
    finally:
        return x + 4


@case
def finally_in_loop(x, n):
    for i in range(4):
        try:
            if i == 1:
                continue
            if i == 3:
                break
            x = x + i
        finally:
            x = x * 2
    else:
        x = x - 100
    return x


@case
def finally_escaping(x, n):
    try:
        fail(x, KeyError)
    finally:
        LOG.append(("f", n))


@case
def else_part(x, n):
    try:
        y = x + 1
    except ValueError:
        y = x - 1
    else:
        y = y * 2
    finally:
        y = y + 3
    return y


@case
def try_around_ops(x, n):
    try:
        y = torch.relu(x) + 1
        z = y @ y
    except RuntimeError:
        z = x.sum()
    return z * 2


@case
def handler_order(x, n):
    kinds = [ValueError, KeyError, IndexError, Oops]
    try:
        raise kinds[n]("k")
    except ValueError:
        return x + 1
    except LookupError as e:
        return x + 2, repr(e)
    except Exception as e:
        return x + 3, repr(e)


@case
def key_error_probing(x, n):
    d = {"a": 1, 2: 3}
    out = []
    for k in ("a", "b", 2, (1, 2)):
        try:
            out.append(d[k])
        except KeyError as e:
            out.append(e.args)
    return x + len(out), out


@case
def attribute_probing(x, n):
    class Thing:
        here = 3

    t = Thing()
    out = []
    for name in ("here", "gone"):
        try:
            out.append(getattr(t, name))
        except AttributeError as e:
            out.append((str(e), e.name))
    return x + 1, out


@case
def index_probing(x, n):
    items = [1, 2]
    got = []
    for i in range(4):
        try:
            got.append(items[i])
        except IndexError:
            got.append(-1)
    return x + sum(got), got


@case
def division_by_zero(x, n):
    try:
        return x * (1 / (n - 1))
    except ZeroDivisionError as e:
        return x, str(e)


@case
def int_conversion(x, n):
    out = []
    for t in ("1", "x", "2.5", ""):
        try:
            out.append(int(t))
        except ValueError as e:
            out.append(str(e))
    return x + 1, out


@case
def type_error_of_operators(x, n):
    try:
        return x + (1 + "a")
    except TypeError as e:
        return x, str(e)


@case
def call_with_wrong_arguments(x, n):
    out = []
    for args in ((), (1, 2, 3, 4)):
        try:
            fail(*args)
        except TypeError as e:
            out.append(str(e))
    return x, out


@case
def unpack_errors(x, n):
    out = []
    for items in ([1], [1, 2, 3], 5):
        try:
            a, b = items
        except (ValueError, TypeError) as e:
            out.append(str(e))
    return x, out


@case
def unbound_local(x, n):
    if n > 10:
        late = 1
    try:
        return x + late
    except UnboundLocalError as e:
        return x, str(e)


@case
def unbound_name(x, n):
    try:
        return x + never_defined_anywhere  # noqa: F821
    except NameError as e:
        return x, str(e), e.name


@case
def assertion(x, n):
    try:
        assert n % 2 == 0, f"odd {n}"
    except AssertionError as e:
        return x - 1, str(e)
    return x + 1


@case
def assertion_escapes(x, n):
    y = x * 2
    assert n < 2, ("too big", n)
    return y


@case
def with_normal(x, n):
    with Guard():
        x = x + 1
    return x


@case
def with_swallows(x, n):
    with Guard(True):
        x = x + 1
        fail(x)
    return x * 2


@case
def with_passes_on(x, n):
    try:
        with Guard():
            fail(x)
    except ValueError as e:
        return x, str(e)


@case
def with_escapes(x, n):
    with Guard() as g, Guard():
        y = x + 1
        middle(y)


@case
def nested_with(x, n):
    with Guard(), Guard(True) as g:
        with Guard():
            x = x * 2
            if n == 1:
                raise Oops("one")
        x = x + 1
    return x, g.swallow


@case
def return_inside_with(x, n):
    for i in range(3):
        with Guard():
            if i == n:
                return x + i
            x = x * 2
    return x


@case
def suppress_errors(x, n):
    with contextlib.suppress(ValueError, KeyError):
        x = x + 1
        fail(x)
        x = x + 100
    return x * 2


@case
def suppress_other(x, n):
    with contextlib.suppress(KeyError):
        fail(x)
    return x


@contextlib.contextmanager
def tracked(name):
    LOG.append(("enter", name))
    try:
        yield name * 2
    except ValueError as e:
        LOG.append(("error", str(e)))
        raise
    finally:
        LOG.append(("leave", name))


@contextlib.contextmanager
def swallowing():
    try:
        yield
    except ValueError:
        LOG.append("swallowed")


@case
def contextmanager_normal(x, n):
    with tracked("a") as v:
        x = x + len(v)
    return x


@case
def contextmanager_error(x, n):
    try:
        with tracked("a"):
            fail(x)
    except ValueError as e:
        return x, str(e)


@case
def contextmanager_escapes(x, n):
    y = x + 1
    with tracked("a"):
        middle(y)


@case
def contextmanager_swallows(x, n):
    with swallowing():
        x = x + 1
        fail(x)
    return x * 2


@case
def contextmanager_as_decorator(x, n):
    @tracked("d")
    def inner(v):
        return v * 3

    return inner(x)


@case
def exit_stack(x, n):
    with contextlib.ExitStack() as stack:
        for i in range(3):
            stack.enter_context(tracked(str(i)))
        stack.callback(LOG.append, "cb")
        x = x * 2
    return x


@case
def exit_stack_error(x, n):
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(tracked("s"))
            stack.enter_context(Guard())
            fail(x)
    except ValueError as e:
        return x, str(e)


@case
def closing_and_nullcontext(x, n):
    class C:
        def close(self):
            LOG.append("closed")

    with contextlib.closing(C()), contextlib.nullcontext(5) as five:
        x = x + five
    return x


@case
def redirect(x, n):
    with contextlib.nullcontext():
        x = x + 1
    return x


@case
def exception_group(x, n):
    try:
        raise ExceptionGroup("g", [ValueError("v"), KeyError("k"), Oops("o")])
    except* ValueError as g:
        LOG.append([type(e).__name__ for e in g.exceptions])
    except* (KeyError, Oops) as g:
        LOG.append([str(e) for e in g.exceptions])
    return x + 1


@case
def exception_group_partly(x, n):
    y = x + 1
    try:
        raise ExceptionGroup("g", [ValueError("v"), TypeError("t")])
    except* ValueError:
        y = y * 2
    return y


@case
def exception_group_naked(x, n):
    try:
        fail(x)
    except* ValueError as g:
        return_value = x + len(g.exceptions)
    return return_value


@case
def add_note(x, n):
    try:
        fail(x)
    except ValueError as e:
        e.add_note("noted")
        raise


@case
def except_name_is_deleted(x, n):
    e = 5
    try:
        fail(x)
    except ValueError as e:
        pass
    try:
        return x + e
    except UnboundLocalError as err:
        return x, str(err)


@case
def exc_info_inside(x, n):
    try:
        fail(x)
    except ValueError:
        kind, value, tb = sys.exc_info()
        LOG.append((kind.__name__, str(value), tb is not None))
    return x + (1 if sys.exc_info() == (None, None, None) else 100)


@case
def exc_info_in_callee(x, n):
    def look():
        return sys.exc_info()[0].__name__

    try:
        fail(x)
    except ValueError:
        return x + 1, look()


@case(breaks=1)
def format_exc(x, n):
    try:
        middle(x)
    except ValueError:
        return x, [line for line in traceback.format_exc().split("\n") if "breakline" not in line and "language_test" not in line]


@case(breaks=1)
def format_exception_chain(x, n):
    try:
        try:
            middle(x)
        except ValueError as e:
            raise Oops("second", n) from e
    except Oops as e:
        return x, "".join(traceback.format_exception(e))


@case(breaks=1)
def extract_tb(x, n):
    try:
        with Guard():
            middle(x)
    except ValueError as e:
        return x, [(f.name, f.lineno, f.line) for f in traceback.extract_tb(e.__traceback__)]


@case(breaks=3)
def walk_traceback(x, n):
    try:
        middle(x)
    except ValueError as e:
        names = []
        tb = e.__traceback__
        while tb:
            names.append((tb.tb_frame.f_code.co_name, tb.tb_lineno))
            tb = tb.tb_next
        return x, names


@case
def with_traceback(x, n):
    try:
        middle(x)
    except ValueError as e:
        raise Oops("again").with_traceback(None) from e


@case
def generator_raises(x, n):
    def g():
        yield 1
        raise ValueError("from g")

    total = x
    try:
        for v in g():
            total = total + v
    except ValueError as e:
        return total, str(e)


@case
def generator_raises_escaping(x, n):
    def g():
        yield 1
        yield fail(x)

    total = x
    for v in g():
        total = total + v
    return total


@case
def comprehension_raises(x, n):
    try:
        return [1 / (i - 1) for i in range(3)]
    except ZeroDivisionError as e:
        return x, str(e)


@case
def comprehension_escapes(x, n):
    y = x + 1
    return [y / int("z" * i) for i in range(3)]


@case
def raise_in_init(x, n):
    class C:
        def __init__(self, v):
            self.v = v
            if v > 1:
                raise Oops("init", v)

    out = []
    for i in range(3):
        try:
            out.append(C(i).v)
        except Oops as e:
            out.append(e.code * 10)
    return x, out


@case
def raise_in_property(x, n):
    class C:
        @property
        def p(self):
            raise AttributeError("hidden")

        def __getattr__(self, name):
            return "fallback " + name

    return x + 1, C().p, hasattr(C(), "q")


@case
def raise_in_getattr(x, n):
    class C:
        def __getattr__(self, name):
            if name.startswith("a"):
                return 1
            raise AttributeError(name)

    c = C()
    return x + getattr(c, "abc") + getattr(c, "zzz", 7), hasattr(c, "nope")


@case
def raise_in_operator(x, n):
    class C:
        def __add__(self, o):
            raise Oops("add")

        def __bool__(self):
            raise Oops("bool")

        def __len__(self):
            raise Oops("len")

        def __iter__(self):
            raise Oops("iter")

        def __eq__(self, o):
            raise Oops("eq")

    c = C()
    out = []
    for f in (lambda: c + 1, lambda: not c, lambda: len(c), lambda: list(c), lambda: c == 1, lambda: [*c], lambda: 1 in [c]):
        try:
            out.append(f())
        except Oops as e:
            out.append(str(e))
    return x, out


@case
def stop_iteration_probing(x, n):
    it = iter([1, 2])
    out = []
    try:
        while True:
            out.append(next(it))
    except StopIteration as e:
        out.append(e.value)
    return x + len(out), out


@case
def stop_iteration_default(x, n):
    it = iter(())
    return x + next(it, 5)


@case
def stop_iteration_value(x, n):
    def g():
        yield 1
        return "done"

    it = g()
    next(it)
    try:
        next(it)
    except StopIteration as e:
        return x + 1, e.value


@case
def op_error_in_try(x, n):
    try:
        return x + torch.ones(4)
    except RuntimeError as e:
        return x * 2, type(e).__name__


@case
def op_error_then_state(x, n):
    LOG.append("before")
    y = x.clone()
    try:
        y.add_(1)
        y = y + torch.ones(5)
        LOG.append("not here")
    except RuntimeError:
        LOG.append("caught")
    return y


@case
def op_error_escapes(x, n):
    y = x.clone()
    LOG.append(n)
    return y.view(2, 7)


@case
def nested_handlers(x, n):
    def run(v):
        try:
            try:
                if v == 0:
                    raise ValueError("v")
                if v == 1:
                    raise KeyError("k")
                return "none"
            except ValueError:
                return "inner"
            finally:
                LOG.append(v)
        except KeyError:
            return "outer"

    return x, [run(i) for i in range(3)]


@case
def return_in_handler_and_finally(x, n):
    def run():
        try:
            raise ValueError
        except ValueError:
            return 1
        finally:
            LOG.append("fin")

    return x + run()


@case
def break_in_handler(x, n):
    for i in range(5):
        try:
            if i == 2:
                raise ValueError(i)
            x = x + i
        except ValueError:
            break
    return x


@case
def loop_with_retry(x, n):
    tries = 0
    while True:
        try:
            tries += 1
            if tries < 3:
                raise Oops("again", tries)
            break
        except Oops as e:
            LOG.append(e.code)
    return x + tries


@case
def exception_as_value(x, n):
    e = ValueError("a", n)
    return x + len(e.args), e, isinstance(e, Exception), e.__traceback__ is None


@case
def exception_stored(x, n):
    kept = []
    try:
        fail(x)
    except ValueError as e:
        kept.append(e)
    return x, str(kept[0]), kept[0].__traceback__ is not None


@case
def exception_in_dict_and_raise_later(x, n):
    errors = {"a": KeyError("late")}
    y = x + 1
    raise errors["a"]


@case
def exception_classes_compared(x, n):
    return x, issubclass(Deep, Oops), isinstance(Deep("d"), Exception), Oops("a").args == ("a",)


@case
def system_exit_like(x, n):
    class Stop(BaseException):
        pass

    try:
        try:
            raise Stop()
        except Exception:
            return x + 100
    except BaseException as e:
        return x + 1, type(e).__name__


@case
def error_text_of_missing_attribute(x, n):
    try:
        return x.no_such_thing
    except AttributeError as e:
        return x, str(e)


@case
def error_in_default_argument(x, n):
    try:
        def f(a=1 // 0):
            return a
    except ZeroDivisionError:
        return x + 1


@case
def error_in_decorator(x, n):
    def deco(f):
        raise Oops("deco")

    try:
        @deco
        def g():
            pass
    except Oops:
        return x + 1


@case
def error_in_class_body(x, n):
    try:
        class C:
            a = 1
            b = a / 0
    except ZeroDivisionError as e:
        return x + 1, str(e)


@case
def error_with_group_of_frames(x, n):
    def rec(k, v):
        if k == 0:
            raise Oops("bottom", n)
        return rec(k - 1, v + 1) * 2

    return rec(4, x)


@case
def recursion_error(x, n):
    def rec(k):
        return rec(k + 1)

    y = x + 1
    try:
        rec(0)
    except RecursionError:
        return y * 2


@case
def multi_line_call(x, n):
    return middle(
        x
        + 1
    ) + fail(
        x
    )


@case
def error_in_multi_line_expression(x, n):
    d = {"a": 1}
    return (
        x
        + d["a"]
        + d[
            "b"
        ]
    )


@case
def lambda_raises(x, n):
    f = lambda v: v[n]  # noqa: E731
    return x + f([])


@case
def sorted_key_raises(x, n):
    def key(v):
        if v == 2:
            raise Oops("key", v)
        return -v

    try:
        return x, sorted([1, 3, 2], key=key)
    except Oops as e:
        return x + e.code


@case
def map_raises(x, n):
    out = []
    try:
        for v in map(lambda a: 10 // a, [5, 2, 0, 1]):
            out.append(v)
    except ZeroDivisionError:
        out.append("zero")
    return x, out


@case
def chain_attributes(x, n):
    made = ValueError("made")
    before = made.__suppress_context__, made.__context__, made.__cause__
    made.__suppress_context__ = True
    made.__context__ = KeyError("context")
    after = made.__suppress_context__, repr(made.__context__)
    try:
        raise made
    except ValueError as e:
        e.__suppress_context__ = False
        e.__cause__ = TypeError("cause")
        caught = e
    return before, after, caught.__suppress_context__, repr(caught.__cause__), repr(caught.__context__), x + 1
