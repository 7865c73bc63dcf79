# SPDX-License-Identifier: GPL-3.0-or-later
"""Random programs of views, pointwise ops, reductions and writes in place: what kernels read through views that are not made, against
eager: values, strides, and which results share memory. Large outputs, which are written past the cache, too."""
import argparse
import random
import sys

import torch
import torch.nn.functional as F

import breakline

SHAPES = [(4, 6), (3, 4, 5), (8,), (2, 3, 4, 4), (16, 32)]
STEPS = [
    lambda a, r: a.transpose(0, -1),
    lambda a, r: a[..., ::2],
    lambda a, r: a.chunk(2, 0)[-1],
    lambda a, r: a.unsqueeze(0),
    lambda a, r: a.reshape(-1),
    lambda a, r: a * 2 + a.relu(),
    lambda a, r: F.softmax(a, -1),
    lambda a, r: a - a.mean(-1, keepdim=True),
    lambda a, r: a.flip(0),
    lambda a, r: a.expand((3, *a.shape)),
    lambda a, r: torch.tanh(a[1:]),
    lambda a, r: a.clone().add_(1) if r < 0.5 else a.narrow(0, 0, 1),
    lambda a, r: a.mul_(0.5) if r < 0.3 else a.unbind(0)[-1],
    lambda a, r: a.diagonal(0, 0, -1) if a.dim() > 1 else a + 1,
    lambda a, r: a.unfold(0, 2, 1),
    lambda a, r: a.to(torch.float64) if r < 0.5 else a.to(torch.bfloat16).float(),
]


def program(seed):
    rng = random.Random(seed)
    steps = [(rng.choice(STEPS), rng.random(), rng.random()) for _ in range(rng.randint(3, 11))]

    def run(x, y):
        values = [x, y]
        for step, which, chance in steps:
            a = values[int(which * len(values))]
            try:
                a = step(a, chance)
            except (RuntimeError, IndexError):
                continue
            if a.numel() <= 40000:
                values.append(a)
        return values[-1], values[-2] + 1, sum(v.sum() for v in values[2:]), x, y

    return run


def storages(results):
    seen = {}
    return [seen.setdefault(r.untyped_storage().data_ptr(), len(seen)) if isinstance(r, torch.Tensor) else None for r in results]


def close(p, q):
    if not isinstance(p, torch.Tensor):
        return p == q
    return p.dtype == q.dtype and p.shape == q.shape and p.stride() == q.stride() and torch.allclose(p, q, rtol=1e-4, atol=1e-4, equal_nan=True)


def large():
    """Outputs of 16 MiB and more, aligned or not."""
    wrong = 0
    for shape in ((1 << 22,), (2048, 2048), (2048, 2049), (3, 1 << 21), (1 << 22, 2)):
        x = torch.randn(shape)
        for function in (lambda x: x * 2 + 1, lambda x: F.softmax(x * 2, -1), lambda x: (x.t() * 2 + 1 if x.dim() == 2 else x.exp() - 1)):
            with torch.no_grad():
                got, eager = breakline.compile(function, device="cpu")(x), function(x)
            if not close(eager, got):
                wrong += 1
                print("large", shape)
    return wrong


def tiled():
    """Transposed operands of sizes that tiles divide, divide badly and do not divide; one thread and two."""
    functions = {
        "transposed": lambda x: x.transpose(-1, -2) * 2 + 1,
        "with its own": lambda x: torch.relu(x[..., : x.shape[-2], : x.shape[-2]] + x[..., : x.shape[-2], : x.shape[-2]].transpose(-1, -2)) * 2,
        "permuted": lambda x: x.permute(*range(x.dim() - 1, -1, -1)).reshape(-1) * 2 + x.reshape(-1),
        "into another dtype": lambda x: (x.transpose(0, -1).contiguous() + 1).double(),
        "rows behind": lambda x: (x.transpose(-1, -2) * 2).softmax(-1),
        "every second": lambda x: x[..., ::2].transpose(-1, -2) * 3 - 1,
    }
    wrong = 0
    for shape in ((64, 64), (96, 80), (127, 131), (1000, 1000), (256, 1024), (3, 128, 96), (2, 5, 64, 48), (4096, 8), (4, 4096)):
        for dtype in (torch.float32, torch.float64, torch.int32, torch.bfloat16):
            x = (torch.randn(shape) * 9).to(dtype)
            for name, function in functions.items():
                for threads in (1, 2):
                    torch.set_num_threads(threads)
                    with torch.no_grad():
                        try:
                            eager = function(x)
                        except RuntimeError:
                            continue  # relu's or softmax's dtype, or a shape that does not fit
                        got = breakline.compile(function, device="cpu")(x)
                    tolerance = 2e-2 if dtype == torch.bfloat16 else 1e-5
                    same = got.dtype == eager.dtype and got.stride() == eager.stride()
                    if not same or not torch.allclose(got.double(), eager.double(), rtol=tolerance, atol=tolerance):
                        wrong += 1
                        print("tiled", name, shape, dtype, threads)
    torch.set_num_threads(1)
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--programs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    ran = kernels = 0
    wrong = large() + tiled()
    for seed in range(arguments.seed, arguments.seed + arguments.programs):
        torch.manual_seed(seed)
        x, y = torch.randn(random.Random(seed).choice(SHAPES)), torch.randn(6, 4)
        with torch.no_grad():
            eager = program(seed)(x.clone(), y.clone())
            compiled = breakline.compile(program(seed), device="cpu")
            got = compiled(x.clone(), y.clone())
        ran += 1
        kernels += any(k["device"] == "cpu" for s in compiled.target_report()["segments"] for k in s["kernel_list"])
        if not all(map(close, eager, got)) or storages(eager) != storages(got):
            wrong += 1
            print(f"seed {seed} differs")
    print(f"{ran} programs, {kernels} with kernels, {wrong} wrong")
    return 1 if wrong or kernels < 0.6 * ran else 0


if __name__ == "__main__":
    sys.exit(main())
