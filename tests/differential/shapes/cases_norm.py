# SPDX-License-Identifier: GPL-3.0-or-later
"""Random calls of normalisations, softmax, dropout and losses."""
import torch
from harness import ANY, REAL


def cases(m):
    nn = torch._C._nn
    for _ in range(14):
        s = m.sizes(low=1, high=5, zero=0.01)
        rank = len(s)
        dtype = m.rng.choice(REAL)
        x = m.tensor(s, dtype)
        d = m.rng.randrange(-rank, rank)
        for name in ("softmax", "log_softmax"):
            yield name, getattr(torch, name), [m.tensor(s, m.rng.choice(ANY)), d], m.rng.choice([{}, {"dtype": torch.float32}])
            yield name, getattr(torch, name), [x, d], {}
        shape = s[rank - m.rng.randint(1, rank):]
        w, b = m.tensor(shape, dtype), m.tensor(shape, dtype)
        yield "layer_norm", torch.layer_norm, [x, shape, *m.rng.choice([[w, b], [w, None], [None, None]]), 1e-5, False], {}
        if dtype in (torch.bfloat16, torch.float16):
            yield "layer_norm", torch.layer_norm, [x, shape, w.detach().float(), b.detach().float(), 1e-5], {}
        yield "rms_norm", torch.rms_norm, [x, shape, m.rng.choice([w, None]), 1e-5], {}
        c = m.rng.choice([1, 2, 4])
        image = m.tensor([m.rng.choice([1, 2]), c, *[m.rng.choice([1, 2, 3]) for _ in range(m.rng.randint(0, 3))]],
                         m.rng.choice([torch.float32, torch.float64, torch.bfloat16]))
        if m.chance(0.3):
            w, b, mean, var = (m.tensor([c], torch.float32, "contiguous", grad=False) for i in range(4))
        else:
            w, b, mean, var = (m.tensor([c], image.dtype, "contiguous", grad=False if i > 1 else None)
                               for i in range(4))
        yield "group_norm", torch.group_norm, [image, m.rng.choice([1, c]), *m.rng.choice([[w, b], [None, None]])], {}
        if image.dim() > 2 and image.numel() > image.shape[0] * c:
            yield "instance_norm", torch.instance_norm, [image, *m.rng.choice([[w, b], [None, None]]), None, None, True, 0.1,
                                                         1e-5, False], {}
        if image.numel() > c:
            training = m.chance(0.5)
            yield "batch_norm", torch.batch_norm, [image, *m.rng.choice([[w, b], [None, None]]), mean, var, training, 0.1,
                                                   1e-5, False], {}
            yield "batch_norm", torch.batch_norm, [image, w, b, None, None, True, 0.1, 1e-5, True], {}
        yield "dropout", torch.dropout, [x, m.rng.choice([0.0, 0.5, 0.5]), m.chance(0.6)], {}
        yield "dropout_", torch.dropout_, [m.tensor(s, dtype), 0.5, m.chance(0.6)], {}
        y = m.tensor(m.broadcastable(s), dtype)
        for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
            yield name, getattr(nn, name), [x, y, m.rng.choice([0, 1, 2])], {}
        z = m.tensor(s, dtype)
        reduction = m.rng.choice([1, 2])
        yield "binary_cross_entropy", nn.binary_cross_entropy, [x, z, m.rng.choice([None, z]), reduction], {}
        yield "bce_with_logits", torch.binary_cross_entropy_with_logits, [x, z, None, m.rng.choice([None, z]), reduction], {}
        logits = m.tensor([m.rng.randint(1, 3), 4, *[2] * m.rng.randint(0, 2)], m.rng.choice(REAL[:2]))
        target = torch.zeros([logits.shape[0], *logits.shape[2:]], dtype=torch.int64)
        weight = m.rng.choice([None, m.tensor([4], logits.dtype, "contiguous")])
        yield "cross_entropy_loss", nn.cross_entropy_loss, [logits, target, weight, reduction, -100, m.rng.choice([0.0, 0.1])], {}
        yield "nll_loss_nd", nn.nll_loss_nd, [logits, target, weight, reduction, -100], {}
