# SPDX-License-Identifier: GPL-3.0-or-later
"""The policy regions of a report: what the user's files declare (read from their syntax trees; nothing is run), which
functions hold traced code, and what the overlays add and do."""

import ast
import functools
import linecache
import os
import sys
import sysconfig
from dataclasses import dataclass, field

from . import overlays as overlay_keys

_NAME = "error_on_graph_break"
# both: a build tree may hold links to the sources
_PACKAGES = {os.path.dirname(os.path.abspath(__file__)), os.path.dirname(os.path.realpath(__file__))}


@dataclass
class Found:
    regions: list = field(default_factory=list)
    overlays: list = field(default_factory=list)


@functools.cache
def _library_folders():
    paths = sysconfig.get_paths()
    folders = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    folders |= {path for path in sys.path if path.endswith(("site-packages", "dist-packages"))}
    return tuple(os.path.join(os.path.realpath(folder), "") for folder in folders | _PACKAGES)


@functools.lru_cache(maxsize=4096)
def is_user_file(path):
    """Whether `path` is a file of the user's: Python source outside the library folders and outside this package."""
    if not path or path.startswith("<") or not path.endswith(".py"):
        return False
    return not (os.path.realpath(path).startswith(_library_folders()) or os.path.abspath(path).startswith(_library_folders()))


def relative(path, folder):
    """`path` as keys name it: relative to the script's folder where it lies inside it, else as it is."""
    if path.startswith(folder + os.sep):
        return path[len(folder) + 1 :]
    return path


def relative_source(source, folder):
    """A policy source (a region or overlay key) with its file relative to the script's folder."""
    return source.replace(folder + os.sep, "")


class _Reader(ast.NodeVisitor):
    """Collects functions, with-regions, decorators and patches of one file."""

    def __init__(self, file, key_file):
        self.file, self.key_file = file, key_file
        self.aliases = {_NAME}
        self.scope, self.parents = [], []
        self.found = []

    def _add(self, kind, key, node, qualname, declared, line=None):
        entry = {
            "key": key,
            "kind": kind,
            "file": self.file,
            "line": line or node.lineno,
            "end_line": node.end_lineno,
            "qualname": qualname,
            "depth": len(self.parents),
            "parent": self.parents[-1] if self.parents else None,
            "declared": declared,
            "overlay": "inherit",
            "effective": "allow",
            "source": "default",
            "breaks": 0,
        }
        self.found.append(entry)
        return entry

    def _is_region(self, node):
        if not isinstance(node, ast.Call):
            return False
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
        return name in self.aliases if isinstance(node.func, ast.Name) else name == _NAME

    @staticmethod
    def _declared(node):
        values = list(node.args) + [k.value for k in node.keywords if k.arg == _NAME]
        if len(values) == 1 and isinstance(values[0], ast.Constant):
            return "error" if values[0].value else "allow"
        return "inherit"

    def visit_ImportFrom(self, node):
        self.aliases |= {alias.asname or alias.name for alias in node.names if alias.name == _NAME}

    def _qualname(self, name):
        return ".".join([*self.scope, name])

    def visit_ClassDef(self, node):
        for decorator in node.decorator_list:
            self.visit(decorator)
        self.scope.append(node.name)
        for child in node.body:
            self.visit(child)
        self.scope.pop()

    def visit_FunctionDef(self, node):
        qualname = self._qualname(node.name)
        start = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        pushed = 0
        for decorator in node.decorator_list:
            if self._is_region(decorator):
                key = f"decorator:{self.key_file}:{qualname}"
                self._add("decorator", key, node, qualname, self._declared(decorator), start)
                self.parents.append(key)
                pushed += 1
        key = f"fn:{self.key_file}:{qualname}"
        self._add("function", key, node, qualname, "inherit", start)
        self.parents.append(key)
        self.scope += [node.name, "<locals>"]
        for child in node.body:
            self.visit(child)
        del self.scope[-2:]
        del self.parents[len(self.parents) - pushed - 1 :]

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_With(self, node):
        pushed = 0
        for item in node.items:
            if self._is_region(item.context_expr):
                key = f"with:{self.key_file}:{node.lineno}"
                qualname = ".".join(self.scope).removesuffix(".<locals>")
                self._add("with", key, node, qualname, self._declared(item.context_expr))
                self.parents.append(key)
                pushed += 1
            self.visit(item)
        for child in node.body:
            self.visit(child)
        if pushed:
            del self.parents[-pushed:]

    visit_AsyncWith = visit_With

    def visit_Assign(self, node):
        value = node.value
        if isinstance(value, ast.Call) and self._is_region(value.func):
            name = ast.unparse(node.targets[0])
            self._add("patch", f"patch:{self.key_file}:{node.lineno}", node, name, self._declared(value.func))
        self.generic_visit(node)


