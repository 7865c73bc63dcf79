# SPDX-License-Identifier: GPL-3.0-or-later
"""Random calls of ops that order, search, and write at indices."""
import torch
from harness import ANY, INTS, REAL


def cases(m):
    tensor = torch.Tensor
    for _ in range(12):
        s = m.sizes(low=1)
        rank = len(s)
        d = m.rng.randrange(-rank, rank)
        dtype = m.rng.choice(REAL + INTS)
        x = m.tensor(s, dtype)
        down = m.chance(0.5)
        size = s[d]
        yield "sort", torch.sort, [m.tensor(s, m.rng.choice(ANY)), d], m.rng.choice([{}, {"descending": down}])
        yield "sort", torch.sort, [x], {"stable": True, "dim": d, "descending": down}
        yield "argsort", torch.argsort, [x, d, down], {}
        yield "argsort", tensor.argsort, [x], m.rng.choice([{}, {"dim": d, "stable": True}])
        yield "topk", torch.topk, [x, m.rng.randint(0, size), d, down], {}
        yield "topk", tensor.topk, [x], {"k": m.rng.randint(0, s[-1])}
        if size:
            yield "kthvalue", torch.kthvalue, [x, m.rng.randint(1, size), d], m.rng.choice([{}, {"keepdim": True}])
        for name in ("median", "nanmedian"):
            yield name, getattr(torch, name), m.rng.choice([[x], [x, d], [x, d, True]]), {}
        for name in ("cummax", "cummin"):
            yield name, getattr(torch, name), [m.tensor(s, m.rng.choice(ANY)), d], {}
        edges = torch.tensor([0.1, 0.5, 3.0]).to(dtype)
        form = m.rng.choice([{}, {"right": True}, {"out_int32": True}])
        yield "bucketize", torch.bucketize, [x, edges], form
        yield "searchsorted", torch.searchsorted, [edges, x], form
        part = [m.rng.randint(0, n) for n in s]
        part[d] = m.rng.randint(0, 3) if size else 0
        index = torch.randint(0, max(size, 1), part, generator=m.generator)
        source = m.tensor([n + m.rng.choice([0, 0, 1]) for n in part], dtype)
        number = m.rng.choice([1, 2.5]) if dtype.is_floating_point else 1
        plain = m.tensor(s, dtype, "contiguous", grad=False)
        fixed = source.detach()
        yield "scatter", torch.scatter, [x, d, index, m.rng.choice([source, number])], {}
        yield "scatter_", tensor.scatter_, [plain.clone(), d, index, m.rng.choice([fixed, number])], {}
        yield "scatter_add", torch.scatter_add, [x, d, index, source], {}
        yield "scatter_add_", tensor.scatter_add_, [plain.clone(), d, index, fixed], {}
        yield "scatter_reduce", torch.scatter_reduce, [x, d, index, source, m.rng.choice(["sum", "amax", "amin"])], {}
        few = torch.randint(0, max(size, 1), [m.rng.randint(0, 3) if size else 0], generator=m.generator)
        rows = list(s)
        rows[d] = few.numel()
        added = m.tensor(rows, dtype)
        yield "index_add", torch.index_add, [x, d, few, added], m.rng.choice([{}, {"alpha": 2}])
        yield "index_add_", tensor.index_add_, [plain.clone(), d, few, added.detach()], {}
        yield "index_copy", torch.index_copy, [x, d, few, added], {}
        yield "index_fill", torch.index_fill, [x, d, few, number], {}
        yield "index_fill_", tensor.index_fill_, [plain.clone(), d, few, number], {}
        mask = m.tensor(m.broadcastable(s), torch.bool)
        yield "masked_scatter", torch.masked_scatter, [x, mask, m.tensor([500], dtype)], {}
