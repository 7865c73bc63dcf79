# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the report of core/protocol/README.md from what the engine extension says about each target."""

import linecache
import os
import sys

from ._version import __version__

SCHEMA = 1
COUNTS = ("graphs", "ops", "breaks", "places", "recompiles", "skipped")

_TARGET_DEFAULTS = {
    "graphs": 0,
    "ops": 0,
    "breaks_traced": 0,
    "places": 0,
    "recompiles": 0,
    "skipped": 0,
    "skipped_frames": list,
    "segments": list,
    "edges": list,
    "breaks": list,
    "side_effects": False,
    "uncloneable": list,
    "error": None,
}
_SEGMENT_DEFAULTS = {
    "id": "",
    "site": "",
    "plan": "replay",
    "plan_reason": "",
    "kernels": 0,
    "runs": 0,
    "file": "",
    "line": 0,
    "end_line": 0,
    "function": "",
    "ops": list,
    "kernel_list": list,
    "source_ranges": list,
    "guards": 0,
    "trace_us": 0.0,
    "compile_us": 0.0,
    "exit": "return",
}
_KERNEL_DEFAULTS = {"id": 0, "name": "", "ops": list, "device": "", "source": None}
_OP_DEFAULTS = {"name": "", "file": "", "line": 0, "column": -1, "shape": "", "dtype": "", "kernel": None, "module": ""}
_BREAK_DEFAULTS = {
    "id": "",
    "reason": "",
    "gb_id": None,
    "type": "",
    "file": "",
    "line": 0,
    "column": -1,
    "end_line": 0,
    "end_column": -1,
    "chain": list,
    "explanation": "",
    "hints": list,
    "context": "",
    "policy": lambda: {"effective": "allow", "source": "default"},
    "events": 0,
    "after": None,
    "before": None,
    "knowledge": None,
    "code": "",
    "user": None,
}


def _fill(entry, defaults):
    for name, default in defaults.items():
        if name not in entry:
            entry[name] = default() if callable(default) else default
    return entry


def of_target(target, target_id):
    """One entry of `targets`, with every field of the schema."""
    entry = dict(target.compiled.target_report())
    if "breaks_traced" not in entry:
        entry["breaks_traced"] = target.compiled.stats.get("breaks", 0)
    entry.update(
        id=target_id,
        name=target.name,
        kind=target.kind,
        file=target.file,
        line=target.line,
        fullgraph=target.options["fullgraph"],
    )
    entry.pop("regions", None)  # regions belong to the whole report
    _fill(entry, _TARGET_DEFAULTS)
    entry["calls"] = getattr(target, "calls", 0)
    if target.error is not None:
        entry["error"] = target.error
    for segment in entry["segments"]:
        _fill(segment, _SEGMENT_DEFAULTS)
        for kernel in segment["kernel_list"]:
            _fill(kernel, _KERNEL_DEFAULTS)
        for op in segment["ops"]:
            _fill(op, _OP_DEFAULTS)
            if not isinstance(op["shape"], str):
                op["shape"] = "[" + ", ".join(map(str, op["shape"])) + "]"
        _place_in_user_file(segment)
    for item in entry["breaks"]:
        _fill(item, _BREAK_DEFAULTS)
        item.update(target=target_id, code=_code_at(item), user=_user_place(item))
    return entry


def _code_at(item):
    """The source text of a break's instruction, on one line; "" where it is not known."""
    first, last = item["line"], max(item["line"], item["end_line"])
    lines = [linecache.getline(item["file"], line).encode() for line in range(first, last + 1)] if first > 0 else []
    if not lines or item["column"] < 0 or item["end_column"] < 0:
        return ""
    lines[-1] = lines[-1][: item["end_column"]]
    lines[0] = lines[0][item["column"] :]
    return " ".join(b"".join(lines).decode("utf-8", "replace").split())


def _user_place(item):
    """The innermost frame of a break that is in the user's own code, or None."""
    from . import regions

    return next((frame for frame in reversed(item["chain"]) if regions.is_user_file(frame["file"])), None)


