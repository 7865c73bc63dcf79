# SPDX-License-Identifier: GPL-3.0-or-later
"""What autograd.Functions hand back: inputs, views, inputs that were written to, objects and constants beside tensors, and what is
done with the results afterwards. Each entry as in programs_forms.py."""

import functools
from collections import namedtuple

import torch
import torch.nn as nn
from programs_forms import data, form, seen

FUNCTIONS = {}
function = functools.partial(form, table=FUNCTIONS)


def operation(forward, backward=lambda ctx, *g: g[0], setup=None):
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    if setup:
        body["setup_context"] = staticmethod(setup)
    return type("Operation", (torch.autograd.Function,), body)


def pairs(*sizes):
    """Calls with and without a gradient."""
    return [(data(*sizes, grad=grad),) for grad in (True, True, False, True, False)]


@function(0)
def input_handed_back():
    op = operation(lambda ctx, x: x, lambda ctx, g: g * 0.5)

    def f(x):
        y = op.apply(x)
        return y * 2, y is x, seen(y), type(y).__name__

    return f, pairs(3)


@function(0)
def input_handed_back_alone():
    op = operation(lambda ctx, x: x, lambda ctx, g: g * 0.5)
    return lambda x: op.apply(x), pairs(3)


@function(0)
def inputs_handed_back_with_more():
    op = operation(lambda ctx, x, y: (y, x + y, x, x), lambda ctx, a, b, c, d: (b + c + d * 2, a * 3))

    def f(x):
        y = x * 2
        a, b, c, d = op.apply(x, y)
        return a * b + c * d, a is y, c is d, c is x, seen(a), seen(c)

    return f, pairs(2, 3)


@function(0)
def parameter_handed_back():
    op = operation(lambda ctx, w, x: (w, x.sin()), lambda ctx, g, h: (g * 3, h))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.arange(3.0))

        def forward(self, x):
            w, y = op.apply(self.w, x)
            return w * y, type(w).__name__, w is self.w, isinstance(w, nn.Parameter)

    return Net(), pairs(3)


@function(0)
def input_handed_back_as_it_was():
    """Marked as not differentiable: an alias without a gradient."""

    def forward(ctx, x, n):
        ctx.mark_non_differentiable(x, n)
        return x, n, x * n

    op = operation(forward, lambda ctx, a, b, c: (c, None))

    def f(x):
        y, n, z = op.apply(x, torch.arange(3))
        return y + 1, n, z, y is x, seen(y), seen(n), seen(z)

    return f, pairs(3)


@function(0)
def views_handed_back():
    op = operation(lambda ctx, x: (x[1:], x.t(), x.view(-1)), lambda ctx, a, b, c: b.t() + c.view(2, 2))

    def f(x):
        y = x * 2
        a, b, c = op.apply(y)
        y2 = y + 1
        return a * 2, b + 1, c.cos(), y2, seen(a), seen(b), seen(c)

    return f, pairs(2, 2)


@function(0)
def view_of_a_result():
    def forward(ctx, x):
        y = x.exp()
        ctx.rows = y[0]
        return y, y.view(-1)

    op = operation(forward, lambda ctx, a, b: a + b.view(2, 2) * ctx.rows)

    def f(x):
        y, flat = op.apply(x)
        z = y * flat.sum()
        return z, y + 1, flat, seen(y), seen(flat)

    return f, pairs(2, 2)


@function(0)
def detached_handed_back():
    op = operation(lambda ctx, x: (x.detach(), x.data), lambda ctx, a, b: a * 2 + b * 3)

    def f(x):
        a, b = op.apply(x)
        return a * b, seen(a), seen(b)

    return f, pairs(3)


@function(1)
def view_written_to():
    """PyTorch refuses to write to a view that a Function made, where a gradient is recorded."""
    op = operation(lambda ctx, x: x[1:], lambda ctx, g: torch.cat([g[:1] * 0, g]))

    def f(x):
        y = x * 2
        a = op.apply(y)
        try:
            a.add_(1)
        except RuntimeError as e:
            return type(e).__name__, y + 1, a.shape
        return a, y

    return f, pairs(3)


@function(1)
def base_written_to():
    op = operation(lambda ctx, x: x.view_as(x), lambda ctx, g: g * 3)

    def f(x):
        y = x * 2
        a = op.apply(y)
        y.mul_(2)
        return y + 1, a.detach() + 1

    return f, pairs(3)


@function(0)
def result_written_to():
    op = operation(lambda ctx, x: (x.sin(), x.cos()), lambda ctx, a, b: a + b)

    def f(x):
        a, b = op.apply(x)
        b.mul_(2)
        return a * b, seen(b)

    return f, pairs(3)


def written(ctx, x):
    x.mul_(3)
    ctx.mark_dirty(x)
    return x


@function(0)
def dirty_handed_back():
    op = operation(written, lambda ctx, g: g * 3)

    def f(x):
        y = x.sin()
        z = op.apply(y)
        op.apply(y)
        return y.sum() + z.sum() * 2, y is z, seen(y)

    return f, pairs(2, 2)


