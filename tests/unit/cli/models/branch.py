# SPDX-License-Identifier: GPL-3.0-or-later
"""An MLP whose step branches on data: one break, at the if."""
import sys

import torch


class Net(torch.nn.Module):
    def __init__(self, width=8, *, layers=1):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in range(layers))

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        if x.sum() > 1000:
            x = x - 1
        return x * 2


def scale(x, factor=2):
    return torch.sin(x) * factor


if __name__ == "__main__":
    torch.manual_seed(0)
    net = torch.compile(Net())
    with torch.no_grad():
        for _ in range(3):
            y = net(torch.ones(2, 8))
    print("mean", round(float(y.mean()), 3), sys.argv[1:])
