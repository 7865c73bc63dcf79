# SPDX-License-Identifier: GPL-3.0-or-later
"""Embedding, index_select, gather and x[index] in kernels, among pointwise ops and rows: cpu plan against eager over shapes, strides,
dtypes, index forms; indices out of range raise what eager raises, and nothing before them is left undone."""
import random
import sys

import torch
import torch.nn.functional as F

import breakline
from seeded import run

TABLES = [(7, 5), (1, 9), (33, 16), (100, 64), (12, 1), (5, 257), (4, 3, 17), (6, 2, 3, 8)]
COUNTS = [(), (1,), (0,), (3,), (2, 5), (33,), (2, 3, 4), (130,)]
FLOATS = [torch.float32] * 4 + [torch.float64, torch.bfloat16, torch.float16]
OTHERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool]


def table_of(rng):
    shape = rng.choice(TABLES)
    if rng.random() < 0.3:
        x = torch.randint(0, 2 if rng.random() < 0.3 else 100, shape).to(rng.choice(OTHERS))
    else:
        x = torch.randn(shape)
        if rng.random() < 0.2:
            x.view(-1)[rng.randrange(x.numel())] = rng.choice([float("nan"), float("inf"), -0.0])
        x = x.to(rng.choice(FLOATS))
    form = rng.randrange(5)
    if form == 1:
        return x.transpose(0, -1).contiguous().transpose(0, -1)
    if form == 2:
        return torch.cat([x, x], -1)[..., ::2]
    if form == 3:
        return torch.cat([x, x, x], 0)[1::2]
    if form == 4:
        return x[:1].expand(x.shape)
    return x


def index_of(rng, shape, low, high):
    index = torch.randint(low, high, shape, dtype=torch.int64)
    form = rng.randrange(4)
    if form == 1 and len(shape) > 1:
        return index.transpose(0, -1).contiguous().transpose(0, -1)
    if form == 2 and shape:
        return torch.stack([index, index], -1)[..., 1]
    if form == 3 and shape:
        return index[:1].expand(shape)
    return index


def forms(rng, table):
    """(name, function of table and index, index)."""
    rank, rows = table.dim(), table.shape[0]
    dim = rng.randrange(rank)
    extent = table.shape[dim]
    narrow = torch.int32 if rng.random() < 0.3 else torch.int64
    name = rng.choice(["embedding", "select", "gather", "item", "shifted", "norm", "softmax", "sum", "two", "both", "across"])
    if name in ("embedding", "norm", "softmax", "both", "across"):
        table = table.flatten(1)
        shape = rng.choice(COUNTS)
        if name != "embedding":
            table = table.float() if not table.is_floating_point() else table
            shape = shape or (2,)
        index = index_of(rng, shape, 0, rows).to(narrow)
        rest = torch.randn(table.shape[1]).to(table.dtype)
        return name, {
            "embedding": lambda t, i: F.embedding(i, t) + F.embedding(i, t),
            "norm": lambda t, i: F.layer_norm(F.embedding(i, t) * 0.5 + rest.to(t.dtype), (t.shape[1],)),
            "softmax": lambda t, i: torch.softmax(F.embedding(i, t) + 1, -1) * 2,
            "both": lambda t, i: (F.embedding(i, t) + rest.to(t.dtype), F.embedding(i, t).relu().mean(-1, keepdim=True) + 1),
            "across": lambda t, i: torch.softmax(F.embedding(i, t) * 2, 0) + 1,
        }[name], table, index
    if name in ("select", "sum"):
        index = index_of(rng, rng.choice([c for c in COUNTS if len(c) == 1]), 0, extent).to(narrow)
        if name == "sum" and table.is_floating_point():
            return name, lambda t, i: (t.index_select(dim, i) * 2).sum(-1) + 1, table, index
        return name, lambda t, i: torch.index_select(t, dim, i) + 1, table, index
    if name in ("gather", "two"):
        shape = tuple(rng.randint(0 if rng.random() < 0.1 else 1, 2 * n if d == dim else n) for d, n in enumerate(table.shape))
        index = index_of(rng, shape, 0, extent)
        if name == "two":
            return name, lambda t, i: (t.gather(dim, i) * torch.gather(t, dim, i.clamp(max=0)) + 1) * 2, table, index
        return name, lambda t, i: (t.gather(dim, i) + 1) * 2, table, index
    index = index_of(rng, rng.choice(COUNTS), -rows, rows)
    if name == "shifted":
        return name, lambda t, i: t[i.abs() % t.shape[0]] + t[i], table, index
    return name, lambda t, i: t[i] * 2, table, index


