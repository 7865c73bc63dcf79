# SPDX-License-Identifier: GPL-3.0-or-later
"""What happens when one place needs many variants: numbers that become part of a shape, sizes that grow, the limit, and what
is said about it (PyTorch 2.13's rows B40 to B42)."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "support")]

import torch  # noqa: E402
from harness import Tally, bits_equal  # noqa: E402

import breakline  # noqa: E402

TABLE = torch.linspace(0, 1, 12)


def picks(x, n):
    return x * TABLE[n].sqrt()


def picks_pair(x, n):
    return x + torch.stack([TABLE[n], TABLE[-n]])[0]


def narrows(x, n):
    return x.narrow(0, 0, n % 3 + 1) * n


def writes(x, n):
    y = torch.zeros(12)
    y[n] = x.sum()
    y[n : n + 1] += 1
    return y


def reshapes(x, n):
    return torch.ones(n + 1, 2).view(2, n + 1) + n


def grows(x, past):
    return torch.cat([past, x]).sum(0)


def lengths(x, word):
    return x + len(word)


class Ticket:
    count = 0

    def __init__(self):
        self.number = Ticket.count
        Ticket.count += 1


KEPT = {}


def keys_collide(x, n, m):
    """Keys that may or may not be equal to each other and to constants, in a dict made here."""
    d = {n: 1, "a": 2}
    d[m] = 3
    d[4] = 5
    d[True] = 6
    seen = [(k, v) for k, v in d.items()], d.get(5), n in d, 2 in d, 4.0 in d, len(d)
    gone = d.pop(m), d.pop(7, None), n in d
    d.pop(4, None)
    d.setdefault(n, 8)
    d.setdefault(3, 9)
    return x * len(d), seen, gone, dict(d), {n} | {m}, d == {n: 1}


def keys_kept(x, n, m):
    """The same in a dict that outlives the call."""
    fresh = n not in KEPT
    KEPT[n] = m
    KEPT[m] = KEPT.get(m, 0) + 1
    y = x + KEPT[n]
    if len(KEPT) > 3:
        del KEPT[n]
    return y, fresh, dict(KEPT), KEPT.pop(6, None)


def many_keys(x, n, m):
    d = {i * 2: i for i in range(20)}
    d[n] = -1
    d[m] = d.get(n * 2, -2)
    d[100] = 1
    return x, d, d.get(m + 1), n in d, 3 in d, d.pop(3, None), d.pop(n, None), m in d


def tickets(x):
    """A number that counts up with every call is the key of what lives for the call."""
    ticket = Ticket()
    KEPT[ticket.number] = x * 2
    y = sum(v for k, v in KEPT.items())
    if ticket.number in KEPT:
        del KEPT[ticket.number]
    return y, len(KEPT)


def hook_for_the_call(x):
    kept = []
    handle = LAYER.register_forward_hook(lambda module, args, out: kept.append(out))
    try:
        y = LAYER(x)
    finally:
        handle.remove()
    return y + kept[0]


LAYER = torch.nn.Linear(2, 2)


def numbers_become_keys(tally):
    """Numbers left open stay open when they are keys of dicts."""

    def run(fn, arguments):
        KEPT.clear()
        Ticket.count = 0
        return [fn(torch.ones(2), *a) for a in arguments], dict(KEPT), Ticket.count

    pairs = [(n, m) for n in (0, 1, 2, 3, 4, 5, 9) for m in (4, 1, 7, 3, 6)]
    for fn in (keys_collide, keys_kept, many_keys):
        for arguments in (pairs, pairs + [(True, 1), (1, True), (1.0, 4), (4, 2.0), (2**40, 2**40)]):
            compiled = breakline.compile(fn, plan="replay", recompile_limit=60)
            wanted, got = run(fn, arguments), run(compiled, arguments)
            tally.check(f"{fn.__name__} {len(arguments)}", same_values(wanted, got) and not compiled.stats["skipped"], (compiled.stats, wanted, got))
    for fn, graphs in ((tickets, 2), (hook_for_the_call, 2)):
        compiled = breakline.compile(fn, plan="replay")
        wanted, got = run(fn, [()] * 40), run(compiled, [()] * 40)
        tally.check(fn.__name__, same_values(wanted, got) and compiled.stats["graphs"] == graphs and not compiled.stats["places"] and not compiled.stats["skipped"], compiled.stats)


def same_values(a, b):
    """Equal with types and the order of dicts; tensors bit for bit."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return same_values(list(a.items()), list(b.items()))
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same_values, a, b))
    return bits_equal(a, b) if isinstance(a, torch.Tensor) else a == b


