# SPDX-License-Identifier: GPL-3.0-or-later
"""Records calls on real tensors, and compares what a plan makes of them with eager and with float64."""
import math
import os
import re
import sys

import torch

SOURCE = os.environ.get("BREAKLINE_SOURCE_DIR") or os.path.join(os.path.dirname(__file__), "..", "..", "..")


def load_extension(folder):
    sys.path.insert(0, folder)
    import _bl_cpu_test as extension

    if not extension.initialize():
        raise SystemExit("torch's C interface could not be loaded")
    return extension


def scalar_numbers():
    """Numbers of graph::ScalarFn by name, read from the header."""
    with open(os.path.join(SOURCE, "core", "graph", "op_table.h"), encoding="utf-8") as header:
        body = re.search(r"enum class ScalarFn[^{]*\{([^}]*)\}", header.read()).group(1)
    names = [word.strip()[1:] for word in re.sub(r"//.*", "", body).split(",") if word.strip()]
    return {name: number for number, name in enumerate(names)}


class Tape:
    """A straight-line program over tensors."""

    def __init__(self, inputs):
        self.inputs = list(inputs)
        self.calls = []
        self.results = []

    def call(self, function, *args, row=None, scalar=0, mutates=False, **kwargs):
        result = function(*args, **kwargs)
        self.calls.append((function, args, kwargs, result, mutates, row, scalar))
        self.results.append(result)
        return result

    def plan(self, extension, outputs, name="cpu"):
        return extension.make_plan(self.inputs, self.calls, list(outputs), name)

    def replay_wide(self, outputs):
        """The same program in float64 from the same inputs; integers are widened where they become floats."""
        known = {}

        def wide(x):
            if isinstance(x, torch.Tensor):
                if id(x) not in known:
                    known[id(x)] = x.double() if x.is_floating_point() else x
                return known[id(x)]
            if isinstance(x, (tuple, list)):
                return type(x)(wide(item) for item in x)
            return torch.float64 if x in FLOATS else x

        def number(x, result):
            integer = isinstance(x, torch.Tensor) and not x.is_floating_point() and x.dtype != torch.bool
            floats = isinstance(result, torch.Tensor) and result.is_floating_point()
            return wide(x).double() if integer and floats else wide(x)

        for function, args, kwargs, result, *_ in self.calls:
            args = [number(x, result) for x in args]
            value = function(*args, **{key: wide(item) for key, item in kwargs.items()})
            known[id(result)] = value
        return [known[id(output)] if id(output) in known else wide(output) for output in outputs]


FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
SMALLEST = {torch.float32: 2.0**-149, torch.float64: 2.0**-1074, torch.bfloat16: 2.0**-133, torch.float16: 2.0**-24}


def ulp(reference, dtype):
    """Spacing of `dtype` around each element of a float64 tensor."""
    info = torch.finfo(dtype)
    magnitude = reference.abs().nan_to_num(0, 0, 0).clamp(info.tiny, info.max)
    return torch.ldexp(torch.ones_like(magnitude), torch.frexp(magnitude).exponent - 1) * info.eps


def same_bits(a, b):
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if not a.is_floating_point():
        return bool((a == b).all())
    signs = torch.signbit(a) == torch.signbit(b)
    return bool((((a == b) & signs) | (a.isnan() & b.isnan())).all())


def difference(got, eager, wide, exact, ulps=4.0, whole=False):
    """None when `got` is right, else a sentence. `whole`: the tolerance is that of the largest element."""
    if got.dtype != eager.dtype or got.shape != eager.shape:
        return f"{got.dtype} {tuple(got.shape)} instead of {eager.dtype} {tuple(eager.shape)}"
    if got.stride() != eager.stride() and got.numel() > 1:
        return f"strides {got.stride()} instead of {eager.stride()}"
    if same_bits(got, eager):
        return None
    if exact or not got.is_floating_point():
        bad = torch.nonzero(~((got == eager) | ((got != got) & (eager != eager))))
        where = tuple(bad[0].tolist()) if len(bad) else "the sign of a zero"
        at = (got[where].item(), eager[where].item()) if len(bad) else ""
        return f"not the same bits: {len(bad)} elements, first {where}: {at}"
    if not torch.equal(got.isnan(), eager.isnan()):
        where = tuple(torch.nonzero(got.isnan() != eager.isnan())[0].tolist())
        return f"NaN at other places, first {where}: {got[where].item()} instead of {eager[where].item()}"
    infinite = got.isinf() | eager.isinf()
    # Eager's vector forms of some functions overflow too early (sinh beyond 88.72): there float64 decides.
    early = eager.isinf() & wide.to(got.dtype).isfinite()
    infinite &= ~early
    if not bool((got[infinite] == eager[infinite]).all()):
        where = tuple(torch.nonzero(infinite & (got != eager))[0].tolist())
        return f"infinity at other places, first {where}: {got[where].item()} instead of {eager[where].item()}"
    finite = ~infinite & ~got.isnan() & wide.isfinite()
    if not bool(finite.any()):
        return None
    own = (got.double() - wide).abs()[finite]
    theirs = torch.where(early, torch.zeros_like(wide), (eager.double() - wide).abs())[finite]
    unit = ulp(wide, got.dtype)[finite]
    if whole:
        theirs, unit = theirs.max(), unit.max()
    excess = own - torch.maximum(2 * theirs, ulps * unit)
    if bool((excess <= 0).all()):
        return None
    worst = int((excess / unit).argmax())
    x, e, w = got[finite][worst].item(), eager[finite][worst].item(), wide[finite][worst].item()
    return f"error {float((own / unit).flatten()[worst]):.1f} ulp: {x!r}, eager {e!r}, float64 {w!r}"


def specials(dtype):
    """Values at which scalar functions have edges."""
    if dtype == torch.bool:
        return torch.tensor([True, False, True])
    if not dtype.is_floating_point:
        info = torch.iinfo(dtype)
        return torch.tensor([0, 1, 2, 3, 7, info.max, info.min, info.max - 1, info.min + 1, 5], dtype=dtype)
    info = torch.finfo(dtype)
    values = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 6.0, -3.0, math.inf, -math.inf, math.nan, info.max,
              -info.max, info.tiny, -info.tiny, info.eps, 1 + info.eps, 20.0, -20.0, 88.0, -88.0, 89.5, -104.5, 1e-3, 100.0,
              math.pi, math.pi / 2, 1e5, 3e9, -3e9, SMALLEST[dtype]]
    return torch.tensor(values, dtype=torch.float64).to(dtype)


def sample(dtype, shape, generator):
    """Random elements with edge values mixed in."""
    count = math.prod(shape)
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=generator).bool()
    if not dtype.is_floating_point:
        low = 0 if dtype == torch.uint8 else -100
        x = torch.randint(low, 100, (count,), generator=generator).to(dtype)
    else:
        x = (torch.randn(count, generator=generator, dtype=torch.float64) * 3).to(dtype)
    edges = specials(dtype)
    if count > 40:
        at = torch.randint(0, count, (count // 20,), generator=generator)
        x[at] = edges[torch.randint(0, len(edges), (len(at),), generator=generator)]
    return x.reshape(shape)
