# SPDX-License-Identifier: GPL-3.0-or-later
"""Values and sizes that are known at run time only, under fullgraph=True: what PyTorch 2.13 keeps within its one graph must not be
refused here, and what it refuses must be. Under error_on_graph_break(True) without fullgraph those reads are breaks, as there.

  test_reads.py [NAME...] [--live]     --live asks PyTorch's own compiler as well
"""

import functools
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))

import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.nn as nn  # noqa: E402
from harness import Tally, bits_equal  # noqa: E402

import breakline  # noqa: E402

PROGRAMS = {}  # name → (function, whether fullgraph=True takes it)


def accepted(f):
    PROGRAMS[f.__name__] = f, True
    return f


def refused(f):
    PROGRAMS[f.__name__] = f, False
    return f


def values():
    return torch.tensor([1.0, -2.0, 3.0])


@accepted
def item_unused(x):
    n = x.sum().item()
    return x + 1


@accepted
def item_used(x):
    return x * x.sum().item() + 1


@accepted
def item_returned(x):
    return (x + 1, x.sum().item())


@accepted
def float_t(x):
    return x * float(x.sum())


@accepted
def int_t(x):
    return x * int(x.sum())


@accepted
def bool_t(x):
    return x + bool(x.sum())


@accepted
def bool_t_ret(x):
    return (x + 1, bool(x.sum() > 0))


@refused
def item_branch(x):
    if x.sum().item() > 0:
        return x + 1
    return x - 1


@refused
def tensor_branch(x):
    if x.sum() > 0:
        return x + 1
    return x - 1


@refused
def not_tensor(x):
    if not x.sum() > 0:
        return x + 1
    return x - 1


@refused
def tensor_and(x):
    return x.sum() > 0 and x + 1


@accepted
def mask_index(x):
    return x[x > 0] + 1


@accepted
def mask_assign(x):
    y = x.clone()
    y[y > 0] = 7.0
    return y


@accepted
def nonzero(x):
    return x.nonzero() + 1


@accepted
def nonzero_tuple(x):
    return x.nonzero(as_tuple=True)[0] + 1


@accepted
def where1(x):
    return torch.where(x > 0)[0] + 1


@accepted
def masked_select(x):
    return torch.masked_select(x, x > 0) * 2


@accepted
def unique(x):
    return torch.unique(x) * 2


@accepted
def assert_t(x):
    assert x.sum() > 0
    return x + 1


@accepted
def assert_t_msg(x):
    assert x.sum() > 0, 'msg'
    return x + 1


@accepted
def assert_all(x):
    assert (x > -9).all(), 'bad'
    return x + 1


@accepted
def assert_item(x):
    assert x.sum().item() > 0
    return x + 1


@accepted
def numpy_(x):
    return torch.from_numpy(x.numpy() * 2) + 1


@accepted
def numpy_ret(x):
    return (x + 1).numpy()


@accepted
def id_(x):
    d = {id(x): 1}
    return x + d[id(x)]


@accepted
def id_ret(x):
    return (x + 1, id(x) == id(x))


@refused
def fstring(x):
    s = f'{x}'
    return x + len(s)


@accepted
def fstring_unused(x):
    s = f'{x}'
    return x + 1


@accepted
def fstring_item(x):
    s = f'{x.sum().item():.2f}'
    return x + 1


@refused
def str_(x):
    s = str(x)
    return x + 1


@refused
def repr_(x):
    s = repr(x)
    return x + 1


@refused
def param_ctor(x):
    w = nn.Parameter(torch.ones(3))
    return x * w


@refused
def tolist_f(x):
    return x + sum(x.tolist())


@accepted
def tolist_i(x):
    return x + sum(x.long().tolist())


@refused
def tolist_ret(x):
    return (x + 1).tolist()


@refused
def range_item(x):
    n = int(x[0].item())
    for i in range(n):
        x = x + 1
    return x


@accepted
def zeros_item(x):
    return torch.zeros(int(x[0])) + 1


@accepted
def arange_item(x):
    return torch.arange(x[2].item())


@accepted
def slice_item(x):
    n = int(x[0])
    return x[:n] * 2


@accepted
def index_item(x):
    i = int(x[0])
    return x[i] * 2


@refused
def index_t(x):
    i = x[0].long()
    return x[i] * 2


