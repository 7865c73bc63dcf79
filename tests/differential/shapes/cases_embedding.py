# SPDX-License-Identifier: GPL-3.0-or-later
"""Random calls of embedding and attention."""
import torch
from harness import REAL


def cases(m):
    attention = torch._C._nn.scaled_dot_product_attention
    for _ in range(20):
        weight = m.tensor([5, m.rng.choice([1, 3])], m.rng.choice(REAL))
        index = torch.zeros(m.sizes(), dtype=m.rng.choice([torch.int64, torch.int32]))
        yield "embedding", torch.embedding, [weight, index, -1, False, False], {}
        dtype = m.rng.choice([torch.float32, torch.float32, torch.float64, torch.bfloat16])
        n, h, length, other, d = (m.rng.choice([1, 2, 3]) for _ in range(5))

        def heads(size):
            if m.chance(0.6):  # as a module makes them
                return m.tensor([n, size, h, d], dtype, "contiguous").transpose(1, 2)
            return m.tensor([n, h, size, d], dtype)

        q, k, v = heads(length), heads(other), heads(other)
        mask = m.rng.choice([None, None, m.tensor([length, other], m.rng.choice([torch.bool, dtype]))])
        causal = mask is None and m.chance(0.4)
        yield "scaled_dot_product_attention", attention, [q, k, v, mask, 0.0, causal], m.rng.choice([{}, {"scale": 0.5}])
        yield "scaled_dot_product_attention", attention, [q, k, v], {}
