# SPDX-License-Identifier: GPL-3.0-or-later
"""Tensors of other classes made while tracing, and objects that calls need on the way to a tensor. Each entry as in programs_forms.py."""

import functools

import numpy as np
import torch
import torch.nn as nn
from programs_forms import data, form, seen

CLASSES = {}
classes = functools.partial(form, table=CLASSES)


class Plain(torch.Tensor):
    pass


class Tagged(torch.Tensor):
    def __new__(cls, x, tag="none", grad=False):
        made = torch.Tensor._make_subclass(cls, x, grad)
        made.tag = tag
        return made

    def __init__(self, x, tag="none", grad=False):
        self.size_of_tag = len(tag)


class Through(torch.Tensor):
    """Made by the base's __new__."""

    def __new__(cls, x, scale=1):
        return super().__new__(cls, x * scale)

    def __init__(self, x, scale=1):
        self.scale = scale


def plain(t):
    return t.as_subclass(torch.Tensor)


def pairs(*sizes):
    return [(data(*sizes, grad=grad),) for grad in (False, True, False, True)]


@classes(0)
def class_of_a_tensor():
    def f(x):
        a, b = Plain(x), Plain(x * 2)
        c = Plain(b[0])
        return a + 1, seen(a), seen(b), seen(c), type(a).__name__, type(c * 2).__name__, a is x

    return f, pairs(2, 3)


@classes(0)
def class_of_a_tensor_that_is_handed_on():
    def f(x):
        return Plain(x), Plain(x.sin())

    return f, pairs(2, 3)


@classes(0)
def class_of_a_tensor_without_grad():
    def f(x):
        with torch.no_grad():
            a = Plain(x)
            b = Plain(x * 2)
        return seen(a), seen(b), plain(a) * 2, plain(b)

    return f, pairs(2, 3)


@classes(0)
def class_with_a_new_of_its_own():
    def f(x):
        a, b = Tagged(x), Tagged(x.detach() * 2, "text", grad=True)
        c = b * 3
        return a.tag, b.tag, a.size_of_tag + b.size_of_tag, seen(a), seen(b), seen(c), plain(a) + 1, plain(c), getattr(c, "tag", None)

    return f, pairs(2, 3)


@classes(0)
def class_with_a_new_of_its_own_that_is_handed_on():
    def f(x):
        made = Tagged(x, tag="kept")
        return made, made.tag, torch.Tensor._make_subclass(Plain, x * 2, require_grad=True)

    return f, pairs(2, 3)


@classes(0)
def class_through_the_base():
    def f(x):
        a = Through(x, scale=3)
        return a, a.scale, seen(a), plain(a + 1), torch.Tensor.__new__(Plain, x).sum()

    return f, pairs(2, 3)


@classes(0)
def memory_of_a_class_is_shared():
    def f(x):
        y = x.detach() * 2
        a, b = Plain(y), Tagged(y)
        y.add_(1)
        a.mul_(2)
        return plain(a), plain(b), y

    return f, pairs(2, 3)


@classes(1)
def class_that_can_not_need_a_gradient():
    def f(x):
        try:
            return Tagged(x.long(), grad=True)
        except RuntimeError as e:
            return str(e), x + 1

    return f, pairs(2, 3)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        torch._dynamo.graph_break()
        ctx.rows = x.shape[0]
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * ctx.rows


@classes(0)
def function_allowed_in_the_graph():
    import breakline

    class Allowed(Doubled):
        pass

    breakline.allow_in_graph(Allowed)

    def f(x):
        y = Allowed.apply(x.sin())
        return y * 2, seen(y)

    return f, pairs(2, 3)


@classes(0)
def function_called_through_an_instance():
    class Halved(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x / 2

        @staticmethod
        def backward(ctx, g):
            return g / 2

    def f(x):
        return Halved().apply(x) + 1

    return f, pairs(3)


@classes(0)
def limits_of_numbers():
    def f(x, a):
        limits = np.finfo(np.float32)
        return x * np.finfo(a.dtype).eps + limits.max, float(limits.tiny), np.finfo("float64") is np.finfo(np.float64), np.iinfo(np.int32).max, limits.bits

    return f, [(data(3), np.ones(2)), (data(3), np.ones(2, np.float32)), (data(3), np.ones(2))]


@classes(0)
def graph_modules_are_followed():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(3, 3)

        def forward(self, x, scale=2):
            return self.layer(x).relu() * scale

    made = torch.fx.symbolic_trace(Net())

    def f(x):
        return made(x) + made(x, scale=x.sum())

    return f, pairs(2, 3)


def scalars(make, *more):
    """Calls with a scalar of numpy's that is another one each time, more often than a variant for each would be kept."""
    return [(data(3), make(i % 13), *more) for i in range(20)]


@classes(0)
def scalars_that_change():
    return lambda x, k: (x + 1, k / 2, x * k + k, k, type(k).__name__, (k + 1) * 2), scalars(np.int64)


@classes(0)
def floats_of_numpy_that_change():
    return lambda x, k: (x * k, x + np.float32(2) * k, k.dtype, np.sqrt(k)), scalars(np.float32)


@classes(0)
def doubles_of_numpy_that_change():
    return lambda x, k: (x * k + float(2), k * k, abs(-k), k.ndim), scalars(np.float64)


@classes(9)
def scalars_that_decide():
    """Numbers that sizes, places or branches depend on are looked at each time."""

    def f(x, k, a):
        out = [np.arange(k), np.zeros(k), np.repeat(a, k), a[: int(k)], a[k % 3], a.reshape(-1)[k % 2 :]]
        if k > 4:
            out.append(x + 1)
        return out, [x * i for i in range(k)], torch.ones(int(k)), x[k % 3]

    return f, scalars(np.int64, np.arange(3.0))


@classes(2)
def scalars_beside_gradients():
    return lambda x, k: (x.requires_grad_() * k).sum() + k, scalars(np.float32)


def legacy(x):
    """Which of the old classes a tensor counts as."""
    named = torch.FloatTensor, torch.DoubleTensor, torch.HalfTensor, torch.LongTensor, torch.BoolTensor, torch.sparse.FloatTensor
    return [isinstance(x, c) for c in named], isinstance(x, (int, torch.LongTensor)), isinstance(x, torch.Tensor)


@classes(0)
def made_tensors_as_legacy_types():
    """torch.FloatTensor and the like ask for the numbers' type, whatever the class."""

    def f(x):
        y = x * 2
        made = y, y.double(), y.half(), y > 0, y.long(), torch.empty(2, dtype=torch.int64), nn.Parameter(y.detach()), y.as_subclass(Plain)
        return [legacy(t) for t in made], legacy(x), legacy(x.T), issubclass(torch.Tensor, torch.FloatTensor), y

    return f, [(data(3),), (data(3).double(),), (data(3),), (data(3).as_subclass(Plain),), (data(3),)]


@classes(0)
def legacy_types_on_other_devices():
    return lambda x: (legacy(torch.empty(2, device="meta")), x + 1), [(data(3),)] * 3


@classes(0)
def legacy_types_after_a_change():
    def f(x):
        y = x.clone()
        before = legacy(y)
        y.data = y.double()
        return before, legacy(y), y

    return f, [(data(3),)] * 3
