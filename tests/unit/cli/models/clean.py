# SPDX-License-Identifier: GPL-3.0-or-later
"""Two compiled functions without a break."""
import torch


@torch.compile
def first(x):
    return torch.relu(x * 2 + 1)


@torch.compile
def second(x, y):
    return (x + y).tanh()


with torch.no_grad():
    first(torch.ones(4))
    second(torch.ones(4), torch.ones(4))
