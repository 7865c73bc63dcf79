# SPDX-License-Identifier: GPL-3.0-or-later
"""Effects on the outside, callbacks, aliases, threads, clocks and random numbers."""

import collections
import contextvars
import copy
import functools
import os
import pickle
import random
import sys
import threading
import time
import weakref

import torch
from cases import table

CASES, case = table()
LOG = []
STATE = {"n": 0, "items": [], "t": None}
SHARED = [torch.ones(3), torch.zeros(3)]


class Model:
    def __init__(self):
        self.calls = 0
        self.cache = {}
        self.w = torch.ones(3)
        self.hooks = collections.OrderedDict()

    def __call__(self, x):
        self.calls += 1
        for h in self.hooks.values():
            x = h(self, x)
        return x * self.w


MODEL = Model()


def opaque(f, *a):
    """Something the tracer must run for real."""
    print(end="")
    return f(*a)


@case
def counters_outside(x, n):
    STATE["n"] += 1
    STATE["items"].append(n)
    return x * STATE["n"], len(STATE["items"])


@case
def module_state(x, n):
    MODEL.cache[n] = x
    return MODEL(x) + len(MODEL.cache) + MODEL.calls


@case
def hook_added_late(x, n):
    if n == 1:
        MODEL.hooks["h"] = lambda m, v: v + 10
    if n == 3:
        MODEL.hooks.clear()
    return MODEL(x)


@case
def in_place_on_argument(x, n):
    x.add_(1)
    y = x.view(3, 1)
    y.mul_(2)
    return x + y.sum()


@case
def alias_of_argument(x, n):
    y = x
    y += 1
    z = x[1:]
    z *= 3
    return y, z, x is y


@case
def global_tensor(x, n):
    SHARED[0] += x
    SHARED[1] = SHARED[0] * 2
    return SHARED[1] + 1


@case
def same_tensor_twice(x, n):
    def f(a, b):
        a.add_(1)
        return a * b

    return f(x, x), f(x.clone(), x)


@case
def list_of_aliases(x, n):
    items = [x, x, x.clone()]
    items[0].add_(5)
    return sum(items), items[0] is items[1], items[0] is items[2]


@case(breaks=1)
def callback_mutates_list(x, n):
    items = [1, 2]
    opaque(items.append, n)
    return x + sum(items), items


@case(breaks=1)
def callback_mutates_object(x, n):
    m = Model()

    def cb():
        m.calls += 7
        m.extra = n

    opaque(cb)
    return x * m.calls, m.extra


@case(breaks=1)
def callback_mutates_cell(x, n):
    k = 1

    def cb():
        nonlocal k
        k += n

    y = x * k
    opaque(cb)
    return y + k


@case(breaks=1)
def callback_mutates_global(x, n):
    def cb():
        STATE["n"] += 100

    a = STATE["n"]
    opaque(cb)
    return x + (STATE["n"] - a)


@case(breaks=1)
def callback_changes_dict_under_iteration(x, n):
    d = {"a": 1, "b": 2}
    out = []
    for k in list(d):
        opaque(d.pop, k)
        out.append((k, len(d)))
    return x, out


@case(breaks=1)
def callback_extends_list_under_iteration(x, n):
    items = [1, 2]
    out = []
    for v in items:
        if len(items) < 5:
            opaque(items.append, v * 10)
        out.append(v)
    return x, out


@case(breaks=1)
def callback_patches_class(x, n):
    class C:
        def f(self):
            return 1

    c = C()
    a = c.f()

    def patch():
        C.f = lambda self: 50

    opaque(patch)
    return x + a + c.f()


@case(breaks=1)
def callback_raises(x, n):
    def cb():
        raise ValueError("from callback", n)

    y = x + 1
    try:
        opaque(cb)
    except ValueError as e:
        return y, e.args


@case(breaks=1)
def callback_changes_tensor(x, n):
    y = x * 2
    opaque(y.add_, 1)
    return y * 3, x


@case(breaks=1)
def callback_runs_generator(x, n):
    def g():
        got = yield 1
        yield got

    it = g()
    a = next(it)
    b = opaque(it.send, 5)
    return x + a + b


@case
def random_numbers(x, n):
    random.seed(n)
    return x + random.randint(1, 5), random.random(), random.choice([1, 2, 3]), random.sample(range(5), 2)


@case
def own_random(x, n):
    r = random.Random(n)
    return x, r.random(), r.randint(0, 9)


@case
def shuffle(x, n):
    random.seed(n)
    a = list(range(5))
    random.shuffle(a)
    return x, a


@case
def clocks(x, n):
    t = time.time()
    p = time.perf_counter()
    return x + 1, t > 0, p > 0, time.monotonic() <= time.monotonic()


