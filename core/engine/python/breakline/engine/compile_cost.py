# SPDX-License-Identifier: GPL-3.0-or-later
"""What compiling costs: cold (first in a fresh process), warm (everything again, the process's caches hot) and incremental (one
segment again), the least of three where it can be repeated. Times are those that the engine records for the segments: tracing and
compiling."""

_REPEATS = 3


def _spent(segments):
    return sum(s["trace_us"] + s["compile_us"] for s in segments) / 1e3


def of(arm, recording, extension, cold_ms):
    """The `compile` of an arm. `arm` is opened and called; afterwards it is compiled again as before. `cold_ms` may be None."""
    compiled = arm.function
    again, one, what = [], [], ""
    for _ in range(_REPEATS):
        compiled.reset()
        recording.restore()
        arm.call()
        again.append(_spent(compiled.target_report()["segments"]))
    segments = [s for s in compiled.target_report()["segments"] if s["ops"]]
    if segments:
        largest = max(segments, key=lambda s: len(s["ops"]))
        what = f"the segment with the most operators ({len(largest['ops'])} of {sum(len(s['ops']) for s in segments)}) traced and compiled again"
        number = largest["id"]
        for _ in range(_REPEATS):
            before = {s["id"] for s in compiled.target_report()["segments"]}
            if not extension.drop_segment(compiled, number):
                break
            recording.restore()
            arm.call()
            new = [s for s in compiled.target_report()["segments"] if s["id"] not in before]
            if not new:
                break
            one.append(_spent(new))
            number = max(new, key=lambda s: len(s["ops"]))["id"]
        compiled.reset()  # dropped segments stay in the lists that a call looks through
        recording.restore()
        arm.call()
    note = [] if cold_ms is not None else ["cold: this process had compiled the target before"]
    if what:
        note.append("incremental: " + what)
    return {
        "cold_ms": cold_ms,
        "warm_ms": min(again),
        "incremental_ms": min(one) if one else None,
        "note": "; ".join(note),
    }
