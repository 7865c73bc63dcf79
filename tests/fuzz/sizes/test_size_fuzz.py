# SPDX-License-Identifier: GPL-3.0-or-later
"""Random programs over tensors whose sizes change from call to call, compiled against plain Python.

  test_size_fuzz.py [--programs N] [--first SEED] [--leg replay|cpu|executor] [--show SEED] [--reduce SEED] [--verbose]

Each program runs with a dozen batch sizes, 1 and 0 among them; every second one with two sizes that change. What it returns,
what it logs, what it does to its arguments and what it raises must be the same. Programs of odd seeds are compiled with
dynamic=True, so that everything is left open from the first call on.
"""

import argparse
import os
import random
import sys
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "support")]

import torch  # noqa: E402
from harness import bits_equal, run_child, seed_all  # noqa: E402

import breakline  # noqa: E402

BATCHES = (3, 5, 2, 7, 4, 9, 1, 6, 8, 0, 5, 3, 1, 2)
HEADER = """import math
import torch
import torch.nn as nn
import torch.nn.functional as F
LOG = []
LIN = nn.Linear(4, 4)
NORM = nn.LayerNorm(4)
BN = nn.BatchNorm1d(4)
TABLE = torch.arange(60.0).reshape(15, 4) / 7

"""

# {t}: a tensor, {n}: a number from its sizes, {k}: a small constant, {s}: another tensor of the same rank.
# rank of the operand → (expression, rank of the result)
TENSOR = {
    1: [("{t} * 2 - 1", 1), ("{t}.relu()", 1), ("{t}.unsqueeze(0)", 2), ("{t}[1:]", 1), ("{t}[:{n}]", 1), ("{t}.flip(0)", 1), ("{t}.cumsum(0)", 1),
        ("torch.cat([{t}, {t}])", 1), ("{t}.view(1, -1)", 2), ("{t}.reshape({t}.shape[0], 1)", 2), ("torch.outer({t}, {t})", 2), ("{t}.sum()", 0),
        ("{t} / (len({t}) + 1)", 1), ("{t}.expand(3, {t}.shape[0])", 2), ("torch.stack([{t}, {t} + 1], 1)", 2), ("{t}.softmax(0)", 1),
        ("torch.zeros({t}.shape[0]) + {t}", 1), ("{t}.new_full(({t}.size(0), 2), 1.5)", 2), ("{t}.repeat(2)", 1), ("{t}.sort()[0]", 1), ("{t}.diff()", 1),
        ("{t}.unfold(0, 2, 1)", 2), ("F.pad({t}, (1, 2))", 1), ("torch.arange({t}.numel()) * {t}", 1), ("{t}[torch.arange({t}.shape[0]) // 2]", 1)],
    2: [("{t} * 3 + 1", 2), ("{t}.tanh()", 2), ("{t}.t()", 2), ("{t}.t().contiguous()", 2), ("{t}.flatten()", 1), ("{t}.sum(0)", 1), ("{t}.mean(1)", 1),
        ("{t}.amax(1, keepdim=True)", 2), ("{t}.softmax(-1)", 2), ("{t}[1:]", 2), ("{t}[:{n}]", 2), ("{t}[:, ::2]", 2), ("{t}[-1]", 1), ("{t}[0]", 1),
        ("{t}.reshape({t}.shape[0], -1)", 2), ("{t}.view(-1)", 1), ("{t}.reshape(-1)", 1), ("{t}.view({t}.numel())", 1), ("{t}.repeat(2, 1)", 2),
        ("torch.cat([{t}, {t} * 2], 0)", 2), ("torch.cat([{t}, {t}], 1)[:, :4]", 2), ("torch.stack([{t}, {t}])", 3), ("{t}.chunk(2, 0)[0]", 2),
        ("{t}.split(2, 0)[-1]", 2), ("{t}.unsqueeze(1)", 3), ("{t}[None].expand(2, -1, -1)", 3), ("F.layer_norm({t}, {t}.shape[-1:])", 2),
        ("{t} @ {t}.t()", 2), ("torch.einsum('ij,kj->ik', {t}, {t})", 2), ("torch.tril({t})", 2), ("{t}.masked_fill({t} > 0.5, 0.25)", 2),
        ("torch.where({t} > 0, {t}, -{t})", 2), ("F.pad({t}, (1, 0, 0, 1))", 2), ("{t} - {t}.mean(0, keepdim=True)", 2), ("{t} / {t}.shape[0]", 2),
        ("torch.zeros({t}.shape) + {t}", 2), ("torch.ones({t}.shape[1], 3).t() @ {t}.t()", 2), ("{t}.new_zeros({t}.shape[0], 2)", 2),
        ("torch.full_like({t}, 2.0) * {t}", 2), ("{t}.flip(0)", 2), ("{t}.roll(1, 0)", 2), ("{t}.cumsum(0)", 2), ("{t}.argmax(1).float()", 1),
        ("{t}.topk(1, 1)[0]", 2), ("{t}.narrow(0, 0, min({n}, {t}.shape[0]))", 2), ("{t}.view({t}.shape[0], 2, -1)", 3), ("{t}.index_select(0, torch.arange({t}.shape[0]))", 2),
        ("{t}.std(1)", 1), ("torch.arange({t}.shape[0]).unsqueeze(1) + {t}", 2), ("F.dropout({t}, 0.5)", 2), ("{t} + torch.rand({t}.shape[0], 1)", 2),
        ("helper({t}, {n})", 2), ("reads_size({t})", 2), ("torch.broadcast_to({t}, (2, *{t}.shape))", 3), ("{t}.as_strided(({t}.shape[0],), ({t}.stride(0),))", 1),
        ("LIN({t}[:, :4]) if {t}.shape[1] >= 4 else {t}", 2), ("{t} + TABLE[: {t}.shape[0], :1]", 2), ("{t}.clone().fill_({n})", 2), ("{t}.nan_to_num()", 2),
        ("F.one_hot(torch.arange({t}.shape[0]) % 3, 3) * 1.0", 2), ("F.embedding(torch.arange({t}.shape[0]) % 15, TABLE)", 2)],
    3: [("{t} * 0.5", 3), ("{t}.sigmoid()", 3), ("{t}.sum(0)", 2), ("{t}.mean(-1)", 2), ("{t}.transpose(0, 1)", 3), ("{t}.transpose(1, 2).contiguous()", 3),
        ("{t}.permute(2, 0, 1)", 3), ("{t}.flatten(1)", 2), ("{t}.flatten(0, 1)", 2), ("{t}.reshape({t}.shape[0] * {t}.shape[1], -1)", 2), ("{t}[0]", 2),
        ("{t}[:, -1]", 2), ("torch.bmm({t}, {t}.transpose(1, 2))", 3), ("{t} @ {t}.mT", 3), ("{t}.softmax(-1)", 3), ("{t}.view(*{t}.shape[:-1], -1, 1).squeeze(-1)", 3),
        ("{t}[:, :{n}]", 3), ("F.scaled_dot_product_attention({t}, {t}, {t})", 3), ("{t}.max(0)[0]", 2), ("{t}.unbind(0)[0]", 2),
        ("F.avg_pool1d({t}, 2, ceil_mode=True)", 3), ("{t} + {t}.shape[1]", 3), ("{t}.expand_as({t})", 3)],
    0: [("{t} + 1", 0), ("{t}.reshape(1)", 1), ("{t}.expand(4)", 1), ("{t} * {n}", 0)],
}
NUMBERS = ["{t}.shape[0]", "len({t})", "{t}.size(-1)", "{t}.numel()", "{t}.shape[0] // 2 + 1", "{t}.shape[0] % 3", "{t}.shape[-1] - 1", "{t}.shape[0] * 2",
           "max({t}.shape[0], 3)", "min(len({t}), 4)", "int({t}.shape[0] / 2)", "math.ceil({t}.shape[0] / 3)", "sum({t}.shape)", "math.prod({t}.shape)",
           "{t}.stride(0)", "{t}.dim() + {t}.shape[0]", "abs(2 - {t}.size(0))", "({t}.shape[0] + 3) & 3", "{t}.shape.numel()", "[*{t}.shape][0]"]
