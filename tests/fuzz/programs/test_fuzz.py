# SPDX-License-Identifier: GPL-3.0-or-later
"""Differential fuzzing: random programs, eager against Breakline.

Compared after every call, bit for bit under the replay plan: result, printed text, LOG and G, exception (type, text, context chain,
traceback function, line and columns), the arguments afterwards, and which tensors share memory.

  test_fuzz.py [--programs N] [--first SEED | --rolling] [--leg replay|executor|cpu] [--plain] [--force-every K] [--mutate]
               [--minimal] [--threads] [--fault NAME] [--show SEED] [--reduce SEED]

--plain (and any interpreter without PyTorch) runs the same programs on tensors that are plain Python objects.
--mutate changes something reachable between the calls (a class attribute, a method, a default, a global, a flag).
--minimal changes what the program never looks at, and expects no new segment.
--threads makes the calls on two threads in turn.
--rolling starts at a seed of chance (printed): for long runs by hand.
--fault plants a known defect and expects differences. Ends with coverage and asserts it.
"""

import argparse
import collections
import contextlib
import importlib.util
import queue
import threading
import io
import os
import random
import sys
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "support")]

import generator  # noqa: E402
import mutations  # noqa: E402
import plain_torch  # noqa: E402
from harness import bits_equal, error_facts, run_child, seed_all  # noqa: E402

CALLS = 4


class PlainRegion(contextlib.ContextDecorator):
    """Eager stand-in of error_on_graph_break; its own frames are left out of tracebacks by file."""

    def __init__(self, flag):
        self.flag = flag

    def _recreate_cm(self):
        return self

    def __call__(self, fn):
        def inner(*args, **kwargs):
            return fn(*args, **kwargs)

        return inner

    def __enter__(self):
        return None

    def __exit__(self, *exc):
        return None


def sharing(values):
    """Pairs of tensors (by position) that share storage."""
    flat = []
    if generator.plain:
        kind, storage, offset = plain_torch.Tensor, lambda t: id(t.data), lambda t: t.offset
    else:
        import torch

        kind, storage, offset = torch.Tensor, lambda t: t.untyped_storage().data_ptr(), lambda t: t.storage_offset()

    def walk(v):
        if isinstance(v, kind):
            flat.append(v)
        elif isinstance(v, (list, tuple)):
            for item in v:
                walk(item)
        elif isinstance(v, dict):
            for item in v.values():
                walk(item)
        elif hasattr(v, "__dict__"):
            walk(v.__dict__)

    walk(values)
    base = [storage(t) for t in flat]
    return [(i, j, offset(flat[i]) - offset(flat[j])) for i in range(len(flat)) for j in range(i) if base[i] == base[j]]


class Turns:
    """Calls made on two threads in turn, each waited for; or on the caller's own."""

    def __init__(self, threads):
        self.jobs = [queue.Queue() for _ in range(2 if threads else 0)]
        self.done = queue.Queue()
        for jobs in self.jobs:
            threading.Thread(target=self.work, args=(jobs,), daemon=True).start()

    def work(self, jobs):
        while (job := jobs.get()) is not None:
            try:
                self.done.put((job(), None))
            except BaseException as e:
                self.done.put((None, e))

    def __call__(self, call, job):
        if not self.jobs:
            return job()
        self.jobs[call % 2].put(job)
        result, error = self.done.get()
        if error is not None:
            raise error
        return result

    def end(self):
        for jobs in self.jobs:
            jobs.put(None)


def observe(source, path, seed, wrap, names, options):
    """Runs one program CALLS times and returns the list of everything that can be seen."""
    space = {"__name__": "fuzzed", "__file__": path, **names}
    exec(compile(source, path, "exec"), space)
    fn = wrap(space["f"])
    facts = []
    turns = Turns(options.threads)
    for call in range(CALLS):
        args = generator.arguments(space, seed, call)
        flags = mutations.between(space, seed, call, generator.plain) if options.mutate else contextlib.nullcontext()
        if options.minimal:
            mutations.unseen(space, call)
        random.seed(call)
        if not generator.plain:
            seed_all(call)
        out = io.StringIO()
        result = error = None
        with contextlib.redirect_stdout(out), flags:
            try:
                result = turns(call, lambda: fn(*args))
            except Exception as e:
                error = error_facts(e, path)
        facts.append({"result": result, "error": error, "printed": out.getvalue(), "log": list(space["LOG"]), "G": space["G"],
                      "args": args[:5], "thing": vars(args[5]), "THING": vars(space["THING"]),
                      "sharing": sharing([result, args, space["LOG"]]), "random": hash(random.getstate())})
    turns.end()
    return facts, fn


