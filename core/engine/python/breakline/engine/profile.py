# SPDX-License-Identifier: GPL-3.0-or-later
"""What a call costs by part: each break, each segment, each source line. The times come from real calls of a recording,
taken by the machine while it runs them (core/segment/profile.h); nothing is estimated but the share of a line in a kernel
that computes several lines, and that is marked."""

import statistics
import time

from .. import report

MOST_S = 3.0  # calls made unasked are interrupted after this long
# Reasons whose instructions reach beyond the process: such calls are made again only when the user asks for it.
_REACHING = {"file-io", "operating-system", "thread", "distributed", "import", "exec", "logging", "native-object"}


def empty(name, note):
    """A Profile without numbers; `note` is one sentence that says why."""
    return {"schema": report.SCHEMA, "target": name, "calls": 0, "call_us": None, "note": note, "breaks": [], "segments": [], "lines": []}


def why_not(entry, recording):
    """Why a target is not called again unasked, or ""."""
    if entry is None:
        return "nothing was compiled yet"
    if recording.uncloneable:
        return "the call changes something that can't be put back (" + ", ".join(recording.uncloneable) + "): press Measure to time it all the same"
    reaching = sorted({item["reason"] for item in entry["breaks"]} & _REACHING)
    if reaching:
        return f"the call reaches beyond the process ({', '.join(reaching)}): press Measure to time it all the same"
    return ""


def take(extension, target, recording, entry, *, no_grad, calls, budget_s):
    """Calls the compiled target until `calls` are made or the budget is spent, at least three times; returns a Profile."""
    compiled, whole = target.compiled, []
    with recording.staged(no_grad=no_grad):
        compiled(*recording.args, **recording.kwargs)  # whatever is still to be compiled is compiled here
        recording.restore()
        extension.profile_begin(compiled)
        try:
            started = time.perf_counter()
            while len(whole) < calls and (len(whole) < 3 or time.perf_counter() - started < budget_s):
                begun = time.perf_counter()
                compiled(*recording.args, **recording.kwargs)
                whole.append((time.perf_counter() - begun) * 1e6)
                recording.restore()
        except Exception as error:
            extension.profile_end()
            return empty(target.name, f"the call raised {type(error).__name__} when it was made again")
        except BaseException:
            extension.profile_end()
            raise
        samples = extension.profile_end()
    return _result(target.name, samples, entry, whole)


def _result(name, samples, entry, whole):
    calls = len(whole)
    lines = {}

    def add(file, line, us, shared):
        if file and line > 0:
            known = lines.setdefault((file, line), [0.0, False])
            known[0] += us
            known[1] |= shared

    segments = {segment["id"]: segment for segment in entry["segments"]}
    timed = []
    for sample in samples["segments"]:
        segment = segments.get(sample["id"])
        if segment is None or not sample["run_us"]:
            continue
        timed.append({"id": sample["id"], "time_us": statistics.median(sample["run_us"]), "runs": sample["runs"] / calls})
        for kernel, times in zip(segment["kernel_list"], sample["kernels_us"]):
            ops = [segment["ops"][number] for number in kernel["ops"]]
            if not times or not ops:
                continue
            share = statistics.median(times) * sample["runs"] / calls / len(ops)
            places = {(op["file"], op["line"]) for op in ops}
            for op in ops:
                add(op["file"], op["line"], share, len(places) > 1)
    places = {item["id"]: item for item in entry["breaks"]}
    breaks = []
    for sample in samples["breaks"]:
        if not sample["leave_us"] or sample["id"] not in places:
            continue
        leave, work, enter = (statistics.median(sample[part]) for part in ("leave_us", "instruction_us", "enter_us"))
        events = sample["events"] / calls
        item = places[sample["id"]]
        add(item["file"], item["line"], (leave + work + enter) * events, False)
        breaks.append(
            {"id": sample["id"], "cost_us": leave + enter, "leave_us": leave, "enter_us": enter, "instruction_us": work, "events": events}
        )
    return {
        "schema": report.SCHEMA,
        "target": name,
        "calls": calls,
        "call_us": statistics.median(whole),
        "note": "",
        "breaks": breaks,
        "segments": timed,
        "lines": [
            {"file": file, "line": line, "time_us": us, "shared": shared} for (file, line), (us, shared) in sorted(lines.items())
        ],
    }