CONDITIONS = ["{t}.shape[0] > {k}", "{t}.shape[0] % 2 == 0", "{t}.shape[0] == {t}.shape[-1]", "len({t}) != {k}", "{t}.numel() > 16", "{t}.is_contiguous()",
              "{t}.shape == {s}.shape", "{t}.shape[0] in (2, 4, 5)", "{t}.shape[0] and {t}.shape[-1]", "not len({t})", "{t}.stride(0) == 1", "{n} < {k}",
              "tuple({t}.shape)[:1] <= ({k},)"]
IN_PLACE = {1: ["{t}[0] = 1.5", "{t}.add_(1)", "{t}[1:] *= 2", "{t}[:{n}].zero_()"],
            2: ["{t}[0] = 1.5", "{t}.mul_(2)", "{t}[:, 0] = 3", "{t}[1:] += {t}[:-1] * 2", "{t}[: {t}.shape[0] // 2].neg_()", "{t}.t()[0].zero_()", "{t}[{n} - 1] = 7"],
            3: ["{t}[0, 0] = 2", "{t}.sub_(0.5)", "{t}[:, 0].zero_()"], 0: ["{t}.add_(1)"]}
LOGS = ["f'{{{t}.shape[0]}}'", "tuple({t}.shape)", "{t}.shape", "{n}", "str({n})", "({n}, {t}.shape[-1])", "{t}.shape[1:]", "len({t}.shape)", "{{'n': {n}}}",
        "{t}.is_contiguous()", "{t}.stride()"]