def numbers_become_shapes(tally):
    """A number that was left open after its first change is no reason to break."""
    for fn in (picks, picks_pair, narrows, writes, reshapes):
        for fullgraph in (False, True):
            compiled = breakline.compile(fn, fullgraph=fullgraph, plan="replay")
            x = torch.randn(4)
            same = all(bits_equal(compiled(x, n), fn(x, n)) for n in (3, 1, 4, 1, 5, 9, 2, 6, 0, 7, 8, 10))
            tally.check(f"{fn.__name__} fullgraph={fullgraph}", same and not compiled.stats["breaks"] and not compiled.stats["skipped"], compiled.stats)
    compiled = breakline.compile(picks)
    for n in (1, 2, 3):
        compiled(torch.ones(2), n)
    try:
        compiled(torch.ones(2), 12)
        said = "nothing"
    except IndexError as error:
        said = str(error)
    tally.check("out of range", "out of bounds" in said, said)


def sizes_grow(tally):
    """Sizes that PyTorch would have made dynamic don't give the frame up."""
    compiled = breakline.compile(grows, plan="replay")
    past, same = torch.ones(1, 3), True
    for _ in range(40):
        past = torch.cat([past, torch.randn(1, 3)])
        same = same and bits_equal(compiled(torch.ones(1, 3), past), grows(torch.ones(1, 3), past))
    tally.check("growing", same and not compiled.stats["skipped"], compiled.stats)
    fixed = breakline.compile(grows, plan="replay", dynamic=False)
    past = torch.ones(1, 3)
    for _ in range(12):
        past = torch.cat([past, torch.randn(1, 3)])
        same = same and bits_equal(fixed(torch.ones(1, 3), past), grows(torch.ones(1, 3), past))
    skipped = fixed.report()["targets"][0]["skipped_frames"]
    tally.check("growing, dynamic=False", same and len(skipped) == 1 and "'past'" in skipped[0]["reason"] and "expected size" in skipped[0]["reason"], skipped)


def the_limit(tally):
    def calls(compiled, count=12, strict=lambda n: None):
        for n in range(count):
            flag = strict(n)
            if flag is None:
                got = compiled(torch.ones(2), "a" * n)
            else:
                with breakline.error_on_graph_break(flag):
                    got = compiled(torch.ones(2), "a" * n)
            if not bits_equal(got, lengths(torch.ones(2), "a" * n)):
                return "wrong", n
        return "fine", count

    def outcome(compiled, **how):
        try:
            return calls(compiled, **how)
        except Exception as error:  # what was raised is the outcome
            return error

    compiled = breakline.compile(lengths)
    got = outcome(compiled)
    skipped = compiled.report()["targets"][0]["skipped_frames"]
    tally.check("B40", got == ("fine", 12) and len(skipped) == 1 and skipped[0]["reason"].startswith("recompile-limit: "), (got, skipped))
    compiled = breakline.compile(lengths, recompile_limit=3)
    outcome(compiled)
    tally.check("a limit of its own", compiled.stats["graphs"] == 3, compiled.stats)
    import torch._dynamo.exc as exc

    got = outcome(breakline.compile(lengths, fullgraph=True))
    tally.check("B41", isinstance(got, exc.FailOnRecompileLimitHit) and str(got) == "Hard failure due to fullgraph=True" and
                isinstance(got.__cause__, exc.Unsupported) and str(got.__cause__).startswith("Dynamo recompile limit exceeded"), repr(got))
    for name, strict, raises in (("B42 strict", lambda n: True, True), ("B42 strict, then not", lambda n: n < 8, True),
                                 ("B42 not strict, then strict", lambda n: n >= 8, False)):
        got = outcome(breakline.compile(lengths), strict=strict)
        ok = isinstance(got, exc.Unsupported) and str(got).startswith("Dynamo recompile limit exceeded") if raises else got == ("fine", 12)
        tally.check(name, ok, repr(got))


def counts_words(x):
    seen = {}
    for word in "the quick brown fox jumps over the lazy dog and runs away from here".split():
        print(end="")
        seen[word] = seen.get(word, 0) + 1
        if word.startswith("q"):
            x = x * 2
        x = x + len(word)
    return x, seen


def tells_types(x):
    seen = []
    for v in (1, "a", 2.5, None, True, (1,), [1], {"a": 1}, {1}, b"x", 1j, range(3), ..., int, len):
        print(end="")
        seen.append((type(v).__name__, str(v), bool(v)))
    return x + 1, seen