def _place_in_user_file(segment):
    """Lets a segment that begins in a library file (a module's `__call__`) stand where its ops are in the user's."""
    from . import regions

    if regions.is_user_file(segment["file"]):
        return
    places = [(op["file"], op["line"]) for op in segment["ops"] if regions.is_user_file(op["file"])]
    if not places:
        return
    file = places[0][0]
    lines = [line for name, line in places if name == file]
    function = regions.function_at(file, lines[0])
    segment.update(file=file, line=min(lines), end_line=max(lines), function=function or segment["function"])


def versions():
    """The fields that name the versions in use."""
    torch = sys.modules.get("torch")
    return {
        "schema": SCHEMA,
        "breakline": __version__,
        "python": "%d.%d.%d" % sys.version_info[:3],
        "torch": str(torch.__version__) if torch is not None else "",
        "threads": torch.get_num_threads() if torch is not None else 0,
    }


def preview(targets):
    """What a strict policy on every root would reject: the breaks that no region or overlay allows by name."""
    rejected = []
    for target in targets:
        for item in target["breaks"]:
            policy = item["policy"]
            if policy["effective"] == "error" or policy["source"] in ("default", "ambient", "fullgraph"):
                rejected.append(item["id"])
    unique = list(dict.fromkeys(rejected))
    return {"strict_rejects": unique, "first": unique[0] if unique else None}


def of_targets(
    targets, *, file="", argv=(), device=None, overlays=(), output=(), warnings=(), timing=None, cache=None
):
    """A whole report over `targets`, in order. `cache` ({Target: entry}) saves asking again for targets it holds."""
    from . import regions

    cache = {} if cache is None else cache
    for number, target in enumerate(targets):
        if target not in cache:
            cache[target] = of_target(target, f"t{number}")
    entries = [cache[target] for target in targets]
    file = file or (targets[0].file if targets else "")
    folder = os.path.dirname(os.path.abspath(file)) if file else os.getcwd()
    result = versions()
    result.update(
        file=file,
        argv=list(argv),
        device=device or (targets[0].options["device"] if targets else "cpu"),
        targets=entries,
        breaks=[item for entry in entries for item in entry["breaks"]],
    )
    found = regions.find(result, folder, overlays)
    result.update(
        regions=found.regions,
        overlays=found.overlays,
        preview=preview(entries),
        output=list(output),
        warnings=list(warnings),
        timing_ms=timing or {"run": 0.0, "trace": 0.0, "compile": 0.0, "total": 0.0},
    )
    return result


class Explanation:
    """What `explain` returns: the counts that `torch._dynamo.explain` gives, and the whole report."""

    def __init__(self, whole):
        self.report = whole
        target = whole["targets"][0]
        self.graphs = [segment for segment in target["segments"] if segment["ops"]]
        self.graph_count = target["graphs"]
        self.graph_break_count = len(target["breaks"])
        self.break_reasons = target["breaks"]
        self.op_count = target["ops"]
        self.ops_per_graph = [[op["name"] for op in segment["ops"]] for segment in self.graphs]
        self.out_guards = sum(segment["guards"] for segment in target["segments"])
        self.compile_times = "\n".join(
            f"{segment['id']}: trace {segment['trace_us']:.0f} us, compile {segment['compile_us']:.0f} us"
            for segment in target["segments"]
        )

    def __str__(self):
        lines = [f"Graph Count: {self.graph_count}", f"Graph Break Count: {self.graph_break_count}", f"Op Count: {self.op_count}"]
        if self.break_reasons:
            lines.append("Break Reasons:")
        for number, item in enumerate(self.break_reasons, 1):
            lines += [f"  Break Reason {number}:", f"    Reason: {item['type']}", "    User Stack:"]
            lines += [f"      {f['file']}:{f['line']}, in {f['function']}" for f in item["chain"]]
        return "\n".join(lines)

    __repr__ = __str__
