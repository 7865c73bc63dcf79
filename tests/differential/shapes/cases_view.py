# SPDX-License-Identifier: GPL-3.0-or-later
"""Random calls of views, indexing and conversions."""
import operator

import torch
from harness import ANY


def factorise(m, n):
    """Random sizes with product n; n = 0 and 1 included."""
    out = []
    while n > 1 and m.chance(0.8):
        divisors = [d for d in range(1, n + 1) if n % d == 0]
        d = m.rng.choice(divisors)
        out.append(d)
        n //= d
    out.append(n)
    if m.chance(0.3):
        out.insert(m.rng.randint(0, len(out)), 1)
    if m.chance(0.3) and 0 not in out:
        out[m.rng.randrange(len(out))] = -1
    return out


def dim_of(m, rank):
    return m.rng.randrange(-max(rank, 1), max(rank, 1))


def index_item(m, size):
    kind = m.rng.random()
    if kind < 0.3 and size > 0:
        return m.rng.randrange(-size, size)
    if kind < 0.8:
        def edge():
            return m.rng.choice([None, m.rng.randint(-size - 1, size + 1)])
        return slice(edge(), edge(), m.rng.choice([None, 1, 2, 3]))
    return slice(None)


def random_index(m, sizes):
    items = [index_item(m, s) for s in sizes[:m.rng.randint(0, len(sizes))]]
    if m.chance(0.3):
        items.insert(m.rng.randint(0, len(items)), None)
    if m.chance(0.3):
        rest = m.rng.randint(0, len(items))
        back = [index_item(m, s) for s in sizes[len(sizes) - min(rest, max(len(sizes) - len(items), 0)):]]
        items = items + [Ellipsis] + back if len(items) + len(back) <= len(sizes) + 1 else items
    if len(items) == 1 and m.chance(0.6):
        return items[0]
    return tuple(items)


