# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints a fused 10-op chain against eager at three sizes, and compile times. Not a test of speed: it prints what it measures."""
import os
import statistics
import sys
import time

import torch

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "differential", "cpu"))
from tape import Tape, load_extension, scalar_numbers  # noqa: E402

N = torch._C._nn


def chain(tape, scalar, x, y, heavy):
    def op(name, function, *args):
        return tape.call(function, *args, row=name.lower(), scalar=scalar[name])

    a = op("Mul", torch.mul, x, y)
    a = op("Add", torch.add, a, x)
    a = op("GeluErf", N.gelu, a) if heavy else op("Relu", torch.relu, a)
    a = op("Sub", torch.sub, a, y)
    a = op("Tanh", torch.tanh, a) if heavy else op("Abs", torch.abs, a)
    a = op("Mul", torch.mul, a, 0.5)
    a = op("Sigmoid", torch.sigmoid, a) if heavy else op("Max", torch.maximum, a, y)
    a = op("Add", torch.add, a, 1)
    a = op("Exp", torch.exp, a) if heavy else op("Square", torch.square, a)
    return op("Div", torch.div, a, 3)


def rounds(arms, count):
    """Interleaved: each round runs every arm once."""
    times = [[] for _ in arms]
    for _ in range(count):
        for arm, samples in zip(arms, times):
            start = time.perf_counter()
            arm()
            samples.append(time.perf_counter() - start)
    return [statistics.median(samples) for samples in times]


def main(folder, most):
    extension, scalar = load_extension(folder), scalar_numbers()
    start = time.perf_counter()
    host = extension.host()
    print(f"{host['cpu']}, {8 * host['vector_bytes']}-bit vectors; LLVM loaded in {1e3 * (time.perf_counter() - start):.0f} ms; "
          f"{torch.get_num_threads()} threads")
    print(f"{'chain':>8} {'elements':>9} {'eager us':>10} {'fused us':>10} {'ratio':>6} {'GB/s':>6} {'compile ms':>10}")
    for heavy in (False, True):
        for size in (4096, 262144, 16777216):
            if size > most:
                continue
            x, y = torch.randn(size), torch.randn(size)
            tape = Tape([x, y])
            result = chain(tape, scalar, x, y, heavy)
            plan = tape.plan(extension, [result])
            info = extension.info(plan)
            calls = tape.calls

            def eager():
                known = {}
                for function, args, kwargs, value, *_ in calls:
                    known[id(value)] = function(*[known.get(id(a), a) for a in args], **kwargs)
                return known[id(result)]

            del tape.results[:]
            inputs = [x, y]
            count = 200 if size < 100000 else 30 if size < 10**6 else 5
            rounds([eager, lambda: extension.run(plan, inputs)], 3)
            slow, fast = rounds([eager, lambda: extension.run(plan, inputs)], count)
            print(f"{'heavy' if heavy else 'light':>8} {size:>9} {1e6 * slow:>10.1f} {1e6 * fast:>10.1f} {slow / fast:>6.2f} "
                  f"{12e-9 * size / fast:>6.1f} {info['compile_us'] / 1e3:>10.1f}")


if __name__ == "__main__":
    torch.set_num_threads(int(os.environ.get("BREAKLINE_BENCH_THREADS", "1")))
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10**9)