def catches_many(x):
    seen = []
    attempts = (lambda: 1 // 0, lambda: {}["q"], lambda: [1][3], lambda: int("x"), lambda: None.x, lambda: next(iter(())), lambda: "a" + 1)
    for attempt in (*attempts, lambda: hash([]), lambda: len(5), lambda: max(()), lambda: (1).foo, lambda: x.view(7), lambda: x @ torch.ones(9)):
        try:
            attempt()
        except Exception as e:
            seen.append((type(e).__name__, str(e)[:30]))
    return x + 1, seen


class Tower(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU()) for _ in range(7)])

    def forward(self, x):
        with_bias, sums = 0, {}
        for name, p in self.named_parameters():
            print(end="")
            with_bias += p.numel() if "bias" in name else 0
        for name, part in self.named_modules():
            print(end="")
            if isinstance(part, torch.nn.Linear):
                sums[name] = part(x).sum().detach()
        return with_bias, sums


def loops_with_breaks(tally):
    """In a loop with a break inside most things differ from round to round: no frame is given up for that."""
    x = torch.ones(2, 3)
    for fn in (counts_words, tells_types, catches_many, Tower()):
        compiled = breakline.compile(fn, plan="replay")
        same = all(repr(compiled(x)) == repr(fn(x)) for _ in range(3))
        tally.check(f"loop of {getattr(fn, '__name__', 'Tower')}", same and not compiled.stats["skipped"], compiled.stats)


def sums_items(x, items):
    for v in items:
        x = x + v
    return x


def sums_values(x, table):
    for k, v in table.items():
        x = x * k + v
    return x, len(table)


def containers_vary(tally):
    """Containers with other keys or another length at each call give no frame up."""
    for fn, make in ((sums_items, lambda n: list(range(n))), (sums_items, lambda n: tuple(range(n))), (sums_values, lambda n: {n: 2, n + 1: 3}),
                     (sums_values, lambda n: dict.fromkeys(range(n), 1.5))):
        compiled = breakline.compile(fn, plan="replay")
        same = all(bits_equal(compiled(torch.ones(3), make(n)), fn(torch.ones(3), make(n))) for n in range(40))
        tally.check(f"varying container of {fn.__name__}", same and not compiled.stats["skipped"], compiled.report()["targets"][0]["skipped_frames"])


def hooks_around_calls(tally):
    """Hooks set and removed around each call, as feature extractors do."""
    net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU(), torch.nn.Linear(3, 3))
    compiled, seen = breakline.compile(net, plan="replay"), {}
    same = True
    for n in range(40):
        x = torch.full((2, 3), float(n))
        runs = []
        for call in (net, compiled):
            seen.clear()
            handles = [net[0].register_forward_hook(lambda m, i, o, n=n: seen.setdefault("first", o + n)),
                       net[2].register_forward_pre_hook(lambda m, i, k: ((i[0] * 2,), k), with_kwargs=True)]
            if n % 3 == 0:
                handles.append(net[2].register_forward_hook(lambda m, i, o: seen.update(last=i[0]), always_call=True))
            runs.append((call(x), dict(seen)))
            for h in handles:
                h.remove()
        same = same and bits_equal(*runs)
    tally.check("hooks around each call", same and not compiled.stats["skipped"], compiled._root.report()["targets"][0]["skipped_frames"])


SCOPE = {}
exec("".join(f"def step{i}(k):\n    print(end='')\n    return k + {i}\n" for i in range(1500)) +
     "def breaks_everywhere(x):\n    k = 0\n" + "".join(f"    k = step{i}(k)\n" for i in range(1500)) + "    y = x * k\n    print(end='')\n    return y + 1\n", SCOPE)
breaks_everywhere = SCOPE["breaks_everywhere"]


def barren_code(tally):
    """Thousands of breaks without an operation between them: tracing lets go for a while, and finds the operations after them."""
    compiled, x = breakline.compile(breaks_everywhere, plan="replay"), torch.ones(3)
    same = all(bits_equal(compiled(x), breaks_everywhere(x)) for _ in range(3))
    report = compiled.report()["targets"][0]
    limits = [b for b in report["breaks"] if b["reason"] == "trace-limit"]
    tally.check("breaks without end", same and not compiled.stats["skipped"] and compiled.stats["graphs"] >= 1 and len(limits) == 1, compiled.stats)
    tally.check("segments without end", 1024 <= len(report["segments"]) <= 2200, len(report["segments"]))


if __name__ == "__main__":
    torch.manual_seed(0)
    tally = Tally("limit")
    numbers_become_shapes(tally)
    numbers_become_keys(tally)
    sizes_grow(tally)
    the_limit(tally)
    loops_with_breaks(tally)
    containers_vary(tally)
    hooks_around_calls(tally)
    barren_code(tally)
    tally.finish()
