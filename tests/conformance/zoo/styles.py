# SPDX-License-Identifier: GPL-3.0-or-later
"""Small models in the ways public packages are written; they need torch only. `places`: how many may break."""

import collections
import dataclasses
import functools
import inspect
from collections.abc import MutableMapping
from typing import Optional

import torch
import torch.nn.functional as F
from torch import nn

from case import Case

ENTRIES = {}


def entry(build):
    ENTRIES[build.__name__] = build
    return build


# A configuration with renamed fields, outputs that are ordered dicts with attributes, a registry of functions.


class Config:
    aliases = {"width": "hidden"}

    def __init__(self, **fields):
        self.__dict__.update(dict(hidden=16, heads=2, layers=3, cached=True, return_dict=True), **fields)

    def __getattribute__(self, name):
        if name != "aliases" and name in super().__getattribute__("aliases"):
            name = super().__getattribute__("aliases")[name]
        return super().__getattribute__(name)


@dataclasses.dataclass
class Output(collections.OrderedDict):
    hidden: Optional[torch.Tensor] = None
    pooled: Optional[torch.Tensor] = None
    states: Optional[tuple] = None

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None:
                self[field.name] = value

    def __getitem__(self, key):
        return dict(self.items())[key] if isinstance(key, str) else self.to_tuple()[key]

    def __setattr__(self, name, value):
        if name in self.keys() and value is not None:
            super().__setitem__(name, value)
        super().__setattr__(name, value)

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        super().__setattr__(key, value)

    def to_tuple(self):
        return tuple(self[k] for k in self.keys())


class Registry(MutableMapping):
    shared = {}

    def __init__(self):
        self.own = {}

    def __getitem__(self, key):
        return self.own[key] if key in self.own else self.shared[key]

    def __setitem__(self, key, value):
        self.own[key] = value

    def __delitem__(self, key):
        del self.own[key]

    def __iter__(self):
        return iter({**self.shared, **self.own})

    def __len__(self):
        return len(self.shared.keys() | self.own.keys())


def attend(q, k, v, **extra):
    return F.scaled_dot_product_attention(q, k, v)


KERNELS = Registry()
KERNELS["plain"] = attend


class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads = config.heads
        self.qkv, self.out = nn.Linear(config.width, 3 * config.width), nn.Linear(config.width, config.width)
        self.norm = nn.LayerNorm(config.width)

    def forward(self, x, **extra):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(self.norm(x)).chunk(3, -1))
        kernel = KERNELS.get("plain", attend) if "plain" in KERNELS else attend
        return x + self.out(kernel(q, k, v, **extra).transpose(1, 2).reshape(b, t, c))


class Encoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))

    def forward(self, x, scale=None, return_dict=None):
        return_dict = return_dict if return_dict is not None else getattr(self.config, "return_dict", True)
        states = ()
        for layer in self.layers[: self.config.layers - 1]:
            states += (x,)
            accepted = {k: v for k, v in dict(scale=scale, other=1).items() if k in inspect.signature(layer.forward).parameters}
            x = layer(x, **accepted)
        out = Output(hidden=x, pooled=x.mean(1), states=states)
        return out if return_dict else out.to_tuple()


@entry
def encoder_outputs():
    return Case(Encoder(Config()).eval(), (torch.randn(2, 5, 16),), places=0)


