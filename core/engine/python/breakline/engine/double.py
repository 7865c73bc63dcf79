# SPDX-License-Identifier: GPL-3.0-or-later
"""The same call in double precision: the reference for the error of every arm.

Each operator is done in float64, whatever type the program gave it: its floating inputs are widened first, and what it computes
stays float64 for those that follow. Random numbers are drawn as they are, so that all arms see the same ones. A write into a
tensor that was there before the call is rounded to that tensor's type, as it must be."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

_NARROW = (torch.float32, torch.float16, torch.bfloat16)
# Larger than what rounding in float32 explains: the double run took another way than the program.
_MOST = {torch.float32: 1e-2, torch.float16: 0.1, torch.bfloat16: 0.3, torch.float64: 1e-6}


class DoublePrecision(TorchDispatchMode):
    """Inside, operators compute in float64."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        schema = func._schema
        if torch.Tag.nondeterministic_seeded in func.tags or func.namespace not in ("aten", "prims"):
            return func(*args, **kwargs)
        written = [n for n, a in enumerate(schema.arguments) if a.alias_info is not None and a.alias_info.is_write]
        if not written and any(a.alias_info is not None for a in schema.arguments):
            return func(*args, **kwargs)  # a view: it has to keep the memory of its operand
        if written and any(n < len(args) and isinstance(args[n], torch.Tensor) and args[n].dtype in _NARROW for n in written):
            return self._write(func, args, kwargs, written)
        return func(*tree_map(_widen, args), **_wide_keywords(kwargs))

    @staticmethod
    def _write(func, args, kwargs, written):
        wide = list(tree_map(_widen, args))
        result = func(*wide, **_wide_keywords(kwargs))
        for n in written:
            if n < len(args) and isinstance(args[n], torch.Tensor) and args[n].dtype in _NARROW:
                args[n].copy_(wide[n])
                if result is wide[n]:
                    result = args[n]
        return result


def _widen(value):
    if isinstance(value, torch.Tensor) and value.dtype in _NARROW and value.layout is torch.strided:
        return value.to(torch.float64)
    return torch.float64 if isinstance(value, torch.dtype) and value in _NARROW else value


def _wide_keywords(kwargs):
    return {name: tree_map(_widen, value) for name, value in kwargs.items()}


def check(eager, reference, share):
    """Why a double run can't be the reference, or "" when it can. `share` is eager's error against it."""
    if share is None:
        return "the outputs in double precision have another form than eager's"
    for a, b in zip(eager, reference):
        if type(a) is not type(b) or (not isinstance(a, torch.Tensor) and a != b and (a == a or b == b)):
            return "the program takes another way in double precision"
    types = [value.dtype for value in eager if isinstance(value, torch.Tensor) and value.is_floating_point()]
    most = max((_MOST.get(dtype, 1e-2) for dtype in types), default=1e-2)
    return "" if share <= most else f"the run in double precision differs from eager by {share:.1e}, more than rounding explains: the program takes another way there"