@function(0)
def dirty_handed_back_with_more():
    def forward(ctx, x, y):
        x.mul_(3)
        ctx.mark_dirty(x)
        ctx.save_for_backward(y)
        return x, x + y

    op = operation(forward, lambda ctx, g, h: (g * 3 + h, h * ctx.saved_tensors[0]))

    def f(x, w):
        y, v = x.clone(), w * 2
        a, b = op.apply(y, v)
        return a * b + y, a is y, seen(b)

    return f, [(data(3, grad=a), data(3, grad=b)) for a, b in ((True, True), (False, True), (True, False), (False, False))]


@function(1)
def dirty_leaf():
    op = operation(written, lambda ctx, g: g)

    def f(x):
        try:
            return op.apply(x)
        except RuntimeError as e:
            return type(e).__name__

    return f, [(data(3, grad=True),) for _ in range(3)]


@function(1)
def dirty_input():
    op = operation(written, lambda ctx, g: g)
    return lambda x: (op.apply(x) + 1, x.requires_grad), [(data(3),), (data(3, grad=True) * 2,), (data(3),)]


@function(0)
def versions_raised():
    def f(x):
        y = x * 2
        torch.autograd.graph.increment_version(y)
        return y + 1, y

    return f, pairs(3)


class Box:
    def __init__(self, value, scale):
        self.value, self.scale = value, scale


@function(0)
def objects_handed_in():
    def forward(ctx, x, box, pair, words):
        ctx.save_for_backward(box.value, pair[0])
        ctx.scale = box.scale
        return x * box.value * box.scale + pair[0] * pair[1] + len(words["a"])

    op = operation(forward, lambda ctx, g: (g * ctx.saved_tensors[0] * ctx.scale, None, None, None))
    box = Box(torch.tensor(2.5), 3)

    def f(x):
        return op.apply(x, box, [x.detach(), 2], {"a": "text"}), op.apply(x, Box(x.detach() + 1, 2), (x * 2, 1), {"a": ()})

    return f, pairs(3)


@function(0)
def objects_handed_back():
    op = operation(lambda ctx, x, y: (Box(x.sin(), y.cos()), x * y, [1, x.exp()]), lambda ctx, a, b, c: (b * 2, b * 3))

    def f(x):
        box, z, more = op.apply(x, x * 2)
        return box.value + box.scale + z * more[0], more[1], seen(box.value), seen(more[1])

    return f, pairs(3)


@function(0)
def no_tensor_handed_back():
    op = operation(lambda ctx, x, k: [x * 2, k] if k else {"a": x.sum()})

    def f(x):
        a, b = op.apply(x, 3), op.apply(x, 0)
        return a[0], a[1], b["a"], a[0].requires_grad

    return f, pairs(3)


Two = namedtuple("Two", "first second")


@function(0)
def named_tuple_handed_back():
    op = operation(lambda ctx, x: Two(x * 2, x), lambda ctx, a, b: a * 2 + b)

    def f(x):
        r = op.apply(x)
        return r[0] * r[1], type(r).__name__, len(r)

    return f, pairs(3)


@function(1)
def gradients_through_what_came_back():
    op = operation(lambda ctx, x, y: (x, y[0], x * 2, "text"), lambda ctx, a, b, c, d: (a * 5 + c, torch.stack([b * 7, b * 0])))

    def f(w, v):
        a, b, c, text = op.apply(w, v)
        loss = (a * b).sum() + c.sum() * len(text)
        loss.backward()
        return loss, w.grad, v.grad, a, b, seen(b)

    return f, [(data(3, grad=True), data(2, 3, grad=True)) for _ in range(3)]


@function(0)
def handed_in_by_name():
    def forward(ctx, x, y=2, z=1):
        ctx.factor = y
        return x * y + z

    op = operation(forward, lambda ctx, g: tuple(g * ctx.factor if needed else None for needed in ctx.needs_input_grad))
    setup = operation(lambda x, y=2: x * y, lambda ctx, g: (g * ctx.factor, None), lambda ctx, inputs, output: setattr(ctx, "factor", inputs[1]))

    def f(x):
        a, b = op.apply(x, y=3), op.apply(x, z=x, y=x.detach())
        return a * b, op.apply(y=4, x=x), setup.apply(x, y=3) + setup.apply(x=x), seen(a)

    return f, pairs(3)


@function(1)
def handed_in_by_a_wrong_name():
    op = operation(lambda ctx, x, y=2, z=3: x * y)

    def f(x, words):
        try:
            return op.apply(x, **words)
        except TypeError as e:
            return str(e), x + 1

    return f, [(data(3, grad=True), words) for words in ({"z": 1}, {"x": 2}, {"w": 3}, {"y": 1})]


@function(1)
def saved_and_handed_back():
    """Refused where the class sets up its context, with and without a gradient."""

    def setup(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    op = operation(lambda x: x, lambda ctx, g: g, setup)

    def f(x):
        try:
            return op.apply(x)
        except RuntimeError as e:
            return str(e), x + 1

    return f, pairs(3)


@function(0)
def set_up_context_of_what_came_back():
    def setup(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[2])

    op = operation(lambda x, k=2: (x, x.argsort(), x * k), lambda ctx, a, b, c: (a * ctx.saved_tensors[0] + c, None), setup)

    def f(x):
        a, order, c = op.apply(x)
        b, _, _ = op.apply(c, 4)
        return a * b, order, seen(a), seen(order), a is x

    return f, pairs(4)
