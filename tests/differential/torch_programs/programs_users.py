# SPDX-License-Identifier: GPL-3.0-or-later
# Long because it is one table of small independent programs.
"""Small programs of the kinds people write: attention, losses, optimizers, averaging, clipping, mixed precision, sampling, decoding, custom
layers, state, parametrizations, pruning, hooks. Each entry: name → (maker as in programs.py, places that may break)."""

import copy
import math
from collections import OrderedDict, namedtuple
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

USERS = {}


def user(places=0):
    def add(make):
        USERS[make.__name__] = (make, places)
        return make

    return add


def xs(*sizes, n=2, grad=False):
    return [(torch.randn(*sizes).requires_grad_(grad),) for _ in range(n)]


def ids(*sizes, high=10, n=2):
    return [(torch.randint(0, high, sizes),) for _ in range(n)]


# --- attention ------------------------------------------------------------------------------------------------------------


@user()
def attention_written_out():
    def f(q, k, v):
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        mask = torch.triu(torch.ones(q.size(-2), k.size(-2), dtype=torch.bool), diagonal=1)
        return scores.masked_fill(mask, float("-inf")).softmax(-1) @ v

    return f, [tuple(torch.randn(2, 3, 4, 8) for _ in range(3)) for _ in range(2)]


@user()
def attention_module():
    class Attention(nn.Module):
        def __init__(self, dim=16, heads=4):
            super().__init__()
            self.heads, self.scale = heads, (dim // heads) ** -0.5
            self.qkv = nn.Linear(dim, dim * 3, bias=False)
            self.out = nn.Sequential(nn.Linear(dim, dim), nn.Dropout(0.0))

        def forward(self, x, mask=None):
            b, n, _ = x.shape
            q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
            a = (q * self.scale) @ k.transpose(-2, -1)
            if mask is not None:
                a = a.masked_fill(~mask[:, None, None, :], torch.finfo(a.dtype).min)
            return self.out((a.softmax(dim=-1) @ v).transpose(1, 2).flatten(2))

    return Attention(), [(torch.randn(2, 5, 16),), (torch.randn(2, 5, 16), torch.rand(2, 5) > 0.3)]


@user()
def rotary_embedding():
    def rotate(x):
        a, b = x.chunk(2, dim=-1)
        return torch.cat((-b, a), dim=-1)

    def f(x):
        n, d = x.shape[-2:]
        inv = 1.0 / (10000 ** (torch.arange(0, d, 2).float() / d))
        t = torch.outer(torch.arange(n, dtype=torch.float32), inv)
        emb = torch.cat((t, t), dim=-1)
        return x * emb.cos() + rotate(x) * emb.sin()

    return f, xs(2, 6, 8)


@user()
def alibi_bias():
    def f(x):
        heads, n = x.shape[1], x.shape[2]
        slopes = torch.tensor([2 ** (-8 * (i + 1) / heads) for i in range(heads)])
        distance = torch.arange(n)[None, :] - torch.arange(n)[:, None]
        return F.scaled_dot_product_attention(x, x, x, attn_mask=slopes[:, None, None] * distance.abs().neg())

    return f, xs(1, 4, 6, 8)


@user()
def grouped_query_attention():
    def f(x, kv):
        kv = kv[:, :, None].expand(-1, -1, 2, -1, -1).reshape(2, 4, 5, 8)
        return torch.einsum("bhqd,bhkd->bhqk", x, kv).softmax(-1).matmul(kv)

    return f, [(torch.randn(2, 4, 5, 8), torch.randn(2, 2, 5, 8)) for _ in range(2)]


@user()
def sliding_window_mask():
    def f(x, window):
        n = x.shape[1]
        i = torch.arange(n)
        mask = (i[:, None] - i[None, :]).abs() <= window
        s = (x @ x.mT).where(mask, torch.tensor(-1e9))
        return s.log_softmax(-1).exp() @ x

    return f, [(torch.randn(2, 6, 4), 1), (torch.randn(2, 6, 4), 2)]


@user()
def cross_attention_with_cache():
    class Cache:
        def __init__(self):
            self.k, self.v = None, None

        def update(self, k, v):
            self.k = k if self.k is None else torch.cat([self.k, k], dim=1)
            self.v = v if self.v is None else torch.cat([self.v, v], dim=1)
            return self.k, self.v

    def f(steps):
        cache, out = Cache(), []
        for s in steps.unbind(1):
            k, v = cache.update(s[:, None], s[:, None] * 2)
            out.append(F.scaled_dot_product_attention(s[:, None], k, v))
        return torch.cat(out, 1), cache.k.shape

    return f, xs(2, 4, 8)


@user()
def relative_position_bias():
    class Bias(nn.Module):
        def __init__(self, window=3, heads=2):
            super().__init__()
            self.table = nn.Parameter(torch.zeros((2 * window - 1) ** 2, heads))
            coords = torch.stack(torch.meshgrid(torch.arange(window), torch.arange(window), indexing="ij")).flatten(1)
            rel = (coords[:, :, None] - coords[:, None, :]).permute(1, 2, 0).contiguous()
            rel[:, :, 0] += window - 1
            rel[:, :, 1] += window - 1
            rel[:, :, 0] *= 2 * window - 1
            self.register_buffer("index", rel.sum(-1))
            nn.init.trunc_normal_(self.table, std=0.02)

        def forward(self, scores):
            n = self.index.shape[0]
            return scores + self.table[self.index.view(-1)].view(n, n, -1).permute(2, 0, 1).unsqueeze(0)

    return Bias(), xs(1, 2, 9, 9)


# --- losses ---------------------------------------------------------------------------------------------------------------


@user()
def focal_loss():
    def f(logits, target):
        p = torch.sigmoid(logits)
        ce = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
        pt = p * target + (1 - p) * (1 - target)
        return (0.25 * (1 - pt) ** 2 * ce).mean()

    return f, [(torch.randn(4, 3).requires_grad_(), torch.randint(0, 2, (4, 3)).float()) for _ in range(2)]


@user()
def dice_loss():
    def f(x, y, eps=1e-6):
        p = x.softmax(1)
        y = F.one_hot(y, p.shape[1]).permute(0, 3, 1, 2).float()
        dims = tuple(range(2, p.dim()))
        inter, total = (p * y).sum(dims), (p + y).sum(dims)
        return 1 - ((2 * inter + eps) / (total + eps)).mean()

    return f, [(torch.randn(2, 3, 4, 4), torch.randint(0, 3, (2, 4, 4))) for _ in range(2)]


@user()
def contrastive_loss():
    def f(a, b, temperature=0.1):
        a, b = F.normalize(a, dim=-1), F.normalize(b, dim=-1)
        logits = a @ b.T / temperature
        labels = torch.arange(len(a), device=a.device)
        return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels)) / 2

    return f, [(torch.randn(4, 8, requires_grad=True), torch.randn(4, 8)) for _ in range(2)]


@user()
def triplet_with_distances():
    def f(x, labels):
        d = torch.cdist(x, x)
        same = labels[:, None] == labels[None, :]
        hardest_pos = (d * same).max(dim=1).values
        hardest_neg = (d + same * 1e5).min(dim=1)[0]
        return F.relu(hardest_pos - hardest_neg + 0.3).mean()

    return f, [(torch.randn(6, 4), torch.tensor([0, 0, 1, 1, 2, 2])) for _ in range(2)]


