# SPDX-License-Identifier: GPL-3.0-or-later
"""The names a user writes inside or around compiled code. In plain Python each does what its doc comment says;
inside traced code the engine knows them by identity (`_native.register`)."""

import functools
import inspect
import threading

from . import _native


def graph_break(msg=None):
    """Ends the graph here. Does nothing in plain Python."""


def skip_frame(msg=None):
    """Leaves the calling frame to CPython when it is traced. Does nothing in plain Python."""


def step_unsupported(msg=None):
    """Ends tracing here and leaves the rest of this frame untraced. Does nothing in plain Python."""


def is_compiling():
    """True inside traced code, False in plain Python."""
    return False


for _function, _kind in (
    (graph_break, "graph_break"),
    (skip_frame, "skip_frame"),
    (step_unsupported, "step_unsupported"),
    (is_compiling, "is_compiling"),
):
    _native.register(_function, _kind)

_fallback = threading.local()  # the flag where the engine extension is missing


class error_on_graph_break:
    """`with error_on_graph_break(flag):` or `@error_on_graph_break(flag)`: inside, a graph break is an error (True) or
    allowed (False). The innermost region counts; `fullgraph=True` beats them all. The flag belongs to the thread.

    As a decorator it returns a plain wrapper named `inner`, as PyTorch's does: name, doc and signature are not kept.
    """

    def __init__(self, error_on_graph_break):
        self.error_on_graph_break = error_on_graph_break
        self._outer = []  # only used without the extension

    def __enter__(self):
        extension = _native.loaded() or _native.load_quietly()
        if extension is not None:
            extension.region_enter(bool(self.error_on_graph_break))
        else:
            self._outer.append(getattr(_fallback, "flag", False))
            _fallback.flag = bool(self.error_on_graph_break)

    def __exit__(self, exc_type, exc_value, traceback):
        extension = _native.loaded()
        if extension is not None:
            extension.region_exit()
        else:
            _fallback.flag = self._outer.pop()

    def __call__(self, function):
        if not callable(function):
            raise TypeError(f"error_on_graph_break decorates a function, not {function!r}.")

        def inner(*args, **kwargs):
            with self:
                return function(*args, **kwargs)

        return _native.register(inner, "region_wrapper", function=function, flag=bool(self.error_on_graph_break))


_native.register(error_on_graph_break, "region")


def region_flag():
    """The flag in force in plain Python on this thread."""
    extension = _native.loaded()
    if extension is not None:
        return extension.region_flag()
    return getattr(_fallback, "flag", False)


def innermost(function):
    """Follows the chain of wrappers made by compile and disable to the user's own function."""
    while True:
        notes = getattr(function, "__dict__", None) or {}
        inner = notes.get("_torchdynamo_orig_callable")
        if inner is None or notes.get("_torchdynamo_wrapper_id") != id(function):
            return function
        function = inner


def _mark(wrapper, function, recursive, reason):
    wrapper._torchdynamo_disable = True
    wrapper._torchdynamo_disable_msg = reason
    wrapper._torchdynamo_disable_recursive = recursive
    wrapper._torchdynamo_orig_callable = function
    wrapper._torchdynamo_wrapper_id = id(wrapper)
    return _native.register(wrapper, "disable", function=function, recursive=recursive, reason=reason)


def _disable_class(cls, recursive, reason):
    for name in ("__init__", "__call__", "_call_impl"):
        method = getattr(cls, name, None)
        if inspect.isfunction(method):
            setattr(cls, name, disable(method, recursive, reason=reason))
    return cls


def _is_module(value):
    import sys

    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)


def _is_module_class(cls):
    import sys

    torch = sys.modules.get("torch")
    return torch is not None and issubclass(cls, torch.nn.Module)


def disable(fn=None, recursive=True, *, reason=None, wrapping=True):
    """Keeps a function out of graphs: at its call the graph breaks and its body runs as plain Python, with everything
    it calls (`recursive=True`) or with the functions it calls compiled on their own (`recursive=False`)."""
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason, wrapping=wrapping)
    function = innermost(fn)
    if inspect.isclass(function):
        return _disable_class(function, recursive, reason)
    if not callable(function):
        raise TypeError(f"disable takes a function, a module or a class, not {function!r}.")
    if _is_module(function):
        from .module import disabled_module

        return disabled_module(function, recursive, reason)

    def disabled(*args, **kwargs):
        return function(*args, **kwargs)

    if wrapping:
        functools.update_wrapper(disabled, function)
    return _mark(disabled, function, recursive, reason)


def _each(fn, kind):
    if isinstance(fn, (list, tuple)):
        return [_each(item, kind) for item in fn]
    if not callable(fn):
        raise TypeError(f"{kind} takes a function, not {fn!r}.")
    return _native.register(fn, kind)


_disallowed = {}  # by id


def allow_in_graph(fn):
    """Puts calls of `fn` into the graph as they are; its body is never traced. Takes disallow_in_graph back."""
    if not isinstance(fn, (list, tuple)) and _disallowed.pop(id(fn), None) is not None:
        return _native.register_anew(fn, "ordinary")
    return _each(fn, "allow_in_graph")


def disallow_in_graph(fn):
    """Breaks the graph at calls of `fn`, a function that graphs hold as it is: one of PyTorch's, or one given to `allow_in_graph`."""
    if isinstance(fn, (list, tuple)):
        return [disallow_in_graph(item) for item in fn]
    if not callable(fn):
        raise AssertionError("disallow_in_graph expects a callable")
    module = getattr(fn, "__module__", None) or getattr(getattr(fn, "__objclass__", None), "__module__", None) or ""
    if not module.partition(".")[0] == "torch" and not _native.is_registered(fn):
        raise RuntimeError(
            "disallow_in_graph is expected to be used on an already allowed callable (like torch.* ops), which graphs hold as it is; "
            f"use disable for {fn!r}."
        )
    _disallowed[id(fn)] = fn
    return _native.register_anew(fn, "disable", function=fn, reason="disallow_in_graph")


def nonstrict_trace(traceable_fn):
    """A function that does what `traceable_fn` does, and in whose body explicit breaks don't count: a call with tensors and constants goes
    into the graph as it is."""
    if not callable(traceable_fn):
        raise AssertionError("nonstrict_trace expects a callable")

    @functools.wraps(traceable_fn)
    def wrapped(*args, **kwargs):
        return traceable_fn(*args, **kwargs)

    return _native.register(wrapped, "nonstrict_trace")


def assume_constant_result(fn):
    """Promises that `fn` returns the same value whenever it is called with the same arguments."""
    fn._dynamo_marked_constant = True
    return _each(fn, "assume_constant_result")


_native.register(disable, "disable_call")
_native.register(nonstrict_trace, "nonstrict_call")
