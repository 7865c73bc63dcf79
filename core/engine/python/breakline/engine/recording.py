# SPDX-License-Identifier: GPL-3.0-or-later
"""Recordings: everything that a call of a target could see, kept so that the call can be made again from the same state.

A snapshot keeps the *objects* of the call (so identity, aliasing and views stay) and copies of their *contents*: storages,
lists, dicts, sets, attributes, cells, globals, random generators. Restoring writes the contents back in place. What can't be
put back (a running generator, an open file) is named in `uncloneable`.
"""

import collections
import contextlib
import ctypes
import io
import random
import sys
import types

import torch

from .. import api, markers, regions

_MOST_OBJECTS = 500_000
_MOST_RECORDINGS = 8
_MISSING = object()
_ATOMS = (type(None), bool, int, float, complex, str, bytes, type(...), range, slice, torch.dtype, torch.device, torch.Size)
_ONE_SHOT = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType, io.IOBase)


class _Storage:
    """A storage and its saved bytes."""

    __slots__ = ("storage", "saved")

    def __init__(self, storage):
        self.storage, self.saved = storage, storage.clone()

    def restore(self):
        size = self.saved.nbytes()
        if self.storage.nbytes() != size:
            self.storage.resize_(size)
        if size:
            # a plain copy: Storage.copy_ wakes PyTorch's thread pool, which costs more than the bytes
            ctypes.memmove(self.storage.data_ptr(), self.saved.data_ptr(), size)


class _Tensor:
    """A tensor's layout, gradient and flags; the contents belong to its storage."""

    __slots__ = ("tensor", "storage", "layout", "grad", "requires_grad", "notes")

    def __init__(self, tensor):
        self.tensor = tensor
        self.storage = tensor.untyped_storage()
        self.layout = (tensor.storage_offset(), tuple(tensor.size()), tuple(tensor.stride()))
        self.requires_grad = tensor.requires_grad
        self.grad = tensor.grad if tensor.is_leaf else _MISSING
        self.notes = dict(tensor.__dict__) if getattr(tensor, "__dict__", None) else None

    def restore(self):
        tensor = self.tensor
        layout = (tensor.storage_offset(), tuple(tensor.size()), tuple(tensor.stride()))
        if layout != self.layout or tensor.untyped_storage()._cdata != self.storage._cdata:
            tensor.data = torch.empty(0, dtype=tensor.dtype).set_(self.storage, *self.layout)
        if tensor.is_leaf and tensor.requires_grad != self.requires_grad:
            tensor.requires_grad_(self.requires_grad)
        if self.grad is not _MISSING and tensor.is_leaf and tensor.grad is not self.grad:
            tensor.grad = self.grad
        if self.notes is not None and tensor.__dict__ != self.notes:
            tensor.__dict__.clear()
            tensor.__dict__.update(self.notes)


class _Sequence:
    """A list, deque or bytearray."""

    def __init__(self, target):
        self.target, self.saved = target, list(target)

    def restore(self):
        if len(self.target) != len(self.saved) or any(a is not b for a, b in zip(self.target, self.saved)):
            self.target.clear()
            self.target.extend(self.saved)


def _identities(mapping):
    """Which keys and values a dict holds, in order; equal exactly when nothing was put in, taken out or replaced."""
    return [*map(id, mapping), *map(id, mapping.values())]


class _Mapping:
    """A dict of any kind, or the globals that a function uses (`names`)."""

    def __init__(self, target, names=None):
        self.target, self.names = target, names
        if names is None:
            self.saved = dict(target)
            self.identities = _identities(target)
        else:
            self.saved = {name: dict.get(target, name, _MISSING) for name in names}

    def restore(self):
        target = self.target
        if self.names is not None:
            for name, value in self.saved.items():
                if value is _MISSING:
                    target.pop(name, None)
                elif target.get(name, _MISSING) is not value:
                    target[name] = value
        elif (target or self.saved) and _identities(target) != self.identities:
            target.clear()
            target.update(self.saved)


class _Set:
    def __init__(self, target):
        self.target, self.saved = target, set(target)

    def restore(self):
        if self.target != self.saved:
            self.target.clear()
            self.target.update(self.saved)


class _Cell:
    def __init__(self, cell):
        self.cell = cell
        try:
            self.saved = cell.cell_contents
        except ValueError:
            self.saved = _MISSING

    def restore(self):
        if self.saved is _MISSING:
            with contextlib.suppress(ValueError):
                del self.cell.cell_contents
        else:
            self.cell.cell_contents = self.saved