@user()
def label_smoothing():
    class Smooth(nn.Module):
        def __init__(self, smoothing=0.1, reduction="mean"):
            super().__init__()
            self.smoothing, self.reduction = smoothing, reduction

        def forward(self, x, target):
            logp = F.log_softmax(x, dim=-1)
            nll = -logp.gather(-1, target.unsqueeze(1)).squeeze(1)
            loss = (1 - self.smoothing) * nll - self.smoothing * logp.mean(-1)
            return getattr(loss, self.reduction)() if self.reduction != "none" else loss

    return Smooth(), [(torch.randn(4, 5, requires_grad=True), torch.randint(0, 5, (4,))) for _ in range(2)]


@user()
def vae_loss():
    def f(x, mu, logvar):
        torch.manual_seed(3)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        return F.mse_loss(torch.sigmoid(z), x, reduction="sum") + kl

    return f, [(torch.rand(3, 4), torch.randn(3, 4), torch.randn(3, 4)) for _ in range(2)]


USERS["vae_loss"] = (vae_loss, 1)  # the seed


@user()
def masked_language_loss():
    def f(logits, labels):
        v = logits.size(-1)
        loss = F.cross_entropy(logits[..., :-1, :].reshape(-1, v), labels[..., 1:].reshape(-1), ignore_index=-100)
        return {"loss": loss, "perplexity": loss.exp(), "n": (labels != -100).sum()}

    labels = torch.randint(0, 7, (2, 5))
    labels[0, :2] = -100
    return f, [(torch.randn(2, 5, 7), labels) for _ in range(2)]


@user()
def wasserstein_penalty_terms():
    def f(real, fake):
        alpha = torch.linspace(0, 1, len(real))[:, None]
        mixed = (alpha * real + (1 - alpha) * fake.detach())
        return mixed.norm(2, dim=1).sub(1).pow(2).mean() * 10 + fake.mean() - real.mean()

    return f, [(torch.randn(4, 3), torch.randn(4, 3, requires_grad=True)) for _ in range(2)]


@user()
def dpo_loss():
    def f(chosen, rejected, ref_chosen, ref_rejected, beta=0.1):
        margin = (chosen - rejected) - (ref_chosen - ref_rejected)
        losses = -F.logsigmoid(beta * margin)
        return losses.mean(), (beta * (chosen - ref_chosen)).detach(), (margin > 0).float().mean()

    return f, [tuple(torch.randn(4, requires_grad=i < 2) for i in range(4)) for _ in range(2)]


@user()
def ppo_clipped():
    def f(logp, old, adv, values, returns):
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        ratio = (logp - old).exp()
        policy = -torch.min(ratio * adv, torch.clamp(ratio, 0.8, 1.2) * adv).mean()
        return policy + 0.5 * F.smooth_l1_loss(values, returns) - 0.01 * (-(logp.exp() * logp).sum())

    return f, [tuple(torch.randn(6) for _ in range(5)) for _ in range(2)]


@user()
def generalized_advantage():
    def f(rewards, values, dones):
        adv, last = torch.zeros_like(rewards), 0.0
        for t in reversed(range(len(rewards))):
            following = values[t + 1] if t + 1 < len(values) else 0.0
            delta = rewards[t] + 0.99 * following * (1 - dones[t]) - values[t]
            adv[t] = last = delta + 0.99 * 0.95 * (1 - dones[t]) * last
        return adv, adv + values

    return f, [(torch.randn(5), torch.randn(5), torch.randint(0, 2, (5,)).float()) for _ in range(2)]


@user()
def ctc_like_alignment():
    def f(x, y):
        d = (x[:, None] - y[None]).pow(2)
        rows = [torch.cumsum(d[0], 0)]
        for i in range(1, d.shape[0]):
            row = [rows[-1][0] + d[i, 0]]
            for j in range(1, d.shape[1]):
                row.append(d[i, j] + torch.stack((rows[-1][j], rows[-1][j - 1], row[-1])).min())
            rows.append(torch.stack(row))
        return rows[-1][-1]

    return f, [(torch.randn(4), torch.randn(3)) for _ in range(2)]


# --- layers -----------------------------------------------------------------------------------------------------------------


@user()
def rms_norm_layer():
    class RMSNorm(nn.Module):
        def __init__(self, dim, eps=1e-6):
            super().__init__()
            self.eps, self.weight = eps, nn.Parameter(torch.ones(dim))

        def _norm(self, x):
            return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

        def forward(self, x):
            return self._norm(x.float()).type_as(x) * self.weight

    return RMSNorm(8), [(torch.randn(2, 8),), (torch.randn(2, 8).bfloat16(),)]


@user()
def gated_mlp_with_residual():
    class Block(nn.Module):
        def __init__(self, d=8):
            super().__init__()
            self.norm = nn.LayerNorm(d)
            self.up, self.gate, self.down = (nn.Linear(a, b, bias=False) for a, b in ((d, 16), (d, 16), (16, d)))
            self.act = {"silu": F.silu, "gelu": F.gelu}["silu"]

        def forward(self, x):
            h = self.norm(x)
            return x + self.down(self.act(self.gate(h)) * self.up(h))

    return nn.Sequential(OrderedDict((f"b{i}", Block()) for i in range(2))), xs(2, 8, grad=True)