class Generator:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.tensors = {"x": 2, "y": 2, "z": 1}
        self.numbers = []
        self.lines = []
        self.count = 0

    def fill(self, text, t):
        same = [s for s, rank in self.tensors.items() if rank == self.tensors[t]]
        while "{n}" in text:
            text = text.replace("{n}", self.number(t), 1)
        return text.replace("{t}", t).replace("{s}", self.r.choice(same)).replace("{k}", str(self.r.randint(1, 7))).replace("{{", "{").replace("}}", "}")

    def number(self, t):
        if self.numbers and self.r.random() < 0.4:
            return self.r.choice(self.numbers)
        if self.tensors[t] == 0:
            t = "x"
        return "(" + self.r.choice(NUMBERS).replace("{t}", t) + ")"

    def emit(self, depth, text):
        self.lines.append("    " * depth + text)

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def tensor(self, least=0):
        # What was made last is used most, so that shapes get some depth.
        names = [t for t, rank in self.tensors.items() if rank >= least]
        return names[-1] if self.r.random() < 0.5 else self.r.choice(names)

    def assign(self, depth):
        t = self.tensor()
        text, rank = self.r.choice(TENSOR[self.tensors[t]])
        v = self.name()
        self.emit(depth, f"{v} = {self.fill(text, t)}")
        return v, rank

    def statement(self, depth):
        kind = self.r.random()
        if kind < 0.5:
            v, rank = self.assign(depth)
            self.tensors[v] = rank
        elif kind < 0.6:
            t = self.tensor(1)
            v = self.name()
            self.emit(depth, f"{v} = {self.number(t)}")
            self.numbers.append(v)
        elif kind < 0.68:
            t = self.tensor()
            if self.r.random() < 0.7:
                v = self.name()
                self.emit(depth, f"{v} = {t}.clone()")
                self.tensors[v] = self.tensors[t]
                t = v
            self.emit(depth, self.fill(self.r.choice(IN_PLACE[self.tensors[t]]), t))
        elif kind < 0.74:
            self.emit(depth, f"LOG.append({self.fill(self.r.choice(LOGS), self.tensor(1))})")
        elif kind < 0.84:
            t = self.tensor(1)
            v = self.name()
            rank = self.tensors[t]
            self.emit(depth, f"if {self.fill(self.r.choice(CONDITIONS), t)}:")
            same = [e for e, r in TENSOR[rank] if r == rank]
            self.emit(depth + 1, f"{v} = {self.fill(self.r.choice(same), t)}")
            self.emit(depth, "else:")
            self.emit(depth + 1, f"{v} = {self.fill(self.r.choice(same), t)}")
            self.tensors[v] = rank
        elif kind < 0.89:
            t = self.tensor(1)
            v = self.name()
            rank = self.tensors[t]
            self.emit(depth, f"{v} = {t}")
            over = self.r.choice(["range(2)", f"range(min({t}.shape[0], 3))", f"range({t}.shape[-1] % 3)", f"{t}.shape[:2]"])
            self.emit(depth, f"for i in {over}:")
            same = [e for e, r in TENSOR[rank] if r == rank and "{t}" in e and "cat" not in e and "repeat" not in e]
            self.tensors[v] = rank
            self.emit(depth + 1, f"{v} = {self.fill(self.r.choice(same), v)} + i")
        elif kind < 0.94:
            self.emit(depth, self.r.choice(["gb()", f"LOG.append({self.tensor()}.sum().item())"]))
        else:
            v = self.name()
            t = self.tensor()
            rank = self.tensors[t]
            same = [e for e, r in TENSOR[rank] if r == rank]
            self.emit(depth, "try:")
            self.emit(depth + 1, f"{v} = {self.fill(self.r.choice(same), t)}")
            self.emit(depth, "except (RuntimeError, IndexError) as e:")
            self.emit(depth + 1, "LOG.append(type(e).__name__)")
            self.emit(depth + 1, f"{v} = {t} * 2")
            self.tensors[v] = rank

    def build(self):
        for _ in range(self.r.randint(4, 13)):
            self.statement(1)
        names = list(self.tensors)[3:] or ["x"]
        kept = self.r.sample(names, min(len(names), 4))
        back = ", ".join(kept + self.numbers[:3] + [f"{kept[0]}.shape"])
        helpers = ["def helper(t, n):", "    b, c = t.shape", f"    return t.{self.r.choice(['relu', 'exp', 'neg'])}() * n + b - c", "",
                   "def reads_size(t):", f"    if t.size(0) {self.r.choice(['>', '<', '>='])} {self.r.randint(2, 6)}:", "        return t * 2",
                   "    return t - t.shape[0]", ""]
        return HEADER + "\n".join(helpers) + "\ndef f(x, y, z):\n" + "\n".join(self.lines) + f"\n    return {back}\n"


