# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels against what the machine can do, in one run on one thread: copy bandwidth, a hand-written loop, FMA peak; compile time of a
kernel; page faults of a call. Prints ratios; nothing is asserted.

    build/bin/breakline python tests/bench/cpu/kernels.py [--large N] [--moving] [--inductor]
"""

import argparse
import ctypes
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import torch
import torch.nn.functional as F

import breakline
from breakline import _native
from models import suite

HAND_WRITTEN = r"""
// z = max(x * 2 + y, 0) * x, what a person writes with vectors of the machine.
extern "C" void hand(const float* x, const float* y, float* z, long n, long times) {
  for (long t = 0; t < times; ++t) {
    for (long i = 0; i < n; ++i) { float a = x[i] * 2 + y[i]; z[i] = (a > 0 ? a : 0) * x[i]; }
    asm volatile("" ::: "memory");
  }
}
// Independent chains of fused multiply-adds in registers; returns operations.
typedef float V __attribute__((vector_size(32)));
extern "C" double peak(long times) {
  V b = {0.999f, 0.999f, 0.999f, 0.999f, 0.999f, 0.999f, 0.999f, 0.999f}, c = b * 0.001f;
  V a0 = b * 1.0f, a1 = b * 2.0f, a2 = b * 3.0f, a3 = b * 4.0f, a4 = b * 5.0f, a5 = b * 6.0f, a6 = b * 7.0f, a7 = b * 8.0f, a8 = b * 9.0f, a9 = b * 10.0f;
  for (long t = 0; t < times; ++t) {
    a0 = a0 * b + c;
    a1 = a1 * b + c;
    a2 = a2 * b + c;
    a3 = a3 * b + c;
    a4 = a4 * b + c;
    a5 = a5 * b + c;
    a6 = a6 * b + c;
    a7 = a7 * b + c;
    a8 = a8 * b + c;
    a9 = a9 * b + c;
    asm volatile("" : "+x"(a0), "+x"(a1), "+x"(a2), "+x"(a3), "+x"(a4), "+x"(a5), "+x"(a6), "+x"(a7), "+x"(a8), "+x"(a9));
  }
  V sum = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9;
  return sum[0] == 12345.0f ? 0 : 10.0 * 8 * 2 * times;
}
"""


def best(function, seconds=0.4, most=400):
    """(least, median) in microseconds."""
    samples, end = [], time.perf_counter() + seconds
    function()
    while time.perf_counter() < end and len(samples) < most or len(samples) < 5:
        start = time.perf_counter_ns()
        function()
        samples.append((time.perf_counter_ns() - start) / 1e3)
    return min(samples), statistics.median(samples)


def compiled(function, *inputs):
    result = breakline.compile(function, device="cpu")
    result(*inputs)
    _native.ready().settle_kernels()
    return result


def hand_written(folder):
    source, library = os.path.join(folder, "hand.cpp"), os.path.join(folder, "hand.so")
    with open(source, "w") as file:
        file.write(HAND_WRITTEN)
    subprocess.run(["g++", "-O3", "-march=native", "-ffp-contract=fast", "-shared", "-fPIC", source, "-o", library], check=True)
    loaded = ctypes.CDLL(library)
    loaded.peak.restype = ctypes.c_double
    return loaded


def memory_bound(large):
    x = torch.randn(large)
    into = torch.empty_like(x)
    into.copy_(x)
    copy, _ = best(lambda: into.copy_(x))
    fresh, _ = best(lambda: x.clone())
    bandwidth = 8 * large / copy / 1e3
    print(f"copy of {large} floats: {bandwidth:.1f} GB/s into memory that is there, {8 * large / fresh / 1e3:.1f} into fresh (clone)")
    rows = x[: large // 1024 * 1024].view(-1, 1024)
    few = rows[:512].contiguous()
    near = torch.empty_like(few)
    near.copy_(few)
    near_copy, _ = best(lambda: near.copy_(few))
    cases = [
        ("pointwise, memory", lambda t: torch.relu(t * 2 + 1) * t, x, bandwidth),
        ("softmax, memory", lambda t: torch.softmax(t, -1), rows, bandwidth),
        ("layer norm, memory", lambda t: F.layer_norm(t, (1024,)), rows, bandwidth),
        ("softmax, cache (512 x 1024)", lambda t: torch.softmax(t, -1), few, 8 * few.numel() / near_copy / 1e3),
        ("layer norm, cache (512 x 1024)", lambda t: F.layer_norm(t, (1024,)), few, 8 * few.numel() / near_copy / 1e3),
    ]
    for name, function, t, ceiling in cases:
        eager, _ = best(lambda: function(t))
        ours = compiled(function, t)
        least, _ = best(lambda: ours(t))
        rate = 8 * t.numel() / least / 1e3
        print(f"{name:32} {least:10.1f} us  {rate:6.1f} GB/s = {100 * rate / ceiling:5.1f} % of the copy  {eager / least:6.2f}x eager")


def in_cache(library):
    n = 16384
    x, y, z = torch.randn(n), torch.randn(n), torch.empty(n)
    pointers = [ctypes.c_void_p(t.data_ptr()) for t in (x, y, z)]
    per_call = 200
    hand = min(best(lambda: library.hand(*pointers, ctypes.c_long(n), ctypes.c_long(per_call)))) / per_call
    function = lambda x, y: torch.relu(x * 2 + y) * x
    ours = compiled(function, x, y)
    tiny = compiled(function, x[:16], y[:16])
    least, _ = best(lambda: ours(x, y))
    call, _ = best(lambda: tiny(x[:16], y[:16]))
    view, _ = best(lambda: (x[:16], y[:16]))
    print(f"in cache ({n} floats): {least:.2f} us a call, of which the call itself is {call - view:.2f}; the hand-written loop {hand:.2f}: "
          f"kernel alone {(least - call + view) / hand:.2f}x")


def compute_bound(library):
    times = 2_000_000
    operations = library.peak(ctypes.c_long(times))
    peak = operations / min(best(lambda: library.peak(ctypes.c_long(times)))) / 1e3
    print(f"FMA peak of this run: {peak:.0f} GFLOP/s")
    for n in (512, 1024):
        x, w, b = torch.randn(n, n), torch.randn(n, n), torch.randn(n)
        plain, _ = best(lambda: F.linear(x, w, b))
        ours = compiled(lambda x, w, b: F.gelu(F.linear(x, w, b)), x, w, b)
        bare = compiled(lambda x, w, b: F.linear(x, w, b), x, w, b)
        with_epilogue, _ = best(lambda: ours(x, w, b))
        without, _ = best(lambda: bare(x, w, b))
        rate = 2 * n**3 / without / 1e3
        print(f"linear {n}: {rate:.0f} GFLOP/s = {100 * rate / peak:.0f} % of peak (eager {2 * n**3 / plain / 1e3:.0f}); gelu behind it costs "
              f"{100 * (with_epilogue / without - 1):.1f} %")


def moving_cases():
    """(name, function, inputs): ops that read at indices, join and pool, among others."""
    tokens, places, ids = torch.randn(50257, 256), torch.randn(1024, 256), torch.randint(0, 50257, (1, 128))
    weight, bias = torch.randn(256), torch.randn(256)
    a, b, q = torch.randn(64, 300), torch.randn(64, 212), torch.randn(1, 8, 128, 64)
    cos, sin = torch.randn(128, 64), torch.randn(128, 64)
    image, at = torch.randn(1, 64, 64, 64), torch.randint(0, 512, (512, 512))
    table = torch.randn(512, 512)

    def embed(ids, tokens, places, weight, bias):
        x = F.embedding(ids, tokens) + F.embedding(torch.arange(ids.shape[1]), places)
        return F.layer_norm(x, (256,), weight, bias)

    def rotary(q, cos, sin):
        low, high = q.chunk(2, -1)
        return q * cos + torch.cat([-high, low], -1) * sin

    def pooled(x):
        return F.max_pool2d(x, 3, 2, 1).relu()

    return [("embedding, positions, layer norm", embed, (ids, tokens, places, weight, bias)),
            ("x[index], relu", lambda x, i: x[i].relu(), (table, at[0])),
            ("gather, add, relu", lambda x, i: (x.gather(1, i) + 1).relu(), (table, at)),
            ("cat, relu", lambda a, b: torch.cat([a, b], 1).relu(), (a, b)),
            ("rotary", rotary, (q, cos, sin)),
            ("max_pool2d 3x3, relu", pooled, (image,)),
            ("the same, channels last", pooled, (image.contiguous(memory_format=torch.channels_last),)),
            ("avg_pool2d 2x2", lambda x: F.avg_pool2d(x, 2), (image,))]


def moving(inductor):
    for name, function, inputs in moving_cases():
        eager, _ = best(lambda: function(*inputs))
        ours = compiled(function, *inputs)
        least, _ = best(lambda: ours(*inputs))
        line = f"{name:34} {least:8.1f} us  {eager / least:6.2f}x eager"
        if inductor:
            other = inductor_of(function, inputs)
            theirs, _ = best(lambda: other(*inputs))
            line += f"  {theirs / least:6.2f}x Inductor"
        print(line)


def inductor_of(function, inputs):
    torch._dynamo.reset()
    result = torch.compile(function)
    result(*inputs)
    return result


def compile_times():
    x = torch.randn(64, 256)
    made = []
    for k in range(24):
        scale = 1 + k / 7
        kinds = [lambda x: torch.relu(x * scale + 1) * x, lambda x: torch.softmax(x * scale, -1), lambda x: F.layer_norm(x * scale, (256,)),
                 lambda x: F.gelu(x * scale) + x]
        function = breakline.compile(kinds[k % 4], device="cpu")
        function(x)
        made.append(function.target_report()["segments"][0]["compile_us"] / 1e3)
    names = ("pointwise", "softmax", "layer norm", "gelu")
    print("first code of a kernel, ms: " + ", ".join(f"{name} {statistics.median(made[k::4][1:]):.2f}" for k, name in enumerate(names)))


def faults():
    print("page faults of a call after warm-up (eager, cpu):", end="")
    for name in ("mlp_b64", "gpt", "bert_layer", "norm_heavy", "attention_1024", "resnet18_128"):
        torch.manual_seed(0)
        function, inputs = suite()[name]()
        ours = breakline.compile(function, device="cpu")
        counts = []
        for arm in (function, ours):
            for _ in range(4):
                arm(*inputs)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            for _ in range(10):
                arm(*inputs)
            counts.append((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / 10)
        print(f"  {name} {counts[0]:.0f}, {counts[1]:.0f}", end="")
    print()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--large", type=int, default=1 << 24)
    parser.add_argument("--inductor", action="store_true", help="torch.compile beside the ops that read at indices, join and pool")
    parser.add_argument("--moving", action="store_true", help="only the ops that read at indices, join and pool")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print(f"1 thread, PyTorch {torch.__version__}, load {os.getloadavg()[0]:.2f}")
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        if arguments.moving:
            return moving(arguments.inductor)
        library = hand_written(folder)
        moving(arguments.inductor)
        compile_times()
        memory_bound(arguments.large)
        in_cache(library)
        compute_bound(library)
        faults()


if __name__ == "__main__":
    main()