@case
def environment(x, n):
    os.environ["BREAKLINE_LANGUAGE_TEST"] = str(n)
    v = os.environ.get("BREAKLINE_LANGUAGE_TEST")
    return x, v, os.getpid() == os.getpid(), os.path.join("a", "b"), sys.version_info >= (3, 8), sys.maxsize > 0


VAR = contextvars.ContextVar("VAR", default=5)


@case
def context_variables(x, n):
    token = VAR.set(n)
    v = VAR.get()
    VAR.reset(token)
    return x + v, VAR.get()


LOCAL = threading.local()


@case
def thread_local(x, n):
    LOCAL.v = n
    return x + LOCAL.v


LOCK = threading.Lock()


@case(breaks=2)
def lock_with(x, n):
    with LOCK:
        x = x + 1
    return x * 2, LOCK.locked()


@case(breaks=8)
def thread_runs(x, n):
    out = []
    t = threading.Thread(target=lambda: out.append(n))
    t.start()
    t.join()
    return x, out


@case
def pickled(x, n):
    return x, pickle.loads(pickle.dumps({"a": [1, 2], "b": (3,)}))


CALLBACKS = []


def register(f):
    CALLBACKS.append(f)
    return f


@case
def registry(x, n):
    @register
    def f(v):
        return v + n

    total = x
    for g in CALLBACKS:
        total = g(total)
    return total


@case
def swap_in_list(x, n):
    SHARED[0], SHARED[1] = SHARED[1], SHARED[0]
    return SHARED[0] * x


@case
def attribute_deleted_outside(x, n):
    MODEL.temp = x
    y = MODEL.temp * 2
    del MODEL.temp
    return y, hasattr(MODEL, "temp")


@case
def replaced_tensor_attribute(x, n):
    MODEL.w = MODEL.w + x
    return MODEL.w * 1


@case
def object_in_two_places(x, n):
    a = Model()
    b = {"m": a, "again": [a]}
    b["m"].calls = 5
    return x * b["again"][0].calls, b["again"][0] is a


@case
def memo_dict(x, n):
    memo = STATE.setdefault("memo", {})
    if n % 2 not in memo:
        memo[n % 2] = x * 2
    return memo[n % 2] + 1


@case
def optional_attribute(x, n):
    if not hasattr(MODEL, "lazy"):
        MODEL.lazy = x + 5
    return MODEL.lazy * 2


@case
def growing_list_of_tensors(x, n):
    STATE["items"].append(x)
    return sum(i for i in STATE["items"] if not isinstance(i, int))


@case
def function_replaced(x, n):
    global helper
    if n == 2:
        def helper(v):
            return v * 100
    return helper(x)


def helper(v):
    return v + 1


@case
def default_replaced(x, n):
    def_args.__defaults__ = (n,)
    return def_args(x)


def def_args(v, k=0):
    return v + k


@case
def monkeypatched_method(x, n):
    m = Model()
    m.go = lambda v: v * 3
    return m.go(x), MODEL(x)


@case(breaks=2)
def weak_reference_to_local(x, n):
    m = Model()
    r = weakref.ref(m)
    alive = r() is m
    del m
    return x, alive, r() is None


@case
def shared_default_list(x, n, acc=[]):
    acc.append(n)
    return x + sum(acc)


@case
def early_return_paths(x, n):
    if n == 0:
        return x
    if n == 1:
        return x, x
    for i in range(n):
        if i == 2:
            return [x * i]
    return {"x": x}


@case
def returns_argument_itself(x, n):
    return x


@case
def returns_nothing(x, n):
    x + 1


@case
def returns_nested(x, n):
    y = x + 1
    return {"a": [y, (y, x)], "b": {"c": y}}, y


@case
def tensor_version_and_grad(x, n):
    w = torch.ones(3, requires_grad=True)
    y = (w * x).sum()
    return y.requires_grad, w.is_leaf, x.requires_grad


@case
def dtype_default_changes(x, n):
    return x.double() + 1, torch.zeros(2, dtype=torch.int32) + n, (x > 1).sum()


@case(breaks=1)
def early_break_then_alias(x, n):
    y = x[:2]
    opaque(lambda: None)
    y += 1
    return x, y


@case(breaks=1)
def partial_state_at_break(x, n):
    it = iter([1, 2, 3])
    next(it)
    z = zip([1, 2], it)
    d = {"z": z}
    opaque(lambda: None)
    return x, list(d["z"])


@case(breaks=1)
def sets_and_slices_at_break(x, n):
    s = {1, 2}
    f = frozenset([3])
    sl = slice(0, 2)
    c = collections.deque([1])
    opaque(lambda: None)
    return x[sl], s | f, c


