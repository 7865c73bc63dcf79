# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the engine extension `_breakline` and tells it what PyTorch's and our own marker objects mean.

Nothing here imports PyTorch: what PyTorch has already loaded is looked up in sys.modules.
"""

import contextlib
import glob
import importlib.machinery
import importlib.util
import os
import sys
import threading

TESTED_TORCH = (2, 13)
OLDEST_TORCH = (2, 10)

_lock = threading.RLock()
_extension = None
_waiting = []  # registrations made before the extension was loaded
_registered = set()  # ids of registered objects; the extension keeps them alive


class EngineMissing(ImportError):
    """The engine extension for this interpreter can't be used; the text says what to do."""


def _sentence_for_missing(error):
    version = "%d.%d" % sys.version_info[:2]
    built = sorted(glob.glob(os.path.join(os.path.dirname(__file__), "_breakline.*")))
    if sys.version_info < (3, 11):
        return f"Breakline needs CPython 3.11 or newer, and {sys.executable} is {version}: choose another with --python."
    if not built:
        return (
            f"Breakline's engine is not built for CPython {version} ({sys.executable}): "
            f"run ./packaging/start.sh --python {sys.executable}"
        )
    if not any(os.path.basename(path) == "_breakline" + suffix for path in built for suffix in importlib.machinery.EXTENSION_SUFFIXES):
        names = ", ".join(os.path.basename(path) for path in built)
        return (
            f"Breakline's engine was built for another Python ({names}), and {sys.executable} is {version}: "
            f"run ./packaging/start.sh --python {sys.executable}"
        )
    return f"Breakline's engine can't be loaded in {sys.executable}: {error}"


def load():
    """The extension module. Raises EngineMissing with one sentence."""
    global _extension
    if _extension is not None:
        return _extension
    with _lock:
        if _extension is not None:
            return _extension
        try:
            from . import _breakline
        except ImportError as error:
            raise EngineMissing(_sentence_for_missing(error)) from error
        from . import errors

        _breakline.set_error_factory(errors.make)
        if hasattr(_breakline, "set_marker_resolver"):
            _breakline.set_marker_resolver(resolve_marker)
        _extension = _breakline
        for entry in _waiting:
            _register(*entry)
        _waiting.clear()
    return _extension


def loaded():
    """The extension if it is loaded already, else None."""
    return _extension


def load_quietly():
    """The extension, or None where it is missing: the markers are then plain Python."""
    try:
        return load()
    except EngineMissing:
        return None


def _register(target, kind, data):
    if id(target) in _registered:
        return
    _registered.add(id(target))
    with contextlib.suppress(ValueError):  # an engine that does not know the kind treats the object as plain Python
        _extension.register_marker(target, kind, **data)


def register(target, kind, **data):
    """Says what `target` means inside traced code (kinds: core/engine/README.md); the first word counts. Returns `target`."""
    with _lock:
        if _extension is None:
            _waiting.append((target, kind, data))
        else:
            _register(target, kind, data)
    return target


def is_registered(target):
    """Whether something was said of this very object."""
    with _lock:
        return id(target) in _registered or any(entry[0] is target for entry in _waiting)


def register_anew(target, kind, **data):
    """The same in place of what was said before."""
    with _lock:
        _registered.discard(id(target))
    return register(target, kind, **data)


# PyTorch's own names, by module and attribute, and what they mean.
_TORCH_MARKERS = {
    "torch._dynamo.decorators": {
        "graph_break": "graph_break",
        "skip_frame": "skip_frame",
        "step_unsupported": "step_unsupported",
        "disable": "disable_call",
        "nonstrict_trace": "nonstrict_call",
        "ErrorOnGraphBreakDecoratorContextManager": "region",
    },
    "torch._dynamo.eval_frame": {"export": "export"},
    "torch._dynamo.external_utils": {
        "is_compiling": "is_compiling",
    },
    "torch.compiler": {
        "is_compiling": "is_compiling",
        "is_dynamo_compiling": "is_compiling",
        "disable": "disable_call",
        "compile": "compile",
    },
    "torch._utils": {"is_compiling": "is_compiling"},
    "torch": {"compile": "compile"},
}


def _adopt_region_class(region):
    """Lets PyTorch's own region class set our flag too, and lets it be left where traced code entered it: then its
    `__enter__` never ran and there is nothing to put back."""
    enter, leave = region.__enter__, region.__exit__

    def __enter__(self):
        enter(self)
        _extension.region_enter(bool(self.error_on_graph_break))

    def __exit__(self, exc_type, exc_value, traceback):
        if self.prev_error_on_graph_break:
            leave(self, exc_type, exc_value, traceback)
            _extension.region_exit()

    region.__enter__, region.__exit__ = __enter__, __exit__


