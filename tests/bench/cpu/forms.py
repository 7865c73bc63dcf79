# SPDX-License-Identifier: GPL-3.0-or-later
"""Eager against the forms of the cpu plan (plain, with library calls, and the one that is chosen by measurement): one thread, its own
CPU time, arms in turns, fastest of many. For a machine that others use too: `breakline python forms.py [--seconds N] [MODEL…]`."""
import argparse
import time

import torch

import breakline
from breakline import _breakline
from models import suite

FORMS = {"plain": "never", "library": "always", "chosen": "measured"}


def measure(name, make, seconds):
    torch.manual_seed(0)
    function, inputs = make()
    arms = {"eager": function}
    for form, use in FORMS.items():
        _breakline.pass_options(library=use)
        arms[form] = breakline.compile(lambda *args: function(*args), device="cpu")
        for _ in range(14):
            arms[form](*inputs)
    _breakline.settle_kernels()
    best, stop = dict.fromkeys(arms, float("inf")), time.monotonic() + seconds
    while time.monotonic() < stop:
        for arm, call in arms.items():
            start = time.thread_time()
            call(*inputs)
            best[arm] = min(best[arm], time.thread_time() - start)
    print(f"{name:18}{best['eager'] * 1e6:11.1f} us eager", *(f"{form} {best['eager'] / best[form]:5.2f}x" for form in FORMS), sep="   ", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*")
    parser.add_argument("--seconds", type=float, default=6)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with torch.no_grad():
        for name, make in suite().items():
            if not options.models or name in options.models:
                measure(name, make, options.seconds)


if __name__ == "__main__":
    main()
