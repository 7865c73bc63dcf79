# SPDX-License-Identifier: GPL-3.0-or-later
"""The models of the suite benchmark: name -> (callable, inputs). Own definitions, random weights, eval mode."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class Mlp(nn.Module):
    def __init__(self, width=512):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(256, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, 64))

    def forward(self, x):
        return self.layers(x)


class Residual(nn.Module):
    def __init__(self, inner, outer, stride):
        super().__init__()
        self.first = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outer)
        self.second = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outer)
        self.relu = nn.ReLU(inplace=True)
        self.down = None
        if stride != 1 or inner != outer:
            self.down = nn.Sequential(nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer))

    def forward(self, x):
        y = self.relu(self.norm1(self.first(x)))
        y = self.norm2(self.second(y))
        return self.relu(y + (x if self.down is None else self.down(x)))


class ResNet18(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1))
        blocks, width = [], 64
        for stage, out in enumerate((64, 128, 256, 512)):
            for position in range(2):
                blocks.append(Residual(width, out, 2 if stage and not position else 1))
                width = out
        self.blocks = nn.Sequential(*blocks)
        self.pool, self.head = nn.AdaptiveAvgPool2d(1), nn.Linear(512, 100)

    def forward(self, x):
        return self.head(torch.flatten(self.pool(self.blocks(self.stem(x))), 1))


class Inverted(nn.Module):
    def __init__(self, inner, outer, stride, expand):
        super().__init__()
        hidden = inner * expand
        self.body = nn.Sequential(
            nn.Conv2d(inner, hidden, 1, bias=False), nn.BatchNorm2d(hidden), nn.ReLU6(inplace=True),
            nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden, bias=False), nn.BatchNorm2d(hidden), nn.ReLU6(inplace=True),
            nn.Conv2d(hidden, outer, 1, bias=False), nn.BatchNorm2d(outer))
        self.skip = stride == 1 and inner == outer

    def forward(self, x):
        return x + self.body(x) if self.skip else self.body(x)


class MobileNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU6(inplace=True))
        self.blocks = nn.Sequential(
            Inverted(32, 16, 1, 1), Inverted(16, 24, 2, 6), Inverted(24, 24, 1, 6), Inverted(24, 32, 2, 6), Inverted(32, 32, 1, 6),
            Inverted(32, 64, 2, 6), Inverted(64, 64, 1, 6), Inverted(64, 96, 1, 6), Inverted(96, 96, 1, 6))
        self.head = nn.Linear(96, 100)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean([2, 3]))


class Attention(nn.Module):
    def __init__(self, width, heads, causal=False):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """Pre-norm transformer block: ViT and GPT."""

    def __init__(self, width, heads, causal=False):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, causal)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self, layers=4, width=256, heads=8, words=1000):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(128, width)
        self.blocks = nn.ModuleList(Block(width, heads, True) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, ids):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class CachedGpt(nn.Module):
    """One token against keys and values kept from before."""

    def __init__(self, layers=4, width=256, heads=8):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers))
        self.qkv = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(layers))
        self.out = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.up = nn.ModuleList(nn.Linear(width, 4 * width) for _ in range(layers))
        self.down = nn.ModuleList(nn.Linear(4 * width, width) for _ in range(layers))

    def forward(self, x, keys, values):
        batch, _, width = x.shape
        for i in range(len(self.qkv)):
            q, k, v = self.qkv[i](self.norms[2 * i](x)).view(batch, 1, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
            k, v = torch.cat([keys[i], k], 2), torch.cat([values[i], v], 2)
            y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, 1, width)
            x = x + self.out[i](y)
            x = x + self.down[i](F.gelu(self.up[i](self.norms[2 * i + 1](x))))
        return x


class Rms(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class Llama(nn.Module):
    def __init__(self, layers=2, width=256, heads=8):
        super().__init__()
        self.heads, self.layers = heads, layers
        def make(*size):
            return nn.ModuleList(nn.Linear(*size, bias=False) for _ in range(layers))
        self.q, self.k, self.v, self.o = make(width, width), make(width, width), make(width, width), make(width, width)
        self.gate, self.up, self.down = make(width, 688), make(width, 688), make(688, width)
        self.norms = nn.ModuleList(Rms(width) for _ in range(2 * layers))
        angles = torch.outer(torch.arange(64.0), 1e4 ** (-torch.arange(0, width // heads, 2) / (width // heads)))
        self.register_buffer("cos", angles.cos().repeat(1, 2))
        self.register_buffer("sin", angles.sin().repeat(1, 2))

    def turned(self, x):
        half = x.shape[-1] // 2
        return x * self.cos + torch.cat([-x[..., half:], x[..., :half]], -1) * self.sin

    def forward(self, x):
        batch, length, width = x.shape
        for i in range(self.layers):
            y = self.norms[2 * i](x)
            q, k, v = (f(y).view(batch, length, self.heads, -1).transpose(1, 2) for f in (self.q[i], self.k[i], self.v[i]))
            y = F.scaled_dot_product_attention(self.turned(q), self.turned(k), v, is_causal=True)
            x = x + self.o[i](y.transpose(1, 2).reshape(batch, length, width))
            y = self.norms[2 * i + 1](x)
            x = x + self.down[i](F.silu(self.gate[i](y)) * self.up[i](y))
        return x


class BertLayer(nn.Module):
    """Post-norm, attention written out with an additive mask."""

    def __init__(self, width=256, heads=8):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x, mask):
        batch, length, width = x.shape
        q, k, v = (f(x).view(batch, length, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        scores = q @ k.transpose(-1, -2) / math.sqrt(width // self.heads) + mask
        y = (torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(batch, length, width)
        x = self.norm1(x + self.o(y))
        return self.norm2(x + self.down(F.gelu(self.up(x))))


class LstmLike(nn.Module):
    def __init__(self, width=128):
        super().__init__()
        self.inner, self.outer = nn.Linear(width, 4 * width), nn.Linear(width, 4 * width)

    def forward(self, x):
        h = c = torch.zeros(x.shape[0], x.shape[2])
        for t in range(x.shape[1]):
            i, f, g, o = (self.inner(x[:, t]) + self.outer(h)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return h


class NormHeavy(nn.Module):
    def __init__(self, width=512, layers=6):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))

    def forward(self, x):
        for norm in self.norms:
            x = x + norm(torch.tanh(x) * 0.5)
        return x


def softmax_heavy(x):
    for _ in range(4):
        x = torch.softmax(x * 1.5 - 0.5, -1) + x * 0.1
    return x


def chain(x, y):
    z = torch.tanh(x) * torch.sigmoid(y) + x * 0.5
    return torch.relu(z - y) * z + torch.exp(-z * z)


def written_attention(q, k, v):
    return torch.softmax(q @ k.transpose(-1, -2) * 0.125, -1) @ v


def suite():
    """name -> function without arguments that makes (callable, inputs)."""
    def model(make, *inputs):
        return lambda: (make().eval(), tuple(i() for i in inputs))

    def floats(*size):
        return lambda: torch.randn(*size)

    ids = lambda: torch.randint(0, 1000, (2, 64))
    cache = lambda: [torch.randn(1, 8, 63, 32) for _ in range(4)]
    return {
        "mlp_b64": model(Mlp, floats(64, 256)),
        "mlp_b1": model(Mlp, floats(1, 256)),
        "resnet18_128": model(ResNet18, floats(1, 3, 128, 128)),
        "mobilenet_128": model(MobileNet, floats(1, 3, 128, 128)),
        "vit_block": model(lambda: Block(384, 6), floats(2, 197, 384)),
        "gpt": model(Gpt, ids),
        "gpt_cache": model(CachedGpt, floats(1, 1, 256), cache, cache),
        "llama": model(Llama, floats(2, 64, 256)),
        "bert_layer": model(BertLayer, floats(2, 128, 256), floats(2, 1, 1, 128)),
        "lstm_loop": model(LstmLike, floats(16, 24, 128)),
        "norm_heavy": model(NormHeavy, floats(256, 512)),
        "softmax_heavy": lambda: (softmax_heavy, (torch.randn(256, 512),)),
        "pointwise_cache": lambda: (chain, (torch.randn(16384), torch.randn(16384))),
        "pointwise_memory": lambda: (chain, (torch.randn(1 << 24), torch.randn(1 << 24))),
        "attention_1024": lambda: (written_attention, tuple(torch.randn(1, 8, 1024, 64) for _ in range(3))),
    }