def register_torch():
    """Registers the marker objects of the parts of PyTorch that are loaded for real. Cheap when nothing is new."""
    for module_name, names in _TORCH_MARKERS.items():
        module = sys.modules.get(module_name)
        if module is None or getattr(module, "_breakline_standin", False):
            continue
        for name, kind in names.items():
            target = vars(module).get(name)
            if target is not None and id(target) not in _registered:
                if kind == "region":
                    _adopt_region_class(target)
                register(target, kind)
    _adopt_tables()


# PyTorch's tables of id()s of marked functions, and what they mean.
_TORCH_TABLES = {
    "_leaf_function_ids": "leaf_function",
    "_nonstrict_trace_callable_ids": "nonstrict_trace",
    "_allowed_callable_ids": "allow_in_graph",  # the two others' as well
}
_adopted_tables = set()


def _adopt_tables():
    """Shares the tables in which PyTorch's allow_in_graph, nonstrict_trace and leaf_function keep what they marked."""
    rules = sys.modules.get("torch._dynamo.trace_rules")
    for name, kind in _TORCH_TABLES.items():
        table = getattr(rules, name, None)
        if table is not None and name not in _adopted_tables and hasattr(_extension, "add_marker_ids"):
            _adopted_tables.add(name)
            _extension.add_marker_ids(table(), kind)


def _cells(function):
    """The closure of a Python function as a dict; empty for everything else."""
    code = getattr(function, "__code__", None)
    closure = getattr(function, "__closure__", None)
    if code is None or not closure:
        return {}
    values = {}
    for name, cell in zip(code.co_freevars, closure):
        try:
            values[name] = cell.cell_contents
        except ValueError:
            pass  # a cell that is still empty has no value to tell
    return values


def resolve_marker(target):
    """What a wrapper made by PyTorch itself means, as (kind, data), or None for an ordinary function."""
    notes = getattr(target, "__dict__", None) or {}
    original = notes.get("_torchdynamo_orig_callable")
    if notes.get("_torchdynamo_disable"):
        function = original or _cells(target).get("fn")
        if function is None:
            return None
        data = {
            "function": function,
            "recursive": bool(notes.get("_torchdynamo_disable_recursive", True)),
            "reason": notes.get("_torchdynamo_disable_msg"),
        }
        return "disable", data
    module_name = getattr(target, "__module__", None)
    kind = _TORCH_MARKERS.get(module_name, {}).get(getattr(target, "__name__", None))
    if kind is not None:
        return kind, {}
    if module_name == "torch._dynamo.external_utils" and getattr(target, "__name__", "") == "inner":
        cells = _cells(target)
        manager = cells.get("self")
        if type(manager).__name__ == "ErrorOnGraphBreakDecoratorContextManager" and "func" in cells:
            return "region_wrapper", {"function": cells["func"], "flag": manager.error_on_graph_break}
    return None


def torch_version_note(version):
    """(refusal, note) for a PyTorch version text; both are empty for a tested one."""
    numbers = tuple(int(part) for part in version.split("+")[0].split(".")[:2] if part.isdigit())
    if len(numbers) < 2:
        return "", f"PyTorch {version} is untested"
    if numbers < OLDEST_TORCH:
        return (
            f"Breakline needs PyTorch 2.10 or newer, and {sys.executable} has {version}: "
            "choose another interpreter with --python, or install torch==2.13.0.",
            "",
        )
    if numbers != TESTED_TORCH:
        return "", f"PyTorch {version} is untested; Breakline is tested with 2.13"
    return "", ""


def has_torch():
    """Whether this interpreter has PyTorch at all, without importing it."""
    if "torch" in sys.modules:
        return sys.modules["torch"] is not None
    return importlib.util.find_spec("torch") is not None


def ready_for_code():
    """The extension for compiling a function: in an interpreter without PyTorch it compiles plain Python."""
    return ready() if has_torch() else load()


_torch_ready = False


def ready():
    """The extension, with PyTorch loaded and known to it. Raises EngineMissing (no PyTorch, too old, no extension)."""
    global _torch_ready
    extension = load()
    if not _torch_ready:
        with _lock:
            try:
                import torch
            except ImportError as error:
                raise EngineMissing(
                    f"{sys.executable} can't import torch ({error}): choose an interpreter that has PyTorch 2.10 "
                    "or newer with --python or BREAKLINE_PYTHON."
                ) from error
            refusal, _ = torch_version_note(torch.__version__)
            if refusal:
                raise EngineMissing(refusal)
            extension.initialize_torch()
            _torch_ready = True
    register_torch()
    return extension