class _Slots:
    """Attributes that live in `__slots__`."""

    def __init__(self, target, names):
        self.target = target
        self.saved = {name: getattr(target, name, _MISSING) for name in names}

    def restore(self):
        for name, value in self.saved.items():
            if value is _MISSING:
                with contextlib.suppress(AttributeError):
                    object.__delattr__(self.target, name)
            elif getattr(self.target, name, _MISSING) is not value:
                object.__setattr__(self.target, name, value)


class _ClassData:
    """Plain data attributes of a user's class."""

    def __init__(self, cls):
        self.cls = cls
        self.saved = {name: value for name, value in vars(cls).items() if _is_class_data(name, value)}

    def restore(self):
        for name in [n for n, v in vars(self.cls).items() if _is_class_data(n, v) and n not in self.saved]:
            type.__delattr__(self.cls, name)
        for name, value in self.saved.items():
            if vars(self.cls).get(name, _MISSING) is not value:
                type.__setattr__(self.cls, name, value)


def _is_class_data(name, value):
    if name.startswith("__") and name.endswith("__") or name.startswith("_abc_"):
        return False
    return not isinstance(value, (types.FunctionType, type, property, classmethod, staticmethod)) and not hasattr(
        type(value), "__get__"
    )


class _State:
    """Something with a getter and a setter of its state (a random generator)."""

    def __init__(self, get, put):
        self.put, self.saved = put, get()

    def restore(self):
        self.put(self.saved)


class _Array:
    """A numpy array's contents."""

    def __init__(self, array):
        self.array, self.saved = array, array.copy()

    def restore(self):
        self.array[...] = self.saved


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
        self._parts += [_Mapping(target, names) for target, names in self._globals.values()]
        self._parts += self._ambient()

    @staticmethod
    def _ambient():
        parts = [
            _State(torch.get_rng_state, torch.set_rng_state),
            _State(random.getstate, random.setstate),
            _State(torch.get_default_dtype, torch.set_default_dtype),
        ]
        numpy = sys.modules.get("numpy")
        if numpy is not None and hasattr(numpy, "random"):
            parts.append(_State(numpy.random.get_state, numpy.random.set_state))
        return parts

    def restore(self):
        """Writes the contents back. Objects made since are left alone."""
        with torch.no_grad():
            for part in self._storages.values():
                part.restore()
            for part in self._parts:
                part.restore()

    def _visit(self, value, label):
        """Saves one object's contents; returns what it refers to, as (object, label)."""
        if isinstance(value, torch.Tensor):
            return self._visit_tensor(value, label)
        if isinstance(value, (list, collections.deque)):
            self._parts.append(_Sequence(value))
            return self._attributes(value, label) + [(item, f"{label}[{n}]") for n, item in enumerate(value)]
        if isinstance(value, (tuple, frozenset)):
            return self._attributes(value, label) + [(item, f"{label}[{n}]") for n, item in enumerate(value)]
        if isinstance(value, dict):
            self._parts.append(_Mapping(value))
            return self._attributes(value, label) + [(item, f"{label}[{key!r}]") for key, item in list(value.items())]
        if isinstance(value, set):
            self._parts.append(_Set(value))
            return [(item, label) for item in value]
        if isinstance(value, bytearray):
            self._parts.append(_Sequence(value))
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
            self._parts.append(_ClassData(value))
            return [(item, f"{value.__name__}.{name}") for name, item in vars(value).items() if name not in ("__dict__", "__weakref__")]
        return self._visit_object(value, label)

    def _visit_tensor(self, tensor, label):
        if type(tensor) is not torch.Tensor and hasattr(tensor, "__tensor_flatten__"):
            self.uncloneable.append(f"{label} ({type(tensor).__name__})")
            return []
        try:
            storage = tensor.untyped_storage()
            if storage._cdata not in self._storages:
                self._storages[storage._cdata] = _Storage(storage)
            self._parts.append(_Tensor(tensor))
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
                self._parts.append(_Cell(cell))
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
            self._parts.append(_Mapping(notes))
            found += [(item, f"{label}.{name}") for name, item in list(notes.items())]
        names = _slot_names(type(value)) if type(value).__module__ != "builtins" else ()
        if names:
            slots = _Slots(value, names)
            self._parts.append(slots)
            found += [(item, f"{label}.{name}") for name, item in slots.saved.items() if item is not _MISSING]
        return found

    def _visit_object(self, value, label):
        cls = type(value)
        if isinstance(value, random.Random):
            self._parts.append(_State(value.getstate, value.setstate))
            return []
        if isinstance(value, torch.Generator):
            self._parts.append(_State(value.get_state, value.set_state))
            return []
        if cls.__module__ == "numpy" and cls.__name__ == "ndarray":
            self._parts.append(_Array(value))
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


