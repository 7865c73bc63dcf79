# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the table of a run: table.py ROWS.json ... > TABLE.md, from the rows that `zoo.py --json` has written; of two rows with
one name and mode the later file adds its legs to the earlier."""

import json
import re
import sys

import zoo

HEADER = """# Models under Breakline and under PyTorch's compiler

Made by `zoo.py --peer --both --legs eager,replay --json rows.json` and `table.py rows.json` (README.md says how). Every model is tiny and has random weights; each
leg starts from a fork of the same state. *equal*: all outputs, gradients, buffers, mutated arguments and the random generator, bit for bit against eager with the
replay plan. *graphs*, *places* that break, frames *given up* to CPython: ours / Dynamo's (a backend that only counts). *trace*: processor seconds of the first call beyond eager's first call;
*µs per op*: that time over our ops.
*needed*: our places that read a value, act outside or run autograd; where Dynamo gives no frame up, our places that it does not have are *extra*.

| model | mode | equal | ops | graphs | places | given up | trace s | ratio | µs per op | needed | extra |
|---|---|---|---|---|---|---|---|---|---|---|---|
"""


def pair(row, key):
    mine, other = row["replay"].get(key, "-"), row.get("peer", {}).get(key, "-")
    return f"{mine} / {other}"


def cells(row):
    mine, other = row["replay"], row.get("peer", {})
    if "trace" not in mine:
        return [row["name"], row["mode"], "no: " + mine["note"].split("\n")[-1].strip()[:80]] + ["-"] * 9
    extra = zoo.beyond_peer(row)
    needed = sum(place[0] in zoo.NEEDED for place in mine["where"])
    ratio = f"{other['trace'] / mine['trace']:.0f}" if other.get("trace") and mine["trace"] > 0 else "-"
    times = f"{mine['trace']:.3f} / " + (f"{other['trace']:.2f}" if "trace" in other else "-")
    per_op = f"{mine['trace'] * 1e6 / mine['ops']:.0f}" if mine["ops"] and mine["trace"] > 0 else "-"
    return [row["name"], row["mode"], "yes" if mine["equal"] else "**no**", str(mine["ops"]), pair(row, "graphs"), pair(row, "places"), pair(row, "skipped"),
            times, ratio, per_op, f"{needed} of {len(mine['where'])}", str(len(extra))]


def main():
    merged = {}
    for path in sys.argv[1:]:
        with open(path) as text:
            for row in map(json.loads, text):
                merged.setdefault((row["name"], row["mode"]), {}).update(row)
    rows = list(merged.values())
    good = [row for row in rows if "replay" in row]
    print(HEADER + "\n".join("| " + " | ".join(cells(row)) + " |" for row in good))
    ran = [row for row in good if "trace" in row["replay"]]
    both = [row for row in ran if row.get("peer", {}).get("trace") and row["replay"]["trace"] > 0]
    ratios = sorted(row["peer"]["trace"] / row["replay"]["trace"] for row in both)
    equal = sum(row["replay"]["equal"] for row in good)
    print(f"\n{len(good)} rows of {len({r['name'] for r in good})} models: {equal} equal bit for bit, {sum(r['replay']['skipped'] for r in ran)} frames given up"
          f" (Dynamo: {sum(r['peer'].get('skipped', 0) for r in ran if 'peer' in r)}), {sum(len(zoo.beyond_peer(r)) for r in ran)} extra places.")
    if ratios:
        print(f"Trace time against Dynamo's: median {ratios[len(ratios) // 2]:.0f} times faster, least {ratios[0]:.0f}, at least 20 in {sum(r >= 20 for r in ratios)} of {len(ratios)} rows.")
    for row in rows:
        if row.get("broken"):
            print(f"\nNot run: {row['name']} ({row['mode']}): {row['note']}")
    short = lambda path: re.sub(r".*/(site-packages|conformance/zoo|lib/python[0-9.]+)/", "", path)  # noqa: E731
    lines = sorted({f"- `{short(place[1])}:{place[2]}` {place[0]} ({row['name']})" for row in ran for place in zoo.beyond_peer(row)})
    if lines:
        print("\nExtra places:\n\n" + "\n".join(lines))


if __name__ == "__main__":
    main()
