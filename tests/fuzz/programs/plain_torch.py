# SPDX-License-Identifier: GPL-3.0-or-later
"""What the random programs use of PyTorch, in plain Python, for interpreters that have no PyTorch: the same programs then exercise
classes, operators and aliasing views of Python objects instead. A tensor is a view (shape, strides, offset) of a list of floats."""

import contextlib
import itertools
import math
import random
import types

no_grad = contextlib.nullcontext


class Generator:
    def manual_seed(self, seed):
        self.random = random.Random(seed)
        return self


def _strides(shape):
    out, step = [], 1
    for n in reversed(shape):
        out.append(step)
        step *= n
    return tuple(reversed(out))


class Tensor:
    def __init__(self, data, shape, strides=None, offset=0):
        self.data, self.shape, self.offset = data, tuple(shape), offset
        self.strides = _strides(self.shape) if strides is None else tuple(strides)

    # -- elements
    def places(self):
        for index in itertools.product(*map(range, self.shape)):
            yield self.offset + sum(i * s for i, s in zip(index, self.strides))

    def values(self):
        return [self.data[p] for p in self.places()]

    def map(self, function):
        return Tensor([function(v) for v in self.values()], self.shape)

    def expand(self, *shape):
        missing = len(shape) - len(self.shape)
        if missing < 0:
            raise RuntimeError("expand: too few dimensions")
        strides = [0] * missing
        for have, want, step in zip(self.shape, shape[missing:], self.strides):
            if have != want and have != 1:
                raise RuntimeError(f"expand: {have} does not fit {want}")
            strides.append(step if have == want else 0)
        return Tensor(self.data, shape, strides, self.offset)

    def zip(self, other, function):
        if not isinstance(other, Tensor):
            if not isinstance(other, (int, float)):
                return NotImplemented
            return self.map(lambda v: function(v, other))
        shape = []
        for a, b in itertools.zip_longest(self.shape[::-1], other.shape[::-1], fillvalue=1):
            if a != b and 1 not in (a, b):
                raise RuntimeError(f"The size of tensor a ({a}) must match the size of tensor b ({b})")
            shape.insert(0, b if a == 1 else a)
        pairs = zip(self.expand(*shape).values(), other.expand(*shape).values())
        return Tensor([function(a, b) for a, b in pairs], shape)

    def write(self, source):
        if not isinstance(source, Tensor):
            source = Tensor([float(source)], (1,) * len(self.shape))
        for place, value in list(zip(self.places(), source.expand(*self.shape).values())):
            self.data[place] = value
        return self

    # -- operators
    def __add__(self, other):
        return self.zip(other, lambda a, b: a + b)

    def __sub__(self, other):
        return self.zip(other, lambda a, b: a - b)

    def __mul__(self, other):
        return self.zip(other, lambda a, b: a * b)

    def __truediv__(self, other):
        return self.zip(other, lambda a, b: a / b if b else math.nan)

    def __pow__(self, other):
        return self.zip(other, lambda a, b: a ** b)

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other):
        return self.zip(other, lambda a, b: b - a)

    def __gt__(self, other):
        return self.zip(other, lambda a, b: a > b)

    def __lt__(self, other):
        return self.zip(other, lambda a, b: a < b)

    def __neg__(self):
        return self.map(lambda v: -v)

    def __iadd__(self, other):
        return self.add_(other)

    def __imul__(self, other):
        return self.mul_(other)

    def __matmul__(self, other):
        if self.shape[-1] != other.shape[0]:
            raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({self.shape} and {other.shape})")
        columns = other.t() if len(other.shape) == 2 else [other]
        data = [math.fsum(a * b for a, b in zip(row.values(), column.values())) for row in self for column in columns]
        return Tensor(data, self.shape[:1] + other.shape[1:])

    def __bool__(self):
        if self.numel() != 1:
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        return bool(self.values()[0])

    def __len__(self):
        return self.shape[0]

    def __iter__(self):
        return iter([self[i] for i in range(len(self))])

    def __getitem__(self, key):
        shape, strides, offset = list(self.shape), list(self.strides), self.offset
        at = 0
        for part in key if isinstance(key, tuple) else (key,):
            if isinstance(part, slice):
                start, stop, step = part.indices(shape[at])
                offset += start * strides[at]
                shape[at], strides[at] = max(0, -(-(stop - start) // step)), strides[at] * step
                at += 1
                continue
            if not -shape[at] <= part < shape[at]:
                raise IndexError(f"index {part} is out of bounds for dimension {at} with size {shape[at]}")
            offset += part % shape[at] * strides[at]
            del shape[at], strides[at]
        return Tensor(self.data, shape, strides, offset)

    def __setitem__(self, key, value):
        self[key].write(value)

    def __repr__(self):
        return f"tensor({self.shape}, {self.values()})"

    __hash__ = object.__hash__

    # -- methods
    def add_(self, other):
        return self.write(self + other)

    def mul_(self, other):
        return self.write(self * other)

    def relu(self):
        return self.map(lambda v: v if v > 0 else 0.0)

    def abs(self):
        return self.map(abs)

    def clamp(self, low, high):
        return self.map(lambda v: min(max(v, low), high))

    def t(self):
        return self.transpose(0, 1)

    def transpose(self, a, b):
        shape, strides = list(self.shape), list(self.strides)
        shape[a], shape[b] = shape[b], shape[a]
        strides[a], strides[b] = strides[b], strides[a]
        return Tensor(self.data, shape, strides, self.offset)

    def softmax(self, dim):
        rows = [[math.exp(v) for v in row.values()] for row in self]
        return Tensor([v / sum(row) for row in rows for v in row], self.shape)

    def clone(self):
        return self.map(lambda v: v)

    def contiguous(self):
        return self if self.strides == _strides(self.shape) else self.clone()

    def detach(self):
        return Tensor(self.data, self.shape, self.strides, self.offset)

    def float(self):
        return self

    def view(self, *shape):
        if math.prod(shape) != self.numel() or self.strides != _strides(self.shape):
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {self.numel()}")
        return Tensor(self.data, shape, None, self.offset)

    def reshape(self, *shape):
        return self.contiguous().view(*shape)

    def sum(self, dim=None, keepdim=False):
        if dim is None:
            return Tensor([math.fsum(self.values())], ())
        columns = [math.fsum(column.values()) for column in self.transpose(0, dim).t()]
        return Tensor(columns, (1, len(columns)) if keepdim else (len(columns),))

    def mean(self, dim=None):
        if dim is None:
            return self.sum() / self.numel()
        first, *rest = self
        for other in rest:
            first = first + other
        return first / len(self)

    def item(self):
        return self.values()[0]

    def dim(self):
        return len(self.shape)

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[dim]

    def numel(self):
        return math.prod(self.shape)


def tanh(x):
    return x.map(math.tanh)


def sigmoid(x):
    return x.map(lambda v: 1 / (1 + math.exp(-min(max(v, -700), 700))))


def sin(x):
    return x.map(lambda v: math.sin(v) if math.isfinite(v) else math.nan)


def exp(x):
    return x.map(lambda v: math.exp(min(v, 700)))


def maximum(a, b):
    return a.zip(b, max)


def where(condition, a, b):
    return (condition.zip(a, lambda c, v: v if c else None)).zip(b, lambda v, other: other if v is None else v)


def cat(tensors):
    if len({t.shape[1:] for t in tensors}) != 1:
        raise RuntimeError("Sizes of tensors must match except in dimension 0")
    return Tensor([v for t in tensors for v in t.values()], (sum(len(t) for t in tensors),) + tensors[0].shape[1:])


def stack(tensors):
    if len({t.shape for t in tensors}) != 1:
        raise RuntimeError("stack expects each tensor to be equal size")
    return Tensor([v for t in tensors for v in t.values()], (len(tensors),) + tensors[0].shape)


def full(shape, value):
    return Tensor([float(value)] * math.prod(shape), shape)


def ones(*shape):
    return full(shape, 1)


def randn(*shape, generator):
    return Tensor([generator.random.gauss(0, 1) for _ in range(math.prod(shape))], shape)


def gelu(x):
    return x.map(lambda v: 0.5 * v * (1 + math.erf(v / math.sqrt(2))))


nn = types.SimpleNamespace(functional=types.SimpleNamespace(gelu=gelu))


def same(a, b):
    """Equality for the programs' results: types, structure, layout and values, where NaN equals NaN and -0.0 differs from 0.0."""
    if type(a) is not type(b):
        return False
    if isinstance(a, Tensor):
        return (a.shape, a.strides, repr(a.values())) == (b.shape, b.strides, repr(b.values()))
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return repr(a) == repr(b) if isinstance(a, float) else a == b
