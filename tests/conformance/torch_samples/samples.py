# SPDX-License-Identifier: GPL-3.0-or-later
"""One call of a torch operator, eager and compiled, and everything of it that a program can see."""

import contextlib

import torch

# --- copies of inputs --------------------------------------------------------------------------------------------------


class Copier:
    """Copies a structure of tensors with their strides, offsets and sharing of storage kept."""

    def __init__(self, requires_grad=None, layout=None):
        self.requires_grad, self.layout = requires_grad, layout
        self.storages, self.tensors, self.order = {}, {}, []

    def __call__(self, value):
        if isinstance(value, torch.Tensor):
            if id(value) not in self.tensors:
                self.tensors[id(value)] = (self.tensor(value), value)
                self.order.append(self.tensors[id(value)][0])
            return self.tensors[id(value)][0]
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(self, value))
        if type(value) in (list, tuple):
            return type(value)(map(self, value))
        if type(value) is dict:
            return {k: self(v) for k, v in value.items()}
        return value

    def tensor(self, t):
        plain = t.layout == torch.strided and type(t) in (torch.Tensor, torch.nn.Parameter) and not t.is_quantized
        if not plain or t.is_conj() or t.is_neg() or t.device.type != "cpu":
            new = t.detach().clone()
        else:
            storage = t.untyped_storage()
            key = storage.data_ptr()
            if key == 0 or key not in self.storages:
                self.storages[key] = storage.clone()
            new = torch.empty(0, dtype=t.dtype).set_(self.storages[key], t.storage_offset(), t.size(), t.stride())
            if self.layout == "channels_last" and t.dim() == 4:
                new = new.contiguous(memory_format=torch.channels_last)
            elif self.layout == "offset" and t.dim() > 0:
                new = torch.stack((new, new), -1)[..., 1]
        if isinstance(t, torch.nn.Parameter):
            new = torch.nn.Parameter(new, requires_grad=False)
        wanted = t.requires_grad if self.requires_grad is None else self.requires_grad
        if wanted and (new.dtype.is_floating_point or new.dtype.is_complex):
            new.requires_grad_()
        return new


def tensors_of(value, out=None):
    out = [] if out is None else out
    if isinstance(value, torch.Tensor):
        out.append(value)
    elif isinstance(value, (list, tuple)):
        for v in value:
            tensors_of(v, out)
    elif isinstance(value, dict):
        for v in value.values():
            tensors_of(v, out)
    return out


# --- what the program itself sees (traced) -------------------------------------------------------------------------------


def look(value):
    """What follows from a tensor's metadata: under Breakline these are the tracer's answers."""
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided:
            return "other layout"
        return (value.dtype, tuple(value.shape), value.stride(), value.storage_offset(), value.requires_grad, value.is_leaf,
                value.is_contiguous(), value.device.type, value.numel(), value.is_floating_point())
    if isinstance(value, (list, tuple)):
        return [look(v) for v in value]
    return type(value).__name__


def call_function(op, args, kwargs):
    result = op(*args, **kwargs)
    return result, look(result), look(args), [look(v) for v in kwargs.values()]


def call_on_copies(op, args, kwargs):
    """In-place forms of inputs that require grad: leaves may not be written."""
    first = args[0].clone()
    result = op(first, *args[1:], **kwargs)
    return result, result is first, look(result), look(first), look(args)


# --- what everybody sees afterwards ------------------------------------------------------------------------------------------


def facts(value):
    if isinstance(value, torch.Tensor):
        node = type(value.grad_fn).__name__ if value.grad_fn is not None else None
        strided = value.layout == torch.strided and not value.is_nested
        return ("tensor", type(value), value.dtype, value.layout, tuple(value.shape) if not value.is_nested else None,
                value.stride() if strided else None, value.storage_offset() if strided else None, value.requires_grad,
                value.is_leaf, node, value.is_conj(), value.is_neg(), value.is_inference())
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return (type(value).__name__, [facts(v) for v in value])
    if isinstance(value, (list, tuple)):
        return (type(value), [facts(v) for v in value])
    if isinstance(value, dict):
        return {k: facts(v) for k, v in value.items()}
    return type(value)


def sharing(values):
    """Pairs of tensors (by position) with the same storage, or that are one object."""
    flat = [t for t in tensors_of(values) if t.layout == torch.strided and not t.is_nested and t.device.type == "cpu"]
    base = [t.untyped_storage().data_ptr() for t in flat]
    return [(i, j, flat[i] is flat[j]) for i in range(len(flat)) for j in range(i)
            if base[i] and base[i] == base[j]]


def plain_values(value):
    """Numbers of tensors, comparable by `same_values`."""
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided or value.is_nested or value.is_quantized:
            return None
        return value.detach().resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)
    if isinstance(value, (list, tuple)):
        return [plain_values(v) for v in value]
    if isinstance(value, dict):
        return [plain_values(v) for v in value.values()]
    return value


