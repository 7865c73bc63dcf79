# SPDX-License-Identifier: GPL-3.0-or-later
"""Training and inference code around a model, as people write it, each as the function that is compiled; torch only.
`places`: how many places may break (those that read a value, act outside or run autograd)."""

import contextlib
import functools
import inspect
import threading
import weakref
from collections import OrderedDict

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

from case import Case, entries_of

ENTRIES, MISSING, entry = entries_of()


def net():
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 3))


def batch(count=8):
    return torch.randn(count, 6), torch.randint(0, 3, (count,))


# ---------------------------------------------------------------- training steps


def trainer(make_optimizer, places, schedule=None, clip=None):
    """zero_grad, forward, backward, clipping, step and schedule in one function."""
    model = net().train()
    optimizer = make_optimizer(model.parameters())
    scheduler = schedule(optimizer) if schedule else None

    def step(x, y):
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), clip) if clip else None
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
        return loss.detach(), norm, optimizer.param_groups[0]["lr"]

    return Case(step, batch(), modules=model, places=places)


for name, make, more in [
    ("sgd", lambda p: torch.optim.SGD(p, lr=0.05), {}),
    ("momentum", lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True), dict(clip=1.0)),
    ("adamw", lambda p: torch.optim.AdamW(p, lr=1e-2), dict(schedule=lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 5))),
    ("adam_foreach", lambda p: torch.optim.Adam(p, lr=1e-2, foreach=True), dict(clip=0.5)),
    ("rmsprop", lambda p: torch.optim.RMSprop(p, lr=1e-2), dict(schedule=lambda o: torch.optim.lr_scheduler.StepLR(o, 2))),
    ("onecycle", lambda p: torch.optim.AdamW(p, lr=1e-2), dict(schedule=lambda o: torch.optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=9))),
]:
    def build(make=make, more=more):
        return trainer(make, None, **more)

    build.__name__ = "train_" + name
    entry("torch")(build)


@entry("torch")
def train_epoch():
    """An epoch over a loader."""
    model = net().train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    loader = DataLoader(TensorDataset(*batch(12)), batch_size=4, shuffle=True)

    def epoch(scale):
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y) * scale
            loss.backward()
            optimizer.step()
            total += loss.item()
        return total / len(loader)

    return Case(epoch, (torch.tensor(1.5),), modules=model)


@entry("torch")
def evaluate_loader():
    model = net().eval()
    loader = DataLoader(TensorDataset(*batch(10)), batch_size=4, drop_last=True)

    @torch.no_grad()
    def evaluate():
        hits = torch.zeros((), dtype=torch.long)
        for i, (x, y) in enumerate(loader):
            hits += (model(x).argmax(1) == y).sum()
        return hits

    return Case(evaluate, modules=model)


@entry("torch")
def train_accumulated():
    """Gradients of several parts, a skipped update, an exponential average of the weights."""
    model, average = net().train(), net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

    def step(xs, ys):
        optimizer.zero_grad()
        for x, y in zip(xs.chunk(2), ys.chunk(2)):
            (F.cross_entropy(model(x), y) / 2).backward()
        norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
        if torch.isfinite(norm):
            optimizer.step()
        with torch.no_grad():
            for a, p in zip(average.parameters(), model.parameters()):
                a.mul_(0.9).add_(p, alpha=0.1)
        return norm

    return Case(step, batch(), modules=nn.ModuleList([model, average]))


@entry("torch")
def train_autocast():
    model = net().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

    def step(x, y):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return Case(step, batch(), modules=model)


@entry("torch")
def gan_step():
    maker, judge = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 6)), nn.Sequential(nn.Linear(6, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
    of_maker, of_judge = (torch.optim.Adam(m.parameters(), lr=1e-3, betas=(0.5, 0.9)) for m in (maker, judge))

    def step(real):
        noise = torch.randn(real.shape[0], 4)
        fake = maker(noise)
        of_judge.zero_grad()
        loss_judge = F.softplus(-judge(real)).mean() + F.softplus(judge(fake.detach())).mean()
        loss_judge.backward()
        of_judge.step()
        of_maker.zero_grad()
        loss_maker = F.softplus(-judge(fake)).mean()
        loss_maker.backward()
        of_maker.step()
        return loss_judge.detach(), loss_maker.detach()

    return Case(step, (torch.randn(5, 6),), modules=nn.ModuleList([maker, judge]))


@entry("torch")
def penalty_of_gradient():
    """torch.autograd.grad with create_graph inside the loss."""
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))

    def loss(x):
        x = x.detach().requires_grad_()
        (slope,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
        return (slope.norm(dim=1) - 1).square().mean()

    return Case(loss, (torch.randn(4, 6),), train=True, modules=model)


# ---------------------------------------------------------------- hooks, locks, wrappers


class Installed(nn.Module):
    """Hooks are put in place by the first call, under a lock, and fill a list that the call collects."""

    lock = threading.Lock()

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(6, 6) for _ in range(3))
        self.seen = []

    def install(self):
        if getattr(self, "installed", False):
            return
        with self.lock:
            if getattr(self, "installed", False):
                return
            for layer in self.layers:
                layer.register_forward_hook(lambda module, args, out: self.seen.append(out))
            self.installed = True

    def forward(self, x):
        self.install()
        self.seen = []
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x, tuple(self.seen)


@entry("torch")
def hooks_installed_late():
    return Case(Installed().eval(), (torch.randn(2, 6),), places=2)  # the lock, taken and given back


