# SPDX-License-Identifier: GPL-3.0-or-later
"""Marks on tensors that say which of their sizes compiled code leaves open. They are the attributes that PyTorch's own
functions of these names set, so either kind is understood. In traced code the calls do nothing."""

from . import _native


def _mark(tensor, index, attribute):
    dims = index if isinstance(index, (list, tuple)) else [index]
    for dim in dims:
        if not isinstance(dim, int):
            raise TypeError(f"index must be an int or a list of ints, not {dim!r}")
        if not -tensor.dim() <= dim < tensor.dim():
            raise IndexError(f"dimension {dim} is out of range for a tensor of {tensor.dim()} dimensions")
    known = getattr(tensor, attribute, None)
    if known is None:
        known = set()
        setattr(tensor, attribute, known)
    known.update(dim % tensor.dim() for dim in dims)


def mark_dynamic(t, index, *, min=None, max=None, hint_override=None, specialize_on=None):
    """Leaves size `index` (an int, or several) of the tensor `t` open: one graph serves all sizes from 2 on for which the
    code does the same. Code that looks at the size gets a variant for each outcome; that is no error here."""
    _mark(t, index, "_dynamo_dynamic_indices")


def maybe_mark_dynamic(t, index, *, min=None, max=None, hint_override=None, specialize_on=None, **_ignored):
    """The same; PyTorch tells the two apart by what they do about code that looks at the size."""
    _mark(t, index, "_dynamo_weak_dynamic_indices")


def mark_static(t, index=None):
    """Keeps size `index` of `t` (None: all sizes) fixed: each value is a variant of its own. A class of modules is accepted
    and stays as it is."""
    if not isinstance(t, type):
        _mark(t, list(range(t.dim())) if index is None else index, "_dynamo_static_indices")


for _function in (mark_dynamic, maybe_mark_dynamic, mark_static):
    _native.register(_function, "nothing")
