# SPDX-License-Identifier: GPL-3.0-or-later
"""The module that `compile(module)` returns. Imports PyTorch, so it is itself imported on first use only."""

import types

import torch

from . import _native, api, markers

_OWN = frozenset({"_orig_mod", "_options", "_name", "_root", "forward", "_breakline_target"})


class OptimizedModule(torch.nn.Module):
    """Wraps a module, which stays in `_orig_mod`. Calls go to the compiled form of the module's `__call__`, hooks
    included; every other attribute is the wrapped module's."""

    def __init__(self, module, options, name=None):
        super().__init__()
        self._modules["_orig_mod"] = module
        self.__dict__["_options"] = options
        self.__dict__["_name"] = name
        self._build()

    def _build(self):
        module = self._modules["_orig_mod"]
        forward = getattr(type(module).forward, "__code__", None)
        place = (forward.co_filename, forward.co_firstlineno) if forward is not None else ("", 0)
        call = type(module).__call__
        root = api._compile_function(call, self._options, self._name or type(module).__name__, "module", place)
        root._breakline_target.module = module
        self.__dict__["_root"] = root
        self.__dict__["_breakline_target"] = root._breakline_target
        self.__dict__["forward"] = types.MethodType(root, module)

    @property
    def stats(self):
        return self._root.stats

    def report(self):
        return self._root.report()

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
        if name in _OWN or "_orig_mod" not in self.__dict__.get("_modules", {}) or hasattr(type(self), name):
            super().__setattr__(name, value)
        else:
            setattr(self._modules["_orig_mod"], name, value)

    def __delattr__(self, name):
        if name in _OWN:
            super().__delattr__(name)
        else:
            delattr(self._modules["_orig_mod"], name)

    def __dir__(self):
        return sorted(set(object.__dir__(self)) | set(dir(self._modules["_orig_mod"])))

    def __len__(self):
        return len(self._modules["_orig_mod"])

    def __iter__(self):
        return iter(self._modules["_orig_mod"])

    def __getitem__(self, key):
        return self._modules["_orig_mod"][key]

    def __contains__(self, key):
        return key in self._modules["_orig_mod"]

    def __bool__(self):
        return True

    def __reduce__(self):
        return OptimizedModule, (self._modules["_orig_mod"], self._options, self._name)

    def __reduce_ex__(self, protocol):
        return self.__reduce__()


_native.register(OptimizedModule, "compiled_module")


class _DisabledModule(torch.nn.Module):
    """A module whose calls stay out of graphs."""

    def __init__(self, module, call):
        super().__init__()
        self._modules["_orig_mod"] = module
        self.__dict__["forward"] = call

    def __getattr__(self, name):
        module = self.__dict__["_modules"]["_orig_mod"]
        return module if name == "_orig_mod" else getattr(module, name)


def disabled_module(module, recursive, reason):
    """What `disable(module)` returns: a module that runs the given one outside graphs."""
    return _DisabledModule(module, markers.disable(module.__call__, recursive, reason=reason))
