# SPDX-License-Identifier: GPL-3.0-or-later
"""Matrix products over memory: every form of the call on random sizes, strides, dtypes and batches, between kernels, views and copies,
against eager. `products_test.py [FOLDER] [--programs N] [--seed N]`"""
import argparse
import os
import random
import sys
import threading

os.environ["BREAKLINE_LIBRARY"] = "never"  # the form that has products

import torch
import torch.nn.functional as F

import breakline
from breakline import _native

DTYPES = [torch.float32] * 5 + [torch.float64, torch.bfloat16, torch.float16]
TOLERANCE = {torch.float32: (2e-5, 2e-4), torch.float64: (1e-9, 1e-9), torch.bfloat16: (4e-2, 4e-1), torch.float16: (4e-3, 4e-2)}


class Programs:
    def __init__(self, rng):
        self.rng = rng
        self.dtype = rng.choice(DTYPES)
        self.inputs = []

    def size(self):
        return self.rng.choice([1, 1, 2, 3, 4, 5, 8, 13, 16, 17, 32])

    def tensor(self, *sizes):
        """Of these sizes, stored in one of many ways."""
        way = self.rng.randrange(7)
        if way == 1 and len(sizes) > 1:
            t = torch.randn(*sizes[:-2], sizes[-1], sizes[-2]).transpose(-1, -2)
        elif way == 2:
            t = torch.randn(*sizes[:-1], 2 * sizes[-1] + 1)[..., 1:sizes[-1] + 1]
        elif way == 3 and len(sizes) > 2:
            t = torch.randn(*sizes[1:-1], sizes[0], sizes[-1])
            t = t.movedim(-2, 0)
        elif way == 4 and len(sizes) > 1:
            t = torch.randn(1, *sizes[1:]).expand(*sizes)
        elif way == 5:
            t = torch.randn(3 * sizes[0], *sizes[1:])[::3]
        else:
            t = torch.randn(*sizes)
        if self.rng.random() < 0.06 and t.numel():
            t = t.clone(memory_format=torch.contiguous_format)
            t.view(-1)[self.rng.randrange(t.numel())] = self.rng.choice([float("nan"), float("inf"), -float("inf")])
        strides = t.stride()
        t = torch.empty_strided(t.shape, strides, dtype=self.dtype).copy_(t) if 0 not in strides else t.to(self.dtype).contiguous()[:1].expand(*sizes)
        assert t.shape == torch.Size(sizes)
        self.inputs.append(t)
        return len(self.inputs) - 1

    def before(self):
        return self.rng.choice([lambda t: t, lambda t: t, lambda t: t * 0.5, lambda t: torch.relu(t) - 0.25, lambda t: t.clone()])

    def after(self):
        return self.rng.choice([
            lambda t: t, lambda t: torch.relu(t), lambda t: t * 2 + 1, lambda t: t.transpose(-1, -2), lambda t: t.reshape(-1), lambda t: t.sum(-1),
            lambda t: (t * 0.1).softmax(-1), lambda t: t.transpose(-1, -2).reshape(t.shape[-1], -1) * 3, lambda t: (t, t + 1), lambda t: t[..., :1] + t,
            lambda t: F.gelu(t), lambda t: t @ t.transpose(-1, -2), lambda t: (t.mT @ t).tanh(), lambda t: t.unsqueeze(0).flatten(1)
        ])

    def product(self):
        m, k, n = self.size(), self.size(), self.size()
        lead = tuple(self.rng.choice([1, 2, 3, 4]) for _ in range(self.rng.choice([0, 0, 1, 1, 2, 3])))
        kind = self.rng.randrange(10)
        if kind < 3:
            a, w = self.tensor(*lead, m, k), self.tensor(n, k)
            bias = self.tensor(n) if kind else None
            if kind == 1:
                return lambda v, f: F.linear(f(v[a]), v[w], bias=v[bias])
            return lambda v, f: F.linear(f(v[a]), v[w], None if bias is None else v[bias])
        if kind == 3:
            b, a, c = self.tensor(*self.rng.choice([(n,), (m, n), (1, n), (m, 1), (1,)])), self.tensor(m, k), self.tensor(k, n)
            alpha, beta = self.rng.choice([(1, 1), (0.5, 2), (2, 0), (-1, 1.5)])
            return lambda v, f: torch.addmm(v[b], f(v[a]), v[c], alpha=alpha, beta=beta)
        if kind == 4:
            s = self.size()
            b, a, c = self.tensor(*self.rng.choice([(s, m, n), (1, m, n), (s, 1, n)])), self.tensor(s, m, k), self.tensor(s, k, n)
            return lambda v, f: torch.baddbmm(v[b], f(v[a]), v[c])
        if kind == 5:
            a, b = self.tensor(m, k), self.tensor(k, n)
            return lambda v, f: torch.mm(f(v[a]), v[b])
        if kind == 6:
            s = self.size()
            a, b = self.tensor(s, m, k), self.tensor(s, k, n)
            return lambda v, f: torch.bmm(f(v[a]), v[b])
        # Stacks that broadcast.
        la = tuple(d if self.rng.random() < 0.8 else 1 for d in lead)
        lb = tuple(d if self.rng.random() < 0.8 else 1 for d in lead[self.rng.randrange(len(lead) + 1):])
        a, b = self.tensor(*la, m, k), self.tensor(*lb, k, n)
        if kind == 7:
            return lambda v, f: f(v[a]) @ v[b]
        if kind == 8:
            return lambda v, f: torch.matmul(v[a], f(v[b]))
        return lambda v, f: f(v[a]).matmul(v[b])