@refused
def list_index(x):
    l = [x, x + 1, x + 2]
    return l[int(x[0])]


@refused
def dict_item(x):
    d = {1: 2}
    return x + d[int(x[0])]


@refused
def equal(x):
    return x + torch.equal(x, x + 1)


@refused
def allclose(x):
    return x + torch.allclose(x, x + 1)


@refused
def is_nonzero(x):
    return x + x[0].is_nonzero()


@refused
def math_sqrt(x):
    return x * math.sqrt(x[0])


@accepted
def max_item(x):
    return x * max(x[0].item(), 2.0)


@accepted
def min_builtin(x):
    return x * min(x[0], x[1])


@refused
def while_t(x):
    while x.sum() < 10:
        x = x + 1
    return x


@refused
def ifexp(x):
    return x + 1 if x.sum() > 0 else x - 1


@refused
def in_list(x):
    return x + (2.0 in x.tolist())


@accepted
def contains(x):
    return x + (1.0 in x)


@accepted
def item_cmp_ret(x):
    return (x + 1, x.sum().item() > 0)


@accepted
def item_arith(x):
    n = x.sum().item()
    return x * (n * 2 + 1) - n ** 2


@accepted
def item_int_arith(x):
    n = x.long().sum().item()
    return x * (n * 2 + 1) - n // 2


@accepted
def item_store(x):
    d = {}
    d['a'] = x.sum().item()
    return (x + 1, d)


@accepted
def item_isinst(x):
    n = x.sum().item()
    return x + (1 if isinstance(n, float) else 2)


@accepted
def item_none(x):
    n = x.sum().item()
    return x + (1 if n is None else 2)


@accepted
def item_round(x):
    return x + round(x.sum().item())


@accepted
def item_minmax(x):
    return x + min(x.sum().item(), 1.0)


@accepted
def item_fn(x):

    def g(a):
        return a * 2
    return x + g(x[0].item())


@accepted
def item_fstr(x):
    return (x + 1, f'{x[0].item()}')


@accepted
def repeat_interleave(x):
    return torch.repeat_interleave(x, torch.tensor([1, 2, 3]))


@accepted
def bincount(x):
    return torch.bincount(x.abs().long())


@accepted
def hash_t(x):
    return x + (hash(x) == hash(x))


@accepted
def torch_tensor_item(x):
    return x + torch.tensor(x[0].item())


@accepted
def torch_tensor_list(x):
    return x + torch.tensor([x[0].item(), 2.0, 3.0])


@refused
def torch_assert(x):
    torch._assert(x.sum() > 0, 'm')
    return x + 1


@accepted
def torch_check(x):
    torch._check(bool(x.sum() > 0))
    return x + 1


@accepted
def data_ptr(x):
    return x + (x.data_ptr() == x.data_ptr())


@accepted
def tensor_format(x):
    return (x + 1, '{}'.format(x))


@accepted
def int_minus(x):
    return x - -int(x[0])


@accepted
def len_nonzero(x):
    return x + len(x.nonzero())


@accepted
def mask_shape(x):
    return x[x > 0].shape[0] + x


@accepted
def mask_sum(x):
    return x[x > 0].sum()


@accepted
def mask_cat(x):
    return torch.cat([x[x > 0], x[x < 0]])


@refused
def mask_numel_branch(x):
    y = x[x > 0]
    if y.numel() == 0:
        return x
    return y * 2


@refused
def nonzero_loop(x):
    for i in x.nonzero():
        x = x + i
    return x


@refused
def bool_list(x):
    return x + any([bool(x[0] > 0)])


@refused
def any_t(x):
    return x + 1 if any(x > 0) else x


@refused
def any_gen(x):
    return x + any((v > 0 for v in x))


@refused
def index_(x):
    return [1, 2, 3][x[0].long()] + x


@refused
def range_t(x):
    for i in range(x[2].long()):
        x = x + i
    return x


@refused
def complex_(x):
    return x + complex(x[0]).real


@accepted
def fullnum(x):
    return torch.full((3,), x[0].item()) + x


@accepted
def clamp_item(x):
    return x.clamp(max=x[0].item())


@accepted
def masked_fill_item(x):
    return x.masked_fill(x < 0, x[0].item())


@accepted
def view_item(x):
    return x.view(int(x[0]), 3)


@accepted
def split_item(x):
    return torch.split(x, [int(x[0]), 2])[1]


