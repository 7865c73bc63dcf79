# SPDX-License-Identifier: GPL-3.0-or-later
"""Cat, stack and their kin in kernels, with what makes their operands and what reads them: cpu plan against eager over shapes, strides,
dtypes and dims; operands read twice, kept, empty, of several dtypes; joins of joins and slices of them."""
import argparse
import random
import sys
import warnings

import torch
import torch.nn.functional as F

import breakline
from seeded import fault_of, flat

SHAPES = [(6,), (4, 6), (3, 16), (2, 3, 8), (5, 1, 33), (2, 4, 6, 8), (1, 1), (64, 40)]
FLOATS = [torch.float32] * 5 + [torch.float64, torch.bfloat16, torch.float16]
OTHERS = [torch.int64, torch.int32, torch.int8, torch.uint8, torch.bool]


def tensor_of(rng, shape, dtype):
    x = torch.randn(shape) * 3
    if rng.random() < 0.15 and x.numel():
        x.view(-1)[rng.randrange(x.numel())] = rng.choice([float("nan"), float("inf"), -0.0])
    x = x.to(dtype) if dtype.is_floating_point else torch.randint(0, 2 if dtype == torch.bool else 50, shape).to(dtype)
    form = rng.randrange(6)
    if form == 1 and len(shape) > 1:
        return x.transpose(0, -1).contiguous().transpose(0, -1)
    if form == 2:
        return torch.cat([x, x], -1)[..., ::2]
    if form == 3:
        return torch.cat([x, x, x], 0)[1:][: shape[0]]
    if form == 4:
        return x[:1].expand(shape)
    if form == 5 and len(shape) == 4:
        return x.contiguous(memory_format=torch.channels_last)
    return x


def before(rng):
    return rng.choice([lambda x: x, lambda x: x + 1, lambda x: x * 2 + x, lambda x: x.relu() if x.dtype != torch.bool else x | True, lambda x: x + x])


def forms(rng, shape, dim):
    """(name, function of a list of tensors) of one random form."""
    f, g, h = before(rng), before(rng), before(rng)
    other = rng.randrange(len(shape))
    name = rng.choice(["plain", "behind", "before", "twice", "kept", "stack", "pairs", "rotary", "rows", "softmax", "two", "nested", "slice", "copies",
                       "hstack", "wide", "gathered", "chain"])
    table = torch.randn(9, shape[-1])
    index = torch.randint(0, 9, shape[:-1])
    rows = {
        "plain": lambda t: torch.cat([f(t[0]), g(t[1])], dim),
        "behind": lambda t: torch.cat(t, dim) + 1,
        "before": lambda t: torch.cat([f(t[0]), g(t[1]), h(t[2])], dim=dim) * 2,
        "twice": lambda t: torch.cat([f(t[0]), f(t[0])], dim) + torch.cat([t[0], t[0]], dim),
        "kept": lambda t: (lambda a: (torch.cat([a, g(t[1])], dim) + 1, a, a + 2))(f(t[0]) + 1),
        "stack": lambda t: torch.stack([f(t[0]), g(t[0]), h(t[0])], dim) * 3,
        "pairs": lambda t: torch.stack([t[0] * 2 - f(t[0]), f(t[0]) + 1], -1).flatten(-2) + 1,
        "rotary": lambda t: (lambda a, b: t[0] * 0.5 + torch.cat([b * -1, a], -1) * 2)(*t[0].split([t[0].shape[-1] // 2, t[0].shape[-1] - t[0].shape[-1] // 2], -1)),
        "rows": lambda t: torch.cat([f(t[0]).float(), g(t[1]).float()], dim).mean(other, keepdim=True) * 2,
        "softmax": lambda t: torch.softmax(torch.cat([f(t[0]).float(), t[1].float() * 2], dim) + 1, other) * 2,
        "two": lambda t: torch.cat([f(t[0]), g(t[1])], dim) + torch.cat([h(t[1]), t[0]], dim),
        "nested": lambda t: torch.cat([torch.cat([f(t[0]), t[1]], dim), h(t[2])], dim) + 1,
        "slice": lambda t: torch.cat([f(t[0]), g(t[1])], dim).narrow(dim, 1, t[0].shape[dim]) + 1,
        "copies": lambda t: (lambda c: (c + 1, c.sum(other), c))(torch.cat([f(t[0]).float(), t[1].float()], dim)),
        "hstack": lambda t: torch.hstack([f(t[0]), t[0] + 1]) * 2,
        "wide": lambda t: torch.cat([f(x) for x in t for _ in range(3)][:9], dim) + 1,
        "gathered": lambda t: torch.cat([F.embedding(index, table) + t[0].float(), f(t[1]).float()], dim) * 2,
        "chain": lambda t: torch.cat([torch.cat([f(t[0]), t[1]], dim).relu() + 1, torch.cat([t[1], t[0]], dim) * 2], dim) + 1,
    }
    return name, rows[name]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--programs", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    failures, kernels, ran = [], 0, 0
    for seed in range(arguments.seed, arguments.seed + arguments.programs):
        rng = random.Random(seed)
        torch.manual_seed(seed)
        shape = rng.choice(SHAPES)
        dim = rng.randrange(len(shape))
        dtype = rng.choice(OTHERS) if rng.random() < 0.2 else rng.choice(FLOATS)
        name, function = forms(rng, shape, dim)
        shapes = [shape] + [tuple(rng.randint(0 if rng.random() < 0.1 else 1, 2 * n) if d == dim else n for d, n in enumerate(shape)) for _ in range(2)]
        mixed = rng.random() < 0.2
        tensors = [tensor_of(rng, s, rng.choice(FLOATS + OTHERS) if mixed else dtype) for s in shapes]
        with torch.no_grad():
            try:
                eager = flat(function(tensors))
                exact = flat(function([t.double() if t.is_floating_point() else t for t in tensors]))
            except RuntimeError:
                continue
            compiled = breakline.compile(function, device="cpu")
            got = flat(compiled(tensors))
            got += flat(compiled(tensors))
        ran += 1
        kernels += any(k["device"] == "cpu" for s in compiled.target_report()["segments"] for k in s["kernel_list"])
        for g, e, w in zip(got, eager * 2, exact * 2):
            fault = fault_of(g, e, w, e.dtype)
            if fault:
                failures.append(f"seed {seed} {name} dim {dim} {[(tuple(t.shape), t.stride(), t.dtype) for t in tensors]}: {fault}")
                break
    for failure in failures:
        print(failure)
    print(f"{ran} programs, {kernels} with kernels, {len(failures)} wrong")
    return 1 if failures or kernels < 0.8 * ran else 0


if __name__ == "__main__":
    sys.exit(main())
