# SPDX-License-Identifier: GPL-3.0-or-later
"""Ordinary models with random weights: (name, build, inputs, breaks allowed). Used by the model tests and the benchmarks."""

import torch
import torch.nn.functional as F
from torch import nn


class Mlp(nn.Module):
    def __init__(self, width=64, depth=4):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        for layer in self.layers:
            x = F.gelu(layer(x)) + x
        return self.norm(x)


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(2))
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        return self.head(torch.flatten(self.features(x), 1)).log_softmax(-1)


class Residual(nn.Module):
    def __init__(self, channels=8):
        super().__init__()
        self.a = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(channels)
        self.down = nn.Sequential(nn.Conv2d(channels, channels, 1), nn.BatchNorm2d(channels))

    def forward(self, x):
        identity = self.down(x) if self.down is not None else x
        return F.relu(self.bn(self.a(x)) + identity, inplace=True)


class Attention(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.register_buffer("mask", torch.tril(torch.ones(64, 64)))

    def forward(self, x):
        b, t, c = x.size()
        q, k, v = self.qkv(x).split(c, dim=2)
        q, k, v = (z.view(b, t, self.heads, c // self.heads).transpose(1, 2) for z in (q, k, v))
        att = (q @ k.transpose(-2, -1)) * (1.0 / (k.size(-1) ** 0.5))
        att = att.masked_fill(self.mask[:t, :t] == 0, float("-inf")).softmax(dim=-1)
        return self.out((att @ v).transpose(1, 2).contiguous().view(b, t, c))


class Block(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = Attention(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim), nn.Dropout(0.1))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class Gpt(nn.Module):
    def __init__(self, layers=4, dim=32, vocab=50):
        super().__init__()
        self.transformer = nn.ModuleDict(dict(
            wte=nn.Embedding(vocab, dim), wpe=nn.Embedding(64, dim), drop=nn.Dropout(0.1),
            h=nn.ModuleList(Block(dim) for _ in range(layers)), ln_f=nn.LayerNorm(dim)))
        self.head = nn.Linear(dim, vocab, bias=False)
        self.head.weight = self.transformer.wte.weight

    def forward(self, idx, targets=None):
        _, t = idx.size()
        pos = torch.arange(0, t, dtype=torch.long, device=idx.device)
        x = self.transformer.drop(self.transformer.wte(idx) + self.transformer.wpe(pos))
        for block in self.transformer.h:
            x = block(x)
        logits = self.head(self.transformer.ln_f(x))
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)
        return logits, loss


class Gated(nn.Module):
    """Sees data once: one break."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(16, 16), nn.Linear(16, 16)

    def forward(self, x):
        h = torch.tanh(self.a(x))
        if h.sum() > 0:
            return self.b(h)
        return h - 1


def encoder(layers=2):
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    return nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)


def hooked():
    m = Mlp(16, 2)
    m.layers[0].register_forward_hook(lambda mod, args, out: out * 2)
    m.layers[1].register_forward_pre_hook(lambda mod, args: (args[0] + 1,))
    return m


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(12, 16, num_layers=2, batch_first=True)
        self.out = nn.Linear(16, 3)

    def forward(self, x):
        y, (h, c) = self.rnn(x)
        return self.out(y[:, -1]), h, c


class Rms(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = 1e-6

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))


class Llama(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.norm = Rms(dim)
        self.gate, self.up, self.down = (nn.Linear(dim, 64, bias=False), nn.Linear(dim, 64, bias=False), nn.Linear(64, dim, bias=False))

    def forward(self, x):
        h = self.norm(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


def f32(*shape):
    return lambda: (torch.randn(*shape),)


MODELS = [
    ("mlp", Mlp, f32(4, 64), 0),
    ("cnn", Cnn, f32(2, 3, 16, 16), 0),
    ("residual", Residual, f32(2, 8, 8, 8), 0),
    ("attention", Attention, f32(2, 8, 32), 0),
    ("gpt", Gpt, lambda: (torch.randint(0, 50, (2, 10)),), 0),
    ("gpt_loss", Gpt, lambda: (torch.randint(0, 50, (2, 10)), torch.randint(0, 50, (2, 10))), 0),
    ("encoder_layer", lambda: nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), f32(2, 6, 32), 0),
    ("encoder", encoder, f32(2, 6, 32), 0),
    ("multihead", lambda: nn.MultiheadAttention(32, 4, batch_first=True), lambda: (torch.randn(2, 5, 32),) * 3, 0),
    ("hooks", hooked, f32(3, 16), 0),
    ("lstm", Lstm, f32(2, 5, 12), 0),
    ("gru", lambda: nn.GRU(8, 8, batch_first=True), f32(2, 5, 8), 0),
    ("llama_mlp", Llama, f32(2, 4, 32), 0),
    ("gated", Gated, f32(2, 16), 1),
    ("sequential", lambda: nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Dropout(0.5), nn.Softmax(-1)), f32(3, 8), 0),
    ("groupnorm", lambda: nn.Sequential(nn.Conv1d(4, 8, 3), nn.GroupNorm(2, 8), nn.SiLU(), nn.AvgPool1d(2)), f32(2, 4, 12), 0),
    ("embedding_bag", lambda: nn.Sequential(nn.Embedding(20, 8), nn.Flatten(), nn.Linear(32, 4)),
     lambda: (torch.randint(0, 20, (3, 4)),), 0),
    ("conv_transpose", lambda: nn.Sequential(nn.ConvTranspose2d(4, 4, 2, stride=2), nn.LeakyReLU(0.1), nn.Upsample(scale_factor=2)),
     f32(1, 4, 5, 5), 0),
]
