# SPDX-License-Identifier: GPL-3.0-or-later
"""Overlays: policy set from outside the user's file. Keys, what each does in a report, and how line ranges follow an
edit of the text."""

import difflib
import linecache
import os
import re
from dataclasses import dataclass

VALUES = ("inherit", "allow", "error")
_FORMS = "fn:FILE:QUALNAME, lines:FILE:A-B or module:TARGET:PATH"


class BadOverlay(ValueError):
    """A key or a value that is no overlay; the text says what to write."""


@dataclass(frozen=True)
class Key:
    kind: str  # "fn", "lines" or "module"
    file: str  # for "module": the target's name
    name: str = ""
    first_line: int = 0
    last_line: int = 0


def parse(text):
    """The parts of a key. Raises BadOverlay."""
    kind, _, rest = text.partition(":")
    file, _, last = rest.rpartition(":")
    if kind == "lines" and file:
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", last)
        if match:
            first, end = int(match[1]), int(match[2] or match[1])
            if 1 <= first <= end:
                return Key("lines", file, "", first, end)
        raise BadOverlay(f"'{text}' names no line range: write lines:FILE:A-B with 1 <= A <= B.")
    if kind in ("fn", "module") and file and last:
        return Key(kind, file, last)
    raise BadOverlay(f"'{text}' is no policy key: write {_FORMS}.")


def check(key, value):
    """Raises BadOverlay unless both are right."""
    parse(key)
    if value not in VALUES:
        raise BadOverlay(f"'{value}' is no policy for {key}: write inherit, allow or error.")


def from_argument(text):
    """{key, value} of `KEY=VALUE`."""
    key, equals, value = text.rpartition("=")
    if not equals:
        raise BadOverlay(f"'{text}' is no policy: write KEY=VALUE, as in fn:model.py:forward=error.")
    check(key, value)
    return {"key": key, "value": value}


def same_file(written, absolute, folder):
    """Whether a key's FILE means this path: absolute, relative to the script's folder, or a dotted module name."""
    if os.path.isabs(written):
        return os.path.normpath(written) == os.path.normpath(absolute)
    if os.path.normpath(os.path.join(folder, written)) == os.path.normpath(absolute):
        return True
    dotted = written.replace(".", os.sep)
    return absolute.endswith((os.sep + dotted + ".py", os.sep + os.path.join(dotted, "__init__.py")))


def _frame_inside(key, frame, folder):
    if key.kind == "lines":
        return key.first_line <= frame["line"] <= key.last_line and same_file(key.file, frame["file"], folder)
    if key.kind == "fn":
        name = frame["function"].rpartition(".")[2]
        return name == key.name.rpartition(".")[2] and same_file(key.file, frame["file"], folder)
    return False


def _lost(key, functions, folder):
    """Why a file, function or range of lines is not there, or ""."""
    path = next((file for file in functions if same_file(key.file, file, folder)), None)
    if path is None:
        return f"no traced code lies in a file {key.file}{_did_you_mean(os.path.basename(key.file), [os.path.basename(f) for f in functions])}"
    if key.kind == "lines":
        count = len(linecache.getlines(path))
        return f"{key.file} has {count} lines" if count and key.first_line > count else ""
    names = functions[path]
    if not names or any(name == key.name or name.endswith("." + key.name) for name in names):
        return ""
    return f"{key.file} has no function {key.name}{_did_you_mean(key.name, names)}"


def _did_you_mean(name, known):
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def judge(state, report, folder, functions):
    """Fills `effect` and `note` of an overlay's state: whether it rules a break, and if not, why. `functions`: the names of
    all functions by traced file."""
    state["effect"] = any(item["policy"]["source"] == state["key"] for item in report["breaks"])
    if state["effect"] or not state["active"]:
        return
    if state["value"] == "inherit":
        state["note"] = "inherit leaves the decision to the regions around it"
        return
    key = parse(state["key"])
    if key.kind == "module":
        names = {target["name"] for target in report["targets"]}
        if key.file not in names:
            state["note"] = f"no target is named {key.file}"
            return
        paths = {op.get("module") or "" for t in report["targets"] for s in t["segments"] for op in s["ops"]}
        if not any(path == key.name or path.startswith(key.name + ".") for path in paths):
            state["note"] = f"no traced code of {key.file} lies in {key.name}"
            return
    else:
        lost = _lost(key, functions, folder)
        if lost:
            state["note"] = lost
            return
    inside = [item for item in report["breaks"] if any(_frame_inside(key, f, folder) for f in item["chain"])]
    if not inside:
        state["note"] = "no break lies in it"
        return
    sources = list(dict.fromkeys(item["policy"]["source"] for item in inside))
    if "fullgraph" in sources:
        state["note"] = "fullgraph=True of the target decides; nothing relaxes it"
    else:
        state["note"] = f"decided by {sources[0]}, which is nearer to the break"


def follow_text(overlays, file, folder, old, new):
    """Moves line overlays of `file` along with an edit, in place. A range whose lines are all gone becomes inactive."""
    if old == new:
        return
    matcher = difflib.SequenceMatcher(None, old.splitlines(), new.splitlines(), autojunk=False)
    moved = {}
    for tag, old_start, old_end, new_start, _ in matcher.get_opcodes():
        if tag == "equal":
            for offset in range(old_end - old_start):
                moved[old_start + offset + 1] = new_start + offset + 1
    for state in overlays:
        key = parse(state["key"])
        if key.kind != "lines" or not state["active"] or not same_file(key.file, file, folder):
            continue
        kept = [moved[line] for line in range(key.first_line, key.last_line + 1) if line in moved]
        if kept:
            first, last = _with_changed_edges(key, moved, kept, len(new.splitlines()))
            state["key"] = f"lines:{key.file}:{first}-{last}"
        else:
            state["active"] = False
            state["note"] = "the lines it covered are gone from the file"


def _with_changed_edges(key, moved, kept, line_count):
    """The new range; a changed first or last line still belongs to it when its neighbour outside stayed."""
    first, last = kept[0], kept[-1]
    if key.first_line not in moved and key.first_line - 1 in moved:
        first = min(first, moved[key.first_line - 1] + 1)
    if key.last_line not in moved and key.last_line + 1 in moved:
        last = max(last, moved[key.last_line + 1] - 1)
    return max(first, 1), min(last, line_count)