@case(breaks=1)
def closures_at_break(x, n):
    k = 1

    def f(v, w=[0]):
        nonlocal k
        k += 1
        w[0] += v
        return k, w

    f(1)
    opaque(f, 2)
    return x, f(3), k


@case(breaks=1)
def exceptions_at_break(x, n):
    e = ValueError("kept", n)
    try:
        raise e
    except ValueError as caught:
        opaque(lambda: None)
        same = caught is e
    return x, same, e.args, e.__traceback__ is not None


@case(breaks=1)
def break_inside_handler(x, n):
    try:
        try:
            [][0]
        except IndexError:
            opaque(lambda: None)
            {}["k"]
    except KeyError as e:
        return x, type(e.__context__).__name__


@case(breaks=1)
def break_inside_finally(x, n):
    try:
        raise ValueError("v")
    except ValueError:
        y = x + 1
    finally:
        opaque(lambda: None)
    return y


@case(breaks=1)
def break_in_comprehension(x, n):
    return [opaque(lambda v: v + 1, i) for i in range(3)], x


@case(breaks=1)
def break_in_nested_function(x, n):
    def a(v):
        def b(w):
            opaque(lambda: None)
            return w * 2

        return b(v) + 1

    return a(x) + a(x * 2)


@case(breaks=1)
def break_in_init(x, n):
    class C:
        def __init__(self, v):
            self.v = v
            opaque(lambda: None)
            self.w = v * 2

    c = C(x)
    return c.v + c.w


@case(breaks=1)
def break_in_property(x, n):
    class C:
        @property
        def p(self):
            opaque(lambda: None)
            return 3

    return x * C().p


@case(breaks=1)
def break_in_operator(x, n):
    class C:
        def __add__(self, o):
            opaque(lambda: None)
            return o * 2

        def __len__(self):
            opaque(lambda: None)
            return 4

    return C() + x, len(C())


@case(breaks=1)
def break_in_key(x, n):
    def key(v):
        opaque(lambda: None)
        return -v

    return x, sorted([1, 3, 2], key=key), max([1, 2], key=key)


@case(breaks=1)
def break_in_generator(x, n):
    def g():
        for i in range(3):
            opaque(lambda: None)
            yield x * i

    return sum(g(), x)


@case(breaks=1)
def break_in_with(x, n):
    class M:
        def __enter__(self):
            opaque(lambda: None)
            return 5

        def __exit__(self, *e):
            opaque(lambda: None)

    with M() as v:
        x = x + v
        opaque(lambda: None)
    return x


@case(breaks=1)
def break_in_decorated(x, n):
    def deco(f):
        @functools.wraps(f)
        def w(*a):
            opaque(lambda: None)
            return f(*a) + 1

        return w

    @deco
    def g(v):
        return v * 2

    return g(x)


@case(breaks=1)
def break_in_recursion(x, n):
    def rec(v, k):
        if k == 0:
            opaque(lambda: None)
            return v
        return rec(v + 1, k - 1) * 2

    return rec(x, 4)


@case(breaks=1)
def break_in_loops(x, n):
    for i in range(3):
        for j in range(2):
            if (i + j) % 2:
                opaque(lambda: None)
                continue
            x = x + i * j
        else:
            x = x * 2
    return x


# --- numbers from Python's own generator


@case
def numbers_drawn(x, n):
    kept = []
    k = int(random.random() * 10)
    for _ in range(3):
        x = x * (1 + random.uniform(-0.1, 0.1))
        kept.append(random.randrange(7))
    return x + k, k, kept, {"a": random.getrandbits(5)}, sum(random.random() for _ in range(3)) * x


@case(breaks=1)
def numbers_drawn_and_asked(x, n):
    out = []
    for i in range(4):
        if random.random() > 0.3:
            x = x + i
            out.append(i)
    return x, out


@case(breaks=2)
def numbers_drawn_for_shapes(x, n):
    i, k = random.randrange(2), random.randint(1, 3)
    return [10, 20][i], torch.zeros(k, 2), x.flatten()[:k]


@case
def a_drawn_number_divides(x, n):
    k = random.randint(0, 1)
    try:
        r = 1 / k
    except ZeroDivisionError:
        r = "zero"
    return x + 1, r, random.random()


@case
def a_draw_that_is_refused(x, n):
    try:
        r = random.randint(5, 1)
    except ValueError as e:
        r = str(e)
    return x + 1, r


@case
def drawn_before_an_operator_fails(x, n):
    a = random.random()
    try:
        y = torch.embedding(torch.ones(3, 2), torch.tensor([2 + n % 2]))
    except (IndexError, RuntimeError):
        y = x
    return y, a, random.random()


@case(breaks=1)
def drawn_on_both_sides_of_a_break(x, n):
    a = random.random()
    print("between")
    return x + a, random.random()
