# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions that PyTorch runs in a way of its own (checkpoints, torch.cond) and objects of numpy that a segment makes. Entries as in
programs_forms.py; gradients are part of what is compared."""

import functools

import numpy as np
import torch
import torch.nn as nn
from programs_forms import calls, form
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

REGIONS = {}


region = functools.partial(form, table=REGIONS)


# --- checkpoints ------------------------------------------------------------------------------------------------------


def net():
    return nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Dropout(0.5), nn.Linear(8, 6))


def of_a_module(reentrant, mode):
    def make():
        m = net().train(mode)

        def f(x):
            y = checkpoint(m, x * 2, use_reentrant=reentrant)
            return y + 1, x

        return f, calls(4, 6, grad=True)

    return make


for _reentrant in (False, True):
    for _mode in (False, True):
        REGIONS[f"checkpoint_{_reentrant}_{_mode}"] = (of_a_module(_reentrant, _mode), 0)


@region(1)
def gradients_through_checkpoints():
    m, other = net().train(), net().eval()

    def f(x):
        y = checkpoint(m, x, use_reentrant=False)
        z = checkpoint(other, x + 1, use_reentrant=True)
        return torch.autograd.grad((y * z).sum(), [x, *m.parameters()])

    return f, calls(4, 6, grad=True)


@region(1)
def compiled_inside_a_checkpoint():
    """The call around it runs the whole again in the backward pass, and ends that early."""
    m = net().train()

    def f(x):
        y = m(x * 2)
        torch._dynamo.graph_break()
        return (y * y).sin()

    return f, [("checkpoint", *c) for c in calls(4, 6, grad=True)]


@region(0)
def grad_by_its_other_name():
    def f(x, y):
        x._grad = y + 1
        y.grad = x + 2
        return x.grad * 2, y._grad + 1

    return f, [(c[0].detach().requires_grad_(), d[0].detach().requires_grad_()) for c, d in zip(calls(4), calls(4))]


class Halted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        torch._dynamo.graph_break()
        ctx.save_for_backward(x)
        ctx.k = k
        return x.sin() * k

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.cos() * ctx.k, None


@region(1)
def break_in_the_forward_of_a_function():
    def f(x):
        return Halted.apply(x * 2, 3) + 1, Halted.apply(x, 4.0)

    return f, calls(4, grad=True)


LIBRARY = torch.library.Library("breakline_regions", "DEF")
LIBRARY.define("turned(Tensor x) -> Tensor")
LIBRARY.impl("turned", lambda x: -x, "CompositeImplicitAutograd")


@region(0)
def operator_found_by_name():
    def f(x):
        return torch.ops.breakline_regions.turned(x + 1) * 2

    return f, calls(4)


@region(0)
def without_grad():
    m = net().eval()

    def f(x):
        with torch.no_grad():
            return checkpoint(m, x, use_reentrant=False) + 1

    return f, calls(4, 6)


@region(0)
def closures_and_keywords():
    w = torch.randn(6, 6, requires_grad=True)

    def f(x):
        k = x.mean()

        def body(a, *, scale=1.0, other=None):
            return (a @ w) * scale + k + (0 if other is None else other), a * 2

        y, z = checkpoint(body, x, use_reentrant=False, scale=3.0, other=x * 2, preserve_rng_state=False)
        t = checkpoint(lambda a, b: a * b, y, z, use_reentrant=True)
        return y, z, t

    return f, calls(4, 6, grad=True)


@region(0)
def nested_checkpoints():
    m = net().train()

    def inner(a):
        return checkpoint(m, torch.sin(a), use_reentrant=False) * 2

    def f(x):
        return checkpoint(inner, x, use_reentrant=False).cos()

    return f, calls(4, 6, grad=True)


@region(0)
def stacked_blocks():
    blocks = nn.ModuleList([net() for _ in range(3)]).train()
    again = functools.partial(checkpoint, use_reentrant=False)

    def f(x):
        for block in blocks:
            x = x + again(block, x)
        return x

    return f, calls(4, 6, grad=True)


@region(0)
def sequential_checkpoint():
    m = nn.Sequential(*[nn.Linear(6, 6) for _ in range(4)], nn.ReLU())

    def f(x):
        return checkpoint_sequential(m, 2, x, use_reentrant=False) * 2

    return f, calls(4, 6, grad=True)


@region(0)
def batch_norm_counts_each_time():
    m = nn.Sequential(nn.Linear(6, 6), nn.BatchNorm1d(6)).train()

    def f(x):
        return checkpoint(m, x, use_reentrant=False).sum(), m[1].num_batches_tracked.clone()

    return f, calls(4, 6, grad=True)


@region(0)
def under_autocast():
    m = net().train()

    def f(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return checkpoint(m, x, use_reentrant=False)

    return f, calls(4, 6, grad=True)


@region(2)
def side_effects_are_done_for_real():
    seen = []

    def body(a):
        seen.append(len(seen))
        return a.sin() * a

    def f(x):
        y = checkpoint(body, x, use_reentrant=False)
        return y, torch.autograd.grad(y.sum(), x, retain_graph=True), list(seen)

    return f, calls(3, grad=True)


@region(1)
def break_in_the_body():
    def body(a):
        b = a.sin()
        print(end="")
        return b * a

    def f(x):
        return checkpoint(body, x + 1, use_reentrant=False) * 2

    return f, calls(3, grad=True)


@region(1)
def raised_in_the_body():
    def body(a):
        if a.shape[0] == 3:
            raise ValueError("three")
        return a

    def f(x):
        try:
            return checkpoint(body, x, use_reentrant=False)
        except ValueError as e:
            return x, str(e)

    return f, calls(3, grad=True)


@region(0)
def inner_values_kept():
    class Keeper:
        pass

    def f(x):
        keep = Keeper()

        def body(a):
            b = a.exp()
            keep.b = b
            return b * a

        y = checkpoint(body, x, use_reentrant=False)
        return y + keep.b

    return f, calls(3, grad=True)


@region(0)
def batch_sizes():
    m = net().train()

    def f(x):
        return checkpoint(m, x, use_reentrant=False) + 1

    return f, [(torch.randn(n, 6, requires_grad=True),) for n in (2, 3, 4, 5)]


# --- torch.cond -------------------------------------------------------------------------------------------------------


@region(0)
def cond_of_lambdas():
    def f(x):
        return torch.cond(x.sum() > 0, lambda t: t.sin() * 2, lambda t: t.cos() - 1, (x * 2,)) + 1

    return f, [(torch.ones(3),), (-torch.ones(3),), (torch.ones(3) * 2,)]


@region(0)
def cond_of_several():
    w = torch.randn(3)

    def yes(a, b):
        return a + w, (b * 2).relu()

    def no(a, b):
        return a - w, b * w

    def f(x):
        a, b = torch.cond(x.sum() > 0, yes, no, [x, x + 1])
        return a * b, b

    return f, [(torch.ones(3),), (-torch.ones(3),), (torch.ones(3) * 2,)]


# --- arrays of tensors ------------------------------------------------------------------------------------------------


@region(0)
def arrays_of_tensors():
    def f(x):
        a = (x * 2).numpy()
        b = np.sin(a) + a.astype(np.float64).sum() - np.float32(2)
        return torch.from_numpy(b * 2) + 1, b, a

    return f, calls(3, 4)


@region(0)
def functions_on_tensors():
    def f(x):
        y = x + 1
        return np.asarray(y), np.sin(y), np.maximum(y, 0.5), torch.as_tensor(np.cumsum(y.numpy(), axis=1))

    return f, calls(3, 4)


@region(0)
def array_methods():
    def f(x):
        a = x.exp().numpy()
        m = a.mean(axis=0, keepdims=True)
        s = a.reshape(-1)[1:5].T.max()
        parts = np.concatenate([a, m, a[::-1]]), np.where(a > 1, a, 0), a.argmax(), a.shape, a.dtype, len(a), a.ndim
        rows = [r * 2 for r in a]
        return parts, rows, torch.tensor(s) + x, isinstance(a, np.ndarray), x * float(a.shape[0])

    return f, calls(3, 4)


@region(0)
def arrays_share_memory():
    def f(x):
        y = x * 2
        a = y.numpy()
        y.add_(1)
        b = torch.from_numpy(a)
        b.mul_(3)
        return y + 1, a, b

    return f, calls(3, 4)


@region(0)
def arrays_brought_along():
    table = np.arange(4, dtype=np.float32)

    def f(x, arr):
        return x + torch.from_numpy(np.cos(arr) * table), np.dot(arr, table)

    return f, [(torch.randn(4), np.ones(4, dtype=np.float32) * k) for k in range(3)] + [(torch.randn(4), np.ones(4))]


@region(1)
def values_of_arrays_are_read():
    def f(x):
        a = x.numpy()
        if a.sum() > 0:
            return x + 1
        return x - 1

    return f, [(torch.ones(3),), (-torch.ones(3),)]


@region(3)
def arrays_written():
    def f(x):
        a = (x * 2).numpy()
        a[0] = 5
        a += 1
        return torch.from_numpy(a) * 2, a[a > 1]

    return f, calls(3, 4)


@region(0)
def warnings_at_their_line():
    def f(x):
        a = x.numpy()
        return np.log(a) + 1, np.sqrt(a)

    return f, calls(6)


@region(1)
def needs_no_grad():
    def f(x):
        y = x * 2
        try:
            y.numpy()
        except RuntimeError as e:
            return y, str(e)

    return f, calls(3, grad=True)


# --- tensors of other layouts -----------------------------------------------------------------------------------------


@region(0)
def quantised():
    def f(x):
        q = torch.quantize_per_tensor(x * 2, 0.1, 0, torch.qint8)
        return q.dequantize() + 1, q.int_repr(), q.dtype, q.is_quantized, q.shape

    return f, calls(3, 4)


@region(0)
def nested_of_rows():
    def f(x):
        n = torch.nested.nested_tensor([x[0] * 2, x[1][:2], x[2]], layout=torch.jagged)
        return (n * 2 + 1).values(), n.sin().values().sum()

    return f, calls(3, 4)


# --- hooks on inputs --------------------------------------------------------------------------------------------------


@region(0)
def hook_on_an_input():
    def f(x):
        x.register_hook(lambda g: g * 2)
        return x.sin() + 1

    return f, calls(3, grad=True)


# --- arrays and writes ------------------------------------------------------------------------------------------------


@region(0)
def array_and_its_tensor_both_given():
    def f(x, a):
        x.add_(1)
        b = np.cos(a)
        x.mul_(2)
        return b, np.sin(a), x + 1

    def pair():
        x = torch.randn(4)
        return x, x.numpy()

    return f, [pair() for _ in range(3)]


@region(2)
def part_of_an_array_written():
    def f(x, a):
        torch.from_numpy(a[1:]).add_(x)
        return np.log(a), x * 2

    return f, [(torch.ones(3) * k, np.ones(4, dtype=np.float32)) for k in (1, -2, 1)]


@region(4)
def arrays_meet_tensors():
    def f(x):
        a = x.numpy()
        i = np.argsort(a[0])
        y = x * a.max() + a[0, 1]
        m = x[i - i]
        x[0] = a[1, 1] * 2
        return y, m, a + x, (x, a.mean(), {"k": a[1]}), np.float32(2) * x, f"{a.shape}", a.tolist()

    return f, calls(4, 4)


# --- what PyTorch's own suites ask (found with them, written anew) ------------------------------------------------------


@region(0)
def numbers_only_functions():
    def f(x):
        out = []
        for ask in (lambda: round(x), lambda: round(x, 1), lambda: divmod(x, 2), lambda: divmod(2, x), lambda: divmod(x, x)):
            try:
                out.append(ask())
            except TypeError as e:
                out.append(str(e))
        return out, x + 1

    return f, calls(3)


@region(0)
def lazy_conjugates():
    def f(x):
        c = torch.complex(x, x + 1)
        d = c.conj()
        e = (d * 2, torch.matmul(c, d.T), c.mH.sum(), d.real, d.imag + 1, c.resolve_conj().abs(), d.is_conj())
        c.mul_(2)
        return e, d + 0

    return f, calls(3, 3)


@region(0)
def row_by_a_tensor():
    def f(x):
        y = x * 2
        y[torch.tensor(1)] = 3
        y[x.argmax()] = torch.tensor(7.0)
        return y + 1

    return f, calls(4)


@region(0)
def copies_have_their_version():
    import copy

    t = torch.arange(4.0)

    def f(x):
        a, b = copy.deepcopy(t), copy.deepcopy(x)
        return a, b, x.device is x.device, hash(x.shape)

    return f, calls(3)


@region(0)
def wrapped_functions():
    from torch._higher_order_ops.wrap import wrap

    layer = torch.nn.Linear(4, 4)
    notes = []

    def f(x):
        scale = 1

        def inner(x, *, k):
            nonlocal scale
            scale = scale + k
            notes.append(scale)
            return [{"a": x * k}, wrap(layer, x)]

        made = wrap(inner, x, k=3)
        return made, wrap(lambda: x.sin()) * scale, len(notes), wrap(torch.cos, input=x)

    return f, calls(3, 4)