@functools.lru_cache(maxsize=256)
def _read_cached(file, key_file, text):
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return ()  # the file is being edited; the run that used the old text has its own error
    reader = _Reader(file, key_file)
    reader.visit(tree)
    return tuple(reader.found)


def _read(file, folder):
    text = "".join(linecache.getlines(file))
    return [dict(entry) for entry in _read_cached(file, relative(file, folder), text)]


def function_at(file, line):
    """The qualified name of the innermost function around a line, or ""."""
    functions = [entry for entry in _read(file, os.path.dirname(file)) if entry["kind"] == "function"]
    around = [entry for entry in functions if entry["line"] <= line <= entry["end_line"]]
    return max(around, key=lambda entry: entry["line"])["qualname"] if around else ""


def _places(report):
    """{file: set of lines that hold traced code}."""
    places = {}

    def add(file, line):
        if file:
            places.setdefault(file, set()).add(line)

    for target in report["targets"]:
        add(target["file"], target["line"])
        for segment in target["segments"]:
            add(segment["file"], segment["line"])
            for op in segment["ops"]:
                add(op.get("file"), op.get("line", 0))
    for item in report["breaks"]:
        add(item["file"], item["line"])
        for frame in item["chain"]:
            add(frame["file"], frame["line"])
    return {file: lines for file, lines in places.items() if is_user_file(file)}


def _module_regions(report):
    """One region for each module path that ops name, as a tree."""
    regions, known = [], set()
    for target in report["targets"]:
        names = {op.get("module") or "" for segment in target["segments"] for op in segment["ops"]} - {""}
        paths = {".".join(name.split(".")[:n]) for name in names for n in range(1, name.count(".") + 2)}
        for path in sorted(paths):
            key = f"module:{target['name']}:{path}"
            if key in known:
                continue
            known.add(key)
            parent = f"module:{target['name']}:{path.rpartition('.')[0]}" if "." in path else None
            regions.append(
                {
                    "key": key,
                    "kind": "module",
                    "file": target["file"],
                    "line": 0,
                    "end_line": 0,
                    "qualname": path,
                    "depth": path.count("."),
                    "parent": parent,
                    "declared": "inherit",
                    "overlay": "inherit",
                    "effective": "allow",
                    "source": "default",
                    "breaks": 0,
                }
            )
    return regions


def _inside(region, file, line):
    return region["file"] == file and region["line"] <= line <= region["end_line"]


def _holds(region, item):
    """Whether a break happens in a region: at a line of it, or in something that one of its lines calls."""
    return _inside(region, item["file"], item["line"]) or any(_inside(region, frame["file"], frame["line"]) for frame in item["chain"])


def _overlay_key(region, folder):
    """The overlay that a toggle on this region sets."""
    file = relative(region["file"], folder)
    if region["kind"] == "with":
        return f"lines:{file}:{region['line']}-{region['end_line']}"
    if region["kind"] == "decorator":
        return f"fn:{file}:{region['qualname']}"
    return region["key"]


