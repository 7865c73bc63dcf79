# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of two ways to the same result is faster here, measured once per process, sizes and number of threads; whether their results agree."""
import functools
import os
import time

import torch

ROUNDS = 9
SECONDS = 0.004  # of one round's block, about
CLEARLY = 0.97


def _faster(ways):
    """Index of the fastest: blocks in turns, each way's best; the first one stays unless another is clearly faster."""
    alone = torch.get_num_threads() == 1
    clock = time.thread_time if alone else time.perf_counter  # time that others take from a lone thread does not count
    with torch.no_grad():
        for way in ways:
            way()
        start = clock()
        ways[0]()
        calls = max(1, int(SECONDS / ROUNDS / max(clock() - start, 1e-7)))
        best = [float("inf")] * len(ways)
        for _ in range(ROUNDS):
            for i, way in enumerate(ways):
                start = clock()
                for _ in range(calls):
                    way()
                best[i] = min(best[i], clock() - start)
    chosen = min(range(len(ways)), key=best.__getitem__)
    return chosen if best[chosen] < CLEARLY * best[0] else 0


@functools.cache
def _linear(rows, inside, outside, bias, threads):
    generator = torch.Generator().manual_seed(0)
    x, weight = (torch.randn(n, inside, generator=generator) for n in (rows, outside))
    vector = torch.zeros(outside) if bias else None
    packed = torch.ops.mkl._mkl_reorder_linear_weight(weight, rows)
    by_mkl = torch.ops.mkl._mkl_linear.default._op
    return _faster([lambda: torch._C._nn.linear(x, weight, vector), lambda: by_mkl(x, packed, weight, vector, rows)]) == 1


def linear(rows, inside, outside, bias):
    """Whether MKL's packed product beats PyTorch's linear. `BREAKLINE_CHOICES=1` or `0` is the answer without measuring."""
    forced = os.environ.get("BREAKLINE_CHOICES")
    return forced == "1" if forced else _linear(rows, inside, outside, bias, torch.get_num_threads())


# The defaults of torch.testing.assert_close: (relative, absolute).
_CLOSE = {
    torch.float64: (1e-7, 1e-7),
    torch.float32: (1.3e-6, 1e-5),
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
}


_MARGIN = 0.4


def agree(ours, plain):
    """Whether results of two forms of a graph are well within what torch.testing.assert_close asks by default: the plain form
    is itself a little away from eager, and other inputs are a little worse than the first."""
    for a, b in zip(ours, plain, strict=True):
        if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
            continue
        with torch.no_grad():
            relative, absolute = _CLOSE.get(b.dtype, (0.0, 0.0))
            if a.shape != b.shape or a.dtype != b.dtype or not torch.allclose(a, b, rtol=relative * _MARGIN, atol=absolute * _MARGIN, equal_nan=True):
                return False
    return True
