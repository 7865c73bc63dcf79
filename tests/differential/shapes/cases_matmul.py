# SPDX-License-Identifier: GPL-3.0-or-later
"""Random calls of matrix products."""
import operator

import torch
from harness import REAL


def cases(m):
    def size():
        return 0 if m.chance(0.03) else m.rng.choice([1, 2, 3, 4])

    for _ in range(25):
        dtype = m.rng.choice([torch.float32, torch.float32, torch.float64, torch.int64, torch.bfloat16])
        a, b, c, n = size(), size(), size(), size()

        def t(*sizes):
            return m.tensor(sizes, dtype)

        yield "mm", torch.mm, [t(a, b), t(b, c)], {}
        yield "bmm", torch.bmm, [t(n, a, b), t(n, b, c)], {}
        yield "mv", torch.mv, [t(a, b), t(b)], {}
        yield "dot", torch.dot, [t(a), t(a)], {}
        yield "addmm", torch.addmm, [m.rng.choice([t(c), t(a, c), t(1, c), t(a, 1)]), t(a, b), t(b, c)], {}
        yield "addmm_", torch.Tensor.addmm_, [t(a, c), t(a, b), t(b, c)], {"alpha": 2}
        yield "baddbmm", torch.baddbmm, [m.rng.choice([t(c), t(n, a, c), t(a, 1)]), t(n, a, b), t(n, b, c)], {}
        lead = [size() for _ in range(m.rng.randint(0, 3))]
        tail = m.broadcastable(lead)
        left = m.rng.choice([t(b), t(a, b), t(*lead, a, b)])
        right = m.rng.choice([t(b), t(b, c), t(*tail, b, c)])
        yield "matmul", m.rng.choice([torch.matmul, operator.matmul]), [left, right], {}
        real = m.rng.choice(REAL)
        x, w, bias = m.tensor([*lead, b], real), m.tensor([c, b], real), m.tensor([c], real)
        yield "linear", torch._C._nn.linear, [x, w, m.rng.choice([bias, None])], {}
        yield "linear", torch._C._nn.linear, [x, w], {}
