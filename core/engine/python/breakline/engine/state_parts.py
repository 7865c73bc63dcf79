# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of a snapshot: each keeps the contents of one object, puts them back in place (`restore`), and tells whether they differ
(`changed`)."""

import contextlib
import ctypes
import types

import torch

MISSING = object()
_memcmp = ctypes.CDLL(None).memcmp
_memcmp.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class StorageBytes:
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

    def changed(self):
        size = self.saved.nbytes()
        if self.storage.nbytes() != size:
            return True
        return bool(size) and _memcmp(self.storage.data_ptr(), self.saved.data_ptr(), size) != 0


class TensorLayout:
    """A tensor's layout, gradient and flags; the contents belong to its storage."""

    __slots__ = ("tensor", "storage", "layout", "grad", "requires_grad", "notes")

    def __init__(self, tensor):
        self.tensor = tensor
        self.storage = tensor.untyped_storage()
        self.layout = (tensor.storage_offset(), tuple(tensor.size()), tuple(tensor.stride()))
        self.requires_grad = tensor.requires_grad
        self.grad = tensor.grad if tensor.is_leaf else MISSING
        self.notes = dict(tensor.__dict__) if getattr(tensor, "__dict__", None) else None

    def restore(self):
        tensor = self.tensor
        if self._moved():
            tensor.data = torch.empty(0, dtype=tensor.dtype).set_(self.storage, *self.layout)
        if tensor.is_leaf and tensor.requires_grad != self.requires_grad:
            tensor.requires_grad_(self.requires_grad)
        if self.grad is not MISSING and tensor.is_leaf and tensor.grad is not self.grad:
            tensor.grad = self.grad
        if self.notes is not None and tensor.__dict__ != self.notes:
            tensor.__dict__.clear()
            tensor.__dict__.update(self.notes)

    def _moved(self):
        tensor = self.tensor
        layout = (tensor.storage_offset(), tuple(tensor.size()), tuple(tensor.stride()))
        return layout != self.layout or tensor.untyped_storage()._cdata != self.storage._cdata

    def changed(self):
        tensor = self.tensor
        if self._moved() or (tensor.is_leaf and tensor.requires_grad != self.requires_grad):
            return True
        if self.grad is not MISSING and tensor.is_leaf and tensor.grad is not self.grad:
            return True
        return self.notes is not None and tensor.__dict__ != self.notes


class Sequence:
    """A list, deque or bytearray."""

    def __init__(self, target):
        self.target, self.saved = target, list(target)

    def restore(self):
        if self.changed():
            self.target.clear()
            self.target.extend(self.saved)

    def changed(self):
        return len(self.target) != len(self.saved) or any(a is not b for a, b in zip(self.target, self.saved))


def _identities(mapping):
    """Which keys and values a dict holds, in order; equal exactly when nothing was put in, taken out or replaced."""
    return [*map(id, mapping), *map(id, mapping.values())]


class Mapping:
    """A dict of any kind, or the globals that a function uses (`names`)."""

    def __init__(self, target, names=None):
        self.target, self.names = target, names
        if names is None:
            self.saved = dict(target)
            self.identities = _identities(target)
        else:
            self.saved = {name: dict.get(target, name, MISSING) for name in names}

    def restore(self):
        target = self.target
        if self.names is not None:
            for name, value in self.saved.items():
                if value is MISSING:
                    target.pop(name, None)
                elif target.get(name, MISSING) is not value:
                    target[name] = value
        elif self.changed():
            target.clear()
            target.update(self.saved)

    def changed(self):
        if self.names is not None:
            return any(dict.get(self.target, name, MISSING) is not value for name, value in self.saved.items())
        return bool(self.target or self.saved) and _identities(self.target) != self.identities


class SetItems:
    def __init__(self, target):
        self.target, self.saved = target, set(target)

    def restore(self):
        if self.changed():
            self.target.clear()
            self.target.update(self.saved)

    def changed(self):
        return self.target != self.saved


class Cell:
    def __init__(self, cell):
        self.cell = cell
        try:
            self.saved = cell.cell_contents
        except ValueError:
            self.saved = MISSING

    def restore(self):
        if self.saved is MISSING:
            with contextlib.suppress(ValueError):
                del self.cell.cell_contents
        else:
            self.cell.cell_contents = self.saved

    def changed(self):
        try:
            return self.cell.cell_contents is not self.saved
        except ValueError:
            return self.saved is not MISSING


class Slots:
    """Attributes that live in `__slots__`."""

    def __init__(self, target, names):
        self.target = target
        self.saved = {name: getattr(target, name, MISSING) for name in names}

    def restore(self):
        for name, value in self.saved.items():
            if value is MISSING:
                with contextlib.suppress(AttributeError):
                    object.__delattr__(self.target, name)
            elif getattr(self.target, name, MISSING) is not value:
                object.__setattr__(self.target, name, value)

    def changed(self):
        return any(getattr(self.target, name, MISSING) is not value for name, value in self.saved.items())


class ClassData:
    """Plain data attributes of a user's class."""

    def __init__(self, cls):
        self.cls = cls
        self.saved = {name: value for name, value in vars(cls).items() if _is_class_data(name, value)}

    def restore(self):
        for name in [n for n, v in vars(self.cls).items() if _is_class_data(n, v) and n not in self.saved]:
            type.__delattr__(self.cls, name)
        for name, value in self.saved.items():
            if vars(self.cls).get(name, MISSING) is not value:
                type.__setattr__(self.cls, name, value)

    def changed(self):
        now = {name: value for name, value in vars(self.cls).items() if _is_class_data(name, value)}
        return now.keys() != self.saved.keys() or any(now[name] is not value for name, value in self.saved.items())


def _is_class_data(name, value):
    if name.startswith("__") and name.endswith("__") or name.startswith("_abc_"):
        return False
    return not isinstance(value, (types.FunctionType, type, property, classmethod, staticmethod)) and not hasattr(
        type(value), "__get__"
    )


class State:
    """Something with a getter and a setter of its state (a random generator)."""

    def __init__(self, get, put):
        self.get, self.put, self.saved = get, put, get()

    def restore(self):
        self.put(self.saved)

    def changed(self):
        return not _equal(self.get(), self.saved)


class Array:
    """A numpy array's contents."""

    def __init__(self, array):
        self.array, self.saved = array, array.copy()

    def restore(self):
        self.array[...] = self.saved

    def changed(self):
        return self.array.tobytes() != self.saved.tobytes()


def _equal(a, b):
    """Whether two states of a generator are the same; they are tuples, tensors or arrays."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    if hasattr(a, "tobytes"):
        return a.tobytes() == b.tobytes()
    return a == b