@entry
def encoder_wrapped_train():
    class Head(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = Encoder(Config(layers=2)), nn.Linear(16, 3)

        def forward(self, x, labels=None):
            out = self.body(x)
            logits = self.head(out["pooled"])
            loss = F.cross_entropy(logits, labels) if labels is not None else None
            out.logits, out["loss"] = logits, loss
            return out

    return Case(Head().train(), (torch.randn(4, 5, 16), torch.tensor([0, 2, 1, 1])), train=True, places=0)


# Patterns parsed once behind a cache; a backend found among subclasses.


ARROW, UNKNOWN = "->", -1


class Plan:
    def __init__(self, order, merged, known):
        self.order, self.merged, self.known = order, merged, known


@functools.lru_cache(maxsize=64)
def parse(pattern, names=()):
    """Reads names of its module, as such functions do."""
    left, right = (side.split() for side in pattern.split(ARROW))
    return Plan(tuple(left.index(name) for name in right), len(right) - len(set(right)), [left.index(n) if n in left else UNKNOWN for n in names])


class Recipe:
    def __init__(self, plan, sizes):
        self.plan, self.sizes = plan, sizes


@functools.lru_cache(maxsize=64)
def recipe(plan, sizes):
    return Recipe(plan, tuple(sizes[i] for i in plan.order))


class Backend:
    kind = None

    def permute(self, x, order):
        raise NotImplementedError


class TorchBackend(Backend):
    kind = torch.Tensor

    def permute(self, x, order):
        return x.permute(order)


def backend_of(x):
    for cls in Backend.__subclasses__():
        if cls.kind is not None and isinstance(x, cls.kind):
            return cls()
    raise RuntimeError("no backend")


@entry
def patterns():
    def fn(x):
        made = recipe(parse("a b c -> c a b", names=("b", "d")), tuple(x.shape))
        y = backend_of(x).permute(x, made.plan.order)
        return y.reshape(made.sizes[0], -1) * 2, made.sizes

    return Case(fn, (torch.randn(2, 3, 4),), again=lambda i: ((torch.randn(2, 3, 4 + i),), {}), places=0)


# Checks of PyTorch that only assert, reductions of precision, dtype limits.


@entry
def checks_and_limits():
    class Mask(nn.Module):
        def forward(self, x, keep):
            torch._assert(x.dim() == 3, "three dimensions are needed")
            torch._check(keep.shape[0] == x.shape[0])
            if not torch.is_tensor(keep) or torch.jit.is_tracing() or torch.jit.is_scripting():
                return x
            low = torch.finfo(x.dtype).min
            scores = (x @ x.transpose(1, 2)).masked_fill(~keep[:, None, :], low / 2)
            if torch.are_deterministic_algorithms_enabled():
                scores = scores.contiguous()
            return scores.softmax(-1) @ x

    keep = torch.ones(2, 5, dtype=torch.bool)
    keep[1, 3:] = False
    return Case(Mask(), (torch.randn(2, 5, 8), keep), places=0)


# A cache that grows, tokens fed back.


class Cache:
    def __init__(self):
        self.keys, self.values = [], []

    def update(self, k, v, layer):
        if len(self.keys) <= layer:
            self.keys.append(k)
            self.values.append(v)
        else:
            self.keys[layer] = torch.cat([self.keys[layer], k], 1)
            self.values[layer] = torch.cat([self.values[layer], v], 1)
        return self.keys[layer], self.values[layer]

    def __len__(self):
        return self.keys[0].shape[1] if self.keys else 0


@entry
def decoding_with_a_cache():
    class Block(nn.Module):
        def __init__(self, index):
            super().__init__()
            self.index, self.q, self.kv = index, nn.Linear(8, 8), nn.Linear(8, 16)

        def forward(self, x, cache):
            k, v = cache.update(*self.kv(x).chunk(2, -1), self.index)
            return x + F.scaled_dot_product_attention(self.q(x), k, v, is_causal=x.shape[1] > 1)

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.position, self.head = nn.Embedding(32, 8), nn.Embedding(32, 8), nn.Linear(8, 32)
            self.blocks = nn.ModuleList(Block(i) for i in range(2))

        def forward(self, ids, cache):
            x = self.embed(ids) + self.position(torch.arange(len(cache), len(cache) + ids.shape[1]))
            for block in self.blocks:
                x = block(x, cache)
            return self.head(x)

    model = Decoder().eval()

    def generate(ids):
        cache, out = Cache(), []
        for _ in range(4):
            ids = model(ids, cache)[:, -1:].argmax(-1)
            out.append(ids)
        return torch.cat(out, 1), len(cache)

    return Case(generate, (torch.randint(0, 32, (2, 5)),), modules=model, around=torch.no_grad, places=0)


# Buffers updated in place, a running average of a codebook.


@entry
def codebook_train():
    class Codebook(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("codes", torch.randn(8, 4))
            self.register_buffer("counts", torch.ones(8))
            self.inner = nn.Linear(4, 4)

        def forward(self, x):
            x = self.inner(x)
            nearest = torch.cdist(x.detach(), self.codes).argmin(-1)
            picked = self.codes[nearest]
            if self.training:
                with torch.no_grad():
                    one = F.one_hot(nearest, 8).to(x.dtype)
                    self.counts.mul_(0.9).add_(one.sum(0), alpha=0.1)
                    self.codes.lerp_(one.t() @ x, 0.1)
            return x + (picked - x).detach(), F.mse_loss(x, picked.detach())

    return Case(Codebook().train(), (torch.randn(6, 4),), train=True, places=0)


# Messages between nodes, pooled by graph.


@entry
def message_passing():
    class Conv(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(5, 5)
            self.arguments = {name: p for name, p in inspect.signature(self.message).parameters.items()}

        def message(self, x_j, weight=None):
            return x_j if weight is None else x_j * weight[:, None]

        def forward(self, x, edges, weight=None):
            source, target = edges[0], edges[1]
            given = dict(x_j=x.index_select(0, source), weight=weight)
            sent = self.message(**{name: given[name] for name in self.arguments})
            total = torch.zeros_like(x).index_add(0, target, sent)
            return F.relu(self.lin(total))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = Conv(), Conv()

        def forward(self, x, edges, batch, size: int):
            x = self.b(self.a(x, edges), edges)
            return torch.zeros(size, 5).index_add(0, batch, x)

    return Case(Net().train(), (torch.randn(7, 5), torch.randint(0, 7, (2, 20)), torch.tensor([0, 0, 0, 1, 1, 1, 1]), 2), train=True, places=0)


# Training: gradients looked at, clipped by hand, an optimiser outside the traced part.


@entry
def gradients_read():
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))

    def step(x, y):
        for p in net.parameters():
            p.grad = None
        loss = F.mse_loss(net(x), y)
        loss.backward()
        total = sum((p.grad ** 2).sum() for p in net.parameters()).sqrt()
        with torch.no_grad():
            for p in net.parameters():
                p -= 0.1 * p.grad / (total + 1)
        return loss.detach(), total

    return Case(step, (torch.randn(6, 4), torch.randn(6, 1)), modules=net, places=2)


@entry
def autocast_region():
    net = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 2))

    def fn(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            low = net(x)
        return low, net(x)

    return Case(fn, (torch.randn(3, 8),), modules=net, places=0)


# Metric objects with states made by name.


@entry
def metric_states():
    class Metric:
        def __init__(self):
            self._defaults = {}
            self.add("right", torch.tensor(0))
            self.add("seen", torch.tensor(0))

        def add(self, name, default):
            setattr(self, name, default.clone())
            self._defaults[name] = default

        def reset(self):
            for name, default in self._defaults.items():
                setattr(self, name, default.clone())

        def update(self, logits, truth):
            self.right = self.right + (logits.argmax(-1) == truth).sum()
            self.seen = self.seen + truth.numel()

        def compute(self):
            return self.right / self.seen

    metric = Metric()

    def evaluate(logits, truth):
        metric.reset()
        for a, b in zip(logits, truth):
            metric.update(a, b)
        return metric.compute()

    return Case(evaluate, (torch.randn(3, 5, 4), torch.randint(0, 4, (3, 5))), places=0)


# Lists and dicts of a library's own.


class Stack(list):
    def top(self):
        return self[-1]


class Features(dict):
    def __missing__(self, key):
        return None

    def __getattr__(self, name):
        return self[name]


@entry
def own_containers():
    def fn(x):
        levels = Stack([x])
        for i in range(3):
            levels.append(F.avg_pool1d(levels.top(), 2) + i)
        named = collections.OrderedDict((f"level{i}", y) for i, y in enumerate(levels))
        picked = Features(first=named["level0"], last=named.popitem()[1])
        return levels, picked["first"].sum() + picked["last"].sum(), len(levels), list(named)

    return Case(fn, (torch.randn(1, 2, 16),), places=0)
