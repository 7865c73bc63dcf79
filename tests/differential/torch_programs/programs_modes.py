# SPDX-License-Identifier: GPL-3.0-or-later
"""Torch-function modes that a program enters and leaves inside the traced function: name → (maker as in programs.py, places that may break).
The modes write down what they are asked, so a call that goes past one shows."""

import contextlib

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.overrides import BaseTorchFunctionMode, TorchFunctionMode

MODES = {}


def mode(places=0):
    def add(make):
        MODES[make.__name__] = (make, places)
        return make

    return add


def xs(*sizes, n=2):
    return [(torch.randn(*sizes),) for _ in range(n)]


class Halving(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        r = func(*args, **(kwargs or {}))
        return r / 2 if func is torch.add else r


class Noting(TorchFunctionMode):
    def __init__(self, said):
        self.said = said

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.said.append((func.__name__ if hasattr(func, "__name__") else "?", len(types), len(args), sorted(kwargs or {})))
        return func(*args, **(kwargs or {}))


class Tagged(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {})


@mode()
def one_call_changed():
    def f(x):
        y = x * 2
        with Halving():
            y = torch.add(y, 1)
        return torch.add(y, 3)

    return f, xs(3, 4)


@mode()
def modes_in_modes():
    def f(x):
        said = []
        with Halving(), Noting(said):
            y = torch.add(x, 1)
            with Halving():
                y = torch.add(y, 1)
        with Noting(said), Halving():
            y = torch.add(y, 1)
        return y, said

    return f, xs(3, 4)


@mode()
def everything_is_asked():
    layer = nn.Linear(4, 4)

    def f(x):
        said = []
        with Noting(said):
            y = x + 1
            y = 2 - y
            y = y.relu().t()
            y = y.T @ y
            y = F.softmax(y, -1) + F.gelu(y) + F.linear(y, y)
            y = layer(y)
            y = y + torch.ones(4) + torch.zeros_like(y)
            n = y.shape[0] + y.size(1) + y.dim() + len(y)
            a, b, *_ = y
            y = torch.stack([row * 2 for row in y]) + y[0] + y[:, 1:2] + (a > b)
            y = y.detach()
            y.add_(1)
            y[0] = 3
            z = y.detach().clone().to(torch.float64).view(-1)
            k = z.dtype, z.is_contiguous(), y.requires_grad
            with torch.no_grad():
                z = z * 2
        return y, z, n, k, said

    return f, xs(4, 4)


@mode()
def mode_from_outside_with_a_count():
    class Counting(TorchFunctionMode):
        calls = 0

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.calls += 1
            return func(*args, **(kwargs or {}))

    counting = Counting()

    def f(x):
        with counting:
            x = torch.sin(x) * 2
        return x, counting.calls

    return f, xs(3, n=3)


@mode()
def left_by_an_exception():
    def f(x):
        said = []
        try:
            with Noting(said):
                x = x + 1
                raise ValueError("out")
        except ValueError as error:
            x = x * 2 + len(str(error))
        with contextlib.ExitStack() as stack:
            stack.enter_context(Noting(said))
            x = x - 1
        return x * 3, said

    return f, xs(3)


@mode()
def returns_inside():
    def f(x):
        with Halving():
            for i in range(3):
                x = torch.add(x, i)
                if i == 1:
                    return x
        return x

    def g(x):
        return torch.add(f(x), 1)

    return g, xs(3)


@mode()
def constants_made_by_a_mode():
    class Filling(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            kwargs = dict(kwargs or {})
            if func in (torch.ones, torch.zeros):
                kwargs.setdefault("dtype", torch.float64)
            return func(*args, **kwargs)

    def f(x):
        with Filling():
            y = torch.ones(3)
        return x + y, y.dtype, torch.ones(3).dtype

    return f, xs(3)


@mode()
def mode_that_does_nothing():
    def f(x):
        with BaseTorchFunctionMode():
            y = torch.cat([x, x * 2]).sum()
        return y

    return f, xs(3)


@mode(3)
def break_inside():
    def f(x):
        said = []
        with Noting(said):
            y = x + 1
            torch._dynamo.graph_break()
            y = y * 2
        return y - 1, said

    return f, xs(3)


@mode(3)
def value_read_inside():
    def f(x):
        said = []
        with Noting(said):
            y = x + 1
            n = y.sum().item()
        return y * n, said

    return f, xs(3)


@mode(3)
def mode_that_answers_itself():
    class Stubborn(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            if func is torch.sin:
                return "no"
            if func is torch.cos:
                raise KeyError("cos")
            return func(*args, **(kwargs or {}))

    def f(x):
        with Stubborn():
            a = torch.sin(x)
            try:
                b = torch.cos(x)
            except KeyError as error:
                b = str(error)
        return a, b, x * 2

    return f, xs(3)


@mode(2)
def device_context():
    def f(x):
        with torch.device("cpu"):
            y = torch.ones(3) + x
        return y

    return f, xs(3)


@mode(3)
def overrides_switched_off_inside():
    def f(x):
        said = []
        with Noting(said):
            y = x + 1
            with torch._C.DisableTorchFunction():
                y = y * 2
            with torch._C.DisableTorchFunctionSubclass():
                y = y * 3
            y = y - 1
        return y, said

    return f, xs(3)


@mode(3)
def with_a_subclass():
    def f(x):
        said = []
        with Noting(said):
            y = x.as_subclass(Tagged) + 1
        return y * 2, said

    return f, xs(3)
