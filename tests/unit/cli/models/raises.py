# SPDX-License-Identifier: GPL-3.0-or-later
"""The compiled function raises an error of its own after an operation."""
import torch


@torch.compile
def f(x, mode):
    y = x + 1
    if mode == "bad":
        raise ValueError("mode is bad")
    return y


f(torch.ones(2), "good")
f(torch.ones(2), "bad")