@user()
def running_statistics():
    class Norm(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.register_buffer("mean", torch.zeros(n))
            self.register_buffer("count", torch.tensor(0))
            self.momentum = 0.1

        def forward(self, x):
            if self.training:
                self.count += 1
                self.mean = (1 - self.momentum) * self.mean + self.momentum * x.mean(0).detach()
            return x - self.mean

    net = Norm(4)
    return net, [(torch.randn(3, 4),), (torch.randn(3, 4),), ("do", net.eval, torch.randn(3, 4))]


@user()
def vector_quantizer():
    class VQ(nn.Module):
        def __init__(self):
            super().__init__()
            self.codes = nn.Embedding(6, 4)
            self.register_buffer("usage", torch.zeros(6))

        def forward(self, z):
            d = z.pow(2).sum(1, keepdim=True) - 2 * z @ self.codes.weight.t() + self.codes.weight.pow(2).sum(1)
            index = d.argmin(1)
            q = self.codes(index)
            self.usage.scatter_add_(0, index, torch.ones_like(index, dtype=torch.float))
            loss = F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(q.detach(), z)
            return z + (q - z).detach(), loss, index

    return VQ(), xs(5, 4, grad=True)


@user()
def squeeze_excite_conv():
    class SE(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.conv = nn.Conv2d(c, c, 3, padding=1, groups=c, bias=False)
            self.bn = nn.BatchNorm2d(c)
            self.fc1, self.fc2 = nn.Conv2d(c, c // 2, 1), nn.Conv2d(c // 2, c, 1)

        def forward(self, x):
            y = F.relu6(self.bn(self.conv(x)))
            s = F.adaptive_avg_pool2d(y, 1)
            return x + y * torch.sigmoid(self.fc2(F.relu(self.fc1(s), inplace=True)))

    return SE(4), xs(2, 4, 5, 5)


@user()
def unet_like():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = nn.ModuleList(nn.Conv2d(a, b, 3, padding=1) for a, b in ((1, 4), (4, 8)))
            self.up = nn.ModuleDict({"0": nn.ConvTranspose2d(8, 4, 2, stride=2), "1": nn.ConvTranspose2d(8, 1, 2, stride=2)})

        def forward(self, x):
            skips = []
            for conv in self.down:
                x = F.relu(conv(x))
                skips.append(x)
                x = F.max_pool2d(x, 2)
            x = self.up["0"](x)
            x = torch.cat([x, F.interpolate(skips[0], scale_factor=0.5, mode="bilinear", align_corners=False)[..., : x.shape[-2], : x.shape[-1]]], 1)
            return self.up["1"](x)

    return Net(), xs(1, 1, 8, 8)


@user()
def lstm_cell_by_hand():
    class Cell(nn.Module):
        def __init__(self, i, h):
            super().__init__()
            self.ih, self.hh = nn.Linear(i, 4 * h), nn.Linear(h, 4 * h)

        def forward(self, x, state=None):
            h, c = state if state is not None else (x.new_zeros(x.shape[0], 4), x.new_zeros(x.shape[0], 4))
            out = []
            for t in range(x.shape[1]):
                i, f, g, o = (self.ih(x[:, t]) + self.hh(h)).chunk(4, 1)
                c = f.sigmoid() * c + i.sigmoid() * g.tanh()
                h = o.sigmoid() * c.tanh()
                out.append(h)
            return torch.stack(out, 1), (h, c)

    return Cell(3, 4), xs(2, 5, 3)


@user()
def recurrent_modules():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(3, 4, num_layers=2, batch_first=True, bidirectional=True)
            self.gru = nn.GRUCell(8, 5)

        def forward(self, x):
            y, (h, _) = self.lstm(x)
            s = y.new_zeros(len(x), 5)
            for t in y.unbind(1):
                s = self.gru(t, s)
            return s, h.mean()

    return Net(), xs(2, 4, 3)


@user()
def mixture_of_experts_dense():
    class MoE(nn.Module):
        def __init__(self, d=4, n=3):
            super().__init__()
            self.gate, self.experts = nn.Linear(d, n), nn.ModuleList(nn.Linear(d, d) for _ in range(n))

        def forward(self, x):
            weights, chosen = self.gate(x).softmax(-1).topk(2, dim=-1)
            weights = weights / weights.sum(-1, keepdim=True)
            out = torch.zeros_like(x)
            for i, expert in enumerate(self.experts):
                w = (weights * (chosen == i)).sum(-1, keepdim=True)
                out = out + w * expert(x)
            return out

    return MoE(), xs(5, 4, grad=True)


@user(1)
def mixture_of_experts_sparse():
    class MoE(nn.Module):
        def __init__(self, d=4, n=3):
            super().__init__()
            self.gate, self.experts = nn.Linear(d, n), nn.ModuleList(nn.Linear(d, d) for _ in range(n))

        def forward(self, x):
            chosen = self.gate(x).argmax(-1)
            out = torch.zeros_like(x)
            for i, expert in enumerate(self.experts):
                at = torch.where(chosen == i)[0]
                out.index_add_(0, at, expert(x[at]))
            return out

    return MoE(), xs(5, 4)


@user()
def lora_layer():
    class Lora(nn.Module):
        def __init__(self, base, r=2):
            super().__init__()
            self.base = base.requires_grad_(False)
            self.a = nn.Parameter(torch.randn(r, base.in_features) * 0.1)
            self.b = nn.Parameter(torch.zeros(base.out_features, r))
            self.merged = False

        def forward(self, x):
            y = self.base(x)
            return y if self.merged else y + F.linear(F.linear(x, self.a), self.b) * 2

        def merge(self):
            self.base.weight.data += 2 * self.b @ self.a
            self.merged = True

    net = Lora(nn.Linear(4, 3))
    return net, [(torch.randn(2, 4),), (torch.randn(2, 4),), ("do", net.merge, torch.randn(2, 4))]


@user()
def tied_embeddings():
    class LM(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(10, 6, padding_idx=0)
            self.pos = nn.Embedding(8, 6)
            self.head = nn.Linear(6, 10, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, ids):
            x = self.embed(ids) + self.pos(torch.arange(ids.shape[1], device=ids.device))
            return self.head(F.layer_norm(x, x.shape[-1:]))

    return LM(), ids(2, 5)


@user()
def sinusoidal_positions():
    class Pos(nn.Module):
        def __init__(self, d=6, n=10):
            super().__init__()
            pe = torch.zeros(n, d)
            t = torch.arange(n).unsqueeze(1)
            div = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
            pe[:, 0::2], pe[:, 1::2] = torch.sin(t * div), torch.cos(t * div)
            self.register_buffer("pe", pe.unsqueeze(0), persistent=False)

        def forward(self, x):
            return x + self.pe[:, : x.size(1)]

    return Pos(), xs(2, 5, 6)


@user()
def stochastic_depth():
    class Drop(nn.Module):
        def __init__(self, p):
            super().__init__()
            self.p = p

        def forward(self, x):
            if self.p == 0.0 or not self.training:
                return x
            keep = 1 - self.p
            return x * x.new_empty((x.shape[0],) + (1,) * (x.ndim - 1)).bernoulli_(keep).div_(keep)

    return nn.Sequential(Drop(0.3), nn.Linear(4, 4), Drop(0.0)), xs(6, 4)


@user()
def spectral_convolution():
    def f(x, w):
        k = torch.fft.rfft(x, dim=-1)
        return torch.fft.irfft(k[..., : w.shape[-1]] * torch.view_as_complex(w), n=x.shape[-1])

    return f, [(torch.randn(2, 8), torch.randn(2, 3, 2).permute(0, 1, 2).contiguous()) for _ in range(2)]


@user()
def patch_embedding():
    def f(img, p=2):
        b, c, h, w = img.shape
        x = img.reshape(b, c, h // p, p, w // p, p).permute(0, 2, 4, 3, 5, 1).reshape(b, (h // p) * (w // p), -1)
        y = img.unfold(2, p, p).unfold(3, p, p).contiguous().view(b, c, -1, p, p)
        return x, y, F.unfold(img, p, stride=p), F.fold(F.unfold(img, p, stride=p), (h, w), p, stride=p)

    return f, xs(1, 3, 4, 4)


@user()
def pixel_tricks():
    def f(x):
        return (F.pixel_shuffle(x, 2), F.pad(x, (1, 1, 0, 2), mode="reflect"), F.pad(x, (1, 0), value=2.0), x.roll(1, -1), x.flip(2),
                torch.rot90(x, 1, (2, 3)), F.grid_sample(x, torch.zeros(1, 2, 2, 2), align_corners=False))

    return f, xs(1, 4, 3, 3)


@user()
def weight_standardised_conv():
    class Conv(nn.Conv2d):
        def forward(self, x):
            w = self.weight
            mean, var = w.mean((1, 2, 3), keepdim=True), w.var((1, 2, 3), keepdim=True, unbiased=False)
            return self._conv_forward(x, (w - mean) / (var + 1e-5).sqrt(), self.bias)

    return Conv(2, 3, 3, padding="same"), xs(1, 2, 5, 5)


@user()
def graph_convolution():
    def f(x, edges, w):
        src, dst = edges
        degree = torch.zeros(len(x)).scatter_add_(0, dst, torch.ones(dst.shape)).clamp(min=1)
        agg = torch.zeros_like(x).index_add(0, dst, x[src]) / degree.unsqueeze(-1)
        return torch.relu(agg @ w), degree

    edges = torch.tensor([[0, 1, 2, 3, 1], [1, 2, 3, 0, 0]])
    return f, [(torch.randn(4, 3), edges, torch.randn(3, 2)) for _ in range(2)]


@user()
def hyper_network():
    class Hyper(nn.Module):
        def __init__(self):
            super().__init__()
            self.make = nn.Linear(3, 4 * 2 + 2)

        def forward(self, z, x):
            p = self.make(z)
            return F.linear(x, p[:8].view(2, 4), p[8:])

    return Hyper(), [(torch.randn(3), torch.randn(5, 4)) for _ in range(2)]


# --- einops-like and indexing ---------------------------------------------------------------------------------------------------


@user()
def rearrange_by_pattern():
    def rearrange(x, pattern, **sizes):
        left, right = (side.split() for side in pattern.split("->"))
        dims = dict(zip(left, x.shape))
        order = [left.index(n) for n in right if n in left]
        assert sorted(order) == list(range(len(left))), "every name once"
        return x.permute(*order), tuple(dims[n] for n in right)

    def f(x):
        return rearrange(x, "b h w c -> b c h w")[0] * 2, rearrange(x, "b h w c -> c w h b")[1]

    return f, xs(2, 3, 4, 5)


@user()
def many_indexings():
    def f(x, i):
        y = x.clone()
        y[..., -1] = 0
        y[i] *= 2
        y[:, None, 1:3].add_(1)
        y[1, 2:] = x[0, 2:]
        y[[0, 1], [1, 0]] = torch.tensor([5.0, 6.0])
        return (y, x[::2], x[..., [0, 2]], x[i, :2], x[:, i], x[None, ..., None], x.take_along_dim(x.argsort(1), 1), x[torch.tensor(1)],
                x.index_select(1, i), x.gather(1, i[None].expand(3, -1)), x[-1:, ::3], torch.where(x > 0, x, 0.0))

    return f, [(torch.randn(3, 4), torch.tensor([0, 2])) for _ in range(2)]


@user()
def segment_reductions():
    def f(x, seg):
        n = 3
        total = x.new_zeros(n, x.shape[1]).index_add_(0, seg, x)
        most = x.new_full((n, x.shape[1]), -torch.inf).scatter_reduce_(0, seg[:, None].expand_as(x), x, "amax")
        count = torch.bincount(seg, minlength=n)
        return total, most, count

    return f, [(torch.randn(5, 2), torch.tensor([0, 2, 1, 1, 0])) for _ in range(2)]


USERS["segment_reductions"] = (segment_reductions, 1)  # the number of bins depends on the data


@user()
def named_results():
    Result = namedtuple("Result", ["loss", "logits", "extra"])

    def f(x):
        values, index = x.max(-1)
        q, r = torch.linalg.qr(x)
        return Result(values.sum(), x, {"top": x.topk(2).values, "index": index, "svd": torch.linalg.svd(x).S, "qr": (q @ r).round(decimals=3)})

    return f, xs(3, 3)


@user()
def dataclass_batches():
    @dataclass
    class Batch:
        x: torch.Tensor
        mask: torch.Tensor = None

        def to(self, **kw):
            return Batch(**{k: v if v is None else v.to(**kw) for k, v in vars(self).items()})

        @property
        def size(self):
            return self.x.shape[0]

    def f(x):
        b = Batch(x, x > 0).to(dtype=torch.float64)
        return b.x * b.mask, b.size

    return f, xs(2, 3)


# --- training pieces ----------------------------------------------------------------------------------------------------------


@user()
def ema_update():
    net, mean = nn.Linear(3, 3), nn.Linear(3, 3)

    def f(decay):
        with torch.no_grad():
            for p, m in zip(net.parameters(), mean.parameters()):
                m.mul_(decay).add_(p, alpha=1 - decay)
            for (n, b), (_, c) in zip(net.named_buffers(), mean.named_buffers()):
                c.copy_(b)
        return [m.clone() for m in mean.parameters()]

    return f, [(0.9,), (0.9,), (0.5,)]


@user()
def ema_by_lerp_and_data():
    net, mean = nn.Linear(3, 3), nn.Linear(3, 3)

    def f():
        for (_, p), (_, m) in zip(net.named_parameters(), mean.named_parameters()):
            m.data.lerp_(p.data, 0.1)
        return [m.detach().clone() for m in mean.parameters()]

    return f, [(), ()]


@user()
def sgd_by_hand():
    w = torch.randn(3, requires_grad=True)

    def f(x):
        if w.grad is not None:
            with torch.no_grad():
                w.sub_(0.1 * w.grad)
            w.grad = None
        return (x * w).pow(2).sum()

    return f, xs(4, 3, n=3)


USERS["sgd_by_hand"] = (sgd_by_hand, 1)  # writing .grad


@user(2)
def training_step():
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    def f(x):
        opt.zero_grad()
        loss = net(x).pow(2).mean()
        loss.backward()
        opt.step()
        return loss.detach(), [p.detach().clone() for p in net.parameters()]

    return f, xs(4, 3, n=3)


@user(3)
def training_step_clipped():
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    opt = torch.optim.AdamW(net.parameters(), lr=0.1)
    sched = torch.optim.lr_scheduler.StepLR(opt, 1, gamma=0.5)

    def f(x):
        opt.zero_grad(set_to_none=True)
        loss = net(x).pow(2).mean()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        opt.step()
        sched.step()
        return loss.detach(), norm, opt.param_groups[0]["lr"], [p.detach().clone() for p in net.parameters()]

    return f, xs(4, 3, n=3)


@user()
def custom_optimizer_update():
    state = {"step": 0, "m": torch.zeros(3), "v": torch.zeros(3)}

    def f(p, g, lr=0.1, betas=(0.9, 0.999), eps=1e-8):
        state["step"] += 1
        b1, b2 = betas
        state["m"].mul_(b1).add_(g, alpha=1 - b1)
        state["v"].mul_(b2).addcmul_(g, g, value=1 - b2)
        m, v = state["m"] / (1 - b1 ** state["step"]), state["v"] / (1 - b2 ** state["step"])
        return p - lr * m / (v.sqrt() + eps)

    return f, [(torch.randn(3), torch.randn(3)) for _ in range(4)]


@user()
def foreach_update():
    ps, gs = [torch.randn(3), torch.randn(2, 2)], [torch.randn(3), torch.randn(2, 2)]

    def f(lr):
        torch._foreach_mul_(ps, 1 - 0.01 * lr)
        torch._foreach_add_(ps, gs, alpha=-lr)
        norms = torch._foreach_norm(ps)
        return [p.clone() for p in ps], torch.stack(norms).norm()

    return f, [(0.1,), (0.1,)]


@user()
def gradient_norm_by_hand():
    net = nn.Linear(3, 2)
    for p in net.parameters():
        p.grad = torch.randn_like(p)

    def f(limit):
        total = torch.norm(torch.stack([torch.norm(p.grad.detach(), 2.0) for p in net.parameters() if p.grad is not None]), 2.0)
        scale = torch.clamp(limit / (total + 1e-6), max=1.0)
        for p in net.parameters():
            p.grad.detach().mul_(scale)
        return total, [p.grad.clone() for p in net.parameters()]

    return f, [(0.5,), (0.5,)]


@user()
def warmup_cosine():
    def f(step, warm=2, total=10, base=1.0):
        if step < warm:
            return base * (step + 1) / warm
        return 0.5 * base * (1 + math.cos(math.pi * (step - warm) / (total - warm)))

    def g(x, step):
        return x * f(step), f(step)

    return g, [(torch.ones(2), s) for s in (0, 1, 2, 5)]


@user()
def accumulate_metrics():
    class Meter:
        def __init__(self):
            self.total, self.count, self.history = 0.0, 0, []

        def update(self, v, n=1):
            self.total, self.count = self.total + v * n, self.count + n
            self.history.append(v)

        @property
        def avg(self):
            return self.total / max(self.count, 1)

    meter = Meter()

    def f(x, y):
        acc = (x.argmax(-1) == y).float().mean()
        meter.update(acc, len(y))
        return meter.avg, meter.count, len(meter.history)

    return f, [(torch.randn(4, 3), torch.randint(0, 3, (4,))) for _ in range(3)]


@user()
def mixed_precision_forward():
    net = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 2))

    def f(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = net(x)
            with torch.autocast("cpu", enabled=False):
                z = y.float().softmax(-1)
            k = (y @ y.t()).sum()
        return y.dtype, z, k.dtype, k.float()

    return f, xs(3, 4)


@user()
def loss_scaling():
    def f(x, scale):
        loss = (x.half().float() * scale).pow(2).mean()
        bad = torch.isinf(loss) | torch.isnan(loss)
        return torch.where(bad, torch.zeros_like(loss), loss / scale), scale * (1 - 0.5 * bad.float())

    return f, [(torch.randn(3), torch.tensor(4.0)), (torch.tensor([1e30, 1.0, 2.0]), torch.tensor(4.0))]


@user()
def freeze_and_count():
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))

    def f(x):
        for m in net.modules():
            if isinstance(m, nn.BatchNorm1d):
                m.eval()
        trainable = sum(p.numel() for p in net.parameters() if p.requires_grad)
        return net(x), trainable, [n for n, _ in net.named_parameters()], net.training, net[1].training

    return f, xs(4, 2)


@user(1)
def gradient_penalty():
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))

    def f(x):
        x = x.detach().requires_grad_()
        (g,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
        return (g.norm(dim=1) - 1).pow(2).mean()

    return f, xs(4, 3)


@user()
def straight_through():
    class Sign(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sign()

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * (x.abs() <= 1)

    class Binary(nn.Linear):
        def forward(self, x):
            return F.linear(Sign.apply(x), Sign.apply(self.weight), self.bias)

    return nn.Sequential(Binary(4, 4), nn.Hardtanh(), Binary(4, 2)), xs(3, 4, grad=True)


@user()
def gradient_reversal():
    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, alpha):
            ctx.alpha = alpha
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return -ctx.alpha * g, None

    net = nn.Linear(3, 1)
    return (lambda x: net(Reverse.apply(x, 0.3)).sum()), xs(4, 3, grad=True)


# --- sampling and decoding ------------------------------------------------------------------------------------------------------


@user()
def top_k_top_p_filter():
    def f(logits, k=3, p=0.9):
        kth = logits.topk(k).values[..., -1, None]
        logits = logits.masked_fill(logits < kth, -float("inf"))
        ordered, index = logits.sort(descending=True)
        remove = ordered.softmax(-1).cumsum(-1) > p
        remove[..., 1:] = remove[..., :-1].clone()
        remove[..., 0] = False
        return logits.masked_fill(remove.scatter(-1, index, remove), -float("inf")).softmax(-1)

    return f, xs(2, 6)


@user()
def greedy_decoding():
    emb, head = nn.Embedding(7, 4), nn.Linear(4, 7)

    def f(start, steps):
        out, state = [start], torch.zeros(len(start), 4)
        for _ in range(steps):
            state = torch.tanh(state + emb(out[-1]))
            out.append(head(state).argmax(-1))
        return torch.stack(out, 1)

    return f, [(torch.tensor([1, 2]), 3), (torch.tensor([3, 4]), 3)]


@user(2)
def decoding_until_end():
    emb, head = nn.Embedding(7, 4), nn.Linear(4, 7)

    def f(token, limit):
        done = torch.zeros(len(token), dtype=torch.bool)
        out = []
        for _ in range(limit):
            token = head(emb(token)).argmax(-1)
            out.append(token)
            done |= token == 3
            if done.all():
                break
        return torch.stack(out, 1)

    return f, [(torch.tensor([1, 2]), 4), (torch.tensor([3, 4]), 4)]


@user()
def beam_step():
    def f(scores, logp, beam=2):
        b, k, v = logp.shape
        total = (scores[..., None] + logp).view(b, -1)
        best, flat = total.topk(beam, dim=-1)
        return best, torch.div(flat, v, rounding_mode="floor"), flat % v

    return f, [(torch.randn(2, 2), torch.randn(2, 2, 5).log_softmax(-1)) for _ in range(2)]


@user()
def gumbel_and_dropout_draws():
    def f(x):
        g = -torch.empty_like(x).exponential_().log()
        y = ((x + g) / 0.5).softmax(-1)
        return y, F.dropout(x, 0.5, True), torch.rand_like(x), torch.multinomial(y, 2), torch.bernoulli(y), F.gumbel_softmax(x, hard=True)

    return f, xs(3, 4)


@user()
def diffusion_step():
    betas = torch.linspace(1e-4, 0.02, 10)
    bars = torch.cumprod(1 - betas, 0)

    def extract(a, t, shape):
        return a.gather(-1, t).reshape(t.shape[0], *((1,) * (len(shape) - 1)))

    def f(x, t):
        noise = torch.randn_like(x)
        noisy = extract(bars.sqrt(), t, x.shape) * x + extract((1 - bars).sqrt(), t, x.shape) * noise
        return noisy, (noisy - extract(betas, t, x.shape) * noise) / extract((1 - betas).sqrt(), t, x.shape)

    return f, [(torch.randn(3, 2, 2), torch.tensor([0, 4, 9])) for _ in range(2)]


@user()
def langevin_loop():
    def f(x, steps=3):
        trace = []
        for i in range(steps):
            x = x - 0.1 * x + 0.01 * torch.randn(x.shape)
            if i % 2 == 0:
                trace.append(x.mean())
        return x, torch.stack(trace)

    return f, xs(4)


@user()
def kalman_filter():
    def f(zs):
        x, p, out = torch.zeros(2), torch.eye(2), []
        h, q, r = torch.tensor([[1.0, 0.0]]), torch.eye(2) * 0.01, torch.tensor([[0.1]])
        for z in zs:
            p = p + q
            k = p @ h.T @ torch.linalg.inv(h @ p @ h.T + r)
            x = x + (k @ (z - h @ x)).view(-1)
            p = (torch.eye(2) - k @ h) @ p
            out.append(x)
        return torch.stack(out), p

    return f, xs(4, 1)


@user()
def sinkhorn():
    def f(c, n=5):
        u = torch.zeros(c.shape[0])
        v = torch.zeros(c.shape[1])
        for _ in range(n):
            u = -torch.logsumexp(-c + v[None, :], 1)
            v = -torch.logsumexp(-c + u[:, None], 0)
        return torch.exp(-c + u[:, None] + v[None, :])

    return f, xs(3, 4)


# --- state, parametrizations, hooks -------------------------------------------------------------------------------------------


@user()
def state_dict_reads():
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))

    def f(x):
        sd = net.state_dict()
        keys = [k for k in sd if k.endswith("weight")]
        total = sum(v.float().abs().sum() for v in sd.values())
        return net(x), keys, total

    return f, xs(4, 2)