def _settle(regions, report, states, folder):
    """Fills overlay, effective, source and the number of breaks."""
    values = {state["key"]: state["value"] for state in states if state["active"]}
    by_key = {}
    strict_files = {target["file"] for target in report["targets"] if target["fullgraph"]}
    for region in regions:
        by_key.setdefault(region["key"], region)
        region["overlay"] = values.get(_overlay_key(region, folder), values.get(region["key"], "inherit"))
        parent = by_key.get(region["parent"])
        own = [item for item in report["breaks"] if _inside(region, item["file"], item["line"])]
        region["breaks"] = len({item["id"] for item in report["breaks"] if _holds(region, item)})
        if region["overlay"] != "inherit":
            region["effective"], region["source"] = region["overlay"], _overlay_key(region, folder)
        elif region["declared"] != "inherit":
            region["effective"], region["source"] = region["declared"], region["key"]
        elif parent is not None:
            region["effective"], region["source"] = parent["effective"], parent["source"]
        if region["kind"] == "function" and own and region["overlay"] == "inherit":
            outermost = [item for item in own if not _inner_region(regions, region, item)]
            if outermost:
                policy = outermost[0]["policy"]
                region["effective"], region["source"] = policy["effective"], policy["source"]
        if region["file"] in strict_files and own and all(i["policy"]["source"] == "fullgraph" for i in own):
            region["effective"], region["source"] = "error", "fullgraph"


def _inner_region(regions, outer, item):
    return any(
        region is not outer
        and _inside(region, item["file"], item["line"])
        and _inside(outer, region["file"], region["line"])
        and (region["line"], -region["end_line"]) >= (outer["line"], -outer["end_line"])
        for region in regions
        if region["kind"] in ("with", "function")
    )


def find(report, folder, overlays):
    """Regions and overlay states for a report whose targets and breaks are filled in."""
    places = _places(report)
    regions, names = [], {}
    for file in sorted(places):
        entries = _read(file, folder)
        functions = [entry for entry in entries if entry["kind"] == "function"]
        names[file] = [entry["qualname"] for entry in functions]
        used = {_innermost(functions, line) for line in places[file]}
        keep = [e for e in entries if e["kind"] != "function" or e["key"] in used or e["key"] in _parents(entries, used)]
        regions += keep
    for item in report["breaks"]:
        item["policy"]["source"] = relative_source(item["policy"]["source"], folder)
    states = [dict(state) for state in overlays]
    regions += _module_regions(report)
    known = {_overlay_key(region, folder) for region in regions}
    regions += [_from_overlay(state, folder) for state in states if state["key"] not in known]
    _settle(regions, report, states, folder)
    for state in states:
        overlay_keys.judge(state, report, folder, names)
    return Found(regions, states)


def _parents(entries, used):
    """Keys of the functions around a used function or region, so that the tree has no gaps."""
    by_key = {entry["key"]: entry for entry in entries}
    wanted = set()
    for entry in entries:
        if entry["kind"] != "function" or entry["key"] in used:
            parent = entry["parent"]
            while parent is not None and parent not in wanted:
                wanted.add(parent)
                parent = by_key[parent]["parent"]
    return wanted


def _innermost(functions, line):
    around = [entry for entry in functions if entry["line"] <= line <= entry["end_line"]]
    return max(around, key=lambda entry: entry["line"])["key"] if around else None


def _from_overlay(state, folder):
    """A region for an overlay that no region of the code stands for."""
    key = overlay_keys.parse(state["key"])
    path = key.file if os.path.isabs(key.file) else os.path.join(folder, key.file)
    return {
        "key": state["key"],
        "kind": {"fn": "function", "lines": "lines", "module": "module"}[key.kind],
        "file": path if key.kind != "module" else "",
        "line": key.first_line,
        "end_line": key.last_line,
        "qualname": key.name,
        "depth": 0,
        "parent": None,
        "declared": "inherit",
        "overlay": state["value"] if state["active"] else "inherit",
        "effective": "allow",
        "source": "default",
        "breaks": 0,
    }
