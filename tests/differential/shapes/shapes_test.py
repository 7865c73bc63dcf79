# SPDX-License-Identifier: GPL-3.0-or-later
"""Shape rules against the real ops. usage: shapes_test.py FOLDER_OF_TEST_EXTENSION [FAMILY ...] [--seeds N] [--all]"""
import argparse
import collections
import importlib
import os
import sys
import warnings

FAMILIES = "pointwise view reduction matmul movement indexing norm conv embedding factory recurrent".split()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("extension")
    parser.add_argument("families", nargs="*", default=FAMILIES)
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--all", action="store_true", help="also compare answers of the meta call")
    parser.add_argument("--autocast", action="store_true", help="under torch.autocast('cpu', bfloat16)")
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        print("no torch in this interpreter: skipped")
        return 77
    sys.path[:0] = [options.extension, os.path.dirname(os.path.abspath(__file__))]
    import _bl_torch_test as engine
    import harness

    assert engine.initialize()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    calls, equal, answered = collections.Counter(), collections.Counter(), collections.Counter()
    differences = collections.defaultdict(list)
    families = options.families or FAMILIES
    if options.autocast:
        torch.autocast("cpu", torch.bfloat16).__enter__()
    for family in families:
        module = importlib.import_module("cases_" + family)
        for seed in range(options.first, options.first + options.seeds):
            maker = harness.Maker(seed, engine)
            torch.set_grad_enabled(maker.chance(0.7))
            for name, function, args, kwargs in module.cases(maker):
                calls[name] += 1
                verdict = harness.check(engine.debug_infer, function, args, kwargs, rules_only=not options.all)
                answered[name] += verdict is not None
                equal[name] += verdict is True
                if isinstance(verdict, str) and verdict.count("\n"):
                    differences[name].append("seed %d: %s" % (seed, verdict))
    torch.set_grad_enabled(True)
    failed = sum(map(len, differences.values()))
    for name, texts in differences.items():
        print("%s: %d of %d differ" % (name, len(texts), calls[name]))
        for text in texts[:2]:
            print("  " + text[:500])
    # A rule that never answers is a rule that is not there.
    silent = sorted(n for n in calls if calls[n] >= 8 and not answered[n] and not (options.autocast and n in ("addmm_", "gru", "lstm", "rnn_relu", "rnn_tanh")))
    rare = sorted((answered[n] / calls[n], n) for n in calls if answered[n] < 0.3 * calls[n] and n not in silent)
    print("rarely answered:", ", ".join("%s %.0f%%" % (n, 100 * f) for f, n in rare))
    print("%d calls of %d ops, %d answered by a rule and equal, %d differ, %d ops without an answer%s" % (
        sum(calls.values()), len(calls), sum(equal.values()), failed, len(silent), ": " + " ".join(silent) if silent else ""))
    return 1 if failed or silent else 0


if __name__ == "__main__":
    sys.exit(main())
