# SPDX-License-Identifier: GPL-3.0-or-later
# Long because it is one table of small independent programs.
"""A break in every kind of place: each may break there and nowhere else, whatever stands around it."""

import contextlib
import functools

import breakline
import torch
import torch.nn.functional as F
from cases import table

CASES, case = table()
LOG = []


def gb():
    breakline.graph_break()


def inner(x):
    x = x + 1
    gb()
    return x * 2


def middle(x):
    return inner(x + 1) * 2


@case(breaks=1)
def plain_statement(x, n):
    x = x + 1
    gb()
    return x * 2


@case(breaks=1)
def for_body(x, n):
    for i in range(3):
        x = x + i
        gb()
    return x * 2


@case(breaks=1)
def for_body_once(x, n):
    for _ in range(1):
        x = x + 1
        gb()
    return x * 2


@case(breaks=1)
def before_and_after_loops(x, n):
    gb()
    for i in range(3):
        x = x * 2
    return x


@case(breaks=1)
def loop_left_by_break(x, n):
    for i in range(3):
        x = x + 1
        gb()
        break
    return x * 2


@case(breaks=1)
def loop_left_by_return(x, n):
    for i in range(3):
        x = x + 1
        gb()
        return x * 2


@case(breaks=1)
def loop_else(x, n):
    for i in range(2):
        x = x + 1
    else:
        gb()
        x = x * 2
    return x


@case(breaks=1)
def while_body(x, n):
    i = 0
    while i < 3:
        x = x + 1
        gb()
        i += 1
    return x


@case(breaks=1)
def callee_in_loop(x, n):
    for _ in range(3):
        x = inner(x)
    return x


@case(breaks=1)
def try_body(x, n):
    try:
        x = x + 1
        gb()
        x = x * 2
    except ValueError:
        x = x - 1
    return x


@case(breaks=1)
def except_body(x, n):
    try:
        x = x + 1
        raise ValueError
    except ValueError:
        gb()
        x = x * 2
    return x


@case(breaks=1)
def try_else(x, n):
    try:
        x = x + 1
    except ValueError:
        pass
    else:
        gb()
        x = x * 2
    return x


@case(breaks=1)
def finally_part(x, n):
    try:
        x = x + 1
    finally:
        gb()
        x = x * 2
    return x


@case(breaks=1)
def callee_in_try(x, n):
    try:
        x = inner(x)
    except ValueError:
        pass
    return x * 3


@case(breaks=1)
def under_no_grad(x, n):
    with torch.no_grad():
        x = x + 1
        gb()
        x = x * 2
    return x, torch.is_grad_enabled()


@case(breaks=1)
def under_enable_grad(x, n):
    with torch.enable_grad():
        x = x + 1
        gb()
        x = x * 2
    return x


@case(breaks=1)
def under_nullcontext(x, n):
    with contextlib.nullcontext():
        x = x + 1
        gb()
        x = x * 2
    return x


class Manager:
    def __enter__(self):
        LOG.append("in")
        return self

    def __exit__(self, *e):
        LOG.append("out")


@case(breaks=1)
def under_own_manager(x, n):
    with Manager():
        x = x + 1
        gb()
        x = x * 2
    return x


@contextlib.contextmanager
def generated():
    LOG.append("in")
    yield 3
    LOG.append("out")


@case(breaks=1)
def under_generated_manager(x, n):
    with generated() as k:
        x = x + k
        gb()
        x = x * 2
    return x


@contextlib.contextmanager
def breaking():
    gb()
    yield 3


@case(breaks=1)
def inside_generated_manager(x, n):
    with breaking() as k:
        x = x + k
    return x


@case(breaks=1)
def under_suppress(x, n):
    with contextlib.suppress(ValueError):
        x = x + 1
        gb()
        x = x * 2
    return x


@case(breaks=2)
def under_exit_stack(x, n):
    with contextlib.ExitStack() as stack:
        stack.callback(LOG.append, "left")
        x = x + 1
        gb()
        x = x * 2
    return x


@case(breaks=1)
def in_list_comprehension(x, n):
    return sum([inner(x) for _ in range(2)])


@case(breaks=1)
def in_dict_comprehension(x, n):
    return sum({i: inner(x) for i in range(2)}.values())


@case(breaks=1)
def in_generator_expression(x, n):
    return sum(inner(x) for _ in range(2))


def yielding(x):
    yield x + 1
    gb()
    yield x * 2


@case(breaks=1)
def in_generator(x, n):
    return sum(yielding(x))


def quiet_generator(x):
    yield x + 1
    yield x * 2


@case(breaks=1)
def between_next_calls(x, n):
    g = quiet_generator(x)
    a = next(g)
    gb()
    return a + next(g)


@case(breaks=1)
def nested_calls(x, n):
    return middle(x) + 1


@case(breaks=1)
def nested_calls_twice(x, n):
    return middle(x) + middle(x * 2)