def make(rng):
    name, function, table, index = forms(rng, table_of(rng))
    return name, function, (table, index)


def raised(function, *args):
    try:
        with torch.no_grad():
            function(*args)
    except (IndexError, RuntimeError) as error:
        return type(error), str(error)
    return None


def explicit_forms():
    """A table or an index without dims; as many elements as the table has, in another order."""
    one, zero, row = torch.tensor(2.5), torch.tensor(0), torch.tensor([1.0, 2.0, 3.0])
    cases = [(lambda t, i: (t.gather(0, i) + 1) * 2, one, zero), (lambda t, i: (t.gather(0, i) + 1) * 2, one, zero.view(1)),
             (lambda t, i: t.index_select(0, i) + 1, one, zero.view(1)), (lambda t, i: t.index_select(0, i) + 1, row, zero),
             (lambda t, i: F.embedding(i, t.view(3, 1)) + 1, row, zero),
             (lambda t, i: t[i] * 2, torch.randn(16, 33).t(), torch.randperm(33) - 7),
             (lambda t, i: t[i] @ t.t(), torch.randn(16, 33).t(), torch.randperm(33))]
    with torch.no_grad():
        pairs = [(f(t, i), breakline.compile(f, device="cpu")(t, i)) for f, t, i in cases]
    return [f"form {k}: {g} instead of {e}" for k, (e, g) in enumerate(pairs) if e.shape != g.shape or not torch.allclose(e, g)]


def out_of_range():
    """The error is eager's; what the program wrote before it is written, what comes after is not."""
    failures = []
    table = torch.randn(10, 16)
    cases = {
        "embedding": lambda t, i, log: F.embedding(i, t) + 1,
        "index_select": lambda t, i, log: t.index_select(0, i.flatten()) * 2,
        "gather": lambda t, i, log: (t.gather(0, i.reshape(-1, 1)) + 1) * 2,
        "item": lambda t, i, log: t[i] * 2,
        "norm": lambda t, i, log: F.layer_norm(F.embedding(i, t) + 1, (16,)),
    }

    def around(body):
        def run(t, i, log):
            log[0].add_(1)
            y = body(t, i, log)
            log[1].add_(1)
            return y.relu() + 1

        return run

    for name, body in cases.items():
        compiled = breakline.compile(around(body), device="cpu")
        for bad in (10, -1, -11, 1 << 40):
            for dtype in (torch.int64, torch.int32):
                if dtype == torch.int32 and (bad > 1 << 30 or name == "gather"):
                    continue
                good = torch.arange(6).reshape(2, 3).to(dtype)
                wrong = good.clone()
                wrong[1, 1] = bad
                for index in (good, wrong, good):
                    logs = [[torch.zeros(3), torch.zeros(3)] for _ in range(2)]
                    eager, got = raised(around(body), table, index, logs[0]), raised(compiled, table, index, logs[1])
                    if eager != got or not all(map(torch.equal, *logs)):
                        failures.append(f"{name} index {bad} {dtype}: {got} instead of {eager}, {logs}")
    return failures


if __name__ == "__main__":
    sys.exit(run(make, 0.8, lambda: explicit_forms() + out_of_range()))
