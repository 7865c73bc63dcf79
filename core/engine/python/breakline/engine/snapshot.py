# SPDX-License-Identifier: GPL-3.0-or-later
"""Snapshots: the state that a call can see and change, kept so that it can be put back.

A snapshot keeps the *objects* of the call (so identity, aliasing and views stay) and copies of their *contents*: storages,
lists, dicts, sets, attributes, cells, globals, random generators. Restoring writes the contents back in place. What can't be
put back (a running generator, an open file) is named in `uncloneable`.
"""

import collections
import io
import random
import sys
import types

import torch

from .. import api, regions
from .state_parts import MISSING, Array, Cell, ClassData, Mapping, Sequence, SetItems, Slots, State, StorageBytes, TensorLayout

_MOST_OBJECTS = 500_000
_ATOMS = (type(None), bool, int, float, complex, str, bytes, type(...), range, slice, torch.dtype, torch.device, torch.Size)
_ONE_SHOT = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType, io.IOBase)


def _is_user_class(cls):
    module = sys.modules.get(cls.__module__)
    file = getattr(module, "__file__", None)
    return cls.__module__ == "__main__" or (file is not None and regions.is_user_file(file))


def _is_user_function(function):
    return regions.is_user_file(function.__code__.co_filename)


def _names_in(code):
    """Global and attribute names in a code object and in those nested in it."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names_in(constant)
    return names


def _slot_names(cls):
    names = []
    for base in cls.__mro__:
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__"):
                names.append(f"_{base.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name)
    return names


class Snapshot:
    """The contents of everything reachable from `roots`, {label: object}."""

    def __init__(self, roots):
        self._seen = {}  # id → object: keeps objects alive, so ids stay unique
        self._parts = []
        self._storages = {}
        self.uncloneable = []
        self._globals = {}  # id of a globals dict → (dict, names)
        pending = [(value, label) for label, value in roots.items()]
        while pending:
            value, label = pending.pop()
            if isinstance(value, _ATOMS) or id(value) in self._seen:
                continue
            if len(self._seen) >= _MOST_OBJECTS:
                self.uncloneable.append(f"more than {_MOST_OBJECTS} objects are reachable")
                break
            self._seen[id(value)] = value
            pending += self._visit(value, label)
        self._parts += [Mapping(target, names) for target, names in self._globals.values()]
        self._parts += self._ambient()

    @staticmethod
    def _ambient():
        parts = [
            State(torch.get_rng_state, torch.set_rng_state),
            State(random.getstate, random.setstate),
            State(torch.get_default_dtype, torch.set_default_dtype),
        ]
        numpy = sys.modules.get("numpy")
        if numpy is not None and hasattr(numpy, "random"):
            parts.append(State(numpy.random.get_state, numpy.random.set_state))
        return parts

    def restore(self):
        """Writes the contents back. Objects made since are left alone."""
        with torch.no_grad():
            for part in self._storages.values():
                part.restore()
            for part in self._parts:
                part.restore()

    def changed(self):
        """Whether anything differs from what was saved."""
        return any(part.changed() for part in self._storages.values()) or any(part.changed() for part in self._parts)

    def _visit(self, value, label):
        """Saves one object's contents; returns what it refers to, as (object, label)."""
        if isinstance(value, torch.Tensor):
            return self._visit_tensor(value, label)
        if isinstance(value, (list, collections.deque)):
            self._parts.append(Sequence(value))
            return self._attributes(value, label) + [(item, f"{label}[{n}]") for n, item in enumerate(value)]
        if isinstance(value, (tuple, frozenset)):
            return self._attributes(value, label) + [(item, f"{label}[{n}]") for n, item in enumerate(value)]
        if isinstance(value, dict):
            self._parts.append(Mapping(value))
            return self._attributes(value, label) + [(item, f"{label}[{key!r}]") for key, item in list(value.items())]
        if isinstance(value, set):
            self._parts.append(SetItems(value))
            return [(item, label) for item in value]
        if isinstance(value, bytearray):
            self._parts.append(Sequence(value))
            return []
        if isinstance(value, _ONE_SHOT):
            if value not in (sys.stdout, sys.stderr, sys.stdin):
                self.uncloneable.append(f"{label} ({type(value).__name__})")
            return []
        if isinstance(value, types.FunctionType):
            return self._visit_function(value, label)
        if isinstance(value, types.MethodType):
            return [(value.__self__, label), (value.__func__, label)]
        if isinstance(value, types.ModuleType):
            return []
        if isinstance(value, type):
            if not _is_user_class(value):
                return []
            self._parts.append(ClassData(value))
            return [(item, f"{value.__name__}.{name}") for name, item in vars(value).items() if name not in ("__dict__", "__weakref__")]
        return self._visit_object(value, label)

    def _visit_tensor(self, tensor, label):
        if type(tensor) is not torch.Tensor and hasattr(tensor, "__tensor_flatten__"):
            self.uncloneable.append(f"{label} ({type(tensor).__name__})")
            return []
        try:
            storage = tensor.untyped_storage()
            if storage._cdata not in self._storages:
                self._storages[storage._cdata] = StorageBytes(storage)
            self._parts.append(TensorLayout(tensor))
        except (RuntimeError, NotImplementedError):
            self.uncloneable.append(f"{label} ({tensor.layout} tensor)")
            return []
        found = [(tensor.grad, f"{label}.grad")] if tensor.is_leaf and tensor.grad is not None else []
        return found + [(item, f"{label}.{name}") for name, item in (getattr(tensor, "__dict__", None) or {}).items()]

    def _visit_function(self, function, label):
        found = []
        if not _is_user_function(function):
            wrapped = [cell for cell in function.__closure__ or ()]
            return [(contents, label) for contents in map(_contents, wrapped) if isinstance(contents, types.FunctionType)]
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            if id(cell) not in self._seen:
                self._seen[id(cell)] = cell
                self._parts.append(Cell(cell))
                found.append((_contents(cell), name))
        found += [(item, label) for item in (function.__defaults__ or ())]
        found += [(item, label) for item in (function.__kwdefaults__ or {}).values()]
        found += [(item, f"{label}.{name}") for name, item in function.__dict__.items()]
        namespace, names = function.__globals__, _names_in(function.__code__)
        _, known = self._globals.setdefault(id(namespace), (namespace, set()))
        for name in names - known:
            known.add(name)
            item = namespace.get(name)
            if isinstance(item, types.ModuleType) and regions.is_user_file(getattr(item, "__file__", None) or ""):
                inner = {n for n in names if n in vars(item)}
                self._globals.setdefault(id(vars(item)), (vars(item), set()))[1].update(inner)
                found += [(vars(item)[n], f"{name}.{n}") for n in inner]
            elif item is not None:
                found.append((item, name))
        return found

    def _attributes(self, value, label):
        """Saves `__dict__` and slots of an object; returns what they refer to."""
        found = []
        notes = getattr(value, "__dict__", None)
        if type(notes) is dict and id(notes) not in self._seen:
            self._seen[id(notes)] = notes
            self._parts.append(Mapping(notes))
            found += [(item, f"{label}.{name}") for name, item in list(notes.items())]
        names = _slot_names(type(value)) if type(value).__module__ != "builtins" else ()
        if names:
            slots = Slots(value, names)
            self._parts.append(slots)
            found += [(item, f"{label}.{name}") for name, item in slots.saved.items() if item is not MISSING]
        return found

    def _visit_object(self, value, label):
        cls = type(value)
        if isinstance(value, random.Random):
            self._parts.append(State(value.getstate, value.setstate))
            return []
        if isinstance(value, torch.Generator):
            self._parts.append(State(value.get_state, value.set_state))
            return []
        if cls.__module__ == "numpy" and cls.__name__ == "ndarray":
            self._parts.append(Array(value))
            return []
        if api.is_compiled(value) and not isinstance(value, torch.nn.Module):
            return [(value._breakline_target.function, label)]
        if hasattr(cls, "__next__") and hasattr(cls, "__iter__") and not hasattr(value, "__dict__"):
            self.uncloneable.append(f"{label} ({cls.__name__})")
            return []
        if isinstance(value, (torch.nn.Module, torch.optim.Optimizer, types.SimpleNamespace)) or _is_user_class(cls):
            return [(cls, label), *self._attributes(value, label)]
        return []


def _contents(cell):
    try:
        return cell.cell_contents
    except ValueError:
        return None
