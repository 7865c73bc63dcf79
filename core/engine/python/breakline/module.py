# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules that `compile(module)` and `disable(module)` return. Imports PyTorch, so it is itself imported on first
use only."""

import functools
import sys
import types

import torch

from . import _native, api, markers


class _Wrapper(torch.nn.Module):
    """A module around a module, which stays in `_orig_mod`. Every attribute that the wrapper has not itself is the
    wrapped module's, to read, to set and to delete."""

    _OWN = frozenset({"_orig_mod", "forward"})  # names that stay the wrapper's when they are set

    def __init__(self, module):
        super().__init__()
        self._modules["_orig_mod"] = module

    @property
    def training(self):
        return self._modules["_orig_mod"].training

    @training.setter
    def training(self, value):
        if "_orig_mod" in self.__dict__.get("_modules", {}):
            self._modules["_orig_mod"].training = value

    def __getattr__(self, name):
        module = self.__dict__["_modules"]["_orig_mod"]
        return module if name == "_orig_mod" else getattr(module, name)

    def __setattr__(self, name, value):
        if name in self._OWN or "_orig_mod" not in self.__dict__.get("_modules", {}) or hasattr(type(self), name):
            super().__setattr__(name, value)
        else:
            setattr(self._modules["_orig_mod"], name, value)

    def __delattr__(self, name):
        if name in self._OWN:
            super().__delattr__(name)
        else:
            delattr(self._modules["_orig_mod"], name)

    def __dir__(self):
        return sorted({"_orig_mod"} | set(object.__dir__(self)) | set(dir(self._modules["_orig_mod"])))


def _passed_on(name):
    def method(self, *args):
        return getattr(self._modules["_orig_mod"], name)(*args)

    method.__name__ = name
    return method


@functools.cache
def _class_for(base, names):
    """`base` with the special methods `names` of the wrapped module's class, which Python looks up on classes only."""
    cls = type(base.__name__, (base,), {"__doc__": base.__doc__, "__module__": base.__module__})
    cls.__qualname__ = base.__qualname__
    for name in names:
        setattr(cls, name, _passed_on(name))
    return _native.register(cls, "compiled_module")


def _special_names(cls):
    """The special methods that a module class has beyond what every module has: `__len__`, `__getitem__` and the like."""
    own = set()
    for entry in cls.__mro__:
        if entry in torch.nn.Module.__mro__:
            continue
        own |= {name for name, value in vars(entry).items() if name[:2] == name[-2:] == "__" and isinstance(value, types.FunctionType)}
    return tuple(sorted(name for name in own if not hasattr(OptimizedModule, name)))


class OptimizedModule(_Wrapper):
    """Wraps a module, which stays in `_orig_mod`. Calls go to the compiled form of the module's `__call__`, hooks
    included; every other attribute is the wrapped module's."""

    _OWN = frozenset({"_orig_mod", "_options", "_name", "_root", "forward", "_breakline_target"})

    def __new__(cls, module, options, name=None):
        names = _special_names(type(module)) if cls is OptimizedModule else ()
        return super().__new__(_class_for(OptimizedModule, names) if names else cls)

    def __init__(self, module, options, name=None):
        super().__init__(module)
        self.__dict__["_options"] = options
        self.__dict__["_name"] = name
        self._build()

    def _build(self):
        module = self._modules["_orig_mod"]
        place = api.place_of(type(module).forward)
        call = type(module).__call__
        if api.is_compiled(call):
            call = call._breakline_target.function
        root = api._compile_function(call, self._options, self._name or type(module).__name__, "module", place)
        root._breakline_target.module = module
        self.__dict__["_root"] = root
        self.__dict__["_breakline_target"] = root._breakline_target
        self.__dict__["forward"] = types.MethodType(root, module)

    def __call__(self, *args, **kwargs):
        """The wrapper is no module of the program's: hooks for all modules are the wrapped one's to run, once."""
        own = self.__dict__
        if own["_forward_hooks"] or own["_forward_pre_hooks"] or own["_backward_hooks"] or own["_backward_pre_hooks"]:
            return super().__call__(*args, **kwargs)
        return own["forward"](*args, **kwargs)

    @property
    def __class__(self):
        """PyTorch's own class of compiled modules where that is loaded, for libraries that ask whether a module is one."""
        real = getattr(sys.modules.get("torch._dynamo.eval_frame"), "OptimizedModule", None)
        return real or type(self)

    @property
    def stats(self):
        return self._root.stats

    def report(self):
        return self._root.report()

    def __reduce__(self):
        return OptimizedModule, (self._modules["_orig_mod"], self._options, self._name)

    def __reduce_ex__(self, protocol):
        return self.__reduce__()


_native.register(OptimizedModule, "compiled_module")


class _DisabledModule(_Wrapper):
    """A module whose calls stay out of graphs."""

    def __init__(self, module, recursive, reason):
        super().__init__(module)
        self.__dict__["_arguments"] = (recursive, reason)
        self.__dict__["forward"] = markers.disable(module.__call__, recursive, reason=reason)

    def __reduce_ex__(self, protocol):
        return _DisabledModule, (self._modules["_orig_mod"], *self._arguments)


def disabled_module(module, recursive, reason):
    """What `disable(module)` returns: a module that runs the given one outside graphs."""
    return _DisabledModule(module, recursive, reason)
