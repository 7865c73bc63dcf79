# SPDX-License-Identifier: GPL-3.0-or-later
"""Loops that add no operation: those over parameters and short ranges are traced, endless ones are not; long functions cost
what their length says."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "support")]

import torch  # noqa: E402
from harness import Tally, bits_equal, run_child  # noqa: E402
from torch import nn  # noqa: E402


class Many(nn.Module):
    def __init__(self, n=150):
        super().__init__()
        self.parts = nn.ParameterList(nn.Parameter(torch.ones(1), requires_grad=False) for _ in range(n))


class ByList(Many):
    def forward(self, x):
        n = 0
        for p in self.parts:
            n += p.shape[0]
        return x * n


class ByParameters(Many):
    def forward(self, x):
        n = 0
        for p in self.parameters():
            n += p.numel()
        return x * n


class ByNames(Many):
    def forward(self, x):
        return x * len([name for name, p in self.named_parameters() if p.dtype == torch.float32])


class BySum(Many):
    def forward(self, x):
        return x * sum(p.numel() for p in self.parameters())


class Tied(Many):
    def __init__(self):
        super().__init__()
        self.again = self.parts[3]

    def forward(self, x):
        return x * len(list(self.parameters()))


def counted(x):
    total = 0
    for i in range(500):
        total += i % 7
    return x * total


def nested(x):
    total = 0
    for i in range(30):
        for j in range(30):
            if (i + j) % 2:
                continue
            total += 1
    return x * total


def halving(x):
    n, steps = 27, 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return x * steps


def very_long(x):
    total = 0
    for i in range(200_000):
        total += i & 3
    return x * total


def while_true(x):
    n = 0
    while True:
        n += 1
        if n > 50_000:
            break
    return x * n


def growing(x):
    items = [1]
    for i in items:
        if len(items) < 30_000:
            items.append(i + 1)
    return x * len(items)


def generator_without_end(x):
    def count():
        n = 0
        while True:
            yield n
            n += 1

    total = 0
    for n in count():
        if n > 3_000:
            break
        total += n
    return x * total


def traced(make, segments):
    """Same as eager, also after a change of what the loop looked at, and within so many segments."""
    import breakline

    torch.set_num_threads(1)
    target = make()
    compiled = breakline.compile(target, plan="replay")
    x = torch.ones(2)
    for _ in range(6):
        if not bits_equal(target(x), compiled(x)):
            return False, "differs"
    count = len(compiled.report()["targets"][0]["segments"])
    breaks = compiled.stats["breaks"]
    if isinstance(target, nn.Module):
        target.parts[77] = nn.Parameter(torch.ones(5), requires_grad=False)
        if not bits_equal(target(x), compiled(x)):
            return False, "differs after a parameter was replaced"
        target.parts[78] = target.parts[79]  # now tied: counted once by parameters()
        if not bits_equal(target(x), compiled(x)):
            return False, "differs after parameters were tied"
        target.double()
        if not bits_equal(target(x), compiled(x)):
            return False, "differs after double()"
    return count <= segments and breaks == 0, f"{count} segments, {breaks} breaks"


def ends(fn, most_instructions):
    """Same as eager, and the trace gave up in time."""
    import breakline
    from breakline import _breakline

    torch.set_num_threads(1)
    compiled = breakline.compile(fn, plan="replay")
    x = torch.ones(2)
    before = _breakline.coverage()["ops_symbolic"]
    for _ in range(3):
        if not bits_equal(fn(x), compiled(x)):
            return False, "differs"
    symbolic = _breakline.coverage()["ops_symbolic"] - before
    return symbolic <= most_instructions, f"{symbolic} instructions traced"


def linear():
    """Guards, segments and instructions of a function of 10,000 operations are ten times those of 1,000."""
    import breakline
    from breakline import _breakline

    torch.set_num_threads(1)
    x = torch.ones(2)
    counts = []
    for n in (1_000, 10_000):
        space = {}
        exec("def f(t):\n" + "".join(f"    t = t + {i % 5}\n" for i in range(n)) + "    return t\n", space)
        compiled = breakline.compile(space["f"], plan="replay")
        before = _breakline.coverage()["ops_symbolic"]
        if not bits_equal(space["f"](x), compiled(x)):
            return False, f"{n} operations differ"
        counts.append((compiled.stats["ops"], _breakline.coverage()["ops_symbolic"] - before, len(compiled.report()["targets"][0]["segments"])))
    (a, b, c), (d, e, f) = counts
    return d == 10 * a == 10_000 and e < 10.1 * b and c == f == 1, str(counts)


def main():
    tally = Tally("loops")
    jobs = {kind.__name__: (lambda kind=kind: traced(kind, 1)) for kind in (ByList, ByParameters, ByNames, BySum, Tied)}
    jobs |= {fn.__name__: (lambda fn=fn: traced(lambda: fn, 1)) for fn in (counted, nested, halving)}
    jobs |= {fn.__name__: (lambda fn=fn: ends(fn, 400_000)) for fn in (very_long, while_true, growing, generator_without_end)}
    jobs["10,000 operations"] = linear
    for name, work in jobs.items():
        got = run_child(work, timeout=300)
        if isinstance(got, dict):
            tally.check(name, False, got["crash"][-1500:])
        else:
            tally.check(name, *got)
    tally.finish()


if __name__ == "__main__":
    main()
