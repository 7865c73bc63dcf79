# SPDX-License-Identifier: GPL-3.0-or-later
"""What a timing ran on and beside: BLAS, allocator, load."""

import os

import torch


def blas():
    text = torch.__config__.show()
    for name, mark in (("MKL", "BLAS_INFO=mkl"), ("OpenBLAS", "BLAS_INFO=open"), ("BLIS", "BLAS_INFO=flame"), ("Accelerate", "BLAS_INFO=accelerate")):
        if mark in text:
            return name
    return "generic"


def allocator():
    preload = os.environ.get("LD_PRELOAD", "")
    for name in ("jemalloc", "tcmalloc", "mimalloc"):
        if name in preload:
            return name
    tuned = [name for name in ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_ARENA_MAX") if name in os.environ]
    return "malloc" + (f" ({', '.join(tuned)} set)" if tuned else "")


def load(outcome):
    """The `load` of a Timings, from what measure_rounds gave."""
    return {
        "average": os.getloadavg()[0],
        "cpus": len(os.sched_getaffinity(0)),
        "others": outcome.get("others", 0.0),
        "blocks": outcome.get("blocks", 0),
        "loaded_blocks": outcome.get("loaded_blocks", 0),
        "dropped_blocks": outcome.get("dropped_blocks", 0),
        "kept_loaded": outcome.get("kept_loaded", False),
    }


def load_note(load):
    text = f"load {load['average']:.1f} on {load['cpus']} CPUs"
    if not load["loaded_blocks"]:
        return text
    return text + f", others used {load['others']:.2f} CPUs: {load['loaded_blocks']} of {load['blocks']} blocks disturbed, {load['dropped_blocks']} left out"
