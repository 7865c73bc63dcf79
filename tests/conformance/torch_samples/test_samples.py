# SPDX-License-Identifier: GPL-3.0-or-later
"""PyTorch's own operator and module samples (torch.testing._internal), eager against Breakline.

Each sample is called inside a function that also looks at the metadata of what it got, so what the tracer inferred is compared with the
truth. Compared: values, dtype, strides, offset, sharing, requires_grad, grad_fn, versions and content of the inputs, the random stream,
exceptions with their text, gradients. Replay plan bit for bit, cpu plan in tolerance.

  test_samples.py [--full] [--only REGEX] [--variants a,b] [--plans replay,cpu] [--samples N] [--shared] [--breaks] [--modules | --ops]
                  [--part I/N]

Without --full a fixed slice runs. --shared gives all samples of an operator to one compiled function, as a program that calls it with
changing inputs does. Exits 0 with a sentence where expecttest, which PyTorch's samples import, is missing.
"""

import argparse
import collections
import io
import os
import pickle
import re
import select
import signal
import sys
import time
import traceback
import types
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

try:
    import expecttest  # noqa: F401
except ImportError:
    print("SKIP: PyTorch's samples need the package expecttest (pip install expecttest)")
    sys.exit(0)

import torch  # noqa: E402

import samples  # noqa: E402
from exceptions import EXCEPTIONS, NOT_COMPARED  # noqa: E402

SLICE_VARIANTS = ("plain", "grad", "inplace_grad", "autocast", "out")


def copy_of(function):
    return types.FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__)


def as_user_code(function):
    """PyTorch's samples are lambdas in its own test files, which are called and not traced: the same code under another file name."""
    if isinstance(function, types.FunctionType) and "/torch/testing/" in function.__code__.co_filename.replace(os.sep, "/"):
        made = types.FunctionType(function.__code__.replace(co_filename="torch_samples_lambda.py"), function.__globals__, function.__name__,
                                  function.__defaults__, function.__closure__)
        made.__kwdefaults__ = function.__kwdefaults__
        return made
    return function


def breaks_of(compiled):
    report = compiled.report()
    found = report["breaks"] if "breaks" in report else report["targets"][0]["breaks"]
    return [b["reason"] for b in found]


def form_of(op, form):
    """The callable of a variant, or None when the operator has none."""
    if form == "function":
        return as_user_code(op.op)
    if form == "method":
        return as_user_code(op.method_variant)
    if form in ("inplace", "inplace_copy"):
        return as_user_code(op.inplace_variant)
    if form == "operator":
        return as_user_code(op.operator_variant)
    return as_user_code(op.op) if op.supports_out else None


def inputs_of(op, variant, limit):
    """(args, kwargs) of the first samples of an operator."""
    torch.manual_seed(3)
    found = []
    for index, s in enumerate(op.sample_inputs("cpu", variant.dtype, requires_grad=False)):
        if index >= limit:
            break
        found.append((index, (s.input, *s.args), dict(s.kwargs)))
    return found


def with_out(op, args, kwargs, wrong):
    """kwargs with an out= made from what the call returns; None when it takes none."""
    torch.manual_seed(5)
    try:
        result = op(*samples.Copier()(args), **samples.Copier()(kwargs))
    except Exception:
        return None
    if isinstance(result, torch.Tensor):
        if result.layout is not torch.strided:
            return None
        made = torch.full_like(result, 1)
        if wrong:
            made = made.new_empty((0,)) if result.numel() else made.new_empty((3,))
        return dict(kwargs, out=made)
    if isinstance(result, tuple) and all(isinstance(r, torch.Tensor) for r in result):
        return dict(kwargs, out=tuple(torch.full_like(r, 1) for r in result))
    return None


class Comparison:
    """One (operator, sample, variant, plan): its key and what runs it, giving (difference or "", reasons of breaks)."""

    def __init__(self, key, run):
        self.key, self.run = key, run

    def outcome(self):
        try:
            return self.run()
        except Exception as e:  # an error of the comparison itself is a failure too
            return f"{type(e).__name__}: {e} {traceback.format_exc()[-600:]}", []


def compile_for(target, plan):
    import breakline

    return breakline.compile(target, plan=None if plan == "cpu" else plan)


