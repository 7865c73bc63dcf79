# SPDX-License-Identifier: GPL-3.0-or-later
"""Random calls of ops that move data."""
import operator

import torch
from cases_view import random_index
from harness import ANY, REAL


def cases(m):
    tensor = torch.Tensor
    for _ in range(12):
        s = m.sizes(low=1)
        rank = len(s)
        d = m.rng.randrange(-rank, rank)
        dtype = m.rng.choice(ANY)
        whole = m.tensor(s, dtype)
        yield "roll", torch.roll, [whole, m.rng.randint(-3, 3), m.rng.choice([d, (d,)])], {}
        yield "roll", torch.roll, [whole, m.rng.randint(-3, 3)], {}
        turns = m.rng.randint(1, rank)
        yield "roll", tensor.roll, [whole, [m.rng.randint(-2, 2) for _ in range(turns)], m.rng.sample(range(rank), turns)], {}
        yield "repeat_interleave", torch.repeat_interleave, [whole, m.rng.randint(0, 3)], m.rng.choice([{}, {"dim": d}])
        yield "repeat_interleave", tensor.repeat_interleave, [whole, 2, d], {}
        for name in ("hstack", "vstack"):
            yield name, getattr(torch, name), [[whole, m.tensor(s, m.rng.choice(ANY)), m.tensor(s, dtype)]], {}

        def part():
            sizes = list(s)
            sizes[d] = m.rng.choice([0, 1, 2, 3])
            return m.tensor(sizes, m.rng.choice(ANY) if m.chance(0.2) else dtype)

        parts = [part() for _ in range(m.rng.randint(1, 4))]
        if m.chance(0.1):
            parts.insert(m.rng.randint(0, len(parts)), torch.empty(0, dtype=dtype))
        yield "cat", torch.cat, [parts, d], {}
        yield "cat", torch.concat, [tuple(parts)], {"dim": d}
        alike = [m.tensor(s, m.rng.choice(ANY) if m.chance(0.2) else dtype) for _ in range(m.rng.randint(1, 3))]
        yield "stack", torch.stack, [alike, m.rng.randrange(-rank - 1, rank + 1)], {}
        x = m.tensor(s, dtype)
        f = m.tensor(s, m.rng.choice(REAL))
        widths = [m.rng.choice([0, 0, 1, 2]) for _ in range(2 * m.rng.randint(1, rank))]
        yield "pad", torch._C._nn.pad, [x, widths], m.rng.choice([{}, {"mode": "constant", "value": 1.0}])
        yield "constant_pad_nd", torch.constant_pad_nd, [x, widths, 1], {}
        times = [m.rng.choice([1, 2, 3]) for _ in range(rank + m.rng.randint(0, 1))]
        yield "repeat", tensor.repeat, [x, *times] if m.chance(0.5) else [x, times], {}
        yield "tile", tensor.tile, [x, times[:m.rng.randint(1, len(times))]], {}
        yield "flip", torch.flip, [x, m.rng.sample(range(rank), m.rng.randint(0, rank))], {}
        low = min(max(s[d], 1), 2)
        index = torch.zeros(m.rng.randint(0, 4), dtype=torch.int64)
        if s[d]:
            yield "index_select", torch.index_select, [x, d, index], {}
            wide = [m.rng.randint(0, v) for v in s]
            wide[d] = m.rng.randint(0, 4)
            yield "gather", torch.gather, [x, d, torch.zeros(wide, dtype=torch.int64)], {}
        if x.numel():
            yield "take", torch.take, [x, torch.zeros(low, 2, dtype=torch.int64)], {}
        mask = m.tensor(m.broadcastable(s), torch.bool)
        value = m.rng.choice([0, 1.5, True, float("-inf"), m.tensor([], m.rng.choice(ANY))])
        yield "masked_fill", torch.masked_fill, [x, mask, value], {}
        yield "masked_fill_", tensor.masked_fill_, [x, mask, value], {}
        yield "tril", torch.tril, [x, m.rng.randint(-2, 2)], {}
        yield "triu", torch.triu, [x], {}
        yield "copy_", tensor.copy_, [x, m.tensor(m.broadcastable(s), m.rng.choice(ANY))], {}
        yield "fill_", tensor.fill_, [f, m.rng.choice([1, 0.5, m.tensor([], torch.float32)])], {}
        yield "fill", torch.fill, [f, 1], {}
        yield "zero_", tensor.zero_, [x], {}
        yield "one_hot", torch._C._nn.one_hot, [m.fill(s, torch.int64) % 4, 5], {}
        yield "setitem", operator.setitem, [x, random_index(m, s), m.rng.choice([1, 0.5, m.tensor([], torch.float32)])], {}