def signature_key(args, kwargs, depth=0):
    """A cheap key that differs where a guard could: types, shapes, dtypes, small constants."""

    def key(value, depth):
        if isinstance(value, torch.Tensor):
            return (type(value), tuple(value.shape), value.dtype, value.stride(), value.requires_grad)
        if isinstance(value, (type(None), bool, int, float, str)):
            return (type(value), value)
        if depth < 3 and isinstance(value, (list, tuple)):
            return (type(value), tuple(key(item, depth + 1) for item in value))
        if depth < 3 and isinstance(value, dict):
            return (dict, tuple((str(name), key(item, depth + 1)) for name, item in value.items()))
        if isinstance(value, torch.nn.Module):
            return (id(value), value.training)
        return (type(value), id(value))

    ambient = (torch.is_grad_enabled(), torch.is_autocast_enabled(), markers.region_flag())
    return (ambient, key(args, 0), key(kwargs, 0))


class Recording:
    """One call of a target that can be made again."""

    def __init__(self, target, args, kwargs):
        self.target, self.args, self.kwargs = target, args, kwargs
        function = target.function
        roots = {"arguments": args, "keyword arguments": kwargs, function.__name__: function}
        self._roots = roots
        self._snapshot = Snapshot(roots)
        self.uncloneable = self._snapshot.uncloneable
        self.region = markers.region_flag()
        self.grad = torch.is_grad_enabled()
        self.inference = torch.is_inference_mode_enabled()
        self.autocast = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
        self.made_before = None  # counts of the target when this call began
        self._users = None

    def restore(self):
        """Puts the recorded state back."""
        self._snapshot.restore()

    @contextlib.contextmanager
    def staged(self, *, no_grad=False):
        """The recorded state and surroundings inside; the user's own state again after. The user's state is copied once:
        nothing but replays runs between two stagings (`forget_users_state` after anything else has run)."""
        if self._users is None:
            self._users = Snapshot(self._roots)
        dtype, flag = torch.get_default_dtype(), markers.region_flag()
        try:
            self.restore()
            with contextlib.ExitStack() as stack:
                stack.enter_context(torch.set_grad_enabled(self.grad and not no_grad))
                if self.inference:
                    stack.enter_context(torch.inference_mode())
                enabled, autocast_dtype = self.autocast
                if enabled:
                    stack.enter_context(torch.autocast("cpu", dtype=autocast_dtype))
                if self.region != flag:
                    stack.enter_context(markers.error_on_graph_break(self.region))
                yield
        finally:
            self._users.restore()
            torch.set_default_dtype(dtype)

    def forget_users_state(self):
        self._users = None


class Recorder:
    """Keeps recordings of the targets of one run. Installed as `on_call` of each compiled function."""

    def __init__(self):
        self.calls = {}  # target → number of calls from plain Python
        self.recordings = {}  # target → [Recording]
        self.last = None  # the target called last
        self._keys = {}
        self.paused = False

    def watch(self, target):
        target.compiled.on_call = self.before

    def before(self, compiled, args, kwargs):
        """Runs before each call of a compiled function from plain Python."""
        if self.paused:
            return
        target = compiled._breakline_target
        self.last = target
        self.calls[target] = self.calls.get(target, 0) + 1
        recordings = self.recordings.setdefault(target, [])
        if len(recordings) >= _MOST_RECORDINGS:
            return
        key = signature_key(args, kwargs)
        if key in self._keys.setdefault(target, set()):
            return
        self._prune(target)
        self._keys[target].add(key)
        recording = Recording(target, args, kwargs)
        recording.made_before = _made(target)
        recordings.append(recording)

    def _prune(self, target):
        """Drops the last recording when its call made nothing new (the same guards held)."""
        recordings = self.recordings[target]
        if len(recordings) > 1 and _made(target) == recordings[-1].made_before:
            recordings.pop()

    def finish(self):
        """Call after the user's code ended."""
        for target in self.recordings:
            self._prune(target)
            for recording in self.recordings[target]:
                recording.forget_users_state()


def _made(target):
    stats = target.compiled.stats
    return tuple(stats.get(name, 0) for name in ("graphs", "breaks", "recompiles", "skipped"))
