# SPDX-License-Identifier: GPL-3.0-or-later
"""Marks on tensors that say which of their sizes compiled code leaves open. They are the attributes that PyTorch's own
functions of these names set, so either kind is understood. In traced code the calls do nothing."""

import dataclasses

from . import _native


@dataclasses.dataclass(frozen=True)
class DimRange:
    """Bounds of a marked size; None is open."""

    dim: int
    min: "int | None"
    max: "int | None"


def _dims(index):
    dims = index if isinstance(index, (list, tuple)) else [index]
    for dim in dims:
        if not isinstance(dim, int):
            raise AssertionError(f"index must be an int, or a list or tuple of ints, not {dim!r}")
    return dims


def _mark(tensor, index, attribute):
    known = getattr(tensor, attribute, None)
    if known is None:
        known = set()
        setattr(tensor, attribute, known)
    known.update(_dims(index))
    tensor._has_dynamo_dim_marking = True


def mark_dynamic(t, index, *, hint_override=None, min=None, max=None, specialize_on=None):
    """Leaves size `index` (an int, or several) of the tensor `t` open: one graph serves all sizes from 2 on, within `min` and
    `max`, for which the code does the same. Code that fixes the size (a comparison that only this one passes, a view of
    constants, its rows one by one) is told so by a ConstraintViolationError when it is compiled, and so is a size out of the
    bounds. As in PyTorch, a dimension that the tensor doesn't have, or a negative one, is no error and binds nothing."""
    dims = _dims(index)
    _mark(t, dims, "_dynamo_dynamic_indices")
    if not hasattr(t, "_dynamo_dynamic_range"):
        t._dynamo_dynamic_range = set()
    t._dynamo_dynamic_range.update(DimRange(dim, min, max) for dim in dims)
    extension = _native.load_quietly()
    if extension:
        extension.set_option("marks_in_use", 1)


def maybe_mark_dynamic(t, index):
    """The same without the promise: code that looks at the size gets a variant for each outcome."""
    _mark(t, index, "_dynamo_weak_dynamic_indices")


def mark_unbacked(t, index, *_args, **_options):
    """Open like `maybe_mark_dynamic`."""
    _mark(t, index, "_dynamo_weak_dynamic_indices")


def mark_static(t, index=None):
    """Keeps size `index` of `t` (None: all sizes) fixed: each value is a variant of its own. A class of modules is marked and
    returned, so that this can decorate it."""
    if isinstance(t, type):
        t._dynamo_marked_static = True
        return t
    _mark(t, list(range(t.dim())) if index is None else index, "_dynamo_static_indices")
    return None


def mark_static_address(t, guard=False):
    """Says that the tensor `t` keeps its memory over all calls. Compiled code reads an input where it lies, so nothing follows from it."""
    t._dynamo_static_input_type = "guarded" if guard else "unguarded"


for _function in (mark_dynamic, maybe_mark_dynamic, mark_unbacked, mark_static, mark_static_address):
    _native.register(_function, "nothing")