@entry("torch")
def hook_for_one_call():
    """A hook that is registered and removed within the call."""
    model = net().eval()

    def features(x):
        kept = OrderedDict()
        handle = model[1].register_forward_hook(lambda module, args, out: kept.update(hidden=out))
        try:
            out = model(x)
        finally:
            handle.remove()
        return out, kept["hidden"]

    return Case(features, batch()[:1], modules=model, places=0)


@entry("torch")
def hook_as_context():
    model = net().eval()

    def features(x):
        kept = []
        with model[0].register_forward_pre_hook(lambda module, args: kept.append(args[0] * 2)):
            return model(x), kept[0]

    return Case(features, batch()[:1], modules=model, places=0)


@entry("torch")
def recursive_lock():
    lock, counts = threading.RLock(), {}

    def note(name):
        with lock:
            counts[name] = counts.get(name, 0) + 1

    def run(x):
        with lock:
            note("calls")
            note("rows")
        lock.acquire()
        try:
            y = x * counts["calls"]
        finally:
            lock.release()
        return y, dict(counts)

    return Case(run, (torch.randn(3),))


@entry("torch")
def weak_parent():
    """A child that knows its parent by a weak reference made in the call."""

    class Child(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.parent = nn.Linear(6, 6), None

        def forward(self, x):
            return self.linear(x) * self.parent().scale

    class Parent(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale, self.child = 0.5, Child()

        def forward(self, x):
            self.child.parent = weakref.ref(self)
            return self.child(x)

    return Case(Parent().eval(), (torch.randn(2, 6),), places=0)


@entry("torch")
def order_of_cache():
    """A cache that keeps what was used last at its end."""
    cache = OrderedDict()

    def lookup(x, *names):
        for name in names:
            if name in cache:
                cache.move_to_end(name)
            else:
                cache[name] = len(cache) + 1
            if len(cache) > 2:
                cache.popitem(last=False)
        return x * sum(cache.values()), list(cache)

    return Case(lookup, (torch.randn(3), "a", "b", "a", "c"), places=0)


@entry("torch")
def checkpointed():
    class Blocks(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList(net() for _ in range(2))
            self.out = nn.Linear(3, 6)

        def forward(self, x):
            for block in self.blocks:
                x = x + self.out(checkpoint(block, x, use_reentrant=False))
            return x

    return Case(Blocks().train(), (torch.randn(4, 6, requires_grad=True),), train=True)


@entry("torch")
def decorated_forward():
    """Arguments looked up by signature, defaults merged, the result wrapped; functools.wraps as in many packages."""

    def fill_defaults(forward):
        names = list(inspect.signature(forward).parameters)

        @functools.wraps(forward)
        def wrapper(self, *args, **kwargs):
            merged = {**self.defaults, **dict(zip(names[1:], args)), **kwargs}
            bound = inspect.signature(forward).bind(self, **merged)
            return forward(*bound.args, **bound.kwargs)

        return wrapper

    class Model(nn.Module):
        defaults = {"scale": 2.0}

        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(6, 6)

        @fill_defaults
        def forward(self, x, scale, shift=0.0):
            return self.linear(x) * scale + shift

    return Case(Model().eval(), (torch.randn(2, 6),), dict(shift=1.0), places=7)  # a signature of a function that may change: its parameters are read for real


@entry("torch")
def managed_by_generator():
    """contextlib on generators that keep a state and put it back."""
    model = net()

    @contextlib.contextmanager
    def mode(module, training):
        before = module.training
        module.train(training)
        try:
            yield module
        finally:
            module.train(before)

    def run(x):
        with mode(model, False) as plain, contextlib.ExitStack() as stack:
            stack.enter_context(torch.no_grad())
            a = plain(x)
            stack.callback(list.append, [], 1)
        with contextlib.suppress(KeyError):
            {}["none"]
        return a, model(x), model.training

    return Case(run, batch()[:1], modules=model, places=0)


# ---------------------------------------------------------------- recurrent nets


class Recurrent(nn.Module):
    def __init__(self, kind, **settings):
        super().__init__()
        self.cell, self.head = kind(6, 8, **settings), nn.Linear(8 * (2 if settings.get("bidirectional") else 1), 3)

    def forward(self, x, state=None):
        out, state = self.cell(x, state)
        return self.head(out), state


for name, kind, settings in [("lstm", nn.LSTM, dict(batch_first=True, num_layers=2, dropout=0.1)), ("gru", nn.GRU, dict(bidirectional=True)),
                             ("rnn", nn.RNN, dict(nonlinearity="relu"))]:
    def build(kind=kind, settings=settings):
        return Case(Recurrent(kind, **settings).train(), (torch.randn(3, 5, 6),), train=True, places=0)

    build.__name__ = "recurrent_" + name
    entry("torch")(build)


@entry("torch")
def recurrent_cells():
    """An LSTMCell over time, with the state passed on by hand."""
    cell, head = nn.LSTMCell(6, 8), nn.Linear(8, 3)

    def decode(xs):
        h = c = xs.new_zeros(xs.shape[1], 8)
        out = []
        for x in xs:
            h, c = cell(x, (h, c))
            out.append(head(h))
        return torch.stack(out)

    return Case(decode, (torch.randn(4, 2, 6),), train=True, modules=nn.ModuleList([cell, head]), places=0)


@entry("torch")
def encoder_of_torch():
    layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.1, batch_first=True)
    mask = torch.zeros(2, 5, dtype=torch.bool)
    mask[1, 3:] = True
    return Case(nn.TransformerEncoder(layer, 2).train(), (torch.randn(2, 5, 16),), dict(src_key_padding_mask=mask), train=True)