class Thing:
    def __init__(self, x=None):
        if x is None:
            gb()
        self.x = x

    @property
    def p(self):
        gb()
        return 2

    def __call__(self, x):
        gb()
        return x * 2

    def __add__(self, o):
        gb()
        return o * 2

    def __getitem__(self, i):
        gb()
        return i

    def __setitem__(self, i, v):
        gb()
        self.x = v

    def __len__(self):
        gb()
        return 2

    def __bool__(self):
        gb()
        return True

    def __eq__(self, o):
        gb()
        return True

    def __lt__(self, o):
        gb()
        return True

    def __contains__(self, o):
        gb()
        return True

    def __iter__(self):
        gb()
        return iter([1, 2])

    def __getattr__(self, name):
        gb()
        return 5

    def __str__(self):
        gb()
        return "thing"


THING = Thing(1)


@case(breaks=1)
def in_property(x, n):
    return (x + 1) * THING.p * 2


@case(breaks=1)
def in_call(x, n):
    return THING(x + 1) * 2


@case(breaks=1)
def in_getitem(x, n):
    return (x + 1) * THING[3] * 2


@case(breaks=1)
def in_setitem(x, n):
    y = x + 1
    THING[0] = 4
    return y * THING.x


@case(breaks=1)
def in_len(x, n):
    return (x + 1) * len(THING)


@case(breaks=1)
def in_bool(x, n):
    x = x + 1
    if THING:
        x = x * 2
    return x


@case(breaks=1)
def in_eq_and_lt(x, n):
    x = x + 1
    return x * 2 if THING == 3 else x


@case(breaks=1)
def in_contains(x, n):
    x = x + 1
    return x * 2 if 1 in THING else x


@case(breaks=1)
def in_iter_for(x, n):
    x = x + 1
    for v in THING:
        x = x * v
    return x


@case(breaks=1)
def in_iter_unpack(x, n):
    x = x + 1
    a, b = THING
    return x * a * b


@case(breaks=1)
def in_getattr(x, n):
    return (x + 1) * THING.nothing


@case(breaks=1)
def in_str(x, n):
    y = x + 1
    return y * len(str(THING)), f"{THING}" if False else ""


@case(breaks=1)
def in_init(x, n):
    t = Thing()
    return x + 1, t.x


@case(breaks=1)
def in_sort_key(x, n):
    a = [3, 1, 2]
    a.sort(key=lambda v: (gb(), v)[1])
    return x * a[0], a


@case(breaks=1)
def in_partial(x, n):
    return functools.partial(inner)(x + 1) * 2


@case(breaks=1)
def in_map(x, n):
    return sum(map(inner, [x, x * 2]))


@case(breaks=1)
def in_filter(x, n):
    return x * len(list(filter(lambda v: gb() or v > 1, [1, 2, 3])))


@case(breaks=1)
def in_reduce(x, n):
    return functools.reduce(lambda a, b: inner(a) + b, [x, x, x])


def wrapping(f):
    @functools.wraps(f)
    def wrapper(*a):
        return f(*a) + 1

    return wrapper


@case(breaks=1)
def in_decorated(x, n):
    return wrapping(inner)(x) * 2


@case(breaks=1)
def tensor_condition(x, n):
    y = x + 1
    if y.sum() > 0:
        return y * 2
    return y - 1


@case(breaks=2)
def tensor_condition_and_break(x, n):
    y = x + 1
    if y.sum() > 0:
        gb()
        return y * 2
    return y - 1


@case(breaks=1)
def while_tensor(x, n):
    y = x + 1
    while y.sum() < 50:
        y = y * 2
    return y


@case(breaks=1)
def item_read(x, n):
    k = (x + 1).sum().item()
    return x * k


@case(breaks=1)
def float_read(x, n):
    return x * float((x + 1).sum())


@case(breaks=1)
def list_read(x, n):
    return x * 2, (x + 1).tolist()


@case(breaks=1)
def boolean_operators(x, n):
    y = x + 1
    return y * 2 if y.sum() > 0 and n >= 0 else y


@case(breaks=1)
def negated_tensor(x, n):
    y = x + 1
    return y * 2 if not (y.sum() > 0) else y * 3


@case(breaks=1)
def tensor_text(x, n):
    return x * 2, f"{x + 1}"


@case(breaks=1)
def printed(x, n):
    y = x + 1
    print("a")
    return y * 2


@case(breaks=1)
def nonzero_read(x, n):
    return torch.nonzero(x + 1).sum() + 1


@case(breaks=1)
def mask_index(x, n):
    return x[x > 1].sum() + 1


@case(breaks=1)
def one_hot_open(x, n):
    return F.one_hot(x.long()).sum() + 1


@case(breaks=1)
def range_of_tensor(x, n):
    return sum((x * i for i in range(torch.tensor(2) + 1)), x)


@case(breaks=2)
def backward_inside(x, n):
    w = x.clone().requires_grad_()
    y = (w * 2).sum()
    y.backward()
    return w.grad * 2


@case(breaks=1)
def shape_error_caught(x, n):
    try:
        return x @ torch.ones(7, 2)
    except RuntimeError:
        return x + 1


@case
def exception_group(x, n):
    try:
        raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
    except* ValueError as g:
        LOG.append(len(g.exceptions))
    except* TypeError:
        LOG.append("t")
    return x + 1
