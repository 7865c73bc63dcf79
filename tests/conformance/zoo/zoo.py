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
# Reasons of breaks that read a value out of a tensor, act outside the program or run autograd: the breaks that have to be.
NEEDED = set("""graph-break data-dependent-branch data-dependent-bool data-dependent-assert tensor-item tensor-tolist data-dependent-operator
dynamic-shape dynamic-slice one-hot-classes sort-keys tensor-index non-tensor-result tensor-text print warning logging file-io clock
python-random operating-system thread import numpy-function numpy-array op-error rng-seed backward autograd-grad requires-grad""".split())


def warm_up(compile_one):
    """What a compiler does once in a process is no part of any model's trace time."""
    layer = torch.nn.Linear(2, 2)
    compile_one(lambda x: torch.relu(layer(x)) + 1)(torch.ones(2, 2))


def ours(plan):
    """A function that compiles with Breakline, and one that reads the counts."""
    import breakline

    made = []

    def compile_one(fn):
        made.append(breakline.compile(fn, plan=plan))
        return made[-1]

    warm_up(compile_one)

    def counts():
        report = made[-1].report()
        entries = report["targets"] if "targets" in report else [report]
        breaks = [b for entry in entries for b in entry["breaks"]]
        places = sorted({(b["reason"], b["file"], b["line"]) for b in breaks})
        return dict(made[-1].stats, where=places, frames=[str(f) for entry in entries for f in entry["skipped_frames"]],
                    traced=sum(s["trace_us"] for entry in entries for s in entry["segments"]) / 1e6)

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

    def compile_one(fn):
        return torch.compile(fn, backend=backend)

    warm_up(compile_one)
    dynamo.reset()
    utils.counters.clear()
    utils.graph_break_reasons.clear()
    stats.update(graphs=0, ops=0)
    return compile_one, counts


def leg_facts(case, leg, calls):
    compile_one, counts = (lambda fn: fn, dict)
    if leg == "peer":
        compile_one, counts = peer()
    elif leg != "eager":
        compile_one, counts = ours("replay" if leg == "replay" else None)
    record, seconds = run_case(case, compile_one, calls)
    return {"record": describe(record), "seconds": seconds, "counts": counts()}


def family(entry, other, legs, calls):
    """Builds the model once and runs each leg in a fork of that state."""
    torch.set_num_threads(1)
    seed_all(1)
    case = entry()
    if other:
        case = case.other()
    if case is None:
        return None
    facts = {"mode": "train" if case.train else "eval", "allowed": case.places}
    for leg in legs:
        facts[leg] = run_child(lambda leg=leg: leg_facts(case, leg, calls), TIMEOUT)
    return facts


def judge(name, entry, legs, calls, other=False):
    """One row: what each leg gave; None if the entry has no other mode."""
    facts = run_child(lambda: family(entry, other, legs, calls), TIMEOUT * len(legs))
    if facts is None:
        return None
    row = {"name": name, "mode": facts.get("mode", "?"), "allowed": facts.get("allowed")}
    if "crash" in facts or "crash" in facts["eager"]:
        row["note"] = "eager: " + facts.get("eager", facts)["crash"].strip().rsplit("\n", 1)[-1]
        row["broken"] = True
        return row
    eager = facts["eager"]
    row["eager_ms"] = min(eager["seconds"][1:] or eager["seconds"]) * 1e3
    for leg in legs[1:]:
        got = facts[leg]
        if "crash" in got:
            row[leg] = {"equal": False, "note": "\n    ".join(got["crash"].strip().split("\n")[-NOTE_LINES:])}
            continue
        found = differences(eager["record"], got["record"], exact=leg != "cpu")
        row[leg] = {"equal": not found, "note": "; ".join(found[:3]), "ms": min(got["seconds"][1:] or [0]) * 1e3, **got["counts"]}
        # Both sides share what the first call costs in eager Python (lazy imports, primitives of libraries).
        more = got["seconds"][0] - eager["seconds"][0]
        row[leg]["trace"] = more if more > 0 else got["counts"].get("traced", 0)
    return row


