# SPDX-License-Identifier: GPL-3.0-or-later
"""Costs of the tracer, measured in one run: trace time per op, overhead of a compiled call, of a break, of guards, memory.

`build/bin/breakline python tests/bench/core/bench_core.py [--json]`. Costs are this thread's own time, in turns with eager.
"""

import gc
import json
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "differential", "models"), os.path.join(HERE, "..", "..", "support")]


def over(base, fn, loops, repeats=60, times=1):
    """What one of `times` repetitions costs over `base`, in microseconds of this thread's own time: {"median", "least"}.

    Both run in turns, in samples of `loops` calls; "least" is the least sample of one less the least of the other, which a busy
    machine disturbs least."""
    clock, first, second = time.thread_time, [], []
    rounds = range(loops)
    gc.collect()
    gc.disable()
    for _ in range(repeats):
        start = clock()
        for _ in rounds:
            base()
        middle = clock()
        for _ in rounds:
            fn()
        end = clock()
        first.append((middle - start) / loops / times * 1e6)
        second.append((end - middle) / loops / times * 1e6)
    gc.enable()
    return {"median": statistics.median(b - a for a, b in zip(first, second)), "least": min(second) - min(first)}


def memory(code):
    """Resident megabytes of a fresh interpreter after running `code`."""
    tail = "\nimport re\nprint(int(re.search(r'VmRSS:\\s+(\\d+)', open('/proc/self/status').read()).group(1)))"
    out = subprocess.run([sys.executable, "-c", code + tail], capture_output=True, text=True, env=os.environ)
    if out.returncode:
        raise SystemExit(out.stderr)
    return int(out.stdout.split()[-1]) / 1024


def trace_us(compiled, call):
    """Thread time of the first call less that of the second."""
    start = time.thread_time()
    call(compiled)
    middle = time.thread_time()
    call(compiled)
    return (2 * middle - start - time.thread_time()) * 1e6


def trace_cost():
    import torch
    import breakline
    from models import Gpt, encoder

    def chain(n):
        space = {}
        exec("def f(t):\n" + "".join(f"    t = t + {i % 5}\n" for i in range(n)) + "    return t\n", space)
        return space["f"]

    rows = {}
    for name, build, inputs, times in (("encoder, 6 layers", lambda: encoder(6).eval(), (torch.randn(2, 6, 32),), 15),
                                       ("GPT, 12 blocks", lambda: Gpt(12).eval(), (torch.randint(0, 50, (2, 10)),), 15),
                                       ("1,000 additions", lambda: chain(1_000), (torch.ones(2),), 9),
                                       ("10,000 additions", lambda: chain(10_000), (torch.ones(2),), 3)):
        costs, ops = [], 0
        for _ in range(times):
            breakline.reset()
            compiled = breakline.compile(build(), plan="replay")
            gc.collect()
            gc.disable()
            with torch.no_grad():
                costs.append(trace_us(compiled, lambda f: f(*inputs)))
            gc.enable()
            ops = compiled.stats["ops"]
        rows[name] = {"ops": ops, "us_per_op": statistics.median(costs) / ops, "least": min(costs) / ops}
    return rows


def call_cost():
    import torch
    import breakline

    x = torch.randn(8, 8)
    number = torch.tensor(1)

    def one(t):
        return t + 1

    def identity(t):
        return t

    rows = {}
    for name, fn, options in (("no op", identity, {}), ("one op", one, {}), ("one op, replay", one, {"plan": "replay"})):
        compiled = breakline.compile(fn, **options)
        for _ in range(5):
            compiled(x)
        rows[f"call over eager, {name}"] = over(lambda: fn(x), lambda: compiled(x), 500)

    def repeated(line):
        space = {"breakline": breakline, "torch": torch}
        exec(f"def inner():\n    breakline.graph_break()\ndef f(t):\n{line * 20}    return t\n", space)
        return space["f"]

    plain = repeated("")
    for name, line, argument in (("graph_break()", "    breakline.graph_break()\n", x), ("in an inlined call", "    inner()\n", x),
                                 ("print", "    print(end='')\n", x), ("item()", "    t.item()\n", number),
                                 ("bool", "    if t: pass\n", number), ("under no_grad", "    with torch.no_grad(): breakline.graph_break()\n", x)):
        broken = repeated(line)
        compiled, base = breakline.compile(broken), breakline.compile(plain)
        for _ in range(5):
            compiled(argument), base(argument)
        # The eager cost of the line itself is taken off.
        ours = over(lambda: base(argument), lambda: compiled(argument), 100, times=20)
        eager = over(lambda: plain(argument), lambda: broken(argument), 100, times=20)
        rows[f"one break, {name}"] = {"over the same without": ours["least"], "of that eager": eager["least"]}
    return rows


def guard_cost():
    import torch
    import breakline
    from torch import nn

    class Many(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = nn.ParameterList(nn.Parameter(torch.ones(1), requires_grad=False) for _ in range(150))

        def forward(self, x):
            for p in self.parts:
                p.shape
                p.dtype
                x = x if p is not None else x + p
            return x

    # The guards of 150 parameters: a model whose graph is empty but which looks at each of them.
    model = Many()
    compiled, same = breakline.compile(model), breakline.compile(lambda x: x)
    x = torch.ones(1)
    with torch.no_grad():
        for _ in range(5):
            compiled(x), same(x)
        return {"150 parameters, over a call without": over(lambda: same(x), lambda: compiled(x), 200)}


def main():
    import torch

    torch.set_num_threads(1)
    result = {"trace": trace_cost(), "calls_us": call_cost(), "guards_us": guard_cost()}
    plain = memory("import torch\nx = torch.ones(3) + 1")
    engine = memory("import torch, breakline\nf = breakline.compile(lambda t: torch.relu(t * 2 + 1) - 3)\nf(torch.ones(64, 64))")
    result["memory_mb"] = {"plain PyTorch": plain, "with Breakline and one cpu plan": engine, "over": engine - plain}
    if "--json" in sys.argv:
        print(json.dumps(result, indent=1))
        return
    for title, rows in result.items():
        print(title)
        for name, value in rows.items():
            print(f"  {name:38}", " ".join(f"{k} {v:.3g}" for k, v in value.items()) if isinstance(value, dict) else f"{value:.3g}")


if __name__ == "__main__":
    main()
