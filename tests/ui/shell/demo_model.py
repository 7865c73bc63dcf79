# SPDX-License-Identifier: GPL-3.0-or-later
# The source that the scripted engine of the tests reports about.
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        h = self.norm(x)
        h = torch.nn.functional.gelu(self.up(h))
        return x + self.down(h)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block(64) for _ in range(2))
        self.head = nn.Linear(64, 8)

    def forward(self, x):
        x = self.blocks[0](x)
        if x.sum() > 0:
            x = x.relu() * 2
        x = self.blocks[1](x)
        print("norm", x.norm().item())
        return self.head(x).softmax(-1)


@torch.compile
def step(x):
    with torch._dynamo.error_on_graph_break(False):
        y = torch.sin(x) + torch.cos(x)
        torch._dynamo.graph_break()
    return y * y


net = torch.compile(Net().eval())
with torch.no_grad():
    net(torch.randn(4, 64))
    step(torch.randn(128))
