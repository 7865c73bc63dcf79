# SPDX-License-Identifier: GPL-3.0-or-later
"""Pooling in kernels, alone and among pointwise ops: cpu plan against eager over windows, strides, padding, dilation, layouts, dtypes, NaN
and infinities."""
import random
import sys

import torch
import torch.nn.functional as F

from seeded import run

DTYPES = [torch.float32] * 5 + [torch.float64, torch.bfloat16, torch.float16]


def tensor_of(rng, rank, dtype):
    shape = [rng.randint(1, 3), rng.choice([1, 3, 8, 17])] + [rng.randint(4, 21) for _ in range(rank)]
    if rng.random() < 0.2:
        shape = shape[1:]
    x = torch.randn(shape) * 3
    if rng.random() < 0.3:
        for _ in range(3):
            x.view(-1)[rng.randrange(x.numel())] = rng.choice([float("nan"), float("inf"), -float("inf"), -0.0])
    x = x.to(dtype)
    form = rng.randrange(5)
    if form == 1:
        return x.transpose(0, -1).contiguous().transpose(0, -1)
    if form == 2:
        return torch.cat([x, x], -1)[..., ::2]
    if form >= 3 and x.dim() == 4:
        return x.contiguous(memory_format=torch.channels_last)
    return x


def forms(rng, rank):
    def each(low, high):
        return rng.randint(low, high) if rng.random() < 0.5 else tuple(rng.randint(low, high) for _ in range(rank))

    def half(kernel):
        return tuple(rng.randint(0, k // 2) for k in kernel) if isinstance(kernel, tuple) else rng.randint(0, kernel // 2)

    kernel, ceil = each(1, 4 if rank < 3 else 2), rng.random() < 0.3
    stride, padding = rng.choice([None, each(1, 3)]), half(kernel)
    dilation = each(1, 2) if rng.random() < 0.3 else 1
    include, divisor = rng.random() < 0.5, rng.choice([None, None, 3, -2])
    most = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[rank - 1]
    mean = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[rank - 1]
    target = rng.choice([1, 2, 3])
    extra = {} if rank == 1 else {"divisor_override": divisor}
    rows = {
        "max": lambda x: most(x, kernel, stride, padding, dilation, ceil),
        "mean": lambda x: mean(x, kernel, stride, padding, ceil, include, **extra),
        "max behind": lambda x: most(x * 2, kernel, stride, padding, ceil_mode=ceil).relu() + 1,
        "mean behind": lambda x: mean(x, kernel, stride, padding, ceil, include).sigmoid(),
        "both": lambda x: most(x, kernel, stride, padding) - mean(x, kernel, stride, padding, count_include_pad=include),
        "adaptive": lambda x: (F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d)[rank - 1](x.abs(), target) * 2,
        "whole": lambda x: (F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d)[rank - 1](x.relu() + 1, 1) * 2,
        "used": lambda x: (lambda y: (y, y * 2, y.abs().sum()))(most(x, kernel, stride, padding)),
        "joined": lambda x: torch.cat([most(x, 3, 1, 1), mean(x, 3, 1, 1)], 1) + 1,
    }
    name = rng.choice(sorted(rows))
    return f"{name} kernel {kernel} stride {stride} padding {padding} dilation {dilation} ceil {ceil} include {include} divisor {divisor}", rows[name]


def make(rng):
    rank = rng.choice([1, 2, 2, 2, 3])
    dtype = rng.choice(DTYPES)
    return *forms(rng, rank), (tensor_of(rng, rank, dtype),)


if __name__ == "__main__":
    sys.exit(run(make, 0.6))
