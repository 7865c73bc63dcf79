# SPDX-License-Identifier: GPL-3.0-or-later
"""PyTorch's own operator and module samples (torch.testing._internal), eager against Breakline.

Each sample is called inside a function that also looks at the metadata of what it got, so what the tracer inferred is compared with the
truth. Compared: values, dtype, strides, offset, sharing, requires_grad, grad_fn, versions and content of the inputs, the random stream,
exceptions with their text, gradients. Replay plan bit for bit, cpu plan in tolerance.

  test_samples.py [--full] [--only REGEX] [--variants a,b] [--plans replay,cpu] [--samples N] [--breaks] [--modules | --ops] [--part I/N]

Without --full a fixed slice runs. Exits 0 with a sentence where expecttest, which PyTorch's samples import, is missing.
"""

import argparse
import collections
import os
import re
import sys
import types
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "support")]

from harness import run_child  # noqa: E402

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
        made = torch.full_like(result, 1)
        if wrong:
            made = made.new_empty((0,)) if result.numel() else made.new_empty((3,))
        return dict(kwargs, out=made)
    if isinstance(result, tuple) and all(isinstance(r, torch.Tensor) for r in result):
        return dict(kwargs, out=tuple(torch.full_like(r, 1) for r in result))
    return None


def check(call, op, args, kwargs, variant, plan):
    """(difference or "", reasons of breaks, crashed)"""
    import breakline

    if variant.default_dtype:
        torch.set_default_dtype(variant.default_dtype)
    try:
        want = samples.observe(call, op, args, kwargs, variant)
        again = samples.observe(call, op, args, kwargs, variant)
        if samples.difference(want, again, True):
            return "", ["not deterministic in eager"]
        compiled = breakline.compile(copy_of(call), plan=None if plan == "cpu" else plan)
        for turn in range(2):
            got = samples.observe(compiled, op, args, kwargs, variant)
            found = samples.difference(want, got, plan == "replay")
            if found:
                return f"call {turn}: {found}", breaks_of(compiled)
        return "", breaks_of(compiled)
    finally:
        torch.set_default_dtype(torch.float32)


def run_op(op, variants, plans, limit):
    """Everything of one operator: {"failed": [...], "count": n, "breaks": {...}}"""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    out = {"failed": [], "count": 0, "broken": 0, "breaks": collections.Counter(), "skipped": 0}
    name = op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")
    for variant in variants:
        form = form_of(op, variant.form)
        if form is None or (variant.form == "out_wrong" and not op.supports_out):
            continue
        if variant.dtype not in op.supported_dtypes("cpu"):
            continue
        if variant.backward and not op.supports_autograd:
            continue
        try:
            found = inputs_of(op, variant, limit)
        except Exception:
            out["skipped"] += 1
            continue
        call = samples.call_on_copies if variant.form == "inplace_copy" else samples.call_function
        for index, args, kwargs in found:
            if variant.form in ("out", "out_wrong"):
                kwargs = with_out(form, args, kwargs, variant.form == "out_wrong")
                if kwargs is None:
                    continue
            for plan in plans:
                key = f"{name}[{index}]/{variant.name}/{plan}"
                try:
                    difference, reasons = check(call, form, args, kwargs, variant, plan)
                except Exception as e:  # an error of the comparison itself is a failure too
                    import traceback

                    difference, reasons = f"{type(e).__name__}: {e} {traceback.format_exc()[-600:]}", []
                out["count"] += 1
                out["broken"] += bool(reasons)
                for reason in set(reasons):
                    out["breaks"][(name, variant.name, reason)] += 1
                if difference:
                    out["failed"].append((key, difference[:700]))
    return out