def tensor_index(m, sizes):
    """Some dims indexed by tensors of any layout, the others whole, cut or gone."""
    shape = [m.rng.randint(1, 3) for _ in range(m.rng.randint(1, 3))]

    def index():
        narrow = shape[m.rng.randrange(len(shape)):] if m.chance(0.2) else [1 if m.chance(0.2) else n for n in shape]
        like = m.tensor(narrow, torch.int64, grad=False)
        zeros = torch.zeros(like.untyped_storage().nbytes() // 8, dtype=torch.int64)
        return zeros.as_strided(like.shape, like.stride()).to(torch.int32 if m.chance(0.2) else torch.int64)

    if m.chance(0.3):
        return index()
    at = m.rng.sample(range(len(sizes)), m.rng.randint(1, min(len(sizes), 3)))
    items = [index() if d in at else m.rng.choice([slice(None), slice(None), slice(0, None, 2), 0]) for d in range(len(sizes))]
    if m.chance(0.2):
        items.insert(m.rng.randint(0, len(items)), None)
    return tuple(items)


def cases(m):
    tensor = torch.Tensor
    for _ in range(12):
        s = m.sizes()
        x = m.tensor(s, m.rng.choice(ANY))
        rank, n = len(s), x.numel()
        d, e = dim_of(m, rank), dim_of(m, rank)
        size = s[d] if rank else 0
        for name in ("view", "reshape"):
            shape = factorise(m, n) if n else m.rng.choice([[0], [0, 3], [2, 0], list(s)])
            args = [x, *shape] if m.chance(0.5) else [x, tuple(shape)]
            yield name, getattr(tensor, name), args, {}
        yield "view_as", tensor.view_as, [x, m.tensor(s)], {}
        yield "flatten", torch.flatten, m.rng.choice([[x], [x, d], [x, d, e]]), {}
        yield "ravel", torch.ravel, [x], {}
        if rank:
            yield "unflatten", tensor.unflatten, [x, d, factorise(m, size) if size else [0, 2]], {}
        yield "transpose", torch.transpose, [x, d, e], {}
        yield "swapaxes", torch.swapaxes, [x, d, e], {}
        yield "t", tensor.t, [x], {}
        yield "T", m.attribute("T"), [x], {}
        yield "mT", m.attribute("mT"), [x], {}
        order = list(range(rank))
        m.rng.shuffle(order)
        order = [i - rank if m.chance(0.3) else i for i in order]
        yield "permute", tensor.permute, [x, *order] if order and m.chance(0.5) else [x, order], {}
        yield "movedim", torch.movedim, [x, d, e], {}
        k = m.rng.randint(0, rank)
        yield "movedim", torch.movedim, [x, tuple(m.rng.sample(range(rank), k)), tuple(m.rng.sample(range(rank), k))], {}
        yield "squeeze", torch.squeeze, m.rng.choice([[x], [x, d], [x, tuple(m.rng.sample(range(rank), k))]]), {}
        yield "unsqueeze", torch.unsqueeze, [x, m.rng.randrange(-rank - 1, rank + 1)], {}
        wide = [m.rng.choice([v, -1, 3 if v == 1 else v]) for v in s]
        lead = [m.rng.choice([1, 2, 3]) for _ in range(m.rng.randint(0, 2))]
        yield "expand", tensor.expand, [x, *lead, *wide] if lead + wide and m.chance(0.5) else [x, lead + wide], {}
        yield "expand_as", tensor.expand_as, [x, m.tensor([v if v != -1 else 1 for v in lead + list(s)])], {}
        if rank:
            start = m.rng.randint(-size, size)
            room = size - (start if start >= 0 else start + size)
            yield "narrow", torch.narrow, [x, d, start, m.rng.randint(0, room)], {}
            if size:
                yield "select", torch.select, [x, d, m.rng.randrange(-size, size)], {}
            yield "unbind", torch.unbind, [x, d], {}
            yield "chunk", torch.chunk, [x, m.rng.randint(1, 5), d], {}
            yield "split", tensor.split, [x, m.rng.randint(1, 4)], {"dim": d}
            a = m.rng.randint(0, size)
            yield "split_with_sizes", torch.split_with_sizes, [x, [a, size - a], d], {}
            yield "unfold", tensor.unfold, [x, d, m.rng.randint(1, max(size, 1)), m.rng.randint(1, 3)], {}
        yield "detach", tensor.detach, [x], {}
        yield "data", m.attribute("data"), [x], {}
        if n:
            yield "as_strided", torch.as_strided, [x, [1], [1], x.storage_offset()], {}
        if rank > 1:
            yield "diagonal", torch.diagonal, [x, m.rng.randint(-3, 3), d, e], {}
        index = random_index(m, s)
        yield "getitem", operator.getitem, [x, index], {}
        yield "getitem", tensor.__getitem__, [x, index], {}
        if n and rank:
            yield "getitem", operator.getitem, [x, tensor_index(m, s)], {}
        yield from conversions(m, x, s)


def conversions(m, x, s):
    tensor = torch.Tensor
    dtype = m.rng.choice([x.dtype, m.rng.choice(ANY)])
    form = m.rng.choice([torch.contiguous_format, torch.preserve_format, torch.channels_last])
    yield "to", tensor.to, [x, dtype], {}
    yield "to", tensor.to, [x, m.tensor(s, dtype)], {}
    yield "to", tensor.to, [x], m.rng.choice([{"dtype": dtype}, {"device": "cpu", "dtype": dtype}, {"copy": True}])
    yield "to", tensor.to, [x, m.rng.choice(["cpu", torch.device("cpu")]), dtype], {}
    if len(s) == 4:
        yield "to", tensor.to, [x], {"memory_format": form}
        yield "contiguous", tensor.contiguous, [x], {"memory_format": torch.channels_last}
        yield "clone", torch.clone, [x], {"memory_format": form}
    for name in "float double half bfloat16 int long short char byte bool".split():
        if m.chance(0.3):
            yield name, getattr(tensor, name), [x], {}
    yield "type", tensor.type, [x, dtype], {}
    yield "type_as", tensor.type_as, [x, m.tensor([2], dtype)], {}
    yield "cpu", tensor.cpu, [x], {}
    yield "contiguous", tensor.contiguous, [x], {}
    yield "clone", torch.clone, [x], {}
    yield "positive", torch.positive, [x], {}
    yield "resolve_conj", torch.resolve_conj, [x], {}
