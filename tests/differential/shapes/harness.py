# SPDX-License-Identifier: GPL-3.0-or-later
"""Random calls of torch ops: what the shape rules say must be what the real op gives."""
import random

import torch

REAL = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
ANY = REAL + INTS + [torch.bool]


class Maker:
    """Tensors of random layout, dtype and need of grad."""

    def __init__(self, seed, engine=None):
        self.engine = engine
        self.rng = random.Random(seed)
        self.generator = torch.Generator().manual_seed(seed)

    def attribute(self, name):
        """The callable that the engine uses for reading an attribute, f(x)."""
        return self.engine.attribute(torch.empty(1), name)[1]

    def chance(self, p):
        return self.rng.random() < p

    def sizes(self, low=0, high=4, zero=0.03):
        rank = self.rng.randint(low, high)
        return [0 if self.chance(zero) else self.rng.choice([1, 1, 2, 3, 4, 5]) for _ in range(rank)]

    def fill(self, sizes, dtype):
        if dtype == torch.bool:
            return torch.randint(0, 2, sizes, generator=self.generator).bool()
        if dtype.is_floating_point:
            return torch.rand(sizes, generator=self.generator, dtype=torch.float64).add(0.05).mul(0.9).to(dtype)
        return torch.randint(1, 5, sizes, generator=self.generator).to(dtype)

    def tensor(self, sizes, dtype=torch.float32, layout=None, grad=None):
        """`layout`: None = any; "contiguous", "permuted", "strided", "expanded", "channels_last", "offset"."""
        sizes = list(sizes)
        rank = len(sizes)
        kinds = ["contiguous", "contiguous", "permuted", "strided", "offset", "expanded"]
        if rank in (4, 5):
            kinds += ["channels_last"] * 3
        kind = layout or self.rng.choice(kinds)
        if kind == "permuted" and rank > 1:
            order = list(range(rank))
            self.rng.shuffle(order)
            inverse = [order.index(i) for i in range(rank)]
            t = self.fill([sizes[i] for i in order], dtype).permute(inverse)
        elif kind == "strided" and rank > 0:
            dim = self.rng.randrange(rank)
            wide = list(sizes)
            wide[dim] = sizes[dim] * 2
            index = [slice(None)] * rank
            index[dim] = slice(self.rng.randint(0, 1) if wide[dim] else 0, None, 2)
            t = self.fill(wide, dtype)[tuple(index)]
        elif kind == "offset":
            t = self.fill([3] + sizes, dtype)[1]
        elif kind == "expanded" and rank > 0:
            narrow = [1 if self.chance(0.4) else s for s in sizes]
            t = self.fill(narrow, dtype).expand(sizes)
        elif kind == "channels_last" and rank in (4, 5):
            form = torch.channels_last if rank == 4 else torch.channels_last_3d
            t = self.fill(sizes, dtype).contiguous(memory_format=form)
        else:
            t = self.fill(sizes, dtype)
        assert list(t.shape) == sizes, (kind, sizes, t.shape)
        if grad is None:
            grad = self.chance(0.25)
        if grad and dtype.is_floating_point:
            t = t.detach()
            if self.chance(0.3):
                with torch.enable_grad():  # not a leaf, nor a view of one
                    extent = t.untyped_storage().nbytes() // t.element_size()
                    base = torch.rand(extent).to(dtype).requires_grad_() * 1
                    t = base.as_strided(t.size(), t.stride(), t.storage_offset())
            else:
                t.requires_grad_()
        return t

    def broadcastable(self, sizes):
        """Sizes that broadcast with `sizes` (and may enlarge it)."""
        out = [1 if self.chance(0.25) else s for s in sizes]
        return out[self.rng.randint(0, len(out)):] if self.chance(0.35) else out


def flatten(result):
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, (tuple, list)) and not isinstance(result, torch.Size):
        return list(result)
    return [result]


def operands(args, kwargs):
    """Tensors in order, each once, as the engine numbers them."""
    seen = []

    def visit(x):
        if isinstance(x, torch.Tensor):
            if not any(x is s for s in seen):
                seen.append(x)
        elif isinstance(x, (tuple, list)):
            for item in x:
                visit(item)
        elif isinstance(x, slice):
            for item in (x.start, x.stop, x.step):
                visit(item)

    for a in args:
        visit(a)
    for a in kwargs.values():
        visit(a)
    return seen


def describe(result, tensors):
    """The form of debug_infer's answer for a real result."""
    out = []
    for r in flatten(result):
        if not isinstance(r, torch.Tensor):
            out.append(("constant", r))
            continue
        same = next((i for i, t in enumerate(tensors) if t is r), -1)
        alias = same
        if alias < 0:
            alias = next((i for i, t in enumerate(tensors) if torch._C._is_alias_of(t, r)), -1)
        out.append((r.dtype, tuple(r.shape), tuple(r.stride()), r.storage_offset(), alias, same >= 0,
                    r.requires_grad, r.is_leaf))
    return out


def show(x):
    if isinstance(x, torch.Tensor):
        return "%s%s stride %s%s%s" % (str(x.dtype)[6:], list(x.shape), list(x.stride()),
                                       " offset %d" % x.storage_offset() if x.storage_offset() else "",
                                       " grad" if x.requires_grad else "")
    if isinstance(x, tuple):
        return "(" + ", ".join(map(show, x)) + ")"
    if isinstance(x, list):
        return "[" + ", ".join(map(show, x)) + "]"
    return repr(x)


def check(infer, callable_, args, kwargs, rules_only=True):
    """None: no answer (or the op raises too). True: equal. Else the difference as text."""
    tensors = operands(args, kwargs)
    said = infer(callable_, tuple(args), kwargs, rules_only)
    called = "%s(%s%s)" % (getattr(callable_, "__name__", callable_), ", ".join(show(a) for a in args),
                           "".join(", %s=%s" % (k, show(v)) for k, v in kwargs.items()))
    if said is None or isinstance(said, str):
        return None if rules_only or said is None else said
    try:
        real = describe(callable_(*args, **kwargs), tensors)
    except (TypeError, ZeroDivisionError):
        return None  # says nothing of metadata: the traced call raises the same when it runs
    except RuntimeError as error:
        if str(error) == "ZeroDivisionError" or not rules_only:  # meta kernels are more lenient than real ones
            return None
        return "%s\n   rule: %s\n   real: raises %s" % (called, said, str(error).split("\n")[0][:150])
    except (ValueError, IndexError) as error:
        return "%s\n   rule: %s\n   real: raises %s" % (called, said, str(error).split("\n")[0][:150])
    if said == real:
        return True
    return "%s\n   rule: %s\n   real: %s" % (called, said, real)