def parts(result):
    return list(result) if isinstance(result, tuple) else [result]


def one(seed):
    """(name of a fault or None, products over memory)"""
    rng = random.Random(seed)
    torch.manual_seed(seed)
    made = Programs(rng)
    product, before, after = made.product(), made.before(), made.after()

    def program(*v):
        return after(product(v, before))

    try:
        wanted = parts(program(*made.inputs))
    except RuntimeError:
        return None, 0  # not a program
    exact = [t.double() if t.is_floating_point() else t for t in parts(program(*[t.double() for t in made.inputs]))]
    kept = [t.clone() for t in made.inputs]
    compiled = breakline.compile(program, device="cpu")
    for _ in range(2):
        got = parts(compiled(*made.inputs))
        for g, w, e in zip(got, wanted, exact):
            if g.dtype != w.dtype or g.shape != w.shape or g.stride() != w.stride():
                return f"metadata {g.dtype} {tuple(g.shape)} {g.stride()}, eager {w.dtype} {tuple(w.shape)} {w.stride()}", 0
            rtol, atol = TOLERANCE[w.dtype]
            near = torch.isclose(g.double(), w.double(), rtol, atol, equal_nan=True) | ((g.double() - e).abs() <= 2 * (w.double() - e).abs())
            if not near.all():
                return f"values: {(g.double() - w.double()).abs().max().item()}", 0
    if any(not torch.equal(a, b) and not a.isnan().any() for a, b in zip(kept, made.inputs)):
        return "an input was written", 0
    text = "".join(entry["text"] for entry in _native.ready().dump(compiled, "schedule"))
    return None, text.count("multiply")


def threads():
    """One plan, several threads at a time, and a plan inside itself."""
    weight = torch.randn(96, 96)

    def f(x):
        return torch.relu(F.linear(x, weight)) @ weight

    compiled = breakline.compile(f, device="cpu")
    compiled(torch.randn(32, 96))
    wrong = []

    def work(k):
        torch.manual_seed(k)
        for _ in range(60):
            x = torch.randn(32, 96)
            if not torch.allclose(compiled(x), f(x), 1e-4, 1e-3):
                wrong.append(k)

    pool = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in pool:
        t.start()
    for t in pool:
        t.join()
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--programs", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if {d["id"]: d for d in _native.ready().devices()}["cpu"]["reason"]:
        print("skipped: built without LLVM")
        return 0
    torch.set_num_threads(1)
    wrong, products = 0, 0
    with torch.no_grad():
        for seed in range(options.seed, options.seed + options.programs):
            fault, multiplied = one(seed)
            products += multiplied > 0
            if fault:
                wrong += 1
                print(f"seed {seed}: {fault}")
        late = threads()
    if late:
        wrong += 1
        print(f"threads: {late}")
    print(f"{options.programs} programs, {products} with products over memory, {wrong} wrong")
    return 1 if wrong or products < options.programs // 2 else 0


if __name__ == "__main__":
    sys.exit(main())