def check(call, op, args, kwargs, variant, plan, compiled=None):
    """(difference or "", reasons of breaks); `compiled` is called once, a function compiled for this sample twice."""
    if variant.default_dtype:
        torch.set_default_dtype(variant.default_dtype)
    try:
        want = samples.observe(call, op, args, kwargs, variant)
        again = samples.observe(call, op, args, kwargs, variant)
        if samples.difference(want, again, True):
            return "", ["not deterministic in eager"]
        turns = 1 if compiled else 2
        compiled = compiled or compile_for(copy_of(call), plan)
        for turn in range(turns):
            got = samples.observe(compiled, op, args, kwargs, variant)
            found = samples.difference(want, got, plan == "replay")
            if found:
                return f"call {turn}: {found}", breaks_of(compiled)
        return "", breaks_of(compiled)
    finally:
        torch.set_default_dtype(torch.float32)


def comparisons_of_op(op, variants, plans, limit, shared):
    name = op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")
    for variant in variants:
        form = form_of(op, variant.form)
        if form is None or variant.dtype not in op.supported_dtypes("cpu"):
            continue
        if variant.backward and not op.supports_autograd:
            continue
        try:
            found = inputs_of(op, variant, limit)
        except Exception:
            continue  # no samples of this dtype
        call = samples.call_on_copies if variant.form == "inplace_copy" else samples.call_function
        compiled = {plan: compile_for(copy_of(call), plan) if shared else None for plan in plans}
        for index, args, kwargs in found:
            if variant.form in ("out", "out_wrong"):
                kwargs = with_out(form, args, kwargs, variant.form == "out_wrong")
                if kwargs is None:
                    continue
            for plan in plans:
                yield Comparison(f"{name}[{index}]/{variant.name}/{plan}",
                                 lambda: check(call, form, args, kwargs, variant, plan, compiled[plan]))


def observe_module(info, sample, training, wrap):
    """What two calls of a new module do, and what became of its parameters and buffers; and the called object."""
    torch.manual_seed(7)
    given, forward = sample.constructor_input, sample.forward_input
    module = info.module_cls(*given.args, **given.kwargs)
    module.train(training)
    if info.is_lazy:
        module(*forward.args, **forward.kwargs)
    target, seen = wrap(module), []
    for _ in range(2):
        seen.append(samples.observe(lambda op, args, kwargs: (op(*args, **kwargs), None), target, forward.args, forward.kwargs,
                                    samples.VARIANTS["grad"]))
        seen[-1]["parameters"] = samples.plain_values([p for p in module.parameters()])
        seen[-1]["buffers"] = samples.plain_values([p for p in module.buffers()])
        seen[-1]["gradients"] = samples.plain_values([p.grad for p in module.parameters()])
    return seen, target


def module_difference(want, got, exact):
    for x, y in zip(want, got):
        found = samples.difference(x, y, exact)
        for part in ("parameters", "buffers", "gradients"):
            if not found and not samples.same_values(x[part], y[part], exact):
                found = f"{part} differ"
        if found:
            return found
    return ""


def check_module(info, sample, training, plan):
    want, _ = observe_module(info, sample, training, lambda m: m)
    again, _ = observe_module(info, sample, training, lambda m: m)
    if module_difference(want, again, True):
        return "", ["not deterministic in eager"]
    got, compiled = observe_module(info, sample, training, lambda m: compile_for(m, plan))
    return module_difference(want, got, plan == "replay"), breaks_of(compiled)


def comparisons_of_module(info, plans, limit):
    for training in (True, False):
        torch.manual_seed(3)
        try:
            found = list(info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=False, training=training))
        except Exception:
            continue
        for index, sample in enumerate(found[:limit]):
            for plan in plans:
                yield Comparison(f"{info.name}[{index}]/{'train' if training else 'eval'}/{plan}",
                                 lambda: check_module(info, sample, training, plan))


def child_events(units, done, stall):
    """Runs the comparisons of `units` but those in `done` in a forked child; yields ("begin", unit, key) and ("end", unit, key, difference,
    reasons), at last ("over", text) with the way the child ended ("" for well). A child that is silent for `stall` seconds is killed."""
    source, sink = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(source)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        warnings.simplefilter("ignore")
        torch.set_num_threads(1)
        with os.fdopen(sink, "wb") as out:
            for name, comparisons in units:
                for comparison in comparisons():
                    if comparison.key in done:
                        continue
                    pickle.dump(("begin", name, comparison.key), out)
                    out.flush()
                    pickle.dump(("end", name, comparison.key, *comparison.outcome()), out)
            pickle.dump(("over", ""), out)
        os._exit(0)
    os.close(sink)
    pending, ended = bytearray(), None
    while ended is None:
        ready, _, _ = select.select([source], [], [], stall)
        part = os.read(source, 1 << 16) if ready else None
        if part is None:
            os.kill(pid, signal.SIGKILL)
            ended = f"no answer within {stall} s"
        elif not part:
            ended = "the child died"
        else:
            pending += part
            stream = io.BytesIO(bytes(pending))
            read = 0
            while True:
                try:
                    event = pickle.load(stream)
                except (EOFError, pickle.UnpicklingError):
                    break
                read = stream.tell()
                if event[0] == "over":
                    ended = ""
                    break
                yield event
            del pending[:read]
    os.close(source)
    _, status = os.waitpid(pid, 0)
    yield ("over", ended and f"{ended} (status {status})")


