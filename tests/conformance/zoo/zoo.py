# SPDX-License-Identifier: GPL-3.0-or-later
"""Real models under Breakline: each entry runs eagerly, with the replay plan (bit for bit), with the cpu plan (in tolerance) and,
as the peer, under Dynamo with a backend that only counts. One row an entry.

  zoo.py [--peer] [--legs eager,replay,cpu] [--entries FILE.py] [--calls N] [--json FILE] [name or part of a name ...]

An entry is a function that returns a Case (see `case.py`); it is built anew, from the same seed, in a forked child for each leg.
"""

import argparse
import json
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "support")]

import torch  # noqa: E402
from case import describe, differences, run_case  # noqa: E402
from harness import run_child, seed_all  # noqa: E402

TIMEOUT = 400
NOTE_LINES = int(os.environ.get("ZOO_NOTE_LINES", "3"))


def ours(plan):
    """A function that compiles with Breakline, and one that reads the counts."""
    import breakline

    made = []

    def compile_one(fn):
        made.append(breakline.compile(fn, plan=plan))
        return made[-1]

    def counts():
        report = made[-1].report()
        entries = report["targets"] if "targets" in report else [report]
        breaks = [b for entry in entries for b in entry["breaks"]]
        places = sorted({(b["reason"], b["file"], b["line"]) for b in breaks})
        return dict(made[-1].stats, where=places)

    return compile_one, counts


def peer():
    """The same for torch.compile with a backend that counts."""
    import torch._dynamo as dynamo
    from torch._dynamo import utils

    stats = {"graphs": 0, "ops": 0}

    def backend(graph, example_inputs):
        stats["graphs"] += 1
        stats["ops"] += sum(node.op.startswith("call_") for node in graph.graph.nodes)
        return graph.forward

    def counts():
        stacks = [reason.user_stack for reason in utils.graph_break_reasons if reason.user_stack]
        places = sorted({(stack[-1].filename, stack[-1].lineno) for stack in stacks})
        frames = utils.counters["frames"]
        return dict(stats, places=len(places), where=places, skipped=frames["total"] - frames["ok"])

    return lambda fn: torch.compile(fn, backend=backend), counts


def leg_facts(entry, leg, calls):
    torch.set_num_threads(1)
    seed_all(1)
    case = entry()
    compile_one, counts = (lambda fn: fn, dict)
    if leg == "peer":
        compile_one, counts = peer()
    elif leg != "eager":
        compile_one, counts = ours("replay" if leg == "replay" else None)
    record, seconds = run_case(case, compile_one, calls)
    return {"record": describe(record), "seconds": seconds, "counts": dict(counts(), allowed=case.places)}


def judge(name, entry, legs, calls):
    """One row: what each leg gave."""
    row = {"name": name}
    facts = {leg: run_child(lambda leg=leg: leg_facts(entry, leg, calls), TIMEOUT) for leg in legs}
    eager = facts["eager"]
    if "crash" in eager:
        row["note"] = "eager: " + eager["crash"].strip().rsplit("\n", 1)[-1]
        row["broken"] = True
        return row
    row["eager_ms"] = min(eager["seconds"][1:] or eager["seconds"]) * 1e3
    for leg in legs[1:]:
        got = facts[leg]
        if "crash" in got:
            row[leg] = {"equal": False, "note": "\n    ".join(got["crash"].strip().split("\n")[-NOTE_LINES:])}
            continue
        found = differences(eager["record"], got["record"], exact=leg != "cpu")
        steady = min(got["seconds"][1:] or [0])
        row[leg] = {"equal": not found, "note": "; ".join(found[:3]), "trace": got["seconds"][0] - steady, "ms": steady * 1e3,
                    **got["counts"]}
    return row


def good(row):
    mine = [row[leg] for leg in ("replay", "cpu") if leg in row]
    return not row.get("broken") and all(
        leg["equal"] and not leg.get("skipped") and (leg.get("allowed") is None or leg["places"] <= leg["allowed"]) for leg in mine)


HEADER = f"{'model':28} {'equal':>12} {'graphs':>6} {'places':>6} {'skipped':>7} {'ops':>6}  {'peer: graphs':>12} {'places':>6} {'skipped':>7}" \
         f"  {'trace s':>8} {'peer s':>8} {'ratio':>6}"


def line(row):
    if row.get("broken"):
        return f"{row['name']:28} {row['note']}"
    legs = [leg for leg in ("replay", "cpu") if leg in row]
    equal = " ".join("yes" if row[leg]["equal"] else "NO" for leg in legs)
    first = row[legs[0]] if legs else {}
    other = row.get("peer", {})
    show = lambda facts, key: str(facts.get(key, "-"))  # noqa: E731
    seconds = lambda facts: f"{facts['trace']:8.3f}" if "trace" in facts else f"{'-':>8}"  # noqa: E731
    ratio = f"{other['trace'] / first['trace']:6.0f}" if "trace" in other and first.get("trace", 0) > 0 else f"{'-':>6}"
    text = f"{row['name']:28} {equal:>12} {show(first, 'graphs'):>6} {show(first, 'places'):>6} {show(first, 'skipped'):>7} {show(first, 'ops'):>6}" \
           f"  {show(other, 'graphs'):>12} {show(other, 'places'):>6} {show(other, 'skipped'):>7}  {seconds(first)} {seconds(other)} {ratio}"
    for leg in legs + (["peer"] if "peer" in row else []):
        if not row[leg]["equal"]:
            text += f"\n    {leg}: {row[leg]['note']}"
    for place in first.get("where", []):
        text += f"\n    {place[0]}  {place[1].split('site-packages/')[-1]}:{place[2]}"
    return text


def load(path):
    """The entries of a file: name → function."""
    import importlib.util

    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return {name: getattr(value, "build", value) for name, value in module.ENTRIES.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--legs", default="eager,replay,cpu")
    parser.add_argument("--entries", action="append")
    parser.add_argument("--calls", type=int, default=3)
    parser.add_argument("--json")
    args = parser.parse_args()
    entries = {}
    for path in args.entries or [os.path.join(HERE, "entries.py")]:
        entries.update(load(path))
    chosen = [n for n in entries if not args.names or any(part in n for part in args.names)]
    legs = args.legs.split(",") + (["peer"] if args.peer else [])
    print(HEADER, flush=True)
    rows = []
    for name in chosen:
        rows.append(judge(name, entries[name], legs, args.calls))
        print(line(rows[-1]), flush=True)
    bad = [row["name"] for row in rows if not good(row)]
    print(f"{len(rows) - len(bad)} of {len(rows)} good" + (": not " + " ".join(bad) if bad else ""))
    if args.json:
        with open(args.json, "w") as out:
            json.dump(rows, out, indent=1)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
