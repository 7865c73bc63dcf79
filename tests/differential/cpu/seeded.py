# SPDX-License-Identifier: GPL-3.0-or-later
"""Seeded small programs: cpu plan against eager, float64 as the judge. Shared by the tests of this folder."""
import argparse
import random
import warnings

import torch

import breakline

ULPS = {torch.float32: 2.0**-23, torch.float64: 2.0**-52, torch.bfloat16: 2.0**-7, torch.float16: 2.0**-10}


def flat(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def fault_of(got, eager, exact, dtype):
    if got.dtype != eager.dtype or got.shape != eager.shape or got.stride() != eager.stride():
        return f"metadata {got.dtype} {tuple(got.shape)} {got.stride()} for {eager.dtype} {tuple(eager.shape)} {eager.stride()}"
    if not eager.is_floating_point():
        return "" if torch.equal(got, eager) else "differs"
    if not torch.equal(got.isnan(), eager.isnan()):
        return "NaN at other places"
    a, b, w = (t.double().nan_to_num(0, 1e300, -1e300) for t in (got, eager, exact.double()))
    if not torch.equal(got.isinf(), eager.isinf()):
        return "infinity at other places"
    finite = ~(eager.isinf() | exact.isinf())
    if not bool(finite.any()):
        return ""
    ours, theirs = (a - w)[finite].abs().max().item(), (b - w)[finite].abs().max().item()
    ulps = 16 if dtype == torch.float64 else 4  # of float64 eager itself is the reference
    bound = max(2 * theirs, ulps * ULPS[dtype] * w[finite].abs().max().item())
    return "" if ours <= bound else f"error {ours:.3g}, eager's {theirs:.3g}"


def run(make, share, more=lambda: []):
    """Exit status. `make(rng)` gives (name, function, tensors) of a program; at least `share` of all must have kernels; `more()` gives further
    faults."""
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
        name, function, tensors = make(rng)
        with torch.no_grad():
            try:
                eager = flat(function(*tensors))
                exact = flat(function(*[t.double() if t.is_floating_point() else t for t in tensors]))
            except RuntimeError:
                continue
            compiled = breakline.compile(function, device="cpu")
            got, again = flat(compiled(*tensors)), flat(compiled(*tensors))
        ran += 1
        kernels += any(k["device"] == "cpu" for s in compiled.target_report()["segments"] for k in s["kernel_list"])
        for g, e, w, second in zip(got, eager, exact, again):
            fault = fault_of(g, e, w, e.dtype)
            if not fault and not torch.equal(g.nan_to_num(), second.nan_to_num()):
                fault = "two calls differ"
            if fault:
                failures.append(f"seed {seed} {name} {[(tuple(t.shape), t.stride(), t.dtype) for t in tensors]}: {fault}")
                break
    failures += more()
    for failure in failures:
        print(failure)
    print(f"{ran} programs, {kernels} with kernels, {len(failures)} wrong")
    return 1 if failures or kernels < share * ran else 0
