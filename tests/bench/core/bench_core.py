# SPDX-License-Identifier: GPL-3.0-or-later
"""Costs of the tracer, measured in one run: trace time per op, overhead of a compiled call, of a break, of guards, memory.

`build/bin/breakline python tests/bench/core/bench_core.py [--json]`. Every figure is a median over repeats; ratios are to eager in the same run.
"""

import json
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "differential", "models"), os.path.join(HERE, "..", "..", "support")]


def per_call(fn, loops, repeats=9):
    """Median and minimum microseconds per call."""
    samples = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(loops):
            fn()
        samples.append((time.perf_counter() - start) / loops * 1e6)
    return statistics.median(samples), min(samples)


def memory(code):
    """Resident megabytes of a fresh interpreter after running `code`."""
    tail = "\nimport re\nprint(int(re.search(r'VmRSS:\\s+(\\d+)', open('/proc/self/status').read()).group(1)))"
    out = subprocess.run([sys.executable, "-c", code + tail], capture_output=True, text=True, env=os.environ)
    if out.returncode:
        raise SystemExit(out.stderr)
    return int(out.stdout.split()[-1]) / 1024


def trace_cost():
    import torch
    import breakline
    from models import Gpt, encoder

    rows = {}
    for name, build, inputs in (("encoder, 6 layers", lambda: encoder(6), (torch.randn(2, 6, 32),)),
                                ("GPT, 12 blocks", lambda: Gpt(12), (torch.randint(0, 50, (2, 10)),))):
        costs, ops = [], 0
        for _ in range(5):
            breakline.reset()
            compiled = breakline.compile(build().eval(), plan="replay")
            with torch.no_grad():
                compiled(*inputs)
            report = compiled.report()
            segments = report["targets"][0]["segments"] if "targets" in report else report["segments"]
            ops = sum(len(s["ops"]) for s in segments)
            costs.append(sum(s["trace_us"] for s in segments) / ops)
        rows[name] = {"ops": ops, "us_per_op": statistics.median(costs)}
    return rows


def call_cost():
    import torch
    import breakline

    x = torch.randn(8, 8)

    def one(t):
        return t + 1

    def identity(t):
        return t

    def breaks(n):
        body = "\n".join("    breakline.graph_break()" for _ in range(n))
        space = {"breakline": breakline}
        exec(f"def f(t):\n{body or '    pass'}\n    return t\n", space)
        return breakline.compile(space["f"])

    compiled, same = breakline.compile(one), breakline.compile(identity)
    none, many = breaks(0), breaks(20)
    for fn in (compiled, same, none, many):
        fn(x)
        fn(x)
    eager = per_call(lambda: one(x), 20000)[0]
    ours = per_call(lambda: compiled(x), 20000)[0]
    plain_identity = per_call(lambda: identity(x), 50000)[0]
    our_identity = per_call(lambda: same(x), 50000)[0]
    base, loaded = per_call(lambda: none(x), 20000)[0], per_call(lambda: many(x), 5000)[0]
    return {"one op eager": eager, "one op compiled": ours, "overhead, one op": ours - eager,
            "overhead, no op": our_identity - plain_identity, "one break": (loaded - base) / 20}


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
    compiled = breakline.compile(model)
    x = torch.ones(1)
    with torch.no_grad():
        compiled(x)
        compiled(x)
        loaded = per_call(lambda: compiled(x), 3000)[0]
    return {"call that guards 150 parameters": loaded}


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