USERS["state_dict_reads"] = (state_dict_reads, 0)


@user()
def parametrized_weight():
    import torch.nn.utils.parametrize as parametrize

    class Symmetric(nn.Module):
        def forward(self, w):
            return w.triu() + w.triu(1).transpose(-1, -2)

    net = nn.Linear(3, 3)
    parametrize.register_parametrization(net, "weight", Symmetric())
    return net, xs(2, 3)


@user()
def weight_normed():
    net = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(3, 3)), nn.utils.weight_norm(nn.Linear(3, 2)))
    return net, xs(2, 3)


@user()
def spectral_normed():
    net = nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.Linear(3, 3)), nn.utils.spectral_norm(nn.Linear(3, 2)))
    return net, xs(2, 3, n=3)


@user()
def pruned_layers():
    import torch.nn.utils.prune as prune

    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    prune.l1_unstructured(net[0], "weight", 0.5)
    prune.random_structured(net[2], "weight", 0.5, dim=0)
    return net, xs(2, 4, n=3)


@user()
def forward_hooks():
    net = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1))
    seen = {}
    for name, m in net.named_modules():
        m.register_forward_hook(lambda m, i, o, name=name: seen.__setitem__(name, o.detach().abs().mean()))
    net[0].register_forward_pre_hook(lambda m, args: (args[0] * 2,))

    def f(x):
        return net(x), {k: v.clone() for k, v in seen.items()}

    return f, xs(2, 3)


