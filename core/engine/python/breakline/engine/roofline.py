# SPDX-License-Identifier: GPL-3.0-or-later
"""The floor under a call: the arithmetic and the traffic that its graphs can't do without, over what this machine does of
either, measured in the same run."""

import time

import torch

_REPEATS = 9
_LEAST_BYTES, _MOST_BYTES = 1 << 18, 1 << 27
_MOST_S = 0.5  # spent on one peak


def work_of_call(extension, arm):
    """(flops, matrix flops, bytes, operators, uncounted operators, dtype of the products) of one call of a compiled arm."""
    before = {s["id"]: s["runs"] for s in extension.segment_work(arm.function)}
    arm.timer.recording.restore()
    arm.call()
    total = {"flops": 0.0, "matrix_flops": 0.0, "bytes": 0.0, "ops": 0, "uncounted": 0}
    dtype = "float32"
    for segment in extension.segment_work(arm.function):
        runs = segment["runs"] - before.get(segment["id"], 0)
        for name in total:
            total[name] += segment[name] * runs
        if runs and segment["matrix_flops"]:
            dtype = segment["dtype"]
    return total | {"dtype": dtype}


def _best(run, least=3):
    """The shortest time of a call in seconds."""
    best, started = float("inf"), time.perf_counter()
    run()
    for number in range(_REPEATS):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
        if number + 1 >= least and time.perf_counter() - started > _MOST_S:
            break
    return best


def copy_bandwidth(working_set):
    """Bytes a second, read and written together, of copying with that many bytes in play."""
    size = int(min(max(working_set, _LEAST_BYTES), _MOST_BYTES)) // 2
    source = torch.ones(size, dtype=torch.uint8)
    target = torch.zeros(size, dtype=torch.uint8)
    loops = max(1, (1 << 22) // size)

    def run():
        for _ in range(loops):
            target.copy_(source)

    return 2 * size * loops / _best(run)


def product_peak(dtype_name):
    """Multiply-adds a second, times two, of the fastest square product tried."""
    dtype = getattr(torch, dtype_name)
    best = 0.0
    for size in (256, 512, 1024):
        a, b = torch.ones(size, size, dtype=dtype), torch.ones(size, size, dtype=dtype)
        out = torch.empty(size, size, dtype=dtype)
        try:
            best = max(best, 2 * size**3 / _best(lambda a=a, b=b, out=out: torch.mm(a, b, out=out)))
        except RuntimeError:  # no product of that type here
            return None
    return best


def of(extension, arm):
    """The `roofline` of a Timings, or None when no graph ran. `arm` is a compiled CPU arm."""
    work = work_of_call(extension, arm)
    if not work["ops"]:
        return None
    with torch.no_grad():
        bandwidth = copy_bandwidth(work["bytes"])
        peak = product_peak(work["dtype"])
    traffic_us = work["bytes"] / bandwidth * 1e6
    product_us = work["matrix_flops"] / peak * 1e6 if peak else 0.0
    note = "counted from the graphs of the compiled arm; a lower bound"
    if work["uncounted"]:
        note += f"; the arithmetic of {work['uncounted']} of {work['ops']} operators is not known and counts as none"
    return {
        "flops": work["flops"],
        "bytes": work["bytes"],
        "bandwidth_gb_s": bandwidth / 1e9,
        "peak_gflop_s": peak / 1e9 if peak else None,
        "floor_us": max(traffic_us, product_us),
        "bound": "memory" if traffic_us >= product_us else "arithmetic",
        "note": note,
    }