def run_module(info, plans, limit):
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    import breakline

    out = {"failed": [], "count": 0, "broken": 0, "breaks": collections.Counter(), "skipped": 0}
    variant = samples.VARIANTS["grad"]
    for training in (True, False):
        torch.manual_seed(3)
        try:
            found = list(info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=False, training=training))
        except Exception:
            out["skipped"] += 1
            continue
        for index, s in enumerate(found[:limit]):
            for plan in plans:
                key = f"{info.name}[{index}]/{'train' if training else 'eval'}/{plan}"
                given, forward = s.constructor_input, s.forward_input

                def observe(wrap):
                    torch.manual_seed(7)
                    module = info.module_cls(*given.args, **given.kwargs)
                    module.train(training)
                    if info.is_lazy:
                        module(*forward.args, **forward.kwargs)
                    target = wrap(module)
                    seen = []
                    for _ in range(2):
                        seen.append(samples.observe(lambda op, args, kwargs: (op(*args, **kwargs), None), target, forward.args,
                                                    forward.kwargs, variant))
                        seen[-1]["parameters"] = samples.plain_values([p for p in module.parameters()])
                        seen[-1]["buffers"] = samples.plain_values([p for p in module.buffers()])
                        seen[-1]["gradients"] = samples.plain_values([p.grad for p in module.parameters()])
                    return seen, target

                difference, reasons = "", []
                try:
                    want, _ = observe(lambda m: m)
                    again, _ = observe(lambda m: m)
                    exact = plan == "replay"

                    def compare(a, b, exact):
                        for x, y in zip(a, b):
                            found = samples.difference(x, y, exact)
                            for part in ("parameters", "buffers", "gradients"):
                                if not found and not samples.same_values(x[part], y[part], exact):
                                    found = f"{part} differ"
                            if found:
                                return found
                        return ""

                    if not compare(want, again, True):
                        got, compiled = observe(lambda m: breakline.compile(m, plan=None if plan == "cpu" else plan))
                        difference, reasons = compare(want, got, exact), breaks_of(compiled)
                except Exception as e:
                    import traceback

                    difference = f"{type(e).__name__}: {e} {traceback.format_exc()[-600:]}"
                out["count"] += 1
                out["broken"] += bool(reasons)
                for reason in set(reasons):
                    out["breaks"][(info.name, "module", reason)] += 1
                if difference:
                    out["failed"].append((key, difference[:700]))
    return out


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
                work.append((op.name, lambda op=op, v=chosen, p=chosen_plans: run_op(op, v, p, limit)))
    if not given.ops:
        from torch.testing._internal.common_modules import module_db

        for i, info in enumerate(module_db):
            chosen_plans = plans if given.full or given.plans else [plans[i % len(plans)]]
            if re.search(given.only, info.name) and info.name not in NOT_COMPARED:
                work.append((info.name, lambda m=info, p=chosen_plans: run_module(m, p, limit)))
    work = work[part::parts]
    import breakline  # noqa: F401  before the forks

    total = collections.Counter()
    breaks, failed = collections.Counter(), []

    def add(result):
        for key in ("count", "broken", "skipped"):
            total[key] += result[key]
        breaks.update(result["breaks"])
        for key, difference in result["failed"]:
            reason = known_exception(key)
            if reason:
                total["excepted"] += 1
            else:
                failed.append(key)
                print(f"FAIL {key}: {difference}", flush=True)

    for at in range(0, len(work), given.chunk):
        chunk = work[at:at + given.chunk]
        answer = run_child(lambda: [run() for _, run in chunk], timeout=60 * len(chunk))
        if isinstance(answer, list):
            for result in answer:
                add(result)
            continue
        for name, run in chunk:  # one of them ended the child: each alone
            answer = run_child(run, timeout=300)
            if "crash" in answer:
                failed.append(name)
                print(f"FAIL {name}: {answer['crash'][-600:]}", flush=True)
            else:
                add(answer)
    if given.breaks:
        table = collections.defaultdict(lambda: collections.defaultdict(set))
        for (name, variant, reason), n in breaks.items():
            table[reason][name].add(f"{variant}:{n}")
        for reason, ops in sorted(table.items()):
            print(f"BREAK {reason} ({len(ops)}): " + "; ".join(f"{n} {','.join(sorted(v))}" for n, v in sorted(ops.items())))
    print(f"torch samples: {total['count']} compared, {len(failed)} differ, {total['excepted']} excepted, "
          f"{total['broken']} with a break, {total['skipped']} sets of samples could not be made")
    if total["count"] == 0:
        print("nothing was compared")
        sys.exit(1)
    if total["excepted"] * 100 > total["count"]:
        print("more than 1 % are excepted")
        sys.exit(1)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
