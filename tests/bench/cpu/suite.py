# SPDX-License-Identifier: GPL-3.0-or-later
"""Eager, torch.compile (Inductor) and the cpu plan over the suite of models, in one run: medians of interleaved blocks, geometric means.
Compile time is that of the first call, the run of the call included; Inductor's caches are empty.

    build/bin/breakline python tests/bench/cpu/suite.py [--only NAME,NAME] [--no-inductor] [--blocks N] [--json FILE]
"""

import argparse
import atexit
import json
import math
import os
import random
import shutil
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import torch

import breakline
from breakline import _native
from models import suite


WARM_UP = 14  # a plan compares its forms in its first ten calls


def time_block(function, inputs, calls):
    start = time.perf_counter_ns()
    for _ in range(calls):
        function(*inputs)
    return (time.perf_counter_ns() - start) / calls / 1e3


def first_call(function, inputs):
    start = time.perf_counter()
    result = function(*inputs)
    return result, time.perf_counter() - start


def error(result, exact):
    scale = exact.abs().max().item() or 1.0
    return (result.double() - exact).abs().max().item() / scale


def as_double(value):
    if isinstance(value, torch.Tensor):
        return value.double() if value.is_floating_point() else value
    return [as_double(v) for v in value] if isinstance(value, (list, tuple)) else value


def measure(name, make, arguments, rng):
    torch.manual_seed(0)
    function, inputs = make()
    arms = {"eager": function}
    compile_s = {}
    expected = function(*inputs)
    arms["cpu"] = breakline.compile(function, device="cpu")
    result, compile_s["cpu"] = first_call(arms["cpu"], inputs)
    if not arguments.no_inductor:
        arms["inductor"] = torch.compile(function)
        _, compile_s["inductor"] = first_call(arms["inductor"], inputs)
    exact = None
    if isinstance(function, torch.nn.Module):
        import copy

        try:
            exact = copy.deepcopy(function).double()(*as_double(inputs))
        except RuntimeError:
            pass  # the model makes float32 tensors of its own
    else:
        exact = function(*as_double(inputs))
    for arm in arms.values():
        for _ in range(WARM_UP):
            arm(*inputs)
    _native.ready().settle_kernels()
    one = min(time_block(arms["eager"], inputs, 1) for _ in range(3))
    calls = max(1, int(arguments.block_ms * 1e3 / one))
    samples = {arm: [] for arm in arms}
    for _ in range(arguments.blocks):
        order = list(arms)
        rng.shuffle(order)
        for arm in order:
            samples[arm].append(time_block(arms[arm], inputs, calls))
    row = {arm: statistics.median(values) for arm, values in samples.items()}
    row["name"] = name
    row["compile_s"] = compile_s
    row["errors"] = [error(expected, exact), error(result, exact)] if exact is not None else None
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--no-inductor", action="store_true")
    parser.add_argument("--blocks", type=int, default=15)
    parser.add_argument("--block-ms", type=float, default=20)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", default="")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    if not arguments.no_inductor and "TORCHINDUCTOR_CACHE_DIR" not in os.environ:
        # Compile times of either side are those of a first use: nothing from former runs.
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp(prefix="suite-inductor-")
        atexit.register(shutil.rmtree, os.environ["TORCHINDUCTOR_CACHE_DIR"], ignore_errors=True)
    rng = random.Random(0)
    wanted = [n for n in arguments.only.split(",") if n]
    rows = []
    print(f"{torch.get_num_threads()} thread(s), PyTorch {torch.__version__}, load {os.getloadavg()[0]:.2f}")
    print(f"{'model':18}{'eager us':>11}{'inductor':>11}{'cpu':>11}{'cpu/eager':>11}{'cpu/ind':>9}   compile s ind, cpu    error eager, cpu")
    with torch.no_grad():
        for name, make in suite().items():
            if wanted and name not in wanted:
                continue
            row = measure(name, make, arguments, rng)
            rows.append(row)
            inductor = row.get("inductor")
            errors = "  ".join(f"{e:.1e}" for e in row["errors"]) if row["errors"] else "-"
            print(f"{name:18}{row['eager']:11.1f}{inductor or float('nan'):11.1f}{row['cpu']:11.1f}{row['eager'] / row['cpu']:10.2f}x"
                  f"{(inductor or float('nan')) / row['cpu']:8.2f}x   {row['compile_s'].get('inductor', float('nan')):7.2f} {row['compile_s']['cpu']:7.3f}"
                  f"      {errors}", flush=True)
    def mean(values):
        values = list(values)
        return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")
    print(f"geomean: {mean(r['eager'] / r['cpu'] for r in rows):.2f}x eager", end="")
    if not arguments.no_inductor:
        print(f", {mean(r['inductor'] / r['cpu'] for r in rows):.2f}x Inductor (which is {mean(r['eager'] / r['inductor'] for r in rows):.2f}x eager); "
              f"compile {mean(r['compile_s']['inductor'] / r['compile_s']['cpu'] for r in rows):.0f}x faster, "
              f"least {min(r['compile_s']['inductor'] / r['compile_s']['cpu'] for r in rows):.0f}x", end="")
    print()
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
