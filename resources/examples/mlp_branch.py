# SPDX-License-Identifier: GPL-3.0-or-later
"""An MLP with the three most common graph breaks: a branch on data, a print in a loop, a number read from a tensor.

Open it in Breakline and mend them one by one: torch.where for the branch, no print, a tensor in place of the number.
"""
import torch
from torch import nn
from torch.nn import functional as F


class BranchingMlp(nn.Module):
    def __init__(self, width=128, steps=3):
        super().__init__()
        self.up = nn.Linear(width, 2 * width)
        self.mix = nn.Linear(2 * width, 2 * width)
        self.down = nn.Linear(2 * width, width)
        self.steps = steps

    def forward(self, x):
        h = F.gelu(self.up(x)) * 1.5 + 0.1
        if h.mean() > 0:  # [break]
            h = torch.tanh(h) * 2.0
        else:
            h = torch.sigmoid(h) - 0.5
        for step in range(self.steps):
            h = h + F.relu(self.mix(h)) * 0.5
            print("step", step, "largest", h.abs().max())  # [break]
        scale = h.norm().item()  # [break]
        h = h / (1.0 + scale)
        return self.down(F.silu(h) + h)


def main():
    torch.manual_seed(0)
    model = BranchingMlp().eval()
    forward = torch.compile(model)
    x = torch.randn(64, 128)
    with torch.no_grad():
        for _ in range(3):
            y = forward(x)
    print("output", tuple(y.shape))


if __name__ == "__main__":
    main()