@accepted
def split_tolist(x):
    return torch.split(x, x.abs().long()[:2].tolist())[1]


@accepted
def expand_item(x):
    return x.expand(int(x[0]), 3)


@accepted
def topk_item(x):
    return torch.topk(x, int(x[0]))[0]


@accepted
def np_array(x):
    return x + torch.from_numpy(np.ones(3, dtype=np.float32))


@accepted
def np_sin(x):
    return torch.from_numpy(np.sin(x.numpy()))


@accepted
def numpy_item(x):
    return x + x.numpy()[0]


@accepted
def detach_numpy(x):
    return (x * 2).detach().cpu().numpy()


# Never a break in PyTorch, so never an error in a strict region; and reads that are one there.
NEVER = ["assert_t", "assert_all", "numpy_", "id_", "fstring_unused", "tensor_format", "hash_t", "data_ptr", "np_array", "np_sin", "min_builtin"]
STRICT = ["item_used", "int_t", "mask_index", "nonzero", "tolist_i", "repeat_interleave"]


def outcome(f, x):
    try:
        r = f(x)
        return "value", torch.from_numpy(r) if isinstance(r, np.ndarray) else r
    except Exception as e:
        return "error", e


def check(tally, name, wrap, want_error):
    function = PROGRAMS[name][0]
    eager = [outcome(function, x) for x in (values(), values() * 2, values())]
    compiled = wrap(function)
    for call, ((kind, value), x) in enumerate(zip(eager, (values(), values() * 2, values()))):
        got_kind, got = outcome(compiled, x)
        if want_error:
            unsupported = got_kind == "error" and any(c.__name__ == "Unsupported" for c in type(got).__mro__)
            tally.check(f"{name} {call}", unsupported, f"was not refused: {got!r}")
        elif kind == "error":
            tally.check(f"{name} {call}", got_kind == "error" and type(got) is type(value) and str(got) == str(value), f"{got!r} instead of {value!r}")
        else:
            tally.check(f"{name} {call}", got_kind == "value" and bits_equal(got, value), f"{got!r} instead of {value!r}")


def strict(f):
    compiled = breakline.compile(f, plan="replay")

    def run(x):
        with breakline.error_on_graph_break(True):
            return compiled(x)

    return run


def failing_assert(x, seen):
    seen.append(1)
    x.add_(1)
    assert (x > 0).all(), f"negative: {x.min().item()}"
    seen.append(2)
    return x * 2


def check_assertions(tally):
    """A false one: eager's error, and everything before it has happened once."""
    for options in ({"plan": "replay"}, {}, {"fullgraph": True}):
        compiled = breakline.compile(failing_assert, **options)
        for start in (torch.ones(2), torch.tensor([1.0, -5.0]), torch.ones(2)):
            a, b, seen_a, seen_b = start.clone(), start.clone(), [], []
            want, got = outcome(lambda x: failing_assert(x, seen_a), a), outcome(lambda x: compiled(x, seen_b), b)
            same = want[0] == got[0] and (str(want[1]) == str(got[1]) if want[0] == "error" else bits_equal(want[1], got[1]))
            tally.check(f"assertion {options} {start}", same and torch.equal(a, b) and seen_a == seen_b, f"{got}, {b}, {seen_b}; eager {want}, {a}, {seen_a}")
        tally.check(f"assertion {options} breaks", compiled.stats["breaks"] == 0, str(dict(compiled.stats)))


def main():
    names = [a for a in sys.argv[1:] if not a.startswith("-")] or list(PROGRAMS)
    tally = Tally("values read under fullgraph")
    for name in names:
        check(tally, name, functools.partial(breakline.compile, fullgraph=True, plan="replay"), not PROGRAMS[name][1])
        if "--live" in sys.argv:
            torch._dynamo.reset()
            kind, _ = outcome(torch.compile(PROGRAMS[name][0], fullgraph=True, backend="eager"), values())
            tally.check(f"{name} live", (kind == "value") == PROGRAMS[name][1], f"PyTorch itself answers {kind}")
    for name in set(NEVER) & set(names):
        check(tally, name, strict, False)
    for name in set(STRICT) & set(names):
        check(tally, name, strict, True)
    if len(names) == len(PROGRAMS):
        check_assertions(tally)
    tally.finish()


if __name__ == "__main__":
    sys.exit(main())
