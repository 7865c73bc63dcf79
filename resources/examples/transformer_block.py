# SPDX-License-Identifier: GPL-3.0-or-later
"""Two pre-norm transformer blocks, written out: every operation is traced, nothing breaks."""
import math

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        size = width // self.heads
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q = q.view(batch, length, self.heads, size).transpose(1, 2)
        k = k.view(batch, length, self.heads, size).transpose(1, 2)
        v = v.view(batch, length, self.heads, size).transpose(1, 2)
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(size)
        weights = torch.softmax(scores, dim=-1)
        mixed = torch.matmul(weights, v).transpose(1, 2).reshape(batch, length, width)
        return self.out(mixed)


class Block(nn.Module):
    def __init__(self, width=128, heads=4):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        hidden = torch.nn.functional.gelu(self.up(self.norm2(x)))
        return x + self.down(hidden)


class Encoder(nn.Module):
    def __init__(self, width=128, heads=4, depth=2):
        super().__init__()
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


def main():
    torch.manual_seed(0)
    model = Encoder().eval()
    step = torch.compile(model)
    x = torch.randn(4, 32, 128)
    with torch.no_grad():
        for _ in range(3):
            y = step(x)
    print("output", tuple(y.shape))


if __name__ == "__main__":
    main()