@user()
def backward_hooks_on_modules():
    net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    net[0].weight.register_hook(lambda g: g * 2)
    return (lambda x: net(x).sum()), xs(2, 3, grad=True)


@user()
def feature_extractor():
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Conv2d(2, 2, 3), nn.Flatten())

    def f(x, layers=(0, 2)):
        found = []
        for i, layer in enumerate(net):
            x = layer(x)
            if i in layers:
                found.append(x.mean((2, 3)))
        return x, torch.cat(found, 1)

    return f, xs(1, 1, 6, 6)


@user()
def replaced_submodules():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = nn.Linear(3, 3), nn.Identity()

        def forward(self, x):
            return self.head(self.body(x))

    net = Net()
    return net, [(torch.ones(2, 3),), ("do", lambda: setattr(net, "head", nn.Linear(3, 2)), torch.ones(2, 3)),
                 ("do", lambda: net.body.weight.data.zero_(), torch.ones(2, 3)), ("do", net.double, torch.ones(2, 3).double())]


@user(1)
def copied_model():
    net = nn.Linear(3, 2)

    def f(x):
        other = copy.deepcopy(net)
        return other(x) + net(x)

    return f, xs(2, 3)


@user()
def functional_call_of_a_module():
    net = nn.Linear(3, 2)

    def f(x, w):
        return torch.func.functional_call(net, {"weight": w, "bias": torch.zeros(2)}, (x,)) + net(x)

    return f, [(torch.randn(4, 3), torch.randn(2, 3)) for _ in range(2)]


