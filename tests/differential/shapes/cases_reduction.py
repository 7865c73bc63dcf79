# SPDX-License-Identifier: GPL-3.0-or-later
"""Random calls of reductions and scans."""
import torch
from harness import ANY, REAL


def cases(m):
    tensor = torch.Tensor
    for _ in range(10):
        s = m.sizes()
        x = m.tensor(s, m.rng.choice(ANY if m.chance(0.5) else REAL))
        f = m.tensor(s, m.rng.choice(REAL))
        rank = len(s)
        d = m.rng.randrange(-max(rank, 1), max(rank, 1))
        some = m.rng.choice([d, None, tuple(m.rng.sample(range(rank), m.rng.randint(0, rank)))])
        keep = m.chance(0.4)
        keywords = m.rng.choice([{}, {}, {"dtype": m.rng.choice(REAL)}])
        for name in ("sum", "mean", "nansum"):
            y = f if name == "mean" else x
            yield name, getattr(torch, name), [y], keywords
            yield name, getattr(tensor, name), [y, some], {"keepdim": keep, **keywords}
            yield name, getattr(tensor, name), [y, some, keep], {}
        yield "prod", torch.prod, [x], keywords
        yield "prod", torch.prod, [x, d, keep], keywords
        for name in ("any", "all"):
            yield name, getattr(torch, name), m.rng.choice([[x], [x, d], [x, some, keep]]), {}
        for name in ("amax", "amin"):
            yield name, getattr(torch, name), [x, some if some is not None else ()], {"keepdim": keep}
        for name in ("argmax", "argmin"):
            yield name, getattr(torch, name), m.rng.choice([[x], [x, d], [x, d, keep]]), {}
        other = m.tensor(m.broadcastable(s), m.rng.choice(ANY))
        for name in ("max", "min"):
            yield name, getattr(torch, name), m.rng.choice([[x], [x, d], [x, d, keep], [x, other]]), {}
            yield name, getattr(tensor, name), [x], {"dim": d, "keepdim": keep}
        for name in ("var", "std"):
            yield name, getattr(torch, name), m.rng.choice([[f], [f, keep], [f, some], [f, some, keep, keep]]), {}
            yield name, getattr(torch, name), [f, some], {"correction": 0, "keepdim": keep}
        yield "logsumexp", torch.logsumexp, [x, m.rng.choice([d, (d,)]), keep], {}
        yield "norm", torch.functional.norm, [f], m.rng.choice([{}, {"p": 2, "dim": d}, {"dim": d, "keepdim": keep}])
        yield "linalg_vector_norm", torch._C._linalg.linalg_vector_norm, [f, m.rng.choice([1, 2, 3.0]), some, keep], {}
        yield "count_nonzero", torch.count_nonzero, m.rng.choice([[x], [x, d]]), {}
        yield "cumsum", torch.cumsum, [x, d], keywords
        yield "cumprod", torch.cumprod, [x, d], {}
        yield "logcumsumexp", torch.logcumsumexp, [f, d], {}
