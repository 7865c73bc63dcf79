# SPDX-License-Identifier: GPL-3.0-or-later
"""The programs of programs.py, eager against Breakline: results, inputs, state, random stream, exceptions, warnings apart.

  test_programs.py [--only REGEX] [--plans replay,cpu] [--breaks]
"""

import argparse
import contextlib
import os
import re
import sys
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "support"), os.path.join(HERE, "..", "..", "conformance", "torch_samples")]

import torch  # noqa: E402
from harness import Tally, run_child  # noqa: E402
from programs import PROGRAMS  # noqa: E402

import samples  # noqa: E402


class Halving(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        r = func(*args, **(kwargs or {}))
        return r / 2 if func is torch.add else r


class Passing(torch.utils._python_dispatch.TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        r = func(*args, **(kwargs or {}))
        return r + 1 if func is torch.ops.aten.add.Tensor else r


@contextlib.contextmanager
def setting(on, off):
    on()
    try:
        yield
    finally:
        off()


def around(name, fn):
    """A call of fn(*args) in a surrounding state."""
    contexts = {
        "no_grad": torch.no_grad,
        "enable": torch.enable_grad,
        "inference": torch.inference_mode,
        "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
        "autocast16": lambda: torch.autocast("cpu", dtype=torch.float16),
        "double": lambda: setting(lambda: torch.set_default_dtype(torch.float64), lambda: torch.set_default_dtype(torch.float32)),
        "meta": lambda: setting(lambda: torch.set_default_device("meta"), lambda: torch.set_default_device(None)),
        "deterministic": lambda: setting(lambda: torch.use_deterministic_algorithms(True), lambda: torch.use_deterministic_algorithms(False)),
        "function_mode": Halving,
        "dispatch_mode": Passing,
        "saved_hooks": lambda: torch.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t),
    }
    if name == "vmap":
        return lambda *args: torch.vmap(fn)(*args)
    if name == "checkpoint":
        return lambda *args: torch.utils.checkpoint.checkpoint(fn, *args, use_reentrant=False)
    if name == "func_grad":
        return lambda *args: torch.func.grad(lambda *a: fn(*a).sum())(*args)

    def run(*args):
        with contexts[name]():
            return fn(*args)

    return run


def observe(make, wrap):
    """Every call's outcome; gradients of the inputs after a backward of what requires grad."""
    torch.manual_seed(1)
    fn, calls = make()
    compiled = wrap(fn)
    seen = []
    for index, args in enumerate(calls):
        run = compiled
        if args and isinstance(args[0], str):
            if args[0] == "do":
                args[1]()
                args = args[2:]
            else:
                run, args = around(args[0], compiled), args[1:]
        torch.manual_seed(index)
        out = {"error": None}
        result = None
        try:
            result = run(*args)
        except Exception as e:
            out["error"] = (type(e).__name__, str(e))
        parts = samples.tensors_of(args)
        out["random"] = torch.get_rng_state()
        out["facts"], out["inputs"] = samples.facts(result), samples.facts(parts)
        out["versions"] = [None if t.is_inference() else t._version for t in parts + samples.tensors_of(result)]
        out["sharing"] = samples.sharing([result, parts])
        out["values"], out["after"] = samples.plain_values(result), samples.plain_values(parts)
        loss = None
        with contextlib.suppress(Exception):
            loss = samples.loss_of(result)
        if loss is not None and loss.requires_grad and loss.device.type == "cpu":
            try:
                loss.backward()
            except Exception as e:
                out["backward"] = (type(e).__name__, str(e))
        out["grads"] = samples.plain_values([t.grad if t.is_leaf else None for t in parts])
        out["state"] = (torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cpu"), torch.get_default_dtype(),
                        torch.are_deterministic_algorithms_enabled())
        seen.append(out)
    return seen, compiled


def compare(make, plan):
    import breakline

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    want, _ = observe(make, lambda f: f)
    again, _ = observe(make, lambda f: f)
    got, compiled = observe(make, lambda f: breakline.compile(f, plan=None if plan == "cpu" else plan))
    report = compiled.report()
    breaks = report["breaks"] if "breaks" in report else report["targets"][0]["breaks"]
    lines = [f"{b['reason']}@{os.path.basename(b['file'])}:{b['line']}" for b in breaks]
    for index, (a, b, c) in enumerate(zip(want, got, again)):
        if samples.difference(a, c, True):
            return "eager itself differs from run to run: " + samples.difference(a, c, True), lines
        found = samples.difference(a, b, plan == "replay")
        if not found and a["state"] != b["state"]:
            found = f"state: {a['state']} != {b['state']}"
        if found:
            return f"call {index}: {found}", lines
    return "", lines


class FunctionLog(torch.overrides.TorchFunctionMode):
    reason = "torch-function-mode"

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(getattr(func, "__name__", str(func)))
        return func(*args, **(kwargs or {}))


class DispatchLog(torch.utils._python_dispatch.TorchDispatchMode):
    reason = "dispatch-mode"

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


def mode_shapes(mode):
    """Functions around, beside and inside regions of a mode, and the least number of graphs each should have."""

    def helper(x):
        return (x + 1).sin()

    def plain(x):
        return helper(x * 2).cos()

    def region(x):
        y = (x * 2).relu()
        with mode:
            z = helper(y) + torch.ones(3)
        return (z.exp() + 1).tanh()

    def in_a_loop(x):
        for i in range(3):
            x = x * 2 + i
            with mode:
                for _ in range(2):
                    x = helper(x)
        return x - 1

    def raises(x):
        y = x * 2
        try:
            with mode:
                y = helper(y)
                y = y @ torch.ones(7, 7)
        except RuntimeError as e:
            y = y + len(str(e))
        return y.sin()

    def nested(x):
        with mode, torch.no_grad():
            y = helper(x)
            with torch.overrides.BaseTorchFunctionMode():
                y = y * 2
        return y + 1

    return {"around": (plain, 0), "region": (region, 2), "loop": (in_a_loop, 2), "raises": (raises, 2), "nested": (nested, 1)}


def modes(tally):
    """What a mode in force sees of compiled code is what it sees of plain Python, in order; the code before and after is compiled."""
    import breakline

    for cls in (FunctionLog, DispatchLog):
        mode = cls()
        for name, (function, graphs) in mode_shapes(mode).items():
            compiled = breakline.compile(function, plan="replay")
            x = torch.tensor([0.1, 0.2, 0.3])
            same = True
            for _ in range(3):
                outcomes = []
                for run in (function, compiled):
                    mode.seen = []
                    with mode if name == "around" else contextlib.nullcontext():
                        result = run(x)
                    outcomes.append((result.tolist(), mode.seen))
                same = same and outcomes[0] == outcomes[1] and len(outcomes[0][1]) > 1
            report = compiled.report()
            found = (report if "breaks" in report else report["targets"][0])["breaks"]
            stats = compiled.stats
            tally.check(f"{cls.__name__} {name}: the same calls", same, outcomes)
            if cls is FunctionLog and name in ("region", "loop", "nested"):  # entered inside: calls go through it while tracing
                tally.check(f"{cls.__name__} {name}: one graph", stats["graphs"] == 1 and not found and not stats["skipped"], (found, stats))
                continue
            tally.check(f"{cls.__name__} {name}: a break with its reason", cls.reason in [b["reason"] for b in found] and not stats["skipped"], (found, stats))
            tally.check(f"{cls.__name__} {name}: the rest is compiled", stats["graphs"] >= graphs, stats)
            if name == "around":
                compiled(x)
                tally.check(f"{cls.__name__} {name}: compiled without it", compiled.stats["graphs"] == 1, compiled.stats)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--plans", default="replay,cpu")
    parser.add_argument("--breaks", action="store_true")
    given = parser.parse_args()
    import breakline  # noqa: F401  before the forks

    tally = Tally("programs about PyTorch")
    if re.search(given.only, "modes"):
        modes(tally)
    for name, make in PROGRAMS.items():
        if not re.search(given.only, name):
            continue
        for plan in given.plans.split(","):
            answer = run_child(lambda: compare(make, plan), timeout=600)
            if isinstance(answer, dict):
                tally.check(f"{name}/{plan}", False, answer["crash"][-1500:])
                continue
            tally.check(f"{name}/{plan}", not answer[0], answer[0][:1200])
            if given.breaks and plan == "replay":
                print(f"  {name}: {', '.join(sorted(set(answer[1]))) or 'no break'}")
    tally.finish()


if __name__ == "__main__":
    main()
