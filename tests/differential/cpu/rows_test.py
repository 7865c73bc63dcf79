# SPDX-License-Identifier: GPL-3.0-or-later
"""Reductions, softmax and normalisations in kernels, alone and among pointwise ops: cpu plan against eager and float64 over shapes,
strides, dims and dtypes, NaN and infinities included; the kernels must be there."""
import random
import sys

import torch
import torch.nn.functional as F

import breakline

from seeded import run


SHAPES = [(7,), (4, 7), (3, 33), (2, 5, 64), (64, 48), (3, 4, 1000), (2, 6, 5, 7), (1, 1, 9), (130, 513), (2, 20000), (3, 1, 31), (5, 16, 3)]
DTYPES = [torch.float32] * 4 + [torch.float64, torch.bfloat16, torch.float16]


def forms(rng, rank):
    """(name, function of x) of one random form."""
    dim = rng.randrange(rank)
    dims = tuple(sorted(rng.sample(range(rank), rng.randint(1, rank))))
    keep = rng.random() < 0.6
    last = rng.randint(1, rank)
    scale = rng.choice([0.5, 1.5, -2.0])
    rows = {
        "softmax": lambda x: torch.softmax(x * scale, dim),
        "masked": lambda x: torch.softmax((x * 60).masked_fill(x < scale, -float("inf")), dim),
        "wide": lambda x: F.log_softmax(x * 90, dim) * scale,
        "log_softmax": lambda x: F.log_softmax(x, dim) + 1,
        "layer_norm": lambda x: F.layer_norm(x + x.relu(), x.shape[-last:]),
        "affine": lambda x: F.layer_norm(x, x.shape[-1:], x.flatten()[: x.shape[-1]] * 0.5, x.flatten()[-x.shape[-1]:] + 1),
        "rms": lambda x: x * torch.rsqrt(x.pow(2).mean(dim, keepdim=True) + 1e-6),
        "rms_norm": lambda x: F.rms_norm(x, x.shape[-1:]) * scale,
        "group_norm": lambda x: F.group_norm(x, rng_groups(x)).relu() if x.dim() > 1 else x + x.sum(),
        "centre": lambda x: (x - x.mean(dims, keepdim=True)) * scale,
        "sum": lambda x: (x * scale + 1).sum(dims, keepdim=keep),
        "mean": lambda x: (x * x).mean(dims, keepdim=keep),
        "both": lambda x: x.amax(dim, keepdim=True) * scale - (x * 2).amin(dim, keepdim=True),
        "amax": lambda x: x.abs().amax(dims, keepdim=keep),
        "max": lambda x: (x * scale).max() + x,
        "var": lambda x: (x + 1).var(dims, keepdim=True, correction=0) + x,
        "std": lambda x: (x - 3).std(dim, unbiased=False).relu(),
        "logsumexp": lambda x: torch.logsumexp(x * scale, dim, keepdim=keep),
        "norm": lambda x: x / x.norm(dim=dim, keepdim=True).clamp_min(1e-6),
        "any": lambda x: (x > 1).any(dim) | (x < -2).any(dim),
        "all": lambda x: (x.abs() >= 0).all(dim, keepdim=keep).logical_not(),
        "prod": lambda x: (x * 0.1 + 1).clamp(0.9, 1.1).prod(dim) * 2,
        "two": lambda x: torch.softmax(F.layer_norm(x, x.shape[-1:]) * scale, -1) @ x.transpose(-1, -2) if x.dim() > 1 else torch.softmax(x, 0) + 1,
        "chain": lambda x: torch.softmax(torch.softmax(x, dim) * 4 - x, dim) * x,
        "whole": lambda x: (x * x).sum().sqrt() + x.sum() * 0.01,
        "uses": lambda x: (x.sum(dim, keepdim=True), torch.exp(x - x.amax(dim, keepdim=True)), x * 2),
    }
    name = rng.choice(sorted(rows))
    return f"{name} dim {dim} dims {dims} last {last}", rows[name]


def rng_groups(x):
    return max(g for g in range(1, x.shape[1] + 1) if x.shape[1] % g == 0 and g <= 4)


def strided(x, rng):
    form = rng.randrange(5)
    if form == 1 and x.dim() > 1:
        return x.transpose(-1, -2).contiguous().transpose(-1, -2)
    if form == 2:
        return torch.cat([x, x], -1)[..., ::2]
    if form == 3 and x.dim() == 4:
        return x.contiguous(memory_format=torch.channels_last)
    if form == 4:
        return x[:1].expand(x.shape)
    return x


def make(rng):
    dtype = rng.choice(DTYPES)
    x = strided(torch.randn(rng.choice(SHAPES)).to(dtype), rng)
    if rng.random() < 0.1 and x.is_contiguous():
        x.view(-1)[rng.randrange(x.numel())] = rng.choice([float("nan"), float("inf"), -float("inf")])
    return *forms(rng, x.dim()), (x,)


def tails():
    """Worst relative error of softmax far below the largest element of a row, in units of float32's last place; results under the normal range may be 0."""
    low = torch.linspace(-87.3, 0, 200_001)
    rows = torch.stack([low, torch.zeros_like(low)], 1)
    wanted = torch.softmax(rows.double(), 1)
    got = breakline.compile(lambda x: torch.softmax(x, 1), device="cpu")(rows)
    worst = ((got.double() - wanted) / wanted).abs().max().item() / 2**-23
    deep = breakline.compile(lambda x: torch.softmax(x, 1), device="cpu")(torch.tensor([[0.0, -88.5, -104.0, -1e30, -float("inf")]]))
    print(f"softmax down to e^-87.3: {worst:.2f} last places; far below: {deep[0, 1:].tolist()}")
    return worst < 4 and bool((deep[0, 1:] < 2**-126).all())


if __name__ == "__main__":
    sys.exit(run(make, 0.8) or not tails())
