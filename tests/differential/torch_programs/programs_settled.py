# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that read tensors made of constants alone, and some that only seem to: name → (maker as in programs.py, places that may break).
Also calls behind functools.lru_cache that act outside once, and modules moved where they already are."""

import functools

import numpy as np
import torch
import torch.nn as nn

SETTLED = {}


def settled(places=0):
    def add(make):
        SETTLED[make.__name__] = (make, places)
        return make

    return add


def xs(*sizes, n=2):
    return [(torch.randn(*sizes),) for _ in range(n)]


@settled()
def size_divided_by_torch():
    def f(x):
        chunks = torch.div(x.size(1), 4, rounding_mode="trunc")
        return x.view(x.size(0), chunks, 4).sum(-1) * torch.div(x.size(1), 2, rounding_mode="floor").item()

    return f, xs(2, 8)


@settled(2)
def size_divided_by_torch_many_sizes():
    def f(x):
        chunks = torch.div(x.size(1), 4, rounding_mode="trunc")
        return x.view(x.size(0), chunks, 4).sum(-1) + int(chunks)

    return f, [(torch.randn(2, n),) for n in (8, 12, 16, 20, 4, 8)]


@settled()
def items_of_constants():
    def f(x):
        t = torch.tensor([1.5, 2.5, 3.5])
        n = torch.tensor(3)
        return x * t[1].item() + t.sum().item() + n.item() + float(t[0]) + int(n * 2) + len(t.tolist()), t.tolist(), bool(n > 2)

    return f, xs(3)


@settled()
def loop_over_a_range_tensor():
    def f(x):
        for i in torch.arange(4):
            x = x + i.item() * torch.ones(2)[0].item()
        return x, [int(v) for v in torch.linspace(0, 10, 5)]

    return f, xs(3)


@settled()
def branch_on_constants():
    def f(x):
        scale = torch.sqrt(torch.tensor(x.size(-1), dtype=torch.float32))
        if scale > 1:
            x = x / scale
        if not torch.equal(torch.tensor([1, 2]), torch.arange(1, 3)):
            x = x - 100
        return x if torch.allclose(torch.ones(2), torch.full((2,), 1.0)) else -x

    return f, xs(3, 4)


@settled()
def numbers_as_sizes_and_indices():
    def f(x):
        n, names = torch.tensor(2), ["a", "b", "c"]
        return x.view(n, -1)[:n, : torch.tensor(3)], names[n], (4, 5, 6)[torch.tensor(-1)], torch.zeros(n, n) + x.sum(), x.reshape([torch.tensor(4), 3])

    return f, xs(12)


@settled()
def product_of_a_shape():
    def f(x):
        count = torch.prod(torch.tensor(x.shape)).item()
        return x / count, torch.tensor(list(x.shape)).max().item()

    return f, xs(3, 4)


@settled()
def in_no_grad_and_other_dtypes():
    def f(x):
        with torch.no_grad():
            k = (torch.tensor(7, dtype=torch.int32) // 2).item()
        return x * k + torch.tensor(True).item() + torch.tensor(2 + 1j).item().real + torch.tensor(0.1, dtype=torch.bfloat16).item()

    return f, xs(3)


@settled()
def assertion_of_a_constant():
    def f(x):
        t = torch.tensor(5)
        assert t > 3, "never"
        if t < 3:
            raise ValueError("never")
        return x + t

    return f, xs(3)


@settled()
def tensor_handed_out_as_well():
    def f(x):
        t = torch.arange(3)
        return x + t[2].item(), t, t + 1

    return f, xs(3)


@settled(1)
def written_before_it_is_read():
    def f(x):
        t = torch.zeros(3)
        t[0] = 5
        return x * t.sum().item()

    return f, xs(3)


@settled(1)
def view_written_before_it_is_read():
    def f(x):
        t = torch.zeros(3)
        v = t[1:]
        v.add_(2)
        return x * t.sum().item()

    return f, xs(3)


@settled(2)
def written_between_two_reads():
    def f(x):
        t = torch.ones(2)
        a = t.sum().item()
        t.mul_(3)
        return x * a + t.sum().item()

    return f, xs(3)


@settled(1)
def array_of_it_written():
    def f(x):
        t = torch.ones(2)
        a = t.numpy()
        a[0] = 7
        return x * t.sum().item()

    return f, xs(3)


@settled(1)
def filled_by_the_generator():
    def f(x):
        return x * torch.rand(1).item(), torch.empty(2).fill_(3.0).sum()

    return f, xs(3)


@settled(1)
def default_dtype_set_inside():
    def f(x):
        torch.set_default_dtype(torch.float64)
        try:
            t = torch.tensor(0.1)
            return x * t.item(), t
        finally:
            torch.set_default_dtype(torch.float32)

    return f, xs(3)


@settled(1)
def depends_on_an_input():
    def f(x, n):
        return x * torch.tensor(n).item() + (x.sum() * 0 + 1).item()

    return f, [(torch.randn(3), n) for n in (1, 2, 3, 4)]


@settled(2)
def numbers_that_change():
    def f(x, n):
        return x * torch.tensor(n).item() if torch.tensor(n) > 2 else x - torch.tensor([n, n]).sum().item()

    return f, [(torch.randn(3), n) for n in (1, 2, 3, 4, 5, 1)]


@settled(1)
def array_made_of_a_list():
    def f(x):
        t = torch.from_numpy(np.array([1.0, 2.0]))
        return x * t.sum().item()

    return f, xs(3)


@settled()
def warns_when_it_is_made():
    def f(x):
        t = torch.tensor(torch.tensor(2.5))
        return x * t.item()

    return f, xs(3)


CALLED = []


@torch.library.custom_op("settled_programs::noted", mutates_args=())
def noted(t: torch.Tensor) -> torch.Tensor:
    CALLED.append(float(t))
    return t + 1


@noted.register_fake
def _(t):
    return torch.empty_like(t)


@settled(1)
def operator_of_the_users_own():
    def f(x):
        return x * torch.ops.settled_programs.noted(torch.tensor(2.0)).item(), len(CALLED)

    CALLED.clear()
    return f, xs(3)


SAID = []


@functools.lru_cache(None)
def say_once(kind, text):
    SAID.append((kind, text))
    return len(SAID)


class Speaker:
    @functools.lru_cache(None)
    def once(self, text):
        SAID.append(text)


SPEAKER = Speaker()


@settled(2)
def said_once():
    def f(x):
        y = x + 1
        SPEAKER.once("careful")
        y = y * 2
        return y + say_once("a", "b"), list(SAID)

    SAID.clear()
    say_once.cache_clear()
    Speaker.once.cache_clear()
    return f, xs(3, n=4)


@settled()
def said_long_ago():
    def f(x):
        SPEAKER.once("careful")
        return x * 2, list(SAID)

    SAID.clear()
    Speaker.once.cache_clear()
    SPEAKER.once("careful")
    return f, xs(3, n=3)


class Moves(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))

    def forward(self, x):
        self.inner = self.inner.to(x.dtype)
        return self.inner.to(x.device, x.dtype)(x).to("cpu", torch.float64)


@settled()
def module_moved_where_it_is():
    return Moves().eval(), xs(2, 4, n=3)