@user()
def checkpointed_block():
    from torch.utils.checkpoint import checkpoint

    net = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    return (lambda x: checkpoint(net, x, use_reentrant=False).sum()), xs(2, 3, grad=True)


USERS["checkpointed_block"] = (checkpointed_block, 1)


@user(1)
def vmapped_model():
    w = torch.randn(3, 4, 2)
    return (lambda x: torch.vmap(torch.matmul, in_dims=(None, 0))(x, w) * 2), xs(5, 4)


@user(1)
def per_sample_gradients():
    def loss(w, x):
        return (x @ w).pow(2).sum()

    w = torch.randn(3)
    return (lambda x: torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(w, x)), xs(4, 3)


@user()
def lazy_properties_and_caches():
    class Table:
        def __init__(self, n):
            self.n, self._cache = n, {}

        def get(self, k):
            if k not in self._cache:
                self._cache[k] = torch.arange(self.n) * k
            return self._cache[k]

    t = Table(3)
    return (lambda x, k: (x + t.get(k), len(t._cache))), [(torch.ones(3), 2), (torch.ones(3), 3), (torch.ones(3), 2)]


@user()
def fake_quantisation():
    def f(x):
        scale = x.abs().max() / 127
        q = torch.clamp(torch.round(x / scale), -128, 127)
        return x + (q * scale - x).detach(), q.to(torch.int8)

    return f, xs(3, 4, grad=True)


@user()
def quantisation_stubs():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.quant, self.dequant = torch.ao.quantization.QuantStub(), torch.ao.quantization.DeQuantStub()
            self.fc = nn.Linear(3, 2)
            self.skip = torch.ao.nn.quantized.FloatFunctional()

        def forward(self, x):
            y = self.fc(self.quant(x))
            return self.dequant(self.skip.add(y, y))

    return Net(), xs(2, 3)


@user()
def int8_weights():
    w = torch.randint(-128, 127, (4, 3), dtype=torch.int8)
    s = torch.rand(4, 1)
    return (lambda x: F.linear(x, w.to(x.dtype) * s) + (w >> 4).float().sum()), xs(2, 3)


@user()
def complex_signals():
    def f(x):
        s = torch.stft(x, 8, hop_length=4, window=torch.hann_window(8), return_complex=True)
        mag, phase = s.abs(), s.angle()
        back = torch.istft(torch.polar(mag, phase), 8, hop_length=4, window=torch.hann_window(8))
        return mag.log1p(), back, torch.view_as_real(s * s.conj()).sum()

    return f, xs(2, 32)


@user()
def mel_like_features():
    def f(x):
        frames = x.unfold(-1, 8, 4) * torch.hamming_window(8)
        power = torch.fft.rfft(frames).abs().pow(2)
        bank = torch.clamp(1 - (torch.arange(5.0)[:, None] - torch.linspace(0, 4, 3)[None]).abs(), min=0)
        return torch.log(power @ bank + 1e-6)

    return f, xs(2, 32)


@user()
def batch_padding():
    def f(lengths):
        seqs = [torch.arange(float(n)) for n in lengths]
        padded = nn.utils.rnn.pad_sequence(seqs, batch_first=True, padding_value=-1.0)
        mask = torch.arange(padded.shape[1])[None] < torch.tensor(lengths)[:, None]
        return padded, mask, (padded * mask).sum(1) / mask.sum(1)

    return f, [([3, 1, 2],), ([3, 1, 2],)]