def close(a, b):
    """Like bits_equal, with assert_close's tolerance for floating tensors (cpu plan)."""
    import torch

    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) and a.dtype.is_floating_point:
        if a.dtype != b.dtype or a.shape != b.shape or a.stride() != b.stride():
            return False
        return torch.allclose(a, b, rtol=1e-5, atol=1e-5, equal_nan=True)
    if type(a) is type(b) and isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(close(x, y) for x, y in zip(a, b))
    if type(a) is type(b) and isinstance(a, dict):
        return list(a) == list(b) and all(close(a[k], b[k]) for k in a)
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= 2e-3 or a == b or (a != a and b != b)
    return bits_equal(a, b)


def difference(want, got, equal):
    for call, (w, g) in enumerate(zip(want, got)):
        for key in w:
            if not equal(w[key], g[key]):
                return f"call {call}, {key}:\n  eager    {w[key]!r}\n  compiled {g[key]!r}"[:3000]
    return None


def compare(source, seed, options):
    """None when equal, else a text. Plus the stats of the compiled function."""
    import breakline

    leg = options.leg
    path = f"/fuzz/program_{seed}.py"
    want, _ = observe(source, path, seed, lambda f: f, {"gb": lambda msg=None: None, "region": PlainRegion}, options)
    plan = None if leg == "cpu" else "replay"
    names = {"gb": breakline.graph_break, "region": breakline.error_on_graph_break}
    got, fn = observe(source, path, seed, lambda f: breakline.compile(f, plan=plan), names, options)
    if options.minimal:
        still = argparse.Namespace(**{**vars(options), "minimal": False})
        _, other = observe(source, path, seed, lambda f: breakline.compile(f, plan=plan), names, still)
        made, least = len(fn.target_report()["segments"]), len(other.target_report()["segments"])
        if made > least:
            return f"{made} segments where {least} do", dict(fn.stats), fn.target_report()
    equal = plain_torch.same if generator.plain else close if leg == "cpu" else bits_equal
    return difference(want, got, equal), dict(fn.stats), fn.target_report()


def setup(options):
    from breakline import _breakline

    if options.leg == "executor":
        _breakline.set_option("executor_only", 1)
    if options.force_every:
        _breakline.set_option("force_break_every", options.force_every)
    if options.fault:
        _breakline.set_option("fault", options.fault)


def batch(seeds, options):
    if not generator.plain:
        import torch

        torch.set_num_threads(1)
    setup(options)
    from breakline import _breakline

    results = []
    for seed in seeds:
        source = generator.program(seed)
        try:
            diff, stats, report = compare(source, seed, options)
        except BaseException:
            diff, stats, report = "harness: " + traceback.format_exc()[-2500:], {}, {}
        skipped = [s.get("reason") for s in report.get("skipped_frames", [])]
        results.append((seed, diff, stats, skipped))
    return {"results": results, "coverage": _breakline.coverage()}


