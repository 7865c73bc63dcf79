# SPDX-License-Identifier: GPL-3.0-or-later
"""Python that the tracer follows in place of C code of PyTorch which would hide the user's Python from it. Each function
computes exactly what it stands for, under the condition that its text names."""

import torch
from torch.autograd.function import FunctionCtx, _SingleLevelFunction


class PlainContext(FunctionCtx):
    """The `ctx` of a forward whose inputs need no gradient: what is stored there is never read by autograd."""


def apply_without_grad(cls, *args):
    """`torch.autograd.Function.apply` when no argument needs a gradient, or none is recorded."""
    ctx = PlainContext()
    ctx.needs_input_grad = (False,) * len(args)
    ctx.dirty_tensors = None
    with torch.no_grad():
        if cls.setup_context is _SingleLevelFunction.setup_context:
            result = cls.forward(ctx, *args)
        else:
            result = cls.forward(*args)
            cls.setup_context(ctx, args, result)
        if isinstance(result, tuple):
            return tuple([_output(item, args, ctx) for item in result])
        return _output(result, args, ctx)


def _output(item, args, ctx):
    """What autograd makes of an output of a forward that it does not record: an input that comes back unchanged is an alias."""
    if not isinstance(item, torch.Tensor):
        return item
    given = any([item is other for other in args])
    if not item.requires_grad:
        if any([item is other for other in ctx.dirty_tensors or ()]):
            torch.autograd.graph.increment_version(item)
            return item
        return item.view_as(item) if given else item
    if given:
        return item.detach()
    return item if item._is_view() else item.detach_()


def group_of_tensors(tensorlistlist, with_indices=False):
    """`torch._C._group_tensors_by_device_and_dtype` of lists whose items are tensors of one device and dtype, the first not empty."""
    first = tensorlistlist[0]
    indices = list(range(len(first))) if with_indices else []
    return {(first[0].device, first[0].dtype): ([list(tensors) for tensors in tensorlistlist], indices)}