@user(2)
def packed_recurrence():
    net = nn.GRU(2, 3, batch_first=True)

    def f(x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        out, h = net(packed)
        padded, n = nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
        return padded, n, h

    return f, [(torch.randn(3, 4, 2), torch.tensor([2, 4, 3])) for _ in range(2)]


@user(1)
def data_loading():
    from torch.utils.data import DataLoader, TensorDataset

    data = TensorDataset(torch.arange(6.0).view(6, 1), torch.arange(6))
    return (lambda w: sum((x * w).sum() + y.sum() for x, y in DataLoader(data, batch_size=2))), xs(1)


@user()
def augmentation_pipeline():
    class Compose:
        def __init__(self, *steps):
            self.steps = steps

        def __call__(self, x):
            for s in self.steps:
                x = s(x)
            return x

    class Normalize:
        def __init__(self, mean, std):
            self.mean, self.std = torch.tensor(mean).view(-1, 1, 1), torch.tensor(std).view(-1, 1, 1)

        def __call__(self, x):
            return (x - self.mean) / self.std

    pipe = Compose(lambda x: x[:, 1:-1, 1:-1], Normalize([0.5, 0.4], [0.2, 0.3]), lambda x: x.flip(-1), torch.clone)
    return (lambda x: torch.stack([pipe(i) for i in x])), xs(3, 2, 5, 5)


@user()
def mixup_and_cutmix():
    def f(x, y, lam):
        index = torch.arange(len(x)).flip(0)
        mixed = lam * x + (1 - lam) * x[index]
        cut = x.clone()
        cut[:, :, 1:3, 1:3] = x[index, :, 1:3, 1:3]
        hot = F.one_hot(y, 4).float()
        return mixed, cut, lam * hot + (1 - lam) * hot[index]

    return f, [(torch.randn(3, 1, 4, 4), torch.tensor([0, 1, 3]), 0.3), (torch.randn(3, 1, 4, 4), torch.tensor([0, 1, 3]), 0.7)]


@user()
def confusion_matrix():
    def f(pred, target, n=3):
        m = torch.zeros(n, n, dtype=torch.long)
        m.index_put_((target, pred.argmax(1)), torch.ones(len(target), dtype=torch.long), accumulate=True)
        diag = m.diag().float()
        return m, diag / m.sum(0).clamp(min=1), diag / m.sum(1).clamp(min=1)

    return f, [(torch.randn(6, 3), torch.randint(0, 3, (6,))) for _ in range(2)]


@user()
def box_ious():
    def f(a, b):
        lt, rb = torch.max(a[:, None, :2], b[None, :, :2]), torch.min(a[:, None, 2:], b[None, :, 2:])
        inter = (rb - lt).clamp(min=0).prod(-1)
        area = lambda t: (t[:, 2] - t[:, 0]) * (t[:, 3] - t[:, 1])  # noqa: E731
        return inter / (area(a)[:, None] + area(b)[None] - inter)

    return f, [(torch.rand(3, 4).cumsum(-1), torch.rand(2, 4).cumsum(-1)) for _ in range(2)]


@user(1)
def non_maximum_suppression():
    def f(scores, iou):
        keep = []
        order = scores.argsort(descending=True)
        while order.numel():
            i = order[0]
            keep.append(i)
            order = order[1:][iou[i, order[1:]] < 0.5]
        return torch.stack(keep)

    return f, [(torch.randn(4), torch.rand(4, 4)) for _ in range(2)]


@user()
def k_means_steps():
    def f(x, c, steps=3):
        for _ in range(steps):
            label = torch.cdist(x, c).argmin(1)
            hot = F.one_hot(label, len(c)).float()
            c = (hot.t() @ x) / hot.sum(0)[:, None].clamp(min=1)
        return c, label

    return f, [(torch.randn(8, 2), torch.randn(3, 2)) for _ in range(2)]


@user()
def newton_and_power_iteration():
    def f(a):
        v = torch.ones(a.shape[0])
        for _ in range(4):
            v = a @ v
            v = v / v.norm()
        x = torch.tensor(1.0)
        for _ in range(4):
            x = x - (x * x - 2) / (2 * x)
        return v, (v @ a @ v), x, torch.linalg.solve(a @ a.T + torch.eye(len(a)), v), torch.linalg.cholesky(a @ a.T + torch.eye(len(a)))

    return f, xs(3, 3)


@user()
def runge_kutta():
    def field(t, y):
        return torch.stack((y[1], -y[0] - 0.1 * y[1] * t))

    def f(y, n=3, h=0.1):
        t = 0.0
        for _ in range(n):
            k1 = field(t, y)
            k2 = field(t + h / 2, y + h / 2 * k1)
            k3 = field(t + h / 2, y + h / 2 * k2)
            k4 = field(t + h, y + h * k3)
            y, t = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), t + h
        return y, t

    return f, xs(2)


@user()
def neural_field():
    net = nn.Sequential(nn.Linear(10, 8), nn.Softplus(beta=10), nn.Linear(8, 1))

    def f(p):
        freq = 2.0 ** torch.arange(2)
        ang = (p[..., None] * freq).flatten(-2)
        return net(torch.cat((p, ang.sin(), ang.cos()), -1)[..., :10]).squeeze(-1)

    return f, xs(4, 2)


@user()
def volume_rendering():
    def f(sigma, rgb, delta=0.1):
        alpha = 1 - torch.exp(-F.relu(sigma) * delta)
        trans = torch.cumprod(torch.cat((torch.ones_like(alpha[..., :1]), 1 - alpha + 1e-10), -1), -1)[..., :-1]
        w = alpha * trans
        return (w[..., None] * rgb.sigmoid()).sum(-2), w.sum(-1)

    return f, [(torch.randn(2, 5), torch.randn(2, 5, 3)) for _ in range(2)]


@user()
def state_space_scan():
    def f(x, a, b):
        h, out = torch.zeros(x.shape[0], a.shape[0]), []
        for t in range(x.shape[1]):
            h = h * torch.exp(-F.softplus(a)) + x[:, t, None] * b
            out.append(h.sum(-1))
        return torch.stack(out, 1)

    return f, [(torch.randn(2, 4), torch.randn(3), torch.randn(3)) for _ in range(2)]


@user()
def config_driven_model():
    config = {"layers": [("linear", 4, 8), ("relu",), ("dropout", 0.0), ("linear", 8, 2)], "residual": False}
    makers = {"linear": lambda i, o: nn.Linear(i, o), "relu": nn.ReLU, "dropout": lambda p: nn.Dropout(p)}
    net = nn.ModuleList(makers[k](*a) for k, *a in config["layers"])

    def f(x, **options):
        for m in net:
            y = m(x)
            x = y + x if config["residual"] and y.shape == x.shape else y
        return x * options.get("scale", 1.0)

    return f, xs(3, 4)


@user()
def several_heads_and_dict_output():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.heads = nn.ModuleDict({"a": nn.Linear(3, 2), "b": nn.Linear(3, 1)})
            self.scales = nn.ParameterDict({"a": nn.Parameter(torch.ones(1)), "b": nn.Parameter(torch.ones(1) * 2)})
            self.shift = nn.ParameterList([nn.Parameter(torch.zeros(1))])

        def forward(self, x, *, only=None):
            return {k: h(x) * self.scales[k] + self.shift[0] for k, h in self.heads.items() if only is None or k in only}

    return Net(), xs(2, 3)


@user()
def transformer_modules():
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, norm_first=True)
    net = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    mask = nn.Transformer.generate_square_subsequent_mask(4)
    return (lambda x: net(x, mask=mask, is_causal=True)), xs(2, 4, 8)


@user()
def multihead_attention_module():
    net = nn.MultiheadAttention(8, 2, batch_first=True)

    def f(x):
        out, weights = net(x, x, x, need_weights=True, key_padding_mask=torch.zeros(2, 4, dtype=torch.bool))
        return out, weights.argmax(-1)

    return f, xs(2, 4, 8)


@user()
def scripted_helper():
    @torch.jit.script
    def helper(x, n: int):
        return x * n + 1

    return (lambda x: helper(x, 3).sum()), xs(2, 3)


@user()
def inference_mode_blocks():
    net = nn.Linear(3, 2)

    @torch.inference_mode()
    def predict(x):
        return net(x).softmax(-1)

    @torch.no_grad()
    def f(x):
        return predict(x).argmax(-1) + 1, torch.is_grad_enabled(), torch.is_inference_mode_enabled()

    return f, xs(2, 3)


@user()
def grad_modes_mixed():
    w = nn.Parameter(torch.randn(3))

    def f(x):
        with torch.no_grad():
            a = x * w
            with torch.enable_grad():
                b = x * w
        torch.set_grad_enabled(False)
        c = x * w
        torch.set_grad_enabled(True)
        return a.requires_grad, b.requires_grad, c.requires_grad, (b * a.detach() + c).sum()

    return f, xs(3)


@user()
def type_and_device_helpers():
    def f(x):
        y = x.to(torch.float64).to("cpu").type(torch.float32).type_as(x).to(x)
        z = x.new_tensor([1.0, 2.0]) + torch.as_tensor([1.0, 2.0], dtype=x.dtype, device=x.device)
        return y, z, x.type(), torch.Tensor([1, 2]), torch.FloatTensor([3.0]), torch.LongTensor([1]), torch.zeros_like(x, dtype=torch.int), x.device.type

    return f, xs(2, 3)