def known_exception(key):
    """The reason why a sample may differ, or None."""
    return next((reason for pattern, reason in EXCEPTIONS if re.match(pattern, key)), None)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--variants", default="")
    parser.add_argument("--plans", default="")
    parser.add_argument("--samples", type=int, default=0)
    parser.add_argument("--breaks", action="store_true", help="print the breaks by operator")
    parser.add_argument("--shared", action="store_true", help="one compiled function for all samples of an operator")
    parser.add_argument("--ops", action="store_true")
    parser.add_argument("--modules", action="store_true")
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--chunk", type=int, default=12, help="operators in one child process")
    given = parser.parse_args()
    part, parts = map(int, given.part.split("/"))
    names = given.variants.split(",") if given.variants else list(samples.VARIANTS) if given.full else list(SLICE_VARIANTS)
    variants = [samples.VARIANTS[name] for name in names]
    limit = given.samples or (10_000 if given.full else 1)
    plans = given.plans.split(",") if given.plans else ["replay", "cpu"]

    warnings.simplefilter("ignore")
    work = []
    if not given.modules:
        from torch.testing._internal.common_methods_invocations import op_db

        for i, op in enumerate(op_db):
            chosen = variants if given.full or given.variants else [variants[0], variants[1 + i % (len(variants) - 1)]]
            chosen_plans = plans if given.full or given.plans else [plans[i % len(plans)]]
            if re.search(given.only, op.name) and op.name not in NOT_COMPARED:
                work.append((op.name, lambda op=op, v=chosen, p=chosen_plans: comparisons_of_op(op, v, p, limit, given.shared)))
    if not given.ops:
        from torch.testing._internal.common_modules import module_db

        for i, info in enumerate(module_db):
            chosen_plans = plans if given.full or given.plans else [plans[i % len(plans)]]
            if re.search(given.only, info.name) and info.name not in NOT_COMPARED:
                work.append((info.name, lambda m=info, p=chosen_plans: comparisons_of_module(m, p, limit)))
    work = work[part::parts]
    import breakline  # noqa: F401  before the forks

    total = collections.Counter()
    breaks, failed = collections.Counter(), []

    def add(name, key, difference, reasons):
        total["count"] += 1
        total["broken"] += bool(reasons)
        for reason in set(reasons):
            breaks[(name, key.split("/")[1], reason)] += 1
        if difference and known_exception(key):
            total["excepted"] += 1
        elif difference:
            failed.append(key)
            print(f"FAIL {key}: {difference[:700]}", flush=True)

    started = time.monotonic()
    for at in range(0, len(work), given.chunk):
        chunk, done, over = work[at:at + given.chunk], set(), False
        while not over:
            running = None
            for event in child_events(chunk, done, 120):
                if event[0] == "begin":
                    running = event[1:]
                    done.add(event[2])
                elif event[0] == "end":
                    running = None
                    add(*event[1:])
                elif event[1] and running:  # this one ended the child: the rest goes to a new one
                    add(*running, event[1], [])
                else:
                    over = True
                    if event[1]:
                        failed.append(chunk[0][0])
                        print(f"FAIL between samples of {', '.join(name for name, _ in chunk)}: {event[1]}", flush=True)
    if given.breaks:
        table = collections.defaultdict(lambda: collections.defaultdict(set))
        for (name, variant, reason), n in breaks.items():
            table[reason][name].add(f"{variant}:{n}")
        for reason, ops in sorted(table.items()):
            print(f"BREAK {reason} ({len(ops)}): " + "; ".join(f"{n} {','.join(sorted(v))}" for n, v in sorted(ops.items())))
    print(f"torch samples: {total['count']} compared, {len(failed)} differ, {total['excepted']} excepted, "
          f"{total['broken']} with a break, {time.monotonic() - started:.0f} s")
    if total["count"] == 0:
        print("nothing was compared")
        sys.exit(1)
    if total["excepted"] * 100 > total["count"]:
        print("more than 1 % are excepted")
        sys.exit(1)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
