# SPDX-License-Identifier: GPL-3.0-or-later
"""Random calls of factories."""
import torch
from harness import ANY, REAL


def cases(m):
    tensor = torch.Tensor
    for _ in range(12):
        s = m.sizes()
        keywords = m.rng.choice([{}, {"dtype": m.rng.choice(ANY)}, {"device": "cpu"}, {"device": torch.device("cpu")},
                                 {"dtype": None, "requires_grad": False}])
        real = {"dtype": m.rng.choice(REAL)} if "dtype" in keywords else keywords
        for name in ("zeros", "ones", "empty"):
            yield name, getattr(torch, name), [*s] if s and m.chance(0.5) else [s], keywords
        yield "rand", torch.rand, [s], real
        yield "randn", torch.randn, [*s] if s else [()], real
        yield "full", torch.full, [tuple(s), m.rng.choice([1, 2.5, True])], keywords
        start, stop, step = m.rng.randint(-3, 3), m.rng.randint(3, 9), m.rng.choice([1, 2, 0.5, 0.3])
        yield "arange", torch.arange, m.rng.choice([[stop], [start, stop], [start, stop, step], [0.5, stop]]), {}
        yield "arange", torch.arange, [stop], {"dtype": m.rng.choice(REAL + [torch.int32])}
        yield "eye", torch.eye, m.rng.choice([[3], [2, 4]]), keywords
        yield "linspace", torch.linspace, [start, stop, m.rng.randint(0, 5)], real
        yield "randint", torch.randint, m.rng.choice([[4, s], [1, 4, tuple(s)]]), {}
        yield "randperm", torch.randperm, [4], {}
        x = m.tensor(s, m.rng.choice(ANY))
        f = m.tensor(s, m.rng.choice(REAL))
        form = {**keywords, "memory_format": m.rng.choice([torch.preserve_format, torch.contiguous_format])}
        form = m.rng.choice([keywords, form])
        for name in ("zeros_like", "ones_like", "empty_like"):
            yield name, getattr(torch, name), [x], form
        yield "full_like", torch.full_like, [x, 1], form
        yield "rand_like", torch.rand_like, [f], {}
        yield "randn_like", torch.randn_like, [f], {}
        for name in ("new_zeros", "new_ones", "new_empty"):
            yield name, getattr(tensor, name), [x, *s] if s and m.chance(0.5) else [x, s], keywords
        yield "new_full", tensor.new_full, [x, s, 2], keywords