@user()
def string_and_logging_choices():
    import logging

    log = logging.getLogger("breakline.test.users")
    log.setLevel(logging.ERROR)

    def f(x, mode):
        log.debug("shape %s", x.shape)
        kind = f"{mode}_{x.ndim}d"
        match kind.split("_"):
            case ["sum", d]:
                return x.sum(), d
            case ["mean", _]:
                return x.mean(), kind.upper()
            case other:
                return x, other

    return f, [(torch.ones(2, 2), "sum"), (torch.ones(3), "mean"), (torch.ones(3), "x_y")]


@user()
def errors_become_defaults():
    def f(x, d):
        try:
            w = d["w"]
        except KeyError:
            w = torch.ones(3)
        try:
            y = x @ w.view(2, 2)
        except RuntimeError:
            y = x * w
        finally:
            d["seen"] = d.get("seen", 0) + 1
        return y, d["seen"]

    d = {}
    return f, [(torch.ones(3), d), (torch.ones(3), d), (torch.ones(3), {"w": torch.ones(4)})]


# --- numpy's numbers ------------------------------------------------------------------------------------------------------


@user()
def numpy_functions_of_numbers():
    def f(x):
        y = x.reshape(int(np.prod(x.shape))) * np.sqrt(2.0) + np.log(3) + np.pi
        return y.view(-1, np.prod(x.shape[1:])) / float(np.exp(1.0)), np.maximum(2, 3), np.ceil(x.shape[0] / 2), np.clip(7, 0, 5), np.mean([1, 2])

    return f, xs(2, 3) + xs(4, 3)


@user()
def numpy_scalars_in_operations():
    half, tenth, one, small = np.float64(0.5), np.float32(0.1), np.int64(1), np.int8(3)

    def f(x):
        i = torch.ones(2, dtype=torch.int64)
        return (
            [x * half, half * x, x + tenth, tenth - x, x**half, x / small, small + x, x > half, half < x, x == one, one == x, x.clamp(half, one)],
            [torch.tensor(v) for v in (half, tenth, one, small)],
            [i * half, i * one, i + small, i * np.bool_(True), torch.ones(2) * np.bool_(True), x.half() * half, x.double() * tenth],
            [x[one], x[:, one:], x.sum(one), x.view(one, -1), torch.zeros(one, small), torch.arange(small), torch.full((2,), half), x.new_tensor(half)],
            [torch.where(x > 0, half, x), torch.add(x, 1, alpha=half), x.masked_fill(x > 1, np.float64("inf")), torch.linspace(half, one, small)],
        )

    return f, [(torch.rand(2, 3),), (torch.rand(2, 3),)]


@user()
def numpy_scalars_among_themselves():
    a, b, c = np.float64(2.5), np.int64(7), np.float32(0.1)

    def f(x):
        return x.sum(), a + 1, 1 + a, a * b, b // 2, b % 3, -a, a > b, b == 7, bool(a), int(b), float(c), round(a, 1), f"{a:.2f}", repr(b), a.item(), b.dtype.name

    return f, xs(2)


@user()
def numpy_types_kept():
    a, b, c = np.float64(2.5), np.int64(7), np.float32(0.1)

    def f(x):
        return x + 1, type(c + c).__name__, type(a * b).__name__, type(np.sqrt(c)).__name__, {7: "x"}[b], isinstance(a, float), isinstance(b, int), divmod(b, 2)

    return f, xs(2)


@user()
def numpy_scalar_that_changes():
    held = []

    def f(x, v):
        held[:] = [v]
        return x * held[0], v == 2

    values = (np.float64(1), np.float64(2), np.float32(2), np.int64(2), 2.0, np.float64(-0.0), np.float64(0.0), np.float64("nan"), np.bool_(True))
    return f, [(torch.ones(2), v) for v in values]


@user(places=4)
def numpy_warns_each_time():
    def f(x):
        seen = []
        with np.errstate(divide="call", call=lambda kind, flag: seen.append(kind)):
            a = np.log(0.0)
        return x + 1, a, seen

    return f, xs(2, n=3)


# --- modules made on the way ----------------------------------------------------------------------------------------------


@user(places=2)
def model_made_and_initialised():
    def fill(m):
        if isinstance(m, nn.Linear):
            nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            nn.init.zeros_(m.bias)

    def f(x):
        torch.manual_seed(0)
        m = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.GELU(), nn.BatchNorm1d(4), nn.Linear(4, 2))
        m.apply(fill)
        return m(x), sum(p.numel() for p in m.parameters() if p.requires_grad), sorted(m.state_dict())

    return f, xs(2, 3)


@user(places=5)  # trunc_normal_ looks at its mean three times; eye_ writes into a parameter
def initialisers():
    def f(x):
        torch.manual_seed(0)
        w = nn.Parameter(torch.empty(3, 4))
        filled = [nn.init.uniform_(w, -1, 1).clone(), nn.init.normal_(w, 0, 0.1).clone(), nn.init.xavier_uniform_(w).clone(), nn.init.xavier_normal_(w).clone()]
        filled += [nn.init.kaiming_uniform_(w, a=5**0.5).clone(), nn.init.trunc_normal_(w, std=0.02).clone(), nn.init.eye_(w).clone(), nn.init.constant_(w, 3.0).clone()]
        try:
            nn.init.xavier_uniform_(torch.empty(3))
        except ValueError as e:
            return x, filled, str(e), nn.init.calculate_gain("relu")

    return f, xs(2, 3)


@user(places=1)
def state_saved_and_loaded():
    m = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))

    def f(x):
        saved = {k: v.clone() for k, v in m.state_dict().items()}
        m.train()
        y = m(x)
        m.load_state_dict(saved)
        m.eval()
        return y, m(x), m[1].num_batches_tracked.clone(), list(saved)

    return f, xs(4, 3)


# --- arrays of the caller's -----------------------------------------------------------------------------------------------


def arrays(*shapes):
    return [tuple(np.arange(float(np.prod(s))).reshape(s) / 7 - 1 for s in shapes) for _ in range(2)]


@user()
def array_arithmetic():
    def f(a, b):
        c = (a * 2 - b) ** 2
        return a + b, -a, a < 0.5, 3 / (c + 1), len(a), a.shape, a.strides, a.T, c @ b.T, a[1, ::2], a[0]

    return f, arrays((3, 4), (3, 4))


@user()
def array_methods():
    def f(a):
        return a.sum(), a.mean(axis=0), a.reshape(-1), a.max(), (a * 5).astype(np.int64) + 8, [row * 2 for row in a], a.copy()

    return f, arrays((2, 3)) + arrays((4, 3))


@user()
def array_functions():
    def f(a):
        x, y = np.meshgrid(a[0], a[:, 0])
        return x * y, np.take_along_axis(a, np.array([[1, 0, 1]]), 0), np.fft.fftshift(a), np.nansum(a), np.full_like(a, 2.5, dtype=np.dtype("float32"))

    return f, arrays((2, 3))


@user()
def array_beside_a_tensor():
    def f(x, a):
        return x + torch.from_numpy(a * 2), torch.tensor(a).sum() + x.sum()

    return f, [(torch.ones(3), np.arange(3.0)), (torch.zeros(3), np.arange(3.0) + 1)]


@user()
def where_the_process_stands():
    def f(x):
        y = x * 2
        if torch.onnx.is_in_onnx_export() or torch.fx._symbolic_trace.is_fx_tracing():
            y = y + 100
        return y + 1 if torch.autograd._is_checkpoint_valid() else y

    return f, xs(3)


# More places than the program needs, as it stands: each is work to do, and none may grow.
STILL_BREAK = {
    "many_indexings": 1,
    "training_step": 3,
    "training_step_clipped": 4,
    "state_dict_reads": 1,
    "complex_signals": 3,
    "non_maximum_suppression": 2,
}
