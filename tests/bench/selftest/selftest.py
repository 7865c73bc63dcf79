# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the verdicts of `breakline bench` can be trusted on this machine: identical arms are not told apart, a planted slow-down of
3 % is found, a neighbour that spins is seen. Prints the rates and the machine's load; ends with 1 where a rate misses its goal.

`build/bin/breakline python tests/bench/selftest/selftest.py [--runs 100] [--budget SECONDS a run] [--json] [--record FILE]`
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time

import torch

from breakline import _native
from breakline.engine import machine, timing

GOAL = 0.95
STEPS = 100  # the planted arm makes three more


def arm(steps, x):
    def run():
        y = x
        for _ in range(steps):
            y = y * 0.5
        return y

    return run


def one_run(extension, seed, steps, budget_s):
    """(verdict, ratio, outcome) of an arm with that many steps against the A/A pair, measured as bench does."""
    x = torch.ones(256)
    arms = [("eager", arm(STEPS, x), None), ("eager_aa", arm(STEPS, x), None), ("arm", arm(steps, x), None)]
    outcome = extension.measure_rounds(
        arms, rounds=timing.FULL_ROUNDS, budget_s=budget_s, seed=seed, block_ms=1.0, precision=timing.FULL_PRECISION
    )
    first, second, third = (entry["samples_us"] for entry in outcome["arms"])
    result = extension.measure_compare(first, second, third)
    return result["verdict"], result["ratio"], outcome


def series(extension, steps, wanted, runs, budget_s, record):
    found, ratios, disturbed, kept, rounds = 0, [], 0, 0, []
    for seed in range(runs):
        verdict, ratio, outcome = one_run(extension, seed, steps, budget_s)
        found += verdict == wanted
        ratios.append(ratio["value"])
        rounds.append(outcome["rounds"])
        disturbed += outcome["loaded_blocks"] > 0
        kept += outcome["kept_loaded"]
        if record is not None:
            record.append({"steps": steps, "samples": [[round(value, 4) for value in entry["samples_us"]] for entry in outcome["arms"]]})
    ratios.sort()
    return {
        "wanted": wanted,
        "runs": runs,
        "found": found,
        "median_ratio": ratios[len(ratios) // 2],
        "median_rounds": sorted(rounds)[len(rounds) // 2],
        "runs_disturbed": disturbed,
        "runs_of_a_busy_machine": kept,
    }


def start_stranger():
    """The id of a process that spins and is no descendant of this one: its parent ends at once. It ends by itself after minutes."""
    code = "import time; end = time.time() + 300\nwhile time.time() < end: pass"
    shell = f'"{sys.executable}" -c "$1" >/dev/null 2>&1 & echo $!'
    return int(subprocess.run(["sh", "-c", shell, "sh", code], capture_output=True, text=True, check=True).stdout)


def neighbour(extension, runs, budget_s):
    """How many runs beside a process that spins are flagged, and how many CPUs the others were seen to use."""
    stranger = start_stranger()
    try:
        time.sleep(0.5)
        outcomes = [one_run(extension, seed, STEPS, budget_s)[2] for seed in range(runs)]
    finally:
        os.kill(stranger, signal.SIGKILL)
    return {
        "runs": runs,
        "found": sum(outcome["loaded_blocks"] > 0 for outcome in outcomes),
        "median_others": sorted(outcome["others"] for outcome in outcomes)[runs // 2],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--budget", type=float, default=3.0, help="seconds a run")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--record", help="write the samples of all runs to this file")
    options = parser.parse_args()
    torch.set_num_threads(1)
    extension, record = _native.ready(), [] if options.record else None
    before = os.getloadavg()[0]
    result = {
        "identical": series(extension, STEPS, "cannot tell", options.runs, options.budget, record),
        "slower": series(extension, STEPS * 103 // 100, "slower", options.runs, options.budget, record),
        "neighbour": neighbour(extension, max(3, options.runs // 10), options.budget),
    }
    result["load"] = {"before": before, "after": os.getloadavg()[0], "cpus": len(os.sched_getaffinity(0)), "blas": machine.blas()}
    result["held"] = all(result[name]["found"] >= GOAL * result[name]["runs"] for name in ("identical", "slower", "neighbour"))
    if record is not None:
        with open(options.record, "w", encoding="utf-8") as file:
            json.dump(record, file)
    if options.json:
        print(json.dumps(result, indent=1))
    else:
        show(result)
    return 0 if result["held"] else 1


def show(result):
    load = result["load"]
    print(f"load {load['before']:.2f} before, {load['after']:.2f} after, {load['cpus']} CPUs")
    for name, title in (("identical", 'identical arms: "cannot tell"'), ("slower", "3 % slower arm: found"), ("neighbour", "spinning neighbour: flagged")):
        part = result[name]
        rest = "" if name == "neighbour" else f"   ratio {part['median_ratio']:.4f}, {part['median_rounds']} rounds, {part['runs_disturbed']} runs disturbed, {part['runs_of_a_busy_machine']} kept as of a busy machine"
        print(f"  {title:<32} {part['found']} of {part['runs']}{rest}")


if __name__ == "__main__":
    sys.exit(main())