def reduce(seed, options):
    """Deletes lines (with their blocks) as long as the difference stays; prints what is left."""
    lines = generator.program(seed).split("\n")

    def fails(candidate):
        source = "\n".join(candidate)
        try:
            compile(source, "p", "exec")
        except SyntaxError:
            return False

        def work():
            setup(options)
            return compare(source, seed, options)[0]

        answer = run_child(work, 30)
        return answer is not None and not (isinstance(answer, str) and answer.startswith("harness"))

    size = len(lines) // 2
    while size >= 1:
        i = 0
        while i < len(lines):
            candidate = lines[:i] + lines[i + size:]
            if fails(candidate):
                lines = candidate
            else:
                i += size
        size //= 2
    print("\n".join(lines))
    source = "\n".join(lines)

    def final():
        setup(options)
        return compare(source, seed, options)[0]

    print("-----\n", run_child(final, 30))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--leg", choices=["replay", "executor", "cpu"], default="replay")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--force-every", type=int, default=0)
    parser.add_argument("--mutate", action="store_true")
    parser.add_argument("--minimal", action="store_true")
    parser.add_argument("--threads", action="store_true")
    parser.add_argument("--rolling", action="store_true")
    parser.add_argument("--fault", default="")
    parser.add_argument("--show", type=int)
    parser.add_argument("--reduce", type=int)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    if options.rolling:
        options.first = int.from_bytes(os.urandom(4), "big")
        print("first seed", options.first)
    generator.plain = options.plain or importlib.util.find_spec("torch") is None
    if options.show is not None:
        print(generator.program(options.show))
        return 0
    if options.reduce is not None:
        reduce(options.reduce, options)
        return 0

    if not generator.plain:
        import torch  # noqa: F401  (loaded once, before the children are forked)
    import breakline  # noqa: F401

    total = collections.Counter()
    coverage = collections.Counter()
    reasons = collections.Counter()
    bad = []
    last = options.first + options.programs
    if options.fault:
        return fault_verdict(options)
    for first in range(options.first, last, 25):
        seeds = range(first, min(first + 25, last))
        answer = run_child(lambda: batch(seeds, options), 300)
        if "crash" in answer:
            # One program took the batch down: find it alone.
            for seed in seeds:
                single = run_child(lambda: batch([seed], options), 60)
                if "crash" in single:
                    bad.append((seed, "CRASH " + single["crash"][-600:]))
                else:
                    answer = single
                    collect(answer, total, coverage, reasons, bad)
            continue
        collect(answer, total, coverage, reasons, bad)
    for seed, diff in bad[: (1000 if options.verbose else 12)]:
        print(f"DIFFERENT seed {seed}: {diff}\n")
    print("differences:", len(bad), "of", options.programs, "programs; seeds", [s for s, _ in bad][:60])
    print("stats:", dict(total))
    print("skipped:", dict(reasons))
    return verdict(options, coverage, total, bad)


def collect(answer, total, coverage, reasons, bad):
    for seed, diff, stats, skipped in answer["results"]:
        total.update({k: v for k, v in stats.items() if isinstance(v, int)})
        reasons.update(skipped)
        if diff:
            bad.append((seed, diff))
    coverage.update({k: v for k, v in answer["coverage"].items() if isinstance(v, (int, float))})


def fault_verdict(options):
    """With a planted fault one difference is enough; a program that hangs by it is given up after some seconds."""
    for seed in range(options.first, options.first + options.programs):
        answer = run_child(lambda: batch([seed], options), 15)
        diff = None if "crash" in answer else answer["results"][0][1]
        if diff and not diff.startswith("harness"):
            print(f"planted fault {options.fault}: caught by seed {seed}: {diff[:600]}")
            return 0
    print(f"planted fault {options.fault}: NOT CAUGHT")
    return 1


def verdict(options, coverage, total, bad):
    roots, traced = coverage["roots"], coverage["roots_traced"]
    print(f"coverage: root frames traced {traced}/{roots}, segments {coverage['segments']}, with ops {coverage['segments_with_ops']}, "
          f"opcodes symbolic {coverage['ops_symbolic']}, executor {coverage['ops_executor']}, native {coverage['ops_native']}")
    failed = len(bad) > 0
    if roots == 0 or traced < 0.95 * roots:
        print("FAIL: fewer than 95 % of root frames were traced")
        failed = True
    if options.leg != "executor" and not generator.plain and coverage["segments_with_ops"] < options.programs:
        print("FAIL: fewer segments with ops than programs")
        failed = True
    print(f"fuzz[{options.leg}{', plain' if generator.plain else ''}]: {options.programs - len(bad)} passed, {len(bad)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