def program(seed):
    return Generator(seed).build()


def arguments(seed, call):
    g = torch.Generator().manual_seed(seed * 31 + call)
    b = BATCHES[call]
    c = 4 if seed % 4 < 2 else BATCHES[(call * 5 + 3) % len(BATCHES)]
    x = torch.randn(b, c, generator=g)
    kind = (seed // 4 + (call if seed % 8 >= 6 else 0)) % 4
    y = torch.randn(b, c, generator=g) if kind == 0 else x.t() if kind == 1 else torch.randn(2 * b, c, generator=g)[::2] if kind == 2 else x
    return x, y, torch.randn(c if seed % 3 else b, generator=g)


def close(a, b):
    if isinstance(a, BaseException) or isinstance(b, BaseException):
        return type(a) is type(b) and str(a) == str(b)
    try:
        torch.testing.assert_close(a, b, equal_nan=True, check_stride=True)
        return True
    except (AssertionError, TypeError, ValueError):
        return bits_equal(a, b)


def call(space, f, args):
    seed_all(5)
    space["LOG"].clear()
    try:
        result = f(*args)
    except Exception as error:
        result = error
    return [result, list(space["LOG"]), list(args), torch.rand(1)]


def compare(source, seed, leg):
    warnings.simplefilter("ignore")
    if leg == "executor":
        breakline._native.load().set_option("executor_only", 1)
    equal = close if leg == "cpu" else bits_equal
    spaces = []
    for _ in range(2):
        seed_all(seed)
        space = {"gb": breakline.graph_break, "__name__": "program"}
        exec(compile(source, f"<program {seed}>", "exec"), space)
        spaces.append(space)
    compiled = breakline.compile(spaces[1]["f"], plan=None if leg == "cpu" else "replay", dynamic=True if seed % 2 else None)
    for n in range(len(BATCHES)):
        with torch.no_grad() if seed % 5 else torch.enable_grad():
            want = call(spaces[0], spaces[0]["f"], arguments(seed, n))
            got = call(spaces[1], compiled, arguments(seed, n))
        for what, mine, own in zip(("result", "log", "arguments", "random stream"), got, want):
            if not equal(mine, own):
                return {"diff": f"call {n} (size {BATCHES[n]}): {what}\n  compiled {mine}\n  plain    {own}"[:1500], "stats": dict(compiled.stats)}
    skipped = [s["reason"] for s in compiled.report()["targets"][0]["skipped_frames"]]
    return {"stats": dict(compiled.stats), "skipped": skipped}


def reduced(seed, leg):
    lines = program(seed).split("\n")
    first = next(i for i, line in enumerate(lines) if line.startswith("def f"))
    size = max(1, (len(lines) - first) // 2)
    while size:
        i, shrunk = first + 1, False
        while i < len(lines) - 2:
            trial = lines[:i] + lines[i + size:]
            try:
                compile("\n".join(trial), "t", "exec")
            except SyntaxError:
                i += 1
                continue
            answer = run_child(lambda: compare("\n".join(trial), seed, leg))
            if "diff" in answer and "NameError" not in answer["diff"] and "NotDefined" not in answer["diff"]:
                lines, shrunk = trial, True
            else:
                i += 1
        if not shrunk:
            size //= 2
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--leg", choices=["replay", "cpu", "executor"], default="replay")
    parser.add_argument("--show", type=int)
    parser.add_argument("--reduce", type=int)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    if options.show is not None:
        print(program(options.show))
        print(compare(program(options.show), options.show, options.leg))
        return
    if options.reduce is not None:
        text = reduced(options.reduce, options.leg)
        print(text, run_child(lambda: compare(text, options.reduce, options.leg)))
        return
    bad, graphs, calls, inner, refused = [], 0, 0, [], {}
    for seed in range(options.first, options.first + options.programs):
        answer = run_child(lambda: compare(program(seed), seed, options.leg))
        if "crash" in answer or "diff" in answer:
            bad.append(seed)
            print(f"program {seed}: {answer.get('crash') or answer['diff']}", flush=True)
            continue
        graphs += answer["stats"]["graphs"]
        calls += len(BATCHES)
        for reason in answer["skipped"]:
            inner += [(seed, reason)] if reason.startswith("internal") else []
            refused[reason.split(":")[0]] = refused.get(reason.split(":")[0], 0) + 1
        if options.verbose:
            print(seed, answer["stats"], answer["skipped"], flush=True)
    for seed, reason in inner:
        print(f"program {seed}: {reason}")
    print(f"size fuzz[{options.leg}]: {options.programs - len(bad)} passed, {len(bad)} failed, {graphs} graphs in {calls} calls, left to Python: {refused}")
    if bad:
        print("failed seeds:", *bad)
    sys.exit(1 if bad or inner else 0)


if __name__ == "__main__":
    main()
