# SPDX-License-Identifier: GPL-3.0-or-later
"""A timeline of real calls: guards, segments, kernels, the Python between. It comes from marks (core/base/timeline.h) that follow one
another without gaps, so the parts of a call add up to it; it leaves as a Chrome trace, which Perfetto opens."""

import statistics
import time

from .. import report

LANES = {1: "calls", 2: "parts", 3: "kernels", 4: "kernels by the device's clock"}
# What lies between two marks that are no kernels: (kind of the first, kind of the second) → name; None: named after its id.
_PARTS = {
    ("call", "entered"): "guards and inputs",
    ("call", "compiled"): "trace and compile",
    ("call", "return"): "plain Python",
    ("entered", "plan"): None,
    ("plan", "left"): "rebuild the live state",
    ("plan", "return"): "results",
    ("plan", "entered"): "guards and inputs",
    ("plan", "compiled"): "trace and compile",
    ("left", "instruction"): None,
    ("left", "return"): None,
    ("instruction", "entered"): "find and enter the next segment",
    ("instruction", "left"): "plain Python",
    ("instruction", "instruction"): "plain Python",
    ("instruction", "compiled"): "trace and compile",
    ("instruction", "return"): "results",
    ("compiled", "entered"): "guards and inputs",
}
_GROUPS = {"guards and inputs": "entry", "rebuild the live state": "breaks", "find and enter the next segment": "breaks", "results": "exit", "trace and compile": "compile"}


class _Names:
    """What ids stand for in a report's target."""

    def __init__(self, entry, breaks):
        self.segments = {segment["id"]: segment for segment in entry["segments"]}
        places = {item["id"]: item for item in entry["breaks"]}
        self.breaks = [places.get(identity) for identity in breaks]

    def part(self, first, second):
        """(name, group, args) of what lies between two marks."""
        kinds = (first[0], second[0])
        if kinds == ("entered", "plan"):
            segment = self.segments.get(f"s{second[1]}")
            if segment is None:
                return f"segment s{second[1]}", "segments", {}
            return f"segment s{second[1]} ({segment['plan']})", "segments", {"file": segment["file"], "line": segment["line"], "operators": len(segment["ops"])}
        if first[0] == "left":
            item = self.breaks[first[1]] if 0 <= first[1] < len(self.breaks) else None
            if item is None:
                return "plain Python", "python", {}
            return f"Python: {item['code'] or item['reason']}", "python", {"file": item["file"], "line": item["line"], "break": item["id"], "reason": item["reason"]}
        name = _PARTS.get(kinds) or "plain Python"
        return name, _GROUPS.get(name, "python"), {}

    def kernel(self, segment, number):
        kernels = self.segments.get(f"s{segment}", {}).get("kernel_list", [])
        return kernels[number]["name"] if number < len(kernels) else f"kernel {number}"


def _event(name, category, lane, start, end, args):
    return {"name": name, "cat": category, "ph": "X", "pid": 1, "tid": lane, "ts": round(start, 4), "dur": round(end - start, 4), "args": args}


def events_of(marks, names):
    """(events, calls): events of a Chrome trace, and per call {group: µs, "call": µs}."""
    events, calls = [], []
    start, last, last_any, segment, parts, shift = None, None, None, None, {}, 0.0
    for mark in marks:
        kind, number, at, device = mark
        if kind == "call":
            start, last, last_any, parts = at, mark, at, dict.fromkeys(("entry", "segments", "breaks", "python", "exit", "compile"), 0.0)
            continue
        if start is None:
            continue  # the ring has lost where this call began
        if kind == "kernel":
            name = names.kernel(segment, number)
            if device > 0:
                events.append(_event(name, "kernel", 4, last[2] + shift, last[2] + shift + device, {"note": "in order; its start is not known"}))
                shift += device
            else:
                events.append(_event(name, "kernel", 3, last_any, at, {}))
            last_any = at
            continue
        name, group, args = names.part(last, mark)
        if kind == "entered":
            segment, shift = number, 0.0
        parts[group] += at - last[2]
        events.append(_event(name, group, 2, last[2], at, args))
        last, last_any = mark, at
        if kind == "return":
            events.append(_event("call", "call", 1, start, at, {}))
            calls.append(parts | {"call": at - start})
            start = None
    return events, calls


def take(extension, target, recording, entry, *, no_grad, calls, budget_s):
    """Makes calls of the compiled target with a timeline; returns the `Timeline` of core/protocol/README.md."""
    compiled, outside, plain = target.compiled, [], []

    def one():
        recording.restore()
        begun = time.perf_counter()
        compiled(*recording.args, **recording.kwargs)
        return (time.perf_counter() - begun) * 1e6

    with recording.staged(no_grad=no_grad):
        for _ in range(3):
            one()
        extension.settle_kernels()
        started = time.perf_counter()
        while len(outside) < calls and (len(outside) < 3 or time.perf_counter() - started < budget_s):
            plain.append(one())
            extension.timeline_begin(compiled, 1 << 20) if not outside else extension.timeline_resume()
            try:
                outside.append(one())
            finally:
                extension.timeline_pause()
        taken = extension.timeline_end()
    events, parts = events_of(taken["marks"], _Names(entry, taken["breaks"]))
    event_ns = extension.timeline_cost()
    call_us = statistics.median(plain)
    marks = taken["count"] / max(1, len(outside))
    median = {name: statistics.median(call[name] for call in parts) for name in parts[0]} if parts else {}
    lanes = [{"name": "thread_name", "ph": "M", "pid": 1, "tid": lane, "args": {"name": name}} for lane, name in LANES.items()]
    process = {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": f"Breakline: {target.name}"}}
    return {
        "schema": report.SCHEMA,
        "target": target.name,
        "calls": len(outside),
        "call_us": call_us,
        "recorded_call_us": statistics.median(outside),
        "parts_us": median,
        "events_a_call": marks,
        "event_ns": event_ns,
        "event_share": marks * event_ns / 1e3 / call_us,
        "trace": {"displayTimeUnit": "ns", "traceEvents": [process, *lanes, *events]},
    }