def beyond_peer(row):
    """Places of ours that the peer does not have in a run where it gave no frame up; places that neither read a value nor act outside
    where it did."""
    mine, other = row.get("replay", {}), row.get("peer", {})
    places = mine.get("where", [])
    if "where" not in other:
        return []
    theirs = {(file, line) for file, line in other["where"]}
    alone = [p for p in places if (p[1], p[2]) not in theirs]
    return [p for p in alone if p[0] not in NEEDED] if other["skipped"] else alone


def good(row):
    mine = [row[leg] for leg in ("replay", "cpu") if leg in row]
    return not row.get("broken") and all(
        leg["equal"] and not leg.get("skipped") and (row["allowed"] is None or leg["places"] <= row["allowed"]) for leg in mine) and not beyond_peer(row)


HEADER = f"{'model':28} {'mode':5} {'equal':>12} {'graphs':>6} {'places':>6} {'skipped':>7} {'ops':>6}  {'peer: graphs':>12} {'places':>6} {'skipped':>7}" \
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
    text = f"{row['name']:28} {row['mode']:5} {equal:>12} {show(first, 'graphs'):>6} {show(first, 'places'):>6} {show(first, 'skipped'):>7} {show(first, 'ops'):>6}" \
           f"  {show(other, 'graphs'):>12} {show(other, 'places'):>6} {show(other, 'skipped'):>7}  {seconds(first)} {seconds(other)} {ratio}"
    for leg in legs + (["peer"] if "peer" in row else []):
        if not row[leg]["equal"]:
            text += f"\n    {leg}: {row[leg]['note']}"
    for frame in first.get("frames", []):
        text += f"\n    given up: {frame}"
    for place in first.get("where", []):
        text += f"\n    {place[0]}  {place[1].split('site-packages/')[-1]}:{place[2]}"
    return text


def load(path):
    """The entries of a file (name → function) and those whose package is missing (name → package)."""
    import importlib.util

    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.ENTRIES, getattr(module, "MISSING", {})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--both", action="store_true", help="each module in its other mode (train, eval) as well")
    parser.add_argument("--legs", default="eager,replay,cpu")
    parser.add_argument("--entries", action="append")
    parser.add_argument("--calls", type=int, default=3)
    parser.add_argument("--json", help="a file with one row a line; rows that it has are not run again")
    parser.add_argument("--whole", action="store_true", help="everything, where all packages are there and BREAKLINE_ZOO=1; else a skip")
    args = parser.parse_args()
    entries, missing = {}, {}
    for path in args.entries or [os.path.join(HERE, name) for name in ("page.py", "entries.py", "steps.py", "styles.py")]:
        found, absent = load(path)
        entries.update(found)
        missing.update(absent)
    if args.whole and (missing or os.environ.get("BREAKLINE_ZOO") != "1"):
        packages = " ".join(sorted(set(missing.values())))
        print(f"skipped: packages that are not installed: {packages}" if missing else "skipped: it takes an hour; BREAKLINE_ZOO=1 runs it")
        sys.exit(77)
    chosen = [n for n in entries if not args.names or any(part in n for part in args.names)]
    legs = args.legs.split(",") + (["peer"] if args.peer else [])
    rows = []
    if args.json and os.path.exists(args.json):
        with open(args.json) as old:
            rows = [json.loads(text) for text in old]
    known = {(row["name"], row["other"]) for row in rows}
    print(HEADER, flush=True)
    for name, other in [(n, o) for n in chosen for o in ([False, True] if args.both else [False])]:
        if (name, other) in known:
            continue
        row = judge(name, entries[name], legs, args.calls, other)
        if row is None:
            continue
        row["other"] = other
        rows.append(row)
        print(line(row), flush=True)
        if args.json:
            with open(args.json, "a") as out:
                out.write(json.dumps(row) + "\n")
    bad = [f"{row['name']} ({row['mode']})" for row in rows if not good(row)]
    print(f"{len(rows) - len(bad)} of {len(rows)} good" + (": not " + ", ".join(bad) if bad else ""))
    if missing:
        print(f"{len(missing)} entries need packages that are not installed: " + " ".join(sorted(set(missing.values()))))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