def same_bits(x, y):
    if x.device.type == "meta":
        return True
    if x.is_complex():
        x, y = torch.view_as_real(x), torch.view_as_real(y)
    if not x.dtype.is_floating_point:
        return torch.equal(x, y)
    if x.dtype.itemsize == 1:
        return torch.equal(x.view(torch.uint8), y.view(torch.uint8))
    same = ((x == y) & (torch.signbit(x) == torch.signbit(y))) | (x.isnan() & y.isnan())
    return bool(same.all())


TOLERANCE = {torch.float64: (1e-7, 1e-7), torch.float32: (1.3e-6, 1e-5), torch.bfloat16: (1.6e-2, 1e-2), torch.float16: (1e-3, 1e-3)}


def near(x, y):
    if x.device.type == "meta":
        return True
    if x.dtype in TOLERANCE:
        rtol, atol = TOLERANCE[x.dtype]
        return torch.allclose(x, y, rtol=rtol, atol=atol, equal_nan=True)
    return same_bits(x, y)


def same_values(a, b, exact):
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        return same_bits(a, b) if exact else near(a, b)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same_values(x, y, exact) for x, y in zip(a, b))
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b) or (not exact and abs(a - b) <= 1e-5 + 1e-5 * abs(b))
    if type(a) is not type(b):
        return False
    try:
        return bool(a == b) or type(a).__eq__ is object.__eq__
    except Exception:
        return True


def loss_of(result):
    parts = [t for t in tensors_of(result) if t.requires_grad and t.layout == torch.strided and not t.is_nested]
    total = None
    for t in parts:
        t = t.abs() if t.is_complex() else t
        total = t.double().sum() if total is None else total + t.double().sum()
    return total


def observe(run, op, args, kwargs, variant):
    """Calls run(op, args, kwargs) on copies and returns what can be seen afterwards."""
    copier = Copier(variant.requires_grad, variant.layout)
    with variant.copying():
        args, kwargs = copier(args), copier(kwargs)
    torch.manual_seed(5)
    seen = {"error": None}
    result = None
    try:
        with variant.context():
            result = run(op, args, kwargs)
    except Exception as e:
        seen["error"] = (type(e), str(e))
    seen["random"] = torch.get_rng_state()
    seen["facts"] = facts(result)
    seen["inputs"] = facts(copier.order)
    seen["versions"] = [t._version if not t.is_inference() else None for t in copier.order]
    seen["sharing"] = sharing([result, copier.order])
    seen["known"] = result[1:] if result is not None else None
    seen["values"] = plain_values(result[0]) if result is not None else None
    seen["after"] = plain_values(copier.order)
    if variant.backward and result is not None:
        loss = loss_of(result[0])
        if loss is not None:
            try:
                loss.backward()
            except Exception as e:
                seen["backward"] = (type(e), str(e))
        seen["grads"] = plain_values([t.grad for t in copier.order])
    return seen


def difference(want, got, exact):
    """"" when both observations agree, else what differs."""
    for key in ("error", "known", "facts", "inputs", "versions", "sharing", "backward"):
        if want.get(key) != got.get(key):
            return f"{key}: {want.get(key)} != {got.get(key)}"
    if not torch.equal(want["random"], got["random"]):
        return "the random stream differs"
    for key in ("values", "after", "grads"):
        if not same_values(want.get(key), got.get(key), exact):
            return f"{key} differ: {want.get(key)} {got.get(key)}"
    return ""


# --- variants ----------------------------------------------------------------------------------------------------------


class Variant:
    requires_grad = False
    layout = None
    backward = False
    form = "function"  # function, method, inplace, inplace_copy, out
    dtype = torch.float32
    default_dtype = None

    def __init__(self, name, context=contextlib.nullcontext, copying=contextlib.nullcontext, **settings):
        self.name, self.context, self.copying = name, context, copying
        for key, value in settings.items():
            setattr(self, key, value)


def autocast():
    return torch.autocast("cpu", dtype=torch.bfloat16)


VARIANTS = {v.name: v for v in (
    Variant("plain"),
    Variant("grad", requires_grad=True, backward=True),
    Variant("no_grad", torch.no_grad, requires_grad=True),
    Variant("inference", torch.inference_mode),
    Variant("inference_inputs", torch.inference_mode, torch.inference_mode),
    Variant("autocast", autocast),
    Variant("autocast_grad", autocast, requires_grad=True, backward=True),
    Variant("default_double", default_dtype=torch.float64),
    Variant("offset", layout="offset"),
    Variant("channels_last", layout="channels_last"),
    Variant("method", form="method"),
    Variant("inplace", form="inplace"),
    Variant("inplace_grad", form="inplace_copy", requires_grad=True, backward=True),
    Variant("operator", form="operator"),
    Variant("out", form="out"),
    Variant("out_wrong", form="out_wrong"),
    Variant("int64", dtype=torch.int64),
    Variant("bool", dtype=torch.bool),
    Variant("uint8", dtype=torch.uint8),
    Variant("bfloat16", dtype=torch.bfloat16),
    Variant("float16", dtype=torch.float16),
    Variant("float64", dtype=torch.float64, requires_grad=True),
    Variant("complex64", dtype=torch.complex64),
)}
